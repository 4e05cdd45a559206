#include "worker/probe/probe_run.h"

#include "common/base/duration.h"
#include "worker/probe/pjrt.h"
#include <signal.h>
#include <string.h>

void probe_report_init (struct probe_report *report)
{
    *report = (struct probe_report){ .end = PROBE_RUNNING };
    buf_init (&report->output, OUTPUT_KEPT_BYTES);
}

void probe_report_release (struct probe_report *report)
{
    buf_release (&report->output);
    arena_release (&report->arena);
}

struct text probe_report_find_value (const struct probe_report *report, const char *name)
{
    return var_value (&(var_list){ (struct var *) report->findings, report->findings_n }, name);
}

bool probe_report_find_number (const struct probe_report *report, const char *name, uint64_t *out)
{
    return text_to_u64 (probe_report_find_value (report, name), out);
}

/* ---- hearing ---- */

static bool report_is_name (struct text name)
{
    for (uint32_t i = 0; i < name.len; i++)
        if (!((name.ptr[i] >= 'a' && name.ptr[i] <= 'z') || (name.ptr[i] >= '0' && name.ptr[i] <= '9') ||
              name.ptr[i] == '.' || name.ptr[i] == '_'))
            return false;
    return name.len > 0;
}

static bool receive_step (struct probe_report *report, enum probe_stage stage)
{
    enum probe_stage last = report->steps_n ? report->steps[report->steps_n - 1].stage : STAGE_NONE;
    if (stage <= last)
        return false; /* each is done once, in their order */
    report->steps[report->steps_n++] = (struct probe_step){ .stage = stage };
    report->call[0] = '\0';
    return true;
}

static bool receive_finding (struct probe_report *report, const struct probe_statement *said)
{
    if (!report_is_name (said->name) || report->findings_n == FINDINGS_MOST)
        return false;
    struct text name = text_copy (&report->arena, said->name);
    if (probe_report_find_value (report, name.ptr).ptr)
        return false;
    struct text value = text_copy (&report->arena, said->text);
    report->findings[report->findings_n++] = (struct var){ name, value };
    return true;
}

static bool receive_note (struct probe_report *report, struct text note)
{
    if (report->notes_n == NOTES_MOST)
        return false;
    report->notes[report->notes_n++] = note;
    return true;
}

static bool receive_lack (struct probe_report *report, struct text why)
{
    if (!report->steps_n)
        return false;
    struct probe_step *step = &report->steps[report->steps_n - 1];
    step->lacks = true;
    step->why = why;
    return true;
}

static bool receive_end (struct probe_report *report, enum probe_end end, const struct probe_statement *said)
{
    report->end = end;
    report->code = (int) said->code;
    report->owner = said->owner;
    report->words = said->text;
    return end != PROBE_WRONG || said->owner != OWNER_NONE;
}

/* A word of C: whoever shows it need not escape it. */
static bool receive_call (struct probe_report *report, struct text name)
{
    for (uint32_t i = 0; i < name.len; i++)
        if (!((name.ptr[i] | 32) >= 'a' && (name.ptr[i] | 32) <= 'z') && name.ptr[i] != '_')
            return false;
    return text_to_c (name, report->call, sizeof report->call);
}

/* Done is what went through all of its steps. */
static bool receive_done (struct probe_report *report, const struct probe_statement *said)
{
    enum probe_stage last = report->client ? STAGE_CLOSE : STAGE_ATTRIBUTES;
    if (!report->steps_n || report->steps[report->steps_n - 1].stage != last)
        return false;
    return receive_end (report, PROBE_WORKS, said);
}

