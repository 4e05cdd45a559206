/* bootstrap_protocol.h - the courier's side of its talk with the bootstrap on a host. Spec: docs/spec/launch.md.
 *
 * A state machine: bytes of the host in, at most one event out for each line that matters, and replies appended to a
 * buffer. No socket, no clock, no file. The host's input is untrusted: lines without the nonce and too long lines are
 * noise, which is bounded; a line that does not fit the state is a refusal. One thread. */
#ifndef SLICEUP_COORDINATOR_COURIER_BOOTSTRAP_PROTOCOL_H
#define SLICEUP_COORDINATOR_COURIER_BOOTSTRAP_PROTOCOL_H

#include <stdbool.h>

#include "coordinator/courier/reporter.h"
#include "coordinator/courier/request.h"

enum {
    BOOTSTRAP_PROTOCOL_NOISE_MAX_BYTES = 64 * 1024,
    BOOTSTRAP_PROTOCOL_LINE_MAX_BYTES = 4096,
    BOOTSTRAP_PROTOCOL_REMARK_MAX_BYTES = 160
};

enum bootstrap_event {
    BOOTSTRAP_PROTOCOL_NOTHING, /* all bytes are used up */
    BOOTSTRAP_PROTOCOL_HOST,    /* its architecture is right */
    BOOTSTRAP_PROTOCOL_WANT,    /* send its bytes, then bootstrap_protocol_note_sent. `changed`: another is there */
    BOOTSTRAP_PROTOCOL_READY,   /* it is there, and is being started */
    BOOTSTRAP_PROTOCOL_ANSWER,  /* `line` is the worker's answer */
    BOOTSTRAP_PROTOCOL_CUT_OFF, /* `line` says how it cannot reach the coordinator; it waits for another launch line */
    BOOTSTRAP_PROTOCOL_REFUSED, /* `step` and the error say why; nothing more will come */
};

enum bootstrap_state { AWAITS_HOST, AWAITS_BUNDLE, UPLOADS, SENT, AWAITS_ANSWER, ANSWERED, OVER };

struct bootstrap_protocol {
    const struct request *request; /* borrowed, as the next, until the protocol has ended */
    const char *machine;           /* that the worker needs, as `uname -m` says it */
    enum bootstrap_state state;
    enum step step; /* of a refusal */
    char line[BOOTSTRAP_PROTOCOL_LINE_MAX_BYTES + 1];
    size_t line_len;
    bool too_long, changed, brought;
    size_t noise_bytes;
    char remark[BOOTSTRAP_PROTOCOL_REMARK_MAX_BYTES + 1]; /* the last noise, unchanged: often the reason of a failure */
};

/* Adds the first lines to `to_send`. */
void bootstrap_protocol_begin (struct bootstrap_protocol *protocol, const struct request *request, const char *machine,
                               struct buf *to_send);
/* Takes bytes from the front of `received` up to the next event. */
enum bootstrap_event bootstrap_protocol_receive (struct bootstrap_protocol *protocol, struct text *received,
                                                 struct buf *to_send, struct err *err);
void bootstrap_protocol_note_sent (struct bootstrap_protocol *protocol); /* the whole bundle */
/* The remote program ended early: always a refusal; `how`: "exit status 1". */
void bootstrap_protocol_note_end (struct bootstrap_protocol *protocol, const char *how, struct err *err);

/* The fixed command that a courier runs on a host: bootstrap.sh in one line. */
extern const char bootstrap_script[];  /* for sh -c 'eval "$1"' sh: it is told its own text */
extern const char bootstrap_command[]; /* all of it as a command line: exec /bin/sh -c 'eval "$1"' sh '<script>' */

#endif
