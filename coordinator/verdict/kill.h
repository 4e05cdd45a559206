/* kill.h - ends by a signal: how they are told, and what is known of who sent it.
 *
 * The kernel counts the processes that it kills for lack of memory (worker/process/memory_kills.h); without such a count
 * a signal says nothing of its sender. Knows one host. Pure; texts live in the arena or the result. */
#ifndef SLICEUP_COORDINATOR_VERDICT_KILL_H
#define SLICEUP_COORDINATOR_VERDICT_KILL_H

#include "coordinator/verdict/judge.h"

/* "exited with status 1", "killed by signal 9 (Killed)", or what a shell says of a program that was killed. */
struct text kill_describe_end (const struct result *result, struct arena *arena);
/* After the words of the result were judged. */
void kill_judge_sender (const struct judge_case *of, struct arena *arena, struct verdict *out);

#endif
