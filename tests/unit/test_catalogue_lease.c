/* alone: catalogue */
#include "catalogue_fixture.h"
#include "common/io/clock.h"
#include "test.h"
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>

TEST_ON (scene, one_run_has_the_lease_and_the_other_learns_who)
{
    struct lease_owner lease_owner;
    uint64_t token = granted (scene, RUN);
    assert_int_equal (acquire (scene, OTHER_RUN, NULL, &lease_owner), 0);
    assert_int_equal (lease_owner.token, token);
    assert_text (lease_owner.run, RUN);
    assert_true (entry_of (scene, token)->leased);
    end (scene, token, RUN, false);
    assert_true (granted (scene, OTHER_RUN) > token); /* released: at once */
}

TEST_ON (scene, a_lease_is_taken_over_only_with_an_unmoved_beat)
{
    struct lease_owner seen, now;
    uint64_t token = granted (scene, RUN);
    acquire (scene, OTHER_RUN, NULL, &seen);
    assert_false (taken (scene, token, RUN));
    assert_int_equal (acquire (scene, OTHER_RUN, &seen, &now), 0);
    assert_int_equal (now.token, token);
    assert_true (now.beat > seen.beat);
    assert_false (taken (scene, token, RUN)); /* it still has it */
    acquire (scene, OTHER_RUN, NULL, &now);
    uint64_t next = acquire (scene, OTHER_RUN, &now, &seen);
    assert_true (next > token);
    assert_true (taken (scene, token, RUN));
    assert_false (taken (scene, next, OTHER_RUN));
    assert_int_equal (entry_of (scene, token)->state, GENERATION_ABANDONED);
    assert_has (entry_of (scene, token)->why.ptr, OTHER_RUN.ptr);
}

TEST_ON (scene, a_takeover_is_from_exactly_that_lease_owner)
{
    struct lease_owner seen, now;
    uint64_t first = granted (scene, RUN);
    acquire (scene, OTHER_RUN, NULL, &seen);
    uint64_t second = granted (scene, RUN); /* a new token of the same run, with as many beats */
    assert_int_equal (acquire (scene, OTHER_RUN, &seen, &now), 0);
    assert_int_equal (now.token, second);
    seen.token = second;
    seen.run = TEXT_LIT ("00000000000000000000000000000000");
    assert_int_equal (acquire (scene, OTHER_RUN, &seen, &now), 0);
    assert_int_equal (entry_of (scene, first)->state, GENERATION_ABANDONED);
}

TEST_ON (scene, a_run_that_asks_again_gets_a_new_token_and_abandons_the_old_one)
{
    uint64_t first = granted (scene, RUN), second = granted (scene, RUN);
    assert_true (second > first);
    assert_int_equal (entry_of (scene, first)->state, GENERATION_ABANDONED);
    assert_int_equal (entry_of (scene, second)->state, GENERATION_GRANTED);
    assert_true (taken (scene, first, RUN));
    assert_false (taken (scene, second, RUN));
    end (scene, first, RUN, true); /* the old one: the lease of the new one stays */
    assert_false (taken (scene, second, RUN));
}

TEST_ON (scene, a_token_is_above_what_the_run_has_journaled)
{
    struct lease_owner lease_owner;
    uint64_t token = 0;
    well (scene, catalogue_acquire_lease (scene->catalogue, BUNDLE, RUN, 1000, NULL, &token, &lease_owner,
                                          &scene->arena, &scene->err));
    assert_int_equal (token, 1001);
    end (scene, token, RUN, true);
    assert_int_equal (granted (scene, OTHER_RUN), 1002);
    assert_int_equal (catalogue_acquire_lease (scene->catalogue, BUNDLE, OTHER_RUN, UINT64_MAX, NULL, &token,
                                               &lease_owner, &scene->arena, &scene->err),
                      -1);
    assert_int_equal (scene->err.code, ERR_LIMIT);
}

TEST_ON (scene, an_end_is_of_its_own_lease_and_may_be_repeated)
{
    uint64_t token = granted (scene, RUN);
    end (scene, token, OTHER_RUN, true);
    end (scene, token + 1, RUN, true);
    assert_false (taken (scene, token, RUN));
    for (int i = 0; i < 2; i++) {
        end (scene, token, RUN, true);
        assert_int_equal (entry_of (scene, token)->state, GENERATION_ABANDONED);
        assert_false (entry_of (scene, token)->leased);
    }
}

