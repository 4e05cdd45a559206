/* drift_facts.c - findings from what hosts say: facts whose values are not as their rule wants them. */
#include "coordinator/receipt/drift_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator/verdict/flag_set.h"

struct candidates {
    struct drift_compared_fact *items;
    uint32_t n;
};

/* ---- values that count as one ---- */

struct spelling {
    struct text canonical;
    uint32_t value;
};

static int by_spelling (const void *a, const void *b)
{
    const struct spelling *x = a, *y = b;
    int order = text_compare (x->canonical, y->canonical);
    return order ? order : (x->value > y->value) - (x->value < y->value);
}

/* Equal sets of words are one value: that of which the first host said it. */
static void join_equal_sets (struct drift_comparison *work, struct drift_fact *fact)
{
    struct drift_value *values = work->table.values;
    struct spelling *all = arena_array (work->arena, fact->values_n, sizeof (*all));
    uint32_t n = 0, distinct = 0;
    for (uint32_t v = fact->first; v != DRIFT_NONE_AT; v = values[v].next)
        all[n++] = (struct spelling){ flag_set_normalise (values[v].text, work->arena), v };
    qsort (all, n, sizeof (*all), by_spelling);
    for (uint32_t i = 0, first = 0; i < n; i++) {
        if (i == 0 || !text_equal (all[i].canonical, all[first].canonical)) {
            first = i;
            distinct++;
            continue;
        }
        values[all[i].value].same_as = all[first].value;
        values[all[first].value].hosts_n += values[all[i].value].hosts_n;
        if (values[all[i].value].first_host < values[all[first].value].first_host)
            values[all[first].value].first_host = values[all[i].value].first_host;
    }
    fact->values_n = distinct;
}

static uint32_t largest_of (const struct drift_table *table, const struct drift_fact *fact)
{
    uint32_t best = DRIFT_NONE_AT;
    for (uint32_t v = fact->first; v != DRIFT_NONE_AT; v = table->values[v].next) {
        const struct drift_value *value = &table->values[v];
        if (value->same_as != v)
            continue;
        if (best == DRIFT_NONE_AT || value->hosts_n > table->values[best].hosts_n ||
            (value->hosts_n == table->values[best].hosts_n && value->first_host < table->values[best].first_host))
            best = v;
    }
    return best;
}

/* Hosts that could report the fact; for a fact of a program, only those that did. */
static uint32_t hosts_of (const struct drift_table *table, const struct drift_fact *fact)
{
    return fact->missing == DRIFT_NONE_AT ? fact->hosts_n : table->reporting_n[fact->section];
}

/* ---- numbers ---- */

/* Of a program a host that has no sighting has said nothing: it may have run others only. */
static bool says_unseen (const struct drift_table *table, const struct drift_fact *fact, uint32_t host)
{
    return fact->section != SECTION_PROGRAM && table->tells[fact->section][host] &&
           !drift_table_host_lacks (table, fact, host);
}

/* What each host says as a number; false when some value is none. */
static bool numbers_of (const struct drift_comparison *work, const struct drift_fact *fact, double *numbers)
{
    const struct drift_table *table = &work->table;
    double first, number;
    for (uint32_t v = fact->first; v != DRIFT_NONE_AT; v = table->values[v].next)
        if (!text_is (table->values[v].text, FACT_NOT_REPORTED) && !drift_parse_number (table->values[v].text, &number))
            return false;
    if (!drift_parse_number (table->values[fact->first].text, &first))
        first = NAN;
    for (uint32_t i = 0; i < table->hosts_n; i++)
        numbers[i] = says_unseen (table, fact, i) ? first : NAN;
    for (uint32_t i = fact->seen_first; i < fact->seen_first + fact->seen_n; i++)
        if (!drift_parse_number (table->values[table->seen[i].value].text, &numbers[table->seen[i].host]))
            numbers[table->seen[i].host] = NAN;
    return true;
}

/* ---- groups ---- */

