/* shown_lines.c - the graver lines are taken first, of equally grave ones the earlier; the same text once. */
#include "common/classify/shown_lines.h"

#include <stdlib.h>
#include <string.h>

#include "common/signature/log_line.h"
#include "common/signature/set.h"

enum { LAST_LINES = 3 };

struct offered {
    uint64_t offset;
    enum log_line_grade grade;
    struct text text;
};

struct showing {
    const struct signature_set *set;
    const struct printed_lines *lines;
    const struct signature_scan_result *seen;
    struct arena *arena;
    uint64_t peers_from; /* what begins here or later follows from a peer's failure */
    struct offered *items;
    uint32_t n;
};

struct text shown_line_of (struct text line, struct arena *arena)
{
    char cleaned[SHOWN_LINE_BYTES];
    return text_copy (arena, (struct text){ cleaned, log_line_clean (line, cleaned, sizeof cleaned) });
}

static const struct signature *signature_of (const struct showing *showing, const struct sighting *sighting)
{
    for (uint32_t i = 0; i < showing->set->n; i++)
        if (text_equal (showing->set->items[i].id, sighting->signature))
            return &showing->set->items[i];
    return NULL;
}

/* Where the first word of a peer's failure stands, when nothing else is known: what comes after follows from it. */
static uint64_t first_of_peers (const struct showing *showing)
{
    uint64_t first = UINT64_MAX;
    for (uint32_t i = 0; i < showing->seen->sightings_n; i++) {
        const struct sighting *sighting = &showing->seen->sightings[i];
        const struct signature *signature = signature_of (showing, sighting);
        if (!signature || signature->noise)
            continue;
        if (!signature->peer)
            return UINT64_MAX;
        first = sighting->offset < first ? sighting->offset : first;
    }
    return first;
}

/* A text is seen where it stands first, and its message may be printed more than once. */
static bool is_known (const struct showing *showing, const struct printed_line *line, struct text text)
{
    for (uint32_t i = 0; i < showing->seen->sightings_n; i++) {
        const struct sighting *sighting = &showing->seen->sightings[i];
        const struct signature *signature = signature_of (showing, sighting);
        if (sighting->offset == line->offset || (signature && text_find (text, signature->text, NULL)))
            return true;
    }
    return false;
}

static bool is_offered (const struct showing *showing, struct text text)
{
    for (uint32_t i = 0; i < showing->n; i++)
        if (text_equal (showing->items[i].text, text))
            return true;
    return false;
}

static void offer (struct showing *showing, uint32_t at, bool fatal)
{
    const struct printed_line *line = &showing->lines->items[at];
    struct text text = shown_line_of (line->text, showing->arena);
    enum log_line_grade grade = fatal ? LINE_FATAL : log_line_grade (text);
    if (grade >= LINE_ERROR && text.len && line->offset < showing->peers_from && !is_offered (showing, text) &&
        !is_known (showing, line, text))
        showing->items[showing->n++] = (struct offered){ .offset = line->offset, .grade = grade, .text = text };
}

static void offer_exceptions (struct showing *showing, const struct exceptions *exceptions,
                              const struct candidate *candidate)
{
    for (uint32_t i = 0; i < exceptions->n; i++) {
        const struct exception *exception = &exceptions->items[i];
        if (exception->first >= candidate->first && exception->last <= candidate->last && exception->type.len)
            offer (showing, exception->type_line, true);
    }
}

static int by_grade (const void *a, const void *b)
{
    const struct offered *left = a, *right = b;
    if (left->grade != right->grade)
        return left->grade > right->grade ? -1 : 1;
    return left->offset < right->offset ? -1 : left->offset > right->offset;
}

static int by_offset (const void *a, const void *b)
{
    const struct offered *left = a, *right = b;
    return left->offset < right->offset ? -1 : left->offset > right->offset;
}

/* In the order of the log. */
static uint32_t take_gravest (struct showing *showing, struct text *shown, uint32_t most)
{
    uint32_t n = showing->n < most ? showing->n : most;
    if (showing->n > 1)
        qsort (showing->items, showing->n, sizeof *showing->items, by_grade);
    if (n > 1)
        qsort (showing->items, n, sizeof *showing->items, by_offset);
    for (uint32_t i = 0; i < n; i++)
        shown[i] = showing->items[i].text;
    return n;
}

/* The last lines with anything on them, in order. */
static uint32_t last_lines (const struct showing *showing, struct text last[LAST_LINES])
{
    const struct printed_lines *lines = showing->lines;
    uint32_t *by_order = arena_array (showing->arena, lines->n, sizeof *by_order), n = 0;
    for (uint32_t i = 0; i < lines->n; i++)
        by_order[lines->items[i].order] = i;
    for (uint32_t i = lines->n; i > 0 && n < LAST_LINES; i--) {
        struct text text = shown_line_of (lines->items[by_order[i - 1]].text, showing->arena);
        if (!text.len)
            continue;
        memmove (last + 1, last, n++ * sizeof *last);
        last[0] = text;
    }
    return n;
}

static bool is_sighted (const struct signature_scan_result *seen, struct text line)
{
    for (uint32_t i = 0; i < seen->sightings_n; i++)
        if (text_equal (seen->sightings[i].text, line))
            return true;
    return false;
}

/* How it ended, beside what looks like an error; fatal lines are there already, or follow from what is known. */
static void add_end (struct signature_scan_result *seen, const struct text *last, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!text_is_among (last[i], seen->shown, seen->shown_n) && !is_sighted (seen, last[i]) &&
            log_line_grade (last[i]) != LINE_FATAL)
            seen->shown[seen->shown_n++] = last[i];
}

void shown_lines_choose (const struct signature_set *set, const struct printed_lines *lines,
                         const struct exceptions *exceptions, const struct candidates *candidates, struct arena *arena,
                         struct signature_scan_result *seen)
{
    struct showing showing = { .set = set, .lines = lines, .seen = seen, .arena = arena };
    struct text last[LAST_LINES];
    showing.items = arena_array (arena, candidates->n + exceptions->n, sizeof *showing.items);
    showing.peers_from = first_of_peers (&showing);
    for (uint32_t i = 0; i < candidates->n; i++) {
        const struct candidate *candidate = &candidates->items[i];
        if (candidate->exception && !candidate->over)
            offer_exceptions (&showing, exceptions, candidate);
        else if (!candidate->over)
            offer (&showing, candidate->shown, candidate->cut_off);
    }
    bool with_end = seen->went_on || seen->sightings_n + showing.n == 0;
    uint32_t n = with_end ? last_lines (&showing, last) : 0;
    seen->shown = arena_array (arena, SHOWN_MAX, sizeof *seen->shown);
    seen->shown_n = take_gravest (&showing, seen->shown, SHOWN_MAX - n);
    add_end (seen, last, n);
}
