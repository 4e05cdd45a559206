/* pjrt.h - the part of the PJRT C interface that the probe and the stand-in use, declared by ourselves: its only home here.
 *
 * Source of names, order and types: openxla/xla:xla/pjrt/c/pjrt_c_api.h at minor 114. Offsets were compared with the
 * headers of minors 54, 57, 67, 70, 75, 94 and 114, where they are the same; minor 56 moved everything from offset 600
 * on, and 57 moved it back (its CHANGELOG.md). The interface asks for the size of each structure as its caller knows
 * it, up to the end of the last member and without padding behind it; a plugin refuses a smaller one than it was built
 * with, and takes a larger one. So these are the largest that are known.
 *
 * It knows nothing of plugins, processes or verdicts. */
#ifndef SLICEUP_WORKER_PROBE_PJRT_H
#define SLICEUP_WORKER_PROBE_PJRT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The framework takes no plugin below 0.29 (openxla/xla:xla/pjrt/pjrt_api.cc). */
enum { PJRT_MAJOR = 0, PJRT_MINOR = 114, PJRT_MINOR_LEAST = 29, PJRT_MINOR_MEASURED = 54, PJRT_MINOR_MOVED = 56 };

#define PJRT_HEAD                                                                                                      \
    size_t struct_size;                                                                                                \
    void *extension_start
#define PJRT_SIZE(type, last) (offsetof (type, last) + sizeof (((type *) 0)->last))
/* Zeroed, with its size in it. */
#define PJRT_ARGS(type, last)                                                                                          \
    {                                                                                                                  \
        .struct_size = PJRT_SIZE (type, last)                                                                          \
    }

struct pjrt_version {
    PJRT_HEAD;
    int major, minor;
};
/* Behind it come the slots: pointers to functions that take one pointer and return one. */
struct pjrt_api {
    PJRT_HEAD;
    struct pjrt_version version;
};
static_assert (sizeof (struct pjrt_version) == 24, "PJRT_Api_Version");
static_assert (offsetof (struct pjrt_version, major) == 16, "PJRT_Api_Version");
static_assert (offsetof (struct pjrt_api, version) == 16, "PJRT_Api");
static_assert (sizeof (struct pjrt_api) == 40, "the first slot of PJRT_Api");

/* Offsets in PJRT_Api, by the object of their functions. */
enum { PJRT_ERROR_DESTROY = 40, PJRT_ERROR_MESSAGE = 48, PJRT_ERROR_GET_CODE = 56 };
enum { PJRT_PLUGIN_INITIALIZE = 64, PJRT_PLUGIN_ATTRIBUTES = 72, PJRT_EVENT_DESTROY = 80, PJRT_EVENT_AWAIT = 104 };
enum { PJRT_CLIENT_CREATE = 120, PJRT_CLIENT_DESTROY = 128, PJRT_CLIENT_PLATFORM_NAME = 136 };
enum { PJRT_CLIENT_PROCESS_INDEX = 144, PJRT_CLIENT_PLATFORM_VERSION = 152, PJRT_CLIENT_DEVICES = 160 };
enum { PJRT_CLIENT_ADDRESSABLE_DEVICES = 168, PJRT_CLIENT_COMPILE = 200, PJRT_CLIENT_BUFFER_FROM_HOST_BUFFER = 216 };
enum { PJRT_DESCRIPTION_ID = 224, PJRT_DESCRIPTION_PROCESS_INDEX = 232, PJRT_DESCRIPTION_KIND = 248 };
enum { PJRT_DEVICE_GET_DESCRIPTION = 272, PJRT_DEVICE_MEMORY_STATS = 312 };
enum { PJRT_EXECUTABLE_DESTROY = 360, PJRT_EXECUTABLE_NUM_OUTPUTS = 392, PJRT_EXECUTABLE_SERIALIZE = 432 };
enum { PJRT_LOADED_DESTROY = 440, PJRT_LOADED_GET_EXECUTABLE = 448, PJRT_LOADED_ADDRESSABLE_DEVICES = 456 };
enum { PJRT_LOADED_EXECUTE = 480, PJRT_DESERIALIZE_AND_LOAD = 488 };
enum { PJRT_BUFFER_DESTROY = 504, PJRT_BUFFER_TO_HOST_BUFFER = 600 };
enum { PJRT_API_LEAST_BYTES = 608 };         /* through the last of these */
enum { PJRT_EXECUTABLE_MEMORY_STATS = 808 }; /* late: only where struct_size covers it */

