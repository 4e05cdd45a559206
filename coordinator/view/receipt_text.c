#include "coordinator/view/receipt_text.h"

#include <string.h>
#include <time.h>

#include "common/base/duration.h"
#include "coordinator/receipt/frontier.h"
#include "coordinator/receipt/merge.h"
#include "coordinator/verdict/failure.h"
#include "coordinator/view/drift_sentence.h"

enum { COLUMNS = 100, CAUSE_COLUMNS = 400, DRIFT_SHOWN = 12, NOTES_SHOWN = 8, EXIT_CACHE_VIOLATION = 4 };

static void add_time (struct buf *out, const char *label, uint64_t wall_ms)
{
    time_t seconds = (time_t) (wall_ms / 1000);
    struct tm tm;
    char text[40];
    if (wall_ms && gmtime_r (&seconds, &tm) && strftime (text, sizeof (text), "%Y-%m-%d %H:%M:%S UTC", &tm))
        buf_printf (out, "%s %s", label, text);
}

static void add_header (const struct run_header *header, struct buf *out)
{
    buf_puts (out, "slice    ");
    buf_escaped (out, header->slice, COLUMNS);
    buf_printf (out, "   run %.8s   sliceup %.*s   ", header->run.len ? header->run.ptr : "?",
                TEXT_ARG (header->version));
    add_time (out, "began", header->began_wall_ms);
    buf_puts (out, "\nresult   ");
    if (header->sentence.len)
        buf_escaped (out, header->sentence, 4 * COLUMNS);
    else
        buf_puts (out, "the run has not ended: this is how far it has come");
    if (header->exit_status == EXIT_CACHE_VIOLATION)
        buf_puts (out, "\nexit     4: the cache was violated");
    buf_byte (out, '\n');
}

static void add_place (struct buf *out, const char *label, const struct run_header *header, int rung)
{
    buf_printf (out, "%s", label);
    if (rung < 0)
        buf_puts (out, "none");
    else
        buf_escaped (out, header->rungs.items[rung], COLUMNS);
}

static void add_frontier (const struct slice_receipt *receipt, const struct run_header *header, struct buf *out)
{
    struct frontier frontier = frontier_of_slice (header, receipt);
    add_place (out, "frontier first passing: ", header, frontier.first_passing);
    add_place (out, "   highest passing: ", header, frontier.highest_passing);
    add_place (out, "   next failing: ", header, frontier.next_failing);
    buf_byte (out, '\n');
}

/* ---- folding hosts with the same outcome and cause ---- */

struct line {
    const struct rung_receipt *rung;
    struct text *hosts;
    uint32_t hosts_n;
};

static bool is_part (const struct rung_receipt *rung)
{
    return rung->purpose == PURPOSE_ISOLATION;
}

/* Of an isolation pass only whether it works is shown, not which host failed because of which. */
static bool same_line (const struct rung_receipt *a, const struct rung_receipt *b)
{
    if (is_part (a) || is_part (b))
        return is_part (a) && is_part (b) && a->attempt == b->attempt;
    return a->outcome == b->outcome && a->pass == b->pass && a->attempt == b->attempt &&
           text_equal (a->cache, b->cache) && a->cause.owner == b->cause.owner &&
           a->cause.certainty == b->cause.certainty && text_equal (a->cause.text, b->cause.text);
}

static struct line *line_for (struct line *lines, uint32_t *n, const struct rung_receipt *rung, uint32_t hosts,
                              struct arena *arena)
{
    for (uint32_t i = 0; i < *n; i++)
        if (same_line (lines[i].rung, rung))
            return &lines[i];
    lines[*n] = (struct line){ rung, arena_array (arena, hosts, sizeof (struct text)), 0 };
    return &lines[(*n)++];
}

