#include "coordinator/story/drift_private.h"

#include <stdlib.h>
#include <string.h>

/* A finding of the slice's arithmetic about these hosts; `hosts` in the arena. */
static void add_impossible (struct drift_comparison *work, struct text fact, struct text what, struct text next,
                            uint32_t *hosts, uint32_t hosts_n)
{
    struct drift_group *group = arena_alloc (work->arena, sizeof (*group));
    struct drift_item *item = drift_add_item (work);
    *group = (struct drift_group){ .value = what, .hosts = hosts, .hosts_n = hosts_n };
    *item = (struct drift_item){ .fact = text_format (work->arena, "topology %.*s", TEXT_ARG (fact)),
                                 .kind = DRIFT_AGREE,
                                 .verdict = DRIFT_IMPOSSIBLE,
                                 .settled = true,
                                 .groups = group,
                                 .groups_n = 1,
                                 .deviating = hosts_n,
                                 .next = next };
    item->severity = drift_severity_of (item->fact, &item->order);
    work->out->findings++;
}

/* ---- hosts of one run that have the same place in it. A plan has no two such hosts; files that were
merged can have them, and so have hosts of two slices ---- */

struct place {
    struct text run, number, name;
    uint32_t host;
};

static int by_place (const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int order = text_compare (x->run, y->run);
    order = order ? order : text_compare (x->number, y->number);
    return order ? order : (x->host > y->host) - (x->host < y->host);
}

/* Those from `places` on that share a place. Several receipts of one host are a conflict, and nothing else. */
static uint32_t add_shared (struct drift_comparison *work, struct text fact, const struct place *places, uint32_t n)
{
    uint32_t alike = 1, hosts_n = 0, others = 0;
    while (alike < n && text_equal (places[0].run, places[alike].run) &&
           text_equal (places[0].number, places[alike].number))
        alike++;
    for (uint32_t i = 1; i < alike; i++)
        others += !text_equal (places[i].name, places[0].name);
    if (others == 0)
        return alike;
    uint32_t *hosts = arena_array (work->arena, alike, sizeof (*hosts));
    for (uint32_t i = 0; i < alike; i++)
        hosts[hosts_n++] = places[i].host;
    struct text number = text_clip (places->number, 64);
    add_impossible (work, fact,
                    text_format (work->arena, "they have the same %s: %.*s",
                                 text_is (fact, "rank") ? "rank" : "TPU worker number", TEXT_ARG (number)),
                    TEXT_LIT ("see whether receipts of two slices were merged, or the number was set by hand"), hosts,
                    hosts_n);
    return alike;
}

static void judge_places (struct drift_comparison *work, const char *fact, struct place *places, uint32_t n)
{
    sort_items (places, n, sizeof (*places), by_place);
    for (uint32_t i = 0; i < n;)
        i += add_shared (work, text_of (fact), &places[i], n - i);
}

static bool is_found_already (const struct drift_comparison *work)
{
    const struct topology_findings *found = work->query->topology;
    return found && LIST_FIND (*found, struct topology_finding, fact, TEXT_LIT ("tpu.worker_id"));
}

static void duplicates_judge (struct drift_comparison *work)
{
    struct place *ranks = arena_array (work->arena, work->hosts.n, sizeof (*ranks));
    struct place *numbers = arena_array (work->arena, work->hosts.n, sizeof (*numbers));
    uint32_t ranks_n = 0, numbers_n = 0;
    uint64_t number;
    for (uint32_t i = 0; i < work->hosts.n; i++) {
        const struct host_receipt *host = work->hosts.receipts[i];
        if (host == NULL)
            continue;
        struct text said = var_value (&host->facts, "tpu.worker_id");
        ranks[ranks_n++] = (struct place){ host->run, text_format (work->arena, "%u", host->rank), host->host, i };
        uint32_t of = work->query->hosts_of_slice;
        struct text where = of ? text_format (work->arena, "%.*s %u", TEXT_ARG (host->run), host->rank / of)
                               : host->run;
        if (text_to_u64 (said, &number))
            numbers[numbers_n++] = (struct place){ where, said, host->host, i };
    }
    judge_places (work, "rank", ranks, ranks_n);
    if (!is_found_already (work))
        judge_places (work, "tpu.worker_id", numbers, numbers_n);
}

