#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/io/atomic_file.h"
#include "common/io/fd.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/run_receipt.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/run_begun.h"

enum { REPORT_FOLDER = CLI_OWN, REPORT_PRINT };
enum { REPORT_MAX_BYTES = 512 << 20, REPORT_PATH_BYTES = 4096 };

#define FOLDER_NAME "sliceup-report-" /* and the run, in the working directory */

/* ---- files ---- */

/* The first is the one by which a folder is known as ours. html is no file that a run leaves. */
static const struct {
    const char *word, *name; /* the word of --print */
} files[] = { { "trace", RUN_FILE_TRACE },
              { "junit", RUN_FILE_JUNIT },
              { "markdown", RUN_FILE_MARKDOWN },
              { "json", RUN_FILE_RECEIPT },
              { "html", "report.html" } };
enum { FILES_N = sizeof files / sizeof files[0] };
#define FILE_WORDS "trace html junit markdown json"

static report_printer *printer_of (const char *name)
{
    const struct run_file *file = run_files;
    while (file->name && strcmp (file->name, name) != 0)
        file++;
    return file->name ? file->print : html_page;
}

static int report_write_file (const char *folder, const char *name, const struct report *report, struct err *err)
{
    char path[REPORT_PATH_BYTES];
    if ((size_t) snprintf (path, sizeof path, "%s/%s", folder, name) >= sizeof path)
        return err_set (err, ERR_USAGE, "-o: the path of the folder is longer than %zu bytes; name a shorter one",
                        sizeof path - 1);
    return report_file_write (path, 0644, printer_of (name), report, err);
}

/* ---- the folder ---- */

/* 1: it holds a report; 0: nothing; -1: other files. */
static int look_at_folder (DIR *folder)
{
    int found = 0;
    for (const struct dirent *entry = readdir (folder); entry; entry = readdir (folder)) {
        if (strcmp (entry->d_name, files[0].name) == 0)
            return 1;
        if (strcmp (entry->d_name, ".") != 0 && strcmp (entry->d_name, "..") != 0)
            found = -1;
    }
    return found;
}

/* It is made, or is empty, or holds a report, whose files are replaced. */
static int make_folder (const char *path, struct err *err)
{
    LOCAL_DIR folder = opendir (path);
    if (!folder && errno == ENOENT)
        return folder_make (path, 0755, err);
    if (!folder)
        return err_errno (err, ERR_USAGE, "-o: cannot open the folder '%s'", path);
    int found = look_at_folder (folder);
    if (found < 0)
        return err_set (err, ERR_USAGE,
                        "'%s' holds other files and no report; name a new folder with -o, or an empty one", path);
    return 0;
}

/* ---- the command ---- */

static int read_run (const struct cli *cli, const char *run, struct run_report *out, struct err *err)
{
    struct run_dir dir;
    if (run_begun_find_checked (&dir, cli->home, run ? run : "last", err) < 0)
        return -1;
    return run_report_read (&dir, journal_is_locked (RUN_PATH (&dir, "journal.db"), NULL, NULL) > 0, out, err);
}

static int write_report (const char *folder, const struct report *report, struct err *err)
{
    if (make_folder (folder, err) < 0)
        return -1;
    struct err other = { 0 };
    for (size_t i = 0; i < FILES_N; i++) /* what can be written is; the first that cannot is told */
        (void) report_write_file (folder, files[i].name, report, err->code ? &other : err);
    return err->code ? -1 : 0;
}

static const char *state_of (const struct report *report)
{
    const struct board *board = report->scene->board;
    if (board->outcome == OUTCOME_PASSED && board->exit_status)
        return "passed, but its cache was violated";
    return board->ended ? enum_name_of (&outcome_names, board->outcome) : report->held ? "running" : "interrupted";
}

static int print_place (const struct cli *cli, const char *folder, const struct report *report)
{
    struct buf out = { .max = REPORT_PATH_BYTES * 2 };
    buf_puts (&out, "report of run ");
    buf_add_text (&out, text_clip (report->scene->board->run, RUN_SHOWN_BYTES));
    buf_printf (&out, " (%s): ", state_of (report));
    buf_escaped (&out, text_of (folder), 0);
    buf_byte (&out, '\n');
    return cli_write_stdout (cli, &out);
}

static int print_file (const struct cli *cli, const char *word, const struct report *report)
{
    struct buf out = { .max = REPORT_MAX_BYTES, .drain = cli_drain_stdout };
    for (size_t i = 0; i < FILES_N; i++)
        if (strcmp (files[i].word, word) == 0)
            printer_of (files[i].name) (report, &out);
    return cli_write_stdout (cli, &out);
}

static int check_word (const char *word, struct err *err)
{
    size_t i = 0;
    while (word && i < FILES_N && strcmp (files[i].word, word) != 0)
        i++;
    if (i == FILES_N)
        return err_set (err, ERR_USAGE, "--print: '%s' is no file of a report; expected one of " FILE_WORDS, word);
    return 0;
}

/* The folder is touched when the journal was read: a damaged one leaves an earlier report as it is. */
static int report_run (struct cli *cli, const struct cli_arguments *arguments)
{
    const char *folder = arguments->values[REPORT_FOLDER], *word = arguments->values[REPORT_PRINT];
    char named[sizeof FOLDER_NAME + RUN_SHOWN_BYTES];
    struct run_report made = { 0 };
    struct err err = { 0 };
    int status = -1;
    if (check_word (word, &err) == 0 && read_run (cli, arguments->operands[0], &made, &err) == 0) {
        snprintf (named, sizeof named, FOLDER_NAME "%.*s",
                  TEXT_ARG (text_clip (made.report->scene->board->run, RUN_SHOWN_BYTES)));
        folder = folder ? folder : named;
        status = word ? print_file (cli, word, made.report) : write_report (folder, made.report, &err);
    }
    if (err.code)
        status = cli_fail (cli, &err);
    else if (!word)
        status = print_place (cli, folder, made.report);
    run_report_release (&made);
    return status;
}

static const struct cli_option options[] = {
    { REPORT_FOLDER, "--output", .also = "-o", .value = "FOLDER",
      .help = "write the report there: a new folder, an empty one, or one that holds a report already "
              "(default: " FOLDER_NAME "RUN in the working directory)",
      .kind = KIND_FOLDER },
    { REPORT_PRINT, "--print", .value = "FILE", .help = "print one file of it, and write none", .kind = KIND_WORDS,
      .words = FILE_WORDS, .not_with = REPORT_FOLDER },
    { 0 },
};

const struct cli_command report_command = {
    .name = "report",
    .task = TASK_LOOK,
    .summary = "write what is kept of a run: a page, JUnit XML, a Perfetto trace, Markdown, JSON",
    .usage = "[RUN] [-o FOLDER | --print FILE]",
    .help = "Writes report.html, report.md, junit.xml, trace.perfetto.json (open it at ui.perfetto.dev) and "
            "receipt.json into a folder, as docs/spec/report.md describes. It works for finished, running and "
            "interrupted runs; each file "
            "says which it is. Each is written whole or not at all, and replaces that of an earlier report; other "
            "files of the folder stay.\n\n" HELP_OF_RUN,
    .examples = "sliceup report\n"
                "sliceup report -o bringup\n"
                "sliceup report 3fa9 --print junit > junit.xml\n",
    .exit_status = "0 written; 2 usage, or a folder with other files; 3 a file could not be written; 5 the journal is "
                   "damaged.",
    .operands = (const struct cli_operand[]){ { OPERAND_RUN }, { 0 } },
    .options = options,
    .run = report_run,
};
