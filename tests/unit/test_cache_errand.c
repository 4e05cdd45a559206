/* links: attempt */
/* What an errand does with a cache, in the words of its answer. */
#include "cache_fixture.h"

#include "worker/attempt/cache_errand.h"
#include "worker/attempt/verified.h"

enum { LARGE_BYTES = 1024 * 1024, LARGE = 12 };

struct place { struct yard *yard; struct errand_place at; char directory[96]; struct errand_answer answer; };

static struct place place_of (struct yard *yard)
{
    struct place place = { .yard = yard };
    snprintf (place.directory, sizeof place.directory, "%s/worker", yard->base);
    if (mkdir (place.directory, 0700))
        assert_int_equal (errno, EEXIST);
    return place;
}

static int prepare_order (struct place *place, const struct cache_order *order)
{
    place->at = (struct errand_place) { .directory = place->directory, .host = TEXT_LIT ("h1") };
    place->answer = (struct errand_answer) { 0 };
    return cache_errand_prepare (&place->at, order, &place->yard->arena, &place->answer);
}

static void expect_link (const struct place *place, const char *wanted)
{
    char path[128], target[1200];
    struct stat st;
    snprintf (path, sizeof path, "%s/cache", place->directory);
    assert_int_equal (lstat (path, &st), 0);
    assert_true (S_ISDIR (st.st_mode));
    snprintf (path, sizeof path, "%s/cache/generation", place->directory);
    ssize_t len = readlink (path, target, sizeof target - 1);
    assert_true (len > 0);
    target[len] = '\0';
    assert_string_equal (target, wanted);
}

static void spoil (struct yard *yard, uint64_t token, const char *path)
{
    char name[400], gen[160];
    snprintf (name, sizeof name, "%s/%s", yard_generation (yard, token, gen), path);
    assert_int_equal (chmod (name, 0644), 0);
    int fd = open (name, O_WRONLY | O_CLOEXEC);
    assert_true (fd >= 0);
    assert_int_equal (pwrite (fd, "#", 1, 3), 1);
    assert_int_equal (fchmod (fd, 0444), 0);
    close (fd);
}

static void every_role_finds_its_cache_under_one_path (void **state)
{
    struct yard *yard = *state;
    struct place place = place_of (yard);
    struct cache_order order = writer_order (yard, 2);
    char gen[160], own[160];
    assert_int_equal (prepare_order (&place, &order), 0);
    expect_link (&place, yard_generation (yard, 2, gen));
    assert_int_equal (place.answer.cache.storage.len, 16);
    struct text storage = place.answer.cache.storage;
    seal_lots (yard, 3);
    order = reader_order (yard, 3);
    assert_int_equal (prepare_order (&place, &order), 0);
    expect_link (&place, yard_generation (yard, 3, gen));
    assert_true (text_is (place.answer.cache_state, "verified"));
    assert_true (text_equal (place.answer.cache.storage, storage));
    order = (struct cache_order) { .role = CACHE_ROLE_OWN, .frontend_root = text_of (yard->root) };
    assert_int_equal (prepare_order (&place, &order), 0);
    snprintf (own, sizeof own, "%s/host-h1", yard->root);
    expect_link (&place, own);
    assert_int_equal (place.answer.cache_state.len, 0);
}

static void a_link_that_an_older_worker_left_is_not_written_through (void **state)
{
    struct yard *yard = *state;
    struct place place = place_of (yard);
    struct cache_order order;
    char path[128], gen[160];
    seal_lots (yard, 3);
    yard_reopen (yard->dir);
    snprintf (path, sizeof path, "%s/cache", place.directory);
    assert_int_equal (symlink (yard->dir, path), 0);
    order = writer_order (yard, 4);
    assert_int_equal (prepare_order (&place, &order), 0);
    expect_link (&place, yard_generation (yard, 4, gen));
    assert_false (exists (yard_generation (yard, 3, gen), "generation"));
}

