#include "worker/probe/child_report.h"

#include "common/base/digest.h"
#include "common/io/fd.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The largest known is 1144; a structure of a page's size is none of this interface. */
enum { API_BYTES_MAX = 16 * 1024, ATTRIBUTES_MAX = 256, LIST_MAX = 8, ATTRIBUTE_BYTES_MAX = 255 };

#define SLOT(offset, name)                                                                                             \
    {                                                                                                                  \
        offset, "PJRT_" name                                                                                           \
    }
static const struct {
    size_t offset;
    const char *name;
} slots[] = {
    SLOT (PJRT_ERROR_DESTROY, "Error_Destroy"), SLOT (PJRT_ERROR_MESSAGE, "Error_Message"),
    SLOT (PJRT_ERROR_GET_CODE, "Error_GetCode"), SLOT (PJRT_PLUGIN_INITIALIZE, "Plugin_Initialize"),
    SLOT (PJRT_PLUGIN_ATTRIBUTES, "Plugin_Attributes"), SLOT (PJRT_EVENT_DESTROY, "Event_Destroy"),
    SLOT (PJRT_EVENT_AWAIT, "Event_Await"), SLOT (PJRT_CLIENT_CREATE, "Client_Create"),
    SLOT (PJRT_CLIENT_DESTROY, "Client_Destroy"), SLOT (PJRT_CLIENT_PLATFORM_NAME, "Client_PlatformName"),
    SLOT (PJRT_CLIENT_PROCESS_INDEX, "Client_ProcessIndex"),
    SLOT (PJRT_CLIENT_PLATFORM_VERSION, "Client_PlatformVersion"), SLOT (PJRT_CLIENT_DEVICES, "Client_Devices"),
    SLOT (PJRT_CLIENT_ADDRESSABLE_DEVICES, "Client_AddressableDevices"), SLOT (PJRT_CLIENT_COMPILE, "Client_Compile"),
    SLOT (PJRT_CLIENT_BUFFER_FROM_HOST_BUFFER, "Client_BufferFromHostBuffer"),
    SLOT (PJRT_DESCRIPTION_ID, "DeviceDescription_Id"),
    SLOT (PJRT_DESCRIPTION_PROCESS_INDEX, "DeviceDescription_ProcessIndex"),
    SLOT (PJRT_DESCRIPTION_KIND, "DeviceDescription_Kind"), SLOT (PJRT_DEVICE_GET_DESCRIPTION, "Device_GetDescription"),
    SLOT (PJRT_DEVICE_MEMORY_STATS, "Device_MemoryStats"), SLOT (PJRT_EXECUTABLE_DESTROY, "Executable_Destroy"),
    SLOT (PJRT_EXECUTABLE_NUM_OUTPUTS, "Executable_NumOutputs"),
    SLOT (PJRT_EXECUTABLE_SERIALIZE, "Executable_Serialize"), SLOT (PJRT_LOADED_DESTROY, "LoadedExecutable_Destroy"),
    SLOT (PJRT_LOADED_GET_EXECUTABLE, "LoadedExecutable_GetExecutable"),
    SLOT (PJRT_LOADED_ADDRESSABLE_DEVICES, "LoadedExecutable_AddressableDevices"),
    SLOT (PJRT_LOADED_EXECUTE, "LoadedExecutable_Execute"),
    SLOT (PJRT_DESERIALIZE_AND_LOAD, "Executable_DeserializeAndLoad"), SLOT (PJRT_BUFFER_DESTROY, "Buffer_Destroy"),
    SLOT (PJRT_BUFFER_TO_HOST_BUFFER, "Buffer_ToHostBuffer"),
    /* From here on it may be missing. */
    SLOT (PJRT_EXECUTABLE_MEMORY_STATS, "Executable_GetCompiledMemoryStats")
};
enum { SLOTS_N = sizeof slots / sizeof slots[0], SLOTS_NEEDED = SLOTS_N - 1 };

/* Measured from the headers of these minors. */
static const struct {
    int minor;
    size_t bytes;
} known_sizes[] = { { 54, 808 }, { 57, 848 }, { 67, 936 }, { 70, 944 }, { 75, 960 }, { 94, 1072 }, { 114, 1144 } };

/* ---- calls ---- */

bool plugin_has (const struct plugin *plugin, size_t slot)
{
    return pjrt_function (plugin->api, slot) != NULL;
}

static const char *slot_name (size_t slot)
{
    uint32_t i = 0;
    while (slots[i].offset != slot)
        i++;
    return slots[i].name;
}