/* The value that stands for what the host says; DRIFT_NONE_AT: it says nothing. */
static uint32_t said_by (const struct drift_table *table, const struct drift_fact *fact, uint32_t host)
{
    uint32_t low = fact->seen_first, high = fact->seen_first + fact->seen_n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (table->seen[middle].host < host)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < fact->seen_first + fact->seen_n && table->seen[low].host == host)
        return table->values[table->seen[low].value].same_as;
    return says_unseen (table, fact, host) ? table->values[fact->first].same_as : DRIFT_NONE_AT;
}

static int largest_first (const void *a, const void *b)
{
    const struct drift_group *x = a, *y = b;
    if (x->hosts_n != y->hosts_n)
        return x->hosts_n < y->hosts_n ? 1 : -1;
    uint32_t first_x = x->rest ? 0 : x->hosts[0], first_y = y->rest ? 0 : y->hosts[0];
    return (first_x > first_y) - (first_x < first_y);
}

/* All groups list their hosts but that of `rest`, for which nothing is done: it is most of them. */
static void begin_groups (struct drift_comparison *work, const struct drift_fact *fact, uint32_t rest,
                          struct drift_item *item)
{
    struct drift_value *values = work->table.values;
    item->groups = arena_array (work->arena, (size_t) fact->values_n + 1, sizeof (*item->groups));
    for (uint32_t v = fact->first; v != DRIFT_NONE_AT; v = values[v].next) {
        if (values[v].same_as != v)
            continue;
        values[v].group = item->groups_n;
        item->groups[item->groups_n++] = (struct drift_group){
            .value = values[v].text,
            .rest = v == rest,
            .hosts_n = v == rest ? values[v].hosts_n : 0,
            .hosts = v == rest ? NULL : arena_array (work->arena, values[v].hosts_n, sizeof (uint32_t)),
        };
    }
}

/* Hosts that say the first value stand in no sighting: they are found by walking over all. */
static void fill_groups (struct drift_comparison *work, const struct drift_fact *fact, struct drift_item *item)
{
    const struct drift_table *table = &work->table;
    uint32_t first = table->values[fact->first].same_as;
    struct drift_group *of_first = &item->groups[table->values[first].group];
    for (uint32_t i = fact->seen_first; i < fact->seen_first + fact->seen_n; i++) {
        uint32_t value = table->values[table->seen[i].value].same_as;
        struct drift_group *group = &item->groups[table->values[value].group];
        if (value != first && !group->rest)
            group->hosts[group->hosts_n++] = table->seen[i].host;
    }
    for (uint32_t host = 0; !of_first->rest && host < table->hosts_n; host++)
        if (said_by (table, fact, host) == first)
            of_first->hosts[of_first->hosts_n++] = host;
}

static void add_absent (struct drift_comparison *work, const struct drift_fact *fact, struct drift_item *item)
{
    const struct drift_table *table = &work->table;
    uint32_t n = fact->missing == DRIFT_NONE_AT ? 0 : table->reporting_n[fact->section] - fact->hosts_n;
    if (n == 0)
        return;
    struct drift_group *group = &item->groups[item->groups_n++];
    *group = (struct drift_group){ .absent = true, .hosts = arena_array (work->arena, n, sizeof (uint32_t)) };
    for (uint32_t host = 0; host < table->hosts_n && group->hosts_n < n; host++)
        if (drift_table_host_lacks (table, fact, host))
            group->hosts[group->hosts_n++] = host;
}

/* `rest`: a value whose hosts need no list, or DRIFT_NONE_AT. */
static void make_groups (struct drift_comparison *work, const struct drift_fact *fact, uint32_t rest,
                         struct drift_item *item)
{
    item->section = fact->section;
    begin_groups (work, fact, rest, item);
    fill_groups (work, fact, item);
    add_absent (work, fact, item);
    qsort (item->groups, item->groups_n, sizeof (*item->groups), largest_first);
}

/* ---- what the others are held against ---- */

