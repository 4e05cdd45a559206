#include <string.h>

#include "coordinator/cli/commands.h"
#include "coordinator/cli/hosts.h"
#include "coordinator/cli/planning.h"

/* More than any cluster has hosts; what these bound is a mistake such as h[1-999999999]. */
enum { NAMES_MAX = 100000, OUTPUT_MAX_BYTES = 128 << 20, SEPARATOR_BYTES = 64 };

struct request {
    struct cli *cli;
    struct hostset_output output;
    char separator[SEPARATOR_BYTES];
    bool formed, each;
    const char *slice;
    struct host_operand *operands; /* in the order of the command line */
    uint32_t operands_n;
    struct hostset_rules rules;
    struct hostset_group_lookup groups;
    struct arena arena;
    var_list slice_groups;
    struct buf slice_hosts; /* folded */
};

/* ---- arguments ---- */

static int refuse (const struct request *request, const char *what)
{
    struct err err = { 0 };
    err_set (&err, ERR_USAGE, "%s; see sliceup hosts --help", what);
    return cli_fail (request->cli, &err);
}

static int take_form (struct request *request, enum host_form form)
{
    if (request->formed && request->output.form != form)
        return refuse (request, "--fold, --expand and --count: choose one of them");
    request->output.form = form;
    request->formed = true;
    return EXIT_HOLDS;
}

static int take_split (struct request *request, const char *value)
{
    uint64_t parts = 0;
    if (!value || !text_to_u64 (text_of (value), &parts) || parts == 0 || parts > NAMES_MAX)
        return refuse (request, "--split: expected the number of parts, from 1 to 100000");
    request->output.parts = (uint32_t) parts;
    return EXIT_HOLDS;
}

/* As in nodeset, \n, \t and \\ stand for what they stand for in C. */
static int take_separator (struct request *request, const char *value)
{
    size_t len = 0;
    if (strlen (value) >= sizeof request->separator)
        return refuse (request, "--separator: expected fewer than 64 bytes");
    for (; *value; value++) {
        bool escape = value[0] == '\\' && value[1] && strchr ("nt\\", value[1]);
        value += escape;
        request->separator[len++] = (char) (escape && *value == 'n' ? '\n' : escape && *value == 't' ? '\t' : *value);
    }
    request->separator[len] = '\0';
    return EXIT_HOLDS;
}

static int add_operand (struct request *request, enum hostset_step step, enum host_from from, const char *value)
{
    if (from == HOST_FROM_WORDS && strcmp (value, "-") == 0)
        from = HOST_FROM_FILE;
    request->operands[request->operands_n++] = (struct host_operand){ step, from, value };
    return EXIT_HOLDS;
}

static bool is_word (const char *argument, const char *name, const char *brief)
{
    return strcmp (argument, name) == 0 || strcmp (argument, brief) == 0;
}

/* -1: it is no switch. */
static int take_switch (struct request *request, const char *argument)
{
    if (is_word (argument, "--fold", "-f"))
        return take_form (request, HOST_FORM_FOLD);
    if (is_word (argument, "--expand", "-e"))
        return take_form (request, HOST_FORM_EXPAND);
    if (is_word (argument, "--count", "-c"))
        return take_form (request, HOST_FORM_COUNT);
    if (strcmp (argument, "--json") == 0)
        request->output.json = true;
    else if (strcmp (argument, "--each") == 0)
        request->each = true;
    else
        return -1;
    return EXIT_HOLDS;
}

static bool option (int argc, char **argv, int *i, const char *name, const char *brief, const char **value)
{
    return cli_read_option (argc, argv, i, name, value) || (brief && cli_read_option (argc, argv, i, brief, value));
}

static int take_valued (struct request *request, int argc, char **argv, int *i)
{
    const char *value = NULL;
    if (option (argc, argv, i, "--exclude", "-x", &value))
        return add_operand (request, HOSTSET_TAKE, HOST_FROM_WORDS, value);
    if (option (argc, argv, i, "--intersection", "-i", &value))
        return add_operand (request, HOSTSET_KEEP, HOST_FROM_WORDS, value);
    if (option (argc, argv, i, "--xor", "-X", &value))
        return add_operand (request, HOSTSET_EITHER, HOST_FROM_WORDS, value);
    if (option (argc, argv, i, "--from-file", NULL, &value))
        return add_operand (request, HOSTSET_ADD, HOST_FROM_FILE, value);
    if (option (argc, argv, i, "--from", NULL, &value))
        return add_operand (request, HOSTSET_ADD, HOST_FROM_SOURCE, value);
    if (option (argc, argv, i, "--split", NULL, &value))
        return take_split (request, value);
    if (option (argc, argv, i, "--separator", "-S", &value))
        return take_separator (request, value);
    return option (argc, argv, i, "--slice", NULL, &request->slice) ? EXIT_HOLDS : -1;
}

