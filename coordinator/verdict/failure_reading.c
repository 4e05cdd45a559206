#include "coordinator/verdict/failure.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "common/logs/log_line.h"
#include "coordinator/verdict/blame.h"
#include "coordinator/verdict/stands.h"

/* A verdict quotes a few lines, since the journal holds one for each failed host; the receipt has all. PEERS: all
 * recognisable text; read once and not kept. */
enum {
    READ_MAX = 2 * SIGHTINGS_MAX,
    LINES_MAX = 2 * SHOWN_MAX,
    EVIDENCE_MAX_BYTES = 1024,
    PEERS_MAX_BYTES = READ_MAX * (SHOWN_LINE_BYTES + 1)
};

/* Uses the worker's search of the whole log, else searches the log's end. */
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

/* Does the program's own sentence decide? It names the cause, so only another cause, or a known text over a form of
 * error, outranks it. */
static bool sentence_decides (const struct signature_set *set, const struct signature_scan_result *failure,
                              const struct signature_scan_result *output)
{
    struct cause_decision of_failure, of_output;
    cause_decide (set, failure, &of_failure);
    cause_decide (set, output, &of_output);
    if (of_failure.weight != of_output.weight)
        return of_failure.weight > of_output.weight;
    return of_output.likely || !of_failure.likely;
}

/* `behind`: what it places in the log comes after what was taken before. */
static void failure_reading_take (const struct signature_scan_result *from, bool decides, bool behind,
                                  struct signature_scan_result *out)
{
    for (uint32_t i = 0; i < from->sightings_n; i++) {
        struct sighting *sighting = &out->sightings[out->sightings_n++];
        *sighting = from->sightings[i];
        sighting->decides &= decides;
        sighting->offset = behind ? UINT64_MAX / 2 + sighting->offset / 2 : sighting->offset;
    }
    for (uint32_t i = 0; i < from->shown_n; i++)
        out->shown[out->shown_n++] = from->shown[i];
}

/* The program's own sentence comes before its output. */
static void failure_reading_join (const struct signature_set *set, const struct signature_scan_result *failure,
                                  const struct signature_scan_result *output, struct arena *arena,
                                  struct signature_scan_result *out)
{
    bool sentence = sentence_decides (set, failure, output);
    *out = (struct signature_scan_result){ .sightings = arena_array (arena, READ_MAX, sizeof *out->sightings),
                                           .shown = arena_array (arena, LINES_MAX, sizeof *out->shown) };
    failure_reading_take (failure, sentence, false, out);
    failure_reading_take (output, !sentence, true, out);
}

