/* drift_duplicates.c - hosts of one run that have the same place in it. A plan has no two such hosts; files that were
 * merged can have them, and so have hosts of two slices. */
#include "coordinator/receipt/drift_private.h"

#include <stdlib.h>

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

static bool same_place (const struct place *a, const struct place *b)
{
    return text_equal (a->run, b->run) && text_equal (a->number, b->number);
}

/* Those from `places` on that share a place. Several receipts of one host are a conflict, and nothing else. */
static uint32_t add_shared (struct drift_comparison *work, struct text fact, const struct place *places, uint32_t n)
{
    uint32_t alike = 1, hosts_n = 0, others = 0;
    while (alike < n && same_place (&places[0], &places[alike]))
        alike++;
    for (uint32_t i = 1; i < alike; i++)
        others += !text_equal (places[i].name, places[0].name);
    if (others == 0)
        return alike;
    uint32_t *hosts = arena_array (work->arena, alike, sizeof (*hosts));
    for (uint32_t i = 0; i < alike; i++)
        hosts[hosts_n++] = places[i].host;
    struct text number = text_clip (places->number, 64);
    drift_add_impossible (work, fact,
                          text_format (work->arena, "they have the same %s: %.*s",
                                       text_is (fact, "rank") ? "rank" : "TPU worker number", TEXT_ARG (number)),
                          TEXT_LIT ("see whether receipts of two slices were merged, or the number was set by hand"),
                          hosts, hosts_n);
    return alike;
}

static void judge (struct drift_comparison *work, const char *fact, struct place *places, uint32_t n)
{
    if (n)
        qsort (places, n, sizeof (*places), by_place);
    for (uint32_t i = 0; i < n;)
        i += add_shared (work, text_of (fact), &places[i], n - i);
}

static bool is_found_already (const struct drift_comparison *work)
{
    const struct topology_findings *found = work->query->topology;
    for (uint32_t i = 0; found && i < found->n; i++)
        if (text_is (found->items[i].fact, "tpu.worker_id"))
            return true;
    return false;
}

void drift_duplicates_judge (struct drift_comparison *work)
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
        if (text_to_u64 (said, &number))
            numbers[numbers_n++] = (struct place){ host->run, said, host->host, i };
    }
    judge (work, "rank", ranks, ranks_n);
    if (!is_found_already (work))
        judge (work, "tpu.worker_id", numbers, numbers_n);
}
