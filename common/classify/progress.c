#include "common/classify/progress.h"

#include <string.h>
#include <strings.h>

#include "common/classify/words.h"

enum { COUNTERS = 8, DIGITS_MAX = 12 };

/* Words in front of a counter. Each kind is compared with itself. */
static const char *const counters[COUNTERS] = { "step",  "iteration", "iter",       "epoch",
                                                "batch", "it",        "train_step", "global_step" };

static bool read_number (struct text text, uint32_t at, uint64_t *value)
{
    uint32_t end = at;
    while (end < text.len && words_is_digit (text.ptr[end]) && end - at < DIGITS_MAX)
        end++;
    return text_to_u64 ((struct text){ .ptr = text.ptr + at, .len = end - at }, value);
}

/* "step 7", "Step: 7", "step=7", "Epoch [7/10]". */
static bool counter_at (struct text body, uint32_t at, const char *word, uint64_t *value)
{
    uint32_t len = text_of (word).len;
    if (at + len >= body.len || strncasecmp (body.ptr + at, word, len) != 0 || (at && words_is_name (body.ptr[at - 1])))
        return false;
    for (at += len; at < body.len && strchr (" :=[(#", body.ptr[at]); at++)
        ;
    return read_number (body, at, value);
}

/* " 7/100 [00:12<02:40, 1.7s/it]" of tqdm. */
static bool bar_of (struct text body, uint64_t *value)
{
    uint32_t at;
    if (!words_any_exact (body, "it/s|s/it") || !text_find (body, TEXT_LIT ("/"), &at) || at == 0)
        return false;
    uint32_t from = at;
    while (from > 0 && words_is_digit (body.ptr[from - 1]))
        from--;
    return from < at && read_number (body, from, value);
}

static bool find_counter (struct text body, uint32_t *kind, uint64_t *value)
{
    if (bar_of (body, value)) {
        *kind = COUNTERS;
        return true;
    }
    for (uint32_t k = 0; k < COUNTERS; k++)
        for (uint32_t at = 0; at + 4 < body.len && at < 160; at++)
            if (counter_at (body, at, counters[k], value)) {
                *kind = k;
                return true;
            }
    return false;
}

uint32_t progress_last_line (const struct printed_lines *lines)
{
    uint64_t last[COUNTERS + 1] = { 0 }, value;
    bool had[COUNTERS + 1] = { false };
    uint32_t kind, found = 0;
    for (uint32_t i = 0; i < lines->n; i++) {
        if (lines->items[i].level >= LEVEL_ERROR || !find_counter (printed_line_body (&lines->items[i]), &kind, &value))
            continue;
        if (had[kind] && value > last[kind])
            found = i + 1;
        had[kind] = true;
        last[kind] = value;
    }
    return found;
}
