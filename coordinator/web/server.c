#include "coordinator/web/server.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/rng.h"
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/io/fd.h"
#include "coordinator/picture/metrics.h"
#include "coordinator/picture/scene_json.h"
#include "coordinator/view/record_json.h"
#include "coordinator/view/status.h"

enum { OK = 200, BAD_REQUEST = 400, NOT_FOUND = 404, FAILED = 500, NOT_NOW = 503 };
enum { JSON_MAX_BYTES = 4 << 20, DRIFT_MAX_BYTES = 8 << 20, BOOT_BYTES = 24, WRITING_MS = 60 * 1000 };
enum { ANSWERS_KEPT = 8, SCENE_MS = 25, LOOK_MS = 250 };
#define JSON_TYPE "application/json"

/* ---- answers about one run, whose feed is complete; the caller owns each ---- */

/* One line of text. */
static struct http_answer *answer_refusal (unsigned status, const char *why)
{
    LOCAL_BUF line = { .max = 16 * ERR_TEXT_BYTES };
    buf_escaped (&line, text_of (why), 0);
    buf_byte (&line, '\n');
    struct http_answer *answer = http_answer_bytes (status, "text/plain; charset=utf-8", buf_as_text (&line));
    if (status == NOT_NOW)
        http_answer_add_header (answer, "Retry-After", "1");
    if (status == 401)
        http_answer_add_header (answer, "WWW-Authenticate", "Bearer");
    return answer;
}

static struct http_answer *answer_page_file (const char *path)
{
    static const char *const files[][3] = { { "/", "page.html", "text/html; charset=utf-8" },
                                            { "/page.js", "page.js", "text/javascript; charset=utf-8" },
                                            { "/page.css", "page.css", "text/css; charset=utf-8" } };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (strcmp (path, files[i][0]) == 0)
            return http_answer_fixed (OK, files[i][2], page_file (files[i][1]));
    return answer_refusal (NOT_FOUND, "there is no such page");
}

/* Releases `json`. */
static struct http_answer *answer_json (struct buf *json)
{
    struct http_answer *answer = json->overflow ? answer_refusal (FAILED, "the answer would be larger than 4 MiB")
                                                : http_answer_bytes (OK, JSON_TYPE, buf_as_text (json));
    buf_release (json);
    return answer;
}

static struct http_answer *answer_runs (struct served_runs *runs, uint64_t boot_ms)
{
    struct buf json = { .max = JSON_MAX_BYTES };
    json_print_release (served_runs_json (runs, boot_ms), JSON_COMPACT, &json);
    return answer_json (&json);
}

/* The run's state since a revision, a host, hosts of a range of time, or numbers: by the request's route. `name`: of the
 * counter of revisions: this process, and the feed. */
static struct http_answer *answer_scene (const struct served_run *run, const char *boot,
                                         const struct web_request *request, uint64_t boot_ms)
{
    int opened = plan_host_rank (&feed_board (run->feed)->plan, text_of (request->host));
    LOCAL_ARENA arena = { 0 };
    struct scene_query query;
    struct scene scene;
    char name[BOOT_BYTES];
    if (request->route == ROUTE_HOST && opened < 0)
        return answer_refusal (NOT_FOUND, "the run has no such host");
    scene_query_init (&query);
    query.opened = opened < 0 ? SCENE_NOBODY : (uint32_t) opened;
    query.since = request->since;
    query.from_ms = request->from_ms;
    query.until_ms = request->until_ms;
    scene_make (run->feed, &query, boot_ms, &arena, &scene);
    snprintf (name, sizeof name, "%s-%u", boot, run->feeds_n);
    struct buf json = { .max = JSON_MAX_BYTES };
    if (request->route == ROUTE_HOST)
        scene_host_json (&scene, scene.host, name, &json);
    else if (request->route == ROUTE_WITHIN)
        scene_within_json (&scene, name, &json);
    else if (request->route == ROUTE_NUMBERS)
        scene_numbers_json (&scene, &json);
    else
        scene_state_json (&scene, name, run->state == SERVED_INTERRUPTED, request->since, &json);
    return answer_json (&json);
}

