/* drift_values.c - what a host's receipt says, as named values. */
#include "common/frontend/frontend.h"
#include "coordinator/story/drift_private.h"
#include "coordinator/verdict/flag_set.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct subject {
    struct text name;
    uint32_t rank;
    const struct host_receipt *receipt;
};

static int by_rank (const void *a, const void *b)
{
    const struct subject *x = a, *y = b;
    int order = order_u64 (x->rank, y->rank);
    return order ? order : text_compare (x->name, y->name);
}

/* Hosts that a header names and that have no receipt; `known` is sorted by name. */
static uint32_t add_unheard (const struct run_header *header, struct subject *known, uint32_t n, struct subject *out)
{
    uint32_t added = 0;
    for (uint32_t i = 0; i < header->hosts.n; i++) {
        struct subject wanted = { header->hosts.items[i], i, NULL };
        if (n == 0 || !bsearch (&wanted, known, n, sizeof (*known), text_order))
            out[added++] = wanted;
    }
    return added;
}

void drift_hosts_of_receipt (const struct slice_receipt *receipt, struct arena *arena, struct drift_hosts *out)
{
    uint32_t n = receipt->hosts.n, unheard = 0;
    uint32_t named = receipt->headers.n == 1 ? receipt->headers.items[0].hosts.n
                                             : 0; /* of several runs nobody knows which */
    struct subject *all = arena_array (arena, (size_t) n + named, sizeof (*all));
    for (uint32_t i = 0; i < n; i++)
        all[i] = (struct subject){ receipt->hosts.items[i].host, receipt->hosts.items[i].rank,
                                   &receipt->hosts.items[i] };
    sort_items (all, n, sizeof (*all), text_order);
    if (named)
        unheard = add_unheard (&receipt->headers.items[0], all, n, all + n);
    n += unheard;
    sort_items (all, n, sizeof (*all), by_rank);
    *out = (struct drift_hosts){ arena_array (arena, n, sizeof (struct text)), arena_array (arena, n, sizeof (void *)),
                                 n };
    for (uint32_t i = 0; i < n; i++) {
        out->names[i] = all[i].name;
        out->receipts[i] = all[i].receipt;
    }
}

/* ---- attempts ---- */

static bool counts (const struct rung_receipt *rung, const struct drift_query *query)
{
    return rung->purpose != PURPOSE_ISOLATION && rung->pass != PASS_NONE &&
           (query->rung.len == 0 || text_equal (rung->rung, query->rung));
}

const struct rung_receipt *drift_attempt_next (const struct host_receipt *host, const struct drift_query *query,
                                               uint32_t *at, bool each_pass)
{
    while (*at < host->rungs.n) {
        const struct rung_receipt *rung = host->rungs.items[(*at)++];
        bool superseded = false;
        if (!counts (rung, query))
            continue;
        /* Attempts stand in order, so what supersedes this one is among the next few. */
        for (uint32_t i = *at; i < host->rungs.n && text_equal (host->rungs.items[i]->rung, rung->rung) && !superseded;
             i++)
            superseded = counts (host->rungs.items[i], query) &&
                         (!each_pass || host->rungs.items[i]->pass == rung->pass);
        if (!superseded)
            return rung;
    }
    return NULL;
}

/* ---- sections ---- */

/* Attempts of all hosts, each once, in the order in which the first host with it has them. */
struct told_attempt {
    struct drift_attempt of;
    uint32_t hosts_n, last_host;
};
struct told_attempts {
    struct told_attempt items[2 * RUNGS_MAX];
    uint32_t n;
};

static void note_attempt (struct told_attempts *told, const struct rung_receipt *rung, uint32_t host)
{
    uint32_t i = 0;
    while (i < told->n && !(told->items[i].of.pass == rung->pass && text_equal (told->items[i].of.rung, rung->rung)))
        i++;
    if (i == sizeof told->items / sizeof told->items[0] || (i < told->n && told->items[i].last_host == host))
        return;
    if (i == told->n)
        told->items[told->n++].of = (struct drift_attempt){ rung->rung, rung->pass };
    told->items[i].hosts_n++;
    told->items[i].last_host = host;
}

