/* pass_close.c - judges each part of an ended pass, compares them, finds the cause, proves the metrics, records it. */
#include "coordinator/core/steps.h"

#include "common/base/duration.h"
#include "common/model/hostset.h"
#include "common/model/secret.h"
#include "coordinator/verdict/agree.h"
#include "coordinator/verdict/blame.h"
#include "coordinator/verdict/failure.h"
#include "coordinator/verdict/going_on.h"
#include "coordinator/verdict/stands.h"

/* Limit of all verdicts' texts in one fact, with room for the rest of it. */
enum { VERDICTS_MAX_BYTES = FACT_MAX_BYTES / 4 * 3, NAMES_BYTES = 256 };

static const struct rung *closing_rung (const struct coord *coord)
{
    return &coord->state->plan.rungs.items[coord->state->pass.key.rung];
}

/* Built once for all hosts; NULL: not needed. */
static struct signature_set *signatures_if_needed (const struct coord *coord)
{
    for (uint32_t i = 0; i < coord->state->pass.parts.n; i++)
        if (result_ended_badly (&coord->state->pass.parts.items[i].result))
            return signature_set_build (coord->state->plan.signatures.items, coord->state->plan.signatures.n);
    return NULL;
}

static void judge_part (const struct coord *coord, uint32_t at, const struct signature_set *signatures,
                        struct arena *arena, struct verdict *out)
{
    const struct pass_state *pass = &coord->state->pass;
    uint32_t host = pass->parts.items[at].host;
    struct rung rung = *closing_rung (coord);
    rung.timeout_ms = pass->timeout_ms;
    struct judge_case of = {
        .plan = &coord->state->plan,
        .rung = &rung,
        .key = pass->key,
        .host = host,
        .world = parts_are_independent (coord) ? 1 : pass->parts.n,
        .writer = pass->key.pass == PASS_COLD && cache_mode_has_writer (coord->state->plan.cache.mode) &&
                  coord->state->grant.host == host,
        .token = coord->state->grant.token,
        .sealed = &coord->state->generation,
        .storage = coord->state->storage,
        .result = &pass->parts.items[at].result,
        .signatures = signatures,
    };
    judge_result (&of, arena, out);
    const struct fact_host_asked *asked = &coord->state->hosts.items[host].asked;
    if (of.result->ending == ENDING_LOST && asked->ssh)
        out->next = going_on_advice (of.plan, asked, host, 0, (struct text){ 0 },
                                     arena); /* the run's sentence tells how to go on */
}

/* Per part: did the coordinator stop the pass because of it? */
static bool *find_culprits (const struct coord *coord, struct arena *arena)
{
    const struct fact_pass_stopped *why = &coord->state->pass.why;
    bool *culprits = arena_array (arena, coord->state->pass.parts.n, sizeof (*culprits));
    for (uint32_t i = 0; coord->state->pass.stopped && i < why->culprits.n; i++) {
        uint32_t host = why->culprits.items[i],
                 at = host < coord->state->plan.hosts.n ? coord->soft.part_of_host[host] : NONE;
        if (at != NONE)
            culprits[at] = true;
    }
    return culprits;
}

/* A host not at fault, or the other one of two; NULL: none. */
static const struct result *other_than (const struct coord *coord, const bool *culprits, uint32_t part)
{
    uint32_t n = coord->state->pass.parts.n;
    for (uint32_t i = 0; i < n; i++)
        if (i != part && (!culprits[i] || n == 2))
            return &coord->state->pass.parts.items[i].result;
    return NULL;
}

/* Why its program or flags differ, as far as its own report shows. */
static struct text culprits_cause (const struct coord *coord, const struct result *culprit, const struct result *other,
                                   struct arena *arena)
{
    const struct fact_pass_stopped *why = &coord->state->pass.why;
    bool one = coord->state->pass.parts.n == 2;
    struct text difference = other ? program_difference_text (culprit, other, one, arena) : (struct text){ 0 };
    if (!difference.len)
        return why->cause;
    return text_clip (text_format (arena, "%.*s: %.*s", TEXT_ARG (why->cause), TEXT_ARG (difference)),
                      SENTENCE_MAX_BYTES);
}

