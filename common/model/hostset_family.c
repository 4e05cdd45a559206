#include "common/model/hostset_family.h"

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

static void make_member (struct member *member, struct text name, struct arena *arena)
{
    struct text *numbers = arena_array (arena, count_numbers (name), sizeof *numbers);
    char *pattern = arena_alloc (arena, 2 * (size_t) name.len);
    *member = (struct member){ .name = name, .numbers = numbers };
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

int number_compare (struct text a, struct text b)
{
    return a.len != b.len ? (a.len < b.len ? -1 : 1) : text_compare (a, b);
}

static int by_pattern (const void *a, const void *b)
{
    const struct member *left = a, *right = b;
    int order = text_compare (left->pattern, right->pattern);
    for (uint32_t i = 0; order == 0 && i < left->numbers_n; i++)
        order = number_compare (left->numbers[i], right->numbers[i]);
    return order;
}

bool members_alike (const struct member *a, const struct member *b)
{
    return text_equal (a->pattern, b->pattern);
}

uint32_t members_make (const struct text *names, uint32_t n, struct member *members, struct arena *arena)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++)
        make_member (&members[i], names[i], arena);
    qsort (members, n, sizeof *members, by_pattern);
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
    return number_compare (((const struct numbered *) a)->number, ((const struct numbered *) b)->number);
}

static int by_bytes (const void *a, const void *b)
{
    return text_compare (((const struct numbered *) a)->number, ((const struct numbered *) b)->number);
}

static bool varies (const struct family *family, uint32_t number)
{
    for (uint32_t i = 1; i < family->n; i++)
        if (!text_equal (family->members[i].numbers[number], family->members[0].numbers[number]))
            return true;
    return false;
}

/* Numbers the values of a coordinate in rising order; `numbered` is scratch for them. Returns how many differ. */
static uint32_t make_values (struct family *family, uint32_t dim, struct numbered *numbered, struct arena *arena)
{
    uint32_t n = 0, number = family->number_of[dim];
    for (uint32_t i = 0; i < family->n; i++)
        numbered[i] = (struct numbered){ family->members[i].numbers[number], i };
    qsort (numbered, family->n, sizeof *numbered, by_number);
    struct text *values = arena_array (arena, family->n, sizeof *values);
    for (uint32_t i = 0; i < family->n; i++) {
        if (n == 0 || !text_equal (values[n - 1], numbered[i].number))
            values[n++] = numbered[i].number;
        family->ids[(size_t) numbered[i].member * family->dims + dim] = n - 1;
    }
    family->values[dim] = values;
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
static void make_row (struct family *family, uint32_t values_n, struct arena *arena)
{
    uint32_t *ids = arena_array (arena, values_n, sizeof *ids);
    for (uint32_t i = 0; i < values_n; i++)
        ids[i] = i;
    family->boxes = (struct boxes){ 1, arena_array (arena, 1, sizeof *family->boxes.sets) };
    family->boxes.sets[0] = (struct value_set){ ids, values_n };
}

static void make_boxes (struct family *family, struct arena *arena)
{
    struct arena scratch = { 0 };
    struct numbered *numbered = arena_array (&scratch, family->n, sizeof *numbered);
    uint32_t *values_n = arena_array (&scratch, family->dims, sizeof *values_n);
    const uint32_t **rank = arena_array (&scratch, family->dims, sizeof *rank);
    for (uint32_t dim = 0; dim < family->dims; dim++) {
        values_n[dim] = make_values (family, dim, numbered, arena);
        rank[dim] = make_rank (family->values[dim], values_n[dim], numbered, &scratch);
    }
    const struct points points = { family->n, family->dims, family->ids, values_n, rank };
    if (family->dims == 1)
        make_row (family, values_n[0], arena);
    else
        boxes_gather (&points, arena, &family->boxes);
    arena_release (&scratch);
}

void family_make (struct family *family, const struct member *members, uint32_t n, struct arena *arena)
{
    *family = (struct family){ .members = members, .n = n };
    family->number_of = arena_array (arena, members[0].numbers_n, sizeof *family->number_of);
    for (uint32_t i = 0; n > 1 && i < members[0].numbers_n; i++)
        if (varies (family, i))
            family->number_of[family->dims++] = i;
    if (family->dims == 0)
        return;
    family->ids = arena_array (arena, (size_t) n * family->dims, sizeof *family->ids);
    family->values = arena_array (arena, family->dims, sizeof *family->values);
    make_boxes (family, arena);
}

static int compare_rows (const uint32_t *a, const uint32_t *b, uint32_t dims)
{
    for (uint32_t i = 0; i < dims; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

static struct text name_at (const struct family *family, const uint32_t *row)
{
    uint32_t low = 0, high = family->n;
    while (low + 1 < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare_rows (family->ids + (size_t) middle * family->dims, row, family->dims) <= 0)
            low = middle;
        else
            high = middle;
    }
    assert (compare_rows (family->ids + (size_t) low * family->dims, row, family->dims) == 0);
    return family->members[low].name;
}

static uint32_t add_product (const struct family *family, const struct value_set *sets, uint32_t dim, uint32_t *row,
                             struct text *out)
{
    uint32_t n = 0;
    if (dim == family->dims) {
        *out = name_at (family, row);
        return 1;
    }
    for (uint32_t i = 0; i < sets[dim].n; i++) {
        row[dim] = sets[dim].ids[i];
        n += add_product (family, sets, dim + 1, row, out + n);
    }
    return n;
}

uint32_t family_members_of (const struct family *family, uint32_t box, struct text *out)
{
    uint32_t *row = mem_array (family->dims, sizeof *row);
    uint32_t n = add_product (family, family->boxes.sets + (size_t) box * family->dims, 0, row, out);
    mem_free (row);
    return n;
}