struct drift_attempt drift_backend_attempt (const struct host_receipt *const *hosts, uint32_t n,
                                            const struct drift_query *query, struct arena *arena)
{
    struct told_attempts *told = arena_alloc (arena, sizeof *told);
    struct told_attempt best = { .hosts_n = 2 };
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; hosts[i] && k < hosts[i]->rungs.n; k++)
            if (counts (hosts[i]->rungs.items[k], query) && hosts[i]->rungs.items[k]->backend.platform.len)
                note_attempt (told, hosts[i]->rungs.items[k], i + 1);
    for (uint32_t i = 0; i < told->n; i++)
        if (told->items[i].hosts_n >= best.hosts_n)
            best = told->items[i];
    return best.of;
}

static const struct observed_backend *backend_at (const struct drift_host_values *values,
                                                  const struct host_receipt *host)
{
    const struct drift_attempt *at = &values->backend_at;
    const struct observed_backend *last = at->rung.len ? NULL : &host->backend.observed;
    for (uint32_t i = 0; at->rung.len && i < host->rungs.n; i++) {
        const struct rung_receipt *rung = host->rungs.items[i];
        if (counts (rung, values->query) && rung->pass == at->pass && text_equal (rung->rung, at->rung) &&
            rung->backend.platform.len)
            last = &rung->backend;
    }
    return last;
}

enum { OF_ANY_RUNG = 3 }; /* of a backend's values, the first */

/* Its number in the slice (process_index) differs by its nature and is left out; so are counts, which are its rung's,
 * where no rung is known. */
static struct drift_var_list backend_vars (const struct drift_host_values *values,
                                           const struct observed_backend *backend)
{
    struct arena *arena = values->arena;
    if (!backend || backend->platform.len == 0)
        return (struct drift_var_list){ 0 };
    const struct var vars[] = { { TEXT_LIT ("platform"), backend->platform },
                                { TEXT_LIT ("platform_version"), backend->platform_version },
                                { TEXT_LIT ("device_kind"), backend->device_kind },
                                { TEXT_LIT ("devices"), text_format (arena, "%u", backend->devices) },
                                { TEXT_LIT ("local_devices"), text_format (arena, "%u", backend->local_devices) },
                                { TEXT_LIT ("processes"), text_format (arena, "%u", backend->process_count) } };
    return (struct drift_var_list){ arena_copy (values->lists, vars, sizeof (vars)),
                                    values->backend_at.rung.len ? sizeof (vars) / sizeof (vars[0]) : OF_ANY_RUNG };
}

static struct drift_var_list setup_vars (const struct drift_host_values *values, const struct host_receipt *host)
{
    const struct var vars[] = { { TEXT_LIT ("profile"), host->policy.profile },
                                { TEXT_LIT ("pins_sha256"), host->setup.pins_sha256 },
                                { TEXT_LIT ("script_sha256"), host->setup.script_sha256 },
                                { TEXT_LIT ("backend"), host->backend.requested } };
    return (struct drift_var_list){ arena_copy (values->lists, vars, sizeof (vars)), sizeof (vars) / sizeof (vars[0]) };
}

static void drift_values_add_program (const struct drift_host_values *values, struct var *vars, uint32_t *n,
                                      struct text rung, struct text name, struct text value)
{
    if (value.len)
        vars[(*n)++] = (struct var){ text_format (values->arena, "%.*s/%.*s", TEXT_ARG (rung), TEXT_ARG (name)),
                                     value };
}

static struct drift_var_list package_vars (const struct drift_host_values *values, const struct host_receipt *host)
{
    var_list out = { 0 };
    struct text word, rest;
    for (uint32_t i = 0; i < host->bundle.n; i++)
        for (rest = host->bundle.items[i].value;
             text_starts (host->bundle.items[i].name, RESULT_PACKAGES) && flag_set_next (&rest, &word);) {
            struct text version = word, name = text_take_until (&version, '=');
            if (version.len)
                *(struct var *) list_append (&out, sizeof *out.items, values->lists) = (struct var){ name, version };
        }
    return (struct drift_var_list){ out.items, out.n };
}

