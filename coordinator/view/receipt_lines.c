/* receipt_lines.c - hosts of a receipt of which the same is said, as one line: at a rung, and of what they are. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "coordinator/verdict/failure.h"
#include "coordinator/verdict/recompile_reason.h"
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

/* A receipt read from a file may hold an attempt of a host twice: the host is named once. */
static void lines_take_host (struct receipt_line *line, struct text host, uint64_t duration_ms, struct arena *arena)
{
    line->hosts = arena_room (arena, line->hosts, line->hosts_n, &line->room, 1, sizeof *line->hosts);
    if (line->hosts_n == 0 || line->hosts[line->hosts_n - 1].ptr != host.ptr)
        line->hosts[line->hosts_n++] = host;
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
            const struct rung_receipt *at = receipt->hosts.items[i].rungs.items[k];
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
        if (host->rungs.items[i]->backend.kernel_path.len && text_equal (host->rungs.items[i]->rung, rung))
            path = host->rungs.items[i]->backend.kernel_path;
    return path;
}

bool receipt_tells_kernels (const struct host_receipt *host)
{
    for (uint32_t i = 0; i < host->rungs.n; i++)
        if (host->rungs.items[i]->backend.kernel_path.len)
            return true;
    return false;
}

/* Is it the first attempt of a rung that `without` does not name, and its path this one? */
static bool begins_rung (const struct host_receipt *host, uint32_t at, struct text without, struct text path)
{
    struct text rung = host->rungs.items[at]->rung;
    return (at == 0 || !text_equal (host->rungs.items[at - 1]->rung, rung)) && !text_equal (rung, without) &&
           text_equal (receipt_kernel_at (host, rung), path);
}

static void add_rungs_of (const struct host_receipt *host, uint32_t from, struct text without, struct text path,
                          struct buf *out)
{
    const char *before = " at ";
    for (uint32_t i = from; i < host->rungs.n; i++) {
        if (!begins_rung (host, i, without, path))
            continue;
        buf_escaped_after (out, before, host->rungs.items[i]->rung, 0);
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
        struct text path = receipt_kernel_at (host, host->rungs.items[i]->rung);
        bool told = path.len == 0 || !begins_rung (host, i, without, path);
        for (uint32_t k = 0; k < i && !told; k++)
            told = begins_rung (host, k, without, path);
        if (told)
            continue;
        buf_escaped_after (out, before, path, KERNEL_COLUMNS);
        add_rungs_of (host, i, without, path, out);
        before = "; ";
    }
}

/* ---- the text report's paragraphs about hosts ---- */

enum { COLUMNS = 100, VALUE_COLUMNS = 400, WORD_COLUMNS = 40, PARAGRAPH_BYTES = 1 << 20 };

struct paragraph {
    const char *label;                                                /* of nine columns */
    void (*print) (const struct host_receipt *host, struct buf *out); /* nothing, where it has nothing to say */
};

static struct text paragraph_words (const struct paragraph *paragraph, const struct host_receipt *host,
                                    struct arena *arena)
{
    struct buf words = { .max = PARAGRAPH_BYTES };
    paragraph->print (host, &words);
    return buf_finish (&words, arena);
}

/* Hosts of which the same is said are one line, where the first of them stands. */
static void add_paragraph (const struct slice_receipt *receipt, const struct paragraph *paragraph, struct buf *out)
{
    uint32_t n = receipt->hosts.n;
    LOCAL_ARENA arena = { 0 };
    struct text *words = arena_array (&arena, n, sizeof (*words)), *names = arena_array (&arena, n, sizeof (*names));
    const char *label = paragraph->label;
    for (uint32_t i = 0; i < n; i++)
        words[i] = paragraph_words (paragraph, &receipt->hosts.items[i], &arena);
    for (uint32_t i = 0; i < n; i++) {
        struct text said = words[i];
        uint32_t alike = 0;
        for (uint32_t k = i; k < n && said.len; k++)
            if (text_equal (words[k], said)) {
                names[alike++] = receipt->hosts.items[k].host;
                words[k].len = 0;
            }
        if (alike == 0)
            continue;
        buf_printf (out, "%s%.*s on ", label, TEXT_ARG (said));
        hostset_fold (names, alike, out);
        buf_byte (out, '\n');
        label = "         ";
    }
}

