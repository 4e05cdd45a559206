/* The writing half of hostset.h: families of names alike but for their numbers, the boxes they fill, {1-4} x {01-16}, and
 * each box as text.
 *
 * The rule is nodeset's, and decides the text that people see. Boxes are ordered: more points first, then for each
 * coordinate more values first, then the bytewise smaller first value, then the smaller last one. Each box takes in
 * later ones that differ in one coordinate: first only its neighbour, repeatedly, then any, until nothing changes, or
 * PAIRS_MAX pairs of one family were compared in vain: then its text is longer. */
#include "common/model/hostset.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/model/hostset_scan.h"

enum { FOLDED_MAX_BYTES = 1 << 20, PAIRS_MAX = 1 << 25 };

struct hostset_member {
    struct text name;
    struct text pattern; /* with "%s" for a number and "%%" for a '%', as in nodeset: it decides the order */
    const struct text *numbers;
    uint32_t numbers_n;
};
/* Has room for the next power of two from n ids; `loose`: not sorted yet. */
struct number_set {
    uint32_t *ids, n;
    bool loose;
};
/* The members [0, n) of one pattern. Numbers that are the same in all of them take no part in boxes. */
struct hostset_pattern {
    const struct hostset_member *members;
    uint32_t n, dims;
    uint32_t *number_of;      /* per coordinate: which number of the name */
    uint32_t *ids;            /* n rows of `dims`, rising */
    struct text **values;     /* per coordinate and id: its digits, rising */
    struct number_set *boxes; /* boxes_n rows of `dims` sets; the boxes are disjoint. dims == 0: none, and one name */
    uint32_t boxes_n;
    uint32_t pairs_left; /* of PAIRS_MAX */
};

/* ---- families ---- */

static uint32_t count_numbers (struct text name)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < name.len; i++)
        n += text_is_digit (name.ptr[i]) && (i == 0 || !text_is_digit (name.ptr[i - 1]));
    return n;
}

static void make_member (struct hostset_member *member, struct text name, struct arena *arena)
{
    struct text *numbers = arena_array (arena, count_numbers (name), sizeof *numbers);
    char *pattern = arena_alloc (arena, 2 * (size_t) name.len);
    *member = (struct hostset_member){ .name = name, .numbers = numbers };
    uint32_t len = 0;
    for (uint32_t i = 0, digits; i < name.len; i += digits ? digits : 1) {
        digits = text_digits_end (name, i) - i;
        if (digits)
            numbers[member->numbers_n++] = (struct text){ name.ptr + i, digits };
        pattern[len++] = digits ? '%' : name.ptr[i];
        if (digits || name.ptr[i] == '%')
            pattern[len++] = digits ? 's' : '%';
    }
    member->pattern = (struct text){ pattern, len };
}

/* Shorter digits first, then bytewise: 1 2 10 01 02. */
static int digits_compare (struct text a, struct text b)
{
    return a.len != b.len ? (a.len < b.len ? -1 : 1) : text_compare (a, b);
}

static int by_pattern (const void *a, const void *b)
{
    const struct hostset_member *left = a, *right = b;
    int order = text_compare (left->pattern, right->pattern);
    for (uint32_t i = 0; order == 0 && i < left->numbers_n; i++)
        order = digits_compare (left->numbers[i], right->numbers[i]);
    return order;
}

/* Names mostly come sorted: then one pass is enough. */
static void sort_unless_sorted (void *items, uint32_t n, size_t item_bytes, int (*order) (const void *, const void *))
{
    const char *at = items;
    for (uint32_t i = 1; i < n; i++, at += item_bytes)
        if (order (at, at + item_bytes) > 0) {
            qsort (items, n, item_bytes, order);
            return;
        }
}

