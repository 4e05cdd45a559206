/* ticket.h - reads the file with which a worker joins by itself (launcher join): the address of its coordinator, the
 * name of its host, and the key pair that proves it. `sliceup ticket` writes it; whoever has it counts as that host. */
#ifndef SLICEUP_WORKER_LINK_TICKET_H
#define SLICEUP_WORKER_LINK_TICKET_H

#include "common/io/link.h"
#include "common/model/plan.h"

enum { TICKET_FILE_MAX_BYTES = 4096 };

struct ticket {
    char slice[ID_MAX_BYTES + 1];
    char host[HOST_NAME_MAX_BYTES + 1];
    char address[NAME_MAX_BYTES + 1]; /* of the coordinator */
    uint16_t control_port, bulk_port;
    char coordinator_key[LINK_KEY_BYTES];
    struct link_keys keys;
};

/* ERR_REFUSED when others may read the file; ERR_PARSE when it is no ticket. Never quotes what is in it. */
int ticket_load (struct ticket *ticket, const char *path, struct err *err);

#endif
