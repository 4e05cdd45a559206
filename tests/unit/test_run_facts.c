/* links: journal */
/* What a journal holds at an index is a fact of this run, with this index, and the first is run-opened. */

#include "common/wire/wire.h"
#include "coordinator/journal/run_dir.h"
#include "test.h"

static const char run_id[] = "0123456789abcdef0123456789abcdef";

static void decodes (const struct fact *fact, uint64_t index, const char *problem)
{
    struct arena arena = { 0 };
    struct fact back;
    struct err err = { 0 };
    struct buf bytes;
    buf_init (&bytes, FACT_MAX_BYTES);
    wire_put_fact (&bytes, fact);
    int rc = run_facts_decode (run_id, index, buf_as_text (&bytes), &arena, &back, &err);
    assert_int_equal (rc, problem ? -1 : 0);
    assert_int_equal (err.code, problem ? ERR_DAMAGE : 0);
    if (problem && !strstr (err.text, problem))
        fail_msg ("%s", err.text);
    buf_release (&bytes);
    arena_release (&arena);
}

TEST (each_fact_has_its_place)
{
    struct fact opened = { .kind = FACT_RUN_OPENED, .index = 1, .of.run_opened.run = text_of (run_id) };
    struct fact epoch = { .kind = FACT_EPOCH_BEGAN, .index = 2, .of.epoch_began.epoch = 1 };
    decodes (&opened, 1, NULL);
    decodes (&epoch, 2, NULL);
    decodes (&epoch, 3, "is damaged at fact 3: it says that it is fact 2");
    epoch.index = 1;
    decodes (&epoch, 1, "is damaged at fact 1: a journal begins with run-opened");
    opened.index = 2;
    decodes (&opened, 2, "is damaged at fact 2: a journal begins with run-opened, and has it once");
    opened.index = 1;
    struct fact told = { .kind = FACT_LOSS_TOLD, .index = 2, .of.loss_told.why = TEXT_LIT ("host h1 knows fact 9") };
    decodes (&told, 2, NULL); /* one host's word: it is warned of */
    told.of.loss_told.believed = true;
    decodes (&told, 2, "lacks facts that were acknowledged: host h1 knows fact 9");
    opened.of.run_opened.run = TEXT_LIT ("ffffffffffffffffffffffffffffffff");
    decodes (&opened, 1, "belongs to run ffffffff");
}

/* What `fn` says on standard error. */
static void heard (void (*fn) (void), char *out, size_t size)
{
    FILE *file = tmpfile ();
    assert_non_null (file);
    int kept = dup (STDERR_FILENO);
    assert_true (kept >= 0 && dup2 (fileno (file), STDERR_FILENO) >= 0);
    fn ();
    fflush (stderr);
    assert_true (dup2 (kept, STDERR_FILENO) >= 0);
    close (kept);
    rewind (file);
    out[fread (out, 1, size - 1, file)] = '\0';
    fclose (file);
}

static void claims_of (uint32_t hosts)
{
    static const struct text whys[] = { TEXT_LIT ("host h0 knows fact 9"), TEXT_LIT ("host h1 knows fact 8") };
    struct fact opened = { .kind = FACT_RUN_OPENED, .index = 1, .of.run_opened.run = text_of (run_id) };
    decodes (&opened, 1, NULL);
    for (uint32_t i = 0; i < 2 * hosts; i++) /* each says it again to the next coordinator */
        decodes (&(struct fact){ .kind = FACT_LOSS_TOLD,
                                 .index = 2 + i,
                                 .of.loss_told = { .host = i % hosts, .why = whys[i % hosts] } },
                 2 + i, NULL);
    run_facts_warn (run_id);
}

static void one_claims (void)
{
    claims_of (1);
    claims_of (1); /* some commands read twice */
}

static void two_claim (void)
{
    claims_of (2);
    run_facts_warn (run_id);
}

TEST (each_host_that_contradicts_the_record_is_named_once)
{
    char said[2048];
    heard (one_claims, said, sizeof said);
    assert_string_equal (said, "sliceup: warning: run 01234567: 1 host contradicts the record, and no other host "
                               "confirms it: host h0 knows fact 9\n");
    heard (two_claim, said, sizeof said);
    assert_string_equal (said, "sliceup: warning: run 01234567: 2 hosts contradict the record, and they are not more "
                               "than the others: host h0 knows fact 9; host h1 knows fact 8\n");
}

TEST (what_is_no_fact_is_told_why)
{
    struct fact back;
    assert_int_equal (run_facts_decode (run_id, 5, TEXT_LIT ("no fact"), &t->arena, &back, &t->err), -1);
    assert_int_equal (t->err.code, ERR_DAMAGE);
    assert_has (t->err.text, "is damaged at fact 5: ");
    assert_has_not (t->err.text, "fact 5: ;"); /* a reason stands there */
}
