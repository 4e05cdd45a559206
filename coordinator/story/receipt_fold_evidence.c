/* receipt_fold_evidence.c - what an attempt measured, what was recognised in its output, and what its host said. */
#include <inttypes.h>
#include <string.h>

#include "common/base/duration.h"
#include "common/model/secret.h"
#include "coordinator/story/receipt_fold_state.h"
#include "coordinator/verdict/isolate.h"
#include "coordinator/verdict/judge.h"

/* Of the note by which a worker tells that it waited for a device: docs/spec/protocol.md. */
#define DEVICE_NOTE_SOURCE "device"

enum { EVIDENCE_BYTES = 1024 };

/* ---- the host ---- */

/* The last word on a name counts. Programs tell the same ones in the same order each time. */
static void keep_vars (struct receipt_fold *fold, growing_vars *list, const var_list *told, const growing_vars *like)
{
    bool alike = list->n == 0;   /* so far the names are those of another host, which has each once */
    if (!list->items && told->n) /* mostly there will be no more */
        list->items = arena_array (&fold->arena, list->capacity = told->n, sizeof *list->items);
    for (uint32_t i = 0; i < told->n; i++) {
        const struct var *var = &told->items[i];
        alike = alike && i < like->n && text_equal (like->items[i].name, var->name);
        struct var *known = i < list->n && text_equal (list->items[i].name, var->name) ? &list->items[i]
                            : alike                                                    ? NULL
                                    : LIST_FIND (*list, struct var, name, var->name);
        if (!known) {
            known = GROWING_ADD (fold, list);
            known->name = alike ? like->items[i].name : receipt_fold_copy_text (fold, var->name);
        }
        if (!known->value.ptr || !text_equal (known->value, var->value))
            known->value = receipt_fold_copy_text (fold, var->value);
    }
}

static void note_bundle (struct receipt_fold *fold, struct host_fold *host, const struct result *result)
{
    struct result_note note;
    if (result->done && bundle_rules_make_note (&fold->board->plan, &result->bundle, &fold->arena, &note))
        *GROWING_ADD (fold, &host->notes) = note;
}

static void fold_setup (struct receipt_fold *fold, struct host_fold *host, const struct result *result)
{
    const struct pins *pins = &fold->board->plan.pins;
    const struct rung *rung = &fold->board->plan.rungs.items[result->key.rung];
    const var_list *bundle = (const var_list *) &result->bundle;
    if (!text_is (rung->builtin, "restore"))
        return;
    host->setup = (struct environment_receipt){
        .pins = pins->name,
        .pins_sha256 = pins->file.sha256,
        .script_sha256 = pins->setup.sha256,
        .restore_method = receipt_fold_copy_text (fold, result_note_from (result, "environment")),
        .python = receipt_fold_copy_text (fold, var_value (bundle, "python")),
        .environment = receipt_fold_copy_text (fold, var_value (bundle, "fingerprint")),
        .script = pins->setup.path,
        .script_result = receipt_fold_copy_text (fold, result_note_from (result, "setup")),
        .script_rung = pins->setup.path.len ? rung->id : (struct text){ 0 },
    };
    note_bundle (fold, host, result);
}

/* The first host that says it has done all at a rung stands for all others there. */
static void receipt_fold_evidence_note_told (struct receipt_fold *fold, const struct result *result)
{
    const var_list *lists[] = { (const var_list *) &result->bundle, (const var_list *) &result->policy,
                                (const var_list *) &result->facts };
    const struct told_name *told = fold->told.items;
    if (!result->done || (fold->told.n && told[fold->told.n - 1].rung >= result->key.rung))
        return;
    for (uint32_t l = 0; l < 3; l++)
        for (uint32_t i = 0; i < lists[l]->n; i++)
            *GROWING_ADD (fold, &fold->told) =
                (struct told_name){ result->key.rung, l, receipt_fold_copy_text (fold, lists[l]->items[i].name) };
}

