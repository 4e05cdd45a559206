/* drift_measures.c - findings from what was measured: how long each rung, pass and phase took, and how much memory.
 *
 * Compared are hosts that passed and did the same thing: in a cold pass the cache's writer compiles what others do not,
 * and who was served from the cache did not do what one did who was not. */
#include "coordinator/story/drift_private.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers that should be near one another: median and MAD, which one slow host of four cannot move ----
 *
 * A number is an outlier when its modified z-score, 0.6745 (x - median) / MAD, is past 3.5 (Iglewicz and Hoaglin, How
 * to Detect and Handle Outliers, ASQC 1993) and it is far enough to matter, relatively and absolutely: among near
 * equals the score alone would cry over milliseconds. With a MAD of 0 (more than half equal) the effects decide. */

static const double consistency = 0.6745, score_limit = 3.5;

static int drift_measures_by_size (const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

double drift_median (double *numbers, uint32_t n)
{
    qsort (numbers, n, sizeof (*numbers), drift_measures_by_size);
    return n % 2 ? numbers[n / 2] : numbers[n / 2 - 1] + (numbers[n / 2] - numbers[n / 2 - 1]) / 2;
}

bool drift_number_matters (double number, double from, const struct drift_rule *rule, bool above_only)
{
    double distance = number - from, smaller = fmin (fabs (number), fabs (from));
    return (distance > 0 ? !rule->rate : !above_only) && fabs (distance) >= rule->tolerance * smaller &&
           fabs (distance) >= rule->least && distance != 0;
}

static bool is_outlier (double number, const struct drift_item *item, const struct drift_rule *rule, bool above_only)
{
    if (!drift_number_matters (number, item->median, rule, above_only))
        return false;
    return item->spread == 0 || consistency * fabs (number - item->median) / item->spread > score_limit;
}

struct outlier {
    double number;
    uint32_t host;
};

static int farthest_first (const void *a, const void *b, void *median)
{
    const struct outlier *x = a, *y = b;
    double dx = fabs (x->number - *(double *) median), dy = fabs (y->number - *(double *) median);
    if (dx != dy)
        return dx < dy ? 1 : -1;
    return (x->host > y->host) - (x->host < y->host);
}

/* Not from the arena: a receipt may hold as many measures as bytes, and only what is found is kept. */
static void measure (const double *numbers, uint32_t n, struct drift_item *item)
{
    LOCAL_MEM double *sorted = mem_array (n, sizeof (*sorted));
    item->measured = 0;
    for (uint32_t i = 0; i < n; i++)
        if (!isnan (numbers[i]))
            sorted[item->measured++] = numbers[i];
    if (item->measured) {
        item->median = drift_median (sorted, item->measured);
        for (uint32_t i = 0; i < item->measured; i++)
            sorted[i] = fabs (sorted[i] - item->median);
        item->spread = drift_median (sorted, item->measured);
    }
}

static void add_single (struct drift_comparison *work, double number, uint32_t host, struct drift_item *item)
{
    item->groups[item->groups_n++] = (struct drift_group){ .number = number,
                                                           .value = text_format (work->arena, "%.15g", number),
                                                           .hosts = arena_copy (work->arena, &host, sizeof (host)),
                                                           .hosts_n = 1 };
}

/* Outliers, the farthest first, each by itself; then everybody else, who stand for the median. */
static void group_outliers (struct drift_comparison *work, const double *numbers, uint32_t n, struct outlier *outliers,
                            uint32_t outliers_n, struct drift_item *item)
{
    struct drift_group rest = { .reference = true, .number = item->median };
    bool *out = arena_array (work->arena, n, sizeof (*out));
    qsort_r (outliers, outliers_n, sizeof (*outliers), farthest_first, &item->median);
    item->groups = arena_array (work->arena, (size_t) outliers_n + 1, sizeof (*item->groups));
    rest.hosts = arena_array (work->arena, item->measured, sizeof (uint32_t));
    for (uint32_t i = 0; i < outliers_n; i++)
        out[outliers[i].host] = true;
    for (uint32_t i = 0; i < n; i++)
        if (!isnan (numbers[i]) && !out[i])
            rest.hosts[rest.hosts_n++] = i;
    rest.value = text_format (work->arena, "%.15g", item->median);
    if (rest.hosts_n)
        item->groups[item->groups_n++] = rest;
    for (uint32_t i = 0; i < outliers_n; i++)
        add_single (work, outliers[i].number, outliers[i].host, item);
    item->deviating = outliers_n;
    item->size = drift_times (outliers[0].number, item->median);
}

static void count_too_few (struct drift_comparison *work, const double *numbers, uint32_t n,
                           const struct drift_rule *rule, bool above_only, struct drift_item *item)
{
    bool differ = false;
    for (uint32_t i = 0; i < n && !differ; i++)
        differ = !isnan (numbers[i]) && drift_number_matters (numbers[i], item->median, rule, above_only);
    if (!differ)
        return;
    work->out->too_few++;
    if (!work->query->all || work->out->n - work->out->findings >= DRIFT_ITEMS_MAX)
        return;
    item->verdict = DRIFT_TOO_FEW;
    item->groups = arena_array (work->arena, item->measured, sizeof (*item->groups));
    for (uint32_t i = 0; i < n; i++)
        if (!isnan (numbers[i]))
            add_single (work, numbers[i], i, item);
    *drift_add_item (work) = *item;
}

void drift_numbers_judge (struct drift_comparison *work, const double *numbers, uint32_t n,
                          const struct drift_rule *rule, bool above_only, struct drift_item *item)
{
    uint32_t outliers_n = 0;
    measure (numbers, n, item);
    if (item->measured < DRIFT_FEW) {
        count_too_few (work, numbers, n, rule, above_only, item);
        return;
    }
    LOCAL_MEM struct outlier *outliers = mem_array (n, sizeof (*outliers));
    for (uint32_t i = 0; i < n; i++)
        if (!isnan (numbers[i]) && is_outlier (numbers[i], item, rule, above_only))
            outliers[outliers_n++] = (struct outlier){ numbers[i], i };
    if (outliers_n) {
        group_outliers (work, numbers, n, outliers, outliers_n, item);
        item->verdict = DRIFT_OUTLIER;
        item->settled = true;
        work->out->findings++;
        *drift_add_item (work) = *item;
    }
}

double drift_times (double number, double usual)
{
    double least = fmin (fabs (number), fabs (usual)), most = fmax (fabs (number), fabs (usual));
    return least > 0 ? most / least : most > 0 ? DBL_MAX : 1;
}

bool drift_parse_number (struct text text, double *number)
{
    char copy[64], *end;
    if (text.len == 0 || !text_to_c (text, copy, sizeof (copy)) || !strchr ("+-.0123456789", copy[0]))
        return false;
    *number = strtod (copy, &end);
    return end != copy && isfinite (*number) && (*end == '\0' || *end == ' ');
}

/* ---- what was measured ---- */

static void add_measure (struct drift_measures *list, const struct drift_measure *measure)
{
    list->items = mem_room (list->items, list->n, &list->capacity, 256, sizeof (*list->items));
    list->items[list->n++] = *measure;
}

static uint64_t counter_of (const struct rung_receipt *rung, const char *name)
{
    const struct named_number *counter = number_find (&rung->counters, text_of (name));
    return counter ? counter->value + 1 : 0;
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
    hash = drift_hash_number (hash + text_is (rung->interpreter, "copied")); /* which is spared the imports */
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
        enum drift_kind kind = drift_rule_of (work->query, fact, 1)->kind;
        *known = (struct drift_exempt_phase){ key, kind == DRIFT_EXPECTED || kind == DRIFT_IGNORED };
    }
    return known->differs;
}

