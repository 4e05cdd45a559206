/* core.c - the coordinator's core alone: what a host costs it to join, and at each rung.
 *
 *   bench_core HOSTS RUNGS [slice|failing]
 *
 * Every host says hello, beats once a rung and passes each; with `slice` a rung is one program over all hosts, with a rendezvous
 * and one gate; with `failing` too, but all complain of the first one and fail; after each message the core is asked when to wake it, as a
 * driver does that finds one message a pass. Prints the processor time a host, and a host and rung, in us. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator/core/state.h"
#include "sample.h"
#include "usage.h"

enum { STEPS_A_MS = 64 };

struct crowd {
    struct arena arena;
    struct plan plan;
    struct coord *coord;
    struct outbox out;
    uint64_t now_ms, seq, told;
    bool of_slice, failing;
};

static void tell (struct crowd *crowd, uint32_t host, struct msg *msg)
{
    struct core_input in = { .kind = IN_MSG, .host = host, .msg = msg, .text = TEXT_LIT ("sha") };
    msg->session = msg->kind == MSG_HELLO ? 0 : crowd->coord->state->hosts.items[host].session;
    msg->seq = ++crowd->seq;
    crowd->now_ms += crowd->seq % STEPS_A_MS == 0;
    coord_step (crowd->coord, &in, crowd->now_ms, &crowd->out);
    outbox_clear (&crowd->out);
    if (coord_deadline_ms (crowd->coord) > crowd->now_ms)
        return;
    in = (struct core_input){ .kind = IN_TICK };
    coord_step (crowd->coord, &in, crowd->now_ms, &crowd->out);
    outbox_clear (&crowd->out);
}

static void begin (struct crowd *crowd, uint32_t hosts, uint32_t rungs, bool of_slice)
{
    static struct var rendezvous = { { "MASTER", 6 }, { "{rendezvous}", 12 } };
    *crowd = (struct crowd){ .coord = coord_create (), .now_ms = 1000, .of_slice = of_slice };
    sample_plan (&crowd->plan, hosts, &crowd->arena);
    crowd->plan.cache = (struct cache_plan){ .mode = CACHE_OFF };
    crowd->plan.profile.slice_env = (struct scope_env){ { &rendezvous, 1 }, { 0 } };
    crowd->plan.rungs.items = arena_array (&crowd->arena, rungs, sizeof (struct rung));
    for (crowd->plan.rungs.n = 0; crowd->plan.rungs.n < rungs; crowd->plan.rungs.n++)
        crowd->plan.rungs.items[crowd->plan.rungs.n] =
            (struct rung){ .id = text_format (&crowd->arena, "no-op-%02u", crowd->plan.rungs.n),
                           .kind = PROGRAM_COMMAND,
                           .scope = of_slice ? SCOPE_SLICE : SCOPE_HOST,
                           .timeout_ms = 60000 };
    outbox_init (&crowd->out);
    coord_open (crowd->coord, text_of ("00112233445566778899aabbccddeeff"), &crowd->plan, &sample_deal_key,
                text_of ("t"), 1, crowd->now_ms, &crowd->out);
    outbox_clear (&crowd->out);
}

static void join_all (struct crowd *crowd)
{
    for (uint32_t i = 0; i < crowd->plan.hosts.n; i++) {
        struct msg hello = { .kind = MSG_HELLO,
                             .of.hello = { .version = TEXT_LIT ("t"), .pid = 100 + i, .pid_start = 1 } };
        tell (crowd, i, &hello);
    }
}

static void fail (struct result *result)
{
    result->code = 1;
    result->done = false;
    result->tail = TEXT_LIT ("RuntimeError: UNAVAILABLE: failed to connect to h0000:8476: connection refused\n");
}

static void pass_rung (struct crowd *crowd, uint32_t rung)
{
    struct holding held = { .key = { rung, PASS_ONCE, 1 }, .state = ATTEMPT_RUNNING };
    if (crowd->of_slice)
        held.state = ATTEMPT_AT_GATE, held.gate = TEXT_LIT ("mesh"), held.gate_mode = GATE_AGREE;
    for (uint32_t i = 0; i < crowd->plan.hosts.n; i++) {
        struct msg beat = { .kind = MSG_HEARTBEAT, .of.heartbeat.holdings = { &held, 1 } };
        tell (crowd, i, &beat);
    }
    for (uint32_t i = 0; i < crowd->plan.hosts.n; i++) {
        struct msg ended = { .kind = MSG_RESULT,
                             .of.result = {
                                 .key = held.key, .ending = ENDING_EXITED, .done = true, .duration_ms = 5 } };
        if (crowd->failing)
            fail (&ended.of.result);
        tell (crowd, i, &ended);
    }
}

int main (int argc, char **argv)
{
    int hosts = argc >= 3 ? atoi (argv[1]) : 0, rungs = argc >= 3 ? atoi (argv[2]) : 0;
    bool failing = argc == 4 && strcmp (argv[3], "failing") == 0;
    bool of_slice = failing || (argc == 4 && strcmp (argv[3], "slice") == 0);
    if (argc > 3 + of_slice || hosts < 1 || hosts > 65536 || rungs < 1 || rungs > RUNGS_MAX) {
        fprintf (stderr, "usage: bench_core HOSTS RUNGS [slice|failing]\n");
        return 2;
    }
    struct crowd crowd;
    uint32_t exit_status = 1;
    begin (&crowd, (uint32_t) hosts, (uint32_t) rungs, of_slice);
    crowd.failing = failing;
    uint64_t began_ns = usage_cpu_ns ();
    join_all (&crowd);
    uint64_t joined_ns = usage_cpu_ns ();
    for (uint32_t rung = 0; rung < (uint32_t) rungs; rung++)
        pass_rung (&crowd, rung);
    uint64_t ended_ns = usage_cpu_ns ();
    bool ended = coord_ended (crowd.coord, &exit_status);
    printf ("{\"hosts\": %d, \"rungs\": %d, \"join_us\": %.3f, \"rung_us\": %.3f, \"rss_kib\": %llu}\n", hosts, rungs,
            (double) (joined_ns - began_ns) / 1e3 / hosts, (double) (ended_ns - joined_ns) / 1e3 / hosts / rungs,
            (unsigned long long) usage_rss_kib ());
    coord_destroy (crowd.coord);
    outbox_release (&crowd.out);
    arena_release (&crowd.arena);
    return ended && (exit_status == 0) == !failing ? 0 : 1;
}
