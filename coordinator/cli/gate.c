/* gate.c - the quick ladder before a job: one line, an exit status, and a certificate that the job can check. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/duration.h"
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/io/proc.h"
#include "coordinator/cli/climb.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/hosts.h"
#include "coordinator/cli/planning.h"
#include "coordinator/cli/run_receipt.h"
#include "coordinator/view/record_json.h"

enum { GATE_CERTIFICATE = CLI_OWN, GATE_FOR, GATE_CHECK, GATE_HERE, GATE_BESIDE };
/* A clock that differs by less is no reason to refuse. */
enum { CLOCKS_DIFFER_S = 300 };
enum { CERTIFICATE_MAX_BYTES = 8 << 20, MOMENT_BYTES = 32 };
#define USUAL_FOR "24h"

/* ---- certificate: docs/spec/gate.schema.json ---- */

struct certified_host {
    struct text host, boot_id; /* boot_id: empty where no rung told it */
};
struct certificate {
    struct text run, slice, ladder;
    uint64_t passed_s, expires_s; /* seconds of the wall clock since 1970 */
    LIST_OF (struct certified_host) hosts;
};

static const struct field certified_host_fields[] = {
    F_TEXT (1, struct certified_host, host, HOST_NAME_MAX_BYTES),
    F_TEXT (2, struct certified_host, boot_id, PROC_BOOT_ID_BYTES),
};
static const struct record certified_host_record = RECORD ("certified-host", struct certified_host,
                                                           certified_host_fields);
static const struct field certificate_fields[] = {
    F_TEXT (1, struct certificate, run, ID_MAX_BYTES),
    F_TEXT (2, struct certificate, slice, ID_MAX_BYTES),
    F_TEXT (3, struct certificate, ladder, ID_MAX_BYTES),
    F_U64 (4, struct certificate, passed_s, UINT32_MAX),
    F_U64 (5, struct certificate, expires_s, UINT32_MAX),
    F_LIST (6, struct certificate, hosts, HOSTS_MAX, &certified_host_record),
};
static const struct record certificate_record = RECORD ("certificate", struct certificate, certificate_fields);
static const char schema[] = "sliceup.gate/1";

static const char *moment_print (uint64_t seconds, char out[MOMENT_BYTES])
{
    time_t at = (time_t) seconds;
    struct tm day;
    return gmtime_r (&at, &day) && strftime (out, MOMENT_BYTES, "%Y-%m-%d %H:%M:%S UTC", &day) ? out
                                                                                               : "an unknown time";
}

static void certify (const struct slice_receipt *receipt, uint64_t good_ms, struct arena *arena,
                     struct certificate *out)
{
    const struct run_header *header = receipt->headers.items;
    *out = (struct certificate){ .run = header->run, .slice = header->slice, .ladder = header->ladder };
    out->passed_s = header->ended_wall_ms / 1000;
    out->expires_s = (header->ended_wall_ms + good_ms) / 1000;
    out->hosts.items = arena_array (arena, receipt->hosts.n, sizeof *out->hosts.items);
    for (uint32_t i = 0; i < receipt->hosts.n; i++) {
        struct certified_host *host = &out->hosts.items[out->hosts.n++];
        host->host = receipt->hosts.items[i].host;
        (void) var_find (&receipt->hosts.items[i].facts, TEXT_LIT ("boot_id"), &host->boot_id);
    }
}

/* Readable by everybody, because the job is often another user. */
static int certificate_write (const struct certificate *certificate, const char *path, struct err *err)
{
    LOCAL_BUF text = { .max = CERTIFICATE_MAX_BYTES };
    json_t *json = record_to_json (&certificate_record, certificate);
    json_object_set_new (json, "schema", json_string (schema));
    json_object_set_new (json, "expires", time_json (certificate->expires_s * 1000));
    json_print_release (json, JSON_INDENT (2) | JSON_SORT_KEYS, &text);
    return text.overflow ? err_set (err, ERR_LIMIT, "a certificate of so many hosts is too large")
                         : atomic_file_write (path, text.ptr, text.len, 0644, err);
}

