/* links: cli */
#include "common/model/plan.h"
#include "coordinator/cli/commands.h"
#include "test.h"

enum { WORDS = 32, LINE_BYTES = 512 };

/* A line of words between blanks; '' is an empty one. */
static int read_line (const char *line, struct cli_arguments *out, struct err *err)
{
    static char copy[LINE_BYTES];
    char program[] = "sliceup", *words[WORDS] = { program }, *rest = copy, *word;
    int n = 1;
    snprintf (copy, sizeof copy, "%s", line);
    while ((word = strsep (&rest, " ")))
        if (*word)
            words[n++] = word;
    return cli_arguments_read (&sliceup_command, n, words, out, err);
}

static void expect_refusal (const char *line, const char *said)
{
    struct cli_arguments arguments;
    struct err err = { 0 };
    if (read_line (line, &arguments, &err) == 0)
        fail_msg ("%s: taken", line);
    if (err.code != ERR_USAGE || !strstr (err.text, said))
        fail_msg ("%s: %s", line, err.text);
    cli_arguments_release (&arguments);
}

static void expect_given (const char *line, int id, const char *value)
{
    struct cli_arguments arguments;
    struct err err = { 0 };
    if (read_line (line, &arguments, &err) != 0)
        fail_msg ("%s: %s", line, err.text);
    const char *is = arguments.values[id];
    if (!value != !is || (value && strcmp (value, is) != 0))
        fail_msg ("%s: %s", line, is ? is : "not given");
    cli_arguments_release (&arguments);
}

/* ---- every row of the table ---- */

typedef void row_fn (const struct cli_command *command, const char *title);

static void each_command (const struct cli_command *command, const char *title, row_fn *fn)
{
    char name[LINE_BYTES];
    fn (command, title);
    for (uint32_t i = 0; command->subcommands && command->subcommands[i]; i++) {
        snprintf (name, sizeof name, "%s%s%s", title, title[0] ? " " : "", command->subcommands[i]->name);
        each_command (command->subcommands[i], name, fn);
    }
}

static void check_sentence (const char *title, const char *name, const char *sentence)
{
    size_t len = sentence ? strlen (sentence) : 0;
    if (len < 4 || sentence[len - 1] == '.' || strchr (sentence, '\n') || strstr (sentence, "  "))
        fail_msg ("%s %s: expected one sentence without a full stop: %s", title, name, sentence ? sentence : "");
}

static bool spells (const struct cli_option *row, const char *spelling)
{
    struct text also = text_of (row->also);
    bool found = strcmp (row->name, spelling) == 0;
    while (also.len && !found)
        found = text_is (text_take_until (&also, ' '), spelling);
    return found;
}

static void check_option (const char *title, const struct cli_option *rows, const struct cli_option *row)
{
    if (strncmp (row->name, "--", 2) != 0 || row->id < 0 || row->id >= CLI_OPTIONS_MAX)
        fail_msg ("%s %s: its name or its id", title, row->name);
    check_sentence (title, row->name, row->help);
    if (!row->value && (row->kind != KIND_TEXT || row->repeat || row->is_required))
        fail_msg ("%s %s: a switch has no value, so it neither completes nor adds up", title, row->name);
    if ((row->kind == KIND_WORDS) != (row->words != NULL) || (row->kind == KIND_NUMBER && !row->most))
        fail_msg ("%s %s: words or the largest number", title, row->name);
    for (const struct cli_option *other = rows; other < row; other++) {
        struct text also = text_of (row->also);
        if (other->id == row->id || spells (other, row->name))
            fail_msg ("%s: %s and %s are alike", title, other->name, row->name);
        while (also.len) {
            char one[LINE_BYTES];
            assert_true (text_to_c (text_take_until (&also, ' '), one, sizeof one));
            if (spells (other, one))
                fail_msg ("%s: %s and %s are both %s", title, other->name, row->name, one);
        }
    }
}

/* Options that a usage names are the command's. */
static void check_usage (const struct cli_command *command, const char *title)
{
    char usage[LINE_BYTES], *rest = usage, *word;
    snprintf (usage, sizeof usage, "%s", command->usage ? command->usage : "");
    while ((word = strsep (&rest, " []()"))) {
        bool found = word[0] != '-' || strcmp (word, "--") == 0;
        for (const struct cli_option *row = command->options; row && row->name && !found; row++)
            found = spells (row, word);
        if (!found)
            fail_msg ("%s: its usage names %s", title, word);
    }
}

static void look_at_command (const struct cli_command *command, const char *title)
{
    check_sentence (title, "summary", command->summary);
    if (!command->help || !command->examples || !command->exit_status || !(command->run || command->subcommands))
        fail_msg ("%s: expected help, examples, exit status, and a function or subcommands", title);
    if (!strstr (command->examples, "sliceup") || !strstr (command->exit_status, "."))
        fail_msg ("%s: examples or exit status", title);
    for (const struct cli_option *row = command->options; row && row->name; row++)
        check_option (title, command->options, row);
    check_usage (command, title);
}