static bool report_receive (struct probe_report *report, const struct probe_statement *said)
{
    if (report->end != PROBE_RUNNING)
        return false; /* it had said how it ended */
    switch (said->word) {
    case PROBE_SAYS_STEP: return receive_step (report, said->stage);
    case PROBE_SAYS_CALL: return receive_call (report, said->name);
    case PROBE_SAYS_VALUE: return receive_finding (report, said);
    case PROBE_SAYS_NOTE: return receive_note (report, said->text);
    case PROBE_SAYS_LACKS: return receive_lack (report, said->text);
    case PROBE_SAYS_REFUSED: return receive_end (report, PROBE_REFUSED, said);
    case PROBE_SAYS_WRONG: return receive_end (report, PROBE_WRONG, said);
    case PROBE_SAYS_DONE: return receive_done (report, said);
    case PROBE_SAYS_NOTHING: break;
    }
    return false;
}

bool probe_report_receive (struct probe_report *report, const struct probe_statement *said, struct text bytes,
                           uint64_t ms)
{
    if (report->end == PROBE_BABBLED)
        return false;
    if (report->steps_n)
        report->steps[report->steps_n - 1].ms += ms;
    if (said && report_receive (report, said))
        return true;
    report->end = PROBE_BABBLED;
    report->words = text_clip (bytes, WORD_MAX_BYTES);
    return false;
}

/* ---- the verdict ---- */

/* whose fault it is that a plugin does not work, in one sentence, and what to look at. */

/* What plugins say, and who owns it. Sources beside the texts; the first that occurs decides. A text that is not
 * here is nobody's yet: the run's signature table may know it. */
static const struct {
    const char *text;
    enum owner owner;
    const char *next;
} known[] = {
    /* openxla/xla:xla/pjrt/c/pjrt_c_api_helpers.cc */
    { "The plugin is likely built with a later version than the framework", OWNER_BUNDLE,
      "the plugin is newer than this build supports: pin an older plugin, or update sliceup" },
    { "Unexpected PJRT_", OWNER_BUNDLE, "the plugin and its caller do not fit together: use another plugin release" },
    /* openxla/xla:xla/tpu/tpu_initialize_util.cc; google/gvisor #11545 for the one of v6e */
    { "lready in use", OWNER_DEVICE, "find the process that holds the device: sliceup-worker facts names it" },
    { "already in used by", OWNER_DEVICE, "find the process that holds the device: sliceup-worker facts names it" },
    { "multi-process lockfile", OWNER_DEVICE,
      "another process uses the device: find it before you remove any file; sliceup-worker facts names it" },
    { "Device or resource busy", OWNER_DEVICE,
      "find the process that holds the device: sliceup-worker facts names it" },
    { "PERMISSION_DENIED: open(/dev/", OWNER_DEVICE,
      "this user has no permission to open the device: check its owner and mode" },
    { "): Permission denied", OWNER_DEVICE,
      "this user has no permission to open the device: check its owner and mode" },
    /* jax #18780, #13260; libtpu 0.0.42 says jellyfish */
    { " device found", OWNER_HOST,
      "this host shows no device: check that it is a TPU VM, and that /dev and PCI are visible here" },
    { "No visible GPU devices", OWNER_HOST, "this host shows no GPU" },
    { "no CUDA-capable device", OWNER_HOST, "this host shows no GPU" },
    { "CUDA_ERROR_NO_DEVICE", OWNER_HOST, "this host shows no GPU" },
    { "TPU_LOAD_LIBRARY=0", OWNER_LAUNCH, "TPU_LOAD_LIBRARY=0 forbids loading libtpu: remove this variable" },
    { "Unknown command line flag", OWNER_LAUNCH, "LIBTPU_INIT_ARGS has a flag that this build does not know" },
    { "Unknown flag", OWNER_LAUNCH, "XLA_FLAGS or LIBTPU_INIT_ARGS has a flag that this build does not know" },
    { "slice_builder_worker_addresses", OWNER_LAUNCH, "TPU_PROCESS_ADDRESSES does not fit this slice" },
    { "unexpected worker hostname", OWNER_LAUNCH, "TPU_WORKER_HOSTNAMES does not name this host" },
    { "Failed to get global TPU topology", OWNER_LAUNCH, "check that all hosts of the slice started the program" },
    { "instance metadata", OWNER_PLATFORM, "this host cannot reach the metadata server" },
    { "Failed to fetch URL", OWNER_PLATFORM, "this host cannot reach the metadata server" },
};

