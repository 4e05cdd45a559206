#include "coordinator/verdict/recompile_reason.h"

#include <inttypes.h>

enum { WHY_SHOWN_BYTES = 300, NOWHERE = UINT32_MAX };

/* The cache keys that the writers of a generation reported. */
struct sealed {
    const struct cache_key *items;
    uint32_t n;
};

/* ---- keys held against each other ---- */

static bool same_key (const struct cache_key *a, const struct cache_key *b)
{
    return text_equal (a->program, b->program) && text_equal (a->key, b->key);
}

static bool has_key (const struct cache_key *keys, uint32_t n, const struct cache_key *wanted)
{
    for (uint32_t i = 0; i < n; i++)
        if (same_key (&keys[i], wanted))
            return true;
    return false;
}

static struct text recompile_reason_part_of (const struct cache_key *key, struct text name)
{
    struct text value = { 0 };
    (void) var_find (&key->parts, name, &value);
    return value;
}

static bool is_left (enum key_state state)
{
    return state == KEY_WRITTEN || state == KEY_HIT;
}

/* Names of the parts that differ, in the order of `a`; skips parts that only one side reported. */
static uint32_t differing_parts (const struct cache_key *a, const struct cache_key *b, struct text names[KEY_PARTS_MAX])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->parts.n; i++) {
        struct text there = recompile_reason_part_of (b, a->parts.items[i].name);
        if (there.len && !text_equal (a->parts.items[i].value, there))
            names[n++] = a->parts.items[i].name;
    }
    return n;
}

/* The key of the same program that differs in the fewest parts; keys without reported parts come last. */
static uint32_t recompile_reason_nearest (const struct cache_key *key, const struct cache_key *keys, uint32_t n,
                                          const bool *taken)
{
    struct text names[KEY_PARTS_MAX];
    uint32_t best = NOWHERE, fewest = 0;
    for (uint32_t i = 0; i < n; i++) {
        if ((taken && taken[i]) || !text_equal (keys[i].program, key->program))
            continue;
        uint32_t differ = differing_parts (key, &keys[i], names), far = differ ? differ : KEY_PARTS_MAX + 1;
        if (best == NOWHERE || far < fewest) {
            best = i;
            fewest = far;
        }
    }
    return best;
}

static struct text joined (const struct text *names, uint32_t n, struct arena *arena)
{
    struct text list = n ? names[0] : (struct text){ 0 };
    for (uint32_t i = 1; i < n; i++)
        list = text_format (arena, "%.*s%s%.*s", TEXT_ARG (list), i + 1 < n ? ", " : " and ", TEXT_ARG (names[i]));
    return list;
}

/* ---- what to do about it ---- */

static const char compare_next[] =
    "compare program, flags and versions with the writer's: the receipt has them per host, and sliceup cache explain "
    "shows two hosts side by side";

static const char *const next_of[] = {
    [RECOMPILE_NONE] = compare_next,
    [RECOMPILE_KEY_DIFFERS] = compare_next,
    [RECOMPILE_ENTRY_MISSING] = "let the cold pass compile every program that the restored one needs: the same "
                                "arguments, and no program that only some hosts or runs make",
    [RECOMPILE_UNREADABLE] = "see with sliceup cache verify whether the entry is as it was sealed; if it is, the "
                             "versions that read it do not suit those that wrote it",
    [RECOMPILE_BELOW_THRESHOLD] = "leave the minimum compile time and entry size as sliceup sets them: the launch "
                                  "policy in the receipt shows the program's values",
    [RECOMPILE_NEVER_CONSULTED] = "leave the cache's variables as sliceup sets them, and switch the cache off nowhere "
                                  "in the program: the launch policy in the receipt shows what it had",
    [RECOMPILE_UNKNOWN] = compare_next,
};

/* By the names of key parts: docs/spec/canary.md. What makes the others follow comes first. */
static const struct {
    const char *part, *next;
} part_next[] = {
    { "jaxlib", "give all hosts one bundle: versions differ, and the receipt has them per host" },
    { "platform version", "give all hosts one bundle and one runtime: the receipt has the versions per host" },
    { "topology", "let the writer see the same number and kind of devices as this host: the receipt has both" },
    { "flags", "make XLA_FLAGS and LIBTPU_INIT_ARGS the same on all hosts, also after the imports: sliceup drift shows "
               "the words that differ" },
    { "computation", "trace the same program as the writer: the same shapes, and numbers that differ between hosts or "
                     "runs as arrays, since a Python number becomes a constant of the program" },
    { "compile options", "compile with the same options and devices as the writer: sliceup cache explain shows two "
                         "hosts side by side" },
};

