#include <inttypes.h>
#include <string.h>

#include "common/model/host_source.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/hosts.h"
#include "coordinator/cli/planning.h"

/* More than any cluster has hosts; what these bound is a mistake such as h[1-999999999]. */
enum { NAMES_MAX = 100000, OUTPUT_MAX_BYTES = 128 << 20, SEPARATOR_BYTES = 64 };

enum {
    HOSTS_FOLD = CLI_OWN,
    HOSTS_EXPAND,
    HOSTS_COUNT,
    HOSTS_SPLIT,
    HOSTS_SEPARATOR,
    HOSTS_EACH,
    HOSTS_INTERSECTION,
    HOSTS_XOR,
    HOSTS_FROM,
    HOSTS_FROM_FILE,
    HOSTS_HISTORY
};

/* Order and parts are those of ClusterShell's nodeset. */
enum host_form { HOST_FORM_FOLD, HOST_FORM_EXPAND, HOST_FORM_COUNT };
enum host_from { HOST_FROM_WORDS, HOST_FROM_FILE, HOST_FROM_SOURCE };
struct host_operand {
    enum hostset_step step;
    enum host_from from;
    const char *value; /* an expression, which may have lines; a path, "-": standard input; slurm, tpu, env */
};

struct request {
    struct cli *cli;
    enum host_form form;
    uint32_t parts;                  /* at most so many; 0: the whole */
    char separator[SEPARATOR_BYTES]; /* between names, in HOST_FORM_EXPAND */
    bool json, each, history;        /* each: an answer a line */
    const char *slice;
    struct host_operand *operands; /* in the order of the command line */
    uint32_t operands_n;
    struct hostset_rules rules;
    struct hostset_group_lookup lookup;
    struct arena arena;
    struct plan plan;          /* of the slice */
    struct host_groups groups; /* of the same */
};

/* ---- arguments ---- */

static int hosts_refuse (const struct request *request, const char *what)
{
    struct err err = { 0 };
    err_set (&err, ERR_USAGE, "%s; see sliceup hosts --help", what);
    return cli_fail (request->cli, &err);
}

/* As in nodeset, \n, \t and \\ stand for what they stand for in C. */
static int take_separator (struct request *request, const char *value)
{
    size_t len = 0;
    if (strlen (value) >= sizeof request->separator)
        return hosts_refuse (request, "--separator: expected fewer than 64 bytes");
    for (; *value; value++) {
        bool escape = value[0] == '\\' && value[1] && strchr ("nt\\", value[1]);
        value += escape;
        request->separator[len++] = (char) (escape && *value == 'n' ? '\n' : escape && *value == 't' ? '\t' : *value);
    }
    request->separator[len] = '\0';
    return EXIT_HOLDS;
}

static void add_operand (struct request *request, const struct cli_option *option, const char *value)
{
    struct host_operand operand = { HOSTSET_ADD, HOST_FROM_WORDS, value };
    switch (option ? option->id : CLI_OPTIONS_MAX) {
    case CLI_OPTIONS_MAX: break;
    case CLI_EXCLUDE: operand.step = HOSTSET_TAKE; break;
    case HOSTS_INTERSECTION: operand.step = HOSTSET_KEEP; break;
    case HOSTS_XOR: operand.step = HOSTSET_EITHER; break;
    case HOSTS_FROM_FILE: operand.from = HOST_FROM_FILE; break;
    case HOSTS_FROM: operand.from = HOST_FROM_SOURCE; break;
    default: return;
    }
    if (operand.from == HOST_FROM_WORDS && strcmp (value, "-") == 0)
        operand.from = HOST_FROM_FILE;
    request->operands[request->operands_n++] = operand;
}

