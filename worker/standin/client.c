#include "worker/standin/client.h"

#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* ---- device lock ---- */

/* Takes the devices of this host for this process, until it ends; refuses with libtpu's texts when another
 * process has them.
 *
 * It takes names of the abstract socket space, which a process loses when it ends: of this network namespace, or of
 * `host`, if several hosts share one. libtpu's lock comes first (openxla/xla:xla/tpu/tpu_initialize_util.cc); the
 * device itself refuses a second opener also where that lock is switched off. Keeps /dev/vfio/0 open if it exists, so
 * that a search for holders of devices finds this process. */

/* The first byte of an abstract name is 0. */
static socklen_t client_name_of (const char *what, const char *host, struct sockaddr_un *name)
{
    *name = (struct sockaddr_un){ .sun_family = AF_UNIX };
    int len = snprintf (name->sun_path + 1, sizeof name->sun_path - 1, "sliceup stand-in %s %.64s", what,
                        host ? host : "");
    return (socklen_t) (offsetof (struct sockaddr_un, sun_path) + 1 + (size_t) len);
}

/* 0: unknown. Nobody accepts connections there, so it does not wait. */
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

/* A descriptor that keeps the name for as long as it is open; -1: another process has the name. */
static int client_take (const char *what, const char *host, pid_t *holder)
{
    struct sockaddr_un name;
    socklen_t len = client_name_of (what, host, &name);
    int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind (fd, (const struct sockaddr *) &name, len) == 0 && listen (fd, SOMAXCONN) == 0)
        return fd;
    if (fd >= 0)
        close (fd);
    *holder = holder_of (&name, len);
    return -1;
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

enum { CHIPS_MAX = 8 }; /* of a process: place.c */

/* Those of TPU_VISIBLE_CHIPS, by which processes of one host share its chips; else as many as this process's bounds have. */
static bool take_chips (const char *host, uint32_t chips, uint32_t *busy)
{
    const char *list = getenv ("TPU_VISIBLE_CHIPS");
    int fds[CHIPS_MAX];
    pid_t holder = 0;
    char name[32];
    if (!list || !list[0])
        list = getenv ("TPU_VISIBLE_DEVICES");
    bool listed = list && list[0];
    for (uint32_t i = 0; i < chips && i < CHIPS_MAX; i++) {
        *busy = listed ? (uint32_t) strtoul (list, (char **) &list, 10) : i;
        list += listed && *list == ',';
        snprintf (name, sizeof name, "device %u", *busy);
        fds[i] = client_take (name, host, &holder);
        if (fds[i] >= 0)
            continue;
        while (i-- > 0)
            close (fds[i]);
        return false;
    }
    return true;
}