static int take_arguments (struct request *request, int argc, char **argv)
{
    static const char *const known[] = { "--fold",    "--expand",       "--count", "--json",      "--each",
                                         "--exclude", "--intersection", "--xor",   "--from-file", "--from",
                                         "--split",   "--separator",    "--slice", NULL };
    for (int i = 1; i < argc; i++) {
        int status = take_switch (request, argv[i]);
        if (status < 0)
            status = take_valued (request, argc, argv, &i);
        if (status < 0 && (argv[i][0] != '-' || argv[i][1] == '\0'))
            status = add_operand (request, HOSTSET_ADD, HOST_FROM_WORDS, argv[i]);
        if (status < 0)
            return cli_refuse_argument (request->cli, &hosts_command, argv[i], known);
        if (status != EXIT_HOLDS)
            return status;
    }
    return EXIT_HOLDS;
}

static int check_arguments (const struct request *request)
{
    if (request->each && request->operands_n)
        return refuse (request, "--each reads its expressions from standard input, and accepts none as arguments");
    if (request->each || request->slice)
        return EXIT_HOLDS;
    if (request->operands_n == 0)
        return refuse (request,
                       "no hosts were given, expected a set such as v6e-[0-15], '-', --from, --from-file or --slice");
    if (request->operands[0].step != HOSTSET_ADD)
        return refuse (request, "give the first set before --exclude, --intersection and --xor");
    return EXIT_HOLDS;
}

/* ---- groups ---- */

static bool find_group (const void *owner, struct text name, struct text *expression)
{
    const struct request *request = owner;
    if (var_find (&request->slice_groups, name, expression))
        return true;
    *expression = buf_as_text (&request->slice_hosts);
    return text_is (name, "*");
}

static int load_slice (struct request *request)
{
    struct plan plan;
    int status = planning_load_slice_only (request->cli, request->slice, &request->arena, &plan,
                                           &request->slice_groups);
    if (status != EXIT_HOLDS)
        return status;
    struct text *names = arena_array (&request->arena, plan.hosts.n, sizeof *names);
    for (uint32_t i = 0; i < plan.hosts.n; i++)
        names[i] = plan.hosts.items[i].name;
    hostset_fold (names, plan.hosts.n, &request->slice_hosts);
    return EXIT_HOLDS;
}

/* ---- working it out ---- */

/* The hosts of the slice stand first where no other set does. */
static int work_out (const struct request *request, struct hostset *set, struct err *err)
{
    bool none_first = request->operands_n == 0 || request->operands[0].step != HOSTSET_ADD;
    if (none_first && hostset_apply_expression (set, HOSTSET_ADD, buf_as_text (&request->slice_hosts), err) < 0)
        return -1;
    for (uint32_t i = 0; i < request->operands_n; i++)
        if (host_operand_apply_to_set (&request->operands[i], &request->rules, set, err) < 0)
            return -1;
    return 0;
}

static void write_answer (const struct request *request, const struct hostset *set, struct buf *out)
{
    struct arena arena = { 0 };
    struct name_list names = hostset_names (set, &arena);
    hostset_output_format_set (&request->output, &names, out);
    arena_release (&arena);
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
    if (work_out (request, set, &err) < 0)
        status = failed (request, &err);
    else
        write_answer (request, set, out);
    hostset_destroy (set);
    return status;
}

static int answer_line (const struct request *request, struct text line, struct buf *out)
{
    struct err err = { 0 };
    struct hostset *set = hostset_create (&request->rules);
    int rc = hostset_apply_expression (set, HOSTSET_ADD, line, &err);
    if (rc == 0)
        write_answer (request, set, out);
    else
        hostset_output_format_error (&request->output, &err, out);
    hostset_destroy (set);
    return rc;
}

/* A last line may lack its end. */
static int answer_lines (const struct request *request, struct text lines, struct buf *out)
{
    int status = EXIT_HOLDS;
    for (uint32_t i = 0, from = 0; i < lines.len; i++) {
        bool ends = lines.ptr[i] == '\n';
        if (!ends && i + 1 < lines.len)
            continue;
        struct text line = { lines.ptr + from, i - from + !ends };
        from = i + 1;
        if (answer_line (request, line, out) < 0)
            status = EXIT_USAGE;
    }
    return status;
}

static int answer_each (const struct request *request, struct buf *out)
{
    struct buf input;
    struct err err = { 0 };
    buf_init (&input, HOST_INPUT_MAX_BYTES);
    int status = host_operand_read_file ("-", &input, &err) < 0 ? failed (request, &err)
                                                                : answer_lines (request, buf_as_text (&input), out);
    buf_release (&input);
    return status;
}