/* There, or, when it took no part there, before. */
static bool has_failed (const struct receipt_fold *fold, const struct host_receipt *host, uint32_t rung)
{
    bool failed = false, there = false;
    for (uint32_t i = 0; i < host->rungs.n; i++) {
        bool same = text_equal (host->rungs.items[i]->rung, fold->board->plan.rungs.items[rung].id);
        if (same || !there)
            failed = host->rungs.items[i]->outcome != OUTCOME_PASSED;
        there |= same;
    }
    return failed;
}

/* Where a host told nothing at all, and had no backend to speak of, that is said in other words. */
void receipt_fold_add_unheard (const struct receipt_fold *fold, struct host_receipt *host, struct arena *arena)
{
    var_list *lists[] = { (var_list *) &host->bundle, (var_list *) &host->policy.observed, (var_list *) &host->facts };
    const struct told_name *told = fold->told.items;
    struct text value;
    bool failed = false, copied[3] = { false };
    for (uint32_t i = 0; i < fold->told.n; i++) {
        var_list *list = lists[told[i].list];
        if (i == 0 || told[i].rung != told[i - 1].rung)
            failed = has_failed (fold, host, told[i].rung);
        if (!failed || !(list->n || host->backend.observed.platform.len) || var_find (list, told[i].name, &value))
            continue;
        if (!copied[told[i].list]) { /* once, with room for all that others told */
            struct var *more = arena_array (arena, list->n + fold->told.n, sizeof (*more));
            if (list->n)
                memcpy (more, list->items, list->n * sizeof (*more));
            list->items = more;
        }
        copied[told[i].list] = true;
        list->items[list->n++] = (struct var){ told[i].name, TEXT_LIT (FACT_NOT_REPORTED) };
    }
}

/* What the host said of itself, for the host's part of the receipt. */
static void fold_host (struct receipt_fold *fold, struct host_fold *host, const struct result *result)
{
    var_list policy = { 0 }, seen = fold->shown_policy;
    receipt_keep_list (&var_record, &policy, &result->policy, &fold->policy, &fold->arena);
    if (policy.items != fold->policy.items || policy.n != fold->policy.n)
        seen = secret_redact_vars (&fold->arena, &policy);
    fold->policy = policy;
    fold->shown_policy = seen;
    host->attempts[fold->board->plan.rungs.items[result->key.rung].scope] = result->key.attempt;
    keep_vars (fold, &host->bundle, (const var_list *) &result->bundle, &fold->told_last->bundle);
    keep_vars (fold, &host->observed, &seen, &fold->told_last->observed);
    var_list facts = { mem_array (result->facts.n, sizeof (struct var)), result->facts.n };
    for (uint32_t i = 0; i < facts.n; i++) {
        struct var *fact = &facts.items[i];
        *fact = result->facts.items[i];
        if (text_starts (fact->name,
                         "env.")) /* a program's own word for a variable; package.libkeyutils1 is no secret */
            fact->value = text_clip (secret_redact_var (&fold->arena, fact), TEXT_MAX_BYTES);
    }
    keep_vars (fold, &host->facts, &facts, &fold->told_last->facts);
    fold->told_last = facts.n ? host : fold->told_last;
    mem_free (facts.items);
    for (uint32_t i = 0; i < result->notes.n; i++)
        record_copy (&note_record, GROWING_ADD (fold, &host->notes), &result->notes.items[i], &fold->arena);
    if (result->backend.platform.len)
        record_copy (&backend_record, &host->backend, &result->backend, &fold->arena);
    fold_setup (fold, host, result);
    receipt_fold_evidence_note_told (fold, result);
}

/* ---- the attempt ---- */

/* The device was not free at once: an attempt that passed then is no clean pass. */
static void keep_waiting (struct rung_receipt *rung, const struct result *result, struct arena *arena)
{
    struct text waited = result_note_from (result, DEVICE_NOTE_SOURCE);
    if (waited.len && result->ending != ENDING_NOT_STARTED)
        *(struct text *) list_append (&rung->recovered, sizeof (struct text), arena) = text_copy (arena, waited);
}

