/* alone: web journal */
/* Which answer who asks is given, of a run in a real journal: without sockets, and by a clock that is set by hand. */
#include <poll.h>

#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/wire/wire.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/run_begun.h"
#include "coordinator/web/server.h"
#include "test.h"

enum { WAIT_MS = 20 * 1000, LOOK_MS = 30 };

/* ---- in place of http.c and clock.c ---- */

struct http_answer {
    unsigned status;
    uint32_t holds;
    char *bytes;
};
struct http_exchange {
    struct http_answer *answer; /* NULL: it waits */
};
static uint64_t now_ms;
static uint32_t answers_n; /* that are held */

uint64_t clock_boot_ms (void)
{
    return now_ms;
}

uint64_t clock_boot_ns (void)
{
    return now_ms * 1000000;
}

uint64_t clock_wall_ms (void)
{
    return 1700000000000 + now_ms;
}

struct http_answer *http_answer_bytes (unsigned status, const char *type, struct text bytes)
{
    struct http_answer *answer = mem_alloc (sizeof *answer);
    (void) type;
    *answer = (struct http_answer){ status, 1, mem_alloc (bytes.len + 1) };
    memcpy (answer->bytes, bytes.ptr, bytes.len);
    answer->bytes[bytes.len] = '\0';
    answers_n++;
    return answer;
}

struct http_answer *http_answer_fixed (unsigned status, const char *type, struct text bytes)
{
    return http_answer_bytes (status, type, bytes);
}

struct http_answer *http_answer_file (unsigned status, const char *type, int fd)
{
    (void) fd;
    return http_answer_bytes (status, type, TEXT_LIT (""));
}

void http_answer_add_header (struct http_answer *answer, const char *name, const char *value)
{
    (void) answer;
    (void) name;
    (void) value;
}

struct http_answer *http_answer_hold (struct http_answer *answer)
{
    if (answer)
        answer->holds++;
    return answer;
}

void http_answer_release (struct http_answer *answer)
{
    if (!answer || --answer->holds > 0)
        return;
    mem_free (answer->bytes);
    mem_free (answer);
    answers_n--;
}

void http_note_known (struct http_exchange *exchange)
{
    (void) exchange;
}

void http_reply (struct http_exchange *exchange, struct http_answer *answer)
{
    assert_null (exchange->answer);
    exchange->answer = http_answer_hold (answer);
}

/* ---- a home with one run, which runs ---- */

struct lab {
    char home[64];
    struct run_dir dir;
    struct journal *journal;
    uint64_t index;
    struct web_access access;
    struct served_runs *runs;
    struct server *server;
};

static void record (struct lab *lab, struct fact *fact)
{
    struct buf bytes;
    buf_init (&bytes, FACT_MAX_BYTES);
    fact->index = ++lab->index;
    fact->at_ms = 1000 * fact->index;
    fact->wall_ms = 1700000000000 + fact->at_ms;
    wire_put_fact (&bytes, fact);
    journal_append (lab->journal, fact->index, fact->kind, 0, fact->wall_ms, buf_as_text (&bytes));
    buf_release (&bytes);
    while (journal_durable_index (lab->journal) < fact->index) {
        assert_true (poll (&(struct pollfd){ .fd = journal_fd (lab->journal), .events = POLLIN }, 1, WAIT_MS) > 0);
        journal_clear_wakeup (lab->journal);
    }
}

static void begin_run (struct lab *lab)
{
    static struct plan_host hosts[] = { { .name = { "h0", 2 }, .address = { "127.0.0.1", 9 } },
                                        { .name = { "h1", 2 }, .address = { "127.0.0.1", 9 } } };
    static struct rung rung = { .id = { "facts", 5 }, .builtin = { "facts", 5 }, .kind = PROGRAM_BUILTIN };
    struct fact opened = { .kind = FACT_RUN_OPENED };
    struct plan *plan = &opened.of.run_opened.plan;
    char path[RUN_PATH_BYTES];
    assert_int_equal (run_dir_create (&lab->dir, lab->home, NULL), 0);
    lab->journal = journal_create (run_dir_path (&lab->dir, "journal.db", path), lab->dir.id, NULL);
    assert_non_null (lab->journal);
    opened.of.run_opened.run = text_of (lab->dir.id);
    *plan = (struct plan){ .slice = TEXT_LIT ("made"), .launcher = LAUNCHER_JOIN, .ladder = TEXT_LIT ("made") };
    plan->hosts.items = hosts;
    plan->hosts.n = 2;
    plan->rungs.items = &rung;
    plan->rungs.n = 1;
    record (lab, &opened);
    assert_int_equal (run_begun_record (&lab->dir, NULL), 0);
}

