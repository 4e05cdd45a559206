#include "coordinator/view/receipt_text.h"

#include <time.h>

#include "coordinator/story/frontier.h"
#include "coordinator/story/measure_fold.h"
#include "coordinator/verdict/failure.h"

enum { COLUMNS = 100, CAUSE_COLUMNS = 400, DRIFT_SHOWN = 12, NOTES_SHOWN = 8, EXIT_CACHE_VIOLATION = 4 };

#define NOT_ENDED "the run has not ended: this is how far it has come"

static void text_add_time (struct buf *out, const char *label, uint64_t wall_ms)
{
    time_t seconds = (time_t) (wall_ms / 1000);
    struct tm tm;
    char text[40];
    if (wall_ms && gmtime_r (&seconds, &tm) && strftime (text, sizeof (text), "%Y-%m-%d %H:%M:%S UTC", &tm))
        buf_printf (out, "%s %s", label, text);
}

static void add_subject (const struct run_header *header, struct buf *out)
{
    buf_puts (out, "slice    ");
    buf_escaped (out, header->slice, COLUMNS);
    buf_escaped_after (out, "   run ", header->run.len ? text_clip (header->run, 8) : TEXT_LIT ("?"), COLUMNS);
    buf_escaped_after (out, "   sliceup ", header->version, COLUMNS);
    text_add_time (out, "   began", header->began_wall_ms);
    if (header->ended_wall_ms > header->began_wall_ms)
        buf_printf (out, ", took %s", DURATION_TEXT (header->ended_wall_ms - header->began_wall_ms));
    buf_byte (out, '\n');
}

/* Who, from where, with which words, and what it grew in. */
static void add_origin (const struct run_header *header, struct buf *out)
{
    const struct run_origin *origin = &header->origin;
    if (origin->host.len) {
        buf_escaped_after (out, "run by   ", origin->user.len ? origin->user : TEXT_LIT ("a user without a name"),
                           4 * COLUMNS);
        buf_printf (out, " (uid %u)", origin->uid);
        buf_escaped_after (out, " on ", origin->host, 4 * COLUMNS);
        buf_escaped_after (out, ", in ", origin->directory, 4 * COLUMNS);
        for (uint32_t i = 0; i < origin->command.n; i++)
            buf_escaped_after (out, i ? " " : "\ncommand  ", origin->command.items[i], 4 * COLUMNS);
        buf_byte (out, '\n');
    }
    buf_escaped_after (out, "launch   ", header->launch, 4 * COLUMNS);
    buf_puts (out, header->launch.len ? "\n" : "");
    buf_escaped_after (out, "folders  home ", header->home, 4 * COLUMNS);
    buf_escaped_after (out, header->home.len ? ", cache " : "folders  cache ", header->cache_root, 4 * COLUMNS);
    buf_puts (out, header->home.len || header->cache_root.len ? "\n" : "");
}

/* ---- several slices ---- */

static const struct text *of_slice (const struct run_header *header, uint32_t slice, uint32_t *n)
{
    *n = header->slices ? header->hosts.n / header->slices : 0;
    return header->hosts.items + (size_t) slice * *n;
}

static void add_slices (const struct run_header *header, struct buf *out)
{
    for (uint32_t i = 0, n; i < header->slices && header->slices > 1; i++) {
        const struct text *hosts = of_slice (header, i, &n);
        buf_printf (out, "%s%u: ", i ? "   " : "slices   ", i);
        hostset_fold (hosts, n, out);
    }
    buf_puts (out, header->slices > 1 ? "\n" : "");
}

void receipt_name_slices (const struct run_header *header, const struct text *names, uint32_t names_n, struct buf *out)
{
    LOCAL_BUF whole = { .max = ERR_TEXT_BYTES };
    uint32_t at = 0, found = 0, n;
    for (uint32_t i = 0; i < header->slices; i++) {
        const struct text *hosts = of_slice (header, i, &n);
        uint32_t alike = 0;
        while (alike < n && at + alike < names_n && text_equal (hosts[alike], names[at + alike]))
            alike++;
        if (n == 0 || alike < n)
            continue;
        buf_printf (&whole, "%s%u", found++ ? "," : "", i);
        at += n;
    }
    if (found > 0 && found < header->slices && at == names_n)
        buf_printf (out, " (slice%s %s)", plural (found), buf_c (&whole));
}

static void text_add_place (struct buf *out, const char *label, const struct run_header *header, int rung)
{
    buf_escaped_after (out, label, rung < 0 ? TEXT_LIT ("none") : header->rungs.items[rung], COLUMNS);
}

