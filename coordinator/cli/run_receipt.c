#include "coordinator/cli/run_receipt.h"

#include "common/io/atomic_file.h"
#include "coordinator/cli/hosts.h"
#include "coordinator/cli/planning.h"
#include "coordinator/story/frontier.h"
#include "coordinator/view/drift_view.h"
#include "coordinator/view/plain.h"
#include "coordinator/view/receipt_text.h"

enum { FILE_MAX_BYTES = 512 << 20 };

static void run_receipt_note_end (void *keep, const struct fact *last)
{
    *(enum board_keep *) keep = last->kind == FACT_RUN_ENDED ? BOARD_EVIDENCE : BOARD_JUDGED_EVIDENCE;
}

/* What a run that has ended says needs no judging: all of it was judged. What cannot be read here, whoever reads all
 * facts says. */
static enum board_keep run_receipt_keep (const struct run_dir *dir)
{
    enum board_keep keep = BOARD_JUDGED_EVIDENCE;
    (void) run_facts_read_last (dir, run_receipt_note_end, &keep, NULL);
    return keep;
}

int receipt_build (const struct run_dir *dir, struct board **board, struct arena *arena, struct slice_receipt *out,
                   struct err *err)
{
    *board = board_create (run_receipt_keep (dir) & ~BOARD_HISTORY);
    if (run_facts_each (dir, board_take_fact, *board, err) < 0)
        return -1;
    board_make_receipt (*board, arena, out);
    return 0;
}

/* NULL: it is not at hand as it was. */
static const struct requirements *read_pins (const struct file_ref *file, struct arena *arena)
{
    char path[PATH_MAX_BYTES + 1];
    struct requirements *pins = NULL;
    LOCAL_BUF bytes = { .max = REQUIREMENTS_BYTES_MAX };
    if (text_to_c (file->path, path, sizeof (path)) && file_read (path, &bytes, NULL) == 0) {
        struct digest digest = digest_of (bytes.ptr, bytes.len);
        if (text_is (file->sha256, DIGEST_TEXT (&digest)))
            pins = arena_alloc (arena, sizeof (*pins));
        if (pins && requirements_parse (buf_as_text (&bytes), path, arena, pins, NULL) < 0)
            pins = NULL;
    }
    return pins;
}

void receipt_make_drift_query (const struct slice_receipt *receipt, const struct plan *plan, struct arena *arena,
                               struct drift_query *out)
{
    *out = (struct drift_query){ 0 };
    if (!plan)
        return;
    struct topology_findings *topology = arena_alloc (arena, sizeof (*topology));
    struct topology_host *hosts = arena_array (arena, plan->hosts.n, sizeof (*hosts));
    for (uint32_t i = 0; i < receipt->hosts.n; i++) {
        const struct host_receipt *host = &receipt->hosts.items[i];
        if (host->rank < plan->hosts.n)
            hosts[host->rank] = (struct topology_host){ host->facts.items, host->facts.n };
    }
    if (receipt->hosts.n == plan->hosts.n)
        topology_judge_hosts (plan, hosts, arena, topology);
    *out = (struct drift_query){ .rules = plan->drift.items, .rules_n = plan->drift.n, .topology = topology };
    out->hosts_of_slice = plan->slices ? plan_hosts_of_slice (plan) : 0;
    if (plan->pins.file.path.len)
        out->pins = read_pins (&plan->pins.file, arena);
    out->pins_missing = !out->pins && plan->pins.file.path.len;
}

/* ---- what a run leaves at its end ---- */

static void run_receipt_on_fact (void *owner, const struct fact *fact)
{
    const struct run_report *run = owner;
    report_book_apply (run->book, fact);
    if (run->measures)
        measure_fold_apply (run->measures, fact);
}

int run_report_read (const struct run_dir *dir, bool held, struct run_report *out, struct err *err)
{
    out->book = report_book_create (run_receipt_keep (dir));
    if (run_facts_each (dir, run_receipt_on_fact, out, err) < 0)
        return -1;
    struct report *report = report_book_make (out->book, held);
    struct drift *made = arena_alloc (&out->arena, sizeof (*made));
    receipt_make_drift_query (report->receipt, report->plan, &out->arena, &report->drift);
    report->drift.all = true;
    drift_compare_hosts (report->receipt, &report->drift, &out->arena, made);
    report->drift.all = false;
    report->drift.made = made;
    out->report = report;
    return 0;
}

void run_report_release (struct run_report *run)
{
    report_book_destroy (run->book);
    arena_release (&run->arena);
}

static void print_junit (const struct report *report, struct buf *out)
{
    junit_xml (report->receipt, out);
}

static void print_markdown (const struct report *report, struct buf *out)
{
    receipt_markdown (report->receipt, &report->drift, out);
}

static void print_receipt (const struct report *report, struct buf *out)
{
    receipt_json (report->receipt, &report->drift, out);
}

/* As `sliceup drift --json` prints it. */
static void print_drift (const struct report *report, struct buf *out)
{
    LOCAL_ARENA arena = { 0 };
    const struct drift_subject subject = {
        .name = text_format (&arena, "run %.*s", TEXT_ARG (text_clip (report->scene->board->run, RUN_SHOWN_BYTES))),
        .slice = report->plan->slice,
        .policy = "of the run",
        .pins_missing = report->drift.pins_missing
    };
    drift_json (report->drift.made, &subject, out);
}

