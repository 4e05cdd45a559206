/* table.c - the library's one symbol: the plugin's table with our functions in it. */
#include "worker/standin/client.h"
#include "worker/standin/device.h"
#include "worker/standin/executable.h"
#include "worker/standin/real.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

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

static void *create (struct pjrt_client_create *args)
{
    void *error = client_create (args);
    if (!error)
        device_describe_all ();
    return error;
}

static void put (size_t slot, void *function)
{
    if (real_has (slot))
        memcpy (table.bytes + slot, &function, sizeof function);
}

static void put_client (void)
{
    put (PJRT_CLIENT_CREATE, create);
    put (PJRT_CLIENT_DESTROY, client_destroy);
    put (PJRT_CLIENT_PLATFORM_NAME, client_platform_name);
    put (PJRT_CLIENT_PLATFORM_VERSION, client_platform_version);
    put (PJRT_TOPOLOGY_PLATFORM_NAME, client_platform_name);
    put (PJRT_TOPOLOGY_PLATFORM_VERSION, client_platform_version);
    put (PJRT_CLIENT_PROCESS_INDEX, client_process_index);
    put (PJRT_CLIENT_ADDRESSABLE_DEVICES, client_addressable_devices);
    put (PJRT_CLIENT_LOOKUP_ADDRESSABLE_DEVICE, client_lookup_addressable_device);
    put (PJRT_CLIENT_ADDRESSABLE_MEMORIES, client_addressable_memories);
}

static void put_device (void)
{
    put (PJRT_DESCRIPTION_PROCESS_INDEX, device_process_index);
    put (PJRT_DESCRIPTION_ATTRIBUTES, device_description_attributes);
    put (PJRT_DESCRIPTION_KIND, device_kind);
    put (PJRT_DESCRIPTION_DEBUG_STRING, device_text);
    put (PJRT_DESCRIPTION_TO_STRING, device_text);
    put (PJRT_DEVICE_IS_ADDRESSABLE, device_is_addressable);
    put (PJRT_DEVICE_LOCAL_HARDWARE_ID, device_local_hardware_id);
    put (PJRT_DEVICE_MEMORY_STATS, device_memory_stats);
    put (PJRT_DEVICE_GET_ATTRIBUTES, device_attributes);
}

static void put_rest (void)
{
    put (PJRT_ERROR_DESTROY, error_destroy);
    put (PJRT_ERROR_MESSAGE, error_message);
    put (PJRT_ERROR_GET_CODE, error_get_code);
    put (PJRT_ERROR_FOR_EACH_PAYLOAD, error_for_each_payload);
    put (PJRT_LOADED_ADDRESSABLE_DEVICES, executable_addressable_devices);
    put (PJRT_LOADED_ADDRESSABLE_LOGICAL_IDS, executable_logical_ids);
    put (PJRT_LOADED_EXECUTE, executable_execute);
}

static void fill (const void *caller)
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
    put_client ();
    put_device ();
    put_rest ();
}

__attribute__ ((visibility ("default"))) const struct pjrt_api *GetPjrtApi (void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    (void) pthread_mutex_lock (&lock);
    if (table.api.struct_size == 0)
        fill (__builtin_return_address (0));
    (void) pthread_mutex_unlock (&lock);
    return table.api.struct_size ? &table.api : NULL;
}
