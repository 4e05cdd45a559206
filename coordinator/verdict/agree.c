#include "coordinator/verdict/agree.h"

#include "coordinator/verdict/flag_set.h"
#include "coordinator/verdict/judge.h"
#include "coordinator/verdict/topology.h"

static void fail_minority (const struct agree_case *of, const struct text *values, const char *what, enum owner owner,
                           struct verdict *verdicts, struct arena *arena)
{
    uint32_t n = of->n, agreed = majority_index (values, n);
    bool majority = majority_count_equal (values, n, agreed) * 2 > n; /* without one, nobody is known to be right */
    for (uint32_t i = 0; i < n; i++) {
        if ((majority && text_equal (values[i], values[agreed])) || verdicts[i].outcome != OUTCOME_PASSED)
            continue;
        verdicts[i].outcome = OUTCOME_FAILED;
        verdicts[i].owner = owner;
        struct text mine = text_clip (values[i], 512), theirs = text_clip (values[agreed], 512);
        verdicts[i].cause =
            majority
                ? text_format (arena, "%s is '%.*s', most hosts have '%.*s'", what, TEXT_ARG (mine), TEXT_ARG (theirs))
                : text_format (arena, "%s is '%.*s', and no value is shared by most hosts", what, TEXT_ARG (mine));
        verdicts[i].next = TEXT_LIT ("make it the same on all hosts; sliceup drift shows how they differ");
    }
}

static const char *const compared_flags[] = { "XLA_FLAGS", "LIBTPU_INIT_ARGS" };

void agree_environments (const struct agree_case *of, struct verdict *verdicts, struct arena *arena)
{
    struct text *values = arena_array (arena, of->n, sizeof (*values));
    for (uint32_t i = 0; i < of->n; i++)
        values[i] = var_value ((const var_list *) &of->results[i]->bundle, "fingerprint");
    fail_minority (of, values, "the environment's fingerprint", OWNER_BUNDLE, verdicts, arena);
    for (size_t flag = 0; flag < 2 && !of->independent; flag++) {
        for (uint32_t i = 0; i < of->n; i++) {
            const struct result *result = of->results[i];
            values[i] = flag_set_normalise (var_value ((const var_list *) &result->policy, compared_flags[flag]),
                                            arena);
        }
        fail_minority (of, values, compared_flags[flag], OWNER_LAUNCH, verdicts, arena);
    }
}

static struct text storage_text (const struct result *result, struct arena *arena)
{
    if (!result->cache.storage.len)
        return TEXT_LIT ("not visible");
    return text_format (arena, "%.*s (%.*s)", TEXT_ARG (result->cache.storage), TEXT_ARG (result->cache.mount));
}

/* Hosts with different storages under the same cache root never find each other's entries. */
void agree_storage (const struct agree_case *of, struct verdict *verdicts, struct arena *arena)
{
    struct text *ids = arena_array (arena, of->n, sizeof (*ids));
    for (uint32_t i = 0; i < of->n; i++)
        ids[i] = of->results[i]->cache.storage;
    uint32_t agreed = majority_index (ids, of->n);
    bool majority = majority_count_equal (ids, of->n, agreed) * 2 > of->n;
    if (of->plan->cache.mode == CACHE_PER_HOST)
        return;
    for (uint32_t i = 0; i < of->n; i++) {
        if (verdicts[i].outcome != OUTCOME_PASSED || (majority && ids[i].len && text_equal (ids[i], ids[agreed])))
            continue;
        verdicts[i].outcome = OUTCOME_BLOCKED;
        verdicts[i].owner = OWNER_CACHE;
        struct text mine = storage_text (of->results[i], arena);
        struct text others = majority ? storage_text (of->results[agreed], arena) : (struct text){ 0 };
        verdicts[i].cause = text_format (arena, "the storage under %.*s is %.*s on this host, %s%.*s",
                                         TEXT_ARG (of->plan->cache.root), TEXT_ARG (mine),
                                         majority ? "on most hosts it is " : "and no storage is shared by most hosts",
                                         TEXT_ARG (others));
        verdicts[i].next = TEXT_LIT ("mount the same storage there on all hosts, or set cache mode per-host");
    }
}

