/* links: cache */
/* Audits: how deep they look, what they list, and what lies in a bundle's folder whoever put it there. */
#include "cache_fixture.h"
#include "test.h"

#include "common/cache/generation.h"
#include <poll.h>

static struct finding_list audit (struct fixture *fixture, uint64_t token, enum audit_depth depth, uint64_t seed)
{
    struct finding_list list = { 0 };
    if (audit_generation (text_of (fixture->root), token, fixture->seal.sha256, depth, seed, &fixture->arena, &list,
                          &fixture->err))
        fail_msg ("%s", fixture->err.text);
    return list;
}

static void expect_one (const struct finding_list *list, enum finding_kind kind, const char *path, const char *detail)
{
    assert_int_equal (list->n, 1);
    assert_int_equal (list->items[0].kind, kind);
    if (!text_is (list->items[0].path, path))
        fail_msg ("\"%.*s\" is not \"%s\"", TEXT_ARG (list->items[0].path), path);
    assert_has (list->items[0].detail, detail);
}

TEST_ON (fixture, what_is_as_it_was_sealed_has_no_findings)
{
    seal_lots (fixture, 3);
    for (int depth = AUDIT_STAT; depth <= AUDIT_FULL; depth++) {
        struct finding_list list = audit (fixture, 3, (enum audit_depth) depth, 1);
        assert_true (list.n == 0 && list.more == 0);
    }
}

TEST_ON (fixture, other_bytes_are_found_as_deep_as_one_looks)
{
    seal_lots (fixture, 3);
    spoil (fixture, 3, "xla/kernel cache.bin");
    assert_int_equal (audit (fixture, 3, AUDIT_STAT, 1).n, 0);
    struct finding_list sample = audit (fixture, 3, AUDIT_SAMPLE, 1), full = audit (fixture, 3, AUDIT_FULL, 1);
    expect_one (&sample, FINDING_CHANGED, "xla/kernel cache.bin", "was modified after it was sealed");
    expect_one (&full, FINDING_CHANGED, "xla/kernel cache.bin", "was modified after it was sealed");
}

/* One of 24 is drawn for sure, of the others 1 of 8: 1/24 + 23/24/8 of 200 seeds are 32. The seeds are always the
 * same. */
TEST_ON (fixture, large_files_are_read_in_turns_of_the_seed)
{
    int found = 0;
    seal_large (fixture, 24);
    spoil (fixture, 4, "large-07");
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct finding_list list = audit (fixture, 4, AUDIT_SAMPLE, seed);
        assert_int_equal (list.n, audit (fixture, 4, AUDIT_SAMPLE, seed).n);
        found += (int) list.n;
    }
    assert_in_range (found, 17, 60);
    assert_int_equal (audit (fixture, 4, AUDIT_FULL, 0).n, 1);
}

TEST_ON (fixture, a_single_large_file_is_always_read)
{
    struct cache_access access = writer_order (fixture, 4);
    char *bytes = mem_alloc (LARGE_BYTES);
    assert_int_equal (prepare_writer (fixture, &access), 0);
    write_file (fixture->dir, "large", bytes, LARGE_BYTES);
    mem_free (bytes);
    assert_int_equal (cache_seal (&access, &fixture->seal, &fixture->arena, &fixture->err), 0);
    spoil (fixture, 4, "large");
    for (uint64_t seed = 0; seed < 20; seed++)
        assert_int_equal (audit (fixture, 4, AUDIT_SAMPLE, seed).n, 1);
}

TEST_ON (fixture, more_findings_than_are_listed_are_counted)
{
    char name[16];
    seal_lots (fixture, 3);
    fixture_reopen (fixture->dir);
    for (int i = 99; i >= 0; i--) {
        snprintf (name, sizeof name, "late-%02d", i);
        write_file (fixture->dir, name, "x", 1);
    }
    struct finding_list list = audit (fixture, 3, AUDIT_STAT, 0);
    assert_int_equal (list.n, FINDINGS_MAX);
    assert_int_equal (list.n + list.more, 100 + 2 + 1); /* two folders and the top have write rights again */
    assert_text (list.items[0].path, ".");
    for (uint32_t i = 1; i < list.n; i++) {
        snprintf (name, sizeof name, "late-%02u", i - 1);
        assert_text (list.items[i].path, name);
    }
}