static bool has_receipt_of (const struct slice_receipt *receipt, const struct run_header *header, struct text host)
{
    for (uint32_t i = 0; i < receipt->hosts.n; i++)
        if (text_equal (receipt->hosts.items[i].run, header->run) && text_equal (receipt->hosts.items[i].host, host))
            return true;
    return false;
}

/* Of receipts that were merged, or of chosen hosts: what follows speaks of those that are here. */
static void add_missing (const struct slice_receipt *receipt, const struct run_header *header, struct buf *out)
{
    if (receipt->headers.n == 1 && receipt->hosts.n == header->hosts.n)
        return; /* the usual case, without a look at each */
    LOCAL_MEM struct text *names = mem_array (header->hosts.n, sizeof (*names));
    uint32_t n = 0;
    for (uint32_t i = 0; i < header->hosts.n; i++)
        if (!has_receipt_of (receipt, header, header->hosts.items[i]))
            names[n++] = header->hosts.items[i];
    if (n) {
        buf_puts (out, "missing  ");
        hostset_fold (names, n, out);
        buf_puts (out, ": the run had them, and their receipts are not here; the frontier is of the others\n");
    }
}

static void add_frontier (const struct slice_receipt *receipt, const struct run_header *header, struct buf *out)
{
    struct frontier frontier = frontier_of_slice (header, receipt);
    text_add_place (out, "frontier first passing: ", header, frontier.first_passing);
    text_add_place (out, "   highest passing: ", header, frontier.highest_passing);
    text_add_place (out, "   next failing: ", header, frontier.next_failing);
    buf_byte (out, '\n');
}

static void add_durations (const struct receipt_line *line, struct buf *out)
{
    buf_puts (out, line->most_ms ? "  (" : "");
    receipt_line_durations (line, out);
    buf_puts (out, line->most_ms ? ")" : "");
}

static bool is_part (const struct receipt_line *line)
{
    return line->rung->purpose == PURPOSE_ISOLATION;
}

static const struct sighting *deciding_sighting (const struct rung_receipt *rung)
{
    return LIST_FIND (rung->sightings, struct sighting, signature, rung->cause.signature);
}

/* The first host, where the others have other numbers. */
static void add_whose (const struct receipt_line *line, struct buf *out)
{
    if (line->varies)
        hostset_fold (line->hosts, 1, out);
    buf_puts (out, line->varies ? ": " : "");
}

/* What was printed, before our words about it. */
static void add_error_line (const struct receipt_line *line, struct buf *out)
{
    const struct rung_receipt *rung = line->rung;
    const struct sighting *sighting = deciding_sighting (rung);
    struct text error = rung->cause.evidence.len
                            ? error_line_beside (rung->outcome, rung->cause.evidence, rung->cause.text)
                        : sighting ? sighting->text
                                   : (struct text){ 0 };
    if (error.len == 0)
        return;
    if (sighting && sighting->line)
        buf_printf (out, "\n             line %u: ", sighting->line);
    else
        buf_puts (out, sighting ? "\n             printed: " : "\n             evidence: ");
    add_whose (line, out);
    buf_escaped (out, error, CAUSE_COLUMNS);
}

static void add_bad_line (const struct rung_receipt *rung, struct buf *out)
{
    if (rung->bad_lines == 0 || text_find (rung->cause.text, rung->bad_line, NULL))
        return;
    buf_printf (out, "\n             %u line%s broke the canary protocol: ", rung->bad_lines, plural (rung->bad_lines));
    buf_escaped (out, rung->bad_line, CAUSE_COLUMNS);
}

static void text_add_cause (const struct receipt_line *line, struct buf *out)
{
    const struct rung_receipt *rung = line->rung;
    if (rung->outcome == OUTCOME_PASSED || rung->cause.text.len == 0)
        return;
    add_error_line (line, out);
    buf_puts (out, "\n             ");
    add_whose (line, out);
    buf_escaped (out, rung->cause.text, CAUSE_COLUMNS);
    failure_print_owner (out, rung->cause.certainty, rung->cause.owner, rung->cause.else_owner, rung->cause.signature);
    buf_puts (out, rung->outcome ? "" : " so far");
    add_bad_line (rung, out);
    buf_escaped_after (out, "\n             next: ", rung->cause.next, CAUSE_COLUMNS);
}

/* Of the first host. */
static void add_memory (const struct receipt_line *line, struct buf *out)
{
    const struct memory_receipt *memory = &line->rung->memory;
    if (!memory->predicted_bytes || !memory->device_peak_bytes)
        return;
    buf_puts (out, "\n             memory of ");
    hostset_fold (line->hosts, 1, out);
    buf_puts (out, ": ");
    measure_put_memory (memory->predicted_bytes, memory->device_peak_bytes, out);
}