/* The first step is not measured. */
static void add_steps (struct drift_measures *list, const struct rung_receipt *rung, struct drift_measure measure)
{
    static const char *const counters[] = { [MEASURE_STEP_OWN] = "step_own_ms", [MEASURE_STEP] = "step_ms" };
    uint64_t steps = counter_of (rung, "steps");
    measure.repeats = steps > 2 ? steps - 2 : 0;
    for (measure.kind = MEASURE_STEP_OWN; measure.kind <= MEASURE_STEP; measure.kind++) {
        uint64_t told = counter_of (rung, counters[measure.kind]);
        measure.number = (double) told - 1;
        if (told)
            add_measure (list, &measure);
    }
}

static void drift_measures_add_attempt (struct drift_comparison *work, const struct rung_receipt *rung, uint32_t host,
                                        bool writer, struct drift_measures *list)
{
    struct drift_measure measure = {
        .rung = rung->rung, .pass = rung->pass, .doing = doing (rung, writer), .host = host
    };
    add_steps (list, rung, measure);
    measure.kind = MEASURE_DURATION;
    measure.repeats = 1;
    double whole = (double) rung->duration_ms;
    for (uint32_t i = 0; i < rung->phases.n; i++) {
        measure.phase = rung->phases.items[i].name;
        measure.number = (double) rung->phases.items[i].value;
        if (measure.phase.len && differs_by_nature (work, &measure))
            whole -= measure.number;
        else if (measure.phase.len && (rung->phase.len || !text_is (measure.phase, "run"))) /* else it is the rung */
            add_measure (list, &measure);
    }
    measure.phase = (struct text){ 0 };
    measure.number = whole > 0 ? whole : 0;
    if (rung->duration_ms)
        add_measure (list, &measure);
    measure.kind = MEASURE_MEMORY;
    measure.number = (double) rung->memory.peak_bytes;
    if (rung->memory.peak_bytes)
        add_measure (list, &measure);
    measure.kind = MEASURE_DEVICE_MEMORY;
    measure.number = (double) rung->memory.device_peak_bytes;
    if (rung->memory.device_peak_bytes)
        add_measure (list, &measure);
}

