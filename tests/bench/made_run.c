/* made_run.c - writes the journal of a run of many hosts that nobody ran: for figures of what reads journals.
 *
 *   bench_made_run HOME HOSTS RUNGS [RUNG_MS [random|alternating]]
 *
 * Every rung runs on all hosts and passes, but the last: on it host 3 of each 1,024 has no chip, the 40 behind it fall
 * because of that, and nothing is above it. RUNG_MS: each rung takes so long, its results spread over that time, and
 * the journal is held as a coordinator holds it; 0 (the default): all at once. With a last word the hosts of the last rung
 * end in all ways that there are, or every other one fails. Prints the run's id. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/io/clock.h"
#include "common/wire/wire.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/run_begun.h"

enum { FACTS = 60, BAD_EVERY = 1024, BAD_AT = 3, CASCADES = 40, STEP_MS = 50, FACT_BYTES = FACT_MAX_BYTES };

struct made {
    struct journal *journal;
    struct plan plan;
    struct arena arena, one; /* of the run, of one fact */
    struct buf bytes;
    uint64_t index, at_ms, rung_ms, wall_ms;
    const char *mixed; /* NULL, or how the hosts of the last rung end */
    char id[RUN_ID_HEX_BYTES];
};

static _Noreturn void leave (const struct err *err)
{
    fprintf (stderr, "bench_made_run: %s\n", err->text);
    exit (1);
}

static void record (struct made *made, struct fact *fact)
{
    fact->index = ++made->index;
    fact->at_ms = made->at_ms;
    fact->wall_ms = made->wall_ms + made->at_ms;
    buf_clear (&made->bytes);
    wire_put_fact (&made->bytes, fact);
    journal_append (made->journal, fact->index, fact->kind, fact->at_ms, fact->wall_ms, buf_as_text (&made->bytes));
    arena_reset (&made->one);
}

static void pass_time (struct made *made, uint64_t ms)
{
    made->at_ms += ms;
    uint64_t due_ms = made->wall_ms + made->at_ms, now_ms = clock_wall_ms (); /* what recording took is not lost */
    if (made->rung_ms && due_ms > now_ms)
        nanosleep (
            &(struct timespec){ (time_t) ((due_ms - now_ms) / 1000), (long) ((due_ms - now_ms) % 1000) * 1000000 },
            NULL);
}

/* ---- the plan ---- */

static void plan_rung (struct made *made, uint32_t at)
{
    bool last = at + 1 == made->plan.rungs.n;
    struct rung *rung = &made->plan.rungs.items[at];
    *rung = (struct rung){ .id = at ? text_format (&made->arena, last ? "train" : "rung-%02u", at) : TEXT_LIT ("facts"),
                           .kind = at ? PROGRAM_COMMAND : PROGRAM_BUILTIN,
                           .scope = last ? SCOPE_SLICE : SCOPE_HOST,
                           .timeout_ms = 600000 };
    if (at == 0)
        rung->builtin = TEXT_LIT ("facts");
    else {
        rung->argv.items = arena_array (&made->arena, 1, sizeof (struct text));
        rung->argv.items[rung->argv.n++] = TEXT_LIT ("/opt/slice/bin/check-host");
    }
}

static void make_plan (struct made *made, uint32_t hosts, uint32_t rungs)
{
    struct plan *plan = &made->plan;
    *plan = (struct plan){ .slice = TEXT_LIT ("made"), .launcher = LAUNCHER_JOIN, .ladder = TEXT_LIT ("made") };
    plan->hosts.items = arena_array (&made->arena, hosts, sizeof (struct plan_host));
    plan->hosts.n = hosts;
    for (uint32_t i = 0; i < hosts; i++)
        plan->hosts.items[i] = (struct plan_host){ .name = text_format (&made->arena, "v6e-%u", i),
                                                   .address = TEXT_LIT ("127.0.0.1") };
    plan->mesh.items = arena_array (&made->arena, 2, sizeof (struct axis));
    plan->mesh.n = 2;
    plan->mesh.items[0] = (struct axis){ TEXT_LIT ("data"), hosts };
    plan->mesh.items[1] = (struct axis){ TEXT_LIT ("model"), 4 };
    plan->rungs.items = arena_array (&made->arena, rungs, sizeof (struct rung));
    plan->rungs.n = rungs;
    for (uint32_t i = 0; i < rungs; i++)
        plan_rung (made, i);
    plan->profile = (struct profile){
        .name = TEXT_LIT ("tpu-v6e"), .frontend = TEXT_LIT ("jax"), .backend = TEXT_LIT ("tpu"), .devices_per_host = 4
    };
    plan->cache = (struct cache_plan){ .mode = CACHE_OFF };
    plan->limits = (struct limits){ .join_ms = 60000, .suspect_ms = 5000, .lost_ms = 30000, .log_bytes = 1 << 20 };
}

