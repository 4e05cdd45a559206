#include "worker/standin/client.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "worker/standin/metadata.h"
#include "worker/standin/place.h"
#include "worker/standin/real.h"

/* ---- device lock ---- */

/* Takes the devices of this host for this process, until it ends; refuses with libtpu's texts when another
 * process has them.
 *
 * What is taken are names of the abstract socket space, which a process loses when it ends: of this network namespace, or, where
 * several hosts are in one, of `host`. libtpu's lock comes first (openxla/xla:xla/tpu/tpu_initialize_util.cc); the device itself
 * refuses a second opener also where that lock is switched off. A file /dev/vfio/0 is kept open where there is one, so that whoever
 * looks for holders of devices finds this process. */

/* The first byte of an abstract name is 0. */
static socklen_t client_name_of (const char *what, const char *host, struct sockaddr_un *name)
{
    *name = (struct sockaddr_un){ .sun_family = AF_UNIX };
    int len = snprintf (name->sun_path + 1, sizeof name->sun_path - 1, "sliceup stand-in %s %.64s", what,
                        host ? host : "");
    return (socklen_t) (offsetof (struct sockaddr_un, sun_path) + 1 + (size_t) len);
}

/* 0: nobody that can be told. Nobody takes connections there: so none is waited for. */
static pid_t holder_of (const struct sockaddr_un *name, socklen_t len)
{
    struct ucred who = { 0 };
    socklen_t who_len = sizeof who;
    int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool known = fd >= 0 && connect (fd, (const struct sockaddr *) name, len) == 0 &&
                 getsockopt (fd, SOL_SOCKET, SO_PEERCRED, &who, &who_len) == 0;
    if (fd >= 0)
        close (fd);
    return known ? who.pid : 0;
}

/* The descriptor stays open until the process ends. False: another process has the name. */
static bool client_take (const char *what, const char *host, pid_t *holder)
{
    struct sockaddr_un name;
    socklen_t len = client_name_of (what, host, &name);
    int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind (fd, (const struct sockaddr *) &name, len) == 0 && listen (fd, SOMAXCONN) == 0)
        return true;
    if (fd >= 0)
        close (fd);
    *holder = holder_of (&name, len);
    return false;
}

static int refuse_held (pid_t holder, struct refusal *refusal)
{
    if (holder <= 0)
        return refuse (
            refusal, PJRT_ABORTED,
            "Internal error when accessing libtpu multi-process lockfile. Run \"$ sudo rm /tmp/libtpu_lockfile\".");
    return refuse (
        refusal, PJRT_ABORTED,
        "The TPU is already in use by process with pid %d. Not attempting to load libtpu.so in this process.",
        (int) holder);
}

