/* liar.c - a PJRT plugin that lies in the way that its file name says, and works as "good".
 *
 * hang-SLOT, crash-SLOT and others, none-SLOT: what a call of that slot does, or that it is not there;
 * says-WORD: the error with which the client is refused; the other names are in the functions below and in mischief.c.
 * It is linked under many names; the test builds it once. */
#include "tests/plugins/mischief.h"
#include "worker/probe/pjrt.h"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { VALUES = 4, DEVICES = 2, PAGE = 4096 };

static char api[2048] __attribute__ ((aligned (8)));

struct buffer {
    float values[VALUES];
};
static struct buffer buffers[64];
static uint32_t buffers_n, executions;
static int objects[8]; /* handles point here */
static void *devices[DEVICES] = { &objects[0], &objects[1] };
static const char *error_message = "it lies";
static size_t error_bytes = 7;
static int error_code = PJRT_INTERNAL;

static void *error_of (int code, const char *message)
{
    error_code = code;
    error_message = message;
    error_bytes = strlen (message);
    return &objects[7];
}

static void *error_destroy (void *raw)
{
    (void) raw;
    act ("error_destroy");
    return NULL;
}

static void *error_text (void *raw)
{
    struct pjrt_error_message *args = raw;
    act ("error_message");
    args->message = error_message;
    args->message_size = error_bytes;
    return NULL;
}

static void *error_get_code (void *raw)
{
    struct pjrt_error_get_code *args = raw;
    args->code = error_code;
    return NULL;
}

static void *initialize (void *raw)
{
    (void) raw;
    act ("initialize");
    misbehave ();
    if (lies ("old_caller"))
        return error_of (PJRT_INVALID_ARGUMENT,
                         "Unexpected PJRT_Plugin_Initialize_Args size: expected 24, got 16. The plugin is likely built "
                         "with a later version than the framework. This plugin is built with PJRT API version 0.200.");
    return NULL;
}

static void *attributes (void *raw)
{
    static const int64_t current[] = { 1, 13, 3 };
    static const struct pjrt_named_value both[] = {
        { .name = "stablehlo_current_version",
          .name_size = 25,
          .type = PJRT_INT64_LIST,
          .value.int64_list = current,
          .value_size = 3 },
        { .name = "stablehlo_current_version", .name_size = 25, .type = 77, .value_size = 1 },
    };
    struct pjrt_plugin_attributes *args = raw;
    act ("attributes");
    args->attributes = lies ("attributes_none")   ? NULL
                       : lies ("attributes_wild") ? (const void *) (uintptr_t) 64
                                                  : both;
    args->attributes_n = lies ("attributes_many") ? (size_t) -1 : lies ("attributes_twice") ? 2 : 1;
    return NULL;
}

static void *event_await (void *raw)
{
    (void) raw;
    act ("event_await");
    return NULL;
}

