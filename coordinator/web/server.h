/* server.h - decides what each request is answered, and when: at once, when its run was read, or when the run
 * has changed; after WEB_WAIT_MS in any case.
 *
 * Watchers of the same run who have seen the same are given the same bytes, made once, at most every WEB_PACE_MS. A
 * watcher that waits costs a place in a table. One thread. */
#ifndef SLICEUP_COORDINATOR_WEB_SERVER_H
#define SLICEUP_COORDINATOR_WEB_SERVER_H

#include "coordinator/web/http.h"
#include "coordinator/web/request.h"
#include "coordinator/web/served_runs.h"

enum { WEB_WAIT_MS = 10 * 1000, WEB_PACE_MS = 300 };
/* Requests that wait for their answer; of these, such as wait until something is new, in all and from one address. Fewer
 * than HTTP_CROWD: who waits is closed for nobody. */
enum { WEB_PLACES = 160, WEB_POLLS = 128, WEB_POLLS_AN_ADDRESS = 96 };

struct server;
/* Borrows all of them. */
struct server *server_open (const struct web_access *access, struct served_runs *runs, struct err *err);
void server_end (struct server *server);   /* who waits, and who comes from here on, is answered at once: 503 */
void server_close (struct server *server); /* after http_close, which may still bring requests; NULL is fine */
/* http_request_fn of http.h. */
void server_ask (void *owner, struct http_exchange *exchange, const struct http_request *request);
/* After served_runs_tick, before http_tick. */
void server_tick (struct server *server, uint64_t boot_ms);
/* The boot time in ms at which somebody who waits is to be looked at again; UINT64_MAX: nobody waits. */
uint64_t server_next_ms (const struct server *server);

/* ---- answers ---- */

/* One run made into an answer: its state, a host, a piece of a log, its metrics, a file that it left; and answers that
 * say why not.
 *
 * Each is the caller's (http_answer_release). The run has a feed, and it is whole. */

enum { ANSWER_LOG_BYTES = 64 << 10 };

struct http_answer *answer_refusal (unsigned status, const char *why); /* one line of text */
struct http_answer *answer_page_file (const char *path);
struct http_answer *answer_runs (struct served_runs *runs, uint64_t boot_ms);
struct http_answer *answer_state (const struct served_run *run, const char *boot, uint64_t since, uint64_t boot_ms);
struct http_answer *answer_host (const struct served_run *run, const char *boot, const char *host, uint64_t boot_ms);
/* Which hosts were there in the range of time that the request names. */
struct http_answer *answer_within (const struct served_run *run, const char *boot, const struct web_request *request,
                                   uint64_t boot_ms);
/* In how many ways its hosts differ is read once, from what the run left at its end. */
struct http_answer *answer_metrics (struct served_run *run, uint64_t boot_ms, uint64_t wall_ms);
struct http_answer *answer_log (const struct served_run *run, const struct web_request *request);
/* A file that the run's coordinator wrote at its end; its feed is not needed. */
struct http_answer *answer_file (const struct served_run *run, const struct web_request *request);

#endif
