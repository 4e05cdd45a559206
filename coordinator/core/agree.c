#include "coordinator/core/agree.h"

#include <stdlib.h>
#include <string.h>

#include "coordinator/core/premapped.h"
#include "coordinator/core/topology.h"

enum { TOKENS_MAX = 256 };

static int by_text (const void *a, const void *b)
{
    return text_compare (*(const struct text *) a, *(const struct text *) b);
}

static uint32_t split (struct text flags, struct text tokens[])
{
    uint32_t n = 0, from = 0;
    for (uint32_t i = 0; i <= flags.len; i++) {
        if (i < flags.len && flags.ptr[i] != ' ' && flags.ptr[i] != '\n')
            continue;
        if (i > from && n < TOKENS_MAX)
            tokens[n++] = (struct text) { flags.ptr + from, i - from };
        from = i + 1;
    }
    return n;
}

struct text agree_tokens (struct text flags, struct arena *arena)
{
    struct text tokens[TOKENS_MAX];
    uint32_t n = split (flags, tokens);
    qsort (tokens, n, sizeof (*tokens), by_text);
    struct buf joined;
    buf_init (&joined, flags.len + 1);
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0 && text_equal (tokens[i], tokens[i - 1]))
            continue;
        if (joined.len)
            buf_byte (&joined, ' ');
        buf_text (&joined, tokens[i]);
    }
    struct text text = text_copy (arena, buf_as_text (&joined));
    buf_release (&joined);
    return text;
}

static struct text value_of (const struct var *items, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (text_is (items[i].name, name))
            return items[i].value;
    return (struct text) { 0 };
}

static uint32_t count_equal (const struct text *values, uint32_t n, uint32_t at)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++)
        count += text_equal (values[i], values[at]);
    return count;
}

/* Index of a value that more than half share, or else of the most frequent one. */
static uint32_t most_frequent (const struct text *values, uint32_t n)
{
    uint32_t best = 0, most = 0;
    for (uint32_t i = 0; i < n && most * 2 <= n; i++) {
        uint32_t count = count_equal (values, n, i);
        if (count > most) {
            most = count;
            best = i;
        }
    }
    return best;
}

static void fail_minority (const struct coord *coord, const struct text *values, const char *what, enum layer layer,
                           struct verdict *verdicts, struct arena *arena)
{
    uint32_t n = coord->pass.n, agreed = most_frequent (values, n);
    bool majority = count_equal (values, n, agreed) * 2 > n; /* without one, nobody can say who is right */
    for (uint32_t i = 0; i < n; i++) {
        bool differs = majority ? !text_equal (values[i], values[agreed]) : true;
        if (!differs || verdicts[i].outcome != OUTCOME_PASSED)
            continue;
        verdicts[i].outcome = OUTCOME_FAILED;
        verdicts[i].layer = layer;
        struct text mine = text_clip (values[i], 512), theirs = text_clip (values[agreed], 512);
        verdicts[i].cause = majority ? text_format (arena, "%s is '%.*s', most hosts have '%.*s'", what, TEXT_ARG (mine), TEXT_ARG (theirs))
                                     : text_format (arena, "%s is '%.*s' here, and no value is that of most hosts", what, TEXT_ARG (mine));
        verdicts[i].next = TEXT_LIT ("make this host like the others, or name the difference in the slice file");
    }
}

static const char *const compared_flags[] = { "XLA_FLAGS", "LIBTPU_INIT_ARGS" };

void agree_parts (const struct coord *coord, struct verdict *verdicts, struct arena *arena)
{
    const struct pass_state *pass = &coord->pass;
    struct text *values = arena_array (arena, pass->n, sizeof (*values));
    for (uint32_t i = 0; i < pass->n; i++)
        values[i] = value_of (pass->parts[i].result.bundle.items, pass->parts[i].result.bundle.n, "fingerprint");
    fail_minority (coord, values, "the environment's fingerprint", LAYER_BUNDLE, verdicts, arena);
    for (size_t flag = 0; flag < 2 && !part_is_alone (coord); flag++) {
        for (uint32_t i = 0; i < pass->n; i++) {
            const struct result *result = &pass->parts[i].result;
            values[i] = agree_tokens (value_of (result->policy.items, result->policy.n, compared_flags[flag]), arena);
        }
        fail_minority (coord, values, compared_flags[flag], LAYER_POLICY, verdicts, arena);
    }
}

