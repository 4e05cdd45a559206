/* links: story */
#include "coordinator/story/drift.h"
#include "coordinator/verdict/recompile_reason.h"
#include "test.h"

/* Keys as jax 0.10.2 told them on the CPU backend of worker/canaries/jax/tiny.py: as it is; with count 11; with
 * XLA_FLAGS=--xla_cpu_enable_fast_math=true; with four devices instead of two. */
#define VAR(n, v)                                                                                                      \
    {                                                                                                                  \
        TEXT_LIT (n), TEXT_LIT (v)                                                                                     \
    }
#define PARTS(computation, flags, options, topology)                                                                   \
    {                                                                                                                  \
        VAR ("computation", computation), VAR ("jaxlib", "40d13e87ba3f"), VAR ("platform version", "3357b7ac532f"),    \
            VAR ("flags", flags), VAR ("compile options", options), VAR ("topology", topology),                        \
            VAR ("compression", "0ea55c28f801"), VAR ("hook", "e3b0c44298fc")                                          \
    }
static struct var plain_parts[] = PARTS ("df5e8e6b3aaf", "e3b0c44298fc", "19ecb688d6b2", "3bbb154ffc50");
static struct var count_parts[] = PARTS ("cc9112697305", "e3b0c44298fc", "19ecb688d6b2", "3bbb154ffc50");
static struct var flag_parts[] = PARTS ("df5e8e6b3aaf", "32d0b3d7aaf0", "284bd419aaa5", "3bbb154ffc50");
static struct var devices_parts[] = PARTS ("b3608b58b5bb", "e3b0c44298fc", "8eae3d0686c3", "ae2d70fe19a9");

#define TINY TEXT_LIT ("jit_sum_of_squares")
#define KEY(digits, st, p)                                                                                             \
    {                                                                                                                  \
        .program = TINY, .key = TEXT_LIT ("jit_sum_of_squares-" digits), .state = st, .parts = { p, 8 }                \
    }
#define PLAIN "8a28bcfc2ac87bb6220e3a6c620688adddf33e3c0dbdda9e11c99ac3b934b0b1"
#define COUNT "9b83277927449b46bccb19e1ab738ea1944c6dddec2644709d1065c83712cbd9"
#define FLAG "7dc30388bc471d71208f3957c89850a7211b3157d598b8a678b711b6f60bbae9"
#define DEVICES "8e79081932fff68683f00f85d7f87367655c379c121d13ea40761a9ec30f092f"
static const struct cache_key plain = KEY (PLAIN, KEY_WRITTEN, plain_parts);
static const struct cache_key count = KEY (COUNT, KEY_MISSED, count_parts);
static const struct cache_key flag = KEY (FLAG, KEY_MISSED, flag_parts);
static const struct cache_key devices = KEY (DEVICES, KEY_MISSED, devices_parts);

#define AGAIN "compiled 1 of 1 programs again: "
#define TRUNCATED "error: Error -5 while decompressing data: incomplete or truncated stream"
#define SQUARES "jit_sum_of_squares"

struct bench {
    struct arena arena;
    struct result reader;
    struct cache_key keys[4];
    struct named_number counters[3];
    struct recompiled found;
};

/* A reader that asked for `requests` programs and found `hits`. */
static void bench_make (struct bench *bench, uint64_t requests, uint64_t hits)
{
    *bench = (struct bench){ 0 };
    bench->counters[0] = (struct named_number){ TEXT_LIT ("compile_requests"), requests };
    bench->counters[1] = (struct named_number){ TEXT_LIT ("cache_hits"), hits };
    bench->counters[2] = (struct named_number){ TEXT_LIT ("cache_requests"), requests };
    bench->reader.counters.items = bench->counters;
    bench->reader.counters.n = 3;
    bench->reader.keys.items = bench->keys;
}

static struct cache_key *add (struct bench *bench, struct cache_key key, enum key_state state)
{
    key.state = state;
    bench->keys[bench->reader.keys.n] = key;
    return &bench->keys[bench->reader.keys.n++];
}

