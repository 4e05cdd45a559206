/* prove_metrics.c - the metrics of a pass whose parts have all ended: which are proved, and what that means for the
 * hosts. If a required metric is not proved, no host has passed: hosts with a wrong report failed, the others are
 * cascades. */
#include "coordinator/core/steps.h"

#include <stdio.h>

#include "coordinator/verdict/reduce.h"

/* Names that the rung does not require, over all hosts: wrong programs on all hosts must not fill the journal. */
enum { OTHERS_MAX = 64 };

struct proving {
    struct coord *coord;
    const struct rung *rung;
    struct verdict *verdicts;
    struct text *unproved; /* names of required metrics */
    uint32_t unproved_n;
    struct reduction_verdict *found; /* of the metric that is being judged */
    uint64_t now_ms;
    struct outbox *out;
};

/* ---- whose word counts ---- */

static bool passed (const struct verdict *verdict)
{
    return verdict->outcome == OUTCOME_PASSED;
}

/* The last value of a program that did not finish, or broke a rule, is unknown. */
static bool came_to_its_end (const struct coord *coord, const struct result *result)
{
    bool is_command = coord->state->plan.rungs.items[coord->state->pass.key.rung].kind == PROGRAM_COMMAND;
    return !result_ended_badly (result) && (result->done || is_command) && result->bad_lines == 0;
}

static const struct metric *metric_named (const struct coord *coord, const struct result *result, struct text name)
{
    return came_to_its_end (coord, result) ? LIST_FIND (result->metrics, struct metric, name, name) : NULL;
}

static bool anybody_came_to_its_end (const struct coord *coord)
{
    const struct pass_state *pass = &coord->state->pass;
    for (uint32_t i = 0; i < pass->parts.n; i++)
        if (came_to_its_end (coord, &pass->parts.items[i].result))
            return true;
    return false;
}

/* ---- words ---- */

static struct text axes_text (const struct metric *metric, struct arena *arena)
{
    struct text all = { 0 };
    for (uint32_t i = 0; metric && i < metric->axes.n; i++)
        all = text_format (arena, "%.*s%s%.*s", TEXT_ARG (all), i ? ", " : "", TEXT_ARG (metric->axes.items[i]));
    return all;
}

static struct text missing_text (const struct coord *coord, const struct reduction_verdict *verdict,
                                 struct arena *arena)
{
    if (verdict->missing_n == 0)
        return (struct text){ 0 };
    struct text *names = arena_array (arena, verdict->missing_n, sizeof (*names));
    for (uint32_t i = 0; i < verdict->missing_n; i++)
        names[i] = coord->state->plan.hosts.items[coord->state->pass.parts.items[verdict->missing[i]].host].name;
    return text_format (arena, ": missing %.*s",
                        TEXT_ARG (hostset_folded (names, verdict->missing_n, NAME_MAX_BYTES, arena)));
}

/* The hosts that failed for a reason of their own. */
static struct text causes_text (const struct proving *proving)
{
    const struct coord *coord = proving->coord;
    struct text *names = arena_array (&proving->out->arena, coord->state->pass.parts.n, sizeof (*names));
    uint32_t n = 0;
    for (uint32_t i = 0; i < coord->state->pass.parts.n; i++)
        if (!passed (&proving->verdicts[i]) && proving->verdicts[i].outcome != OUTCOME_CASCADE)
            names[n++] = coord->state->plan.hosts.items[proving->verdicts[i].host].name;
    return hostset_folded (names, n, NAME_MAX_BYTES, &proving->out->arena);
}

static struct text names_text (const struct text *names, uint32_t n, struct arena *arena)
{
    struct text all = text_format (arena, n > 1 ? "metrics %.*s" : "metric %.*s", TEXT_ARG (names[0]));
    for (uint32_t i = 1; i < n; i++)
        all = text_format (arena, "%.*s, %.*s", TEXT_ARG (all), TEXT_ARG (names[i]));
    return text_format (arena, "%.*s %s not proved", TEXT_ARG (text_clip (all, NAME_MAX_BYTES)), n > 1 ? "are" : "is");
}

/* ---- the record ---- */

static uint32_t host_of (const struct proving *proving, uint32_t part)
{
    return proving->coord->state->pass.parts.items[part].host;
}

