/* drift_links.c - which link between two hosts is slow, and which host all of whose links are.
 *
 * Of number.link.RANK_UNIT, told by both ends (worker/canaries/jax/links.py), larger is better. A host is held against the
 * others by its fastest link: one slow link leaves it fast, and one slow host leaves the others fast. Then the links are
 * held against one another, without those of hosts that were named. */
#include <math.h>
#include <string.h>

#include "coordinator/story/drift_private.h"

struct link {
    uint32_t a, b; /* hosts, a < b */
    double rate;
};
struct links {
    struct link *items;
    uint32_t n, capacity;
};

/* The host at the other end; DRIFT_NO_HOST: the fact is of no link, or in another unit. */
static uint32_t peer_of (const struct drift_fact *fact, const char *unit, const uint32_t *index, uint32_t ranks_n)
{
    struct text rest = fact->name, digits;
    uint64_t rank;
    text_skip (&rest, (uint32_t) strlen (DRIFT_OF_LINK));
    return text_cut (&rest, '_', &digits) && text_is (rest, unit) && text_to_u64 (digits, &rank) && rank < ranks_n
               ? index[rank]
               : DRIFT_NO_HOST;
}

/* Each once: as the first of its ends saw it. */
static void add_links (struct drift_comparison *work, const struct drift_value *value, uint32_t peer,
                       struct links *links)
{
    double rate;
    for (uint32_t i = 0; drift_parse_number (value->text, &rate) && i < value->hosts_n; i++) {
        if (value->hosts[i] >= peer)
            break;
        links->items = arena_room (work->arena, links->items, links->n, &links->capacity, 64, sizeof (*links->items));
        links->items[links->n++] = (struct link){ value->hosts[i], peer, rate };
    }
}

static void collect (struct drift_comparison *work, const char *unit, struct links *links)
{
    uint32_t ranks_n;
    const uint32_t *index = drift_index_of_rank (&work->hosts, work->arena, &ranks_n);
    for (uint32_t f = 0; f < work->table.facts_n; f++) {
        const struct drift_fact *fact = &work->table.facts[f];
        bool of_link = fact->section == SECTION_FACT && text_starts (fact->name, DRIFT_OF_LINK);
        uint32_t peer = of_link ? peer_of (fact, unit, index, ranks_n) : DRIFT_NO_HOST;
        for (uint32_t v = 0; peer != DRIFT_NO_HOST && v < fact->values_n; v++)
            add_links (work, &fact->values[v], peer, links);
    }
}

static struct drift_item item_of (struct drift_comparison *work, const char *what, const char *unit,
                                  const struct drift_rule **rule)
{
    struct drift_item item = { .fact = text_format (work->arena, "fact " DRIFT_OF_LINK "%s_%s", what, unit) };
    *rule = drift_rule_of (work->query, item.fact, 1);
    item.kind = (*rule)->kind;
    item.why = (*rule)->why;
    item.severity = drift_severity_of (item.fact, &item.order);
    return item;
}

/* named[host]: its fastest link is slower than those of others. */
static void judge_hosts (struct drift_comparison *work, const char *unit, const struct links *links, bool *named)
{
    const struct drift_rule *rule;
    struct drift_item item = item_of (work, "fastest", unit, &rule);
    double *fastest = arena_array (work->arena, work->hosts.n, sizeof (*fastest));
    for (uint32_t i = 0; i < work->hosts.n; i++)
        fastest[i] = NAN;
    for (uint32_t i = 0; i < links->n; i++) {
        const struct link *link = &links->items[i];
        fastest[link->a] = fmax (fastest[link->a], link->rate);
        fastest[link->b] = fmax (fastest[link->b], link->rate);
    }
    if (rule->kind == DRIFT_TOLERANCE)
        drift_numbers_judge (work, fastest, work->hosts.n, rule, false, &item);
    for (uint32_t g = 0; item.verdict == DRIFT_OUTLIER && g < item.groups_n; g++)
        for (uint32_t i = 0; !item.groups[g].reference && i < item.groups[g].hosts_n; i++)
            named[item.groups[g].hosts[i]] = true;
}

/* The groups have numbers of links: they become those of both ends, and of who has no slow link. */
static void put_ends (struct drift_comparison *work, const struct links *links, struct drift_item *item)
{
    bool *slow = arena_array (work->arena, work->hosts.n, sizeof (*slow));
    struct drift_group *rest = NULL;
    for (uint32_t g = 0; g < item->groups_n; g++) {
        struct drift_group *group = &item->groups[g];
        if (group->reference) {
            rest = group;
            continue;
        }
        const struct link *link = &links->items[group->hosts[0]];
        uint32_t ends[2] = { link->a, link->b };
        group->hosts = arena_copy (work->arena, ends, sizeof (ends));
        group->hosts_n = 2;
        slow[link->a] = slow[link->b] = true;
    }
    if (!rest) /* of too few links nobody is named */
        return;
    rest->hosts = arena_array (work->arena, work->hosts.n, sizeof (*rest->hosts));
    rest->hosts_n = 0;
    for (uint32_t i = 0; i < work->hosts.n; i++)
        if (!slow[i])
            rest->hosts[rest->hosts_n++] = i;
}

static void judge_links (struct drift_comparison *work, const char *unit, const struct links *links, const bool *named)
{
    const struct drift_rule *rule;
    uint32_t before = work->out->n;
    struct drift_item item = item_of (work, "between", unit, &rule);
    double *rates = arena_array (work->arena, links->n, sizeof (*rates));
    for (uint32_t i = 0; i < links->n; i++)
        rates[i] = named[links->items[i].a] || named[links->items[i].b] ? NAN : links->items[i].rate;
    if (rule->kind == DRIFT_TOLERANCE)
        drift_numbers_judge (work, rates, links->n, rule, false, &item);
    for (uint32_t i = before; i < work->out->n; i++)
        put_ends (work, links, &work->out->items[i]);
}

void drift_links_judge (struct drift_comparison *work)
{
    static const char *const units[] = { "gbs", "per_s" };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        struct links links = { 0 };
        bool *named = arena_array (work->arena, work->hosts.n, sizeof (*named));
        collect (work, units[i], &links);
        judge_hosts (work, units[i], &links, named);
        judge_links (work, units[i], &links, named);
    }
}
