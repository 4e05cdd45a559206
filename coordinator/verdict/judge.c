#include "coordinator/verdict/judge.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>

#include "common/base/duration.h"
#include "common/frontend/frontend.h"
#include "common/model/secret.h"
#include "coordinator/verdict/blame.h"
#include "coordinator/verdict/failure.h"
#include "coordinator/verdict/going_on.h"
#include "coordinator/verdict/recompile_reason.h"

/* ---- expected facts ---- */

/* Compares the facts of a host with those that the slice file expects (docs/spec/configuration.md). Pure. */

enum { SHOWN = 4, SHOWN_COLUMNS = 80 };

static void add_difference (const struct var *expected, struct text found, struct buf *out)
{
    buf_printf (out, "%s%.*s is ", out->len ? "; " : "", TEXT_ARG (expected->name));
    buf_escaped (out, found.len ? found : TEXT_LIT ("not told by this host"), SHOWN_COLUMNS);
    buf_puts (out, ", expected ");
    buf_escaped (out, expected->value, SHOWN_COLUMNS);
}

/* A pattern never matches "absent" or "unreadable". */
static bool is_as (struct text found, struct text expected)
{
    if (text_is (found, "absent") || text_starts (found, "unreadable"))
        return text_equal (found, expected);
    return text_matches (found, expected);
}

/* "os.version is 11, expected 12; ...", in the arena; empty: all are as expected. A missing fact is not. `*owner`:
 * BUNDLE when only packages differ, else PLATFORM. */
static struct text expected_facts_differ (const var_list *expect, const var_list *facts, struct arena *arena,
                                          enum owner *owner)
{
    uint32_t n = 0;
    *owner = OWNER_BUNDLE;
    struct buf out = { .max = SENTENCE_MAX_BYTES };
    for (uint32_t i = 0; i < expect->n; i++) {
        const struct var *expected = &expect->items[i];
        struct text found = { 0 };
        if (var_find (facts, expected->name, &found) && is_as (found, expected->value))
            continue;
        if (!text_starts (expected->name, EXPECT_PACKAGE))
            *owner = OWNER_PLATFORM;
        if (n++ < SHOWN)
            add_difference (expected, found, &out);
    }
    if (n > SHOWN)
        buf_printf (&out, "; and %u more", n - SHOWN);
    return buf_finish (&out, arena);
}

/* ---- judge ---- */

bool verdict_set (struct verdict *out, enum outcome outcome, enum owner owner, struct text cause, const char *next)
{
    out->outcome = outcome;
    out->owner = owner;
    out->else_owner = OWNER_NONE;
    out->cause = text_clip (cause, SENTENCE_MAX_BYTES);
    out->next = text_of (next);
    return false; /* "this step did not let the result through" */
}

/* ---- the steps, in order; each lets the result through (true) or gives the verdict (false) ---- */

/* By whoever ends workers: an allocation that is over, maintenance, an operator. The machine is as good as before. */
static bool left_as_told (struct text problem)
{
    return text_starts (problem, "its worker left: told to end") ||
           text_is (problem, "the worker ended with exit status 0");
}

static bool was_received (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    if (of->result->ending != ENDING_LOST)
        return true;
    out->likely = true; /* a lost worker, machine or network looks the same from here */
    verdict_set (out, OUTCOME_LOST, left_as_told (of->result->problem) ? OWNER_PLATFORM : OWNER_HOST,
                 of->result->problem, "");
    out->next = blame_advice_for_lost (of->plan, of->host, arena);
    return false;
}

static bool could_start (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    (void) arena;
    const struct result *result = of->result;
    if (result->ending != ENDING_NOT_STARTED)
        return true;
    enum owner owner = result->owner ? result->owner : OWNER_SLICEUP;
    out->transient = text_starts (result->problem, NOTE_PORT);
    return verdict_set (out, OUTCOME_BLOCKED, owner, result->problem, "fix what the cause names, then run again");
}

/* Of the files of one whose time ran out before its program began, in its worker's words. */
static struct text what_had_come (const struct result *result)
{
    uint32_t at;
    if (!text_find (result->problem, TEXT_LIT (" had come from "), NULL) ||
        !text_find (result->problem, TEXT_LIT ("; "), &at))
        return (struct text){ 0 };
    return (struct text){ result->problem.ptr + at, result->problem.len - at };
}

