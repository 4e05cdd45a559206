/* bootstrap_session.h - starts a worker on its host over an open connection: bootstrap, bundle, launch line, answer,
 * GO, and what comes after.
 *
 * The loop around the bootstrap protocol: it waits for the transport and the coordinator at once, and never longer than
 * the deadline until the worker has answered. It knows nothing of ssh or Slurm. One thread. */
#ifndef SLICEUP_COORDINATOR_COURIER_BOOTSTRAP_SESSION_H
#define SLICEUP_COORDINATOR_COURIER_BOOTSTRAP_SESSION_H

#include "common/base/err.h"
#include "common/base/text.h"
#include "coordinator/courier/reporter.h"
#include "coordinator/courier/request.h"
#include "coordinator/courier/transport.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct courier_input;
struct bootstrap_session_end {
    int status;   /* of the courier: 0 when the worker was brought there and GO was said */
    bool refused; /* in `step`, because of `why`: to be said when the way is closed */
    bool pipes;   /* what runs one command has answered: command_pipe_run */
    enum step step;
    struct err why;
    uint64_t leave_ms; /* how long the program may take to end by itself */
};
void bootstrap_session_run (const struct request *request, struct reporter *reporter, struct courier_input *input,
                            struct transport *transport, uint64_t until_ms, struct bootstrap_session_end *end);

/* command_pipe.c - the courier as a pipe between its coordinator and what runs one command on the host: bytes of both go on
 * unread. Returns when either side has ended; how long the program may then take to end by itself. The host hears from
 * here at least every few seconds, so it can tell a dead connection from one where nothing is to be said. */
uint64_t command_pipe_run (struct courier_input *input, struct transport *transport);

/* Input: reads what the coordinator sends to its courier: short lines on one descriptor.
 * It knows nothing of what they mean. One thread; the descriptor is borrowed. */
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
bool input_next_line (struct courier_input *input, struct text *line);
/* Waits for a line until `until_ms` (BOOTTIME). */
int input_await_line (struct courier_input *input, uint64_t until_ms, const char *what, struct text *line,
                      struct err *err);

#endif
