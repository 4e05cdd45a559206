/* drift_against.c - what changed between two receipts, host by host, equal changes folded. */
#include "coordinator/story/drift_private.h"

#include <stdlib.h>

#include "coordinator/verdict/flag_set.h"

struct change {
    enum drift_section section;
    struct text name, before, now;
    bool before_absent, now_absent;
    uint32_t host; /* of the later receipt */
};
struct changes {
    struct change *items;
    uint32_t n, capacity;
};
struct pair {
    uint32_t now, before;
}; /* indices of one host in both */

struct comparison {
    struct drift_comparison *work; /* of the later receipt; its `out` is the answer */
    struct drift_comparison *before;
    struct drift_host_values values;
    struct pair *pairs;
    uint32_t pairs_n;
    struct changes changes;
};

/* ---- which hosts ---- */

struct named {
    struct text name;
    uint32_t at;
};

static struct named *sorted_names (const struct drift_hosts *hosts, struct arena *arena)
{
    struct named *names = arena_array (arena, hosts->n, sizeof (*names));
    for (uint32_t i = 0; i < hosts->n; i++)
        names[i] = (struct named){ hosts->names[i], i };
    sort_items (names, hosts->n, sizeof (*names), text_order);
    return names;
}

static void pair_hosts (struct comparison *comparison)
{
    struct drift *out = comparison->work->out;
    const struct drift_hosts *now = &comparison->work->hosts, *before = &comparison->before->hosts;
    struct arena *arena = comparison->work->arena;
    struct named *names = sorted_names (before, arena);
    bool *met = arena_array (arena, before->n, sizeof (*met));
    comparison->pairs = arena_array (arena, now->n + 1, sizeof (*comparison->pairs));
    out->only_now = arena_array (arena, now->n, sizeof (uint32_t));
    out->only_before = arena_array (arena, before->n, sizeof (struct text));
    for (uint32_t i = 0; i < now->n; i++) {
        struct named wanted = { now->names[i], 0 }, *found = NULL;
        if (before->n)
            found = bsearch (&wanted, names, before->n, sizeof (*names), text_order);
        if (found && !met[found->at]) {
            met[found->at] = true;
            comparison->pairs[comparison->pairs_n++] = (struct pair){ i, found->at };
        } else
            out->only_now[out->only_now_n++] = i;
    }
    for (uint32_t i = 0; i < before->n; i++)
        if (!met[i])
            out->only_before[out->only_before_n++] = before->names[i];
}

/* Other names on both sides: what most hosts had stands for all of them. */
static void pair_references (struct comparison *comparison, const struct slice_receipt *now,
                             const struct slice_receipt *before)
{
    struct drift of_now, of_before, *out = comparison->work->out;
    drift_compare_hosts (now, comparison->work->query, comparison->work->arena, &of_now);
    drift_compare_hosts (before, comparison->work->query, comparison->work->arena, &of_before);
    if (of_now.reference_n == 0 || of_before.reference_n == 0)
        return;
    comparison->pairs[comparison->pairs_n++] = (struct pair){ of_now.reference[0], of_before.reference[0] };
    out->by_group = true;
    out->reference = of_now.reference;
    out->reference_n = of_now.reference_n;
    out->only_now_n = out->only_before_n = 0;
}

/* ---- what changed on one host ---- */

static const struct var *sorted_vars (struct drift_var_list vars, struct arena *arena)
{
    struct var *sorted = arena_copy (arena, vars.items, vars.n * sizeof (*sorted));
    sort_items (sorted, vars.n, sizeof (*sorted), text_order);
    return sorted;
}

static void add_change (struct comparison *comparison, enum drift_section section, uint32_t host,
                        const struct var *before, const struct var *now)
{
    struct changes *list = &comparison->changes;
    if (section == SECTION_PROGRAM && (!before || !now)) /* one run came farther than the other */
        return;
    list->items = mem_room (list->items, list->n, &list->capacity, 16, sizeof (*list->items));
    list->items[list->n++] = (struct change){ .section = section,
                                              .name = now ? now->name : before->name,
                                              .host = host,
                                              .before_absent = !before,
                                              .now_absent = !now,
                                              .before = before ? before->value : (struct text){ 0 },
                                              .now = now ? now->value : (struct text){ 0 } };
}

