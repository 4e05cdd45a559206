/* courier_input.h - reads what the coordinator sends to its courier: short lines on one descriptor.
 *
 * It knows nothing of what they mean. One thread; the descriptor is borrowed. */
#ifndef SLICEUP_COORDINATOR_COURIER_COURIER_INPUT_H
#define SLICEUP_COORDINATOR_COURIER_COURIER_INPUT_H

#include "common/base/err.h"
#include "common/base/text.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INPUT_LINE_MAX_BYTES = 64 * 1024 }; /* as coordinator/launch/launch_protocol.h, COURIER_LINE_MAX_BYTES */

struct courier_input {
    int fd;
    bool ended;              /* the coordinator is gone, or has closed it */
    size_t taken_bytes, len; /* of `bytes`: taken as lines already, and filled */
    char *bytes;             /* owned */
};

void input_init (struct courier_input *input, int fd);
void input_release (struct courier_input *input);
/* Reads once what is there; waits when nothing is, unless poll said otherwise. */
int input_read (struct courier_input *input, struct err *err);
/* The next whole line without its newline, good until the next input_read; false when there is none yet. */
bool input_line (struct courier_input *input, struct text *line);
/* Waits for a line until `until_ms` (BOOTTIME). */
int input_await (struct courier_input *input, uint64_t until_ms, const char *what, struct text *line, struct err *err);

#endif