static void says (struct bench *bench, const struct cache_key *sealed, uint32_t n, enum recompile_reason reason,
                  const char *sentence)
{
    struct text said = recompiled_why (&bench->reader, sealed, n, &bench->arena, &bench->found);
    if (!text_is (said, sentence))
        fail_msg ("expected '%s', got '%.*s'", sentence, TEXT_ARG (said));
    assert_int_equal (bench->found.reason, reason);
    arena_release (&bench->arena);
}

TEST (nothing_is_said_of_what_was_found)
{
    struct bench bench;
    bench_make (&bench, 1, 1);
    add (&bench, plain, KEY_HIT);
    says (&bench, &plain, 1, RECOMPILE_NONE, "");
}

TEST (parts_that_differ_are_named)
{
    static const struct {
        const struct cache_key *key;
        const char *sentence, *next;
    } rows[] = {
        { &count, AGAIN SQUARES "'s cache key differs from the writer's in computation", "becomes a constant" },
        { &flag, AGAIN SQUARES "'s cache key differs from the writer's in flags and compile options", "XLA_FLAGS" },
        { &devices, AGAIN SQUARES "'s cache key differs from the writer's in computation, compile options and topology",
          "kind of devices" },
    };
    for (size_t i = 0; i < 3; i++) {
        struct bench bench;
        bench_make (&bench, 1, 0);
        add (&bench, *rows[i].key, KEY_MISSED);
        says (&bench, &plain, 1, RECOMPILE_KEY_DIFFERS, rows[i].sentence);
        assert_has (bench.found.next, rows[i].next);
    }
}

TEST (the_nearest_of_the_writers_keys_is_compared)
{
    struct bench bench;
    const struct cache_key sealed[] = { devices, count, flag, plain };
    bench_make (&bench, 1, 0);
    struct cache_key *key = add (&bench, flag, KEY_MISSED);
    key->key = TEXT_LIT ("jit_sum_of_squares-another");
    struct var parts[8];
    memcpy (parts, flag_parts, sizeof parts);
    parts[3].value = TEXT_LIT ("000000000000");
    key->parts.items = parts;
    says (&bench, sealed, 4, RECOMPILE_KEY_DIFFERS, AGAIN SQUARES "'s cache key differs from the writer's in flags");
}

TEST (keys_without_parts_differ_in_what_was_not_told)
{
    struct bench bench;
    bench_make (&bench, 1, 0);
    add (&bench, count, KEY_MISSED)->parts.n = 0;
    says (&bench, &plain, 1, RECOMPILE_KEY_DIFFERS,
          AGAIN SQUARES "'s cache key differs from the writer's in a part that was not reported");
}

TEST (a_program_that_no_writer_compiled_has_no_entry)
{
    struct bench bench;
    struct cache_key many[RESULT_KEYS_MAX];
    bench_make (&bench, 3, 2);
    add (&bench, plain, KEY_HIT);
    add (&bench, count, KEY_MISSED)->program = TEXT_LIT ("jit_x");
    says (&bench, &plain, 1, RECOMPILE_ENTRY_MISSING,
          "compiled 1 of 3 programs again: entry missing: no writer compiled jit_x");
    for (uint32_t i = 0; i < RESULT_KEYS_MAX; i++)
        many[i] = plain;
    says (&bench, many, RESULT_KEYS_MAX, RECOMPILE_ENTRY_MISSING,
          "compiled 1 of 3 programs again: entry missing: no writer reported jit_x");
    says (&bench, NULL, 0, RECOMPILE_UNKNOWN,
          "compiled 1 of 3 programs again: jit_x was not found in the cache, and the writer reported no cache keys");
}

