/* run_discovery.h - finds the run that a worker with a ticket joins: it sends HELLO without a run until one is named.
 *
 * Uses a connection of its own and closes it; then the worker joins like any other. Waits as long as `wait_ms` says,
 * and logs each minute what it waits for. One thread; SIGTERM, SIGINT, SIGHUP and SIGUSR1 end the wait and stay
 * blocked afterwards: a run does not hear SIGUSR1. */
#ifndef SLICEUP_WORKER_RUN_RUN_DISCOVERY_H
#define SLICEUP_WORKER_RUN_RUN_DISCOVERY_H
#include "common/io/link.h"
#include "common/model/plan.h"

#include "common/io/log.h"
#include "worker/run/join.h"

enum run_discovery { RUN_DISCOVERY_CAME = 0, RUN_DISCOVERY_GIVEN_UP = 1 };

/* `join` says who and where; its run is filled in. `wait_ms` 0: without end. Returns the outcome, or -1: the
 * coordinator refused, or nothing came in time. */
int run_discovery_wait (struct join_config *join, const char *version, uint64_t wait_ms, const struct log *log,
                        struct err *err);

/* ---- the file with which a worker joins by itself: whoever has it counts as that host ---- */

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
