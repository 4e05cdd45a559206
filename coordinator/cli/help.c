#include <string.h>

#include "coordinator/cli/commands.h"

/* ---- a page of words: wrapped to its columns, or as man(7) wants it ---- */

struct page {
    struct buf *out;
    bool man;
    uint32_t columns; /* not of man(7) */
};

enum { INDENT = 2, NAME_COLUMNS = 26 };

/* man(7): a line must not begin with what is a request there. */
static void add_roff (struct buf *out, struct text line)
{
    for (uint32_t i = 0; i < line.len; i++)
        switch (line.ptr[i]) {
        case '\\': buf_puts (out, "\\e"); break;
        case '-': buf_puts (out, "\\-"); break;
        case '\'': buf_puts (out, "\\(aq"); break;
        case '.': buf_puts (out, i ? "." : "\\&."); break;
        default: buf_byte (out, (uint8_t) line.ptr[i]);
        }
    buf_byte (out, '\n');
}

static void page_add_section (const struct page *page, const char *title)
{
    buf_printf (page->out, page->man ? ".SH %s\n" : "\n%s:\n", title);
}

/* A line is a paragraph; one that begins with a blank is kept as it is. In `columns` from the left. */
static void page_add_prose (const struct page *page, const char *prose, uint32_t columns)
{
    struct text rest = text_of (prose);
    while (rest.len) {
        struct text line = text_take_until (&rest, '\n');
        bool kept = line.len && line.ptr[0] == ' ';
        if (page->man && !line.len)
            buf_puts (page->out, ".PP\n");
        else if (page->man) {
            buf_puts (page->out, kept ? ".br\n" : "");
            add_roff (page->out, line);
        } else if (kept || !line.len)
            buf_printf (page->out, "%.*s\n", TEXT_ARG (line));
        else {
            buf_printf (page->out, "%*s", (int) columns, "");
            line_wrap (page->out, line, columns, columns, page->columns);
        }
    }
}

static void page_add_row (const struct page *page, const char *name, const char *text)
{
    uint32_t at = INDENT + NAME_COLUMNS, len = (uint32_t) strlen (name);
    if (page->man) {
        buf_puts (page->out, ".TP\n.B ");
        add_roff (page->out, text_of (name));
        add_roff (page->out, text_of (text));
        return;
    }
    buf_printf (page->out, "%*s%-*s", INDENT, "", NAME_COLUMNS, name);
    if (len + 2 > NAME_COLUMNS) {
        while (page->out->len && page->out->ptr[page->out->len - 1] == ' ')
            page->out->len--;
        buf_printf (page->out, "\n%*s", (int) at, "");
    }
    line_wrap (page->out, text_of (text), at, at, page->columns);
}

static void page_add_lines (const struct page *page, const char *lines)
{
    struct text rest = text_of (lines);
    buf_puts (page->out, page->man ? ".nf\n" : "");
    while (rest.len) {
        struct text line = text_take_until (&rest, '\n');
        if (page->man)
            add_roff (page->out, line);
        else
            buf_printf (page->out, "%*s%.*s\n", INDENT, "", TEXT_ARG (line));
    }
    buf_puts (page->out, page->man ? ".fi\n" : "");
}

/* ---- what the rows say ---- */

enum { NAME_BYTES = 128 };

static const char *const tasks[TASKS_N] = { [TASK_FIRST] = "First steps",
                                            [TASK_RUN] = "Run",
                                            [TASK_LOOK] = "Look at a run",
                                            [TASK_COMPARE] = "Compare runs",
                                            [TASK_CACHE] = "Cache and environments",
                                            [TASK_OTHER] = "Other" };

/* "-f, --fold", "--run RUN": the short spellings first. */
static void add_option (const struct page *page, const struct cli_option *option)
{
    struct text also = text_of (option->also);
    LOCAL_BUF name = { .max = NAME_BYTES };
    while (also.len) {
        struct text one = text_take_until (&also, ' ');
        if (!text_starts (one, "--"))
            buf_printf (&name, "%.*s, ", TEXT_ARG (one));
    }
    buf_printf (&name, "%s%s%s", option->name, option->value ? " " : "", option->value ? option->value : "");
    page_add_row (page, buf_c (&name), option->help);
}

static void add_options (const struct page *page, const struct cli_option *row)
{
    for (; row && row->name; row++)
        add_option (page, row);
}

/* What follows the name: " SLICE.yaml --out DIR [RUN] [OPTIONS]" */
static void add_usage (struct buf *out, const struct cli_command *command)
{
    bool optional = false;
    if (command->usage || (command->subcommands && !command->run)) {
        buf_printf (out, " %s", command->usage ? command->usage : "SUBCOMMAND ...");
        return;
    }
    for (const struct cli_operand *row = command->operands; row && row->name; row++)
        buf_printf (out, " %s%s%s%s", row->least ? "" : "[", row->name, row->most > 1 ? "..." : "",
                    row->least ? "" : "]");
    for (const struct cli_option *row = command->options; row && row->name; row++) {
        if (row->is_required)
            buf_printf (out, " %s %s", row->name, row->value);
        optional |= !row->is_required;
    }
    buf_puts (out, optional ? " [OPTIONS]" : "");
}

static void add_subcommand (const struct page *page, const struct cli_command *command, bool with_usage)
{
    LOCAL_BUF name = { .max = NAME_BYTES };
    buf_puts (&name, command->name);
    if (with_usage)
        add_usage (&name, command);
    page_add_row (page, buf_c (&name), command->summary);
}

static void add_commands (const struct page *page, const struct cli_command *root)
{
    for (enum cli_task task = 0; task < TASKS_N; task++) {
        page_add_section (page, tasks[task]);
        for (uint32_t i = 0; root->subcommands[i]; i++)
            if (root->subcommands[i]->task == task)
                add_subcommand (page, root->subcommands[i], false);
    }
}

