#include "coordinator/run/driver_private.h"

/* Once so many hosts give it, the coordinator need not, however much faster it is. */
enum { SWEEP_MS = 1000, LOOKED_AT = 64, GIVERS_ENOUGH = 16, FAILURES_OF_ONE = 2, FAILURES_OF_ALL = 3 };

struct spread_host {
    struct spread_file *file;    /* on its way here; NULL: none */
    uint32_t giver;              /* of it */
    uint64_t began_ms, until_ms; /* then its place is given away */
    uint32_t given;              /* hosts that it gives something to */
    uint32_t failures;           /* as a giver */
    bool gives_nothing, damages; /* the latter in any pass */
    bool alone;                  /* asks the coordinator only */
};

struct spread {
    struct spread_host *of;
    uint32_t hosts, failures; /* hosts that gave nothing */
    bool works;               /* some host got bytes from another */
    uint64_t swept_ms;
};

void spread_file_clear (struct spread_file *file)
{
    mem_free (file->owners);
    *file = (struct spread_file){ 0 };
}

struct spread *spread_make (uint32_t hosts)
{
    struct spread *spread = mem_alloc (sizeof *spread);
    spread->of = mem_array (hosts, sizeof *spread->of);
    spread->hosts = hosts;
    return spread;
}

void spread_destroy (struct spread *spread)
{
    if (spread)
        mem_free (spread->of);
    mem_free (spread);
}

void spread_begin (struct spread *spread)
{
    for (uint32_t i = 0; i < spread->hosts; i++)
        spread->of[i] = (struct spread_host){ .damages = spread->of[i].damages };
    spread->failures = 0;
    spread->works = false;
}

static uint32_t place_leave (struct spread *spread, uint32_t host)
{
    struct spread_host *taker = &spread->of[host];
    if (!taker->file)
        return SPREAD_COORDINATOR;
    if (taker->giver == SPREAD_COORDINATOR)
        taker->file->sent_to--;
    else
        spread->of[taker->giver].given--;
    taker->file = NULL;
    return taker->giver;
}

static void place_take (struct spread *spread, struct spread_file *file, uint32_t host, uint32_t giver, uint64_t now_ms)
{
    struct spread_host *taker = &spread->of[host];
    taker->file = file;
    taker->giver = giver;
    taker->began_ms = now_ms;
    taker->until_ms = now_ms + SPREAD_LEASE_MS;
    if (giver == SPREAD_COORDINATOR)
        file->sent_to++;
    else
        spread->of[giver].given++;
}

/* One at the coordinator also when it takes long: slow hosts do not hold up the others. */
static bool place_takes_long (const struct spread_host *taker, uint64_t now_ms)
{
    return taker->file && taker->giver == SPREAD_COORDINATOR && taker->began_ms + SPREAD_LONGEST_MS <= now_ms;
}

static void places_sweep (struct spread *spread, uint64_t now_ms)
{
    if (now_ms < spread->swept_ms + SWEEP_MS)
        return;
    spread->swept_ms = now_ms;
    for (uint32_t i = 0; i < spread->hosts; i++) {
        struct spread_host *taker = &spread->of[i];
        taker->alone |= place_takes_long (taker, now_ms);
        if (taker->file && (taker->alone || taker->until_ms <= now_ms))
            (void) place_leave (spread, i);
    }
}

static bool host_gives (const struct spread *spread, uint32_t owner, uint32_t host)
{
    return owner != host && !spread->of[owner].damages && spread->of[owner].failures < FAILURES_OF_ONE;
}

/* The next in turn with a free place, so that all give alike; of many, some are looked at. `*busy`: those that have none. */
static uint32_t giver_find (const struct spread *spread, struct spread_file *file, uint32_t host, uint32_t *busy)
{
    *busy = 0;
    for (uint32_t i = 0; i < file->n && i < LOOKED_AT; i++) {
        uint32_t owner = file->owners[file->next++ % file->n];
        if (!host_gives (spread, owner, host))
            continue;
        if (spread->of[owner].given < SPREAD_AT_ONCE)
            return owner;
        ++*busy;
    }
    return SPREAD_COORDINATOR;
}

static bool hosts_do_not_reach (const struct spread *spread)
{
    return !spread->works && spread->failures >= FAILURES_OF_ALL;
}

enum spread_word spread_want (struct spread *spread, struct spread_file *file, uint32_t host, uint64_t now_ms,
                              uint32_t *giver)
{
    struct spread_host *taker = &spread->of[host];
    uint32_t busy;
    places_sweep (spread, now_ms);
    if (taker->file != file) {
        (void) place_leave (spread, host);
        if (taker->alone || hosts_do_not_reach (spread))
            return SPREAD_SEND;
        *giver = giver_find (spread, file, host, &busy);
        if (*giver == SPREAD_COORDINATOR && (file->sent_to >= SPREAD_AT_ONCE || busy >= GIVERS_ENOUGH))
            return SPREAD_WAIT;
        place_take (spread, file, host, *giver, now_ms);
    }
    *giver = taker->giver;
    return *giver == SPREAD_COORDINATOR ? SPREAD_SEND : SPREAD_ASK;
}

void spread_go_on (struct spread *spread, uint32_t host, bool got, uint64_t now_ms)
{
    struct spread_host *taker = &spread->of[host];
    taker->until_ms = now_ms + SPREAD_LEASE_MS;
    spread->works |= got && taker->file && taker->giver != SPREAD_COORDINATOR;
}

/* Not where others get bytes from hosts: three are counted before anybody did. */
static void host_gives_nothing (struct spread *spread, uint32_t host)
{
    spread->failures += !spread->of[host].gives_nothing;
    spread->of[host].gives_nothing = true;
}

void spread_have (struct spread *spread, struct spread_file *file, uint32_t host, bool gives)
{
    spread->works |= place_leave (spread, host) != SPREAD_COORDINATOR;
    if (!gives)
        host_gives_nothing (spread, host);
    for (uint32_t i = 0; i < file->n; i++)
        gives = gives && file->owners[i] != host;
    if (!gives)
        return;
    file->owners = mem_room (file->owners, file->n, &file->capacity, 16, sizeof *file->owners);
    file->owners[file->n++] = host;
}

uint32_t spread_fail (struct spread *spread, uint32_t host, enum fetch_word what)
{
    uint32_t giver = place_leave (spread, host);
    spread->of[host].alone = true;
    if (giver == SPREAD_COORDINATOR)
        return giver;
    spread->of[giver].failures++;
    spread->of[giver].damages |= what == SAY_DAMAGED;
    if (what == SAY_FAILED)
        host_gives_nothing (spread, giver);
    return giver;
}