/* Measures of one kind, in a chain of their indices. */
enum { ALIKE_MAX = 128 };
struct alike {
    const struct drift_measure *like;
    uint32_t first, last;
};

int drift_measure_compare (const struct drift_measure *x, const struct drift_measure *y)
{
    int order = text_compare (x->rung, y->rung);
    order = order ? order : order_u64 (x->pass, y->pass);
    order = order ? order : order_u64 (x->doing, y->doing);
    order = order ? order : order_u64 (x->kind, y->kind);
    return order ? order : text_compare (y->phase, x->phase); /* phases before the whole, which has none */
}

static int by_what (const void *a, const void *b)
{
    const struct drift_measure *x = a, *y = b;
    int order = drift_measure_compare (x, y);
    return order ? order : (x->host > y->host) - (x->host < y->host);
}

static int by_like (const void *a, const void *b)
{
    return drift_measure_compare (((const struct alike *) a)->like, ((const struct alike *) b)->like);
}

/* Hosts come in order and measure much the same, one after the other: each is looked for behind the one before it.
 * Returns how many kinds there are; ALIKE_MAX: too many to look through. */
static uint32_t chain_alike (const struct drift_measures *list, struct alike *all, uint32_t *next)
{
    uint32_t n = 0, at = 0;
    for (uint32_t i = 0; i < list->n && n < ALIKE_MAX; i++) {
        uint32_t tried = 0;
        for (at = at + 1 < n ? at + 1 : 0; tried < n && drift_measure_compare (all[at].like, &list->items[i]); tried++)
            at = at + 1 < n ? at + 1 : 0;
        if (tried == n)
            all[at = n++] = (struct alike){ &list->items[i], i, i };
        next[all[at].last] = i;
        all[at].last = i;
    }
    return n;
}

static void sort_by_what (struct drift_measures *list)
{
    struct alike all[ALIKE_MAX];
    LOCAL_MEM uint32_t *next = mem_array (list->n, sizeof *next);
    uint32_t n = chain_alike (list, all, next);
    if (n == ALIKE_MAX) {
        sort_items (list->items, list->n, sizeof *list->items, by_what);
        return;
    }
    sort_items (all, n, sizeof *all, by_like);
    for (uint32_t i = 0, place = 0, k, then; i < n; i++)
        for (k = all[i].first, then = next[k];; k = then, then = next[k]) {
            next[k] = place++; /* where it belongs, now */
            if (k == all[i].last)
                break;
        }
    for (uint32_t i = 0; i < list->n; i++)
        for (uint32_t to; (to = next[i]) != i; next[to] = to) {
            struct drift_measure one = list->items[to];
            list->items[to] = list->items[i];
            list->items[i] = one;
            next[i] = next[to];
        }
}

struct text drift_measure_label (const struct drift_measure *measure, struct arena *arena)
{
    static const char *const words[] = { "step own", "step", "duration", "memory", "memory device" };
    const char *pass = measure->pass == PASS_ONCE ? "" : enum_name_of (&pass_names, measure->pass);
    return text_format (arena, "%s %.*s%s%s%s%.*s", words[measure->kind], TEXT_ARG (measure->rung), pass[0] ? ":" : "",
                        pass, measure->phase.len ? "/" : "", TEXT_ARG (measure->phase));
}

/* A host that was slow in a phase was slow in the whole rung as well, and one whose steps were, while it ran: it is
 * reported once. */
enum { SLOW_IN_PHASE = 1, SLOW_IN_STEP };

