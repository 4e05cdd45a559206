#include "coordinator/monitor/askers.h"

#include <string.h>

static bool same (const struct hub_asker *a, const struct hub_asker *b)
{
    return a->key == b->key && memcmp (a->id, b->id, sizeof a->id) == 0;
}

static struct asker *find (struct askers *askers, const struct hub_asker *who)
{
    for (uint32_t i = 0; i < askers->n; i++)
        if (same (&askers->items[i].who, who))
            return &askers->items[i];
    return NULL;
}

/* The one of this key that asked longest ago and is not served; how many the key has in all. */
static struct asker *oldest (struct askers *askers, const uint32_t *key, uint32_t *n)
{
    struct asker *found = NULL;
    *n = 0;
    for (uint32_t i = 0; i < askers->n; i++) {
        struct asker *asker = &askers->items[i];
        if (key && asker->who.key != *key)
            continue;
        (*n)++;
        if (!asker->served && (!found || asker->asked_ms < found->asked_ms))
            found = asker;
    }
    return found;
}

/* A key has so many at a time; whoever comes again and again drives out its own. Keys of before drive out nobody. */
static struct asker *place_for (struct askers *askers, uint32_t key)
{
    uint32_t of_key, all;
    struct asker *own = oldest (askers, &key, &of_key);
    if (of_key == ASKERS_A_KEY)
        return own;
    if (askers->n < ASKERS_MAX)
        return &askers->items[askers->n++];
    return oldest (askers, NULL, &all);
}

static uint64_t key_turn (const struct askers *askers, uint32_t key)
{
    uint64_t turn = 0;
    for (uint32_t i = 0; i < askers->n; i++)
        if (askers->items[i].who.key == key && askers->items[i].turn > turn)
            turn = askers->items[i].turn;
    return turn;
}

void askers_ask (struct askers *askers, const struct hub_asker *who, const struct snapshot_place *from,
                 uint64_t now_ms)
{
    struct asker *asker = find (askers, who);
    if (!asker) {
        uint64_t turn = key_turn (askers, who->key); /* a new connection is no new turn */
        if ((asker = place_for (askers, who->key)) == NULL)
            return; /* all of its key are being served: it asks again */
        *asker = (struct asker) { .who = *who, .turn = turn };
    }
    asker->from = *from;
    asker->asked_ms = now_ms;
    asker->waits = true;
    asker->gone = false;
}

static bool comes_before (const struct askers *askers, const struct asker *a, const struct asker *b)
{
    uint64_t turn_a = key_turn (askers, a->who.key), turn_b = key_turn (askers, b->who.key);
    return turn_a != turn_b ? turn_a < turn_b : a->turn < b->turn;
}

bool askers_next (struct askers *askers, struct hub_asker *who, struct snapshot_place *from)
{
    struct asker *next = NULL;
    for (uint32_t i = 0; i < askers->n; i++) {
        struct asker *asker = &askers->items[i];
        if (asker->waits && !asker->served && (!next || comes_before (askers, asker, next)))
            next = asker;
    }
    if (!next)
        return false;
    next->waits = false;
    next->served = true;
    next->turn = ++askers->turn;
    *who = next->who;
    *from = next->from;
    return true;
}

void askers_done (struct askers *askers, const struct hub_asker *who, bool told)
{
    struct asker *asker = find (askers, who);
    if (!asker)
        return;
    asker->served = false;
    asker->told |= told;
}

void askers_gone (struct askers *askers, const struct hub_asker *who)
{
    struct asker *asker = find (askers, who);
    if (asker)
        asker->gone = true;
}

void askers_end (struct askers *askers)
{
    for (uint32_t i = 0; i < askers->n; i++)
        askers->items[i].told = false;
}

bool askers_untold (const struct askers *askers, uint64_t now_ms, uint64_t lately_ms, uint32_t *at,
                    struct hub_asker *who)
{
    for (; *at < askers->n; (*at)++) {
        const struct asker *asker = &askers->items[*at];
        if (asker->told || asker->gone || now_ms - asker->asked_ms >= lately_ms)
            continue;
        *who = asker->who;
        (*at)++;
        return true;
    }
    return false;
}
