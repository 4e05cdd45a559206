/* world_host.c - the hosts' side: workers with their clocks and disks, what they run, and how they lie. */
#include "coordinator/core/state.h"
#include "coordinator/verdict/reduce.h"
#include "sample.h"
#include "worker/core/member_state.h"
#include "world_state.h"

enum { ORPHAN_SLACK_MS = 5000 };

static const char run_id[RUN_ID_BYTES + 1] = "0123456789abcdef";

/* ---- its clock ---- */

/* By its own clock, which may be ahead, fast or slow. */
uint64_t host_now (const struct world *world, uint32_t at)
{
    const struct sim_host *host = &world->hosts[at];
    return world->now_ms + host->jumped_ms + world->now_ms * host->fast_permille / 1000 -
           world->now_ms * host->slow_permille / 1000;
}

/* When its clock shows this. */
static uint64_t by_the_world_s (const struct sim_host *host, uint64_t own_ms)
{
    uint64_t at_ms;
    own_ms = own_ms > host->jumped_ms ? own_ms - host->jumped_ms : 0;
    at_ms = own_ms * 1000 / (1000 + host->fast_permille - host->slow_permille);
    while (at_ms + at_ms * host->fast_permille / 1000 - at_ms * host->slow_permille / 1000 < own_ms)
        at_ms++; /* of what was rounded off */
    return at_ms;
}

uint64_t host_deadline_ms (const struct world *world, uint32_t at)
{
    const struct sim_host *host = &world->hosts[at];
    return host->wakes_ms > host->stands_until_ms ? host->wakes_ms : host->stands_until_ms;
}

void host_note_deadline (struct sim_host *host)
{
    uint64_t own_ms = host->member ? member_deadline_ms (host->member) : UINT64_MAX;
    host->wakes_ms = own_ms == UINT64_MAX ? own_ms : by_the_world_s (host, own_ms);
}

/* ---- its worker's process ---- */

static struct event *host_event (struct world *world, uint32_t at, uint64_t after_ms, enum event_kind kind)
{
    struct event *event = event_add (world, after_ms, kind);
    event->host = at;
    event->life = world->hosts[at].life;
    return event;
}

static void program_event (struct world *world, uint32_t at, uint64_t after_ms)
{
    host_event (world, at, after_ms, EV_PROGRAM)->number = world->hosts[at].run_n;
}

static void program_stop (struct sim_host *host)
{
    host->running = false;
    arena_reset (&host->run_arena);
}

void host_forget (struct world *world, uint32_t at)
{
    for (uint32_t i = 0; i < KEPT_MAX; i++) {
        arena_release (&world->hosts[at].kept[i].arena);
        world->hosts[at].kept[i].used = false;
    }
}

static void recall (struct sim_host *host)
{
    for (uint32_t i = 0; i < KEPT_MAX; i++)
        if (host->kept[i].used)
            member_recall (host->member, &host->kept[i].result);
}

static bool is_one (const struct world *world, uint32_t at, enum fault_kind kind)
{
    for (uint32_t i = 0; i < world->scenario.faults_n; i++)
        if (world->scenario.faults[i].kind == kind && world->scenario.faults[i].who == at)
            return true;
    return false;
}

/* keyed_after_ms 0: nobody launched it, so nobody is told its key. */
void host_launch (struct world *world, uint32_t at, uint64_t keyed_after_ms)
{
    struct sim_host *host = &world->hosts[at];
    char name[16], boot[16];
    if (host->member || host->off || is_one (world, at, FAULT_STRANGER))
        return; /* the old process still waits: its key is bound already */
    host->life++;
    host->admitted = !keyed_after_ms;
    if (keyed_after_ms)
        host_event (world, at, keyed_after_ms + rng_below (&host->rng, 50), EV_KEYED);
    snprintf (name, sizeof (name), "host%u", at);
    snprintf (boot, sizeof (boot), "boot%u", host->boot);
    host->member = member_create (text_of (name), (struct text){ run_id, RUN_ID_BYTES }, text_of ("sim"), 1000 + at,
                                  host->life, text_of (boot));
    recall (host);
    host_note_deadline (host);
    host->own_seq = host->told = 0;
}

void host_kill (struct world *world, uint32_t at)
{
    struct sim_host *host = &world->hosts[at];
    if (host->member == NULL)
        return;
    member_destroy (host->member);
    host->member = NULL;
    host->admitted = false;
    host->life++;
    host->stands_until_ms = 0;
    program_stop (host);
}

