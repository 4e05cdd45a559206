/* transfer.h - exports sealed generations from a cache root, and imports them into one. docs/guide/cache.md.
 *
 *     <folder>/generation.json     what it is (a fact_generation and more); its text is the caller's
 *     <folder>/sealed/             MANIFEST and the entries it lists
 *
 * Every byte is compared with the manifest as it is copied. Content of a carried folder never decides a path: its two
 * names are constant, entries are opened only below it, and an import gets a new token here. Slow: reads and writes
 * whole generations. A failed call leaves only what it names. */
#ifndef SLICEUP_COORDINATOR_CATALOGUE_TRANSFER_H
#define SLICEUP_COORDINATOR_CATALOGUE_TRANSFER_H

#include "common/io/log.h"
#include "coordinator/catalogue/catalogue.h"

#define TRANSFER_SEALED "sealed"
#define TRANSFER_JSON "generation.json"
enum { TRANSFER_JSON_MAX_BYTES = 8 << 20 };

/* Exports to folder `to`, which must not exist and appears whole. ERR_DAMAGE: the generation is not what was sealed. */
int transfer_export (const char *root, const struct fact_generation *generation, const char *to, struct text json,
                     struct err *err);

struct import_request {
    const char *root;                    /* the cache root it goes to */
    const char *from;                    /* the carried folder */
    const struct fact_generation *claim; /* from its generation.json; checked against MANIFEST as far as possible */
    const struct log *log;               /* gets a line if it waits for another run */
};
/* `*token`: its token here; `*before`: a generation with this digest was already published here, nothing was done.
 * ERR_DAMAGE: the folder is not what it claims. ERR_STATE: another live run writes this bundle's cache. */
int transfer_import (struct catalogue *catalogue, const struct import_request *request, uint64_t *token, bool *before,
                     struct err *err);

#endif
