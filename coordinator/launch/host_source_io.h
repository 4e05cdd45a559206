/* host_source_io.h - asks this machine which hosts its job has; host_source.h parses the answers.
 *
 * Words: "slurm" (SLURM_JOB_NODELIST, else SLURM_NODELIST), "tpu" (TPU_WORKER_HOSTNAMES, else the TPU VM metadata
 * server), "env" (the first of these variables that is set; asks no server).
 * The metadata server is asked at GCE_METADATA_HOST ("host" or "host:port") or else at 169.254.169.254, over plain
 * HTTP, as Google's libraries do. The answer is bounded in size, and in time by HOST_SOURCE_DEADLINE_MS; only a silent
 * name server may take longer, as long as resolv.conf says. Errors: ERR_USAGE for an unknown word, ERR_STATE if nothing
 * is set, ERR_IO, ERR_REFUSED and ERR_PARSE for a bad answer. */
#ifndef SLICEUP_COORDINATOR_LAUNCH_HOST_SOURCE_IO_H
#define SLICEUP_COORDINATOR_LAUNCH_HOST_SOURCE_IO_H

#include "common/base/buf.h"
#include "common/base/err.h"

enum { HOST_SOURCE_DEADLINE_MS = 2000, HOST_SOURCE_MAX_BYTES = 256 << 10 };

int host_source_read (const char *word, struct buf *expression, struct err *err);

#endif
