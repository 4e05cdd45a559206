/* links: view */
/* Drift against an earlier receipt, and what is printed: no host's word leaves its place, damaged baselines are
 * refused. */
#include "coordinator/view/drift_view.h"
#include "coordinator/view/receipt_text.h"
#include "test.h"

enum { HOSTS = 4 };

struct slice {
    struct slice_receipt receipt;
    struct run_header header;
};

static void make (struct slice *slice, const char *prefix, struct arena *arena)
{
    *slice = (struct slice){ .header = { .run = TEXT_LIT ("run"), .slice = TEXT_LIT ("s") } };
    slice->receipt.headers.items = &slice->header;
    slice->receipt.headers.n = 1;
    slice->receipt.hosts.items = arena_array (arena, HOSTS, sizeof (struct host_receipt));
    slice->receipt.hosts.n = HOSTS;
    for (uint32_t i = 0; i < HOSTS; i++) {
        struct host_receipt *host = &slice->receipt.hosts.items[i];
        struct var facts[] = { { TEXT_LIT ("boot_id"), text_format (arena, "boot %u", i) },
                               { TEXT_LIT ("kernel"), TEXT_LIT ("6.1") } };
        struct rung_receipt rung = { .rung = TEXT_LIT ("dense"),
                                     .pass = PASS_ONCE,
                                     .attempt = 1,
                                     .outcome = OUTCOME_PASSED,
                                     .duration_ms = 10000 + i };
        *host =
            (struct host_receipt){ .run = TEXT_LIT ("run"), .host = text_format (arena, "%s%u", prefix, i), .rank = i };
        host->facts.items = arena_copy (arena, facts, sizeof (facts));
        host->facts.n = 2;
        host->policy.observed.items = arena_copy (arena, &(struct var){ TEXT_LIT ("XLA_FLAGS"), TEXT_LIT ("--a --b") },
                                                  sizeof (struct var));
        host->policy.observed.n = 1;
        *(struct rung_receipt **) list_append (&host->rungs, sizeof (void *), arena) = arena_copy (arena, &rung,
                                                                                                   sizeof rung);
    }
}

static const struct drift_query plain;
static const struct drift_sentence_limits whole;

static const char *first_against (const struct slice *now, const struct slice *before, struct drift *drift,
                                  struct arena *arena)
{
    struct buf out;
    buf_init (&out, 1 << 20);
    drift_compare_receipts (&now->receipt, &before->receipt, &plain, arena, drift);
    drift_sentence_summary (drift, &whole, &out);
    const char *line = text_copy (arena, buf_as_text (&out)).ptr;
    buf_release (&out);
    return line;
}

TEST (who_is_named_is_not_normal)
{
    struct slice slice;
    struct drift drift;
    struct buf *out = test_buf (t);
    make (&slice, "h", &t->arena);
    slice.receipt.hosts.items[1].rungs.items[0]->duration_ms = 250000;
    drift_compare_hosts (&slice.receipt, &plain, &t->arena, &drift);
    drift_print (&drift, &(struct drift_subject){ .policy = "default" }, false, &(struct style){ .unicode = true },
                 out);
    assert_has (out, "h1: rung dense 25 × the median (4 min 10 s, 10 s of 3)\n");
    assert_has (out, "normal: h[0,2-3] (3 hosts)\n");
}

/* ---- against ---- */

TEST (nothing_changes_against_itself)
{
    struct slice a;
    struct drift drift;
    make (&a, "h", &t->arena);
    first_against (&a, &a, &drift, &t->arena);
    assert_int_equal (drift.n, 0);
    assert_false (drift_is_incomplete (&drift));
}

/* It compares as well as the others, and was lost for a while. */
TEST (a_survived_silence_stands_beside_the_comparison)
{
    struct slice slice;
    struct drift drift;
    struct recovery_receipt silence[20];
    struct buf *out = test_buf (t);
    make (&slice, "h", &t->arena);
    for (uint32_t i = 0; i < 20; i++)
        silence[i] = (struct recovery_receipt){ .what = TEXT_LIT ("h1 came back after 26 s of silence") };
    slice.receipt.recoveries.items = silence;
    slice.receipt.recoveries.n = 20;
    drift_compare_hosts (&slice.receipt, &plain, &t->arena, &drift);
    drift_print (&drift, &(struct drift_subject){ .policy = "default" }, false, &(struct style){ 0 }, out);
    assert_has (out, "history: h1 came back after 26 s of silence\n");
    assert_has (out, "history: 12 more; the receipt has them\n");
    uint32_t lines = 0;
    for (struct text rest = buf_as_text (out); rest.len;)
        lines += text_starts (text_take_until (&rest, '\n'), "history: ");
    assert_int_equal (lines, 9);
}

