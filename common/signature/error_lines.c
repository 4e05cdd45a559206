#include "common/signature/error_lines.h"

#include <string.h>

bool error_lines_would_take (const struct error_lines *shown, enum log_line_grade grade)
{
    return grade >= LINE_ERROR && (shown->n < SHOWN_MAX || (grade == LINE_FATAL && shown->fatal < SHOWN_MAX));
}

static void remove_at (struct error_lines *shown, uint32_t at)
{
    shown->fatal -= shown->lines[at].grade == LINE_FATAL;
    memmove (&shown->lines[at], &shown->lines[at + 1], (shown->n - at - 1) * sizeof shown->lines[0]);
    shown->n--;
}

static uint32_t least (const struct error_lines *shown)
{
    uint32_t at = 0;
    for (uint32_t i = 1; i < shown->n; i++)
        if (shown->lines[i].grade < shown->lines[at].grade ||
            (shown->lines[i].grade == shown->lines[at].grade && shown->lines[i].offset > shown->lines[at].offset))
            at = i;
    return at;
}

/* Lines come nearly in order: the exception of a traceback is known when its heading is read. */
static void insert (struct error_lines *shown, uint64_t offset, enum log_line_grade grade, struct text cleaned)
{
    uint32_t at = shown->n;
    while (at > 0 && shown->lines[at - 1].offset > offset)
        at--;
    memmove (&shown->lines[at + 1], &shown->lines[at], (shown->n - at) * sizeof shown->lines[0]);
    struct error_line *line = &shown->lines[at];
    *line = (struct error_line){ .offset = offset, .grade = grade, .len = text_clip (cleaned, SHOWN_LINE_BYTES).len };
    memcpy (line->text, cleaned.ptr, line->len);
    shown->n++;
    shown->fatal += grade == LINE_FATAL;
}

void error_lines_offer (struct error_lines *shown, uint64_t offset, enum log_line_grade grade, struct text cleaned)
{
    if (!error_lines_would_take (shown, grade) || cleaned.len == 0)
        return;
    for (uint32_t i = 0; i < shown->n; i++) {
        struct text had = { .ptr = shown->lines[i].text, .len = shown->lines[i].len };
        if (shown->lines[i].offset == offset || text_equal (had, text_clip (cleaned, SHOWN_LINE_BYTES)))
            return;
    }
    if (shown->n == SHOWN_MAX)
        remove_at (shown, least (shown));
    insert (shown, offset, grade, cleaned);
}

void error_lines_drop_at (struct error_lines *shown, uint64_t offset)
{
    for (uint32_t i = 0; i < shown->n; i++)
        if (shown->lines[i].offset == offset) {
            remove_at (shown, i);
            return;
        }
}

uint32_t error_lines_copy (struct error_lines *shown, struct arena *arena, struct text **out)
{
    *out = arena_array (arena, shown->n, sizeof **out);
    for (uint32_t i = 0; i < shown->n; i++)
        (*out)[i] = text_copy (arena, (struct text){ .ptr = shown->lines[i].text, .len = shown->lines[i].len });
    return shown->n;
}
