/* http.h - requests and answers of HTTP on one socket, within bounds of time and size. The only home of libmicrohttpd
 * and zlib.
 *
 * It closes a connection whose request is not whole after HTTP_REQUEST_MS, or whose answer is not taken for
 * HTTP_ANSWER_MS; at most HTTP_CONNECTIONS are open, others wait to be accepted. From HTTP_CROWD on another one is closed
 * for each that comes: where more than HTTP_STRANGERS are of nobody who is known, the first of these; else the one that is
 * idle for longest, or has not taken its answer for longest. Every answer that is made here has the
 * same headers of policy; what is copied goes gzipped to who takes that, and is gzipped once. What is no HTTP the library answers by itself: without them, with a fixed text and nothing of
 * the request, and it closes. One thread: whoever drives `loop`. */
#ifndef SLICEUP_COORDINATOR_WEB_HTTP_H
#define SLICEUP_COORDINATOR_WEB_HTTP_H

#include "common/base/err.h"
#include "common/base/text.h"
#include "common/io/loop.h"

enum { HTTP_CONNECTIONS = 256, HTTP_CROWD = 224, HTTP_STRANGERS = 64 };
enum { HTTP_REQUEST_BYTES = 8192, HTTP_REQUEST_MS = 5000, HTTP_ANSWER_MS = 30 * 1000 };

/* What one or many are answered. Counted: http_answer_release gives the maker's hold back. */
struct http_answer;
struct http_answer *http_answer_bytes (unsigned status, const char *type, struct text bytes);     /* copied */
struct http_answer *http_answer_fixed (unsigned status, const char *type, struct text bytes);     /* lives for ever */
struct http_answer *http_answer_file (unsigned status, const char *type, int fd, uint64_t bytes); /* takes `fd` */
void http_answer_add_header (struct http_answer *answer, const char *name, const char *value);
struct http_answer *http_answer_hold (struct http_answer *answer); /* another hold; returns it; NULL is fine */
void http_answer_release (struct http_answer *answer);

struct http_exchange; /* a request that is to be answered once: now, or later */
struct http_request { /* NULL: no such header */
    const char *method, *target, *host, *authorization, *site;
    uint64_t address; /* equal for who comes from one address, or from one site of IPv6 */
};
typedef void http_request_fn (void *owner, struct http_exchange *exchange, const struct http_request *request);
/* Answers, then or later; an exchange that is not answered at once is held, and nothing closes it meanwhile. The
 * request is gone after it. */
void http_reply (struct http_exchange *exchange, struct http_answer *answer);
/* Whoever asks may do so: in a crowd its connection is not closed for one of whom that is not known. */
void http_note_known (struct http_exchange *exchange);

struct http;
/* `listen_fd` is bound and listens; it belongs to this from here on, also when it fails. */
struct http *http_open (struct loop *loop, int listen_fd, http_request_fn *fn, void *owner, struct err *err);
/* Closes what is late; returns the boot time in ms at which it wants to be called again at the latest. */
uint64_t http_tick (struct http *http, uint64_t now_ms);
/* What was replied is sent, as far as it is taken at once; all held exchanges were answered before. */
void http_close (struct http *http);

#endif