static bool was_let_run (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    const struct result *result = of->result;
    if (result->ending == ENDING_TIMEOUT) {
        char limit[DURATION_TEXT_BYTES];
        duration_print (of->rung->timeout_ms, limit);
        struct text place = failure_place (of, arena);
        verdict_set (out, OUTCOME_TIMED_OUT, result->owner ? result->owner : OWNER_UNKNOWN,
                     text_clip (text_format (arena, "still%.*s after %s; stopped%.*s",
                                             TEXT_ARG (place.len ? place : TEXT_LIT (" running")), limit,
                                             TEXT_ARG (what_had_come (result))),
                                SENTENCE_MAX_BYTES),
                     text_format (arena,
                                  "see what it printed last: sliceup logs --rung %.*s; raise the rung's timeout if it "
                                  "was working",
                                  TEXT_ARG (of->rung->id))
                         .ptr);
        failure_describe_hang (of, arena, out);
        failure_judge_sender (of, arena, out);
        return false;
    }
    if (result->ending == ENDING_ORPHANED)
        return verdict_set (out, OUTCOME_LOST, OWNER_PLATFORM,
                            result->problem.len ? result->problem
                                                : TEXT_LIT ("the coordinator was silent for too long"),
                            "check the network between the hosts and the coordinator");
    if (result->ending == ENDING_LEASE_LOST)
        return verdict_set (out, OUTCOME_LOST, OWNER_CACHE,
                            result->problem.len ? result->problem : TEXT_LIT ("the lease to write the cache was lost"),
                            "see whether the host was suspended or lost its network; no run uses what it wrote later");
    if (result->ending == ENDING_TERMINATED)
        return verdict_set (
            out, OUTCOME_LOST, OWNER_PLATFORM,
            text_format (arena,
                         "something outside ended its worker (%.*s): a shutdown, a preemption, scancel, kill, an srun "
                         "that ended or a newer worker of this host",
                         TEXT_ARG (result->problem)),
            text_format (arena,
                         "look at the state of the machine and of its allocation: %.*s (scontrol show job; kubectl "
                         "describe pod; gcloud compute tpus tpu-vm describe), then run again",
                         TEXT_ARG (host_command (of->plan, of->host, TEXT_LIT ("last -x -n 5"), arena)))
                .ptr);
    if (result->ending == ENDING_CANCELLED) {
        verdict_set (out, OUTCOME_CANCELLED, OWNER_NONE,
                     result->problem.len ? result->problem : TEXT_LIT ("the host was asked to stop"), "");
        failure_describe_stop (of, arena, out);
        return false;
    }
    return true;
}

static bool precondition_missing (const struct judge_case *of)
{
    return of->rung->kind == PROGRAM_BUILTIN &&
           (of->result->owner == OWNER_PLATFORM || of->result->owner == OWNER_HOST || of->result->owner == OWNER_CACHE);
}

/* The generation from which the pass restores; an empty one if there is none. */
static const struct fact_generation *sealed_in (const struct judge_case *of)
{
    static const struct fact_generation nothing;
    return of->sealed ? of->sealed : &nothing;
}

/* `how` it ended; empty: as it should. */
static bool broke_protocol (const struct judge_case *of, struct arena *arena, struct text how, struct verdict *out)
{
    const struct result *result = of->result;
    struct text first = result->bad_line.len ? result->bad_line : result->problem;
    return verdict_set (
        out, OUTCOME_FAILED, OWNER_PROGRAM,
        text_format (arena, "%.*s%sbroke the canary protocol with %u line%s: %.*s", TEXT_ARG (how), how.len ? "; " : "",
                     result->bad_lines, plural (result->bad_lines), TEXT_ARG (first)),
        "correct the program: an attempt fails if one line of it breaks the protocol (docs/spec/canary.md)");
}