static struct text lines_joined (const struct text *lines, uint32_t n, uint32_t most_bytes, struct arena *arena)
{
    LOCAL_BUF all = { .max = PEERS_MAX_BYTES };
    for (uint32_t i = 0; i < n; i++) {
        buf_puts (&all, i ? "\n" : "");
        buf_add_text (&all, lines[i]);
    }
    return text_copy (arena, text_clip (buf_as_text (&all), most_bytes));
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
    failure_reading_join (set, &failure, &output, arena, &all);
    cause_decide (set, &all, &out->of);
    for (uint32_t i = 0; out->of.id.len && i < failure.sightings_n; i++)
        out->in_failure |= text_equal (failure.sightings[i].signature, out->of.id);
    out->evidence = evidence_of (&out->of, &all, arena);
    out->peers = peers_of (plan, &all, arena);
    out->complains = out->peers.len > 0;
    if (!out->peers.len && !out->of.id.len)
        out->peers = out->evidence; /* unknown texts may name a host as well */
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

/* ---- error line ---- */

/* That something is old is no reason of an end, and neither is the line of source that Python prints behind that. */
static bool is_of_deprecation (struct text line, bool *said)
{
    bool source = *said && text_find (line, TEXT_LIT ("("), NULL) &&
                  (text_ends (line, ")") || text_ends (line, "(") || text_ends (line, ":") || text_ends (line, ","));
    *said = text_find (line, TEXT_LIT (": DeprecationWarning: "), NULL) ||
            text_find (line, TEXT_LIT (": FutureWarning: "), NULL);
    return *said || source;
}

struct text error_line_find (enum outcome outcome, struct text evidence)
{
    struct text first = { 0 }, last = { 0 }, socket = { 0 };
    bool stood = false, said = false;
    for (struct text rest = evidence; rest.len;) {
        struct text line = text_take_until (&rest, '\n');
        if (is_of_deprecation (line, &said))
            continue;
        if (stand_is_line (line)) {
            stood = true;
            continue;
        }
        last = line;
        if (log_line_grade (last) >= LINE_ERROR && !text_is (line, "TimeoutError: timed out"))
            return last;
        socket = log_line_grade (last) >= LINE_ERROR ? last : socket;
        first = first.len ? first : last;
    }
    if (socket.len) /* its own words say nothing of whom the program waited for */
        return socket;
    if (outcome != OUTCOME_FAILED && text_starts (evidence, "main thread: File "))
        return (struct text){ 0 }; /* its place tells more than its last words */
    return outcome == OUTCOME_FAILED || stood ? last : first;
}

struct text error_line_beside (enum outcome outcome, struct text evidence, struct text cause)
{
    const struct text failure = TEXT_LIT ("sliceup_canary.Failure: "); /* a canary prints what it said as its cause */
    struct text line = error_line_find (outcome, evidence), said = line;
    if (text_starts (cause, "killed by signal 9 ") && log_line_grade (line) < LINE_ERROR)
        return (struct text){ 0 }; /* it had no last word: that was of its work */
    if (text_starts (line, "sliceup_canary.Failure: "))
        said = (struct text){ line.ptr + failure.len, line.len - failure.len };
    return said.len && text_find (cause, said, NULL) ? (struct text){ 0 } : line;
}

/* ---- which causes are one ---- */

static uint32_t digits_at (struct text text, uint32_t at)
{
    return text_digits_end (text, at) - at;
}

/* Does one of the words stand before it? */
static bool is_after_word (struct text text, uint32_t at, const char *const words[])
{
    uint32_t from = at;
    while (at && strchr (" =:#[(/", text.ptr[at - 1]))
        at--;
    for (size_t i = 0; at < from && words[i]; i++) {
        uint32_t n = (uint32_t) strlen (words[i]);
        if (at >= n && strncasecmp (text.ptr + at - n, words[i], n) == 0 &&
            (at == n || !isalpha ((unsigned char) text.ptr[at - n - 1])))
            return true;
    }
    return false;
}

/* "to 10.0.0.3", "10.0.0.3:8476"; 0: there is none. Versions have four parts, too ("libtpu 0.0.40.1"): an address has a
 * port, or stands behind "//" or a word for where somebody is, and does not begin with 0. */
static uint32_t address_at (struct text text, uint32_t at)
{
    static const char *const words[] = { "to",   "from", "at",   "by",   "address", "addr",   "ip",
                                         "ipv4", "peer", "host", "node", "worker",  "server", NULL };
    uint32_t from = at;
    for (uint32_t part = 0; part < 4; part++) {
        uint32_t n = digits_at (text, at);
        if (n == 0 || n > 3 || (part < 3 && (at + n >= text.len || text.ptr[at + n] != '.')))
            return 0;
        at += n + (part < 3);
    }
    bool port = at < text.len && text.ptr[at] == ':' && digits_at (text, at + 1);
    bool url = from >= 2 && memcmp (text.ptr + from - 2, "//", 2) == 0;
    if (text.ptr[from] == '0' || !(port || url || is_after_word (text, from, words)))
        return 0;
    return at - from + (port ? 1 + digits_at (text, at + 1) : 0);
}

/* Length of a text here that identifies the printing host; 0: none. Only digits and the host's name can. */
static uint32_t own_at (struct text text, uint32_t at, struct text host)
{
    static const char *const several[] = { "rank", "pid", "port", "process", "task", "host", "worker", "node", NULL };
    if (!isdigit ((unsigned char) text.ptr[at]) && !(host.len && text.ptr[at] == host.ptr[0]))
        return 0;
    struct text rest = { text.ptr + at, text.len - at };
    uint32_t address = address_at (text, at);
    if (host.len && rest.len >= host.len && memcmp (rest.ptr, host.ptr, host.len) == 0 &&
        digits_at (text, at + host.len) == 0)
        return host.len;
    return address ? address : is_after_word (text, at, several) ? digits_at (text, at) : 0;
}

bool cause_equal (struct text a, struct text host_a, struct text b, struct text host_b)
{
    uint32_t i = 0, k = 0;
    if (text_equal (a, b))
        return true;
    while (i < a.len && k < b.len) {
        uint32_t own_a = own_at (a, i, host_a), own_b = own_a ? own_at (b, k, host_b) : 0;
        if (own_a && own_b) {
            i += own_a;
            k += own_b;
        } else if (a.ptr[i++] != b.ptr[k++]) {
            return false;
        }
    }
    return i == a.len && k == b.len;
}

bool verdict_same_cause (const struct verdict *a, struct text host_a, const struct verdict *b, struct text host_b)
{
    return a->outcome == b->outcome && a->owner == b->owner && a->likely == b->likely &&
           text_equal (a->signature, b->signature) && cause_equal (a->cause, host_a, b->cause, host_b);
}
