/* made_run.c - writes the journal of a run of many hosts that nobody ran: for figures of what reads journals.
 *
 *   bench_made_run HOME HOSTS RUNGS [RUNG_MS [random|alternating|evidence]]
 *
 * Every rung runs on all hosts and passes, but the last: on it host 3 of each 1,024 has no chip, the 40 behind it fall
 * because of that, and nothing is above it. RUNG_MS: each rung takes so long, its results spread over that time, and
 * the journal is held as a coordinator holds it; 0 (the default): all at once. With a last word the hosts of the last rung
 * end in all ways that there are, or every other one fails; or hosts tell at every rung what canaries tell: versions,
 * variables, metrics, counters, programs, keys of the cache, memory. Prints the run's id. */
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

enum { METRICS = 4, SHARDS = 4, PINS = 20, VARIABLES = 12, COUNTERS = 8, KEY_PARTS = 8 };
enum { FACTS = 60, BAD_EVERY = 1024, BAD_AT = 3, CASCADES = 40, STEP_MS = 50, FACT_BYTES = FACT_MAX_BYTES };

struct made {
    struct journal *journal;
    struct plan plan;
    struct arena arena, one; /* of the run, of one fact */
    struct buf bytes;
    uint64_t index, at_ms, rung_ms, wall_ms;
    const char *mixed; /* NULL, or how the hosts of the last rung end */
    bool evidence;
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
    if (made->evidence)
        result->facts.items[FACTS - 1] = (struct var){
            TEXT_LIT ("number.speed.memory_gbs"), text_format (&made->one, "%u.%02u", 1400 + host % 37, host % 100)
        };
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

static void add_vars (struct made *made, const char *name, const char *value, uint32_t n, var_list *out)
{
    out->items = arena_array (&made->one, n, sizeof (struct var));
    for (out->n = 0; out->n < n; out->n++)
        out->items[out->n] = (struct var){ text_format (&made->one, "%s%02u", name, out->n),
                                           text_format (&made->one, "%s%u", value, out->n * 17) };
}

static void add_metrics (struct made *made, uint32_t host, struct result *result)
{
    result->metrics.items = arena_array (&made->one, METRICS, sizeof (struct metric));
    for (uint32_t i = 0; i < METRICS; i++) {
        struct metric *metric = &result->metrics.items[result->metrics.n++];
        *metric = (struct metric){ .name = text_format (&made->one, "loss/part-%u", i),
                                   .reduction = REDUCTION_MEAN,
                                   .global = true,
                                   .value = 2.5 / (i + 3),
                                   .earlier = { 99, 9.25, 2.75 / (i + 3), 99 } };
        metric->axes.items = arena_array (&made->one, 1, sizeof (struct text));
        metric->axes.items[metric->axes.n++] = TEXT_LIT ("data");
        metric->shards.items = arena_array (&made->one, SHARDS, sizeof (struct shard));
        for (; metric->shards.n < SHARDS; metric->shards.n++)
            metric->shards.items[metric->shards.n] = (struct shard){ metric->value, 8386560,
                                                                     2.5 + host / 3.0 + metric->shards.n, 128 };
    }
}

static void add_programs (struct made *made, struct result *result)
{
    struct cache_key *key = arena_alloc (&made->one, sizeof *key);
    struct program_fingerprint program = {
        TEXT_LIT ("jit_step"), TEXT_LIT ("1f0c6a3b5d7e9f1f0c6a3b5d7e9f1f0c6a3b5d7e9f1f0c6a3b5d7e9f0011aa")
    };
    *key = (struct cache_key){ .program = program.name,
                               .key = text_format (&made->one, "jit_step-%.*s", TEXT_ARG (program.fingerprint)),
                               .state = KEY_WRITTEN,
                               .compile_ms = 4211 };
    add_vars (made, "part ", "9f1f0c6a3b", KEY_PARTS, &key->parts);
    result->keys.items = key;
    result->programs.items = arena_copy (&made->one, &program, sizeof program);
    result->keys.n = result->programs.n = 1;
    result->cache = (struct cache_view){ .level = ENFORCEMENT_NAMESPACE,
                                         .storage = TEXT_LIT ("5b9f0c6a3b5d7e9f"),
                                         .mount = TEXT_LIT ("nfs4 ro,relatime filer:/cache") };
}

static void add_evidence (struct made *made, uint32_t host, struct result *result)
{
    add_vars (made, "package-", "2.7.", PINS, &result->bundle);
    add_vars (made, "LIBTPU_VARIABLE_", "--xla_tpu_flag=", VARIABLES, &result->policy);
    add_metrics (made, host, result);
    add_programs (made, result);
    result->counters.items = arena_array (&made->one, COUNTERS, sizeof (struct named_number));
    for (; result->counters.n < COUNTERS; result->counters.n++)
        result->counters.items[result->counters.n] = (struct named_number){
            text_format (&made->one, "counter_%u", result->counters.n), 1000 + host % 13 * result->counters.n
        };
    result->backend = (struct observed_backend){ .platform = TEXT_LIT ("tpu"),
                                                 .platform_version = TEXT_LIT ("PJRT C API TFRT TPU v6e libtpu 0.0.17"),
                                                 .device_kind = TEXT_LIT ("TPU v6 lite"),
                                                 .devices = 4 * made->plan.hosts.n,
                                                 .local_devices = 4,
                                                 .process_count = made->plan.hosts.n,
                                                 .process_index = host };
    result->peak_bytes = (9ULL << 30) + host % 97 * 4096;
    result->predicted_bytes = 11ULL << 30;
    result->device_peak_bytes = 12ULL << 30;
    result->output_bytes = result->log_bytes = 20000 + host % 31;
    result->done = result->spoke = true;
    result->interpreter = TEXT_LIT ("copied");
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
    if (made->evidence)
        add_evidence (made, host, result);
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
        fprintf (stderr, "usage: bench_made_run HOME HOSTS RUNGS [RUNG_MS [random|alternating|evidence]]\n");
        return 2;
    }
    made.rung_ms = argc > 4 ? strtoull (argv[4], NULL, 10) : 0;
    made.evidence = argc > 5 && strcmp (argv[5], "evidence") == 0;
    made.mixed = argc > 5 && !made.evidence ? argv[5] : NULL;
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
