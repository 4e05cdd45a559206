/* failure.h - who owns the failure of one host: the part of a verdict that texts decide.
 *
 * Knows one host, and not what it must show to pass. Pure; its results live in the arena, the plan or the result. */
#ifndef SLICEUP_COORDINATOR_VERDICT_FAILURE_H
#define SLICEUP_COORDINATOR_VERDICT_FAILURE_H

#include "coordinator/verdict/judge.h"

/* Where to read more: a command, as far as it printed anything. */
struct text failure_look_at_log (const struct judge_case *of, struct arena *arena);
/* Where the program was when it ended: " in phase compile". Empty: a command that told no phase. */
struct text failure_place (const struct judge_case *of, struct arena *arena);
/* Was it ended by a signal that others send (SIGKILL, SIGTERM ...)? Then the cause lies on this host. */
bool failure_is_outside_kill (enum ending ending, uint32_t code);
/* `how` it ended: "exit status 1". Gives the whole verdict, FAILED. */
void failure_judge (const struct judge_case *of, struct arena *arena, struct text how, struct verdict *out);
/* Where the program was when it was stopped: its frames, what its threads waited in. Empty: nobody looked. */
struct text failure_stack (const struct result *result, struct arena *arena);
/* Adds to the verdict on a hang what is recognised in its output, and where it hung. An error that programs do not
 * survive is the cause of a hang that comes after it. */
void failure_describe_hang (const struct judge_case *of, struct arena *arena, struct verdict *out);
/* The same of one that was stopped because of others: where it stood. A known error of device, host, launch or bundle at
 * the end of its output is a failure of its own. */
void failure_describe_stop (const struct judge_case *of, struct arena *arena, struct verdict *out);

/* After a cause: " [known host, disk-full]", " [likely bundle, module-missing]", or that the owner is unknown. A receipt
 * of a build that did not tell its certainty has NONE: the owner stands alone. */
void failure_print_owner (struct buf *out, enum certainty certainty, enum owner owner, struct text signature);

/* "exited with status 1", "killed by signal 9 (Killed)", or what a shell says of a program that was killed. */
struct text failure_describe_end (const struct result *result, struct arena *arena);
/* Who sent the signal, after the words of the result were judged: the kernel counts the processes that it kills for lack
 * of memory (worker/process/cgroup_place.h); without such a count a signal says nothing of its sender. */
void failure_judge_sender (const struct judge_case *of, struct arena *arena, struct verdict *out);

#endif