/* h0 alone, from 2 s on. */
static void begin_pass (struct lab *lab)
{
    static uint32_t host = 0;
    struct fact began = { .kind = FACT_PASS_BEGAN };
    began.of.pass_began.key = (struct attempt_key){ 0, PASS_ONCE, 1 };
    began.of.pass_began.hosts.items = &host;
    began.of.pass_began.hosts.n = 1;
    record (lab, &began);
}

static void pass (struct lab *lab, uint64_t ms)
{
    now_ms += ms;
    assert_true (served_runs_tick (lab->runs, now_ms, clock_wall_ms ()) > 0);
    server_tick (lab->server, now_ms);
}

static void lab_open (struct lab *lab)
{
    *lab = (struct lab){ .home = "/tmp/server-test-XXXXXX", .access = { .names = { "here" }, .names_n = 1 } };
    now_ms = 1000;
    assert_true (mkdtemp (lab->home));
    begin_run (lab);
    begin_pass (lab);
    lab->runs = served_runs_open (lab->home, NULL);
    lab->server = server_open (&lab->access, lab->runs, NULL);
    assert_non_null (lab->server);
    pass (lab, 1);
}

static void lab_close (struct lab *lab)
{
    server_end (lab->server);
    server_close (lab->server);
    served_runs_close (lab->runs);
    journal_close (lab->journal);
    assert_int_equal (answers_n == 0 ? folder_remove (lab->home, NULL) : -1, 0);
}

TEST_FIXTURE (struct lab, lab_open, lab_close)

/* `exchange` is answered then, or in a later pass. */
static void ask (struct lab *lab, struct http_exchange *exchange, const char *target)
{
    const struct http_request request = { .method = "GET", .target = target, .host = "here" };
    *exchange = (struct http_exchange){ NULL };
    server_ask (lab->server, exchange, &request);
}

static struct http_answer *answered (struct lab *lab, struct http_exchange *exchange)
{
    for (int i = 0; i < 100 && !exchange->answer; i++)
        pass (lab, LOOK_MS);
    assert_non_null (exchange->answer);
    assert_int_equal (exchange->answer->status, 200);
    return exchange->answer;
}

static void leave (struct http_exchange *exchanges, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        http_answer_release (exchanges[i].answer);
}

static void assert_hosts (const struct http_answer *answer, const char *hosts)
{
    char words[64];
    snprintf (words, sizeof words, "\"hosts\":\"%s\"", hosts);
    assert_has (answer->bytes, words);
}

/* ---- tests ---- */

TEST_ON (lab, who_asks_for_the_same_range_is_given_one_answer)
{
    struct http_exchange at[4];
    for (uint32_t i = 0; i < 3; i++)
        ask (lab, &at[i], "/api/within?time=2000-9000"); /* they wait: the run is read */
    struct http_answer *one = answered (lab, &at[0]);
    assert_hosts (one, "x.");
    uint32_t held = answers_n;
    assert_ptr_equal (answered (lab, &at[1]), one);
    assert_ptr_equal (answered (lab, &at[2]), one);
    now_ms += WEB_PACE_MS / 2; /* who comes a little later, too, whatever happened meanwhile */
    ask (lab, &at[3], "/api/within?time=2000-9000");
    assert_ptr_equal (at[3].answer, one);
    assert_int_equal (answers_n, held);
    assert_int_equal (one->holds, 5); /* and one to give to others */
    leave (at, 4);
}