/* Of the last attempt at each rung; a program without a name or fingerprint is nothing that could be compared. */
static struct drift_var_list program_vars (const struct drift_host_values *values, const struct host_receipt *host)
{
    const struct rung_receipt *rung;
    uint32_t n = 0, most = 0;
    for (uint32_t at = 0; (rung = drift_attempt_next (host, values->query, &at, false));)
        most += 1 + rung->programs.n;
    struct var *vars = arena_array (values->lists, most, sizeof (*vars));
    for (uint32_t at = 0; (rung = drift_attempt_next (host, values->query, &at, false));) {
        drift_values_add_program (values, vars, &n, rung->rung, TEXT_LIT ("kernels"), rung->backend.kernel_path);
        for (uint32_t i = 0; i < rung->programs.n; i++)
            drift_values_add_program (values, vars, &n, rung->rung, rung->programs.items[i].name,
                                      rung->programs.items[i].fingerprint);
    }
    return (struct drift_var_list){ vars, n };
}

/* Had the program a cache that told the host's policy? */
static bool had_cache (const struct drift_host_values *values, const struct host_receipt *host)
{
    bool cached = false;
    const struct rung_receipt *rung;
    for (uint32_t at = 0; (rung = drift_attempt_next (host, values->query, &at, true));)
        if (rung->backend.platform.len)
            cached = rung->cache_view.level != 0;
    return cached;
}

/* The profile itself makes it different, by host or by scope (a host may have run no program of that scope), and the
 * program saw it so. A fact repeats what was set, cut and redacted. */
static bool is_as_set (const struct policy_receipt *policy, const struct var *seen, bool fact, struct arena *arena)
{
    struct text name = seen->name, kind = { 0 }, value;
    bool by_host = (!fact || (text_cut (&name, '.', &kind) && text_is (kind, "profile"))) &&
                   text_is_among (name, policy->by_host.items, policy->by_host.n);
    if (fact)
        return by_host;
    return (by_host || var_find (&policy->host_scope, name, &value) || var_find (&policy->slice_scope, name, &value)) &&
           policy_is_as_launched (policy, seen, arena);
}

/* What each of several slices has for itself; within a slice the arithmetic of its topology looks at it. */
static bool is_of_its_slice (const struct drift_query *query, struct text name)
{
    static const char *const own[] = { "TPU_WORKER_HOSTNAMES", "TPU_PROCESS_ADDRESSES", "MEGASCALE_SLICE_ID",
                                       "TPU_NAME", "worker_hostnames" };
    struct text kind;
    if (!query->hosts_of_slice)
        return false;
    (void) text_cut (&name, '.', &kind); /* "env.", "tpu.", "profile." */
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (text_is (name, own[i]))
            return true;
    return false;
}

static struct drift_var_list vars_but_as_set (const struct drift_host_values *values, const struct host_receipt *host,
                                              bool facts)
{
    const var_list *from = facts ? &host->facts : &host->policy.observed;
    struct var *vars = arena_array (values->lists, from->n, sizeof *vars);
    bool cached = !facts && !values->setup && had_cache (values, host);
    uint32_t n = 0;
    for (uint32_t i = 0; i < from->n; i++)
        if ((facts || values->setup || !frontend_sets_for_cache (from->items[i].name, from->items[i].value, cached)) &&
            !is_as_set (&host->policy, &from->items[i], facts, values->lists) &&
            !is_of_its_slice (values->query, from->items[i].name))
            vars[n++] = from->items[i];
    return (struct drift_var_list){ vars, n };
}

static void add_launched (const struct drift_host_values *values, const var_list *from, const char *behind,
                          struct var *vars, uint32_t *n)
{
    for (uint32_t i = 0; i < from->n; i++)
        vars[(*n)++] = (struct var){ text_format (values->arena, "%.*s%s", TEXT_ARG (from->items[i].name), behind),
                                     from->items[i].value };
}

