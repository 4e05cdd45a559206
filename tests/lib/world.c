/* world.c - time, the network, and the faults of the scenario. */
#include "common/base/digest.h"
#include "sample.h"
#include "world_state.h"

enum { EXIT_MS = 240000, FAREWELL_MS = 420000, SPUN_MAX = 200 };

/* ---- events ---- */

static bool sooner (const struct event *a, const struct event *b)
{
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->order < b->order;
}

static struct event *event_put (struct world *world, const struct event *fresh)
{
    world->events = mem_room (world->events, world->events_n, &world->events_capacity, 64, sizeof (*world->events));
    uint32_t at = world->events_n++;
    while (at > 0 && sooner (fresh, &world->events[(at - 1) / 2])) {
        world->events[at] = world->events[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    world->events[at] = *fresh;
    return &world->events[at];
}

struct event *event_add (struct world *world, uint64_t after_ms, enum event_kind kind)
{
    return event_put (world,
                      &(struct event){ .at_ms = world->now_ms + after_ms, .order = world->order++, .kind = kind });
}

static struct event event_take (struct world *world)
{
    struct event first = world->events[0], last = world->events[--world->events_n];
    uint32_t at = 0, child;
    while ((child = 2 * at + 1) < world->events_n) {
        if (child + 1 < world->events_n && sooner (&world->events[child + 1], &world->events[child]))
            child++;
        if (!sooner (&world->events[child], &last))
            break;
        world->events[at] = world->events[child];
        at = child;
    }
    world->events[at] = last;
    return first;
}

struct text own_copy (struct text from)
{
    char *copy = mem_alloc (from.len + 1);
    memcpy (copy, from.ptr, from.len);
    return (struct text){ copy, from.len };
}

/* ---- faults ---- */

static uint64_t counted (const struct world *world, uint32_t who, enum moment moment)
{
    if (moment == MOMENT_ANY)
        return UINT64_MAX;
    if (moment == MOMENT_MS)
        return world->now_ms;
    return who < HOSTS_SIMULATED_MAX ? world->hosts[who].counts[moment] : world->counts[moment];
}

const struct fault *fault_pending (struct world *world, enum fault_kind kind, uint32_t who)
{
    for (uint32_t i = 0; i < world->scenario.faults_n; i++) {
        const struct fault *fault = &world->scenario.faults[i];
        if (fault->kind == kind && fault->who == who && !world->fired[i] &&
            counted (world, who, fault->moment) >= fault->at)
            return fault;
    }
    return NULL;
}

void fault_take (struct world *world, const struct fault *fault)
{
    world->fired[fault - world->scenario.faults] = true;
    world->report->tally.faults[fault->kind]++;
}

static bool fault_due (struct world *world, enum fault_kind kind, uint32_t who, uint64_t *amount)
{
    const struct fault *fault = fault_pending (world, kind, who);
    if (!fault)
        return false;
    *amount = fault->amount;
    fault_take (world, fault);
    return true;
}

/* Of the windows that this moment lies in, the largest MORE; 0: none. `a`, `b`: both ends of a way. */
static uint64_t fault_around (struct world *world, enum fault_kind kind, uint32_t a, uint32_t b)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < world->scenario.faults_n; i++) {
        const struct fault *fault = &world->scenario.faults[i];
        bool now = fault->kind == kind && world->now_ms >= fault->at && world->now_ms - fault->at < fault->amount;
        if (!now || (fault->who != a && fault->who != b && fault->who != EVERYBODY))
            continue;
        world->report->tally.faults[kind]++;
        most = fault->more + 1 > most ? fault->more + 1 : most;
    }
    return most;
}

static bool chance (struct world *world, uint64_t percent_and_1)
{
    return percent_and_1 && rng_below (&world->net, 100) < percent_and_1 - 1;
}

static void tell (struct world *world, enum input_kind kind, uint32_t host, struct text text)
{
    coord_input (world, &(struct core_input){ .kind = kind, .host = host, .text = text });
}