static uint32_t lines_of_rung (const struct slice_receipt *receipt, struct text rung, struct line **lines,
                               struct arena *arena)
{
    uint32_t n = 0, most = 0;
    for (uint32_t i = 0; i < receipt->hosts.n; i++)
        most += receipt->hosts.items[i].rungs.n;
    *lines = arena_array (arena, most, sizeof (**lines));
    for (uint32_t i = 0; i < receipt->hosts.n; i++)
        for (uint32_t k = 0; k < receipt->hosts.items[i].rungs.n; k++) {
            const struct rung_receipt *at = &receipt->hosts.items[i].rungs.items[k];
            if (!text_equal (at->rung, rung))
                continue;
            struct line *line = line_for (*lines, &n, at, receipt->hosts.n, arena);
            if (is_part (at) && at->outcome != OUTCOME_PASSED)
                line->rung = at; /* an attempt that failed stands for the part */
            line->hosts[line->hosts_n++] = receipt->hosts.items[i].host;
        }
    return n;
}

static uint64_t time_of (const struct slice_receipt *receipt, const struct rung_receipt *rung)
{
    for (uint32_t i = 0; i < receipt->times.n; i++) {
        const struct rung_time *time = &receipt->times.items[i];
        if (text_equal (time->rung, rung->rung) && time->pass == rung->pass && time->attempt == rung->attempt)
            return time->duration_ms;
    }
    return 0;
}

static void add_sighting (const struct rung_receipt *rung, struct buf *out)
{
    for (uint32_t i = 0; i < rung->sightings.n; i++) {
        const struct sighting *sighting = &rung->sightings.items[i];
        if (!text_equal (sighting->signature, rung->cause.signature))
            continue;
        if (sighting->line)
            buf_printf (out, "\n             line %u: ", sighting->line);
        else
            buf_puts (out, "\n             at the end: ");
        buf_escaped (out, sighting->text, CAUSE_COLUMNS);
        return;
    }
}

static void add_bad_line (const struct rung_receipt *rung, struct buf *out)
{
    if (rung->bad_lines == 0 || text_find (rung->cause.text, rung->bad_line, NULL))
        return;
    buf_printf (out, "\n             %u line%s broke the canary protocol: ", rung->bad_lines,
                rung->bad_lines == 1 ? "" : "s");
    buf_escaped (out, rung->bad_line, CAUSE_COLUMNS);
}

static void add_cause (const struct rung_receipt *rung, struct buf *out)
{
    if (rung->outcome == OUTCOME_PASSED || rung->cause.text.len == 0)
        return;
    buf_puts (out, "\n             ");
    buf_escaped (out, rung->cause.text, CAUSE_COLUMNS);
    failure_print_owner (out, rung->cause.certainty, rung->cause.owner, rung->cause.signature);
    buf_puts (out, rung->outcome ? "" : " so far");
    add_sighting (rung, out);
    add_bad_line (rung, out);
    buf_escaped_after (out, "\n             next: ", rung->cause.next, CAUSE_COLUMNS);
}

static void add_part (const struct slice_receipt *receipt, const struct line *line, struct buf *out)
{
    char span[DURATION_TEXT_BYTES];
    duration_print (time_of (receipt, line->rung), span);
    buf_printf (out, "    %-9s%-14s ", "in parts", line->rung->outcome == OUTCOME_PASSED ? "works" : "fails");
    hostset_fold (line->hosts, line->hosts_n, out);
    buf_printf (out, "  (%s)\n", span);
}

static void add_line (const struct slice_receipt *receipt, const struct line *line, struct buf *out)
{
    char span[DURATION_TEXT_BYTES];
    duration_print (time_of (receipt, line->rung), span);
    buf_printf (out, "    %-9s%-14s ",
                line->rung->pass == PASS_ONCE ? "" : enum_name_of (&pass_names, line->rung->pass),
                line->rung->outcome ? enum_name_of (&outcome_names, line->rung->outcome) : "not judged yet");
    hostset_fold (line->hosts, line->hosts_n, out);
    if (line->rung->outcome)
        buf_printf (out, "  (%s)", span);
    if (line->rung->attempt > 1)
        buf_printf (out, "  attempt %u", line->rung->attempt);
    add_cause (line->rung, out);
    buf_byte (out, '\n');
}

