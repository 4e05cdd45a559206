/* table.c - the library's one symbol: the plugin's table with our functions in it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker/probe/pjrt.h"
#include "worker/standin/client.h"

/* ---- executable ---- */

/* A program on devices of several processes, of which this process owns some.
 *
 * A program whose devices are all this process's is the plugin's alone. Of any other the processes exchange the values of its
 * arguments; then each executes the whole of it, hands jax the outputs of its own devices, and destroys the rest. So
 * values are exact, and a process that is missing makes the others wait. */

/* ---- which of its devices are ours ---- */

enum { LISTS_MAX = 256 };

/* jax keeps these lists as long as the executable lives, and programs on the same devices have equal ones, so each is
 * kept once, for good. */
static const void *kept (const void *bytes, size_t size)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct {
        void *bytes;
        size_t size;
    } lists[LISTS_MAX];
    size_t i = 0;
    (void) pthread_mutex_lock (&lock);
    while (i < LISTS_MAX && lists[i].bytes && (lists[i].size != size || memcmp (lists[i].bytes, bytes, size) != 0))
        i++;
    if (i < LISTS_MAX && !lists[i].bytes && (lists[i].bytes = malloc (size + 1))) {
        memcpy (lists[i].bytes, bytes, size);
        lists[i].size = size;
    }
    const void *found = i < LISTS_MAX ? lists[i].bytes : NULL;
    (void) pthread_mutex_unlock (&lock);
    return found;
}

static void *too_many (void)
{
    struct refusal refusal;
    refuse (&refusal, PJRT_RESOURCE_EXHAUSTED, "the stand-in knows at most %d sets of devices", LISTS_MAX);
    return refusal_error (&refusal);
}

static void *devices_of (void *executable, struct pjrt_list_args *list)
{
    *list = (struct pjrt_list_args) PJRT_ARGS (struct pjrt_list_args, items_n);
    list->object = executable;
    return real_call (PJRT_LOADED_ADDRESSABLE_DEVICES, list);
}

static void *executable_addressable_devices (struct pjrt_list_args *args)
{
    void *own[GRID_DEVICES_MAX];
    size_t n = 0;
    struct pjrt_list_args all;
    void *error = devices_of (args->object, &all);
    for (size_t i = 0; !error && i < all.items_n; i++)
        if (n < GRID_DEVICES_MAX && client_owns (client_device_number (all.items[i])))
            own[n++] = all.items[i];
    if (error)
        return error;
    args->items = kept (own, n * sizeof own[0]);
    args->items_n = n;
    return args->items ? NULL : too_many ();
}

static void *executable_logical_ids (struct pjrt_logical_ids_args *args)
{
    struct pjrt_logical_id own[GRID_DEVICES_MAX];
    size_t n = 0;
    struct pjrt_list_args all;
    void *error = real_call (PJRT_LOADED_ADDRESSABLE_LOGICAL_IDS, args);
    if (!error)
        error = devices_of (args->object, &all);
    for (size_t i = 0; !error && i < args->ids_n && i < all.items_n; i++)
        if (n < GRID_DEVICES_MAX && client_owns (client_device_number (all.items[i])))
            own[n++] = args->ids[i];
    if (error)
        return error;
    args->ids = kept (own, n * sizeof own[0]);
    args->ids_n = n;
    return args->ids ? NULL : too_many ();
}

/* ---- executing it ---- */

/* One launch at a time, so that all processes have the same order. */
static pthread_mutex_t launching = PTHREAD_MUTEX_INITIALIZER;

static void *executable_execute (struct pjrt_execute *args)
{
    struct pjrt_list_args all;
    void *error = devices_of (args->executable, &all);
    if (error)
        return error;
    size_t own = 0, asked = 0;
    for (size_t i = 0; i < all.items_n; i++) {
        own += client_owns (client_device_number (all.items[i]));
        asked += all.items[i] == args->device;
    }
    if (own == 0 && !args->device)
        return NULL; /* jax calls this in all processes, also in those without a part */
    /* The plugin lets one of several devices wait for the others, from its second launch on. */
    if (args->device ? all.items_n == 1 || !asked : own == all.items_n)
        return real_call (PJRT_LOADED_EXECUTE, args);
    (void) pthread_mutex_lock (&launching);
    error = launch_run (args, all.items, all.items_n);
    (void) pthread_mutex_unlock (&launching);
    return error;
}

static void *executable_optimized_program (struct pjrt_other_object_args *args)
{
    void *error = real_call (PJRT_EXECUTABLE_OPTIMIZED_PROGRAM, args);
    const struct pjrt_program_source *program = args->other;
    if (!error && program->code && real_caller_is_older ())
        hlo_make_ids_small (program->code, program->code_size);
    return error;
}

