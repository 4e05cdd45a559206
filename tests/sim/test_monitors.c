/* alone: simulated monitor */
/* Monitors on other machines, under one virtual time: the coordinator's side (monitors.c) and theirs (follow.c) are the real ones;
 * links, clocks, the thread that reads the journal and the journal itself are made up here. Links break and queues fill, monitors
 * do not read for a while, the coordinator dies and loses what was not durable. Each monitor is given every durable fact once, in
 * order, as it was recorded and never before it was durable; soft ones come when it has caught up. It has all soon after the
 * faults end, and the coordinator knows that. SLICEUP_MONITOR_SEEDS: how many (default 150), from SLICEUP_MONITOR_FIRST (201) on. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>

#include "common/base/rng.h"
#include "common/wire/wire.h"
#include "test.h"

#define clock_boot_ms sim_clock_ms
#define poll(...) 0
#define events_client_open sim_events_open
#define events_client_close sim_events_close
#define events_client_reconnect sim_events_reconnect
#define events_client_ask sim_events_ask
#define events_client_receive sim_events_receive
#define hub_receive_question sim_receive_question
#define hub_questions_remain sim_questions_remain
#define hub_answer sim_answer
#define workqueue_submit sim_submit
#define journal_durable_index sim_durable_index
#define journal_reader_open sim_reader_open
#define journal_reader_seek sim_reader_seek
#define journal_reader_read_rest sim_reader_read_rest
#include "coordinator/monitor/follow.c"
#include "coordinator/monitor/monitors.c"

#define RUN "0123456789abcdef0123456789abcdef"
enum { FACTS_MAX = 120, SIM_MONITORS = 3, QUEUE_FRAMES = 16, JOBS_MAX = 8, CALM_MS = 60000, LARGE_MAX = 700 };
#define FOR_GOOD UINT64_MAX

struct sim_frame {
    uint64_t at_ms;
    struct buf bytes;
};
struct sim_monitor {
    struct follow *follow;
    uint32_t connection;
    uint64_t up_ms, asked_ms, reads_ms; /* connected from; by the hub; does not read before */
    struct sim_frame frames[QUEUE_FRAMES];
    uint32_t frames_n;
    struct buf taken; /* the frame that it reads */
    char question[QUESTION_MAX_BYTES + 1];
    uint64_t question_ms; /* when it arrives; 0: none is on its way */
    uint64_t index, soft;
};
static struct sim {
    uint64_t seed, now_ms, recorded, durable, n;
    struct rng rng;
    struct buf facts[FACTS_MAX + 1];
    struct monitors *server; /* NULL: dead */
    uint64_t back_ms;
    struct {
        work_item_fn *done;
        void *job;
        uint64_t at_ms;
    } jobs[JOBS_MAX];
    uint32_t jobs_n;
    struct sim_monitor monitors[SIM_MONITORS];
} sim;

static void broken (const char *what, uint64_t a, uint64_t b)
{
    fail_msg ("seed %" PRIu64 " at %" PRIu64 " ms: %s (%" PRIu64 ", %" PRIu64 ")", sim.seed, sim.now_ms, what, a, b);
}

/* ---- links ---- */

/* Their keys are made of runs that have begun. */
static bool is_up (const struct sim_monitor *monitor)
{
    return sim.server && sim.durable > 0 && sim.now_ms >= monitor->up_ms;
}

static void frames_drop (struct sim_monitor *monitor, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        buf_release (&monitor->frames[i].bytes);
    monitor->frames_n -= n;
    memmove (monitor->frames, monitor->frames + n, monitor->frames_n * sizeof (monitor->frames[0]));
}

/* All that was on its way is lost. */
static void cut (struct sim_monitor *monitor, uint64_t for_ms)
{
    frames_drop (monitor, monitor->frames_n);
    monitor->connection++;
    monitor->question_ms = monitor->asked_ms = 0;
    monitor->up_ms = for_ms < FOR_GOOD ? sim.now_ms + for_ms : FOR_GOOD; /* until it connects anew */
}

static bool post (struct sim_monitor *monitor, const void *bytes, size_t len)
{
    uint32_t n = monitor->frames_n;
    uint64_t at_ms = sim.now_ms + 1 + rng_below (&sim.rng, 30), before_ms = n ? monitor->frames[n - 1].at_ms : 0;
    if (n == QUEUE_FRAMES)
        return false;
    monitor->frames[n] = (struct sim_frame){ .at_ms = at_ms > before_ms ? at_ms : before_ms };
    buf_init (&monitor->frames[n].bytes, SIZE_MAX);
    buf_add (&monitor->frames[n].bytes, bytes, len);
    monitor->frames_n++;
    return true;
}

