#include "worker/attempt/command.h"

#include "common/frontend/frontend.h"
#include "common/io/atomic_file.h"
#include "common/io/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD "[MetricsData; step="
#define FIRST_HEAD HEAD "0]"
/* A report with all known names is below 64 KiB, and only the last one of a file is used. */
enum {
    FILE_LOOK_BYTES = 512 * 1024,
    LOG_LOOK_BYTES = 8 * 1024 * 1024,
    PROCESSES_MAX = 64,
    FIRST_TRIES_MAX = 16,
    SCAN_BYTES_MAX = 64 * 1024 * 1024
};

/* What a report was read from. */
struct source {
    const char *path;
    uint32_t look_bytes;
    bool ends_short;
    uint64_t from; /* text before it is not continuous with text after it */
};

/* Compilations of all processes after their first step; unknown if a process's first report is missing. */
struct later {
    uint64_t compilations;
    bool is_known;
    bool was_cleared; /* a process cleared its counters, so they do not cover the whole program */
};

static bool is_parsed (const struct rung *rung)
{
    return rung->kind == PROGRAM_COMMAND && text_is (rung->parse, "torch_xla-metrics");
}

static struct text report_path (struct text scratch, struct arena *arena)
{
    return text_format (arena, "%.*s/xla-metrics", TEXT_ARG (scratch));
}

void counters_set_report_path (const struct msg_run *run, struct text scratch, struct environ_list *list)
{
    if (is_parsed (&run->rung))
        environ_set (list, TEXT_LIT ("XLA_METRICS_FILE"), report_path (scratch, list->arena));
}

/* ---- files ---- */

