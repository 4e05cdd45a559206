/* monitor_key.h - makes the key file with which another machine may watch one run: address, run, and its own key pair.
 *
 * The file is a czmq certificate, whose words say the rest; it is secret (0600). The public half stays in
 * <run>/monitors/<name>.pub, where the coordinator notices it. The key is good until the run ends. */
#ifndef SLICEUP_COORDINATOR_KEYS_MONITOR_KEY_H
#define SLICEUP_COORDINATOR_KEYS_MONITOR_KEY_H

#include "common/base/buf.h"
#include "common/io/link.h"
#include "common/model/plan.h"
#include "coordinator/journal/run_dir.h"

#define MONITORS_FOLDER "monitors"
enum { MONITORS_MAX = MONITOR_KEYS - 1 }; /* the run's own is the last one */
enum { MONITOR_KEY_FILE_MAX_BYTES = 4096 };

struct monitor_key {
    char run[RUN_ID_HEX_BYTES];
    char address[NAME_MAX_BYTES + 1];
    uint16_t port;
    char coordinator_key[LINK_KEY_BYTES];
    struct link_keys keys;
};

/* A new pair for monitor `name` of a live run; `address`: as the other machine reaches this one, NULL: as the run says.
 * ERR_STATE: the name is taken; ERR_LIMIT: there are MONITORS_MAX already. */
int monitor_key_make (struct monitor_key *key, const struct run_dir *dir, const char *name, const char *address,
                      struct err *err);
void monitor_key_format (const struct monitor_key *key, struct buf *out);
int monitor_key_load (struct monitor_key *key, const char *path, struct err *err);

#endif
