#include "worker/builtin/probe.h"

#include "common/base/utf8.h"
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

enum { PRINTED_LINES = 8, LINE_COLUMNS = 400 };

/* ---- what a step found ---- */

/* In this order; without the first of a stage nothing is said of it. */
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

static void add_step (const struct probe_report *report, uint32_t i, struct arena *arena, struct buf *out)
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

static void add_notes (const struct probe_report *report, struct buf *out)
{
    for (uint32_t i = 0; i < report->notes_n; i++) {
        buf_puts (out, "note: ");
        buf_escaped (out, report->notes[i], LINE_COLUMNS);
        buf_byte (out, '\n');
    }
}

static struct text last_lines (struct text all)
{
    uint32_t at = all.len, lines = 0;
    while (at > 0 && !(all.ptr[at - 1] == '\n' && at != all.len && ++lines == PRINTED_LINES))
        at--;
    return (struct text){ all.ptr + at, all.len - at };
}

static void add_printed (const struct probe_report *report, struct buf *out)
{
    struct text rest = report->output.len ? last_lines (buf_as_text (&report->output)) : (struct text){ 0 };
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

static int print (struct buf *out, struct err *err)
{
    if (fputs (buf_c (out), stdout) < 0 || fflush (stdout))
        return err_errno (err, ERR_IO, "cannot write to standard output");
    return 0;
}

int probe_print_lines (const struct probe_report *report, const char *plugin, struct err *err)
{
    struct arena arena = { 0 };
    struct buf out;
    buf_init (&out, 256 * 1024);
    for (uint32_t i = 0; i < report->steps_n; i++)
        add_step (report, i, &arena, &out);
    add_notes (report, &out);
    if (report->end != PROBE_WORKS)
        add_printed (report, &out);
    add_verdict (report, plugin, &out);
    int rc = print (&out, err);
    buf_release (&out);
    arena_release (&arena);
    return rc;
}

/* ---- JSON ---- */

static json_t *json_clean (struct text text)
{
    struct arena arena = { 0 };
    struct text clean = text_repair_utf8 (&arena, text, 3 * OUTPUT_KEPT_BYTES);
    json_t *json = json_stringn (clean.len ? clean.ptr : "", clean.len);
    arena_release (&arena);
    return json;
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

int probe_print_json (const struct probe_report *report, const char *plugin, struct err *err)
{
    json_t *all = json_pack ("{s:s, s:o, s:b, s:b, s:o, s:o, s:o, s:I, s:o}", "schema", "sliceup.probe/2", "plugin",
                             json_clean (text_of (plugin)), "works", report->end == PROBE_WORKS, "client",
                             report->client, "steps", json_steps (report), "found", json_findings (report), "notes",
                             json_notes (report), "peak_bytes", (json_int_t) report->peak_bytes, "failure",
                             json_failure (report));
    int rc = json_dumpf (all, stdout, JSON_COMPACT | JSON_ENSURE_ASCII) < 0 || putchar ('\n') == EOF || fflush (stdout)
                 ? err_errno (err, ERR_IO, "cannot write to standard output")
                 : 0;
    json_decref (all);
    return rc;
}
