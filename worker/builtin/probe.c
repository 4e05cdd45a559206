#include "worker/builtin/builtin.h"

#include "common/base/duration.h"
#include "common/base/utf8.h"
#include "worker/probe/probe_run.h"
#include "worker/process/self.h"
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_WORKS = 0, EXIT_FAILS = 1, EXIT_WRONG_USAGE = 2, EXIT_NOT_TRIED = 3 };
enum { LIMIT_MS = 60 * 1000 };

static const char usage[] =
    "usage: sliceup-worker probe --plugin PATH [--option NAME=VALUE]... [--timeout DURATION] [--no-client] [--json]\n";
static const char help[] =
    "\n"
    "Checks whether a PJRT plugin (libtpu.so, a CPU or GPU plugin) works on this host, without Python. The probe "
    "loads\n"
    "the plugin in a process of its own, checks its interface, makes a client, lists the devices, compiles a tiny "
    "program,\n"
    "runs it, checks its value, serialises it, loads it again and runs it again. It prints one line for each step and "
    "ends\n"
    "with the verdict. If the plugin hangs or crashes, only the process of the probe ends, and the verdict names the "
    "step.\n"
    "\n"
    "  --plugin PATH        the shared library, such as .../site-packages/libtpu/libtpu.so\n"
    "  --option NAME=VALUE  an option for making the client. NAME:TYPE=VALUE gives the type: int64, bool, float or "
    "string.\n"
    "                       Without a type, 4 is an int64, true a bool, 0.5 a float, and any other value a string\n"
    "  --timeout DURATION   the limit for all steps together; default 60s\n"
    "  --no-client          stop after the attributes and touch no device. Use it for one host of a TPU slice of "
    "several\n"
    "                       hosts: making a client there waits until all hosts of the slice make theirs\n"
    "  --json               print JSON\n"
    "\n"
    "The plugin reads its variables (TPU_..., LIBTPU_INIT_ARGS, XLA_FLAGS) from the environment of this shell.\n"
    "Exit status: 0 it works; 1 it does not; 2 usage; 3 it could not be tried.\n";

/* ---- what is printed: one line a step and the verdict last, or as JSON (sliceup.probe/2) ---- */

enum { PRINTED_LINES = 8, LINE_COLUMNS = 400 };

/* ---- what a step found ---- */

/* In this order; a stage without its first piece is left out. */
static const struct piece {
    enum probe_stage stage;
    const char *finding, *before, *behind;
} pieces[] = { { STAGE_FILE, "plugin.bytes", "", " bytes" },
               { STAGE_FILE, "plugin.sha256", ", sha256 ", "" },
               { STAGE_INTERFACE, "api.major", "PJRT ", "" },
               { STAGE_INTERFACE, "api.minor", ".", "" },
               { STAGE_INTERFACE, "api.struct_size", ", structure of ", " bytes" },
               { STAGE_ATTRIBUTES, "stablehlo_current_version", "StableHLO ", "" },
               { STAGE_ATTRIBUTES, "stablehlo_minimum_version", " (from ", " on)" },
               { STAGE_ATTRIBUTES, "xla_version", ", xla_version ", "" },
               { STAGE_PLATFORM, "platform.name", "", "" },
               { STAGE_PLATFORM, "platform.version", ": ", "" },
               { STAGE_DEVICES, "devices.here", "", "" },
               { STAGE_DEVICES, "devices.all", " of ", " on this host" },
               { STAGE_DEVICES, "device.kind", ": ", "" },
               { STAGE_READ, "value", "the elements of x + y sum to ", "" },
               { STAGE_SERIALIZE, "serialized.bytes", "", " bytes" },
               { STAGE_EXECUTE_AGAIN, "value.again", "the elements of x + y sum to ", "" },
               { STAGE_MEMORY, "memory.in_use", "", " bytes in use" },
               { STAGE_MEMORY, "memory.limit", " of ", "" } };

struct text probe_step_text (const struct probe_report *report, enum probe_stage stage, struct arena *arena)
{
    struct text said = { 0 };
    bool first = true;
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        const struct piece *piece = &pieces[i];
        if (piece->stage != stage)
            continue;
        struct text found = probe_report_find_value (report, piece->finding);
        if (first && !found.len)
            return said;
        first = false;
        if (found.len)
            said = text_format (arena, "%.*s%s%.*s%s", TEXT_ARG (said), piece->before, TEXT_ARG (found), piece->behind);
    }
    return said;
}

/* ---- lines ---- */

static bool is_bad_step (const struct probe_report *report, uint32_t i)
{
    return report->end != PROBE_WORKS && i + 1 == report->steps_n;
}