static int print (const struct request *request, const struct buf *out, int status)
{
    struct err err = { 0 };
    if (!out->overflow && fwrite (out->ptr, 1, out->len, stdout) == out->len)
        return status;
    err_set (&err, ERR_IO,
             out->overflow ? "the answer has more than %d bytes: ask for fewer hosts at a time"
                           : "cannot write the answer",
             OUTPUT_MAX_BYTES);
    return cli_fail (request->cli, &err);
}

static int answer (struct request *request)
{
    struct buf out;
    int status = request->slice ? load_slice (request) : EXIT_HOLDS;
    if (status != EXIT_HOLDS)
        return status;
    buf_init (&out, OUTPUT_MAX_BYTES);
    request->groups = (struct hostset_group_lookup){ find_group, request };
    request->rules = (struct hostset_rules){ .max = NAMES_MAX, .groups = request->slice ? &request->groups : NULL };
    request->output.compact = request->each;
    request->output.part_separator = request->each ? "\t" : "\n";
    status = request->each ? answer_each (request, &out) : answer_one (request, &out);
    if (out.len > 0 || out.overflow)
        status = print (request, &out, status);
    buf_release (&out);
    return status;
}

static int hosts_run (struct cli *cli, int argc, char **argv)
{
    struct request request = { .cli = cli, .separator = " " };
    request.operands = mem_array ((size_t) argc, sizeof *request.operands);
    request.output.separator = request.separator;
    buf_init (&request.slice_hosts, HOST_INPUT_MAX_BYTES);
    int status = take_arguments (&request, argc, argv);
    if (status == EXIT_HOLDS)
        status = check_arguments (&request);
    if (status == EXIT_HOLDS)
        status = answer (&request);
    buf_release (&request.slice_hosts);
    arena_release (&request.arena);
    mem_free (request.operands);
    return status;
}

const struct cli_command hosts_command = {
    .name = "hosts",
    .usage = "hosts EXPR... [--fold|--expand|--count] [--split N] [--exclude EXPR] [--json] ...",
    .summary = "work with sets of host names: fold, expand, count, split, exclude",
    .help =
        "An EXPR is a host set in the syntax of ClusterShell's nodeset, which slice files, --hosts and --exclude take\n"
        "as well. Quote it: the shell interprets [ ] ! & and *.\n"
        "\n"
        "  v6e-[0-15]            numbers and ranges in brackets; n[01-16] keeps the zeros; n[0-30/2] counts by two\n"
        "  rack[1-4]n[1-8]       several brackets: all combinations\n"
        "  A,B  A!B  A&B  A^B    union, A without B, intersection, symmetric difference; from left to right\n"
        "  @spare  @*            a group of the slice file, all of its hosts (with --slice)\n"
        "  -                     standard input: one or more sets a line, comments after #\n"
        "\n"
        "What to print:\n"
        "  -f, --fold            one short expression (the default)\n"
        "  -e, --expand          the names, with --separator (-S) TEXT between them; \\n"
        " and \\t are newline and tab\n"
        "  -c, --count           the number of hosts\n"
        "  --split N             N parts of about equal size, one a line\n"
        "  --json                all of it: count, folded, hosts, and parts with --split\n"
        "\n"
        "Which hosts, besides EXPR; the command line is read from left to right:\n"
        "  -x, --exclude EXPR    without these; -i, --intersection EXPR: only these; -X, --xor EXPR: in one of both\n"
        "  --from slurm          the allocation (SLURM_JOB_NODELIST); tpu: the workers of this TPU VM\n"
        "                        (TPU_WORKER_HOSTNAMES, else the metadata server); env: the first variable set\n"
        "  --from-file FILE      sets from a file, in the form of standard input\n"
        "  --slice SLICE.yaml    groups of that file; also its hosts, when no other set comes first\n"
        "  --each                read one expression a line from standard input, print one answer a line: parts are\n"
        "                        separated by tabs, and a refused set gives 'error: ...'\n"
        "\n"
        "Examples:\n"
        "  sliceup hosts 'v6e-[0-15]!v6e-[3,7]'                v6e-[0-2,4-6,8-15]\n"
        "  sliceup hosts -e -S '\\n"
        "' 'rack[1-2]n[01-02]'       four lines\n"
        "  sliceup hosts --from slurm -x \"$(cat bad-hosts)\" --split 4\n"
        "  sliceup hosts --slice slice.yaml -x @spare --count\n"
        "\n"
        "At most 100000 hosts. Exit status: 0 (also for an empty set), 2 usage or a refused set (with its position),\n"
        "3 the source of hosts is missing or cannot be read.\n",
    .run = hosts_run,
};