/* ---- what it runs ---- */

/* No two hosts write the cache at a time, by their own clocks: one whose worker stands cannot be told, and writes into a generation
 * that nobody will read. */
static void check_writer (const struct world *world, uint32_t at)
{
    for (uint32_t i = 0; i < world->scenario.hosts; i++) {
        const struct sim_host *other = &world->hosts[i];
        bool writes = i != at && other->running && other->run.cache.role == CACHE_ROLE_WRITER;
        bool stands = other->stands_until_ms > world->now_ms || is_one (world, i, FAULT_STUCK);
        PROMISE (world, "one-writer", !writes || stands || world->report->put_back,
                 "host%u began to write the cache while host%u did", at, i);
    }
}

static void check_start (const struct world *world, uint32_t at, const struct msg_run *run)
{
    const struct sim_host *host = &world->hosts[at];
    const struct durable *durable = &world->promises.durable;
    PROMISE (world, "one-attempt-at-a-time", !host->running,
             "host%u runs attempt %u of rung %u and starts attempt %u of rung %u", at, host->run.key.attempt,
             host->run.key.rung, run->key.attempt, run->key.rung);
    if (run->cache.role == CACHE_ROLE_WRITER) {
        PROMISE (world, "writes-under-a-lease", host->leased == run->cache.token,
                 "host%u begins to write generation %" PRIu64 " without its lease", at, run->cache.token);
        check_writer (world, at);
    }
    if (!attempt_key_equal (&run->key, &durable->pass.key) || durable->pass.purpose != PURPOSE_ISOLATION)
        return;
    PROMISE (world, "parts", run->cache.role == CACHE_ROLE_NONE, "a part of the slice was given the cache");
    PROMISE (world, "parts",
             run->world == durable->pass.hosts.n && durable->pass_hosts[run->rank] == at &&
                 mesh_devices (&run->mesh) == 2 * run->world,
             "host%u has rank %u of %u and a mesh of %u devices", at, run->rank, run->world, mesh_devices (&run->mesh));
}

static void program_start (struct world *world, uint32_t at, const struct msg_run *run)
{
    struct sim_host *host = &world->hosts[at];
    check_start (world, at, run);
    PROMISE (world, "started-once", !promises_started (&world->promises, at, &run->key) || world->report->put_back,
             "host%u started attempt %u of rung %u twice", at, run->key.attempt, run->key.rung);
    promises_note_started (&world->promises, at, &run->key);
    world->report->programs_started++;
    world->report->started_again += world->report->put_back;
    arena_reset (&host->run_arena);
    record_copy (msg_record_of_kind (MSG_RUN), &host->run, run, &host->run_arena);
    host->running = true;
    host->step = 0;
    host->run_n++;
    host->came = host->passed = 0;
    host->hung = false;
    host->stopping = ENDING_NONE;
    program_event (world, at, 50);
    host_event (world, at, run->rung.timeout_ms, EV_LIMIT)->number = host->run_n;
}

/* Of its programs that has this rung, while there are no more attempts than the fault says. */
static const struct fault *program_fault (const struct world *world, uint32_t at, enum fault_kind kind)
{
    const struct msg_run *run = &world->hosts[at].run;
    for (uint32_t i = 0; i < world->scenario.faults_n; i++) {
        const struct fault *fault = &world->scenario.faults[i];
        bool of_rung = fault->moment != MOMENT_RUNG || fault->at == run->key.rung;
        bool attempts = kind == FAULT_FALL || kind == FAULT_TRIP || kind == FAULT_DIFFER || kind == FAULT_SKIP,
             so_many = !attempts || !fault->amount || run->key.attempt <= fault->amount;
        if (fault->kind == kind && (fault->who == at || fault->who == EVERYBODY) && of_rung && so_many)
            return fault;
    }
    return NULL;
}