/* ---- the backend ---- */

static void print_backend (const struct host_receipt *host, struct buf *out)
{
    const struct observed_backend *seen = &host->backend.observed;
    if (seen->platform.len == 0)
        return;
    buf_puts (out, "asked for ");
    buf_escaped (out, host->backend.requested, COLUMNS);
    buf_escaped_after (out, ", ran on ", seen->platform, WORD_COLUMNS);
    buf_puts (out, receipt_backend_remark (seen));
    buf_puts (out, " (");
    buf_escaped (out, seen->device_kind, WORD_COLUMNS);
    buf_puts (out, ", kernels: ");
    receipt_kernels (host, (struct text){ 0 }, out);
    buf_puts (out, ")");
}

/* ---- versions ---- */

/* Those of which one asks first; the rest stands in the JSON. */
static const char *const packages[] = { "torch", "torch-xla", "jax", "jaxlib", "libtpu", "python" };

static void print_versions (const struct host_receipt *host, struct buf *out)
{
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++) {
        struct text version = var_value (&host->bundle, packages[i]);
        if (version.len)
            buf_printf (out, "%s%s ", out->len ? ", " : "", packages[i]);
        buf_escaped (out, version, WORD_COLUMNS);
    }
}

/* ---- the launch policy ---- */

/* Those that the profile gives all hosts alike. */
static void print_vars (const char *before, const struct policy_receipt *policy, const var_list *vars, struct buf *out)
{
    for (uint32_t i = 0; i < vars->n; i++) {
        if (text_is_among (vars->items[i].name, policy->by_host.items, policy->by_host.n))
            continue;
        buf_escaped_after (out, before, vars->items[i].name, COLUMNS);
        buf_byte (out, '=');
        buf_escaped (out, vars->items[i].value, VALUE_COLUMNS);
        before = ", ";
    }
}

static void print_names (const char *before, const text_list *names, struct buf *out)
{
    for (uint32_t i = 0; i < names->n; i++)
        buf_escaped_after (out, i ? ", " : before, names->items[i], COLUMNS);
}

static void print_policy (const struct host_receipt *host, struct buf *out)
{
    const struct policy_receipt *policy = &host->policy;
    if (policy->profile.len == 0)
        return;
    buf_escaped_after (out, "profile ", policy->profile, COLUMNS);
    print_vars (": ", policy, &policy->launched, out);
    print_vars ("; programs of one host: ", policy, &policy->host_scope, out);
    print_vars ("; programs of the slice: ", policy, &policy->slice_scope, out);
    print_names ("; of each host its own: ", &policy->by_host, out);
    print_names ("; from the worker, if it has them: ", &policy->inherited, out);
}

/* ---- the setup ---- */

static void print_setup (const struct host_receipt *host, struct buf *out)
{
    const struct environment_receipt *setup = &host->setup;
    if (setup->pins_sha256.len == 0)
        return;
    buf_puts (out, "pins ");
    buf_escaped (out, setup->pins, COLUMNS);
    buf_escaped_after (out, " (sha256 ", text_clip (setup->pins_sha256, 12), 0);
    buf_escaped_after (out, "), ", setup->restore_method.len ? setup->restore_method : TEXT_LIT ("not restored"),
                       VALUE_COLUMNS);
}

static void print_script (const struct host_receipt *host, struct buf *out)
{
    const struct environment_receipt *setup = &host->setup;
    if (setup->script.len == 0)
        return;
    buf_escaped (out, setup->script, 4 * COLUMNS);
    buf_puts (out, " (sha256 ");
    buf_escaped (out, text_clip (setup->script_sha256, 12), 0);
    buf_escaped_after (out, ") ",
                       setup->script_result.len ? setup->script_result : TEXT_LIT ("did not end, or was not run"),
                       VALUE_COLUMNS);
    buf_escaped_after (out, " (its output: sliceup logs --rung ", setup->script_rung, COLUMNS);
    buf_puts (out, setup->script_rung.len ? ")" : "");
}

/* ---- programs that were to be copies of a preloaded interpreter, and were executed ---- */

static struct text why_executed (const struct rung_receipt *rung)
{
    static const struct text executed = TEXT_LIT ("executed: ");
    struct text said = rung->interpreter;
    return text_starts (said, executed.ptr) ? (struct text){ said.ptr + executed.len, said.len - executed.len }
                                            : (struct text){ 0 };
}

