#include "coordinator/courier/reporter.h"

#include <assert.h>
#include <jansson.h>
#include <string.h>

#include "common/base/duration.h"
#include "common/io/fd.h"

/* What a coordinator keeps of a sentence is 1 KiB (coordinator/launch/launch_private.h). */
enum { REPORTER_PROTOCOL = 1, WHY_MAX_BYTES = 1000, RECEIVED_MAX_BYTES = 160 };

void reporter_init (struct reporter *reporter, int fd)
{
    *reporter = (struct reporter){ .fd = fd, .lock = PTHREAD_MUTEX_INITIALIZER, .awaited = "", .jump_host = "" };
}

/* One line, unless the last was said; uses `value` and `why` up, which may be NULL. Call with the lock held. */
static void reporter_say (struct reporter *reporter, bool last, const char *word, json_t *value, json_t *why)
{
    json_auto_t *line = json_pack ("{s:i, s:o, s:o*}", "sliceup-courier", REPORTER_PROTOCOL, word, value, "why", why);
    LOCAL_MEM char *words = line && !reporter->over ? json_dumps (line, JSON_COMPACT) : NULL;
    LOCAL_BUF out = { .max = 8 * WHY_MAX_BYTES }; /* escaped JSON of a sentence */
    if (words) {
        buf_printf (&out, "%s\n", words);
        (void) fd_write (reporter->fd, out.ptr, out.len); /* an error: the coordinator is gone */
    }
    reporter->over = reporter->over || last;
}

static void reporter_say_locked (struct reporter *reporter, bool last, const char *word, json_t *value, json_t *why)
{
    pthread_mutex_lock (&reporter->lock);
    reporter_say (reporter, last, word, value, why);
    pthread_mutex_unlock (&reporter->lock);
}

/* Made safe and short. */
static json_t *safe_json (const char *text)
{
    LOCAL_BUF safe = { .max = 8 * WHY_MAX_BYTES };
    buf_escaped (&safe, text_of (text), 0);
    struct text kept = text_clip (buf_as_text (&safe), WHY_MAX_BYTES);
    return json_stringn (kept.len ? kept.ptr : "", kept.len);
}

void reporter_send_step (struct reporter *reporter, enum step step, const char *awaited)
{
    pthread_mutex_lock (&reporter->lock);
    bool news = step != reporter->step || *reporter->awaited == '\0';
    reporter->step = step;
    reporter->awaited = awaited;
    if (news)
        reporter_say (reporter, false, "step", json_string (step_name (step)), NULL);
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
    reporter_say_locked (reporter, false, "found", json_string (sentence), NULL);
}

void reporter_set_jump_host (struct reporter *reporter, const char *jump)
{
    pthread_mutex_lock (&reporter->lock);
    reporter->jump_host = jump;
    pthread_mutex_unlock (&reporter->lock);
}

void reporter_send_carries (struct reporter *reporter, const char *why)
{
    reporter_say_locked (reporter, false, "carries", safe_json (why), NULL);
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

void reporter_send_refused_in (struct reporter *reporter, enum step step, const char *why)
{
    reporter_say_locked (reporter, true, "refused", json_string (step_name (step)), safe_json (why));
}

void reporter_send_refused (struct reporter *reporter, const char *why)
{
    pthread_mutex_lock (&reporter->lock);
    reporter_say (reporter, true, "refused", json_string (step_name (reporter->step)), safe_json (why));
    pthread_mutex_unlock (&reporter->lock);
}

void reporter_send_left (struct reporter *reporter)
{
    reporter_say_locked (reporter, true, "left", json_true (), NULL);
}

void reporter_send_ended (struct reporter *reporter, const char *how)
{
    reporter_say_locked (reporter, true, "ended", safe_json (how), NULL);
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