/* A man page has its subcommands whole. */
static void add_subcommands (const struct page *page, const struct cli_command *command)
{
    page_add_section (page, "Subcommands (each has a --help of its own)");
    for (uint32_t i = 0; command->subcommands[i]; i++) {
        const struct cli_command *one = command->subcommands[i];
        add_subcommand (page, one, true);
        if (!page->man)
            continue;
        buf_puts (page->out, ".RS\n.PP\n");
        page_add_prose (page, one->help, 0);
        add_options (page, one->options);
        buf_puts (page->out, ".RE\n");
    }
}

static void help_add_body (const struct page *page, const struct cli_arguments *arguments)
{
    const struct cli_command *command = cli_arguments_command (arguments);
    bool top = arguments->depth == 1;
    page_add_prose (page, command->help, 0);
    if (top)
        add_commands (page, command);
    else if (command->subcommands)
        add_subcommands (page, command);
    if (command->options)
        page_add_section (page, top ? "Options for every command, before or after its name"
                                    : "Options (sliceup --help has those of every command)");
    add_options (page, command->options);
    page_add_section (page, top ? "To begin with" : "Examples");
    page_add_lines (page, command->examples);
    page_add_section (page, "Exit status");
    page_add_prose (page, command->exit_status, 2);
}

void help_print (const struct cli_arguments *arguments, uint32_t columns, struct buf *out)
{
    const struct page page = { .out = out, .columns = columns };
    LOCAL_ARENA arena = { 0 };
    struct text title = cli_arguments_title (arguments, &arena);
    buf_printf (out, "sliceup%.*s", TEXT_ARG (title));
    add_usage (out, cli_arguments_command (arguments));
    buf_puts (out, "\n\n");
    page_add_prose (&page, cli_arguments_command (arguments)->summary, 0);
    buf_byte (out, '\n');
    help_add_body (&page, arguments);
}

void help_print_first_steps (const struct cli_command *root, struct buf *out)
{
    buf_printf (out, "%s: %s\n\n", root->name, root->summary);
    page_add_lines (&(struct page){ .out = out }, root->examples);
    buf_puts (out, "\nsliceup --help lists all commands and options; sliceup help run describes one.\n");
}

/* The same as help_print as a page for man(1). */
static void help_print_man (const struct cli_arguments *arguments, const char *version, struct buf *out)
{
    const struct cli_command *command = cli_arguments_command (arguments);
    const struct page page = { .out = out, .man = true };
    const char *dash = arguments->depth > 1 ? "\\-" : "", *name = arguments->depth > 1 ? command->name : "";
    buf_printf (out, ".TH sliceup%s%s 1 \"\" \"sliceup %s\"\n", dash, name, version);
    buf_printf (out, ".SH NAME\nsliceup%s%s \\- %s\n.SH SYNOPSIS\nsliceup %s", dash, name, command->summary, name);
    add_usage (out, command);
    buf_puts (out, "\n.SH DESCRIPTION\n");
    help_add_body (&page, arguments);
    buf_puts (out, arguments->depth > 1 ? ".SH SEE ALSO\n.BR sliceup (1)\n" : "");
}

/* ---- help ---- */

/* The commands help and version. */

enum { HELP_MAN = CLI_OWN };

static int print (const struct cli *cli, const struct cli_arguments *of, bool man)
{
    struct buf out = { .max = PAGE_MAX_BYTES };
    struct cli_arguments page = *of;
    page.depth = of->depth > 2 ? 2 : of->depth; /* a man page of a command has its subcommands */
    if (man)
        help_print_man (&page, SLICEUP_VERSION, &out);
    else
        help_print (of, cli_columns (), &out);
    return cli_write_stdout (cli, &out);
}

/* As if --help had been asked of the command: so mistakes in its name are told in the same way. */
static int help_run (struct cli *cli, const struct cli_arguments *arguments)
{
    const char *words[] = { "sliceup", "--help", arguments->operands[0],
                            arguments->operands_n > 1 ? arguments->operands[1] : NULL };
    struct cli_arguments of;
    struct err err = { 0 };
    int rc = cli_arguments_read (arguments->path[0], 2 + (int) arguments->operands_n, (char **) words, &of, &err);
    int status = rc < 0 ? cli_fail (cli, &err) : print (cli, &of, arguments->values[HELP_MAN]);
    cli_arguments_release (&of);
    return status;
}

static const struct cli_option help_options[] = {
    { HELP_MAN, "--man", .help = "print a page for man(1)" },
    { 0 },
};

const struct cli_command help_command = {
    .name = "help",
    .task = TASK_OTHER,
    .summary = "describe the commands, or one of them",
    .help = "The same as --help behind the command.",
    .examples = "sliceup help run\n"
                "sliceup help cache gc\n"
                "sliceup help --man run | man -l -\n",
    .exit_status = "0 printed, 2 there is no such command.",
    .operands = (const struct cli_operand[]){ { "COMMAND", 0, 2, .kind = KIND_COMMAND }, { 0 } },
    .options = help_options,
    .needs_no_home = true,
    .run = help_run,
};

static int version_run (struct cli *cli, const struct cli_arguments *arguments)
{
    (void) cli, (void) arguments;
    printf ("sliceup %s\n", SLICEUP_VERSION);
    return EXIT_HOLDS;
}

const struct cli_command version_command = {
    .name = "version",
    .task = TASK_OTHER,
    .summary = "print the version",
    .help = "The same as --version.",
    .examples = "sliceup version\n",
    .exit_status = "0.",
    .needs_no_home = true,
    .run = version_run,
};