/* Of two runs: what was set, for which programs, and what they inherited. */
static struct drift_var_list launched_vars (const struct drift_host_values *values, const struct policy_receipt *policy)
{
    uint32_t most = policy->launched.n + policy->host_scope.n + policy->slice_scope.n + policy->inherited.n, n = 0;
    struct var *vars = arena_array (values->lists, most, sizeof *vars);
    add_launched (values, &policy->launched, "", vars, &n);
    add_launched (values, &policy->host_scope, " (scope host)", vars, &n);
    add_launched (values, &policy->slice_scope, " (scope slice)", vars, &n);
    for (uint32_t i = 0; i < policy->inherited.n; i++)
        vars[n++] = (struct var){
            text_format (values->arena, "%.*s (inherited)", TEXT_ARG (policy->inherited.items[i])), TEXT_LIT ("yes")
        };
    return (struct drift_var_list){ vars, n };
}

bool drift_host_values_has_section (const struct drift_host_values *values, const struct host_receipt *host,
                                    enum drift_section section)
{
    return host && !values->query->rung.len && section == SECTION_POLICY && host->backend.observed.platform.len > 0;
}

struct drift_var_list drift_host_values_section (const struct drift_host_values *values,
                                                 const struct host_receipt *host, enum drift_section section)
{
    if (host == NULL || (values->query->rung.len && section != SECTION_PROGRAM))
        return (struct drift_var_list){ 0 };
    switch (section) {
    case SECTION_FACT: return vars_but_as_set (values, host, true);
    case SECTION_BUNDLE: return (struct drift_var_list){ host->bundle.items, host->bundle.n };
    case SECTION_POLICY: return vars_but_as_set (values, host, false);
    case SECTION_BACKEND: return backend_vars (values, backend_at (values, host));
    case SECTION_SETUP: return values->setup ? setup_vars (values, host) : (struct drift_var_list){ 0 };
    case SECTION_LAUNCHED: return values->setup ? launched_vars (values, &host->policy) : (struct drift_var_list){ 0 };
    case SECTION_PACKAGE: return package_vars (values, host);
    case SECTION_PROGRAM: return program_vars (values, host);
    case SECTION_N: break;
    }
    return (struct drift_var_list){ 0 };
}

/* ---- values that name the host they are of: paths that hold its name or its rank, and its name as a word ---- */

static bool word_at (struct text value, uint32_t at, struct text word)
{
    uint32_t end = at + word.len;
    return word.len && end <= value.len && memcmp (value.ptr + at, word.ptr, word.len) == 0 &&
           (at == 0 || !isalnum ((unsigned char) value.ptr[at - 1])) &&
           (end == value.len || !isalnum ((unsigned char) value.ptr[end]));
}

/* The digits that begin here, where they are the rank; 0: they are not. */
static uint32_t rank_at (struct text value, uint32_t at, uint32_t rank)
{
    uint32_t end = text_digits_end (value, at);
    uint64_t number;
    if (at && isdigit ((unsigned char) value.ptr[at - 1]))
        return 0;
    return text_to_u64 ((struct text){ value.ptr + at, end - at }, &number) && number == rank ? end - at : 0;
}

struct text drift_without_place (struct text value, struct text host, uint32_t rank, struct arena *arena)
{
    bool path = false;
    struct buf out = { .max = 16 + 8 * (size_t) value.len };
    for (uint32_t i = 0, taken = 1; i < value.len; i += taken) {
        path = value.ptr[i] == '/' || (path && !strchr (" \n=,;'\"", value.ptr[i]));
        taken = word_at (value, i, host) ? host.len : path ? rank_at (value, i, rank) : 0;
        if (taken)
            buf_puts (&out, "{}");
        else
            buf_byte (&out, (uint8_t) value.ptr[i]);
        taken = taken ? taken : 1;
    }
    return buf_finish (&out, arena);
}

uint32_t *drift_index_of_rank (const struct drift_hosts *hosts, struct arena *arena, uint32_t *ranks_n)
{
    *ranks_n = 0;
    for (uint32_t i = 0; i < hosts->n; i++)
        if (hosts->receipts[i] && hosts->receipts[i]->rank >= *ranks_n)
            *ranks_n = hosts->receipts[i]->rank + 1;
    uint32_t *index = arena_array (arena, *ranks_n, sizeof (*index));
    for (uint32_t rank = 0; rank < *ranks_n; rank++)
        index[rank] = DRIFT_NO_HOST;
    for (uint32_t i = 0; i < hosts->n; i++)
        if (hosts->receipts[i])
            index[hosts->receipts[i]->rank] = i;
    return index;
}