static int certificate_read (const char *path, struct arena *arena, struct certificate *out, struct err *err)
{
    LOCAL_BUF text = { .max = CERTIFICATE_MAX_BYTES };
    json_error_t wrong;
    if (host_input_read (path, &text, err) < 0)
        return -1;
    json_t *json = json_loadb ((const char *) text.ptr, text.len, JSON_REJECT_DUPLICATES, &wrong);
    const char *found = json_string_value (json_object_get (json, "schema"));
    int rc = -1;
    if (!json)
        err_set (err, ERR_PARSE, "%s:%d: %s", path, wrong.line, wrong.text);
    else if (!found || strcmp (found, schema) != 0)
        err_set (err, ERR_PARSE, "%s: expected a certificate that sliceup gate wrote (\"schema\": \"%s\")", path,
                 schema);
    else {
        json_object_del (json, "schema");
        json_object_del (json, "expires");
        rc = record_from_json (&certificate_record, json, out, arena, err);
    }
    json_decref (json);
    return rc;
}

/* ---- checking one ---- */

/* What a file and the command line say drives no terminal. */
static int gate_refuse (struct cli *cli, const char *path, const char *why)
{
    LOCAL_BUF line = { .max = 16 * SENTENCE_MAX_BYTES };
    buf_escaped_after (&line, "gate: not good: ", text_of (path), 0);
    buf_escaped_after (&line, ": ", text_of (why), 0);
    buf_puts (&line, "\n");
    int status = cli_write_stdout (cli, &line);
    return status == EXIT_HOLDS ? EXIT_BROKEN : status;
}

static int gate_is_good (struct cli *cli, const struct certificate *certificate, const char *until)
{
    LOCAL_BUF line = { .max = 16 * SENTENCE_MAX_BYTES };
    buf_printf (&line, "gate: good: %u host%s of slice ", certificate->hosts.n, plural (certificate->hosts.n));
    buf_escaped (&line, certificate->slice, 0);
    buf_escaped_after (&line, " passed ", certificate->ladder, 0);
    buf_printf (&line, "; good until %s\n", until);
    return cli_write_stdout (cli, &line);
}

/* NULL: this machine is one of its hosts, and was not started anew since. */
static const char *not_here (const struct certificate *certificate)
{
    char own[PROC_BOOT_ID_BYTES];
    if (proc_boot_id (own, NULL) < 0)
        return "the boot id of this machine cannot be read";
    for (uint32_t i = 0; i < certificate->hosts.n; i++)
        if (text_is (certificate->hosts.items[i].boot_id, own))
            return NULL;
    return "this machine is none of its hosts, or was started anew since it passed";
}

static int check_hosts (const struct certificate *certificate, const char *set, const char *path, struct cli *cli)
{
    LOCAL_ARENA arena = { 0 };
    struct name_list wanted = { 0 };
    struct err err = { 0 };
    LOCAL_BUF missing = { .max = SENTENCE_MAX_BYTES };
    const struct hostset_rules rules = { .max = HOSTS_MAX };
    if (hostset_read (text_of (set), &rules, &arena, &wanted, &err) < 0)
        return cli_fail (cli, err_prefix (&err, "--hosts") < 0 ? &err : &err);
    uint32_t n = 0;
    for (uint32_t i = 0; i < wanted.n; i++)
        if (!LIST_FIND (certificate->hosts, struct certified_host, host, wanted.items[i]))
            wanted.items[n++] = wanted.items[i];
    if (n == 0)
        return EXIT_HOLDS;
    buf_puts (&missing, "it does not speak of ");
    hostset_fold_escaped (wanted.items, n, 0, &missing);
    return gate_refuse (cli, path, buf_c (&missing));
}

static int gate_check (struct cli *cli, const struct cli_arguments *arguments)
{
    LOCAL_ARENA arena = { 0 };
    const char *path = arguments->values[GATE_CHECK], *why = NULL;
    struct certificate certificate;
    struct err err = { 0 };
    char moment[MOMENT_BYTES], text[96];
    if (certificate_read (path, &arena, &certificate, &err) < 0)
        return cli_fail (cli, &err);
    moment_print (certificate.expires_s, moment);
    uint64_t now_s = clock_wall_ms () / 1000;
    if (now_s >= certificate.expires_s) {
        snprintf (text, sizeof text, "it expired %s ago, at %s; run sliceup gate again",
                  DURATION_TEXT ((now_s - certificate.expires_s) * 1000), moment);
        why = text;
    } else if (now_s + CLOCKS_DIFFER_S < certificate.passed_s)
        why = "it is of a later time than the clock of this machine";
    else if (arguments->values[GATE_HERE])
        why = not_here (&certificate);
    if (why)
        return gate_refuse (cli, path, why);
    int status = arguments->values[CLI_HOSTS] ? check_hosts (&certificate, arguments->values[CLI_HOSTS], path, cli)
                                              : EXIT_HOLDS;
    return status == EXIT_HOLDS ? gate_is_good (cli, &certificate, moment) : status;
}

