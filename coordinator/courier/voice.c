#include "coordinator/courier/voice.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/base/duration.h"

/* What a coordinator keeps of a sentence is 1 KiB (coordinator/launch/launch_words.h). */
enum { VOICE_PROTOCOL = 1, WHY_MAX_BYTES = 1000, HEARD_MAX_BYTES = 160 };

void voice_init (struct voice *voice, int fd)
{
    *voice = (struct voice) { .fd = fd, .lock = PTHREAD_MUTEX_INITIALIZER, .awaited = "", .through = "" };
}

/* All or, when the coordinator is gone, nothing that matters. */
static void write_all (int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write (fd, bytes, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        bytes += n;
        len -= (size_t) n;
    }
}

/* Uses `line` up. Call with the lock held. */
static void say (struct voice *voice, json_t *line)
{
    char *words = line ? json_dumps (line, JSON_COMPACT) : NULL;
    if (words) {
        struct buf out;
        buf_init (&out, 8 * WHY_MAX_BYTES); /* escaped JSON of a sentence */
        buf_printf (&out, "%s\n", words);
        write_all (voice->fd, (const char *) out.ptr, out.len);
        buf_release (&out);
    }
    free (words);
    json_decref (line);
}

void voice_step (struct voice *voice, enum step step, const char *awaited)
{
    pthread_mutex_lock (&voice->lock);
    bool news = step != voice->step || *voice->awaited == '\0';
    voice->step = step;
    voice->awaited = awaited;
    if (news && !voice->over)
        say (voice, json_pack ("{s:i, s:s}", "sliceup-courier", VOICE_PROTOCOL, "step", step_name (step)));
    pthread_mutex_unlock (&voice->lock);
}

void voice_waits (struct voice *voice, const char *awaited)
{
    pthread_mutex_lock (&voice->lock);
    voice->awaited = awaited;
    pthread_mutex_unlock (&voice->lock);
}

void voice_found (struct voice *voice, const char *sentence)
{
    pthread_mutex_lock (&voice->lock);
    if (!voice->over)
        say (voice, json_pack ("{s:i, s:s}", "sliceup-courier", VOICE_PROTOCOL, "found", sentence));
    pthread_mutex_unlock (&voice->lock);
}

void voice_through (struct voice *voice, const char *jump)
{
    pthread_mutex_lock (&voice->lock);
    voice->through = jump;
    pthread_mutex_unlock (&voice->lock);
}

void voice_worker (struct voice *voice, struct text answer)
{
    pthread_mutex_lock (&voice->lock);
    if (!voice->over) {
        write_all (voice->fd, answer.ptr, answer.len);
        write_all (voice->fd, "\n", 1);
    }
    pthread_mutex_unlock (&voice->lock);
}

/* `word` with `said`, made safe to show and short enough to be kept. Call with the lock held. */
static void say_last (struct voice *voice, const char *word, const char *name, const char *why)
{
    if (voice->over)
        return;
    struct buf safe;
    buf_init (&safe, 8 * WHY_MAX_BYTES);
    buf_escaped (&safe, text_of (why), 0);
    struct text kept = text_clip (buf_as_text (&safe), WHY_MAX_BYTES);
    json_t *line = json_pack ("{s:i, s:s}", "sliceup-courier", VOICE_PROTOCOL, word, name);
    if (line && strcmp (word, "refused") == 0)
        json_object_set_new (line, "why", json_stringn (kept.ptr, kept.len));
    else if (line)
        json_object_set_new (line, word, json_stringn (kept.ptr, kept.len));
    say (voice, line);
    buf_release (&safe);
    voice->over = true;
}

void voice_refused_in (struct voice *voice, enum step step, const char *why)
{
    pthread_mutex_lock (&voice->lock);
    say_last (voice, "refused", step_name (step), why);
    pthread_mutex_unlock (&voice->lock);
}

void voice_refused (struct voice *voice, const char *why)
{
    pthread_mutex_lock (&voice->lock);
    say_last (voice, "refused", step_name (voice->step), why);
    pthread_mutex_unlock (&voice->lock);
}

void voice_lateness (struct voice *voice, uint64_t deadline_ms, struct text heard, struct err *err)
{
    char lasted[DURATION_TEXT_BYTES];
    pthread_mutex_lock (&voice->lock);
    heard = text_clip (heard, HEARD_MAX_BYTES);
    err_set (err, ERR_STATE, "still waiting for %s when the deadline of %s had passed (start.deadline)%s%.*s",
             voice->awaited, duration_print (deadline_ms, lasted), heard.len ? "; last heard: " : "", TEXT_ARG (heard));
    if (*voice->through)
        err_prefix (err, "jump host %s", voice->through);
    pthread_mutex_unlock (&voice->lock);
}

void voice_left (struct voice *voice)
{
    pthread_mutex_lock (&voice->lock);
    if (!voice->over)
        say (voice, json_pack ("{s:i, s:b}", "sliceup-courier", VOICE_PROTOCOL, "left", 1));
    voice->over = true;
    pthread_mutex_unlock (&voice->lock);
}

void voice_ended (struct voice *voice, const char *how)
{
    pthread_mutex_lock (&voice->lock);
    say_last (voice, "ended", "", how);
    pthread_mutex_unlock (&voice->lock);
}
