/* run_begun.h - records and checks whether a run has begun. It begins when its first fact is durable; before that
 * nothing is started on a host.
 *
 * A file beside its folder, <home>/runs/<run id>.unbegun, says so: docs/spec/journal.md, "The sign".
 *
 * A coordinator killed before that leaves a folder. Makers of runs hold a shared lock on <home>/runs/.making until the
 * run's journal has its own lock; a remover of unbegun runs holds it alone. So a run that is being made is not mistaken
 * for one left behind. */
#ifndef SLICEUP_COORDINATOR_JOURNAL_RUN_BEGUN_H
#define SLICEUP_COORDINATOR_JOURNAL_RUN_BEGUN_H

#include "coordinator/journal/run_dir.h"

/* The folder of a new run (run_dir_create), and the descriptor that holds .making (close it to release), or -1. Waits
 * for a removal to end, for a bounded time. */
int run_begun_create_run (struct run_dir *dir, const char *home, struct err *err);
/* Waits, for a bounded time, until no other process of this home begins a run: a list of runs is complete then. The
 * locks lie in the folder that sandboxes hide. Returns a descriptor that holds the turn (close it once the run's first
 * fact is durable), or -1. */
int run_begun_take_turn (const char *home, struct err *err);
/* Removes .unbegun durably. Call it once the first fact is durable, before any effect of it. */
int run_begun_record (const struct run_dir *dir, struct err *err);
/* 0: it has begun, by its files, whose readers check them. ERR_USAGE: it was never begun; ERR_STATE: it is just being
 * made; ERR_DAMAGE: it had begun, but its journal is gone. */
int run_begun_check (const struct run_dir *dir, struct err *err);
/* run_dir_find, then run_begun_check. */
int run_begun_find_checked (struct run_dir *dir, const char *home, const char *wanted, struct err *err);
/* Removes the folder of a run that was never begun, with ERR_USAGE. 0: it has begun; other errors: it stays. */
int run_begun_check_or_remove (const struct run_dir *dir, struct err *err);

/* ---- the folder of a run that has ended, removed in an order that is safe against a crash ----
 *
 * The remover holds the journal's lock, so nobody resumes it meanwhile. It renames the folder to
 * <home>/runs/.removing-<run id>, which is no run any more, then removes its files. The next removal finishes one that
 * was killed. */
/* 0: it has ended and nobody holds it; else why it must stay, in words that follow "run <id> ". */
int run_check_removable (const struct run_dir *dir, struct err *err);
/* Checks again, with the lock, and removes it. */
int run_remove_ended (const struct run_dir *dir, struct err *err);
/* Removes what earlier removals left; counts the folders. */
int run_remove_leftovers (const char *home, uint32_t *removed, struct err *err);

#endif