/* Replaced or called by the stand-in only. Those from 1064 on are late. */
enum { PJRT_CLIENT_LOOKUP_ADDRESSABLE_DEVICE = 184, PJRT_CLIENT_ADDRESSABLE_MEMORIES = 192 };
enum { PJRT_DESCRIPTION_ATTRIBUTES = 240, PJRT_DESCRIPTION_DEBUG_STRING = 256, PJRT_DESCRIPTION_TO_STRING = 264 };
enum { PJRT_DEVICE_IS_ADDRESSABLE = 280, PJRT_DEVICE_LOCAL_HARDWARE_ID = 288, PJRT_DEVICE_ADDRESSABLE_MEMORIES = 296 };
enum { PJRT_EXECUTABLE_OPTIMIZED_PROGRAM = 424 }; /* struct pjrt_other_object_args with a struct pjrt_program_source */
enum { PJRT_EXECUTABLE_NAME = 368, PJRT_BUFFER_ELEMENT_TYPE = 512, PJRT_BUFFER_DIMENSIONS = 520 };
enum { PJRT_TOPOLOGY_PLATFORM_NAME = 712, PJRT_TOPOLOGY_PLATFORM_VERSION = 720 };
enum {
    PJRT_DEVICE_GET_ATTRIBUTES = 1064,
    PJRT_LOADED_ADDRESSABLE_LOGICAL_IDS = 1080,
    PJRT_ERROR_FOR_EACH_PAYLOAD = 1096
};

/* The codes are those of absl::Status. */
enum pjrt_code {
    PJRT_OK = 0,
    PJRT_UNKNOWN = 2,
    PJRT_INVALID_ARGUMENT = 3,
    PJRT_NOT_FOUND = 5,
    PJRT_PERMISSION_DENIED = 7,
    PJRT_RESOURCE_EXHAUSTED = 8,
    PJRT_FAILED_PRECONDITION = 9,
    PJRT_ABORTED = 10,
    PJRT_UNIMPLEMENTED = 12,
    PJRT_INTERNAL = 13,
    PJRT_UNAVAILABLE = 14,
    PJRT_CODES = 17
};
enum pjrt_value_type { PJRT_STRING = 0, PJRT_INT64, PJRT_INT64_LIST, PJRT_FLOAT, PJRT_BOOL };
enum { PJRT_F32 = 11, PJRT_ONLY_DURING_CALL = 0 }; /* PJRT_Buffer_Type_F32; the first of PJRT_HostBufferSemantics */

struct pjrt_error_destroy {
    PJRT_HEAD;
    void *error;
};
struct pjrt_error_message {
    PJRT_HEAD;
    const void *error;
    const char *message;
    size_t message_size;
};
struct pjrt_error_get_code {
    PJRT_HEAD;
    const void *error;
    int code;
};
static_assert (sizeof (struct pjrt_error_destroy) == 24, "PJRT_Error_Destroy_Args");
static_assert (sizeof (struct pjrt_error_message) == 40, "PJRT_Error_Message_Args");
static_assert (PJRT_SIZE (struct pjrt_error_get_code, code) == 28, "PJRT_Error_GetCode_Args");

struct pjrt_named_value {
    PJRT_HEAD;
    const char *name;
    size_t name_size;
    int type;
    union {
        const char *text;
        int64_t int64;
        const int64_t *int64_list;
        float number;
        bool truth;
    } value;
    size_t value_size;
};
static_assert (offsetof (struct pjrt_named_value, type) == 32, "PJRT_NamedValue");
static_assert (offsetof (struct pjrt_named_value, value) == 40, "PJRT_NamedValue");
static_assert (sizeof (struct pjrt_named_value) == 56, "PJRT_NamedValue");

struct pjrt_plugin_initialize {
    PJRT_HEAD;
};
struct pjrt_plugin_attributes {
    PJRT_HEAD;
    const struct pjrt_named_value *attributes;
    size_t attributes_n;
};
static_assert (sizeof (struct pjrt_plugin_initialize) == 16, "PJRT_Plugin_Initialize_Args");
static_assert (sizeof (struct pjrt_plugin_attributes) == 32, "PJRT_Plugin_Attributes_Args; 24 before June 2025");