TEST_ON (fixture, what_lies_below_something_odd_is_not_called_missing)
{
    char path[200], aside[128], gen[160];
    seal_lots (fixture, 3);
    fixture_reopen (fixture->dir);
    snprintf (path, sizeof path, "%s/xla", fixture_generation (fixture, 3, gen));
    snprintf (aside, sizeof aside, "%s/aside", fixture->base);
    assert_int_equal (rename (path, aside), 0);
    assert_int_equal (symlink (aside, path), 0);
    assert_int_equal (chmod (gen, 0555), 0);
    struct finding_list list = audit (fixture, 3, AUDIT_FULL, 0);
    expect_one (&list, FINDING_CHANGED, "xla", "is a symbolic link");
    assert_int_equal (chmod (gen, 0755), 0);
    assert_int_equal (unlink (path), 0);
    assert_int_equal (chmod (gen, 0555), 0);
    list = audit (fixture, 3, AUDIT_FULL, 0);
    assert_int_equal (list.n, 4); /* two folders, two files */
    for (uint32_t i = 0; i < list.n; i++)
        assert_int_equal (list.items[i].kind, FINDING_MISSING);
}

TEST_ON (fixture, a_name_that_no_record_may_hold_is_listed_in_a_form_that_it_may)
{
    char gen[160];
    seal_lots (fixture, 3);
    assert_int_equal (chmod (fixture->dir, 0755), 0);
    write_file (fixture->dir, "a\033[2J\xff", "x", 1);
    assert_int_equal (chmod (fixture_generation (fixture, 3, gen), 0555), 0);
    struct finding_list list = audit (fixture, 3, AUDIT_STAT, 0);
    expect_one (&list, FINDING_EXTRA, "a\\x1b[2J\\xff", "has a name that a cache does not accept");
}

TEST_ON (fixture, a_generation_that_is_gone_or_something_else_is_a_finding)
{
    char gen[160], aside[128];
    seal_lots (fixture, 3);
    fixture_generation (fixture, 3, gen);
    snprintf (aside, sizeof aside, "%s/aside", fixture->base);
    assert_int_equal (chmod (gen, 0755), 0); /* who is not root moves only what may be written */
    assert_int_equal (rename (gen, aside), 0);
    struct finding_list list = audit (fixture, 3, AUDIT_FULL, 0);
    expect_one (&list, FINDING_MISSING, ".", "there is no gen-3");
    assert_int_equal (symlink (aside, gen), 0);
    list = audit (fixture, 3, AUDIT_FULL, 0);
    expect_one (&list, FINDING_CHANGED, ".", "is not a folder");
    assert_int_equal (unlink (gen), 0);
    assert_int_equal (rename (aside, gen), 0);
    assert_int_equal (chmod (gen, 0555), 0);
    assert_int_equal (audit (fixture, 3, AUDIT_FULL, 0).n, 0);
}

TEST_ON (fixture, that_it_cannot_be_looked_at_is_an_error)
{
    struct finding_list list = { .n = 77 };
    assert_int_equal (audit_generation (text_of (fixture->root), 3, TEXT_LIT ("x"), AUDIT_FULL, 0, &fixture->arena,
                                        &list, &fixture->err),
                      -1);
    says (fixture, "does this host see the shared cache?");
    seal_lots (fixture, 3);
    assert_int_equal (audit_generation (text_of (fixture->root), 3, TEXT_LIT ("x"), AUDIT_FULL, 0, &fixture->arena,
                                        &list, &fixture->err),
                      -1);
    says (fixture, "no valid sha256 is known");
    assert_int_equal (list.n, 77);
}

TEST_ON (fixture, a_witness_may_be_missing_and_may_say_anything)
{
    char gen[160], path[200];
    seal_lots (fixture, 3);
    snprintf (path, sizeof path, "%s/WITNESS", fixture_generation (fixture, 3, gen));
    assert_int_equal (access (path, R_OK), 0);
    assert_int_equal (chmod (path, 0644), 0);
    write_file (gen, "WITNESS", "tried on", 8);
    assert_int_equal (audit (fixture, 3, AUDIT_FULL, 0).n, 0);
    assert_int_equal (chmod (gen, 0755), 0);
    assert_int_equal (unlink (path), 0);
    assert_int_equal (chmod (gen, 0555), 0);
    assert_int_equal (audit (fixture, 3, AUDIT_FULL, 0).n, 0);
    assert_int_equal (prepare_reader (fixture, 3), 0);
    assert_int_equal (chmod (gen, 0755), 0);
    assert_int_equal (mkfifo (path, 0444), 0);
    assert_int_equal (chmod (gen, 0555), 0);
    struct finding_list list = audit (fixture, 3, AUDIT_FULL, 0);
    expect_one (&list, FINDING_CHANGED, "WITNESS", "is not a regular file");
    assert_int_equal (prepare_reader (fixture, 3), -1);
    says (fixture, "\"WITNESS\" is not a regular file");
}

/* ---- what lies there ---- */

static struct generation_stat *stored (struct fixture *fixture, uint32_t *n)
{
    struct generation_stat *list;
    if (audit_list_generations (text_of (fixture->root), &fixture->arena, &list, n, &fixture->err))
        fail_msg ("%s", fixture->err.text);
    return list;
}

