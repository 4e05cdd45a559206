/* http_asker.h - several HTTP GETs to one server at once, without waiting for any of them alone.
 *
 * For small answers of a server on this machine or its own link: one connection each, no names, no TLS, no redirects,
 * nothing is asked twice. Nothing that goes wrong is an error: it is how the question ended. One thread, which polls
 * when it has time and waits once. */
#ifndef SLICEUP_WORKER_FACTS_HTTP_ASKER_H
#define SLICEUP_WORKER_FACTS_HTTP_ASKER_H

#include "worker/facts/http_answer.h"
#include <stdint.h>

enum { HTTP_QUESTIONS_MAX = 16 };

enum http_result {
    HTTP_OPEN, /* not yet known */
    HTTP_ANSWERED,
    HTTP_NOBODY,   /* no connection came about */
    HTTP_SLOW,     /* connected, and no whole answer in time */
    HTTP_NONSENSE, /* what came is no answer of HTTP */
};

struct http_query;
/* `address` is numeric: "169.254.169.254", "127.0.0.1:8080", "[::1]:80"; NULL: it is not. `fields` are the lines
 * that each request carries, each ended by "\r\n". Texts are borrowed for the call only. */
struct http_query *http_ask (const char *address, const char *const *paths, uint32_t n, const char *fields);
void http_poll (struct http_query *query);                    /* what can be done without waiting */
void http_wait (struct http_query *query, uint32_t limit_ms); /* until all ended; those that did not are cut off */
/* `*answer` (ANSWERED) lives as long as the client. */
enum http_result http_result (const struct http_query *query, uint32_t question, struct http_answer *answer);
void http_release (struct http_query *query); /* NULL is fine */

#endif
