#include "common/logs/progress.h"

#include <string.h>
#include <strings.h>

#include "common/logs/words.h"

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

void progress_count (struct printed_lines *lines)
{
    for (uint32_t from = 0, to; from < lines->n; from = to) {
        for (to = from; to < lines->n && lines->items[to].speaker == lines->items[from].speaker; to++)
            ;
        mark_growth (lines->items + from, to - from);
        sum_behind (lines->items + from, to - from);
    }
}
