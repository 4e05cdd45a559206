/* ticket.h - launcher join: makes and reads tickets, with which a host's worker joins by itself.
 *
 * <home>/slices/<slice>/coordinator.key 0600   the slice's long-lived pair; tickets hold its public half
 * <home>/slices/<slice>/hosts/<host>.pub       who may join; only the ticket has the secret half
 *
 * A ticket is a file of mode 0600 that is copied to its host once, and serves every later run of the slice there. Knows
 * no runs or sockets, nor how tickets are copied. */
#ifndef SLICEUP_COORDINATOR_MONITOR_TICKET_H
#define SLICEUP_COORDINATOR_MONITOR_TICKET_H

#include "common/io/link.h"
#include "common/model/plan.h"
#include <stdbool.h>

struct ticket_request {
    const struct plan *plan;
    const struct name_list *hosts; /* of the plan */
    const char *folder;            /* <folder>/<host>.ticket; made if missing */
    bool renew;                    /* replaces existing keys */
    bool renew_slice;              /* replaces the slice's own pair as well: earlier tickets become invalid */
};
/* Without `renew` it refuses to replace keys, before it writes anything. */
int ticket_issue_all (const struct ticket_request *request, struct err *err);

struct slice_link_keys {
    struct link_keys coordinator;
    char (*hosts)[LINK_KEY_BYTES]; /* by rank */
    uint32_t n;
};
/* ERR_STATE: a host has none; the error says how to make it. */
int slice_link_keys_load (const struct plan *plan, struct slice_link_keys *keys, struct err *err);
void slice_link_keys_release (struct slice_link_keys *keys);

#endif
