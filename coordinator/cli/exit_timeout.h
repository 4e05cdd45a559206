/* exit_timeout.h - lets a process end although its output is not read (a full pipe, Ctrl-S, a pager).
 *
 * Writing to it blocks for as long as it likes, so what ends the waiting is a signal. Main thread. */
#ifndef SLICEUP_COORDINATOR_CLI_EXIT_TIMEOUT_H
#define SLICEUP_COORDINATOR_CLI_EXIT_TIMEOUT_H

#include <stdbool.h>

/* For a program that a loop's signals kept until here, and that has only words left to say: SIGINT, SIGTERM and SIGHUP
 * do what they do by default, behind the last words. One that came just before is exit_timeout_start with this status. */
void exit_timeout_default_signals (int status);
/* Ends the process with this status in a second, unless it has ended by then. */
void exit_timeout_start (int status);
/* For a program without a loop's signals: SIGINT, SIGTERM and SIGHUP are noted, and exit_timeout_start is called. */
void exit_timeout_catch_signals (int status);
/* What such an end calls before all else: async-signal-safe; for a terminal that is not as it was. */
void exit_timeout_set_last (void (*last) (void));
bool exit_timeout_signal_seen (void);

#endif