/* ---- passing it ---- */

/* A certificate of before would be believed while this gate runs, and after it refuses. What is none stays. */
static int forget_certificate (const char *path, struct err *err)
{
    LOCAL_ARENA arena = { 0 };
    struct certificate before;
    const char *slash = strrchr (path, '/');
    struct text folder = text_format (&arena, "%.*s", slash ? (int) (slash - path) : 1, slash ? path : ".");
    if (access (folder.len ? folder.ptr : "/", W_OK | X_OK) != 0)
        return err_errno (err, ERR_USAGE, "--certificate: the folder of '%s' cannot be written", path);
    if (access (path, F_OK) != 0)
        return 0;
    if (certificate_read (path, &arena, &before, err) < 0) {
        err->code = ERR_USAGE;
        return err_prefix (err, "--certificate: what is there is no certificate, and is not replaced");
    }
    return unlink (path) == 0 ? 0 : err_errno (err, ERR_USAGE, "--certificate: '%s' cannot be replaced", path);
}

/* Of a run that ended; one that did not has no sentence. */
static int gate_words (struct cli *cli, const struct run_dir *dir, int status, uint64_t good_ms, const char *path,
                       struct buf *line)
{
    LOCAL_ARENA arena = { 0 };
    LOCAL_BOARD *board = NULL;
    struct slice_receipt receipt;
    struct certificate certificate;
    struct err err = { 0 };
    char moment[MOMENT_BYTES];
    bool ended = receipt_build (dir, &board, &arena, &receipt, &err) == 0 && receipt.headers.items->sentence.len;
    bool passed = ended && status == EXIT_HOLDS;
    if (passed)
        certify (&receipt, good_ms, &arena, &certificate);
    if (passed && path && certificate_write (&certificate, path, &err) < 0) {
        status = cli_fail (cli, &err);
        passed = false;
    }
    buf_puts (line, passed ? "gate: passed: " : "gate: refused: ");
    buf_escaped (line, ended ? receipt.headers.items->sentence : TEXT_LIT ("the run did not come to its end"), 0);
    if (passed)
        buf_printf (line, "; good until %s", moment_print (certificate.expires_s, moment));
    else if (ended && err.code)
        buf_puts (line, "; but its certificate could not be written");
    else if (ended)
        buf_printf (line, "; all of it: sliceup%s explain %.8s", cli->hint, dir->id);
    buf_puts (line, "\n");
    return status;
}

static int gate_end (struct cli *cli, const struct run_dir *dir, int status, uint64_t good_ms, const char *path)
{
    LOCAL_BUF line = { .max = 16 * SENTENCE_MAX_BYTES };
    status = gate_words (cli, dir, status, good_ms, path, &line);
    (void) cli_write_stdout (cli, &line);
    return status;
}

/* Before a run was begun, and not for what the arguments say: the one line is on standard output then as well. */
static int gate_is_refused (struct cli *cli, const struct err *err)
{
    LOCAL_BUF line = { .max = 16 * SENTENCE_MAX_BYTES };
    buf_escaped_after (&line, "gate: refused: ", text_of (err->text), 0);
    buf_puts (&line, "\n");
    int status = cli_write_stdout (cli, &line);
    return status == EXIT_HOLDS ? cli_status (err) : status;
}