/* Sorts by pattern, then by the numbers from left to right; drops repeated names; returns how many are left. */
static uint32_t members_make (const struct text *of, uint32_t n, struct hostset_member *members, struct arena *arena)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++)
        make_member (&members[i], of[i], arena);
    sort_unless_sorted (members, n, sizeof *members, by_pattern);
    for (uint32_t i = 0; i < n; i++)
        if (kept == 0 || !text_equal (members[kept - 1].name, members[i].name))
            members[kept++] = members[i];
    return kept;
}

struct numbered {
    struct text number;
    uint32_t member;
};

static int by_number (const void *a, const void *b)
{
    return digits_compare (((const struct numbered *) a)->number, ((const struct numbered *) b)->number);
}

static bool varies (const struct hostset_pattern *pattern, uint32_t number)
{
    for (uint32_t i = 1; i < pattern->n; i++)
        if (!text_equal (pattern->members[i].numbers[number], pattern->members[0].numbers[number]))
            return true;
    return false;
}

/* Numbers the values of a coordinate in rising order; `ids` is scratch for them. */
static void make_values (struct hostset_pattern *pattern, uint32_t dim, struct numbered *ids, struct arena *arena)
{
    uint32_t n = 0, number = pattern->number_of[dim];
    for (uint32_t i = 0; i < pattern->n; i++)
        ids[i] = (struct numbered){ pattern->members[i].numbers[number], i };
    sort_unless_sorted (ids, pattern->n, sizeof *ids, by_number);
    struct text *values = arena_array (arena, pattern->n, sizeof *values);
    for (uint32_t i = 0; i < pattern->n; i++) {
        if (n == 0 || !text_equal (values[n - 1], ids[i].number))
            values[n++] = ids[i].number;
        pattern->ids[(size_t) ids[i].member * pattern->dims + dim] = n - 1;
    }
    pattern->values[dim] = values;
}

/* ---- boxes ---- */

static void set_tidy (struct number_set *set)
{
    if (set->loose)
        qsort (set->ids, set->n, sizeof *set->ids, u32_order);
    set->loose = false;
}

static void set_unite (struct number_set *set, const struct number_set *more, struct arena *arena)
{
    uint32_t *ids = set->ids, n = set->n + more->n, room = 1;
    while (room < set->n)
        room *= 2;
    if (room < n) {
        while (room < n)
            room *= 2;
        ids = arena_array (arena, room, sizeof *ids);
        memcpy (ids, set->ids, set->n * sizeof *ids);
    }
    memcpy (ids + set->n, more->ids, more->n * sizeof *ids);
    *set = (struct number_set){ ids, n, true };
}

static bool set_equal (struct number_set *set, const struct number_set *other)
{
    if (set->n != other->n)
        return false;
    set_tidy (set);
    return memcmp (set->ids, other->ids, set->n * sizeof *set->ids) == 0;
}

static uint64_t box_points (const struct number_set *box, uint32_t dims)
{
    uint64_t points = 1;
    for (uint32_t dim = 0; dim < dims; dim++)
        points *= box[dim].n;
    return points;
}

static int by_rule (const void *a, const void *b, void *owner)
{
    const struct hostset_pattern *pattern = owner;
    const struct number_set *left = a, *right = b;
    uint64_t in_left = box_points (left, pattern->dims), in_right = box_points (right, pattern->dims);
    int order = (in_left < in_right) - (in_left > in_right);
    for (; order == 0 && left < (const struct number_set *) a + pattern->dims; left++, right++) {
        const struct text *values = pattern->values[left - (const struct number_set *) a];
        order = (left->n < right->n) - (left->n > right->n);
        order = order ? order : text_compare (values[left->ids[0]], values[right->ids[0]]);
        order = order ? order : text_compare (values[left->ids[left->n - 1]], values[right->ids[right->n - 1]]);
    }
    return order;
}

/* Takes `other` in if it differs from `box` in only one coordinate. */
static bool box_take_in (struct number_set *box, struct number_set *other, uint32_t dims, struct arena *arena)
{
    uint32_t found = dims;
    for (uint32_t dim = 0; dim < dims; dim++)
        if (!set_equal (&box[dim], &other[dim])) {
            if (found < dims)
                return false;
            found = dim;
        }
    set_unite (&box[found], &other[found], arena);
    other->n = 0; /* gone */
    return true;
}