static struct text last_bytes (struct text text, uint32_t bytes)
{
    if (text.len <= bytes)
        return text;
    text.ptr += text.len - bytes;
    text.len = bytes;
    while (text.len && ((unsigned char) *text.ptr & 0xC0) == 0x80) { /* not into the middle of a character */
        text.ptr++;
        text.len--;
    }
    return text;
}

void receipt_fold_add_evidence (struct receipt_fold *fold, struct host_fold *host, struct rung_receipt *rung,
                                const struct result *result)
{
    const struct rung_receipt *before = fold->before;
    rung->memory = (struct memory_receipt){ result->peak_bytes, result->predicted_bytes, result->device_peak_bytes };
    rung->launch = fold->board->plan.rungs.items[result->key.rung].launch;
    record_copy (&backend_record, &rung->backend, &result->backend, &fold->arena);
    rung->bad_line = receipt_fold_copy_text (fold, result->bad_line);
    rung->interpreter = receipt_fold_copy_text (fold, result->interpreter);
    rung->cause.evidence = secret_redact_values (
        &fold->arena, &fold->board->plan.profile,
        receipt_fold_copy_text (fold, last_bytes (result->tail, EVIDENCE_BYTES)));
    receipt_keep_list (&number_record, &rung->counters, &result->counters, &before->counters, &fold->arena);
    receipt_keep_list (&program_record, &rung->programs, &result->programs, &before->programs, &fold->arena);
    receipt_keep_list (&check_record, &rung->checks, &result->checks, &before->checks, &fold->arena);
    receipt_keep_list (&metric_record, &rung->metrics, &result->metrics, &before->metrics, &fold->arena);
    receipt_keep_list (&number_record, &rung->left_out, &result->left_out, &before->left_out, &fold->arena);
    receipt_keep_list (&number_record, &rung->phases, &result->phases, &before->phases, &fold->arena);
    receipt_keep_list (&sighting_record, &rung->sightings, &result->sightings, &before->sightings, &fold->arena);
    for (uint32_t i = 0; i < rung->sightings.n; i++) /* receipts are handed on */
        rung->sightings.items[i].text = secret_redact_values (&fold->arena, &fold->board->plan.profile,
                                                              rung->sightings.items[i].text);
    keep_waiting (rung, result, &fold->arena);
    if (rung->purpose != PURPOSE_ISOLATION) /* what a part of the slice shows is about that part */
        fold_host (fold, host, result);
}

/* ---- receipt fold state ---- */

struct text receipt_fold_copy_text (struct receipt_fold *fold, struct text text)
{
    return text_copy (&fold->arena, text_clip (text, TEXT_MAX_BYTES));
}

void receipt_keep_list (const struct record *record, void *to, const void *from, const void *before,
                        struct arena *arena)
{
    const struct any_list *list = from, *known = before;
    struct any_list *out = to;
    bool same = known && known->n == list->n;
    for (size_t i = 0, at = 0; same && i < list->n; i++, at += record->bytes)
        same = record_equal (record, (const char *) list->items + at, (const char *) known->items + at);
    *out = same ? *known : (struct any_list){ arena_array (arena, list->n, record->bytes), list->n };
    for (size_t i = 0, at = 0; !same && i < list->n; i++, at += record->bytes)
        record_copy (record, (char *) out->items + at, (const char *) list->items + at, arena);
}

void receipt_fold_add_recovery (struct receipt_fold *fold, struct text what)
{
    *GROWING_ADD (fold, &fold->recoveries) = (struct recovery_receipt){ fold->header.run, what };
}

/* Empty: the plan has no such one. */
static struct text receipt_host_name (const struct receipt_fold *fold, uint32_t host)
{
    return host < fold->board->plan.hosts.n ? fold->board->plan.hosts.items[host].name : (struct text){ 0 };
}

static struct text receipt_rung_name (const struct receipt_fold *fold, uint32_t rung)
{
    return rung < fold->board->plan.rungs.n ? fold->board->plan.rungs.items[rung].id : (struct text){ 0 };
}

