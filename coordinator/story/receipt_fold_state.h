/* receipt_fold_state.h - the part of a board that keeps evidence for a receipt; private to board*.c and receipt_fold*.c.
 *
 * What a fact changes in the run stands in the board; here is what was said of it. */
#ifndef SLICEUP_COORDINATOR_STORY_RECEIPT_FOLD_STATE_H
#define SLICEUP_COORDINATOR_STORY_RECEIPT_FOLD_STATE_H

#include "common/model/receipt.h"
#include "coordinator/story/board.h"

struct growing_list {
    void *items;
    uint32_t n, capacity;
};

struct host_fold {
    struct environment_receipt setup;
    struct growing_list bundle, observed, facts, notes; /* var, var, var, note */
    struct observed_backend backend;
    struct growing_list rungs; /* rung_receipt */
    struct growing_list open;  /* attempt_key of each rung_receipt */
};

struct receipt_fold {
    const struct board *board;
    struct arena arena;
    struct run_header header;
    struct host_fold *hosts;
    struct growing_list retries; /* retried_pass */
    struct growing_list times, reductions, generations, recoveries, violations;
    LIST_OF (struct cache_key) sealed; /* of the newest generation */
    struct growing_list judged;        /* attempt_key of each reduction */
    struct growing_list told;          /* told_name, by rung */
};
/* What a host tells at a rung of which it says that all is done. */
struct told_name {
    uint32_t rung, list; /* list: 0 bundle, 1 policy, 2 facts */
    struct text name;
};

/* board.c */
struct receipt_fold *receipt_fold_create (const struct board *board); /* which has its plan */
void receipt_fold_destroy (struct receipt_fold *fold);                /* NULL is fine */
/* Each fact before the board takes it. */
void receipt_fold_apply (struct receipt_fold *fold, const struct fact *fact);
/* What a result that was just taken says by itself: a cause without an outcome, until its pass has ended. */
void receipt_fold_keep_cause (struct receipt_fold *fold, const struct attempt_key *key, const struct verdict *verdict);
/* A host without an attempt at a rung: blocked there, left behind, or lost when the run ended. */
void receipt_fold_add_absent (struct receipt_fold *fold, uint32_t rung, const struct verdict *verdict);

void *growing_list_add (struct growing_list *list, size_t item_bytes); /* one more item, all zero */
struct text receipt_fold_copy_text (struct receipt_fold *fold, struct text text);
void receipt_fold_add_recovery (struct receipt_fold *fold, struct text what);
/* Empty: the plan has no such one. */
struct text receipt_host_name (const struct receipt_fold *fold, uint32_t host);
struct text receipt_rung_name (const struct receipt_fold *fold, uint32_t rung);
/* NULL: none */
struct rung_receipt *receipt_rung_of (struct receipt_fold *fold, uint32_t host, const struct attempt_key *key);

#define RECEIPT_KEEP_LIST(to, from, record, arena)                                                                     \
    do {                                                                                                               \
        (to).items = arena_array (arena, (from).n, sizeof (*(to).items));                                              \
        (to).n = (from).n;                                                                                             \
        for (uint32_t at = 0; at < (from).n; at++)                                                                     \
            record_copy (record, &(to).items[at], &(from).items[at], arena);                                           \
    } while (0)

/* A pass that was run again, and what for. */
struct retried_pass {
    struct attempt_key key;
    struct text what;
};

void receipt_fold_fill_recovered (struct receipt_fold *fold, const struct host_fold *host, struct rung_receipt *rung);
void receipt_fold_add_retry (struct receipt_fold *fold, const struct fact *fact);
void receipt_fold_apply_suspects (struct receipt_fold *fold, const struct fact_suspects_named *named);
/* receipt_fold_evidence.c; after the history */
void receipt_fold_add_evidence (struct receipt_fold *fold, struct host_fold *host, struct rung_receipt *rung,
                                const struct result *result);
/* What others told at a rung that failed on this host is neither there nor missing: FACT_NOT_REPORTED. */
void receipt_fold_add_unheard (const struct receipt_fold *fold, struct host_receipt *host, struct arena *arena);
void receipt_fold_add_metric (struct receipt_fold *fold, const struct fact_metric_judged *judged);
void receipt_fold_forget_metrics (struct receipt_fold *fold,
                                  const struct attempt_key *key); /* another attempt begins */
void receipt_fold_add_generation (struct receipt_fold *fold, const struct fact_generation *generation, bool adopted);
void receipt_fold_note_dropped (struct receipt_fold *fold, const struct fact_generation_dropped *dropped);
void receipt_fold_note_lease_lost (struct receipt_fold *fold, const struct fact_lease_lost *lost);
void receipt_fold_add_violation (struct receipt_fold *fold, const struct fact *fact);
void receipt_fold_add_cache_view (struct receipt_fold *fold, struct rung_receipt *rung, const struct result *result);

#endif