static bool ended_well (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    const struct result *result = of->result;
    if (!result_ended_badly (result))
        return true;
    struct text how = failure_describe_end (result, arena);
    failure_judge (of, arena, how, out);
    if (of->world == 1 && out->owner == OWNER_PEER) /* it has none in this rung */
        verdict_set (out, out->outcome, OWNER_UNKNOWN, out->cause, failure_look_at_log (of, arena).ptr);
    failure_judge_sender (of, arena, out);
    if (out->owner == OWNER_UNKNOWN)
        command_adopt_warning (of, out);
    if (out->owner == OWNER_UNKNOWN && result->bad_lines) /* no better cause is known */
        broke_protocol (of, arena, how, out);
    if (of->key.pass == PASS_RESTORED &&
        recompiled_is_torn (result, sealed_in (of)->keys.items, sealed_in (of)->keys.n))
        out->cache = TEXT_LIT ("torn");
    if (precondition_missing (of))
        out->outcome = OUTCOME_BLOCKED;
    return false;
}

/* A program that reports its own failure has failed, however it ends. */
static bool said_no_failure (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    if (of->result->failure.len == 0)
        return true;
    bool command = of->rung->kind == PROGRAM_COMMAND; /* its report may say what the program itself does not */
    failure_judge (
        of, arena,
        command ? TEXT_LIT ("exited with status 0") : TEXT_LIT ("reported a failure, but exited with status 0"), out);
    return false;
}

static bool gave_evidence (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    const struct result *result = of->result;
    if (result->done)
        return true;
    if (of->rung->kind == PROGRAM_COMMAND)
        return command_reports_metrics (of, arena, out);
    struct text said = result->problem.len ? text_format (arena, ": %.*s", TEXT_ARG (result->problem))
                                           : (struct text){ 0 };
    return verdict_set (
        out, OUTCOME_FAILED, OWNER_PROGRAM,
        text_format (arena, "exited with status 0 but never reported that it was done%.*s", TEXT_ARG (said)),
        "let the program end with the protocol's line `done` and the nonce of its attempt (docs/spec/canary.md); a "
        "program without the protocol is the `command` of its rung");
}

/* One line that breaks the protocol spoils even good results, because the program may have meant something else. */
static bool kept_to_protocol (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    return of->result->bad_lines == 0 || broke_protocol (of, arena, (struct text){ 0 }, out);
}

/* Such a pass may compile for devices that the host does not have. */
static bool compiles_only (const struct judge_case *of)
{
    return of->rung->warm == WARM_AOT && of->key.pass == PASS_COLD;
}

static bool ran_where_asked (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    return compiles_only (of) || evidence_ran_where_asked (of, arena, out);
}

/* A probe that reports `done` has to report a checked execution as well. */
static bool probe_showed (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    (void) arena;
    if (!rung_is_builtin (of->rung, "probe") || !rung_makes_client (of->rung))
        return true;
    if (of->result->backend.platform.len && of->result->checks.n > 0 && result_counted (of->result, "executions") > 0)
        return true;
    return verdict_set (out, OUTCOME_FAILED, OWNER_SLICEUP,
                        TEXT_LIT ("the probe ended well, but reported no execution whose value was checked"),
                        "a probe has to report its backend and a checked execution: docs/spec/probe.md");
}

static bool values_right (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    for (uint32_t i = 0; i < of->result->checks.n; i++) {
        const struct value_check *check = &of->result->checks.items[i];
        if (fabs (check->observed - check->expected) <= check->tolerance)
            continue; /* written so that a NaN does not pass */
        const char *again = check->observed > check->expected ? recompiled_steps_next (check->name) : NULL;
        return verdict_set (
            out, OUTCOME_FAILED, OWNER_PROGRAM,
            text_format (arena, "check %.*s of the program: expected %.9g, got %.9g", TEXT_ARG (check->name),
                         check->expected, check->observed),
            again ? again
                  : "if only one host has a wrong value, suspect its devices; if all have, suspect the program or the "
                    "bundle");
    }
    return true;
}

struct cache_counts {
    uint64_t requests, hits, executions;
    bool complete;
};

static struct cache_counts cache_counts (const struct judge_case *of)
{
    struct cache_counts counts = { 0 };
    const struct frontend *frontend = frontend_find (of->plan->profile.frontend);
    counts.complete = frontend != NULL && result_counter (of->result, frontend->requests, &counts.requests) &&
                      result_counter (of->result, frontend->hits, &counts.hits) &&
                      (result_counter (of->result, "executions", &counts.executions) ||
                       (of->rung->kind == PROGRAM_COMMAND && result_counter (of->result, "steps", &counts.executions)));
    return counts;
}