static void look (struct world *world, bool quiet)
{
    uint32_t hosts[HOSTS_SIMULATED_MAX];
    struct last_output group = { .line = TEXT_LIT ("step 7"), .quiet_ms = 30000 };
    struct fact_output_awaited output = { .groups = { &group, 1 } };
    if (!world->coord)
        return;
    group.hosts.items = hosts;
    group.hosts.n = coord_awaited_hosts (world->coord, &output.key, hosts);
    if (!quiet)
        tell (world, IN_LOOK, 0, (struct text){ 0 });
    else if (group.hosts.n)
        coord_input (world, &(struct core_input){ .kind = IN_OUTPUT, .output = &output });
}

static void lose_output (struct world *world, uint32_t host)
{
    struct core_input in = { .kind = IN_OUTPUT_LOST, .host = host, .text = TEXT_LIT ("No space left on device") };
    if (world->coord && coord_awaited_hosts (world->coord, &in.key, NULL))
        coord_input (world, &in);
}

static void lease_taken (struct world *world)
{
    if (!world->coord || !world->given_token)
        return;
    world->lease_owner_until_ms = world->lease_owner_beats_until_ms = world->now_ms + 20000;
    coord_input (world, &(struct core_input){ .kind = IN_LEASE_TAKEN, .token = world->given_token });
}

/* Of the coordinator's process, of its disk, and of what it asks. */
static void strike_coordinator (struct world *world, const struct fault *fault)
{
    switch (fault->kind) {
    case FAULT_CRASH: coord_kill (world, 1 + fault->amount, fault->more); break;
    case FAULT_FAIL: world->failing = fault; break;
    case FAULT_FULL: world->full_until_ms = world->now_ms + fault->amount; break;
    case FAULT_PUT_BACK:
        coord_kill (world, 2000, 0);
        coord_put_back (world, fault->amount);
        break;
    case FAULT_PAUSE: world->stands_until_ms = world->now_ms + fault->amount; break;
    case FAULT_TAMPER: world->tampers = fault->amount ? fault->amount : FINDING_CHANGED; break;
    case FAULT_MUTE:
        world->mute_until_ms = world->now_ms + fault->amount;
        world->mute_fails = fault->more;
        break;
    case FAULT_TAKEN: lease_taken (world); break;
    case FAULT_CANCEL:
        coord_input (world, &(struct core_input){ .kind = IN_CANCEL, .level = (uint32_t) fault->amount });
        break;
    case FAULT_LOOK: look (world, fault->amount); break;
    default: break;
    }
}

/* One that has its key: before that, whoever launches it sees it die. */
static void host_back (struct world *world, uint32_t at, uint64_t after_ms)
{
    if (!world->hosts[at].admitted)
        return;
    host_kill (world, at);
    event_add (world, 1 + after_ms, EV_BACK)->host = at;
}

/* And again, a second after each new one. */
static void reborn (struct world *world, const struct fault *fault)
{
    host_back (world, fault->who, fault->amount);
    if (++world->hosts[fault->who].reborn > fault->more || world->ended)
        return;
    event_add (world, fault->amount + 1000, EV_FAULT)->number = (uint64_t) (fault - world->scenario.faults);
}

static void strike_host (struct world *world, const struct fault *fault)
{
    struct sim_host *host = &world->hosts[fault->who];
    switch (fault->kind) {
    case FAULT_CRASH:
        if (host->member)
            event_add (world, 1, EV_EXITED)->host = fault->who;
        host_kill (world, fault->who);
        break;
    case FAULT_PAUSE:
        host->stands_until_ms = world->now_ms + fault->amount;
        host->machine_stands = fault->more;
        break;
    case FAULT_JUMP:
        host->jumped_ms += fault->amount;
        host_note_deadline (host);
        break;
    case FAULT_OFF:
        host_kill (world, fault->who);
        host->off = true;
        break;
    case FAULT_REBOOT:
        host_forget (world, fault->who);
        host->boot++;
        host_back (world, fault->who, fault->amount);
        break;
    case FAULT_REBORN: reborn (world, fault); break;
    case FAULT_LEAVE:
        host_step (
            world, fault->who,
            &(struct member_input){ .kind = MEMBER_LEAVE, .text = TEXT_LIT ("SIGTERM"), .ending = ENDING_TERMINATED });
        break;
    case FAULT_UNSTORED: lose_output (world, fault->who); break;
    default: break;
    }
}