/* Each box takes in what follows it; `neighbours`: up to the first that does not fit. */
static bool boxes_pass (struct hostset_pattern *pattern, bool neighbours, struct arena *arena)
{
    uint32_t dims = pattern->dims, kept = 0;
    struct number_set *boxes = pattern->boxes, *end = boxes + (size_t) pattern->boxes_n * dims;
    qsort_r (boxes, pattern->boxes_n, dims * sizeof *boxes, by_rule, pattern);
    for (struct number_set *box = boxes; box < end; box += dims) {
        if (!box->n)
            continue;
        for (struct number_set *other = box + dims; other < end; other += dims)
            if (other->n && !box_take_in (box, other, dims, arena) &&
                (neighbours || pattern->pairs_left == 0 || --pattern->pairs_left == 0))
                break;
        for (uint32_t dim = 0; dim < dims; dim++)
            set_tidy (&box[dim]);
        memmove (boxes + (size_t) kept++ * dims, box, dims * sizeof *boxes);
    }
    bool changed = kept < pattern->boxes_n;
    pattern->boxes_n = kept;
    return changed;
}

/* Boxes of one coordinate always become one, of all its values: these are the ids in order. */
static void boxes_gather (struct hostset_pattern *pattern, struct arena *arena)
{
    bool one = pattern->dims == 1;
    size_t cells = (size_t) (one ? 1 : pattern->n) * pattern->dims;
    pattern->boxes = arena_array (arena, cells, sizeof *pattern->boxes);
    pattern->boxes_n = one ? 1 : pattern->n;
    pattern->pairs_left = PAIRS_MAX;
    for (size_t i = 0; i < cells; i++)
        pattern->boxes[i] = (struct number_set){ &pattern->ids[i], one ? pattern->n : 1, false };
    while (boxes_pass (pattern, true, arena))
        continue;
    while (boxes_pass (pattern, false, arena))
        continue;
}

static void pattern_from_members (struct hostset_pattern *pattern, const struct hostset_member *members, uint32_t n,
                                  struct arena *arena)
{
    *pattern = (struct hostset_pattern){ .members = members, .n = n };
    pattern->number_of = arena_array (arena, members[0].numbers_n, sizeof *pattern->number_of);
    for (uint32_t i = 0; n > 1 && i < members[0].numbers_n; i++)
        if (varies (pattern, i))
            pattern->number_of[pattern->dims++] = i;
    if (pattern->dims == 0)
        return;
    pattern->ids = arena_array (arena, (size_t) n * pattern->dims, sizeof *pattern->ids);
    pattern->values = arena_array (arena, pattern->dims, sizeof *pattern->values);
    LOCAL_MEM struct numbered *numbered = mem_array (n, sizeof *numbered);
    for (uint32_t dim = 0; dim < pattern->dims; dim++)
        make_values (pattern, dim, numbered, arena);
    boxes_gather (pattern, arena);
}

/* ---- each box as text ---- */

/* A run of numbers being made. Its first number's padding holds until a run of two or more ends or a number does not
 * fit, as in nodeset: so [98-99,100] stays in two parts after an 01. */
struct run {
    struct text low, high;
    uint64_t last;
    uint32_t width; /* padded to it; 0: none of it is padded */
    bool counts;    /* few enough digits for a range */
};

static bool hostset_fold_fits (const struct run *run, struct text number)
{
    return run->width ? number.len == run->width : !digits_are_padded (number);
}

static void run_begin (struct run *run, struct text number, bool anew)
{
    run->low = run->high = number;
    run->counts = number.len <= RANGE_DIGITS_MAX && text_to_u64 (number, &run->last);
    if (anew)
        run->width = digits_are_padded (number) ? number.len : 0;
}