static void text_add_line (const struct receipt_line *line, const struct run_header *header, struct buf *out)
{
    const struct rung_receipt *rung = line->rung;
    if (is_part (line))
        buf_printf (out, "    %-9s%-14s ", "in parts", rung->outcome == OUTCOME_PASSED ? "works" : "fails");
    else
        buf_printf (out, "    %-9s%-14s ", rung->pass == PASS_ONCE ? "" : enum_name_of (&pass_names, rung->pass),
                    receipt_line_outcome (rung));
    hostset_fold (line->hosts, line->hosts_n, out);
    receipt_name_slices (header, line->hosts, line->hosts_n, out);
    if (is_part (line) || rung->outcome)
        add_durations (line, out);
    if (!is_part (line) && rung->attempt > 1)
        buf_printf (out, "  attempt %u", rung->attempt);
    if (!is_part (line)) {
        buf_escaped_after (out, "  ", text_of (receipt_line_remark (rung)), COLUMNS);
        text_add_cause (line, out);
        add_memory (line, out);
    }
    buf_byte (out, '\n');
}

static void text_add_program (const struct run_header *header, uint32_t rung, bool ran, struct buf *out)
{
    if (rung >= header->programs.n || text_starts (header->programs.items[rung], "builtin "))
        return;
    buf_puts (out, ran ? "             ran            " : "             program        ");
    buf_escaped (out, header->programs.items[rung], CAUSE_COLUMNS);
    buf_byte (out, '\n');
}

static void add_ladder (const struct slice_receipt *receipt, const struct run_header *header, struct buf *out)
{
    LOCAL_ARENA arena = { 0 };
    buf_puts (out, "ladder\n");
    for (uint32_t i = 0; i < header->rungs.n; i++) {
        struct receipt_line *lines;
        uint32_t n = receipt_lines_of_rung (receipt, header->run, header->rungs.items[i], &lines, &arena);
        buf_printf (out, "  %-2u ", i + 1);
        buf_escaped (out, header->rungs.items[i], COLUMNS);
        buf_printf (out, "%s%s\n", n ? "" : "   ", n ? "" : receipt_untried_rung (header, header->rungs.items[i]));
        bool ran = false;
        for (uint32_t k = 0; k < n; k++)
            ran = ran || (lines[k].rung->attempt > 0 && lines[k].rung->outcome != OUTCOME_BLOCKED);
        text_add_program (header, i, ran, out);
        for (uint32_t k = 0; k < n; k++)
            if (!is_part (&lines[k]))
                text_add_line (&lines[k], header, out);
        for (uint32_t k = 0; k < n; k++)
            if (is_part (&lines[k]))
                text_add_line (&lines[k], header, out);
        arena_reset (&arena);
    }
}

/* ---- what the passes proved ---- */

static void text_add_metrics (const struct slice_receipt *receipt, struct buf *out)
{
    for (uint32_t i = 0; i < receipt->reductions.n; i++) {
        buf_puts (out, i ? "         " : "metrics  ");
        reduction_text (&receipt->reductions.items[i], out);
        buf_byte (out, '\n');
    }
}

static void text_add_drift (const struct slice_receipt *receipt, const struct drift_query *drift, struct buf *out)
{
    LOCAL_ARENA arena = { 0 };
    struct drift_sentence_list summary;
    drift_sentence_list_make (receipt, drift, DRIFT_SHOWN, &arena, &summary);
    bool whole = receipt->headers.n == 1 && receipt->hosts.n == receipt->headers.items[0].hosts.n;
    bool silent = whole && summary.silent.len && !summary.no_facts; /* else add_missing names them */
    if (silent) {
        buf_escaped_after (out, "drift    no report of ", summary.silent, CAUSE_COLUMNS);
        buf_puts (out, "; among the others:\n");
    }
    for (uint32_t i = 0; i < summary.n; i++) {
        buf_escaped_after (out, i == 0 && !silent ? "drift    " : "         ", summary.sentences[i], CAUSE_COLUMNS);
        buf_byte (out, '\n');
    }
    if (summary.more)
        buf_printf (out, "         ... differences not shown: %u; sliceup drift lists them\n", summary.more);
    if (summary.n == 0 && receipt->hosts.n > 1 && summary.no_facts)
        buf_puts (out, "drift    not known: no host reported facts of its machine\n");
    else if (summary.n == 0 && receipt->hosts.n > 1)
        buf_printf (out, "%s %s (differences that are expected, such as names, ids and free space: %u%s)\n",
                    silent ? "        " : "drift   ", summary.no_versions ? DRIFT_NO_VERSIONS "else none" : "none",
                    summary.expected,
                    summary.too_few ? "; numbers differ that too few hosts have to be judged: sliceup drift --all"
                                    : "");
}

