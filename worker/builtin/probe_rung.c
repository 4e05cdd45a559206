#include "worker/builtin/builtin.h"

#include "common/io/fd.h"
#include "worker/probe/probe_run.h"
#include "worker/protocol/protocol_writer.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The child's input and what it should be: worker/probe/program.c. */
#define EXPECTED_SUM 110.0
#define NOTE_SOURCE "probe"

enum { EXIT_WORKS = 0, EXIT_FAILS = 1, EXIT_NOT_TRIED = 3, LIMIT_MS = 60 * 1000, LIMIT_MAX_MS = 24 * 3600 * 1000 };
enum { ITEMS_MAX = 16 };

struct probe {
    struct protocol_writer *writer;
    struct arena arena;
    struct probe_request request;
    const char *options[OPTIONS_MAX];
    struct probe_report report;
};

/* ---- the order ---- */

/* The only <env>/lib/python3.*; with two, as by a link, the right one is unknown. */
static int find_site (struct probe *probe, const char *env, struct text *site, struct err *err)
{
    struct text lib = text_format (&probe->arena, "%s/lib", env);
    struct dirent *entry;
    uint32_t n = 0;
    LOCAL_DIR folder = opendir (lib.ptr);
    if (!folder)
        return err_errno (err, ERR_IO, "cannot read the environment's folder %.200s", lib.ptr);
    while ((entry = readdir (folder)))
        if (strncmp (entry->d_name, "python3.", 8) == 0 && n++ == 0)
            *site = text_format (&probe->arena, "%.*s/%s/site-packages", TEXT_ARG (lib), entry->d_name);
    if (n == 1)
        return 0;
    return err_set (err, ERR_STATE,
                    "there are %u folders python3.* in %.200s; expected one, with the packages of the environment", n,
                    lib.ptr);
}

static int find_plugin (struct probe *probe, struct err *err)
{
    const char *plugin = protocol_writer_arg (probe->writer, "plugin"),
               *env = protocol_writer_arg (probe->writer, "env_folder");
    struct text site;
    if (!plugin || !*plugin)
        return err_set (err, ERR_PARSE, "the rung's args name no plugin");
    probe->request.plugin = plugin;
    if (plugin[0] == '/')
        return 0;
    if (!env || env[0] != '/')
        return err_set (err, ERR_PARSE,
                        "the path of the plugin, %.200s, is relative, but the rung has no Python environment; expected "
                        "an absolute path, or env: true",
                        plugin);
    if (find_site (probe, env, &site, err) < 0)
        return -1;
    probe->request.plugin = text_format (&probe->arena, "%.*s/%s", TEXT_ARG (site), plugin).ptr;
    return 0;
}

/* As option.c reads it; NULL: a value of no type that an option has. */
static const char *write_option (struct arena *arena, const char *name, const json_t *value)
{
    switch (json_typeof (value)) {
    case JSON_STRING: return text_format (arena, "%s:string=%s", name, json_string_value (value)).ptr;
    case JSON_INTEGER:
        return text_format (arena, "%s:int64=%" JSON_INTEGER_FORMAT, name, json_integer_value (value)).ptr;
    case JSON_REAL: return text_format (arena, "%s:float=%.9g", name, json_real_value (value)).ptr;
    case JSON_TRUE:
    case JSON_FALSE: return text_format (arena, "%s:bool=%s", name, json_is_true (value) ? "true" : "false").ptr;
    default: return NULL;
    }
}

static int probe_rung_read_options (struct probe *probe, const json_t *args, struct err *err)
{
    json_t *options = json_object_get (args, "options"), *value;
    struct pjrt_named_value read;
    const char *name;
    json_object_foreach (options, name, value) {
        const char *written = write_option (&probe->arena, name, value);
        if (!written || probe->request.options_n == OPTIONS_MAX)
            return err_set (err, ERR_PARSE,
                            "options.%.100s: expected at most %d options, each a number, true, false or a string", name,
                            OPTIONS_MAX);
        if (option_read (written, &read, err) < 0)
            return -1;
        probe->options[probe->request.options_n++] = written;
    }
    return 0;
}

