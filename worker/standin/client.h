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

#endif