static uint32_t agree_part_of (const struct agree_case *of, uint32_t host)
{
    uint32_t part = 0;
    while (of->hosts[part] != host)
        part++;
    return part;
}

/* `facts`: the hosts' facts; else the variables that their programs saw. */
static struct topology_host *told_by (const struct agree_case *of, bool facts, struct arena *arena)
{
    struct topology_host *hosts = arena_array (arena, of->plan->hosts.n, sizeof (*hosts));
    for (uint32_t i = 0; i < of->n; i++) {
        const var_list *told = facts ? &of->results[i]->facts : &of->results[i]->policy;
        hosts[of->hosts[i]] = (struct topology_host){ told->items, told->n };
    }
    return hosts;
}

/* Fails hosts that passed so far; for hosts that failed, the earlier cause follows in the sentence. */
static void fail_by (const struct agree_case *of, const struct topology_findings *found, bool passed,
                     struct verdict *verdicts, struct arena *arena)
{
    for (uint32_t i = 0; i < found->n; i++) {
        const struct topology_finding *finding = &found->items[i];
        struct verdict *verdict = &verdicts[agree_part_of (of, finding->host)];
        if ((verdict->outcome == OUTCOME_PASSED) != passed || verdict->outcome == OUTCOME_LOST)
            continue;
        struct text cause = text_format (arena, "%.*s%s%.*s", TEXT_ARG (finding->what), passed ? "" : "; ",
                                         TEXT_ARG (verdict->cause));
        verdict->outcome = OUTCOME_FAILED;
        verdict->owner = finding->owner;
        verdict->else_owner = OWNER_NONE;
        verdict->cause = text_clip (cause, SENTENCE_MAX_BYTES);
        verdict->next = finding->next;
        verdict->evidence = (struct text){ 0 };
    }
}

/* Inherited variables first, since that names the variable and its value. */
static void fail_by_topology (const struct agree_case *of, struct verdict *verdicts, struct arena *arena)
{
    struct topology_host *hosts = told_by (of, true, arena);
    struct topology_findings found;
    topology_judge_machines (of->plan, hosts, arena, &found);
    slice_variables_judge_hosts (of->plan, hosts, "env.", arena, &found);
    fail_by (of, &found, true, verdicts, arena);
    topology_judge_hosts (of->plan, hosts, arena, &found);
    fail_by (of, &found, true, verdicts, arena);
}

void agree_variables (const struct agree_case *of, struct verdict *verdicts, bool *culprits, struct arena *arena)
{
    struct topology_findings found = { arena_array (arena, of->n, sizeof (*found.items)), 0 };
    if (of->independent || of->n != of->plan->hosts.n)
        return;
    slice_variables_judge_hosts (of->plan, told_by (of, false, arena), "", arena, &found);
    fail_by (of, &found, false, verdicts, arena);
    for (uint32_t i = 0; i < found.n; i++) {
        uint32_t part = agree_part_of (of, found.items[i].host);
        culprits[part] |= of->results[part]->ending == ENDING_CANCELLED;
    }
}

void agree_topology (const struct agree_case *of, struct verdict *verdicts, struct arena *arena)
{
    if (of->n == of->plan->hosts.n)
        fail_by_topology (of, verdicts, arena);
    for (uint32_t i = 0; i < of->n; i++) {
        if (premapped_fits (&of->plan->profile, &of->results[i]->facts, arena, &verdicts[i].cause))
            continue;
        verdicts[i].outcome = OUTCOME_BLOCKED;
        verdicts[i].owner = OWNER_LAUNCH;
        verdicts[i].next = TEXT_LIT ("lower premapped_buffer_bytes in the profile");
    }
}

/* ---- premapped ---- */

