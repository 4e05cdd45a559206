/* catalogue.h - which cache generations exist under one cache root: tokens handed out, generations published.
 *
 * SQLite at <root>/catalogue.db, shared by all runs that use the root; every call is one short transaction with a bounded
 * wait. Tokens only grow and are never reused, whoever asks. A generation counts only when it is published here, which
 * happens after the run's own journal recorded it. */
#ifndef SLICEUP_IO_CATALOGUE_H
#define SLICEUP_IO_CATALOGUE_H

#include "common/base/err.h"
#include "common/model/fact.h"

struct catalogue;
struct catalogue *catalogue_open (const char *cache_root, struct err *err);
void catalogue_close (struct catalogue *catalogue);
int catalogue_token (struct catalogue *catalogue, struct text bundle, struct text run, uint64_t *token, struct err *err);
/* The newest published generation of a bundle; token 0 when there is none. Texts are copied into `arena`. */
int catalogue_find (struct catalogue *catalogue, struct text bundle, struct fact_generation *out, struct arena *arena,
                    struct err *err);
/* Idempotent. */
int catalogue_publish (struct catalogue *catalogue, struct text run, const struct fact_generation *generation, struct err *err);

#endif