static uint32_t value_pinned (const struct drift_table *table, const struct drift_fact *fact, struct text pinned)
{
    for (uint32_t v = fact->first; v != DRIFT_NONE_AT; v = table->values[v].next)
        if (text_equal (table->values[v].text, pinned))
            return table->values[v].same_as;
    return DRIFT_NONE_AT;
}

/* Two largest groups that are equally large, those who say nothing of it counted: neither is usual. */
static bool largest_are_equal (const struct drift_table *table, const struct drift_fact *fact)
{
    uint32_t all = hosts_of (table, fact), most = all - (all < fact->hosts_n ? all : fact->hosts_n), alike = most > 0;
    for (uint32_t v = fact->first; v != DRIFT_NONE_AT; v = table->values[v].next) {
        if (table->values[v].same_as != v || table->values[v].hosts_n < most)
            continue;
        alike = table->values[v].hosts_n == most ? alike + 1 : 1;
        most = table->values[v].hosts_n;
    }
    return alike > 1;
}

/* That of the reference hosts. None, where no group is the largest. The largest, if the fact is not settled, or if they
 * and few others say nothing of it. */
static uint32_t reference_value (const struct drift_comparison *work, const struct drift_compared_fact *candidate,
                                 bool *absent)
{
    const struct drift_fact *fact = &work->table.facts[candidate->fact];
    *absent = false;
    if (candidate->pinned.len)
        return value_pinned (&work->table, fact, candidate->pinned);
    if (largest_are_equal (&work->table, fact))
        return DRIFT_NONE_AT;
    if (!candidate->settled || work->out->reference_n == 0)
        return largest_of (&work->table, fact);
    uint32_t host = work->out->reference[0], value = said_by (&work->table, fact, host);
    *absent = value == DRIFT_NONE_AT && drift_table_host_lacks (&work->table, fact, host);
    return value == DRIFT_NONE_AT && !*absent ? largest_of (&work->table, fact) : value;
}

static void mark_reference (struct drift_item *item, struct text value, bool none, bool absent)
{
    for (uint32_t i = 0; i < item->groups_n; i++) {
        struct drift_group *group = &item->groups[i];
        group->reference = group->absent ? absent : !absent && !none && text_equal (group->value, value);
        item->deviating += group->reference ? 0 : group->hosts_n;
    }
}

/* How many values there are, without that of hosts whose question was not answered. */
static uint32_t values_received (const struct drift_table *table, const struct drift_fact *fact)
{
    uint32_t received = fact->values_n;
    for (uint32_t v = fact->first; v != DRIFT_NONE_AT; v = table->values[v].next)
        received -= text_is (table->values[v].text, FACT_NOT_REPORTED);
    return received;
}

static void add_finding (struct drift_comparison *work, const struct drift_compared_fact *candidate)
{
    const struct drift_fact *fact = &work->table.facts[candidate->fact];
    struct drift_item *item = drift_add_item (work);
    bool absent;
    uint32_t value = reference_value (work, candidate, &absent);
    struct text text = value == DRIFT_NONE_AT ? (struct text){ 0 } : work->table.values[value].text;
    *item = (struct drift_item){ .fact = candidate->shown,
                                 .kind = candidate->rule->kind,
                                 .severity = candidate->severity,
                                 .order = candidate->order,
                                 .verdict = candidate->pinned.len ? DRIFT_NOT_PINNED : DRIFT_DIFFERS,
                                 .settled = candidate->settled,
                                 .pinned = candidate->pinned,
                                 .why = candidate->rule->why };
    /* A host that reports another program does not report this one, and who was not heard has no value. */
    bool listed = fact->section == SECTION_PROGRAM || values_received (&work->table, fact) < fact->values_n;
    make_groups (work, fact, listed ? DRIFT_NONE_AT : value, item);
    for (uint32_t i = 0; i < item->groups_n; i++)
        if (text_is (item->groups[i].value, FACT_NOT_REPORTED))
            memmove (&item->groups[i], &item->groups[i + 1], (--item->groups_n - i) * sizeof (*item->groups));
    mark_reference (item, text, value == DRIFT_NONE_AT, absent);
    work->out->findings++;
}