const struct run_file run_files[] = { { RUN_FILE_RECEIPT, print_receipt }, { RUN_FILE_TRACE, trace_perfetto },
                                      { RUN_FILE_JUNIT, print_junit },     { RUN_FILE_MARKDOWN, print_markdown },
                                      { RUN_FILE_DRIFT, print_drift },     { NULL, NULL } };

int report_file_write (const char *path, mode_t mode, report_printer *print, const struct report *report,
                       struct err *err)
{
    struct atomic_file file;
    if (atomic_file_begin (&file, path, err) < 0)
        return -1;
    LOCAL_BUF bytes = { .max = FILE_MAX_BYTES, .drain = atomic_file_add, .to = &file };
    print (report, &bytes);
    if (bytes.overflow && !file.failed)
        err_set (err, ERR_LIMIT, "%s would be larger than %d MiB, and is not written", path, FILE_MAX_BYTES >> 20);
    else
        (void) atomic_file_add (bytes.ptr, bytes.len, &file); /* its end says it */
    return atomic_file_end (&file, !bytes.overflow, mode, err);
}

/* Each names all hosts of its run, so their size grows with the square: 4,096 would be 500 MB. The command makes any. */
enum { HOST_FILES_MAX = 512 };

/* Each is a receipt, of a run with this one host: together they merge to that of the run. */
static int write_hosts (const struct run_dir *dir, const struct slice_receipt *receipt, const struct drift_query *query,
                        struct buf *json, struct err *err)
{
    struct slice_receipt one = *receipt;
    one.hosts.n = 1;
    for (uint32_t i = 0; i < receipt->hosts.n && receipt->hosts.n <= HOST_FILES_MAX; i++) {
        char name[HOST_NAME_MAX_BYTES + 32], file[HOST_FILE_BYTES];
        struct text host = host_file_name (receipt->hosts.items[i].host, file);
        snprintf (name, sizeof (name), "receipts/%.*s.json", TEXT_ARG (host));
        buf_clear (json);
        one.hosts.items = &receipt->hosts.items[i];
        receipt_json (&one, query, json);
        if (atomic_file_write (RUN_PATH (dir, name), json->ptr, json->len, 0600, err) < 0)
            return -1;
    }
    return 0;
}

bool receipt_count_drift (const struct slice_receipt *receipt, const struct plan *plan, uint32_t *findings)
{
    struct drift_query query;
    LOCAL_ARENA arena = { 0 };
    struct drift drift;
    receipt_make_drift_query (receipt, plan, &arena, &query);
    drift_compare_hosts (receipt, &query, &arena, &drift);
    *findings = drift.findings + drift.left_out;
    return !query.pins_missing;
}

static bool all_failed (const struct slice_receipt *receipt, const struct drift_group *group)
{
    for (uint32_t i = 0; i < group->hosts_n; i++) {
        enum outcome outcome = frontier_host_outcome (receipt->headers.items, &receipt->hosts.items[group->hosts[i]]);
        if (outcome == OUTCOME_PASSED || outcome == OUTCOME_NOT_REACHED || outcome == OUTCOME_CASCADE)
            return false;
    }
    return true;
}

/* The worst of what hosts should not differ in; where some failed, of what only they have. */
static void add_drift (const struct run_report *run, const struct drift *drift, struct buf *out)
{
    static const struct drift_sentence_limits limits = { .value_bytes = 60, .hosts_bytes = 60 };
    LOCAL_BUF sentence = { .max = SENTENCE_MAX_BYTES };
    for (uint32_t i = 0; i < drift->findings && !sentence.len; i++) {
        const struct drift_group *group;
        uint32_t at = 0;
        while (!sentence.len && (group = drift_minority_next (&drift->items[i], &at)))
            if (run->report->scene->board->outcome == OUTCOME_PASSED || all_failed (run->report->receipt, group))
                drift_sentence (drift, &drift->items[i], group, &limits, &sentence);
    }
    if (sentence.len) {
        buf_escaped_after (out, "drift: ", buf_as_text (&sentence), 0);
        buf_puts (out, "\n");
    }
}

int receipt_write_files (const struct cli *cli, const struct run_dir *dir, uint32_t *drift, struct buf *card,
                         struct run_hosts *hosts, struct arena *arena, struct err *err)
{
    struct run_report run = { .measures = measure_fold_create () };
    struct drift compared = { 0 };
    LOCAL_BUF bytes = { .max = FILE_MAX_BYTES };
    struct err ignored = { 0 };
    int rc = run_report_read (dir, false, &run, err);
    const struct err unread = *err;
    if (rc == 0)
        rc = report_file_write (RUN_PATH (dir, run_files[0].name), 0600, run_files[0].print, run.report, err);
    if (rc == 0)
        rc = write_hosts (dir, run.report->receipt, &run.report->drift, &bytes, err);
    for (const struct run_file *file = run_files + 1; rc == 0 && file->name; file++)
        (void) report_file_write (RUN_PATH (dir, file->name), 0600, file->print, run.report,
                                  &ignored); /* any command makes it anew */
    if (rc == 0)
        drift_compare_hosts (run.report->receipt, &run.report->drift, &run.arena, &compared);
    if (drift)
        *drift = compared.findings + compared.left_out;
    if (rc == 0)
        (void) card_print (run.report->scene->board, card);
    if (rc == 0 && (card->len || run.report->scene->board->outcome == OUTCOME_PASSED))
        add_drift (&run, &compared, card);
    if (rc == 0)
        host_history_keep (cli, run.report->receipt, arena, hosts);
    launch_measures_keep (cli, run.measures, &unread, card);
    measure_fold_destroy (run.measures);
    run_report_release (&run);
    return rc;
}