static void publish (struct text bytes)
{
    for (int i = 0; i < SIM_MONITORS; i++) {
        struct sim_monitor *monitor = &sim.monitors[i];
        if (is_up (monitor) && monitor->asked_ms && sim.now_ms - monitor->asked_ms < MONITOR_STAY_MS)
            (void) post (monitor, bytes.ptr, bytes.len);
    }
}

/* ---- what both sides call ---- */

uint64_t sim_clock_ms (void)
{
    return sim.now_ms;
}

struct events_client *sim_events_open (const char *address, uint16_t events_port, const char *hub_public_key,
                                       const struct link_keys *keys, struct err *err)
{
    (void) address, (void) hub_public_key, (void) keys, (void) err;
    return (struct events_client *) (void *) &sim.monitors[events_port];
}

static struct sim_monitor *monitor_of (struct events_client *client)
{
    return (struct sim_monitor *) (void *) client;
}

void sim_events_close (struct events_client *client)
{
    (void) client;
}

void sim_events_reconnect (struct events_client *client)
{
    cut (monitor_of (client), 200);
}

bool sim_events_ask (struct events_client *client, const void *bytes, size_t len)
{
    struct sim_monitor *monitor = monitor_of (client);
    if (!is_up (monitor))
        return false;
    memcpy (monitor->question, bytes, len);
    monitor->question[len] = '\0';
    monitor->question_ms = sim.now_ms + 1 + rng_below (&sim.rng, 30);
    return true;
}

bool sim_events_receive (struct events_client *client, struct text *bytes)
{
    struct sim_monitor *monitor = monitor_of (client);
    if (monitor->frames_n == 0 || monitor->frames[0].at_ms > sim.now_ms)
        return false;
    buf_clear (&monitor->taken);
    buf_add (&monitor->taken, monitor->frames[0].bytes.ptr, monitor->frames[0].bytes.len);
    frames_drop (monitor, 1);
    *bytes = buf_as_text (&monitor->taken);
    return true;
}

bool sim_receive_question (struct hub *hub, struct hub_monitor *from, struct text *bytes)
{
    (void) hub;
    for (uint32_t i = 0; i < SIM_MONITORS; i++) {
        struct sim_monitor *monitor = &sim.monitors[i];
        if (!monitor->question_ms || monitor->question_ms > sim.now_ms || !is_up (monitor))
            continue;
        *from = (struct hub_monitor){ .key = i };
        memcpy (from->id, &monitor->connection, sizeof monitor->connection);
        *bytes = text_of (monitor->question);
        monitor->question_ms = 0;
        monitor->asked_ms = sim.now_ms;
        return true;
    }
    return false;
}

bool sim_questions_remain (const struct hub *hub)
{
    (void) hub;
    return false;
}

bool sim_answer (struct hub *hub, const struct hub_monitor *to, const void *bytes, size_t len)
{
    struct sim_monitor *monitor = &sim.monitors[to->key];
    bool there = is_up (monitor) && memcmp (to->id, &monitor->connection, sizeof monitor->connection) == 0;
    (void) hub;
    errno = there ? EAGAIN : EHOSTUNREACH;
    return there && post (monitor, bytes, len);
}

bool sim_submit (struct workqueue *workqueue, work_item_fn *work, work_item_fn *done, void *job)
{
    (void) workqueue;
    if (sim.jobs_n == JOBS_MAX)
        return false;
    work (job);
    uint64_t before_ms = sim.jobs_n ? sim.jobs[sim.jobs_n - 1].at_ms : sim.now_ms;
    sim.jobs[sim.jobs_n].done = done;
    sim.jobs[sim.jobs_n].job = job;
    sim.jobs[sim.jobs_n++].at_ms = before_ms + rng_below (&sim.rng, rng_below (&sim.rng, 20) ? 200 : 5000);
    return true;
}

uint64_t sim_durable_index (const struct journal *journal)
{
    (void) journal;
    return sim.durable;
}

static uint64_t reader_after; /* of the one reader */

struct journal_reader *sim_reader_open (const char *path, struct err *err)
{
    (void) path, (void) err;
    return (struct journal_reader *) (void *) &reader_after;
}

