/* client.h - the one client of this process: the plugin's client, with the devices of the whole slice, some of which
 * this process owns.
 *
 * Made once, before other threads use it, and read-only from then on. */
#ifndef SLICEUP_WORKER_STANDIN_CLIENT_H
#define SLICEUP_WORKER_STANDIN_CLIENT_H

#include "worker/probe/pjrt.h"
#include <stdbool.h>
#include <stdint.h>

/* ---- place.c ----
 *
 * Which process of which slice this is, and which others it waits for: as libtpu reads it from variables,
 * else from the metadata server. Pure: the caller does the look-ups.
 *
 * Order of names: the TPU_PROCESS_ name, the older TPU_HOST_ name, the one without a prefix, metadata. Which name wins
 * in libtpu if two differ is not documented: a spawned torch_xla runs with a differing TPU_HOST_BOUNDS, which suggests
 * this order (pytorch/xla:torch_xla/_internal/tpu.py). The bounds decide: for a grid of one process no address is read
 * (pytorch/xla #7714). */

/* The places of a slice's devices: x runs fastest, then y, then z, for chips and for processes. Pure.
 *
 * Source: ray-project/ray:python/ray/_private/accelerators/tpu.py (order of hosts); jax-ml/jax:docs/multi_process.md has
 * process 0 of a v5litepod-16 at (0,0), (1,0), (0,1) and (1,1). */
enum { GRID_DEVICES_MAX = 512 };

struct grid {
    uint32_t x, y, z;
};
struct slice_grid {
    uint32_t slices;           /* alike, over the data-centre network */
    struct grid processes;     /* of one slice */
    struct grid chips;         /* of one process */
    uint32_t devices_per_chip; /* 1 or 2 */
};
struct device_place {
    uint32_t process, slice; /* process: among those of all slices */
    int64_t coords[3];       /* of its chip, in the slice */
    int64_t core;            /* on its chip */
};

uint32_t slice_grid_devices (const struct slice_grid *slice);
struct device_place slice_grid_place (const struct slice_grid *slice, uint32_t device);

/* An error of the stand-in: a status code and a text, as in the PJRT interface.
 *
 * The texts are those of libtpu and TPU hosts, if known; the source is beside each. */
enum { REFUSAL_TEXT_BYTES = 512 };

struct refusal {
    int code; /* enum pjrt_code; PJRT_OK: none */
    char text[REFUSAL_TEXT_BYTES];
};

/* Always -1. */
int refuse (struct refusal *refusal, int code, const char *format, ...) __attribute__ ((format (printf, 3, 4)));
/* Makes a PJRT_Error, valid until 64 others were made; nobody frees it. */
void *refusal_error (const struct refusal *refusal);
/* NULL: the error is the plugin's. */
const struct refusal *refusal_of_error (const void *error);

enum { PLACE_PROCESSES_MAX = 64, PLACE_NAME_BYTES = 256, PLACE_PORT_BYTES = 8 };

/* A generation of TPU, as jax sees its devices. */
struct generation {
    const char *type; /* prefix of accelerator types */
    const char *kind;
    uint32_t devices_per_chip;
    int64_t memory; /* of one device, bytes */
};
struct process_address {
    char name[PLACE_NAME_BYTES], port[PLACE_PORT_BYTES];
};
struct place {
    const struct generation *generation;
    struct slice_grid slice;
    uint32_t id, world;                                    /* among the processes of all slices */
    char coordinator[PLACE_NAME_BYTES];                    /* MEGASCALE_COORDINATOR_ADDRESS; empty: one slice */
    struct process_address addresses[PLACE_PROCESSES_MAX]; /* of all processes, unless world is 1 */
    bool locks;                                            /* does libtpu take its lock file? */
};
/* Both return NULL for a missing value; metadata also serves keys of tpu-env. Texts live as long as the source. */
struct place_source {
    const char *(*variable) (void *owner, const char *name);
    const char *(*metadata) (void *owner, const char *attribute, const char *key);
    void *owner;
};

int place_read (const struct place_source *source, struct place *place, struct refusal *refusal);

/* ---- client ---- */

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

/* ---- hlo.c ---- */

/* In a serialized HloModuleProtoWithConfig: numbers of instructions above INT_MAX become small ones, in their place. */
void hlo_make_ids_small (char *code, size_t size);

/* ---- real.c ---- */

/* Finds, loads and calls the CPU plugin behind the stand-in.
 *
 * It is the file that SLICEUP_STANDIN_PLUGIN names, else that of the package lammps_jax_pjrt_cpu in the caller's
 * package folder: jaxlib's, or torch_xla's. */

/* `caller`: an address in the calling library. NULL: `why` has the reason. The table has all slots that we call. */
const struct pjrt_api *real_load (const void *caller, const char **why);
/* Calls the plugin's function at `slot`, with arguments of its own size or that of an older interface. Returns a
 * PJRT_Error, which the caller owns, or NULL. */
void *real_call (size_t slot, void *args);
bool real_caller_is_older (void); /* by what it asked of the library's attributes: then its XLA is as old */
/* Puts functions that do so into each slot of a copy of the plugin's table. */
void real_put_passes (void *table);
bool real_has (size_t slot);

#endif