static const char *next_for_parts (const struct text *names, uint32_t n)
{
    for (size_t i = 0; i < sizeof part_next / sizeof part_next[0]; i++)
        for (uint32_t k = 0; k < n; k++)
            if (text_is (names[k], part_next[i].part))
                return part_next[i].next;
    return next_of[RECOMPILE_KEY_DIFFERS];
}

const char *recompiled_steps_next (struct text check)
{
    if (!text_starts (check, "compile requests") && !text_starts (check, "programs asked for"))
        return NULL;
    return "a step compiles again when shapes change, or when a number of Python that changes is a constant of the "
           "program: keep shapes, and pass such numbers as arrays. docs/guide/cache.md names the variables with "
           "which the log says which";
}

/* ---- why one program was compiled ---- */

struct explanation {
    enum recompile_reason reason;
    struct text text;
    const char *next; /* NULL: that of the reason */
};

/* ": <why>", or nothing where the frontend gave no reason. */
static struct text because (struct text why, struct arena *arena)
{
    struct text shown = text_clip (why, WHY_SHOWN_BYTES);
    return shown.len ? text_format (arena, ": %.*s", TEXT_ARG (shown)) : shown;
}

static struct explanation explain_unreadable (const struct cache_key *key, struct arena *arena)
{
    struct text why = because (key->why, arena);
    struct text text = text_format (arena, "%.*s was found but could not be loaded%.*s", TEXT_ARG (key->program),
                                    TEXT_ARG (why));
    return (struct explanation){ RECOMPILE_UNREADABLE, text, NULL };
}

static struct explanation explain_unasked (const struct cache_key *key, struct arena *arena)
{
    struct text why = because (key->why, arena);
    struct text text = text_format (arena, "the cache was never consulted for %.*s%.*s", TEXT_ARG (key->program),
                                    TEXT_ARG (why));
    return (struct explanation){ RECOMPILE_NEVER_CONSULTED, text, NULL };
}

/* The writer reported the same key. */
static struct explanation explain_missing (const struct cache_key *sealed, struct arena *arena)
{
    struct text program = sealed->program, why = because (sealed->why, arena);
    static const char below[] =
        "%.*s is below the write threshold: the writer compiled it, but did not store it in the cache";
    static const char left[] = "entry missing: the writer left %.*s in the cache, but this host did not find it";
    static const char unwritten[] = "entry missing: the writer compiled %.*s but did not store it%.*s";
    if (sealed->state == KEY_BELOW_THRESHOLD)
        return (struct explanation){ RECOMPILE_BELOW_THRESHOLD, text_format (arena, below, TEXT_ARG (program)), NULL };
    if (!is_left (sealed->state))
        return (struct explanation){ RECOMPILE_ENTRY_MISSING,
                                     text_format (arena, unwritten, TEXT_ARG (program), TEXT_ARG (why)),
                                     "see why the writer did not store it: free space and permissions under the cache "
                                     "root, and its log" };
    return (struct explanation){ RECOMPILE_ENTRY_MISSING, text_format (arena, left, TEXT_ARG (program)),
                                 "see with sliceup cache verify whether the entry is there, and whether this host sees "
                                 "the same storage" };
}

static struct explanation explain_difference (const struct cache_key *key, const struct cache_key *sealed,
                                              struct arena *arena)
{
    struct text names[KEY_PARTS_MAX];
    uint32_t n = differing_parts (key, sealed, names);
    struct text parts = n ? joined (names, n, arena) : TEXT_LIT ("a part that was not reported");
    struct text text = text_format (arena, "%.*s's cache key differs from the writer's in %.*s",
                                    TEXT_ARG (key->program), TEXT_ARG (parts));
    return (struct explanation){ RECOMPILE_KEY_DIFFERS, text, next_for_parts (names, n) };
}

