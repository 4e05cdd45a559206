#include "worker/standin/device.h"

#include "worker/standin/client.h"
#include <stdio.h>
#include <string.h>

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

static void describe (uint32_t device)
{
    const struct device_place *place = &standin_client.places[device];
    struct pjrt_named_value *of = attributes[device];
    of[COORDS] = number_named ("coords", 0);
    of[COORDS].type = PJRT_INT64_LIST;
    of[COORDS].value.int64_list = place->coords;
    of[COORDS].value_size = 3;
    of[CORE_ON_CHIP] = number_named ("core_on_chip", place->core);
    of[NUM_CORES] = number_named ("num_cores", 1);
    of[SLICE_INDEX] = number_named ("slice_index", 0);
    snprintf (texts[device], sizeof texts[device], "TPU_%u(process=%u,(%d,%d,%d,%d))", device, place->process,
              (int) place->coords[0], (int) place->coords[1], (int) place->coords[2], (int) place->core);
}

void device_describe_all (void)
{
    for (uint32_t i = 0; i < standin_client.devices_n; i++)
        describe (i);
}

/* Only our own devices were ever handed out. */
static uint32_t described (const void *device_or_description)
{
    uint32_t number = client_device_number (device_or_description);
    return number < standin_client.devices_n ? number : 0;
}

void *device_process_index (struct pjrt_number_args *args)
{
    args->number = (int) standin_client.places[described (args->object)].process;
    return NULL;
}

void *device_kind (struct pjrt_text_args *args)
{
    args->text = standin_client.place.generation->kind;
    args->text_size = strlen (args->text);
    return NULL;
}

void *device_text (struct pjrt_text_args *args)
{
    args->text = texts[described (args->object)];
    args->text_size = strlen (args->text);
    return NULL;
}

void *device_description_attributes (struct pjrt_attributes_args *args)
{
    args->attributes = attributes[described (args->object)];
    args->attributes_n = ATTRIBUTES;
    return NULL;
}

static void release_nothing (void *owner)
{
    (void) owner;
}

void *device_attributes (struct pjrt_owned_attributes_args *args)
{
    args->attributes = attributes[described (args->object)];
    args->attributes_n = ATTRIBUTES;
    args->owner = NULL;
    args->release = release_nothing;
    return NULL;
}

void *device_is_addressable (struct pjrt_truth_args *args)
{
    args->truth = client_owns (described (args->object));
    return NULL;
}

/* -1: of another process. */
void *device_local_hardware_id (struct pjrt_number_args *args)
{
    args->number = -1;
    for (uint32_t i = 0; i < standin_client.locals_n; i++)
        if (standin_client.locals[i] == args->object)
            args->number = (int) i;
    return NULL;
}

/* jax hands in memory that it did not clear: every flag is written. */
void *device_memory_stats (struct pjrt_device_memory *args)
{
    size_t begin = offsetof (struct pjrt_device_memory, in_use), end = args->struct_size;
    if (end > sizeof *args)
        end = sizeof *args;
    memset ((char *) args + begin, 0, end - begin);
    args->limit = (struct pjrt_optional_int64){ standin_client.place.generation->memory, true };
    return NULL;
}
