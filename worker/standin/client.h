/* client.h - the one client of this process: the plugin's, with the devices of the whole slice, of which this process owns
 * some.
 *
 * Made once, before any thread but the caller's uses it, and read only from then on. */
#ifndef SLICEUP_WORKER_STANDIN_CLIENT_H
#define SLICEUP_WORKER_STANDIN_CLIENT_H

#include "worker/standin/meeting.h"
#include "worker/standin/place.h"

struct client {
    struct place place;
    struct meeting meeting;
    void *of_plugin; /* NULL: there is none */
    uint32_t devices_n, locals_n, memories_n;
    void *devices[GRID_DEVICES_MAX], *descriptions[GRID_DEVICES_MAX];
    struct device_place places[GRID_DEVICES_MAX];
    void *locals[GRID_DEVICES_MAX], *memories[GRID_DEVICES_MAX * 4]; /* of this process */
};

extern struct client standin_client;

/* What a client is asked: the plugin's arguments, and its errors. */
void *client_create (struct pjrt_client_create *args);
void *client_destroy (struct pjrt_object_args *args);
void *client_platform_name (struct pjrt_text_args *args); /* of a topology as well */
void *client_platform_version (struct pjrt_text_args *args);
void *client_process_index (struct pjrt_number_args *args);
void *client_addressable_devices (struct pjrt_list_args *args);
void *client_lookup_addressable_device (struct pjrt_lookup_args *args);
void *client_addressable_memories (struct pjrt_list_args *args);

/* The number of a device or of its description; devices_n: neither. */
uint32_t client_device_number (const void *device_or_description);
bool client_owns (uint32_t device);

/* ---- metadata ---- */

/* Asks a TPU VM's metadata server for one attribute, over plain HTTP.
 *
 * The server is at GCE_METADATA_IP ("host" or "host:port", as jax reads it: jax-ml/jax:jax/_src/clusters/cloud_tpu_cluster.py)
 * or at 169.254.169.254. One question has METADATA_DEADLINE_MS. An attribute lives until the process ends, a value until 16 others were asked for. */

enum { METADATA_DEADLINE_MS = 5000, METADATA_MAX_BYTES = 64 << 10 };

/* The whole attribute; with `key` the value of that key in it, a line "KEY: 'value'". NULL: not there. An attribute is
 * asked for once. */
const char *metadata_get (const char *attribute, const char *key);
/* Pure: the value of `key` in a text of such lines, into `value`; false: not there, or too long. */
int metadata_find_key (const char *lines, const char *key, char *value, unsigned size);

#endif
