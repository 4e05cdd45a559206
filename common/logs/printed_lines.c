#include "common/logs/traceback.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/logs/words.h"

/* ---- line prefix ---- */

/* Takes off what launchers and collectors put in front of lines. Forms: docs/spec/signatures.md. Pure. */

/* Several forms may stand one behind the other. A prefix longer than PREFIX_MAX_BYTES is text. */
enum { PEELS_MAX = 4, PREFIX_MAX_BYTES = 96, COMMON_LINES = 3, COMMON_OF_100 = 30 };

/* Each form gives the bytes of the prefix at the front of `text`, blanks behind it included; 0: it is not there. */
typedef uint32_t form_fn (struct text text);

static uint32_t blanks (struct text text, uint32_t at)
{
    return at < text.len && text.ptr[at] == ' ' ? at + 1 : at;
}

static struct text head_of (struct text text)
{
    return (struct text){ .ptr = text.ptr, .len = text.len < PREFIX_MAX_BYTES ? text.len : PREFIX_MAX_BYTES };
}

/* "[rank0]:" of torchrun, "[rank 3] " of trainers. */
static uint32_t rank_form (struct text text)
{
    if (!text_starts (text, "[rank") && !text_starts (text, "[Rank"))
        return 0;
    uint32_t from = blanks (text, 5), end = text_digits_end (text, from);
    if (end == from || end >= text.len || text.ptr[end] != ']')
        return 0;
    return blanks (text, end + 1 + (end + 1 < text.len && text.ptr[end + 1] == ':'));
}

/* "[1,0]<stderr>:" of mpirun, "[0]<stdout>:" of horovod. */
static uint32_t mpi_form (struct text text)
{
    struct text head = head_of (text);
    uint32_t at;
    if (head.len < 3 || head.ptr[0] != '[' || !text_is_digit (head.ptr[1]) || !text_find (head, TEXT_LIT (">:"), &at))
        return 0;
    return words_any_exact ((struct text){ head.ptr, at }, "]<stdout|]<stderr") ? blanks (text, at + 2) : 0;
}

/* "(Actor pid=7, ip=10.0.0.2) " of Ray, "(VllmWorker rank=0 pid=225) " of vLLM, "(raylet) ". */
static uint32_t process_form (struct text text)
{
    struct text head = head_of (text), rest = head, inner;
    if (!head.len || head.ptr[0] != '(' || !text_cut (&rest, ')', &inner))
        return 0;
    return words_any_exact (inner, "pid=|(raylet|(autoscaler") ? blanks (text, inner.len + 1) : 0;
}

/* "[pod/trainer-0/main] " of kubectl. */
static uint32_t pod_form (struct text text)
{
    struct text head = head_of (text);
    uint32_t at;
    return text_starts (head, "[pod/") && text_find (head, TEXT_LIT ("] "), &at) ? at + 2 : 0;
}

/* "trainer-1  | " of compose. */
static uint32_t bar_form (struct text text)
{
    struct text head = head_of (text);
    uint32_t at = text_span (head, "_-."), end = at;
    while (end < head.len && head.ptr[end] == ' ')
        end++;
    return at > 0 && end > at && end + 1 < head.len && head.ptr[end] == '|' && head.ptr[end + 1] == ' ' ? end + 2 : 0;
}

/* "3: " of srun -l, with blanks in front of short numbers. */
static uint32_t task_form (struct text text)
{
    uint32_t from = blanks (text, blanks (text, 0)), end = text_digits_end (text, from);
    return end > from && end - from <= 5 && text_starts (words_from (text, end), ": ") ? end + 2 : 0;
}

/* A name with a digit from `at` on, and what stands behind it. */
static uint32_t name_form (struct text text, uint32_t at, const char *end)
{
    struct text head = head_of (text);
    bool digit = false;
    if (head.len < at + 3 || !text_is_letter (head.ptr[at]))
        return 0;
    for (; at < head.len && (words_is_name (head.ptr[at]) || head.ptr[at] == '-' || head.ptr[at] == '.'); at++)
        digit |= text_is_digit (head.ptr[at]);
    return digit && text_starts (words_from (text, at), end) ? at + 2 : 0;
}