static void strike (struct world *world, const struct fault *fault)
{
    fault_take (world, fault);
    if (fault->who == COORDINATOR)
        strike_coordinator (world, fault);
    else if (fault->who < world->scenario.hosts)
        strike_host (world, fault);
}

/* Does it strike at its moment? The others are looked for where they matter. */
static bool strikes (enum fault_kind kind)
{
    return (kind >= FAULT_PAUSE && kind <= FAULT_LEAVE && kind != FAULT_DRIFT) || kind == FAULT_TAMPER ||
           kind == FAULT_TAKEN || kind == FAULT_MUTE || kind == FAULT_CANCEL || kind == FAULT_LOOK ||
           kind == FAULT_UNSTORED;
}

static uint32_t life_of (const struct world *world, uint32_t who)
{
    return who == COORDINATOR ? world->coord_life : world->hosts[who].life;
}

bool world_count (struct world *world, uint32_t who, enum moment moment)
{
    uint32_t life = life_of (world, who);
    uint64_t count = who == COORDINATOR ? ++world->counts[moment] : ++world->hosts[who].counts[moment];
    for (uint32_t i = 0; i < world->scenario.faults_n; i++) {
        const struct fault *fault = &world->scenario.faults[i];
        if (fault->moment == moment && fault->at == count && fault->who == who && strikes (fault->kind) &&
            !world->fired[i])
            strike (world, fault);
    }
    return life_of (world, who) != life;
}

/* ---- the network ---- */

static uint64_t way_ms (struct world *world, uint32_t from, uint32_t to)
{
    uint64_t slow = fault_around (world, FAULT_DELAY, from, to), most = world->scenario.delay_ms;
    return 1 + rng_below (&world->net, (slow > most ? slow : most) + 1);
}

void world_post (struct world *world, enum event_kind kind, uint32_t host, struct text frame)
{
    uint32_t from = kind == EV_TO_HOST ? COORDINATOR : host, to = kind == EV_TO_HOST ? host : COORDINATOR;
    uint64_t late_ms = 0, again_ms = 0;
    world->report->messages++;
    bool lost = fault_due (world, FAULT_DROP, from, &late_ms) || fault_around (world, FAULT_CUT_OUT, from, from) ||
                fault_around (world, FAULT_CUT_IN, to, to) ||
                chance (world, fault_around (world, FAULT_LOSS, from, to));
    if (lost) {
        world->report->lost++;
        return;
    }
    bool twice = fault_due (world, FAULT_REPEAT, from, &again_ms) ||
                 chance (world, fault_around (world, FAULT_COPIES, from, to));
    fault_due (world, FAULT_LATE, from, &late_ms);
    for (int i = 0; i <= twice; i++) {
        struct event *event = event_add (world, way_ms (world, from, to) + (i ? again_ms : late_ms), kind);
        event->host = host;
        event->frame = own_copy (frame);
    }
}

/* ---- time ---- */

static bool of_coordinator (const struct world *world, const struct event *event)
{
    enum fault_kind kind = event->kind == EV_FAULT ? world->scenario.faults[event->number].kind : FAULT_NONE;
    return event->kind == EV_TO_COORD || event->kind == EV_FLUSH || event->kind == EV_KEYED ||
           event->kind == EV_ASKED || event->kind == EV_EXITED || kind == FAULT_TAKEN || kind == FAULT_CANCEL ||
           kind == FAULT_LOOK || kind == FAULT_UNSTORED;
}

