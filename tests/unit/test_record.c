/* links: model */
#include "fact_copy.h"
#include "test.h"
#include "tests/wire/generate.h"

/* Every table of the model, reached from the bodies of messages and facts. */
enum { TABLES_MAX = 128 };
static const struct record *tables[TABLES_MAX];
static uint32_t tables_n;

static void collect (const struct record *record)
{
    if (!record)
        return;
    for (uint32_t i = 0; i < tables_n; i++)
        if (tables[i] == record)
            return;
    assert_true (tables_n < TABLES_MAX);
    tables[tables_n++] = record;
    for (uint32_t i = 0; i < record->fields_n; i++)
        collect (record->fields[i].of);
}

static int collect_all (void **state)
{
    (void) state;
    for (enum msg_kind kind = next_msg_kind (0); kind; kind = next_msg_kind (kind))
        collect (msg_record_of_kind (kind));
    for (enum fact_kind kind = next_fact_kind (0); kind; kind = next_fact_kind (kind))
        collect (fact_record_of_kind (kind));
    return 0;
}

static void check_field (const struct record *record, uint32_t i)
{
    const struct field *field = &record->fields[i];
    enum field_kind kind = field->kind == FIELD_LIST ? field->item : field->kind;

    assert_true (field->key > (i ? field[-1].key : 0));
    assert_true (i == 0 || field->offset != field[-1].offset);
    assert_true (field->offset < record->bytes);
    assert_true ((kind == FIELD_RECORD) == (field->of != NULL));
    assert_true ((kind == FIELD_ENUM) == (field->names != NULL));
    assert_true (kind == FIELD_RECORD || kind == FIELD_ENUM || kind == FIELD_F64 || field->max > 0);
    assert_true (field->kind != FIELD_LIST || (field->max > 0 && field->max <= HOSTS_MAX));
    assert_true (field->kind != FIELD_LIST || field->item != FIELD_TEXT || field->item_max > 0);
    for (uint32_t j = 0; j < i; j++)
        assert_string_not_equal (field->name, record->fields[j].name);
}

TEST (every_table_is_well_formed)
{
    assert_true (tables_n > 30);
    for (uint32_t table = 0; table < tables_n; table++) {
        assert_true (tables[table]->fields_n > 0 && tables[table]->fields_n <= 64);
        for (uint32_t i = 0; i < tables[table]->fields_n; i++)
            check_field (tables[table], i);
    }
}

/* A member without a row would be lost on the wire. Alignment leaves gaps below eight bytes, so small members at such a
 * place are not seen here. */
static size_t field_bytes (const struct field *field)
{
    switch (field->kind) {
    case FIELD_BOOL: return sizeof (bool);
    case FIELD_U32:
    case FIELD_ENUM: return sizeof (uint32_t);
    case FIELD_TEXT:
    case FIELD_BYTES: return sizeof (struct text);
    case FIELD_LIST: return sizeof (struct any_list);
    case FIELD_RECORD: return field->of->bytes;
    default: return 8;
    }
}

TEST (every_member_has_a_row)
{
    for (uint32_t table = 0; table < tables_n; table++) {
        unsigned char *covered = calloc (1, tables[table]->bytes);
        size_t gap = 0;
        for (uint32_t i = 0; i < tables[table]->fields_n; i++)
            memset (covered + tables[table]->fields[i].offset, 1, field_bytes (&tables[table]->fields[i]));
        if (tables[table]->encoded_at)
            memset (covered + tables[table]->encoded_at, 1, sizeof (struct text));
        for (size_t i = 0; i < tables[table]->bytes; i++) {
            gap = covered[i] ? 0 : gap + 1;
            if (gap >= 8)
                fail_msg ("table %s: no row for the member that ends at byte %zu", tables[table]->name, i);
        }
        free (covered);
    }
}

static void *generated (const struct record *record, enum generate_mode mode, uint64_t seed, struct arena *arena)
{
    struct generator g = generator_of (mode, seed, arena);
    void *value = arena_alloc (arena, record->bytes);
    generate_record (&g, record, value);
    return value;
}

TEST (a_copy_stays_when_the_original_goes)
{
    for (uint32_t table = 0; table < tables_n; table++) {
        struct arena original = { 0 }, kept = { 0 }, again = { 0 };
        void *value = generated (tables[table], GENERATE_FULL, table, &original);
        void *copy = malloc (tables[table]->bytes);
        record_copy (tables[table], copy, value, &kept);
        assert_true (record_equal (tables[table], copy, value));
        arena_release (&original); /* what the copy still points at there, the sanitizer reports below */
        value = generated (tables[table], GENERATE_FULL, table, &again);
        assert_true (record_equal (tables[table], copy, value));
        free (copy);
        arena_release (&kept);
        arena_release (&again);
    }
}

