#include "worker/probe/child_report.h"

#include <string.h>

enum { NAME_TOLD_MAX = 255, VERSION_TOLD_MAX = 1000 };

static int create (struct client *client, const struct pjrt_named_value *options, size_t options_n)
{
    struct pjrt_client_create create = PJRT_ARGS (struct pjrt_client_create, try_get_argument);
    create.options = options;
    create.options_n = options_n;
    child_report_step (STAGE_CLIENT);
    if (plugin_call (client->plugin, PJRT_CLIENT_CREATE, &create) < 0)
        return -1;
    if (!create.client)
        return child_report_wrong (OWNER_BUNDLE, "the plugin reports that it made a client, but returns none");
    client->client = create.client;
    return 0;
}

/* ---- platform ---- */

static int tell_text (struct client *client, size_t slot, void *object, const char *name, uint32_t max)
{
    struct pjrt_text_args get = PJRT_ARGS (struct pjrt_text_args, text_size);
    get.object = object;
    if (plugin_call (client->plugin, slot, &get) < 0)
        return -1;
    struct text text = plugin_text (client->plugin, get.text, get.text_size, max);
    if (!text.len || (text.len < get.text_size && text.len < max))
        return child_report_wrong (OWNER_BUNDLE, "the plugin's %s has %zu bytes, of which %u can be read", name,
                                   get.text_size, text.len);
    child_report_value (name, text);
    return 0;
}

static int get_number (struct client *client, size_t slot, void *object, int *out)
{
    struct pjrt_number_args get = PJRT_ARGS (struct pjrt_number_args, number);
    get.object = object;
    int rc = plugin_call (client->plugin, slot, &get);
    *out = get.number;
    return rc;
}

static bool is_process (int index)
{
    return index >= 0 && index < DEVICES_LISTED_MAX;
}

static int tell_platform (struct client *client)
{
    int index = 0;
    child_report_step (STAGE_PLATFORM);
    if (tell_text (client, PJRT_CLIENT_PLATFORM_NAME, client->client, "platform.name", NAME_TOLD_MAX) < 0 ||
        tell_text (client, PJRT_CLIENT_PLATFORM_VERSION, client->client, "platform.version", VERSION_TOLD_MAX) < 0 ||
        get_number (client, PJRT_CLIENT_PROCESS_INDEX, client->client, &index) < 0)
        return -1;
    if (!is_process (index))
        return child_report_wrong (OWNER_BUNDLE, "the plugin reports the invalid number %d of this process", index);
    child_report_number ("process.index", index);
    return 0;
}

/* ---- devices ---- */

/* As a list of its own in the plugin's arena; NULL: said. */
static void **get_devices (struct client *client, size_t slot, const char *what, size_t *n)
{
    struct pjrt_list_args list = PJRT_ARGS (struct pjrt_list_args, items_n);
    struct plugin *plugin = client->plugin;
    list.object = client->client;
    if (plugin_call (plugin, slot, &list) < 0)
        return NULL;
    *n = list.items_n;
    size_t bytes = *n <= DEVICES_LISTED_MAX ? *n * sizeof (void *) : 0;
    struct text raw = plugin_text (plugin, (const char *) list.items, bytes, DEVICES_LISTED_MAX * sizeof (void *));
    void **items = arena_array (&plugin->arena, *n && bytes ? *n : 1, sizeof *items);
    if (*n > DEVICES_LISTED_MAX || raw.len < bytes)
        child_report_wrong (OWNER_BUNDLE, "the plugin reports %zu %s, but the list that it returns cannot be read", *n,
                            what);
    else if (*n == 0)
        child_report_wrong (OWNER_HOST, "the plugin's client has no %s", what);
    else
        return memcpy (items, raw.ptr, raw.len);
    return NULL;
}