TEST_ON (scene, publishing_ends_the_lease)
{
    uint64_t token = published (scene, RUN);
    assert_false (taken (scene, token, RUN)); /* a beat that was on its way: nobody took anything */
    uint64_t next = granted (scene, OTHER_RUN);
    assert_false (taken (scene, token, RUN));
    publish (scene, RUN, token); /* repeated after somebody else has the lease: it stays theirs */
    assert_false (taken (scene, next, OTHER_RUN));
    end (scene, token, RUN, true);
    assert_int_equal (entry_of (scene, token)->state, GENERATION_PUBLISHED);
}

TEST_ON (scene, leases_of_two_bundles_have_nothing_to_do_with_each_other)
{
    struct lease_owner lease_owner;
    uint64_t token = granted (scene, RUN), other = 0;
    well (scene, catalogue_acquire_lease (scene->catalogue, TEXT_LIT ("jax/77"), OTHER_RUN, 0, NULL, &other,
                                          &lease_owner, &scene->arena, &scene->err));
    assert_true (other > token);
    assert_false (taken (scene, token, RUN));
}

TEST_ON (scene, who_lost_the_lease_may_still_publish_what_it_had_sealed)
{
    struct lease_owner lease_owner;
    uint64_t token = granted (scene, RUN);
    acquire (scene, OTHER_RUN, NULL, &lease_owner);
    uint64_t next = acquire (scene, OTHER_RUN, &lease_owner, &lease_owner);
    publish (scene, RUN, token);
    assert_int_equal (found (scene), token);
    assert_false (taken (scene, next, OTHER_RUN));
    publish (scene, OTHER_RUN, next);
    publish (scene, RUN, token);
    assert_int_equal (found (scene), next);
}

/* ---- several processes ---- */

enum { PROCESSES = 4, ROUNDS = 25, WAIT_MS = 240 * 1000 };

struct shared {
    atomic_int inside;
    atomic_ulong newest; /* the highest token that anybody knows to be granted */
    atomic_ulong wrongs, takeovers;
};