static void begins (void *listener, enum probe_stage stage)
{
    protocol_writer_phase (listener, enum_name_of (&stage_names, stage));
}

static int read_request (struct probe *probe, struct err *err)
{
    const json_t *args = protocol_writer_args (probe->writer), *limit = json_object_get (args, "limit_ms");
    json_int_t limit_ms = json_integer_value (limit);
    probe->request = (struct probe_request){
        .options = probe->options,
        .client = !json_is_false (json_object_get (args, "client")),
        .limit_ms = limit_ms > 0 && limit_ms <= LIMIT_MAX_MS ? (uint64_t) limit_ms : LIMIT_MS,
        .echo_fd = STDOUT_FILENO,
        .begins = begins,
        .listener = probe->writer,
    };
    return find_plugin (probe, err) < 0 ? -1 : probe_rung_read_options (probe, args, err);
}

/* ---- the evidence ---- */

static uint64_t number_of (const struct probe *probe, const char *name)
{
    uint64_t number = 0;
    return probe_report_find_number (&probe->report, name, &number) ? number : 0;
}

static void say_bundle (struct probe *probe)
{
    static const char *const names[][2] = { { "pjrt-struct-size", "api.struct_size" },
                                            { "pjrt-platform-version", "platform.version" },
                                            { "pjrt-xla-version", "xla_version" },
                                            { "pjrt-stablehlo-current", "stablehlo_current_version" },
                                            { "pjrt-stablehlo-minimum", "stablehlo_minimum_version" },
                                            { "pjrt-plugin-sha256", "plugin.sha256" },
                                            { "pjrt-plugin-bytes", "plugin.bytes" } };
    struct var items[ITEMS_MAX];
    uint32_t n = 0;
    struct text major = probe_report_find_value (&probe->report, "api.major");
    struct text minor = probe_report_find_value (&probe->report, "api.minor");
    if (minor.len)
        items[n++] = (struct var){ TEXT_LIT ("pjrt-api"),
                                   text_format (&probe->arena, "%.*s.%.*s", TEXT_ARG (major), TEXT_ARG (minor)) };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct text value = probe_report_find_value (&probe->report, names[i][1]);
        if (value.len)
            items[n++] = (struct var){ text_of (names[i][0]), value };
    }
    if (n)
        protocol_writer_bundle (probe->writer, items, n);
}

static void say_backend (struct probe *probe)
{
    uint64_t index = number_of (probe, "process.index");
    struct observed_backend backend = { .platform = probe_report_find_value (&probe->report, "platform.name"),
                                        .platform_version = probe_report_find_value (&probe->report,
                                                                                     "platform.version"),
                                        .device_kind = probe_report_find_value (&probe->report, "device.kind"),
                                        .kernel_path = TEXT_LIT ("pjrt"),
                                        .devices = (uint32_t) number_of (probe, "devices.all"),
                                        .local_devices = (uint32_t) number_of (probe, "devices.here"),
                                        .process_count = (uint32_t) number_of (probe, "process.count"),
                                        .process_index = (uint32_t) index };
    if (backend.device_kind.len)
        protocol_writer_backend (probe->writer, &backend);
}

static bool say_value (struct probe *probe, const char *finding, const char *name)
{
    char value[32];
    if (!text_to_c (probe_report_find_value (&probe->report, finding), value, sizeof value) || !value[0])
        return false;
    struct value_check check = { .name = text_of (name), .expected = EXPECTED_SUM, .observed = strtod (value, NULL) };
    protocol_writer_check (probe->writer, &check);
    return true;
}

static uint64_t step_ms (const struct probe *probe, enum probe_stage stage)
{
    for (uint32_t i = 0; i < probe->report.steps_n; i++)
        if (probe->report.steps[i].stage == stage)
            return probe->report.steps[i].ms;
    return 0;
}