struct rung_receipt **receipt_rung_of (const struct receipt_fold *fold, uint32_t host, const struct attempt_key *key)
{
    struct rung_receipt **rungs = fold->hosts[host].rungs.items;
    for (uint32_t i = fold->hosts[host].rungs.n; i > 0; i--)
        if (rungs[i - 1]->pass == key->pass && rungs[i - 1]->attempt == key->attempt &&
            text_equal (rungs[i - 1]->rung, receipt_rung_name (fold, key->rung)))
            return &rungs[i - 1];
    return NULL;
}

struct rung_receipt *receipt_rung_own (struct receipt_fold *fold, uint32_t host, const struct attempt_key *key)
{
    struct rung_receipt **rung = receipt_rung_of (fold, host, key);
    return rung ? *rung = arena_copy (&fold->arena, *rung, sizeof **rung) : NULL;
}

/* ---- what was proved of metrics: of each pass of a rung its latest attempt counts ---- */

static bool is_known (const struct receipt_fold *fold, uint32_t host)
{
    return host < fold->board->plan.hosts.n;
}

static uint32_t keep_hosts (const struct receipt_fold *fold, const uint32_t *hosts, uint32_t n, struct text *names)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++)
        if (is_known (fold, hosts[i]))
            names[kept++] = receipt_host_name (fold, hosts[i]);
    return kept;
}

static void keep_contradicted (struct receipt_fold *fold, const struct fact_metric_judged *judged,
                               struct reduction_receipt *kept)
{
    uint32_t n = judged->contradicted.n;
    kept->contradicted.items = arena_array (&fold->arena, n, sizeof (*kept->contradicted.items));
    for (uint32_t i = 0; i < n; i++) {
        const struct contradicted_count *of = &judged->contradicted.items[i];
        if (is_known (fold, of->host))
            kept->contradicted.items[kept->contradicted.n++] =
                (struct contradicted_count_receipt){ receipt_host_name (fold, of->host), of->count };
    }
}

void receipt_fold_add_metric (struct receipt_fold *fold, const struct fact_metric_judged *judged)
{
    struct arena *arena = &fold->arena;
    *GROWING_ADD (fold, &fold->judged) = judged->key;
    struct reduction_receipt *kept = GROWING_ADD (fold, &fold->reductions);
    *kept = (struct reduction_receipt){ .run = fold->header.run,
                                        .rung = receipt_rung_name (fold, judged->key.rung),
                                        .metric = receipt_fold_copy_text (fold, judged->metric),
                                        .value = judged->value,
                                        .proof = judged->proof,
                                        .why = receipt_fold_copy_text (fold, judged->why),
                                        .tolerance = judged->tolerance,
                                        .tolerance_of = receipt_fold_copy_text (fold, judged->tolerance_of) };
    kept->axes.items = arena_array (arena, judged->axes.n, sizeof (struct text));
    while (kept->axes.n < judged->axes.n) {
        kept->axes.items[kept->axes.n] = receipt_fold_copy_text (fold, judged->axes.items[kept->axes.n]);
        kept->axes.n++;
    }
    kept->missing.items = arena_array (arena, judged->missing.n, sizeof (struct text));
    kept->missing.n = keep_hosts (fold, judged->missing.items, judged->missing.n, kept->missing.items);
    kept->culprits.items = arena_array (arena, judged->culprits.n, sizeof (struct text));
    kept->culprits.n = keep_hosts (fold, judged->culprits.items, judged->culprits.n, kept->culprits.items);
    keep_contradicted (fold, judged, kept);
}

void receipt_fold_forget_metrics (struct receipt_fold *fold, const struct attempt_key *key)
{
    struct attempt_key *keys = fold->judged.items;
    struct reduction_receipt *reductions = fold->reductions.items;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < fold->judged.n; i++) {
        if (keys[i].rung == key->rung && keys[i].pass == key->pass)
            continue;
        keys[kept] = keys[i];
        reductions[kept++] = reductions[i];
    }
    fold->judged.n = fold->reductions.n = kept;
}

