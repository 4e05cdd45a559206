/* receipt_fold_state.h - what a fold has kept so far; private to receipt_fold*.c. */
#ifndef SLICEUP_COORDINATOR_RECEIPT_RECEIPT_FOLD_STATE_H
#define SLICEUP_COORDINATOR_RECEIPT_RECEIPT_FOLD_STATE_H

#include "coordinator/receipt/receipt_fold.h"

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
    bool joined, lost, left_behind;
    struct text lost_why;
};

struct receipt_fold {
    struct arena arena;
    struct plan plan;
    struct run_header header;
    struct preliminary_judge *judge;
    struct host_fold *hosts;
    uint32_t next_rung;          /* the first that has not passed */
    struct attempt_key key;      /* of the pass that was begun last */
    enum purpose purpose;        /* of it */
    uint32_t hosts_n;            /* that take part in it */
    uint64_t away_ms;            /* how long there was no coordinator */
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

void receipt_fold_note_pass (struct receipt_fold *fold, const struct fact_pass_began *began);
enum purpose receipt_fold_purpose_of (const struct receipt_fold *fold, const struct attempt_key *key);
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
