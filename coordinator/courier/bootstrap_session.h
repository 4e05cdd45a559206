/* bootstrap_session.h - starts a worker on its host over an open connection: bootstrap, bundle, launch line, answer,
 * GO, and the time after.
 *
 * The loop around the bootstrap protocol: it waits for the transport and the coordinator at once, and never longer than
 * the deadline until the worker has answered. It knows nothing of ssh or Slurm. One thread. */
#ifndef SLICEUP_COORDINATOR_COURIER_BOOTSTRAP_SESSION_H
#define SLICEUP_COORDINATOR_COURIER_BOOTSTRAP_SESSION_H

#include "coordinator/courier/transport.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct courier_input;
struct bootstrap_session_end {
    int status;   /* exit status of the courier: 0 if the worker was started and GO was sent */
    bool refused; /* in `step`, because of `why`: report it after closing the transport */
    bool pipes;   /* the runner of one command has answered: go on with command_pipe_run */
    enum step step;
    struct err why;
    uint64_t leave_ms; /* time for the program to end by itself */
};
/* `request`: its launch line changes when the worker needs another way. */
void bootstrap_session_run (struct request *request, struct reporter *reporter, struct courier_input *input,
                            struct transport *transport, uint64_t until_ms, struct bootstrap_session_end *end);

/* command_pipe.c - passes bytes between the coordinator and the runner of one command on the host, unread. Returns when
 * either side has ended: the time that the program has to end by itself. Sends the host something every few seconds, so
 * that it can tell a dead connection from a quiet one. */
uint64_t command_pipe_run (struct courier_input *input, struct transport *transport);

/* Reads the short lines that the coordinator sends to its courier on one descriptor. It does not know their meaning.
 * One thread; the descriptor is borrowed. */
enum { INPUT_LINE_MAX_BYTES = 64 * 1024 }; /* as coordinator/launch/launch_private.h, COURIER_LINE_MAX_BYTES */

struct courier_input {
    int fd;
    bool ended;              /* the coordinator is gone, or closed it */
    size_t taken_bytes, len; /* of `bytes`: already returned as lines, and filled */
    char *bytes;             /* owned */
};

void input_init (struct courier_input *input, int fd);
void input_release (struct courier_input *input);
/* Waits for a line until `until_ms` (BOOTTIME). */
int input_await_line (struct courier_input *input, uint64_t until_ms, const char *what, struct text *line,
                      struct err *err);

#endif
