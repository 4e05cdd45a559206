/* links: cli */
#include "common/io/atomic_file.h"
#include "common/logs/classify.h"
#include "common/wire/wire.h"
#include "coordinator/cli/planning.h"
#include "test.h"

static struct signature signatures[] = {
    { .id = TEXT_LIT ("one"), .text = TEXT_LIT ("one fell"), .owner = OWNER_HOST, .transient = true },
    { .id = TEXT_LIT ("two"), .text = TEXT_LIT ("two fell"), .owner = OWNER_PROGRAM, .next = TEXT_LIT ("look") },
};

struct bench {
    char home[48];
    struct arena arena;
    struct plan plan;
};

static void bench_open (struct bench *bench)
{
    strcpy (bench->home, "/tmp/test_signature_file.XXXXXX");
    assert_non_null (mkdtemp (bench->home));
    bench->plan.home = text_of (bench->home);
    bench->plan.signatures.items = signatures;
    bench->plan.signatures.n = 2;
}

static void bench_close (struct bench *bench)
{
    assert_int_equal (folder_remove (bench->home, NULL), 0);
    arena_release (&bench->arena);
}

TEST_FIXTURE (struct bench, bench_open, bench_close)

static void write_it (struct bench *bench)
{
    assert_int_equal (signature_table_write (&bench->plan, &bench->arena, NULL), 0);
}

/* The file is the record, and has the sha256 that the plan says. */
static void reads_back (struct bench *bench)
{
    struct signature_table table = { 0 };
    struct digest is, wanted;
    struct buf bytes;
    buf_init (&bytes, KIT_FILE_MAX_BYTES);
    assert_int_equal (file_read (bench->plan.signature_table.path.ptr, &bytes, NULL), 0);
    is = digest_of (bytes.ptr, bytes.len);
    assert_true (digest_parse (bench->plan.signature_table.sha256, &wanted) && digest_equal (&is, &wanted));
    assert_int_equal (wire_get_record (buf_as_text (&bytes), &signature_table_record, &table, &bench->arena, NULL), 0);
    assert_int_equal (table.signatures.n, 2);
    for (uint32_t i = 0; i < 2; i++)
        assert_true (record_equal (&signature_record, &table.signatures.items[i], &signatures[i]));
    buf_release (&bytes);
}

TEST_ON (b, a_plan_names_its_table_by_what_it_holds)
{
    write_it (b);
    reads_back (b);
    assert_true (text_starts (b->plan.signature_table.path, text_format (&b->arena, "%s/signatures/", b->home).ptr));
    assert_true (record_check (&plan_record, &b->plan, NULL));
}

TEST_ON (b, equal_lists_share_one_file)
{
    struct stat before, after;
    write_it (b);
    assert_int_equal (stat (b->plan.signature_table.path.ptr, &before), 0);
    write_it (b);
    assert_int_equal (stat (b->plan.signature_table.path.ptr, &after), 0);
    assert_int_equal (before.st_ino, after.st_ino);
    struct text first = b->plan.signature_table.path;
    b->plan.signatures.n = 1;
    write_it (b);
    assert_false (text_equal (first, b->plan.signature_table.path));
}

TEST_ON (b, a_damaged_file_is_written_anew)
{
    write_it (b);
    assert_int_equal (atomic_file_write (b->plan.signature_table.path.ptr, "junk", 4, 0600, NULL), 0);
    write_it (b);
    reads_back (b);
}

TEST_ON (b, no_lists_need_no_file)
{
    b->plan.signatures.n = 0;
    write_it (b);
    assert_true (!b->plan.signature_table.path.len && !b->plan.signature_table.sha256.len);
    assert_true (access (text_format (&b->arena, "%s/signatures", b->home).ptr, F_OK) < 0);
}

TEST_ON (b, what_cannot_be_written_is_not_named)
{
    struct text at = text_format (&b->arena, "%s/signatures", b->home);
    assert_int_equal (atomic_file_write (at.ptr, "a file", 6, 0600, NULL), 0);
    assert_int_equal (signature_table_write (&b->plan, &b->arena, &t->err), -1);
    assert_has (t->err.text, "/signatures");
    assert_int_equal (b->plan.signature_table.path.len, 0);
}

/* As runs had them before conditions, noise and memory were known. */
TEST_ON (b, an_older_table_is_read)
{
    static const struct field old_fields[] = {
        F_TEXT (1, struct signature, id, ID_MAX_BYTES),    F_TEXT (2, struct signature, text, NAME_MAX_BYTES),
        F_ENUM (3, struct signature, owner, &owner_names), F_BOOL (4, struct signature, peer),
        F_BOOL (5, struct signature, transient),           F_TEXT (6, struct signature, next, SENTENCE_MAX_BYTES),
    };
    static const struct record old_record = RECORD ("signature", struct signature, old_fields);
    static const struct field old_table[] = { F_LIST (1, struct signature_table, signatures, SIGNATURES_MAX,
                                                      &old_record) };
    static const struct record old_table_record = RECORD ("signature table", struct signature_table, old_table);
    struct signature_table table = { 0 }, old = { .signatures = { signatures, 2 } };
    struct cause_decision decision;
    struct signature_scan_result seen;
    struct buf bytes;
    buf_init (&bytes, KIT_FILE_MAX_BYTES);
    wire_put_record (&bytes, &old_table_record, &old);
    assert_int_equal (wire_get_record (buf_as_text (&bytes), &signature_table_record, &table, &b->arena, NULL), 0);
    struct signature_set *set = signature_set_build (table.signatures.items, table.signatures.n);
    classify_text (set, TEXT_LIT ("and one fell\n"), &b->arena, &seen);
    cause_decide (set, &seen, &decision);
    assert_true (text_is (decision.id, "one") && decision.transient && decision.weight == CAUSE_OWN);
    signature_set_free (set);
    buf_release (&bytes);
}