TEST_ON (lab, who_asks_for_numbers_is_given_one_answer_and_never_that_of_a_range)
{
    struct http_exchange at[3];
    ask (lab, &at[0], "/api/numbers");
    struct http_answer *one = answered (lab, &at[0]);
    assert_has (one->bytes, "\"numbers\":{");
    ask (lab, &at[1], "/api/numbers");
    assert_ptr_equal (answered (lab, &at[1]), one);
    ask (lab, &at[2], "/api/within?time=0-9000");
    assert_ptr_not_equal (answered (lab, &at[2]), one);
    leave (at, 3);
}

TEST_ON (lab, another_range_or_a_later_time_has_another_answer)
{
    struct http_exchange at[5];
    ask (lab, &at[0], "/api/within?time=2000-9000");
    assert_hosts (answered (lab, &at[0]), "x.");
    ask (lab, &at[1], "/api/within?time=0-2000"); /* another begin and end */
    assert_hosts (answered (lab, &at[1]), "..");
    ask (lab, &at[2], "/api/within?time=2000-8000");
    assert_ptr_not_equal (answered (lab, &at[2]), at[0].answer);
    ask (lab, &at[3], "/api/within?time=2001-9000");
    assert_ptr_not_equal (answered (lab, &at[3]), at[0].answer);
    now_ms += WEB_PACE_MS;
    ask (lab, &at[4], "/api/within?time=2000-9000");
    assert_hosts (answered (lab, &at[4]), "x.");
    assert_ptr_not_equal (at[4].answer, at[0].answer);
    leave (at, 5);
}

TEST_ON (lab, those_who_have_seen_the_same_state_are_given_one_answer)
{
    struct http_exchange at[3];
    for (uint32_t i = 0; i < 3; i++)
        ask (lab, &at[i], i < 2 ? "/api/state?since=1" : "/api/state?since=2");
    for (uint32_t i = 0; i < 3; i++)
        (void) answered (lab, &at[i]);
    assert_ptr_equal (at[0].answer, at[1].answer);
    assert_ptr_not_equal (at[0].answer, at[2].answer);
    leave (at, 3);
}

/* A script that asks for one state after the other, and does not wait. */
TEST_ON (lab, who_waits_is_not_held_up_by_those_who_do_not)
{
    enum { STATES = 16 };
    struct http_exchange first, waiting, at_once[STATES];
    for (uint32_t i = 0; i < STATES; i++)
        record (lab, &(struct fact){ .kind = FACT_CANCEL_ASKED, .of.cancel_asked.level = 1 });
    ask (lab, &first, "/api/state?since=1&wait=1");
    (void) answered (lab, &first);
    pass (lab, LOOK_MS);
    ask (lab, &waiting, "/api/state?since=2&wait=1");
    uint32_t n = 0;
    for (uint64_t end_ms = now_ms + WEB_PACE_MS; now_ms < end_ms; n++) {
        char target[64];
        snprintf (target, sizeof target, "/api/state?since=%u", n + 3);
        assert_true (n < STATES);
        ask (lab, &at_once[n], target);
        (void) answered (lab, &at_once[n]);
        pass (lab, LOOK_MS);
    }
    assert_non_null (waiting.answer);
    leave (&first, 1);
    leave (&waiting, 1);
    leave (at_once, n);
}

static void ask_from (struct lab *lab, struct http_exchange *exchange, const char *target, uint64_t address)
{
    const struct http_request request = { .method = "GET", .target = target, .host = "here", .address = address };
    *exchange = (struct http_exchange){ NULL };
    server_ask (lab->server, exchange, &request);
}

