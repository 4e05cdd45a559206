/* reporter.h - writes what a courier reports to its coordinator: lines of JSON on one descriptor. Spec:
 * docs/spec/launch.md.
 *
 * It knows nothing of hosts or of what the words follow from. A refusal, `left` or `ended` is the last word: whatever
 * comes after it is not said, so that the two threads of a courier cannot both end it. May be used by any thread. A
 * descriptor that nobody reads any more is no error here: the end of standard input tells that better. */
#ifndef SLICEUP_COORDINATOR_COURIER_REPORTER_H
#define SLICEUP_COORDINATOR_COURIER_REPORTER_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include <pthread.h>
#include <stdbool.h>

/* The steps of taking a worker to its host. Spec: docs/spec/launch.md. */
enum step {
    STEP_RESOLVE,
    STEP_CONNECT,
    STEP_HOST_KEY,
    STEP_AUTHENTICATION,
    STEP_ARCHITECTURE,
    STEP_UPLOAD,
    STEP_LIBRARIES,
    STEP_START,
    STEP_JOIN,
    STEPS
};
const char *step_name (enum step step);

struct reporter {
    int fd; /* borrowed */
    pthread_mutex_t lock;
    enum step step;
    const char *awaited;   /* lives as long as the reporter; for the sentence of a deadline that passed */
    const char *jump_host; /* the jump host that is talked to, or "" */
    bool over;
};

void reporter_init (struct reporter *reporter, int fd);
/* The step that begins, and what it waits for: "the name service". */
void reporter_send_step (struct reporter *reporter, enum step step, const char *awaited);
void reporter_set_awaited (struct reporter *reporter, const char *awaited); /* something else, in the same step */
void reporter_set_jump_host (struct reporter *reporter, const char *jump);  /* until it is set to "" again */
void reporter_send_remark (struct reporter *reporter,
                           const char *sentence); /* what somebody should know; nothing ends */
void reporter_send_worker_answer (struct reporter *reporter,
                                  struct text answer); /* the worker's own line, without its newline */
void reporter_send_refused (struct reporter *reporter, const char *why); /* in the step where it is */
void reporter_send_refused_in (struct reporter *reporter, enum step step, const char *why);
/* The sentence of a deadline that passed: what was waited for, and what was heard last ("": nothing). */
void reporter_describe_timeout (struct reporter *reporter, uint64_t deadline_ms, struct text received, struct err *err);
void reporter_send_left (struct reporter *reporter);
void reporter_send_ended (struct reporter *reporter, const char *how);

#endif
