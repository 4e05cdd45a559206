/* client.h - a client of a plugin: created with its options, its platform and devices told.
 *
 * As loader.h: it runs in the child, says what goes wrong with reporter.h, and returns -1 then. */
#ifndef SLICEUP_WORKER_PROBE_CLIENT_H
#define SLICEUP_WORKER_PROBE_CLIENT_H

#include "worker/probe/loader.h"

enum { DEVICES_LISTED_MAX = 65536, DEVICES_COUNTED_MAX = 1024 };

struct client {
    struct plugin *plugin;
    void *client;
    void *device;
}; /* the first device of its own */

int client_open (struct client *client, struct plugin *plugin, const struct pjrt_named_value *options,
                 size_t options_n);
int client_tell_memory (struct client *client); /* of its device: where the plugin counts it */
int client_close (struct client *client);

#endif
