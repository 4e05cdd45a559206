/* links: view */
/* Receipts that are there: the laws of merging, JSON there and back, the rules of their drift. */
#include "coordinator/story/frontier.h"
#include "coordinator/view/receipt_text.h"
#include "receipt_fixture.h"
#include "test.h"
#include "tests/wire/generate.h"

enum { ROUNDS = 200 };

static void random_receipt (uint64_t seed, struct slice_receipt *out, struct arena *arena)
{
    struct generator generator = { .mode = GENERATE_SPARSE, .rng = rng_seed (seed), .arena = arena };
    memset (out, 0, sizeof (*out));
    generate_record (&generator, &slice_receipt_record, out);
    for (uint32_t i = 0; i < out->hosts.n; i++) { /* few names, so that merging meets the same host often */
        out->hosts.items[i].host = text_format (arena, "h%u", (unsigned) rng_below (&generator.rng, 4));
        out->hosts.items[i].run = TEXT_LIT ("run");
    }
    for (uint32_t i = 0; i < out->headers.n; i++)
        for (uint32_t k = 0; k < out->headers.items[i].hosts.n; k++)
            out->headers.items[i].hosts.items[k] = text_format (arena, "h%u", k);
    merge_normalise (out);
}

TEST (merging_is_commutative_associative_and_idempotent)
{
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct arena arena = { 0 };
        struct slice_receipt a, b, c, ab, ba, bc, left, right, aa;
        random_receipt (3 * seed, &a, &arena);
        random_receipt (3 * seed + 1, &b, &arena);
        random_receipt (3 * seed + 2, &c, &arena);
        merge_receipts (&a, &b, &arena, &ab);
        merge_receipts (&b, &a, &arena, &ba);
        assert_true (same (&ab, &ba));
        merge_receipts (&b, &c, &arena, &bc);
        merge_receipts (&ab, &c, &arena, &left);
        merge_receipts (&a, &bc, &arena, &right);
        assert_true (same (&left, &right));
        merge_receipts (&a, &a, &arena, &aa);
        assert_true (same (&a, &aa));
        assert_int_equal (ab.hosts.n <= a.hosts.n + b.hosts.n, 1);
        arena_release (&arena);
    }
}

static struct host_receipt one_host (const char *name, const char *kernel, struct arena *arena)
{
    struct host_receipt host = { .run = TEXT_LIT ("run"), .host = text_copy (arena, text_of (name)) };
    host.facts.items = arena_array (arena, 2, sizeof (struct var));
    host.facts.items[0] = (struct var){ TEXT_LIT ("kernel.release"), text_of (kernel) };
    host.facts.items[1] = (struct var){ TEXT_LIT ("hostname"), host.host };
    host.facts.n = 2;
    return host;
}

TEST (contradicting_receipts_of_one_host_both_stay)
{
    struct host_receipt x = one_host ("h0", "6.1", &t->arena), y = one_host ("h0", "6.2", &t->arena);
    struct slice_receipt a = { 0 }, b = { 0 }, both;
    a.hosts.items = &x;
    b.hosts.items = &y;
    a.hosts.n = b.hosts.n = 1;
    merge_receipts (&a, &b, &t->arena, &both);
    assert_int_equal (both.hosts.n, 2);
    assert_true (merge_host_has_conflict (&both, 0) && merge_host_has_conflict (&both, 1));
    struct buf *text = test_buf (t);
    receipt_text (&both, &(const struct drift_query){ 0 }, text);
    const char *told = strstr (buf_c (text), "conflict h0 has several receipts");
    assert_true (told && !strstr (told + 1, "conflict ")); /* once */
    merge_receipts (&a, &a, &t->arena, &both);
    assert_int_equal (both.hosts.n, 1);
    assert_false (merge_host_has_conflict (&both, 0));
}

/* As a file may have it. */
TEST (an_attempt_that_stands_there_twice_names_its_host_once)
{
    struct host_receipt host = one_host ("h0", "6.1", &t->arena);
    struct rung_receipt one = { .rung = TEXT_LIT ("one"), .pass = PASS_ONCE, .attempt = 1, .duration_ms = 5 },
                        same = one;
    struct slice_receipt receipt = { 0 };
    struct receipt_line *lines;
    host.rungs.items = (struct rung_receipt *[]){ &one, &same };
    host.rungs.n = 2;
    receipt.hosts.items = &host;
    receipt.hosts.n = 1;
    assert_int_equal (receipt_lines_of_rung (&receipt, host.run, TEXT_LIT ("one"), &lines, &t->arena), 1);
    assert_true (lines[0].hosts_n == 1 && lines[0].most_ms == 5);
    assert_int_equal (receipt_lines_of_rung (&receipt, TEXT_LIT ("other"), TEXT_LIT ("one"), &lines, &t->arena), 0);
}

