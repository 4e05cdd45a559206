/* completion.c - what stands next on a command line: the script for bash, and the answers it asks for.
 *
 * Reads names of files only, and the slice file that the line names. Nothing is made, nobody is asked, and what cannot
 * be read proposes nothing. */
#include <string.h>
#include <unistd.h>

#include "common/io/fd.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/planning.h"
#include "coordinator/journal/run_dir.h"

enum { WORDS_MAX = 512, ANSWER_MAX_BYTES = 4 << 20, RUN_ID_SHOWN = 8, RUNS_SHOWN_MAX = 50 };

struct completion {
    const struct cli *cli;
    struct cli_arguments line; /* what stands before the word */
    const char *word;          /* being written */
    struct buf out;
    uint32_t runs_n;
};

/* ---- candidates ---- */

/* Names of files come to a terminal: what is no plain name is nobody's host, rung or profile. */
static void propose (struct completion *completion, struct text before, struct text name)
{
    const char *word = completion->word;
    size_t len = strlen (word);
    bool fits = len >= before.len && len - before.len <= name.len && host_name_valid (name) &&
                memcmp (word + before.len, name.ptr, len - before.len) == 0;
    if (fits)
        buf_printf (&completion->out, "%.*s%.*s\n", TEXT_ARG (before), TEXT_ARG (name));
}

static void propose_words (struct completion *completion, const char *words)
{
    struct text rest = text_of (words);
    while (rest.len)
        propose (completion, (struct text){ 0 }, text_take_until (&rest, ' '));
}

static void propose_options (struct completion *completion)
{
    for (uint32_t level = completion->line.depth; level > 0; level--) {
        const struct cli_option *row = completion->line.path[level - 1]->options;
        for (; row && row->name; row++)
            if (strncmp (row->name, completion->word, strlen (completion->word)) == 0 &&
                (row->repeat != REPEAT_REFUSED || !completion->line.values[row->id]))
                buf_printf (&completion->out, "%s\n", row->name);
    }
}

static void propose_subcommands (struct completion *completion, const struct cli_command *command)
{
    for (uint32_t i = 0; command && command->subcommands && command->subcommands[i]; i++)
        if (command->subcommands[i]->task < TASKS_N)
            propose (completion, (struct text){ 0 }, text_of (command->subcommands[i]->name));
}

/* Files of configs/ by their names, without what follows the last dot. */
static void propose_shipped (struct completion *completion, const char *kind)
{
    char folder[RUN_PATH_BYTES];
    snprintf (folder, sizeof folder, "%s/configs/%s", completion->cli->share_dir, kind);
    LOCAL_DIR open = opendir (folder);
    struct dirent *entry;
    while (open && (entry = readdir (open))) {
        const char *dot = strrchr (entry->d_name, '.');
        if (dot)
            propose (completion, (struct text){ 0 }, (struct text){ entry->d_name, (uint32_t) (dot - entry->d_name) });
    }
}

static int propose_run (void *owner, const struct run_dir *dir, uint64_t created_ms)
{
    struct completion *completion = owner;
    (void) created_ms;
    propose (completion, (struct text){ 0 }, (struct text){ dir->id, RUN_ID_SHOWN });
    return ++completion->runs_n == RUNS_SHOWN_MAX;
}

/* ---- hosts and rungs ---- */

static const char *home_of (const struct completion *completion)
{
    const char *given = completion->line.values[CLI_HOME];
    return given ? given : completion->cli->home;
}

/* The first operand of the line, when its command takes one of this kind there; else NULL. */
static const char *operand_of (const struct completion *completion, enum cli_kind kind)
{
    const struct cli_operand *first = cli_arguments_command (&completion->line)->operands;
    return first && first->kind == kind && completion->line.operands_n ? completion->line.operands[0] : NULL;
}

/* The journal's side files are there, or reading it would make them. */
static int load_of_run (struct completion *completion, struct arena *arena, struct plan *plan)
{
    const char *run = operand_of (completion, KIND_RUN);
    struct run_dir dir;
    if (run_dir_find (&dir, home_of (completion), run ? run : "last", NULL) != 0 ||
        access (RUN_PATH (&dir, "journal.db-wal"), F_OK) != 0 || access (RUN_PATH (&dir, "journal.db-shm"), F_OK) != 0)
        return -1;
    return run_facts_read_plan (&dir, arena, plan, NULL);
}

/* Hosts or rungs of the plan. In a set the last name is being written: "v6e-0,v6e-". */
static void propose_planned (struct completion *completion, enum cli_kind kind)
{
    const char *comma = kind == KIND_HOSTS ? strrchr (completion->word, ',') : NULL;
    const char *operand = operand_of (completion, KIND_SLICE), *named = completion->line.values[CLI_SLICE];
    const char *slice = operand ? operand : named; /* NULL: the line is about a run */
    struct text before = { completion->word, comma ? (uint32_t) (comma + 1 - completion->word) : 0 };
    LOCAL_ARENA arena = { 0 };
    struct plan plan = { 0 };
    int rc = slice ? planning_load_quietly (completion->cli, &completion->line, slice, &arena, &plan)
                   : load_of_run (completion, &arena, &plan);
    for (uint32_t i = 0; rc == 0 && kind == KIND_HOSTS && i < plan.hosts.n; i++)
        propose (completion, before, plan.hosts.items[i].name);
    for (uint32_t i = 0; rc == 0 && kind == KIND_RUNG && i < plan.rungs.n; i++)
        propose (completion, before, plan.rungs.items[i].id);
}

/* ---- which ---- */

