/* calibration.c - what launches took in memory and time, over all runs; what is known bad; forgetting it. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "coordinator/cli/commands.h"
#include "coordinator/run/calibration_store.h"

enum {
    SIGNATURE_COLUMNS = 16,
    RUNG_COLUMNS = 18,
    CAUSE_COLUMNS = 240,
    RUN_COLUMNS = 8,
    PINS_COLUMNS = 40,
    LAUNCHES_SHOWN_MAX = 10000
};

enum { CALIBRATION_HISTORY = CLI_OWN, CALIBRATION_FORGET };

struct question {
    const char *of;
    bool json, history;
};

/* A rung by its name, or launches whose fingerprint begins so, or those of a run. */
static bool asked_for (const struct question *question, const struct measure *measure)
{
    return !question->of || text_is (measure->rung, question->of) || text_starts (measure->signature, question->of) ||
           text_starts (measure->run, question->of);
}

/* The list is newest first: the first of a launch is its last measure. */
static bool is_latest (const struct measure_list *all, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++)
        if (text_equal (all->items[i].signature, all->items[at].signature) &&
            text_equal (all->items[i].rung, all->items[at].rung) && all->items[i].pass == all->items[at].pass)
            return false;
    return true;
}

/* The same launch was measured since with another bundle: these figures are of the old one. */
static bool is_outdated (const struct measure_list *all, uint32_t at)
{
    const struct measure *measure = &all->items[at];
    for (uint32_t i = 0; i < at; i++)
        if (text_equal (all->items[i].shape, measure->shape) &&
            !text_equal (all->items[i].signature, measure->signature))
            return true;
    return false;
}

static const char *calibration_word_of (const struct measure_list *all, uint32_t at)
{
    const struct measure *measure = &all->items[at];
    if (is_outdated (all, at))
        return "outdated";
    return measure->known_bad ? "known-bad" : enum_name_of (&outcome_names, measure->outcome);
}

static const char *size_or_dash (uint64_t bytes, char out[SIZE_TEXT_BYTES])
{
    return bytes ? size_print (bytes, out) : "-";
}

/* Those of the newest bundle's last measure. */
static uint32_t changes_of (const struct measure_list *all, uint32_t at, struct arena *arena,
                            struct stack_change out[STACK_CHANGES_MAX])
{
    return is_latest (all, at) && !is_outdated (all, at) ? measure_stack_changes (all, &all->items[at], arena, out) : 0;
}

static void add_comparisons (const struct measure_list *all, uint32_t at, struct buf *out)
{
    LOCAL_ARENA arena = { 0 };
    const struct measure *measure = &all->items[at];
    struct stack_change changes[STACK_CHANGES_MAX];
    uint32_t n = changes_of (all, at, &arena, changes);
    LOCAL_BUF line = { .max = SENTENCE_MAX_BYTES };
    struct usual_time usual = measure_usual_before (all, measure, &arena);
    measure_put_memory (measure->predicted_bytes, measure->device_peak_bytes, &line);
    double more = measure_deviation (usual.ms, measure->duration_ms);
    if (!isnan (more) && measure->outcome == OUTCOME_PASSED)
        buf_printf (&line, "%stook %s, %s by %u earlier run%s (%+.0f %%)", line.len ? "; " : "",
                    DURATION_TEXT (measure->duration_ms), DURATION_TEXT (usual.ms), usual.runs, plural (usual.runs),
                    100 * more);
    buf_escaped_after (out, "    ", buf_as_text (&line), 0);
    buf_puts (out, line.len ? "\n" : "");
    for (uint32_t i = 0; i < n; i++) {
        buf_escaped_after (out, "    ", changes[i].sentence, 0);
        buf_byte (out, '\n');
    }
}

