#include "worker/standin/client.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define GIB(n) ((int64_t) (n) << 30)
/* Kinds and devices per chip: jax-ml/jax:jax/_src/tpu_info.py. Memory: docs.cloud.google.com/tpu/docs, v4 to tpu7x; of v6e the
 * 31.25 GiB that programs can use. The first one whose text begins the type counts. */
static const struct generation generations[] = {
    { "v4", "TPU v4", 1, GIB (32) },   { "v5litepod", "TPU v5 lite", 1, GIB (16) },
    { "v5p", "TPU v5", 1, GIB (95) },  { "v6e", "TPU v6 lite", 1, GIB (125) / 4 },
    { "tpu7x", "TPU7x", 2, GIB (96) },
};
enum { GENERATIONS = sizeof generations / sizeof generations[0] };

struct names {
    const char *variables[4]; /* the first that is set counts */
    const char *keys[3];      /* of tpu-env */
};
static const struct names process_bounds = { { "TPU_PROCESS_BOUNDS", "TPU_HOST_BOUNDS", "HOST_BOUNDS" },
                                             { "TPU_PROCESS_BOUNDS", "HOST_BOUNDS" } };
static const struct names chip_bounds = { { "TPU_CHIPS_PER_PROCESS_BOUNDS", "TPU_CHIPS_PER_HOST_BOUNDS",
                                            "CHIPS_PER_HOST_BOUNDS" },
                                          { "TPU_CHIPS_PER_PROCESS_BOUNDS", "CHIPS_PER_HOST_BOUNDS" } };
static const struct names types = { { "TPU_ACCELERATOR_TYPE" }, { "ACCELERATOR_TYPE", "TYPE" } };
static const struct names ids = { { "CLOUD_TPU_TASK_ID", "TPU_WORKER_ID" }, { "WORKER_ID" } };

static const char *place_variable (const struct place_source *source, const char *name)
{
    const char *value = source->variable (source->owner, name);
    return value && value[0] ? value : NULL;
}

/* Any text that is not empty, also "false", forbids the question (pytorch/xla:torch_xla/_internal/tpu.py). */
static const char *metadata (const struct place_source *source, const char *attribute, const char *key)
{
    return place_variable (source, "TPU_SKIP_MDS_QUERY") ? NULL : source->metadata (source->owner, attribute, key);
}

static const char *setting (const struct place_source *source, const struct names *names)
{
    const char *value = NULL;
    for (int i = 0; names->variables[i] && !value; i++)
        value = place_variable (source, names->variables[i]);
    for (int i = 0; names->keys[i] && !value; i++)
        value = metadata (source, "tpu-env", names->keys[i]);
    return value;
}

enum { SIDE_MAX = 64 };

static bool is_side (uint32_t side)
{
    return side >= 1 && side <= SIDE_MAX;
}

/* "2,2,1": three numbers from 1 to 64. */
static bool grid_parse (const char *text, struct grid *grid)
{
    int end = 0;
    if (sscanf (text, "%5u,%5u,%5u%n", &grid->x, &grid->y, &grid->z, &end) != 3 || text[end] != '\0')
        return false;
    return is_side (grid->x) && is_side (grid->y) && is_side (grid->z);
}

static uint32_t grid_size (struct grid grid)
{
    return grid.x * grid.y * grid.z;
}

/* Texts of refusals: public issues and code of their users, listed in docs/spec/rehearsal.md. */
static int read_bounds (const struct place_source *source, struct slice_grid *slice, struct refusal *refusal)
{
    const char *processes = setting (source, &process_bounds), *chips = setting (source, &chip_bounds);
    if (!processes && place_variable (source, "TPU_SKIP_MDS_QUERY"))
        return refuse (refusal, PJRT_INTERNAL, "Failed to get global TPU topology.");
    if (!processes)
        return refuse (
            refusal, PJRT_INTERNAL,
            "Failed to get TPU metadata (tpu-env) from instance metadata for variable HOST_BOUNDS: INTERNAL: "
            "Couldn't connect to server");
    if (!grid_parse (processes, &slice->processes) || grid_size (slice->processes) > PLACE_PROCESSES_MAX)
        return refuse (refusal, PJRT_INVALID_ARGUMENT, "TPU initialization failed: Invalid process bounds '%.64s'.",
                       processes);
    if (!grid_parse (chips ? chips : "2,2,1", &slice->chips) || grid_size (slice->chips) > 8)
        return refuse (refusal, PJRT_INVALID_ARGUMENT,
                       "TPU initialization failed: Invalid chips per process bounds '%.64s'.", chips);
    return 0;
}

