/* driver_fixture.h - a driver over loopback sockets and a real journal, whose disk can be made to stall or to fail. Its
 * workers are spokes of this program, so nothing is started, and a test says itself what they say. */
#ifndef SLICEUP_TESTS_UNIT_DRIVER_FIXTURE_H
#define SLICEUP_TESTS_UNIT_DRIVER_FIXTURE_H

#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/wire/wire.h"
#include "coordinator/core/steps.h"
#include "coordinator/monitor/follow.h"
#include "coordinator/monitor/key_file.h"
#include "coordinator/monitor/monitors.h"
#include "coordinator/run/driver_private.h"
#include "sample.h"
#include "test.h"
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

enum { STAGE_HOSTS = 6, STAGE_WAIT_MS = 20000, STAGE_STEP_MS = 10, STAGE_KINDS = 128, RECEIVED_MAX = 64 };
#define STAGE_VERSION "0.0.test"

/* ---- the disk: the linker takes this before libc's. It stalls for the journal's thread only, so a run can be opened. */

static _Atomic bool disk_stalls, disk_fails;
static _Atomic bool mark_stalls; /* what is in the journal's log by then is committed, and not acknowledged */

ssize_t pwrite (int fd, const void *bytes, size_t len, off_t offset)
{
    while (mark_stalls)
        nanosleep (&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    return syscall (SYS_pwrite64, fd, bytes, len, offset);
}

int fdatasync (int fd)
{
    while (disk_stalls && gettid () != getpid ())
        nanosleep (&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    if (!disk_fails)
        return (int) syscall (SYS_fdatasync, fd);
    errno = EIO;
    return -1;
}

struct actor {
    struct link_keys keys;
    struct spoke *spoke;
    uint64_t seq, epoch, session, told;   /* `told`: the index in its last WELCOME */
    enum msg_kind received[RECEIVED_MAX]; /* what was said to it, in order */
    uint32_t received_n;
};
struct stage {
    char home[64];
    struct run_dir dir;
    struct loop *loop;
    struct driver *driver;
    struct arena arena;
    struct plan plan;
    FILE *log_file;
    struct log log;
    char log_text[8192];
    uint32_t facts[STAGE_KINDS]; /* how many of each kind are durable */
    struct actor actors[STAGE_HOSTS];
    bool rang;
};

static inline void stage_watch (void *owner, enum fact_kind kind, struct text bytes)
{
    struct stage *stage = owner;
    (void) bytes;
    stage->facts[kind]++;
}

static inline struct driver_options stage_options (struct stage *stage)
{
    return (struct driver_options){
        .dir = &stage->dir, .log = &stage->log, .version = STAGE_VERSION, .watch = stage_watch, .owner = stage
    };
}

/* One rung, on each host by itself; no host is ever silent for too long. */
static inline void stage_plan (struct stage *stage, uint32_t hosts)
{
    sample_plan (&stage->plan, hosts, &stage->arena);
    stage->plan.launcher = LAUNCHER_JOIN;
    stage->plan.rungs.n = 1;
    stage->plan.cache.mode = CACHE_OFF;
    stage->plan.limits.suspect_ms = stage->plan.limits.lost_ms = 600000;
}

static inline void stage_make (struct stage *stage)
{
    struct err err = { 0 };
    *stage = (struct stage){ .home = "/tmp/driver-test-XXXXXX" };
    disk_stalls = disk_fails = mark_stalls = false;
    assert_non_null (mkdtemp (stage->home));
    stage->log_file = fmemopen (stage->log_text, sizeof stage->log_text, "w");
    assert_non_null (stage->log_file);
    setvbuf (stage->log_file, NULL, _IONBF, 0);
    stage->log = (struct log){ .to = stage->log_file, .program = "test" };
    stage_plan (stage, 2);
    stage->loop = loop_open (&err);
    assert_true (stage->loop && run_dir_create (&stage->dir, stage->home, &err) == 0);
}

static inline void stage_start (struct stage *stage)
{
    struct err err = { 0 };
    struct driver_options options = stage_options (stage);
    stage->driver = driver_open (stage->loop, &options, &stage->plan, &err);
    if (!stage->driver)
        fail_msg ("%s", err.text);
}

static inline void stage_stop (struct stage *stage)
{
    disk_stalls = mark_stalls = false;
    driver_close (stage->driver);
    stage->driver = NULL;
}

/* Another coordinator, in a world that knows nothing of the first. */
static inline int stage_resume (struct stage *stage, struct err *err)
{
    struct driver_options options = stage_options (stage);
    memset (stage->facts, 0, sizeof stage->facts);
    loop_close (stage->loop);
    stage->loop = loop_open (err);
    stage->driver = driver_resume (stage->loop, &options, err);
    return stage->driver ? 0 : -1;
}

static inline void stage_end (struct stage *stage)
{
    for (uint32_t i = 0; i < STAGE_HOSTS; i++)
        spoke_close (stage->actors[i].spoke, 0);
    stage_stop (stage);
    loop_close (stage->loop);
    fclose (stage->log_file);
    arena_release (&stage->arena);
    assert_int_equal (folder_remove (stage->home, NULL), 0);
}

TEST_FIXTURE (struct stage, stage_make, stage_end)

/* ---- time passes ---- */

static inline void stage_ring (void *owner, int fd, uint32_t events)
{
    struct stage *stage = owner;
    (void) fd, (void) events;
    stage->rang = true;
    loop_stop (stage->loop);
}

/* Runs the loop for so long. False: the driver stopped it. */
static inline bool stage_run (struct stage *stage, uint64_t ms)
{
    struct err err = { 0 };
    int timer = timerfd_create (CLOCK_BOOTTIME, TFD_CLOEXEC);
    struct itimerspec in = { .it_value = { (time_t) (ms / 1000), (long) (ms % 1000) * 1000000 + 1 } };
    assert_int_equal (timerfd_settime (timer, 0, &in, NULL), 0);
    assert_int_equal (loop_watch (stage->loop, timer, EPOLLIN, stage_ring, stage, &err), 0);
    stage->rang = false;
    assert_int_equal (loop_run (stage->loop, &err), 0);
    loop_forget (stage->loop, timer);
    close (timer);
    return stage->rang;
}

/* Until the driver leaves by itself. */
static inline void stage_leave (struct stage *stage)
{
    assert_false (stage_run (stage, STAGE_WAIT_MS));
}

/* Passes of a driver that left already, for so long. */
static inline void stage_linger (struct stage *stage, uint64_t ms)
{
    for (uint64_t end = clock_boot_ms () + ms; clock_boot_ms () < end; (void) stage_run (stage, STAGE_STEP_MS))
        nanosleep (&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/* Until so many facts of a kind are durable; whatever is asked of it takes no longer than STAGE_WAIT_MS. */
static inline void stage_until (struct stage *stage, enum fact_kind kind, uint32_t n)
{
    for (uint64_t end = clock_boot_ms () + STAGE_WAIT_MS; stage->facts[kind] < n; stage_run (stage, STAGE_STEP_MS))
        if (clock_boot_ms () > end)
            fail_msg ("%u of %s, and not %u", stage->facts[kind], fact_name (kind), n);
}

/* Until all that was decided is durable. */
static inline void stage_settle (struct stage *stage)
{
    const struct driver *driver = stage->driver;
    for (uint64_t end = clock_boot_ms () + STAGE_WAIT_MS;
         journal_durable_index (driver->journal) < driver->recorded_index || driver->held.n;
         stage_run (stage, STAGE_STEP_MS))
        if (clock_boot_ms () > end)
            fail_msg ("%u effects still wait", driver->held.n);
}

/* ---- workers ---- */

static inline void actor_take (struct actor *actor)
{
    struct arena arena = { 0 };
    struct text bytes;
    struct err err = { 0 };
    while (spoke_receive (actor->spoke, LINK_CONTROL, &bytes)) {
        struct msg msg;
        if (wire_get_msg (bytes, &msg, &arena, &err) < 0)
            fail_msg ("%s", err.text);
        if (msg.kind == MSG_WELCOME) {
            actor->epoch = msg.epoch;
            actor->session = msg.session;
            actor->told = msg_recorded_index (&msg);
            actor->seq = 0;
        }
        assert_true (actor->received_n < RECEIVED_MAX);
        actor->received[actor->received_n++] = msg.kind;
    }
    arena_release (&arena);
}

static inline uint32_t stage_received (struct stage *stage, uint32_t host, enum msg_kind kind)
{
    struct actor *actor = &stage->actors[host];
    uint32_t n = 0;
    actor_take (actor);
    for (uint32_t i = 0; i < actor->received_n; i++)
        n += actor->received[i] == kind;
    return n;
}

static inline void stage_receives (struct stage *stage, uint32_t host, enum msg_kind kind)
{
    for (uint64_t end = clock_boot_ms () + STAGE_WAIT_MS; !stage_received (stage, host, kind);
         stage_run (stage, STAGE_STEP_MS))
        if (clock_boot_ms () > end)
            fail_msg ("host %u never heard %s", host, msg_name (kind));
}

static inline bool stage_offer (struct stage *stage, uint32_t host, struct msg *msg)
{
    struct actor *actor = &stage->actors[host];
    struct buf frame;
    buf_init (&frame, MSG_MAX_BYTES);
    msg->major = msg->major ? msg->major : PROTOCOL_MAJOR;
    if (!msg->run_id.ptr)
        msg->run_id = (struct text){ stage->driver->run_raw, RUN_ID_BYTES };
    msg->epoch = actor->epoch;
    msg->session = actor->session;
    msg->seq = ++actor->seq;
    wire_put_msg (&frame, msg);
    bool sent = spoke_send (actor->spoke, LINK_CONTROL, frame.ptr, frame.len);
    buf_release (&frame);
    return sent;
}

static inline void stage_says (struct stage *stage, uint32_t host, struct msg msg)
{
    for (uint64_t end = clock_boot_ms () + STAGE_WAIT_MS; !stage_offer (stage, host, &msg);
         stage_run (stage, STAGE_STEP_MS))
        if (clock_boot_ms () > end)
            fail_msg ("host %u could never say %s", host, msg_name (msg.kind));
}

static inline struct msg stage_hello (const struct stage *stage, uint32_t host)
{
    struct msg msg = { .kind = MSG_HELLO };
    msg.of.hello = (struct msg_hello){ .host = stage->plan.hosts.items[host].name,
                                       .version = TEXT_LIT (STAGE_VERSION),
                                       .pid = 100 + host,
                                       .pid_start = 1000,
                                       .boot_id = TEXT_LIT ("boot") };
    return msg;
}

/* Its key was let in, and it is on its way to connect. */
static inline void stage_key (struct stage *stage, uint32_t host)
{
    struct actor *actor = &stage->actors[host];
    struct err err = { 0 };
    link_keys_make (&actor->keys);
    driver_worker_keyed (stage->driver, host, text_of (actor->keys.public_key));
    stage_settle (stage); /* who is refused comes back late */
    struct run_addresses at = { 0 };
    assert_int_equal (run_addresses_load (&stage->dir, &at, &err), 0);
    static char hub_key[LINK_KEY_BYTES];
    memcpy (hub_key, at.public_key, sizeof hub_key);
    struct spoke_options options = { .address = "127.0.0.1",
                                     .control_port = at.control_port,
                                     .bulk_port = at.bulk_port,
                                     .hub_public_key = hub_key,
                                     .keys = &actor->keys,
                                     .control_bytes_max = MSG_MAX_BYTES,
                                     .bulk_bytes_max = MSG_MAX_BYTES };
    actor->spoke = spoke_open (&options, &err);
    if (!actor->spoke)
        fail_msg ("%s", err.text);
}

/* All but the last `but` hosts join. */
static inline void stage_join (struct stage *stage, uint32_t but)
{
    for (uint32_t i = 0; i + but < stage->plan.hosts.n; i++) {
        stage_key (stage, i);
        stage_says (stage, i, stage_hello (stage, i));
        stage_receives (stage, i, MSG_WELCOME);
    }
}

/* ---- monitors ---- */

static inline struct events_client *stage_listen (const struct stage *stage)
{
    struct run_addresses at = { 0 };
    struct link_keys keys;
    struct err err = { 0 };
    char path[RUN_PATH_BYTES];
    assert_int_equal (run_addresses_load (&stage->dir, &at, &err), 0);
    assert_int_equal (key_file_load (&keys, run_dir_path (&stage->dir, "monitor.key", path), &err), 0);
    struct events_client *listener = events_client_open ("127.0.0.1", at.events_port, at.public_key, &keys, &err);
    if (!listener)
        fail_msg ("%s", err.text);
    return listener;
}

/* Until the question is on its way. */
static inline void stage_ask (struct stage *stage, struct events_client *listener)
{
    char question[QUESTION_MAX_BYTES + 1];
    size_t len = snapshot_write_question (&(struct snapshot_position){ .index = 1 }, question);
    for (uint64_t end = clock_boot_ms () + STAGE_WAIT_MS; !events_client_ask (listener, question, len);
         stage_run (stage, STAGE_STEP_MS))
        assert_true (clock_boot_ms () < end);
}

/* ---- what is on the disk ---- */

struct recorded {
    uint32_t of[STAGE_KINDS];
    enum fact_kind last;
};

static inline int stage_count_fact (void *owner, uint64_t index, struct text bytes, struct err *err)
{
    struct recorded *recorded = owner;
    struct arena arena = { 0 };
    struct fact fact;
    (void) index;
    int rc = wire_get_fact (bytes, &fact, &arena, err);
    if (rc == 0) {
        recorded->of[fact.kind]++;
        recorded->last = fact.kind;
    }
    arena_release (&arena);
    return rc;
}

static inline struct recorded stage_recorded (const struct stage *stage)
{
    struct recorded recorded = { 0 };
    char path[RUN_PATH_BYTES];
    struct err err = { 0 };
    if (journal_read (run_dir_path (&stage->dir, "journal.db", path), stage_count_fact, &recorded, &err) < 0)
        fail_msg ("%s", err.text);
    return recorded;
}

static inline bool stage_has_file (const struct stage *stage, const char *name)
{
    char path[RUN_PATH_BYTES];
    return access (run_dir_path (&stage->dir, name, path), F_OK) == 0;
}

#endif