static void *call (struct plugin *plugin, size_t slot, void *args)
{
    child_report_call (slot_name (slot));
    return pjrt_function (plugin->api, slot) (args);
}

struct text plugin_text (struct plugin *plugin, const char *ptr, size_t bytes, uint32_t max)
{
    size_t wanted = bytes < max ? bytes : max, got = 0, step = 64;
    char *copy = arena_alloc (&plugin->arena, wanted + 1);
    while (ptr && got < wanted && step) {
        size_t n = wanted - got < step ? wanted - got : step;
        /* EFAULT: it cannot be read. The bare call: a sanitizer would look at the address before the kernel does. */
        ssize_t put = (ssize_t) syscall (SYS_write, plugin->copy_fds[1], ptr + got, n);
        if (put > 0 && read (plugin->copy_fds[0], copy + got, (size_t) put) == put)
            got += (size_t) put;
        else
            step = step > 1 ? 1 : 0;
    }
    return (struct text){ copy, (uint32_t) got };
}

static struct text error_text (struct plugin *plugin, const void *error)
{
    struct pjrt_error_message message = PJRT_ARGS (struct pjrt_error_message, message_size);
    message.error = error;
    (void) call (plugin, PJRT_ERROR_MESSAGE, &message); /* returns nothing */
    struct text text = plugin_text (plugin, message.message, message.message_size, REPORTER_TEXT_MAX / 2);
    if (text.len < message.message_size)
        text = text_format (&plugin->arena, "%.*s (of a message of %zu bytes%s)", TEXT_ARG (text), message.message_size,
                            text.len < REPORTER_TEXT_MAX / 2 ? ", the rest of which cannot be read" : "");
    return text;
}

int plugin_try (struct plugin *plugin, size_t slot, void *args, struct plugin_error *refusal)
{
    void *error = call (plugin, slot, args);
    if (!error)
        return 0;
    struct pjrt_error_get_code code = PJRT_ARGS (struct pjrt_error_get_code, code);
    struct pjrt_error_destroy destroy = PJRT_ARGS (struct pjrt_error_destroy, error);
    code.error = destroy.error = error;
    refusal->text = error_text (plugin, error);
    (void) call (plugin, PJRT_ERROR_GET_CODE, &code); /* an error about an error adds nothing */
    refusal->code = code.code;
    (void) call (plugin, PJRT_ERROR_DESTROY, &destroy);
    child_report_call (slot_name (slot)); /* what is said next is about this one again */
    return -1;
}

int plugin_call (struct plugin *plugin, size_t slot, void *args)
{
    struct plugin_error refusal;
    return plugin_try (plugin, slot, args, &refusal) < 0 ? child_report_refused (refusal.code, refusal.text) : 0;
}

/* ---- file ---- */

static int tell_digest (int fd)
{
    struct digest digest;
    struct err err = { 0 };
    uint64_t bytes = 0;
    if (digest_of_fd (fd, &digest, &bytes, &err) < 0)
        return child_report_wrong (OWNER_HOST, "%s", err.text);
    child_report_number ("plugin.bytes", (int64_t) bytes);
    child_report_value ("plugin.sha256", text_of (DIGEST_TEXT (&digest)));
    return 0;
}

static int look_at_file (const struct plugin *plugin)
{
    struct stat at;
    child_report_step (STAGE_FILE);
    /* O_NONBLOCK: a pipe of that name must not stop us. */
    LOCAL_FD fd = open (plugin->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat (fd, &at) < 0) {
        enum owner owner = errno == ENOENT || errno == ENOTDIR ? OWNER_BUNDLE : OWNER_HOST;
        return child_report_wrong (owner, "cannot read the plugin %s: %s", plugin->path, strerror (errno));
    }
    return S_ISREG (at.st_mode)
               ? tell_digest (fd)
               : child_report_wrong (OWNER_BUNDLE, "the plugin %s is not a regular file", plugin->path);
}

/* ---- load, interface ---- */

static int check_size (const struct plugin *plugin)
{
    size_t bytes = plugin->api_bytes;
    if (bytes < sizeof (struct pjrt_api) || bytes > API_BYTES_MAX || bytes % sizeof (void *))
        return child_report_wrong (
            OWNER_BUNDLE,
            "the plugin reports that its structure PJRT_Api has %zu bytes; expected %d to %d, a multiple of "
            "%zu: this probe does not know such a PJRT plugin",
            bytes, (int) PJRT_API_LEAST_BYTES, (int) API_BYTES_MAX, sizeof (void *));
    return 0;
}