/* In the order of the command line, from left to right. */
static int hosts_take_arguments (struct request *request, const struct cli_arguments *arguments)
{
    const char *const *values = arguments->values;
    request->json = values[CLI_JSON];
    request->form = values[HOSTS_COUNT] ? HOST_FORM_COUNT : values[HOSTS_EXPAND] ? HOST_FORM_EXPAND : HOST_FORM_FOLD;
    request->parts = cli_number (arguments, HOSTS_SPLIT, 0);
    request->each = values[HOSTS_EACH];
    request->history = values[HOSTS_HISTORY];
    request->slice = values[CLI_SLICE];
    for (uint32_t i = 0; i < arguments->given_n; i++)
        add_operand (request, arguments->given[i].option, arguments->given[i].value);
    if (values[HOSTS_SEPARATOR] && !values[HOSTS_EXPAND])
        return hosts_refuse (request, "--separator: expected it with --expand, whose names it separates");
    return values[HOSTS_SEPARATOR] ? take_separator (request, values[HOSTS_SEPARATOR]) : EXIT_HOLDS;
}

static int check_arguments (const struct request *request)
{
    if (request->each && request->operands_n)
        return hosts_refuse (request,
                             "--each reads its expressions from standard input, and accepts none as arguments");
    if (request->each || request->slice || (request->history && !request->operands_n))
        return EXIT_HOLDS;
    if (request->operands_n == 0)
        return hosts_refuse (
            request, "no hosts were given, expected a set such as v6e-[0-15], '-', --from, --from-file or --slice");
    if (request->operands[0].step != HOSTSET_ADD)
        return hosts_refuse (request, "give the first set before --exclude, --intersection and --xor");
    return EXIT_HOLDS;
}

/* ---- groups ---- */

static int load_slice (struct request *request)
{
    struct plan *plan = &request->plan;
    int status = planning_load_slice_only (request->cli, request->slice, &request->arena, plan);
    if (status != EXIT_HOLDS)
        return status;
    request->groups = (struct host_groups){ &plan->groups, plan_fold_all_hosts (plan, UINT32_MAX, &request->arena) };
    return EXIT_HOLDS;
}

/* ---- operands ---- */

/* Each line is an expression of its own, as in nodeset; empty ones among others are passed over. */
static int add_lines (struct hostset *set, struct text lines, struct err *err)
{
    struct text line;
    bool some = false;
    for (; text_next_item (&lines, '\n', &line); some |= line.len > 0)
        if (line.len && hostset_apply_expression (set, HOSTSET_ADD, line, err) < 0)
            return -1;
    return some ? 0 : hostset_apply_expression (set, HOSTSET_ADD, TEXT_LIT (""), err);
}

static int add_file (struct hostset *set, const char *path, struct err *err)
{
    LOCAL_BUF content = { .max = HOST_INPUT_MAX_BYTES };
    int rc = host_input_read (path, &content, err);
    struct host_file words = { .content = buf_as_text (&content) };
    while (rc == 0 && host_file_next (&words))
        if (host_file_other_tool (&words)
                ? err_set (err, ERR_PARSE, "%s, expected " HOST_SOURCE_EXPECTED, host_file_other_tool (&words))
                : hostset_apply_expression (set, HOSTSET_ADD, words.word, err))
            rc = err_prefix (err, "%s:%" PRIu32, strcmp (path, "-") == 0 ? "standard input" : path, words.line);
    return rc;
}

static int add_source (struct hostset *set, const char *word, struct err *err)
{
    LOCAL_BUF expression = { .max = HOST_INPUT_MAX_BYTES };
    if (host_source_read (word, &expression, err) != 0)
        return -1;
    return hostset_apply_expression (set, HOSTSET_ADD, buf_as_text (&expression), err);
}

static int add_hosts (const struct host_operand *operand, struct hostset *set, struct err *err)
{
    if (operand->from == HOST_FROM_WORDS)
        return add_lines (set, text_of (operand->value), err);
    return operand->from == HOST_FROM_FILE ? add_file (set, operand->value, err)
                                           : add_source (set, operand->value, err);
}

/* set = set step operand; `rules` are those of the set. */
static int apply_operand (const struct host_operand *operand, const struct hostset_rules *rules, struct hostset *set,
                          struct err *err)
{
    if (operand->step == HOSTSET_ADD)
        return add_hosts (operand, set, err);
    struct hostset *other = hostset_create (rules);
    int rc = add_hosts (operand, other, err);
    if (rc == 0)
        rc = hostset_apply_set (set, operand->step, other, err);
    hostset_destroy (other);
    return rc;
}