/* Where its programs stood when they were last looked at: it asks nobody. */
static struct http_answer *answer_stacks (const struct served_run *run, uint64_t boot_ms)
{
    struct buf json = { .max = JSON_MAX_BYTES };
    stacks_json (feed_board (run->feed), feed_now_ms (run->feed, boot_ms), ANSWER_STACKS, &json);
    return answer_json (&json);
}

/* ---- files of the run ---- */

/* A coordinator may still write for this long after its run. By the wall clock, since only words depend on it. */
static bool is_written (const struct served_run *run)
{
    return clock_wall_ms () >= run->ended_wall_ms + WRITING_MS;
}

struct http_answer *answer_file (const struct served_run *run, const struct web_request *request)
{
    static const struct kept {
        const char *file, *type, *ending;
    } receipts[] = { [FORM_JSON] = { RUN_FILE_RECEIPT, JSON_TYPE, "json" },
                     [FORM_MARKDOWN] = { RUN_FILE_MARKDOWN, "text/markdown; charset=utf-8", "md" },
                     [FORM_JUNIT] = { RUN_FILE_JUNIT, "application/xml", "junit.xml" },
                     [FORM_TRACE] = { RUN_FILE_TRACE, "application/json", "perfetto.json" } },
      drift = { RUN_FILE_DRIFT, JSON_TYPE, "" };
    const struct kept *kept = request->route == ROUTE_DRIFT ? &drift : &receipts[request->form];
    char name[96];
    int fd = plain_file_open (RUN_PATH (&run->dir, kept->file), O_RDONLY, NULL);
    if (fd < 0 && run->state == SERVED_ENDED && !is_written (run))
        return answer_refusal (NOT_NOW, "the run has ended, and this is not written yet: ask again");
    if (fd < 0)
        return answer_refusal (NOT_FOUND,
                               "a coordinator writes this file at the end of its run; until then, or if it could not, "
                               "use the commands receipt, drift and report of sliceup");
    struct http_answer *answer = http_answer_file (OK, kept->type, fd);
    snprintf (name, sizeof name, "attachment; filename=\"sliceup-%.8s.%s\"", run->dir.id, kept->ending);
    if (request->route == ROUTE_RECEIPT)
        http_answer_add_header (answer, "Content-Disposition", name);
    return answer;
}

/* ---- metrics ---- */

/* Reads the counts of `drift.json`. Without the pin file's versions some differences may be missing. */
static void read_drift (struct served_run *run)
{
    LOCAL_BUF bytes = { .max = DRIFT_MAX_BYTES };
    int rc = file_read (RUN_PATH (&run->dir, RUN_FILE_DRIFT), &bytes, NULL);
    run->drift_read = rc == 0 || is_written (run);
    json_auto_t *json = rc == 0 ? json_loadb ((const char *) bytes.ptr, bytes.len, 0, NULL) : NULL;
    const json_t *counts = json_object_get (json, "counts");
    run->drift_known = counts && !json_is_true (json_object_get (json, "pins_missing"));
    run->drift = (uint32_t) (json_integer_value (json_object_get (counts, "findings")) +
                             json_integer_value (json_object_get (counts, "left_out")));
}

/* Reads once, from the files of its end, in how many ways its hosts differ. */
static struct http_answer *answer_metrics (struct served_run *run, uint64_t boot_ms, uint64_t wall_ms)
{
    if (run->state == SERVED_ENDED && !run->drift_read)
        read_drift (run);
    const struct metrics_beside beside = { .form = METRICS_OPENMETRICS,
                                           .boot_ms = boot_ms,
                                           .wall_ms = wall_ms,
                                           .interrupted = run->state == SERVED_INTERRUPTED,
                                           .drift_known = run->drift_known,
                                           .drift = run->drift };
    LOCAL_BUF text = { .max = METRICS_MAX_BYTES };
    metrics_print_run (run->feed, &beside, &text);
    return http_answer_bytes (OK, METRICS_CONTENT_TYPE, buf_as_text (&text));
}

/* ---- logs ---- */