int sim_reader_seek (struct journal_reader *reader, uint64_t after, struct err *err)
{
    (void) reader, (void) err;
    reader_after = after;
    return after > sim.recorded;
}

/* Also what is not durable yet, as SQLite may. */
int sim_reader_read_rest (struct journal_reader *reader, journal_fact_fn *fn, void *owner, struct err *err)
{
    (void) reader;
    for (uint64_t i = reader_after + 1; i <= sim.recorded; i++)
        if (fn (owner, i, buf_as_text (&sim.facts[i]), err) != 0)
            return -1;
    return 0;
}

/* ---- the run ---- */

/* Some larger than an answer: another try for the same index is another fact. */
static void record_next (void)
{
    static char cause[1000];
    struct verdict verdicts[LARGE_MAX];
    struct fact fact = { .kind = FACT_PASS_ENDED, .index = ++sim.recorded, .wall_ms = sim.now_ms };
    memset (cause, 'a', sizeof cause);
    uint32_t n = (uint32_t) (rng_below (&sim.rng, 20) ? rng_below (&sim.rng, 3) : rng_below (&sim.rng, LARGE_MAX));
    for (uint32_t i = 0; i < n; i++)
        verdicts[i] = (struct verdict){ .host = i, .cause = { cause, sizeof cause } };
    fact.of.pass_ended.verdicts.items = verdicts;
    fact.of.pass_ended.verdicts.n = n;
    if (fact.index == 1)
        fact = (struct fact){ .kind = FACT_RUN_OPENED, .index = 1, .of.run_opened.run = TEXT_LIT (RUN) };
    buf_clear (&sim.facts[sim.recorded]);
    wire_put_fact (&sim.facts[sim.recorded], &fact);
    assert_false (sim.facts[sim.recorded].overflow);
}

static void publish_soft (void)
{
    LOCAL_BUF bytes = { .max = 1 << 12 };
    struct fact fact = { .kind = FACT_HOST_SUSPECTED, .of.host_suspected = { 0, sim.now_ms, SILENCE_NONE } };
    wire_put_fact (&bytes, &fact);
    publish (buf_as_text (&bytes));
}

static void server_begin (void)
{
    static struct run_dir dir = { .id = RUN };
    sim.server = mem_alloc (sizeof *sim.server);
    *sim.server = (struct monitors){ .dir = &dir, .inotify_fd = -1 };
}

/* What waits for its `done` is never answered. */
static void server_end (void)
{
    struct monitors *server = sim.server;
    for (int i = 0; i < SIM_MONITORS; i++)
        cut (&sim.monitors[i], sim.monitors[i].up_ms == FOR_GOOD ? FOR_GOOD : 0);
    while (sim.jobs_n > 0) {
        sim.jobs_n--;
        sim.jobs[sim.jobs_n].done (sim.jobs[sim.jobs_n].job);
    }
    sim.server = NULL;
    mem_free (server);
    sim.recorded = sim.durable + rng_below (&sim.rng, sim.recorded - sim.durable + 1);
    sim.back_ms = sim.now_ms + rng_below (&sim.rng, 20000);
}

static void go_on (void)
{
    if (sim.recorded < sim.n && rng_below (&sim.rng, 3) == 0)
        record_next ();
    while (sim.durable < sim.recorded && rng_below (&sim.rng, 2))
        publish (buf_as_text (&sim.facts[++sim.durable]));
    if (rng_below (&sim.rng, 4) == 0)
        publish_soft ();
    (void) monitors_poll (sim.server);
    while (sim.jobs_n > 0 && sim.jobs[0].at_ms <= sim.now_ms) {
        work_item_fn *done = sim.jobs[0].done;
        void *job = sim.jobs[0].job;
        memmove (sim.jobs, sim.jobs + 1, --sim.jobs_n * sizeof (sim.jobs[0]));
        done (job);
    }
}

static void strike (void)
{
    struct sim_monitor *monitor = &sim.monitors[rng_below (&sim.rng, SIM_MONITORS)];
    if (sim.server && rng_below (&sim.rng, 400) == 0)
        server_end ();
    if (rng_below (&sim.rng, 100) == 0)
        cut (monitor, rng_below (&sim.rng, 4) ? rng_below (&sim.rng, 15000) : FOR_GOOD);
    if (rng_below (&sim.rng, 80) == 0)
        monitor->reads_ms = sim.now_ms + rng_below (&sim.rng, 20000);
}