static void add_recoveries (const struct slice_receipt *receipt, struct buf *out)
{
    for (uint32_t i = 0; i < receipt->recoveries.n; i++) {
        buf_escaped_after (out, i ? "         " : "history  ", receipt->recoveries.items[i].what, CAUSE_COLUMNS);
        buf_byte (out, '\n');
    }
    for (uint32_t i = 0; i < receipt->hosts.n; i++)
        if (merge_host_has_conflict (receipt, i) &&
            (i == 0 || !text_equal (receipt->hosts.items[i].host, receipt->hosts.items[i - 1].host) ||
             !text_equal (receipt->hosts.items[i].run, receipt->hosts.items[i - 1].run))) {
            buf_escaped_after (out, "conflict ", receipt->hosts.items[i].host, COLUMNS);
            buf_puts (out, " has several receipts for this run that differ; all are kept\n");
        }
}

static bool text_note_told (const struct slice_receipt *receipt, uint32_t host, uint32_t note)
{
    for (uint32_t i = 0; i <= host; i++)
        for (uint32_t k = 0; k < receipt->hosts.items[i].notes.n && (i < host || k < note); k++)
            if (text_equal (receipt->hosts.items[i].notes.items[k].text,
                            receipt->hosts.items[host].notes.items[note].text))
                return true;
    return false;
}

/* Warnings have lines of their own, and what was found at a failure is in its cause. */
static void text_add_notes (const struct slice_receipt *receipt, bool warnings, struct buf *out)
{
    uint32_t shown = 0;
    for (uint32_t i = 0; i < receipt->hosts.n; i++)
        for (uint32_t k = 0; k < receipt->hosts.items[i].notes.n; k++) {
            const struct result_note *note = &receipt->hosts.items[i].notes.items[k];
            bool warning = text_is (note->source, NOTE_WARNING);
            if (warning != warnings || text_is (note->source, NOTE_AT_FAILURE) ||
                (!warning && text_note_told (receipt, i, k)) || shown++ >= NOTES_SHOWN)
                continue;
            buf_puts (out, shown > 1 ? "         " : warnings ? "warning  " : "notes    ");
            if (warning)
                buf_escaped (out, receipt->hosts.items[i].host, COLUMNS);
            buf_escaped_after (out, warning ? ": " : "", note->text, CAUSE_COLUMNS);
            if (!warning) {
                buf_puts (out, "  (");
                buf_escaped (out, note->source, 40);
                buf_printf (out, ", %s)", enum_name_of (&durability_names, note->durability));
            }
            buf_byte (out, '\n');
        }
    if (shown > NOTES_SHOWN)
        buf_printf (out, "         and %u more: --json has them\n", shown - NOTES_SHOWN);
}

static void add_purpose (const struct run_header *header, struct buf *out)
{
    if (header->rehearsal)
        buf_puts (out, "rehearsal on one machine: the programs ran on its CPU, and no TPU was used\n");
    for (uint32_t i = 0; i < header->left_out.n; i++)
        buf_escaped_after (out, i ? ", " : "left out ", header->left_out.items[i], COLUMNS);
    buf_puts (out, header->left_out.n ? "\n" : "");
}

static void add_head (const struct slice_receipt *receipt, const struct run_header *header, bool with_result,
                      struct buf *out)
{
    add_subject (header, out);
    add_origin (header, out);
    add_slices (header, out);
    add_purpose (header, out);
    if (with_result) {
        buf_escaped_after (out, "result   ", header->sentence.len ? header->sentence : TEXT_LIT (NOT_ENDED),
                           4 * COLUMNS);
        buf_byte (out, '\n');
    }
    if (header->exit_status == EXIT_CACHE_VIOLATION)
        buf_puts (out, "exit     4: the cache was violated (the lines that begin with 'violated')\n");
    add_missing (receipt, header, out);
    add_frontier (receipt, header, out);
}

static void add_rest (const struct slice_receipt *receipt, const struct drift_query *drift, struct buf *out)
{
    text_add_metrics (receipt, out);
    receipt_text_hosts (receipt, out);
    text_add_drift (receipt, drift, out);
    add_recoveries (receipt, out);
    text_add_notes (receipt, true, out);
    text_add_notes (receipt, false, out);
}