static const char *const code_words[PJRT_CODES] = {
    "OK",        "CANCELLED",       "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS",  "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",    "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED",
};

static enum probe_stage last_stage (const struct probe_report *report)
{
    return report->steps_n ? report->steps[report->steps_n - 1].stage : STAGE_NONE;
}

/* "step client, in PJRT_Client_Create". */
static struct text report_place (struct probe_report *report)
{
    const char *stage = report->steps_n ? enum_name_of (&stage_names, last_stage (report)) : "start";
    return text_format (&report->arena, "step %s%s%s", stage, report->call[0] ? ", in " : "", report->call);
}

static bool recognise (struct probe_report *report, struct text text)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (!text_find (text, text_of (known[i].text), NULL))
            continue;
        report->owner = known[i].owner;
        report->next = text_of (known[i].next);
        return true;
    }
    return false;
}

/* ---- what it printed ---- */

/* absl begins the line of a fatal error with F and the date: "F1121 15:03:02". */
static bool is_fatal (struct text line)
{
    return line.len > 5 && line.ptr[0] == 'F' && line.ptr[1] >= '0' && line.ptr[1] <= '1' && line.ptr[5] == ' ';
}

/* The line that most likely says why: a fatal one, or else the last. */
static struct text reporting_line (struct probe_report *report)
{
    struct text rest = buf_as_text (&report->output), found = { 0 };
    while (rest.len) {
        struct text line = text_take_until (&rest, '\n');
        if (is_fatal (line))
            return text_clip (line, SENTENCE_MAX_BYTES / 2);
        if (line.len)
            found = line;
    }
    return text_clip (found, SENTENCE_MAX_BYTES / 2);
}

/* A process that ended without a report may have printed why. */
static void report_add_printed (struct probe_report *report, struct text how)
{
    struct text line = reporting_line (report);
    report->sentence = how;
    if (line.len)
        report->sentence = text_format (&report->arena, "%.*s; it printed: %.*s", TEXT_ARG (how), TEXT_ARG (line));
    report->owner = last_stage (report) >= STAGE_LOAD && last_stage (report) <= STAGE_ATTRIBUTES ? OWNER_BUNDLE
                                                                                                 : OWNER_UNKNOWN;
    report->next = TEXT_LIT ("read what the plugin printed, and check whether a framework fails with it as well");
    (void) recognise (report, line); /* else it stays as it is; other lines may be of what went well */
}

/* ---- one function a way to end ---- */

static const char *next_of_wrong (enum owner owner)
{
    switch (owner) {
    case OWNER_BUNDLE:
        return "compare the version and sha256 of the plugin with the pins; use a plugin of a release that the "
               "frameworks use";
    case OWNER_DEVICE:
        return "if only one host has a wrong value, suspect its device; if all hosts have it, suspect the pins";
    case OWNER_HOST: return "check the devices of this host: sliceup-worker facts";
    case OWNER_LAUNCH:
        return "check the options and variables of the profile: a host that starts alone needs TPU_PROCESS_BOUNDS and "
               "TPU_CHIPS_PER_PROCESS_BOUNDS";
    default: return "read what the plugin printed";
    }
}

static void judge_wrong (struct probe_report *report)
{
    struct text where = report_place (report);
    report->next = text_of (next_of_wrong (report->owner));
    report->sentence = text_format (&report->arena, "%.*s: %.*s", TEXT_ARG (where), TEXT_ARG (report->words));
}

static void judge_refused (struct probe_report *report)
{
    enum probe_stage stage = last_stage (report);
    const char *code = report->code >= 0 && report->code < PJRT_CODES ? code_words[report->code] : "an unknown code";
    struct text where = report_place (report);
    struct text said = text_format (&report->arena, "%s: %.*s", code, TEXT_ARG (report->words));
    report->sentence = text_format (&report->arena, "%.*s: %.*s", TEXT_ARG (where), TEXT_ARG (said));
    report->owner = stage == STAGE_COMPILE || stage == STAGE_SERIALIZE || stage == STAGE_RELOAD ? OWNER_COMPILER
                                                                                                : OWNER_UNKNOWN;
    report->next = TEXT_LIT ("this message is the plugin's own; read what else the plugin printed");
    (void) recognise (report, said);
}

