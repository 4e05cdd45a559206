#include "worker/standin/client.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* ---- exchange ---- */

/* One launch of a program on devices of several processes: each sends the values of its own devices to the
 * others, and has theirs afterwards.
 *
 * Sizes come from the own arguments, which are the same on every device of a program; a peer that sends another size or
 * another program's name is refused. It waits for a lost peer, as chips wait on a torus: jax's heartbeats or the
 * program's starter end that. */
struct exchange_peer {
    uint32_t process;
    char *values; /* of its devices, in order; the caller's */
    size_t bytes;
};
struct exchange {
    const struct meeting *meeting;
    uint64_t program; /* what all must agree on */
    const char *values;
    size_t bytes; /* of the own devices */
    struct exchange_peer *peers;
    uint32_t peers_n;
};

enum { MAGIC = 0x6c636e68 };

struct head {
    uint32_t magic, unused;
    uint64_t program, bytes;
};
/* How far one peer is, both ways, the head included. */
struct progress {
    size_t sent, received;
    bool gone; /* its connection ended; poll would always report it */
    struct head head;
};

static size_t whole (size_t bytes)
{
    return sizeof (struct head) + bytes;
}

/* Moves a part between the socket and "head, then values" at `at`. The result is that of send and recv. */
static ssize_t send_part (int fd, const struct head *head, const char *values, size_t bytes, size_t at)
{
    bool in_head = at < sizeof *head;
    const char *from = in_head ? (const char *) head + at : values + (at - sizeof *head);
    return send (fd, from, in_head ? sizeof *head - at : whole (bytes) - at, MSG_NOSIGNAL);
}

static ssize_t receive_part (int fd, struct head *head, char *values, size_t bytes, size_t at)
{
    bool in_head = at < sizeof *head;
    char *to = in_head ? (char *) head + at : values + (at - sizeof *head);
    return recv (fd, to, in_head ? sizeof *head - at : whole (bytes) - at, 0);
}

/* libtpu's text if other devices run another program: openxla/xla:docs/errors/error_0200.md. */
static int check_head (const struct exchange *exchange, const struct exchange_peer *peer, const struct head *head,
                       struct refusal *refusal)
{
    if (head->magic == MAGIC && head->program == exchange->program && head->bytes == peer->bytes)
        return 0;
    return refuse (
        refusal, PJRT_INTERNAL,
        "Accelerator device halted prematurely, perhaps due to an on-device check-failure. Node %u halted unexpectedly "
        "at tag:pc TensorCoreSequencer:1:0x1d9: scheckne: An unexpected leader shows up in the launch group with a "
        "different launch id than the current group leader.",
        peer->process);
}

static void launch_note (struct progress *progress, ssize_t moved, size_t *at)
{
    if (moved > 0)
        *at += (size_t) moved;
    else if (moved == 0 || (errno != EAGAIN && errno != EINTR))
        progress->gone = true;
}

static int launch_serve (const struct exchange *exchange, const struct head *own, const struct exchange_peer *peer,
                         struct progress *progress, short events, struct refusal *refusal)
{
    int fd = exchange->meeting->fds[peer->process];
    if ((events & POLLOUT) && progress->sent < whole (exchange->bytes))
        launch_note (progress, send_part (fd, own, exchange->values, exchange->bytes, progress->sent), &progress->sent);
    if (!(events & (POLLIN | POLLHUP | POLLERR)) || progress->received == whole (peer->bytes))
        return 0;
    bool had_head = progress->received >= sizeof *own;
    launch_note (progress, receive_part (fd, &progress->head, peer->values, peer->bytes, progress->received),
                 &progress->received);
    return !had_head && progress->received >= sizeof *own ? check_head (exchange, peer, &progress->head, refusal) : 0;
}

/* The awaited events of each peer. 0: none. */
static uint32_t launch_fill (const struct exchange *exchange, const struct progress *progress, struct pollfd *wanted)
{
    uint32_t open = 0;
    for (uint32_t i = 0; i < exchange->peers_n; i++) {
        const struct exchange_peer *peer = &exchange->peers[i];
        short events = (progress[i].sent < whole (exchange->bytes) ? POLLOUT : 0) |
                       (progress[i].received < whole (peer->bytes) ? POLLIN : 0);
        bool asked = events && !progress[i].gone;
        wanted[i] = (struct pollfd){ .fd = asked ? exchange->meeting->fds[peer->process] : -1, .events = events };
        open += events != 0;
    }
    return open;
}

