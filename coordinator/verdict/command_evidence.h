/* command_evidence.h - what is asked of a command beside its exit status: nothing known in its log, and its limits kept.
 *
 * A limit is judged from counters of the result (docs/spec/canary.md, "Counters of a step"). What no counter shows is not kept.
 * False: *out has the verdict. Pure. */
#ifndef SLICEUP_COORDINATOR_VERDICT_COMMAND_EVIDENCE_H
#define SLICEUP_COORDINATOR_VERDICT_COMMAND_EVIDENCE_H

#include "coordinator/verdict/judge.h"

/* Of one that ended badly, and nobody knows why: what it printed that no program may print which does what it should. */
void command_adopt_warning (const struct judge_case *of, struct verdict *out);
/* Of a silent one no metric may be asked; what others said of it is judged with all hosts. */
bool command_reports_metrics (const struct judge_case *of, struct arena *arena, struct verdict *out);
/* A text whose signature says `always`. */
bool command_log_is_clean (const struct judge_case *of, struct arena *arena, struct verdict *out);
/* The backend that the rung asks for, as its program reports it, a canary's too: on all devices of the host, with all
 * other hosts. A command that is asked for none, where the rung does not say `any`, must not report another than the
 * profile's. */
bool evidence_ran_where_asked (const struct judge_case *of, struct arena *arena, struct verdict *out);
bool command_keeps_limits (const struct judge_case *of, struct arena *arena, struct verdict *out);

#endif