/* A list of chips that is shorter or longer than the bounds is a mistake of the launch. */
static int check_chips (const struct place_source *source, const struct slice_grid *slice, struct refusal *refusal)
{
    const char *list = place_variable (source, "TPU_VISIBLE_CHIPS");
    uint32_t n = 1;
    if (!list && !(list = place_variable (source, "TPU_VISIBLE_DEVICES")))
        return 0;
    for (const char *at = list; *at; at++)
        n += *at == ',';
    if (n == grid_size (slice->chips))
        return 0;
    return refuse (refusal, PJRT_INVALID_ARGUMENT,
                   "TPU initialization failed: %u visible chips do not match the chips per process bounds %u,%u,%u.", n,
                   slice->chips.x, slice->chips.y, slice->chips.z);
}

static const struct generation *generation_of (const char *type)
{
    for (int i = 0; type && i < GENERATIONS; i++)
        if (strncmp (type, generations[i].type, strlen (generations[i].type)) == 0)
            return &generations[i];
    return NULL;
}

static int read_machine (const struct place_source *source, struct place *place, struct refusal *refusal)
{
    place->generation = generation_of (setting (source, &types));
    if (!place->generation)
        return refuse (refusal, PJRT_NOT_FOUND, "No ba16c7433 device found.");
    if (read_bounds (source, &place->slice, refusal) < 0)
        return -1;
    place->slice.devices_per_chip = place->generation->devices_per_chip;
    place->world = grid_size (place->slice.processes);
    place->slice.slices = 1;
    return check_chips (source, &place->slice, refusal);
}

/* ---- several slices ---- */

static bool read_number (const char *text, uint32_t most, uint32_t *number)
{
    char *end = NULL;
    unsigned long value = text ? strtoul (text, &end, 10) : 0;
    *number = (uint32_t) value;
    return text && end != text && !*end && value < most;
}

/* ---- who the others are ---- */

static bool place_take (const char *bytes, size_t n, char *to, size_t size)
{
    if (n == 0 || n >= size)
        return false;
    memcpy (to, bytes, n);
    to[n] = '\0';
    return true;
}

/* "name", "name:port" or, of metadata, "name:id:address". */
static bool read_address (const char *item, size_t n, const char *port, bool of_metadata,
                          struct process_address *address)
{
    const char *first = memchr (item, ':', n), *last = memrchr (item, ':', n);
    size_t head = first ? (size_t) (first - item) : n, tail = last ? n - (size_t) (last - item) - 1 : 0;
    if (of_metadata)
        return place_take (last ? last + 1 : item, last ? tail : n, address->name, sizeof address->name) &&
               place_take (port, strlen (port), address->port, sizeof address->port);
    return place_take (item, head, address->name, sizeof address->name) &&
           place_take (first ? last + 1 : port, first ? tail : strlen (port), address->port, sizeof address->port);
}

/* How many there are; those beyond the limit are counted and not kept. */
static uint32_t place_read_list (const char *list, const char *port, bool of_metadata, struct place *place)
{
    uint32_t n = 0;
    while (list && *list) {
        size_t len = strcspn (list, ",");
        if (n < PLACE_PROCESSES_MAX && !read_address (list, len, port, of_metadata, &place->addresses[n]))
            return n;
        n++;
        list += len + (list[len] == ',');
    }
    return n;
}

static uint32_t read_addresses (const struct place_source *source, struct place *place)
{
    const char *port = place_variable (source, "TPU_PROCESS_PORT"),
               *list = place_variable (source, "TPU_PROCESS_ADDRESSES");
    port = port ? port : "8471"; /* ray-project/ray PR #65221 */
    if (list || (list = place_variable (source, "TPU_WORKER_HOSTNAMES")))
        return place_read_list (list, port, false, place);
    return place_read_list (metadata (source, "worker-network-endpoints", NULL), port, true, place);
}

static int read_peers (const struct place_source *source, struct place *place, struct refusal *refusal)
{
    const char *id = setting (source, &ids);
    char *end = NULL;
    if (!id)
        id = metadata (source, "agent-worker-number", NULL);
    unsigned long number = id ? strtoul (id, &end, 10) : 0;
    uint32_t n = read_addresses (source, place);
    if (n != place->world)
        return refuse (
            refusal, PJRT_INVALID_ARGUMENT,
            "TPU initialization failed: Invalid --2a886c8_slice_builder_worker_addresses specified. Expected %u worker "
            "addresses, got %u.",
            place->world, n);
    if ((id && (end == id || *end)) || number >= place->world)
        return refuse (refusal, PJRT_INVALID_ARGUMENT, "unexpected worker hostname");
    place->id = (uint32_t) number;
    return 0;
}

