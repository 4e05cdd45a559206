/* pjrt_client.h - a client of a plugin: created with its options, its platform and devices told.
 *
 * As plugin.h: it runs in the child, says what goes wrong with child_report.h, and returns -1 then. */
#ifndef SLICEUP_WORKER_PROBE_PJRT_CLIENT_H
#define SLICEUP_WORKER_PROBE_PJRT_CLIENT_H

#include "worker/probe/plugin.h"

enum { DEVICES_LISTED_MAX = 65536, DEVICES_COUNTED_MAX = 1024 };

struct client {
    struct plugin *plugin;
    void *client;
    void *device;
}; /* the first device of its own */

int pjrt_client_open (struct client *client, struct plugin *plugin, const struct pjrt_named_value *options, size_t n);
int pjrt_client_report_memory (struct client *client); /* of its device: where the plugin counts it */
int pjrt_client_close (struct client *client);

#endif