/* LAUNCH owns a culprit with the same program but other flags, not one that passed the gate by. */
static void own_by_launch (const struct result *culprit, const struct result *other, struct verdict *verdict,
                           struct arena *arena)
{
    if (!other || !result_ended_badly (culprit) || !program_differs_by_flags (culprit, other, arena))
        return;
    verdict->owner = OWNER_LAUNCH;
    verdict->next = TEXT_LIT (
        "give all hosts the same XLA_FLAGS and LIBTPU_INIT_ARGS, and see what sets them on this host");
}

/* Output of a stop, or about peers, is not the cause. */
static void judge_stopped (const struct coord *coord, const bool *culprits, struct verdict *verdicts,
                           struct arena *arena)
{
    const struct fact_pass_stopped *why = &coord->state->pass.why;
    for (uint32_t i = 0; i < coord->state->pass.parts.n; i++) {
        const struct result *culprit = &coord->state->pass.parts.items[i].result,
                            *other = other_than (coord, culprits, i);
        if (!culprits[i])
            continue;
        verdict_replace (&verdicts[i], (struct verdict){ .outcome = OUTCOME_FAILED,
                                                         .owner = why->owner,
                                                         .cause = culprits_cause (coord, culprit, other, arena),
                                                         .next = why->next,
                                                         .cache = verdicts[i].cache });
        own_by_launch (culprit, other, &verdicts[i], arena);
    }
}

/* Was it ended by the coordinator, long after its worker should have? */
static bool was_overdue (const struct coord *coord, uint32_t at)
{
    const struct result *result = &coord->state->pass.parts.items[at].result;
    return result->ending == ENDING_CANCELLED && !coord->state->pass.stopped && coord->state->cancel_level == 0 &&
           result->duration_ms >= coord_longest_attempt_ms (coord);
}

static void judge_overdue (const struct coord *coord, struct verdict *verdicts, struct arena *arena)
{
    char limit[DURATION_TEXT_BYTES];
    struct verdict overdue = { .outcome = OUTCOME_TIMED_OUT, .owner = OWNER_UNKNOWN };
    overdue.cause = text_format (arena,
                                 "its worker did not end the attempt after %s; the coordinator had the attempt killed",
                                 duration_print (coord->state->pass.timeout_ms, limit));
    overdue.next = TEXT_LIT ("see the end of its log, and worker.log for what held the worker up");
    for (uint32_t i = 0; i < coord->state->pass.parts.n; i++)
        if (was_overdue (coord, i))
            verdict_replace (&verdicts[i], overdue);
}

/* A kill is a reason of its own, whatever the program printed before. */
static bool complains (const struct part *part, const struct verdict *verdict)
{
    return result_ended_badly (&part->result) && verdict->owner == OWNER_PEER && verdict->signature.len == 0 &&
           !failure_is_outside_kill (part->result.ending, part->result.code);
}

/* What a failed host printed about the others, in texts that signatures know. */
static struct failure_reading reading_of (const struct coord *coord, const struct verdict *verdict,
                                          const struct result *result, const struct signature_set *signatures,
                                          struct arena *arena)
{
    struct failure_reading reading = { 0 };
    if (verdict->outcome != OUTCOME_PASSED && signatures)
        failure_read_result (&coord->state->plan, signatures, result, arena, &reading);
    return reading;
}

/* Judges an attempt that the user ended, whatever it printed and whoever told its worker. */
static void judge_cancelled (const struct coord *coord, struct verdict *verdicts)
{
    const struct verdict by_user = { .outcome = OUTCOME_CANCELLED, .cause = TEXT_LIT ("the user cancelled the run") };
    for (uint32_t i = 0; i < coord->state->pass.parts.n; i++) {
        enum ending ending = coord->state->pass.parts.items[i].result.ending;
        if (ending == ENDING_CANCELLED || ending == ENDING_TERMINATED)
            verdict_replace (&verdicts[i], by_user);
    }
}

/* After a cancel nobody is to blame: complaints about peers only mean that those were stopped, too. */
static void abort_with_cancelled (const struct coord *coord, struct verdict *verdicts)
{
    for (uint32_t i = 0; i < coord->state->pass.parts.n; i++)
        if (complains (&coord->state->pass.parts.items[i], &verdicts[i]) ||
            isolate_blames_peers_only (&coord->state->plan, &verdicts[i]))
            verdict_replace (&verdicts[i],
                             (struct verdict){ .outcome = OUTCOME_CASCADE,
                                               .owner = OWNER_PEER,
                                               .signature = verdicts[i].signature,
                                               .cause = TEXT_LIT ("the user cancelled the run: this host's program "
                                                                  "ended because the other hosts were stopped") });
}