static int exchange_run (const struct exchange *exchange, struct refusal *refusal)
{
    struct head own = { .magic = MAGIC, .program = exchange->program, .bytes = exchange->bytes };
    struct progress progress[PLACE_PROCESSES_MAX] = { 0 };
    struct pollfd wanted[PLACE_PROCESSES_MAX] = { 0 };
    while (launch_fill (exchange, progress, wanted) > 0) {
        if (poll (wanted, exchange->peers_n, -1) < 0 && errno != EINTR)
            return refuse (refusal, PJRT_INTERNAL, "poll: %s", strerror (errno));
        for (uint32_t i = 0; i < exchange->peers_n; i++)
            if (wanted[i].fd >= 0 && wanted[i].revents &&
                launch_serve (exchange, &own, &exchange->peers[i], &progress[i], wanted[i].revents, refusal) < 0)
                return -1;
    }
    return 0;
}

/* ---- launch ---- */

/* An argument's value, the same on every device of a program. */
struct value {
    int type;
    const int64_t *dims; /* the buffer's */
    size_t dims_n, bytes, at /* in what one device sends */;
};
struct launch {
    struct pjrt_execute *args;
    void *const *devices;
    void *program;
    size_t devices_n, outputs_n, device_bytes;
    struct value *values;
    char *own; /* the values of this process's devices, in order */
    struct exchange_peer peers[PLACE_PROCESSES_MAX];
    uint32_t peers_n;
    void ***arguments, ***outputs, **events; /* of every device */
    bool executed;                           /* outputs and events are there */
    bool alone;                              /* on one device; the others compute the same, for nothing */
};

static void *out_of_memory (size_t bytes)
{
    struct refusal refusal;
    refuse (&refusal, PJRT_RESOURCE_EXHAUSTED, "Out of memory allocating %zu bytes.", bytes);
    return refusal_error (&refusal);
}

/* Does the caller get what this device computes? */
static bool owns (const struct launch *launch, size_t i)
{
    return launch->alone ? launch->devices[i] == launch->args->device
                         : client_owns (client_device_number (launch->devices[i]));
}

static void *wait_and_destroy (void *event)
{
    struct pjrt_object_args args = PJRT_ARGS (struct pjrt_object_args, object);
    args.object = event;
    void *error = real_call (PJRT_EVENT_AWAIT, &args);
    void *second = real_call (PJRT_EVENT_DESTROY, &args);
    return error ? error : second;
}

static void launch_destroy (size_t slot, void *object)
{
    struct pjrt_object_args args = PJRT_ARGS (struct pjrt_object_args, object);
    args.object = object;
    if (object)
        (void) real_call (slot, &args);
}

/* ---- own values ---- */

static void *copy_out (void *buffer, char *to, size_t *bytes)
{
    struct pjrt_to_host args = PJRT_ARGS (struct pjrt_to_host, event);
    args.buffer = buffer;
    args.to = to;
    args.to_size = to ? *bytes : 0;
    void *error = real_call (PJRT_BUFFER_TO_HOST_BUFFER, &args);
    *bytes = args.to_size;
    return error || !args.event ? error : wait_and_destroy (args.event);
}

static void *describe (void *buffer, struct value *value)
{
    struct pjrt_number_args type = PJRT_ARGS (struct pjrt_number_args, number);
    struct pjrt_dims_args dims = PJRT_ARGS (struct pjrt_dims_args, dims_n);
    type.object = dims.object = buffer;
    void *error = real_call (PJRT_BUFFER_ELEMENT_TYPE, &type);
    if (!error)
        error = real_call (PJRT_BUFFER_DIMENSIONS, &dims);
    if (!error)
        error = copy_out (buffer, NULL, &value->bytes);
    value->type = type.number;
    value->dims = dims.dims;
    value->dims_n = dims.dims_n;
    return error;
}