static void *description_of (struct client *client, void *device)
{
    struct pjrt_other_object_args get = PJRT_ARGS (struct pjrt_other_object_args, other);
    get.object = device;
    if (!device)
        child_report_wrong (OWNER_BUNDLE, "one entry of the plugin's list of devices is empty");
    else if (plugin_call (client->plugin, PJRT_DEVICE_GET_DESCRIPTION, &get) == 0 && !get.other)
        child_report_wrong (OWNER_BUNDLE, "one of the plugin's devices has no description");
    return get.other;
}

/* Processes are numbered from 0: as many as the highest says. Each device costs two lines of what may be said. */
static int count_processes (struct client *client, void **devices, size_t n)
{
    int most = 0;
    if (n > DEVICES_COUNTED_MAX) {
        child_report_note (
            "the plugin has %zu devices, too many to ask each for its process: the processes are not counted", n);
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        int index;
        void *description = description_of (client, devices[i]);
        if (!description || get_number (client, PJRT_DESCRIPTION_PROCESS_INDEX, description, &index) < 0)
            return -1;
        if (!is_process (index))
            return child_report_wrong (OWNER_BUNDLE, "the plugin reports the invalid process number %d of a device",
                                       index);
        most = index > most ? index : most;
    }
    child_report_number ("process.count", (int64_t) most + 1);
    return 0;
}

static int tell_first (struct client *client)
{
    int id;
    void *description = description_of (client, client->device);
    if (!description || get_number (client, PJRT_DESCRIPTION_ID, description, &id) < 0)
        return -1;
    child_report_number ("device.id", id);
    return tell_text (client, PJRT_DESCRIPTION_KIND, description, "device.kind", NAME_TOLD_MAX);
}

static int tell_devices (struct client *client)
{
    size_t all_n, here_n;
    child_report_step (STAGE_DEVICES);
    void **all = get_devices (client, PJRT_CLIENT_DEVICES, "devices", &all_n);
    if (!all)
        return -1;
    child_report_number ("devices.all", (int64_t) all_n);
    void **here = get_devices (client, PJRT_CLIENT_ADDRESSABLE_DEVICES, "devices of this host", &here_n);
    if (!here)
        return -1;
    child_report_number ("devices.here", (int64_t) here_n);
    if (here_n > all_n)
        return child_report_wrong (OWNER_BUNDLE, "the plugin reports %zu devices in all, but %zu of this host", all_n,
                                   here_n);
    client->device = here[0];
    return count_processes (client, all, all_n) < 0 ? -1 : tell_first (client);
}

/* ---- its life ---- */

int pjrt_client_open (struct client *client, struct plugin *plugin, const struct pjrt_named_value *options, size_t n)
{
    *client = (struct client){ .plugin = plugin };
    if (create (client, options, n) < 0 || tell_platform (client) < 0)
        return -1;
    return tell_devices (client);
}

static void tell_count (const char *name, struct pjrt_optional_int64 said)
{
    if (said.is_known && said.value < 0)
        child_report_note ("the plugin reports %s of %lld bytes", name, (long long) said.value);
    else if (said.is_known)
        child_report_number (name, said.value);
}

int pjrt_client_report_memory (struct client *client)
{
    struct pjrt_device_memory memory = PJRT_ARGS (struct pjrt_device_memory, peak_allocated.is_known);
    struct plugin_error refusal;
    memory.device = client->device;
    if (plugin_try (client->plugin, PJRT_DEVICE_MEMORY_STATS, &memory, &refusal) < 0)
        return child_report_failure (refusal.code == PJRT_UNIMPLEMENTED, refusal.code, refusal.text);
    tell_count ("memory.in_use", (struct pjrt_optional_int64){ memory.in_use, true });
    tell_count ("memory.peak", memory.peak);
    tell_count ("memory.limit", memory.limit);
    tell_count ("memory.largest_free", memory.largest_free);
    return 0;
}

int pjrt_client_close (struct client *client)
{
    struct pjrt_object_args destroy = PJRT_ARGS (struct pjrt_object_args, object);
    destroy.object = client->client;
    return plugin_call (client->plugin, PJRT_CLIENT_DESTROY, &destroy);
}