/* At the limit of others, and not by a text that is sure of its cause. */
static bool failed_with_others (const struct coord *coord, uint32_t at, const struct verdict *verdict)
{
    bool sure = verdict->signature.len && !verdict->likely && verdict->owner != OWNER_PEER;
    return !sure && part_failed_at_limit (&coord->state->pass, at);
}

/* The ending, as needed to find cascades. */
static enum ending ending_of (const struct coord *coord, uint32_t at, bool culprit)
{
    if (was_overdue (coord, at))
        return ENDING_TIMEOUT;
    return culprit ? ENDING_NONE : coord->state->pass.parts.items[at].result.ending;
}

static void point_to_logs (const struct coord *coord, const bool *lags, struct verdict *verdicts, struct arena *arena)
{
    for (uint32_t i = 0; i < coord->state->pass.parts.n; i++)
        if (lags[i] && verdicts[i].owner == OWNER_UNKNOWN &&
            !stand_waits_for_lock (failure_stack (&coord->state->pass.parts.items[i].result, arena)) &&
            (verdicts[i].outcome == OUTCOME_TIMED_OUT || text_is (verdicts[i].next, BLAME_NEXT)))
            verdicts[i].next = text_format (arena, "sliceup logs %.8s --rung %.*s --hosts %.*s", coord->state->run.ptr,
                                            TEXT_ARG (closing_rung (coord)->id),
                                            TEXT_ARG (coord->state->plan.hosts.items[verdicts[i].host].name));
}

static void blame_parts (const struct coord *coord, const bool *culprits, struct verdict *verdicts,
                         const struct signature_set *signatures, struct arena *arena)
{
    struct blame_host *hosts = arena_array (arena, coord->state->pass.parts.n, sizeof (*hosts));
    bool *lags = arena_array (arena, coord->state->pass.parts.n, sizeof (*lags));
    struct text others;
    (void) pass_find_lagging (coord, lags, arena, &others);
    for (uint32_t i = 0; i < coord->state->pass.parts.n; i++) {
        const struct part *part = &coord->state->pass.parts.items[i];
        bool late = !culprits[i] && failed_with_others (coord, i, &verdicts[i]);
        struct failure_reading reading = reading_of (coord, &verdicts[i], &part->result, signatures, arena);
        hosts[i] = (struct blame_host){
            .verdict = &verdicts[i],
            .order = part->order,
            .at_gate = part->at_gate,
            .ending = late ? ENDING_TIMEOUT : ending_of (coord, i, culprits[i]),
            .code = part->result.code,
            .late = late,
            .killed = failure_is_outside_kill (part->result.ending, part->result.code),
            .complains = late || (!culprits[i] && complains (part, &verdicts[i])),
            .peers = late ? (struct text){ 0 } : reading.peers,
            .noticed = reading.complains && !late,
            .lags = lags[i],
            .place = stand_phrase (failure_stack (&part->result, arena), arena),
        };
    }
    blame_slice (&coord->state->plan, hosts, coord->state->pass.parts.n, others, arena);
    point_to_logs (coord, lags, verdicts, arena);
}

/* Of those without a stack: who printed last what most did not. */
static void find_odd_lines (const struct coord *coord, bool *lags, struct arena *arena, struct text *others)
{
    const struct pass_state *pass = &coord->state->pass;
    struct text *lines = arena_array (arena, pass->parts.n, sizeof (*lines)),
                *names = arena_array (arena, pass->parts.n, sizeof (*names));
    uint32_t alike = 0;
    for (uint32_t i = 0; i < pass->parts.n; i++)
        for (struct text tail = pass->parts.items[i].result.tail; tail.len;)
            lines[i] = text_take_until (&tail, '\n');
    struct text most = majority_value (lines, pass->parts.n);
    for (uint32_t i = 0; most.len && i < pass->parts.n; i++) {
        lags[i] = !text_equal (lines[i], most);
        if (!lags[i])
            names[alike++] = coord->state->plan.hosts.items[pass->parts.items[i].host].name;
    }
    for (uint32_t i = 0; i < pass->parts.n; i++)
        lags[i] = lags[i] && 2 * alike > pass->parts.n; /* most of those that printed may be few of all */
    *others = text_format (arena, "%.*s printed last: %.*s",
                           TEXT_ARG (hostset_folded (names, alike, NAMES_BYTES, arena)),
                           TEXT_ARG (secret_redact_values (arena, &coord->state->plan.profile, most)));
}

