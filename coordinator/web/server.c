#include "coordinator/web/server.h"

#include <string.h>

#include "common/base/rng.h"
#include "common/io/clock.h"

enum { BAD_REQUEST = 400, NOT_FOUND = 404, FAILED = 500, NOT_NOW = 503 };
enum { ANSWERS_KEPT = 8, SCENE_MS = 25, LOOK_MS = 250 };

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
    struct shared_answers states, withins;
    uint64_t looked_ms, look_ms; /* boot time of the last and next check of waiting requests */
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
    if (request->route == ROUTE_WITHIN)
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