/* One object and nothing else: all that destroy, and PJRT_Event_Await. */
struct pjrt_object_args {
    PJRT_HEAD;
    void *object;
};
/* One object, and a text, number, list or other object of it. */
struct pjrt_text_args {
    PJRT_HEAD;
    void *object;
    const char *text;
    size_t text_size;
};
struct pjrt_number_args {
    PJRT_HEAD;
    void *object;
    int number;
};
struct pjrt_count_args {
    PJRT_HEAD;
    void *object;
    size_t count;
};
struct pjrt_list_args {
    PJRT_HEAD;
    void *object;
    void *const *items;
    size_t items_n;
};
struct pjrt_other_object_args {
    PJRT_HEAD;
    void *object;
    void *other;
};
static_assert (sizeof (struct pjrt_object_args) == 24, "PJRT_Event_Await_Args and all ..._Destroy_Args");
static_assert (sizeof (struct pjrt_text_args) == 40, "PJRT_Client_PlatformName_Args");
static_assert (PJRT_SIZE (struct pjrt_number_args, number) == 28, "PJRT_Client_ProcessIndex_Args");
static_assert (sizeof (struct pjrt_count_args) == 32, "PJRT_Executable_NumOutputs_Args");
static_assert (sizeof (struct pjrt_list_args) == 40, "PJRT_Client_Devices_Args");
static_assert (sizeof (struct pjrt_other_object_args) == 32, "PJRT_Device_GetDescription_Args");

/* An object, a number or object that is asked about, and what is found. */
struct pjrt_truth_args {
    PJRT_HEAD;
    void *object;
    bool truth;
};
struct pjrt_lookup_args {
    PJRT_HEAD;
    void *object;
    int number;
    void *found;
};
/* num_attributes comes first. */
struct pjrt_attributes_args {
    PJRT_HEAD;
    void *object;
    size_t attributes_n;
    const struct pjrt_named_value *attributes;
};
/* attributes come first, and belong to `owner`. */
struct pjrt_owned_attributes_args {
    PJRT_HEAD;
    void *object;
    const struct pjrt_named_value *attributes;
    size_t attributes_n;
    void *owner;
    void (*release) (void *owner);
};
static_assert (PJRT_SIZE (struct pjrt_truth_args, truth) == 25, "PJRT_Device_IsAddressable_Args");
static_assert (sizeof (struct pjrt_lookup_args) == 40, "PJRT_Client_LookupAddressableDevice_Args");
static_assert (sizeof (struct pjrt_attributes_args) == 40, "PJRT_DeviceDescription_Attributes_Args");
static_assert (sizeof (struct pjrt_owned_attributes_args) == 56, "PJRT_Device_GetAttributes_Args");

struct pjrt_logical_id {
    int replica, partition;
};
struct pjrt_logical_ids_args {
    PJRT_HEAD;
    void *object;
    const struct pjrt_logical_id *ids;
    size_t ids_n;
};
static_assert (sizeof (struct pjrt_logical_ids_args) == 40, "PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args");

struct pjrt_dims_args {
    PJRT_HEAD;
    void *object;
    const int64_t *dims;
    size_t dims_n;
};
static_assert (sizeof (struct pjrt_dims_args) == 40, "PJRT_Buffer_Dimensions_Args");

struct pjrt_client_create {
    PJRT_HEAD;
    const struct pjrt_named_value *options;
    size_t options_n;
    void *get, *get_argument, *put, *put_argument;
    void *client;
    void *try_get, *try_get_argument;
};
static_assert (offsetof (struct pjrt_client_create, client) == 64, "PJRT_Client_Create_Args");
static_assert (sizeof (struct pjrt_client_create) == 88, "PJRT_Client_Create_Args");

struct pjrt_program_source {
    PJRT_HEAD;
    char *code;
    size_t code_size;
    const char *format;
    size_t format_size;
};
struct pjrt_client_compile {
    PJRT_HEAD;
    void *client;
    const struct pjrt_program_source *program;
    const char *options;
    size_t options_size;
    void *executable;
};
static_assert (sizeof (struct pjrt_program_source) == 48, "PJRT_Program");
static_assert (offsetof (struct pjrt_client_compile, executable) == 48, "PJRT_Client_Compile_Args");
static_assert (sizeof (struct pjrt_client_compile) == 56, "PJRT_Client_Compile_Args");