static void a_reader_without_a_mark_on_the_storage_is_told_none (void **state)
{
    struct yard *yard = *state;
    struct place place = place_of (yard);
    struct cache_order order = reader_order (yard, 0);
    assert_int_equal (prepare_order (&place, &order), 0);
    assert_int_equal (place.answer.cache.storage.len, 0);
    assert_false (exists (yard->base, "cache"));
}

static void seal_large (struct yard *yard)
{
    struct cache_order order = writer_order (yard, 4);
    char *bytes = mem_alloc (LARGE_BYTES), name[16];
    assert_int_equal (prepare_writer (yard, &order), 0);
    for (int i = 0; i < LARGE; i++) {
        snprintf (name, sizeof name, "large-%02d", i);
        write_file (yard->dir, name, bytes, LARGE_BYTES);
    }
    mem_free (bytes);
    assert_int_equal (cache_seal (&order, &yard->seal, &yard->arena, &yard->err), 0);
}

static int refusals (struct place *place, const struct cache_order *order, int tries)
{
    int refused = 0;
    for (int i = 0; i < tries; i++)
        refused += prepare_order (place, order) != 0;
    return refused;
}

/* After the first time large entries are read in turns: of 60 looks neither all nor none sees one of 12. */
static void every_byte_is_read_the_first_time_only (void **state)
{
    struct yard *yard = *state;
    struct place place = place_of (yard);
    char path[128];
    seal_large (yard);
    struct cache_order order = reader_order (yard, 4), other = order;
    assert_false (verified_before (place.directory, &order));
    assert_int_equal (prepare_order (&place, &order), 0);
    assert_true (verified_before (place.directory, &order));
    other.token = 5;
    assert_false (verified_before (place.directory, &other));
    spoil (yard, 4, "large-05");
    int refused = refusals (&place, &order, 60);
    assert_true (refused > 0 && refused < 60);
    snprintf (path, sizeof path, "%s/verified", place.directory);
    assert_int_equal (unlink (path), 0);
    assert_int_equal (refusals (&place, &order, 5), 5);
    assert_false (verified_before (place.directory, &order));
}

static void what_was_verified_is_remembered_for_the_newest (void **state)
{
    struct yard *yard = *state;
    struct place place = place_of (yard);
    struct cache_order order = reader_order (yard, 1);
    order.sha256 = TEXT_LIT ("9f86");
    for (uint64_t token = 1; token <= 100; token++) {
        order.token = token;
        assert_int_equal (verified_note (place.directory, &order, &yard->err), 0);
    }
    for (uint64_t token = 1; token <= 100; token++) {
        order.token = token;
        assert_int_equal (verified_before (place.directory, &order), token > 36);
    }
    write_file (place.directory, "verified", "nonsense", 8);
    assert_false (verified_before (place.directory, &order));
    assert_int_equal (verified_note (place.directory, &order, &yard->err), 0);
    assert_true (verified_before (place.directory, &order));
}

static void a_refused_generation_is_answered_with_all_that_is_wrong (void **state)
{
    struct yard *yard = *state;
    struct place place = place_of (yard);
    seal_lots (yard, 3);
    spoil (yard, 3, "empty");
    spoil (yard, 3, "xla/kernel cache.bin");
    struct cache_order order = reader_order (yard, 3);
    assert_int_equal (prepare_order (&place, &order), -1);
    assert_int_equal (place.answer.layer, LAYER_CACHE);
    assert_true (text_equal (place.answer.problem, place.answer.cache_state));
    assert_int_equal (place.answer.findings.n, 2);
    assert_true (text_is (place.answer.findings.items[0].path, "empty"));
    assert_true (text_is (place.answer.findings.items[1].path, "xla/kernel cache.bin"));
    assert_int_equal (place.answer.cache.storage.len, 0); /* this root never had a mark */
}

