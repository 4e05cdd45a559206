/* metrics_file.h - the series of a run as a file for the textfile collector of node_exporter. Replaced by rename, so that
 * nobody reads a part of it; readable by everybody, since the collector is another user. */
#ifndef SLICEUP_COORDINATOR_CLI_METRICS_FILE_H
#define SLICEUP_COORDINATOR_CLI_METRICS_FILE_H

#include "common/io/log.h"
#include "coordinator/metrics/metrics.h"

/* Would it be read where it is, and can it be written? ERR_USAGE says what to do. */
int metrics_file_check (const char *path, struct err *err);
int metrics_file_write (const char *path, const struct buf *text, struct err *err);

#endif
