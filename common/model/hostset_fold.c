/* The writing half of hostset.h: families of names, their boxes, and each box as text. */
#include "common/model/hostset.h"

#include "common/model/hostset_pattern.h"
#include "common/model/hostset_scan.h"

enum { RANGE_DIGITS_MAX = 18 /* as hostset_item.c reads */, FOLDED_MAX_BYTES = 1 << 20 };

struct folding {
    struct arena arena;
    struct hostset_member *members;
    uint32_t n, at; /* families before `at` were given */
};

static void folding_begin (struct folding *folding, const struct text *names, uint32_t n)
{
    *folding = (struct folding){ 0 };
    folding->members = arena_array (&folding->arena, n, sizeof *folding->members);
    folding->n = hostset_members_make (names, n, folding->members, &folding->arena);
}

static bool folding_next (struct folding *folding, struct hostset_pattern *pattern)
{
    uint32_t from = folding->at, to = from;
    while (to < folding->n && hostset_members_alike (&folding->members[from], &folding->members[to]))
        to++;
    folding->at = to;
    if (from < to)
        hostset_pattern_from_members (pattern, folding->members + from, to - from, &folding->arena);
    return from < to;
}

/* A run of numbers that is being made. What its first one says about padding holds until a run of two or more ends or a
 * number does not fit: so nodeset folds, and so [98-99,100] stays in two parts behind an 01. */
struct run {
    struct text low, high;
    uint64_t last;
    uint32_t width; /* padded to it; 0: none of it is padded */
    bool counts;    /* few enough digits for a range */
};

static bool is_padded (struct text number)
{
    return number.len > 1 && number.ptr[0] == '0';
}

static bool fits (const struct run *run, struct text number)
{
    return run->width ? number.len == run->width : !is_padded (number);
}

static void run_begin (struct run *run, struct text number, bool anew)
{
    run->low = run->high = number;
    run->counts = number.len <= RANGE_DIGITS_MAX && text_to_u64 (number, &run->last);
    if (anew)
        run->width = is_padded (number) ? number.len : 0;
}

static bool run_extend (struct run *run, struct text number)
{
    uint64_t value;
    if (!run->counts || !fits (run, number) || number.len > RANGE_DIGITS_MAX || !text_to_u64 (number, &value) ||
        value != run->last + 1)
        return false;
    run->high = number;
    run->last = value;
    return true;
}

static bool run_is_range (const struct run *run)
{
    return run->high.ptr != run->low.ptr;
}

static void run_write (const struct run *run, struct buf *out)
{
    buf_add_text (out, run->low);
    if (!run_is_range (run))
        return;
    buf_byte (out, '-');
    buf_add_text (out, run->high);
}

static void write_ranges (const struct text *values, const struct number_set *set, struct buf *out)
{
    struct run run = { 0 };
    run_begin (&run, values[set->ids[0]], true);
    for (uint32_t i = 1; i < set->n; i++) {
        struct text number = values[set->ids[i]];
        if (run_extend (&run, number))
            continue;
        run_write (&run, out);
        buf_byte (out, ',');
        run_begin (&run, number, run_is_range (&run) || !fits (&run, number));
    }
    run_write (&run, out);
}

static void write_set (const struct text *values, const struct number_set *set, struct buf *out)
{
    if (set->n == 1) {
        buf_add_text (out, values[set->ids[0]]);
        return;
    }
    buf_byte (out, '[');
    write_ranges (values, set, out);
    buf_byte (out, ']');
}

static void write_box (const struct hostset_pattern *pattern, uint32_t box, struct buf *out)
{
    const struct hostset_member *like = &pattern->members[0];
    const struct number_set *sets = pattern->dims ? pattern->boxes.sets + (size_t) box * pattern->dims : NULL;
    uint32_t number = 0, dim = 0;
    for (uint32_t i = 0; i < like->pattern.len; i++) {
        if (like->pattern.ptr[i] != '%' || like->pattern.ptr[++i] == '%') {
            buf_byte (out, (uint8_t) like->pattern.ptr[i]);
        } else if (dim < pattern->dims && pattern->number_of[dim] == number) {
            write_set (pattern->values[dim], &sets[dim], out);
            dim++;
            number++;
        } else {
            buf_add_text (out, like->numbers[number++]);
        }
    }
}

void hostset_fold (const struct text *names, uint32_t n, struct buf *out)
{
    struct folding folding;
    struct hostset_pattern pattern;
    const char *comma = "";
    folding_begin (&folding, names, n);
    while (folding_next (&folding, &pattern))
        for (uint32_t box = 0; box < pattern.boxes.n || (pattern.dims == 0 && box == 0); box++) {
            buf_puts (out, comma);
            write_box (&pattern, box, out);
            comma = ",";
        }
    arena_release (&folding.arena);
}

struct text hostset_folded (const struct text *names, uint32_t n, uint32_t max_bytes, struct arena *arena)
{
    struct buf folded;
    buf_init (&folded, FOLDED_MAX_BYTES);
    hostset_fold (names, n, &folded);
    struct text text = text_copy (arena, text_clip (buf_as_text (&folded), max_bytes));
    buf_release (&folded);
    return text;
}

void hostset_fold_escaped (const struct text *names, uint32_t n, uint32_t columns, struct buf *out)
{
    struct arena arena = { 0 };
    buf_escaped (out, hostset_folded (names, n, UINT32_MAX, &arena), columns);
    arena_release (&arena);
}

uint32_t hostset_sort (struct text *names, uint32_t n)
{
    struct folding folding;
    struct hostset_pattern pattern;
    uint32_t sorted = 0;
    folding_begin (&folding, names, n);
    while (folding_next (&folding, &pattern)) {
        if (pattern.dims == 0)
            names[sorted++] = pattern.members[0].name;
        for (uint32_t box = 0; box < pattern.boxes.n; box++)
            sorted += hostset_pattern_box_members (&pattern, box, names + sorted);
    }
    arena_release (&folding.arena);
    return sorted;
}
