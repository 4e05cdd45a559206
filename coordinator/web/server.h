/* server.h - decides the answer to each request, and its time: at once, when its run is read, or when the run has
 * changed; after WEB_WAIT_MS in any case.
 *
 * Watchers of a run that have seen the same revision get the same bytes, made once, at most every WEB_PACE_MS. A
 * waiting watcher costs a place in a table. One thread. */
#ifndef SLICEUP_COORDINATOR_WEB_SERVER_H
#define SLICEUP_COORDINATOR_WEB_SERVER_H

#include <jansson.h>
#include <stdbool.h>

#include "common/io/loop.h"
#include "coordinator/journal/run_dir.h"
#include "coordinator/picture/scene.h"

/* ---- request.c ---- */

/* Parses the target of a request, and decides whether it is allowed. Pure: no text of a request becomes a
 * path, a format or a size. docs/spec/web.md is the protocol. */

enum web_route {
    ROUTE_PAGE, /* a file of the page */
    ROUTE_RUNS,
    ROUTE_STATE,
    ROUTE_HOST,
    ROUTE_WITHIN,
    ROUTE_NUMBERS,
    ROUTE_STACKS,
    ROUTE_LOG,
    ROUTE_DRIFT,
    ROUTE_RECEIPT,
    ROUTE_METRICS
};
enum web_form { FORM_JSON = 1, FORM_MARKDOWN, FORM_JUNIT, FORM_TRACE };

enum { WEB_RUN_BYTES = 40, WEB_NAME_BYTES = NAME_MAX_BYTES + 1, WEB_TARGET_MAX_BYTES = 2048 };
struct web_request {
    enum web_route route;
    char file[16];           /* of the page: "/", "/page.js" */
    char run[WEB_RUN_BYTES]; /* hexadecimal digits, or "last" (the default) */
    char host[WEB_NAME_BYTES], rung[WEB_NAME_BYTES];
    uint32_t pass; /* enum pass */
    uint64_t attempt, since;
    uint64_t from;              /* offset in a log; UINT64_MAX: its end */
    uint64_t from_ms, until_ms; /* range of time (struct scene_query) */
    bool wait;
    uint32_t form; /* enum web_form */
};
/* `target`: path and query of the request line. ERR_PARSE: malformed; ERR_USAGE: no such path. */
int web_request_parse (struct text target, struct web_request *out, struct err *err);

enum { WEB_NAMES_MAX = 16, WEB_TOKEN_BYTES = 33 };
struct web_access {
    const char *names[WEB_NAMES_MAX]; /* allowed Host names, in lower case, beside addresses of this machine */
    uint32_t names_n;
    bool any_address;            /* bound to all addresses: a numeric Host cannot be another site's name */
    char token[WEB_TOKEN_BYTES]; /* "": none needed */
};
/* Checks access before anything is looked up: 0: go on; else an HTTP status, and why. NULL for an absent header.
 * `site`: Sec-Fetch-Site. */
unsigned web_access_judge (const struct web_access *access, const struct web_request *request, const char *host,
                           const char *authorization, const char *site, const char **why);

/* ---- server.c ---- */

/* ---- HTTP ---- */

/* Requests and answers of HTTP on one socket, within bounds of time and size. The only home of libmicrohttpd
 * and zlib.
 *
 * It closes a connection whose request is incomplete after HTTP_REQUEST_MS, or whose answer is not read for
 * HTTP_ANSWER_MS; at most HTTP_CONNECTIONS are open, others wait to be accepted. From HTTP_FULL on each new one closes
 * another: the oldest unknown client if there are more than HTTP_STRANGERS, else the connection that is idle longest,
 * or has not read its answer for longest. Every answer made here has the same policy headers; copied bytes are gzipped
 * once, for clients that accept it. The library itself answers what is not HTTP: without these headers, with a fixed
 * text, and closes. One thread: the one of `loop`. */

enum { HTTP_CONNECTIONS = 256, HTTP_FULL = 224, HTTP_STRANGERS = 64 };
enum { HTTP_REQUEST_BYTES = 8192, HTTP_REQUEST_MS = 5000, HTTP_ANSWER_MS = 30 * 1000 };

/* An answer for one or many requests. Reference-counted: http_answer_release drops the maker's reference. */
struct http_answer;
struct http_answer *http_answer_bytes (unsigned status, const char *type, struct text bytes); /* copied */
struct http_answer *http_answer_fixed (unsigned status, const char *type, struct text bytes); /* lives for ever */
struct http_answer *http_answer_file (unsigned status, const char *type, int fd);             /* takes `fd` */
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

/* ---- served runs ---- */

