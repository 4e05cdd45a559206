#include "worker/probe/probe_run.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "worker/probe/child_report.h"

/* ---- program ---- */

/* A tiny program on a device: compiled, run, its value checked, serialised, loaded again and run again.
 *
 * As plugin.c: it runs in the child, says what goes wrong with child_report.h, and returns -1 then. */
struct program {
    struct client *client;
    void *loaded, *executable; /* as compiled */
    void *reloaded;            /* as loaded again; NULL: the plugin cannot serialise */
    void *device;              /* where it was loaded */
    void *inputs[2];
};

enum { NUMBERS_N = 4, SERIALIZED_BYTES_MAX = 1 << 30 };

static const char code[] = "module @sliceup_probe {\n"
                           "  func.func public @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {\n"
                           "    %sum = stablehlo.add %x, %y : tensor<4xf32>\n"
                           "    return %sum : tensor<4xf32>\n"
                           "  }\n"
                           "}\n";
/* CompileOptionsProto: executable_build_options { num_replicas: 1 num_partitions: 1 }
 * (openxla/xla:xla/pjrt/proto/compile_options.proto). */
static const char compile_options[] = { 0x1a, 0x04, 0x20, 0x01, 0x28, 0x01 };

static const float inputs[2][NUMBERS_N] = { { 1, 2, 3, 4 }, { 10, 20, 30, 40 } };

/* ---- compile ---- */

static int find_device (struct program *program)
{
    struct pjrt_list_args list = PJRT_ARGS (struct pjrt_list_args, items_n);
    list.object = program->loaded;
    if (plugin_call (program->client->plugin, PJRT_LOADED_ADDRESSABLE_DEVICES, &list) < 0)
        return -1;
    struct text raw = plugin_text (program->client->plugin, (const char *) list.items, sizeof (void *),
                                   sizeof (void *));
    if (list.items_n != 1 || raw.len < sizeof (void *))
        return child_report_wrong (OWNER_LAUNCH,
                                   "a program for one device got %zu devices of this host: the client belongs "
                                   "to a group of hosts, and its first device is another host's",
                                   list.items_n);
    memcpy (&program->device, raw.ptr, sizeof program->device);
    return 0;
}

static int count_outputs (struct program *program)
{
    struct pjrt_other_object_args get = PJRT_ARGS (struct pjrt_other_object_args, other);
    struct pjrt_count_args count = PJRT_ARGS (struct pjrt_count_args, count);
    get.object = program->loaded;
    if (plugin_call (program->client->plugin, PJRT_LOADED_GET_EXECUTABLE, &get) < 0)
        return -1;
    if (!get.other)
        return child_report_wrong (OWNER_BUNDLE, "the compiled program cannot be inspected");
    count.object = program->executable = get.other;
    if (plugin_call (program->client->plugin, PJRT_EXECUTABLE_NUM_OUTPUTS, &count) < 0)
        return -1;
    if (count.count != 1) /* it would write as many pointers as it says */
        return child_report_wrong (OWNER_COMPILER, "the plugin reports %zu outputs of the compiled program; expected 1",
                                   count.count);
    return 0;
}

static int compile (struct program *program)
{
    struct pjrt_program_source text = PJRT_ARGS (struct pjrt_program_source, format_size);
    struct pjrt_client_compile args = PJRT_ARGS (struct pjrt_client_compile, executable);
    char writable[sizeof code];
    memcpy (writable, code, sizeof code); /* the interface takes it as not const */
    text.code = writable;
    text.code_size = sizeof code - 1;
    text.format = "mlir";
    text.format_size = strlen ("mlir");
    args.client = program->client->client;
    args.program = &text;
    args.options = compile_options;
    args.options_size = sizeof compile_options;
    child_report_step (STAGE_COMPILE);
    if (plugin_call (program->client->plugin, PJRT_CLIENT_COMPILE, &args) < 0)
        return -1;
    if (!args.executable)
        return child_report_wrong (OWNER_COMPILER,
                                   "the plugin reports that it compiled the program, but returns nothing");
    program->loaded = args.executable;
    return count_outputs (program) < 0 ? -1 : find_device (program);
}