/* What comes to a process that stands waits in its order. */
static bool waits (struct world *world, const struct event *event)
{
    const struct sim_host *host = &world->hosts[event->host];
    uint64_t until_ms = of_coordinator (world, event) && world->coord ? world->stands_until_ms : 0;
    if (event->kind == EV_TO_HOST || event->kind == EV_LIMIT || (event->kind == EV_PROGRAM && host->machine_stands))
        until_ms = host->stands_until_ms;
    if (world->now_ms >= until_ms)
        return false;
    struct event later = *event;
    later.at_ms = until_ms + 1; /* what it had to do by itself comes first when it wakes */
    later.order = world->order++;
    event_put (world, &later);
    return true;
}

static void keyed (struct world *world, const struct event *event)
{
    if (event->life != world->hosts[event->host].life)
        return;
    tell (world, IN_WORKER_STEP, event->host, TEXT_LIT ("started"));
    tell (world, IN_WORKER_KEYED, event->host, TEXT_LIT ("0123456789012345678901234567890123456789"));
}

static void happen (struct world *world, const struct event *event)
{
    const struct sim_host *host = &world->hosts[event->host];
    switch (event->kind) {
    case EV_TO_COORD: coord_deliver (world, event); break;
    case EV_TO_HOST: host_deliver (world, event); break;
    case EV_FLUSH: coord_flush (world, event); break;
    case EV_PROGRAM:
        if (event->life == host->life && event->number == host->run_n)
            host_program_step (world, event->host);
        break;
    case EV_LIMIT:
        if (event->life == host->life)
            host_program_limit (world, event);
        break;
    case EV_FAULT: strike (world, &world->scenario.faults[event->number]); break;
    case EV_RESUME: coord_begin (world); break;
    case EV_KEYED: keyed (world, event); break;
    case EV_ASKED: coord_answer (world, event); break;
    case EV_EXITED: tell (world, IN_WORKER_EXITED, event->host, TEXT_LIT ("killed by signal 9")); break;
    case EV_BACK:
        if (!world->ended)
            host_launch (world, event->host, 0);
        break;
    }
}

static uint64_t coordinator_deadline_ms (const struct world *world)
{
    uint64_t at_ms = world->coord && !world->silent ? coord_deadline_ms (world->coord) : UINT64_MAX;
    return at_ms > world->stands_until_ms ? at_ms : world->stands_until_ms;
}

/* Deadlines that fell due by `until`. A core whose deadline does not move on when it is served spins. */
static bool serve_deadlines (struct world *world, uint64_t until)
{
    uint64_t next = until, at_ms;
    uint32_t who = EVERYBODY;
    if (until <= world->now_ms)
        return false;
    if ((at_ms = coordinator_deadline_ms (world)) < next && world->coord && !world->silent) {
        next = at_ms;
        who = COORDINATOR;
    }
    for (uint32_t i = 0; i < world->scenario.hosts; i++)
        if (world->hosts[i].admitted && (at_ms = host_deadline_ms (world, i)) < next) {
            next = at_ms;
            who = i;
        }
    if (who == EVERYBODY)
        return false;
    world->spun = next < world->now_ms ? world->spun + 1 : 0;
    PROMISE (world, "spins", world->spun < SPUN_MAX, "%s %u is busy with a deadline that does not move",
             who == COORDINATOR ? "the coordinator," : "host", who);
    world->now_ms = next > world->now_ms ? next : world->now_ms + 1; /* time moves while a core works */
    if (who == COORDINATOR)
        tell (world, IN_TICK, 0, (struct text){ 0 });
    else
        host_step (world, who, &(struct member_input){ .kind = MEMBER_TICK });
    return true;
}

/* ---- the run ---- */

