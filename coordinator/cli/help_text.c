#include "coordinator/cli/help_text.h"

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
    struct buf name;
    buf_init (&name, NAME_BYTES);
    while (also.len) {
        struct text one = text_take_until (&also, ' ');
        if (!text_starts (one, "--"))
            buf_printf (&name, "%.*s, ", TEXT_ARG (one));
    }
    buf_printf (&name, "%s%s%s", option->name, option->value ? " " : "", option->value ? option->value : "");
    page_add_row (page, buf_c (&name), option->help);
    buf_release (&name);
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
    struct buf name;
    buf_init (&name, NAME_BYTES);
    buf_puts (&name, command->name);
    if (with_usage)
        add_usage (&name, command);
    page_add_row (page, buf_c (&name), command->summary);
    buf_release (&name);
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

static void add_body (const struct page *page, const struct cli_arguments *arguments)
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

void help_print (const struct cli_arguments *arguments, struct buf *out)
{
    const struct page page = { out, false };
    struct arena arena = { 0 };
    struct text title = cli_arguments_title (arguments, &arena);
    buf_printf (out, "sliceup%.*s", TEXT_ARG (title));
    add_usage (out, cli_arguments_command (arguments));
    buf_printf (out, "\n\n%s\n\n", cli_arguments_command (arguments)->summary);
    add_body (&page, arguments);
    arena_release (&arena);
}

void help_print_man (const struct cli_arguments *arguments, const char *version, struct buf *out)
{
    const struct cli_command *command = cli_arguments_command (arguments);
    const struct page page = { out, true };
    const char *dash = arguments->depth > 1 ? "\\-" : "", *name = arguments->depth > 1 ? command->name : "";
    buf_printf (out, ".TH sliceup%s%s 1 \"\" \"sliceup %s\"\n", dash, name, version);
    buf_printf (out, ".SH NAME\nsliceup%s%s \\- %s\n.SH SYNOPSIS\nsliceup %s", dash, name, command->summary, name);
    add_usage (out, command);
    buf_puts (out, "\n.SH DESCRIPTION\n");
    add_body (&page, arguments);
    buf_puts (out, arguments->depth > 1 ? ".SH SEE ALSO\n.BR sliceup (1)\n" : "");
}
