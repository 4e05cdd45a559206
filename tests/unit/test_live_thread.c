/* links: simulated cli */
#include <poll.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/io/clock.h"
#include "common/wire/wire.h"
#include "coordinator/cli/live_thread.h"
#include "coordinator/view/live.h"
#include "view_fixture.h"

enum { HOUR_MS = 3600 * 1000, TIMEOUT_MS = 5000, QUIET_MS = 10000 };

/* The wall clock, set by somebody: the linker takes this before libc's. */
static _Atomic int64_t wall_set_ms;

int clock_gettime (clockid_t id, struct timespec *out)
{
    int rc = (int) syscall (SYS_clock_gettime, id, out);
    if (id == CLOCK_REALTIME)
        out->tv_sec += atomic_load (&wall_set_ms) / 1000;
    return rc;
}

static FILE *stream_open (void)
{
    FILE *stream = tmpfile ();
    assert_non_null (stream);
    return stream;
}

static void read_stream (FILE *stream, struct buf *out)
{
    char block[4096];
    ssize_t n;
    buf_clear (out);
    for (off_t at = 0; (n = pread (fileno (stream), block, sizeof (block), at)) > 0; at += n)
        buf_add (out, block, (size_t) n);
}

static uint32_t count_of (struct buf *out, const char *words)
{
    uint32_t n = 0;
    for (const char *at = buf_c (out); (at = strstr (at, words)) != NULL; at++)
        n++;
    return n;
}

static struct fact opened (struct show *show)
{
    struct fact fact = { .kind = FACT_RUN_OPENED, .index = 1, .wall_ms = clock_wall_ms () };
    fact.of.run_opened = (struct fact_run_opened){ .run = TEXT_LIT ("3fa9c1d2000000000000000000000000"),
                                                   .plan = show->plan,
                                                   .version = TEXT_LIT ("0.1.0") };
    return fact;
}

/* Until the grid was drawn `times`, or for as long as anybody would look at a screen that stands still. */
static uint32_t drawings (FILE *stream, uint32_t times)
{
    struct buf out;
    uint64_t until_ms = clock_boot_ms () + TIMEOUT_MS;
    uint32_t n = 0;
    buf_init (&out, 16 << 20);
    while (n < times && clock_boot_ms () < until_ms) {
        (void) poll (NULL, 0, 20);
        read_stream (stream, &out);
        n = count_of (&out, "\x1b[?25h");
    }
    buf_release (&out);
    return n;
}

static void a_grid_is_redrawn_whatever_becomes_of_the_wall_clock (void **state)
{
    static const int64_t sets[] = { HOUR_MS, -HOUR_MS };
    (void) state;
    for (size_t i = 0; i < 2; i++) {
        struct show show;
        FILE *stream = stream_open ();
        struct live_options look = { .out = stream };
        show_make (&show, 2);
        atomic_store (&wall_set_ms, 0);
        struct live_thread *viewer = live_thread_open (&look, NULL);
        struct fact fact = opened (&show);
        struct buf bytes;
        buf_init (&bytes, 1 << 20);
        wire_put_fact (&bytes, &fact);
        live_thread_add_fact (viewer, fact.kind, buf_as_text (&bytes));
        buf_release (&bytes);
        assert_true (drawings (stream, 2) >= 2);
        atomic_store (&wall_set_ms, sets[i]);
        assert_true (drawings (stream, 5) >= 5);
        live_thread_close (viewer);
        fclose (stream);
        show_release (&show);
    }
    atomic_store (&wall_set_ms, 0);
}

/* ---- the same, moment by moment ---- */

struct watched {
    struct show show;
    struct live *live;
    FILE *stream;
    struct buf out;
    uint64_t boot_ms, wall_ms;
};

static void watched_make (struct watched *watched)
{
    *watched = (struct watched){ .stream = stream_open (), .boot_ms = 50000, .wall_ms = 1700000000000 };
    struct live_options look = { .plain = true, .out = watched->stream };
    show_make (&watched->show, 2);
    buf_init (&watched->out, 1 << 20);
    watched->live = live_open (&look);
    struct fact fact = opened (&watched->show);
    fact.wall_ms = watched->wall_ms;
    live_fact (watched->live, &fact, (struct live_time){ watched->boot_ms, watched->wall_ms });
}

static void watched_release (struct watched *watched)
{
    live_close (watched->live);
    fclose (watched->stream);
    buf_release (&watched->out);
    show_release (&watched->show);
}

static bool says_after (struct watched *watched, uint64_t ms, const char *words)
{
    watched->boot_ms += ms;
    live_tick (watched->live, watched->boot_ms);
    read_stream (watched->stream, &watched->out);
    return strstr (buf_c (&watched->out), words) != NULL;
}

static void what_is_waited_for_is_said_after_ten_seconds_that_passed (void **state)
{
    struct watched watched;
    (void) state;
    watched_make (&watched);
    assert_false (says_after (&watched, QUIET_MS - 1, "waiting for"));
    assert_true (says_after (&watched, 1, "waiting for"));
    assert_has (&watched.out, "(10 s of ");
    watched_release (&watched);
}

/* A fact that was recorded 4 s ago on a machine whose wall clock stood an hour back until just now. */
static void a_fact_that_comes_late_has_its_age_by_the_wall_clock_and_goes_on_by_the_other (void **state)
{
    struct watched watched;
    struct fact beat = { .kind = FACT_EPOCH_BEGAN, .index = 2, .at_ms = 60000, .of.epoch_began = { 1, 77, 0 } };
    (void) state;
    watched_make (&watched);
    watched.boot_ms += 5000;
    beat.wall_ms = watched.wall_ms - 4000;
    live_fact (watched.live, &beat, (struct live_time){ watched.boot_ms, watched.wall_ms });
    assert_false (says_after (&watched, QUIET_MS - 5001, "waiting for"));
    assert_true (says_after (&watched, 1001, "waiting for"));
    assert_has (&watched.out, "[    70.0 s] "); /* 60 s, 4 s old, 6 s more */
    watched_release (&watched);
}

/* ---- a view that something outside holds up ---- */

static void *stuck_open (void *pipe)
{
    return pipe;
}

static void stuck_fact (void *pipe, const struct fact *fact)
{
    (void) pipe;
    (void) fact;
}

static void stuck_tick (void *pipe)
{
    (void) pipe;
}

/* A disk that does not answer, until the pipe has a byte. */
static void stuck_close (void *pipe)
{
    char byte;
    assert_int_equal (read (((int *) pipe)[0], &byte, 1), 1);
}

static void a_view_that_is_held_up_is_left_behind (void **state)
{
    (void) state;
    static const struct live_viewer stuck = { stuck_open, stuck_fact, stuck_tick, stuck_close };
    static struct live_thread *left; /* it has it as long as the process lives */
    int ends[2];
    assert_int_equal (pipe (ends), 0);
    left = live_thread_open_viewer (&stuck, ends, NULL);
    assert_non_null (left);
    assert_false (live_thread_close_within (left, 1000));
    assert_int_equal (write (ends[1], "x", 1), 1);
    assert_true (live_thread_close_within (left, TIMEOUT_MS)); /* it is there still, and ends when it can */
    close (ends[0]);
    close (ends[1]);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_grid_is_redrawn_whatever_becomes_of_the_wall_clock),
        cmocka_unit_test (what_is_waited_for_is_said_after_ten_seconds_that_passed),
        cmocka_unit_test (a_fact_that_comes_late_has_its_age_by_the_wall_clock_and_goes_on_by_the_other),
        cmocka_unit_test (a_view_that_is_held_up_is_left_behind),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
