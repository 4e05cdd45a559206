
#include <string.h>

#include "common/base/duration.h"
#include "coordinator/verdict/failure.h"
#include "coordinator/verdict/failure_reading.h"
#include "coordinator/verdict/recompile_reason.h"
#include "coordinator/view/doc.h"
#include "coordinator/view/explain.h"
#include "coordinator/view/receipt_text.h"

enum { KERNEL_COLUMNS = 40 };

static bool of_part (const struct rung_receipt *rung)
{
    return rung->purpose == PURPOSE_ISOLATION;
}

/* Who only fell with another host is one of many, whatever it printed. */
static bool printed_alike (const struct rung_receipt *a, const struct rung_receipt *b)
{
    return a->outcome == OUTCOME_CASCADE || text_equal_but_numbers (error_line_find (a->outcome, a->cause.evidence),
                                                                    error_line_find (b->outcome, b->cause.evidence));
}

/* Of an isolation pass only whether it works is shown, not which host failed because of which. */
bool receipt_same_line (const struct rung_receipt *a, struct text host_a, const struct rung_receipt *b,
                        struct text host_b)
{
    if (of_part (a) || of_part (b))
        return of_part (a) && of_part (b) && a->attempt == b->attempt;
    return a->outcome == b->outcome && a->pass == b->pass && a->attempt == b->attempt &&
           text_equal (a->cache, b->cache) && a->cause.owner == b->cause.owner &&
           a->cause.certainty == b->cause.certainty && cause_equal (a->cause.text, host_a, b->cause.text, host_b) &&
           printed_alike (a, b);
}

static bool varies (const struct cause *a, const struct cause *b, enum outcome outcome)
{
    return !text_equal (a->text, b->text) ||
           !text_equal (error_line_find (outcome, a->evidence), error_line_find (outcome, b->evidence));
}

static struct receipt_line *line_for (struct receipt_line *lines, uint32_t *n, const struct rung_receipt *rung,
                                      struct text host)
{
    for (uint32_t i = 0; i < *n; i++)
        if (receipt_same_line (lines[i].rung, lines[i].hosts[0], rung, host)) {
            lines[i].varies |= varies (&lines[i].rung->cause, &rung->cause, rung->outcome);
            return &lines[i];
        }
    lines[*n] = (struct receipt_line){ .rung = rung };
    return &lines[(*n)++];
}

/* Room for twice as many, whenever their number is a power of two: where every host has a line of its own, too. */
static void lines_add_host (struct receipt_line *line, struct text host, struct arena *arena)
{
    if ((line->hosts_n & (line->hosts_n - 1)) == 0) {
        struct text *wider = arena_array (arena, line->hosts_n ? 2 * (size_t) line->hosts_n : 1, sizeof (*wider));
        if (line->hosts_n)
            memcpy (wider, line->hosts, line->hosts_n * sizeof (*wider));
        line->hosts = wider;
    }
    line->hosts[line->hosts_n++] = host;
}

/* A receipt read from a file may hold an attempt of a host twice: the host is named once. */
static void lines_take_host (struct receipt_line *line, struct text host, uint64_t duration_ms, struct arena *arena)
{
    if (line->hosts_n == 0 || line->hosts[line->hosts_n - 1].ptr != host.ptr)
        lines_add_host (line, host, arena);
    if (duration_ms && (line->most_ms == 0 || duration_ms < line->least_ms))
        line->least_ms = duration_ms;
    if (duration_ms > line->most_ms)
        line->most_ms = duration_ms;
}

uint32_t receipt_lines_of_rung (const struct slice_receipt *receipt, struct text run, struct text rung,
                                struct receipt_line **lines, struct arena *arena)
{
    uint32_t n = 0, most = 0;
    for (uint32_t i = 0; i < receipt->hosts.n; i++)
        most += receipt->hosts.items[i].rungs.n;
    *lines = arena_array (arena, most, sizeof (**lines));
    for (uint32_t i = 0; i < receipt->hosts.n; i++)
        for (uint32_t k = 0; k < receipt->hosts.items[i].rungs.n; k++) {
            const struct rung_receipt *at = &receipt->hosts.items[i].rungs.items[k];
            if (!text_equal (at->rung, rung) || !text_equal (receipt->hosts.items[i].run, run))
                continue;
            struct receipt_line *line = line_for (*lines, &n, at, receipt->hosts.items[i].host);
            if (of_part (at) && at->outcome != OUTCOME_PASSED)
                line->rung = at; /* an attempt that failed stands for the part */
            lines_take_host (line, receipt->hosts.items[i].host, at->duration_ms, arena);
        }
    return n;
}