/* Shards of wrong sums, or a metric that is none. False: where nobody else takes part, it is right all the same. */
static bool report_wrongly (struct world *world, uint32_t at, const uint64_t *secrets, struct result *result)
{
    const struct msg_run *run = &world->hosts[at].run;
    const struct fault *wrong = program_fault (world, at, FAULT_WRONG);
    uint32_t next = (run->rank + 1) % run->world, whose = wrong && wrong->amount == WRONG_LACKS ? next : run->rank;
    double value = 4 * whose + 1,
           proof = 2.0 * (double) secrets[whose] + 1; /* of one host, whose two devices count on */
    if (!wrong || (run->world == 1 && wrong->amount <= WRONG_LACKS))
        return false;
    struct metric *metric = &result->metrics.items[0];
    for (uint32_t i = 0; i < metric->shards.n; i++) {
        struct shard *shard = &metric->shards.items[i];
        bool local = wrong->amount == WRONG_LOCAL;
        double sign = wrong->amount == WRONG_LACKS ? -1 : wrong->amount == WRONG_TWICE ? 1 : 0;
        shard->value = local ? value : shard->value + sign * value;
        shard->proof = local ? proof : shard->proof + sign * proof;
    }
    metric->value = metric->shards.items[0].value + (wrong->amount == WRONG_BESIDE);
    metric->global = wrong->amount != WRONG_NOT_GLOBAL;
    result->metrics.n = wrong->amount != WRONG_MISSING;
    return true;
}

/* What its audit of the cache found. */
static void see_cache (struct world *world, uint32_t at, struct result *result, struct finding *finding)
{
    const struct msg_run *run = &world->hosts[at].run;
    const struct fault *found = program_fault (world, at, FAULT_FINDING);
    bool surveys = text_is (run->rung.builtin, "cache");
    if (run->cache.role == CACHE_ROLE_NONE && !surveys)
        return;
    result->cache.storage = is_one (world, at, FAULT_ELSEWHERE) ? TEXT_LIT ("store1") : TEXT_LIT ("store0");
    result->cache.mount = TEXT_LIT ("nfs");
    if (!found || !run->cache.token)
        return;
    *finding = (struct finding){ .kind = (enum finding_kind) found->amount, .token = run->cache.token + found->more };
    finding->path = TEXT_LIT ("jit_tiny-cache");
    result->findings.items = finding;
    result->findings.n = 1;
    promises_note_found (&world->promises, at, finding, found->more == 0);
}

static void program_end (struct world *world, uint32_t at, enum ending ending, uint32_t code, const char *tail)
{
    struct sim_host *host = &world->hosts[at];
    LOCAL_ARENA arena = { 0 };
    uint64_t secrets[HOSTS_SIMULATED_MAX] = { 0 };
    struct result result;
    struct finding finding;
    struct digest pass_key = deal_pass_key (&sample_deal_key, &host->run.key);
    if (host->run.rung.metrics.n)
        deal_secrets (&pass_key, host->run.world, 2, secrets);
    sample_result (&host->run, secrets, &result, &arena);
    result.tail = text_of (tail);
    result.ending = ending;
    result.code = code;
    result.done = ending == ENDING_EXITED && code == 0;
    if (world->misfits && host->run.cache.role == CACHE_ROLE_READER && host->run.cache.token == world->promises.misfit)
        result.cache_state = TEXT_LIT ("MANIFEST does not fit");
    see_cache (world, at, &result, &finding);
    if (!result.done) /* it did not come to its end */
        result.checks.n = result.metrics.n = result.counters.n = 0;
    else if (result.metrics.n && report_wrongly (world, at, secrets, &result))
        promises_note_wrong (&world->promises, at, &result.key);
    if (result.done)
        promises_note_done (&world->promises, at, &result.key);
    program_stop (host);
    host_step (world, at, &(struct member_input){ .kind = MEMBER_ENDED, .result = &result });
}

/* In a collective that does not end while all that stall are in it. */
static bool program_hangs (const struct world *world, uint32_t at)
{
    const struct promises *promises = &world->promises;
    const struct msg_run *run = &world->hosts[at].run;
    const struct fault *stall = NULL;
    for (uint32_t i = 0; i < promises->culprits_n && !stall; i++)
        stall = program_fault (world, promises->culprits[i], FAULT_STALL);
    bool now = stall && run->rung.scope == SCOPE_SLICE && attempt_key_equal (&run->key, &promises->durable.pass.key);
    if (!now || ((stall->amount & 1) && run->world == 1))
        return false;
    return culprits_among (promises, promises->durable.pass_hosts, promises->durable.pass.hosts.n) ==
           promises->culprits_n;
}

static bool notices (const struct world *world, uint32_t at)
{
    const struct promises *promises = &world->promises;
    const struct fault *stall = program_fault (world, promises->culprits[0], FAULT_STALL);
    return stall && (stall->amount & 2) && culprits_among (promises, &at, 1) == 0;
}

static const char *const gate_names[] = { "rendezvous", "mesh", "compile", "load", "step", "eval",
                                          "save",       "rest", "end",     "last", "none" };