static void drop_explained (double *numbers, const struct drift_measure *of, const uint8_t *slow, uint32_t n)
{
    bool run = text_is (of->phase, "run"), explained = of->kind <= MEASURE_DURATION && (run || !of->phase.len);
    for (uint32_t i = 0; i < n && explained; i++)
        if (slow[i] >= (run ? SLOW_IN_STEP : SLOW_IN_PHASE))
            numbers[i] = NAN;
}

static uint64_t fewest_repeats (const struct drift_measure *measures, uint32_t n)
{
    uint64_t fewest = measures->repeats;
    for (uint32_t i = 1; i < n; i++)
        fewest = measures[i].repeats < fewest ? measures[i].repeats : fewest;
    return fewest;
}

static void judge_alike (struct drift_comparison *work, const struct drift_measure *measures, uint32_t n, uint8_t *slow)
{
    uint32_t hosts = work->hosts.n, findings = work->out->findings;
    struct drift_item item = { .fact = drift_measure_label (measures, work->arena),
                               .rung = measures->rung,
                               .phase = measures->phase,
                               .pass = measures->pass };
    const struct drift_rule *rule = drift_rule_of (work->query, item.fact, fewest_repeats (measures, n));
    work->out->compared++;
    if (rule->kind != DRIFT_TOLERANCE || n < 2)
        return;
    LOCAL_MEM double *numbers = mem_array (hosts, sizeof (*numbers));
    for (uint32_t i = 0; i < hosts; i++)
        numbers[i] = NAN;
    for (uint32_t i = 0; i < n; i++)
        numbers[measures[i].host] = measures[i].number;
    drop_explained (numbers, measures, slow, hosts);
    item.kind = rule->kind;
    item.why = rule->why;
    item.severity = drift_severity_of (item.fact, &item.order);
    drift_numbers_judge (work, numbers, hosts, rule, true, &item);
    if (work->out->findings == findings || measures->kind > MEASURE_DURATION)
        return;
    const struct drift_item *found = &work->out->items[work->out->n - 1];
    for (uint32_t g = 0; g < found->groups_n; g++)
        if (!found->groups[g].reference)
            slow[found->groups[g].hosts[0]] |= measures->kind < MEASURE_DURATION ? SLOW_IN_STEP : SLOW_IN_PHASE;
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
                drift_measures_add_attempt (work, rung, i, writer, list);
    }
    sort_by_what (list);
}

uint32_t drift_measures_count_alike (const struct drift_measures *list, uint32_t from)
{
    uint32_t to = from;
    while (to < list->n && drift_measure_compare (&list->items[to], &list->items[from]) == 0)
        to++;
    return to - from;
}

/* The next rung of any host, by name; false: there is none. */
static bool next_rung (const struct drift_comparison *work, struct text *rung)
{
    struct text next = { 0 };
    for (uint32_t i = 0; i < work->hosts.n; i++)
        for (uint32_t k = 0; work->hosts.receipts[i] && k < work->hosts.receipts[i]->rungs.n; k++) {
            struct text name = work->hosts.receipts[i]->rungs.items[k]->rung;
            if (text_compare (name, *rung) > 0 && (next.len == 0 || text_compare (name, next) < 0))
                next = name;
        }
    *rung = next;
    return next.len > 0;
}

static void judge_rung (struct drift_comparison *work, const struct drift_measures *list, uint8_t *slow)
{
    for (uint32_t from = 0, n; from < list->n && work->out->findings < 2 * DRIFT_ITEMS_MAX; from += n) {
        if (from == 0 || list->items[from].pass != list->items[from - 1].pass ||
            list->items[from].doing != list->items[from - 1].doing)
            memset (slow, 0, work->hosts.n * sizeof (*slow));
        n = drift_measures_count_alike (list, from);
        judge_alike (work, list->items + from, n, slow);
    }
}

/* Rung by rung: of large slices all measures together are many times as many. */
void drift_measures_judge (struct drift_comparison *work, const struct slice_receipt *receipt)
{
    struct drift_query one = *work->query;
    const struct drift_query *asked = work->query;
    struct drift_measures list = { 0 };
    uint8_t *slow = arena_array (work->arena, work->hosts.n, sizeof (*slow));
    work->query = &one;
    for (one.rung = (struct text){ 0 }; next_rung (work, &one.rung); list.n = 0)
        if (asked->rung.len == 0 || text_equal (asked->rung, one.rung)) {
            drift_measures_collect (work, receipt, &list);
            judge_rung (work, &list, slow);
        }
    work->query = asked;
    mem_free (list.items);
}
