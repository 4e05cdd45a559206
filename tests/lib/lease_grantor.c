/* lease_grantor.c - a grantor with its journal: whatever is granted was written there before. */
#include "lease_state.h"

/* What the rule under test makes of an answer that was just counted. */
static void spoil (struct world *world, uint64_t now_ms, bool restarted)
{
    struct lease *lease = &world->grantor.lease;
    enum lease_rule rule = world->rule;
    if (rule == RULE_NO_MARGINS || rule == RULE_NAIVE)
        lease->over_at_ms = now_ms + TERM_MS;
    if (rule == RULE_NO_MARGINS)
        lease->free_at_ms = lease->over_at_ms + lease_delay_ms (TERM_MS);
    if (rule == RULE_NAIVE || rule == RULE_NO_DELAY || (rule == RULE_NO_DELAY_AFTER_RESTART && restarted))
        lease->free_at_ms = lease->over_at_ms;
}

static void grant (struct world *world, uint64_t now_ms)
{
    struct grantor *grantor = &world->grantor;
    grantor->journal.token++;
    grantor->journal.host = (uint32_t) rng_below (&world->rng, HOSTS);
    grantor->journal.open = true;
    grantor->received = false;
    grantor->run_ms = now_ms;
    lease_grant (&grantor->lease, grantor->journal.token, grantor->journal.host, now_ms);
    spoil (world, now_ms, false);
    world->report->grants++;
}

static void take_over (struct world *world, uint64_t now_ms)
{
    struct grantor *grantor = &world->grantor;
    bool open = grantor->journal.open && world->rule != RULE_NO_WAIT_AFTER_RESTART;
    grantor->down_until_us = NEVER;
    grantor->received = false;
    grantor->run_ms = now_ms;
    lease_init (&grantor->lease, TERM_MS);
    lease_restart (&grantor->lease, open ? grantor->journal.token : 0, grantor->journal.host, now_ms);
    if (open)
        spoil (world, now_ms, true);
    world->report->restarts++;
}

void grantor_turn (struct world *world)
{
    struct grantor *grantor = &world->grantor;
    uint64_t now_ms = world_own_ms (world, GRANTOR);
    if (grantor->down_until_us <= world->now_us)
        take_over (world, now_ms);
    if (grantor->down_until_us != NEVER)
        return;
    if (lease_state (&grantor->lease, now_ms) == LEASE_FREE)
        grant (world, now_ms);
    if (grantor->received || now_ms < grantor->run_ms || lease_state (&grantor->lease, now_ms) != LEASE_HELD)
        return;
    world_post (world, (struct letter){ .kind = LETTER_RUN,
                                        .from = GRANTOR,
                                        .to = grantor->journal.host,
                                        .token = grantor->journal.token,
                                        .term_ms = TERM_MS });
    grantor->run_ms = now_ms + AGAIN_MS;
}

uint64_t grantor_next_us (const struct world *world)
{
    const struct grantor *grantor = &world->grantor;
    const struct node *node = &world->nodes[GRANTOR];
    if (grantor->down_until_us != NEVER)
        return grantor->down_until_us;
    uint64_t at_ms = lease_free_at (&grantor->lease);
    if (!grantor->received && lease_state (&grantor->lease, world_own_ms (world, GRANTOR)) == LEASE_HELD)
        at_ms = earlier (at_ms, grantor->run_ms);
    uint64_t at_us = node_true_us (node, at_ms);
    return at_us > node->awake_us ? at_us : node->awake_us;
}

static void receive_ask (struct world *world, const struct letter *letter)
{
    struct grantor *grantor = &world->grantor;
    uint64_t now_ms = world_own_ms (world, GRANTOR);
    bool any = world->rule == RULE_ANY_TOKEN;
    bool renewed = lease_grant_renewal (&grantor->lease, any ? grantor->lease.token : letter->token,
                                        any ? grantor->lease.host : letter->from, now_ms);
    if (renewed)
        spoil (world, now_ms, false);
    grantor->received |= letter->token == grantor->journal.token;
    world_post (world, (struct letter){ .kind = LETTER_LEASE,
                                        .from = GRANTOR,
                                        .to = letter->from,
                                        .token = letter->token,
                                        .ask = letter->ask,
                                        .term_ms = renewed ? TERM_MS : 0 });
}

static void receive_result (struct world *world, const struct letter *letter)
{
    struct grantor *grantor = &world->grantor;
    if (grantor->journal.open && letter->token == grantor->journal.token) {
        grantor->journal.open = false;
        world->report->seals += letter->sealed;
    }
    lease_note_released (&grantor->lease, letter->token);
    world_post (world,
                (struct letter){ .kind = LETTER_ACK, .from = GRANTOR, .to = letter->from, .token = letter->token });
}

void grantor_receive (struct world *world, const struct letter *letter)
{
    if (world->grantor.down_until_us != NEVER)
        return;
    if (letter->kind == LETTER_ASK)
        receive_ask (world, letter);
    else
        receive_result (world, letter);
    grantor_turn (world);
}