/* ---- the answer ---- */

/* 100,000 names of 63 bytes, escaped and quoted, twice. */
enum { FOLDED_MAX_BYTES = 32 << 20, JSON_INDENT_COLUMNS = 2 };

/* Sizes differ by one at most, the larger ones first. The items are for mem_free: a part has an order of its own, since
 * what is a box in the whole may be none in it. */
static struct name_list part_of (const struct name_list *names, uint32_t parts, uint32_t part)
{
    uint32_t size = names->n / parts, larger = names->n % parts;
    uint32_t from = part * size + (part < larger ? part : larger);
    struct name_list own = { .n = size + (part < larger) };
    own.items = mem_array (own.n, sizeof *own.items);
    for (uint32_t i = 0; i < own.n; i++)
        own.items[i] = names->items[from + i];
    own.n = hostset_sort (own.items, own.n);
    return own;
}

static uint32_t parts_of (const struct request *request, const struct name_list *names)
{
    uint32_t parts = request->parts < names->n ? request->parts : names->n;
    return parts ? parts : 1;
}

static void write_names (const struct request *request, const struct name_list *names, struct buf *out)
{
    if (request->form == HOST_FORM_COUNT)
        buf_printf (out, "%" PRIu32, names->n);
    else if (request->form == HOST_FORM_FOLD)
        hostset_fold (names->items, names->n, out);
    else
        for (uint32_t i = 0; i < names->n; i++) {
            buf_puts (out, i ? request->separator : "");
            buf_add_text (out, names->items[i]);
        }
}

static void write_text (const struct request *request, const struct name_list *names, struct buf *out)
{
    uint32_t parts = parts_of (request, names);
    for (uint32_t i = 0; i < parts; i++) {
        struct name_list part = part_of (names, parts, i);
        buf_puts (out, i ? (request->each ? "\t" : "\n") : "");
        write_names (request, &part, out);
        mem_free (part.items);
    }
    buf_byte (out, '\n');
}

static json_t *set_json (const struct name_list *names)
{
    struct buf folded = { .max = FOLDED_MAX_BYTES };
    hostset_fold (names->items, names->n, &folded);
    return json_pack ("{s:I, s:o, s:o}", "count", (json_int_t) names->n, "folded", buf_take_json (&folded), "hosts",
                      texts_json (names->items, names->n));
}

static json_t *parts_json (const struct request *request, const struct name_list *names)
{
    json_t *list = json_array ();
    uint32_t parts = parts_of (request, names);
    for (uint32_t i = 0; i < parts; i++) {
        struct name_list part = part_of (names, parts, i);
        json_array_append_new (list, set_json (&part));
        mem_free (part.items);
    }
    return list;
}

static void write_json (const struct request *request, json_t *object, struct buf *out)
{
    json_object_set_new (object, "schema", json_string ("sliceup.hosts/1"));
    json_print_release (object, JSON_SORT_KEYS | (request->each ? JSON_COMPACT : JSON_INDENT (JSON_INDENT_COLUMNS)),
                        out);
}

/* Puts them into order, and drops repeated ones. */
static void write_set (const struct request *request, const struct hostset *set, struct buf *out)
{
    LOCAL_ARENA arena = { 0 };
    struct name_list names = hostset_names (set, &arena);
    names.n = hostset_sort (names.items, names.n);
    if (request->json) {
        json_t *object = set_json (&names);
        if (request->parts)
            json_object_set_new (object, "parts", parts_json (request, &names));
        write_json (request, object, out);
    } else {
        write_text (request, &names, out);
    }
}

/* What stands in place of an answer. */
static void write_error (const struct request *request, const struct err *err, struct buf *out)
{
    if (request->json)
        write_json (request, json_pack ("{s:o}", "error", escaped_json (text_of (err->text))), out);
    else
        buf_printf (out, "error: %s\n", err->text);
}

