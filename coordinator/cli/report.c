#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/io/atomic_file.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/options.h"
#include "coordinator/home/run_begun.h"
#include "coordinator/home/run_facts.h"
#include "coordinator/journal/journal.h"
#include "coordinator/report/html.h"
#include "coordinator/report/junit.h"
#include "coordinator/report/trace.h"
#include "coordinator/view/receipt_json.h"
#include "coordinator/view/receipt_text.h"

enum { REPORT_FOLDER = CLI_OWN, REPORT_PRINT };
enum { REPORT_MAX_BYTES = 512 << 20, REPORT_PATH_BYTES = 4096 };

/* ---- files ---- */

static void make_trace (const struct report *report, struct buf *out)
{
    trace_perfetto (report, out);
}

static void make_html (const struct report *report, struct buf *out)
{
    html_page (report, TEXT_LIT (""), out);
}

static void make_junit (const struct report *report, struct buf *out)
{
    junit_xml (report->receipt, out);
}

static void make_markdown (const struct report *report, struct buf *out)
{
    receipt_markdown (report->receipt, report->plan->drift.items, report->plan->drift.n, out);
}

static void make_receipt (const struct report *report, struct buf *out)
{
    receipt_json (report->receipt, report->plan->drift.items, report->plan->drift.n, out);
}

/* The first is the one by which a folder is known as ours. */
static const struct report_file {
    const char *word, *name; /* the word of --print */
    void (*make) (const struct report *report, struct buf *out);
} files[] = { { "trace", "trace.perfetto-trace", make_trace },
              { "html", "report.html", make_html },
              { "junit", "junit.xml", make_junit },
              { "markdown", "report.md", make_markdown },
              { "json", "receipt.json", make_receipt } };

static int write_file (const char *folder, const struct report_file *file, const struct report *report, struct err *err)
{
    char path[REPORT_PATH_BYTES];
    struct buf bytes;
    int rc = 0;
    if ((size_t) snprintf (path, sizeof path, "%s/%s", folder, file->name) >= sizeof path)
        return err_set (err, ERR_USAGE, "-o: the path of the folder is longer than %zu bytes; name a shorter one",
                        sizeof path - 1);
    buf_init (&bytes, REPORT_MAX_BYTES);
    file->make (report, &bytes);
    rc = bytes.overflow ? err_set (err, ERR_LIMIT, "%s would be larger than %d MiB", file->name, REPORT_MAX_BYTES >> 20)
                        : atomic_file_write (path, bytes.ptr, bytes.len, 0644, err);
    buf_release (&bytes);
    return rc;
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
    DIR *folder = opendir (path);
    if (!folder && errno == ENOENT)
        return folder_make (path, 0755, err);
    if (!folder)
        return err_errno (err, ERR_USAGE, "-o: cannot open the folder '%s'", path);
    int found = look_at_folder (folder);
    closedir (folder);
    if (found < 0)
        return err_set (err, ERR_USAGE, "-o: '%s' holds other files and no report; name a new folder, or an empty one",
                        path);
    return 0;
}

/* ---- the command ---- */

static void on_fact (void *owner, const struct fact *fact)
{
    report_book_apply (owner, fact);
}

static int write_report (const char *folder, const struct report *report, struct err *err)
{
    if (make_folder (folder, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (write_file (folder, &files[i], report, err) < 0)
            return -1;
    return 0;
}

static bool is_held (const struct run_dir *dir)
{
    char path[RUN_PATH_BYTES];
    return journal_is_locked (run_dir_path (dir, "journal.db", path), NULL, NULL) > 0;
}

static const char *state_of (const struct report *report)
{
    return report->scene->ended ? enum_name_of (&outcome_names, report->scene->outcome)
           : report->held       ? "running"
                                : "interrupted";
}

static int print_file (const struct cli *cli, const char *word, const struct report *report)
{
    struct buf out;
    buf_init (&out, REPORT_MAX_BYTES);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (strcmp (files[i].word, word) == 0)
            files[i].make (report, &out);
    return cli_write_stdout (cli, &out);
}

static int print_place (const struct cli *cli, const struct run_dir *dir, const char *folder,
                        const struct report *report)
{
    struct buf out;
    buf_init (&out, REPORT_PATH_BYTES * 2);
    buf_printf (&out, "report of run %.8s (%s): %s\n", dir->id, state_of (report), folder);
    return cli_write_stdout (cli, &out);
}

static int check_words (const struct cli_arguments *arguments, struct err *err)
{
    return arguments->values[REPORT_FOLDER] || arguments->values[REPORT_PRINT]
               ? 0
               : err_set (err, ERR_USAGE, "expected -o FOLDER, or --print and one file; see sliceup report --help");
}

/* The folder is touched when the run was read: a damaged journal leaves an earlier report as it is. */
static int report_run (struct cli *cli, const struct cli_arguments *arguments)
{
    const char *run = arguments->operands[0], *folder = arguments->values[REPORT_FOLDER];
    struct report_book *book = report_book_create ();
    const struct report *report = NULL;
    struct run_dir dir;
    struct err err = { 0 };
    int status;
    int rc = check_words (arguments, &err);
    if (rc == 0)
        rc = run_begun_find_checked (&dir, cli->home, run ? run : "last", &err);
    if (rc == 0)
        rc = run_facts_each (&dir, on_fact, book, &err);
    if (rc == 0)
        report = report_book_make (book, is_held (&dir));
    if (rc == 0 && folder)
        rc = write_report (folder, report, &err);
    if (rc < 0)
        status = cli_fail (cli, &err);
    else
        status = folder ? print_place (cli, &dir, folder, report)
                        : print_file (cli, arguments->values[REPORT_PRINT], report);
    report_book_destroy (book);
    return status;
}

static const struct cli_option options[] = {
    { REPORT_FOLDER, "--output", .also = "-o", .value = "FOLDER",
      .help = "write the report there: a new folder, an empty one, or one that holds a report already",
      .kind = KIND_FOLDER },
    { REPORT_PRINT, "--print", .value = "FILE", .help = "print one file of it, and write none", .kind = KIND_WORDS,
      .words = "trace html junit markdown json", .not_with = REPORT_FOLDER },
    { 0 },
};

const struct cli_command report_command = {
    .name = "report",
    .task = TASK_LOOK,
    .summary = "write what is kept of a run: a page, JUnit XML, a Perfetto trace, Markdown, JSON",
    .usage = "[RUN] -o FOLDER | [RUN] --print FILE",
    .help = "Writes report.html, report.md, junit.xml, trace.perfetto-trace (open it at ui.perfetto.dev) and "
            "receipt.json into a "
            "folder, as docs/spec/report.md describes. It works for finished, running and interrupted runs; each file "
            "says which it is. Each is written whole or not at all, and replaces that of an earlier report; other "
            "files of the folder stay.\n\n" HELP_OF_RUN,
    .examples = "sliceup report -o report\n"
                "sliceup report 3fa9 --print junit > junit.xml\n",
    .exit_status = "0 written; 2 usage, or a folder with other files; 3 a file could not be written; 5 the journal is "
                   "damaged.",
    .operands = (const struct cli_operand[]){ { OPERAND_RUN }, { 0 } },
    .options = options,
    .run = report_run,
};