TEST (what_changed_is_folded_over_hosts)
{
    struct slice now, before;
    struct drift drift;
    make (&now, "h", &t->arena);
    make (&before, "h", &t->arena);
    for (uint32_t i = 0; i < HOSTS; i++) {
        now.receipt.hosts.items[i].facts.items[0].value = TEXT_LIT ("booted again"); /* expected */
        now.receipt.hosts.items[i].facts.items[1].value = i == 2 ? TEXT_LIT ("6.3") : TEXT_LIT ("6.2");
    }
    first_against (&now, &before, &drift, &t->arena);
    assert_int_equal (drift.findings, 1);
    assert_int_equal (drift.expected, 1);
    assert_int_equal (drift.items[0].groups_n, 2);
    assert_true (text_is (drift.items[0].groups[0].before, "6.1") && text_is (drift.items[0].groups[0].value, "6.2"));
    assert_int_equal (drift.items[0].groups[0].hosts_n, 3);
}

TEST (what_was_not_heard_did_not_change)
{
    struct slice now, before;
    struct drift drift;
    make (&now, "h", &t->arena);
    make (&before, "h", &t->arena);
    now.receipt.hosts.items[1].facts.items[1].value = TEXT_LIT (FACT_NOT_REPORTED);
    before.receipt.hosts.items[2].facts.items[1].value = TEXT_LIT (FACT_NOT_REPORTED);
    first_against (&now, &before, &drift, &t->arena);
    assert_int_equal (drift.findings, 0);
}

TEST (flags_that_changed_are_told_as_words)
{
    struct slice now, before;
    struct drift drift;
    make (&now, "h", &t->arena);
    make (&before, "h", &t->arena);
    now.receipt.hosts.items[1].policy.observed.items[0].value = TEXT_LIT ("--b --a");
    first_against (&now, &before, &drift, &t->arena);
    assert_int_equal (drift.findings, 0);
    now.receipt.hosts.items[1].policy.observed.items[0].value = TEXT_LIT ("--b --c");
    assert_string_equal (first_against (&now, &before, &drift, &t->arena),
                         "h1: policy XLA_FLAGS lacks --a and has --c, unlike before");
}

TEST (what_is_new_and_what_is_gone_are_told)
{
    struct slice now, before;
    struct drift drift;
    make (&now, "h", &t->arena);
    make (&before, "h", &t->arena);
    now.receipt.hosts.items[0].facts.n = 1;
    assert_string_equal (first_against (&now, &before, &drift, &t->arena), "h0: fact kernel was 6.1, is gone");
    assert_string_equal (first_against (&before, &now, &drift, &t->arena), "h0: fact kernel is new: 6.1");
}

TEST (a_slower_rung_is_told_with_its_ratio)
{
    struct slice now, before;
    struct drift drift;
    make (&now, "h", &t->arena);
    make (&before, "h", &t->arena);
    for (uint32_t i = 0; i < HOSTS; i++)
        now.receipt.hosts.items[i].rungs.items[0]->duration_ms = 14000; /* not half as much again */
    first_against (&now, &before, &drift, &t->arena);
    assert_int_equal (drift.findings, 0);
    for (uint32_t i = 0; i < HOSTS; i++)
        now.receipt.hosts.items[i].rungs.items[0]->duration_ms = 41000;
    assert_string_equal (first_against (&now, &before, &drift, &t->arena),
                         "h[0-3]: rung dense took 41 s, before 10 s (4.10 times)");
}

TEST (hosts_of_one_side_only_are_not_compared)
{
    struct slice now, before;
    struct drift drift;
    make (&now, "h", &t->arena);
    make (&before, "h", &t->arena);
    now.receipt.hosts.n = 3;
    before.receipt.hosts.items[0].policy.observed.n = 0;
    before.receipt.hosts.items[1].host = TEXT_LIT ("x");
    first_against (&now, &before, &drift, &t->arena);
    assert_int_equal (drift.findings, 0);
    assert_int_equal (drift.only_now_n, 1);
    assert_int_equal (drift.only_before_n, 2);
    assert_int_equal (drift.silences_n, 1); /* h0's policy is known now only */
    assert_true (drift_is_incomplete (&drift));
}