TEST (every_row_is_whole)
{
    each_command (&sliceup_command, "", look_at_command);
}

/* No option means something else before the command's name. */
static void check_beside_global (const struct cli_command *command, const char *title)
{
    for (const struct cli_option *row = command->options; title[0] && row && row->name; row++)
        for (const struct cli_option *other = sliceup_command.options; other->name; other++)
            if (other->id == row->id || spells (row, other->name))
                fail_msg ("%s: %s is an option of every command", title, row->name);
}

TEST (no_command_hides_an_option_of_all)
{
    each_command (&sliceup_command, "", check_beside_global);
}

/* ---- what a second one does, for each option there is ---- */

static void fill (const struct cli_command *command, const char *title, const struct cli_option *row, char *line)
{
    const char *value = row->kind == KIND_NUMBER ? "7" : "a", *more = row->kind == KIND_NUMBER ? "8" : "b";
    char operands[LINE_BYTES] = "";
    for (const struct cli_operand *operand = command->operands; operand && operand->name; operand++)
        for (uint32_t i = 0; i < operand->least; i++)
            strcat (operands, " x");
    for (const struct cli_option *other = command->options; other->name; other++)
        if (other->is_required && other != row)
            sprintf (operands + strlen (operands), " %s y", other->name);
    sprintf (line, row->value ? "%s %s %s %s=%s%s" : "%s %s %.0s%s%.0s%s", title, row->name, value, row->name, more,
             operands);
}

static void check_repeats (const struct cli_command *command, const char *title)
{
    for (const struct cli_option *row = command->options; command->run && row && row->name; row++) {
        char line[LINE_BYTES], said[LINE_BYTES];
        bool number = row->kind == KIND_NUMBER;
        fill (command, title, row, line);
        snprintf (said, sizeof said, "%s is given twice: '%s' and '%s'; give it once", row->name, number ? "7" : "a",
                  number ? "8" : "b");
        if (!row->value)
            expect_given (line, row->id, row->name);
        else if (row->repeat == REPEAT_REFUSED)
            expect_refusal (line, said);
        else
            expect_given (line, row->id, row->repeat == REPEAT_JOINED ? "a,b" : "b");
    }
}

TEST (a_second_one_adds_up_or_is_refused)
{
    each_command (&sliceup_command, "", check_repeats);
    expect_given ("logs --host a -w b --hosts=c", CLI_HOSTS, "a,b,c");
    expect_refusal ("--home a runs --home b", "--home is given twice: 'a' and 'b'");
    expect_refusal (
        "logs --hosts a[0-3] --hosts a[1-2]!a1",
        "--hosts is given twice, and 'a[1-2]!a1' would take hosts from 'a[0-3]' as well; write both as one");
}

TEST (lists_keep_each_in_order_and_are_bounded)
{
    struct cli_arguments arguments;
    const char *rungs[LEFT_OUT_RUNGS_MAX];
    char line[LINE_BYTES] = "run a.yaml";
    assert_int_equal (read_line ("run --leave-out a s.yaml --json --leave-out b", &arguments, &t->err), 0);
    assert_int_equal (cli_list (&arguments, CLI_LEAVE_OUT, rungs), 2);
    assert_string_equal (rungs[0], "a");
    assert_string_equal (rungs[1], "b");
    assert_string_equal (arguments.operands[0], "s.yaml");
    cli_arguments_release (&arguments);
    for (int i = 0; i < LEFT_OUT_RUNGS_MAX; i++)
        strcat (line, " --leave-out=a");
    expect_given (line, CLI_LEAVE_OUT, "a");
    strcat (line, " --leave-out=a");
    expect_refusal (line, "--leave-out is given more than 16 times, the limit");
}

TEST (words_are_taken_as_they_are_meant)
{
    expect_given ("--plain receipt --json", CLI_PLAIN, "--plain");
    expect_given ("receipt last --hosts= --plain", CLI_HOSTS, "");
    expect_given ("init --gcloud -", CLI_OWN + 1, "-");
    expect_given ("hosts -", CLI_JSON, NULL);
    expect_given ("receipt -h", CLI_HELP, "--help");
    expect_given ("run --help", CLI_HELP, "--help"); /* nothing is missed */
    expect_given ("hosts -- --json", CLI_JSON, NULL);
    expect_given ("-v", CLI_VERBOSE, "--verbose");
}

