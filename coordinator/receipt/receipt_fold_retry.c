/* receipt_fold_retry.c - what the journal says of what was run again: retries, and parts of the slice by themselves. */
#include "coordinator/receipt/receipt_fold_state.h"

#include "common/base/duration.h"
#include "coordinator/verdict/isolate.h"

void receipt_fold_note_pass (struct receipt_fold *fold, const struct fact_pass_began *began)
{
    fold->key = began->key;
    fold->hosts_n = began->hosts.n;
    fold->purpose = began->purpose ? began->purpose : PURPOSE_CLIMB;
    fold->header.running = (struct text){ 0 };
    if (fold->purpose == PURPOSE_ISOLATION)
        return;
    fold->header.running = receipt_rung_name (fold, began->key.rung);
    fold->next_rung = began->key.rung;
    receipt_fold_forget_metrics (fold, &began->key);
}

enum purpose receipt_fold_purpose_of (const struct receipt_fold *fold, const struct attempt_key *key)
{
    return attempt_key_equal (&fold->key, key) ? fold->purpose : PURPOSE_CLIMB;
}

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
    const struct rung_receipt *before = host->rungs.items;
    rung->recovered.items = arena_array (&fold->arena, host->rungs.n, sizeof (struct text));
    for (uint32_t i = 0; i + 1 < host->rungs.n && rung->purpose != PURPOSE_ISOLATION; i++)
        if (text_equal (before[i].rung, rung->rung) && before[i].outcome > OUTCOME_PASSED) {
            struct text what = retried (fold, &before[i]);
            rung->recovered.items[rung->recovered.n++] = text_format (
                &fold->arena, "%s attempt %u %s: %.*s%s%.*s", enum_name_of (&pass_names, before[i].pass),
                before[i].attempt, enum_name_of (&outcome_names, before[i].outcome), TEXT_ARG (before[i].cause.text),
                what.len ? "; " : "", TEXT_ARG (what));
        }
}

void receipt_fold_add_retry (struct receipt_fold *fold, const struct fact *fact)
{
    const struct fact_retry_planned *planned = &fact->of.retry_planned;
    char span[DURATION_TEXT_BYTES];
    duration_print (planned->due_ms > fact->at_ms ? planned->due_ms - fact->at_ms : 0, span);
    struct retried_pass *retry = growing_list_add (&fold->retries, sizeof (*retry));
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
                                     .likely = rung->cause.certainty == CERTAINTY_LIKELY,
                                     .signature = rung->cause.signature,
                                     .cause = rung->cause.text,
                                     .next = rung->cause.next };
    isolate_apply_ruling (ruling, &before, &fold->arena, &after);
    rung->outcome = after.outcome;
    rung->cause.owner = after.owner;
    rung->cause.certainty = certainty_of_owner (after.owner, after.likely);
    rung->cause.signature = after.signature;
    rung->cause.text = receipt_fold_copy_text (fold, after.cause);
    rung->cause.next = receipt_fold_copy_text (fold, after.next);
}

void receipt_fold_apply_suspects (struct receipt_fold *fold, const struct fact_suspects_named *named)
{
    struct isolate_ruling ruling;
    isolate_ruling_from_suspects (&fold->plan, named, &fold->arena, &ruling);
    for (uint32_t i = 0; i < fold->plan.hosts.n; i++) {
        struct rung_receipt *rung = receipt_rung_of (fold, i, &named->key);
        if (rung)
            name_host (fold, &ruling, i, rung);
    }
}