/* The smaller of the machine's memory and the limit of the worker's cgroup ("max": none). */
static bool memory_of (const var_list *facts, uint64_t *bytes)
{
    uint64_t limit;
    if (!text_to_u64 (var_value (facts, "memory.total_bytes"), bytes))
        return false;
    if (text_to_u64 (var_value (facts, "memory.cgroup_max"), &limit))
        *bytes = least_u64 (*bytes, limit);
    return true;
}

bool premapped_fits (const struct profile *profile, const var_list *facts, struct arena *arena, struct text *why)
{
    uint64_t asked, has;
    if (!text_to_u64 (var_value (&profile->env, PREMAPPED_VAR), &asked) || !memory_of (facts, &has))
        return true;
    uint64_t left = has / 4 > PREMAPPED_LEAST_LEFT_BYTES ? has / 4 : PREMAPPED_LEAST_LEFT_BYTES;
    if (asked <= has && has - asked >= left)
        return true;
    *why = text_format (arena,
                        "a premapped buffer of %.1f GiB would leave %.1f of this host's %.1f GiB of memory, but data "
                        "loaders and the system need at least %.1f",
                        (double) asked / 0x1p30, asked <= has ? (double) (has - asked) / 0x1p30 : 0.0,
                        (double) has / 0x1p30, (double) left / 0x1p30);
    return false;
}

/* ---- program difference ---- */

enum { SAID_BYTES = 2048, WORD_SHOWN_BYTES = 200, FINGERPRINT_SHOWN_BYTES = 12 };

struct comparison {
    struct arena *arena; /* of words, released after each comparison: thousands of hosts may differ */
    struct buf said;
    const char *others, *have, *lack; /* "the other hosts", "have it", "do not have it" */
    uint32_t n;
};

static bool next_thing (struct comparison *comparison)
{
    if (++comparison->n > DIFFERENCE_SHOWN)
        return false;
    if (comparison->n > 1)
        buf_puts (&comparison->said, "; ");
    return true;
}

static void tell_extra (struct comparison *comparison, struct text name, struct text has, struct text lacks,
                        bool is_mine)
{
    struct text word;
    while (flag_set_next (&has, &word))
        if (!flag_set_has (lacks, word) && next_thing (comparison))
            buf_printf (&comparison->said, "%.*s %s %.*s, %s %s", TEXT_ARG (name), is_mine ? "has" : "lacks",
                        TEXT_ARG (text_clip (word, WORD_SHOWN_BYTES)), comparison->others,
                        is_mine ? comparison->lack : comparison->have);
}

static void tell_words (struct comparison *comparison, struct text name, struct text mine, struct text theirs)
{
    if (text_equal (mine, theirs))
        return;
    mine = flag_set_normalise (mine, comparison->arena);
    theirs = flag_set_normalise (theirs, comparison->arena);
    tell_extra (comparison, name, mine, theirs, true);
    tell_extra (comparison, name, theirs, mine, false);
}

/* Variables whose values belong to one host, so that they always differ. */
static bool is_of_host (struct text name)
{
    static const char *const names[] = {
        "JAX_COMPILATION_CACHE_DIR",   "XLA_PERSISTENT_CACHE_PATH", "TPU_WORKER_ID",
        "CLOUD_TPU_TASK_ID",           "TPU_PROCESS_PORT",          "TPU_VISIBLE_CHIPS",
        "JAX_COORDINATOR_BIND_ADDRESS"
    };
    return text_is_word (name, names, sizeof names / sizeof names[0]);
}

static void tell_variable (void *comparison, struct text name, const struct text *mine, const struct text *theirs)
{
    if (!is_of_host (name))
        tell_words (comparison, name, mine ? *mine : (struct text){ 0 }, theirs ? *theirs : (struct text){ 0 });
}