/* ---- working it out ---- */

/* The hosts of the slice stand first where no other set does. */
static int work_out (const struct request *request, struct hostset *set, struct err *err)
{
    bool none_first = request->operands_n == 0 || request->operands[0].step != HOSTSET_ADD;
    if (none_first && hostset_apply_expression (set, HOSTSET_ADD, request->groups.everything, err) < 0)
        return -1;
    for (uint32_t i = 0; i < request->operands_n; i++)
        if (apply_operand (&request->operands[i], &request->rules, set, err) < 0)
            return -1;
    return 0;
}

static int failed (const struct request *request, const struct err *err)
{
    int status = cli_fail (request->cli, err);
    return err->code == ERR_LIMIT ? EXIT_USAGE : status;
}

static int answer_one (const struct request *request, struct buf *out)
{
    struct err err = { 0 };
    int status = EXIT_HOLDS;
    struct hostset *set = hostset_create (&request->rules);
    LOCAL_ARENA arena = { 0 };
    if (work_out (request, set, &err) < 0) {
        status = failed (request, &err);
    } else if (request->history) {
        const struct name_list names = hostset_names (set, &arena);
        status = host_history_show (request->cli, &names, request->json);
    } else {
        write_set (request, set, out);
    }
    hostset_destroy (set);
    return status;
}

static int answer_line (const struct request *request, struct text line, struct buf *out)
{
    struct err err = { 0 };
    struct hostset *set = hostset_create (&request->rules);
    int rc = hostset_apply_expression (set, HOSTSET_ADD, line, &err);
    if (rc == 0)
        write_set (request, set, out);
    else
        write_error (request, &err, out);
    hostset_destroy (set);
    return rc;
}

static int answer_lines (const struct request *request, struct text lines, struct buf *out)
{
    int status = EXIT_HOLDS;
    while (lines.len)
        if (answer_line (request, text_take_until (&lines, '\n'), out) < 0)
            status = EXIT_USAGE;
    return status;
}

static int answer_each (const struct request *request, struct buf *out)
{
    struct err err = { 0 };
    LOCAL_BUF input = { .max = HOST_INPUT_MAX_BYTES };
    return host_input_read ("-", &input, &err) < 0 ? failed (request, &err)
                                                   : answer_lines (request, buf_as_text (&input), out);
}

static int hosts_answer (struct request *request)
{
    int status = request->slice ? load_slice (request) : EXIT_HOLDS;
    if (status != EXIT_HOLDS)
        return status;
    struct buf out = { .max = OUTPUT_MAX_BYTES };
    request->lookup = (struct hostset_group_lookup){ host_groups_find, &request->groups };
    request->rules = (struct hostset_rules){ .max = NAMES_MAX, .groups = request->slice ? &request->lookup : NULL };
    status = request->each ? answer_each (request, &out) : answer_one (request, &out);
    int written = cli_write_stdout (request->cli, &out);
    return status != EXIT_HOLDS ? status : written;
}

static int hosts_run (struct cli *cli, const struct cli_arguments *arguments)
{
    struct request request = { .cli = cli, .separator = " " };
    request.operands = mem_array (arguments->given_n, sizeof *request.operands);
    int status = hosts_take_arguments (&request, arguments);
    if (status == EXIT_HOLDS)
        status = check_arguments (&request);
    if (status == EXIT_HOLDS)
        status = request.history && !request.operands_n && !request.slice ? host_history_show (cli, NULL, request.json)
                                                                          : hosts_answer (&request);
    arena_release (&request.arena);
    mem_free (request.operands);
    return status;
}