/* ---- one fact each ---- */

static void list_expected (struct drift_comparison *work, const struct drift_fact *fact, const struct drift_rule *rule)
{
    work->out->expected++;
    if (!work->query->all || work->out->n - work->out->findings >= DRIFT_ITEMS_MAX)
        return;
    struct drift_item *item = drift_add_item (work);
    *item = (struct drift_item){ .fact = drift_fact_label (fact->section, fact->name, work->arena),
                                 .kind = rule->kind,
                                 .verdict = DRIFT_AS_EXPECTED,
                                 .severity = DRIFT_REST,
                                 .why = rule->why };
    make_groups (work, fact, DRIFT_NONE_AT, item);
}

/* A question without an answer is no value of the host; another fact says that there was no answer. */
static bool only_unheard (const struct drift_table *table, const struct drift_fact *fact)
{
    return fact->values_n > 1 && fact->missing == DRIFT_NONE_AT && values_received (table, fact) < 2;
}

/* Some say no number, or nothing: then a number cannot be judged as one. */
static bool judge_number (struct drift_comparison *work, const struct drift_fact *fact, const struct drift_rule *rule)
{
    double *numbers = mem_array (work->table.hosts_n, sizeof (*numbers));
    bool all = fact->missing == DRIFT_NONE_AT && numbers_of (work, fact, numbers);
    if (all) {
        struct drift_item item = { .fact = drift_fact_label (fact->section, fact->name, work->arena),
                                   .kind = rule->kind,
                                   .why = rule->why };
        item.severity = drift_severity_of (item.fact, &item.order);
        drift_numbers_judge (work, numbers, work->table.hosts_n, rule, false, &item);
    }
    mem_free (numbers);
    return all;
}

/* Each host's value is that of all others, but for its own name or its rank in a path. */
static bool differs_by_place (const struct drift_comparison *work, const struct drift_fact *fact,
                              const struct drift_rule *rule)
{
    const struct drift_table *table = &work->table;
    bool flags = fact->section == SECTION_POLICY || fact->section == SECTION_LAUNCHED ||
                 (fact->section == SECTION_FACT && text_starts (fact->name, "env."));
    struct arena arena = { 0 };
    struct text first = { 0 };
    bool same = flags && fact->values_n > 1 && fact->missing == DRIFT_NONE_AT;
    for (uint32_t i = 0, n = 0; same && i < table->hosts_n; i++) {
        uint32_t value = said_by (table, fact, i);
        if (value == DRIFT_NONE_AT || text_is (table->values[value].text, FACT_NOT_REPORTED))
            continue;
        struct text plain = drift_without_place (table->values[value].text, work->hosts.names[i],
                                                 work->hosts.receipts[i]->rank, &arena);
        if (rule->kind == DRIFT_TOKENS)
            plain = flag_set_normalise (plain, &arena);
        same = n++ == 0 || text_equal (plain, first);
        first = plain;
    }
    arena_release (&arena);
    return same;
}

static struct text pin_of (const struct drift_comparison *work, const struct drift_fact *fact)
{
    const struct requirements *pins = fact->section == SECTION_BUNDLE ? work->query->pins : NULL;
    for (uint32_t i = 0; pins && i < pins->n; i++)
        if (text_equal (pins->items[i].name, fact->name))
            return pins->items[i].version;
    return (struct text){ 0 };
}

static void add_candidate (struct drift_comparison *work, struct candidates *list, uint32_t at,
                           const struct drift_rule *rule, struct text pinned, struct text shown)
{
    const struct drift_fact *fact = &work->table.facts[at];
    uint32_t largest = work->table.values[largest_of (&work->table, fact)].hosts_n;
    uint32_t all = hosts_of (&work->table, fact), absent = all - (all < fact->hosts_n ? all : fact->hosts_n);
    struct drift_compared_fact *candidate = &list->items[list->n++];
    if (absent > largest)
        largest = absent;
    *candidate = (struct drift_compared_fact){ .fact = at,
                                               .rule = rule,
                                               .pinned = pinned,
                                               .settled = 2 * largest >= all,
                                               .deviating = all - largest,
                                               .shown = shown };
    candidate->severity = drift_severity_of (shown, &candidate->order);
    /* A few hosts may lack a fact only because a step failed, which other facts say: such findings come later. */
    candidate->order += !pinned.len +
                        (fact->values_n == 1 && absent && absent < largest && !pinned.len ? DRIFT_ORDER_ABSENT : 0);
}

