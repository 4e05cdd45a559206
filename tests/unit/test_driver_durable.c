/* alone: simulated cli */
#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/wire/wire.h"
#include "coordinator/cli/climb.h"
#include "coordinator/journal/journal.h"
#include "coordinator/monitor/follow.h"
#include "coordinator/run/driver_private.h"
#include "sample.h"
#include "test.h"

/* A disk that takes its time: the linker takes this before libc's. */
static pthread_mutex_t sync_gate = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int log_syncs_begun; /* of the journal's log; its mark is made durable later, on a thread of its own */

static bool is_log (int fd)
{
    static const char log[] = "/journal.db-wal";
    char link[64], path[PATH_MAX];
    snprintf (link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink (link, path, sizeof path);
    return len >= (ssize_t) sizeof log && memcmp (path + len - (sizeof log - 1), log, sizeof log - 1) == 0;
}

int fdatasync (int fd)
{
    atomic_fetch_add (&log_syncs_begun, is_log (fd));
    pthread_mutex_lock (&sync_gate);
    pthread_mutex_unlock (&sync_gate);
    return (int) syscall (SYS_fdatasync, fd);
}

enum { TURN_MS = 20, TIMEOUT_MS = 10000, LOOK_MS = 500, KINDS = 128 };

struct seen {
    uint32_t of[KINDS];
};
struct lab {
    char home[64];
    struct loop *loop;
    struct driver *driver;
    struct run_dir dir;
    struct arena arena;
    struct plan plan;
    struct follow *follow;
    struct seen here, elsewhere; /* by the coordinator's own view; by journal and events */
};

static void on_told (void *owner, enum fact_kind kind, struct text bytes)
{
    struct lab *lab = owner;
    struct arena arena = { 0 };
    struct fact fact;
    assert_int_equal (wire_get_fact (bytes, &fact, &arena, NULL), 0);
    assert_int_equal (fact.kind, kind);
    lab->here.of[kind]++;
    arena_release (&arena);
}

static void on_followed (void *owner, const struct fact *fact)
{
    struct lab *lab = owner;
    lab->elsewhere.of[fact->kind]++;
}

static void on_time (void *owner, int fd, uint32_t events)
{
    struct lab *lab = owner;
    (void) events;
    loop_forget (lab->loop, fd);
    loop_stop (lab->loop);
}

/* One turn of the coordinator's loop, and a look from outside. */
static void turn (struct lab *lab)
{
    struct err err = { 0 };
    struct itimerspec at = { .it_value.tv_nsec = TURN_MS * 1000000L };
    int fd = timerfd_create (CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    assert_int_equal (timerfd_settime (fd, 0, &at, NULL), 0);
    assert_int_equal (loop_watch (lab->loop, fd, EPOLLIN, on_time, lab, &err), 0);
    assert_int_equal (loop_run (lab->loop, &err), 0);
    close (fd);
    if (follow_connect_events (lab->follow, &err) < 0 || follow_poll_events (lab->follow, &err) < 0 ||
        follow_read_journal (lab->follow, &err) < 0)
        fail_msg ("%s", err.text);
}

static void until_seen (struct lab *lab, const struct seen *by, enum fact_kind kind)
{
    uint64_t until_ms = clock_boot_ms () + TIMEOUT_MS;
    while (by->of[kind] == 0 && clock_boot_ms () < until_ms)
        turn (lab);
    assert_int_not_equal (by->of[kind], 0);
}

static void until_syncing (struct lab *lab, int before)
{
    uint64_t until_ms = clock_boot_ms () + TIMEOUT_MS;
    while (atomic_load (&log_syncs_begun) == before && clock_boot_ms () < until_ms)
        turn (lab);
    assert_int_not_equal (atomic_load (&log_syncs_begun), before);
}

static void lab_make (struct lab *lab)
{
    struct err err = { 0 };
    static const struct log quiet = { .program = "test" };
    *lab = (struct lab){ .home = "/tmp/sliceup-durable-XXXXXX" };
    assert_non_null (mkdtemp (lab->home));
    sample_plan (&lab->plan, 2, &lab->arena);
    lab->plan.launcher = LAUNCHER_JOIN;
    lab->plan.home = text_of (lab->home);
    lab->loop = loop_open (&err);
    assert_int_equal (run_dir_create (&lab->dir, lab->home, &err), 0);
    struct driver_options options = {
        .dir = &lab->dir, .log = &quiet, .version = "0.1.0", .watch = on_told, .owner = lab
    };
    if ((lab->driver = driver_open (lab->loop, &options, &lab->plan, &err)) == NULL)
        fail_msg ("%s", err.text);
    lab->follow = follow_open (&lab->dir, on_followed, lab);
}

static void lab_release (struct lab *lab)
{
    follow_close (lab->follow);
    driver_close (lab->driver);
    loop_close (lab->loop);
    arena_release (&lab->arena);
    assert_int_equal (folder_remove (lab->home, NULL), 0);
}

TEST (nobody_is_shown_a_fact_before_it_is_durable)
{
    struct lab lab;
    struct link_keys keys;
    lab_make (&lab);
    until_seen (&lab, &lab.here, FACT_RUN_OPENED);
    until_seen (&lab, &lab.elsewhere, FACT_RUN_OPENED);
    link_keys_make (&keys);

    pthread_mutex_lock (&sync_gate);
    int before = atomic_load (&log_syncs_begun);
    driver_worker_keyed (lab.driver, 0, text_of (keys.public_key));
    until_syncing (&lab, before);
    for (uint64_t until_ms = clock_boot_ms () + LOOK_MS; clock_boot_ms () < until_ms;)
        turn (&lab);
    assert_int_equal (lab.here.of[FACT_HOST_KEYED], 0);
    assert_int_equal (lab.elsewhere.of[FACT_HOST_KEYED], 0);
    pthread_mutex_unlock (&sync_gate);

    until_seen (&lab, &lab.here, FACT_HOST_KEYED);
    until_seen (&lab, &lab.elsewhere, FACT_HOST_KEYED);
    lab_release (&lab);
}

static uint32_t threads (void)
{
    uint32_t n = 0;
    DIR *tasks = opendir ("/proc/self/task");
    assert_non_null (tasks);
    for (struct dirent *task; (task = readdir (tasks)) != NULL;)
        n += task->d_name[0] != '.';
    closedir (tasks);
    return n;
}

TEST (as_many_threads_are_asked_for_as_a_run_has)
{
    enum { VIEWS = 2 }; /* the terminal's and that of run --metrics, which the command line has; there are none here */
    struct lab lab;
    uint32_t before = threads ();
    lab_make (&lab);
    until_seen (&lab, &lab.here, FACT_RUN_OPENED);
    assert_int_equal (climb_capacity_needed (lab.plan.hosts.n).threads, threads () - before + VIEWS);
    lab_release (&lab);
}
