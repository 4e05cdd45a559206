/* drift_values.c - what a host's receipt says, as named values. */
#include "coordinator/receipt/drift_private.h"
#include "coordinator/receipt/policy_changes.h"

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
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return text_compare (x->name, y->name);
}

static int by_name (const void *a, const void *b)
{
    return text_compare (((const struct subject *) a)->name, ((const struct subject *) b)->name);
}

/* Hosts that a header names and that have no receipt; `known` is sorted by name. */
static uint32_t add_unheard (const struct run_header *header, struct subject *known, uint32_t n, struct subject *out)
{
    uint32_t added = 0;
    for (uint32_t i = 0; i < header->hosts.n; i++) {
        struct subject wanted = { header->hosts.items[i], i, NULL };
        if (n == 0 || !bsearch (&wanted, known, n, sizeof (*known), by_name))
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
    if (n)
        qsort (all, n, sizeof (*all), by_name);
    if (named)
        unheard = add_unheard (&receipt->headers.items[0], all, n, all + n);
    n += unheard;
    if (n)
        qsort (all, n, sizeof (*all), by_rank);
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
        const struct rung_receipt *rung = &host->rungs.items[(*at)++];
        bool superseded = false;
        if (!counts (rung, query))
            continue;
        /* Attempts stand in order, so what supersedes this one is among the next few. */
        for (uint32_t i = *at; i < host->rungs.n && text_equal (host->rungs.items[i].rung, rung->rung) && !superseded;
             i++)
            superseded = counts (&host->rungs.items[i], query) &&
                         (!each_pass || host->rungs.items[i].pass == rung->pass);
        if (!superseded)
            return rung;
    }
    return NULL;
}

/* ---- sections ---- */

static bool same_backend (const struct observed_backend *a, const struct observed_backend *b)
{
    return text_equal (a->platform, b->platform) && text_equal (a->platform_version, b->platform_version) &&
           text_equal (a->device_kind, b->device_kind) && text_equal (a->kernel_path, b->kernel_path) &&
           a->devices == b->devices && a->local_devices == b->local_devices && a->process_count == b->process_count;
}

static struct text number_text (struct drift_host_values *values, uint32_t number)
{
    return text_format (values->arena, "%u", number);
}

/* Its number in the slice (process_index) differs by its nature and is left out. */
static struct drift_var_list backend_vars (struct drift_host_values *values, const struct observed_backend *backend)
{
    if (backend->platform.len == 0)
        return (struct drift_var_list){ 0 };
    if (values->backends_n == 0 || !same_backend (backend, &values->backend)) {
        struct var vars[] = { { TEXT_LIT ("platform"), backend->platform },
                              { TEXT_LIT ("platform_version"), backend->platform_version },
                              { TEXT_LIT ("device_kind"), backend->device_kind },
                              { TEXT_LIT ("kernel_path"), backend->kernel_path },
                              { TEXT_LIT ("devices"), number_text (values, backend->devices) },
                              { TEXT_LIT ("local_devices"), number_text (values, backend->local_devices) },
                              { TEXT_LIT ("processes"), number_text (values, backend->process_count) } };
        _Static_assert(sizeof (vars) <= sizeof (values->backends), "the list has room for all values of a backend");
        memcpy (values->backends, vars, sizeof (vars));
        values->backends_n = sizeof (vars) / sizeof (vars[0]);
        values->backend = *backend;
    }
    return (struct drift_var_list){ values->backends, values->backends_n };
}

static struct drift_var_list setup_vars (struct drift_host_values *values, const struct host_receipt *host)
{
    struct var vars[] = { { TEXT_LIT ("profile"), host->policy.profile },
                          { TEXT_LIT ("pins_sha256"), host->setup.pins_sha256 },
                          { TEXT_LIT ("script_sha256"), host->setup.script_sha256 },
                          { TEXT_LIT ("backend"), host->backend.requested } };
    memcpy (values->setups, vars, sizeof (vars));
    return (struct drift_var_list){ values->setups, sizeof (vars) / sizeof (vars[0]) };
}