static void *describe_values (struct launch *launch)
{
    size_t n = launch->args->arguments_n;
    void *error = NULL;
    launch->values = calloc (n + 1, sizeof *launch->values);
    for (size_t i = 0; launch->values && i < n && !error; i++) {
        error = describe (launch->args->arguments[0][i], &launch->values[i]);
        launch->values[i].at = launch->device_bytes;
        launch->device_bytes += launch->values[i].bytes;
    }
    return launch->values ? error : out_of_memory (n * sizeof *launch->values);
}

static void *copy_values (struct launch *launch)
{
    size_t devices = launch->args->devices_n, bytes = devices * launch->device_bytes;
    void *error = NULL;
    launch->own = malloc (bytes + 1);
    for (size_t d = 0; launch->own && d < devices; d++)
        for (size_t i = 0; i < launch->args->arguments_n && !error; i++) {
            size_t size = launch->values[i].bytes;
            char *to = launch->own + d * launch->device_bytes + launch->values[i].at;
            error = copy_out (launch->args->arguments[d][i], to, &size);
        }
    return launch->own ? error : out_of_memory (bytes);
}

/* ---- those of others ---- */

static struct exchange_peer *peer_of (struct launch *launch, uint32_t process)
{
    uint32_t i = 0;
    while (i < launch->peers_n && launch->peers[i].process != process)
        i++;
    if (i == launch->peers_n)
        launch->peers[launch->peers_n++] = (struct exchange_peer){ .process = process };
    return &launch->peers[i];
}

static void *launch_make_room (struct launch *launch)
{
    for (size_t i = 0; i < launch->devices_n; i++) {
        uint32_t process = standin_client.places[client_device_number (launch->devices[i])].process;
        if (process != standin_client.place.id)
            peer_of (launch, process)->bytes += launch->device_bytes;
    }
    for (uint32_t i = 0; i < launch->peers_n; i++)
        if (!(launch->peers[i].values = malloc (launch->peers[i].bytes + 1)))
            return out_of_memory (launch->peers[i].bytes);
    return NULL;
}

static uint64_t mix (uint64_t hash, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ ((const unsigned char *) bytes)[i]) * 0x100000001b3u; /* FNV-1a */
    return hash;
}

/* Its name, and the types and shapes of its arguments: what a fresh and a restored executable have in common. */
static void *identify (const struct launch *launch, uint64_t *program)
{
    struct pjrt_text_args name = PJRT_ARGS (struct pjrt_text_args, text_size);
    name.object = launch->program;
    void *error = real_call (PJRT_EXECUTABLE_NAME, &name);
    *program = mix (0xcbf29ce484222325u, error ? "" : name.text, error ? 0 : name.text_size);
    for (size_t i = 0; i < launch->args->arguments_n; i++) {
        *program = mix (*program, &launch->values[i].type, sizeof launch->values[i].type);
        *program = mix (*program, launch->values[i].dims, launch->values[i].dims_n * sizeof (int64_t));
    }
    return error;
}

static void *exchange (struct launch *launch)
{
    struct refusal refusal;
    struct exchange exchange = { .meeting = &standin_client.meeting,
                                 .values = launch->own,
                                 .bytes = launch->args->devices_n * launch->device_bytes,
                                 .peers = launch->peers,
                                 .peers_n = launch->peers_n };
    void *error = identify (launch, &exchange.program);
    if (error)
        return error;
    return exchange_run (&exchange, &refusal) < 0 ? refusal_error (&refusal) : NULL;
}

/* ---- all devices ---- */

static void *place_value (void *device, const struct value *value, const char *bytes, void **buffer)
{
    struct pjrt_from_host args = PJRT_ARGS (struct pjrt_from_host, buffer);
    args.client = standin_client.of_plugin;
    args.bytes = bytes;
    args.type = value->type;
    args.dims = value->dims;
    args.dims_n = value->dims_n;
    args.semantics = PJRT_ONLY_DURING_CALL;
    args.device = device;
    void *error = real_call (PJRT_CLIENT_BUFFER_FROM_HOST_BUFFER, &args);
    *buffer = error ? NULL : args.buffer;
    return error || !args.done ? error : wait_and_destroy (args.done);
}