/* The writer reported no such program. */
static struct explanation explain_stranger (const struct cache_key *key, struct sealed sealed, struct arena *arena)
{
    static const char not_reported[] = "%.*s was not found in the cache, and the writer reported no cache keys";
    /* A writer with more programs than a result can list has not reported them all. */
    const char *missing = sealed.n < RESULT_KEYS_MAX ? "entry missing: no writer compiled %.*s"
                                                     : "entry missing: no writer reported %.*s";
    if (sealed.n == 0)
        return (struct explanation){ RECOMPILE_UNKNOWN, text_format (arena, not_reported, TEXT_ARG (key->program)),
                                     NULL };
    return (struct explanation){ RECOMPILE_ENTRY_MISSING, text_format (arena, missing, TEXT_ARG (key->program)), NULL };
}

static const struct cache_key *sealed_as (const struct cache_key *key, struct sealed sealed)
{
    const struct cache_key *found = NULL;
    for (uint32_t i = 0; i < sealed.n; i++)
        if (same_key (&sealed.items[i], key) && (!found || is_left (sealed.items[i].state)))
            found = &sealed.items[i];
    return found;
}

static struct explanation explain_key (const struct cache_key *key, struct sealed sealed, struct arena *arena)
{
    if (key->state == KEY_UNREADABLE)
        return explain_unreadable (key, arena);
    if (key->state == KEY_NONE)
        return explain_unasked (key, arena);
    const struct cache_key *same = sealed_as (key, sealed);
    if (same)
        return explain_missing (same, arena);
    uint32_t near = recompile_reason_nearest (key, sealed.items, sealed.n, NULL);
    return near != NOWHERE ? explain_difference (key, &sealed.items[near], arena)
                           : explain_stranger (key, sealed, arena);
}

/* ---- of all programs ---- */

static bool was_compiled (const struct cache_key *key)
{
    return key->state != KEY_HIT;
}

/* NOWHERE: none; an unreadable one comes before all others. */
static uint32_t first_compiled (const struct result *reader, uint32_t *compiled_n)
{
    uint32_t first = NOWHERE, unreadable = NOWHERE;
    *compiled_n = 0;
    for (uint32_t i = 0; i < reader->keys.n; i++) {
        const struct cache_key *key = &reader->keys.items[i];
        *compiled_n += was_compiled (key);
        if (first == NOWHERE && was_compiled (key))
            first = i;
        if (unreadable == NOWHERE && key->state == KEY_UNREADABLE)
            unreadable = i;
    }
    return unreadable != NOWHERE ? unreadable : first;
}

struct counts {
    bool told, asked_told;
    uint64_t requests, hits, asked;
};

static struct counts counts_of (const struct result *reader)
{
    struct counts counts = { 0 };
    counts.told = result_counter (reader, "compile_requests", &counts.requests) &&
                  result_counter (reader, "cache_hits", &counts.hits);
    counts.asked_told = result_counter (reader, "cache_requests", &counts.asked);
    return counts;
}

struct text cold_pass_cache (const number_list *counters)
{
    const struct result reader = { .counters = { counters->items, counters->n } };
    struct counts counts = counts_of (&reader);
    if (counts.requests > counts.hits)
        return TEXT_LIT ("cold");
    bool restored = counts.told && counts.hits > 0 && result_counted (&reader, "executions") > 0;
    return restored ? TEXT_LIT ("restored") : (struct text){ 0 };
}

/* With the frontend's reason, where it gave one: docs/spec/canary.md, cache.unused. */
static struct text never_consulted (const struct result *reader, struct arena *arena)
{
    struct text said, why = { 0 };
    if (var_find (&reader->facts, TEXT_LIT ("cache.unused"), &said))
        why = because (said, arena);
    return text_format (arena, "the cache was never consulted%.*s", TEXT_ARG (why));
}

