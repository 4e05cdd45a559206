/* calibration_store.h - stores the measures of launches over all runs of one SLICEUP_HOME: <home>/calibration.db
 * (SQLite).
 *
 * Knows nothing of why a launch is good or bad. Adding is idempotent: a run that is resumed adds the same again. Of one
 * signature the last CALIBRATION_KEPT measures stay. Any thread, one call at a time; other processes may use the file
 * at the same time, and are waited for up to 10 s. A file that was never made holds no measures. */
#ifndef SLICEUP_COORDINATOR_RUN_CALIBRATION_STORE_H
#define SLICEUP_COORDINATOR_RUN_CALIBRATION_STORE_H

#include "common/base/err.h"
#include "coordinator/story/measure_fold.h"

enum { CALIBRATION_KEPT = 64, CALIBRATION_READ_MAX = 10000 };

int calibration_add (const char *home, const struct measure_list *measures, struct err *err);
/* Newest first; `signature` empty: all of them. */
int calibration_read (const char *home, struct text signature, struct arena *arena, struct measure_list *out,
                      struct err *err);
/* `forgotten`: how many measures there were. */
int calibration_forget (const char *home, struct text signature, uint32_t *forgotten, struct err *err);

#endif
