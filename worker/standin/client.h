/* client.h - the one client of this process: the plugin's client, with the devices of the whole slice, some of which
 * this process owns.
 *
 * Made once, before other threads use it, and read-only from then on. */
#ifndef SLICEUP_WORKER_STANDIN_CLIENT_H
#define SLICEUP_WORKER_STANDIN_CLIENT_H

#include <stdbool.h>

#include "worker/probe/pjrt.h"
#include "worker/standin/place.h"

/* ---- meeting.c ---- */

/* Connects the processes of a slice, each with each, as libtpu's slice builder does.
 *
 * A process listens at its own address and waits, for ever as libtpu does, for those that the bounds and addresses
 * name; its starter bounds that. Two that describe the slice differently refuse each other. One thread. */

struct meeting {
    int fds[PLACE_PROCESSES_MAX]; /* to each other process; -1: to itself */
    uint32_t n;
};

int meeting_open (struct meeting *meeting, const struct place *place, struct refusal *refusal);
void meeting_close (struct meeting *meeting);

/* ---- client.c ---- */

struct client {
    struct place place;
    struct meeting meeting;
    void *of_plugin; /* the plugin's client; NULL: none */
    uint32_t devices_n, locals_n, memories_n;
    void *devices[GRID_DEVICES_MAX], *descriptions[GRID_DEVICES_MAX];
    struct device_place places[GRID_DEVICES_MAX];
    void *locals[GRID_DEVICES_MAX], *memories[GRID_DEVICES_MAX * 4]; /* of this process */
};

extern struct client standin_client;

/* The client's functions: they take the plugin's arguments and return its errors. */
void *client_create (struct pjrt_client_create *args);
void *client_destroy (struct pjrt_object_args *args);
void *client_platform_name (struct pjrt_text_args *args); /* also for a topology */
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
 * The server is at GCE_METADATA_IP ("host" or "host:port", as in jax-ml/jax:jax/_src/clusters/cloud_tpu_cluster.py)
 * or at 169.254.169.254. A question takes METADATA_DEADLINE_MS at most. Attributes live until the process ends, a value
 * until 16 others are read. */

enum { METADATA_DEADLINE_MS = 5000, METADATA_MAX_BYTES = 64 << 10 };

/* The whole attribute; with `key` the value of its line "KEY: 'value'". NULL: not there. Each attribute is fetched
 * once. */
const char *metadata_get (const char *attribute, const char *key);
/* Pure: copies the value of `key` from such lines into `value`; false: not there, or too long. */
int metadata_find_key (const char *lines, const char *key, char *value, unsigned size);

/* ---- launch.c: executes a program once on devices of several processes; callers run one at a time ---- */

/* `devices`: all devices of the program, in the order of its assignment; `args` has those of this process. It returns
 * after the program has ended on all devices, since remote buffers and events live that long. A PJRT_Error or NULL. */
void *launch_run (struct pjrt_execute *args, void *const *devices, size_t devices_n);

/* ---- real.c ---- */

/* Finds, loads and calls the CPU plugin behind the stand-in.
 *
 * It is the file that SLICEUP_STANDIN_PLUGIN names, else that of the package lammps_jax_pjrt_cpu in the caller's
 * package folder, which is jaxlib's. */

/* `caller`: an address in the calling library. NULL: `why` has the reason. The table has all slots that we call. */
const struct pjrt_api *real_load (const void *caller, const char **why);
/* Calls the plugin's function at `slot`. Returns a PJRT_Error, which the caller owns, or NULL. */
void *real_call (size_t slot, void *args);
bool real_has (size_t slot);

#endif
