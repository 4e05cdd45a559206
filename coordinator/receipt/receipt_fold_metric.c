/* receipt_fold_metric.c - what was proved of metrics: of each pass of a rung its latest attempt counts. */
#include "coordinator/receipt/receipt_fold_state.h"

static bool is_known (const struct receipt_fold *fold, uint32_t host)
{
    return host < fold->plan.hosts.n;
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
    *(struct attempt_key *) growing_list_add (&fold->judged, sizeof (judged->key)) = judged->key;
    struct reduction_receipt *kept = growing_list_add (&fold->reductions, sizeof (*kept));
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
