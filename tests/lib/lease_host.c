/* lease_host.c - a host that writes while it holds the lease, and what may never be true of two of them. */
#include "lease_deadline.h"
#include "lease_state.h"

static bool believes (const struct world *world, uint32_t at)
{
    const struct lease_client *lease_client = &world->hosts[at].lease_client;
    return lease_client->token && !lease_client->lost && world_own_ms (world, at) < lease_client->until_ms;
}

static void look_at_believers (struct world *world)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < HOSTS; i++)
        n += believes (world, i);
    if (n > 1)
        world_break (world, "two hosts hold the lease by their own clocks");
}

static bool program_lives (const struct world *world, uint32_t at)
{
    const struct host *host = &world->hosts[at];
    return (host->stage == WRITING || host->stage == DYING) && world->now_us < host->gone_us;
}

/* No lease can end a program whose worker cannot act; the lock-delay is how long that may last. */
static bool overslept (const struct world *world, uint32_t at)
{
    const struct node *node = &world->nodes[at];
    uint64_t stop_us = world->hosts[at].stop_us;
    bool across = node->paused_us <= stop_us && stop_us <= node->awake_us;
    return world->hosts[at].late || (across && node->awake_us - node->paused_us > LOCK_DELAY_US);
}

static void look_at_programs (struct world *world, uint32_t starting)
{
    for (uint32_t i = 0; i < HOSTS; i++) {
        if (i == starting || !program_lives (world, i))
            continue;
        world->report->overslept++;
        if (!overslept (world, i) && !overslept (world, starting))
            world_break (world, "two programs may write at once");
    }
    /* A worker that was started anew may get the order again from a grantor that was too: the first program is gone. */
    uint64_t token = world->hosts[starting].token, last = world->started_token;
    if ((token < last || (token == last && starting != world->started_host)) && !overslept (world, starting))
        world_break (world, "tokens do not rise");
}

/* ---- turns ---- */

static uint64_t program_us (struct world *world)
{
    uint64_t kind = rng_below (&world->rng, 3);
    if (kind < 2)
        return world_upto (world, (kind ? 30 : 5) * SECOND);
    return 30 * SECOND + world_upto (world, 20 * SECOND);
}

static void begin_program (struct world *world, uint32_t at)
{
    struct host *host = &world->hosts[at];
    look_at_programs (world, at);
    host->stage = WRITING;
    host->late = false;
    host->gone_us = world->now_us + program_us (world);
    host->trapped = world_chance (world, 50);
    if (host->trapped && world_chance (world, 30))
        world_cut_off (world, at);
    if (host->token > world->started_token) {
        world->started_token = host->token;
        world->started_host = at;
    }
    world->report->starts++;
    if (world_is_calm (world))
        world->alive_us = earlier (world->alive_us, world->now_us);
}

static void kill_program (struct world *world, uint32_t at)
{
    struct host *host = &world->hosts[at];
    uint64_t most_us = lease_kill_ms (TERM_MS) * MS;
    uint64_t takes_us = world_chance (world, 50) ? most_us : world_upto (world, most_us);
    host->gone_us = earlier (host->gone_us, world->now_us + takes_us);
    host->late = overslept (world, at);
    host->stage = DYING;
    world->report->kills++;
}

static void report_end (struct world *world, uint32_t at, bool sealed)
{
    struct host *host = &world->hosts[at];
    lease_client_drop (&host->lease_client);
    host->stage = REPORTING;
    host->sealed = sealed;
    host->report_ms = world_own_ms (world, at);
}

static void ask (struct world *world, uint32_t at)
{
    struct host *host = &world->hosts[at];
    uint64_t number = lease_client_begin_ask (&host->lease_client, world_own_ms (world, at));
    if (number)
        world_post (world, (struct letter){
                               .kind = LETTER_ASK, .from = at, .to = GRANTOR, .token = host->token, .ask = number });
}

static void start_or_not (struct world *world, uint32_t at)
{
    struct host *host = &world->hosts[at];
    uint64_t now_ms = world_own_ms (world, at);
    if (lease_client_must_stop (&host->lease_client, now_ms)) {
        report_end (world, at, false);
    } else if (lease_client_may_write (&host->lease_client, now_ms)) {
        host->stage = STARTING;
        if (world_chance (world, 5)) /* between the look at the lease and the start */
            world_pause (world, at, world_pause_us (world));
    }
}