/* Programs that run alone may wait for each other all the same. Where time ran out for all, who stands apart from most
 * is told so; nobody is blamed. */
static void tell_odd_ones (const struct coord *coord, struct verdict *verdicts, struct arena *arena)
{
    bool *lags = arena_array (arena, coord->state->pass.parts.n, sizeof (*lags));
    struct text others;
    for (uint32_t i = 0; i < coord->state->pass.parts.n; i++)
        if (verdicts[i].outcome != OUTCOME_TIMED_OUT)
            return;
    if (!pass_find_lagging (coord, lags, arena, &others))
        find_odd_lines (coord, lags, arena, &others);
    for (uint32_t i = 0; i < coord->state->pass.parts.n; i++)
        if (lags[i])
            verdicts[i].cause = text_clip (
                text_format (arena, "%.*s; %.*s", TEXT_ARG (verdicts[i].cause), TEXT_ARG (others)), SENTENCE_MAX_BYTES);
    point_to_logs (coord, lags, verdicts, arena);
}

/* A program that passed on most hosts may be right: before it is corrected, this host is compared with those. */
static void point_to_differences (const struct coord *coord, struct verdict *verdicts, struct arena *arena)
{
    uint32_t n = coord->state->pass.parts.n, passed = 0;
    for (uint32_t i = 0; i < n; i++)
        passed += verdicts[i].outcome == OUTCOME_PASSED;
    if (passed < 2 || 2 * passed <= n)
        return;
    for (uint32_t i = 0; i < n; i++)
        if (verdicts[i].outcome == OUTCOME_FAILED && verdicts[i].owner == OWNER_PROGRAM && verdicts[i].next.len) {
            verdicts[i].likely = true;
            verdicts[i].else_owner = verdicts[i].else_owner ? verdicts[i].else_owner : OWNER_HOST;
            verdicts[i].next = text_format (
                arena, "sliceup drift %.8s (it passed on %u others: what is different here?); else: %.*s",
                coord->state->run.ptr, passed, TEXT_ARG (verdicts[i].next));
        }
}

/* What stands at `at` is a command of sliceup, and no sentence about it. */
static bool is_command (struct text text, uint32_t at)
{
    static const char *const commands[] = { "logs ", "receipt", "drift", "exec ", "env ", "cache ", "explain" };
    struct text rest = { text.ptr + at, text.len - at };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (text_starts (rest, commands[i]))
            return true;
    return false;
}

static struct text complete_command (struct text next, struct text hint, struct arena *arena)
{
    const struct text name = TEXT_LIT ("sliceup ");
    struct text rest = next;
    LOCAL_BUF out = { .max = SENTENCE_MAX_BYTES };
    uint32_t at;
    while (text_find (rest, name, &at)) {
        bool command = is_command (rest, at + name.len);
        buf_add_text (&out, (struct text){ rest.ptr, at + name.len - 1 });
        buf_add_text (&out, command ? hint : (struct text){ 0 });
        text_skip (&rest, at + name.len - 1);
    }
    buf_add_text (&out, rest);
    return out.overflow ? next : text_copy (arena, buf_as_text (&out));
}

void pass_close_complete_commands (const struct plan *plan, struct verdict *verdicts, uint32_t n, struct arena *arena)
{
    for (uint32_t i = 0; i < n && plan->hint.len; i++)
        verdicts[i].next = complete_command (verdicts[i].next, plan->hint, arena);
}

bool pass_all_passed (const struct verdict *verdicts, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (verdicts[i].outcome != OUTCOME_PASSED)
            return false;
    return true;
}

