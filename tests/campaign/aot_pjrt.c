/* aot_pjrt.c - aot_pjrt PLUGIN TOPOLOGY [OUT]: compiles one program for one device of a topology that need not be
 * there, through nothing but the PJRT C interface, and writes the serialised executable to OUT.
 *
 *     cc -O2 -Wall -o aot_pjrt tests/campaign/aot_pjrt.c -ldl
 *     TPU_SKIP_MDS_QUERY=1 ./aot_pjrt .../site-packages/libtpu/libtpu.so v6e:2x2 tiny.executable
 *
 * Names, layouts and sizes: openxla/xla:xla/pjrt/c/pjrt_c_api.h, declared anew for the few calls that are needed. The
 * interface asks for the size of each structure as its caller knows it; the assertions hold them against that
 * header. */
#define _GNU_SOURCE
#include <assert.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Every argument of the interface begins with these two. */
#define PJRT_HEAD                                                                                                      \
    size_t struct_size;                                                                                                \
    void *extension_start
#define PJRT_ARGS(type)                                                                                                \
    {                                                                                                                  \
        .struct_size = sizeof (type)                                                                                   \
    }

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
struct pjrt_plugin_initialize {
    PJRT_HEAD;
};
struct pjrt_topology_create {
    PJRT_HEAD;
    const char *name;
    size_t name_size;
    const void *options;
    size_t options_n;
    void *topology;
};
struct pjrt_topology_destroy {
    PJRT_HEAD;
    void *topology;
};
struct pjrt_topology_text {
    PJRT_HEAD;
    void *topology;
    const char *text;
    size_t text_size;
};
struct pjrt_topology_devices {
    PJRT_HEAD;
    void *topology;
    void *const *devices;
    size_t devices_n;
};
struct pjrt_device_text {
    PJRT_HEAD;
    void *device;
    const char *text;
    size_t text_size;
};
struct pjrt_program_source {
    PJRT_HEAD;
    char *code;
    size_t code_size;
    const char *format;
    size_t format_size;
};
struct pjrt_compile {
    PJRT_HEAD;
    const void *topology;
    const struct pjrt_program_source *program;
    const char *options;
    size_t options_size;
    void *client;
    void *executable;
};
struct pjrt_serialize {
    PJRT_HEAD;
    const void *executable;
    const char *bytes;
    size_t bytes_size;
    void *owner;
    void (*release) (void *owner);
};
struct pjrt_executable_destroy {
    PJRT_HEAD;
    void *executable;
};

static_assert (sizeof (struct pjrt_topology_create) == 56, "PJRT_TopologyDescription_Create_Args");
static_assert (sizeof (struct pjrt_program_source) == 48, "PJRT_Program");
static_assert (sizeof (struct pjrt_compile) == 64, "PJRT_Compile_Args");
static_assert (sizeof (struct pjrt_serialize) == 56, "PJRT_Executable_Serialize_Args");

struct pjrt_version {
    PJRT_HEAD;
    int major, minor;
};

/* Offsets of the calls in PJRT_Api: the same in minors 54 to 114, but for 56, which moved those after 600. */
enum {
    PJRT_ERROR_DESTROY = 40,
    PJRT_ERROR_MESSAGE = 48,
    PJRT_PLUGIN_INITIALIZE = 64,
    PJRT_DEVICE_DEBUG_STRING = 256,
    PJRT_EXECUTABLE_DESTROY = 360,
    PJRT_EXECUTABLE_SERIALIZE = 432,
    PJRT_TOPOLOGY_CREATE = 696,
    PJRT_TOPOLOGY_DESTROY = 704,
    PJRT_TOPOLOGY_PLATFORM_VERSION = 720,
    PJRT_TOPOLOGY_DEVICES = 728,
    PJRT_COMPILE = 752,
    PJRT_API_LEAST = 760,
    PJRT_MINOR_LEAST = 54,
    PJRT_MINOR_MOVED = 56,
};

struct pjrt_api {
    PJRT_HEAD;
    struct pjrt_version version;
};
static_assert (sizeof (struct pjrt_api) == PJRT_ERROR_DESTROY, "PJRT_Api begins with its size and version");

/* The sum of squares of ten numbers, in StableHLO. */
static const char program_code[] =
    "module @jit_tiny {\n"
    "  func.func public @main(%x: tensor<10xf32>) -> tensor<f32> {\n"
    "    %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "    %squares = stablehlo.multiply %x, %x : tensor<10xf32>\n"
    "    %sum = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [0]\n"
    "        : (tensor<10xf32>, tensor<f32>) -> tensor<f32>\n"
    "    return %sum : tensor<f32>\n"
    "  }\n"
    "}\n";
/* CompileOptionsProto: executable_build_options { num_replicas: 1 num_partitions: 1 }
 * (openxla/xla:xla/pjrt/proto/compile_options.proto). */
static const char program_options[] = { 0x1a, 0x04, 0x20, 0x01, 0x28, 0x01 };

static const struct pjrt_api *api;

static void *call (size_t offset, void *args)
{
    void *(*function) (void *);
    memcpy (&function, (const char *) api + offset, sizeof function);
    return function (args);
}

/* The message, or NULL when all went well; the caller frees it. */
static char *try_call (size_t offset, void *args)
{
    void *error = call (offset, args);
    if (!error)
        return NULL;
    struct pjrt_error_message message = PJRT_ARGS (struct pjrt_error_message);
    message.error = error;
    call (PJRT_ERROR_MESSAGE, &message);
    char *text = strndup (message.message, message.message_size);
    struct pjrt_error_destroy destroy = PJRT_ARGS (struct pjrt_error_destroy);
    destroy.error = error;
    call (PJRT_ERROR_DESTROY, &destroy);
    if (!text)
        abort ();
    return text;
}