static void watch_program (struct world *world, uint32_t at)
{
    struct host *host = &world->hosts[at];
    bool stop = lease_client_must_stop (&host->lease_client, world_own_ms (world, at));
    if (world->now_us >= host->gone_us)
        report_end (world, at, host->stage == WRITING && !stop);
    else if (stop && host->stage == WRITING)
        kill_program (world, at);
    else if (host->stage == WRITING && host->trapped && world->now_us + MS >= host->stop_us)
        world_pause (world, at, world_pause_us (world));
}

void host_turn (struct world *world, uint32_t at)
{
    struct host *host = &world->hosts[at];
    if (host->stage == WAITING)
        start_or_not (world, at);
    if (host->stage == STARTING && world->nodes[at].awake_us <= world->now_us)
        begin_program (world, at);
    if (host->stage == WRITING || host->stage == DYING)
        watch_program (world, at);
    if (world->nodes[at].awake_us > world->now_us)
        return;
    if (host->stage != IDLE && host->stage != REPORTING)
        ask (world, at);
    if (host->stage == REPORTING && world_own_ms (world, at) >= host->report_ms) {
        world_post (
            world,
            (struct letter){
                .kind = LETTER_RESULT, .from = at, .to = GRANTOR, .token = host->token, .sealed = host->sealed });
        host->report_ms = world_own_ms (world, at) + AGAIN_MS;
    }
}

uint64_t host_next_us (const struct world *world, uint32_t at)
{
    const struct host *host = &world->hosts[at];
    const struct node *node = &world->nodes[at];
    uint64_t at_us = node_true_us (node, lease_client_deadline_ms (&host->lease_client));
    if (host->stage == IDLE)
        return NEVER;
    if (host->stage == STARTING)
        at_us = node->awake_us;
    if (host->stage == REPORTING)
        at_us = node_true_us (node, host->report_ms);
    if (host->stage == WRITING || host->stage == DYING)
        at_us = earlier (at_us, host->gone_us);
    if (host->stage == WRITING && host->trapped && host->stop_us > world->now_us + MS && !world_is_calm (world))
        at_us = earlier (at_us, host->stop_us - MS);
    return at_us > node->awake_us ? at_us : node->awake_us;
}

/* What the real holder makes of an answer, and then what the rule under test makes of that. */
static void receive_lease (struct world *world, uint32_t at, const struct letter *letter)
{
    struct lease_client *lease_client = &world->hosts[at].lease_client;
    uint64_t now_ms = world_own_ms (world, at), had_ms = lease_client->until_ms;
    uint64_t number = world->rule == RULE_ANY_QUESTION ? lease_client->last_ask : letter->ask;
    uint32_t slot = number % LEASE_CLIENT_ASKS_MAX;
    if ((world->rule == RULE_FROM_RECEIPT || world->rule == RULE_NAIVE) && lease_client->asks[slot].ask == number)
        lease_client->asks[slot].sent_ms = now_ms;
    lease_client_receive (lease_client, letter->token, number, letter->term_ms, now_ms);
    if (lease_client->until_ms == had_ms)
        return;
    if (world->rule == RULE_NO_MARGINS || world->rule == RULE_NAIVE)
        lease_client->until_ms += TERM_MS - lease_holder_ms (TERM_MS);
    if (world->rule == RULE_NO_TIME_TO_KILL)
        lease_client->until_ms += lease_kill_ms (TERM_MS);
    world->hosts[at].stop_us = node_true_us (&world->nodes[at], lease_client_stop_at_ms (lease_client));
    look_at_believers (world);
}

void host_receive (struct world *world, uint32_t at, const struct letter *letter)
{
    struct host *host = &world->hosts[at];
    if (letter->kind == LETTER_RUN && host->stage == IDLE && letter->token > host->seen) {
        host->token = host->seen = letter->token;
        host->stage = WAITING;
        lease_client_want (&host->lease_client, letter->token, letter->term_ms);
    }
    if (letter->kind == LETTER_LEASE)
        receive_lease (world, at, letter);
    if (letter->kind == LETTER_ACK && host->stage == REPORTING && letter->token == host->token)
        host->stage = IDLE;
}
