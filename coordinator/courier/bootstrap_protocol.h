/* bootstrap_protocol.h - the courier's side of its talk with the bootstrap on a host. Spec: docs/spec/launch.md.
 *
 * A state machine: bytes of the host in, at most one event out for each line that matters, and what is to be sent added
 * to a buffer. No socket, no clock, no file. Whatever the host says is data: lines without the nonce are noise,
 * bounded; a line that is too long is noise; what does not belong into the state is a refusal. One thread. */
#ifndef SLICEUP_COORDINATOR_COURIER_BOOTSTRAP_PROTOCOL_H
#define SLICEUP_COORDINATOR_COURIER_BOOTSTRAP_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/text.h"
#include "coordinator/courier/reporter.h"

enum {
    BOOTSTRAP_PROTOCOL_NOISE_MAX_BYTES = 64 * 1024,
    BOOTSTRAP_PROTOCOL_LINE_MAX_BYTES = 4096,
    BOOTSTRAP_PROTOCOL_REMARK_MAX_BYTES = 160
};

struct bootstrap_parameters { /* borrowed until the protocol has ended; words without blanks */
    const char *nonce, *bundle_sha256, *directory, *machine;
    const char *launch_line; /* NULL: one command is to be run; who brings it speaks with it after its answer */
    uint64_t bundle_head_bytes, bundle_bytes;
};

enum bootstrap_event {
    BOOTSTRAP_PROTOCOL_NOTHING, /* all bytes were used up */
    BOOTSTRAP_PROTOCOL_HOST,    /* it is of the right architecture */
    BOOTSTRAP_PROTOCOL_HAVE,    /* the bundle is there already */
    BOOTSTRAP_PROTOCOL_WANT,    /* send its bytes, then bootstrap_protocol_note_sent. `changed`: another lies there */
    BOOTSTRAP_PROTOCOL_PLACED,  /* it has arrived whole and lies in its place */
    BOOTSTRAP_PROTOCOL_READY,   /* the worker is being started; the launch line was added to what is to be sent */
    BOOTSTRAP_PROTOCOL_ANSWER,  /* `line` is the worker's answer */
    BOOTSTRAP_PROTOCOL_REFUSED, /* `step` and the error say why; nothing more will come */
};

enum bootstrap_state { AWAITS_HOST, AWAITS_BUNDLE, UPLOADS, SENT, AWAITS_READY, AWAITS_ANSWER, ANSWERED, OVER };

struct bootstrap_protocol {
    const struct bootstrap_parameters *terms;
    enum bootstrap_state state;
    enum step step; /* of a refusal */
    char line[BOOTSTRAP_PROTOCOL_LINE_MAX_BYTES + 1];
    size_t line_len;
    bool too_long, changed;
    size_t noise_bytes;
    char remark[BOOTSTRAP_PROTOCOL_REMARK_MAX_BYTES + 1]; /* the last noise, as it came: often tells what is wrong */
};

/* Adds the first line to `to_send`. */
void bootstrap_protocol_begin (struct bootstrap_protocol *bootstrap_protocol, const struct bootstrap_parameters *terms,
                               struct buf *to_send);
/* Takes bytes from the front of `heard` up to the next event. */
enum bootstrap_event bootstrap_protocol_receive (struct bootstrap_protocol *bootstrap_protocol, struct text *received,
                                                 struct buf *to_send, struct err *err);
void bootstrap_protocol_note_sent (struct bootstrap_protocol *bootstrap_protocol); /* the whole bundle */
/* The remote program ended early: always a refusal; `how` is "exit status 1". */
void bootstrap_protocol_note_end (struct bootstrap_protocol *bootstrap_protocol, const char *how, struct err *err);

/* ---- bootstrap ---- */

/* The fixed command that a courier runs on a host. Spec: docs/spec/launch.md, "Courier and bootstrap".
 *
 * It is the same for every host and run: whatever varies goes over its standard input. The host's login shell may be
 * any, so it is one line without single quotes, backslashes or exclamation marks inside (csh and fish read those even
 * in quotes); inside runs /bin/sh, which may be dash, bash or busybox. */

extern const char bootstrap_script[];  /* for sh -c */
extern const char bootstrap_command[]; /* the same as a command line: exec /bin/sh -c '<script>' */

/* What `uname -m` of a host has to say for this build's worker. */
extern const char bootstrap_machine[];

#endif
