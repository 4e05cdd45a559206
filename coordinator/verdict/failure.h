/* failure.h - finds the owner of one host's failure: the part of a verdict that texts decide.
 *
 * Knows one host, and not what it needs to pass. Pure; its results live in the arena, the plan or the result. */
#ifndef SLICEUP_COORDINATOR_VERDICT_FAILURE_H
#define SLICEUP_COORDINATOR_VERDICT_FAILURE_H

#include "common/logs/classify.h"
#include "coordinator/verdict/judge.h"

/* Advice with the command that shows its log; for a program without output it names none. */
struct text failure_look_at_log (const struct judge_case *of, struct arena *arena);
/* Where the program was when it ended: " in phase compile". Empty: a command that reported no phase. */
struct text failure_place (const struct judge_case *of, struct arena *arena);
/* Did a signal from outside end it (SIGKILL, SIGTERM ...)? Then the cause lies on this host. */
bool failure_is_outside_kill (enum ending ending, uint32_t code);
/* `how` it ended: "exit status 1". Gives the whole verdict, FAILED. */
void failure_judge (const struct judge_case *of, struct arena *arena, struct text how, struct verdict *out);
/* Where the program was when it was stopped: its frames, and what its threads waited in. Empty: not recorded. */
struct text failure_stack (const struct result *result, struct arena *arena);
/* Adds to the verdict on a hang what its output shows, and where it hung. An error that programs do not survive is the
 * cause of a later hang. */
void failure_describe_hang (const struct judge_case *of, struct arena *arena, struct verdict *out);
/* The same for a program stopped because of others: adds where it was. A known error of device, host, launch or bundle
 * at the end of its output is a failure of its own. */
void failure_describe_stop (const struct judge_case *of, struct arena *arena, struct verdict *out);

/* After a cause: "; whose: the host (certain; disk-full)", "; whose: another host, else how it was launched (likely;
 * refused)", or that the owner is unknown. `otherwise`: the second owner, or NONE. Receipts of builds without certainty
 * have NONE: only the owner is printed. */
void failure_print_owner (struct buf *out, enum certainty certainty, enum owner owner, enum owner otherwise,
                          struct text signature);

/* How much a cause tells, which is the order in which causes are told everywhere: a known owner more than a likely one, that
 * more than none, and who only followed least. */
enum { FAILURE_WORTHS = 4 };
uint32_t failure_worth (enum outcome outcome, enum owner owner, bool likely);

/* "exited with status 1", "killed by signal 9 (Killed)", or a shell's words for a killed program. */
struct text failure_describe_end (const struct result *result, struct arena *arena);
/* Finds the sender of a signal, after the texts of the result are judged: the kernel counts processes that it kills for
 * lack of memory (worker/process/cgroup_place.h). Without such a count the sender is unknown. */
void failure_judge_sender (const struct judge_case *of, struct arena *arena, struct verdict *out);

/* ---- failure_reading.c: reads why one result failed: its own sentence, known texts in its output, its last lines ----
 *
 * Knows the signatures of the plan and no other host. Pure; texts live in the arena, the plan or the result. */

struct failure_reading {
    struct cause_decision of; /* the text that decides */
    bool in_failure;          /* that text is in the program's own sentence */
    struct text evidence;     /* the line that decides, or the lines most like an error */
    struct text peers;        /* all lines about other hosts; of a text that nobody knows all of the evidence */
    bool complains;           /* there is a known one among them */
};

/* `set`: of the plan's signatures; NULL: built for this call. */
void failure_read_result (const struct plan *plan, const struct signature_set *set, const struct result *result,
                          struct arena *arena, struct failure_reading *out);

/* ---- error line ---- */

/* Finds the one line that shows a failure, and causes that are equal. Pure; texts are borrowed. */

/* The first line of `evidence` that looks like an error. Without one: the last line of a failed program, since it ended
 * with it; else the first, which shows where it was. */
struct text error_line_find (enum outcome outcome, struct text evidence);
/* The same; empty if `cause` has it already. */
struct text error_line_beside (enum outcome outcome, struct text evidence, struct text cause);
/* Are the causes equal? The hosts' own names (empty: not known), ranks, pids, ports and addresses may differ. Values
 * may not: the sentence of the first host would be untrue for the second. */
bool cause_equal (struct text a, struct text host_a, struct text b, struct text host_b);
/* Do two verdicts say the same: outcome, owner, signature and cause? */
bool verdict_same_cause (const struct verdict *a, struct text host_a, const struct verdict *b, struct text host_b);

#endif