static void say_counters (struct probe *probe, uint64_t executions)
{
    if (!executions)
        return;
    const struct named_number counters[] = { { TEXT_LIT ("compile_requests"), 1 },
                                             { TEXT_LIT ("cache_hits"), 0 },
                                             { TEXT_LIT ("cache_misses"), 1 },
                                             { TEXT_LIT ("executions"), executions },
                                             { TEXT_LIT ("compile_ms"), step_ms (probe, STAGE_COMPILE) } };
    protocol_writer_counters (probe->writer, counters, sizeof counters / sizeof counters[0]);
}

static void say_facts (struct probe *probe)
{
    static const char *const names[][2] = { { "probe.memory_limit_bytes", "memory.limit" },
                                            { "probe.serialized_bytes", "serialized.bytes" } };
    struct text devices = probe_step_text (&probe->report, STAGE_DEVICES, &probe->arena);
    protocol_writer_fact (probe->writer, "probe.plugin", text_of (probe->request.plugin));
    if (devices.len)
        protocol_writer_fact (probe->writer, "probe.devices", devices);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct text value = probe_report_find_value (&probe->report, names[i][1]);
        if (value.len)
            protocol_writer_fact (probe->writer, names[i][0], value);
    }
}

static void say_notes (struct probe *probe)
{
    const struct probe_report *report = &probe->report;
    for (uint32_t i = 0; i < report->notes_n; i++)
        protocol_writer_note (probe->writer, report->notes[i], NOTE_SOURCE, DURABILITY_RERUN);
    for (uint32_t i = 0; i < report->steps_n; i++)
        if (report->steps[i].lacks)
            protocol_writer_note (probe->writer,
                                  text_format (&probe->arena, "the plugin does not support the step %s: %.*s",
                                               enum_name_of (&stage_names, report->steps[i].stage),
                                               TEXT_ARG (report->steps[i].why)),
                                  NOTE_SOURCE, DURABILITY_RERUN);
}

static int say_report (struct probe *probe)
{
    const struct probe_report *report = &probe->report;
    say_bundle (probe);
    say_backend (probe);
    uint64_t executions = say_value (probe, "value", "x + y");
    executions += say_value (probe, "value.again", "x + y, loaded again");
    say_counters (probe, executions);
    say_facts (probe);
    protocol_writer_memory (probe->writer, report->peak_bytes, number_of (probe, "program.bytes"),
                            number_of (probe, "memory.peak"));
    say_notes (probe);
    if (report->end == PROBE_WORKS) {
        protocol_writer_done (probe->writer);
        return EXIT_WORKS;
    }
    protocol_writer_failure (probe->writer, report->owner, report->sentence);
    fprintf (stderr, "sliceup-worker probe: %.*s; next: %.*s\n", TEXT_ARG (report->sentence), TEXT_ARG (report->next));
    return EXIT_FAILS;
}

static int probe_rung_run (struct probe *probe, struct err *err)
{
    probe->writer = protocol_writer_open (err);
    if (!probe->writer || read_request (probe, err) < 0 || probe_run (&probe->request, &probe->report, err) < 0)
        return EXIT_NOT_TRIED;
    return say_report (probe);
}

int probe_rung (void)
{
    struct probe probe = { .writer = NULL };
    struct err err = { 0 };
    probe_report_init (&probe.report);
    int status = probe_rung_run (&probe, &err);
    if (status == EXIT_NOT_TRIED && probe.writer)
        protocol_writer_failure (probe.writer,
                                 err.code == ERR_PARSE || err.code == ERR_USAGE ? OWNER_LAUNCH : OWNER_HOST,
                                 text_of (err.text));
    if (status == EXIT_NOT_TRIED)
        fprintf (stderr, "sliceup-worker probe: %s\n", err.text);
    if (probe.writer && protocol_writer_close (probe.writer, &err) < 0)
        status = EXIT_NOT_TRIED;
    probe_report_release (&probe.report);
    arena_release (&probe.arena);
    return status;
}