/* `host` may be NULL. */
static int device_lock_take (const char *host, bool lock_file, struct refusal *refusal)
{
    static bool locked, opened;
    pid_t holder = 0;
    if (lock_file && !locked && !client_take ("lock", host, &holder))
        return refuse_held (holder, refusal);
    locked |= lock_file;
    if (!opened && !client_take ("device", host, &holder))
        return refuse (
            refusal, PJRT_UNKNOWN,
            "TPU initialization failed: open(/dev/vfio/0): Device or resource busy: Device or resource busy; Couldn't "
            "open iommu group /dev/vfio/0");
    if (!opened)
        (void) open ("/dev/vfio/0", O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* none: nothing to show */
    opened = true;
    return 0;
}

/* ---- client ---- */

#define LIST(list_items, list_n)                                                                                       \
    do {                                                                                                               \
        args->items = list_items;                                                                                      \
        args->items_n = list_n;                                                                                        \
        return NULL;                                                                                                   \
    } while (0)

/* Its last line holds no date in parentheses: jax then asks for no recent build (jax-ml/jax:jax/_src/tpu_custom_call.py). */
static const char version[] = "sliceup stand-in for libtpu: no TPU; programs run on the CPU";
struct client standin_client;

/* ---- making it ---- */

static const char *client_variable (void *owner, const char *name)
{
    (void) owner;
    return getenv (name);
}

static const char *metadata (void *owner, const char *attribute, const char *key)
{
    (void) owner;
    return metadata_get (attribute, key);
}

/* All devices of the slice are the plugin's own. jax's options are for libtpu, and the plugin refuses names that it does not know. */
static void *create_of_plugin (uint32_t devices)
{
    struct pjrt_named_value count = PJRT_ARGS (struct pjrt_named_value, value_size);
    struct pjrt_client_create create = PJRT_ARGS (struct pjrt_client_create, try_get_argument);
    count.name = "cpu_device_count";
    count.name_size = strlen (count.name);
    count.type = PJRT_INT64;
    count.value.int64 = devices;
    count.value_size = 1;
    create.options = &count;
    create.options_n = 1;
    void *error = real_call (PJRT_CLIENT_CREATE, &create);
    standin_client.of_plugin = error ? NULL : create.client;
    return error;
}

static void *take_memories (void *device)
{
    struct pjrt_list_args list = PJRT_ARGS (struct pjrt_list_args, items_n);
    list.object = device;
    void *error = real_call (PJRT_DEVICE_ADDRESSABLE_MEMORIES, &list);
    for (size_t i = 0; !error && i < list.items_n && i < 4; i++)
        standin_client.memories[standin_client.memories_n++] = list.items[i];
    return error;
}

static void *take_device (uint32_t number, void *device)
{
    struct pjrt_other_object_args description = PJRT_ARGS (struct pjrt_other_object_args, other);
    struct client *client = &standin_client;
    description.object = device;
    void *error = real_call (PJRT_DEVICE_GET_DESCRIPTION, &description);
    if (error)
        return error;
    client->devices[number] = device;
    client->descriptions[number] = description.other;
    client->places[number] = slice_grid_place (&client->place.slice, number);
    if (client->places[number].process != client->place.id)
        return NULL;
    client->locals[client->locals_n++] = device;
    return take_memories (device);
}

static void *take_devices (uint32_t wanted)
{
    struct pjrt_list_args list = PJRT_ARGS (struct pjrt_list_args, items_n);
    struct refusal refusal;
    list.object = standin_client.of_plugin;
    void *error = real_call (PJRT_CLIENT_DEVICES, &list);
    if (!error && list.items_n != wanted) {
        refuse (&refusal, PJRT_INTERNAL, "the CPU plugin made %zu devices, expected %u", list.items_n, wanted);
        return refusal_error (&refusal);
    }
    standin_client.devices_n = standin_client.locals_n = standin_client.memories_n = 0;
    for (uint32_t i = 0; i < wanted && !error; i++)
        error = take_device (i, list.items[i]);
    standin_client.devices_n = error ? 0 : wanted;
    return error;
}

static int client_prepare (struct client *client, struct refusal *refusal)
{
    const struct place_source source = { client_variable, metadata, NULL };
    if (client->of_plugin)
        return refuse (
            refusal, PJRT_ABORTED,
            "The TPU is already in use by process with pid %d. Not attempting to load libtpu.so in this process.",
            (int) getpid ());
    if (place_read (&source, &client->place, refusal) < 0)
        return -1;
    if (slice_grid_devices (&client->place.slice) > GRID_DEVICES_MAX)
        return refuse (refusal, PJRT_INVALID_ARGUMENT, "the stand-in shows at most %d devices", GRID_DEVICES_MAX);
    if (device_lock_take (getenv ("SLICEUP_STANDIN_HOST"), client->place.locks, refusal) < 0)
        return -1;
    return client->place.world == 1 ? 0 : meeting_open (&client->meeting, &client->place, refusal);
}

void *client_create (struct pjrt_client_create *args)
{
    struct refusal refusal;
    if (client_prepare (&standin_client, &refusal) < 0)
        return refusal_error (&refusal);
    uint32_t devices = slice_grid_devices (&standin_client.place.slice);
    void *error = create_of_plugin (devices);
    if (!error)
        error = take_devices (devices);
    if (!error)
        args->client = standin_client.of_plugin;
    return error;
}

void *client_destroy (struct pjrt_object_args *args)
{
    if (standin_client.place.world > 1)
        meeting_close (&standin_client.meeting);
    standin_client.of_plugin = NULL;
    return real_call (PJRT_CLIENT_DESTROY, args);
}

/* ---- what it is asked ---- */

void *client_platform_name (struct pjrt_text_args *args)
{
    args->text = "tpu";
    args->text_size = 3;
    return NULL;
}

void *client_platform_version (struct pjrt_text_args *args)
{
    args->text = version;
    args->text_size = sizeof version - 1;
    return NULL;
}

void *client_process_index (struct pjrt_number_args *args)
{
    args->number = (int) standin_client.place.id;
    return NULL;
}

void *client_addressable_devices (struct pjrt_list_args *args)
{
    LIST (standin_client.locals, standin_client.locals_n);
}

void *client_addressable_memories (struct pjrt_list_args *args)
{
    LIST (standin_client.memories, standin_client.memories_n);
}

void *client_lookup_addressable_device (struct pjrt_lookup_args *args)
{
    struct refusal refusal;
    if (args->number >= 0 && (uint32_t) args->number < standin_client.locals_n) {
        args->found = standin_client.locals[args->number];
        return NULL;
    }
    refuse (&refusal, PJRT_INVALID_ARGUMENT, "no addressable device has the local hardware id %d", args->number);
    return refusal_error (&refusal);
}

/* ---- devices by number ---- */

uint32_t client_device_number (const void *device_or_description)
{
    uint32_t i = 0;
    while (i < standin_client.devices_n && standin_client.devices[i] != device_or_description &&
           standin_client.descriptions[i] != device_or_description)
        i++;
    return i;
}

bool client_owns (uint32_t device)
{
    return device < standin_client.devices_n && standin_client.places[device].process == standin_client.place.id;
}