static struct shared *share (void)
{
    void *memory = mmap (NULL, sizeof (struct shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true (memory != MAP_FAILED);
    return memory;
}

static void raise_newest (struct shared *shared, uint64_t token)
{
    unsigned long was = atomic_load (&shared->newest);
    while (was < token && !atomic_compare_exchange_weak (&shared->newest, &was, token))
        continue;
}

static struct text run_of (int process, char id[33])
{
    snprintf (id, 33, "%032x", 0x1000 + process);
    return text_of (id);
}

/* Nobody takes over: between a grant and its end there is nobody else. */
static int polite (const char *root, int process, struct shared *shared)
{
    struct err err = { 0 };
    struct arena arena = { 0 };
    struct lease_owner lease_owner;
    char id[33];
    uint64_t until_ms = clock_boot_ms () + WAIT_MS, token = 0, last = 0;
    struct catalogue *catalogue = catalogue_open (root, &err);
    int rc = catalogue ? 0 : -1;
    for (int done = 0; rc == 0 && done < ROUNDS && clock_boot_ms () < until_ms;) {
        rc = catalogue_acquire_lease (catalogue, BUNDLE, run_of (process, id), 0, NULL, &token, &lease_owner, &arena,
                                      &err);
        if (rc != 0 || token == 0)
            continue;
        atomic_fetch_add (&shared->wrongs, atomic_fetch_add (&shared->inside, 1) != 0 || token <= last);
        last = token;
        bool gone = false;
        rc = catalogue_beat (catalogue, token, text_of (id), &gone, &err);
        atomic_fetch_add (&shared->wrongs, gone);
        atomic_fetch_sub (&shared->inside, 1);
        struct fact_generation generation = generation_of (token);
        if (rc == 0)
            rc = done % 2 ? catalogue_release_lease (catalogue, token, text_of (id), true, &err)
                          : catalogue_publish (catalogue, text_of (id), &generation, &err);
        done++;
    }
    if (err.code)
        fprintf (stderr, "%s\n", err.text);
    catalogue_close (catalogue);
    arena_release (&arena);
    return rc == 0 && clock_boot_ms () < until_ms ? 0 : 1;
}

/* Takes over from whoever has not beaten between two looks: as wrong as a clock can make anybody. A beat that is
 * accepted although a higher token was granted before it was sent would be two holders. */
static int rude (const char *root, int process, struct shared *shared)
{
    struct err err = { 0 };
    struct arena arena = { 0 };
    struct lease_owner seen = { 0 }, now;
    char id[33];
    uint64_t until_ms = clock_boot_ms () + WAIT_MS, token = 0;
    struct catalogue *catalogue = catalogue_open (root, &err);
    int rc = catalogue ? 0 : -1;
    for (int done = 0; rc == 0 && done < ROUNDS && clock_boot_ms () < until_ms;) {
        rc = catalogue_acquire_lease (catalogue, BUNDLE, run_of (process, id), 0, &seen, &token, &now, &arena, &err);
        bool over = rc == 0 && token && seen.token;
        seen = now;
        if (rc != 0 || token == 0)
            continue;
        atomic_fetch_add (&shared->takeovers, over);
        raise_newest (shared, token);
        bool gone = false;
        for (int beat = 0; rc == 0 && beat < 3 && !gone; beat++) {
            uint64_t newest = atomic_load (&shared->newest);
            rc = catalogue_beat (catalogue, token, text_of (id), &gone, &err);
            atomic_fetch_add (&shared->wrongs, !gone && newest > token);
        }
        if (rc == 0 && !gone)
            rc = catalogue_release_lease (catalogue, token, text_of (id), true, &err);
        done++;
    }
    if (err.code)
        fprintf (stderr, "%s\n", err.text);
    catalogue_close (catalogue);
    arena_release (&arena);
    return rc == 0 && clock_boot_ms () < until_ms ? 0 : 1;
}

static pid_t begin (int (*work) (const char *, int, struct shared *), const char *root, int process,
                    struct shared *shared)
{
    pid_t pid = fork ();
    assert_true (pid >= 0);
    if (pid == 0) {
        prctl (PR_SET_PDEATHSIG, SIGKILL);
        _exit (work (root, process, shared));
    }
    return pid;
}

static void all_end_well (int (*work) (const char *, int, struct shared *), struct scene *scene, struct shared *shared)
{
    pid_t pids[PROCESSES];
    for (int i = 0; i < PROCESSES; i++)
        pids[i] = begin (work, scene->root, i, shared);
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;
        assert_int_equal (waitpid (pids[i], &status, 0), pids[i]);
        assert_int_equal (status, 0);
    }
    assert_int_equal (atomic_load (&shared->wrongs), 0);
}

TEST_ON (scene, among_processes_there_is_never_a_second_holder)
{
    struct shared *shared = share ();
    all_end_well (polite, scene, shared);
    munmap (shared, sizeof *shared);
}

TEST_ON (scene, no_beat_is_accepted_once_somebody_else_was_granted_a_token)
{
    struct shared *shared = share ();
    all_end_well (rude, scene, shared);
    assert_true (atomic_load (&shared->takeovers) > 0);
    munmap (shared, sizeof *shared);
}

/* Never ends by itself. */
static int restless (const char *root, int process, struct shared *shared)
{
    struct arena arena = { 0 };
    struct lease_owner seen = { 0 };
    char id[33];
    uint64_t token;
    bool gone;
    struct catalogue *catalogue = catalogue_open (root, NULL);
    while (catalogue) {
        struct fact_generation generation;
        if (catalogue_acquire_lease (catalogue, BUNDLE, run_of (process, id), 0, &seen, &token, &seen, &arena, NULL) !=
            0)
            break;
        if (token == 0)
            continue;
        raise_newest (shared, token);
        generation = generation_of (token);
        if (catalogue_beat (catalogue, token, text_of (id), &gone, NULL) != 0 ||
            (token % 2 ? catalogue_publish (catalogue, text_of (id), &generation, NULL)
                       : catalogue_release_lease (catalogue, token, text_of (id), true, NULL)) != 0)
            break;
    }
    return 1; /* refused: nothing here may be */
}

static void is_whole (struct scene *scene)
{
    char path[160];
    sqlite3 *db = NULL;
    sqlite3_stmt *check = NULL;
    snprintf (path, sizeof path, "%s/catalogue.db", scene->root);
    assert_int_equal (sqlite3_open (path, &db), SQLITE_OK);
    assert_int_equal (sqlite3_busy_timeout (db, 30000), SQLITE_OK);
    assert_int_equal (sqlite3_prepare_v2 (db, "PRAGMA integrity_check", -1, &check, NULL), SQLITE_OK);
    assert_int_equal (sqlite3_step (check), SQLITE_ROW);
    assert_string_equal (sqlite3_column_text (check, 0), "ok");
    sqlite3_finalize (check);
    assert_int_equal (sqlite3_close (db), SQLITE_OK);
}

/* Every row agrees with every other: one lease at most, of a granted token; what is published has no lease. */
static void is_consistent (struct scene *scene)
{
    struct catalogue_list list;
    uint32_t leased = 0;
    well (scene, catalogue_list (scene->catalogue, BUNDLE, &scene->arena, &list, &scene->err));
    for (uint32_t i = 0; i < list.n; i++) {
        leased += list.items[i].leased;
        assert_true (!list.items[i].leased || list.items[i].state == GENERATION_GRANTED);
        assert_true (list.items[i].state != GENERATION_GRANTED || list.items[i].leased);
        assert_true (i == 0 || list.items[i].token > list.items[i - 1].token);
    }
    assert_true (leased <= 1);
}

TEST_ON (scene, a_process_killed_at_any_moment_leaves_it_consistent)
{
    struct shared *shared = share ();
    struct rng rng = rng_seed (4711);
    for (int round = 0; round < 30; round++) {
        unsigned long before = atomic_load (&shared->newest);
        pid_t pids[2] = { begin (restless, scene->root, 0, shared), begin (restless, scene->root, 1, shared) };
        for (uint64_t until_ms = clock_boot_ms () + 20000;
             atomic_load (&shared->newest) == before && clock_boot_ms () < until_ms;)
            usleep (1000);
        usleep ((useconds_t) rng_below (&rng, 30000)); /* in the midst of it, anywhere */
        for (int i = 0; i < 2; i++) {
            int status;
            kill (pids[i], SIGKILL);
            assert_int_equal (waitpid (pids[i], &status, 0), pids[i]);
            assert_true (WIFSIGNALED (status));
        }
        is_whole (scene);
        is_consistent (scene);
        struct lease_owner lease_owner;
        uint64_t token = acquire (scene, RUN, NULL, &lease_owner);
        if (token == 0)
            token = acquire (scene, RUN, &lease_owner, &lease_owner);
        assert_true (token > atomic_load (&shared->newest));
        raise_newest (shared, token);
        end (scene, token, RUN, true);
    }
    assert_true (atomic_load (&shared->newest) >= 60); /* in each round one of theirs and ours */
    munmap (shared, sizeof *shared);
}

/* A process with one transaction after the other must not keep another out: SQLite alone lets it. */
TEST_ON (scene, nobody_is_kept_out_by_those_who_never_pause)
{
    struct shared *shared = share ();
    pid_t pids[3];
    uint64_t longest_ms = 0;
    for (int i = 0; i < 3; i++)
        pids[i] = begin (restless, scene->root, i, shared);
    for (int i = 0; i < 40; i++) {
        struct lease_owner lease_owner;
        uint64_t began_ms = clock_boot_ms ();
        acquire (scene, RUN, NULL, &lease_owner);
        uint64_t took_ms = clock_boot_ms () - began_ms;
        longest_ms = took_ms > longest_ms ? took_ms : longest_ms;
    }
    for (int i = 0; i < 3; i++) {
        kill (pids[i], SIGKILL);
        assert_int_equal (waitpid (pids[i], NULL, 0), pids[i]);
    }
    printf ("    the longest wait of 40 took %llu ms\n", (unsigned long long) longest_ms);
    assert_true (longest_ms < 20000);
    munmap (shared, sizeof *shared);
}