static uint32_t gates_n (const struct world *world, const struct attempt_key *key)
{
    uint32_t n = 1;
    for (uint32_t i = 0; i < world->scenario.faults_n; i++)
        if (world->scenario.faults[i].kind == FAULT_GATES && world->scenario.faults[i].at == key->rung)
            n = (uint32_t) world->scenario.faults[i].amount + 1;
    return n < sizeof (gate_names) / sizeof (gate_names[0]) ? n : sizeof (gate_names) / sizeof (gate_names[0]);
}

/* DIFFER makes all of the rung's hosts ask for agreement. */
static struct member_input gate_of (const struct world *world, uint32_t at)
{
    const struct msg_run *run = &world->hosts[at].run;
    struct member_input in = { .kind = MEMBER_GATE, .text = text_of (gate_names[world->hosts[at].came]) };
    in.gate_mode = GATE_SHARE;
    in.gate_value = run->rank == 0 ? TEXT_LIT ("127.0.0.1:1") : TEXT_LIT ("");
    for (uint32_t i = 0; i < world->scenario.faults_n; i++)
        if (world->scenario.faults[i].kind == FAULT_DIFFER && world->scenario.faults[i].at == run->key.rung)
            in.gate_mode = GATE_AGREE;
    if (in.gate_mode == GATE_AGREE)
        in.gate_value = program_fault (world, at, FAULT_DIFFER) ? TEXT_LIT ("5678") : TEXT_LIT ("1234");
    return in;
}

static bool program_at_gate (struct world *world, uint32_t at)
{
    struct sim_host *host = &world->hosts[at];
    if (host->run.rung.scope != SCOPE_SLICE || host->passed == gates_n (world, &host->run.key) ||
        program_fault (world, at, FAULT_SKIP))
        return false;
    if (host->came == host->passed) {
        struct member_input in = gate_of (world, at);
        host->came++;
        host_step (world, at, &in);
    }
    return true;
}

static void program_conclude (struct world *world, uint32_t at)
{
    if (program_fault (world, at, FAULT_TRIP))
        program_end (world, at, ENDING_EXITED, 1, "metadata server: 503, try again");
    else
        program_end (world, at, ENDING_EXITED, program_fault (world, at, FAULT_FALL) ? 3 : 0, "");
}

/* Its worker has heard nothing for longer than it may let it run; as far as its own clock tells. */
static void check_orphan (const struct world *world, uint32_t at)
{
    const struct sim_host *host = &world->hosts[at];
    uint64_t limit_ms = world->plan.limits.orphan_ms * 11 / 10 + ORPHAN_SLACK_MS;
    PROMISE (world, "orphan",
             world->now_ms < host->heard_ms + limit_ms || world->now_ms < host->stands_until_ms + ORPHAN_SLACK_MS,
             "host%u runs attempt %u of rung %u, and last heard the coordinator at %" PRIu64 " ms", at,
             host->run.key.attempt, host->run.key.rung, host->heard_ms);
}

void host_program_step (struct world *world, uint32_t at)
{
    struct sim_host *host = &world->hosts[at];
    const struct fault *slow = program_fault (world, at, FAULT_SLOW);
    if (host->running && !host->stopping && !is_one (world, at, FAULT_STUCK))
        check_orphan (world, at);
    if (!host->running || (program_fault (world, at, FAULT_STUCK) && host->step == 3))
        return;
    if (host->stopping) {
        program_end (world, at, host->stopping, 0, "");
        return;
    }
    if (host->hung) {
        program_end (world, at, ENDING_EXITED, 1, "the reduction gave no answer");
        return;
    }
    if (host->step == 0)
        host_step (world, at, &(struct member_input){ .kind = MEMBER_PHASE, .text = TEXT_LIT ("import") });
    if (!host->running || program_at_gate (world, at))
        return;
    if (host->step++ < 3) {
        program_event (world, at, (slow ? slow->amount : 100) + rng_below (&host->rng, 3000));
        return;
    }
    host->hung = program_hangs (world, at);
    if (!host->hung)
        program_conclude (world, at);
    else if (notices (world, at))
        program_event (world, at, 4000 + rng_below (&host->rng, 3000));
}

void host_program_limit (struct world *world, const struct event *event)
{
    struct sim_host *host = &world->hosts[event->host];
    if (host->running && host->run_n == event->number && !program_fault (world, event->host, FAULT_STUCK))
        program_end (world, event->host, host->stopping ? host->stopping : ENDING_TIMEOUT, 0, "");
}

/* ---- what it sends, and how it lies ---- */

