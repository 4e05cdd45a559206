/* links: attempt */
/* What an task does with a cache, in the words of its answer. */
#include "cache_fixture.h"
#include "test.h"

#include "worker/attempt/attempt_state.h"
#include "worker/attempt/task.h"

struct place {
    struct fixture *fixture;
    struct task_context at;
    char directory[96];
    struct task_answer answer;
};

static struct place place_of (struct fixture *fixture)
{
    struct place place = { .fixture = fixture };
    snprintf (place.directory, sizeof place.directory, "%s/worker", fixture->base);
    if (mkdir (place.directory, 0700))
        assert_int_equal (errno, EEXIST);
    return place;
}

static int prepare_order (struct place *place, const struct cache_access *access)
{
    place->at = (struct task_context){ .directory = place->directory, .host = TEXT_LIT ("h1") };
    place->answer = (struct task_answer){ 0 };
    return cache_task_prepare (&place->at, access, &place->fixture->arena, &place->answer);
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

TEST_ON (fixture, every_role_finds_its_cache_under_one_path)
{
    struct place place = place_of (fixture);
    struct cache_access access = writer_order (fixture, 2);
    char gen[160], own[160];
    assert_int_equal (prepare_order (&place, &access), 0);
    expect_link (&place, fixture_generation (fixture, 2, gen));
    assert_int_equal (place.answer.cache.storage.len, 16);
    struct text storage = place.answer.cache.storage;
    seal_lots (fixture, 3);
    access = reader_order (fixture, 3);
    assert_int_equal (prepare_order (&place, &access), 0);
    expect_link (&place, fixture_generation (fixture, 3, gen));
    assert_text (place.answer.cache_state, "verified");
    assert_text (place.answer.cache.storage, storage);
    access = (struct cache_access){ .role = CACHE_ROLE_OWN, .frontend_root = text_of (fixture->root) };
    assert_int_equal (prepare_order (&place, &access), 0);
    snprintf (own, sizeof own, "%s/host-h1", fixture->root);
    expect_link (&place, own);
    assert_int_equal (place.answer.cache_state.len, 0);
}

TEST_ON (fixture, a_link_that_an_older_worker_left_is_not_written_through)
{
    struct place place = place_of (fixture);
    struct cache_access access;
    char path[128], gen[160];
    seal_lots (fixture, 3);
    fixture_reopen (fixture->dir);
    snprintf (path, sizeof path, "%s/cache", place.directory);
    assert_int_equal (symlink (fixture->dir, path), 0);
    access = writer_order (fixture, 4);
    assert_int_equal (prepare_order (&place, &access), 0);
    expect_link (&place, fixture_generation (fixture, 4, gen));
    assert_false (exists (fixture_generation (fixture, 3, gen), "generation"));
}

TEST_ON (fixture, a_reader_without_a_mark_on_the_storage_is_told_none)
{
    struct place place = place_of (fixture);
    struct cache_access access = reader_order (fixture, 0);
    assert_int_equal (prepare_order (&place, &access), 0);
    assert_int_equal (place.answer.cache.storage.len, 0);
    assert_false (exists (fixture->base, "cache"));
}

static int refusals (struct place *place, const struct cache_access *access, int tries)
{
    int refused = 0;
    for (int i = 0; i < tries; i++)
        refused += prepare_order (place, access) != 0;
    return refused;
}

/* After the first time large entries are read in turns: of 60 looks neither all nor none sees one of 12. */
TEST_ON (fixture, every_byte_is_read_the_first_time_only)
{
    struct place place = place_of (fixture);
    char path[128];
    seal_large (fixture, 12);
    struct cache_access access = reader_order (fixture, 4), other = access;
    assert_false (verified_contains (place.directory, &access));
    assert_int_equal (prepare_order (&place, &access), 0);
    assert_true (verified_contains (place.directory, &access));
    other.token = 5;
    assert_false (verified_contains (place.directory, &other));
    spoil (fixture, 4, "large-05");
    int refused = refusals (&place, &access, 60);
    assert_true (refused > 0 && refused < 60);
    snprintf (path, sizeof path, "%s/verified", place.directory);
    assert_int_equal (unlink (path), 0);
    assert_int_equal (refusals (&place, &access, 5), 5);
    assert_false (verified_contains (place.directory, &access));
}

TEST_ON (fixture, what_was_verified_is_remembered_for_the_newest)
{
    struct place place = place_of (fixture);
    struct cache_access access = reader_order (fixture, 1);
    access.sha256 = TEXT_LIT ("9f86");
    for (uint64_t token = 1; token <= 100; token++) {
        access.token = token;
        assert_int_equal (verified_note (place.directory, &access, &fixture->err), 0);
    }
    for (uint64_t token = 1; token <= 100; token++) {
        access.token = token;
        assert_int_equal (verified_contains (place.directory, &access), token > 36);
    }
    write_file (place.directory, "verified", "nonsense", 8);
    assert_false (verified_contains (place.directory, &access));
    assert_int_equal (verified_note (place.directory, &access, &fixture->err), 0);
    assert_true (verified_contains (place.directory, &access));
}

TEST_ON (fixture, a_refused_generation_is_answered_with_all_that_is_wrong)
{
    struct place place = place_of (fixture);
    seal_lots (fixture, 3);
    spoil (fixture, 3, "empty");
    spoil (fixture, 3, "xla/kernel cache.bin");
    struct cache_access access = reader_order (fixture, 3);
    assert_int_equal (prepare_order (&place, &access), -1);
    assert_int_equal (place.answer.owner, OWNER_CACHE);
    assert_text (place.answer.problem, place.answer.cache_state);
    assert_int_equal (place.answer.findings.n, 2);
    assert_text (place.answer.findings.items[0].path, "empty");
    assert_text (place.answer.findings.items[1].path, "xla/kernel cache.bin");
    assert_int_equal (place.answer.cache.storage.len, 0); /* this root never had a mark */
}

/* What is wrong with what a writer was to begin from is as much a violation as what a reader finds. */
TEST_ON (fixture, a_base_that_was_changed_is_answered_with_all_that_is_wrong)
{
    struct place place = place_of (fixture);
    seal_lots (fixture, 3);
    spoil (fixture, 3, "empty");
    struct cache_access given = reader_order (fixture, 3), access = given;
    access.role = CACHE_ROLE_WRITER;
    access.token = 4;
    access.base = 3;
    access.base_sha256 = given.sha256;
    access.sha256 = (struct text){ 0 };
    assert_int_equal (prepare_order (&place, &access), -1);
    assert_int_equal (place.answer.findings.n, 1);
    assert_int_equal (place.answer.findings.items[0].token, 3);
    assert_text (place.answer.findings.items[0].path, "empty");
}

TEST_ON (fixture, a_copy_that_its_program_changed_is_answered_with_all_that_is_wrong)
{
    struct place place = place_of (fixture);
    struct task_answer answer = { 0 };
    seal_lots (fixture, 3);
    struct cache_access given = reader_order (fixture, 3), access = given;
    access.role = CACHE_ROLE_WRITER;
    access.token = 4;
    access.base = 3;
    access.base_sha256 = given.sha256;
    assert_int_equal (prepare_order (&place, &access), 0);
    write_file (fixture_generation (fixture, 4, (char[160]){ 0 }), "empty", "full", 4);
    write_file (fixture_generation (fixture, 4, (char[160]){ 0 }), "xla/kernel cache.bin", "short", 5);
    cache_task_seal (&access, &fixture->arena, &answer);
    assert_false (answer.done);
    assert_int_equal (answer.seal.token, 0);
    assert_int_equal (answer.owner, OWNER_CACHE);
    assert_int_equal (answer.findings.n, 2);
    assert_int_equal (answer.findings.items[1].token, 4);
    assert_text (answer.findings.items[1].path, "xla/kernel cache.bin");
}

TEST_ON (fixture, what_a_result_has_no_room_for_is_counted)
{
    static struct finding findings[FINDINGS_MAX];
    static char path[NAME_MAX_BYTES];
    struct attempt attempt = { 0 };
    memset (path, 'x', sizeof path);
    for (int i = 0; i < FINDINGS_MAX; i++)
        findings[i] = (struct finding){ FINDING_CHANGED, 4, { path, sizeof path }, TEXT_LIT ("has other bytes") };
    attempt_add_findings (&attempt, findings, FINDINGS_MAX);
    const struct result *result = attempt_result (&attempt);
    assert_true (result->findings.n > 10 && result->findings.n < FINDINGS_MAX);
    assert_int_equal (result->notes.n, 1);
    struct text left = text_format (&attempt.arena, "%u findings about the cache were not kept",
                                    FINDINGS_MAX - result->findings.n);
    assert_text (result->notes.items[0].text, left);
    arena_release (&attempt.arena);
}

TEST_ON (fixture, an_audit_answers_with_findings_or_with_why_it_could_not_look)
{
    struct task_answer answer = { 0 };
    seal_lots (fixture, 3);
    struct cache_access access = reader_order (fixture, 3);
    cache_task_audit (&access, &fixture->arena, &answer);
    assert_true (answer.done && answer.findings.n == 0);
    fixture_reopen (fixture->dir);
    for (int i = 0; i < 40; i++) {
        char name[16];
        snprintf (name, sizeof name, "late-%02d", i);
        write_file (fixture->dir, name, "x", 1);
    }
    answer = (struct task_answer){ 0 };
    cache_task_audit (&access, &fixture->arena, &answer);
    assert_true (answer.done && answer.findings.n == FINDINGS_MAX);
    struct text first = answer.findings.items[0].detail;
    assert_has (first, "and 11 more differences");
    answer = (struct task_answer){ 0 };
    access.frontend_root = TEXT_LIT ("/no/such/root");
    cache_task_audit (&access, &fixture->arena, &answer);
    assert_true (!answer.done && answer.owner == OWNER_CACHE && answer.problem.len);
}

TEST (only_readers_of_something_published_are_audited)
{
    struct msg_run run = { .rung.kind = PROGRAM_CANARY, .cache = { .role = CACHE_ROLE_READER, .token = 3 } };
    assert_true (task_audit_is_needed (&run));
    run.cache.token = 0;
    assert_false (task_audit_is_needed (&run));
    run.cache.token = 3;
    run.cache.role = CACHE_ROLE_WRITER;
    assert_false (task_audit_is_needed (&run));
    run.cache.role = CACHE_ROLE_READER;
    run.rung.kind = PROGRAM_BUILTIN;
    assert_false (task_audit_is_needed (&run));
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
static void expect_refused (struct place *place, const struct cache_access *access, const char *what)
{
    assert_int_equal (prepare_order (place, access), -1);
    struct text problem = place->answer.problem;
    if (!strstr (problem.ptr, what) || !strstr (problem.ptr, "uid 61002") ||
        !strstr (problem.ptr, "cache: {trust: [...]}"))
        fail_msg ("%.*s", TEXT_ARG (problem));
    assert_int_equal (place->answer.findings.n, 0);
}

TEST_ON (fixture, what_somebody_else_owns_is_neither_read_nor_built_upon)
{
    struct place place = place_of (fixture);
    char gen[160];
    uint32_t mallory = MALLORY;
    if (geteuid () != 0) {
        print_message ("not run: folders of other users are made by root\n");
        return;
    }
    seal_lots (fixture, 1);
    struct cache_access reader = reader_order (fixture, 1), writer = writer_order (fixture, 2);
    struct cache_access own = { .role = CACHE_ROLE_OWN, .frontend_root = text_of (fixture->root) };
    writer.base = 1;
    writer.base_sha256 = fixture->seal.sha256;
    give (fixture_generation (fixture, 1, gen), MALLORY);
    expect_refused (&place, &reader, "cache generation ");
    expect_refused (&place, &writer, "cache generation ");
    struct task_answer audit = { 0 };
    cache_task_audit (&reader, &fixture->arena, &audit);
    assert_false (audit.done);
    assert_has (audit.problem.ptr, "uid 61002");
    reader.trust = writer.trust = (uid_list){ &mallory, 1 };
    assert_int_equal (prepare_order (&place, &reader), 0);
    give (gen, 0);
    assert_int_equal (chown (fixture->root, MALLORY, MALLORY), 0);
    assert_int_equal (prepare_order (&place, &reader), 0);
    reader.trust.n = 0;
    expect_refused (&place, &reader, "cache folder ");
    expect_refused (&place, &own, "cache folder ");
    assert_int_equal (chown (fixture->root, 0, 0), 0);
    assert_int_equal (prepare_order (&place, &reader), 0);
}

/* A mount that has one mode for all files: it was sealed with that mode, and is as it was sealed. */
TEST_ON (fixture, what_others_may_write_on_its_mount_is_refused)
{
    struct place place = place_of (fixture);
    struct buf *manifest = test_buf (t);
    char gen[160], path[400], hex[DIGEST_HEX_BYTES];
    seal_lots (fixture, 1);
    struct cache_access reader = reader_order (fixture, 1);
    fixture_generation (fixture, 1, gen);
    snprintf (path, sizeof path, "%s/MANIFEST", gen);
    assert_int_equal (file_read (path, manifest, NULL), 0);
    char *mode = strstr (buf_c (manifest), "0444 empty");
    assert_non_null (mode);
    memcpy (mode, "0666", 4);
    struct digest digest = digest_of (manifest->ptr, manifest->len);
    reader.sha256 = text_of (digest_hex (&digest, hex));
    assert_int_equal (chmod (gen, 0755), 0);
    assert_int_equal (atomic_file_write (path, manifest->ptr, manifest->len, 0444, NULL), 0);
    snprintf (path, sizeof path, "%s/empty", gen);
    assert_int_equal (chmod (path, 0666), 0);
    assert_int_equal (chmod (gen, 0555), 0);
    assert_int_equal (prepare_order (&place, &reader), -1);
    assert_has (place.answer.problem.ptr, "\"empty\" has mode 0666 on this mount");
    assert_int_equal (place.answer.findings.n, 0);
}
