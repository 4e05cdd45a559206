#include "coordinator/verdict/failure_reading.h"

#include "common/logs/classify.h"
#include "common/logs/log_line.h"
#include "coordinator/verdict/blame.h"

/* A verdict quotes a few lines, since the journal holds one for each failed host; the receipt has all. PEERS: all that
 * can be recognised; it is read once and not kept. */
enum {
    READ_MAX = 2 * SIGHTINGS_MAX,
    LINES_MAX = 2 * SHOWN_MAX,
    EVIDENCE_MAX_BYTES = 1024,
    PEERS_MAX_BYTES = READ_MAX * (SHOWN_LINE_BYTES + 1)
};

/* The worker searched the whole log; where it did not, the end of the log is searched here. */
static void failure_reading_read_output (const struct signature_set *set, const struct result *result,
                                         struct arena *arena, struct signature_scan_result *out)
{
    *out = (struct signature_scan_result){ .sightings = result->sightings.items,
                                           .sightings_n = result->sightings.n,
                                           .shown = result->shown.items,
                                           .shown_n = result->shown.n };
    if (out->sightings_n + out->shown_n == 0)
        classify_text (set, result->tail, arena, out);
}

/* Keeps the lines that look fatal: most others are an exception's message without its name. */
static uint32_t keep_fatal (struct text *lines, uint32_t n)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++)
        if (log_line_grade (lines[i]) == LINE_FATAL)
            lines[kept++] = lines[i];
    return kept;
}

/* Does the program's own sentence decide? It is what the program takes for the cause: only a cause, or a known text
 * against the form of an error, outranks it. */
static bool sentence_decides (const struct plan *plan, const struct signature_scan_result *failure,
                              const struct signature_scan_result *output)
{
    struct cause_decision of_failure, of_output;
    cause_decide (plan->signatures.items, plan->signatures.n, failure, &of_failure);
    cause_decide (plan->signatures.items, plan->signatures.n, output, &of_output);
    if (of_failure.weight != of_output.weight)
        return of_failure.weight > of_output.weight;
    return of_output.likely || !of_failure.likely;
}

/* The program's own sentence comes before its output. */
static void failure_reading_join (const struct plan *plan, const struct signature_scan_result *failure,
                                  const struct signature_scan_result *output, struct arena *arena,
                                  struct signature_scan_result *out)
{
    bool sentence = sentence_decides (plan, failure, output);
    *out = (struct signature_scan_result){ .sightings = arena_array (arena, READ_MAX, sizeof *out->sightings),
                                           .shown = arena_array (arena, LINES_MAX, sizeof *out->shown) };
    for (uint32_t i = 0; i < failure->sightings_n && i < SIGHTINGS_MAX; i++)
        out->sightings[out->sightings_n++] = failure->sightings[i];
    for (uint32_t i = 0; i < out->sightings_n; i++)
        out->sightings[i].decides &= sentence;
    for (uint32_t i = 0; i < output->sightings_n && i < SIGHTINGS_MAX; i++) {
        out->sightings[out->sightings_n] = output->sightings[i];
        out->sightings[out->sightings_n].decides &= !sentence;
        out->sightings[out->sightings_n++].offset = UINT64_MAX / 2 + output->sightings[i].offset / 2;
    }
    for (uint32_t i = 0; i < failure->shown_n && i < SHOWN_MAX; i++)
        out->shown[out->shown_n++] = failure->shown[i];
    for (uint32_t i = 0; i < output->shown_n && i < SHOWN_MAX; i++)
        out->shown[out->shown_n++] = output->shown[i];
}

static struct text lines_joined (const struct text *lines, uint32_t n, uint32_t most_bytes, struct arena *arena)
{
    struct buf all;
    buf_init (&all, PEERS_MAX_BYTES);
    for (uint32_t i = 0; i < n; i++) {
        buf_puts (&all, i ? "\n" : "");
        buf_add_text (&all, lines[i]);
    }
    struct text joined = text_copy (arena, text_clip (buf_as_text (&all), most_bytes));
    buf_release (&all);
    return joined;
}

/* If only noise was recognised, or nothing, the lines that look like errors are quoted as well. */
static struct text evidence_of (const struct cause_decision *of, const struct signature_scan_result *all,
                                struct arena *arena)
{
    if (of->weight > CAUSE_NOISE)
        return of->line;
    struct text lines[1 + LINES_MAX];
    uint32_t n = 0;
    if (of->id.len)
        lines[n++] = of->line;
    for (uint32_t i = 0; i < all->shown_n; i++)
        lines[n++] = all->shown[i];
    return lines_joined (lines, n, EVIDENCE_MAX_BYTES, arena);
}

static struct text peers_of (const struct plan *plan, const struct signature_scan_result *seen, struct arena *arena)
{
    struct text lines[READ_MAX];
    uint32_t n = 0;
    for (uint32_t i = 0; i < seen->sightings_n; i++)
        if (blame_is_peer_complaint (plan, seen->sightings[i].signature))
            lines[n++] = seen->sightings[i].text;
    return lines_joined (lines, n, PEERS_MAX_BYTES, arena);
}

static void read_with (const struct plan *plan, const struct signature_set *set, const struct result *result,
                       struct arena *arena, struct failure_reading *out)
{
    struct signature_scan_result failure, output, all;
    classify_text (set, result->failure, arena, &failure);
    failure.shown_n = keep_fatal (failure.shown, failure.shown_n);
    failure_reading_read_output (set, result, arena, &output);
    failure_reading_join (plan, &failure, &output, arena, &all);
    cause_decide (plan->signatures.items, plan->signatures.n, &all, &out->of);
    for (uint32_t i = 0; out->of.id.len && i < failure.sightings_n; i++)
        out->in_failure |= text_equal (failure.sightings[i].signature, out->of.id);
    out->evidence = evidence_of (&out->of, &all, arena);
    out->peers = peers_of (plan, &all, arena);
    if (!out->peers.len && !out->of.id.len)
        out->peers = out->evidence; /* in words that nobody knows it may name a host as well */
}

void failure_read_result (const struct plan *plan, const struct signature_set *set, const struct result *result,
                          struct arena *arena, struct failure_reading *out)
{
    *out = (struct failure_reading){ 0 };
    struct signature_set *own = set ? NULL : signature_set_build (plan->signatures.items, plan->signatures.n);
    if (set || own)
        read_with (plan, set ? set : own, result, arena, out);
    signature_set_free (own);
}