TEST (a_value_copies_onto_itself)
{
    struct result *result = generated (&result_record, GENERATE_FULL, 5, &t->arena);
    struct result *same = generated (&result_record, GENERATE_FULL, 5, &t->arena);
    const void *before = result->metrics.items;
    record_copy (&result_record, result, result, &t->arena);
    assert_true (record_equal (&result_record, result, same));
    assert_ptr_not_equal (result->metrics.items, before);
}

TEST (each_field_counts_in_comparison)
{
    for (uint32_t table = 0; table < tables_n; table++) {
        const struct record *record = tables[table];
        for (uint32_t i = 0; i < record->fields_n; i++) {
            struct arena arena = { 0 };
            struct generator g = generator_of (GENERATE_FULL, table * 100 + i, &arena);
            void *empty = arena_alloc (&arena, record->bytes), *one = arena_alloc (&arena, record->bytes);
            generate_field (&g, &record->fields[i], (char *) one + record->fields[i].offset);
            assert_true (record_is_empty (record, empty));
            assert_false (record_is_empty (record, one));
            assert_false (record_equal (record, empty, one));
            assert_true (record_compare (record, one, one) == 0);
            assert_true (record_compare (record, empty, one) == -record_compare (record, one, empty));
            arena_release (&arena);
        }
    }
}

static int by_order (const void *a, const void *b)
{
    return record_compare (&metric_record, a, b);
}

TEST (comparison_is_a_total_order)
{
    enum { N = 200 };
    struct generator g = generator_of (GENERATE_SPARSE, 11, &t->arena);
    struct metric *metrics = arena_array (&t->arena, N, sizeof *metrics);
    for (uint32_t i = 0; i < N; i++) {
        generate_record (&g, &metric_record, &metrics[i]);
        if (rng_below (&g.rng, 4) == 0 && i > 0)
            metrics[i] = metrics[i - 1];
    }
    qsort (metrics, N, sizeof *metrics, by_order);
    for (uint32_t i = 0; i < N; i++)
        for (uint32_t j = 0; j < N; j++) {
            int order = by_order (&metrics[i], &metrics[j]);
            assert_true (i < j ? order <= 0 : i > j ? order >= 0 : order == 0);
            assert_true (order == -by_order (&metrics[j], &metrics[i]));
        }
}

TEST (keys_decide_before_later_fields_and_items_before_length)
{
    struct fact_pass_began a = { .why = TEXT_LIT ("x") }, b = { .key.rung = 1 };
    const struct record *record = fact_record_of_kind (FACT_PASS_BEGAN);
    assert_true (record_compare (record, &a, &b) < 0);
    uint32_t one_nine[] = { 1, 9 }, two[] = { 2 }, one[] = { 1 };
    a.key.rung = 1;
    a.hosts.items = one_nine;
    a.hosts.n = 2;
    b.hosts.items = two;
    b.hosts.n = 1;
    assert_true (record_compare (record, &a, &b) < 0);
    b.hosts.items = one;
    assert_true (record_compare (record, &a, &b) > 0);
}

TEST (numbers_that_are_written_alike_are_equal)
{
    struct value_check a = { .expected = NAN }, b = { .expected = -NAN };
    assert_true (record_equal (&check_record, &a, &b));
    a.expected = INFINITY;
    assert_true (record_compare (&check_record, &a, &b) < 0);
    a.expected = -0.0;
    b.expected = 0.0;
    assert_true (record_equal (&check_record, &a, &b));
    assert_true (record_is_empty (&check_record, &a));
}

TEST (what_is_generated_is_within_bounds)
{
    for (uint32_t table = 0; table < tables_n; table++)
        for (uint64_t seed = 0; seed < 30; seed++) {
            struct arena arena = { 0 };
            struct buf why;
            buf_init (&why, 512);
            if (!record_check (tables[table], generated (tables[table], (enum generate_mode) (seed % 3), seed, &arena),
                               &why))
                fail_msg ("%s", buf_c (&why));
            buf_release (&why);
            arena_release (&arena);
        }
}

/* Puts the smallest value beyond the field's bound there; false: the type itself cannot hold one. */
static bool break_bound (const struct field *field, void *at, struct arena *arena)
{
    switch (field->kind) {
    case FIELD_U32: *(uint32_t *) at = (uint32_t) field->max + 1; return field->max < UINT32_MAX;
    case FIELD_U64: *(uint64_t *) at = field->max + 1; return field->max < UINT64_MAX;
    case FIELD_ENUM: *(uint32_t *) at = field->names->n; return true;
    case FIELD_TEXT:
    case FIELD_BYTES: {
        char *bytes = arena_alloc (arena, field->max + 1);
        memset (bytes, 'x', field->max + 1);
        *(struct text *) at = (struct text){ .ptr = bytes, .len = (uint32_t) field->max + 1 };
        return true;
    }
    case FIELD_LIST:
        *(struct any_list *) at = (struct any_list){
            .items = arena_array (arena, field->max + 1, field_item_bytes (field)), .n = (uint32_t) field->max + 1
        };
        return true;
    default: return false;
    }
}