/* The runs of a home, how each stands now, and feeds of those that clients ask about.
 *
 * It knows the newest SERVED_RUNS_MAX runs. At most SERVED_FEEDS_MAX have a feed, from the journal, and from the
 * coordinator's events if running; the one not asked about for longest loses its place. An idle run is checked every
 * two seconds while clients ask about it, else more and more rarely, at least every SERVED_REST_MS. An unreadable
 * journal is tried again after SERVED_RETRY_MS, a damaged one after SERVED_DAMAGED_MS. It only reads. One thread. */

enum { SERVED_RUNS_MAX = 200, SERVED_FEEDS_MAX = 8 };
enum { SERVED_REST_MS = 30 * 1000, SERVED_RETRY_MS = 5 * 1000, SERVED_DAMAGED_MS = 60 * 1000 };

/* State of a run before its journal is read. */
enum served_state { SERVED_RUNNING, SERVED_INTERRUPTED, SERVED_ENDED, SERVED_UNBEGUN, SERVED_DAMAGED };

struct follow;
struct served_run {
    struct run_dir dir;
    uint64_t created_ms, driven_ms; /* driven: run_dir_held_ms at the last check */
    enum served_state state;
    uint64_t again_ms, rest_ms; /* boot time of the next check, unless a client asks; and time between checks */
    uint64_t marked_ns;         /* when its journal last grew; an interrupted run is read again when this changes */
    bool looked;                /* its first fact was read: the next five are set */
    char slice[NAME_MAX_BYTES + 1];
    uint32_t hosts_n;
    uint64_t began_wall_ms, ended_wall_ms;
    enum outcome outcome;
    char sentence[512]; /* escaped; cut */
    bool drift_read,
        drift_known; /* its files of the end were read (server.c): they tell in how many ways hosts differ */
    uint32_t drift;
    /* its feed */
    struct feed *feed; /* NULL: no client asked lately */
    uint32_t feeds_n;  /* number of this feed of the run: each counts revisions anew */
    struct follow *follow;
    bool whole;                      /* the feed has all facts that were recorded when it was opened */
    bool held;                       /* a coordinator held it at the last look */
    uint64_t changed;                /* the feed's revision at the last visible change */
    uint64_t revision, index, notes; /* at the last check for changes */
    uint64_t used_ms;                /* boot time of the last question */
    uint64_t look_ms;                /* boot time of the next look at the run */
    struct err err;                  /* why its journal cannot be read */
    uint64_t retry_ms;               /* boot time from which a question retries it */
};

struct served_runs;
/* `only`: the id of the one run to serve; NULL: all of the home. */
struct served_runs *served_runs_open (const char *home, const char *only);
void served_runs_close (struct served_runs *runs);
/* Reads the home, and new facts into feeds, a limited number at a time. Returns the boot time in ms of the next
 * call. */
uint64_t served_runs_tick (struct served_runs *runs, uint64_t boot_ms, uint64_t wall_ms);
/* `wanted`: an id, a unique prefix of one, or "last". The run lives until the next tick. ERR_USAGE: none. */
struct served_run *served_runs_find (struct served_runs *runs, const char *wanted, struct err *err);
/* A client asks about the run: opens its feed, and keeps it while they do. 1: complete; 0: being read; -1: error. */
int served_run_want (struct served_runs *runs, struct served_run *run, uint64_t boot_ms, struct err *err);
/* A client will be answered then: reads the journal by that time, in case no events come. */
void served_run_look_by (struct served_run *run, uint64_t boot_ms);
/* {"runs": [...]} of docs/spec/web.md. */
json_t *served_runs_json (struct served_runs *runs, uint64_t boot_ms);

/* ---- server ---- */

enum { WEB_WAIT_MS = 10 * 1000, WEB_PACE_MS = 300 };
/* Waiting requests; those of them that wait for a change, in all and from one address. Fewer than HTTP_FULL, so waiting
 * connections are never closed for others. */
enum { WEB_PLACES = 160, WEB_POLLS = 128, WEB_POLLS_AN_ADDRESS = 96 };

struct server;
/* Borrows its arguments. */
struct server *server_open (const struct web_access *access, struct served_runs *runs, struct err *err);
void server_end (struct server *server);   /* answers all waiting and later requests at once: 503 */
void server_close (struct server *server); /* after http_close, which may still bring requests; NULL is fine */
/* An http_request_fn. */
void server_ask (void *owner, struct http_exchange *exchange, const struct http_request *request);
/* Call it after served_runs_tick, before http_tick. */
void server_tick (struct server *server, uint64_t boot_ms);
/* The boot time in ms of the next check of waiting requests; UINT64_MAX: none waits. */
uint64_t server_next_ms (const struct server *server);

/* ---- answers ---- */

/* Of a run with a complete feed; the caller owns each (http_answer_release). */
enum { ANSWER_LOG_BYTES = 64 << 10, ANSWER_STACKS = 64 };

struct http_answer *answer_log (const struct served_run *run, const struct web_request *request);
/* A file that the run's coordinator wrote at its end; needs no feed. */
struct http_answer *answer_file (const struct served_run *run, const struct web_request *request);

#endif