static bool is_true (const char *value)
{
    return value && (strcmp (value, "1") == 0 || strcasecmp (value, "true") == 0);
}

/* When libtpu takes no lock: openxla/xla:xla/tpu/tpu_initialize_util.cc. */
static bool takes_lock (const struct place_source *source)
{
    const char *bounds = place_variable (source, "TPU_CHIPS_PER_PROCESS_BOUNDS"),
               *load = place_variable (source, "TPU_LOAD_LIBRARY");
    if (!bounds)
        bounds = place_variable (source, "TPU_CHIPS_PER_HOST_BOUNDS");
    return !is_true (place_variable (source, "ALLOW_MULTIPLE_LIBTPU_LOAD")) && !(load && strcmp (load, "1") == 0) &&
           (!bounds || strcmp (bounds, "2,2,1") == 0);
}

/* libtpu finds the processes of other slices through the coordinator; we are told them. The processes of slice n come after
 * those of n - 1. */
static int read_slices (const struct place_source *source, struct place *place, struct refusal *refusal)
{
    const char *coordinator = place_variable (source, "MEGASCALE_COORDINATOR_ADDRESS"),
               *peers = place_variable (source, "SLICEUP_STANDIN_PEERS"),
               *port = place_variable (source, "TPU_PROCESS_PORT");
    uint32_t slices, id;
    if (!place_variable (source, "MEGASCALE_NUM_SLICES") ||
        (read_number (place_variable (source, "MEGASCALE_NUM_SLICES"), PLACE_PROCESSES_MAX + 1, &slices) &&
         slices == 1))
        return 0;
    if (slices == 0 || !read_number (place_variable (source, "MEGASCALE_SLICE_ID"), slices, &id) || !coordinator)
        return refuse (refusal, PJRT_INVALID_ARGUMENT,
                       "TPU initialization failed: MEGASCALE_NUM_SLICES, MEGASCALE_SLICE_ID and "
                       "MEGASCALE_COORDINATOR_ADDRESS do not describe one of several slices.");
    place->id += id * place->world;
    place->world *= slices;
    place->slice.slices = slices;
    snprintf (place->coordinator, sizeof place->coordinator, "%s", coordinator);
    if (place->world > PLACE_PROCESSES_MAX ||
        place_read_list (peers, port ? port : "8471", false, place) != place->world)
        return refuse (refusal, PJRT_INVALID_ARGUMENT,
                       "the stand-in is not told the addresses of all %u processes (SLICEUP_STANDIN_PEERS)",
                       place->world);
    return 0;
}

int place_read (const struct place_source *source, struct place *place, struct refusal *refusal)
{
    *place = (struct place){ .locks = takes_lock (source) };
    if (read_machine (source, place, refusal) < 0 || (place->world > 1 && read_peers (source, place, refusal) < 0))
        return -1;
    return read_slices (source, place, refusal);
}

/* ---- grid ---- */

uint32_t slice_grid_devices (const struct slice_grid *slice)
{
    return slice->slices * grid_size (slice->processes) * grid_size (slice->chips) * slice->devices_per_chip;
}

struct device_place slice_grid_place (const struct slice_grid *slice, uint32_t device)
{
    const struct grid *processes = &slice->processes, *chips = &slice->chips;
    uint32_t number = device / (slice_grid_devices (slice) / slice->slices);
    device %= slice_grid_devices (slice) / slice->slices;
    uint32_t chip = device / slice->devices_per_chip, wide = processes->x * chips->x, deep = processes->y * chips->y;
    uint32_t x = chip % wide, y = chip / wide % deep, z = chip / wide / deep;
    uint32_t process = x / chips->x + processes->x * (y / chips->y + processes->y * (z / chips->z));
    return (struct device_place){
        number * grid_size (*processes) + process, number, { x, y, z }, device % slice->devices_per_chip
    };
}

/* ---- refusal ---- */

enum { REFUSALS = 64 };
static struct refusal given[REFUSALS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int refuse (struct refusal *refusal, int code, const char *format, ...)
{
    va_list args;
    va_start (args, format);
    refusal->code = code;
    (void) vsnprintf (refusal->text, sizeof refusal->text, format, args); /* cut: it is for people */
    va_end (args);
    return -1;
}

void *refusal_error (const struct refusal *refusal)
{
    static unsigned next;
    (void) pthread_mutex_lock (&lock);
    struct refusal *place = &given[next++ % REFUSALS];
    *place = *refusal;
    (void) pthread_mutex_unlock (&lock);
    return place;
}

const struct refusal *refusal_of_error (const void *error)
{
    const struct refusal *one = error;
    return one >= given && one < given + REFUSALS ? one : NULL;
}