/* The file of an attempt below the run's folder: by the plan's own names, never by those of a request. -1: none. */
static int answers_open_log (const struct served_run *run, const struct web_request *request)
{
    const struct plan *plan = &feed_board (run->feed)->plan;
    int host = plan_host_rank (plan, text_of (request->host)), rung = plan_rung_index (plan, text_of (request->rung));
    char path[RUN_PATH_BYTES];
    if (host < 0 || rung < 0 || !run_dir_names_path_safe (plan))
        return -1;
    const struct attempt_key key = { (uint32_t) rung, request->pass, (uint32_t) request->attempt };
    return plain_file_open (run_dir_log_path (&run->dir, plan, (uint32_t) host, &key, path), O_RDONLY, NULL);
}

struct http_answer *answer_log (const struct served_run *run, const struct web_request *request)
{
    static char piece[ANSWER_LOG_BYTES];
    char next[24];
    LOCAL_FD fd = answers_open_log (run, request);
    if (fd < 0)
        return answer_refusal (NOT_FOUND, "nothing was printed there yet, or there is no such host, rung or attempt");
    off_t end = lseek (fd, 0, SEEK_END), last = end > ANSWER_LOG_BYTES ? end - ANSWER_LOG_BYTES : 0;
    off_t from = request->from != UINT64_MAX ? (off_t) request->from : last;
    ssize_t n = from < end ? pread (fd, piece, sizeof piece, from) : 0; /* behind its end: nothing yet */
    if (n < 0)
        return answer_refusal (FAILED, "the log cannot be read");
    struct http_answer *answer = http_answer_bytes (OK, "application/octet-stream",
                                                    (struct text){ piece, (uint32_t) n });
    snprintf (next, sizeof next, "%" PRId64, (int64_t) from + n);
    http_answer_add_header (answer, "X-Sliceup-Next", next);
    return answer;
}

/* ---- when each is given ---- */

/* Who waits for an answer. */
struct waiter {
    struct http_exchange *exchange; /* NULL: a free place */
    struct web_request request;
    uint64_t until_ms, address;
};
/* An answer shared by equal requests. */
struct shared_answer {
    char run[RUN_ID_HEX_BYTES];
    uint64_t since, from_ms, until_ms; /* of a state; of hosts in a range */
    uint64_t made_ms;
    bool waited;                /* made for a request that waited for a change */
    struct http_answer *answer; /* NULL: a free place */
};
/* The last that were made of one kind. */
struct shared_answers {
    struct shared_answer items[ANSWERS_KEPT];
    uint32_t next;
};
struct server {
    const struct web_access *access;
    struct served_runs *runs;
    char boot[9];
    struct waiter waiters[WEB_PLACES];
    struct shared_answers states, withins; /* withins: also numbers, which are of no range */
    uint64_t looked_ms, look_ms;           /* boot time of the last and next check of waiting requests */
    bool ending;
};

struct server *server_open (const struct web_access *access, struct served_runs *runs, struct err *err)
{
    struct server *server = mem_alloc (sizeof *server);
    *server = (struct server){ .access = access, .runs = runs };
    if (random_hex (server->boot, sizeof server->boot - 1, "the name of this process", err) == 0)
        return server;
    mem_free (server);
    return NULL;
}

/* No sooner than SCENE_MS after the last check, so that repeated questions share one. */
static void look_by (struct server *server, uint64_t boot_ms)
{
    uint64_t soonest_ms = server->looked_ms + SCENE_MS, look_ms = boot_ms > soonest_ms ? boot_ms : soonest_ms;
    if (look_ms < server->look_ms)
        server->look_ms = look_ms;
}

/* ---- what is shared: states, and who was there in a range of time ---- */

/* Milliseconds since one of the run was made last. Immediate answers do not delay long polls. */
static uint64_t age_of_shared (const struct shared_answers *shared, const struct served_run *run, bool waits,
                               uint64_t boot_ms)
{
    uint64_t age_ms = UINT64_MAX;
    for (uint32_t i = 0; i < ANSWERS_KEPT; i++) {
        const struct shared_answer *one = &shared->items[i];
        if (one->answer && (one->waited || !waits) && strcmp (one->run, run->dir.id) == 0 &&
            boot_ms - one->made_ms < age_ms)
            age_ms = boot_ms - one->made_ms;
    }
    return age_ms;
}

