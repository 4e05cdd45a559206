/* receipt_fold_state.h - the part of a board that keeps evidence for a receipt; private to board*.c and receipt_fold*.c.
 *
 * What a fact changes in the run stands in the board; here is what was said of it. */
#ifndef SLICEUP_COORDINATOR_STORY_RECEIPT_FOLD_STATE_H
#define SLICEUP_COORDINATOR_STORY_RECEIPT_FOLD_STATE_H

#include <string.h>

#include "coordinator/story/board.h"

#define GROWING(T)                                                                                                     \
    struct {                                                                                                           \
        T *items;                                                                                                      \
        uint32_t n, capacity;                                                                                          \
    }
/* The address of one more item, all zero. */
#define GROWING_ADD(fold, list)                                                                                        \
    ((list)->items = arena_room (&(fold)->arena, (list)->items, (list)->n, &(list)->capacity, 16,                      \
                                 sizeof *(list)->items),                                                               \
     &(list)->items[(list)->n++])

typedef GROWING (struct var) growing_vars;
struct host_fold {
    struct environment_receipt setup;
    growing_vars bundle, observed, facts;
    GROWING (struct result_note) notes;
    struct observed_backend backend;
    uint32_t attempts[SCOPE_SLICE + 1]; /* by scope: the number of the last one that told of its host; 0: none */
    GROWING (struct rung_receipt *) rungs;
};
/* What a host tells at a rung of which it says that all is done. */
struct told_name {
    uint32_t rung, list; /* list: 0 bundle, 1 policy, 2 facts */
    struct text name;
};
/* A pass that was run again, and what for. */
struct retried_pass {
    struct attempt_key key;
    struct text what;
};

struct receipt_fold {
    const struct board *board;
    struct arena arena;
    struct run_header header;
    struct host_fold *hosts, *told_last; /* told_last: facts */
    GROWING (struct retried_pass) retries;
    GROWING (struct rung_time) times;
    GROWING (struct reduction_receipt) reductions;
    GROWING (struct attempt_key) judged; /* of each of them */
    GROWING (struct generation_receipt) generations;
    GROWING (struct recovery_receipt) recoveries;
    GROWING (struct violation_receipt) violations;
    GROWING (struct told_name) told;   /* by rung */
    struct rung_receipt *before;       /* the last attempt: equal lists are shared with the next */
    struct rung_receipt **alike;       /* by numbers, the last attempt that had them: hosts alike share it */
    uint64_t left_out;                 /* of lists of attempts, as too many */
    var_list policy, shown_policy;     /* of it; and without secrets */
    LIST_OF (struct cache_key) sealed; /* of the newest generation */
};

/* board.c */
struct receipt_fold *receipt_fold_create (const struct board *board); /* which has its plan */
void receipt_fold_destroy (struct receipt_fold *fold);                /* NULL is fine */
/* Each fact before the board takes it. */
void receipt_fold_apply (struct receipt_fold *fold, const struct fact *fact);
void receipt_fold_fill_cause (struct receipt_fold *fold, const struct verdict *verdict, struct rung_receipt *rung);
/* What a result that was just taken says by itself: a cause without an outcome, until its pass has ended. */
void receipt_fold_keep_cause (struct receipt_fold *fold, const struct attempt_key *key, const struct verdict *verdict);
/* A host without an attempt at a rung: blocked there, left behind, or lost when the run ended. */
void receipt_fold_add_absent (struct receipt_fold *fold, uint32_t rung, const struct verdict *verdict);

struct text receipt_fold_copy_text (struct receipt_fold *fold, struct text text);
void receipt_fold_add_recovery (struct receipt_fold *fold, struct text what);
/* NULL: none */
struct rung_receipt **receipt_rung_of (const struct receipt_fold *fold, uint32_t host, const struct attempt_key *key);
/* The host's own now, to be changed; NULL: it has none. */
struct rung_receipt *receipt_rung_own (struct receipt_fold *fold, uint32_t host, const struct attempt_key *key);

/* A copy of a list; or that of `before`, which has to stay, if they are equal: what hosts of a slice say is much alike. */
void receipt_keep_list (const struct record *record, void *to, const void *from, const void *before,
                        struct arena *arena);

void receipt_fold_fill_recovered (struct receipt_fold *fold, const struct host_fold *host, struct rung_receipt *rung);
void receipt_fold_add_retry (struct receipt_fold *fold, const struct fact *fact);
void receipt_fold_apply_suspects (struct receipt_fold *fold, const struct fact_suspects_named *named);
/* receipt_fold_evidence.c; after the history */
void receipt_fold_add_evidence (struct receipt_fold *fold, struct host_fold *host, struct rung_receipt *rung,
                                const struct result *result);
/* What others told at a rung that failed on this host, or was not reached then, is neither there nor missing: FACT_NOT_REPORTED. */
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