static void propose_kind (struct completion *completion, enum cli_kind kind, const char *name, const char *words)
{
    switch (kind) {
    case KIND_WORDS: propose_words (completion, words); break;
    case KIND_FOLDER: buf_puts (&completion->out, ":folder\n"); return;
    case KIND_SLICE: buf_puts (&completion->out, ":file\n"); return;
    case KIND_RUN:
        propose_words (completion, "last");
        (void) run_dir_each (home_of (completion), propose_run, completion, NULL);
        break;
    case KIND_RUNG:
    case KIND_HOSTS: propose_planned (completion, kind); break;
    case KIND_PROFILE: propose_shipped (completion, "profiles"); break;
    case KIND_LADDER: propose_shipped (completion, "ladders"); break;
    case KIND_PINS: propose_shipped (completion, "pins"); break;
    case KIND_DRIFT: propose_shipped (completion, "drift"); break;
    case KIND_LAUNCHER:
        for (uint32_t i = 1; i < launcher_names.n; i++)
            propose_words (completion, launcher_names.of[i]);
        break;
    case KIND_COMMAND:
        propose_subcommands (
            completion, completion->line.operands_n
                            ? cli_find_subcommand (completion->line.path[0], text_of (completion->line.operands[0]))
                            : completion->line.path[0]);
        break;
    default: break;
    }
    if (strstr (name, "FILE"))
        buf_puts (&completion->out, ":file\n");
}

static void propose_operand (struct completion *completion)
{
    const struct cli_command *command = cli_arguments_command (&completion->line);
    uint64_t places = 0;
    propose_subcommands (completion, command);
    for (const struct cli_operand *row = command->operands; row && row->name; row++)
        if (completion->line.operands_n < (places += row->most)) {
            propose_kind (completion, row->kind, row->name, row->words);
            return;
        }
}

/* The option whose value is being written; NULL: none is awaited. */
static const struct cli_option *awaited (const struct completion *completion, const char *before)
{
    const struct cli_option *option = cli_find_option (&completion->line, text_of (before));
    return before[0] == '-' && option && option->value ? option : NULL;
}

/* Bash cuts words at "=", which then stands alone. With --help nothing is missed. */
static int take_words (const struct cli_arguments *arguments, const char **words)
{
    int n = 2;
    words[0] = "sliceup";
    words[1] = "--help";
    for (uint32_t i = 0; i < arguments->operands_n; i++)
        if (strcmp (arguments->operands[i], "=") != 0)
            words[n++] = arguments->operands[i];
        else if (i + 1 == arguments->operands_n)
            words[n++] = "";
    return n;
}

static int complete_run (struct cli *cli, const struct cli_arguments *arguments)
{
    const char *words[WORDS_MAX + 2];
    int n = take_words (arguments, words);
    struct completion completion = { .cli = cli, .word = words[n - 1] };
    struct err mistake = { 0 };
    buf_init (&completion.out, ANSWER_MAX_BYTES);
    int rc = cli_arguments_read (arguments->path[0], n - 1, (char **) words, &completion.line, &mistake);
    const struct cli_option *option = awaited (&completion, words[n - 2]);
    completion.line.values[CLI_HELP] = NULL;
    if (option)
        propose_kind (&completion, option->kind, option->value, option->words);
    else if (rc == 0 && completion.word[0] == '-')
        propose_options (&completion);
    else if (rc == 0)
        propose_operand (&completion);
    cli_arguments_release (&completion.line);
    return cli_write_stdout (cli, &completion.out);
}

const struct cli_command complete_command = {
    .name = "__complete",
    .task = TASKS_N, /* in no list */
    .summary = "print what may stand in place of the last word",
    .help = "A line each; ':file' and ':folder' stand for names of files and folders.",
    .examples = "sliceup __complete -- run --pro\n",
    .exit_status = "0.",
    .operands = (const struct cli_operand[]){ { "WORD", 1, WORDS_MAX, .kind = KIND_TEXT }, { 0 } },
    .needs_no_home = true,
    .run = complete_run,
};

/* ---- bash ---- */

static const char script[] =
    "# The program answers itself, so an update needs no other script.\n"
    "_sliceup ()\n"
    "{\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} last\n"
    "    [[ $word == = ]] && word=\n"
    "    mapfile -t COMPREPLY < <(\"$1\" __complete -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
    "    ((${#COMPREPLY[@]})) || return 0\n"
    "    last=${COMPREPLY[-1]}\n"
    "    [[ $last == :file || $last == :folder ]] || return 0\n"
    "    unset 'COMPREPLY[-1]'\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    [[ $last == :file ]] && last=f || last=d\n"
    "    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -$last -- \"$word\")\n"
    "}\n"
    "complete -F _sliceup sliceup\n";

static int completion_run (struct cli *cli, const struct cli_arguments *arguments)
{
    struct err err = { 0 };
    if (strcmp (arguments->operands[0], "bash") != 0) {
        err_set (&err, ERR_USAGE, "'%s': expected bash, the only shell that is known", arguments->operands[0]);
        return cli_fail (cli, &err);
    }
    fputs (script, stdout);
    return EXIT_HOLDS;
}

const struct cli_command completion_command = {
    .name = "completion",
    .task = TASK_OTHER,
    .summary = "print the script with which bash completes commands, options, hosts, rungs and runs",
    .help = "An installed package has it already.",
    .examples = "source <(sliceup completion bash)\n"
                "sliceup completion bash > ~/.local/share/bash-completion/completions/sliceup\n",
    .exit_status = "0 printed, 2 another shell.",
    .operands = (const struct cli_operand[]){ { "SHELL", 1, 1, .kind = KIND_WORDS, .words = "bash" }, { 0 } },
    .needs_no_home = true,
    .run = completion_run,
};