/* ---- one execution ---- */

/* NULL: there was nothing to wait for. */
static int await (struct plugin *plugin, void *event)
{
    struct pjrt_object_args args = PJRT_ARGS (struct pjrt_object_args, object);
    if (!event)
        return 0;
    args.object = event;
    if (plugin_call (plugin, PJRT_EVENT_AWAIT, &args) < 0)
        return -1;
    return plugin_call (plugin, PJRT_EVENT_DESTROY, &args);
}

static int child_destroy (struct plugin *plugin, size_t slot, void *object)
{
    struct pjrt_object_args args = PJRT_ARGS (struct pjrt_object_args, object);
    args.object = object;
    return object ? plugin_call (plugin, slot, &args) : 0;
}

static int transfer_one (struct program *program, uint32_t at)
{
    static const int64_t dims[] = { NUMBERS_N };
    struct pjrt_from_host args = PJRT_ARGS (struct pjrt_from_host, buffer);
    args.client = program->client->client;
    args.bytes = inputs[at];
    args.type = PJRT_F32;
    args.dims = dims;
    args.dims_n = 1;
    args.semantics = PJRT_ONLY_DURING_CALL;
    args.device = program->device;
    if (plugin_call (program->client->plugin, PJRT_CLIENT_BUFFER_FROM_HOST_BUFFER, &args) < 0)
        return -1;
    if (!args.buffer)
        return child_report_wrong (OWNER_BUNDLE, "the plugin reports that it took an array, but returns no buffer");
    program->inputs[at] = args.buffer;
    return await (program->client->plugin, args.done);
}

static int transfer (struct program *program)
{
    child_report_step (STAGE_TRANSFER);
    return transfer_one (program, 0) < 0 ? -1 : transfer_one (program, 1);
}

static int execute (struct program *program, void *loaded, void **output)
{
    struct pjrt_execute_options how = PJRT_ARGS (struct pjrt_execute_options, hlo_outputs_n);
    struct pjrt_execute args = PJRT_ARGS (struct pjrt_execute, device);
    void *const *arguments[] = { program->inputs };
    void *results[] = { NULL }, **outputs[] = { results }, *complete[] = { NULL };
    args.executable = loaded;
    args.options = &how;
    args.arguments = arguments;
    args.devices_n = 1;
    args.arguments_n = 2;
    args.outputs = outputs;
    args.complete = complete;
    if (plugin_call (program->client->plugin, PJRT_LOADED_EXECUTE, &args) < 0 ||
        await (program->client->plugin, complete[0]) < 0)
        return -1;
    if (!results[0])
        return child_report_wrong (OWNER_BUNDLE, "the plugin reports that the program ran, but returns no output");
    *output = results[0];
    return 0;
}

/* What it says of the values is the sum, which the judge holds against what it should be. */
static int check_value (const char *name, const float *got)
{
    float sum = 0;
    for (uint32_t i = 0; i < NUMBERS_N; i++)
        sum += got[i];
    if (isfinite (sum)) {
        LOCAL_ARENA arena = { 0 };
        child_report_value (name, text_format (&arena, "%.9g", (double) sum));
    }
    for (uint32_t i = 0; i < NUMBERS_N; i++)
        if (!(got[i] == inputs[0][i] + inputs[1][i])) /* written so that a NaN is wrong */
            return child_report_wrong (OWNER_DEVICE, "element %u of x + y is %.9g; expected %.9g", i + 1,
                                       (double) got[i], (double) (inputs[0][i] + inputs[1][i]));
    return 0;
}

