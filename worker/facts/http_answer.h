/* http_answer.h - the bytes of one HTTP/1.1 answer, read into its status and body (RFC 9112).
 *
 * What no metadata server sends is refused: interim answers, other codings than chunked, more than HTTP_BYTES_MAX.
 * Knows no sockets. Pure; what it makes lives in the arena. */
#ifndef SLICEUP_WORKER_FACTS_HTTP_ANSWER_H
#define SLICEUP_WORKER_FACTS_HTTP_ANSWER_H

#include "common/base/text.h"
#include <stdbool.h>

enum { HTTP_BYTES_MAX = 64 * 1024, HTTP_HEAD_BYTES_MAX = 8 * 1024 };

struct http_answer {
    uint32_t status;        /* 200 to 599 */
    struct text head, body; /* `head`: the lines of header fields */
};

enum http_reading { HTTP_MORE, HTTP_WHOLE, HTTP_BAD };

/* `ended`: no more bytes will come. WHOLE: `*out` is set; it may point into `bytes`. */
enum http_reading http_answer_read (struct text bytes, bool ended, struct arena *arena, struct http_answer *out);
/* The value of a header field, blanks around it gone; false: it is not there. `name` in lower case. */
bool http_field (const struct http_answer *answer, const char *name, struct text *value);

#endif