void receipt_text (const struct slice_receipt *receipt, const struct drift_query *drift, struct buf *out)
{
    for (uint32_t i = 0; i < receipt->headers.n; i++) {
        const struct run_header *header = &receipt->headers.items[i];
        add_head (receipt, header, true, out);
        add_ladder (receipt, header, out);
        receipt_text_cache (receipt, header, out);
    }
    add_rest (receipt, drift, out);
}

void receipt_text_head (const struct slice_receipt *receipt, struct buf *out)
{
    for (uint32_t i = 0; i < receipt->headers.n; i++) {
        add_head (receipt, &receipt->headers.items[i], true, out);
        receipt_text_cache (receipt, &receipt->headers.items[i], out);
    }
    receipt_text_hosts (receipt, out);
}

/* ---- to paste into an issue: a table of the rungs, the causes, and the rest as text ---- */

enum { PAGE_BYTES = 64 << 20 };

/* "failed; whose: the host (certain; disk-full)", "not judged yet; whose: the host (likely; disk-full) so far" */
static void put_outcome (struct doc *doc, const struct receipt_line *of)
{
    const struct rung_receipt *rung = of->rung;
    struct buf *line = &doc->line;
    if (is_part (of))
        buf_puts (line, rung->outcome == OUTCOME_PASSED ? "in parts: works" : "in parts: fails");
    else
        buf_puts (line, receipt_line_outcome (rung));
    buf_escaped_after (line, "; ", text_of (receipt_line_remark (rung)), 0);
    if (!is_part (of) && rung->outcome != OUTCOME_PASSED && rung->cause.text.len) {
        failure_print_owner (line, rung->cause.certainty, rung->cause.owner, rung->cause.else_owner,
                             rung->cause.signature);
        buf_puts (line, rung->outcome ? "" : " so far");
    }
    doc_cell (doc, TEXT_LIT (""));
}

static void put_row (struct doc *doc, struct text rung, const struct receipt_line *of)
{
    doc_cell (doc, rung);
    buf_puts (&doc->line, of->rung->pass == PASS_ONCE ? "" : enum_name_of (&pass_names, of->rung->pass));
    if (of->rung->attempt > 1)
        buf_printf (&doc->line, " attempt %u", of->rung->attempt);
    doc_cell (doc, TEXT_LIT (""));
    put_outcome (doc, of);
    doc_hosts (doc, of->hosts, of->hosts_n);
    doc_cell (doc, TEXT_LIT (""));
    receipt_line_durations (of, &doc->line);
    doc_cell (doc, TEXT_LIT (""));
    doc_row_end (doc);
}

static void put_ladder (struct doc *doc, const struct slice_receipt *receipt, const struct run_header *header)
{
    LOCAL_ARENA arena = { 0 };
    struct receipt_line *lines;
    doc_table (doc, "rung | pass | outcome | hosts | took");
    for (uint32_t i = 0; i < header->rungs.n; i++) {
        uint32_t n = receipt_lines_of_rung (receipt, header->run, header->rungs.items[i], &lines, &arena);
        for (uint32_t k = 0; k < n; k++)
            put_row (doc, header->rungs.items[i], &lines[k]);
        if (n == 0) {
            doc_cell (doc, header->rungs.items[i]);
            buf_printf (doc->out, "| | %s | | |\n", receipt_untried_rung (header, header->rungs.items[i]));
        }
        arena_reset (&arena);
    }
    buf_byte (doc->out, '\n');
}

static void put_causes (struct doc *doc, const struct slice_receipt *receipt, struct run_header *header)
{
    LOCAL_ARENA arena = { 0 };
    struct explanation explanation;
    struct slice_receipt one = *receipt;
    one.headers.items = header;
    one.headers.n = 1;
    explain_make (&one, NULL, NULL, &arena, &explanation);
    explain_print_causes (doc, &explanation);
}

void receipt_markdown (const struct slice_receipt *receipt, const struct drift_query *drift, struct buf *out)
{
    struct doc doc = doc_begin (out, true);
    LOCAL_BUF text = { .max = PAGE_BYTES };
    for (uint32_t i = 0; i < receipt->headers.n; i++, buf_clear (&text)) {
        struct run_header *header = &receipt->headers.items[i];
        doc_text (&doc, header->sentence.len ? header->sentence : TEXT_LIT (NOT_ENDED));
        doc_put_strong (&doc, "");
        add_head (receipt, header, false, &text);
        doc_code (&doc, buf_as_text (&text));
        put_ladder (&doc, receipt, header);
        put_causes (&doc, receipt, header);
        buf_clear (&text);
        receipt_text_cache (receipt, header, &text);
        doc_code (&doc, buf_as_text (&text));
    }
    add_rest (receipt, drift, &text);
    doc_code (&doc, buf_as_text (&text));
    doc_end (&doc);
}