static struct http_answer *find_shared (const struct shared_answers *shared, const struct served_run *run,
                                        const struct web_request *request, uint64_t boot_ms)
{
    for (uint32_t i = 0; i < ANSWERS_KEPT; i++) {
        const struct shared_answer *one = &shared->items[i];
        if (one->answer && one->since == request->since && one->from_ms == request->from_ms &&
            one->until_ms == request->until_ms && strcmp (one->run, run->dir.id) == 0 &&
            boot_ms - one->made_ms < WEB_PACE_MS)
            return one->answer;
    }
    return NULL;
}

static struct http_answer *make_shared (struct server *server, struct shared_answers *shared,
                                        const struct served_run *run, const struct web_request *request, bool waits,
                                        uint64_t boot_ms)
{
    struct shared_answer *one = &shared->items[shared->next++ % ANSWERS_KEPT];
    http_answer_release (one->answer);
    *one = (struct shared_answer){ .since = request->since,
                                   .from_ms = request->from_ms,
                                   .until_ms = request->until_ms,
                                   .made_ms = boot_ms,
                                   .waited = waits };
    memcpy (one->run, run->dir.id, sizeof one->run);
    one->answer = answer_scene (run, server->boot, request, boot_ms);
    return one->answer;
}

/* NULL: later; `waits`: only once a new answer is due. Borrows the answer. */
static struct http_answer *try_shared (struct server *server, struct shared_answers *shared, struct served_run *run,
                                       const struct web_request *request, bool waits, uint64_t boot_ms)
{
    uint64_t age_ms = age_of_shared (shared, run, waits, boot_ms);
    struct http_answer *found = find_shared (shared, run, request, boot_ms);
    if (found)
        return found;
    uint64_t rest_ms = waits ? WEB_PACE_MS : SCENE_MS;
    /* Made in this tick: all waiters are answered in it. */
    if (age_ms > 0 && age_ms < rest_ms && !server->ending) {
        look_by (server, boot_ms - age_ms + rest_ms);
        if (waits)
            served_run_look_by (run, boot_ms - age_ms + rest_ms); /* what is told then is new */
        return NULL;
    }
    return make_shared (server, shared, run, request, waits, boot_ms);
}

static struct http_answer *try_state (struct server *server, const struct waiter *waiter, struct served_run *run,
                                      uint64_t boot_ms)
{
    struct web_request request = waiter->request;
    bool waits = request.wait && boot_ms < waiter->until_ms && !server->ending;
    if (request.since > feed_board (run->feed)->revision)
        request.since = 0; /* its revision is another process's */
    if (waits && run->changed <= request.since && request.since)
        return NULL;
    return try_shared (server, &server->states, run, &request, waits, boot_ms);
}

/* ---- all others ---- */

static struct http_answer *try_run (struct server *server, const struct waiter *waiter, struct served_run *run,
                                    uint64_t boot_ms)
{
    const struct web_request *request = &waiter->request;
    struct err err = { 0 };
    int whole = served_run_want (server->runs, run, boot_ms, &err);
    if (whole < 0)
        return answer_refusal (err.code == ERR_STATE ? NOT_NOW : FAILED, err.text);
    if (whole == 0)
        return NULL;
    if (request->route == ROUTE_STATE)
        return http_answer_hold (try_state (server, waiter, run, boot_ms));
    if (request->route == ROUTE_HOST)
        return answer_scene (run, server->boot, request, boot_ms);
    if (request->route == ROUTE_WITHIN || request->route == ROUTE_NUMBERS)
        return http_answer_hold (try_shared (server, &server->withins, run, request, false, boot_ms));
    if (request->route == ROUTE_STACKS)
        return answer_stacks (run, boot_ms);
    if (request->route == ROUTE_METRICS)
        return answer_metrics (run, boot_ms, clock_wall_ms ());
    return answer_log (run, request);
}