TEST (the_drift_of_a_receipt_goes_by_the_rules_it_is_given)
{
    struct host_receipt hosts[3] = { one_host ("h0", "6.1", &t->arena), one_host ("h1", "6.1", &t->arena),
                                     one_host ("h2", "6.2", &t->arena) };
    const struct drift_rule ignored = { .fact = TEXT_LIT ("fact kernel.*"), .kind = DRIFT_IGNORED };
    struct slice_receipt receipt = { 0 };
    struct buf json, text;
    buf_init (&json, 1 << 20);
    buf_init (&text, 1 << 20);
    receipt.hosts.items = hosts;
    receipt.hosts.n = 3;
    receipt_json (&receipt, &(const struct drift_query){ 0 }, &json);
    receipt_text (&receipt, &(const struct drift_query){ 0 }, &text);
    assert_has (&json, "\"fact kernel.release\"");
    assert_has (&json, "\"expected\""); /* their names */
    assert_has (&text, "h2: fact kernel.release is 6.2, 2 others have 6.1");
    buf_clear (&json);
    buf_clear (&text);
    receipt_json (&receipt, &(const struct drift_query){ .rules = &ignored, .rules_n = 1 }, &json);
    receipt_text (&receipt, &(const struct drift_query){ .rules = &ignored, .rules_n = 1 }, &text);
    assert_has_not (&json, "\"fact kernel.release\"");
    assert_has_not (&text, "kernel.release is");
    buf_release (&json);
    buf_release (&text);
}

/* JSON cannot hold infinities or a name twice in one object, so what is compared was through it once. */
TEST (json_comes_back_as_it_went)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct arena arena = { 0 };
        struct slice_receipt random, receipt, back;
        struct buf first, json, again;
        buf_init (&first, 64 << 20);
        buf_init (&json, 64 << 20);
        buf_init (&again, 64 << 20);
        random_receipt (seed, &random, &arena);
        receipt_json (&random, &(const struct drift_query){ 0 }, &first);
        read_back (&first, &receipt, &arena);
        receipt_json (&receipt, &(const struct drift_query){ 0 }, &json);
        read_back (&json, &back, &arena);
        receipt_json (&back, &(const struct drift_query){ 0 }, &again);
        assert_int_equal (receipt.hosts.n, random.hosts.n);
        assert_int_equal (json.len, again.len);
        assert_memory_equal (json.ptr, again.ptr, json.len);
        buf_release (&first);
        buf_release (&json);
        buf_release (&again);
        arena_release (&arena);
    }
}

/* Every name that there may be is some host's: those that look like the end of a string, of the list, or its begin. */
TEST (hosts_that_are_written_one_by_one_stand_as_in_one_tree)
{
    static const char *const names[] = {
        "h0",     "", "\"]}", "\n \"hosts\": [", "\\", "\x1b[2J\n\r\t\x07", "\xe2\x80\xae", "\xe6\x97\xa5\xe6\x9c\xac",
        "},\n  {"
    };
    enum { NAMES = sizeof names / sizeof names[0] };
    for (uint64_t seed = 0; seed <= 50; seed++) {
        struct arena arena = { 0 };
        struct slice_receipt receipt = { 0 };
        struct buf json;
        buf_init (&json, 64 << 20);
        if (seed) /* and one without anything */
            random_receipt (seed, &receipt, &arena);
        for (uint32_t i = 0; i < receipt.hosts.n; i++)
            receipt.hosts.items[i].host = text_of (names[(seed + i) % NAMES]);
        for (uint32_t i = 0; i < receipt.headers.n; i++)
            receipt.headers.items[i].slice = receipt.headers.items[i].sentence = text_of (names[(seed + i) % NAMES]);
        receipt_json (&receipt, &(const struct drift_query){ 0 }, &json);
        json_t *tree = parse_as_one_tree (&json), *hosts = json_object_get (tree, "hosts");
        assert_int_equal (json_array_size (hosts), receipt.hosts.n);
        for (uint32_t i = 0; i < receipt.hosts.n; i++) {
            const char *name = json_string_value (json_object_get (json_array_get (hosts, i), "host"));
            assert_string_equal (name ? name : "", names[(seed + i) % NAMES]); /* no name: null */
        }
        json_decref (tree);
        buf_release (&json);
        arena_release (&arena);
    }
}

TEST (what_is_not_a_receipt_is_refused_with_its_place)
{
    static const struct {
        const char *json, *words;
    } cases[] = {
        { "", "" },
        { "{", "line" },
        { "{}", "not a receipt" },
        { "{\"schema\":\"sliceup.receipt/3\"}", "not a receipt" },
        { "{\"schema\":\"sliceup.receipt/2\",\"hosts\":[{\"host\":7}]}", "hosts: [0]: host: expected a string" },
        { "{\"schema\":\"sliceup.receipt/2\",\"hosts\":[{\"hst\":\"x\"}]}", "hst: unknown member" },
        { "{\"schema\":\"sliceup.receipt/2\",\"hosts\":[{\"host\":\"a\\u001b]52;c\"}]}", "names a host 'a\\x1b]52;c'" },
        { "{\"schema\":\"sliceup.receipt/2\",\"headers\":[{\"hosts\":[\"a b\"]}]}", "names a host 'a b'" },
        { "{\"schema\":\"sliceup.receipt/2\",\"times\":[{\"attempt\":-1}]}",
          "times: [0]: attempt: expected an integer" },
        { "{\"schema\":\"sliceup.receipt/2\",\"times\":[{\"pass\":\"warm\"}]}", "pass: expected null or a known word" },
    };
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        struct arena arena = { 0 };
        struct slice_receipt receipt;
        struct err err = { 0 };
        assert_int_equal (receipt_from_json (text_of (cases[i].json), &receipt, &arena, &err), -1);
        if (strstr (err.text, cases[i].words) == NULL)
            fail_msg ("case %zu: %s", i, err.text);
        arena_release (&arena);
    }
}