TEST (slices_without_a_common_host_are_compared_by_their_majorities)
{
    struct slice now, before;
    struct drift drift;
    make (&now, "h", &t->arena);
    make (&before, "old", &t->arena);
    for (uint32_t i = 1; i < HOSTS; i++)
        now.receipt.hosts.items[i].facts.items[1].value = TEXT_LIT ("6.2");
    assert_string_equal (first_against (&now, &before, &drift, &t->arena), "h1: fact kernel was 6.1, is 6.2");
    assert_true (drift.by_group);
    assert_int_equal (drift.reference_n, 3);
}

/* ---- baselines ---- */

static int read_back (struct buf *file, struct slice_receipt *out, struct arena *arena, struct err *err)
{
    return drift_baseline_read (buf_as_text (file), out, arena, err);
}

TEST (a_baseline_comes_back_as_it_went)
{
    struct slice a, back = { 0 };
    struct drift drift;
    struct buf file, again;
    make (&a, "h", &t->arena);
    buf_init (&file, 1 << 20);
    buf_init (&again, 1 << 20);
    drift_baseline_print (&a.receipt, &file);
    if (read_back (&file, &back.receipt, &t->arena, &t->err) < 0)
        fail_msg ("%s", t->err.text);
    first_against (&a, &back, &drift, &t->arena);
    assert_int_equal (drift.n, 0);
    assert_int_equal (drift.only_now_n + drift.only_before_n, 0);
    drift_baseline_print (&back.receipt, &again);
    assert_int_equal (file.len, again.len);
    assert_memory_equal (file.ptr, again.ptr, file.len);
    buf_clear (&file); /* and a receipt will do */
    receipt_json (&a.receipt, &(const struct drift_query){ 0 }, &file);
    assert_int_equal (read_back (&file, &back.receipt, &t->arena, &t->err), 0);
    buf_release (&file);
    buf_release (&again);
}

TEST (every_damage_of_a_baseline_is_refused)
{
    struct slice a;
    struct buf file, damaged;
    struct slice_receipt out;
    make (&a, "h", &t->arena);
    buf_init (&file, 1 << 20);
    buf_init (&damaged, 1 << 20);
    drift_baseline_print (&a.receipt, &file);
    for (size_t at = 0; at < file.len; at += 7) {
        buf_clear (&damaged);
        buf_add (&damaged, file.ptr, file.len);
        if (damaged.ptr[at] == ' ' || damaged.ptr[at] == '\n') /* no part of what it says */
            continue;
        damaged.ptr[at] ^= 1;
        if (read_back (&damaged, &out, &t->arena, &t->err) == 0)
            fail_msg ("byte %zu may be '%c' instead of '%c'", at, damaged.ptr[at], file.ptr[at]);
    }
    for (size_t len = 0; len + 2 < file.len; len += 13) {
        buf_clear (&damaged);
        buf_add (&damaged, file.ptr, len);
        assert_int_equal (read_back (&damaged, &out, &t->arena, &t->err), -1);
    }
    buf_clear (&damaged);
    buf_puts (&damaged, "{\"schema\": \"sliceup.drift-baseline/3\", \"sha256\": \"\", \"receipt\": {}}");
    assert_int_equal (read_back (&damaged, &out, &t->arena, &t->err), -1);
    assert_has (t->err.text, "another version");
    buf_release (&file);
    buf_release (&damaged);
}

/* ---- what is printed ---- */

static const char hostile[] = "6\x1b[31m|<b>\n`x` https://e";