/* "node-7: " of pdsh and clush. */
static uint32_t host_form (struct text text)
{
    return name_form (text, 0, ": ");
}

/* "[node-7] " */
static uint32_t bracket_form (struct text text)
{
    return text_starts (text, "[") ? name_form (text, 1, "] ") : 0;
}

static bool is_time (struct text text, uint32_t at)
{
    return at + 8 <= text.len && text_is_digit (text.ptr[at]) && text_is_digit (text.ptr[at + 1]) &&
           text.ptr[at + 2] == ':' && text_is_digit (text.ptr[at + 3]) && text.ptr[at + 5] == ':';
}

/* "2025-02-02T02:02:02.123Z ", "[2025-02-02 02:02:02,123] ", "2025-02-02 02:02:02.123456: ". */
static uint32_t time_form (struct text text)
{
    uint32_t at = text.len && text.ptr[0] == '[';
    bool bracket = at;
    if (text.len < at + 19 || text_digits_end (text, at) != at + 4 || !strchr ("-/", text.ptr[at + 4]) ||
        !is_time (text, at + 11))
        return 0;
    for (at += 19; at < text.len && strchr ("0123456789.,+-Z", text.ptr[at]); at++)
        ;
    at += at < text.len && text.ptr[at] == ':' && text_is_digit (text.ptr[at - 1]);
    if (bracket && (at >= text.len || text.ptr[at] != ']'))
        return 0;
    at += bracket;
    while (at < text.len && strchr (" -|", text.ptr[at]))
        at++;
    if (text_starts (words_from (text, at), "stderr F ") || text_starts (words_from (text, at), "stdout F "))
        at += 9;
    return at;
}

/* "trainer-0-abcde main 2025-02-02T02:02:02.123Z stderr F " of collectors: pod, container, then a time. */
static uint32_t container_form (struct text text)
{
    struct text head = head_of (text);
    uint32_t at = 0;
    for (uint32_t words = 0; words < 2; words++) {
        at += text_span (words_from (head, at), "_-.");
        if (at == 0 || at >= head.len || head.ptr[at++] != ' ')
            return 0;
    }
    uint32_t time = time_form (words_from (text, at));
    return time && words_any_exact (head, " stderr F | stdout F ") ? at + time : 0;
}

/* "Feb  2 02:02:02 node7 unit[12]: " of syslog and journals; "[ 1234.567890] " of the kernel. */
static uint32_t syslog_form (struct text text)
{
    struct text head = head_of (text);
    uint32_t at;
    if (head.len > 16 && text_is_letter (head.ptr[0]) && head.ptr[3] == ' ' && is_time (head, 7) &&
        text_find (head, TEXT_LIT (": "), &at))
        return at + 2;
    if (!head.len || head.ptr[0] != '[' || !text_find (head, TEXT_LIT ("] "), &at))
        return 0;
    for (uint32_t i = 1; i < at; i++)
        if (!text_is_digit (head.ptr[i]) && head.ptr[i] != '.' && head.ptr[i] != ' ')
            return 0;
    return at > 6 ? at + 2 : 0;
}

static const struct form {
    form_fn *match;
    bool speaks; /* it tells who printed the line */
    bool common; /* ordinary text has it as well: many lines must have it */
} forms[] = {
    { rank_form, true, false },    { mpi_form, true, false },        { process_form, true, false },
    { pod_form, true, false },     { container_form, false, false }, { time_form, false, false },
    { syslog_form, false, false }, { bar_form, true, true },         { task_form, true, true },
    { host_form, true, true },     { bracket_form, true, true },
};
enum { FORMS = sizeof forms / sizeof forms[0] };

static uint32_t hash (struct text text, uint32_t seed)
{
    uint32_t h = seed ? seed : 2166136261u;
    for (uint32_t i = 0; i < text.len; i++)
        h = (h ^ (unsigned char) text.ptr[i]) * 16777619u;
    return h ? h : 1;
}

static bool peel_once (struct printed_line *line, const bool *in_use)
{
    struct text body = words_from (line->text, line->body);
    for (uint32_t k = 0; k < FORMS; k++) {
        uint32_t bytes = in_use[k] ? forms[k].match (body) : 0;
        if (!bytes)
            continue;
        if (forms[k].speaks)
            line->speaker = hash ((struct text){ .ptr = body.ptr, .len = bytes }, line->speaker);
        line->body += bytes;
        return true;
    }
    return false;
}