static void compare_vars (struct comparison *comparison, enum drift_section section, uint32_t host,
                          struct drift_var_list before_vars, struct drift_var_list now_vars, struct arena *arena)
{
    const struct var *before = sorted_vars (before_vars, arena), *now = sorted_vars (now_vars, arena);
    for (uint32_t b = 0, n = 0; b < before_vars.n || n < now_vars.n;) {
        int order = b == before_vars.n ? 1 : n == now_vars.n ? -1 : text_compare (before[b].name, now[n].name);
        if (order != 0 || !text_equal (before[b].value, now[n].value))
            add_change (comparison, section, host, order <= 0 ? &before[b] : NULL, order >= 0 ? &now[n] : NULL);
        b += order <= 0;
        n += order >= 0;
    }
}

static void note_silence (struct comparison *comparison, enum drift_section section, uint32_t host)
{
    struct drift *out = comparison->work->out;
    for (uint32_t i = 0; i < out->silences_n; i++)
        if (out->silences[i].what == drift_section_words[section]) {
            out->silences[i].hosts[out->silences[i].hosts_n++] = host;
            return;
        }
    struct drift_silent_hosts *silence = &out->silences[out->silences_n++];
    *silence = (struct drift_silent_hosts){ drift_section_words[section],
                                            arena_array (comparison->work->arena, out->hosts_n, sizeof (uint32_t)), 0,
                                            0 };
    silence->hosts[silence->hosts_n++] = host;
}

/* A section that only one of the two has says nothing of what changed. */
static void compare_hosts (struct comparison *comparison, const struct pair *pair, struct arena *scratch)
{
    const struct host_receipt *now = comparison->work->hosts.receipts[pair->now];
    const struct host_receipt *before = comparison->before->hosts.receipts[pair->before];
    struct drift *out = comparison->work->out;
    bool any = false;
    comparison->values.backend_at = drift_backend_attempt ((const struct host_receipt *[]){ now, before }, 2,
                                                           comparison->work->query, scratch);
    for (enum drift_section section = 0; section < SECTION_N; section++) {
        struct drift_var_list vars = drift_host_values_section (&comparison->values, now, section);
        struct drift_var_list vars_before = drift_host_values_section (&comparison->values, before, section);
        any = any || vars.n;
        out->compared += vars.n > 0 && vars_before.n > 0 && pair == comparison->pairs ? vars.n : 0;
        bool told = vars.n || drift_host_values_has_section (&comparison->values, now, section);
        bool told_before = vars_before.n || drift_host_values_has_section (&comparison->values, before, section);
        if (told && told_before)
            compare_vars (comparison, section, pair->now, vars_before, vars, scratch);
        else if ((told || told_before) && section <= SECTION_BACKEND && !comparison->work->query->rung.len)
            note_silence (comparison, section, pair->now);
    }
    if (!any && !(now && now->rungs.n))
        out->silent[out->silent_n++] = pair->now;
}

/* ---- folding ---- */

static int by_change (const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    int order = order_u64 (x->section, y->section);
    order = order ? order : text_compare (x->name, y->name);
    order = order ? order : text_compare (x->before, y->before);
    order = order ? order : text_compare (x->now, y->now);
    order = order ? order : x->before_absent - y->before_absent + 2 * (x->now_absent - y->now_absent);
    return order ? order : order_u64 (x->host, y->host);
}

static bool same_fact (const struct change *a, const struct change *b)
{
    return a->section == b->section && text_equal (a->name, b->name);
}

static bool same_change (const struct change *a, const struct change *b)
{
    return same_fact (a, b) && text_equal (a->before, b->before) && text_equal (a->now, b->now) &&
           a->before_absent == b->before_absent && a->now_absent == b->now_absent;
}