static bool must (const char *what, size_t offset, void *args)
{
    char *problem = try_call (offset, args);
    if (problem)
        fprintf (stderr, "aot_pjrt: %s: %s\n", what, problem);
    free (problem);
    return !problem;
}

static bool load (const char *path)
{
    void *plugin = dlopen (path, RTLD_LAZY | RTLD_LOCAL);
    const struct pjrt_api *(*get) (void);
    void *symbol = plugin ? dlsym (plugin, "GetPjrtApi") : NULL;
    if (!symbol) {
        fprintf (stderr, "aot_pjrt: %s is no PJRT plugin: %s\n", path, dlerror ());
        return false;
    }
    memcpy (&get, &symbol, sizeof get);
    api = get ();
    printf ("PJRT %d.%d, structure of %zu bytes\n", api->version.major, api->version.minor, api->struct_size);
    if (api->version.major == 0 && api->version.minor >= PJRT_MINOR_LEAST && api->version.minor != PJRT_MINOR_MOVED &&
        api->struct_size >= PJRT_API_LEAST)
        return true;
    fprintf (stderr, "aot_pjrt: expected PJRT 0.54 or later (0.56 excepted): other versions have other layouts\n");
    return false;
}

static bool show_topology (void *topology)
{
    struct pjrt_topology_text version = PJRT_ARGS (struct pjrt_topology_text);
    struct pjrt_topology_devices list = PJRT_ARGS (struct pjrt_topology_devices);
    version.topology = list.topology = topology;
    if (!must ("platform version", PJRT_TOPOLOGY_PLATFORM_VERSION, &version) ||
        !must ("devices", PJRT_TOPOLOGY_DEVICES, &list))
        return false;
    printf ("%.*s\n%zu devices\n", (int) version.text_size, version.text, list.devices_n);
    for (size_t i = 0; i < list.devices_n; i++) {
        struct pjrt_device_text device = PJRT_ARGS (struct pjrt_device_text);
        device.device = list.devices[i];
        if (!must ("device", PJRT_DEVICE_DEBUG_STRING, &device))
            return false;
        printf ("  %.*s\n", (int) device.text_size, device.text);
    }
    return true;
}

static void *compile (void *topology)
{
    struct pjrt_program_source program = PJRT_ARGS (struct pjrt_program_source);
    struct pjrt_compile args = PJRT_ARGS (struct pjrt_compile);
    struct timespec began, ended;
    program.code = (char *) program_code;
    program.code_size = sizeof program_code - 1;
    program.format = "mlir";
    program.format_size = strlen ("mlir");
    args.topology = topology;
    args.program = &program;
    args.options = program_options;
    args.options_size = sizeof program_options;
    clock_gettime (CLOCK_MONOTONIC, &began);
    if (!must ("compile", PJRT_COMPILE, &args))
        return NULL;
    clock_gettime (CLOCK_MONOTONIC, &ended);
    printf ("compiled in %.0f ms\n",
            (double) (ended.tv_sec - began.tv_sec) * 1e3 + (double) (ended.tv_nsec - began.tv_nsec) / 1e6);
    return args.executable;
}

static bool write_out (const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen (path, "wbe");
    if (!file) {
        perror (path);
        return false;
    }
    bool whole = fwrite (bytes, 1, size, file) == size;
    if (fclose (file) != 0 || !whole) {
        perror (path);
        return false;
    }
    return true;
}

static bool serialize (void *executable, const char *path)
{
    struct pjrt_serialize args = PJRT_ARGS (struct pjrt_serialize);
    args.executable = executable;
    if (!must ("serialize", PJRT_EXECUTABLE_SERIALIZE, &args))
        return false;
    printf ("serialised: %zu bytes\n", args.bytes_size);
    bool written = !path || write_out (path, args.bytes, args.bytes_size);
    args.release (args.owner);
    return written;
}

static bool run (const char *name, const char *path)
{
    struct pjrt_topology_create create = PJRT_ARGS (struct pjrt_topology_create);
    create.name = name;
    create.name_size = strlen (name);
    if (!must ("topology", PJRT_TOPOLOGY_CREATE, &create))
        return false;
    void *executable = show_topology (create.topology) ? compile (create.topology) : NULL;
    bool good = executable && serialize (executable, path);
    struct pjrt_executable_destroy destroy = PJRT_ARGS (struct pjrt_executable_destroy);
    destroy.executable = executable;
    good = (!executable || must ("destroy", PJRT_EXECUTABLE_DESTROY, &destroy)) && good;
    struct pjrt_topology_destroy end = PJRT_ARGS (struct pjrt_topology_destroy);
    end.topology = create.topology;
    return must ("destroy", PJRT_TOPOLOGY_DESTROY, &end) && good;
}

int main (int argc, char **argv)
{
    if (argc < 3 || argc > 4) {
        fprintf (stderr, "usage: aot_pjrt PLUGIN TOPOLOGY [OUT]\n");
        return 2;
    }
    struct pjrt_plugin_initialize initialize = PJRT_ARGS (struct pjrt_plugin_initialize);
    if (!load (argv[1]) || !must ("initialize", PJRT_PLUGIN_INITIALIZE, &initialize))
        return 1;
    return run (argv[2], argc > 3 ? argv[3] : NULL) ? 0 : 1;
}