static void probe_add_step (const struct probe_report *report, uint32_t i, struct arena *arena, struct buf *out)
{
    const struct probe_step *step = &report->steps[i];
    const char *word = is_bad_step (report, i) ? "fails" : step->lacks ? "lacks" : "ok";
    struct text said = step->lacks ? step->why : probe_step_text (report, step->stage, arena);
    buf_printf (out, "%-14s %-5s %6" PRIu64 " ms", enum_name_of (&stage_names, step->stage), word, step->ms);
    if (said.len) {
        buf_puts (out, "  ");
        buf_escaped (out, said, LINE_COLUMNS);
    }
    buf_byte (out, '\n');
}

static void probe_add_notes (const struct probe_report *report, struct buf *out)
{
    for (uint32_t i = 0; i < report->notes_n; i++) {
        buf_puts (out, "note: ");
        buf_escaped (out, report->notes[i], LINE_COLUMNS);
        buf_byte (out, '\n');
    }
}

static struct text probe_last_lines (struct text all)
{
    uint32_t at = all.len, lines = 0;
    while (at > 0 && !(all.ptr[at - 1] == '\n' && at != all.len && ++lines == PRINTED_LINES))
        at--;
    return (struct text){ all.ptr + at, all.len - at };
}

static void probe_add_printed (const struct probe_report *report, struct buf *out)
{
    struct text rest = report->output.len ? probe_last_lines (buf_as_text (&report->output)) : (struct text){ 0 };
    while (rest.len) {
        buf_puts (out, "it printed: ");
        buf_escaped (out, text_take_until (&rest, '\n'), LINE_COLUMNS);
        buf_byte (out, '\n');
    }
}

static void add_verdict (const struct probe_report *report, const char *plugin, struct buf *out)
{
    if (report->end == PROBE_WORKS) {
        buf_puts (out, report->client ? "works: " : "loads (no client was made): ");
        buf_escaped (out, text_of (plugin), 0);
    } else {
        buf_printf (out, "does not work (owner: %s): ", enum_name_of (&owner_names, report->owner));
        buf_escaped (out, report->sentence, 0);
        buf_puts (out, "; next: ");
        buf_escaped (out, report->next, 0);
    }
    buf_byte (out, '\n');
}

static int probe_print (struct buf *out, struct err *err)
{
    if (fputs (buf_c (out), stdout) < 0 || fflush (stdout))
        return err_errno (err, ERR_IO, "cannot write to standard output");
    return 0;
}

static int probe_print_lines (const struct probe_report *report, const char *plugin, struct err *err)
{
    LOCAL_ARENA arena = { 0 };
    LOCAL_BUF out = { .max = 256 * 1024 };
    for (uint32_t i = 0; i < report->steps_n; i++)
        probe_add_step (report, i, &arena, &out);
    probe_add_notes (report, &out);
    if (report->end != PROBE_WORKS)
        probe_add_printed (report, &out);
    add_verdict (report, plugin, &out);
    return probe_print (&out, err);
}

/* ---- JSON ---- */

static json_t *json_clean (struct text text)
{
    LOCAL_ARENA arena = { 0 };
    struct text clean = text_repair_utf8 (&arena, text, 3 * OUTPUT_KEPT_BYTES);
    return json_stringn (clean.len ? clean.ptr : "", clean.len);
}

static json_t *json_steps (const struct probe_report *report)
{
    json_t *steps = json_array ();
    for (uint32_t i = 0; i < report->steps_n; i++) {
        const struct probe_step *step = &report->steps[i];
        const char *word = is_bad_step (report, i) ? "fails" : step->lacks ? "lacks" : "ok";
        json_array_append_new (steps,
                               json_pack ("{s:s, s:s, s:I, s:o}", "step", enum_name_of (&stage_names, step->stage),
                                          "state", word, "ms", (json_int_t) step->ms, "why", json_clean (step->why)));
    }
    return steps;
}

static json_t *json_findings (const struct probe_report *report)
{
    json_t *all = json_object ();
    for (uint32_t i = 0; i < report->findings_n; i++) {
        const struct var *finding = &report->findings[i]; /* names are words: probe_report_receive */
        json_object_setn_new (all, finding->name.ptr, finding->name.len, json_clean (finding->value));
    }
    return all;
}

static json_t *json_notes (const struct probe_report *report)
{
    json_t *notes = json_array ();
    for (uint32_t i = 0; i < report->notes_n; i++)
        json_array_append_new (notes, json_clean (report->notes[i]));
    return notes;
}

