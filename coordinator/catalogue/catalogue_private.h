/* catalogue_private.h - what the catalogue's own files share: the open database, statements, transactions. */
#ifndef SLICEUP_COORDINATOR_CATALOGUE_CATALOGUE_PRIVATE_H
#define SLICEUP_COORDINATOR_CATALOGUE_CATALOGUE_PRIVATE_H

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
    uint64_t busy_until_ms; /* until when to wait for another process */
    uint64_t ended_ms;      /* when the last transaction ended */
};

int catalogue_begin_transaction (struct catalogue *catalogue, struct err *err);
/* `rc`: result of the work inside; returns the result of the whole. */
int catalogue_end_transaction (struct catalogue *catalogue, int rc, struct err *err);

/* The record in column `record` as generation `token` of `bundle`, which the run in column `run` published. */
int catalogue_decode_generation (const struct catalogue *catalogue, sqlite3_stmt *row, int record, int run,
                                 uint64_t token, struct text bundle, struct fact_generation *out, struct arena *arena,
                                 struct err *err);

#endif