/* ---- filling the table ---- */

static void fill_table (struct drift_comparison *work)
{
    LOCAL_ARENA lists = { 0 };
    struct drift_host_values values = { .arena = work->arena, .lists = &lists, .query = work->query };
    values.backend_at = drift_backend_attempt (work->hosts.receipts, work->hosts.n, work->query, work->arena);
    drift_table_init (&work->table, work->hosts.n, work->arena);
    for (uint32_t i = 0; i < work->hosts.n; i++, arena_reset (&lists))
        for (enum drift_section section = 0; section < SECTION_N; section++) {
            struct drift_var_list vars = drift_host_values_section (&values, work->hosts.receipts[i], section);
            drift_table_add (&work->table, section, i, vars.items, vars.n);
            if (drift_host_values_has_section (&values, work->hosts.receipts[i], section))
                drift_table_note_reported (&work->table, section, i);
        }
    drift_table_finish (&work->table);
}

/* ---- who said nothing ---- */

static bool said_something (const struct drift_comparison *work, uint32_t host)
{
    const struct host_receipt *receipt = work->hosts.receipts[host];
    uint32_t at = 0;
    for (int i = 0; i < SECTION_N; i++)
        if (work->table.tells[i][host])
            return true;
    const struct rung_receipt *rung = receipt ? drift_attempt_next (receipt, work->query, &at, false) : NULL;
    return rung && rung->outcome == OUTCOME_PASSED; /* a command says nothing, and still did what it was to do */
}

static bool *find_silent (struct drift_comparison *work)
{
    struct drift *out = work->out;
    bool *silent = arena_array (work->arena, out->hosts_n, sizeof (*silent));
    out->silent = arena_array (work->arena, out->hosts_n, sizeof (uint32_t));
    for (uint32_t i = 0; i < out->hosts_n; i++)
        if ((silent[i] = !said_something (work, i)))
            out->silent[out->silent_n++] = i;
    return silent;
}

/* A section that fewer than half of the hosts report is not missed on the others: compiling ahead runs on one host. */
static void find_silences (struct drift_comparison *work, const bool *silent)
{
    static const char *const words[SECTION_N] = { "facts", "bundle", "policy", "backend" };
    struct drift *out = work->out;
    uint32_t reporting = out->hosts_n - out->silent_n;
    out->silences = arena_array (work->arena, SECTION_N, sizeof (*out->silences));
    for (int s = 0; s < SECTION_N; s++) {
        uint32_t told = work->table.reporting_n[s];
        if (!words[s] || told == reporting || 2 * told < reporting || told == 0)
            continue;
        struct drift_silent_hosts *silence = &out->silences[out->silences_n++];
        *silence = (struct drift_silent_hosts){ words[s],
                                                arena_array (work->arena, reporting - told, sizeof (uint32_t)), 0,
                                                told };
        for (uint32_t i = 0; i < out->hosts_n; i++)
            if (!silent[i] && !work->table.tells[s][i])
                silence->hosts[silence->hosts_n++] = i;
    }
}

/* ---- the slice's arithmetic ---- */

static int by_finding (const void *a, const void *b)
{
    const struct topology_finding *x = a, *y = b;
    int order = text_compare (x->fact, y->fact);
    if (order == 0)
        order = text_compare (x->what, y->what);
    return order ? order : (x->host > y->host) - (x->host < y->host);
}

