/* reporter.h - writes what a courier reports to its coordinator: lines of JSON on one descriptor. Spec:
 * docs/spec/launch.md.
 *
 * It knows nothing of hosts or of reasons. A refusal, `left` or `ended` is the last report: later ones are dropped, so
 * that the two threads of a courier cannot both end it. Any thread. A descriptor without a reader is no error here: the
 * courier learns that from the end of its standard input. */
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
    STEP_SHELL,
    STEP_UPLOAD,
    STEP_LIBRARIES,
    STEP_START,
    STEP_LINK, /* only if the worker cannot reach the coordinator */
    STEP_JOIN,
    STEPS
};
const char *step_name (enum step step);

struct reporter {
    int fd; /* borrowed */
    pthread_mutex_t lock;
    enum step step;
    const char *awaited;   /* outlives the reporter; for the sentence of a missed deadline */
    const char *jump_host; /* the jump host in use, or "" */
    bool over;
};

void reporter_init (struct reporter *reporter, int fd);
/* Begins a step, and says what it waits for: "the name service". */
void reporter_send_step (struct reporter *reporter, enum step step, const char *awaited);
void reporter_set_awaited (struct reporter *reporter, const char *awaited);  /* a new wait in the same step */
void reporter_set_jump_host (struct reporter *reporter, const char *jump);   /* until it is set to "" again */
void reporter_send_remark (struct reporter *reporter, const char *sentence); /* a remark; ends nothing */
void reporter_send_worker_answer (struct reporter *reporter,
                                  struct text answer); /* the worker's own line, without its newline */
void reporter_send_refused (struct reporter *reporter, const char *why); /* in the current step */
void reporter_send_refused_in (struct reporter *reporter, enum step step, const char *why);
/* The sentence of a missed deadline: what it waited for, and what was received last ("": nothing). */
void reporter_describe_timeout (struct reporter *reporter, uint64_t deadline_ms, struct text received, struct err *err);
/* The worker's link passes through this courier now, which stays; `why`: what it cannot reach, "": it was asked for. */
void reporter_send_carries (struct reporter *reporter, const char *why);
void reporter_send_left (struct reporter *reporter);
void reporter_send_ended (struct reporter *reporter, const char *how);

#endif