static void add_ladder (const struct slice_receipt *receipt, const struct run_header *header, struct buf *out)
{
    struct arena arena = { 0 };
    buf_puts (out, "ladder\n");
    for (uint32_t i = 0; i < header->rungs.n; i++) {
        struct line *lines;
        uint32_t n = lines_of_rung (receipt, header->rungs.items[i], &lines, &arena);
        buf_printf (out, "  %-2u ", i + 1);
        buf_escaped (out, header->rungs.items[i], COLUMNS);
        buf_puts (out, n ? "\n" : "   not reached\n");
        for (uint32_t k = 0; k < n; k++)
            if (!is_part (lines[k].rung))
                add_line (receipt, &lines[k], out);
        for (uint32_t k = 0; k < n; k++)
            if (is_part (lines[k].rung))
                add_part (receipt, &lines[k], out);
        arena_reset (&arena);
    }
    arena_release (&arena);
}

/* ---- what the passes proved ---- */

static void add_metrics (const struct slice_receipt *receipt, struct buf *out)
{
    for (uint32_t i = 0; i < receipt->reductions.n; i++) {
        buf_puts (out, i ? "         " : "metrics  ");
        reduction_text (&receipt->reductions.items[i], out);
        buf_byte (out, '\n');
    }
}

static bool nobody_reported (const struct slice_receipt *receipt)
{
    for (uint32_t i = 0; i < receipt->hosts.n; i++)
        if (receipt->hosts.items[i].facts.n > 0 || receipt->hosts.items[i].bundle.n > 0)
            return false;
    return true;
}

static void add_drift (const struct slice_receipt *receipt, const struct drift_rule *rules, uint32_t rules_n,
                       struct buf *out)
{
    struct arena arena = { 0 };
    struct drift_sentence_list summary;
    drift_sentence_list_make (receipt, rules, rules_n, DRIFT_SHOWN, &arena, &summary);
    for (uint32_t i = 0; i < summary.n; i++) {
        buf_puts (out, i == 0 ? "drift    " : "         ");
        buf_escaped (out, summary.sentences[i], CAUSE_COLUMNS);
        buf_byte (out, '\n');
    }
    if (summary.more)
        buf_printf (out, "         ... differences not shown: %u; sliceup drift lists them\n", summary.more);
    if (summary.n == 0 && receipt->hosts.n > 1 && nobody_reported (receipt))
        buf_puts (out, "drift    not known: no host reported facts or packages\n");
    else if (summary.n == 0 && receipt->hosts.n > 1)
        buf_printf (out, "drift    none (differences that are expected, such as names, ids and free space: %u)\n",
                    summary.expected);
    arena_release (&arena);
}

static bool same_setup (const struct environment_receipt *a, const struct environment_receipt *b)
{
    return text_equal (a->environment, b->environment) && text_equal (a->restore_method, b->restore_method);
}

static void add_setup (const struct slice_receipt *receipt, struct buf *out)
{
    struct text *hosts = mem_array (receipt->hosts.n, sizeof (*hosts));
    bool first = true;
    for (uint32_t i = 0; i < receipt->hosts.n; i++) {
        const struct environment_receipt *setup = &receipt->hosts.items[i].setup;
        uint32_t n = 0;
        bool told = setup->pins_sha256.len == 0;
        for (uint32_t k = 0; k < i && !told; k++)
            told = same_setup (setup, &receipt->hosts.items[k].setup);
        if (told)
            continue;
        for (uint32_t k = i; k < receipt->hosts.n; k++)
            if (same_setup (setup, &receipt->hosts.items[k].setup))
                hosts[n++] = receipt->hosts.items[k].host;
        buf_printf (out, "%spins %.*s (sha256 %.12s), python %.*s on ", first ? "setup    " : "         ",
                    TEXT_ARG (setup->pins), setup->pins_sha256.ptr, TEXT_ARG (setup->python));
        hostset_fold (hosts, n, out);
        buf_puts (out, ": ");
        buf_escaped (out, setup->restore_method, CAUSE_COLUMNS);
        buf_byte (out, '\n');
        first = false;
    }
    mem_free (hosts);
}

