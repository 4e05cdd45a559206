/* drift_numbers.c - numbers that should be near one another: median and MAD, which one slow host of four cannot move.
 *
 * A number is an outlier when its modified z-score, 0.6745 (x - median) / MAD, is past 3.5 (Iglewicz and Hoaglin, How
 * to Detect and Handle Outliers, ASQC 1993) and it is far enough to matter, relatively and absolutely: among near
 * equals the score alone would cry over milliseconds. With a MAD of 0 (more than half equal) the effects decide. */
#include "coordinator/receipt/drift_private.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double consistency = 0.6745, score_limit = 3.5;

static int by_size (const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

double drift_median (double *numbers, uint32_t n)
{
    qsort (numbers, n, sizeof (*numbers), by_size);
    return n % 2 ? numbers[n / 2] : numbers[n / 2 - 1] + (numbers[n / 2] - numbers[n / 2 - 1]) / 2;
}

bool drift_number_matters (double number, double from, const struct drift_rule *rule, bool above_only)
{
    double distance = number - from;
    return (distance > 0 || !above_only) && fabs (distance) > rule->tolerance * fabs (from) &&
           fabs (distance) >= rule->least && distance != 0;
}

static bool stands_out (const struct drift_comparison *work, double number, double median,
                        const struct drift_rule *rule, bool above_only)
{
    const struct drift_rule *other = drift_rule_beside (work->query, rule);
    return drift_number_matters (number, median, rule, above_only) ||
           (other && drift_number_matters (number, median, other, above_only));
}

static bool is_outlier (const struct drift_comparison *work, double number, const struct drift_item *item,
                        const struct drift_rule *rule, bool above_only)
{
    if (!stands_out (work, number, item->median, rule, above_only))
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
    double *sorted = mem_array (n, sizeof (*sorted));
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
    mem_free (sorted);
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
        differ = !isnan (numbers[i]) && stands_out (work, numbers[i], item->median, rule, above_only);
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
    struct outlier *outliers = mem_array (n, sizeof (*outliers));
    for (uint32_t i = 0; i < n; i++)
        if (!isnan (numbers[i]) && is_outlier (work, numbers[i], item, rule, above_only))
            outliers[outliers_n++] = (struct outlier){ numbers[i], i };
    if (outliers_n) {
        group_outliers (work, numbers, n, outliers, outliers_n, item);
        item->verdict = DRIFT_OUTLIER;
        item->settled = true;
        work->out->findings++;
        *drift_add_item (work) = *item;
    }
    mem_free (outliers);
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
