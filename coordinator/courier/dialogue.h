/* dialogue.h - the courier's side of its talk with the bootstrap on a host. Spec: docs/spec/launch.md.
 *
 * A state machine: bytes of the host in, at most one event out for each line that matters, and what is to be sent added
 * to a buffer. No socket, no clock, no file. Whatever the host says is data: lines without the nonce are noise,
 * bounded; a line that is too long is noise; what does not belong into the state is a refusal. One thread. */
#ifndef SLICEUP_COURIER_DIALOGUE_H
#define SLICEUP_COURIER_DIALOGUE_H

#include <stdbool.h>
#include <stdint.h>
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/text.h"
#include "coordinator/courier/step.h"

enum { DIALOGUE_NOISE_MAX_BYTES = 64 * 1024, DIALOGUE_LINE_MAX_BYTES = 4096, DIALOGUE_REMARK_MAX_BYTES = 160 };

struct dialogue_terms {         /* borrowed for as long as the dialogue lasts; words without blanks */
    const char *nonce, *bundle_sha256, *directory, *machine, *launch_line;
    uint64_t bundle_head_bytes, bundle_bytes;
};

enum dialogue_event {
    DIALOGUE_NOTHING,           /* all bytes were used up */
    DIALOGUE_HOST,              /* it is of the right architecture */
    DIALOGUE_HAVE,              /* the bundle is there already */
    DIALOGUE_WANT,              /* its bytes are to be sent now: then dialogue_sent. `changed` says that something else lies
                                 * in its place */
    DIALOGUE_PLACED,            /* it has arrived whole and lies in its place */
    DIALOGUE_READY,             /* the worker is being started; the launch line was added to what is to be sent */
    DIALOGUE_ANSWER,            /* `line` is the worker's answer */
    DIALOGUE_REFUSED,           /* `step` and the error say why; nothing more will come */
};

enum dialogue_state { AWAITS_HOST, AWAITS_BUNDLE, UPLOADS, SENT, AWAITS_READY, AWAITS_ANSWER, ANSWERED, OVER };

struct dialogue {
    const struct dialogue_terms *terms;
    enum dialogue_state state;
    enum step step;             /* of a refusal */
    char line[DIALOGUE_LINE_MAX_BYTES + 1];
    size_t line_len;
    bool too_long, changed;
    size_t noise_bytes;
    char remark[DIALOGUE_REMARK_MAX_BYTES + 1]; /* the last noise, as it came: often tells what is wrong */
};

/* Adds the first line to `to_send`. */
void dialogue_begin (struct dialogue *dialogue, const struct dialogue_terms *terms, struct buf *to_send);
/* Takes bytes from the front of `heard` up to the next event. */
enum dialogue_event dialogue_hear (struct dialogue *dialogue, struct text *heard, struct buf *to_send, struct err *err);
void dialogue_sent (struct dialogue *dialogue);     /* the whole bundle */
/* The remote program ended early: always a refusal; `how` is "exit status 1". */
void dialogue_ended (struct dialogue *dialogue, const char *how, struct err *err);

#endif