/* Compiling ahead must compile something, and execute nothing: others may hold the devices. */
static bool only_compiled (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    if (!compiles_only (of))
        return true;
    struct cache_counts counts = cache_counts (of);
    if (counts.executions == 0 && counts.requests > 0)
        return true;
    return verdict_set (
        out, OUTCOME_FAILED, OWNER_PROGRAM,
        text_format (arena,
                     "in a pass that only compiles, the program asked for %" PRIu64 " compilations and %" PRIu64
                     " executions; expected at least 1 and none",
                     counts.requests, counts.executions),
        "with warm: aot the canary has to compile its programs without executing them (docs/spec/canary.md)");
}

static bool cache_failed (struct verdict *out, struct text cause)
{
    return verdict_set (out, OUTCOME_FAILED, OWNER_CACHE, cause,
                        "compare program, flags and versions with the writer's: the receipt has them per host");
}

static bool is_generation (const struct judge_case *of)
{
    return of->plan->cache.mode != CACHE_PER_HOST;
}

static bool compiled_again (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    const struct fact_generation *sealed = sealed_in (of);
    struct recompiled found;
    if (recompiled_is_torn (of->result, sealed->keys.items, sealed->keys.n))
        out->cache = TEXT_LIT ("torn");
    struct text why = recompiled_why (of->result, sealed->keys.items, sealed->keys.n, arena, &found);
    return verdict_set (out, OUTCOME_FAILED, OWNER_CACHE, why, found.next);
}

/* A counter of its frontend that shows that not everything was restored; NULL: all are 0. */
static const char *spoiling_counter (const struct judge_case *of)
{
    const struct frontend *frontend = frontend_find (of->plan->profile.frontend);
    for (uint32_t i = 0; i < SPOILERS_MAX && frontend->spoilers[i]; i++)
        if (result_counted (of->result, frontend->spoilers[i]) > 0)
            return frontend->spoilers[i];
    return NULL;
}

/* A host with another storage than the others sees another cache. */
static bool same_storage (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    struct text seen = of->result->cache.storage;
    if (!of->storage.len || text_equal (seen, of->storage) || (!seen.len && !of->result->findings.n))
        return true;
    if (!is_generation (of) ||
        of->rung->kind == PROGRAM_BUILTIN) /* a survey is compared with all others: agree_storage */
        return true;
    return verdict_set (out, OUTCOME_BLOCKED, OWNER_CACHE,
                        text_format (arena, "the storage under %.*s is %.*s, on the other hosts it is %.*s",
                                     TEXT_ARG (of->plan->cache.root),
                                     TEXT_ARG (seen.len ? seen : TEXT_LIT ("not visible")), TEXT_ARG (of->storage)),
                        "mount the same storage there on all hosts, or set cache mode per-host");
}

/* Fails a changed copy of the base, or a changed sealed generation. */
static bool say_touched (const struct judge_case *of, const struct finding *finding, struct arena *arena,
                         struct verdict *out)
{
    bool own = of->writer && finding->token == of->token;
    const char *how = own ? "is not published" : "was modified after it was sealed";
    const char *next =
        own ? text_format (
                  arena, "let the program of rung %.*s only add entries; see what it printed: sliceup logs --rung %.*s",
                  TEXT_ARG (of->rung->id), TEXT_ARG (of->rung->id))
                  .ptr
            : "see who else can write the cache: the receipt says between which entries of the journal it happened";
    return verdict_set (out, OUTCOME_FAILED, OWNER_CACHE,
                        text_format (arena, "generation %" PRIu64 " %s: %s %.*s: %.*s", finding->token, how,
                                     enum_name_of (&finding_kind_names, finding->kind), TEXT_ARG (finding->path),
                                     TEXT_ARG (finding->detail)),
                        next);
}

/* The generation must be as it was sealed; the findings are recorded apart. */
static bool untouched (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    const struct result *result = of->result;
    for (uint32_t i = 0; i < result->findings.n; i++) {
        const struct finding *finding = &result->findings.items[i];
        if (!finding_is_violation (finding->kind))
            continue; /* a refused write, or weak protection, changed nothing sealed */
        out->cache = TEXT_LIT ("torn");
        return say_touched (of, finding, arena, out);
    }
    return true;
}

