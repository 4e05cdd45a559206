/* answers.h - one run made into an answer: its state, a host, a piece of a log, its metrics, a file that it left; and answers that
 * say why not.
 *
 * Each is the caller's (http_answer_release). The run has a feed, and it is whole. */
#ifndef SLICEUP_COORDINATOR_WEB_ANSWERS_H
#define SLICEUP_COORDINATOR_WEB_ANSWERS_H

#include "coordinator/web/http.h"
#include "coordinator/web/request.h"
#include "coordinator/web/served_runs.h"

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