static void add_launch (const struct measure_list *all, uint32_t at, struct buf *out)
{
    static const struct style style = { .unicode = true };
    const struct measure *measure = &all->items[at];
    char predicted[SIZE_TEXT_BYTES], device[SIZE_TEXT_BYTES], host[SIZE_TEXT_BYTES];
    struct line line = line_begin (out, &style);
    line_cell (&line, measure->signature, SIGNATURE_COLUMNS, SIGNATURE_COLUMNS + 1);
    line_cell (&line, measure->rung, RUNG_COLUMNS, RUNG_COLUMNS + 1);
    line_printf (&line, " %-8s %-13s %10s %10s %10s %8s  ", enum_name_of (&pass_names, measure->pass),
                 calibration_word_of (all, at), size_or_dash (measure->predicted_bytes, predicted),
                 size_or_dash (measure->device_peak_bytes, device), size_or_dash (measure->host_peak_bytes, host),
                 DURATION_TEXT (measure->start_ms));
    line_cell (&line, measure->run.len ? text_clip (measure->run, RUN_COLUMNS) : TEXT_LIT ("-"), RUN_COLUMNS,
               RUN_COLUMNS + 2);
    line_cell (&line, measure->pins, PINS_COLUMNS, 0);
    line_end (&line);
    buf_escaped_after (out, "    ", measure->cause, CAUSE_COLUMNS);
    buf_puts (out, measure->cause.len ? "\n" : "");
    add_comparisons (all, at, out);
}

/* A text or a number that is not known is null. */
static json_t *calibration_field_json (const struct field *field, const void *at)
{
    if (field->kind == FIELD_TEXT)
        return text_or_null_json (*(const struct text *) at);
    return field->kind == FIELD_U64 ? number_or_null_json (*(const uint64_t *) at) : record_field_json (field, at);
}

static void json_add_comparisons (const struct measure_list *all, uint32_t at, json_t *launch)
{
    LOCAL_ARENA arena = { 0 };
    struct stack_change changes[STACK_CHANGES_MAX];
    const struct measure *measure = &all->items[at];
    struct usual_time usual = measure_usual_before (all, measure, &arena);
    double more = measure_deviation (measure->predicted_bytes, measure->device_peak_bytes);
    uint32_t n = changes_of (all, at, &arena, changes);
    json_t *list = json_array ();
    for (uint32_t i = 0; i < n; i++)
        json_array_append_new (list, json_pack ("{s:s, s:I, s:I, s:o}", "what", changes[i].what, "now",
                                                (json_int_t) changes[i].now, "before", (json_int_t) changes[i].before,
                                                "sentence", text_json (changes[i].sentence)));
    json_object_set_new (launch, "memory_deviation", isnan (more) ? json_null () : json_real (more));
    json_object_set_new (launch, "usual_ms", number_or_null_json (usual.ms));
    json_object_set_new (launch, "usual_runs", json_integer (usual.runs));
    json_object_set_new (launch, "changes", list);
}

static json_t *json_launch (const struct measure_list *all, uint32_t at)
{
    const struct measure *measure = &all->items[at];
    json_t *launch = json_object ();
    for (uint32_t i = 0; i < measure_record.fields_n; i++) {
        const struct field *field = &measure_record.fields[i];
        json_object_set_new (launch, field->name,
                             calibration_field_json (field, (const char *) measure + field->offset));
    }
    bool outdated = is_outdated (all, at);
    json_object_set_new (launch, "known_bad", json_boolean (measure->known_bad && !outdated));
    json_object_set_new (launch, "outdated", json_boolean (outdated));
    json_object_set_new (launch, "ended", time_json (measure->ended_wall_ms));
    json_add_comparisons (all, at, launch);
    return launch;
}

static const char schema[] = "sliceup.calibration/4";

static int calibration_show_json (const struct cli *cli, const struct question *question,
                                  const struct measure_list *all)
{
    json_t *list = json_array ();
    for (uint32_t i = 0; i < all->n; i++)
        if (asked_for (question, &all->items[i]) && (question->history || is_latest (all, i)))
            json_array_append_new (list, json_launch (all, i));
    return cli_print_json (cli, schema, json_pack ("{s:o}", "launches", list));
}

