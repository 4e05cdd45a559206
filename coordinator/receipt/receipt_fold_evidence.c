/* receipt_fold_evidence.c - what an attempt measured, what was recognised in its output, and what its host said. */
#include "coordinator/receipt/receipt_fold_state.h"

#include <string.h>

#include "common/model/secret.h"
#include "coordinator/verdict/bundle_rules.h"

/* Of the note by which a worker tells that it waited for a device: docs/spec/protocol.md. */
#define DEVICE_NOTE_SOURCE "device"

enum { EVIDENCE_BYTES = 1024 };

/* ---- the host ---- */

/* The last word on a name counts. */
static void keep_var (struct receipt_fold *fold, struct growing_list *list, const struct var *var)
{
    struct var *vars = list->items;
    for (uint32_t i = 0; i < list->n; i++)
        if (text_equal (vars[i].name, var->name)) {
            vars[i].value = receipt_fold_copy_text (fold, var->value);
            return;
        }
    *(struct var *) growing_list_add (list, sizeof (struct var)) =
        (struct var){ receipt_fold_copy_text (fold, var->name), receipt_fold_copy_text (fold, var->value) };
}

/* The one note of a builtin that says how a step of its went. */
static struct text note_from (const struct result *result, const char *source)
{
    for (uint32_t i = 0; i < result->notes.n; i++)
        if (text_is (result->notes.items[i].source, source))
            return result->notes.items[i].text;
    return (struct text){ 0 };
}

static void note_bundle (struct receipt_fold *fold, struct host_fold *host, const struct result *result)
{
    struct result_note note;
    if (result->done && bundle_rules_make_note (&fold->plan, &result->bundle, &fold->arena, &note))
        *(struct result_note *) growing_list_add (&host->notes, sizeof note) = note;
}

static void fold_setup (struct receipt_fold *fold, struct host_fold *host, const struct result *result)
{
    const struct pins *pins = &fold->plan.pins;
    const struct rung *rung = &fold->plan.rungs.items[result->key.rung];
    const var_list *bundle = (const var_list *) &result->bundle;
    if (!text_is (rung->builtin, "restore"))
        return;
    host->setup = (struct environment_receipt){
        .pins = pins->name,
        .pins_sha256 = pins->file.sha256,
        .script_sha256 = pins->setup.sha256,
        .restore_method = receipt_fold_copy_text (fold, note_from (result, "environment")),
        .python = receipt_fold_copy_text (fold, var_value (bundle, "python")),
        .environment = receipt_fold_copy_text (fold, var_value (bundle, "fingerprint")),
        .script = pins->setup.path,
        .script_result = receipt_fold_copy_text (fold, note_from (result, "setup")),
        .script_rung = pins->setup.path.len ? rung->id : (struct text){ 0 },
    };
    note_bundle (fold, host, result);
}

/* The first host that says it has done all at a rung stands for all others there. */
static void note_told (struct receipt_fold *fold, const struct result *result)
{
    const var_list *lists[] = { (const var_list *) &result->bundle, (const var_list *) &result->policy,
                                (const var_list *) &result->facts };
    const struct told_name *told = fold->told.items;
    if (!result->done || (fold->told.n && told[fold->told.n - 1].rung >= result->key.rung))
        return;
    for (uint32_t l = 0; l < 3; l++)
        for (uint32_t i = 0; i < lists[l]->n; i++)
            *(struct told_name *) growing_list_add (&fold->told, sizeof (struct told_name)) =
                (struct told_name){ result->key.rung, l, receipt_fold_copy_text (fold, lists[l]->items[i].name) };
}

static bool has_failed (const struct receipt_fold *fold, const struct host_receipt *host, uint32_t rung)
{
    bool failed = false;
    for (uint32_t i = 0; i < host->rungs.n; i++)
        if (text_equal (host->rungs.items[i].rung, fold->plan.rungs.items[rung].id))
            failed = host->rungs.items[i].outcome != OUTCOME_PASSED && host->rungs.items[i].attempt;
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
    var_list seen = secret_redact_vars (&fold->arena, &result->policy);
    for (uint32_t i = 0; i < result->bundle.n; i++)
        keep_var (fold, &host->bundle, &result->bundle.items[i]);
    for (uint32_t i = 0; i < seen.n; i++)
        keep_var (fold, &host->observed, &seen.items[i]);
    for (uint32_t i = 0; i < result->facts.n; i++)
        keep_var (fold, &host->facts, &result->facts.items[i]);
    for (uint32_t i = 0; i < result->notes.n; i++)
        record_copy (&note_record, growing_list_add (&host->notes, sizeof (struct result_note)),
                     &result->notes.items[i], &fold->arena);
    if (result->backend.platform.len)
        record_copy (&backend_record, &host->backend, &result->backend, &fold->arena);
    fold_setup (fold, host, result);
    note_told (fold, result);
}

/* ---- the attempt ---- */

static void add_recovered (struct rung_receipt *rung, struct text what, struct arena *arena)
{
    uint32_t n = rung->recovered.n;
    struct text *items = arena_array (arena, n + 1, sizeof (*items));
    if (n)
        memcpy (items, rung->recovered.items, n * sizeof (*items));
    items[n] = text_copy (arena, what);
    rung->recovered.items = items;
    rung->recovered.n = n + 1;
}

/* The device was not free at once: an attempt that passed then is no clean pass. */
static void keep_waiting (struct rung_receipt *rung, const struct result *result, struct arena *arena)
{
    for (uint32_t i = 0; i < result->notes.n; i++)
        if (text_is (result->notes.items[i].source, DEVICE_NOTE_SOURCE) && result->ending != ENDING_NOT_STARTED)
            add_recovered (rung, result->notes.items[i].text, arena);
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
    rung->memory = (struct memory_receipt){ result->peak_bytes, result->predicted_bytes, result->device_peak_bytes };
    rung->launch = fold->plan.rungs.items[result->key.rung].launch;
    record_copy (&backend_record, &rung->backend, &result->backend, &fold->arena);
    rung->bad_line = receipt_fold_copy_text (fold, result->bad_line);
    rung->cause.evidence = secret_redact_values (
        &fold->arena, &fold->plan.profile, receipt_fold_copy_text (fold, last_bytes (result->tail, EVIDENCE_BYTES)));
    RECEIPT_KEEP_LIST (rung->counters, result->counters, &number_record, &fold->arena);
    RECEIPT_KEEP_LIST (rung->programs, result->programs, &program_record, &fold->arena);
    RECEIPT_KEEP_LIST (rung->checks, result->checks, &check_record, &fold->arena);
    RECEIPT_KEEP_LIST (rung->metrics, result->metrics, &metric_record, &fold->arena);
    RECEIPT_KEEP_LIST (rung->left_out, result->left_out, &number_record, &fold->arena);
    RECEIPT_KEEP_LIST (rung->phases, result->phases, &number_record, &fold->arena);
    RECEIPT_KEEP_LIST (rung->sightings, result->sightings, &sighting_record, &fold->arena);
    for (uint32_t i = 0; i < rung->sightings.n; i++) /* receipts are handed on */
        rung->sightings.items[i].text = secret_redact_values (&fold->arena, &fold->plan.profile,
                                                              rung->sightings.items[i].text);
    keep_waiting (rung, result, &fold->arena);
    if (rung->purpose != PURPOSE_ISOLATION) /* what a part of the slice shows is about that part */
        fold_host (fold, host, result);
}
