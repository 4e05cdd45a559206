/* lease_world.c - see lease_world.h. */
#include "lease_state.h"

#include <stddef.h>
#include <string.h>

const char *const lease_rule_names[RULES] = {
    "the rule",
    "the naive rule",
    "counting from receipt",
    "no lock-delay",
    "no lock-delay after a restart",
    "no wait after a restart",
    "no margins",
    "no time to kill",
    "any token is renewed",
    "answers fit any question",
};

bool world_chance (struct world *world, uint32_t percent)
{
    return rng_below (&world->rng, 100) < percent;
}

uint64_t world_upto (struct world *world, uint64_t most)
{
    return rng_below (&world->rng, most + 1);
}

void world_break (struct world *world, const char *what)
{
    if (world->report->broken)
        return;
    world->report->broken = what;
    world->report->broken_at_ms = world->now_us / MS;
}

/* ---- clocks and pauses ---- */

uint64_t world_own_ms (const struct world *world, uint32_t at)
{
    const struct node *node = &world->nodes[at];
    return (node->origin_us + world->now_us * node->ppm / 1000000) / MS;
}

uint64_t node_true_us (const struct node *node, uint64_t ms)
{
    if (ms >= NEVER / MS)
        return NEVER;
    uint64_t us = ms * MS;
    return us <= node->origin_us ? 0 : ((us - node->origin_us) * 1000000 + node->ppm - 1) / node->ppm;
}

bool world_is_calm (const struct world *world)
{
    return world->now_us >= CALM_US;
}

uint64_t world_pause_us (struct world *world)
{
    uint64_t kind = rng_below (&world->rng, 10);
    return kind < 4 ? LOCK_DELAY_US : world_upto (world, kind < 7 ? LOCK_DELAY_US : PAUSE_MOST_US);
}

void world_cut_off (struct world *world, uint32_t host)
{
    world->hosts[host].cut_until_us = earlier (world->now_us + world_upto (world, 40 * SECOND), CALM_US);
}

void world_pause (struct world *world, uint32_t at, uint64_t length_us)
{
    struct node *node = &world->nodes[at];
    if (node->awake_us > world->now_us || world_is_calm (world))
        return;
    node->paused_us = world->now_us;
    node->awake_us = earlier (world->now_us + length_us, CALM_US);
    world->report->pauses++;
}

/* ---- faults ---- */

static uint32_t victim (struct world *world)
{
    return world_chance (world, 70) ? world->grantor.journal.host : (uint32_t) rng_below (&world->rng, HOSTS);
}

/* With all that it ran: its programs die with a worker. */
static void restart_worker (struct world *world, uint32_t at)
{
    struct host *host = &world->hosts[at];
    uint64_t cut_until_us = host->cut_until_us;
    *host = (struct host){ .life = host->life + 1, .cut_until_us = cut_until_us };
}

static void happen (struct world *world)
{
    uint64_t kind = rng_below (&world->rng, 100);
    uint32_t at = victim (world);
    world->fault_us = world->now_us + world_upto (world, 20 * SECOND);
    if (world->fault_us >= CALM_US)
        world->fault_us = NEVER;
    if (kind < 40)
        world_pause (world, at, world_pause_us (world));
    else if (kind < 65)
        world_cut_off (world, at);
    else if (kind < 80)
        world_pause (world, GRANTOR, world_upto (world, PAUSE_MOST_US));
    else if (kind < 92 && world->grantor.down_until_us == NEVER)
        world->grantor.down_until_us = earlier (world->now_us + world_upto (world, 20 * SECOND), CALM_US);
    else if (kind >= 92)
        restart_worker (world, at);
}

/* ---- the world ---- */

static void deliver (struct world *world)
{
    struct letter letter = world_take (world);
    const struct node *node = &world->nodes[letter.to];
    if (node->awake_us > world->now_us) { /* it waits in a socket */
        letter.at_us = node->awake_us;
        world_put (world, letter);
        return;
    }
    if (letter.life != world->hosts[letter.to == GRANTOR ? letter.from : letter.to].life)
        return;
    if (letter.to == GRANTOR) {
        grantor_receive (world, &letter);
        return;
    }
    host_turn (world, letter.to); /* time before words, as in a member's step */
    if (node->awake_us > world->now_us) {
        letter.at_us = node->awake_us;
        world_put (world, letter);
        return;
    }
    host_receive (world, letter.to, &letter);
    host_turn (world, letter.to);
}

static uint64_t some_ppm (struct world *world)
{
    static const uint64_t ends[] = { PPM_LEAST, 1000000, PPM_MOST };
    if (world_chance (world, 60))
        return ends[rng_below (&world->rng, 3)];
    return PPM_LEAST + world_upto (world, PPM_MOST - PPM_LEAST);
}

static void make (struct world *world, uint64_t seed, enum lease_rule rule, struct lease_report *report)
{
    static const uint64_t usual_us[] = { 2 * MS, 50 * MS, SECOND };
    *report = (struct lease_report){ 0 };
    memset (world, 0, offsetof (struct world, letters));
    world->letters_n = 0;
    world->report = report;
    world->rule = rule;
    world->rng = rng_seed (seed);
    world->alive_us = NEVER;
    world->delay_usual_us = usual_us[rng_below (&world->rng, 3)];
    world->slow_percent = world_chance (world, 50) ? 0 : 30;
    for (uint32_t i = 0; i < NODES; i++)
        world->nodes[i] = (struct node){ .ppm = some_ppm (world), .origin_us = world_upto (world, 1000000 * SECOND) };
    world->fault_us = world_upto (world, 20 * SECOND);
    world->grantor.down_until_us = NEVER;
    lease_init (&world->grantor.lease, TERM_MS);
}

/* Whose turn it is next, and when; NODES: the fault's, NODES + 1: a letter's. */
static uint32_t next (const struct world *world, uint64_t *at_us)
{
    uint32_t who = NODES;
    *at_us = world->fault_us;
    if (world->letters_n && world->letters[0].at_us < *at_us) {
        *at_us = world->letters[0].at_us;
        who = NODES + 1;
    }
    for (uint32_t i = 0; i < NODES; i++) {
        if (world->nodes[i].next_us <= *at_us) { /* first: who was woken acts before it can be paused again */
            *at_us = world->nodes[i].next_us;
            who = i;
        }
    }
    return who;
}

static void act (struct world *world, uint32_t who)
{
    if (who == NODES)
        happen (world);
    else if (who == NODES + 1)
        deliver (world);
    else if (who == GRANTOR)
        grantor_turn (world);
    else
        host_turn (world, who);
}

void lease_world_run (uint64_t seed, enum lease_rule rule, struct lease_report *report)
{
    static struct world world;
    uint64_t at_us = 0;
    make (&world, seed, rule, report);
    while (!report->broken) {
        for (uint32_t i = 0; i < HOSTS; i++)
            world.nodes[i].next_us = host_next_us (&world, i);
        world.nodes[GRANTOR].next_us = grantor_next_us (&world);
        uint32_t who = next (&world, &at_us);
        if (at_us >= END_US)
            break;
        if (at_us > world.now_us)
            world.now_us = at_us;
        act (&world, who);
    }
    if (!report->broken && world.alive_us > CALM_US + ALIVE_US)
        world_break (&world, "nobody got the lease after the faults had stopped");
}
