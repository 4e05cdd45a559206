/* drift_measures.c - findings from what was measured: how long each rung, pass and phase took, and how much memory.
 *
 * Compared are hosts that passed and did the same thing: in a cold pass the cache's writer compiles what others do not,
 * and who was served from the cache did not do what one did who was not. */
#include "coordinator/receipt/drift_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add (struct drift_measures *list, const struct drift_measure *measure, struct arena *arena)
{
    if (list->n == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 256;
        struct drift_measure *items = arena_array (arena, list->capacity, sizeof (*items));
        if (list->n)
            memcpy (items, list->items, list->n * sizeof (*items));
        list->items = items;
    }
    list->items[list->n++] = *measure;
}

static uint64_t counter_of (const struct rung_receipt *rung, const char *name)
{
    for (uint32_t i = 0; i < rung->counters.n; i++)
        if (text_is (rung->counters.items[i].name, name))
            return rung->counters.items[i].value + 1;
    return 0;
}

static bool is_writer (const struct slice_receipt *receipt, const struct host_receipt *host)
{
    for (uint32_t i = 0; i < receipt->headers.n; i++)
        if (text_equal (receipt->headers.items[i].run, host->run) &&
            text_equal (receipt->headers.items[i].cache_writer, host->host))
            return true;
    for (uint32_t i = 0; i < receipt->generations.n; i++)
        if (text_equal (receipt->generations.items[i].run, host->run) &&
            text_equal (receipt->generations.items[i].writer, host->host))
            return true;
    return false;
}

static uint64_t doing (const struct rung_receipt *rung, bool writer)
{
    uint64_t hash = drift_hash (rung->cache, rung->pass == PASS_COLD && writer);
    hash = drift_hash_number (hash + counter_of (rung, "compile_requests"));
    return drift_hash_number (hash + counter_of (rung, "cache_hits"));
}

/* Phases that one host runs for all, as building a shared environment, are no part of how long it took. */
static bool differs_by_nature (struct drift_comparison *work, const struct drift_measure *measure)
{
    uint64_t key = drift_hash (measure->phase, drift_hash (measure->rung, measure->pass)) | 1;
    struct drift_exempt_phase *known = &work->phases[key % DRIFT_PHASES_KNOWN];
    if (known->key != key) {
        struct text fact = drift_measure_label (measure, work->arena);
        enum drift_kind kind = drift_rule_of (work->query, fact)->kind;
        *known = (struct drift_exempt_phase){ key, kind == DRIFT_EXPECTED || kind == DRIFT_IGNORED };
    }
    return known->differs;
}

static void add_attempt (struct drift_comparison *work, const struct rung_receipt *rung, uint32_t host, bool writer,
                         struct drift_measures *list)
{
    struct drift_measure measure = {
        .rung = rung->rung, .pass = rung->pass, .doing = doing (rung, writer), .host = host
    };
    double whole = (double) rung->duration_ms;
    for (uint32_t i = 0; i < rung->phases.n; i++) {
        measure.phase = rung->phases.items[i].name;
        measure.number = (double) rung->phases.items[i].value;
        if (measure.phase.len && differs_by_nature (work, &measure))
            whole -= measure.number;
        else if (measure.phase.len)
            add (list, &measure, work->arena);
    }
    measure.phase = (struct text){ 0 };
    measure.number = whole > 0 ? whole : 0;
    if (rung->duration_ms)
        add (list, &measure, work->arena);
    measure.kind = MEASURE_MEMORY;
    measure.number = (double) rung->memory.peak_bytes;
    if (rung->memory.peak_bytes)
        add (list, &measure, work->arena);
    measure.kind = MEASURE_DEVICE_MEMORY;
    measure.number = (double) rung->memory.device_peak_bytes;
    if (rung->memory.device_peak_bytes)
        add (list, &measure, work->arena);
}

int drift_measure_compare (const struct drift_measure *x, const struct drift_measure *y)
{
    int order = text_compare (x->rung, y->rung);
    if (order == 0)
        order = (x->pass > y->pass) - (x->pass < y->pass);
    if (order == 0)
        order = (x->doing > y->doing) - (x->doing < y->doing);
    if (order == 0)
        order = (x->kind > y->kind) - (x->kind < y->kind);
    if (order == 0)
        order = text_compare (y->phase, x->phase); /* phases before the whole, which has none */
    return order;
}

