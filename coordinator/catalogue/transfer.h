/* transfer.h - exports sealed generations from a cache root, and imports them into one. docs/guide/cache.md.
 *
 *     <folder>/generation.json     what it is (a fact_generation and more); its text is the caller's
 *     <folder>/sealed/             MANIFEST and the entries it lists
 *
 * Every byte is held against the manifest on its way. Nothing that is read from a carried folder decides a path: its
 * two names are constant, entries are opened below it and nowhere else, and what comes in gets a token of its own here.
 * Long: reads and writes whole generations. A failed call leaves nothing but what it says. */
#ifndef SLICEUP_COORDINATOR_CATALOGUE_TRANSFER_H
#define SLICEUP_COORDINATOR_CATALOGUE_TRANSFER_H

#include "common/io/log.h"
#include "coordinator/catalogue/catalogue.h"

#define TRANSFER_SEALED "sealed"
#define TRANSFER_JSON "generation.json"
enum { TRANSFER_JSON_MAX_BYTES = 8 << 20 };

/* Into the folder `to`, which must not exist and appears whole. ERR_DAMAGE: the generation is not what was sealed. */
int transfer_export (const char *root, const struct fact_generation *generation, const char *to, struct text json,
                     struct err *err);

struct import_request {
    const char *root;                    /* the cache root it goes to */
    const char *from;                    /* the carried folder */
    const struct fact_generation *claim; /* what its generation.json says; all that can be is held against MANIFEST */
    const struct log *log;               /* told when another run has to be waited for */
};
/* `*token`: what it became here; `*before`: a generation with this digest was published here already, nothing was done.
 * ERR_DAMAGE: what lies there is not what it says. ERR_STATE: another run, which lives, writes this bundle's cache. */
int transfer_import (struct catalogue *catalogue, const struct import_request *request, uint64_t *token, bool *before,
                     struct err *err);

#endif