static int calibration_show_text (const struct cli *cli, const struct question *question,
                                  const struct measure_list *all)
{
    struct buf out = { .max = CLI_ANSWER_MAX_BYTES };
    uint32_t uncounted = 0;
    for (uint32_t i = 0, shown = 0; i < all->n && shown < LAUNCHES_SHOWN_MAX; i++) {
        if (!asked_for (question, &all->items[i]) || (!question->history && !is_latest (all, i)))
            continue;
        if (shown++ == 0)
            buf_printf (&out, "%-16s %-18s %-8s %-13s %10s %10s %10s %8s  %-8s  %s\n", "FINGERPRINT", "RUNG", "PASS",
                        "OUTCOME", "PREDICTED", "DEVICE", "HOST", "START", "RUN", "PINS");
        add_launch (all, i, &out);
        uncounted += all->items[i].predicted_bytes && !all->items[i].device_peak_bytes;
    }
    if (uncounted)
        buf_printf (&out,
                    "no device counted its memory in %u of these: what the compiler predicted was compared with "
                    "nothing\n",
                    uncounted);
    if (out.len == 0)
        buf_puts (&out, all->n
                            ? "no launch was measured that has this rung, run, or a fingerprint that begins with this; "
                              "sliceup calibration shows all\n"
                            : "no launch was measured yet; every run measures its canaries\n");
    return cli_write_stdout (cli, &out);
}

static int forget (struct cli *cli, const char *signature, bool json)
{
    struct err err = { 0 };
    uint32_t n;
    if (calibration_forget (cli->home, text_of (signature), &n, &err) < 0)
        return cli_fail (cli, &err);
    if (json) {
        int status = cli_print_json (cli, schema, json_pack ("{s:i}", "forgotten", (int) n));
        return status == EXIT_HOLDS && n == 0 ? EXIT_BROKEN : status;
    }
    if (n == 0) {
        printf ("no measures of this fingerprint: give the whole fingerprint that sliceup calibration shows\n");
        return EXIT_BROKEN;
    }
    printf ("forgot %u measure%s\n", n, plural (n));
    return EXIT_HOLDS;
}

static int calibration_run (struct cli *cli, const struct cli_arguments *arguments)
{
    const char *const *values = arguments->values;
    struct question question = { arguments->operands[0], values[CLI_JSON], values[CALIBRATION_HISTORY] };
    LOCAL_ARENA arena = { 0 };
    struct measure_list all;
    struct err err = { 0 };
    int status = EXIT_HOLDS;
    if (values[CALIBRATION_FORGET])
        return forget (cli, values[CALIBRATION_FORGET], values[CLI_JSON]);
    if (calibration_read (cli->home, (struct text){ 0 }, &arena, &all, &err) < 0)
        status = cli_fail (cli, &err);
    else
        status = question.json ? calibration_show_json (cli, &question, &all)
                               : calibration_show_text (cli, &question, &all);
    return status;
}

static const struct cli_option options[] = {
    { CALIBRATION_HISTORY, "--history", .help = "show every measure, not only the last of each launch" },
    { CALIBRATION_FORGET, "--forget", .value = "FINGERPRINT",
      .help = "forget all measures of a launch (the whole fingerprint)" },
    { OPTION_JSON ("print JSON, as docs/spec/calibration.md describes") },
    { 0 },
};

const struct cli_command calibration_command = {
    .name = "calibration",
    .task = TASK_COMPARE,
    .usage = "[RUNG|FINGERPRINT|RUN] [--history] [--json] | --forget FINGERPRINT [--json]",
    .summary = "memory and time of every canary rung that ran, and which launches are known bad",
    .help =
        "Every canary that ran is a launch. Its fingerprint covers code, bundle, hardware, arguments, mesh and "
        "variables. sliceup keeps measures of each launch over all runs of this home: the device memory that the "
        "compiler predicted and that the runtime counted, the memory of the host's process, the time until the first "
        "step, and the outcome. A launch whose failure would repeat is known bad: sliceup run does not run it again "
        "without --again. Another bundle is another launch: measures of the old one are shown as outdated.",
    .examples = "sliceup calibration\n"
                "sliceup calibration dense --history\n"
                "sliceup run slice.yaml --again\n",
    .exit_status =
        "0 shown or forgotten, 1 there was nothing to forget, 2 usage, 3 the store could not be read, 5 it is damaged.",
    .operands = (const struct cli_operand[]){ { "RUNG|FINGERPRINT|RUN", 0, 1, .kind = KIND_RUNG }, { 0 } },
    .options = options,
    .run = calibration_run,
};