static int read_back (struct plugin *plugin, void *buffer, const char *name)
{
    float got[NUMBERS_N];
    for (uint32_t i = 0; i < NUMBERS_N; i++)
        got[i] = NAN; /* what was never written must not be right by chance */
    struct pjrt_to_host args = PJRT_ARGS (struct pjrt_to_host, event);
    args.buffer = buffer;
    if (plugin_call (plugin, PJRT_BUFFER_TO_HOST_BUFFER, &args) < 0)
        return -1;
    if (args.to_size != sizeof got)
        return child_report_wrong (OWNER_BUNDLE, "the plugin reports that the output has %zu bytes; expected %zu",
                                   args.to_size, sizeof got);
    args.to = got;
    args.event = NULL;
    if (plugin_call (plugin, PJRT_BUFFER_TO_HOST_BUFFER, &args) < 0 || await (plugin, args.event) < 0)
        return -1;
    if (check_value (name, got) < 0)
        return -1;
    return child_destroy (plugin, PJRT_BUFFER_DESTROY, buffer);
}

/* Compile, transfer, execute, read. */
static int program_run (struct program *program, struct client *client)
{
    void *output = NULL;
    *program = (struct program){ .client = client };
    if (compile (program) < 0 || transfer (program) < 0)
        return -1;
    child_report_step (STAGE_EXECUTE);
    if (execute (program, program->loaded, &output) < 0)
        return -1;
    child_report_step (STAGE_READ);
    return read_back (client->plugin, output, "value");
}

/* ---- serialised, and again ---- */

static int load_again (struct program *program, const struct pjrt_serialize *kept)
{
    struct pjrt_load args = PJRT_ARGS (struct pjrt_load, load_options);
    struct plugin_error refusal;
    args.client = program->client->client;
    args.bytes = kept->bytes;
    args.bytes_size = kept->bytes_size;
    child_report_step (STAGE_RELOAD);
    if (plugin_try (program->client->plugin, PJRT_DESERIALIZE_AND_LOAD, &args, &refusal) < 0)
        return child_report_failure (refusal.code == PJRT_UNIMPLEMENTED, refusal.code, refusal.text);
    if (!args.executable)
        return child_report_wrong (OWNER_COMPILER,
                                   "the plugin reports that it loaded the serialised program, but returns nothing");
    program->reloaded = args.executable;
    return 0;
}

/* 0 and nothing in `kept`: it cannot be done with this plugin. */
static int serialize (struct program *program, struct pjrt_serialize *kept)
{
    struct plugin_error refusal;
    kept->executable = program->executable;
    child_report_step (STAGE_SERIALIZE);
    if (plugin_try (program->client->plugin, PJRT_EXECUTABLE_SERIALIZE, kept, &refusal) < 0)
        return child_report_failure (refusal.code == PJRT_UNIMPLEMENTED, refusal.code, refusal.text);
    if (!kept->bytes || !kept->bytes_size || kept->bytes_size > SERIALIZED_BYTES_MAX)
        return child_report_wrong (OWNER_COMPILER,
                                   "the plugin reports an impossible size of the serialised program: %zu bytes%s",
                                   kept->bytes_size, kept->bytes ? "" : " at no address");
    child_report_number ("serialized.bytes", (int64_t) kept->bytes_size);
    return 0;
}

/* Serialize, reload, execute-again. */
static int program_reload_and_run (struct program *program)
{
    struct pjrt_serialize kept = PJRT_ARGS (struct pjrt_serialize, release);
    void *output = NULL;
    if (serialize (program, &kept) < 0)
        return -1;
    if (!kept.bytes)
        return 0;
    if (load_again (program, &kept) < 0)
        return -1;
    if (kept.release)
        kept.release (kept.owner);
    if (!program->reloaded)
        return 0;
    child_report_step (STAGE_EXECUTE_AGAIN);
    if (execute (program, program->reloaded, &output) < 0)
        return -1;
    return read_back (program->client->plugin, output, "value.again");
}

/* ---- memory, the end ---- */

