/* screen.h - the terminal itself: cells go out, keys come in.
 *
 * Only what differs from what is shown goes out, and what goes out never waits: while the terminal takes nothing
 * (Ctrl-S, a slow link), screen_ready says so and a frame is left out. Closing
 * waits for the terminal, as whatever is printed then would. Whatever ends the process but SIGKILL, SIGALRM and real-time signals leaves a usable terminal. One screen a process; one thread, whose locale it sets. It leaves the process's
 * handlers of SIGINT and SIGTERM as they are. */
#ifndef SLICEUP_COORDINATOR_TERMINAL_SCREEN_H
#define SLICEUP_COORDINATOR_TERMINAL_SCREEN_H

#include "common/base/err.h"
#include "coordinator/terminal/cells.h"

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
uint32_t screen_key (struct screen *screen); /* a character or one of state.h; 0: none waits */
/* As it was before it was opened. Async-signal-safe; without one that is open nothing. */
void screen_restore (void);

#endif