TEST (what_the_writer_did_with_the_very_key_is_told)
{
    static const struct {
        enum key_state state;
        enum recompile_reason reason;
        const char *sentence, *next;
    } rows[] = {
        { KEY_WRITTEN, RECOMPILE_ENTRY_MISSING,
          AGAIN "entry missing: the writer left jit_sum_of_squares in the cache, but this host did not find it",
          "cache verify" },
        { KEY_HIT, RECOMPILE_ENTRY_MISSING,
          AGAIN "entry missing: the writer left jit_sum_of_squares in the cache, but this host did not find it",
          "cache verify" },
        { KEY_BELOW_THRESHOLD, RECOMPILE_BELOW_THRESHOLD,
          AGAIN SQUARES " is below the write threshold: the writer compiled it, but did not store it in the cache",
          "minimum compile time and entry size" },
        { KEY_UNWRITTEN, RECOMPILE_ENTRY_MISSING,
          AGAIN "entry missing: the writer compiled " SQUARES " but did not store it: disk full", "free space" },
    };
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct bench bench;
        struct cache_key sealed = plain;
        sealed.state = rows[i].state;
        sealed.why = TEXT_LIT ("disk full");
        bench_make (&bench, 1, 0);
        add (&bench, plain, KEY_MISSED);
        says (&bench, &sealed, 1, rows[i].reason, rows[i].sentence);
        assert_has (bench.found.next, rows[i].next);
    }
}

TEST (an_entry_that_one_writer_has_left_counts)
{
    struct bench bench;
    struct cache_key sealed[] = { plain, plain, plain };
    sealed[0].state = sealed[2].state = KEY_BELOW_THRESHOLD;
    bench_make (&bench, 1, 0);
    add (&bench, plain, KEY_MISSED);
    (void) recompiled_why (&bench.reader, sealed, 3, &bench.arena, &bench.found);
    assert_int_equal (bench.found.reason, RECOMPILE_ENTRY_MISSING);
    arena_release (&bench.arena);
}

/* Also without counters: the frontend raised an error and the program ended. */
TEST (an_entry_that_could_not_be_loaded_comes_first)
{
    struct bench bench;
    bench_make (&bench, 0, 0);
    bench.reader.counters.n = 0;
    add (&bench, count, KEY_MISSED)->program = TEXT_LIT ("jit_x");
    add (&bench, plain, KEY_UNREADABLE)->why = TEXT_LIT (TRUNCATED);
    says (&bench, &plain, 1, RECOMPILE_UNREADABLE,
          SQUARES " was found but could not be loaded: " TRUNCATED "; and 1 more");
}

TEST (a_cache_that_nobody_asked_is_named)
{
    struct bench bench;
    struct var unused = { TEXT_LIT ("cache.unused"), TEXT_LIT ("JAX_ENABLE_COMPILATION_CACHE is false") };
    bench_make (&bench, 0, 0);
    says (&bench, &plain, 1, RECOMPILE_NEVER_CONSULTED, "the cache was never consulted");
    bench_make (&bench, 2, 0);
    bench.counters[2].value = 0;
    says (&bench, &plain, 1, RECOMPILE_NEVER_CONSULTED, "the cache was never consulted");
    bench.reader.facts.items = &unused;
    bench.reader.facts.n = 1;
    says (&bench, &plain, 1, RECOMPILE_NEVER_CONSULTED,
          "the cache was never consulted: JAX_ENABLE_COMPILATION_CACHE is false");
    bench_make (&bench, 1, 0);
    add (&bench, plain, KEY_NONE)->why = TEXT_LIT ("cache is disabled/not initialized");
    says (&bench, &plain, 1, RECOMPILE_NEVER_CONSULTED,
          AGAIN "the cache was never consulted for jit_sum_of_squares: cache is disabled/not initialized");
}

/* Texts of a frontend change: then no key is told, and absence is no evidence. */
TEST (without_keys_the_counters_alone_decide)
{
    struct bench bench;
    bench_make (&bench, 3, 1);
    says (&bench, &plain, 1, RECOMPILE_UNKNOWN,
          "compiled 2 of 3 programs again; which ones, and why, was not reported");
    bench.reader.counters.n = 2; /* without cache_requests */
    bench.counters[1].value = 0;
    says (&bench, &plain, 1, RECOMPILE_UNKNOWN,
          "compiled 3 of 3 programs again; which ones, and why, was not reported");
    bench.reader.counters.n = 1;
    says (&bench, &plain, 1, RECOMPILE_UNKNOWN, "the program did not report its compile counters");
    bench_make (&bench, 3, 3);
    says (&bench, &plain, 1, RECOMPILE_NONE, "");
}