static void *place_remote (struct launch *launch, size_t device, const char *bytes)
{
    void *error = NULL;
    for (size_t i = 0; i < launch->args->arguments_n && !error; i++)
        error = place_value (launch->devices[device], &launch->values[i], bytes + launch->values[i].at,
                             &launch->arguments[device][i]);
    return error;
}

static void **row (size_t n)
{
    return calloc (n + 1, sizeof (void *));
}

static void *make_tables (struct launch *launch)
{
    bool whole = true;
    launch->arguments = calloc (launch->devices_n, sizeof *launch->arguments);
    launch->outputs = calloc (launch->devices_n, sizeof *launch->outputs);
    launch->events = row (launch->devices_n);
    for (size_t i = 0; launch->arguments && launch->outputs && i < launch->devices_n; i++) {
        launch->arguments[i] = row (launch->args->arguments_n);
        launch->outputs[i] = row (launch->outputs_n);
        whole = whole && launch->arguments[i] && launch->outputs[i];
    }
    whole = whole && launch->arguments && launch->outputs && launch->events;
    return whole ? NULL : out_of_memory (launch->devices_n * sizeof (void *));
}

static void *fill_tables (struct launch *launch)
{
    size_t own = 0, used[PLACE_PROCESSES_MAX] = { 0 };
    void *error = make_tables (launch);
    for (size_t i = 0; i < launch->devices_n && !error; i++) {
        uint32_t process = standin_client.places[client_device_number (launch->devices[i])].process;
        if (owns (launch, i)) {
            memcpy (launch->arguments[i], launch->args->arguments[own++], launch->args->arguments_n * sizeof (void *));
        } else if (launch->alone) {
            error = place_remote (launch, i, launch->own);
        } else {
            error = place_remote (launch, i, peer_of (launch, process)->values + used[process]);
            used[process] += launch->device_bytes;
        }
    }
    return error;
}

static void *execute (struct launch *launch)
{
    struct pjrt_execute all = *launch->args;
    all.arguments = (void *const *const *) launch->arguments;
    all.outputs = launch->outputs;
    all.complete = launch->events;
    all.devices_n = launch->devices_n;
    all.device = NULL;
    void *error = real_call (PJRT_LOADED_EXECUTE, &all);
    launch->executed = !error;
    return error;
}

/* ---- afterwards ---- */

static void launch_wait_for (void *event)
{
    struct pjrt_object_args args = PJRT_ARGS (struct pjrt_object_args, object);
    struct pjrt_error_destroy gone = PJRT_ARGS (struct pjrt_error_destroy, error);
    args.object = event;
    gone.error = event ? real_call (PJRT_EVENT_AWAIT, &args) : NULL; /* jax asks the event itself */
    if (gone.error)
        (void) real_call (PJRT_ERROR_DESTROY, &gone);
}

/* Everything has ended before anything is destroyed. */
static void hand_over (struct launch *launch)
{
    size_t own = 0;
    for (size_t i = 0; launch->executed && i < launch->devices_n; i++)
        launch_wait_for (launch->events[i]);
    for (size_t i = 0; launch->executed && i < launch->devices_n; i++) {
        if (!owns (launch, i))
            continue;
        memcpy (launch->args->outputs[own], launch->outputs[i], launch->outputs_n * sizeof (void *));
        memset (launch->outputs[i], 0, launch->outputs_n * sizeof (void *));
        if (launch->args->complete) {
            launch->args->complete[own] = launch->events[i];
            launch->events[i] = NULL;
        }
        own++;
    }
}

static void destroy_device (struct launch *launch, size_t i)
{
    bool own = owns (launch, i);
    for (size_t k = 0; launch->arguments[i] && !own && k < launch->args->arguments_n; k++)
        launch_destroy (PJRT_BUFFER_DESTROY, launch->arguments[i][k]);
    for (size_t k = 0; launch->outputs[i] && launch->executed && k < launch->outputs_n; k++)
        launch_destroy (PJRT_BUFFER_DESTROY, launch->outputs[i][k]);
    if (launch->executed)
        launch_destroy (PJRT_EVENT_DESTROY, launch->events[i]);
    free (launch->arguments[i]);
    free (launch->outputs[i]);
}