static bool is_change (const struct change *change, const struct drift_rule *rule, struct arena *scratch)
{
    double before, now;
    if (text_is (change->before, FACT_NOT_REPORTED) || text_is (change->now, FACT_NOT_REPORTED))
        return false;
    if (change->before_absent || change->now_absent)
        return true;
    if (rule->kind == DRIFT_TOKENS)
        return !text_equal (flag_set_normalise (change->before, scratch), flag_set_normalise (change->now, scratch));
    if ((rule->kind == DRIFT_TOLERANCE || rule->kind == DRIFT_NEAR_ZERO) &&
        drift_parse_number (change->before, &before) && drift_parse_number (change->now, &now))
        return drift_number_matters (now, before, rule, false);
    return true;
}

static void drift_against_add_group (struct drift_comparison *work, struct drift_item *item,
                                     const struct change *changes, uint32_t n)
{
    struct drift_group *group = &item->groups[item->groups_n++];
    *group = (struct drift_group){ .value = changes->now,
                                   .absent = changes->now_absent,
                                   .before = changes->before,
                                   .before_absent = changes->before_absent,
                                   .hosts = arena_array (work->arena, n, sizeof (uint32_t)) };
    for (uint32_t i = 0; i < n; i++)
        group->hosts[group->hosts_n++] = changes[i].host;
    item->deviating += n;
}

static void count_item (struct drift_comparison *work, const struct drift_item *item, const struct drift_rule *rule)
{
    struct drift *out = work->out;
    if (item->groups_n == 0)
        return;
    bool expected = rule->kind == DRIFT_EXPECTED;
    out->expected += expected;
    if (expected && !work->query->all)
        return;
    if (out->n >= 2 * DRIFT_ITEMS_MAX) {
        out->left_out += !expected;
        return;
    }
    out->findings += !expected;
    *drift_add_item (work) = *item;
}

static void fold_fact (struct drift_comparison *work, const struct change *changes, uint32_t n, struct arena *scratch)
{
    struct drift_item item = { .fact = drift_fact_label (changes->section, changes->name, work->arena),
                               .verdict = DRIFT_CHANGED,
                               .settled = true };
    const struct drift_rule *rule = drift_rule_of (work->query, item.fact, 1);
    if (rule->kind == DRIFT_IGNORED) {
        work->out->ignored++;
        return;
    }
    item.kind = rule->kind;
    item.why = rule->why;
    item.severity = drift_severity_of (item.fact, &item.order);
    if (rule->kind == DRIFT_EXPECTED)
        item.verdict = DRIFT_AS_EXPECTED;
    item.groups = arena_array (work->arena, n, sizeof (*item.groups));
    for (uint32_t from = 0, to = 0; from < n; from = to) {
        while (to < n && same_change (&changes[to], &changes[from]))
            to++;
        if (is_change (&changes[from], rule, scratch))
            drift_against_add_group (work, &item, changes + from, to - from);
        arena_reset (scratch);
    }
    count_item (work, &item, rule);
}

static void fold_changes (struct comparison *comparison, struct arena *scratch)
{
    struct changes *list = &comparison->changes;
    sort_items (list->items, list->n, sizeof (*list->items), by_change);
    for (uint32_t from = 0, to = 0; from < list->n; from = to) {
        while (to < list->n && same_fact (&list->items[to], &list->items[from]))
            to++;
        fold_fact (comparison->work, list->items + from, to - from, scratch);
    }
}

/* ---- durations ---- */

static double median_of (const struct drift_measure *measures, uint32_t n, struct arena *scratch)
{
    double *numbers = arena_array (scratch, n, sizeof (*numbers));
    for (uint32_t i = 0; i < n; i++)
        numbers[i] = measures[i].number;
    return drift_median (numbers, n);
}

