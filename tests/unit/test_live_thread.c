/* links: simulated cli */

#include "coordinator/cli/climb.h"
#include "test.h"

enum { TIMEOUT_MS = 5000 };

static void *stuck_open (void *pipe)
{
    return pipe;
}

static void stuck_fact (void *pipe, const struct fact *fact)
{
    (void) pipe;
    (void) fact;
}

static uint32_t stuck_tick (void *pipe)
{
    (void) pipe;
    return TIMEOUT_MS;
}

/* A disk that does not answer, until the pipe has a byte. */
static void stuck_close (void *pipe)
{
    char byte;
    assert_int_equal (read (((int *) pipe)[0], &byte, 1), 1);
}

TEST (a_view_that_is_held_up_is_left_behind)
{
    static const struct live_viewer stuck = { stuck_open, stuck_fact, stuck_tick, stuck_close, NULL };
    static struct live_thread *left; /* it has it as long as the process lives */
    int ends[2];
    assert_int_equal (pipe (ends), 0);
    left = live_thread_open (&stuck, ends, NULL);
    assert_non_null (left);
    assert_false (live_thread_close_within (left, 1000));
    assert_int_equal (write (ends[1], "x", 1), 1);
    assert_true (live_thread_close_within (left, TIMEOUT_MS)); /* it is there still, and ends when it can */
    close (ends[0]);
    close (ends[1]);
}