static void *refuse_client (void)
{
    if (lies ("says-busy"))
        return error_of (9, "TPU initialization failed: open(/dev/vfio/0): Device or resource busy: Device or resource "
                            "busy; Couldn't open iommu group /dev/vfio/0");
    if (lies ("says-permission"))
        return error_of (PJRT_PERMISSION_DENIED, "open(/dev/accel0): Operation not permitted");
    if (lies ("says-none"))
        return error_of (PJRT_NOT_FOUND, "No ba16c7433 device found.");
    if (lies ("says-new"))
        return error_of (99, "something\nthat \\ nobody\tknows \x1b[31m");
    if (lies ("error_huge")) {
        (void) error_of (PJRT_INTERNAL, at_the_edge ("the end of memory"));
        error_bytes = (size_t) -1;
        return &objects[7];
    }
    if (lies ("error_unterminated")) {
        char *long_text = mmap (NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        (void) error_of (PJRT_INTERNAL, "");
        error_message = memset (long_text, 'x', 64 * PAGE);
        error_bytes = 64 * PAGE;
        return &objects[7];
    }
    if (lies ("error_null")) {
        (void) error_of (PJRT_INTERNAL, "");
        error_message = NULL;
        error_bytes = 20;
        return &objects[7];
    }
    return NULL;
}

static void *client_create (void *raw)
{
    struct pjrt_client_create *args = raw;
    act ("client_create");
    void *error = refuse_client ();
    if (error)
        return error;
    for (size_t i = 0; i < args->options_n; i++) {
        const struct pjrt_named_value *value = &args->options[i];
        printf ("option %.*s type %d of %zu: ", (int) value->name_size, value->name, value->type, value->value_size);
        if (value->type == PJRT_INT64)
            printf ("%lld\n", (long long) value->value.int64);
        else if (value->type == PJRT_BOOL)
            printf ("%d\n", value->value.truth);
        else if (value->type == PJRT_FLOAT)
            printf ("%g\n", (double) value->value.number);
        else
            printf ("%.*s\n", (int) value->value_size, value->value.text);
    }
    fflush (stdout);
    if (lies ("tell_options"))
        return error_of (PJRT_INTERNAL, "these were the options");
    args->client = lies ("client_null") ? NULL : &objects[2];
    return NULL;
}

static void *platform_name (void *raw)
{
    struct pjrt_text_args *args = raw;
    act ("platform_name");
    args->text = lies ("text_null") ? NULL : lies ("text_negative") ? at_the_edge ("lie") : "lie";
    args->text_size = lies ("text_negative") ? (size_t) -3 : 3;
    return NULL;
}

static void *process_index (void *raw)
{
    struct pjrt_number_args *args = raw;
    args->number = lies ("process_negative") ? -1 : 0;
    return NULL;
}

static void *description_number (void *raw)
{
    ((struct pjrt_number_args *) raw)->number = lies ("process_far") ? 1 << 30 : 0;
    return NULL;
}

static void *list_devices (void *raw)
{
    struct pjrt_list_args *args = raw;
    act ("devices");
    args->items = lies ("devices_null") ? NULL : devices;
    args->items_n = lies ("devices_zero") ? 0 : lies ("devices_negative") ? (size_t) -1 : DEVICES;
    if (lies ("devices_empty"))
        devices[0] = devices[1] = NULL;
    return NULL;
}

static void *list_here (void *raw)
{
    struct pjrt_list_args *args = raw;
    act ("addressable_devices");
    args->items = devices;
    args->items_n = lies ("devices_elsewhere") ? 0 : lies ("devices_more") ? 60000 : DEVICES;
    return NULL;
}

static void *description (void *raw)
{
    ((struct pjrt_other_object_args *) raw)->other = lies ("description_null") ? NULL : &objects[3];
    return NULL;
}

static void *compile (void *raw)
{
    struct pjrt_client_compile *args = raw;
    act ("compile");
    args->executable = lies ("compiled_null") ? NULL : &objects[4];
    return NULL;
}

static void *list_loaded (void *raw)
{
    struct pjrt_list_args *args = raw;
    args->items = devices;
    args->items_n = lies ("compiled_elsewhere") ? 0 : 1;
    return NULL;
}

static void *get_executable (void *raw)
{
    ((struct pjrt_other_object_args *) raw)->other = &objects[5];
    return NULL;
}

static void *count_outputs (void *raw)
{
    ((struct pjrt_count_args *) raw)->count = lies ("outputs_two") ? 2 : 1;
    return NULL;
}

static void *from_host (void *raw)
{
    struct pjrt_from_host *args = raw;
    act ("from_host");
    if (buffers_n == 64)
        return error_of (PJRT_RESOURCE_EXHAUSTED, "too many");
    memcpy (buffers[buffers_n].values, args->bytes, sizeof buffers[0].values);
    args->buffer = &buffers[buffers_n++];
    args->done = lies ("no_event") ? NULL : &objects[6];
    return NULL;
}

static void *execute (void *raw)
{
    struct pjrt_execute *args = raw;
    struct buffer *const *in = (struct buffer *const *) (const void *) args->arguments[0];
    struct buffer *out = &buffers[buffers_n++ % 64];
    act ("execute");
    executions++;
    for (int i = 0; i < VALUES; i++)
        out->values[i] = in[0]->values[i] + in[1]->values[i];
    if (lies ("wrong_value") || (lies ("wrong_value_again") && executions > 1))
        out->values[3] += 1;
    if (lies ("not_a_number"))
        out->values[2] = 0.0f / 0.0f;
    args->outputs[0][0] = lies ("output_null") ? NULL : out;
    args->complete[0] = &objects[6];
    return NULL;
}

static void *to_host (void *raw)
{
    struct pjrt_to_host *args = raw;
    act ("to_host");
    if (!args->to) {
        args->to_size = lies ("output_negative") ? (size_t) -16 : sizeof buffers[0].values;
        return NULL;
    }
    if (!lies ("unwritten"))
        memcpy (args->to, ((struct buffer *) args->buffer)->values, sizeof buffers[0].values);
    args->event = &objects[6];
    return NULL;
}

static void release (void *owner)
{
    (void) owner;
}

static void *serialize (void *raw)
{
    struct pjrt_serialize *args = raw;
    act ("serialize");
    if (lies ("serialize_lacks"))
        return error_of (PJRT_UNIMPLEMENTED, "no serialising here");
    args->bytes = lies ("serialized_null") ? NULL : "program";
    args->bytes_size = lies ("serialized_negative") ? (size_t) -1 : 7;
    args->release = release;
    return NULL;
}

static void *load (void *raw)
{
    struct pjrt_load *args = raw;
    act ("load");
    if (lies ("load_lacks"))
        return error_of (PJRT_UNIMPLEMENTED, "no loading here");
    args->executable = lies ("reloaded_null") ? NULL : &objects[4];
    return NULL;
}

static void *device_memory (void *raw)
{
    struct pjrt_device_memory *args = raw;
    act ("device_memory");
    if (lies ("memory_lacks"))
        return error_of (PJRT_UNIMPLEMENTED, "nobody counts here");
    args->in_use = lies ("memory_negative") ? -5 : 64;
    args->limit = (struct pjrt_optional_int64){ 1 << 20, true };
    args->peak = (struct pjrt_optional_int64){ 128, true };
    return NULL;
}

static void *program_memory (void *raw)
{
    struct pjrt_program_memory *args = raw;
    args->arguments = lies ("memory_negative") ? INT64_MIN : 32;
    args->outputs = 16;
    return NULL;
}

static void *client_destroy (void *raw)
{
    (void) raw;
    act ("client_destroy");
    return NULL;
}

static void *nothing (void *raw)
{
    (void) raw;
    return NULL;
}

static const struct {
    size_t slot;
    void *(*function) (void *);
    const char *name;
} slots[] = {
    { PJRT_ERROR_DESTROY, error_destroy, "error_destroy" },
    { PJRT_ERROR_MESSAGE, error_text, "error_message" },
    { PJRT_ERROR_GET_CODE, error_get_code, "error_get_code" },
    { PJRT_PLUGIN_INITIALIZE, initialize, "initialize" },
    { PJRT_PLUGIN_ATTRIBUTES, attributes, "attributes" },
    { PJRT_EVENT_DESTROY, nothing, "event_destroy" },
    { PJRT_EVENT_AWAIT, event_await, "event_await" },
    { PJRT_CLIENT_CREATE, client_create, "client_create" },
    { PJRT_CLIENT_DESTROY, client_destroy, "client_destroy" },
    { PJRT_CLIENT_PLATFORM_NAME, platform_name, "platform_name" },
    { PJRT_CLIENT_PROCESS_INDEX, process_index, "process_index" },
    { PJRT_CLIENT_PLATFORM_VERSION, platform_name, "platform_version" },
    { PJRT_CLIENT_DEVICES, list_devices, "devices" },
    { PJRT_CLIENT_ADDRESSABLE_DEVICES, list_here, "addressable_devices" },
    { PJRT_CLIENT_COMPILE, compile, "compile" },
    { PJRT_CLIENT_BUFFER_FROM_HOST_BUFFER, from_host, "from_host" },
    { PJRT_DESCRIPTION_ID, description_number, "description_id" },
    { PJRT_DESCRIPTION_PROCESS_INDEX, description_number, "description_process" },
    { PJRT_DESCRIPTION_KIND, platform_name, "description_kind" },
    { PJRT_DEVICE_GET_DESCRIPTION, description, "description" },
    { PJRT_DEVICE_MEMORY_STATS, device_memory, "device_memory" },
    { PJRT_EXECUTABLE_DESTROY, nothing, "executable_destroy" },
    { PJRT_EXECUTABLE_NUM_OUTPUTS, count_outputs, "outputs" },
    { PJRT_EXECUTABLE_SERIALIZE, serialize, "serialize" },
    { PJRT_LOADED_DESTROY, nothing, "loaded_destroy" },
    { PJRT_LOADED_GET_EXECUTABLE, get_executable, "get_executable" },
    { PJRT_LOADED_ADDRESSABLE_DEVICES, list_loaded, "loaded_devices" },
    { PJRT_LOADED_EXECUTE, execute, "execute" },
    { PJRT_DESERIALIZE_AND_LOAD, load, "load" },
    { PJRT_BUFFER_DESTROY, nothing, "buffer_destroy" },
    { PJRT_BUFFER_TO_HOST_BUFFER, to_host, "to_host" },
    { PJRT_EXECUTABLE_MEMORY_STATS, program_memory, "program_memory" },
};

static size_t api_bytes (void)
{
    return lies ("size_small")      ? 400
           : lies ("size_tiny")     ? 8
           : lies ("size_huge")     ? (size_t) 1 << 40
           : lies ("size_negative") ? (size_t) -8
           : lies ("size_odd")      ? 1143
           : lies ("size_early")    ? 800
                                    : 1144;
}

static struct pjrt_version version (void)
{
    struct pjrt_version is = { .struct_size = 24, .major = 0, .minor = 114 };
    is.major = lies ("major_1") ? 1 : lies ("major_negative") ? -1 : 0;
    is.minor = lies ("minor_28")         ? 28
               : lies ("minor_56")       ? 56
               : lies ("minor_negative") ? -114
               : lies ("minor_later")    ? 900
                                         : 114;
    return is;
}

__attribute__ ((visibility ("default"))) const void *GetPjrtApi (void);
const void *GetPjrtApi (void)
{
    struct pjrt_api head = { .struct_size = api_bytes (), .version = version () };
    act ("GetPjrtApi");
    if (lies ("api_null"))
        return NULL;
    if (lies ("api_wild"))
        return (const void *) 4096;
    memcpy (api, &head, sizeof head);
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++)
        if (!lacks (slots[i].name))
            memcpy (api + slots[i].slot, &slots[i].function, sizeof slots[i].function);
    return api;
}
