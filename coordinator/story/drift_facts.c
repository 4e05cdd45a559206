/* drift_facts.c - findings from what hosts say: facts whose values are not as their rule wants them. */
#include "coordinator/story/drift_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/duration.h"
#include "coordinator/verdict/flag_set.h"

/* A fact of which not all say the same, or not what its pin says. */
struct compared_fact {
    struct drift_fact *fact;
    const struct drift_rule *rule;
    struct text pinned;
    bool settled;
    uint32_t deviating;
    enum drift_severity severity;
    uint32_t order;
    struct text shown;
};
struct candidates {
    struct compared_fact *items;
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

/* The first of them takes the hosts of all. */
static void drift_facts_join (struct drift_value *values, const struct spelling *alike, uint32_t n, struct arena *arena)
{
    uint32_t hosts_n = 0, at = 0;
    for (uint32_t i = 0; i < n; i++)
        hosts_n += values[alike[i].value].hosts_n;
    uint32_t *hosts = arena_array (arena, hosts_n, sizeof (*hosts));
    for (uint32_t i = 0; i < n; i++) {
        struct drift_value *value = &values[alike[i].value];
        memcpy (hosts + at, value->hosts, value->hosts_n * sizeof (*hosts));
        at += value->hosts_n;
        value->hosts_n = 0;
    }
    qsort (hosts, hosts_n, sizeof (*hosts), u32_order);
    values[alike[0].value].hosts = hosts;
    values[alike[0].value].hosts_n = hosts_n;
}

/* Equal texts, or sets of words, are one value: that of which the first host said it. */
static void join_equal (struct drift_comparison *work, struct drift_fact *fact, bool words)
{
    struct spelling *all = arena_array (work->arena, fact->values_n, sizeof (*all));
    uint32_t kept = 0;
    for (uint32_t v = 0; v < fact->values_n; v++)
        all[v] = (struct spelling){ words ? flag_set_normalise (fact->values[v].text, work->arena)
                                          : fact->values[v].text,
                                    v };
    qsort (all, fact->values_n, sizeof (*all), by_spelling);
    for (uint32_t from = 0, to = 0; from < fact->values_n; from = to) {
        while (to < fact->values_n && text_equal (all[to].canonical, all[from].canonical))
            to++;
        if (to - from > 1)
            drift_facts_join (fact->values, all + from, to - from, work->arena);
    }
    for (uint32_t v = 0; v < fact->values_n; v++)
        if (fact->values[v].hosts_n)
            fact->values[kept++] = fact->values[v];
    fact->values_n = kept;
}

/* Of equally large ones that of which the first host said it. */
static const struct drift_value *largest_of (const struct drift_fact *fact)
{
    const struct drift_value *best = fact->values;
    for (uint32_t v = 1; v < fact->values_n; v++)
        if (fact->values[v].hosts_n > best->hosts_n)
            best = &fact->values[v];
    return best;
}

/* ---- numbers ---- */

/* What each host says as a number; false when some value is none. */
static bool numbers_of (const struct drift_comparison *work, const struct drift_fact *fact, double *numbers)
{
    for (uint32_t i = 0; i < work->table.hosts_n; i++)
        numbers[i] = NAN;
    for (uint32_t v = 0; v < fact->values_n; v++) {
        const struct drift_value *value = &fact->values[v];
        double number = NAN;
        if (!text_is (value->text, FACT_NOT_REPORTED) && !drift_parse_number (value->text, &number))
            return false;
        for (uint32_t i = 0; i < value->hosts_n; i++)
            numbers[value->hosts[i]] = number;
    }
    return true;
}

/* ---- groups ---- */

static int largest_first (const void *a, const void *b)
{
    const struct drift_group *x = a, *y = b;
    int order = order_u64 (y->hosts_n, x->hosts_n);
    order = order ? order : y->reference - x->reference;
    return order ? order : order_u64 (x->hosts[0], y->hosts[0]);
}

/* Those that say something else of the fact's section, rising. */
static uint32_t *absent_hosts (const struct drift_table *table, const struct drift_fact *fact, struct arena *arena)
{
    uint32_t *hosts = arena_array (arena, fact->absent_n, sizeof (*hosts)), n = 0;
    LOCAL_MEM bool *says = mem_array (table->hosts_n, sizeof (*says));
    for (uint32_t v = 0; v < fact->values_n; v++)
        for (uint32_t i = 0; i < fact->values[v].hosts_n; i++)
            says[fact->values[v].hosts[i]] = true;
    for (uint32_t host = 0; host < table->hosts_n && n < fact->absent_n; host++)
        if (table->tells[fact->section][host] && !says[host])
            hosts[n++] = host;
    return hosts;
}

/* `reference`: the value that the others are held against, or NULL; `absent`: saying nothing is. */
static void make_groups (struct drift_comparison *work, const struct drift_fact *fact,
                         const struct drift_value *reference, bool absent, struct drift_item *item)
{
    item->groups = arena_array (work->arena, (size_t) fact->values_n + 1, sizeof (*item->groups));
    for (uint32_t v = 0; v < fact->values_n; v++) {
        const struct drift_value *value = &fact->values[v];
        if (item->verdict == DRIFT_AS_EXPECTED || !text_is (value->text, FACT_NOT_REPORTED))
            item->groups[item->groups_n++] = (struct drift_group){
                .value = value->text, .hosts = value->hosts, .hosts_n = value->hosts_n, .reference = value == reference
            };
    }
    if (fact->absent_n)
        item->groups[item->groups_n++] = (struct drift_group){ .hosts = absent_hosts (&work->table, fact, work->arena),
                                                               .hosts_n = fact->absent_n,
                                                               .absent = true,
                                                               .reference = absent };
    qsort (item->groups, item->groups_n, sizeof (*item->groups), largest_first);
}

/* ---- what the others are held against ---- */

static const struct drift_value *value_pinned (const struct drift_fact *fact, struct text pinned)
{
    for (uint32_t v = 0; v < fact->values_n; v++)
        if (text_equal (fact->values[v].text, pinned))
            return &fact->values[v];
    return NULL;
}

/* Two largest groups that are equally large, those who say nothing of it counted: neither is usual. */
static bool largest_are_equal (const struct drift_fact *fact)
{
    uint32_t most = fact->absent_n, alike = most > 0;
    for (uint32_t v = 0; v < fact->values_n; v++) {
        if (fact->values[v].hosts_n < most)
            continue;
        alike = fact->values[v].hosts_n == most ? alike + 1 : 1;
        most = fact->values[v].hosts_n;
    }
    return alike > 1;
}

static const struct drift_value *said_by (const struct drift_fact *fact, uint32_t host)
{
    for (uint32_t v = 0; v < fact->values_n; v++)
        if (bsearch (&host, fact->values[v].hosts, fact->values[v].hosts_n, sizeof (host), u32_order))
            return &fact->values[v];
    return NULL;
}

/* That of the reference hosts. None, where no group is the largest. The largest, if the fact is not settled, or if they
 * and few others say nothing of it. */
static const struct drift_value *reference_value (const struct drift_comparison *work,
                                                  const struct compared_fact *candidate, bool *absent)
{
    const struct drift_fact *fact = candidate->fact;
    *absent = false;
    if (candidate->pinned.len)
        return value_pinned (fact, candidate->pinned);
    if (largest_are_equal (fact))
        return NULL;
    if (!candidate->settled || work->out->reference_n == 0)
        return largest_of (fact);
    uint32_t host = work->out->reference[0];
    const struct drift_value *value = said_by (fact, host);
    *absent = !value && fact->absent_n && work->table.tells[fact->section][host];
    return value || *absent ? value : largest_of (fact);
}

/* How many values there are, without that of hosts whose question was not answered. */
static uint32_t values_received (const struct drift_fact *fact)
{
    uint32_t received = fact->values_n;
    for (uint32_t v = 0; v < fact->values_n; v++)
        received -= text_is (fact->values[v].text, FACT_NOT_REPORTED);
    return received;
}

/* A host that reports another program does not report this one, and who was not heard has no value. */
static void add_finding (struct drift_comparison *work, const struct compared_fact *candidate)
{
    struct drift_item *item = drift_add_item (work);
    bool absent;
    const struct drift_value *value = reference_value (work, candidate, &absent);
    *item = (struct drift_item){ .fact = candidate->shown,
                                 .kind = candidate->rule->kind,
                                 .severity = candidate->severity,
                                 .order = candidate->order,
                                 .verdict = candidate->pinned.len ? DRIFT_NOT_PINNED : DRIFT_DIFFERS,
                                 .settled = candidate->settled,
                                 .pinned = candidate->pinned,
                                 .why = candidate->rule->why };
    make_groups (work, candidate->fact, value, absent, item);
    for (uint32_t i = 0; i < item->groups_n; i++)
        item->deviating += item->groups[i].reference ? 0 : item->groups[i].hosts_n;
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
    make_groups (work, fact, NULL, false, item);
}

/* A question without an answer is no value of the host; another fact says that there was no answer. */
static bool only_unheard (const struct drift_fact *fact)
{
    return fact->values_n > 1 && !fact->absent_n && values_received (fact) < 2;
}

/* Some say no number, or nothing: then a number cannot be judged as one. */
static bool judge_number (struct drift_comparison *work, const struct drift_fact *fact, const struct drift_rule *rule)
{
    LOCAL_MEM double *numbers = mem_array (work->table.hosts_n, sizeof (*numbers));
    bool all = !fact->absent_n && numbers_of (work, fact, numbers);
    if (all) {
        struct drift_item item = { .fact = drift_fact_label (fact->section, fact->name, work->arena),
                                   .kind = rule->kind,
                                   .why = rule->why };
        item.severity = drift_severity_of (item.fact, &item.order);
        drift_numbers_judge (work, numbers, work->table.hosts_n, rule, false, &item);
    }
    return all;
}

static const struct text near_zero = TEXT_LIT ("near 0"), clock_fact = TEXT_LIT ("fact clock.offset_ms");

/* As a sentence, so that those who are off by about as much are told together. Who told no number told nothing of it. */
static struct text off_zero (struct text shown, struct text value, double least, struct arena *arena)
{
    double number;
    if (!drift_parse_number (value, &number))
        return TEXT_LIT (FACT_NOT_REPORTED);
    if (fabs (number) < least)
        return near_zero;
    if (text_equal (shown, clock_fact))
        return text_format (arena, "its clock is %s", OFFSET_TEXT ((int64_t) fmax (fmin (number, 1e15), -1e15)));
    return text_format (arena, "%.*s is %.*s, which should be near 0", TEXT_ARG (shown), TEXT_ARG (value));
}

/* Each host by itself: all of them can be wrong. */
static void judge_near_zero (struct drift_comparison *work, struct drift_fact *fact, const struct drift_rule *rule,
                             struct text shown)
{
    struct drift_item item = { .fact = shown, .kind = rule->kind, .verdict = DRIFT_NOT_ZERO, .why = rule->why };
    const struct drift_value *reference = NULL;
    uint32_t most = 0;
    double low = INFINITY, high = -INFINITY, number;
    for (uint32_t v = 0; v < fact->values_n; v++) {
        bool off = drift_parse_number (fact->values[v].text, &number) && fabs (number) >= rule->least;
        low = off ? fmin (low, number) : low;
        high = off ? fmax (high, number) : high;
        fact->values[v].text = off_zero (shown, fact->values[v].text, rule->least, work->arena);
    }
    join_equal (work, fact, false);
    for (const struct drift_value *value = fact->values; value < fact->values + fact->values_n; value++) {
        bool near = text_equal (value->text, near_zero), off = !near && !text_is (value->text, FACT_NOT_REPORTED);
        reference = near ? value : reference;
        item.deviating += off ? value->hosts_n : 0;
        most = off && value->hosts_n > most ? value->hosts_n : most;
    }
    if (most == 0)
        return;
    fact->absent_n = 0;
    item.settled = reference && reference->hosts_n >= item.deviating;
    item.severity = drift_severity_of (shown, &item.order);
    if (text_equal (shown, clock_fact))
        item.next = 2 * (high - low < rule->least ? item.deviating : most) > work->table.hosts_n
                        ? TEXT_LIT ("most hosts are off by as much, so look at the coordinator's clock first")
                        : TEXT_LIT ("see why nothing sets its clock: chronyc tracking, or timedatectl");
    make_groups (work, fact, reference, false, &item);
    work->out->findings++;
    *drift_add_item (work) = item;
}

/* Each host's value is that of all others, but for its own name or its rank in a path. */
static bool differs_by_place (const struct drift_comparison *work, const struct drift_fact *fact,
                              const struct drift_rule *rule)
{
    bool flags = fact->section == SECTION_POLICY || fact->section == SECTION_LAUNCHED ||
                 (fact->section == SECTION_FACT && text_starts (fact->name, "env."));
    LOCAL_ARENA arena = { 0 };
    struct text first = { 0 };
    bool same = flags && fact->values_n > 1 && !fact->absent_n;
    for (uint32_t v = 0, n = 0; same && v < fact->values_n; v++) {
        const struct drift_value *value = &fact->values[v];
        bool heard = !text_is (value->text, FACT_NOT_REPORTED);
        for (uint32_t i = 0; same && heard && i < value->hosts_n; i++) {
            uint32_t host = value->hosts[i];
            struct text plain = drift_without_place (value->text, work->hosts.names[host],
                                                     work->hosts.receipts[host]->rank, &arena);
            if (rule->kind == DRIFT_TOKENS)
                plain = flag_set_normalise (plain, &arena);
            same = n++ == 0 || text_equal (plain, first);
            first = plain;
        }
    }
    return same;
}

static struct text pin_of (const struct drift_comparison *work, const struct drift_fact *fact)
{
    const struct requirements *pins = fact->section == SECTION_BUNDLE ? work->query->pins : NULL;
    const struct requirement *pin = pins ? LIST_FIND (*pins, struct requirement, name, fact->name) : NULL;
    return pin && !pin->marker.len ? pin->version : (struct text){ 0 }; /* with a marker it is that of some hosts */
}

static void add_candidate (struct candidates *list, struct drift_fact *fact, const struct drift_rule *rule,
                           struct text pinned, struct text shown)
{
    uint32_t largest = largest_of (fact)->hosts_n, absent = fact->absent_n, all = fact->hosts_n + absent;
    struct compared_fact *candidate = &list->items[list->n++];
    if (absent > largest)
        largest = absent;
    *candidate = (struct compared_fact){ .fact = fact,
                                         .rule = rule,
                                         .pinned = pinned,
                                         .settled = 2 * largest >= all,
                                         .deviating = all - largest,
                                         .shown = shown };
    candidate->severity = drift_severity_of (shown, &candidate->order);
    /* A few hosts may lack a fact only because a step failed, which other facts say: such findings come later. */
    candidate->order += !pinned.len + 2 * (fact->section == SECTION_PACKAGE && absent) +
                        (fact->values_n == 1 && absent && absent < largest && !pinned.len ? DRIFT_ORDER_ABSENT : 0);
}

static void sort_out (struct drift_comparison *work, struct drift_fact *fact, struct candidates *list)
{
    const struct drift_rule unheard = {
        .kind = DRIFT_EXPECTED, .why = TEXT_LIT ("some host did not report this in time: whether it differs is unknown")
    };
    const struct drift_rule of_place = {
        .kind = DRIFT_EXPECTED, .why = TEXT_LIT ("each host has its own name or rank in it, and else the same")
    };
    bool equal = fact->values_n == 1 && !fact->absent_n;
    struct text pinned = pin_of (work, fact);
    struct text shown = drift_fact_label (fact->section, fact->name, work->arena);
    const struct drift_rule *rule = drift_rule_of (work->query, shown, 1);
    work->out->compared++;
    if (rule->kind == DRIFT_NEAR_ZERO)
        judge_near_zero (work, fact, rule, shown);
    else if ((equal && !pinned.len) || text_starts (fact->name, DRIFT_OF_LINK))
        return;
    else if (rule->kind == DRIFT_IGNORED)
        work->out->ignored++;
    else if (rule->kind == DRIFT_EXPECTED && !equal)
        list_expected (work, fact, rule);
    else if (only_unheard (fact) && (!pinned.len || value_pinned (fact, pinned)))
        list_expected (work, fact, &unheard);
    else if (!pinned.len && differs_by_place (work, fact, rule))
        list_expected (work, fact, &of_place);
    else if (rule->kind != DRIFT_TOLERANCE || !judge_number (work, fact, rule)) {
        if (rule->kind == DRIFT_TOKENS)
            join_equal (work, fact, true);
        bool held = pinned.len && rule->kind == DRIFT_PINNED;
        bool as_pinned = held && text_equal (fact->values[0].text, pinned);
        if (values_received (fact) > 1 || fact->absent_n || (held && !as_pinned))
            add_candidate (list, fact, rule, held ? pinned : (struct text){ 0 }, shown);
    }
}

/* ---- which hosts the others are held against: the largest group that agrees in everything ---- */

/* One number a host: equal for hosts that say the same of every settled fact. A fact of which no value is held by half
 * of the hosts decides nothing, or a serial number would make every host a group of its own. Nothing is added for the
 * fact's first value: hosts of which nothing of its kind is known agree with it. Something is added for not saying it:
 * to all that tell of its kind, and taken from those that say it, which are all that is walked over. */
static uint64_t *signatures (const struct drift_comparison *work, const struct compared_fact *candidates, uint32_t n)
{
    const struct drift_table *table = &work->table;
    uint64_t *of = arena_array (work->arena, table->hosts_n, sizeof (*of)), of_tellers[SECTION_N] = { 0 };
    for (uint32_t c = 0; c < n; c++) {
        const struct drift_fact *fact = candidates[c].fact;
        if (!candidates[c].settled)
            continue;
        uint64_t absent = fact->absent_n ? drift_hash_number (fact->values->fact_hash) : 0;
        of_tellers[fact->section] += absent;
        for (uint32_t v = 0; v < fact->values_n; v++)
            for (uint32_t i = 0; i < fact->values[v].hosts_n; i++)
                of[fact->values[v].hosts[i]] += (v ? drift_hash_number (fact->values[v].hash) : 0) - absent;
    }
    for (int section = 0; section < SECTION_N; section++)
        for (uint32_t host = 0; host < table->hosts_n; host++)
            of[host] += table->tells[section][host] ? of_tellers[section] : 0;
    return of;
}

/* Hosts that told nothing at all, or nothing of what most told, agree with nobody. */
static bool *eligible (const struct drift_comparison *work)
{
    const struct drift *out = work->out;
    bool *may = arena_array (work->arena, out->hosts_n, sizeof (*may));
    for (uint32_t i = 0; i < out->hosts_n; i++)
        may[i] = true;
    for (uint32_t i = 0; i < out->silent_n; i++)
        may[out->silent[i]] = false;
    for (uint32_t s = 0; s < out->silences_n; s++)
        for (uint32_t i = 0; i < out->silences[s].hosts_n; i++)
            may[out->silences[s].hosts[i]] = false;
    return may;
}

struct signed_host {
    uint64_t signature;
    uint32_t host;
};

static int by_signature (const void *a, const void *b)
{
    const struct signed_host *x = a, *y = b;
    int order = order_u64 (x->signature, y->signature);
    return order ? order : order_u64 (x->host, y->host);
}

static struct signed_host *sorted_hosts (struct drift_comparison *work, const uint64_t *of, uint32_t *n)
{
    struct signed_host *hosts = arena_array (work->arena, work->out->hosts_n, sizeof (*hosts));
    const bool *may = eligible (work);
    for (uint32_t i = 0; i < work->out->hosts_n; i++)
        if (may[i])
            hosts[(*n)++] = (struct signed_host){ of[i], i };
    sort_items (hosts, *n, sizeof (*hosts), by_signature);
    return hosts;
}

static void choose_reference (struct drift_comparison *work, const struct compared_fact *candidates, uint32_t n)
{
    struct drift *out = work->out;
    uint32_t hosts_n = 0, best = 0;
    const struct signed_host *hosts = sorted_hosts (work, signatures (work, candidates, n), &hosts_n);
    for (uint32_t from = 0, to = 0; from < hosts_n; from = to) {
        while (to < hosts_n && hosts[to].signature == hosts[from].signature)
            to++;
        if (to - from < out->reference_n)
            continue;
        out->tie = to - from == out->reference_n;
        if (!out->tie || hosts[from].host < hosts[best].host)
            best = from;
        out->reference_n = to - from;
    }
    out->reference = arena_array (work->arena, out->reference_n, sizeof (uint32_t));
    for (uint32_t i = 0; i < out->reference_n; i++)
        out->reference[i] = hosts[best + i].host;
}

/* ---- all facts ---- */

static int worst_fact_first (const void *a, const void *b)
{
    const struct compared_fact *x = a, *y = b;
    int order = order_u64 (x->severity, y->severity);
    order = order ? order : order_u64 (x->order, y->order);
    order = order ? order : order_u64 (x->deviating, y->deviating);
    return order ? order : text_compare (x->shown, y->shown);
}

void drift_facts_judge (struct drift_comparison *work)
{
    struct candidates list = { arena_array (work->arena, work->table.facts_n, sizeof (struct compared_fact)), 0 };
    for (uint32_t i = 0; i < work->table.facts_n; i++)
        sort_out (work, &work->table.facts[i], &list);
    choose_reference (work, list.items, list.n);
    sort_items (list.items, list.n, sizeof (*list.items), worst_fact_first);
    for (uint32_t i = 0; i < list.n; i++) {
        if (i >= DRIFT_ITEMS_MAX)
            work->out->left_out++;
        else
            add_finding (work, &list.items[i]);
    }
}
