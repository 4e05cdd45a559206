/* alone: journal */
#include "tests/unit/journal_fixture.h"

#include "test.h"
#include <sys/prctl.h>

/* Endless appending, in bursts of all sizes; every durable index that the journal admits to goes into the pipe. */
static void append_for_ever (const char *path, uint64_t seed, int report)
{
    struct rng rng = rng_seed (seed);
    struct journal *journal = access (path, F_OK) == 0 ? journal_open (path, NULL)
                                                       : journal_create (path, RUN_ID, NULL);
    if (!journal)
        _exit (2);
    for (uint64_t last = journal_durable_index (journal);;) {
        uint64_t more = 1 + rng_below (&rng, 40), durable;
        append_until (journal, last + 1, last + more);
        last += more;
        struct pollfd woken = { .fd = journal_fd (journal), .events = POLLIN };
        poll (&woken, 1, (int) rng_below (&rng, 3));
        durable = journal_durable_index (journal);
        if (write (report, &durable, sizeof durable) != sizeof durable)
            _exit (3);
    }
}

static pid_t start_appending (const char *path, uint64_t seed, int *report)
{
    int pipes[2];
    assert_int_equal (pipe2 (pipes, O_CLOEXEC), 0);
    pid_t pid = fork ();
    if (pid == 0) {
        prctl (PR_SET_PDEATHSIG, SIGKILL);
        append_for_ever (path, seed, pipes[1]);
    }
    close (pipes[1]);
    *report = pipes[0];
    return pid;
}

/* Kills it after `reports` reports and `more_us`; the highest index it had reported by then. */
static uint64_t kill_after (pid_t pid, int report, uint64_t reports, long more_us)
{
    uint64_t durable = 0, highest = 0;
    struct timespec moment = { .tv_nsec = more_us * 1000 };
    for (uint64_t i = 0; i < reports; i++) {
        assert_int_equal (read (report, &durable, sizeof durable), sizeof durable);
        highest = durable > highest ? durable : highest;
    }
    nanosleep (&moment, NULL); /* not a wait: it makes the moment of the kill a random one */
    assert_int_equal (kill (pid, SIGKILL), 0);
    while (read (report, &durable, sizeof durable) == sizeof durable)
        highest = durable > highest ? durable : highest;
    assert_int_equal (waitpid (pid, NULL, 0), pid);
    close (report);
    return highest;
}

TEST_ON (place, no_reported_fact_is_lost_by_fifty_kills)
{
    struct rng rng = rng_seed (20);
    uint64_t before = 0;
    for (int round = 0; round < 50; round++) {
        struct err err = { 0 };
        uint64_t last = 0;
        int report;
        pid_t pid = start_appending (place->path, rng_next (&rng), &report);
        uint64_t reported = kill_after (pid, report, 1 + rng_below (&rng, 8), (long) rng_below (&rng, 4000));
        assert_true (reported >= before);
        if (journal_read (place->path, expect_next, &last, &err) != 0)
            fail_msg ("round %d: %s", round, err.text);
        assert_true (last >= reported);
        before = last;
    }
    assert_true (before > 200); /* it did get somewhere */
}
