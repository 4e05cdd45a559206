/* journal_former.h - what a journal of format 1 holds, in the words of today.
 *
 * In format 1 an outcome was no-report for six reasons, which the ending of the attempt tells apart, and a failure
 * could belong to the frontend or the backend. The facts of a journal pass through here one by one, in their order;
 * whoever begins in the middle of a pass has not seen how its attempts ended, and reads lost. Nothing is written. */
#ifndef SLICEUP_COORDINATOR_JOURNAL_JOURNAL_FORMER_H
#define SLICEUP_COORDINATOR_JOURNAL_JOURNAL_FORMER_H

#include "common/base/text.h"

struct journal_former;
struct journal_former *journal_former_create (void);
void journal_former_destroy (struct journal_former *former); /* NULL: nothing */
/* The same fact as it is encoded today; what is no fact comes back as it is. Valid until the next call. */
struct text journal_former_fact (struct journal_former *former, struct text bytes);

#endif