static struct text storage_text (const struct result *result, struct arena *arena)
{
    if (!result->cache.storage.len)
        return TEXT_LIT ("not to be seen");
    return text_format (arena, "%.*s (%.*s)", TEXT_ARG (result->cache.storage), TEXT_ARG (result->cache.mount));
}

/* Two roots of one name on two storages: what one host writes no other would ever find. */
void agree_storage (const struct coord *coord, struct verdict *verdicts, struct arena *arena)
{
    const struct pass_state *pass = &coord->pass;
    struct text *ids = arena_array (arena, pass->n, sizeof (*ids));
    for (uint32_t i = 0; i < pass->n; i++)
        ids[i] = pass->parts[i].result.cache.storage;
    uint32_t agreed = most_frequent (ids, pass->n);
    bool majority = count_equal (ids, pass->n, agreed) * 2 > pass->n;
    if (coord->plan.cache.mode == CACHE_PER_HOST)
        return;
    for (uint32_t i = 0; i < pass->n; i++) {
        if (verdicts[i].outcome != OUTCOME_PASSED || (ids[i].len && count_equal (ids, pass->n, i) == pass->n))
            continue;
        if (majority && ids[i].len && text_equal (ids[i], ids[agreed]))
            continue;
        verdicts[i].outcome = OUTCOME_COULD_NOT_RUN;
        verdicts[i].layer = LAYER_CACHE;
        struct text mine = storage_text (&pass->parts[i].result, arena);
        struct text others = majority ? storage_text (&pass->parts[agreed].result, arena) : (struct text) { 0 };
        verdicts[i].cause = text_format (arena, "the storage under %.*s is %.*s, %s%.*s", TEXT_ARG (coord->plan.cache.root),
                                         TEXT_ARG (mine),
                                         majority ? "that of most hosts is " : "and no storage is that of most hosts",
                                         TEXT_ARG (others));
        verdicts[i].next = TEXT_LIT ("mount one storage there on all hosts, or use cache mode per-host");
    }
}

static void fail_by_topology (const struct coord *coord, struct verdict *verdicts, struct arena *arena)
{
    const struct pass_state *pass = &coord->pass;
    struct topology_host *hosts = arena_array (arena, coord->plan.hosts.n, sizeof (*hosts));
    for (uint32_t i = 0; i < pass->n; i++)
        hosts[pass->parts[i].host] = (struct topology_host) { pass->parts[i].result.facts.items, pass->parts[i].result.facts.n };
    struct topology_findings found;
    topology_judge (&coord->plan, hosts, arena, &found);
    for (uint32_t i = 0; i < found.n; i++) {
        struct verdict *verdict = &verdicts[pass->part_of_host[found.items[i].host]];
        verdict->outcome = OUTCOME_FAILED;
        verdict->layer = found.items[i].layer;
        verdict->cause = found.items[i].what;
        verdict->next = found.items[i].next;
    }
}

void agree_machines (const struct coord *coord, struct verdict *verdicts, struct arena *arena)
{
    const struct pass_state *pass = &coord->pass;
    if (pass->n == coord->plan.hosts.n)
        fail_by_topology (coord, verdicts, arena);
    for (uint32_t i = 0; i < pass->n; i++) {
        const struct result *result = &pass->parts[i].result;
        if (premapped_fits (&coord->plan.profile, result->facts.items, result->facts.n, arena, &verdicts[i].cause))
            continue;
        verdicts[i].outcome = OUTCOME_COULD_NOT_RUN;
        verdicts[i].layer = LAYER_POLICY;
        verdicts[i].next = TEXT_LIT ("lower premapped_buffer_bytes in the profile");
    }
}