static json_t *json_failure (const struct probe_report *report)
{
    if (report->end == PROBE_WORKS)
        return json_null ();
    const char *step = report->steps_n ? enum_name_of (&stage_names, report->steps[report->steps_n - 1].stage)
                                       : "start";
    return json_pack ("{s:s, s:s, s:s, s:o, s:o, s:o}", "step", step, "call", report->call, "owner",
                      enum_name_of (&owner_names, report->owner), "sentence", json_clean (report->sentence), "next",
                      json_clean (report->next), "printed", json_clean (buf_as_text (&report->output)));
}

static int probe_print_json (const struct probe_report *report, const char *plugin, struct err *err)
{
    json_auto_t *all = json_pack ("{s:s, s:o, s:b, s:b, s:o, s:o, s:o, s:I, s:o}", "schema", "sliceup.probe/2",
                                  "plugin", json_clean (text_of (plugin)), "works", report->end == PROBE_WORKS,
                                  "client", report->client, "steps", json_steps (report), "found",
                                  json_findings (report), "notes", json_notes (report), "peak_bytes",
                                  (json_int_t) report->peak_bytes, "failure", json_failure (report));
    return json_dumpf (all, stdout, JSON_COMPACT | JSON_ENSURE_ASCII) < 0 || putchar ('\n') == EOF || fflush (stdout)
               ? err_errno (err, ERR_IO, "cannot write to standard output")
               : 0;
}

/* ---- the command line ---- */

struct options {
    const char *plugin, *limit, *options[OPTIONS_MAX];
    uint32_t options_n;
    uint64_t limit_ms;
    bool no_client, json, help;
};

static int probe_read_words (int argc, char **argv, struct options *options, struct err *err)
{
    const struct word_option known[] = {
        { "--help", .set = &options->help },
        { "--json", .set = &options->json },
        { "--no-client", .set = &options->no_client },
        { "--plugin", .value = &options->plugin },
        { "--timeout", .value = &options->limit },
        { "--option", .value = options->options, .n = &options->options_n, .most = OPTIONS_MAX },
    };
    struct pjrt_named_value value;
    if (word_options_read (argc, argv, known, sizeof known / sizeof *known, err) < 0)
        return -1;
    for (uint32_t i = 0; i < options->options_n; i++)
        if (option_read (options->options[i], &value, err) < 0)
            return -1;
    if (options->limit && (!duration_parse (text_of (options->limit), &options->limit_ms) || !options->limit_ms))
        return err_set (err, ERR_USAGE, "--timeout is \"%.40s\"; expected a duration such as 30s", options->limit);
    if (!options->help && (!options->plugin || !*options->plugin || strlen (options->plugin) > PATH_MAX_BYTES))
        return err_set (err, ERR_USAGE, "--plugin PATH is required; PATH may have at most %d bytes", PATH_MAX_BYTES);
    return 0;
}

static int probe_by_hand (const struct options *options)
{
    struct probe_report report;
    LOCAL_ARENA arena = { 0 };
    struct err err = { 0 };
    struct probe_request request = { .plugin = strchr (options->plugin, '/')
                                                   ? options->plugin
                                                   : text_format (&arena, "./%s", options->plugin).ptr,
                                     .options = options->options,
                                     .options_n = options->options_n,
                                     .client = !options->no_client,
                                     .limit_ms = options->limit_ms,
                                     .echo_fd = -1 };
    probe_report_init (&report);
    int status = EXIT_NOT_TRIED;
    if (probe_run (&request, &report, &err) < 0)
        fprintf (stderr, "sliceup-worker probe: %s\n", err.text);
    else if ((options->json ? probe_print_json : probe_print_lines) (&report, options->plugin, &err) < 0)
        fprintf (stderr, "sliceup-worker probe: %s\n", err.text);
    else
        status = report.end == PROBE_WORKS ? EXIT_WORKS : EXIT_FAILS;
    probe_report_release (&report);
    return status;
}

int probe_main (int argc, char **argv)
{
    struct options options = { .limit_ms = LIMIT_MS };
    struct err err = { 0 };
    if (argc >= 4 && strcmp (argv[1], PROBE_CHILD) == 0)
        probe_child (argv[2], strcmp (argv[3], PROBE_CHILD_CLIENT) == 0, argv + 4);
    if (argc == 1 && getenv ("SLICEUP_FD"))
        return probe_rung ();
    if (probe_read_words (argc, argv, &options, &err) < 0) {
        fprintf (stderr, "sliceup-worker probe: %s\n%s", err.text, usage);
        return EXIT_WRONG_USAGE;
    }
    if (options.help)
        return fputs (usage, stdout) < 0 || fputs (help, stdout) < 0 ? EXIT_NOT_TRIED : EXIT_WORKS;
    return probe_by_hand (&options);
}