/* ---- device ---- */

/* Answers about a device and its description: process, kind, place, memory. */

/* What jax reads of a TPU (jax-ml/jax:jax/_src/mesh_utils.py, jax/_src/xla_bridge.py). */
enum { COORDS, CORE_ON_CHIP, NUM_CORES, SLICE_INDEX, ATTRIBUTES };
enum { DEVICE_TEXT_BYTES = 128 };
static struct pjrt_named_value attributes[GRID_DEVICES_MAX][ATTRIBUTES];
static char texts[GRID_DEVICES_MAX][DEVICE_TEXT_BYTES];

static struct pjrt_named_value number_named (const char *name, int64_t number)
{
    struct pjrt_named_value value = PJRT_ARGS (struct pjrt_named_value, value_size);
    value.name = name;
    value.name_size = strlen (name);
    value.type = PJRT_INT64;
    value.value.int64 = number;
    value.value_size = 1;
    return value;
}

static void table_describe (uint32_t device)
{
    const struct device_place *place = &standin_client.places[device];
    struct pjrt_named_value *of = attributes[device];
    of[COORDS] = number_named ("coords", 0);
    of[COORDS].type = PJRT_INT64_LIST;
    of[COORDS].value.int64_list = place->coords;
    of[COORDS].value_size = 3;
    of[CORE_ON_CHIP] = number_named ("core_on_chip", place->core);
    of[NUM_CORES] = number_named ("num_cores", 1);
    of[SLICE_INDEX] = number_named ("slice_index", place->slice);
    snprintf (texts[device], sizeof texts[device], "TPU_%u(process=%u,(%d,%d,%d,%d))", device, place->process,
              (int) place->coords[0], (int) place->coords[1], (int) place->coords[2], (int) place->core);
}

/* Call it once after the client is made, before anything else here. */
static void device_describe_all (void)
{
    for (uint32_t i = 0; i < standin_client.devices_n; i++)
        table_describe (i);
}

/* Only our own devices were ever handed out. */
static uint32_t described (const void *device_or_description)
{
    uint32_t number = client_device_number (device_or_description);
    return number < standin_client.devices_n ? number : 0;
}

static void *device_process_index (struct pjrt_number_args *args)
{
    args->number = (int) standin_client.places[described (args->object)].process;
    return NULL;
}

static void *device_kind (struct pjrt_text_args *args)
{
    args->text = standin_client.place.generation->kind;
    args->text_size = strlen (args->text);
    return NULL;
}

static void *device_text (struct pjrt_text_args *args)
{
    args->text = texts[described (args->object)];
    args->text_size = strlen (args->text);
    return NULL;
}

static void *device_description_attributes (struct pjrt_attributes_args *args)
{
    args->attributes = attributes[described (args->object)];
    args->attributes_n = ATTRIBUTES;
    return NULL;
}

static void release_nothing (void *owner)
{
    (void) owner;
}

static void *device_attributes (struct pjrt_owned_attributes_args *args)
{
    args->attributes = attributes[described (args->object)];
    args->attributes_n = ATTRIBUTES;
    args->owner = NULL;
    args->release = release_nothing;
    return NULL;
}

static void *device_is_addressable (struct pjrt_truth_args *args)
{
    args->truth = client_owns (described (args->object));
    return NULL;
}

/* -1: of another process. */
static void *device_local_hardware_id (struct pjrt_number_args *args)
{
    args->number = -1;
    for (uint32_t i = 0; i < standin_client.locals_n; i++)
        if (standin_client.locals[i] == args->object)
            args->number = (int) i;
    return NULL;
}

/* Sets every flag, because jax passes uncleared memory. */
static void *device_memory_stats (struct pjrt_device_memory *args)
{
    size_t begin = offsetof (struct pjrt_device_memory, in_use), end = args->struct_size;
    if (end > sizeof *args)
        end = sizeof *args;
    memset ((char *) args + begin, 0, end - begin);
    args->limit = (struct pjrt_optional_int64){ standin_client.place.generation->memory, true };
    return NULL;
}

/* ---- table ---- */

enum { TABLE_BYTES_MAX = 16 * 1024 };
static union {
    struct pjrt_api api;
    char bytes[TABLE_BYTES_MAX];
} table;

const struct pjrt_api *GetPjrtApi (void);

/* ---- errors: ours and the plugin's ---- */