/* The caller owns the answer; NULL: later. */
static struct http_answer *try_waiter (struct server *server, const struct waiter *waiter, uint64_t boot_ms)
{
    const struct web_request *request = &waiter->request;
    struct err err = { 0 };
    struct served_run *run = served_runs_find (server->runs, request->run, &err);
    if (!run)
        return answer_refusal (NOT_FOUND, err.text);
    if (request->route == ROUTE_DRIFT || request->route == ROUTE_RECEIPT)
        return answer_file (run, request);
    struct http_answer *answer = try_run (server, waiter, run, boot_ms);
    if (!answer && (server->ending || boot_ms >= waiter->until_ms))
        answer = answer_refusal (NOT_NOW, "the run is still being read: ask again");
    return answer;
}

static void server_serve (struct server *server, struct waiter *waiter, uint64_t boot_ms)
{
    struct http_answer *answer = try_waiter (server, waiter, boot_ms);
    if (answer)
        http_reply (waiter->exchange, answer);
    http_answer_release (answer);
    if (answer)
        waiter->exchange = NULL;
}

void server_tick (struct server *server, uint64_t boot_ms)
{
    look_by (server, boot_ms);
    if (boot_ms < server->look_ms && !server->ending)
        return;
    server->looked_ms = boot_ms;
    server->look_ms = boot_ms + LOOK_MS;
    for (size_t i = 0; i < WEB_PLACES; i++)
        if (server->waiters[i].exchange)
            server_serve (server, &server->waiters[i], boot_ms);
}

uint64_t server_next_ms (const struct server *server)
{
    for (size_t i = 0; i < WEB_PLACES; i++)
        if (server->waiters[i].exchange)
            return server->look_ms;
    return UINT64_MAX;
}

void server_end (struct server *server)
{
    server->ending = true;
    server_tick (server, clock_boot_ms ());
}

void server_close (struct server *server)
{
    if (!server)
        return;
    for (size_t i = 0; i < ANSWERS_KEPT; i++) {
        http_answer_release (server->states.items[i].answer);
        http_answer_release (server->withins.items[i].answer);
    }
    mem_free (server);
}

/* ---- requests ---- */

static struct http_answer *answer_at_once (struct server *server, struct http_exchange *exchange,
                                           const struct http_request *asked, struct web_request *request,
                                           uint64_t boot_ms)
{
    struct err err = { 0 };
    const char *why = NULL;
    bool bad = web_request_parse (text_of (asked->target), request, &err) < 0;
    unsigned status = web_access_judge (server->access, request, asked->host, asked->authorization, asked->site, &why);
    if (status)
        return answer_refusal (status, why); /* first, so that an unauthorised client learns nothing else */
    if (bad)
        return answer_refusal (err.code == ERR_USAGE ? NOT_FOUND : BAD_REQUEST, err.text);
    if (request->route == ROUTE_PAGE)
        return answer_page_file (request->file);
    http_note_known (exchange);
    return request->route == ROUTE_RUNS ? answer_runs (server->runs, boot_ms) : NULL;
}

/* NULL: none is free, or too many wait for a change. */
static struct waiter *find_place (struct server *server, const struct web_request *request, uint64_t address)
{
    struct waiter *place = NULL;
    uint32_t polls = 0, alike = 0;
    for (size_t i = 0; i < WEB_PLACES; i++) {
        struct waiter *waiter = &server->waiters[i];
        bool poll = waiter->exchange && waiter->request.wait;
        polls += poll;
        alike += poll && waiter->address == address;
        if (!waiter->exchange)
            place = waiter;
    }
    return request->wait && (polls >= WEB_POLLS || alike >= WEB_POLLS_AN_ADDRESS) ? NULL : place;
}

void server_ask (void *owner, struct http_exchange *exchange, const struct http_request *asked)
{
    struct server *server = owner;
    struct web_request request;
    uint64_t boot_ms = clock_boot_ms ();
    struct http_answer *answer = answer_at_once (server, exchange, asked, &request, boot_ms);
    struct waiter *place = answer ? NULL : find_place (server, &request, asked->address);
    if (!answer && !place)
        answer = answer_refusal (NOT_NOW, "too many requests wait, in all or from your address: ask again");
    if (answer)
        http_reply (exchange, answer);
    http_answer_release (answer);
    if (!place)
        return;
    *place = (struct waiter){ exchange, request, boot_ms + WEB_WAIT_MS, asked->address };
    server_serve (server, place, boot_ms);
}