/* What is wrong with what a writer was to begin from is as much a violation as what a reader finds. */
static void a_base_that_was_changed_is_answered_with_all_that_is_wrong (void **state)
{
    struct yard *yard = *state;
    struct place place = place_of (yard);
    seal_lots (yard, 3);
    spoil (yard, 3, "empty");
    struct cache_order given = reader_order (yard, 3), order = given;
    order.role = CACHE_ROLE_WRITER;
    order.token = 4;
    order.base = 3;
    order.base_sha256 = given.sha256;
    order.sha256 = (struct text) { 0 };
    assert_int_equal (prepare_order (&place, &order), -1);
    assert_int_equal (place.answer.findings.n, 1);
    assert_int_equal (place.answer.findings.items[0].token, 3);
    assert_true (text_is (place.answer.findings.items[0].path, "empty"));
}

static void an_audit_answers_with_findings_or_with_why_it_could_not_look (void **state)
{
    struct yard *yard = *state;
    struct errand_answer answer = { 0 };
    seal_lots (yard, 3);
    struct cache_order order = reader_order (yard, 3);
    cache_errand_audit (&order, &yard->arena, &answer);
    assert_true (answer.done && answer.findings.n == 0);
    yard_reopen (yard->dir);
    for (int i = 0; i < 40; i++) {
        char name[16];
        snprintf (name, sizeof name, "late-%02d", i);
        write_file (yard->dir, name, "x", 1);
    }
    answer = (struct errand_answer) { 0 };
    cache_errand_audit (&order, &yard->arena, &answer);
    assert_true (answer.done && answer.findings.n == FINDINGS_MAX);
    struct text last = answer.findings.items[FINDINGS_MAX - 1].detail;
    assert_true (text_find (last, TEXT_LIT ("and 11 more differences"), NULL));
    answer = (struct errand_answer) { 0 };
    order.frontend_root = TEXT_LIT ("/no/such/root");
    cache_errand_audit (&order, &yard->arena, &answer);
    assert_true (!answer.done && answer.layer == LAYER_CACHE && answer.problem.len);
}

static void only_readers_of_something_published_are_audited (void **state)
{
    struct msg_run run = { .rung.kind = PROGRAM_CANARY, .cache = { .role = CACHE_ROLE_READER, .token = 3 } };
    (void) state;
    assert_true (errand_audit_is_needed (&run));
    run.cache.token = 0;
    assert_false (errand_audit_is_needed (&run));
    run.cache.token = 3;
    run.cache.role = CACHE_ROLE_WRITER;
    assert_false (errand_audit_is_needed (&run));
    run.cache.role = CACHE_ROLE_READER;
    run.rung.kind = PROGRAM_BUILTIN;
    assert_false (errand_audit_is_needed (&run));
}

/* ---- who owns it ---- */

enum { MALLORY = 61002 };

static void give (const char *path, uid_t uid)
{
    char command[400];
    snprintf (command, sizeof command, "chown -R %u:%u %s", (unsigned) uid, (unsigned) uid, path);
    assert_int_equal (system (command), 0);
}

/* Not damage: nothing of it is quarantined, and it is there when its owner is trusted. */
static void expect_refused (struct place *place, const struct cache_order *order, const char *what)
{
    assert_int_equal (prepare_order (place, order), -1);
    struct text problem = place->answer.problem;
    if (!strstr (problem.ptr, what) || !strstr (problem.ptr, "uid 61002") ||
        !strstr (problem.ptr, "cache: {trust: [...]}"))
        fail_msg ("%.*s", TEXT_ARG (problem));
    assert_int_equal (place->answer.findings.n, 0);
}