void pass_close_fit_verdicts (struct verdict *verdicts, uint32_t n)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < n; i++)
        all += verdicts[i].cause.len + verdicts[i].next.len + verdicts[i].evidence.len;
    for (uint32_t i = 0; i < n && all > VERDICTS_MAX_BYTES; i++) {
        uint32_t share = VERDICTS_MAX_BYTES / n;
        verdicts[i].cause = text_clip (verdicts[i].cause, share / 2);
        verdicts[i].next = text_clip (verdicts[i].next, share / 4);
        verdicts[i].evidence = text_clip (verdicts[i].evidence, share / 4);
    }
}

/* The hosts' own time if there was no coordinator for a while, since a waiting result did not run longer. */
static uint64_t took_ms (const struct coord *coord, uint64_t now_ms)
{
    const struct pass_state *pass = &coord->state->pass;
    uint64_t seen_ms = coord_to_run_clock (coord, now_ms) - pass->began_ms, own_ms = seen_ms;
    for (uint32_t i = 0; i < pass->parts.n; i++)
        own_ms = pass->parts.items[i].result.duration_ms > own_ms ? pass->parts.items[i].result.duration_ms : own_ms;
    return own_ms < seen_ms + pass->away_ms ? own_ms : seen_ms + pass->away_ms;
}

/* Only the hosts that did not pass are listed. */
static void record_pass (struct coord *coord, const struct verdict *verdicts, uint64_t now_ms, struct outbox *out)
{
    struct fact *fact = outbox_add_fact (out, FACT_PASS_ENDED);
    struct fact_pass_ended *ended = &fact->of.pass_ended;
    ended->key = coord->state->pass.key;
    ended->outcome = OUTCOME_PASSED;
    ended->duration_ms = took_ms (coord, now_ms);
    struct verdict *listed = arena_array (&out->arena, coord->state->pass.parts.n, sizeof (*listed));
    for (uint32_t i = 0; i < coord->state->pass.parts.n; i++) {
        ended->outcome = outcome_worst (ended->outcome, verdicts[i].outcome);
        if (verdicts[i].outcome != OUTCOME_PASSED)
            listed[ended->verdicts.n++] = verdicts[i];
    }
    pass_close_complete_commands (&coord->state->plan, listed, ended->verdicts.n, &out->arena);
    pass_close_fit_verdicts (listed, ended->verdicts.n);
    ended->verdicts.items = listed;
    coord_commit_fact (coord, fact, now_ms);
}

/* Merges keys: the base's that the writer did not use, and the writer's own. For a key that the writer found, the base
 * has the compile time. */
static void add_keys (const struct fact_generation *base, const struct result *writer,
                      struct fact_generation *generation, struct arena *arena)
{
    struct cache_key *keys = arena_array (arena, base->keys.n + writer->keys.n, sizeof (*keys));
    uint32_t n = 0;
    for (uint32_t i = 0; i < writer->keys.n; i++)
        keys[n++] = writer->keys.items[i];
    for (uint32_t i = 0; i < base->keys.n && n < GENERATION_KEYS_MAX; i++) {
        uint32_t k = 0;
        while (k < writer->keys.n && !text_equal (keys[k].key, base->keys.items[i].key))
            k++;
        if (k == writer->keys.n)
            keys[n++] = base->keys.items[i];
        else if (keys[k].compile_ms == 0)
            keys[k].compile_ms = base->keys.items[i].compile_ms;
    }
    generation->keys.items = keys;
    generation->keys.n = n;
}

/* The number is the worker's claim: it is limited to what a record holds. */
static uint64_t compiled_ms (const struct fact_generation *base, const struct result *writer)
{
    uint64_t own_ms = 0;
    result_counter (writer, "compile_ms", &own_ms);
    return own_ms <= INT64_MAX - base->compile_ms ? base->compile_ms + own_ms : INT64_MAX;
}

static void pass_close_publish (struct coord *coord, const struct result *writer, struct attempt_key key,
                                uint64_t now_ms, struct outbox *out)
{
    const struct seal *seal = &writer->seal;
    const struct fact_generation *base = write_lease_base_generation (coord);
    text_list ladder = cache_family_all_covers (coord, &out->arena);
    if (coord->state->generation.token == seal->token)
        return; /* by the process before this one */
    struct fact *fact = outbox_add_fact (out, FACT_GENERATION_PUBLISHED);
    struct fact_generation *generation = &fact->of.generation;
    *generation = (struct fact_generation){
        .token = seal->token,
        .sha256 = seal->sha256,
        .bundle = coord->state->bundle,
        .rung = key.rung,
        .entries = seal->entries,
        .bytes = seal->bytes,
        .writer = coord->state->grant.host,
        .from_run = coord->state->run,
        .compile_ms = compiled_ms (base, writer),
        .covers = covers_carry_over (
            &base->covers, &ladder,
            cache_family_rung_cover (&coord->state->plan, &coord->state->plan.rungs.items[key.rung], &out->arena),
            &out->arena),
    };
    add_keys (base, writer, generation, &out->arena);
    coord_commit_fact (coord, fact, now_ms);
    write_lease_publish_generation (coord, out);
}