/* ---- facts ---- */

static bool is_bad (uint32_t host)
{
    return host % BAD_EVERY == BAD_AT;
}

static bool follows (uint32_t host)
{
    return host % BAD_EVERY > BAD_AT && host % BAD_EVERY <= BAD_AT + CASCADES;
}

static void begin (struct made *made)
{
    struct fact opened = { .kind = FACT_RUN_OPENED }, epoch = { .kind = FACT_EPOCH_BEGAN };
    opened.of.run_opened = (struct fact_run_opened){ text_of (made->id), made->plan, TEXT_LIT ("0.3.0") };
    epoch.of.epoch_began = (struct fact_epoch_began){ 1, (uint64_t) getpid (), 0 };
    record (made, &opened);
    record (made, &epoch);
    for (uint32_t i = 0; i < made->plan.hosts.n; i++) {
        struct fact joined = { .kind = FACT_HOST_JOINED };
        joined.of.host_joined = (struct fact_host_joined){ .host = i, .session = i + 1, .version = TEXT_LIT ("0.3.0") };
        record (made, &joined);
    }
}

static void add_facts (struct made *made, uint32_t host, struct result *result)
{
    result->facts.items = arena_array (&made->one, FACTS, sizeof (struct var));
    for (uint32_t i = 0; i < FACTS; i++)
        result->facts.items[i] =
            (struct var){ text_format (&made->one, "fact.%02u", i),
                          text_format (&made->one, "value %u of %u", i, i < 4 ? host : is_bad (host)) };
    result->facts.n = FACTS;
}

static void add_phases (struct made *made, uint32_t host, struct result *result)
{
    uint64_t left = result->duration_ms, wait = host % 7 * left / 32;
    struct named_number phases[] = { { TEXT_LIT ("import"), left / 8 + host % 11 },
                                     { TEXT_LIT ("init"), left / 8 },
                                     { TEXT_LIT ("gate:start"), wait },
                                     { TEXT_LIT ("compile"), left / 4 },
                                     { TEXT_LIT ("run"), left / 4 } };
    result->phases.items = arena_copy (&made->one, phases, sizeof phases);
    result->phases.n = sizeof phases / sizeof phases[0];
}

static void end_attempt (struct made *made, struct attempt_key key, uint32_t host, bool last)
{
    struct fact ended = { .kind = FACT_ATTEMPT_ENDED };
    struct result *result = &ended.of.attempt_ended.result;
    bool bad = last && (is_bad (host) || follows (host));
    ended.of.attempt_ended.host = host;
    *result =
        (struct result){ .key = key, .ending = ENDING_EXITED, .code = bad, .duration_ms = 100 + made->rung_ms * 3 / 4 };
    result->phase = TEXT_LIT ("run");
    add_phases (made, host, result);
    if (key.rung == 0)
        add_facts (made, host, result);
    if (last && is_bad (host)) {
        result->shown.items = arena_array (&made->one, 1, sizeof (struct text));
        result->shown.items[result->shown.n++] = text_format (
            &made->one, "RuntimeError: TPU initialization failed: no chip at /dev/vfio/%u", host % 4);
    }
    record (made, &ended);
}

/* Neighbours end in different ways. */
static enum outcome mixed_outcome (const struct made *made, uint32_t host)
{
    static const enum outcome of[] = { OUTCOME_PASSED,    OUTCOME_FAILED, OUTCOME_CASCADE,     OUTCOME_BLOCKED,
                                       OUTCOME_TIMED_OUT, OUTCOME_LOST,   OUTCOME_NOT_REACHED, OUTCOME_CANCELLED };
    uint32_t mixed = (host + 1) * 2654435761U;
    return of[made->mixed[0] == 'r' ? mixed >> 29 : host % 2];
}

static void mix (const struct made *made, struct fact_pass_ended *pass)
{
    for (uint32_t i = 0; i < made->plan.hosts.n; i++)
        pass->verdicts.items[pass->verdicts.n++] = (struct verdict){
            .host = i, .outcome = mixed_outcome (made, i), .owner = OWNER_DEVICE, .cause = TEXT_LIT ("a cause")
        };
}