static int check_version (const struct plugin *plugin)
{
    int major = plugin->api->version.major, minor = plugin->minor;
    child_report_number ("api.major", major);
    child_report_number ("api.minor", minor);
    if (major != PJRT_MAJOR || minor < 0)
        return child_report_wrong (
            OWNER_BUNDLE,
            "the plugin's PJRT interface is %d.%d; expected %d.%d or later: another major version "
            "has other structures",
            major, minor, PJRT_MAJOR, PJRT_MINOR_LEAST);
    if (minor < PJRT_MINOR_LEAST)
        return child_report_wrong (
            OWNER_BUNDLE, "the plugin's PJRT interface is %d.%d; expected %d.%d or later, as the frameworks do", major,
            minor, PJRT_MAJOR, PJRT_MINOR_LEAST);
    if (minor == PJRT_MINOR_MOVED)
        return child_report_wrong (
            OWNER_BUNDLE,
            "the plugin's PJRT interface is exactly 0.56. Only in 0.56 the functions from offset 600 on have "
            "other places (0.57 moved them back): a call would reach the wrong function");
    return 0;
}

static void note_version (const struct plugin *plugin)
{
    if (plugin->minor > PJRT_MINOR)
        child_report_note (
            "the plugin's PJRT interface 0.%d is later than 0.%d, the latest that this probe was tested against",
            plugin->minor, PJRT_MINOR);
    if (plugin->minor < PJRT_MINOR_MEASURED)
        child_report_note (
            "the plugin's PJRT interface 0.%d is older than 0.%d, the oldest that this probe was tested against",
            plugin->minor, PJRT_MINOR_MEASURED);
    for (size_t i = 0; i < sizeof known_sizes / sizeof known_sizes[0]; i++)
        if (plugin->minor == known_sizes[i].minor && plugin->api_bytes != known_sizes[i].bytes)
            child_report_note (
                "the plugin's structure PJRT_Api has %zu bytes, but that of PJRT 0.%d has %zu: the plugin was built "
                "from a changed or unreleased interface",
                plugin->api_bytes, plugin->minor, known_sizes[i].bytes);
}

static int check_slots (struct plugin *plugin)
{
    struct text missing = { 0 };
    if (plugin->api_bytes < PJRT_API_LEAST_BYTES)
        return child_report_wrong (
            OWNER_BUNDLE,
            "the plugin's structure PJRT_Api has %zu bytes; expected at least %d: it ends before "
            "%s",
            plugin->api_bytes, (int) PJRT_API_LEAST_BYTES, slots[SLOTS_NEEDED - 1].name);
    for (uint32_t i = 0; i < SLOTS_NEEDED; i++)
        if (!plugin_has (plugin, slots[i].offset))
            missing = text_format (&plugin->arena, "%.*s%s%s", TEXT_ARG (missing), missing.len ? ", " : "",
                                   slots[i].name);
    if (missing.len)
        return child_report_wrong (OWNER_BUNDLE, "the plugin's PJRT interface has no %.*s", TEXT_ARG (missing));
    return 0;
}

static int check_interface (struct plugin *plugin, const struct pjrt_api *(*get) (void) )
{
    child_report_step (STAGE_INTERFACE);
    child_report_call ("GetPjrtApi");
    plugin->api = get ();
    if (!plugin->api)
        return child_report_wrong (OWNER_BUNDLE, "the plugin's GetPjrtApi returns nothing");
    plugin->api_bytes = plugin->api->struct_size;
    child_report_value ("api.struct_size", text_format (&plugin->arena, "%zu", plugin->api_bytes));
    if (check_size (plugin) < 0)
        return -1;
    plugin->minor = plugin->api->version.minor;
    if (check_version (plugin) < 0 || check_slots (plugin) < 0)
        return -1;
    note_version (plugin);
    return 0;
}

static int load (struct plugin *plugin)
{
    const struct pjrt_api *(*get) (void);
    child_report_step (STAGE_LOAD);
    child_report_call ("dlopen");
    plugin->library = dlopen (plugin->path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin->library)
        return child_report_wrong (OWNER_BUNDLE, "Failed to open %s: %s", plugin->path, dlerror ());
    void *symbol = dlsym (plugin->library, "GetPjrtApi");
    if (!symbol)
        return child_report_wrong (OWNER_BUNDLE, "GetPjrtApi not found in %s: it is not a PJRT plugin", plugin->path);
    memcpy (&get, &symbol, sizeof get);
    return check_interface (plugin, get);
}