TEST (torn_is_an_entry_of_this_very_key_that_the_writer_left)
{
    static const struct {
        enum key_state reader, writer;
        bool same, torn;
    } rows[] = {
        { KEY_UNREADABLE, KEY_WRITTEN, true, true },
        { KEY_UNREADABLE, KEY_HIT, true, true },
        { KEY_UNREADABLE, KEY_BELOW_THRESHOLD, true, false },
        { KEY_UNREADABLE, KEY_UNWRITTEN, true, false },
        { KEY_UNREADABLE, KEY_WRITTEN, false, false },
        { KEY_MISSED, KEY_WRITTEN, true, false },
        { KEY_HIT, KEY_WRITTEN, true, false },
    };
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct bench bench;
        struct cache_key sealed = rows[i].same ? plain : count;
        sealed.state = rows[i].writer;
        bench_make (&bench, 1, 0);
        add (&bench, plain, rows[i].reader);
        assert_int_equal (recompiled_is_torn (&bench.reader, &sealed, 1), rows[i].torn);
        assert_false (recompiled_is_torn (&bench.reader, NULL, 0));
    }
}

/* ---- two hosts ---- */

static void has_difference (const struct cache_key_difference_list *list, uint32_t at, const char *part,
                            const char *here, const char *there)
{
    assert_true (at < list->n);
    assert_text (list->items[at].part, part);
    assert_true (text_is (list->items[at].here, here) && text_is (list->items[at].there, there));
}

TEST (keys_of_two_hosts_are_held_against_each_other)
{
    struct cache_key_difference_list list;
    struct cache_key only_here = count, only_there = plain;
    only_here.program = TEXT_LIT ("jit_x");
    only_there.program = TEXT_LIT ("jit_y");
    const struct cache_key here[] = { plain, flag, only_here }, there[] = { only_there, plain, devices };
    recompiled_compare_keys (here, 3, there, 3, &t->arena, &list);
    has_difference (&list, 0, "computation", "df5e8e6b3aaf", "b3608b58b5bb");
    has_difference (&list, 1, "flags", "32d0b3d7aaf0", "e3b0c44298fc");
    has_difference (&list, 2, "compile options", "284bd419aaa5", "8eae3d0686c3");
    has_difference (&list, 3, "topology", "3bbb154ffc50", "ae2d70fe19a9");
    has_difference (&list, 4, "program", "jit_sum_of_squares-" COUNT, "");
    has_difference (&list, 5, "program", "", "jit_sum_of_squares-" PLAIN);
    assert_int_equal (list.n, 6);
    assert_true (text_is (list.items[4].program, "jit_x") && text_is (list.items[5].program, "jit_y"));
}

TEST (equal_keys_are_no_difference_and_unknown_parts_are_told_as_keys)
{
    struct cache_key_difference_list list;
    struct cache_key bare = count;
    recompiled_compare_keys (&plain, 1, &plain, 1, &t->arena, &list);
    assert_int_equal (list.n, 0);
    recompiled_compare_keys (NULL, 0, NULL, 0, &t->arena, &list);
    assert_int_equal (list.n, 0);
    bare.parts.n = 0;
    recompiled_compare_keys (&plain, 1, &bare, 1, &t->arena, &list);
    assert_int_equal (list.n, 1);
    has_difference (&list, 0, "key", "jit_sum_of_squares-" PLAIN, "jit_sum_of_squares-" COUNT);
}

static const struct cache_key_cause *cause (const struct cache_key_cause_list *list, const char *what)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (text_is (list->items[i].what, what))
            return &list->items[i];
    fail_msg ("no cause %s", what);
    return NULL;
}

