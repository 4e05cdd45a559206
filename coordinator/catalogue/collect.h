/* collect.h - removes generations that are no longer needed, in an order that is safe against a crash.
 *
 * The catalogue first stops giving the generation to runs, then the folder is renamed to .removing-gen-<token>, then
 * the catalogue deletes its record, then the files are removed. The next collection finishes an interrupted one. */
#ifndef SLICEUP_COORDINATOR_CATALOGUE_COLLECT_H
#define SLICEUP_COORDINATOR_CATALOGUE_COLLECT_H

#include "coordinator/catalogue/catalogue.h"

struct collect_result {
    uint64_t bytes;
    uint32_t entries;
};

/* `over`: runs whose use does not count any more. ERR_STATE: it must stay, with the reason. */
int collect_generation (struct catalogue *catalogue, const char *root, struct text bundle, uint64_t token,
                        const struct text *over, uint32_t over_n, struct collect_result *freed, struct err *err);
/* Measures a generation's folder, sealed or not. */
int collect_count_bytes (const char *root, struct text bundle, uint64_t token, struct collect_result *out,
                         struct err *err);
/* Removes folders that an interrupted collection left in this bundle. */
int collect_leftovers (const char *root, struct text bundle, uint32_t *removed, struct err *err);
/* Is this user's run over, so that it reads nothing any more? False if that cannot be seen from here: `why` then gives
 * the reason, in words that follow "run <id>". */
enum { STANDS_BYTES = 256 };
bool collect_user_has_ended (const struct generation_user *user, char why[STANDS_BYTES]);

#endif
