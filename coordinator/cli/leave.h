/* leave.h - lets a process end although its output is not read (a full pipe, Ctrl-S, a pager).
 *
 * Writing to it blocks for as long as it likes, so what ends the waiting is a signal. Main thread. */
#ifndef SLICEUP_COORDINATOR_CLI_LEAVE_H
#define SLICEUP_COORDINATOR_CLI_LEAVE_H

#include <stdbool.h>

/* For a program that a loop's signals kept until here, and that has only words left to say: SIGINT, SIGTERM and SIGHUP
 * do what they do by default. One that came just before is leave_soon with this status. */
void leave_when_asked (int status);
/* Ends the process with this status in a second, unless it has ended by then. */
void leave_soon (int status);
/* For a program without a loop's signals: SIGINT, SIGTERM and SIGHUP are noted, and leave_soon is called. */
void leave_note_signals (int status);
bool leave_was_asked (void);

#endif