static void *error_destroy (struct pjrt_error_destroy *args)
{
    return refusal_of_error (args->error) ? NULL : real_call (PJRT_ERROR_DESTROY, args);
}

static void *error_message (struct pjrt_error_message *args)
{
    const struct refusal *ours = refusal_of_error (args->error);
    if (!ours)
        return real_call (PJRT_ERROR_MESSAGE, args);
    args->message = ours->text;
    args->message_size = strlen (ours->text);
    return NULL;
}

static void *error_get_code (struct pjrt_error_get_code *args)
{
    const struct refusal *ours = refusal_of_error (args->error);
    if (!ours)
        return real_call (PJRT_ERROR_GET_CODE, args);
    args->code = ours->code;
    return NULL;
}

/* Its error comes first, as in the others. */
static void *error_for_each_payload (struct pjrt_error_destroy *args)
{
    return refusal_of_error (args->error) ? NULL : real_call (PJRT_ERROR_FOR_EACH_PAYLOAD, args);
}

/* ---- the table ---- */

static void *table_create (struct pjrt_client_create *args)
{
    void *error = client_create (args);
    if (!error)
        device_describe_all ();
    return error;
}

/* What the stand-in answers itself. */
static const struct {
    size_t slot;
    void *function;
} own[] = {
    { PJRT_CLIENT_CREATE, table_create },
    { PJRT_CLIENT_DESTROY, client_destroy },
    { PJRT_CLIENT_PLATFORM_NAME, client_platform_name },
    { PJRT_CLIENT_PLATFORM_VERSION, client_platform_version },
    { PJRT_TOPOLOGY_PLATFORM_NAME, client_platform_name },
    { PJRT_TOPOLOGY_PLATFORM_VERSION, client_platform_version },
    { PJRT_CLIENT_PROCESS_INDEX, client_process_index },
    { PJRT_CLIENT_ADDRESSABLE_DEVICES, client_addressable_devices },
    { PJRT_CLIENT_LOOKUP_ADDRESSABLE_DEVICE, client_lookup_addressable_device },
    { PJRT_CLIENT_ADDRESSABLE_MEMORIES, client_addressable_memories },
    { PJRT_DESCRIPTION_PROCESS_INDEX, device_process_index },
    { PJRT_DESCRIPTION_ATTRIBUTES, device_description_attributes },
    { PJRT_DESCRIPTION_KIND, device_kind },
    { PJRT_DESCRIPTION_DEBUG_STRING, device_text },
    { PJRT_DESCRIPTION_TO_STRING, device_text },
    { PJRT_DEVICE_IS_ADDRESSABLE, device_is_addressable },
    { PJRT_DEVICE_LOCAL_HARDWARE_ID, device_local_hardware_id },
    { PJRT_DEVICE_MEMORY_STATS, device_memory_stats },
    { PJRT_DEVICE_GET_ATTRIBUTES, device_attributes },
    { PJRT_ERROR_DESTROY, error_destroy },
    { PJRT_ERROR_MESSAGE, error_message },
    { PJRT_ERROR_GET_CODE, error_get_code },
    { PJRT_ERROR_FOR_EACH_PAYLOAD, error_for_each_payload },
    { PJRT_LOADED_ADDRESSABLE_DEVICES, executable_addressable_devices },
    { PJRT_LOADED_ADDRESSABLE_LOGICAL_IDS, executable_logical_ids },
    { PJRT_LOADED_EXECUTE, executable_execute },
    { PJRT_EXECUTABLE_OPTIMIZED_PROGRAM, executable_optimized_program },
};

static void table_put_own (void)
{
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (real_has (own[i].slot))
            memcpy (table.bytes + own[i].slot, &own[i].function, sizeof own[i].function);
}

static void table_fill (const void *caller)
{
    const char *why = NULL;
    const struct pjrt_api *real = real_load (caller, &why);
    if (real && real->struct_size > TABLE_BYTES_MAX)
        why = "its interface is larger than any that is known";
    if (!real || real->struct_size > TABLE_BYTES_MAX) {
        fprintf (stderr, "sliceup stand-in for libtpu: cannot load the CPU plugin: %s\n", why);
        return;
    }
    memcpy (table.bytes, real, real->struct_size);
    real_put_passes (table.bytes);
    table_put_own ();
}

__attribute__ ((visibility ("default"))) const struct pjrt_api *GetPjrtApi (void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    (void) pthread_mutex_lock (&lock);
    if (table.api.struct_size == 0)
        table_fill (__builtin_return_address (0));
    (void) pthread_mutex_unlock (&lock);
    return table.api.struct_size ? &table.api : NULL;
}