static void record_hosts (const struct proving *proving, const struct reduction_verdict *verdict,
                          struct fact_metric_judged *judged)
{
    struct arena *arena = &proving->out->arena;
    uint32_t n = proving->coord->state->pass.parts.n;
    judged->missing.items = arena_array (arena, verdict->missing_n, sizeof (uint32_t));
    judged->culprits.items = arena_array (arena, verdict->culprits_n, sizeof (uint32_t));
    judged->contradicted.items = arena_array (arena, n, sizeof (struct contradicted_count));
    while (judged->missing.n < verdict->missing_n) {
        judged->missing.items[judged->missing.n] = host_of (proving, verdict->missing[judged->missing.n]);
        judged->missing.n++;
    }
    for (uint32_t i = 0; i < verdict->culprits_n; i++)
        if (proving->verdicts[verdict->culprits[i].host].outcome != OUTCOME_CASCADE)
            judged->culprits.items[judged->culprits.n++] = host_of (proving, verdict->culprits[i].host);
    for (uint32_t i = 0; i < n && verdict->contradicted; i++)
        if (verdict->contradicted[i])
            judged->contradicted.items[judged->contradicted.n++] =
                (struct contradicted_count){ host_of (proving, i), verdict->contradicted[i] };
}

static void record_metric (const struct proving *proving, struct text name, const struct metric *first,
                           const struct reduction_verdict *verdict)
{
    struct fact *fact = outbox_add_fact (proving->out, FACT_METRIC_JUDGED);
    struct fact_metric_judged *judged = &fact->of.metric_judged;
    judged->key = proving->coord->state->pass.key;
    judged->metric = name;
    if (first) {
        judged->axes.items = first->axes.items;
        judged->axes.n = first->axes.n;
    }
    judged->value = verdict->value;
    judged->proof = verdict->proof;
    judged->tolerance = verdict->tolerance;
    judged->tolerance_of = text_copy (&proving->out->arena, text_of (verdict->tolerance_of));
    judged->why = text_copy (&proving->out->arena, text_of (verdict->why));
    record_hosts (proving, verdict, judged);
    coord_commit_fact (proving->coord, fact, proving->now_ms);
}

/* ---- one metric ---- */

static double tolerance_of (const struct rung *rung, struct text name)
{
    const struct demand *tolerance = LIST_FIND (rung->tolerances, struct demand, what, name);
    return tolerance ? tolerance->most : 0;
}

static void judge_metric (const struct proving *proving, const struct reduction_input *in,
                          struct reduction_verdict *verdict)
{
    reduce_judge_metric (in, verdict, &proving->out->arena);
    if (proving->coord->soft.dealt)
        return;
    *verdict = (struct reduction_verdict){ .proof = PROOF_UNPROVED, .value = verdict->value };
    snprintf (verdict->why, sizeof (verdict->why), "too many devices: two would have to contribute the same number");
}

/* The same words for all with the same report, so that they fold into one line. */
static void prove_metrics_fail (const struct proving *proving, uint32_t at, struct text name,
                                const struct metric *first, enum proof proof, const char *why, struct text missing)
{
    struct verdict *verdict = &proving->verdicts[at];
    struct arena *arena = &proving->out->arena;
    if (!passed (verdict))
        return; /* it failed before, and its cause stays */
    struct text axes = axes_text (first, arena);
    struct text cause = text_format (arena, "metric %.*s is not proved%s%.*s (proof: %s): %s%.*s", TEXT_ARG (name),
                                     axes.len ? " over " : "", TEXT_ARG (axes), enum_name_of (&proof_names, proof), why,
                                     TEXT_ARG (missing));
    verdict->outcome = OUTCOME_FAILED;
    verdict->owner = OWNER_PROGRAM;
    verdict->cause = text_clip (cause, SENTENCE_MAX_BYTES);
    const struct coord *coord = proving->coord;
    const struct result *result = &coord->state->pass.parts.items[at].result;
    verdict->next = result->metrics.n
                        ? TEXT_LIT ("see the value, contribution and proof of every host in the receipt "
                                    "(sliceup receipt)")
                        : text_format (arena, "see why it reported none: sliceup logs %.8s --rung %.*s",
                                       coord->state->run.ptr,
                                       TEXT_ARG (coord->state->plan.rungs.items[coord->state->pass.key.rung].id));
}

