/* session.h - a person at a terminal, looking at the feed of a run: keys are read and frames drawn while facts come in.
 *
 * The owner puts facts into the feed and calls terminal_session_tick often; that never waits. What needs the run's
 * folder the owner does: it reads logs and cancels. One thread; one session a process. */
#ifndef SLICEUP_COORDINATOR_TERMINAL_SESSION_H
#define SLICEUP_COORDINATOR_TERMINAL_SESSION_H

#include "common/base/err.h"
#include "coordinator/terminal/draw.h"

struct terminal_options {
    struct feed *feed;
    const char *program, *run, *key; /* of terminal_state */
    bool color;
    void *owner;
    /* The end of what a host printed last: fills all of `out`, in the arena. */
    void (*read_log) (void *owner, uint32_t rank, struct arena *arena, struct terminal_log *out);
    /* What `sliceup cancel` does, without waiting for the end. */
    int (*cancel) (void *owner, struct err *err);
};
struct terminal_session;
/* The texts live as long as the session does. NULL: ERR_STATE, it cannot be worked with. */
struct terminal_session *terminal_session_open (const struct terminal_options *options, struct err *err);
void terminal_session_close (struct terminal_session *session); /* the former screen is back; NULL is fine */
/* Takes keys, draws when there is something new. False: the person leaves. */
bool terminal_session_tick (struct terminal_session *session, uint64_t boot_ms);

#endif