static bool run_extend (struct run *run, struct text number)
{
    uint64_t value;
    if (!run->counts || !hostset_fold_fits (run, number) || number.len > RANGE_DIGITS_MAX ||
        !text_to_u64 (number, &value) || value != run->last + 1)
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
        run_begin (&run, number, run_is_range (&run) || !hostset_fold_fits (&run, number));
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
    const struct number_set *sets = pattern->dims ? pattern->boxes + (size_t) box * pattern->dims : NULL;
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

struct folding {
    struct arena arena;
    struct hostset_member *members;
    uint32_t n, at; /* families before `at` were given */
};

static void folding_begin (struct folding *folding, const struct text *names, uint32_t n)
{
    *folding = (struct folding){ 0 };
    folding->members = arena_array (&folding->arena, n, sizeof *folding->members);
    folding->n = members_make (names, n, folding->members, &folding->arena);
}

static bool folding_next (struct folding *folding, struct hostset_pattern *pattern)
{
    uint32_t from = folding->at, to = from;
    while (to < folding->n && text_equal (folding->members[from].pattern, folding->members[to].pattern))
        to++;
    folding->at = to;
    if (from < to)
        pattern_from_members (pattern, folding->members + from, to - from, &folding->arena);
    return from < to;
}

void hostset_fold (const struct text *names, uint32_t n, struct buf *out)
{
    struct folding folding;
    struct hostset_pattern pattern;
    const char *comma = "";
    folding_begin (&folding, names, n);
    while (folding_next (&folding, &pattern))
        for (uint32_t box = 0; box < pattern.boxes_n || (pattern.dims == 0 && box == 0); box++) {
            buf_puts (out, comma);
            write_box (&pattern, box, out);
            comma = ",";
        }
    arena_release (&folding.arena);
}

struct text hostset_folded (const struct text *names, uint32_t n, uint32_t max_bytes, struct arena *arena)
{
    LOCAL_BUF folded = { .max = FOLDED_MAX_BYTES };
    hostset_fold (names, n, &folded);
    return text_copy (arena, text_clip (buf_as_text (&folded), max_bytes));
}

void hostset_fold_escaped (const struct text *names, uint32_t n, uint32_t columns, struct buf *out)
{
    LOCAL_ARENA arena = { 0 };
    buf_escaped (out, hostset_folded (names, n, UINT32_MAX, &arena), columns);
}

static int compare_rows (const uint32_t *a, const uint32_t *b, uint32_t dims)
{
    for (uint32_t i = 0; i < dims; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

static struct text name_at (const struct hostset_pattern *pattern, const uint32_t *row)
{
    uint32_t low = 0, high = pattern->n;
    while (low + 1 < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare_rows (pattern->ids + (size_t) middle * pattern->dims, row, pattern->dims) <= 0)
            low = middle;
        else
            high = middle;
    }
    assert (compare_rows (pattern->ids + (size_t) low * pattern->dims, row, pattern->dims) == 0);
    return pattern->members[low].name;
}

static uint32_t add_product (const struct hostset_pattern *pattern, const struct number_set *sets, uint32_t dim,
                             uint32_t *row, struct text *out)
{
    uint32_t n = 0;
    if (dim == pattern->dims) {
        *out = name_at (pattern, row);
        return 1;
    }
    for (uint32_t i = 0; i < sets[dim].n; i++) {
        row[dim] = sets[dim].ids[i];
        n += add_product (pattern, sets, dim + 1, row, out + n);
    }
    return n;
}

/* Appends the members of a box in the order of its product to `out`; returns how many. */
static uint32_t box_members (const struct hostset_pattern *pattern, uint32_t box, struct text *out)
{
    LOCAL_MEM uint32_t *row = mem_array (pattern->dims, sizeof *row);
    return add_product (pattern, pattern->boxes + (size_t) box * pattern->dims, 0, row, out);
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
        for (uint32_t box = 0; box < pattern.boxes_n; box++)
            sorted += box_members (&pattern, box, names + sorted);
    }
    arena_release (&folding.arena);
    return sorted;
}