static void launch_release (struct launch *launch)
{
    for (size_t i = 0; launch->arguments && launch->outputs && i < launch->devices_n; i++)
        destroy_device (launch, i);
    launch_destroy (PJRT_EXECUTABLE_DESTROY, launch->program);
    free (launch->arguments);
    free (launch->outputs);
    free (launch->events);
    for (uint32_t i = 0; i < launch->peers_n; i++)
        free (launch->peers[i].values);
    free (launch->values);
    free (launch->own);
}

static void *open_program (struct launch *launch)
{
    struct pjrt_other_object_args loaded = PJRT_ARGS (struct pjrt_other_object_args, other);
    struct pjrt_count_args outputs = PJRT_ARGS (struct pjrt_count_args, count);
    loaded.object = launch->args->executable;
    void *error = real_call (PJRT_LOADED_GET_EXECUTABLE, &loaded);
    outputs.object = launch->program = error ? NULL : loaded.other;
    if (!error)
        error = real_call (PJRT_EXECUTABLE_NUM_OUTPUTS, &outputs);
    launch->outputs_n = outputs.count;
    return error;
}

/* Does a program speak of values of other devices? An opcode is field 2 of an instruction, a text with its length before it
 * (openxla/xla:xla/service/hlo.proto). */
static void *find_collectives (void *program, bool *found)
{
    static const char *const opcodes[] = { "\x12\x0a"
                                           "all-reduce",
                                           "\x12\x0a"
                                           "all-gather",
                                           "\x12\x0a"
                                           "all-to-all",
                                           "\x12\x0e"
                                           "reduce-scatter",
                                           "\x12\x12"
                                           "collective-permute",
                                           "\x12\x14"
                                           "collective-broadcast" };
    struct pjrt_program_source source = PJRT_ARGS (struct pjrt_program_source, format_size);
    struct pjrt_other_object_args args = PJRT_ARGS (struct pjrt_other_object_args, other);
    args.object = program;
    args.other = &source;
    void *error = real_call (PJRT_EXECUTABLE_OPTIMIZED_PROGRAM, &args); /* its size */
    if (error)
        return error;
    source.code = malloc (source.code_size + 1);
    error = source.code ? real_call (PJRT_EXECUTABLE_OPTIMIZED_PROGRAM, &args) : out_of_memory (source.code_size);
    for (size_t i = 0; !error && i < sizeof opcodes / sizeof opcodes[0]; i++)
        *found = *found || memmem (source.code, source.code_size, opcodes[i], strlen (opcodes[i]));
    free (source.code);
    return error;
}

/* A launch on one device is that of torch_xla without SPMD: for itself; or, of a program with collectives, one of as many as
 * the program has devices, one in each process. */
static void *choose_company (struct launch *launch)
{
    struct refusal refusal;
    bool collective = false;
    size_t own = 0;
    void *error = launch->args->device ? find_collectives (launch->program, &collective) : NULL;
    for (size_t i = 0; i < launch->devices_n; i++)
        own += owns (launch, i);
    launch->alone = launch->args->device && !collective;
    if (error || !collective || own == 1)
        return error;
    refuse (&refusal, PJRT_UNIMPLEMENTED,
            "the stand-in has one process for each device of a collective that is not SPMD, expected 1 device of this "
            "process and not %zu",
            own);
    return refusal_error (&refusal);
}

/* Of other processes. */
static void *launch_exchange (struct launch *launch)
{
    void *error = launch->alone ? NULL : launch_make_room (launch);
    return error || launch->alone ? error : exchange (launch);
}

void *launch_run (struct pjrt_execute *args, void *const *devices, size_t devices_n)
{
    typedef void *step_fn (struct launch *);
    static step_fn *const steps[] = { open_program,    choose_company, describe_values, copy_values,
                                      launch_exchange, fill_tables,    execute };
    struct launch launch = { .args = args, .devices = devices, .devices_n = devices_n };
    void *error = NULL;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && !error; i++)
        error = steps[i](&launch);
    hand_over (&launch);
    launch_release (&launch);
    return error;
}