static bool protected_enough (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    enum enforcement level = of->result->cache.level, least = of->plan->cache.least;
    if (of->key.pass == PASS_ONCE || !is_generation (of) || of->rung->kind == PROGRAM_BUILTIN || level >= least)
        return true;
    return verdict_set (out, OUTCOME_FAILED, OWNER_CACHE,
                        text_format (arena, "the cache had only enforcement %s on this host, the slice asks for %s",
                                     enum_name_of (&enforcement_names, level),
                                     enum_name_of (&enforcement_names, least)),
                        "docs/spec/cache.md says what each level of enforcement needs");
}

static bool bundle_serves (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    const struct frontend *frontend = frontend_find (of->plan->profile.frontend);
    if (of->key.pass == PASS_ONCE || !frontend)
        return true;
    const char *problem = frontend_cache_defect (frontend, of->plan->profile.backend,
                                                 (const var_list *) &of->result->bundle, arena);
    if (!problem)
        return true;
    return verdict_set (out, OUTCOME_FAILED, OWNER_BUNDLE, text_of (problem),
                        "change the pins; the receipt lists the versions of each host");
}

/* The restored versions are those of the pins; this checks that they work together. */
static bool not_known_bad (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    if (!rung_is_builtin (of->rung, "restore"))
        return true;
    const var_list *bundle = (const var_list *) &of->result->bundle;
    const struct bundle_rule *bad = bundle_rules_find (of->plan, bundle, of->plan->profile.backend, BUNDLE_BAD);
    if (!bad)
        return true;
    struct text tuple = bundle_rules_versions_text (bad, bundle, arena);
    return verdict_set (out, OUTCOME_FAILED, OWNER_BUNDLE,
                        text_format (arena, "%.*s is known bad: %.*s (%.*s)", TEXT_ARG (tuple), TEXT_ARG (bad->why),
                                     TEXT_ARG (bad->source)),
                        "pin versions that are known to work together: configs/bundles, docs/spec/bundles.md");
}

/* The first package with another version is what a person begins with. */
static struct text advice_for_facts (const struct judge_case *of, struct arena *arena)
{
    const struct text name = TEXT_LIT (EXPECT_PACKAGE);
    for (uint32_t i = 0; i < of->plan->expect.n; i++) {
        const struct var *expected = &of->plan->expect.items[i];
        struct text found = { 0 }, version = expected->value;
        (void) var_find ((const var_list *) &of->result->facts, expected->name, &found);
        if (!text_starts (expected->name, EXPECT_PACKAGE) || is_as (found, version) ||
            text_span (version, ".+-:~") < version.len) /* two shells read it */
            continue;
        struct text install = text_format (arena, "apt-get install %.*s=%.*s", (int) (expected->name.len - name.len),
                                           expected->name.ptr + name.len, TEXT_ARG (version));
        struct text command = host_command (of->plan, of->host, install, arena);
        return text_format (arena, "%.*s, or change what the slice file expects", TEXT_ARG (command));
    }
    return TEXT_LIT ("change the image or the packages of this host, or what the slice file expects");
}

static bool as_expected (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    enum owner owner;
    if (!rung_is_builtin (of->rung, "facts"))
        return true;
    struct text differs = expected_facts_differ (&of->plan->expect, (const var_list *) &of->result->facts, arena,
                                                 &owner);
    return differs.len == 0 || verdict_set (out, OUTCOME_FAILED, owner, differs, advice_for_facts (of, arena).ptr);
}

/* The worker's own folder has the scratch, outputs and logs of every program. Others may need no more room. */
static bool has_room (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    struct text told = var_value ((const var_list *) &of->result->facts, "disk.start_dir");
    if (!rung_is_builtin (of->rung, "facts") || !text_starts (told, DISK_IS_FULL))
        return true;
    struct text sentence = { told.ptr + strlen (DISK_IS_FULL), told.len - (uint32_t) strlen (DISK_IS_FULL) };
    return verdict_set (out, OUTCOME_FAILED, OWNER_HOST, sentence,
                        host_remedy (of->plan, of->host, sentence, arena).ptr);
}