static int by_what (const void *a, const void *b)
{
    const struct drift_measure *x = a, *y = b;
    int order = drift_measure_compare (x, y);
    return order ? order : (x->host > y->host) - (x->host < y->host);
}

static bool same_work (const struct drift_measure *a, const struct drift_measure *b)
{
    return text_equal (a->rung, b->rung) && a->pass == b->pass && a->doing == b->doing;
}

struct text drift_measure_label (const struct drift_measure *measure, struct arena *arena)
{
    static const char *const words[] = { "duration", "memory", "memory device" };
    const char *pass = measure->pass == PASS_ONCE ? "" : enum_name_of (&pass_names, measure->pass);
    return text_format (arena, "%s %.*s%s%s%s%.*s", words[measure->kind], TEXT_ARG (measure->rung), pass[0] ? ":" : "",
                        pass, measure->phase.len ? "/" : "", TEXT_ARG (measure->phase));
}

/* A host that was slow in a phase was slow in the whole rung as well: it is reported once. */
static void drop_explained (double *numbers, const bool *explained, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (explained[i])
            numbers[i] = NAN;
}

static void judge (struct drift_comparison *work, const struct drift_measure *measures, uint32_t n, bool *slow)
{
    uint32_t hosts = work->hosts.n, findings = work->out->findings;
    struct drift_item item = { .fact = drift_measure_label (measures, work->arena),
                               .rung = measures->rung,
                               .phase = measures->phase,
                               .pass = measures->pass };
    const struct drift_rule *rule = drift_rule_of (work->query, item.fact);
    work->out->compared++;
    if (rule->kind != DRIFT_TOLERANCE || n < 2)
        return;
    double *numbers = mem_array (hosts, sizeof (*numbers));
    for (uint32_t i = 0; i < hosts; i++)
        numbers[i] = NAN;
    for (uint32_t i = 0; i < n; i++)
        numbers[measures[i].host] = measures[i].number;
    if (measures->kind == MEASURE_DURATION && measures->phase.len == 0)
        drop_explained (numbers, slow, hosts);
    item.kind = rule->kind;
    item.why = rule->why;
    item.severity = drift_severity_of (item.fact, &item.order);
    drift_numbers_judge (work, numbers, hosts, rule, true, &item);
    mem_free (numbers);
    if (work->out->findings == findings || measures->kind != MEASURE_DURATION)
        return;
    const struct drift_item *found = &work->out->items[work->out->n - 1];
    for (uint32_t g = 0; g < found->groups_n; g++)
        if (!found->groups[g].reference)
            slow[found->groups[g].hosts[0]] = true;
}

void drift_measures_collect (struct drift_comparison *work, const struct slice_receipt *receipt,
                             struct drift_measures *list)
{
    const struct rung_receipt *rung;
    for (uint32_t i = 0; i < work->hosts.n; i++) {
        const struct host_receipt *host = work->hosts.receipts[i];
        bool writer = host && host->rungs.n && is_writer (receipt, host);
        for (uint32_t at = 0; host && (rung = drift_attempt_next (host, work->query, &at, true));)
            if (rung->outcome == OUTCOME_PASSED)
                add_attempt (work, rung, i, writer, list);
    }
    if (list->n)
        qsort (list->items, list->n, sizeof (*list->items), by_what);
}

uint32_t drift_measures_count_alike (const struct drift_measures *list, uint32_t from)
{
    uint32_t to = from;
    while (to < list->n && drift_measure_compare (&list->items[to], &list->items[from]) == 0)
        to++;
    return to - from;
}

void drift_measures_judge (struct drift_comparison *work, const struct slice_receipt *receipt)
{
    struct drift_measures list = { 0 };
    drift_measures_collect (work, receipt, &list);
    bool *slow = arena_array (work->arena, work->hosts.n, sizeof (*slow));
    for (uint32_t from = 0, n; from < list.n && work->out->findings < 2 * DRIFT_ITEMS_MAX; from += n) {
        if (from == 0 || !same_work (&list.items[from], &list.items[from - 1]))
            memset (slow, 0, work->hosts.n * sizeof (*slow));
        n = drift_measures_count_alike (&list, from);
        judge (work, list.items + from, n, slow);
    }
}
