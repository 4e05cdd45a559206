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
    int (*ask_stands) (void *owner, struct err *err); /* as `sliceup stacks` does */
};
struct terminal_session;
/* The texts live as long as the session does. NULL: ERR_STATE, it cannot be worked with. */
struct terminal_session *terminal_session_open (const struct terminal_options *options, struct err *err);
void terminal_session_close (struct terminal_session *session); /* the former screen is back; NULL is fine */
/* Takes keys, draws when there is something new. False: the person leaves. */
bool terminal_session_tick (struct terminal_session *session, uint64_t boot_ms);

/* ---- screen.c: the terminal itself: cells go out, keys come in ---- */

/* Only what differs from what is shown goes out, and what goes out never waits: while the terminal takes nothing
 * (Ctrl-S, a slow link), screen_ready says so and a frame is left out. Closing waits for the terminal, as whatever is
 * printed then would. Whatever ends the process but SIGKILL, SIGALRM and real-time signals leaves a usable terminal. One
 * screen a process; one thread, whose locale it sets. It leaves the process's handlers of SIGINT and SIGTERM as they
 * are. */

struct screen;
/* On standard input and output, which are terminals. ERR_STATE: of a kind that nothing is known of. */
struct screen *screen_open (bool color, struct err *err);
void screen_close (struct screen *screen); /* NULL is fine */
/* What it can show, as large as it is now. */
struct style screen_style (const struct screen *screen);
/* Is this process in the foreground of its terminal? Else nothing is read from it, and nothing shown. */
bool screen_in_front (struct screen *screen);
bool screen_ready (struct screen *screen); /* all that was shown is on its way */
void screen_show (struct screen *screen, const struct cells *cells, uint32_t row, uint32_t column);
void screen_repaint (struct screen *screen); /* the next one is drawn as if nothing of it could be trusted */
uint32_t screen_key (struct screen *screen); /* a character or one of draw.h; 0: none waits */
/* As it was before it was opened. Async-signal-safe; without one that is open nothing. */
void screen_restore (void);

#endif
