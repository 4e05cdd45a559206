#include "common/classify/line_prefix.h"

#include <string.h>

#include "common/classify/words.h"

/* Several forms may stand one behind the other. A prefix longer than PREFIX_MAX_BYTES is text. */
enum { PEELS_MAX = 4, PREFIX_MAX_BYTES = 96, COMMON_LINES = 3, COMMON_OF_100 = 30 };

/* Each form gives the bytes of the prefix at the front of `text`, blanks behind it included; 0: it is not there. */
typedef uint32_t form_fn (struct text text);

static uint32_t blanks (struct text text, uint32_t at)
{
    return at < text.len && text.ptr[at] == ' ' ? at + 1 : at;
}

static uint32_t digits_end (struct text text, uint32_t at)
{
    while (at < text.len && text_is_digit (text.ptr[at]))
        at++;
    return at;
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
    uint32_t from = blanks (text, 5), end = digits_end (text, from);
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
    uint32_t at = 0;
    while (at < head.len && (words_is_name (head.ptr[at]) || head.ptr[at] == '-' || head.ptr[at] == '.'))
        at++;
    uint32_t end = at;
    while (end < head.len && head.ptr[end] == ' ')
        end++;
    return at > 0 && end > at && end + 1 < head.len && head.ptr[end] == '|' && head.ptr[end + 1] == ' ' ? end + 2 : 0;
}

/* "3: " of srun -l, with blanks in front of short numbers. */
static uint32_t task_form (struct text text)
{
    uint32_t from = blanks (text, blanks (text, 0)), end = digits_end (text, from);
    return end > from && end - from <= 5 && text_starts (words_from (text, end), ": ") ? end + 2 : 0;
}

/* "node-7: " of pdsh and clush: a name with a digit. */
static uint32_t host_form (struct text text)
{
    struct text head = head_of (text);
    uint32_t at = 0;
    bool digit = false;
    for (; at < head.len && (words_is_name (head.ptr[at]) || head.ptr[at] == '-' || head.ptr[at] == '.'); at++)
        digit |= text_is_digit (head.ptr[at]);
    return digit && words_is_letter (head.ptr[0]) && text_starts (words_from (text, at), ": ") ? at + 2 : 0;
}

/* "[node-7] ": a name with a digit, in brackets. */
static uint32_t bracket_form (struct text text)
{
    struct text head = head_of (text);
    uint32_t at = 1;
    bool digit = false;
    if (head.len < 4 || head.ptr[0] != '[' || !words_is_letter (head.ptr[1]))
        return 0;
    for (; at < head.len && (words_is_name (head.ptr[at]) || head.ptr[at] == '-' || head.ptr[at] == '.'); at++)
        digit |= text_is_digit (head.ptr[at]);
    return digit && text_starts (words_from (text, at), "] ") ? at + 2 : 0;
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
    if (text.len < at + 19 || digits_end (text, at) != at + 4 || !strchr ("-/", text.ptr[at + 4]) ||
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
        while (at < head.len && (words_is_name (head.ptr[at]) || head.ptr[at] == '-' || head.ptr[at] == '.'))
            at++;
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
    if (head.len > 16 && words_is_letter (head.ptr[0]) && head.ptr[3] == ' ' && is_time (head, 7) &&
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

void line_prefix_peel_all (struct printed_lines *lines)
{
    bool in_use[FORMS];
    find_common (lines, in_use);
    for (uint32_t i = 0; i < lines->n; i++)
        for (uint32_t k = 0; k < PEELS_MAX && peel_once (&lines->items[i], in_use); k++)
            ;
}