TEST_ON (fixture, no_folder_has_no_generations)
{
    uint32_t n = 9;
    assert_null (stored (fixture, &n));
    assert_int_equal (n, 0);
}

TEST_ON (fixture, every_generation_that_lies_there_is_listed_by_token)
{
    static const char *const others[] = { "gen-",  "gen-0", "gen-07", "gen-x", "gen-99999999999999999999",
                                          "Gen-5", "host-a" };
    struct cache_access access = writer_order (fixture, 9);
    char path[200];
    uint32_t n;
    seal_lots (fixture, 8);
    assert_int_equal (prepare_writer (fixture, &access), 0);
    write_file (fixture->dir, "half", "written", 7);
    snprintf (path, sizeof path, "%s/gen-2", fixture->root);
    assert_int_equal (symlink ("gen-8", path), 0);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        snprintf (path, sizeof path, "%s/%s", fixture->root, others[i]);
        assert_int_equal (mkdir (path, 0755), 0);
    }
    const struct generation_stat *list = stored (fixture, &n);
    assert_int_equal (n, 3);
    assert_true (list[0].token == 2 && !list[0].sealed && list[0].entries == 0);
    assert_true (list[1].token == 8 && list[1].sealed && list[1].entries == fixture->seal.entries);
    assert_true (list[1].bytes == fixture->seal.bytes);
    assert_true (list[2].token == 9 && !list[2].sealed && list[2].entries == 1 && list[2].bytes == 7);
}

static struct digest listing_of (struct fixture *fixture)
{
    uint32_t n;
    const struct generation_stat *list = stored (fixture, &n);
    assert_int_equal (n, 1);
    return list[0].listing;
}

static void touch (struct fixture *fixture)
{
    const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
    char path[1200];
    snprintf (path, sizeof path, "%s/half", fixture->dir);
    assert_int_equal (utimensat (AT_FDCWD, path, times, 0), 0);
}

/* What an owner, a backup and a link do to every file: the ctime moves, once the clock of the file system has moved on.
 */
static void hand_over (struct fixture *fixture)
{
    char path[1200], name[1200];
    struct stat before, after;
    snprintf (path, sizeof path, "%s/half", fixture->dir);
    snprintf (name, sizeof name, "%s-linked", fixture->dir);
    assert_int_equal (stat (path, &before), 0);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal (chown (path, before.st_uid, before.st_gid), 0);
        assert_int_equal (link (path, name), 0);
        assert_int_equal (unlink (name), 0);
        assert_int_equal (stat (path, &after), 0);
        if (after.st_ctim.tv_nsec != before.st_ctim.tv_nsec)
            return;
        (void) poll (NULL, 0, 5);
    }
    fail_msg ("the time of %s stands still", path);
}

TEST_ON (fixture, a_listing_stays_when_nobody_writes)
{
    struct cache_access access = writer_order (fixture, 9);
    uint32_t n;
    assert_int_equal (prepare_writer (fixture, &access), 0);
    write_file (fixture->dir, "half", "written", 7);
    const struct generation_stat before = stored (fixture, &n)[0];
    hand_over (fixture);
    const struct generation_stat after = stored (fixture, &n)[0];
    assert_true (digest_equal (&before.listing, &after.listing));
}

static void write_mode (struct fixture *fixture)
{
    char path[1200];
    snprintf (path, sizeof path, "%s/half", fixture->dir);
    assert_int_equal (chmod (path, 0600), 0);
}

static void write_more (struct fixture *fixture)
{
    write_file (fixture->dir, "half", "written on", 10);
}

static void write_other (struct fixture *fixture)
{
    write_file (fixture->dir, "other", "", 0);
}

static void plant_link (struct fixture *fixture)
{
    char path[1200];
    snprintf (path, sizeof path, "%s/link", fixture->dir);
    assert_int_equal (symlink ("/", path), 0);
}

static void take_half (struct fixture *fixture)
{
    char path[1200];
    snprintf (path, sizeof path, "%s/half", fixture->dir);
    assert_int_equal (unlink (path), 0);
}

TEST_ON (fixture, a_listing_changes_with_whatever_is_written)
{
    static void (*const writes[]) (struct fixture *) = { touch,       write_mode, write_more,
                                                         write_other, plant_link, take_half };
    struct cache_access access = writer_order (fixture, 9);
    assert_int_equal (prepare_writer (fixture, &access), 0);
    struct digest before = listing_of (fixture);
    write_file (fixture->dir, "half", "written", 7);
    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
        struct digest after = listing_of (fixture), again = listing_of (fixture);
        assert_false (digest_equal (&before, &after));
        assert_true (digest_equal (&after, &again));
        before = after;
        writes[i](fixture);
        after = listing_of (fixture);
        assert_false (digest_equal (&before, &after));
    }
}