static void find_common (const struct printed_lines *lines, bool *in_use)
{
    for (uint32_t k = 0; k < FORMS; k++) {
        uint32_t had = 0;
        in_use[k] = !forms[k].common;
        for (uint32_t i = 0; i < lines->n && forms[k].common; i++)
            had += forms[k].match (lines->items[i].text) > 0;
        if (forms[k].common)
            in_use[k] = had >= COMMON_LINES && (uint64_t) had * 100 >= (uint64_t) lines->n * COMMON_OF_100;
    }
}

/* Sets `body` and `speaker` of each line. A form that ordinary text has as well counts when many lines have it. */
static void line_prefix_peel_all (struct printed_lines *lines)
{
    bool in_use[FORMS];
    find_common (lines, in_use);
    for (uint32_t i = 0; i < lines->n; i++)
        for (uint32_t k = 0; k < PEELS_MAX && peel_once (&lines->items[i], in_use); k++)
            ;
}

struct text printed_line_body (const struct printed_line *line)
{
    return words_from (line->text, line->body);
}

/* ---- lines that are JSON: what collectors and structured loggers wrap ---- */

/* An object begins near the begin of its line. JSON_LEVEL_BYTES: its level and a line end, as we write them. */
enum { ESCAPE_BYTE = 0x1b, OBJECT_AT_MAX = 256, JSON_LEVEL_BYTES = 10 };

/* The string, as it is written, of the first of the keys that the object has, or one in it. */
static bool json_string (struct text object, const char *keys, struct text *out)
{
    for (struct text rest = text_of (keys), key; rest.len;) {
        uint32_t at, to;
        key = text_take_until (&rest, '|');
        if (!text_find (object, key, &at))
            continue;
        for (at += key.len; at < object.len && (object.ptr[at] == ' ' || object.ptr[at] == ':'); at++)
            ;
        for (to = at + 1; to < object.len && object.ptr[to] != '"'; to++)
            to += object.ptr[to] == '\\';
        if (to >= object.len || object.ptr[at] != '"')
            continue;
        *out = (struct text){ object.ptr + at + 1, to - at - 1 };
        return true;
    }
    return false;
}

/* Line ends become carriage returns, and letters that are written as numbers question marks. */
static uint32_t json_put (struct text from, char *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < from.len; i++) {
        bool escaped = from.ptr[i] == '\\' && i + 1 < from.len;
        char c = from.ptr[escaped ? ++i : i];
        if (escaped && c == 'u') {
            c = text_starts (words_from (from, i), "u001b") ? ESCAPE_BYTE : '?';
            i += 4;
        } else if (escaped && strchr ("nrt", c)) {
            c = c == 'n' ? '\r' : ' ';
        }
        out[n++] = c;
    }
    return n;
}

/* Puts the message, and below it what an exception printed, in the place of the object: both are shorter, and no more
 * lines of the text. Collectors call all of stdout INFO and all of stderr ERROR: as a severity both say nothing. */
static void json_unwrap_line (char *line, uint32_t len, struct arena *arena)
{
    struct text whole = { line, len }, message = { 0 }, trace = { 0 }, level;
    uint32_t at;
    if (!text_ends (text_trimmed (whole), "}") || !text_find (whole, TEXT_LIT ("{\""), &at) || at > OBJECT_AT_MAX)
        return;
    struct text object = text_copy (arena, words_from (whole, at));
    bool traced = json_string (object, "\"exception\"|\"exc_info\"|\"exc_text\"|\"traceback\"|\"stack_trace\"", &trace);
    if (!json_string (object, "\"textPayload\"|\"message\"|\"msg\"|\"event\"|\"log\"", &message) && !traced)
        return;
    if (message.len + trace.len + JSON_LEVEL_BYTES > object.len)
        return; /* of no JSON: strings of it lie apart */
    bool warns = json_string (object, "\"level\"|\"levelname\"|\"lvl\"|\"severity\"", &level) &&
                 words_any (level, "warn");
    bool informs = json_string (object, "\"level\"|\"levelname\"|\"lvl\"", &level) && words_any (level, "info|debug");
    at += (uint32_t) sprintf (line + at, "%s", warns ? "WARNING: " : informs ? "INFO: " : "");
    at += json_put (message, line + at);
    if (traced)
        line[at++] = '\r';
    at += json_put (trace, line + at);
    memset (line + at, ' ', len - at);
}

