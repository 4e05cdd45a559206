/* journal_fixture.h - a journal in a folder of its own, facts whose bytes follow from their index, and waits with
 * bounds. */
#ifndef SLICEUP_TESTS_UNIT_JOURNAL_FIXTURE_H
#define SLICEUP_TESTS_UNIT_JOURNAL_FIXTURE_H

#include "common/io/atomic_file.h"
#include "coordinator/journal/journal.h"
#include "test.h"
#include <inttypes.h>
#include <limits.h>
#include <poll.h>

#define RUN_ID "0123456789abcdef0123456789abcdef"
enum { WAIT_MS = 20 * 1000, FACT_BYTES = 700 };

struct place {
    char folder[64];
    char path[96];
};

static inline void place_open (struct place *place)
{
    snprintf (place->folder, sizeof place->folder, "/tmp/journal-test-XXXXXX");
    assert_true (mkdtemp (place->folder));
    snprintf (place->path, sizeof place->path, "%s/journal.db", place->folder);
}

static inline void place_close (struct place *place)
{
    assert_int_equal (folder_remove (place->folder, NULL), 0);
}

TEST_FIXTURE (struct place, place_open, place_close)

/* Bytes of fact `index`: all of it known from the index alone. */
static inline struct text fact_bytes (uint64_t index, char out[FACT_BYTES])
{
    memset (out, 'a' + (int) (index % 26), FACT_BYTES);
    int len = snprintf (out, FACT_BYTES, "fact %" PRIu64, index);
    out[len] = ' ';
    return (struct text){ .ptr = out, .len = FACT_BYTES };
}

/* For tests that come between the journal and its disk: the mark has syncs of its own. */
static inline bool fd_is_mark (int fd)
{
    char link[32], path[PATH_MAX];
    snprintf (link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink (link, path, sizeof path);
    return n > 5 && memcmp (path + n - 5, ".mark", 5) == 0;
}

static inline void append_until (struct journal *journal, uint64_t first, uint64_t last)
{
    char bytes[FACT_BYTES];
    for (uint64_t index = first; index <= last; index++)
        journal_append (journal, index, 7, index, index, fact_bytes (index, bytes));
}

static inline uint64_t now_ms (void)
{
    struct timespec now;
    clock_gettime (CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

/* Waits on the journal's own descriptor until `index` is durable or a problem is known. */
static inline void wait_durable (struct journal *journal, uint64_t index)
{
    uint64_t end = now_ms () + WAIT_MS;
    while (journal_durable_index (journal) < index && !journal_problem (journal, NULL)) {
        struct pollfd woken = { .fd = journal_fd (journal), .events = POLLIN };
        assert_true (now_ms () < end);
        assert_true (poll (&woken, 1, WAIT_MS) == 1);
        journal_clear_wakeup (journal);
    }
}

static inline void make_journal (const char *path, uint64_t facts)
{
    struct err err = { 0 };
    struct journal *journal = journal_create (path, RUN_ID, &err);
    if (!journal)
        fail_msg ("%s", err.text);
    append_until (journal, 1, facts);
    journal_close (journal);
}

/* A journal_fact_fn: every fact is the one its index says, none is missing. `owner` is the index before the first. */
static inline int expect_next (void *owner, uint64_t index, struct text bytes, struct err *err)
{
    uint64_t *last = owner;
    char expected[FACT_BYTES];
    if (index != *last + 1 || !text_equal (bytes, fact_bytes (index, expected)))
        return err_set (err, ERR_STATE, "fact %" PRIu64 " after %" PRIu64 " is not what was written", index, *last);
    *last = index;
    return 0;
}

#endif