static void monitors_read (void)
{
    for (int i = 0; i < SIM_MONITORS; i++) {
        struct err err = { 0 };
        if (sim.now_ms >= sim.monitors[i].reads_ms && follow_poll_events (sim.monitors[i].follow, &err) != 0)
            fail_msg ("seed %" PRIu64 ": %s", sim.seed, err.text);
    }
}

static void take_fact_of (void *owner, const struct fact *fact)
{
    struct sim_monitor *monitor = owner;
    LOCAL_BUF bytes = { .max = SIZE_MAX };
    if (fact_is_soft (fact->kind)) {
        if (monitor->soft++ == 0 && monitor->index == 0)
            broken ("a soft fact came before the first one", 0, 0);
        return;
    }
    if (fact->index != ++monitor->index)
        broken ("not the next fact", fact->index, monitor->index);
    if (fact->index > sim.durable)
        broken ("a fact is told that is not durable", fact->index, sim.durable);
    wire_put_fact (&bytes, fact);
    if (!text_equal (buf_as_text (&bytes), buf_as_text (&sim.facts[fact->index])))
        broken ("another fact than was recorded", fact->index, 0);
}

/* Whoever is there and asked lately has all, or it is on its way. */
static bool all_told (void)
{
    bool known = monitors_are_caught_up (sim.server), all = known;
    for (int i = 0; i < SIM_MONITORS; i++) {
        const struct sim_monitor *monitor = &sim.monitors[i];
        bool asked = is_up (monitor) && monitor->asked_ms && sim.now_ms - monitor->asked_ms < MONITOR_STAY_MS;
        if (known && asked && monitor->index < sim.n && monitor->frames_n == 0)
            broken ("a monitor is said to have all", monitor->index, sim.n);
        all &= monitor->index == sim.n;
    }
    return all;
}

static void sim_begin (uint64_t seed)
{
    sim.seed = seed;
    sim.now_ms = 1000;
    sim.rng = rng_seed (seed);
    sim.n = 1 + rng_below (&sim.rng, FACTS_MAX);
    sim.recorded = sim.durable = 0;
    for (int i = 0; i <= FACTS_MAX; i++)
        buf_init (&sim.facts[i], SIZE_MAX);
    for (uint16_t i = 0; i < SIM_MONITORS; i++) {
        struct monitor_key key = { .run = RUN, .port = i };
        struct sim_monitor *monitor = &sim.monitors[i];
        *monitor = (struct sim_monitor){ .reads_ms = rng_below (&sim.rng, 30000) };
        buf_init (&monitor->taken, SIZE_MAX);
        monitor->follow = follow_open_remote (&key, take_fact_of, monitor, NULL);
    }
    server_begin ();
}

static void sim_end (void)
{
    server_end ();
    for (int i = 0; i < SIM_MONITORS; i++) {
        sim.monitors[i].follow->events = NULL;
        follow_close (sim.monitors[i].follow);
        buf_release (&sim.monitors[i].taken);
    }
    for (int i = 0; i <= FACTS_MAX; i++)
        buf_release (&sim.facts[i]);
}

static void pass_time (void)
{
    sim.now_ms += 1 + rng_below (&sim.rng, 60);
    if (!sim.server && sim.now_ms >= sim.back_ms)
        server_begin ();
    if (sim.server)
        go_on ();
    monitors_read ();
}

static uint64_t number_of (const char *name, uint64_t otherwise)
{
    const char *text = getenv (name);
    return text ? strtoull (text, NULL, 10) : otherwise;
}

TEST (monitors_see_every_fact_once_and_in_order)
{
    uint64_t first = number_of ("SLICEUP_MONITOR_FIRST", 201), n = number_of ("SLICEUP_MONITOR_SEEDS", 150), soft = 0;
    for (uint64_t seed = first; seed < first + n; seed++) {
        sim_begin (seed);
        while (sim.durable < sim.n) {
            pass_time ();
            strike ();
        }
        uint64_t calm_ms = sim.now_ms;
        while (!sim.server)
            pass_time ();
        monitors_note_run_ended (sim.server);
        while (!all_told ()) {
            pass_time ();
            if (sim.now_ms >= calm_ms + CALM_MS)
                broken ("not all was told, or it is not known", sim.monitors[0].index, sim.n);
        }
        for (int i = 0; i < SIM_MONITORS; i++)
            soft += sim.monitors[i].soft;
        sim_end ();
    }
    assert_true (soft > n);
}