TEST (causes_are_said_in_words)
{
    struct cache_key_cause_list list;
    struct var policy_a[] = { VAR ("XLA_FLAGS", "--xla_a=1  --xla_x=1"), VAR ("LIBTPU_INIT_ARGS", "--l=1 --m=2"),
                              VAR ("JAX_ENABLE_X64", "true") };
    struct var policy_b[] = { VAR ("LIBTPU_INIT_ARGS", "--m=3 --l=1"), VAR ("XLA_FLAGS", "--xla_a=1") };
    struct var bundle_a[] = { VAR ("jaxlib", "0.10.1"), VAR ("numpy", "2.4.6") };
    struct var bundle_b[] = { VAR ("numpy", "2.4.6"), VAR ("jaxlib", "0.10.2"), VAR ("zstandard", "0.25.0") };
    struct var facts_b[] = { VAR ("xla.arguments", "--xla_y=1") };
    struct program_fingerprint program_a = { TEXT_LIT ("tiny"), TEXT_LIT ("aa") },
                               program_b = { TEXT_LIT ("tiny"), TEXT_LIT ("bb") };
    struct result here = { .policy = { policy_a, 3 },
                           .bundle = { bundle_a, 2 },
                           .programs = { &program_a, 1 },
                           .backend.platform = TEXT_LIT ("cpu"),
                           .backend.local_devices = 2,
                           .backend.devices = 2 };
    struct result there = { .policy = { policy_b, 2 },
                            .bundle = { bundle_b, 3 },
                            .programs = { &program_b, 1 },
                            .facts = { facts_b, 1 },
                            .backend.platform = TEXT_LIT ("cpu"),
                            .backend.local_devices = 4 };
    cache_key_causes_find (&here, &there, &t->arena, &list);
    assert_text (cause (&list, "XLA_FLAGS")->text, "XLA_FLAGS has --xla_x=1 here only");
    assert_text (cause (&list, "XLA_FLAGS")->here, "--xla_x=1");
    assert_int_equal (cause (&list, "XLA_FLAGS")->there.len, 0);
    assert_text (cause (&list, "LIBTPU_INIT_ARGS")->text, "LIBTPU_INIT_ARGS has --m=2 here, and --m=3 there");
    assert_text (cause (&list, "argument list")->text, "argument list has --xla_y=1 there only");
    assert_text (cause (&list, "JAX_ENABLE_X64")->text, "JAX_ENABLE_X64: true here, absent there");
    assert_text (cause (&list, "jaxlib")->text, "jaxlib: 0.10.1 here, 0.10.2 there");
    assert_text (cause (&list, "zstandard")->text, "zstandard: absent here, 0.25.0 there");
    assert_text (cause (&list, "devices of one host")->text, "devices of one host: 2 here, 4 there");
    assert_text (cause (&list, "devices")->text, "devices: 2 here, absent there");
    assert_text (cause (&list, "program tiny")->text,
                 "program tiny was lowered to different code: its source, shapes or constants differ");
    assert_int_equal (list.n, 9);
    cache_key_causes_find (&here, &here, &t->arena, &list);
    assert_int_equal (list.n, 0);
}

/* What a writer and a reader are given by us differs on purpose; a value that neither is given is a cause. */
TEST (settings_of_the_roles_are_no_cause)
{
    struct cache_key_cause_list list;
    struct var writer[] = { VAR ("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0"),
                            VAR ("JAX_COMPILATION_CACHE_DIR", "/one"), VAR ("JAX_ENABLE_COMPILATION_CACHE", "true") };
    struct var reader[] = { VAR ("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "1000000000"),
                            VAR ("JAX_COMPILATION_CACHE_DIR", "/other"), VAR ("JAX_ENABLE_COMPILATION_CACHE", "true") };
    struct result here = { .policy = { writer, 3 } }, there = { .policy = { reader, 3 } };
    cache_key_causes_find (&here, &there, &t->arena, &list);
    assert_int_equal (list.n, 0);
    reader[0].value = TEXT_LIT ("5");
    reader[2].value = TEXT_LIT ("false");
    cache_key_causes_find (&here, &there, &t->arena, &list);
    assert_int_equal (list.n, 2);
    assert_text (cause (&list, "JAX_ENABLE_COMPILATION_CACHE")->text,
                 "JAX_ENABLE_COMPILATION_CACHE: true here, false there");
}