static void assert_refused (const struct record *record, const void *value, const struct field *field)
{
    struct buf why;
    buf_init (&why, 512);
    if (record_check (record, value, &why))
        fail_msg ("%s.%s: a value beyond the bound passes", record->name, field->name);
    assert_has (&why, field->name);
    assert_false (record_check (record, value, NULL));
    buf_release (&why);
}

TEST (one_more_than_the_bound_is_refused_by_name)
{
    uint32_t refused = 0;
    for (uint32_t table = 0; table < tables_n; table++)
        for (uint32_t i = 0; i < tables[table]->fields_n; i++) {
            struct arena arena = { 0 };
            void *value = generated (tables[table], GENERATE_FULL, i, &arena);
            const struct field *field = &tables[table]->fields[i];
            if (break_bound (field, (char *) value + field->offset, &arena)) {
                assert_refused (tables[table], value, field);
                refused++;
            }
            arena_release (&arena);
        }
    assert_true (refused > 150);
}

TEST (items_of_lists_are_checked)
{
    struct buf why;
    buf_init (&why, 512);
    struct result *result = generated (&result_record, GENERATE_EDGE, 1, &t->arena);
    struct text long_name = TEXT_LIT ("an axis name that is longer than it may be");
    result->metrics.items[2].axes.items[1] = long_name;
    assert_false (record_check (&result_record, result, &why));
    assert_string_equal (buf_c (&why), "result.metrics[2].axes[1]: the length in bytes is 42, expected at most 31");
    buf_release (&why);
}

TEST (texts_are_utf8_without_nul_and_bytes_are_anything)
{
    static const struct text bad[] = {
        { "a\0b", 3 }, { "\xff", 1 }, { "\xc0\xaf", 2 }, { "\xed\xa0\x80", 3 }, { "\xe6\xbc", 2 },
    };
    for (uint32_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct buf why;
        buf_init (&why, 512);
        struct result_note note = { .text = bad[i] };
        assert_false (record_check (&note_record, &note, &why));
        assert_string_equal (buf_c (&why), "note.text: the text has a NUL or is not UTF-8");
        buf_release (&why);
        struct msg_log log = { .bytes = bad[i] };
        assert_true (record_check (msg_record_of_kind (MSG_LOG), &log, NULL));
    }
}

static const struct {
    const struct enum_names *names;
    const char *words;
} vocabulary[] = {
    { &launcher_names, "none local join ssh slurm" },
    { &program_kind_names, "none builtin canary command" },
    { &scope_names, "none host slice" },
    { &warm_names, "none solo gang aot" },
    { &pass_names, "none once cold restored" },
    { &cache_mode_names, "none off single-writer per-host read-only warm-only" },
    { &ending_names, "none exited signalled timeout cancelled orphaned not-started lost lease-lost terminated" },
    { &reduction_names, "none sum mean" },
    { &durability_names, "none stable rerun recheck" },
    { &attempt_state_names, "none running at-gate stopping ended" },
    { &gate_mode_names, "none share agree" },
    { &cache_role_names, "none reader writer own" },
    { &enforcement_names, "none cooperative landlock namespace namespace+landlock storage" },
    { &key_state_names, "none hit written missed unreadable below-threshold unwritten" },
    { &finding_kind_names,
      "none extra missing changed foreign-token late-write not-same-storage write-attempt level-low unseen" },
    { &proof_names, "none proved local partial wrong-axis double-counted mean-of-means disagree unproved" },
};

TEST (enums_have_the_words_of_the_receipt)
{
    for (uint32_t i = 0; i < sizeof vocabulary / sizeof vocabulary[0]; i++) {
        struct buf words;
        uint32_t value = 77;
        buf_init (&words, 512);
        for (uint32_t j = 0; j < vocabulary[i].names->n; j++)
            buf_printf (&words, "%s%s", j ? " " : "", enum_name_of (vocabulary[i].names, j));
        assert_string_equal (buf_c (&words), vocabulary[i].words);
        assert_string_equal (enum_name_of (vocabulary[i].names, vocabulary[i].names->n), "?");
        assert_false (enum_value_of (vocabulary[i].names, TEXT_LIT ("none"), &value));
        assert_int_equal (value, 77);
        buf_release (&words);
    }
    uint32_t value = 0;
    assert_true (enum_value_of (&proof_names, TEXT_LIT ("wrong-axis"), &value));
    assert_int_equal (value, PROOF_WRONG_AXIS);
    assert_int_equal (proof_names.n, PROOF_UNPROVED + 1);
    assert_int_equal (ending_names.n, ENDING_TERMINATED + 1);
}

