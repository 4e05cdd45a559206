/* join_loop.h - `sliceup-worker join --ticket FILE`: a worker that a person or a service manager starts. It waits for a
 * run, works in it as every worker does, and ends with it (a service manager starts it again) or, with --stay, waits
 * for the next.
 *
 * With --stay each run is served by a process of its own, so that nothing of one reaches the next. */
#ifndef SLICEUP_WORKER_RUN_JOIN_LOOP_H
#define SLICEUP_WORKER_RUN_JOIN_LOOP_H

/* The arguments after "join". Returns the exit status. */
int join_loop_main (int argc, char **argv, const char *version);

#endif
