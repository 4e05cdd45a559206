/* catalogue_private.h - what the catalogue's own files share: the open database, statements, transactions. */
#ifndef SLICEUP_COORDINATOR_CATALOGUE_CATALOGUE_PRIVATE_H
#define SLICEUP_COORDINATOR_CATALOGUE_CATALOGUE_PRIVATE_H

#include "common/io/log.h"
#include "coordinator/catalogue/catalogue.h"
#include "coordinator/journal/database.h"

enum {
    BUNDLE_MAX_BYTES = 255,
    /* 2,048 covers of at most 255 bytes and 512 keys (fact.c), and the rest. */
    CATALOGUE_RECORD_MAX_BYTES = 4 * 1024 * 1024,
};

struct catalogue {
    char *root;
    sqlite3 *db;
    bool looking;           /* opened to look only */
    uint64_t busy_until_ms; /* how long the present wait for another process may last */
    uint64_t ended_ms;      /* when the last transaction ended */
};

/* `kinds`: what follows, in the order of ?1, ?2, ...: 'i' a uint64_t, 't' a struct text, 'b' a struct text of bytes. */
sqlite3_stmt *catalogue_prepare (const struct catalogue *catalogue, struct err *err, const char *sql, const char *kinds,
                                 ...);
/* One row or none is expected: SQLITE_ROW, SQLITE_DONE, or -1 and explained. */
int catalogue_step (const struct catalogue *catalogue, sqlite3_stmt *statement, const char *doing, struct err *err);
/* A statement without rows, at once; how many it changed goes to `changed`, which may be NULL. */
int catalogue_change (const struct catalogue *catalogue, const char *doing, int *changed, struct err *err,
                      const char *sql, const char *kinds, ...);
struct text catalogue_column (sqlite3_stmt *row, int column,
                              struct arena *arena); /* copied; its bytes are not looked at */

int catalogue_begin_transaction (struct catalogue *catalogue, struct err *err);
/* `rc` is what the work inside came to; returns what the whole came to. */
int catalogue_end_transaction (struct catalogue *catalogue, int rc, struct err *err);

/* The record in column `record` as generation `token` of `bundle`, which the run in column `run` published. */
int catalogue_decode_generation (const struct catalogue *catalogue, sqlite3_stmt *row, int record, int run,
                                 uint64_t token, struct text bundle, struct fact_generation *out, struct arena *arena,
                                 struct err *err);

/* in the caller's transaction. `used`: of a ladder; counts as far as the generation has it. */
int catalogue_cover_mark_used (const struct catalogue *catalogue, const struct fact_generation *generation,
                               const text_list *used, struct err *err);
/* Its covers, the longest unused first: those never told of as they stand, before all others. */
int catalogue_cover_sort_by_use (const struct catalogue *catalogue, struct fact_generation *generation,
                                 struct arena *arena, struct err *err);
/* The newest generation is this one: what it has not is nothing to keep account of. */
int catalogue_cover_drop_absent (const struct catalogue *catalogue, const struct fact_generation *generation,
                                 struct err *err);

#endif
