#include "common/model/hostset_pattern.h"

#include <assert.h>
#include <stdlib.h>

#include "common/model/hostset_scan.h"

static uint32_t digits_from (struct text name, uint32_t at)
{
    uint32_t end = at;
    while (end < name.len && is_digit (name.ptr[end]))
        end++;
    return end - at;
}

static uint32_t count_numbers (struct text name)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < name.len; i++)
        n += is_digit (name.ptr[i]) && (i == 0 || !is_digit (name.ptr[i - 1]));
    return n;
}

static void make_member (struct hostset_member *member, struct text name, struct arena *arena)
{
    struct text *numbers = arena_array (arena, count_numbers (name), sizeof *numbers);
    char *pattern = arena_alloc (arena, 2 * (size_t) name.len);
    *member = (struct hostset_member){ .name = name, .numbers = numbers };
    uint32_t len = 0;
    for (uint32_t i = 0, digits; i < name.len; i += digits ? digits : 1) {
        digits = digits_from (name, i);
        if (digits)
            numbers[member->numbers_n++] = (struct text){ name.ptr + i, digits };
        pattern[len++] = digits ? '%' : name.ptr[i];
        if (digits || name.ptr[i] == '%')
            pattern[len++] = digits ? 's' : '%';
    }
    member->pattern = (struct text){ pattern, len };
}

int digits_compare (struct text a, struct text b)
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

/* Names mostly come in their order: then one look at each is enough. */
static void sort_unless_sorted (void *items, uint32_t n, size_t item_bytes, int (*order) (const void *, const void *))
{
    const char *at = items;
    for (uint32_t i = 1; i < n; i++, at += item_bytes)
        if (order (at, at + item_bytes) > 0) {
            qsort (items, n, item_bytes, order);
            return;
        }
}

bool hostset_members_alike (const struct hostset_member *a, const struct hostset_member *b)
{
    return text_equal (a->pattern, b->pattern);
}

uint32_t hostset_members_make (const struct text *of, uint32_t n, struct hostset_member *members, struct arena *arena)
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

static int by_bytes (const void *a, const void *b)
{
    return text_compare (((const struct numbered *) a)->number, ((const struct numbered *) b)->number);
}

static bool varies (const struct hostset_pattern *pattern, uint32_t number)
{
    for (uint32_t i = 1; i < pattern->n; i++)
        if (!text_equal (pattern->members[i].numbers[number], pattern->members[0].numbers[number]))
            return true;
    return false;
}

/* Numbers the values of a coordinate in rising order; `numbered` is scratch for them. Returns how many differ. */
static uint32_t make_values (struct hostset_pattern *pattern, uint32_t dim, struct numbered *ids, struct arena *arena)
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
    return n;
}

static const uint32_t *make_rank (const struct text *values, uint32_t n, struct numbered *numbered, struct arena *arena)
{
    uint32_t *rank = arena_array (arena, n, sizeof *rank);
    for (uint32_t i = 0; i < n; i++)
        numbered[i] = (struct numbered){ values[i], i };
    qsort (numbered, n, sizeof *numbered, by_bytes);
    for (uint32_t i = 0; i < n; i++)
        rank[numbered[i].member] = i;
    return rank;
}

/* One coordinate: all its values are one box, without looking for it. */
static void make_row (struct hostset_pattern *pattern, uint32_t values_n, struct arena *arena)
{
    uint32_t *ids = arena_array (arena, values_n, sizeof *ids);
    for (uint32_t i = 0; i < values_n; i++)
        ids[i] = i;
    pattern->boxes = (struct hostset_boxes){ 1, arena_array (arena, 1, sizeof *pattern->boxes.sets) };
    pattern->boxes.sets[0] = (struct number_set){ ids, values_n };
}

static void make_boxes (struct hostset_pattern *pattern, struct arena *arena)
{
    struct arena scratch = { 0 };
    struct numbered *numbered = arena_array (&scratch, pattern->n, sizeof *numbered);
    uint32_t *values_n = arena_array (&scratch, pattern->dims, sizeof *values_n);
    const uint32_t **rank = arena_array (&scratch, pattern->dims, sizeof *rank);
    for (uint32_t dim = 0; dim < pattern->dims; dim++) {
        values_n[dim] = make_values (pattern, dim, numbered, arena);
        if (pattern->dims > 1)
            rank[dim] = make_rank (pattern->values[dim], values_n[dim], numbered, &scratch);
    }
    const struct hostset_points points = { pattern->n, pattern->dims, pattern->ids, values_n, rank };
    if (pattern->dims == 1)
        make_row (pattern, values_n[0], arena);
    else
        boxes_gather (&points, arena, &pattern->boxes);
    arena_release (&scratch);
}

void hostset_pattern_from_members (struct hostset_pattern *pattern, const struct hostset_member *members, uint32_t n,
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
    make_boxes (pattern, arena);
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

uint32_t hostset_pattern_box_members (const struct hostset_pattern *pattern, uint32_t box, struct text *out)
{
    uint32_t *row = mem_array (pattern->dims, sizeof *row);
    uint32_t n = add_product (pattern, pattern->boxes.sets + (size_t) box * pattern->dims, 0, row, out);
    mem_free (row);
    return n;
}