void receipt_line_durations (const struct receipt_line *line, struct buf *out)
{
    char least[DURATION_TEXT_BYTES], most[DURATION_TEXT_BYTES];
    if (line->most_ms == 0)
        return;
    duration_print (line->least_ms, least);
    duration_print (line->most_ms, most);
    buf_printf (out, strcmp (least, most) ? "%s to %s" : "%s", least, most);
}

const char *receipt_line_outcome (const struct rung_receipt *rung)
{
    return rung->outcome ? enum_name_of (&outcome_names, rung->outcome) : "not judged yet";
}

const char *receipt_cold_remark (const struct rung_receipt *rung)
{
    struct text did = cold_pass_cache (&rung->counters);
    if (rung->pass != PASS_COLD || text_is (did, "cold"))
        return "";
    return did.len ? "compiled nothing: every program was in the cache already" : "reported no compilation";
}

const char *receipt_line_remark (const struct rung_receipt *rung)
{
    return rung->outcome == OUTCOME_PASSED ? receipt_cold_remark (rung) : "";
}

const char *receipt_untried_rung (const struct run_header *header, struct text rung)
{
    return text_equal (header->running, rung) ? "running" : "not reached";
}

const char *receipt_backend_remark (const struct observed_backend *seen)
{
    /* worker/standin/client.c */
    return text_find (seen->platform_version, TEXT_LIT ("sliceup stand-in"), NULL)
               ? " as the stand-in of a rehearsal shows it"
               : "";
}

struct text receipt_kernel_at (const struct host_receipt *host, struct text rung)
{
    struct text path = { 0 };
    for (uint32_t i = 0; i < host->rungs.n; i++)
        if (host->rungs.items[i].backend.kernel_path.len && text_equal (host->rungs.items[i].rung, rung))
            path = host->rungs.items[i].backend.kernel_path;
    return path;
}

bool receipt_tells_kernels (const struct host_receipt *host)
{
    for (uint32_t i = 0; i < host->rungs.n; i++)
        if (host->rungs.items[i].backend.kernel_path.len)
            return true;
    return false;
}

/* Is it the first attempt of a rung that `without` does not name, and its path this one? */
static bool begins_rung (const struct host_receipt *host, uint32_t at, struct text without, struct text path)
{
    struct text rung = host->rungs.items[at].rung;
    return (at == 0 || !text_equal (host->rungs.items[at - 1].rung, rung)) && !text_equal (rung, without) &&
           text_equal (receipt_kernel_at (host, rung), path);
}

static void add_rungs_of (const struct host_receipt *host, uint32_t from, struct text without, struct text path,
                          struct buf *out)
{
    const char *before = " at ";
    for (uint32_t i = from; i < host->rungs.n; i++) {
        if (!begins_rung (host, i, without, path))
            continue;
        buf_puts (out, before);
        buf_escaped (out, host->rungs.items[i].rung, 0);
        before = ", ";
    }
}

void receipt_kernels (const struct host_receipt *host, struct text without, struct buf *out)
{
    const char *before = "";
    struct text latest = host->backend.observed.kernel_path;
    if (!receipt_tells_kernels (host))
        buf_escaped (out, latest.len ? latest : TEXT_LIT ("not reported"), KERNEL_COLUMNS);
    for (uint32_t i = 0; i < host->rungs.n; i++) {
        struct text path = receipt_kernel_at (host, host->rungs.items[i].rung);
        bool told = path.len == 0 || !begins_rung (host, i, without, path);
        for (uint32_t k = 0; k < i && !told; k++)
            told = begins_rung (host, k, without, path);
        if (told)
            continue;
        buf_puts (out, before);
        buf_escaped (out, path, KERNEL_COLUMNS);
        add_rungs_of (host, i, without, path, out);
        before = "; ";
    }
}
