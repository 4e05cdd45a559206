/* voice.h - what a courier says to its coordinator: lines of JSON on one descriptor. Spec: docs/spec/launch.md.
 *
 * It knows nothing of hosts or of what the words follow from. A refusal, `left` or `ended` is the last word: whatever
 * comes after it is not said, so that the two threads of a courier cannot both end it. May be used by any thread. A
 * descriptor that nobody reads any more is no error here: the end of standard input tells that better. */
#ifndef SLICEUP_COURIER_VOICE_H
#define SLICEUP_COURIER_VOICE_H

#include <pthread.h>
#include <stdbool.h>
#include "common/base/buf.h"
#include "common/base/err.h"
#include "coordinator/courier/step.h"

struct voice {
    int fd;                 /* borrowed */
    pthread_mutex_t lock;
    enum step step;
    const char *awaited;    /* lives as long as the voice; for the sentence of a deadline that passed */
    const char *through;    /* the jump host that is talked to, or "" */
    bool over;
};

void voice_init (struct voice *voice, int fd);
/* The step that begins, and what it waits for: "the name service". */
void voice_step (struct voice *voice, enum step step, const char *awaited);
void voice_waits (struct voice *voice, const char *awaited);            /* something else, in the same step */
void voice_through (struct voice *voice, const char *jump);             /* until it is set to "" again */
void voice_found (struct voice *voice, const char *sentence);          /* what somebody should know; nothing ends */
void voice_worker (struct voice *voice, struct text answer);            /* the worker's own line, without its newline */
void voice_refused (struct voice *voice, const char *why);              /* in the step where it is */
void voice_refused_in (struct voice *voice, enum step step, const char *why);
/* The sentence of a deadline that passed: what was waited for, and what was heard last ("": nothing). */
void voice_lateness (struct voice *voice, uint64_t deadline_ms, struct text heard, struct err *err);
void voice_left (struct voice *voice);
void voice_ended (struct voice *voice, const char *how);

#endif