static struct text json_unwrap_all (struct text text, struct arena *arena)
{
    if (!text_find (text, TEXT_LIT ("{\""), NULL))
        return text;
    struct text copy = text_copy (arena, text);
    for (struct text rest = copy; rest.len;) {
        struct text line = text_take_until (&rest, '\n');
        json_unwrap_line ((char *) line.ptr, line.len, arena);
    }
    return copy;
}

/* ---- where a program worked: lines whose counter of steps, epochs or items grew ---- */

enum { COUNTERS = 8, DIGITS_MAX = 12, REACH_BYTES = 160 };

/* Words in front of a counter. Each kind is compared with itself; of two in a line the one named here first counts. */
static const char *const counters[COUNTERS] = { "step",  "iteration", "iter",       "epoch",
                                                "batch", "it",        "train_step", "global_step" };

static bool progress_read_number (struct text text, uint32_t at, uint64_t *value)
{
    uint32_t end = at;
    while (end < text.len && text_is_digit (text.ptr[end]) && end - at < DIGITS_MAX)
        end++;
    return text_to_u64 ((struct text){ .ptr = text.ptr + at, .len = end - at }, value);
}

/* "step 7", "Step: 7", "step=7", "Epoch [7/10]". */
static bool counter_at (struct text body, uint32_t at, const char *word, uint64_t *value)
{
    uint32_t len = text_of (word).len;
    if (at + len >= body.len || strncasecmp (body.ptr + at, word, len) != 0)
        return false;
    for (at += len; at < body.len && strchr (" :=[(#", body.ptr[at]); at++)
        ;
    return progress_read_number (body, at, value);
}

/* " 7/100 [00:12<02:40, 1.7s/it]" of tqdm. */
static bool bar_of (struct text body, uint64_t *value)
{
    uint32_t at;
    if (!words_any_exact (body, "it/s|s/it") || !text_find (body, TEXT_LIT ("/"), &at) || at == 0)
        return false;
    uint32_t from = at;
    while (from > 0 && text_is_digit (body.ptr[from - 1]))
        from--;
    return from < at && progress_read_number (body, from, value);
}

static bool find_counter (struct text body, uint32_t *kind, uint64_t *value)
{
    if (bar_of (body, value)) {
        *kind = COUNTERS;
        return true;
    }
    *kind = COUNTERS;
    for (uint32_t at = 0; at + 4 < body.len && at < REACH_BYTES; at++)
        for (uint32_t k = 0; k < *kind && (at == 0 || !words_is_name (body.ptr[at - 1])); k++)
            if ((body.ptr[at] | 0x20) == counters[k][0] && counter_at (body, at, counters[k], value))
                *kind = k;
    return *kind < COUNTERS;
}

/* One speaker's lines, from the first to the last: which of them show a counter that grew. */
static void mark_growth (struct printed_line *lines, uint32_t n)
{
    uint64_t last[COUNTERS + 1] = { 0 }, value;
    bool had[COUNTERS + 1] = { false };
    uint32_t kind;
    for (uint32_t i = 0; i < n; i++) {
        if (lines[i].level >= LEVEL_ERROR || !find_counter (printed_line_body (&lines[i]), &kind, &value))
            continue;
        lines[i].worked = had[kind] && value > last[kind];
        had[kind] = true;
        last[kind] = value;
    }
}

static void sum_behind (struct printed_line *lines, uint32_t n)
{
    uint32_t behind = 0;
    for (uint32_t i = n; i > 0; i--) {
        uint32_t grew = lines[i - 1].worked;
        lines[i - 1].worked = behind;
        behind += grew;
    }
}