static bool same_backend (const struct backend_receipt *a, const struct backend_receipt *b)
{
    return text_equal (a->observed.platform, b->observed.platform) &&
           text_equal (a->observed.device_kind, b->observed.device_kind) &&
           text_equal (a->observed.kernel_path, b->observed.kernel_path);
}

static void add_backend (const struct slice_receipt *receipt, struct buf *out)
{
    struct text *hosts = mem_array (receipt->hosts.n, sizeof (*hosts));
    for (uint32_t i = 0; i < receipt->hosts.n; i++) {
        const struct backend_receipt *backend = &receipt->hosts.items[i].backend;
        uint32_t n = 0;
        bool told = backend->observed.platform.len == 0;
        for (uint32_t k = 0; k < i && !told; k++)
            told = same_backend (backend, &receipt->hosts.items[k].backend);
        if (told)
            continue;
        for (uint32_t k = i; k < receipt->hosts.n; k++)
            if (same_backend (backend, &receipt->hosts.items[k].backend))
                hosts[n++] = receipt->hosts.items[k].host;
        buf_printf (out, "backend  asked for %.*s, ran on ", TEXT_ARG (backend->requested));
        buf_escaped (out, backend->observed.platform, 40);
        buf_puts (out, " (");
        buf_escaped (out, backend->observed.device_kind, 40);
        buf_puts (out, ", kernels: ");
        buf_escaped (out, backend->observed.kernel_path, 40);
        buf_puts (out, ") on ");
        hostset_fold (hosts, n, out);
        buf_byte (out, '\n');
    }
    mem_free (hosts);
}

static void add_recoveries (const struct slice_receipt *receipt, struct buf *out)
{
    for (uint32_t i = 0; i < receipt->recoveries.n; i++) {
        buf_puts (out, i ? "         " : "history  ");
        buf_escaped (out, receipt->recoveries.items[i].what, CAUSE_COLUMNS);
        buf_byte (out, '\n');
    }
    for (uint32_t i = 0; i < receipt->hosts.n; i++)
        if (merge_host_has_conflict (receipt, i)) {
            buf_puts (out, "conflict ");
            buf_escaped (out, receipt->hosts.items[i].host, COLUMNS);
            buf_puts (out, " has several receipts for this run that differ; all are kept\n");
        }
}

static bool note_told (const struct slice_receipt *receipt, uint32_t host, uint32_t note)
{
    for (uint32_t i = 0; i <= host; i++)
        for (uint32_t k = 0; k < receipt->hosts.items[i].notes.n && (i < host || k < note); k++)
            if (text_equal (receipt->hosts.items[i].notes.items[k].text,
                            receipt->hosts.items[host].notes.items[note].text))
                return true;
    return false;
}

static void add_notes (const struct slice_receipt *receipt, struct buf *out)
{
    uint32_t shown = 0;
    for (uint32_t i = 0; i < receipt->hosts.n; i++)
        for (uint32_t k = 0; k < receipt->hosts.items[i].notes.n; k++) {
            const struct result_note *note = &receipt->hosts.items[i].notes.items[k];
            if (note_told (receipt, i, k) || shown >= NOTES_SHOWN)
                continue;
            buf_puts (out, shown++ ? "         " : "notes    ");
            buf_escaped (out, note->text, CAUSE_COLUMNS);
            buf_puts (out, "  (");
            buf_escaped (out, note->source, 40);
            buf_printf (out, ", %s)\n", enum_name_of (&durability_names, note->durability));
        }
}

void receipt_text (const struct slice_receipt *receipt, const struct drift_rule *rules, uint32_t rules_n,
                   struct buf *out)
{
    for (uint32_t i = 0; i < receipt->headers.n; i++) {
        const struct run_header *header = &receipt->headers.items[i];
        add_header (header, out);
        add_frontier (receipt, header, out);
        add_ladder (receipt, header, out);
        receipt_text_cache (receipt, header, out);
    }
    add_metrics (receipt, out);
    add_backend (receipt, out);
    add_setup (receipt, out);
    add_drift (receipt, rules, rules_n, out);
    add_recoveries (receipt, out);
    add_notes (receipt, out);
}
