/* steps.c - a coordinator without sockets, disk and clock: each frame of a worker is decoded, decided on, and what follows is
 * encoded, as coordinator/run does. `bench_steps HOSTS ROUNDS [slice]`; with `slice` a rung is one program over all hosts, which meet at a
 * gate. tests/bench/instructions counts what coordinator_take executes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/wire.h"
#include "coordinator/core/coord.h"
#include "made_plan.h"

struct worker {
    uint64_t session, seq;
    struct attempt_key key;
    bool ordered; /* to run `key` */
};

struct steps {
    struct bench_options options;
    struct arena arena, decoded;
    struct plan plan;
    struct coord *coord;
    struct outbox out;
    struct worker *workers;
    struct buf frame, answer;
    uint64_t now_ms, seq, bytes;
    uint32_t passes;
};

static void steps_send (struct steps *steps, const struct effect *effect)
{
    static const char run_id[RUN_ID_BYTES] = "0123456789abcde";
    struct worker *worker = &steps->workers[effect->host];
    struct msg msg = *effect->msg;
    msg.major = PROTOCOL_MAJOR;
    msg.run_id = (struct text){ run_id, RUN_ID_BYTES };
    msg.epoch = coord_epoch (steps->coord);
    msg.session = effect->session;
    msg.seq = ++steps->seq;
    msg.ack = coord_seen_seq (steps->coord, effect->host);
    buf_clear (&steps->answer);
    wire_put_msg (&steps->answer, &msg);
    steps->bytes += steps->answer.len;
    worker->session = effect->session;
    if (msg.kind == MSG_RUN)
        worker->key = msg.of.run.key, worker->ordered = true;
}

static void steps_record (struct steps *steps, const struct fact *fact)
{
    buf_clear (&steps->answer);
    wire_put_fact (&steps->answer, fact);
    if (steps->answer.overflow || !record_check (fact_record_of_kind (fact->kind), &fact->of, NULL))
        abort ();
    steps->bytes += steps->answer.len;
    steps->passes += fact->kind == FACT_PASS_ENDED;
}

static void steps_take_outbox (struct steps *steps)
{
    for (uint32_t i = 0; i < steps->out.n; i++) {
        const struct outbox_item *item = &steps->out.items[i];
        if (item->is_fact)
            steps_record (steps, &item->fact);
        else if (item->effect.kind == FX_SEND)
            steps_send (steps, &item->effect);
    }
    outbox_clear (&steps->out);
}

/* What is counted. */
static __attribute__ ((noinline)) void coordinator_take (struct steps *steps, uint32_t host)
{
    struct msg msg;
    struct err err;
    arena_reset (&steps->decoded);
    if (wire_get_msg (buf_as_text (&steps->frame), &msg, &steps->decoded, &err) < 0)
        abort ();
    struct core_input in = { .kind = IN_MSG, .host = host, .msg = &msg };
    coord_step (steps->coord, &in, ++steps->now_ms, &steps->out);
    steps_take_outbox (steps);
}

static void worker_say (struct steps *steps, uint32_t host, struct msg *msg)
{
    static const char run_id[RUN_ID_BYTES] = "0123456789abcde";
    msg->major = PROTOCOL_MAJOR;
    msg->run_id = (struct text){ run_id, RUN_ID_BYTES };
    msg->epoch = coord_epoch (steps->coord);
    msg->session = steps->workers[host].session;
    msg->seq = ++steps->workers[host].seq;
    buf_clear (&steps->frame);
    wire_put_msg (&steps->frame, msg);
    coordinator_take (steps, host);
}

static void join (struct steps *steps, uint32_t host)
{
    struct core_input keyed = { .kind = IN_WORKER_KEYED, .host = host, .text = TEXT_LIT ("k") };
    coord_step (steps->coord, &keyed, ++steps->now_ms, &steps->out);
    steps_take_outbox (steps);
    struct msg msg = { .kind = MSG_HELLO };
    msg.of.hello = (struct msg_hello){ .host = steps->plan.hosts.items[host].name,
                                       .version = TEXT_LIT (BENCH_VERSION),
                                       .pid = 4000 + host,
                                       .pid_start = 123456 };
    worker_say (steps, host, &msg);
}

static void make_slice_wide (struct plan *plan)
{
    static struct var rendezvous = { { "MASTER", 6 }, { "{rendezvous}", 12 } };
    plan->profile.slice_env = (struct scope_env){ { &rendezvous, 1 }, { 0 } };
    plan->profile.port = 29500;
    for (uint32_t i = 0; i < plan->rungs.n; i++)
        plan->rungs.items[i].scope = SCOPE_SLICE;
}

static void meet (struct steps *steps)
{
    for (uint32_t host = 0; host < steps->options.hosts; host++) {
        struct holding held = { .key = steps->workers[host].key,
                                .state = ATTEMPT_AT_GATE,
                                .gate = TEXT_LIT ("mesh"),
                                .gate_mode = GATE_AGREE };
        struct msg msg = { .kind = MSG_HEARTBEAT, .of.heartbeat.holdings = { &held, 1 } };
        worker_say (steps, host, &msg);
    }
}

static void steps_round (struct steps *steps)
{
    if (steps->plan.rungs.items[0].scope == SCOPE_SLICE)
        meet (steps);
    for (uint32_t host = 0; host < steps->options.hosts; host++) {
        struct worker *worker = &steps->workers[host];
        struct msg msg = { .kind = MSG_RESULT, .of.result = bench_result_of (&worker->key) };
        if (!worker->ordered)
            abort ();
        worker->ordered = false;
        worker_say (steps, host, &msg);
    }
}

int main (int argc, char **argv)
{
    struct steps steps = { .options.home = "/" };
    struct digest deal_key = { .bytes = { 1 } };
    bool of_slice = argc == 4 && strcmp (argv[3], "slice") == 0;
    if (argc != 3 + of_slice)
        return fprintf (stderr, "usage: bench_steps HOSTS ROUNDS [slice]\n"), 2;
    steps.options.hosts = (uint32_t) strtoul (argv[1], NULL, 10);
    steps.options.rounds = (uint32_t) strtoul (argv[2], NULL, 10);
    buf_init (&steps.frame, MSG_MAX_BYTES);
    buf_init (&steps.answer, FACT_MAX_BYTES);
    steps.workers = mem_array (steps.options.hosts, sizeof *steps.workers);
    bench_make_plan (&steps.plan, &steps.options, &steps.arena);
    if (of_slice)
        make_slice_wide (&steps.plan);
    steps.coord = coord_create ();
    outbox_init (&steps.out);
    coord_open (steps.coord, TEXT_LIT ("00112233445566778899aabbccddeeff"), &steps.plan, &deal_key,
                TEXT_LIT (BENCH_VERSION), 1, 0, &steps.out);
    steps_take_outbox (&steps);
    for (uint32_t host = 0; host < steps.options.hosts; host++)
        join (&steps, host);
    for (uint32_t i = 0; i < steps.options.rounds; i++)
        steps_round (&steps);
    printf ("{\"hosts\": %u, \"rounds\": %u, \"bytes\": %llu}\n", steps.options.hosts, steps.passes,
            (unsigned long long) steps.bytes);
    return steps.passes == steps.options.rounds ? 0 : 1;
}
