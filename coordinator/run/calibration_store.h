/* calibration_store.h - stores the measures of launches, and how hosts fared, over all runs of one SLICEUP_HOME:
 * <home>/calibration.db (SQLite).
 *
 * Knows nothing of why a launch is good or bad. Adding is idempotent, since a resumed run adds the same again. It keeps
 * the last CALIBRATION_KEPT measures of a signature. Any thread, one call at a time; waits up to 10 s for other
 * processes that use the file. A missing file holds no measures. */
#ifndef SLICEUP_COORDINATOR_RUN_CALIBRATION_STORE_H
#define SLICEUP_COORDINATOR_RUN_CALIBRATION_STORE_H

#include "coordinator/story/host_history.h"
#include "coordinator/story/measure_fold.h"

enum { CALIBRATION_KEPT = 64, CALIBRATION_READ_MAX = 10000 };

int calibration_add (const char *home, const struct measure_list *measures, struct err *err);
/* Newest first; empty `signature`: all. */
int calibration_read (const char *home, struct text signature, struct arena *arena, struct measure_list *out,
                      struct err *err);
/* `forgotten`: how many measures were removed. */
int calibration_forget (const char *home, struct text signature, uint32_t *forgotten, struct err *err);

/* Of a run that ended; the last RUNS_OF_HOSTS_KEPT are kept. */
enum { RUNS_OF_HOSTS_KEPT = 256 };
int calibration_add_hosts (const char *home, const struct run_hosts *hosts, struct err *err);
/* Newest first, in `arena`. */
int calibration_read_hosts (const char *home, struct arena *arena, struct run_hosts_list *out, struct err *err);

#endif