/* What the compiler says that it takes. */
static int program_report_memory (struct program *program)
{
    struct pjrt_program_memory memory = PJRT_ARGS (struct pjrt_program_memory, peak_unpadded);
    struct plugin *plugin = program->client->plugin;
    struct plugin_error refusal;
    if (!plugin_has (plugin, PJRT_EXECUTABLE_MEMORY_STATS))
        return 0;
    memory.executable = program->executable;
    if (plugin_try (plugin, PJRT_EXECUTABLE_MEMORY_STATS, &memory, &refusal) < 0)
        return child_report_failure (refusal.code == PJRT_UNIMPLEMENTED, refusal.code, refusal.text);
    int64_t sum = 0;
    if (memory.arguments < 0 || memory.outputs < 0 || memory.temporaries < 0 || memory.code < 0 ||
        __builtin_add_overflow (memory.arguments, memory.outputs, &sum) ||
        __builtin_add_overflow (sum, memory.temporaries, &sum) || __builtin_add_overflow (sum, memory.code, &sum)) {
        child_report_note (
            "the plugin reports impossible sizes of the program: %lld bytes of arguments, %lld bytes of outputs",
            (long long) memory.arguments, (long long) memory.outputs);
        return 0;
    }
    child_report_number ("program.bytes", sum);
    return 0;
}

static int program_close (struct program *program)
{
    struct plugin *plugin = program->client->plugin;
    for (uint32_t i = 0; i < 2; i++)
        if (child_destroy (plugin, PJRT_BUFFER_DESTROY, program->inputs[i]) < 0)
            return -1;
    if (child_destroy (plugin, PJRT_LOADED_DESTROY, program->reloaded) < 0 ||
        child_destroy (plugin, PJRT_EXECUTABLE_DESTROY, program->executable) < 0)
        return -1;
    return child_destroy (plugin, PJRT_LOADED_DESTROY, program->loaded);
}

/* ---- child ---- */

enum { EXIT_SAID = 0, EXIT_WRONG = 1, EXIT_NOT_READY = 3 };

/* A crash must end it by the signal: a handler that came with us would hide which one it was. What is open of an image
 * is not the plugin's. */
static bool child_prepare (void)
{
    static const int deadly[] = { SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGTRAP, SIGSYS };
    for (size_t i = 0; i < sizeof deadly / sizeof deadly[0]; i++)
        if (signal (deadly[i], SIG_DFL) == SIG_ERR)
            return false;
    return fcntl (REPORTER_FD, F_SETFD, FD_CLOEXEC) == 0 && close_range (REPORTER_FD + 1, ~0U, 0) == 0;
}

static int tell_memory (struct program *program)
{
    child_report_step (STAGE_MEMORY);
    return pjrt_client_report_memory (program->client) < 0 ? -1 : program_report_memory (program);
}

static int use (struct plugin *plugin, const struct pjrt_named_value *options, size_t options_n)
{
    struct client client;
    struct program program;
    if (pjrt_client_open (&client, plugin, options, options_n) < 0)
        return -1;
    if (program_run (&program, &client) < 0 || program_reload_and_run (&program) < 0 || tell_memory (&program) < 0)
        return -1;
    child_report_step (STAGE_CLOSE);
    return program_close (&program) < 0 ? -1 : pjrt_client_close (&client);
}

void probe_child (const char *path, bool client, char *const *options)
{
    struct pjrt_named_value values[OPTIONS_MAX];
    struct plugin plugin;
    struct err err = { 0 };
    size_t n = 0;
    if (!child_prepare ())
        _exit (EXIT_NOT_READY);
    while (options[n] && n < OPTIONS_MAX) {
        if (option_read (options[n], &values[n], &err) < 0) {
            child_report_wrong (OWNER_LAUNCH, "%s", err.text);
            _exit (EXIT_WRONG);
        }
        n++;
    }
    if (plugin_open (&plugin, path) < 0 || plugin_initialize (&plugin) < 0 || (client && use (&plugin, values, n) < 0))
        _exit (EXIT_WRONG);
    child_report_done ();
    _exit (EXIT_SAID);
}