static struct rung rung_of (const struct plan *sample, char letter, uint32_t at, struct arena *arena)
{
    struct rung rung = sample->rungs.items[letter == 'f' || letter == 'c' ? 0 : letter == 't' || letter == 'o' ? 1 : 2];
    if (letter == 'c')
        rung.id = rung.builtin = TEXT_LIT ("cache");
    if (at > 2)
        rung.id = text_format (arena, "%.*s%u", TEXT_ARG (rung.id), at);
    if (letter == 'o' || letter == 's')
        rung.warm = WARM_NONE;
    return rung;
}

static void plan_ladder (struct world *world)
{
    struct plan sample = world->plan;
    uint32_t n = (uint32_t) strlen (world->scenario.ladder);
    world->plan.rungs.items = arena_array (&world->arena, n, sizeof (struct rung));
    world->plan.rungs.n = n;
    for (uint32_t i = 0; i < n; i++)
        world->plan.rungs.items[i] = rung_of (&sample, world->scenario.ladder[i], i, &world->arena);
}

static void plan_make (struct world *world)
{
    const struct scenario *scenario = &world->scenario;
    struct plan *plan = &world->plan;
    uint64_t slow = 0;
    sample_plan (plan, scenario->hosts, &world->arena);
    plan_ladder (world);
    plan->launcher = LAUNCHER_SSH; /* hosts of this machine are not asked */
    for (uint32_t i = 0; i < scenario->faults_n; i++)
        slow |= scenario->faults[i].kind == FAULT_SLOW;
    for (uint32_t i = 0; i < plan->rungs.n && slow; i++)
        plan->rungs.items[i].timeout_ms = 600000;
    for (uint32_t i = 0; i < scenario->faults_n; i++)
        if (scenario->faults[i].kind == FAULT_KNOWN_BAD && scenario->faults[i].at < plan->rungs.n)
            plan->rungs.items[scenario->faults[i].at].known_bad = TEXT_LIT ("it needs 17 GB of 16 GB");
    plan->limits.retries = scenario->retries;
    plan->limits.retry_wait_ms = 2000;
    if (scenario->farewell)
        plan->limits.exit_ms = EXIT_MS;
    plan->cache.mode = scenario->cache;
    plan->cache.writers.n = scenario->writers < scenario->hosts ? scenario->writers : scenario->hosts;
    plan->cache.writers.items = arena_array (&world->arena, plan->cache.writers.n, sizeof (struct text));
    for (uint32_t i = 0; i < plan->cache.writers.n; i++)
        plan->cache.writers.items[i] = plan->hosts.items[i].name;
    plan->climb = scenario->climb;
    if (plan->climb.min_hosts >= scenario->hosts)
        plan->climb.min_hosts = 0;
    plan->profile.splits = scenario->splits;
}

static void faults_begin (struct world *world)
{
    for (uint32_t i = 0; i < world->scenario.faults_n; i++) {
        const struct fault *fault = &world->scenario.faults[i];
        struct sim_host *host = fault->who < HOSTS_SIMULATED_MAX ? &world->hosts[fault->who] : NULL;
        if (fault->moment == MOMENT_MS && strikes (fault->kind))
            event_add (world, fault->at, EV_FAULT)->number = i;
        world->report->tally.faults[fault->kind] += fault->moment >= MOMENT_RUNG; /* all along */
        if (fault->kind == FAULT_DRIFT && host) {
            host->fast_permille = fault->amount;
            host->slow_permille = fault->more;
        }
        if (fault->kind == FAULT_EARLIER) {
            world->earlier = (uint32_t) fault->amount;
            world->misfits = fault->more;
        }
        if (fault->kind == FAULT_OWNER) {
            world->lease_owner_until_ms = fault->at;
            world->lease_owner_beats_until_ms = fault->amount;
        }
    }
}