/* No key explains it: the counters only say how many programs were compiled. */
static struct text explain_counts (const struct result *reader, const struct counts *counts, struct arena *arena,
                                   enum recompile_reason *reason)
{
    *reason = RECOMPILE_NONE;
    if (!counts->told) {
        *reason = RECOMPILE_UNKNOWN;
        return TEXT_LIT ("the program did not report its compile counters");
    }
    bool silent = counts->asked_told && counts->asked == 0 && counts->hits == 0;
    if (counts->requests == 0 || silent) {
        *reason = RECOMPILE_NEVER_CONSULTED;
        return never_consulted (reader, arena);
    }
    if (counts->hits >= counts->requests)
        return (struct text){ 0 };
    *reason = RECOMPILE_UNKNOWN;
    return text_format (arena,
                        "compiled %" PRIu64 " of %" PRIu64 " programs again; which ones, and why, was not reported",
                        counts->requests - counts->hits, counts->requests);
}

struct text recompiled_why (const struct result *reader, const struct cache_key *sealed_keys, uint32_t sealed_n,
                            struct arena *arena, struct recompiled *found)
{
    struct counts counts = counts_of (reader);
    uint32_t compiled_n, first = first_compiled (reader, &compiled_n);
    if (first == NOWHERE) {
        struct text told = explain_counts (reader, &counts, arena, &found->reason);
        found->next = next_of[found->reason];
        return told;
    }
    struct explanation why = explain_key (&reader->keys.items[first], (struct sealed){ sealed_keys, sealed_n }, arena);
    *found = (struct recompiled){ why.reason, why.next ? why.next : next_of[why.reason] };
    struct text text = why.text;
    if (compiled_n > 1)
        text = text_format (arena, "%.*s; and %u more", TEXT_ARG (why.text), compiled_n - 1);
    if (!counts.told || counts.requests <= counts.hits)
        return text;
    return text_format (arena, "compiled %" PRIu64 " of %" PRIu64 " programs again: %.*s",
                        counts.requests - counts.hits, counts.requests, TEXT_ARG (text));
}

bool recompiled_is_torn (const struct result *reader, const struct cache_key *sealed_keys, uint32_t sealed_n)
{
    struct sealed sealed = { sealed_keys, sealed_n };
    for (uint32_t i = 0; i < reader->keys.n; i++) {
        const struct cache_key *key = &reader->keys.items[i];
        const struct cache_key *same = key->state == KEY_UNREADABLE ? sealed_as (key, sealed) : NULL;
        if (same && is_left (same->state))
            return true;
    }
    return false;
}

/* ---- two hosts, two runs ---- */

static void add_difference (struct cache_key_difference_list *out, struct text program, struct text part,
                            struct text here, struct text there)
{
    out->items[out->n++] = (struct cache_key_difference){ program, part, here, there };
}

static void add_pair (const struct cache_key *here, const struct cache_key *there,
                      struct cache_key_difference_list *out)
{
    struct text names[KEY_PARTS_MAX];
    uint32_t n = differing_parts (here, there, names);
    for (uint32_t i = 0; i < n; i++)
        add_difference (out, here->program, names[i], recompile_reason_part_of (here, names[i]),
                        recompile_reason_part_of (there, names[i]));
    if (n == 0)
        add_difference (out, here->program, TEXT_LIT ("key"), here->key, there->key);
}

void recompiled_compare_keys (const struct cache_key *here, uint32_t here_n, const struct cache_key *there,
                              uint32_t there_n, struct arena *arena, struct cache_key_difference_list *out)
{
    bool *taken = arena_array (arena, (size_t) there_n + 1, sizeof (*taken));
    size_t most = ((size_t) here_n + there_n) * KEY_PARTS_MAX;
    *out = (struct cache_key_difference_list){ arena_array (arena, most + 1, sizeof (struct cache_key_difference)), 0 };
    for (uint32_t i = 0; i < there_n; i++)
        taken[i] = has_key (here, here_n, &there[i]);
    for (uint32_t i = 0; i < here_n; i++) {
        if (has_key (there, there_n, &here[i]))
            continue;
        uint32_t near = recompile_reason_nearest (&here[i], there, there_n, taken);
        if (near != NOWHERE) {
            taken[near] = true;
            add_pair (&here[i], &there[near], out);
        } else
            add_difference (out, here[i].program, TEXT_LIT ("program"), here[i].key, (struct text){ 0 });
    }
    for (uint32_t i = 0; i < there_n; i++)
        if (!taken[i])
            add_difference (out, there[i].program, TEXT_LIT ("program"), (struct text){ 0 }, there[i].key);
}