static void fail_those_at_fault (const struct proving *proving, struct text name, const struct metric *first,
                                 const struct reduction_verdict *verdict)
{
    struct text missing = missing_text (proving->coord, verdict, &proving->out->arena);
    for (uint32_t i = 0; i < verdict->culprits_n; i++)
        prove_metrics_fail (proving, verdict->culprits[i].host, name, first, verdict->culprits[i].proof,
                            verdict->culprits[i].why, (struct text){ 0 });
    for (uint32_t i = 0; i < proving->coord->state->pass.parts.n && verdict->culprits_n == 0; i++)
        prove_metrics_fail (proving, i, name, first, verdict->proof, verdict->why, missing);
}

static void prove_metric (struct proving *proving, struct text name, bool required)
{
    const struct pass_state *pass = &proving->coord->state->pass;
    const struct metric **metrics = arena_array (&proving->out->arena, pass->parts.n, sizeof (*metrics));
    uint64_t *secrets = arena_array (&proving->out->arena, pass->parts.n, sizeof (*secrets));
    for (uint32_t i = 0; i < pass->parts.n; i++) {
        metrics[i] = metric_named (proving->coord, &pass->parts.items[i].result, name);
        secrets[i] = proving->coord->soft.parts[i].secret;
    }
    struct reduction_input in = { .mesh = &pass->mesh,
                                  .hosts = pass->parts.n,
                                  .devices_per_host = proving->coord->state->plan.profile.devices_per_host,
                                  .secrets = secrets,
                                  .metrics = metrics,
                                  .tolerance = tolerance_of (proving->rung, name) };
    judge_metric (proving, &in, proving->found);
    if (pass->purpose != PURPOSE_ISOLATION) /* a part of the slice proves nothing about the rung */
        record_metric (proving, name, reduce_first_reported (&in), proving->found);
    if (proving->found->proof == PROOF_PROVED || !required)
        return;
    proving->unproved[proving->unproved_n++] = name;
    fail_those_at_fault (proving, name, reduce_first_reported (&in), proving->found);
}

/* ---- all metrics ---- */

/* Judges metrics that any host reported, so that one of only some hosts is not hidden. */
static void prove_others (struct proving *proving)
{
    const struct pass_state *pass = &proving->coord->state->pass;
    struct text names[OTHERS_MAX];
    uint32_t n = 0;
    for (uint32_t i = 0; i < pass->parts.n; i++)
        for (uint32_t k = 0; k < pass->parts.items[i].result.metrics.n && n < OTHERS_MAX; k++) {
            struct text name = pass->parts.items[i].result.metrics.items[k].name;
            if (!text_is_among (name, proving->rung->metrics.items, proving->rung->metrics.n) &&
                !text_is_among (name, names, n))
                names[n++] = name;
        }
    for (uint32_t i = 0; i < n; i++)
        prove_metric (proving, names[i], false);
}

/* Makes the remaining hosts cascades: they did their part, but the slice is not proved. */
static void cascade_the_rest (const struct proving *proving)
{
    struct arena *arena = &proving->out->arena;
    if (proving->unproved_n == 0)
        return;
    struct text cause = text_format (arena, "%.*s, because %.*s did not pass",
                                     TEXT_ARG (names_text (proving->unproved, proving->unproved_n, arena)),
                                     TEXT_ARG (causes_text (proving)));
    for (uint32_t i = 0; i < proving->coord->state->pass.parts.n; i++)
        if (passed (&proving->verdicts[i])) {
            proving->verdicts[i].outcome = OUTCOME_CASCADE;
            proving->verdicts[i].owner = OWNER_PEER;
            proving->verdicts[i].cause = text_clip (cause, SENTENCE_MAX_BYTES);
        }
}

void prove_metrics (struct coord *coord, struct verdict *verdicts, uint64_t now_ms, struct outbox *out)
{
    const struct rung *rung = &coord->state->plan.rungs.items[coord->state->pass.key.rung];
    struct proving proving = { .coord = coord, .rung = rung, .verdicts = verdicts, .now_ms = now_ms, .out = out };
    bool well = pass_all_passed (verdicts, coord->state->pass.parts.n);
    if (!anybody_came_to_its_end (coord))
        return; /* nobody is left who could pass */
    proving.unproved = arena_array (&out->arena, rung->metrics.n, sizeof (*proving.unproved));
    proving.found = arena_alloc (&out->arena, sizeof (*proving.found));
    for (uint32_t i = 0; i < rung->metrics.n; i++)
        prove_metric (&proving, rung->metrics.items[i], true);
    if (well && coord->state->pass.purpose != PURPOSE_ISOLATION)
        prove_others (&proving);
    cascade_the_rest (&proving);
}