/* Some hosts do not say it, and there was no room to note which: drift_table_make_bitmaps has counted it. */
static bool is_left_out (const struct drift_table *table, const struct drift_fact *fact)
{
    return fact->section != SECTION_PROGRAM && fact->missing == DRIFT_NONE_AT &&
           fact->hosts_n < table->reporting_n[fact->section];
}

/* Most facts are the same everywhere: for these not even the rule is looked up, unless a pin has to hold as well. */
static void sort_out (struct drift_comparison *work, uint32_t at, struct candidates *list)
{
    const struct drift_rule unheard = {
        .kind = DRIFT_EXPECTED, .why = TEXT_LIT ("some host did not report this in time: whether it differs is unknown")
    };
    const struct drift_rule of_place = {
        .kind = DRIFT_EXPECTED, .why = TEXT_LIT ("each host has its own name or rank in it, and else the same")
    };
    struct drift_fact *fact = &work->table.facts[at];
    bool equal = fact->values_n == 1 && fact->missing == DRIFT_NONE_AT;
    struct text pinned = pin_of (work, fact);
    work->out->compared++;
    if ((equal && !pinned.len) || is_left_out (&work->table, fact))
        return;
    struct text shown = drift_fact_label (fact->section, fact->name, work->arena);
    const struct drift_rule *rule = drift_rule_of (work->query, shown);
    if (rule->kind == DRIFT_IGNORED)
        work->out->ignored++;
    else if (rule->kind == DRIFT_EXPECTED && !equal)
        list_expected (work, fact, rule);
    else if (only_unheard (&work->table, fact) &&
             (!pinned.len || value_pinned (&work->table, fact, pinned) != DRIFT_NONE_AT))
        list_expected (work, fact, &unheard);
    else if (!pinned.len && differs_by_place (work, fact, rule))
        list_expected (work, fact, &of_place);
    else if (rule->kind != DRIFT_TOLERANCE || !judge_number (work, fact, rule)) {
        if (rule->kind == DRIFT_TOKENS)
            join_equal_sets (work, fact);
        bool held = pinned.len && rule->kind == DRIFT_PINNED;
        bool as_pinned = held && text_equal (work->table.values[fact->first].text, pinned);
        if (values_received (&work->table, fact) > 1 || fact->missing != DRIFT_NONE_AT || (held && !as_pinned))
            add_candidate (work, list, at, rule, held ? pinned : (struct text){ 0 }, shown);
    }
}

static int worst_first (const void *a, const void *b)
{
    const struct drift_compared_fact *x = a, *y = b;
    if (x->severity != y->severity)
        return x->severity < y->severity ? -1 : 1;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    if (x->deviating != y->deviating)
        return x->deviating < y->deviating ? -1 : 1;
    return text_compare (x->shown, y->shown);
}

void drift_facts_judge (struct drift_comparison *work)
{
    struct candidates list = { arena_array (work->arena, work->table.facts_n, sizeof (struct drift_compared_fact)), 0 };
    for (uint32_t i = 0; i < work->table.facts_n; i++)
        sort_out (work, i, &list);
    drift_reference_choose_hosts (work, list.items, list.n);
    if (list.n)
        qsort (list.items, list.n, sizeof (*list.items), worst_first);
    for (uint32_t i = 0; i < list.n; i++) {
        if (i >= DRIFT_ITEMS_MAX)
            work->out->left_out++;
        else
            add_finding (work, &list.items[i]);
    }
    work->out->left_out += work->table.missing_left_out;
}