TEST (mistakes_are_told_with_what_was_expected)
{
    static const struct {
        const char *line, *said;
    } mistakes[] = {
        { "recipt", "there is no command 'recipt'; did you mean receipt?; see sliceup --help" },
        { "receipt --jsn", "unknown argument '--jsn'; did you mean --json?; see sliceup receipt --help" },
        { "receipt --rung a", "unknown argument '--rung'; it is an option of logs, drift; see" },
        { "cache export 1 x --dry-run", "unknown argument '--dry-run'; it is an option of runs prune, cache gc; see" },
        { "cache gcc", "there is no command 'gcc'; did you mean gc?; see sliceup cache --help" },
        { "cache", "expected ls, verify, explain, gc, export or import; see sliceup cache --help" },
        { "run", "expected SLICE.yaml; see sliceup run --help" },
        { "run a.yaml b.yaml", "one word too many: 'b.yaml'; see sliceup run --help" },
        { "ticket a.yaml", "expected --out DIR; see sliceup ticket --help" },
        { "receipt --json=1", "--json has no value" },
        { "run a.yaml --profile", "--profile needs a value, NAME|FILE" },
        { "receipt --json --markdown", "--json and --markdown exclude each other" },
        { "hosts a --count --expand", "--expand and --count exclude each other" },
        { "hosts a --count --fold", "--count and --fold exclude each other" },
        { "hosts a --split 0", "--split 0: expected a number from 1 to 100000" },
        { "logs --attempt x", "--attempt x: expected a number from 1" },
        { "cache gc --keep 1000001", "--keep 1000001: expected a number from 1 to 1000000" },
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++)
        expect_refusal (mistakes[i].line, mistakes[i].said);
}

/* ---- help ---- */

/* An example, or a line of a table. */
static bool is_kept (const struct cli_command *command, struct text line, struct arena *arena)
{
    const char *whole = text_copy (arena, line).ptr;
    return strstr (command->examples, text_copy (arena, text_trimmed (line)).ptr) ||
           (whole[0] == ' ' && strstr (command->help, whole));
}

static void check_help (const struct cli_command *command, const char *title, uint32_t columns)
{
    struct cli_arguments arguments;
    struct err err = { 0 };
    struct buf out;
    char line[LINE_BYTES];
    snprintf (line, sizeof line, "%s --help", title);
    assert_int_equal (read_line (line, &arguments, &err), 0);
    buf_init (&out, PAGE_MAX_BYTES);
    help_print (&arguments, columns, &out);
    struct text rest = buf_as_text (&out);
    for (bool usage = true; rest.len; usage = false) {
        struct text one = text_take_until (&rest, '\n');
        if (one.len > (usage || is_kept (command, one, &arguments.arena) ? 100 : columns) ||
            (one.len && one.ptr[one.len - 1] == ' '))
            fail_msg ("%s, %u columns: %.*s", title, columns, TEXT_ARG (one));
    }
    for (const struct cli_option *row = command->options; row && row->name; row++)
        assert_has (&out, row->name);
    assert_has (&out, "\nExit status:\n");
    buf_release (&out);
    cli_arguments_release (&arguments);
}

static void check_help_in_each_width (const struct cli_command *command, const char *title)
{
    static const uint32_t widths[] = { 60, 80, 120, 200 };
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++)
        check_help (command, title, widths[i]);
}

TEST (help_has_every_option_and_fits)
{
    each_command (&sliceup_command, "", check_help_in_each_width);
}

TEST (first_steps_are_twelve_lines_of_80_columns)
{
    uint32_t n = 0;
    struct buf out = { .max = PAGE_MAX_BYTES };
    help_print_first_steps (&sliceup_command, &out);
    for (struct text rest = buf_as_text (&out); rest.len; n++)
        assert_in_range (text_take_until (&rest, '\n').len, 0, 80);
    assert_int_equal (n, 12);
    buf_release (&out);
}

TEST (help_is_aligned_and_wrapped)
{
    struct cli_arguments arguments;
    struct buf out;
    assert_int_equal (read_line ("receipt --help", &arguments, &t->err), 0);
    buf_init (&out, PAGE_MAX_BYTES);
    help_print (&arguments, 100, &out);
    assert_ptr_equal (strstr (buf_c (&out), "sliceup receipt [RUN] [OPTIONS] | [OPTIONS] --merge FILE...\n\nshow "),
                      buf_c (&out));
    assert_has (&out, "\n"
                      "  --json                    the whole receipt as JSON\n");
    assert_non_null (
        strstr (buf_c (&out),
                "\n"
                "  -w, --hosts SET           only these hosts: v6e-[0-3,7], @GROUP of the slice file (sliceup hosts\n"
                "                            --help); several add up\n"));
    assert_has (&out, "\nExamples:\n  sliceup receipt\n");
    buf_release (&out);
    cli_arguments_release (&arguments);
}
