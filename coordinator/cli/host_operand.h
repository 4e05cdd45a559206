/* host_operand.h - one operand of `sliceup hosts`: words of the command line, a file of sets, or what this machine
 * says.
 *
 * Reads files and standard input, bounded; nothing is kept. Errors: of hostset.h, host_source_io.h and read(2). */
#ifndef SLICEUP_COORDINATOR_CLI_HOST_OPERAND_H
#define SLICEUP_COORDINATOR_CLI_HOST_OPERAND_H

#include "common/model/hostset.h"

enum host_from { HOST_FROM_WORDS, HOST_FROM_FILE, HOST_FROM_SOURCE };
struct host_operand {
    enum hostset_step step;
    enum host_from from;
    const char *value; /* an expression, which may have lines; a path, "-": standard input; slurm, tpu, env */
};

enum { HOST_INPUT_MAX_BYTES = 16 << 20 };

/* set = set step operand; `rules` are those of the set. */
int host_operand_apply (const struct host_operand *operand, const struct hostset_rules *rules, struct hostset *set,
                        struct err *err);
/* All of a file, or of standard input for "-", appended to `out`, whose bound holds. */
int host_operand_read_input (const char *path, struct buf *out, struct err *err);

#endif