static bool lies_now (struct world *world, uint32_t at, enum fault_kind kind, struct fault *lie)
{
    const struct fault *fault = fault_pending (world, kind, at);
    if (fault) {
        *lie = *fault;
        fault_take (world, fault);
    }
    return fault != NULL;
}

static void lie_of_result (struct world *world, uint32_t at, struct result *result)
{
    struct fault lie;
    if (lies_now (world, at, FAULT_LIE_ATTEMPT, &lie))
        result->key.attempt += (uint32_t) lie.amount;
    if (!result->seal.token || !lies_now (world, at, FAULT_LIE_SEAL, &lie))
        return;
    result->seal.token += lie.more;
    result->seal.sha256 = TEXT_LIT ("00000000000000000000000000000000000000000000000000000000000000ff");
}

static void lie_of_message (struct world *world, uint32_t at, struct msg *msg, struct holding *held)
{
    struct fault lie;
    if (lies_now (world, at, FAULT_LIE_EPOCH, &lie))
        msg->epoch += lie.amount;
    if (lies_now (world, at, FAULT_LIE_SESSION, &lie))
        msg->session += 1 + lie.amount;
    if (msg->kind == MSG_RESULT)
        lie_of_result (world, at, &msg->of.result);
    if (msg->kind == MSG_HELLO && lies_now (world, at, FAULT_LIE_TOLD, &lie))
        msg->of.hello.told_index += lie.amount;
    if (msg->kind != MSG_HEARTBEAT)
        return;
    if (lies_now (world, at, FAULT_LIE_LEASE, &lie)) {
        msg->of.heartbeat.lease_token = world->given_token;
        msg->of.heartbeat.lease_ask = 1;
    }
    if (msg->of.heartbeat.holdings.n == 0 && lies_now (world, at, FAULT_LIE_HOLDING, &lie)) {
        *held = (struct holding){ .key = { 0, PASS_ONCE, 1 + (uint32_t) lie.amount }, .state = ATTEMPT_RUNNING };
        msg->of.heartbeat.holdings.items = held;
        msg->of.heartbeat.holdings.n = 1;
    }
}

static void send_msg (struct world *world, uint32_t at, const struct msg *from)
{
    LOCAL_BUF buf = { .max = FRAME_MOST };
    struct sim_host *host = &world->hosts[at];
    struct msg msg = *from;
    struct holding held;
    struct fault lie;
    msg.major = PROTOCOL_MAJOR;
    msg.run_id = (struct text){ run_id, RUN_ID_BYTES };
    msg.epoch = member_epoch (host->member);
    msg.session = member_session (host->member);
    msg.seq = ++host->own_seq;
    bool twice = msg.kind == MSG_RESULT && lies_now (world, at, FAULT_LIE_TWICE, &lie);
    lie_of_message (world, at, &msg, &held);
    wire_put_msg (&buf, &msg);
    world_post (world, EV_TO_COORD, at, buf_as_text (&buf));
    if (!twice)
        return;
    buf_clear (&buf);
    msg.seq = ++host->own_seq;
    msg.of.result.tail = TEXT_LIT ("other words");
    wire_put_msg (&buf, &msg);
    world_post (world, EV_TO_COORD, at, buf_as_text (&buf));
}

/* ---- what its worker orders ---- */

static void keep (struct world *world, uint32_t at, const struct result *result)
{
    struct sim_host *host = &world->hosts[at];
    for (uint32_t i = 0; i < KEPT_MAX; i++)
        if (!host->kept[i].used) {
            host->kept[i].used = true;
            record_copy (&result_record, &host->kept[i].result, result, &host->kept[i].arena);
            return;
        }
}

static void forget (struct world *world, uint32_t at, const struct attempt_key *key)
{
    struct sim_host *host = &world->hosts[at];
    world->promises.now_ms = world->now_ms;
    promises_check_forgotten (&world->promises, at, key);
    for (uint32_t i = 0; i < KEPT_MAX; i++)
        if (host->kept[i].used && attempt_key_equal (&host->kept[i].result.key, key)) {
            host->kept[i].used = false;
            arena_reset (&host->kept[i].arena);
        }
}

static void stop (struct world *world, uint32_t at, const struct member_effect *effect)
{
    struct sim_host *host = &world->hosts[at];
    host->stopping = effect->ending ? effect->ending : ENDING_CANCELLED;
    program_event (world, at, effect->hard ? 10 : 10 + rng_below (&host->rng, 2000));
}