/* ---- what the journal says of the compile cache: generations, their writers' leases, violations ---- */

void receipt_fold_add_generation (struct receipt_fold *fold, const struct fact_generation *generation, bool adopted)
{
    if (generation->token == 0)
        return;
    receipt_keep_list (&cache_key_record, &fold->sealed, &generation->keys, NULL, &fold->arena);
    struct generation_receipt *kept = GROWING_ADD (fold, &fold->generations);
    *kept = (struct generation_receipt){ .run = fold->header.run,
                                         .adopted = adopted,
                                         .token = generation->token,
                                         .sha256 = receipt_fold_copy_text (fold, generation->sha256),
                                         .bundle = receipt_fold_copy_text (fold, generation->bundle),
                                         .from_run = receipt_fold_copy_text (fold, generation->from_run),
                                         .entries = generation->entries,
                                         .bytes = generation->bytes,
                                         .compile_ms = generation->compile_ms };
    if (!adopted)
        kept->writer = receipt_host_name (fold, generation->writer);
}

/* Of this run, or one that it came upon: also that it was not used is part of the history. */
void receipt_fold_note_dropped (struct receipt_fold *fold, const struct fact_generation_dropped *dropped)
{
    struct generation_receipt *generations = fold->generations.items;
    struct text why = receipt_fold_copy_text (fold, dropped->why.len ? dropped->why : TEXT_LIT ("violated"));
    bool known = false;
    for (uint32_t i = 0; i < fold->generations.n; i++) {
        if (generations[i].token != dropped->token)
            continue;
        generations[i].dropped = why;
        known = true;
    }
    if (!known)
        receipt_fold_add_recovery (fold, text_format (&fold->arena, "generation %" PRIu64 " was quarantined: %.*s",
                                                      dropped->token, TEXT_ARG (why)));
}

void receipt_fold_note_lease_lost (struct receipt_fold *fold, const struct fact_lease_lost *lost)
{
    receipt_fold_add_recovery (
        fold, text_format (&fold->arena, "%.*s lost the lease to write generation %" PRIu64 ": %.*s",
                           TEXT_ARG (receipt_host_name (fold, lost->host)), lost->token, TEXT_ARG (lost->why)));
}

void receipt_fold_add_violation (struct receipt_fold *fold, const struct fact *fact)
{
    const struct fact_cache_violated *violated = &fact->of.cache_violated;
    struct violation_receipt *kept = GROWING_ADD (fold, &fold->violations);
    *kept = (struct violation_receipt){ .run = fold->header.run,
                                        .rung = receipt_rung_name (fold, violated->rung),
                                        .host = receipt_host_name (fold, violated->host),
                                        .kind = violated->finding.kind,
                                        .token = violated->finding.token,
                                        .path = receipt_fold_copy_text (fold, violated->finding.path),
                                        .detail = receipt_fold_copy_text (fold, violated->finding.detail),
                                        .from_run = receipt_fold_copy_text (fold, violated->from_run),
                                        .since = violated->since,
                                        .index = fact->index };
}

/* Of a program that was found its writer knows what compiling it took. */
static void add_compile_time (const struct receipt_fold *fold, struct cache_key *found)
{
    for (uint32_t i = 0; i < fold->sealed.n; i++)
        if (text_equal (fold->sealed.items[i].key, found->key))
            found->compile_ms = fold->sealed.items[i].compile_ms;
}

void receipt_fold_add_cache_view (struct receipt_fold *fold, struct rung_receipt *rung, const struct result *result)
{
    record_copy (&cache_view_record, &rung->cache_view, &result->cache, &fold->arena);
    struct cache_key keys[RESULT_KEYS_MAX];
    struct any_list told = { keys, result->keys.n < RESULT_KEYS_MAX ? result->keys.n : RESULT_KEYS_MAX };
    for (uint32_t i = 0; i < told.n; i++) {
        keys[i] = result->keys.items[i];
        if (keys[i].state == KEY_HIT)
            add_compile_time (fold, &keys[i]);
    }
    receipt_keep_list (&cache_key_record, &rung->keys, &told, &fold->before->keys, &fold->arena);
    receipt_keep_list (&finding_record, &rung->findings, &result->findings, &fold->before->findings, &fold->arena);
}