static struct text program_name (struct drift_host_values *values, uint32_t place, struct text rung,
                                 struct text program)
{
    struct drift_program *named = &values->named[place];
    if (!named->name.len || !text_equal (named->rung, rung) || !text_equal (named->program, program))
        *named = (struct drift_program){
            rung, program, text_format (values->arena, "%.*s/%.*s", TEXT_ARG (rung), TEXT_ARG (program))
        };
    return named->name;
}

static void room_for_programs (struct drift_host_values *values, uint32_t n)
{
    if (n <= values->programs_capacity)
        return;
    uint32_t had = values->programs_capacity;
    struct drift_program *named = values->named;
    values->programs_capacity = 2 * n;
    struct var *programs = arena_array (values->arena, values->programs_capacity, sizeof (*programs));
    values->named = arena_array (values->arena, values->programs_capacity, sizeof (*values->named));
    if (had) {
        memcpy (values->named, named, had * sizeof (*named));
        memcpy (programs, values->programs, had * sizeof (*programs));
    }
    values->programs = programs;
}

/* Of the last attempt at each rung; a program without a name or fingerprint is nothing that could be compared. */
static struct drift_var_list program_vars (struct drift_host_values *values, const struct host_receipt *host)
{
    const struct rung_receipt *rung;
    uint32_t n = 0;
    for (uint32_t at = 0; (rung = drift_attempt_next (host, values->query, &at, false));)
        for (uint32_t i = 0; i < rung->programs.n; i++) {
            const struct program_fingerprint *program = &rung->programs.items[i];
            if (!program->fingerprint.len)
                continue;
            room_for_programs (values, n + 1);
            values->programs[n] = (struct var){ program_name (values, n, rung->rung, program->name),
                                                program->fingerprint };
            n++;
        }
    return (struct drift_var_list){ values->programs, n };
}

/* Without those that the profile itself makes different, where the program saw them so. */
static struct drift_var_list policy_vars (struct drift_host_values *values, const struct host_receipt *host)
{
    const struct policy_receipt *policy = &host->policy;
    if (!policy->by_host.n)
        return (struct drift_var_list){ policy->observed.items, policy->observed.n };
    struct var *vars = arena_array (values->arena, policy->observed.n, sizeof *vars);
    uint32_t n = 0;
    for (uint32_t i = 0; i < policy->observed.n; i++) {
        const struct var *seen = &policy->observed.items[i];
        if (!text_is_among (seen->name, policy->by_host.items, policy->by_host.n) ||
            !policy_is_as_launched (policy, seen, values->arena))
            vars[n++] = *seen;
    }
    return (struct drift_var_list){ vars, n };
}

static void add_launched (struct drift_host_values *values, const var_list *from, const char *behind, struct var *vars,
                          uint32_t *n)
{
    for (uint32_t i = 0; i < from->n; i++)
        vars[(*n)++] = (struct var){ text_format (values->arena, "%.*s%s", TEXT_ARG (from->items[i].name), behind),
                                     from->items[i].value };
}

/* Of two runs: what was set, for which programs, and what they inherited. */
static struct drift_var_list launched_vars (struct drift_host_values *values, const struct policy_receipt *policy)
{
    uint32_t most = policy->launched.n + policy->host_scope.n + policy->slice_scope.n + policy->inherited.n, n = 0;
    struct var *vars = arena_array (values->arena, most, sizeof *vars);
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

struct drift_var_list drift_host_values_section (struct drift_host_values *values, const struct host_receipt *host,
                                                 enum drift_section section)
{
    if (host == NULL || (values->query->rung.len && section != SECTION_PROGRAM))
        return (struct drift_var_list){ 0 };
    switch (section) {
    case SECTION_FACT: return (struct drift_var_list){ host->facts.items, host->facts.n };
    case SECTION_BUNDLE: return (struct drift_var_list){ host->bundle.items, host->bundle.n };
    case SECTION_POLICY: return policy_vars (values, host);
    case SECTION_BACKEND: return backend_vars (values, &host->backend.observed);
    case SECTION_SETUP: return values->setup ? setup_vars (values, host) : (struct drift_var_list){ 0 };
    case SECTION_LAUNCHED: return values->setup ? launched_vars (values, &host->policy) : (struct drift_var_list){ 0 };
    case SECTION_PROGRAM: return program_vars (values, host);
    case SECTION_N: break;
    }
    return (struct drift_var_list){ 0 };
}