/* `host` may be NULL. */
static int device_lock_take (const char *host, uint32_t chips, bool lock_file, struct refusal *refusal)
{
    static bool locked, opened;
    uint32_t busy = 0;
    pid_t holder = 0;
    if (lock_file && !locked && client_take ("lock", host, &holder) < 0)
        return refuse_held (holder, refusal);
    locked |= lock_file;
    if (!opened && !take_chips (host, chips, &busy))
        return refuse (
            refusal, PJRT_UNKNOWN,
            "TPU initialization failed: open(/dev/vfio/%u): Device or resource busy: Device or resource busy; Couldn't "
            "open iommu group /dev/vfio/%u",
            busy, busy);
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

/* The plugin makes all devices of the slice, without jax's options, which are for libtpu: it refuses unknown names. */
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
    const struct grid chips = client->place.slice.chips;
    if (device_lock_take (getenv ("SLICEUP_STANDIN_HOST"), chips.x * chips.y * chips.z, client->place.locks, refusal) <
        0)
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

/* ---- metadata ---- */

#define SERVER "169.254.169.254"
enum { ATTRIBUTES_MAX = 8, VALUES_MAX = 16, VALUE_BYTES = 4096, NAME_BYTES = 64, HOST_BYTES = 256 };

static int metadata_connect_to (const char *server)
{
    char name[HOST_BYTES];
    const struct timeval limit = { .tv_sec = METADATA_DEADLINE_MS / 1000 };
    const struct addrinfo wanted = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    const char *colon = strchr (server, ':');
    snprintf (name, sizeof name, "%.*s", colon ? (int) (colon - server) : HOST_BYTES - 1, server);
    if (getaddrinfo (name, colon ? colon + 1 : "80", &wanted, &found) != 0)
        return -1;
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void) setsockopt (fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    (void) setsockopt (fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit); /* bounds connect as well */
    if (fd >= 0 && connect (fd, found->ai_addr, found->ai_addrlen) < 0) {
        close (fd);
        fd = -1;
    }
    freeaddrinfo (found);
    return fd;
}

/* The body of an answer with status 200. */
static char *body_of (char *answer)
{
    char *body = strstr (answer, "\r\n\r\n");
    return strncmp (answer, "HTTP/1.", 7) == 0 && strncmp (answer + 8, " 200", 4) == 0 && body ? body + 4 : NULL;
}

static uint64_t now_ms (void)
{
    struct timespec now = { 0 };
    (void) clock_gettime (CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

static char *ask_metadata (const char *attribute)
{
    static char answer[METADATA_MAX_BYTES + 1];
    char request[512];
    const char *given = getenv ("GCE_METADATA_IP"), *server = given && given[0] ? given : SERVER;
    int fd = metadata_connect_to (server);
    ssize_t got = 0;
    size_t n = 0;
    uint64_t until_ms = now_ms () + METADATA_DEADLINE_MS;
    int len = snprintf (
        request, sizeof request,
        "GET /computeMetadata/v1/instance/attributes/%s HTTP/1.0\r\nHost: %s\r\nMetadata-Flavor: Google\r\n\r\n",
        attribute, server);
    if (fd < 0)
        return NULL;
    if (len < (int) sizeof request && send (fd, request, (size_t) len, MSG_NOSIGNAL) == len)
        while (n < METADATA_MAX_BYTES && now_ms () < until_ms &&
               (got = recv (fd, answer + n, METADATA_MAX_BYTES - n, 0)) > 0)
            n += (size_t) got;
    close (fd);
    answer[n] = '\0';
    return got != 0 || n == METADATA_MAX_BYTES ? NULL : body_of (answer); /* 0: the answer is whole */
}

static const char *attribute_text (const char *attribute)
{
    static struct {
        char name[NAME_BYTES], *text;
    } known[ATTRIBUTES_MAX];
    int i = 0;
    while (i < ATTRIBUTES_MAX && known[i].name[0] && strcmp (known[i].name, attribute) != 0)
        i++;
    if (i == ATTRIBUTES_MAX)
        return NULL; /* libtpu asks for three */
    if (!known[i].name[0]) {
        const char *body = ask_metadata (attribute);
        snprintf (known[i].name, sizeof known[i].name, "%s", attribute);
        known[i].text = body ? strdup (body) : NULL;
    }
    return known[i].text;
}

int metadata_find_key (const char *lines, const char *key, char *value, unsigned size)
{
    size_t key_len = strlen (key);
    for (const char *line = lines; line && *line; line = strchr (line, '\n') ? strchr (line, '\n') + 1 : NULL) {
        if (strncmp (line, key, key_len) != 0 || line[key_len] != ':')
            continue;
        const char *from = line + key_len + 1 + strspn (line + key_len + 1, " '\"");
        size_t len = strcspn (from, "'\"\r\n");
        if (len >= size)
            return 0;
        memcpy (value, from, len);
        value[len] = '\0';
        return 1;
    }
    return 0;
}

const char *metadata_get (const char *attribute, const char *key)
{
    static char values[VALUES_MAX][VALUE_BYTES];
    static unsigned values_n;
    const char *text = attribute_text (attribute);
    if (!text || !key)
        return text;
    char *value = values[values_n++ % VALUES_MAX];
    return metadata_find_key (text, key, value, VALUE_BYTES) ? value : NULL;
}