static void compare_measure (struct drift_comparison *work, const struct drift_measure *now, uint32_t now_n,
                             const struct drift_measure *before, uint32_t before_n, struct arena *scratch)
{
    struct drift_item item = { .fact = drift_measure_label (now, work->arena),
                               .verdict = DRIFT_CHANGED,
                               .rung = now->rung,
                               .phase = now->phase,
                               .pass = now->pass,
                               .measured = now_n,
                               .settled = true };
    const struct drift_rule *rule = drift_rule_of (work->query, item.fact, now_n < before_n ? now_n : before_n);
    struct drift_group *group = arena_alloc (work->arena, sizeof (*group));
    *group = (struct drift_group){ .number = median_of (now, now_n, scratch),
                                   .before_number = median_of (before, before_n, scratch) };
    work->out->compared++;
    if (rule->kind != DRIFT_TOLERANCE || !drift_number_matters (group->number, group->before_number, rule, false))
        return;
    group->value = text_format (work->arena, "%.15g", group->number);
    group->before = text_format (work->arena, "%.15g", group->before_number);
    group->hosts = arena_array (work->arena, now_n, sizeof (uint32_t));
    for (uint32_t i = 0; i < now_n; i++)
        group->hosts[group->hosts_n++] = now[i].host;
    item.kind = rule->kind;
    item.why = rule->why;
    item.severity = drift_severity_of (item.fact, &item.order);
    item.groups = group;
    item.groups_n = 1;
    item.deviating = group->hosts_n;
    item.median = group->before_number;
    item.size = drift_times (group->number, group->before_number);
    count_item (work, &item, rule);
}

static void compare_measures (struct comparison *comparison, const struct slice_receipt *now,
                              const struct slice_receipt *before, struct arena *scratch)
{
    struct drift_measures of_now = { 0 }, of_before = { 0 };
    drift_measures_collect (comparison->work, now, &of_now);
    drift_measures_collect (comparison->before, before, &of_before);
    for (uint32_t n = 0, b = 0; n < of_now.n && b < of_before.n;) {
        uint32_t now_n = drift_measures_count_alike (&of_now, n), before_n = drift_measures_count_alike (&of_before, b);
        int order = drift_measure_compare (&of_now.items[n], &of_before.items[b]);
        if (order == 0)
            compare_measure (comparison->work, &of_now.items[n], now_n, &of_before.items[b], before_n, scratch);
        arena_reset (scratch);
        n += order <= 0 ? now_n : 0;
        b += order >= 0 ? before_n : 0;
    }
    mem_free (of_now.items);
    mem_free (of_before.items);
}

void drift_compare_receipts (const struct slice_receipt *now, const struct slice_receipt *before,
                             const struct drift_query *query, struct arena *arena, struct drift *out)
{
    struct drift ignored = { 0 };
    struct drift_comparison work = { .query = query, .arena = arena, .out = out };
    struct drift_comparison work_before = { .query = query, .arena = arena, .out = &ignored };
    struct comparison comparison = { .work = &work, .before = &work_before };
    LOCAL_ARENA scratch = { 0 };
    *out = (struct drift){ .of = now };
    drift_hosts_of_receipt (now, arena, &work.hosts);
    drift_hosts_of_receipt (before, arena, &work_before.hosts);
    out->names = work.hosts.names;
    out->hosts_n = work.hosts.n;
    out->silent = arena_array (arena, out->hosts_n, sizeof (uint32_t));
    out->silences = arena_array (arena, SECTION_N, sizeof (*out->silences));
    comparison.values = (struct drift_host_values){ .arena = arena, .lists = arena, .query = query, .setup = true };
    pair_hosts (&comparison);
    if (comparison.pairs_n == 0)
        pair_references (&comparison, now, before);
    for (uint32_t i = 0; i < comparison.pairs_n; i++) {
        compare_hosts (&comparison, &comparison.pairs[i], &scratch);
        arena_reset (&scratch);
    }
    fold_changes (&comparison, &scratch);
    compare_measures (&comparison, now, before, &scratch);
    drift_items_sort (out);
    mem_free (comparison.changes.items);
}
