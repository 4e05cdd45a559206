/* server.h - decides the answer to each request, and its time: at once, when its run is read, or when the run has
 * changed; after WEB_WAIT_MS in any case.
 *
 * Watchers of a run that have seen the same revision get the same bytes, made once, at most every WEB_PACE_MS. A
 * waiting watcher costs a place in a table. One thread. */
#ifndef SLICEUP_COORDINATOR_WEB_SERVER_H
#define SLICEUP_COORDINATOR_WEB_SERVER_H

#include "coordinator/web/http.h"
#include "coordinator/web/request.h"
#include "coordinator/web/served_runs.h"

enum { WEB_WAIT_MS = 10 * 1000, WEB_PACE_MS = 300 };
/* Waiting requests; those of them that wait for a change, in all and from one address. Fewer than HTTP_FULL, so waiting
 * connections are never closed for others. */
enum { WEB_PLACES = 160, WEB_POLLS = 128, WEB_POLLS_AN_ADDRESS = 96 };

struct server;
/* Borrows its arguments. */
struct server *server_open (const struct web_access *access, struct served_runs *runs, struct err *err);
void server_end (struct server *server);   /* answers all waiting and later requests at once: 503 */
void server_close (struct server *server); /* after http_close, which may still bring requests; NULL is fine */
/* http_request_fn of http.h. */
void server_ask (void *owner, struct http_exchange *exchange, const struct http_request *request);
/* Call it after served_runs_tick, before http_tick. */
void server_tick (struct server *server, uint64_t boot_ms);
/* The boot time in ms of the next check of waiting requests; UINT64_MAX: none waits. */
uint64_t server_next_ms (const struct server *server);

/* ---- answers ---- */

/* Makes answers about one run: its state, a host, a piece of a log, its metrics, a file of its end; and refusals.
 *
 * The caller owns each (http_answer_release). The run must have a complete feed. */

enum { ANSWER_LOG_BYTES = 64 << 10 };

struct http_answer *answer_refusal (unsigned status, const char *why); /* one line of text */
struct http_answer *answer_page_file (const char *path);
struct http_answer *answer_runs (struct served_runs *runs, uint64_t boot_ms);
struct http_answer *answer_state (const struct served_run *run, const char *boot, uint64_t since, uint64_t boot_ms);
struct http_answer *answer_host (const struct served_run *run, const char *boot, const char *host, uint64_t boot_ms);
/* The hosts of the request's range of time. */
struct http_answer *answer_within (const struct served_run *run, const char *boot, const struct web_request *request,
                                   uint64_t boot_ms);
/* Reads once, from the files of its end, in how many ways its hosts differ. */
struct http_answer *answer_metrics (struct served_run *run, uint64_t boot_ms, uint64_t wall_ms);
struct http_answer *answer_log (const struct served_run *run, const struct web_request *request);
/* A file that the run's coordinator wrote at its end; needs no feed. */
struct http_answer *answer_file (const struct served_run *run, const struct web_request *request);

#endif
