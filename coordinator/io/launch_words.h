/* launch_words.h - what launcher and worker say to one another before the worker may connect.
 *
 * Knows lines and JSON, nothing of processes. The worker's output is input from outside: lines that are no answer are
 * skipped (a shell's greeting, a library's warning), within bounds. */
#ifndef SLICEUP_IO_LAUNCH_WORDS_H
#define SLICEUP_IO_LAUNCH_WORDS_H

#include <stdint.h>
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/text.h"

enum { LAUNCH_PROTOCOL = 1, LAUNCH_LINE_MAX_BYTES = 4096, LAUNCH_OUTPUT_MAX_BYTES = 64 * 1024, LAUNCH_KEY_BYTES = 41 };

struct launch_join { /* the coordinator's line */
    const char *run_id_hex;
    struct text host;
    uint32_t rank;
    const char *address;
    uint16_t control_port, bulk_port;
    const char *hub_public_key, *directory;
};
struct launch_answer { /* the worker's */
    char public_key[LAUNCH_KEY_BYTES];
    int64_t pid, pid_start;
};
/* Output is fed as it comes, in pieces of any size. {0} is a fresh one. */
struct launch_ear {
    char line[LAUNCH_LINE_MAX_BYTES];
    uint32_t line_len;
    uint32_t heard_bytes;
    bool too_long; /* this line is; the rest of it is skipped */
};

/* Appends the line with its newline. ERR_PARSE: a text is not UTF-8. ERR_LIMIT: longer than LAUNCH_LINE_MAX_BYTES. */
int launch_words_join (struct buf *out, const struct launch_join *join, struct err *err);
/* 1: `answer` is there. 0: not yet. -1: it is broken, or too much was said without it; `err` is a sentence on "it". */
int launch_words_hear (struct launch_ear *ear, struct text output, struct launch_answer *answer, struct err *err);

#endif