/* Open pages of one address leave room for others, and all pages for what is no page's wait. */
TEST_ON (lab, as_many_wait_as_may_and_others_are_answered)
{
    enum { SECOND = WEB_POLLS - WEB_POLLS_AN_ADDRESS };
    static struct http_exchange first[WEB_POLLS_AN_ADDRESS], second[SECOND];
    struct http_exchange state_now, over[3];
    char target[64];
    ask (lab, &state_now, "/api/state");
    const char *revision = strstr (answered (lab, &state_now)->bytes, "\"revision\":");
    snprintf (target, sizeof target, "/api/state?since=%d&wait=1", atoi (revision + 11));
    for (uint32_t i = 0; i < WEB_POLLS_AN_ADDRESS; i++)
        ask_from (lab, &first[i], target, 1);
    ask_from (lab, &over[0], target, 1);
    for (uint32_t i = 0; i < SECOND; i++)
        ask_from (lab, &second[i], target, 2);
    ask_from (lab, &over[1], target, 2);
    ask_from (lab, &over[2], target, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_true (over[i].answer && over[i].answer->status == 503);
    assert_null (first[0].answer);
    assert_null (first[WEB_POLLS_AN_ADDRESS - 1].answer);
    assert_null (second[SECOND - 1].answer);
    server_end (lab->server);
    leave (&state_now, 1);
    leave (over, 3);
    leave (first, WEB_POLLS_AN_ADDRESS);
    leave (second, SECOND);
}

/* ---- whose words are a path ---- */

static void put (const struct lab *lab, const char *name)
{
    char path[RUN_PATH_BYTES];
    assert_int_equal (folder_make (run_dir_path (&lab->dir, "logs/h0", path), 0700, NULL), 0);
    assert_int_equal (atomic_file_write (run_dir_path (&lab->dir, name, path), "printed", 7, 0600, NULL), 0);
}

/* The log of h0 at this rung, of a run whose plan has such a rung. */
static void assert_log (const struct lab *lab, const char *rung, unsigned status)
{
    struct plan_host host = { .name = TEXT_LIT ("h0") };
    struct rung rungs = { .id = text_of (rung) };
    struct fact opened = { .kind = FACT_RUN_OPENED, .index = 1 };
    struct served_run run = { .dir = lab->dir, .feed = feed_create (BOARD_JUDGED_STATE) };
    struct web_request request = { .host = "h0", .pass = PASS_ONCE, .attempt = 1, .from = UINT64_MAX };
    opened.of.run_opened = (struct fact_run_opened){ .run = text_of (lab->dir.id) };
    opened.of.run_opened.plan = (struct plan){ .hosts = { &host, 1 }, .rungs = { &rungs, 1 } };
    snprintf (request.rung, sizeof request.rung, "%s", rung);
    feed_apply (run.feed, &opened, now_ms, clock_wall_ms ());
    struct http_answer *answer = answer_log (&run, &request);
    assert_int_equal (answer->status, status);
    http_answer_release (answer);
    feed_destroy (run.feed);
}

TEST_ON (lab, a_plan_leads_to_no_file_but_the_logs_of_its_run)
{
    put (lab, "logs/h0/facts.once.1.log");
    put (lab, "../elsewhere.once.1.log");
    assert_log (lab, "facts", 200);
    assert_log (lab, "../../../elsewhere", 404);
    assert_log (lab, "nothing", 404);
}

TEST_ON (lab, what_a_coordinator_could_not_write_is_not_waited_for_without_end)
{
    struct web_request request = { .route = ROUTE_RECEIPT, .form = FORM_JUNIT };
    struct served_run run = { .dir = lab->dir, .state = SERVED_ENDED, .ended_wall_ms = clock_wall_ms () };
    struct http_answer *soon = answer_file (&run, &request);
    run.ended_wall_ms -= 3600 * 1000;
    struct http_answer *late = answer_file (&run, &request);
    assert_int_equal (soon->status, 503);
    assert_int_equal (late->status, 404);
    http_answer_release (soon);
    http_answer_release (late);
}

TEST_ON (lab, files_of_a_run_are_there_once_it_has_ended)
{
    struct http_exchange before, linked, after;
    char path[RUN_PATH_BYTES];
    ask (lab, &before, "/api/receipt?form=markdown");
    assert_true (before.answer && before.answer->status == 404);
    run_dir_path (&lab->dir, RUN_FILE_MARKDOWN, path);
    assert_int_equal (symlink ("/etc/hostname", path), 0); /* the run's own files are none */
    ask (lab, &linked, "/api/receipt?form=markdown");
    assert_true (linked.answer && linked.answer->status == 404);
    assert_int_equal (atomic_file_write (path, "written", 7, 0600, NULL), 0);
    ask (lab, &after, "/api/receipt?form=markdown");
    assert_true (after.answer && after.answer->status == 200);
    leave (&before, 1);
    leave (&linked, 1);
    leave (&after, 1);
}
