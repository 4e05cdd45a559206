#include "coordinator/courier/reporter.h"

#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/duration.h"
#include "common/io/fd.h"

/* What a coordinator keeps of a sentence is 1 KiB (coordinator/launch/launch_protocol.h). */
enum { REPORTER_PROTOCOL = 1, WHY_MAX_BYTES = 1000, RECEIVED_MAX_BYTES = 160 };

void reporter_init (struct reporter *reporter, int fd)
{
    *reporter = (struct reporter){ .fd = fd, .lock = PTHREAD_MUTEX_INITIALIZER, .awaited = "", .jump_host = "" };
}

/* Uses `line` up. Call with the lock held. */
static void reporter_say (struct reporter *reporter, json_t *line)
{
    char *words = line ? json_dumps (line, JSON_COMPACT) : NULL;
    if (words) {
        LOCAL_BUF out = { .max = 8 * WHY_MAX_BYTES }; /* escaped JSON of a sentence */
        buf_printf (&out, "%s\n", words);
        (void) fd_write (reporter->fd, out.ptr, out.len); /* an error: the coordinator is gone */
    }
    free (words);
    json_decref (line);
}

void reporter_send_step (struct reporter *reporter, enum step step, const char *awaited)
{
    pthread_mutex_lock (&reporter->lock);
    bool news = step != reporter->step || *reporter->awaited == '\0';
    reporter->step = step;
    reporter->awaited = awaited;
    if (news && !reporter->over)
        reporter_say (reporter,
                      json_pack ("{s:i, s:s}", "sliceup-courier", REPORTER_PROTOCOL, "step", step_name (step)));
    pthread_mutex_unlock (&reporter->lock);
}

void reporter_set_awaited (struct reporter *reporter, const char *awaited)
{
    pthread_mutex_lock (&reporter->lock);
    reporter->awaited = awaited;
    pthread_mutex_unlock (&reporter->lock);
}

void reporter_send_remark (struct reporter *reporter, const char *sentence)
{
    pthread_mutex_lock (&reporter->lock);
    if (!reporter->over)
        reporter_say (reporter, json_pack ("{s:i, s:s}", "sliceup-courier", REPORTER_PROTOCOL, "found", sentence));
    pthread_mutex_unlock (&reporter->lock);
}

void reporter_set_jump_host (struct reporter *reporter, const char *jump)
{
    pthread_mutex_lock (&reporter->lock);
    reporter->jump_host = jump;
    pthread_mutex_unlock (&reporter->lock);
}

void reporter_send_carries (struct reporter *reporter, const char *why)
{
    LOCAL_BUF safe = { .max = 8 * WHY_MAX_BYTES };
    buf_escaped (&safe, text_of (why), 0);
    pthread_mutex_lock (&reporter->lock);
    if (!reporter->over)
        reporter_say (reporter,
                      json_pack ("{s:i, s:s}", "sliceup-courier", REPORTER_PROTOCOL, "carries", buf_c (&safe)));
    pthread_mutex_unlock (&reporter->lock);
}

void reporter_send_worker_answer (struct reporter *reporter, struct text answer)
{
    pthread_mutex_lock (&reporter->lock);
    if (!reporter->over) {
        (void) fd_write (reporter->fd, answer.ptr, answer.len);
        (void) fd_write (reporter->fd, "\n", 1);
    }
    pthread_mutex_unlock (&reporter->lock);
}

/* Sends `word` with its text, made safe and short. Call with the lock held. */
static void say_last (struct reporter *reporter, const char *word, const char *name, const char *why)
{
    if (reporter->over)
        return;
    LOCAL_BUF safe = { .max = 8 * WHY_MAX_BYTES };
    buf_escaped (&safe, text_of (why), 0);
    struct text kept = text_clip (buf_as_text (&safe), WHY_MAX_BYTES);
    json_t *line = json_pack ("{s:i, s:s}", "sliceup-courier", REPORTER_PROTOCOL, word, name);
    if (line && strcmp (word, "refused") == 0)
        json_object_set_new (line, "why", json_stringn (kept.ptr, kept.len));
    else if (line)
        json_object_set_new (line, word, json_stringn (kept.ptr, kept.len));
    reporter_say (reporter, line);
    reporter->over = true;
}

void reporter_send_refused_in (struct reporter *reporter, enum step step, const char *why)
{
    pthread_mutex_lock (&reporter->lock);
    say_last (reporter, "refused", step_name (step), why);
    pthread_mutex_unlock (&reporter->lock);
}

void reporter_send_refused (struct reporter *reporter, const char *why)
{
    pthread_mutex_lock (&reporter->lock);
    say_last (reporter, "refused", step_name (reporter->step), why);
    pthread_mutex_unlock (&reporter->lock);
}

void reporter_describe_timeout (struct reporter *reporter, uint64_t deadline_ms, struct text received, struct err *err)
{
    char lasted[DURATION_TEXT_BYTES];
    pthread_mutex_lock (&reporter->lock);
    received = text_clip (received, RECEIVED_MAX_BYTES);
    err_set (err, ERR_STATE, "no answer within the deadline of %s (start.deadline); still waiting for %s%s%.*s",
             duration_print (deadline_ms, lasted), reporter->awaited, received.len ? "; last output: " : "",
             TEXT_ARG (received));
    if (*reporter->jump_host)
        err_prefix (err, "jump host %s", reporter->jump_host);
    pthread_mutex_unlock (&reporter->lock);
}

void reporter_send_left (struct reporter *reporter)
{
    pthread_mutex_lock (&reporter->lock);
    if (!reporter->over)
        reporter_say (reporter, json_pack ("{s:i, s:b}", "sliceup-courier", REPORTER_PROTOCOL, "left", 1));
    reporter->over = true;
    pthread_mutex_unlock (&reporter->lock);
}

void reporter_send_ended (struct reporter *reporter, const char *how)
{
    pthread_mutex_lock (&reporter->lock);
    say_last (reporter, "ended", "", how);
    pthread_mutex_unlock (&reporter->lock);
}

/* ---- steps ---- */

static const char *const names[STEPS] = { [STEP_RESOLVE] = "resolve",     [STEP_CONNECT] = "connect",
                                          [STEP_HOST_KEY] = "host-key",   [STEP_AUTHENTICATION] = "authentication",
                                          [STEP_SHELL] = "shell",         [STEP_UPLOAD] = "upload",
                                          [STEP_LIBRARIES] = "libraries", [STEP_START] = "start",
                                          [STEP_LINK] = "link",           [STEP_JOIN] = "join" };

const char *step_name (enum step step)
{
    assert (step < STEPS);
    return names[step];
}