static int gate_run (struct cli *cli, const struct cli_arguments *arguments)
{
    LOCAL_ARENA arena = { 0 };
    struct plan plan = { 0 };
    struct run_dir dir = { 0 };
    struct err err = { 0 };
    uint64_t good_ms = 0;
    const char *good = arguments->values[GATE_FOR] ? arguments->values[GATE_FOR] : USUAL_FOR;
    const char *path = arguments->values[GATE_CERTIFICATE];
    if (arguments->values[GATE_CHECK] && arguments->operands_n == 0)
        return gate_check (cli, arguments);
    if (arguments->values[GATE_CHECK])
        err_set (&err, ERR_USAGE, "--check takes a certificate, and no slice file: nothing is run then");
    else if (arguments->values[GATE_HERE])
        err_set (&err, ERR_USAGE, "--here belongs to --check: a gate runs on all hosts");
    else if (arguments->operands_n == 0)
        err_set (&err, ERR_USAGE, "expected a slice file, or --check with a certificate; see sliceup gate --help");
    else if (!duration_parse (text_of (good), &good_ms) || good_ms == 0)
        err_set (&err, ERR_USAGE, "--for '%s': expected a duration such as 30m or 24h", good);
    if (err.code)
        return cli_fail (cli, &err);
    int status = planning_load_quick (cli, arguments, &arena, &plan);
    if (status == EXIT_HOLDS && !arguments->values[GATE_BESIDE] && run_check_hosts (cli, &plan, &err) < 0)
        return gate_is_refused (cli, &err);
    if (status == EXIT_HOLDS && path && forget_certificate (path, &err) < 0)
        status = cli_fail (cli, &err);
    if (status != EXIT_HOLDS)
        return status;
    /* Nobody resumes a gate: its workers leave with their programs, and the next gate finds the hosts free. */
    if (plan.limits.exit_ms > plan.limits.orphan_ms)
        plan.limits.exit_ms = plan.limits.orphan_ms;
    /* What failed before is tried: that it still does is what one asks. */
    status = run_new (cli, &plan, &arena, &(struct run_choices){ .again = true, .quiet = true, .made = &dir });
    return dir.id[0] ? gate_end (cli, &dir, status, good_ms, path) : status;
}

static const struct cli_option options[] = {
    { GATE_CERTIFICATE, "--certificate", .also = "-o", .value = "FILE",
      .help = "write a certificate that the job can check; one of before goes as the gate begins", .kind = KIND_FILE,
      .not_with = GATE_CHECK },
    { GATE_FOR, "--for", .value = "DURATION", .help = "how long it is good (default: " USUAL_FOR ")",
      .not_with = GATE_CHECK },
    { GATE_CHECK, "--check", .value = "FILE", .help = "is this certificate good now? Starts nothing and asks no host",
      .kind = KIND_FILE },
    { GATE_HERE, "--here", .help = "with --check: and is this machine one of its hosts, not started anew since?" },
    OPTIONS_OF_PLAN,
    { OPTION_WHEELS },
    { OPTION_LEAVE_OUT },
    { GATE_BESIDE, "--beside",
      .help = "also when another run of this home has one of the hosts now, or was interrupted there" },
    { 0 },
};

const struct cli_command gate_command = {
    .name = "gate",
    .task = TASK_RUN,
    .needs_no_home_with = GATE_CHECK, /* a unit of systemd has no HOME */
    .usage = "SLICE.yaml [OPTIONS] | --check FILE [--here] [--hosts SET]",
    .summary = "run the quick ladder before a job, and leave one line and a certificate",
    .help =
        "For what starts jobs: the init container of a JobSet, the prolog of Slurm, ExecStartPre of a systemd unit. "
        "Runs "
        "the quick ladder on every host, prints nothing but one line, and exits with the status of that run. The quick "
        "ladder is NAME-quick of configs/ladders, where the slice file names NAME or NAME-anything; where there is "
        "none, that of the slice file. --ladder replaces it.\n"
        "\n"
        "The certificate is a JSON file with the hosts that passed, the boot of each, and when it expires. It is no "
        "secret and has no signature: whoever can write the file can make one.\n"
        "\n"
        "What happens to hosts that did not pass is on_end of the slice file: its command is given them by cause "
        "(docs/guide/gate.md). sliceup hosts --history remembers them, and --exclude @suspect leaves them out.",
    .examples = "sliceup gate slice.yaml --certificate /shared/gate.json --for 12h\n"
                "sliceup gate --check /shared/gate.json --here\n"
                "sliceup gate slice.yaml --exclude @suspect\n",
    .exit_status = "0 passed, or good; 1 refused, or not good; else that of sliceup run.",
    .operands = (const struct cli_operand[]){ { "SLICE.yaml", 0, 1, .kind = KIND_SLICE }, { 0 } },
    .options = options,
    .run = gate_run,
};