/* Sets `worked` of each line: how many counters of its speaker grew behind it. */
static void progress_count (struct printed_lines *lines)
{
    for (uint32_t from = 0, to; from < lines->n; from = to) {
        for (to = from; to < lines->n && lines->items[to].speaker == lines->items[from].speaker; to++)
            ;
        mark_growth (lines->items + from, to - from);
        sum_behind (lines->items + from, to - from);
    }
}

/* ---- printed lines ---- */

enum { SPEAKERS_MAX = 64 };

static bool ends_line (struct text text, uint32_t at)
{
    return text.ptr[at] == '\n' || (text.ptr[at] == '\r' && at + 1 < text.len && text.ptr[at + 1] != '\n');
}

static uint32_t count_lines (struct text text)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < text.len; i++)
        n += ends_line (text, i);
    return n + (text.len > 0 && !ends_line (text, text.len - 1));
}

/* Without terminal sequences, control bytes, and blanks at its end. */
static struct text cleaned (struct text line, char *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < line.len && n < PRINTED_LINE_BYTES; i++) {
        if (line.ptr[i] == ESCAPE_BYTE)
            i += log_line_escape_bytes (line, i) - 1;
        else
            out[n++] = (unsigned char) line.ptr[i] >= ' ' ? line.ptr[i] : ' ';
    }
    while (n && out[n - 1] == ' ')
        n--;
    return (struct text){ .ptr = out, .len = n };
}

/* What a carriage return overprints is a line of its own, and no line of the text. */
static void split (struct text text, uint64_t offset, char *buffer, uint32_t skipped, struct printed_lines *out)
{
    uint32_t number = 1, at = 0, seen = 0, used = 0;
    for (uint32_t from = 0; from < text.len; from = at + 1, seen++) {
        for (at = from; at < text.len && !ends_line (text, at); at++)
            ;
        if (seen >= skipped) {
            struct printed_line *line = &out->items[out->n];
            *line = (struct printed_line){ .offset = offset + from, .number = number, .order = out->n++ };
            line->text = cleaned ((struct text){ .ptr = text.ptr + from, .len = at - from }, buffer + used);
            used += line->text.len;
            buffer[used++] = '\n';
        }
        number += at < text.len && text.ptr[at] == '\n';
    }
    out->all = (struct text){ .ptr = buffer, .len = used };
}

/* Index of the line's speaker among those met so far; those beyond SPEAKERS_MAX share the last one. */
static uint32_t printed_lines_group_of (uint32_t speaker, uint32_t speakers[SPEAKERS_MAX], uint32_t *n)
{
    for (uint32_t i = 0; i < *n; i++)
        if (speakers[i] == speaker)
            return i;
    if (*n == SPEAKERS_MAX)
        return SPEAKERS_MAX - 1;
    speakers[*n] = speaker;
    return (*n)++;
}

static void group_by_speaker (struct arena *arena, struct printed_lines *lines)
{
    uint32_t speakers[SPEAKERS_MAX], n = 0, begins[SPEAKERS_MAX + 1] = { 0 };
    struct printed_line *sorted = arena_array (arena, lines->n, sizeof *sorted);
    for (uint32_t i = 0; i < lines->n; i++)
        begins[printed_lines_group_of (lines->items[i].speaker, speakers, &n) + 1]++;
    for (uint32_t i = 0; i < SPEAKERS_MAX; i++)
        begins[i + 1] += begins[i];
    for (uint32_t i = 0; i < lines->n; i++)
        sorted[begins[printed_lines_group_of (lines->items[i].speaker, speakers, &n)]++] = lines->items[i];
    lines->items = sorted;
}

void printed_lines_split (struct text text, uint64_t offset, struct arena *arena, struct printed_lines *out)
{
    text = json_unwrap_all (text, arena);
    uint32_t all = count_lines (text), skipped = all > PRINTED_LINES_MAX ? all - PRINTED_LINES_MAX : 0;
    char *buffer = arena_alloc (arena, (size_t) text.len + all + 1);
    *out = (struct printed_lines){ .items = arena_array (arena, all - skipped, sizeof *out->items) };
    split (text, offset, buffer, skipped, out);
    line_prefix_peel_all (out);
    for (uint32_t i = 0; i < out->n; i++)
        out->items[i].level = log_line_level (printed_line_body (&out->items[i]));
    group_by_speaker (arena, out);
    progress_count (out);
}