static const struct result *result_of_writer (const struct coord *coord)
{
    uint32_t at = coord->soft.part_of_host[coord->state->grant.host];
    return at == NONE ? NULL : &coord->state->pass.parts.items[at].result;
}

static void compare_parts (const struct coord *coord, struct verdict *verdicts, bool *culprits, struct arena *arena)
{
    uint32_t n = coord->state->pass.parts.n;
    const struct result **results = arena_array (arena, n, sizeof (*results));
    uint32_t *hosts = arena_array (arena, n, sizeof (*hosts));
    for (uint32_t i = 0; i < n; i++) {
        results[i] = &coord->state->pass.parts.items[i].result;
        hosts[i] = coord->state->pass.parts.items[i].host;
    }
    struct agree_case of = { .plan = &coord->state->plan,
                             .results = results,
                             .hosts = hosts,
                             .n = n,
                             .independent = parts_are_independent (coord) };
    if (pass_all_passed (verdicts, n))
        agree_environments (&of, verdicts, arena);
    else
        agree_variables (&of, verdicts, culprits, arena);
    if (!of.independent)
        agree_unreached (&of, verdicts, arena);
    if (pass_all_passed (verdicts, n) && rung_is_builtin (closing_rung (coord), "facts"))
        agree_topology (&of, verdicts, arena);
    if (rung_is_builtin (closing_rung (coord), "ways"))
        agree_ways (&of, verdicts, arena);
    if (rung_is_builtin (closing_rung (coord), "cache"))
        agree_storage (&of, verdicts, arena);
}

void close_pass (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    const struct pass_state *pass = &coord->state->pass;
    struct attempt_key key = pass->key;
    struct verdict *verdicts = arena_array (&out->arena, pass->parts.n, sizeof (*verdicts));
    struct signature_set *signatures = signatures_if_needed (coord);
    for (uint32_t i = 0; i < pass->parts.n; i++)
        judge_part (coord, i, signatures, &out->arena, &verdicts[i]);
    bool *culprits = find_culprits (coord, &out->arena);
    judge_stopped (coord, culprits, verdicts, &out->arena);
    judge_overdue (coord, verdicts, &out->arena);
    compare_parts (coord, verdicts, culprits, &out->arena);
    if (pass->cancelled)
        judge_cancelled (coord, verdicts);
    bool compiled_only = closing_rung (coord)->warm == WARM_AOT &&
                         key.pass == PASS_COLD; /* nothing ran that could be reduced */
    if (!parts_are_independent (coord) && pass->cancelled)
        abort_with_cancelled (coord, verdicts);
    else if (!parts_are_independent (coord) && !pass_all_passed (verdicts, pass->parts.n))
        blame_parts (coord, culprits, verdicts, signatures, &out->arena);
    else
        tell_odd_ones (coord, verdicts, &out->arena);
    if (parts_are_independent (coord))
        point_to_differences (coord, verdicts, &out->arena);
    if (!parts_are_independent (coord) && !compiled_only) /* last: an unproved metric never explains another failure */
        prove_metrics (coord, verdicts, now_ms, out);
    signature_set_free (signatures);
    violation_record_pass (coord, now_ms, out);
    bool good = pass_all_passed (verdicts, pass->parts.n),
         warmed = key.pass == PASS_COLD && cache_mode_has_writer (coord->state->plan.cache.mode);
    const struct result *writer = good && warmed && !pass->dropped ? result_of_writer (coord) : NULL;
    if (writer) /* first, because the next process does not close an ended pass again */
        pass_close_publish (coord, writer, key, now_ms, out);
    record_pass (coord, verdicts, now_ms, out);
    if (warmed && !writer)
        write_lease_abandon (coord, now_ms, out);
}
