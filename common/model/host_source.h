/* host_source.h - turns the host lists of schedulers and platforms into a host set expression.
 *
 * Text in, text out; coordinator/cli/host_filter.c asks the environment and the metadata server. Input is
 * untrusted: the expressions made here hold only names, brackets and commas (no operators, no groups), and the caller
 * bounds their expansion. Errors: ERR_PARSE with the place. */
#ifndef SLICEUP_COMMON_MODEL_HOST_SOURCE_H
#define SLICEUP_COMMON_MODEL_HOST_SOURCE_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include <stdbool.h>

/* SLURM_JOB_NODELIST: "tux[1-3],login1". */
int host_source_slurm (struct text nodelist, struct buf *expression, struct err *err);
/* TPU_WORKER_HOSTNAMES: "w-0,w-1". */
int host_source_tpu_names (struct text names, struct buf *expression, struct err *err);
/* The TPU VM metadata attribute worker-network-endpoints: "name:id:address,..." or plain names. Takes the address, by
 * which a worker is reached; the names are often "unknown". */
int host_source_tpu_endpoints (struct text endpoints, struct buf *expression, struct err *err);
/* A file of host sets, one or more a line, comments behind '#'. Begin with {.content = bytes}. */
struct host_file {
    struct text content, word;
    struct text beside; /* the word before it in the same line; empty: none */
    uint32_t at, line, column;
};
/* The next word; false at the end. Blanks within brackets do not separate words; how many slots MPI has on a host is
 * passed over, and so are the byte order mark and the carriage returns of Windows. */
bool host_file_next (struct host_file *file);
/* What a file is by its word, if that is no host set; NULL: nothing that is known. */
#define HOST_SOURCE_EXPECTED                                                                                           \
    "names alone, one a line (of an inventory `ansible all -i FILE --list-hosts` prints them); addresses, users and "  \
    "ports in maps of the slice file, or in ~/.ssh/config with ssh: {config: true}"
const char *host_file_other_tool (const struct host_file *file);

#endif
