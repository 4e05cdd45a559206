/* receipt_fold_cache.c - what the journal says of the compile cache: generations, their writers' leases, violations. */
#include "coordinator/receipt/receipt_fold_state.h"

#include <inttypes.h>

void receipt_fold_add_generation (struct receipt_fold *fold, const struct fact_generation *generation, bool adopted)
{
    if (generation->token == 0)
        return;
    RECEIPT_KEEP_LIST (fold->sealed, generation->keys, &cache_key_record, &fold->arena);
    struct generation_receipt *kept = growing_list_add (&fold->generations, sizeof (*kept));
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
    struct violation_receipt *kept = growing_list_add (&fold->violations, sizeof (*kept));
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
    RECEIPT_KEEP_LIST (rung->keys, result->keys, &cache_key_record, &fold->arena);
    for (uint32_t i = 0; i < rung->keys.n; i++)
        if (rung->keys.items[i].state == KEY_HIT)
            add_compile_time (fold, &rung->keys.items[i]);
    RECEIPT_KEEP_LIST (rung->findings, result->findings, &finding_record, &fold->arena);
}
