/* transfer_lease.h - waits for the lease of a bundle and holds it during long work, for an import, which is not a run.
 */
#ifndef SLICEUP_COORDINATOR_CATALOGUE_TRANSFER_LEASE_H
#define SLICEUP_COORDINATOR_CATALOGUE_TRANSFER_LEASE_H

#include "common/io/log.h"
#include "coordinator/catalogue/catalogue.h"

/* Takes it. A run that has it and beats no more loses it after it was watched for as long as a run would watch.
 * ERR_STATE: a run that lives has it. */
int transfer_take_lease (struct catalogue *catalogue, struct text bundle, struct text run, const struct log *log,
                         uint64_t *token, struct err *err);

/* Beats from a thread of its own, over a connection of its own, until it is ended. */
struct transfer_beat;
struct transfer_beat *transfer_beat_begin (const char *root, uint64_t token, struct text run, struct err *err);
void transfer_beat_end (struct transfer_beat *beat); /* NULL is fine */

#endif
