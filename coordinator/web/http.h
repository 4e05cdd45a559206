/* http.h - requests and answers of HTTP on one socket, within bounds of time and size. The only home of libmicrohttpd
 * and zlib.
 *
 * It closes a connection whose request is incomplete after HTTP_REQUEST_MS, or whose answer is not read for
 * HTTP_ANSWER_MS; at most HTTP_CONNECTIONS are open, others wait to be accepted. From HTTP_FULL on each new one closes
 * another: the oldest unknown client if there are more than HTTP_STRANGERS, else the connection that is idle longest,
 * or has not read its answer for longest. Every answer made here has the same policy headers; copied bytes are gzipped
 * once, for clients that accept it. The library itself answers what is not HTTP: without these headers, with a fixed
 * text, and closes. One thread: the one of `loop`. */
#ifndef SLICEUP_COORDINATOR_WEB_HTTP_H
#define SLICEUP_COORDINATOR_WEB_HTTP_H

#include "common/base/err.h"
#include "common/base/text.h"
#include "common/io/loop.h"

enum { HTTP_CONNECTIONS = 256, HTTP_FULL = 224, HTTP_STRANGERS = 64 };
enum { HTTP_REQUEST_BYTES = 8192, HTTP_REQUEST_MS = 5000, HTTP_ANSWER_MS = 30 * 1000 };

/* An answer for one or many requests. Reference-counted: http_answer_release drops the maker's reference. */
struct http_answer;
struct http_answer *http_answer_bytes (unsigned status, const char *type, struct text bytes);     /* copied */
struct http_answer *http_answer_fixed (unsigned status, const char *type, struct text bytes);     /* lives for ever */
struct http_answer *http_answer_file (unsigned status, const char *type, int fd, uint64_t bytes); /* takes `fd` */
void http_answer_add_header (struct http_answer *answer, const char *name, const char *value);
struct http_answer *http_answer_hold (struct http_answer *answer); /* adds a reference; returns it; NULL is fine */
void http_answer_release (struct http_answer *answer);

struct http_exchange; /* a request, to be answered once, now or later */
struct http_request { /* NULL: no such header */
    const char *method, *target, *host, *authorization, *site;
    uint64_t address; /* equal for clients of one address, or one site of IPv6 */
};
typedef void http_request_fn (void *owner, struct http_exchange *exchange, const struct http_request *request);
/* Answers an exchange, in the callback or later; until then it is held, and stays open. The request lives until the
 * callback returns. */
void http_reply (struct http_exchange *exchange, struct http_answer *answer);
/* The client is authorised: a full server does not close its connection for an unknown one. */
void http_note_known (struct http_exchange *exchange);

struct http;
/* Takes over `listen_fd`, which is bound and listens, even on failure. */
struct http *http_open (struct loop *loop, int listen_fd, http_request_fn *fn, void *owner, struct err *err);
/* Closes late connections; returns the boot time in ms of the next call at the latest. */
uint64_t http_tick (struct http *http, uint64_t now_ms);
/* Sends replies as far as clients read them at once; answer all held exchanges before. */
void http_close (struct http *http);

#endif