static struct world *world_create (const struct scenario *scenario, struct world_report *report)
{
    struct world *world = mem_alloc (sizeof (*world) + scenario->hosts * sizeof (world->hosts[0]));
    *report = (struct world_report){ 0 };
    world->scenario = *scenario;
    world->report = report;
    world->net = rng_seed (scenario->seed);
    world->disk = rng_seed (scenario->seed ^ 0x6469736b);
    world->now_ms = WORLD_START_MS;
    world->next_token = 1;
    for (uint32_t i = 0; i < scenario->hosts; i++)
        world->hosts[i].rng = rng_seed (scenario->seed * 64 + i);
    plan_make (world);
    promises_init (&world->promises, &world->scenario, &world->plan, report);
    outbox_init (&world->outbox);
    return world;
}

static void world_release (struct world *world)
{
    for (uint32_t i = 0; i < world->scenario.hosts; i++) {
        host_forget (world, i);
        member_destroy (world->hosts[i].member);
        arena_release (&world->hosts[i].run_arena);
    }
    for (uint32_t i = 0; i < world->events_n; i++)
        mem_free ((void *) world->events[i].frame.ptr);
    for (uint32_t i = world->held_first; i < world->held_n; i++)
        mem_free ((void *) world->held[i].frame.ptr);
    for (uint64_t i = 0; i < world->recorded; i++)
        mem_free ((void *) world->facts[i].ptr);
    mem_free (world->facts);
    coord_destroy (world->coord);
    coord_destroy (world->shadow);
    outbox_release (&world->outbox);
    promises_release (&world->promises);
    arena_release (&world->arena);
    mem_free (world->events);
    mem_free (world->held);
    mem_free (world);
}

/* True: nothing is left to happen. An ended coordinator stays for a while, and tells those that it has not told. */
static bool is_over (struct world *world)
{
    uint64_t exit_ms = world->leaves_ms + FAREWELL_MS + scenario_faults_end_ms (&world->scenario);
    bool alone = true;
    PROMISE (world, "ends", world->ended || world->now_ms < world->scenario.bound_ms, "no verdict within the bound");
    if (!world->ended || !world->scenario.farewell)
        return world->ended;
    bool leaves = world->coord && world->now_ms >= world->leaves_ms;
    if (leaves)
        coord_kill (world, 0, 1);
    for (uint32_t i = 0; i < world->scenario.hosts; i++) {
        PROMISE (world, "told-the-end",
                 !leaves || !world->hosts[i].member || world->told_too_late || world->promises.touched[i],
                 "host%u was not told that the run is over", i);
        alone = alone && !world->hosts[i].member;
    }
    PROMISE (world, "leaves", alone || world->now_ms < exit_ms, "a worker is still there");
    return alone;
}

static void world_go (struct world *world)
{
    uint64_t until = world->events_n ? world->events[0].at_ms : world->now_ms + 1000;
    if (serve_deadlines (world, until))
        return;
    if (world->events_n == 0) {
        world->now_ms = until;
        return;
    }
    struct event event = event_take (world);
    if (event.at_ms > world->now_ms)
        world->now_ms = event.at_ms;
    if (waits (world, &event))
        return;
    happen (world, &event);
    mem_free ((void *) event.frame.ptr);
}

static void journal_digest (const struct world *world, struct digest *digest)
{
    LOCAL_BUF all = { .max = SIZE_MAX };
    for (uint64_t i = 0; i < world->recorded; i++)
        buf_add_text (&all, world->facts[i]);
    *digest = digest_of (all.ptr, all.len);
}

void world_run (const struct scenario *scenario, struct world_report *report)
{
    struct world *world = world_create (scenario, report);
    faults_begin (world);
    coord_begin (world);
    while (!is_over (world)) {
        world->promises.now_ms = world->now_ms;
        world_go (world);
    }
    report->ended_ms = world->now_ms;
    report->facts = (uint32_t) world->recorded;
    journal_digest (world, &report->journal);
    world_release (world);
}
