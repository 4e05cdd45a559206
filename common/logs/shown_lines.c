/* shown_lines.c - the graver lines are taken first, of equally grave ones the earlier; the same text once. */
#include "common/logs/candidate.h"

#include <string.h>

#include "common/logs/set.h"

enum { LAST_LINES = 3 };

struct error_lines {
    struct error_line *items;
    uint32_t n;
    struct arena *arena;
};

struct showing {
    const struct signature_set *set;
    const struct signature_scan_result *seen;
    uint64_t peers_from; /* what begins here or later follows from a peer's failure */
};

bool shown_lines_may_be_in (struct text part)
{
    struct word_finder finder;
    word_finder_make (&finder, log_line_words);
    return word_finder_finds (&finder, part) || text_find (part, TEXT_LIT ("Traceback"), NULL);
}

struct text shown_line_of (struct text line, struct arena *arena)
{
    char cleaned[SHOWN_LINE_BYTES];
    return text_copy (arena, (struct text){ cleaned, log_line_clean (line, cleaned, sizeof cleaned) });
}

/* Where the first word of a peer's failure stands, when nothing else is known: what comes after follows from it. */
static uint64_t first_of_peers (const struct showing *showing)
{
    uint64_t first = UINT64_MAX;
    for (uint32_t i = 0; i < showing->seen->sightings_n; i++) {
        const struct sighting *sighting = &showing->seen->sightings[i];
        const struct signature *signature = signature_set_find (showing->set, sighting->signature);
        if (!signature || signature->noise)
            continue;
        if (!signature->peer)
            return UINT64_MAX;
        first = sighting->offset < first ? sighting->offset : first;
    }
    return first;
}

/* A text is seen where it stands first, and its message may be printed more than once. */
static bool is_known (const struct showing *showing, const struct error_line *line)
{
    for (uint32_t i = 0; i < showing->seen->sightings_n; i++) {
        const struct sighting *sighting = &showing->seen->sightings[i];
        const struct signature *signature = signature_set_find (showing->set, sighting->signature);
        if (sighting->offset == line->offset || (signature && text_find (line->text, signature->text, NULL)))
            return true;
    }
    return false;
}

/* ---- the lines that look like an error ---- */

static void shown_lines_add (struct error_lines *all, const struct printed_line *line, bool fatal)
{
    struct text text = shown_line_of (line->text, all->arena);
    enum log_line_grade grade = fatal ? LINE_FATAL : log_line_grade (text);
    if (grade >= LINE_ERROR && text.len)
        all->items[all->n++] = (struct error_line){ .offset = line->offset, .grade = grade, .text = text };
}

static void add_exceptions (struct error_lines *all, const struct log_end *end, const struct candidate *candidate)
{
    for (uint32_t i = 0; i < end->exceptions.n; i++) {
        const struct exception *exception = &end->exceptions.items[i];
        if (exception->first >= candidate->first && exception->last <= candidate->last && exception->type.len)
            shown_lines_add (all, &end->lines.items[exception->type_line], true);
    }
}

/* Errors behind which the program worked on are not worth reading. `cut_off`: a traceback without its exception is an
 * end, and not the end of a part. */
static void shown_lines_add_all (struct error_lines *all, const struct log_end *end, bool cut_off)
{
    for (uint32_t i = 0; i < end->candidates.n; i++) {
        const struct candidate *candidate = &end->candidates.items[i];
        if (candidate->exception && !candidate->over)
            add_exceptions (all, end, candidate);
        else if (!candidate->over && (cut_off || !candidate->cut_off))
            shown_lines_add (all, &end->lines.items[candidate->shown], candidate->cut_off);
    }
}

static uint32_t most_of (const struct log_end *end)
{
    return end->candidates.n + end->exceptions.n;
}

static int by_grade (const void *a, const void *b)
{
    const struct error_line *left = a, *right = b;
    if (left->grade != right->grade)
        return left->grade > right->grade ? -1 : 1;
    return order_u64 (left->offset, right->offset);
}

/* The gravest ones come first; the same text stays once. */
static void rank_lines (struct error_lines *all)
{
    uint32_t kept = 0;
    sort_items (all->items, all->n, sizeof *all->items, by_grade);
    for (uint32_t i = 0; i < all->n; i++) {
        bool had = false;
        for (uint32_t k = 0; k < kept && !had; k++)
            had = text_equal (all->items[k].text, all->items[i].text);
        if (!had)
            all->items[kept++] = all->items[i];
    }
    all->n = kept;
}

void shown_lines_keep (const struct log_end *part, struct earlier_lines *earlier)
{
    LOCAL_ARENA work = { 0 };
    struct error_lines all = { .arena = &work };
    all.items = arena_array (&work, EARLIER_MAX + most_of (part), sizeof *all.items);
    memcpy (all.items, earlier->items, earlier->n * sizeof *all.items);
    all.n = earlier->n;
    shown_lines_add_all (&all, part, false);
    rank_lines (&all);
    earlier->n = all.n < EARLIER_MAX ? all.n : EARLIER_MAX;
    for (uint32_t i = 0; i < earlier->n; i++) {
        earlier->items[i] = all.items[i];
        earlier->items[i].text = text_copy (&earlier->arena, all.items[i].text);
    }
}

/* ---- what is shown of them ---- */

/* Without what is known, and what follows from a peer's failure. */
static void drop_explained (const struct showing *showing, struct error_lines *all)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < all->n; i++)
        if (all->items[i].offset < showing->peers_from && !is_known (showing, &all->items[i]))
            all->items[kept++] = all->items[i];
    all->n = kept;
}

/* In the order of the log. */
static uint32_t take_gravest (struct error_lines *all, struct text *shown, uint32_t most)
{
    uint32_t n = all->n < most ? all->n : most;
    sort_items (all->items, n, sizeof *all->items, u64_order);
    for (uint32_t i = 0; i < n; i++)
        shown[i] = all->items[i].text;
    return n;
}

/* The last lines with anything on them, in order. */
static uint32_t shown_lines_last_lines (const struct printed_lines *lines, struct arena *arena,
                                        struct text last[LAST_LINES])
{
    uint32_t *by_order = arena_array (arena, lines->n, sizeof *by_order), n = 0;
    for (uint32_t i = 0; i < lines->n; i++)
        by_order[lines->items[i].order] = i;
    for (uint32_t i = lines->n; i > 0 && n < LAST_LINES; i--) {
        struct text text = shown_line_of (lines->items[by_order[i - 1]].text, arena);
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

void shown_lines_choose (const struct signature_set *set, const struct log_end *end,
                         const struct earlier_lines *earlier, struct arena *arena, struct signature_scan_result *seen)
{
    struct showing showing = { .set = set, .seen = seen };
    struct error_lines all = { .arena = arena };
    struct text last[LAST_LINES];
    all.items = arena_array (arena, earlier->n + most_of (end), sizeof *all.items);
    for (; all.n < earlier->n; all.n++) {
        all.items[all.n] = earlier->items[all.n];
        all.items[all.n].text = text_copy (arena, earlier->items[all.n].text);
    }
    shown_lines_add_all (&all, end, true);
    showing.peers_from = first_of_peers (&showing);
    drop_explained (&showing, &all);
    rank_lines (&all);
    bool with_end = seen->went_on || seen->sightings_n + all.n == 0;
    uint32_t n = with_end ? shown_lines_last_lines (&end->lines, arena, last) : 0;
    seen->shown = arena_array (arena, SHOWN_MAX, sizeof *seen->shown);
    seen->shown_n = take_gravest (&all, seen->shown, SHOWN_MAX - n);
    add_end (seen, last, n);
}