static void print_hostile (uint32_t columns, struct buf *text, struct buf *markdown, struct buf *json,
                           struct arena *arena)
{
    struct drift_subject subject = { .name = TEXT_LIT ("run x"), .slice = TEXT_LIT ("s"), .policy = "default" };
    struct style style = { .columns = columns };
    struct slice a;
    struct drift drift;
    make (&a, "h", arena);
    a.receipt.hosts.items[2].facts.items[1].value = TEXT_LIT ("6\x1b[31m|<b>\n`x` https://e");
    a.receipt.hosts.items[3].policy.observed.items[0].value = TEXT_LIT (
        "--a --b --xla_a_flag_with_a_name_longer_than_a_value_may_be=1 --xla_another_flag_with_a_long_name=2 "
        "--xla_a_third_one_that_is_long=3");
    drift_compare_hosts (&a.receipt, &plain, arena, &drift);
    drift_print (&drift, &subject, true, &style, text);
    drift_print (&drift, &subject, true, NULL, markdown);
    drift_json (&drift, &subject, json);
}

static int count_of (const char *text, const char *word)
{
    int n = 0;
    for (; (text = strstr (text, word)); text++)
        n++;
    return n;
}

TEST (nothing_a_host_said_leaves_its_place)
{
    struct buf text, markdown, json;
    json_error_t where;
    buf_init (&text, 1 << 20);
    buf_init (&markdown, 1 << 20);
    buf_init (&json, 1 << 20);
    print_hostile (0, &text, &markdown, &json, &t->arena);
    assert_null (strchr (buf_c (&text), 0x1b));
    assert_null (strchr (buf_c (&markdown), 0x1b));
    assert_has ((char *) markdown.ptr, "`` 6\\x1b[31m\\|<b>\\x0a`x` https://e ``"); /* as code, and there only */
    assert_int_equal (count_of ((char *) markdown.ptr, "<b>"), count_of ((char *) markdown.ptr, "\\|<b>\\x0a`x`"));
    for (char *line = strtok ((char *) markdown.ptr, "\n"); line; line = strtok (NULL, "\n")) {
        uint32_t cells = 0;
        for (const char *c = line; *c; c++)
            cells += *c == '|' && (c == line || c[-1] != '\\');
        assert_true (line[0] != '|' || cells == 6);
    }
    json_t *read = json_loads (buf_c (&json), 0, &where);
    assert_non_null (read);
    const json_t *finding = json_array_get (json_object_get (read, "findings"), 1);
    assert_string_equal (
        json_string_value (json_object_get (json_array_get (json_object_get (finding, "groups"), 1), "value")),
        hostile);
    json_decref (read);
    buf_release (&text);
    buf_release (&markdown);
    buf_release (&json);
}

TEST (no_line_of_the_text_is_wider_than_120)
{
    struct buf text, markdown, json;
    buf_init (&text, 1 << 20);
    buf_init (&markdown, 1 << 20);
    buf_init (&json, 1 << 20);
    print_hostile (200, &text, &markdown, &json, &t->arena);
    uint32_t lines = 0;
    for (char *line = strtok (buf_c (&text), "\n"); line; line = strtok (NULL, "\n"), lines++)
        assert_true (text_columns (text_of (line)) <= DRIFT_TEXT_COLUMNS);
    assert_true (lines > 3);
    buf_clear (&text);
    print_hostile (0, &text, &markdown, &json, &t->arena); /* of what is piped nothing is cut */
    assert_non_null (
        strstr (buf_c (&text),
                "has --xla_a_flag_with_a_name_longer_than_a_value_may_be=1 --xla_another_flag_with_a_long_name=2 "
                "--xla_a_third_one_that_is_long=3, unlike 3 others"));
    buf_release (&text);
    buf_release (&markdown);
    buf_release (&json);
}

/* Two long values that differ at their ends. */
TEST (long_values_are_shown_where_they_part)
{
    static const struct drift_sentence_limits narrow = { .value_bytes = 40 };
    struct slice a;
    struct drift drift;
    struct buf *out = test_buf (t);
    char value[512];
    make (&a, "h", &t->arena);
    memset (value, 'x', sizeof (value));
    memcpy (value + 500, "old", 4);
    for (uint32_t i = 0; i < HOSTS; i++)
        a.receipt.hosts.items[i].facts.items[1].value = text_copy (&t->arena, text_of (value));
    memcpy (value + 500, "new", 4);
    a.receipt.hosts.items[1].facts.items[1].value = text_of (value);
    drift_compare_hosts (&a.receipt, &plain, &t->arena, &drift);
    drift_sentence_summary (&drift, &narrow, out);
    assert_string_equal (buf_c (out), "h1: fact kernel is ...xxxxxxxxxxxxnew, 3 others have ...xxxxxxxxxxxxold");
}