static bool counters_read_all (int fd, off_t at, struct text *text, char *bytes, uint32_t want_bytes)
{
    *text = (struct text){ .ptr = bytes };
    while (text->len < want_bytes) {
        ssize_t got = pread (fd, bytes + text->len, want_bytes - text->len, at + text->len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0;
        text->len += (uint32_t) got;
    }
    return true;
}

/* Reads its end if it is a regular file, since a program may have put anything there. */
static bool counters_read_end (const struct source *source, struct arena *arena, struct xla_text_piece *out)
{
    struct stat status;
    LOCAL_FD fd = plain_file_open (source->path, O_RDONLY, NULL);
    if (fd < 0)
        return false;
    bool is_read = fstat (fd, &status) == 0 && status.st_size > (off_t) source->from;
    if (is_read) {
        off_t left_bytes = status.st_size - (off_t) source->from;
        off_t look_bytes = left_bytes < source->look_bytes ? left_bytes : (off_t) source->look_bytes;
        off_t at = status.st_size - look_bytes;
        *out = (struct xla_text_piece){ .starts_late = at > 0, .ends_short = source->ends_short };
        is_read = counters_read_all (fd, at, &out->text, arena_alloc (arena, (size_t) look_bytes),
                                     (uint32_t) look_bytes);
    }
    return is_read;
}

static uint64_t requests_of (const struct xla_metrics *metrics)
{
    const struct xla_report_row *hits = xla_metrics_find (metrics, false, "PersistentCacheHit"),
                                *misses = xla_metrics_find (metrics, false, "UncachedCompile");
    return (hits ? hits->count : 0) + (misses ? misses->count : 0);
}

/* Finds the first report with a compilation in a file with one report a step, each with a header (torch_xla:
 * metrics_saver.py). Earlier ones come from a loader, which marks a step before the program computes anything. */
static bool read_first (const char *path, struct arena *arena, struct xla_metrics *out)
{
    struct xla_text_piece piece = { .text = { .ptr = arena_alloc (arena, FILE_LOOK_BYTES) } };
    LOCAL_FD fd = plain_file_open (path, O_RDONLY, NULL);
    bool is_read = fd >= 0 && counters_read_all (fd, 0, &piece.text, (char *) piece.text.ptr, FILE_LOOK_BYTES);
    if (!is_read || !text_starts (piece.text, FIRST_HEAD))
        return false;
    struct text whole = piece.text;
    uint32_t next = 0, at = (uint32_t) strlen (FIRST_HEAD), tries = 0;
    do {
        struct text rest = { whole.ptr + at, whole.len - at };
        bool more = text_find (rest, TEXT_LIT (HEAD), &next);
        piece.text.len = more ? at + next : whole.len;
        at = more ? at + next + (uint32_t) strlen (HEAD) : whole.len;
        xla_metrics_read (&piece, arena, out);
    } while (requests_of (out) == 0 && at < whole.len && ++tries < FIRST_TRIES_MAX);
    return out->reports > 0 && !out->is_partial && tries < FIRST_TRIES_MAX;
}

/* Each header is one step mark: with fewer marks than earlier headers, the program has cleared its counters. */
static bool is_uncleared (struct text text, const struct xla_metrics *last)
{
    uint64_t heads = 0;
    const struct xla_report_row *marks = xla_metrics_find (last, false, "MarkStep");
    for (uint32_t at; text_find (text, TEXT_LIT (HEAD), &at);) {
        text = (struct text){ text.ptr + at + strlen (HEAD), text.len - at - (uint32_t) strlen (HEAD) };
        struct text rest = text;
        if (!text_to_u64 (text_take_until (&rest, ']'), &heads))
            return false;
    }
    return marks && marks->count >= heads;
}

static uint64_t rows (const struct xla_metrics *metrics, bool is_metric, const char *name)
{
    const struct xla_report_row *row = xla_metrics_find (metrics, is_metric, name);
    return row ? row->count : 0;
}

/* A second program begins at step 0 again, anywhere in the file. Nothing is known of a file too large to read. */
static bool begins_again (const char *path, struct later *later)
{
    static const char head[] = "\n" FIRST_HEAD;
    enum { KEPT = sizeof head - 1 };
    LOCAL_MEM char *piece = mem_alloc (FILE_LOOK_BYTES);
    uint64_t looked_bytes = 0;
    bool again = false;
    LOCAL_FD fd = plain_file_open (path, O_RDONLY, NULL);
    struct text text = { .ptr = piece };
    for (bool more = fd >= 0; more && !again && looked_bytes < SCAN_BYTES_MAX;) {
        more = counters_read_all (fd, (off_t) looked_bytes, &text, piece, FILE_LOOK_BYTES) &&
               text.len == FILE_LOOK_BYTES;
        again = text_find (text, text_of (head), NULL);
        looked_bytes += text.len - (more ? KEPT : 0);
    }
    later->is_known = later->is_known && looked_bytes < SCAN_BYTES_MAX;
    return again;
}

/* clear_metrics () keeps the counters, but each such read is in both kinds. */
static bool lost_metrics (const struct xla_metrics *metrics)
{
    return rows (metrics, false, "aten::_local_scalar_dense") > rows (metrics, true, "TransferFromDeviceTime");
}

static void add_later (struct later *later, const char *path, struct text text, const struct xla_metrics *last,
                       struct arena *arena)
{
    struct xla_metrics first = { 0 };
    later->is_known = later->is_known && !last->is_partial && read_first (path, arena, &first) &&
                      requests_of (last) >= requests_of (&first);
    later->was_cleared |= !last->is_partial && (!is_uncleared (text, last) || begins_again (path, later));
    if (later->is_known)
        later->compilations += requests_of (last) - requests_of (&first);
}

static void counters_add_source (struct xla_metrics *metrics, const struct source *source, struct later *later,
                                 struct arena *arena)
{
    struct xla_metrics read;
    struct xla_text_piece text;
    if (!counters_read_end (source, arena, &text))
        return;
    xla_metrics_read (&text, arena, &read);
    xla_metrics_add_process (metrics, &read, arena);
    later->was_cleared |= read.was_reset || (read.reports > 0 && !read.is_partial && lost_metrics (&read));
    if (read.reports > 0 && source->look_bytes == FILE_LOOK_BYTES)
        add_later (later, source->path, text.text, &read, arena);
}

/* With several processes on a host each has a file of its own, named by its ordinal (torch_xla: metrics_saver.py). */
static void counters_add_files (struct xla_metrics *metrics, struct text scratch, struct later *later,
                                struct arena *arena)
{
    struct text path = report_path (scratch, arena);
    counters_add_source (metrics, &(struct source){ path.ptr, FILE_LOOK_BYTES, false, 0 }, later, arena);
    for (uint32_t i = 0; i < PROCESSES_MAX; i++) {
        struct text own = text_format (arena, "%.*s.%" PRIu32, TEXT_ARG (path), i);
        counters_add_source (metrics, &(struct source){ own.ptr, FILE_LOOK_BYTES, false, 0 }, later, arena);
    }
}

/* ---- results ---- */

static void add_note (struct result *result, struct arena *arena, struct text text)
{
    struct result_note note = { .text = text, .source = TEXT_LIT ("parse"), .durability = DURABILITY_RERUN };
    if (result->notes.n < RESULT_NOTES_MAX)
        *(struct result_note *) list_append (&result->notes, sizeof note, arena) = note;
}

static void note_losses (const struct xla_metrics *metrics, uint32_t left_out, struct arena *arena, struct result *out)
{
    uint32_t lost = left_out + metrics->dropped;
    if (metrics->reports == 0)
        add_note (out, arena,
                  text_format (arena, "no complete metrics report of torch_xla was found%s, so there are no counters",
                               metrics->is_cut ? ", only a truncated one" : ""));
    else if (metrics->is_cut)
        add_note (out, arena,
                  TEXT_LIT ("the last metrics report is truncated: the counters are those of the report before it"));
    if (metrics->is_partial)
        add_note (out, arena,
                  TEXT_LIT ("the metrics report of torch_xla is partial, so a counter that it does not show is unknown "
                            "and not 0: print metrics_report () whole, its lines together"));
    if (lost)
        add_note (out, arena,
                  text_format (arena,
                               "%" PRIu32
                               " names of the metrics report were left out: a result holds at most %d counters",
                               lost, RESULT_COUNTERS_MAX));
}

static void put_counter (struct result *result, struct text name, uint64_t value, struct arena *arena)
{
    struct named_number *counter = list_append (&result->counters, sizeof *counter, arena);
    *counter = (struct named_number){ name, value };
}

/* After a cut report later steps are unknown. */
static void drop_step_counters (struct result *result)
{
    static const char *const words[] = { "steps", "later_compilations", "fallbacks", "reads" };
    uint32_t kept = 0;
    for (uint32_t i = 0; i < result->counters.n; i++)
        if (!text_is_word (result->counters.items[i].name, words, sizeof words / sizeof words[0]))
            result->counters.items[kept++] = result->counters.items[i];
    result->counters.n = kept;
}

void counters_read (const struct msg_run *run, struct text scratch, struct text log, uint64_t log_from,
                    struct arena *arena, struct result *result)
{
    LOCAL_ARENA reading = { 0 };
    struct xla_metrics metrics = { 0 };
    struct later later = { .is_known = true };
    uint32_t left_out = 0;
    uint64_t steps; /* a program that counts them itself knows more than its report */
    if (!is_parsed (&run->rung) || result->ending == ENDING_NOT_STARTED || result_counter (result, "steps", &steps))
        return;
    counters_add_files (&metrics, scratch, &later, &reading);
    later.is_known = later.is_known && metrics.reports > 0;
    bool of_files = later.is_known;
    if (metrics.reports == 0)
        counters_add_source (
            &metrics, &(struct source){ log.ptr, LOG_LOOK_BYTES, result->dropped_bytes > 0 && !log_from, log_from },
            &later, &reading);
    if (later.was_cleared)
        add_note (
            result, arena,
            TEXT_LIT (
                "the program has cleared torch_xla's counters (clear_all (), clear_metrics ()), or several programs "
                "of the rung wrote one report: so there are no counters of the whole program"));
    else if (metrics.reports > 0)
        xla_metrics_to_counters (&metrics, RESULT_COUNTERS_MAX - of_files, arena, &result->counters, &left_out);
    if (of_files && !later.was_cleared)
        put_counter (result, TEXT_LIT ("later_compilations"), later.compilations, arena);
    if (metrics.is_cut)
        drop_step_counters (result);
    note_losses (&metrics, left_out, arena, result);
}
