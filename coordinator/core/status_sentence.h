/* status_sentence.h - makes the one line that says where the slice stands. */
#ifndef SLICEUP_COORDINATOR_CORE_STATUS_SENTENCE_H
#define SLICEUP_COORDINATOR_CORE_STATUS_SENTENCE_H

#include "coordinator/core/state.h"

struct text status_sentence_of_verdicts (const struct plan *plan, const struct fact_pass_ended *ended,
                                         struct arena *arena);
/* The same for the end of a run, with its earlier retries. */
struct text status_sentence_of_failure (const struct coord *coord, const struct fact_pass_ended *ended,
                                        struct arena *arena);
/* The same for a failed rung that did not end the climb. */
struct text status_sentence_of_shortfall (const struct coord *coord, const struct fact_pass_ended *ended,
                                          struct arena *arena);
struct text status_sentence_of_run (const struct coord *coord, struct arena *arena);

#endif