static const struct cli_option options[] = {
    { HOSTS_FOLD, "--fold", .also = "-f", .help = "print one short expression (the default)",
      .not_with = HOSTS_EXPAND },
    { HOSTS_EXPAND, "--expand", .also = "-e", .help = "print the names", .not_with = HOSTS_COUNT },
    { HOSTS_COUNT, "--count", .also = "-c", .help = "print the number of hosts", .not_with = HOSTS_FOLD },
    { HOSTS_SEPARATOR, "--separator", .also = "-S", .value = "TEXT",
      .help = "between the names of --expand; \\n and \\t are newline and tab" },
    { HOSTS_SPLIT, "--split", .value = "N", .help = "print N parts of about equal size, one a line",
      .kind = KIND_NUMBER, .most = NAMES_MAX },
    { OPTION_JSON ("print all of it: count, folded, hosts, and parts with --split") },
    { CLI_EXCLUDE, "--exclude", .also = "-x", .value = "EXPR", .help = "without these", .kind = KIND_HOSTS,
      .repeat = REPEAT_LISTED },
    { HOSTS_INTERSECTION, "--intersection", .also = "-i", .value = "EXPR", .help = "only these", .kind = KIND_HOSTS,
      .repeat = REPEAT_LISTED },
    { HOSTS_XOR, "--xor", .also = "-X", .value = "EXPR", .help = "those in one of both", .kind = KIND_HOSTS,
      .repeat = REPEAT_LISTED },
    { HOSTS_FROM, "--from", .value = "SOURCE",
      .help = "slurm: the allocation (SLURM_JOB_NODELIST); tpu: the workers of this TPU VM (TPU_WORKER_HOSTNAMES, else "
              "the metadata server); env: the first variable set",
      .kind = KIND_WORDS, .words = "slurm tpu env", .repeat = REPEAT_LISTED },
    { HOSTS_FROM_FILE, "--from-file", .value = "FILE", .help = "sets from a file, in the form of standard input",
      .kind = KIND_FILE, .repeat = REPEAT_LISTED },
    { CLI_SLICE, "--slice", .value = "SLICE.yaml",
      .help = "groups of that file; also its hosts, when no other set comes first", .kind = KIND_SLICE },
    { HOSTS_EACH, "--each",
      .help = "read one expression a line from standard input, print one answer a line: parts are separated by tabs, "
              "and a refused set gives 'error: ...'",
      .not_with = HOSTS_HISTORY },
    { HOSTS_HISTORY, "--history",
      .help = "how they fared in the last 256 runs of this home: how often each failed by itself, since when, of what; "
              "without a set, all that are known" },
    { 0 },
};

const struct cli_command hosts_command = {
    .name = "hosts",
    .task = TASK_FIRST,
    .summary = "work with sets of host names: fold, expand, count, split, exclude",
    .help = "An EXPR is a host set in the syntax of ClusterShell's nodeset, which slice files, --hosts and --exclude "
            "take as well. Quote it: the shell interprets [ ] ! & and *. At most 100000 hosts.\n"
            "\n"
            "  v6e-[0-15]            numbers and ranges; n[01-16] keeps the zeros; n[0-30/2] counts by two\n"
            "  rack[1-4]n[1-8]       several brackets: all combinations\n"
            "  A,B  A!B  A&B  A^B    union, A without B, intersection, symmetric difference; from left to right\n"
            "  @spare  @*            a group of the slice file, all of its hosts (with --slice)\n"
            "  @suspect              of run and check: hosts that failed by themselves, lately\n"
            "  -                     standard input: one or more sets a line, comments after #\n"
            "\n"
            "EXPR and the options that take one are read from left to right.",
    .examples = "sliceup hosts 'v6e-[0-15]!v6e-[3,7]'                v6e-[0-2,4-6,8-15]\n"
                "sliceup hosts -e -S '\\n' 'rack[1-2]n[01-02]'       four lines\n"
                "sliceup hosts --from slurm -x \"$(cat bad-hosts)\" --split 4\n"
                "sliceup hosts --slice slice.yaml -x @spare --count\n"
                "sliceup hosts --history\n",
    .exit_status = "0 (also for an empty set), 2 usage or a refused set (with its position), 3 the source of hosts is "
                   "missing or cannot be read.",
    .operands = (const struct cli_operand[]){ { "EXPR", 0, UINT32_MAX, .kind = KIND_TEXT }, { 0 } },
    .options = options,
    .run = hosts_run,
};
