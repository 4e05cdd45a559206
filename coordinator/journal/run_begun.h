/* run_begun.h - records and checks whether a run has begun. It begins when its first fact is durable; before that
 * nothing is started on a host.
 *
 * A sign beside its folder, <home>/runs/<run id>.unbegun, says that nothing has followed from its facts: it is made
 * before the folder, and removed for good before anything follows from the first fact. A run that holds no fact was
 * never begun when the sign is there, and is damaged when it is not: that its journal is gone is no sign of either.
 *
 * A coordinator that is killed earlier leaves a folder that proves nothing. Whoever makes a run holds
 * <home>/runs/.making, together with others who do, until the run's journal has its own lock; whoever removes one that
 * was never begun holds it alone. So what is just being made is not taken for what was left. */
#ifndef SLICEUP_COORDINATOR_JOURNAL_RUN_BEGUN_H
#define SLICEUP_COORDINATOR_JOURNAL_RUN_BEGUN_H

#include "coordinator/journal/run_dir.h"

/* The folder of a new run (run_dir_create), and the descriptor that holds .making (close it to release), or -1. Waits
 * for a removal to end, for a bounded time. */
int run_begun_create_run (struct run_dir *dir, const char *home, struct err *err);
/* Waits until no other process of this home begins a run, for a bounded time: who then looks at the runs that are there
 * sees all of them. The locks lie in the folder that sandboxes keep out of sight. The descriptor holds the turn (close it
 * once the run's first fact is durable), or -1. */
int run_begun_take_turn (const char *home, struct err *err);
/* Its first fact is durable: removes the sign, and makes that durable. To be called before anything follows from it. */
int run_begun_record (const struct run_dir *dir, struct err *err);
/* 0: it has begun, as far as its files tell; what is wrong with those is for who reads them to say. ERR_USAGE: it was
 * never begun; ERR_STATE: it is just being made; ERR_DAMAGE: it had begun, and no journal tells of it. */
int run_begun_check (const struct run_dir *dir, struct err *err);
/* run_dir_find, and then that it has begun. */
int run_begun_find_checked (struct run_dir *dir, const char *home, const char *wanted, struct err *err);
/* Removes the folder of a run that was never begun: ERR_USAGE says so. 0: it has begun; any other error: it stays. */
int run_begun_check_or_remove (const struct run_dir *dir, struct err *err);

/* ---- the folder of a run that has ended, removed in an order that is safe against a crash ----
 *
 * Whoever removes it holds the journal's lock, so nobody resumes it meanwhile. The folder is renamed to
 * <home>/runs/.removing-<run id>, which is no run any more, and then its files are removed. What a removal that was
 * killed left is removed by the next. */
/* Why it is not to be removed, in words that follow "run <id> "; 0: it has ended and nobody holds it. */
int run_check_removable (const struct run_dir *dir, struct err *err);
/* Asks again, with the lock. */
int run_remove_ended (const struct run_dir *dir, struct err *err);
/* What earlier removals left: how many folders. */
int run_remove_leftovers (const char *home, uint32_t *removed, struct err *err);

#endif