static void what_somebody_else_owns_is_neither_read_nor_built_upon (void **state)
{
    struct yard *yard = *state;
    struct place place = place_of (yard);
    char gen[160];
    uint32_t mallory = MALLORY;
    if (geteuid () != 0) {
        print_message ("not run: folders of other users are made by root\n");
        return;
    }
    seal_lots (yard, 1);
    struct cache_order reader = reader_order (yard, 1), writer = writer_order (yard, 2);
    struct cache_order own = { .role = CACHE_ROLE_OWN, .frontend_root = text_of (yard->root) };
    writer.base = 1;
    writer.base_sha256 = yard->seal.sha256;
    give (yard_generation (yard, 1, gen), MALLORY);
    expect_refused (&place, &reader, "cache generation ");
    expect_refused (&place, &writer, "cache generation ");
    struct errand_answer audit = { 0 };
    cache_errand_audit (&reader, &yard->arena, &audit);
    assert_false (audit.done);
    assert_non_null (strstr (audit.problem.ptr, "uid 61002"));
    reader.trust = writer.trust = (uid_list) { &mallory, 1 };
    assert_int_equal (prepare_order (&place, &reader), 0);
    give (gen, 0);
    assert_int_equal (chown (yard->root, MALLORY, MALLORY), 0);
    assert_int_equal (prepare_order (&place, &reader), 0);
    reader.trust.n = 0;
    expect_refused (&place, &reader, "cache folder ");
    expect_refused (&place, &own, "cache folder ");
    assert_int_equal (chown (yard->root, 0, 0), 0);
    assert_int_equal (prepare_order (&place, &reader), 0);
}

/* A mount that has one mode for all files: it was sealed with that mode, and is as it was sealed. */
static void what_others_may_write_on_its_mount_is_refused (void **state)
{
    struct yard *yard = *state;
    struct place place = place_of (yard);
    struct buf manifest;
    char gen[160], path[400], hex[DIGEST_HEX_BYTES];
    seal_lots (yard, 1);
    struct cache_order reader = reader_order (yard, 1);
    buf_init (&manifest, 1 << 16);
    yard_generation (yard, 1, gen);
    snprintf (path, sizeof path, "%s/MANIFEST", gen);
    assert_int_equal (file_read (path, &manifest, NULL), 0);
    char *mode = strstr (buf_c (&manifest), "0444 empty");
    assert_non_null (mode);
    memcpy (mode, "0666", 4);
    struct digest digest = digest_of (manifest.ptr, manifest.len);
    reader.sha256 = text_of (digest_hex (&digest, hex));
    assert_int_equal (chmod (gen, 0755), 0);
    assert_int_equal (atomic_file_write (path, manifest.ptr, manifest.len, 0444, NULL), 0);
    snprintf (path, sizeof path, "%s/empty", gen);
    assert_int_equal (chmod (path, 0666), 0);
    assert_int_equal (chmod (gen, 0555), 0);
    assert_int_equal (prepare_order (&place, &reader), -1);
    if (!strstr (place.answer.problem.ptr, "\"empty\" has mode 0666 on this mount"))
        fail_msg ("%.*s", TEXT_ARG (place.answer.problem));
    assert_int_equal (place.answer.findings.n, 0);
    buf_release (&manifest);
}

#define YARD_TEST(name) cmocka_unit_test_setup_teardown (name, yard_setup, yard_teardown)

int main (void)
{
    const struct CMUnitTest tests[] = {
        YARD_TEST (every_role_finds_its_cache_under_one_path),
        YARD_TEST (a_link_that_an_older_worker_left_is_not_written_through),
        YARD_TEST (a_reader_without_a_mark_on_the_storage_is_told_none),
        YARD_TEST (every_byte_is_read_the_first_time_only),
        YARD_TEST (what_was_verified_is_remembered_for_the_newest),
        YARD_TEST (a_refused_generation_is_answered_with_all_that_is_wrong),
        YARD_TEST (a_base_that_was_changed_is_answered_with_all_that_is_wrong),
        YARD_TEST (an_audit_answers_with_findings_or_with_why_it_could_not_look),
        YARD_TEST (what_somebody_else_owns_is_neither_read_nor_built_upon),
        YARD_TEST (what_others_may_write_on_its_mount_is_refused),
        cmocka_unit_test (only_readers_of_something_published_are_audited),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