struct pjrt_from_host {
    PJRT_HEAD;
    void *client;
    const void *bytes;
    int type;
    const int64_t *dims;
    size_t dims_n;
    const int64_t *strides;
    size_t strides_n;
    int semantics;
    void *device, *memory, *layout;
    void *done, *buffer;
};
static_assert (offsetof (struct pjrt_from_host, semantics) == 72, "PJRT_Client_BufferFromHostBuffer_Args");
static_assert (offsetof (struct pjrt_from_host, done) == 104, "PJRT_Client_BufferFromHostBuffer_Args");
static_assert (sizeof (struct pjrt_from_host) == 120, "PJRT_Client_BufferFromHostBuffer_Args");

struct pjrt_execute_options {
    PJRT_HEAD;
    void *send, *recv;
    size_t send_n, recv_n;
    int launch_id;
    const int64_t *not_donatable;
    size_t not_donatable_n;
    void *context;
    const char *call_location;
    size_t tasks_n;
    int *task_ids;
    int64_t *incarnations;
    void *multi_slice;
    bool major_to_minor;
    void *hlo_outputs;
    size_t hlo_outputs_n;
};
struct pjrt_execute {
    PJRT_HEAD;
    void *executable;
    struct pjrt_execute_options *options;
    void *const *const *arguments;
    size_t devices_n, arguments_n;
    void **const *outputs;
    void **complete;
    void *device;
};
static_assert (offsetof (struct pjrt_execute_options, not_donatable) == 56, "PJRT_ExecuteOptions");
static_assert (offsetof (struct pjrt_execute_options, multi_slice) == 112, "PJRT_ExecuteOptions");
static_assert (sizeof (struct pjrt_execute_options) == 144, "PJRT_ExecuteOptions");
static_assert (offsetof (struct pjrt_execute, outputs) == 56, "PJRT_LoadedExecutable_Execute_Args");
static_assert (sizeof (struct pjrt_execute) == 80, "PJRT_LoadedExecutable_Execute_Args");

struct pjrt_to_host {
    PJRT_HEAD;
    void *buffer, *layout, *to;
    size_t to_size;
    void *event;
};
static_assert (sizeof (struct pjrt_to_host) == 56, "PJRT_Buffer_ToHostBuffer_Args");

struct pjrt_serialize {
    PJRT_HEAD;
    const void *executable;
    const char *bytes;
    size_t bytes_size;
    void *owner;
    void (*release) (void *owner);
};
struct pjrt_load {
    PJRT_HEAD;
    void *client;
    const char *bytes;
    size_t bytes_size;
    void *executable;
    const char *options;
    size_t options_size;
    void *load_options;
};
static_assert (sizeof (struct pjrt_serialize) == 56, "PJRT_Executable_Serialize_Args");
static_assert (offsetof (struct pjrt_load, executable) == 40, "PJRT_Executable_DeserializeAndLoad_Args");
static_assert (sizeof (struct pjrt_load) == 72, "PJRT_Executable_DeserializeAndLoad_Args");

struct pjrt_optional_int64 {
    int64_t value;
    bool is_known;
};
struct pjrt_device_memory {
    PJRT_HEAD;
    void *device;
    int64_t in_use;
    struct pjrt_optional_int64 peak, allocations, largest, limit, reserved, peak_reserved, reservable, largest_free,
        pool, peak_pool, peak_allocated;
};
static_assert (offsetof (struct pjrt_device_memory, peak) == 32, "PJRT_Device_MemoryStats_Args");
static_assert (offsetof (struct pjrt_device_memory, limit) == 80, "PJRT_Device_MemoryStats_Args");
static_assert (PJRT_SIZE (struct pjrt_device_memory, peak_allocated.is_known) == 201, "PJRT_Device_MemoryStats_Args");

struct pjrt_program_memory {
    PJRT_HEAD;
    void *executable;
    int64_t code, arguments, outputs, aliases, temporaries;
    int64_t host_code, host_arguments, host_outputs, host_aliases, host_temporaries;
    int64_t peak, total, total_allocations, indefinite, peak_unpadded;
};
static_assert (sizeof (struct pjrt_program_memory) == 144, "PJRT_Executable_GetCompiledMemoryStats_Args");

/* A function of the table; NULL: the table ends before it, or it is empty. */
typedef void *pjrt_fn (void *args);
static inline pjrt_fn *pjrt_function (const struct pjrt_api *api, size_t slot)
{
    pjrt_fn *function = NULL;
    if (slot + sizeof function <= api->struct_size)
        memcpy (&function, (const char *) api + slot, sizeof function);
    return function;
}

#endif