/* Everybody who takes part has come to it, and with the same value where they ask for that. */
static void pass_gate (struct world *world, uint32_t at)
{
    const struct durable *durable = &world->promises.durable;
    const struct attempt_key *key = &world->hosts[at].run.key;
    bool differs = program_fault (world, at, FAULT_DIFFER);
    for (uint32_t i = 0; i < durable->pass.hosts.n && attempt_key_equal (key, &durable->pass.key); i++) {
        uint32_t other = durable->pass_hosts[i];
        const struct sim_host *host = &world->hosts[other];
        bool came = host->came > world->hosts[at].passed && attempt_key_equal (key, &host->run.key);
        PROMISE (world, "gate", came || promises_ended (&world->promises, other, key) || !host->member,
                 "host%u passes a gate at which host%u did not arrive", at, other);
        PROMISE (world, "gate", !came || differs == (program_fault (world, other, FAULT_DIFFER) != NULL),
                 "host%u passes a gate at which it differs from host%u", at, other);
    }
    world->hosts[at].passed++;
    program_event (world, at, 1);
}

static void obey (struct world *world, uint32_t at, const struct member_effect *effect)
{
    world->report->tally.orders[effect->kind]++;
    if (world_count (world, at, MOMENT_EFFECT))
        return;
    switch (effect->kind) {
    case MEMBER_SEND:
        if (!world_count (world, at, MOMENT_SEND))
            send_msg (world, at, effect->msg);
        break;
    case MEMBER_START: program_start (world, at, &effect->msg->of.run); break;
    case MEMBER_LOOK:
        host_step (world, at, &(struct member_input){ .kind = MEMBER_STAND, .text = TEXT_LIT ("train.py:7 step ()") });
        break;
    case MEMBER_GO: pass_gate (world, at); break;
    case MEMBER_STOP: stop (world, at, effect); break;
    case MEMBER_KEEP:
        if (!world_count (world, at, MOMENT_RECORD))
            keep (world, at, effect->result);
        break;
    case MEMBER_FORGET: forget (world, at, &effect->result->key); break;
    case MEMBER_EXIT: host_kill (world, at); break;
    }
}

void host_step (struct world *world, uint32_t at, const struct member_input *in)
{
    struct sim_host *host = &world->hosts[at];
    struct member_outbox out;
    uint32_t life = host->life;
    if (!host->admitted)
        return;
    member_outbox_init (&out);
    member_step (host->member, in, host_now (world, at), &out);
    for (uint32_t i = 0; i < out.n && host->member && host->life == life; i++)
        obey (world, at, &out.items[i]);
    member_outbox_release (&out);
    host_note_deadline (host);
}

/* Of what it surely takes: in its session, and new. */
static void note_told (struct world *world, uint32_t at, const struct msg *msg)
{
    const struct member *member = world->hosts[at].member;
    if (!member || msg->kind == MSG_WELCOME || msg->session != member_session (member) ||
        msg->epoch != member_epoch (member) || msg->seq <= member_seen_seq (member))
        return;
    if (msg_recorded_index (msg) > world->hosts[at].told)
        world->hosts[at].told = msg_recorded_index (msg);
}

/* The holder believes in it for no longer than the grantor, each by its own clock. */
static void check_lease (const struct world *world, uint32_t at)
{
    const struct sim_host *host = &world->hosts[at];
    const struct lease_client *own = host->member ? &host->member->lease_client : NULL;
    const struct lease *given = world->coord ? &world->coord->soft.lease : NULL;
    bool held = own && given && own->token && own->token == given->token && own->until_ms && !own->lost;
    PROMISE (world, "lease", !held || by_the_world_s (host, own->until_ms) <= given->over_at_ms,
             "host%u believes that it holds generation %" PRIu64 " for longer than the coordinator does", at,
             own->token);
}

void host_deliver (struct world *world, const struct event *event)
{
    LOCAL_ARENA arena = { 0 };
    struct msg msg;
    struct err err = { 0 };
    int rc = wire_get_msg (event->frame, &msg, &arena, &err);
    PROMISE (world, "frame-decodes", rc == 0, "the coordinator's frame does not decode: %s", err.text);
    note_told (world, event->host, &msg);
    world->hosts[event->host].heard_ms = world->now_ms;
    if (msg.kind == MSG_LEASE && msg.of.lease.term_ms)
        world->hosts[event->host].leased = msg.of.lease.token;
    host_step (world, event->host, &(struct member_input){ .kind = MEMBER_MSG, .msg = &msg });
    check_lease (world, event->host);
}