static void tell_package (void *context, struct text name, const struct text *mine, const struct text *theirs)
{
    struct comparison *comparison = context;
    if (text_starts (name, RESULT_PACKAGES) || (mine && theirs && text_equal (*mine, *theirs)) ||
        !next_thing (comparison))
        return;
    if (!mine)
        buf_printf (&comparison->said, "%.*s is missing on this host", TEXT_ARG (name));
    else if (!theirs)
        buf_printf (&comparison->said, "%.*s %.*s is on this host only", TEXT_ARG (name), TEXT_ARG (*mine));
    else
        buf_printf (&comparison->said, "%.*s is %.*s, on %s %.*s", TEXT_ARG (name), TEXT_ARG (*mine),
                    comparison->others, TEXT_ARG (*theirs));
}

/* A host that ended before it reported its variables does not lack them. */
static void tell_list (struct comparison *comparison, const var_list *mine, const var_list *theirs, var_pair_fn *tell)
{
    if (mine->n && theirs->n)
        var_lists_walk (mine, theirs, tell, comparison);
}

static void tell_programs (struct comparison *comparison, const struct result *mine, const struct result *theirs)
{
    for (uint32_t i = 0; i < mine->programs.n; i++)
        for (uint32_t k = 0; k < theirs->programs.n; k++) {
            const struct program_fingerprint *here = &mine->programs.items[i], *there = &theirs->programs.items[k];
            struct text own = text_clip (here->fingerprint, FINGERPRINT_SHOWN_BYTES);
            struct text other = text_clip (there->fingerprint, FINGERPRINT_SHOWN_BYTES);
            if (text_equal (here->name, there->name) && !text_equal (here->fingerprint, there->fingerprint) &&
                next_thing (comparison))
                buf_printf (&comparison->said, "program %.*s has digest %.*s, on %s %.*s", TEXT_ARG (here->name),
                            TEXT_ARG (own), comparison->others, TEXT_ARG (other));
        }
}

struct text program_difference_text (const struct result *mine, const struct result *theirs, bool one_other,
                                     struct arena *arena)
{
    LOCAL_ARENA words = { 0 };
    struct comparison comparison = { .arena = &words,
                                     .others = one_other ? "the other host" : "the other hosts",
                                     .have = one_other ? "has it" : "have it",
                                     .lack = one_other ? "does not have it" : "do not have it" };
    buf_init (&comparison.said, SAID_BYTES);
    tell_list (&comparison, &mine->policy, &theirs->policy, tell_variable);
    tell_list (&comparison, &mine->bundle, &theirs->bundle, tell_package);
    tell_programs (&comparison, mine, theirs);
    if (comparison.n > DIFFERENCE_SHOWN)
        buf_printf (&comparison.said, "; and %u more", comparison.n - DIFFERENCE_SHOWN);
    struct text said = text_copy (arena, text_clip (buf_as_text (&comparison.said), SAID_BYTES));
    buf_release (&comparison.said);
    return said;
}

static bool has_program (const struct result *result, const struct program_fingerprint *program)
{
    for (uint32_t i = 0; i < result->programs.n; i++)
        if (text_equal (result->programs.items[i].name, program->name) &&
            text_equal (result->programs.items[i].fingerprint, program->fingerprint))
            return true;
    return false;
}

static bool same_programs (const struct result *mine, const struct result *theirs)
{
    bool same = mine->programs.n > 0 && mine->programs.n == theirs->programs.n;
    for (uint32_t i = 0; same && i < mine->programs.n; i++)
        same = has_program (theirs, &mine->programs.items[i]);
    return same;
}

static struct text flags_of (const struct result *result, const char *name, struct arena *arena)
{
    struct text flags;
    return var_find (&result->policy, text_of (name), &flags) ? flag_set_normalise (flags, arena) : (struct text){ 0 };
}

bool program_differs_by_flags (const struct result *mine, const struct result *theirs, struct arena *arena)
{
    static const char *const names[] = { "XLA_FLAGS", "LIBTPU_INIT_ARGS" };
    bool differ = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        differ |= !text_equal (flags_of (mine, names[i], arena), flags_of (theirs, names[i], arena));
    return differ && mine->policy.n && theirs->policy.n && same_programs (mine, theirs);
}