/* Of the passes of a rung, which stand together, equal words once. */
void receipt_executed (const struct host_receipt *host, struct buf *out)
{
    const struct rung_receipt *before = NULL;
    for (uint32_t i = 0; i < host->rungs.n; i++) {
        const struct rung_receipt *rung = host->rungs.items[i];
        struct text why = why_executed (rung);
        if (why.len == 0 ||
            (before && text_equal (before->rung, rung->rung) && text_equal (before->interpreter, rung->interpreter)))
            continue;
        buf_escaped_after (out, before ? "; " : "executed, not copied: ", rung->rung, COLUMNS);
        buf_escaped_after (out, ", since ", why, VALUE_COLUMNS);
        before = rung;
    }
}

void receipt_text_hosts (const struct slice_receipt *receipt, struct buf *out)
{
    static const struct paragraph paragraphs[] = {
        { "policy   ", print_policy }, { "versions ", print_versions }, { "backend  ", print_backend },
        { "setup    ", print_setup },  { "script   ", print_script },   { "programs ", receipt_executed },
    };
    for (size_t i = 0; i < sizeof paragraphs / sizeof *paragraphs; i++)
        add_paragraph (receipt, &paragraphs[i], out);
}

/* ---- reduction text ---- */

enum { REDUCTION_TEXT_COLUMNS = 100, CAUSE_COLUMNS = 400 };

/* Are the hosts at fault just those whose contribution is missing? Then they are named once. */
static bool lacks_only (const struct reduction_receipt *metric)
{
    bool same = metric->culprits.n == metric->missing.n;
    for (uint32_t i = 0; same && i < metric->culprits.n; i++)
        same = text_equal (metric->culprits.items[i], metric->missing.items[i]);
    return same;
}

static void hosts_text_add_hosts (const char *label, const struct text *hosts, uint32_t n, struct buf *out)
{
    if (n == 0)
        return;
    buf_puts (out, label);
    hostset_fold (hosts, n, out);
}

/* Hosts with equal counts are printed together. */
static void add_contradicted (const struct reduction_receipt *metric, struct buf *out)
{
    uint32_t n = metric->contradicted.n;
    const struct contradicted_count_receipt *items = metric->contradicted.items;
    LOCAL_MEM struct text *hosts = mem_array (n, sizeof (*hosts));
    for (uint32_t i = 0, told = 0; i < n; i++) {
        uint32_t alike = 0;
        bool known = false;
        for (uint32_t k = 0; k < n; k++) {
            known = known || (k < i && items[k].count == items[i].count);
            if (items[k].count == items[i].count)
                hosts[alike++] = items[k].host;
        }
        if (known)
            continue;
        buf_printf (out, "%s%" PRIu64 " of ",
                    told++ ? ", " : "; earlier values for which the same proof fails: ", items[i].count);
        hostset_fold (hosts, alike, out);
    }
}

void reduction_text (const struct reduction_receipt *metric, struct buf *out)
{
    buf_escaped (out, metric->rung, REDUCTION_TEXT_COLUMNS);
    buf_escaped_after (out, " ", metric->metric, REDUCTION_TEXT_COLUMNS);
    if (isfinite (metric->value))
        buf_printf (out, " = %.9g", metric->value);
    buf_printf (out, "  %s", enum_name_of (&proof_names, metric->proof));
    for (uint32_t i = 0; i < metric->axes.n; i++)
        buf_escaped_after (out, i ? ", " : " over ", metric->axes.items[i], REDUCTION_TEXT_COLUMNS);
    if (metric->tolerance > 0) {
        buf_printf (out, " (tolerance %.2g%%", 100 * metric->tolerance);
        buf_escaped_after (out, ": ", metric->tolerance_of, REDUCTION_TEXT_COLUMNS);
        buf_puts (out, ")");
    }
    buf_escaped_after (out, ": ", metric->why, CAUSE_COLUMNS);
    hosts_text_add_hosts (", missing ", metric->missing.items, metric->missing.n, out);
    if (!lacks_only (metric))
        hosts_text_add_hosts (", on ", metric->culprits.items, metric->culprits.n, out);
    add_contradicted (metric, out);
}