static void end_pass (struct made *made, struct attempt_key key, bool last)
{
    struct fact ended = { .kind = FACT_PASS_ENDED };
    struct fact_pass_ended *pass = &ended.of.pass_ended;
    *pass = (struct fact_pass_ended){ key, last ? OUTCOME_FAILED : OUTCOME_PASSED, made->rung_ms + 100, { 0 } };
    pass->verdicts.items = arena_array (&made->one, made->plan.hosts.n, sizeof (struct verdict));
    if (last && made->mixed)
        mix (made, pass);
    for (uint32_t i = 0; last && !made->mixed && i < made->plan.hosts.n; i++)
        if (is_bad (i))
            pass->verdicts.items[pass->verdicts.n++] =
                (struct verdict){ .host = i,
                                  .outcome = OUTCOME_FAILED,
                                  .owner = OWNER_DEVICE,
                                  .signature = TEXT_LIT ("tpu-no-chip"),
                                  .cause = TEXT_LIT ("exited with status 1 in phase init"),
                                  .next = TEXT_LIT ("look which process holds the chip: sudo lsof /dev/vfio/*"),
                                  .phase = TEXT_LIT ("init"),
                                  .evidence = TEXT_LIT ("RuntimeError: TPU initialization failed: no chip") };
        else if (follows (i))
            pass->verdicts.items[pass->verdicts.n++] = (struct verdict){
                .host = i, .outcome = OUTCOME_CASCADE, .owner = OWNER_PEER, .cause = TEXT_LIT ("a peer ended before it")
            };
    record (made, &ended);
}

static void climb_rung (struct made *made, uint32_t rung)
{
    struct fact began = { .kind = FACT_PASS_BEGAN };
    struct attempt_key key = { rung, PASS_ONCE, 1 };
    uint32_t n = made->plan.hosts.n, steps = made->rung_ms / STEP_MS ? (uint32_t) (made->rung_ms / STEP_MS) : 1;
    began.of.pass_began.key = key;
    began.of.pass_began.purpose = PURPOSE_CLIMB;
    began.of.pass_began.hosts.items = arena_array (&made->one, n, sizeof (uint32_t));
    began.of.pass_began.hosts.n = n;
    for (uint32_t i = 0; i < n; i++)
        began.of.pass_began.hosts.items[i] = i;
    record (made, &began);
    for (uint32_t step = 0, host = 0; step < steps; step++) {
        pass_time (made, made->rung_ms ? STEP_MS : 100);
        for (; host < (uint64_t) n * (step + 1) / steps; host++)
            end_attempt (made, key, host, rung + 1 == made->plan.rungs.n);
    }
    end_pass (made, key, rung + 1 == made->plan.rungs.n);
}

static void end_run (struct made *made)
{
    struct fact ended = { .kind = FACT_RUN_ENDED };
    ended.of.run_ended = (struct fact_run_ended){ OUTCOME_FAILED, 1, TEXT_LIT ("failed at train: no chip") };
    record (made, &ended);
}

static void open_run (struct made *made, const char *home)
{
    struct run_dir dir;
    struct err err = { 0 };
    char path[RUN_PATH_BYTES];
    int making = run_begun_create_run (&dir, home, &err);
    if (making < 0)
        leave (&err);
    memcpy (made->id, dir.id, sizeof made->id);
    made->journal = journal_create (run_dir_path (&dir, "journal.db", path), dir.id, &err);
    if (!made->journal)
        leave (&err);
    made->wall_ms = clock_wall_ms ();
    begin (made);
    if (run_begun_record (&dir, &err) < 0)
        leave (&err);
    close (making);
}

int main (int argc, char **argv)
{
    static struct made made;
    uint32_t hosts = argc > 2 ? (uint32_t) strtoul (argv[2], NULL, 10) : 0,
             rungs = argc > 3 ? (uint32_t) strtoul (argv[3], NULL, 10) : 0;
    if (hosts < 1 || hosts > HOSTS_MAX || rungs < 1 || rungs > RUNGS_MAX) {
        fprintf (stderr, "usage: bench_made_run HOME HOSTS RUNGS [RUNG_MS [random|alternating]]\n");
        return 2;
    }
    made.rung_ms = argc > 4 ? strtoull (argv[4], NULL, 10) : 0;
    made.mixed = argc > 5 ? argv[5] : NULL;
    buf_init (&made.bytes, FACT_BYTES);
    make_plan (&made, hosts, rungs);
    open_run (&made, argv[1]);
    printf ("%s\n", made.id);
    fflush (stdout);
    for (uint32_t i = 0; i < rungs; i++)
        climb_rung (&made, i);
    end_run (&made);
    journal_close (made.journal);
    buf_release (&made.bytes);
    arena_release (&made.one);
    arena_release (&made.arena);
    return 0;
}