/* ---- what the journal says of what was run again: retries, and parts of the slice by themselves ---- */

static struct text retried (const struct receipt_fold *fold, const struct rung_receipt *before)
{
    const struct retried_pass *retries = fold->retries.items;
    for (uint32_t i = 0; i < fold->retries.n; i++)
        if (retries[i].key.pass == before->pass && retries[i].key.attempt == before->attempt &&
            text_equal (receipt_rung_name (fold, retries[i].key.rung), before->rung))
            return retries[i].what;
    return (struct text){ 0 };
}

/* The attempts of this rung on this host that did not pass, and what followed each. */
void receipt_fold_fill_recovered (struct receipt_fold *fold, const struct host_fold *host, struct rung_receipt *rung)
{
    uint32_t from = host->rungs.n; /* those of one rung stand together */
    while (from > 0 && text_equal (host->rungs.items[from - 1]->rung, rung->rung))
        from--;
    for (uint32_t i = from; i < host->rungs.n && rung->purpose != PURPOSE_ISOLATION; i++) {
        const struct rung_receipt *before = host->rungs.items[i];
        if (before->outcome > OUTCOME_PASSED) {
            struct text what = retried (fold, before);
            *(struct text *) list_append (&rung->recovered, sizeof (struct text), &fold->arena) = text_format (
                &fold->arena, "%s attempt %u %s: %.*s%s%.*s", enum_name_of (&pass_names, before->pass), before->attempt,
                enum_name_of (&outcome_names, before->outcome), TEXT_ARG (before->cause.text), what.len ? "; " : "",
                TEXT_ARG (what));
        }
    }
}

void receipt_fold_add_retry (struct receipt_fold *fold, const struct fact *fact)
{
    const struct fact_retry_planned *planned = &fact->of.retry_planned;
    char span[DURATION_TEXT_BYTES];
    duration_print (planned->due_ms > fact->at_ms ? planned->due_ms - fact->at_ms : 0, span);
    struct retried_pass *retry = GROWING_ADD (fold, &fold->retries);
    *retry = (struct retried_pass){ planned->key, text_format (&fold->arena, "run again after %s: %.*s", span,
                                                               TEXT_ARG (planned->why)) };
    receipt_fold_add_recovery (fold, text_format (&fold->arena, "rung %.*s, %s attempt %u, was %.*s",
                                                  TEXT_ARG (receipt_rung_name (fold, planned->key.rung)),
                                                  enum_name_of (&pass_names, planned->key.pass), planned->key.attempt,
                                                  TEXT_ARG (retry->what)));
}

static void name_host (struct receipt_fold *fold, const struct isolate_ruling *ruling, uint32_t host,
                       struct rung_receipt *rung)
{
    struct verdict after, before = { .host = host,
                                     .outcome = rung->outcome,
                                     .owner = rung->cause.owner,
                                     .else_owner = rung->cause.else_owner,
                                     .likely = rung->cause.certainty == CERTAINTY_LIKELY,
                                     .signature = rung->cause.signature,
                                     .cause = rung->cause.text,
                                     .next = rung->cause.next };
    isolate_apply_ruling (ruling, &before, &fold->arena, &after);
    rung->outcome = after.outcome;
    receipt_fold_fill_cause (fold, &after, rung);
}

void receipt_fold_apply_suspects (struct receipt_fold *fold, const struct fact_suspects_named *named)
{
    struct isolate_ruling ruling;
    isolate_ruling_from_suspects (&fold->board->plan, named, &fold->arena, &ruling);
    for (uint32_t i = 0; i < fold->board->plan.hosts.n; i++) {
        struct rung_receipt *rung = receipt_rung_own (fold, i, &named->key);
        if (rung)
            name_host (fold, &ruling, i, rung);
    }
}