TEST (kinds_have_bodies_names_and_directions)
{
    uint32_t messages = 0, facts = 0;
    for (enum msg_kind kind = next_msg_kind (0); kind; kind = next_msg_kind (kind), messages++) {
        assert_string_not_equal (msg_name (kind), "?");
        assert_true (msg_is_from_worker (kind) == (kind <= MSG_FETCH));
        assert_true ((msg_record_of_kind (kind) == NULL) == (kind == MSG_REHELLO));
        assert_true (!msg_record_of_kind (kind) || msg_record_of_kind (kind)->bytes <= sizeof ((struct msg *) 0)->of);
    }
    for (enum fact_kind kind = next_fact_kind (0); kind; kind = next_fact_kind (kind), facts++) {
        assert_string_not_equal (fact_name (kind), "?");
        assert_true (fact_is_soft (kind) == (kind >= FACT_HOST_REPORTED));
        assert_true (fact_record_of_kind (kind)->bytes <= sizeof ((struct fact *) 0)->of);
    }
    assert_int_equal (messages, 17);
    assert_int_equal (facts, 34);
    static const uint32_t unknown[] = { 0, 31, 50, 63, 69, 1000, UINT32_MAX };
    for (uint32_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        assert_null (msg_record_of_kind ((enum msg_kind) unknown[i]));
        assert_false (msg_is_known ((enum msg_kind) unknown[i]) || msg_is_from_worker ((enum msg_kind) unknown[i]));
        assert_string_equal (msg_name ((enum msg_kind) unknown[i]), "?");
        assert_null (fact_record_of_kind ((enum fact_kind) unknown[i]));
        assert_string_equal (fact_name ((enum fact_kind) unknown[i]), "?");
    }
}

TEST (facts_copy_with_their_head)
{
    for (enum fact_kind kind = next_fact_kind (0); kind; kind = next_fact_kind (kind)) {
        struct arena original = { 0 }, kept = { 0 };
        struct generator g = generator_of (GENERATE_FULL, kind, &original);
        struct fact fact, copy, again;
        generate_fact (&g, kind, &fact);
        fact_copy (&copy, &fact, &kept);
        arena_release (&original);
        g = generator_of (GENERATE_FULL, kind, &original);
        generate_fact (&g, kind, &again);
        assert_true (copy.kind == kind && copy.index == again.index && copy.at_ms == again.at_ms &&
                     copy.wall_ms == again.wall_ms);
        assert_true (record_equal (fact_record_of_kind (kind), &copy.of, &again.of));
        arena_release (&original);
        arena_release (&kept);
    }
}

TEST (plans_find_hosts_and_rungs)
{
    struct plan_host hosts[] = { { .name = TEXT_LIT ("v6e0") }, { .name = TEXT_LIT ("v6e1") } };
    struct rung rungs[] = { { .id = TEXT_LIT ("tiny") }, { .id = TEXT_LIT ("dense") } };
    struct plan plan = { .hosts = { hosts, 2 }, .rungs = { rungs, 2 } };
    assert_int_equal (plan_host_rank (&plan, TEXT_LIT ("v6e1")), 1);
    assert_int_equal (plan_host_rank (&plan, TEXT_LIT ("v6e")), -1);
    assert_int_equal (plan_rung_index (&plan, TEXT_LIT ("tiny")), 0);
    assert_int_equal (plan_rung_index (&plan, TEXT_LIT ("")), -1);
}

TEST (results_find_counters_and_attempts_their_keys)
{
    struct named_number counters[] = { { TEXT_LIT ("hits"), 0 }, { TEXT_LIT ("requests"), 7 } };
    struct result result = { .counters = { counters, 2 } };
    uint64_t value = 99;
    assert_false (result_counter (&result, "misses", &value));
    assert_int_equal (value, 99);
    assert_true (result_counter (&result, "hits", &value));
    assert_int_equal (value, 0);
    assert_true (result_counter (&result, "requests", &value));
    assert_int_equal (value, 7);
    struct attempt_key key = { 1, PASS_COLD, 2 };
    static const struct attempt_key others[] = { { 2, PASS_COLD, 2 }, { 1, PASS_ONCE, 2 }, { 1, PASS_COLD, 3 } };
    assert_true (attempt_key_equal (&key, &(struct attempt_key){ 1, PASS_COLD, 2 }));
    for (uint32_t i = 0; i < 3; i++)
        assert_false (attempt_key_equal (&key, &others[i]));
}

TEST_GROUP (collect_all, NULL)
