/* run_removal.h - removes the folder of a run that has ended, in an order that is safe against a crash.
 *
 * Whoever removes it holds the journal's lock, so nobody resumes it meanwhile. The folder is renamed to
 * <home>/runs/.removing-<run id>, which is no run any more, and then its files are removed. What a removal that was
 * killed left is removed by the next. */
#ifndef SLICEUP_COORDINATOR_HOME_RUN_REMOVAL_H
#define SLICEUP_COORDINATOR_HOME_RUN_REMOVAL_H

#include "coordinator/home/run_dir.h"

/* Why it is not to be removed, in words that follow "run <id> "; 0: it has ended and nobody holds it. */
int run_check_removable (const struct run_dir *dir, struct err *err);
/* Asks again, with the lock. */
int run_remove_ended (const struct run_dir *dir, struct err *err);
/* What earlier removals left: how many folders. */
int run_remove_leftovers (const char *home, uint32_t *removed, struct err *err);
#endif