int plugin_open (struct plugin *plugin, const char *path)
{
    *plugin = (struct plugin){ .path = path };
    if (pipe2 (plugin->copy_fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return child_report_wrong (OWNER_HOST, "cannot make a pipe: %s", strerror (errno));
    return look_at_file (plugin) < 0 ? -1 : load (plugin);
}

/* ---- initialize, attributes ---- */

static struct text number_list (struct plugin *plugin, const struct pjrt_named_value *value)
{
    struct text text = { 0 };
    int64_t numbers[LIST_MAX];
    size_t n = value->value_size < LIST_MAX ? value->value_size : LIST_MAX;
    struct text bytes = plugin_text (plugin, (const char *) value->value.int64_list, n * sizeof numbers[0],
                                     sizeof numbers);
    memcpy (numbers, bytes.ptr, bytes.len);
    for (size_t i = 0; i < bytes.len / sizeof numbers[0]; i++) /* a version: 1.10.3 */
        text = text_format (&plugin->arena, "%.*s%s%" PRId64, TEXT_ARG (text), i ? "." : "", numbers[i]);
    return text;
}

static struct text value_text (struct plugin *plugin, const struct pjrt_named_value *value)
{
    switch (value->type) {
    case PJRT_STRING: return plugin_text (plugin, value->value.text, value->value_size, ATTRIBUTE_BYTES_MAX);
    case PJRT_INT64: return text_format (&plugin->arena, "%" PRId64, value->value.int64);
    case PJRT_INT64_LIST: return number_list (plugin, value);
    case PJRT_FLOAT: return text_format (&plugin->arena, "%.9g", (double) value->value.number);
    case PJRT_BOOL: return value->value.truth ? TEXT_LIT ("true") : TEXT_LIT ("false");
    default: return text_format (&plugin->arena, "a value of unknown type %d", value->type);
    }
}

/* The known ones only: what is said has to have a bound. -1: none of them. */
static int wanted_index (struct text name)
{
    static const char *const wanted[] = { "xla_version", "stablehlo_current_version", "stablehlo_minimum_version" };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (text_is (name, wanted[i]))
            return (int) i;
    return -1;
}

/* `told`: a bit each; one that is there twice is told once. */
static int tell_attribute (struct plugin *plugin, const struct pjrt_plugin_attributes *list, size_t at, unsigned *told)
{
    struct pjrt_named_value value;
    struct text raw = plugin_text (plugin, (const char *) &list->attributes[at], sizeof value, sizeof value);
    if (raw.len < sizeof value)
        return child_report_wrong (OWNER_BUNDLE, "attribute %zu of the plugin's %zu cannot be read", at + 1,
                                   list->attributes_n);
    memcpy (&value, raw.ptr, sizeof value);
    struct text name = plugin_text (plugin, value.name, value.name_size, REPORTER_NAME_MAX);
    int index = wanted_index (name);
    if (index < 0 || *told & 1u << index)
        return 0;
    *told |= 1u << index;
    child_report_value (text_copy (&plugin->arena, name).ptr, value_text (plugin, &value));
    return 0;
}

static int tell_attributes (struct plugin *plugin)
{
    struct pjrt_plugin_attributes list = PJRT_ARGS (struct pjrt_plugin_attributes, attributes_n);
    struct plugin_error refusal;
    unsigned told = 0;
    child_report_step (STAGE_ATTRIBUTES);
    if (plugin_try (plugin, PJRT_PLUGIN_ATTRIBUTES, &list, &refusal) < 0)
        return child_report_failure (refusal.code == PJRT_UNIMPLEMENTED, refusal.code, refusal.text);
    if (list.attributes_n > ATTRIBUTES_MAX || (list.attributes_n && !list.attributes))
        return child_report_wrong (OWNER_BUNDLE, "the plugin reports %zu attributes%s", list.attributes_n,
                                   list.attributes ? ", which is too many" : ", but returns none");
    for (size_t i = 0; i < list.attributes_n; i++)
        if (tell_attribute (plugin, &list, i, &told) < 0)
            return -1;
    return 0;
}

int plugin_initialize (struct plugin *plugin)
{
    struct pjrt_plugin_initialize initialize = PJRT_ARGS (struct pjrt_plugin_initialize, extension_start);
    child_report_step (STAGE_INITIALIZE);
    if (plugin_call (plugin, PJRT_PLUGIN_INITIALIZE, &initialize) < 0)
        return -1;
    return tell_attributes (plugin);
}