/* Restored: the same programs, none of them compiled, and they ran and gave the right value. */
static bool restored (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    if (of->key.pass != PASS_RESTORED)
        return true;
    struct cache_counts counts = cache_counts (of);
    if (!counts.complete) /* then `cache` stays empty: its state is not known */
        return cache_failed (out, TEXT_LIT ("the program did not report its compile counters"));
    const char *spoiled = spoiling_counter (of);
    if (counts.requests == 0 || counts.hits != counts.requests || spoiled)
        out->cache = TEXT_LIT ("recompiled");
    if (counts.requests == 0 || counts.hits != counts.requests)
        return compiled_again (of, arena, out);
    if (spoiled)
        return cache_failed (out, text_format (arena, "counter %s says that not everything was restored", spoiled));
    bool checked = of->result->checks.n > 0 ||
                   of->result->metrics.n > 0; /* metrics are recomputed from what devices put in */
    if (counts.executions == 0 || !checked)
        return cache_failed (out, TEXT_LIT ("loaded from the cache, but executed nothing or checked no value"));
    if (is_generation (of) && !text_is (of->result->cache_state, "verified"))
        return cache_failed (out, text_format (arena, "the host did not verify the cache generation: %.*s",
                                               TEXT_ARG (of->result->cache_state)));
    out->cache = TEXT_LIT ("restored");
    return true;
}

static bool sealed (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    if (of->key.pass != PASS_COLD)
        return true;
    out->cache = cold_pass_cache (&of->result->counters);
    if (!of->writer || !is_generation (of))
        return true;
    if (of->result->seal.token == of->token && of->result->seal.sha256.len)
        return true;
    return verdict_set (
        out, OUTCOME_FAILED, OWNER_CACHE,
        text_format (arena, "the writer did not seal the cache generation: %.*s", TEXT_ARG (of->result->problem)),
        "see free space and permissions under the cache root");
}

typedef bool judge_step_fn (const struct judge_case *of, struct arena *arena, struct verdict *out);
static judge_step_fn *const steps[] = {
    was_received,     same_storage,    untouched,          could_start,   was_let_run,
    ended_well,       said_no_failure, kept_to_protocol,   gave_evidence, command_log_is_clean,
    ran_where_asked,  only_compiled,   probe_showed,       values_right,  command_keeps_limits,
    protected_enough, not_known_bad,   bundle_serves,      sealed,        restored,
    has_room,         as_expected,     floors_are_reached,
};

/* What the worker found on its host after the failure: who holds the device, or what is full. */
static void say_what_was_found (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    const struct result *result = of->result;
    struct text found = result_note_from (result, NOTE_AT_FAILURE);
    struct text sentence = found.len || result->ending != ENDING_NOT_STARTED ? found : out->cause;
    bool mapped = found.len && result->ending == ENDING_SIGNALLED && result->code == SIGBUS;
    if (mapped && out->owner == OWNER_UNKNOWN) {
        out->owner = OWNER_HOST;
        out->likely = true;
    }
    bool held = out->owner == OWNER_DEVICE && text_find (sentence, TEXT_LIT (" is held by "), NULL),
         of_host = out->owner == OWNER_HOST && (found.len || text_starts (out->signature, "disk-full")),
         unnamed = out->owner == OWNER_PLATFORM && text_find (found, TEXT_LIT (NOTE_NAME_SERVER), NULL);
    if (out->outcome == OUTCOME_PASSED || !(held || of_host || unnamed))
        return;
    if (!text_starts (found, NOTE_LIMIT))
        out->next = host_remedy (of->plan, of->host, sentence, arena);
    if (found.len)
        out->cause = text_clip (text_format (arena, "%.*s; %.*s", TEXT_ARG (out->cause), TEXT_ARG (found)),
                                SENTENCE_MAX_BYTES);
}

void judge_result (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    *out = (struct verdict){ .host = of->host, .outcome = OUTCOME_PASSED, .phase = of->result->phase };
    size_t i = 0;
    while (i < sizeof (steps) / sizeof (steps[0]) && steps[i](of, arena, out))
        i++;
    say_what_was_found (of, arena, out);
    out->cause = secret_redact_values (arena, &of->plan->profile, out->cause);
    out->evidence = secret_redact_values (arena, &of->plan->profile, out->evidence);
}
