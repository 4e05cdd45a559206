/* remote_command.h - one command of `sliceup exec` on one host: the request to the host, and how the command ended.
 * Spec: docs/spec/launch.md, "A command on a host".
 *
 * Pure: frames in, values out. Both sides treat the other's input as data: bounded, checked, refused as a whole. */
#ifndef SLICEUP_COMMON_MODEL_REMOTE_COMMAND_H
#define SLICEUP_COMMON_MODEL_REMOTE_COMMAND_H

#include "common/base/frame.h"
#include "common/model/record.h"

enum { REMOTE_WORDS_MAX = 1024, REMOTE_WORDS_MAX_BYTES = 120 * 1024, REMOTE_TIMEOUT_MAX_MS = 30 * 24 * 3600 * 1000U };

enum remote_letter {
    REMOTE_WORD = 'w', /* to the host, before BEGIN: one word of the command; the others once each */
    REMOTE_HOST = 'h',
    REMOTE_RANK = 'r',
    REMOTE_TIMEOUT = 't',
    REMOTE_SILENCE = 'q', /* the host ends the command after this silence; 0: only at the end of its input */
    REMOTE_INPUT = 'i',   /* before BEGIN, empty: standard input follows; after it: its bytes, empty: its end */
    REMOTE_BEGIN = 'b',
    REMOTE_ALIVE = 'a',  /* to the host, from then on */
    REMOTE_STOP = 's',   /* SIGINT, then SIGTERM, then SIGKILL */
    REMOTE_KILL = 'k',   /* SIGKILL */
    REMOTE_OUTPUT = 'o', /* from the host */
    REMOTE_END = 'x',
};

struct remote_command {
    struct arena arena; /* owns the texts */
    const char *words[REMOTE_WORDS_MAX + 1];
    uint32_t words_n, words_bytes;
    const char *host;
    uint64_t rank, timeout_ms, silence_ms;
    bool fed;   /* standard input follows; else it is empty */
    bool begun; /* BEGIN came: it is complete */
};
/* Sets the command's words. A single word with blanks or characters special to a shell is given to /bin/sh -c. Borrows
 * them. -1: too many or too long. */
int remote_command_set_words (struct remote_command *command, const char *const *words, int n, struct err *err);
void remote_command_put (const struct remote_command *command, struct buf *out);
/* Takes one frame of the request. -1: unexpected frame. */
int remote_command_take (struct remote_command *command, const struct frame *frame, struct err *err);

enum remote_how {
    REMOTE_NONE = 0,
    REMOTE_EXITED,
    REMOTE_SIGNALLED,
    REMOTE_TIMED_OUT,
    REMOTE_STOPPED,
    REMOTE_NOT_STARTED, /* `why` says it */
};
extern const struct enum_names remote_how_names;
struct remote_end {
    enum remote_how how;
    uint32_t number;             /* exit status or signal, also of a stopped or timed-out command: 0 to 255 */
    uint32_t strays, unkillable; /* processes that outlived the command and were killed, or could not be */
    uint64_t took_ms;
    struct text why;
};
enum { REMOTE_WHY_MAX_BYTES = 400 };
void remote_end_put (const struct remote_end *end, struct buf *out);
int remote_end_take (struct text bytes, struct remote_end *end, struct err *err); /* `why` borrows */

#endif