static void judge_hung (struct probe_report *report)
{
    char limit[DURATION_TEXT_BYTES];
    struct text where = report_place (report);
    duration_print (report->limit_ms, limit);
    report->owner = OWNER_UNKNOWN;
    report->next = TEXT_LIT ("read what the plugin printed; give the probe more time if the plugin was still working");
    report->sentence = text_format (&report->arena, "%.*s: the plugin had not finished after %s and was killed",
                                    TEXT_ARG (where), limit);
    if (last_stage (report) == STAGE_INITIALIZE)
        report->next = TEXT_LIT ("libtpu asks the cloud's metadata server in this step and waits minutes where there "
                                 "is none: set TPU_SKIP_MDS_QUERY=1 to skip that");
    if (last_stage (report) != STAGE_CLIENT)
        return;
    report->sentence = text_format (&report->arena,
                                    "%.*s; making a client of a TPU slice waits until all its hosts make one",
                                    TEXT_ARG (report->sentence));
    report->next = TEXT_LIT ("on a slice of several hosts probe without a client (client: false, --no-client), or make "
                             "this host start alone (TPU_PROCESS_BOUNDS=1,1,1 with TPU_CHIPS_PER_PROCESS_BOUNDS)");
}

/* The probe sends it only to what hangs. */
static void judge_killed (struct probe_report *report, struct text where)
{
    report->owner = OWNER_HOST;
    report->next = TEXT_LIT (
        "the kernel kills processes when memory runs out: check its log, and the limits of this session");
    report->sentence = text_format (
        &report->arena, "%.*s: the probe was killed with SIGKILL, but not for its time limit", TEXT_ARG (where));
}

static void judge_crashed (struct probe_report *report)
{
    struct text where = report_place (report);
    const char *name = sigabbrev_np (report->signal); /* NULL: one of a number only */
    if (report->signal == SIGKILL)
        judge_killed (report, where);
    else
        report_add_printed (report,
                            text_format (&report->arena, "%.*s: the plugin crashed with %s%s (%s)", TEXT_ARG (where),
                                         name ? "SIG" : "", name ? name : "a signal", strsignal (report->signal)));
}

static void judge_left (struct probe_report *report)
{
    struct text where = report_place (report);
    const char *how = "the plugin ended the probe";
    if (report->steps_n == 0)
        how = "the probe ended before its first step";
    else if (report->status == REPORTER_EXIT_CLOSED)
        how = "the plugin closed the probe's pipe, or ended the probe";
    report_add_printed (
        report, text_format (&report->arena, "%.*s: %s, with exit status %d", TEXT_ARG (where), how, report->status));
}

static void judge_babbled (struct probe_report *report)
{
    struct text where = report_place (report);
    report->owner = OWNER_BUNDLE;
    report->next = TEXT_LIT (
        "replace the plugin: it writes to descriptors that it did not open, which damages every program that loads it");
    report->sentence = text_format (&report->arena, "%.*s: the plugin wrote to the probe's pipe: \"%.*s\"",
                                    TEXT_ARG (where), TEXT_ARG (report->words));
}

void probe_judge (struct probe_report *report)
{
    switch (report->end) {
    case PROBE_WRONG: judge_wrong (report); break;
    case PROBE_REFUSED: judge_refused (report); break;
    case PROBE_HUNG: judge_hung (report); break;
    case PROBE_CRASHED: judge_crashed (report); break;
    case PROBE_LEFT: judge_left (report); break;
    case PROBE_BABBLED: judge_babbled (report); break;
    case PROBE_WORKS:
    case PROBE_RUNNING: break;
    }
}