static void add_topology_finding (struct drift_comparison *work, const struct topology_finding *findings, uint32_t n,
                                  const uint32_t *index, uint32_t ranks_n)
{
    uint32_t *hosts = arena_array (work->arena, n, sizeof (*hosts)), hosts_n = 0;
    for (uint32_t i = 0; i < n; i++)
        if (findings[i].host < ranks_n && index[findings[i].host] != DRIFT_NO_HOST)
            hosts[hosts_n++] = index[findings[i].host];
    if (hosts_n)
        add_impossible (work, findings->fact, findings->what, findings->next, hosts, hosts_n);
}

static void judge_topology (struct drift_comparison *work)
{
    const struct topology_findings *found = work->query->topology;
    uint32_t ranks_n, from = 0;
    if (!found || found->n == 0 || work->query->rung.len)
        return;
    uint32_t *index = drift_index_of_rank (&work->hosts, work->arena, &ranks_n);
    struct topology_finding *sorted = arena_copy (work->arena, found->items, found->n * sizeof (*sorted));
    qsort (sorted, found->n, sizeof (*sorted), by_finding);
    for (uint32_t i = 1; i <= found->n; i++)
        if (i == found->n || !text_equal (sorted[i].fact, sorted[from].fact) ||
            !text_equal (sorted[i].what, sorted[from].what)) {
            add_topology_finding (work, sorted + from, i - from, index, ranks_n);
            from = i;
        }
}

/* ---- what is left of the findings, once they stand in order ---- */

static void keep_worst (struct drift *out)
{
    if (out->findings <= DRIFT_ITEMS_MAX)
        return;
    uint32_t over = out->findings - DRIFT_ITEMS_MAX;
    memmove (&out->items[DRIFT_ITEMS_MAX], &out->items[out->findings], (out->n - out->findings) * sizeof (*out->items));
    out->findings = DRIFT_ITEMS_MAX;
    out->n -= over;
    out->left_out += over;
}

bool drift_is_incomplete (const struct drift *drift)
{
    return drift->silent_n || drift->no_facts || drift->silences_n || drift->only_now_n || drift->only_before_n;
}

/* Whoever stands in a finding of which most hosts have one value is none of those that others are held against. */
static void leave_out_named (struct drift *out)
{
    LOCAL_MEM bool *named = mem_array (out->hosts_n + 1, sizeof (*named));
    uint32_t n = 0;
    for (uint32_t i = 0; i < out->findings; i++) {
        const struct drift_item *item = &out->items[i];
        for (uint32_t g = 0; item->settled && g < item->groups_n; g++)
            for (uint32_t k = 0; &item->groups[g] != item->beside && k < item->groups[g].hosts_n; k++)
                named[item->groups[g].hosts[k]] = true;
    }
    for (uint32_t i = 0; i < out->reference_n; i++)
        if (!named[out->reference[i]])
            out->reference[n++] = out->reference[i];
    out->tie = out->tie && n == out->reference_n; /* it was judged of them all */
    out->reference_n = n;
}

/* ---- all of it ---- */

void drift_compare_hosts (const struct slice_receipt *receipt, const struct drift_query *query, struct arena *arena,
                          struct drift *out)
{
    struct drift_comparison work = { .query = query, .arena = arena, .out = out };
    if (query->made && query->made->of == receipt) {
        *out = *query->made;
        out->n = query->all ? out->n : out->findings;
        return;
    }
    *out = (struct drift){ .of = receipt };
    drift_hosts_of_receipt (receipt, arena, &work.hosts);
    out->names = work.hosts.names;
    out->hosts_n = work.hosts.n;
    fill_table (&work);
    find_silences (&work, find_silent (&work));
    drift_facts_judge (&work);
    if (!query->rung.len)
        drift_links_judge (&work);
    mem_free (work.table.values);
    drift_measures_judge (&work, receipt);
    judge_topology (&work);
    if (!query->rung.len)
        duplicates_judge (&work);
    out->no_facts = !query->rung.len && work.table.reporting_n[SECTION_FACT] == 0;
    out->no_versions = !query->rung.len && work.table.reporting_n[SECTION_BUNDLE] == 0;
    drift_items_sort (out);
    keep_worst (out);
    leave_out_named (out);
}
