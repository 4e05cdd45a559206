#include "common/model/hostset_box.h"

#include <stdlib.h>
#include <string.h>

#include "common/model/number_set_pool.h"

/* The boxes of one moment, in order; a pass reads one and writes the next. */
struct gathering {
    const struct hostset_points *points;
    uint32_t dims, n;
    uint32_t *rows; /* n x dims indices of sets */
    uint32_t *next; /* what the pass writes */
    uint32_t next_n;
    uint32_t *keys; /* for sorting: n rows of KEY_FIXED + KEY_A_DIM * dims, each rising */
    uint32_t *order;
    struct number_set_pool sets;
    struct number_set_builder *grown; /* the box that takes others in, per coordinate; n == 0: as in its row */
    struct lookup *lookup;            /* per coordinate */
    bool *gone;                       /* per box: taken in during this pass */
    uint64_t *hashes;                 /* per box: the sum over its coordinates */
};
enum { KEY_FIXED = 1, KEY_A_DIM = 3 };

/* Boxes that are equal but for one coordinate, found by the hash of the others. */
struct lookup {
    uint32_t *slots, slots_n; /* index of a family + 1 */
    uint32_t *family_of;      /* per box */
    uint32_t *begins;         /* per family and one more: where its boxes begin in `members` */
    uint32_t *members;        /* boxes, rising within a family */
    uint32_t *jump;           /* per place in `members`: the next place that may not be gone */
    uint32_t families_n;
};

static uint32_t set_at (const struct gathering *gathering, uint32_t box, uint32_t dim)
{
    return gathering->rows[(size_t) box * gathering->dims + dim];
}

/* ---- order ---- */

static void make_key (struct gathering *gathering, uint32_t box)
{
    uint32_t dims = gathering->dims, *key = gathering->keys + (size_t) box * (KEY_FIXED + KEY_A_DIM * dims);
    uint32_t points = 1, *at = key + KEY_FIXED;
    for (uint32_t dim = 0; dim < dims; dim++, at += KEY_A_DIM) {
        const struct number_set *set = &gathering->sets.items[set_at (gathering, box, dim)].is;
        points *= set->n; /* at most the points there are */
        at[0] = UINT32_MAX - set->n;
        at[1] = gathering->points->rank[dim][set->ids[0]];
        at[2] = gathering->points->rank[dim][set->ids[set->n - 1]];
    }
    key[0] = UINT32_MAX - points;
}

static int by_key (const void *a, const void *b, void *owner)
{
    const struct gathering *gathering = owner;
    uint32_t words = KEY_FIXED + KEY_A_DIM * gathering->dims;
    const uint32_t *left = gathering->keys + (size_t) * (const uint32_t *) a * words;
    const uint32_t *right = gathering->keys + (size_t) * (const uint32_t *) b * words;
    for (uint32_t i = 0; i < words; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

static void swap_rows (struct gathering *gathering)
{
    uint32_t *rows = gathering->rows;
    gathering->rows = gathering->next;
    gathering->next = rows;
}

static void sort (struct gathering *gathering)
{
    size_t row = gathering->dims;
    for (uint32_t i = 0; i < gathering->n; i++) {
        gathering->order[i] = i;
        make_key (gathering, i);
    }
    qsort_r (gathering->order, gathering->n, sizeof *gathering->order, by_key, gathering);
    for (uint32_t i = 0; i < gathering->n; i++)
        memcpy (gathering->next + i * row, gathering->rows + gathering->order[i] * row, row * sizeof *gathering->rows);
    swap_rows (gathering);
}

/* ---- the box in hand, which takes others in ---- */

static void begin_box (struct gathering *gathering)
{
    for (uint32_t dim = 0; dim < gathering->dims; dim++)
        gathering->grown[dim].n = 0;
}

/* Its set in a coordinate; NUMBER_SET_NONE: one that no other box has. */
static uint32_t set_in_hand (struct gathering *gathering, uint32_t box, uint32_t dim)
{
    struct number_set_builder *set_builder = &gathering->grown[dim];
    return set_builder->n ? number_set_builder_find (set_builder, &gathering->sets) : set_at (gathering, box, dim);
}

static void take_in (struct gathering *gathering, uint32_t box, uint32_t other, uint32_t dim)
{
    struct number_set_builder *set_builder = &gathering->grown[dim];
    if (set_builder->n == 0)
        number_set_builder_begin (set_builder, &gathering->sets, set_at (gathering, box, dim));
    number_set_builder_add (set_builder, &gathering->sets, set_at (gathering, other, dim));
    gathering->gone[other] = true;
}

static void end_box (struct gathering *gathering, uint32_t box)
{
    uint32_t *row = gathering->next + (size_t) gathering->next_n++ * gathering->dims;
    for (uint32_t dim = 0; dim < gathering->dims; dim++) {
        struct number_set_builder *set_builder = &gathering->grown[dim];
        row[dim] = set_builder->n ? number_set_builder_find_or_add (set_builder, &gathering->sets)
                                  : set_at (gathering, box, dim);
    }
}

/* The one coordinate in which they differ, or `dims`. The others equal, that one is disjoint: the boxes are. */
static uint32_t only_difference (struct gathering *gathering, uint32_t box, uint32_t other)
{
    uint32_t found = gathering->dims;
    for (uint32_t dim = 0; dim < gathering->dims; dim++) {
        if (set_in_hand (gathering, box, dim) == set_at (gathering, other, dim))
            continue;
        if (found < gathering->dims)
            return gathering->dims;
        found = dim;
    }
    return found;
}

static bool end_pass (struct gathering *gathering)
{
    bool changed = gathering->next_n < gathering->n;
    gathering->n = gathering->next_n;
    swap_rows (gathering);
    return changed;
}

/* ---- the pass over neighbours ---- */

static bool neighbours_pass (struct gathering *gathering)
{
    gathering->next_n = 0;
    for (uint32_t box = 0, other; box < gathering->n; box = other) {
        begin_box (gathering);
        for (other = box + 1; other < gathering->n; other++) {
            uint32_t dim = only_difference (gathering, box, other);
            if (dim == gathering->dims)
                break;
            take_in (gathering, box, other, dim);
        }
        end_box (gathering, box);
    }
    return end_pass (gathering);
}

/* ---- the pass over all ---- */

static uint64_t hash_at (uint32_t dim, uint32_t set)
{
    return hash_number (((uint64_t) dim << 32) | set);
}

static bool alike_but (const struct gathering *gathering, const uint32_t *row, uint32_t box, uint32_t but)
{
    for (uint32_t dim = 0; dim < gathering->dims; dim++)
        if (dim != but && row[dim] != set_at (gathering, box, dim))
            return false;
    return true;
}

/* The slot of the family of `row`, which may be free. */
static uint32_t family_slot (const struct gathering *gathering, uint32_t dim, const uint32_t *row, uint64_t hash)
{
    const struct lookup *lookup = &gathering->lookup[dim];
    uint32_t mask = lookup->slots_n - 1, slot = (uint32_t) hash_number (hash) & mask;
    for (; lookup->slots[slot]; slot = (slot + 1) & mask)
        if (alike_but (gathering, row, lookup->members[lookup->begins[lookup->slots[slot] - 1]], dim))
            break;
    return slot;
}

/* While families are being found, members[begins[f]] = members[f] is the first box of family f. */
static void find_families (struct gathering *gathering, uint32_t dim)
{
    struct lookup *lookup = &gathering->lookup[dim];
    memset (lookup->slots, 0, lookup->slots_n * sizeof *lookup->slots);
    lookup->families_n = 0;
    for (uint32_t box = 0; box < gathering->n; box++) {
        const uint32_t *row = gathering->rows + (size_t) box * gathering->dims;
        uint32_t slot = family_slot (gathering, dim, row, gathering->hashes[box] - hash_at (dim, row[dim]));
        if (lookup->slots[slot] == 0) {
            lookup->begins[lookup->families_n] = lookup->families_n;
            lookup->members[lookup->families_n] = box;
            lookup->slots[slot] = ++lookup->families_n;
        }
        lookup->family_of[box] = lookup->slots[slot] - 1;
    }
}

static void fill_families (struct gathering *gathering, uint32_t dim)
{
    struct lookup *lookup = &gathering->lookup[dim];
    memset (lookup->begins, 0, (lookup->families_n + 1) * sizeof *lookup->begins);
    for (uint32_t box = 0; box < gathering->n; box++)
        lookup->begins[lookup->family_of[box] + 1]++;
    for (uint32_t family = 0; family < lookup->families_n; family++)
        lookup->begins[family + 1] += lookup->begins[family];
    for (uint32_t box = gathering->n; box-- > 0;) /* backwards, taking from the ends, which become the beginnings */
        lookup->members[--lookup->begins[lookup->family_of[box] + 1]] = box;
    memmove (lookup->begins, lookup->begins + 1, lookup->families_n * sizeof *lookup->begins);
    lookup->begins[lookup->families_n] = gathering->n;
    for (uint32_t i = 0; i <= gathering->n; i++)
        lookup->jump[i] = i;
}

static void begin_lookups (struct gathering *gathering)
{
    memset (gathering->gone, 0, gathering->n * sizeof *gathering->gone);
    for (uint32_t box = 0; box < gathering->n; box++) {
        gathering->hashes[box] = 0;
        for (uint32_t dim = 0; dim < gathering->dims; dim++)
            gathering->hashes[box] += hash_at (dim, set_at (gathering, box, dim));
    }
    for (uint32_t dim = 0; dim < gathering->dims; dim++) {
        find_families (gathering, dim);
        fill_families (gathering, dim);
    }
}

/* The first place from `place` on whose box is not gone; what was passed is passed quickly the next time. */
static uint32_t skip_gone (struct gathering *gathering, struct lookup *lookup, uint32_t place)
{
    uint32_t end = place;
    while (end < gathering->n && (lookup->jump[end] != end || gathering->gone[lookup->members[end]]))
        end = lookup->jump[end] != end ? lookup->jump[end] : end + 1;
    while (place < end) {
        uint32_t next = lookup->jump[place] != place ? lookup->jump[place] : place + 1;
        lookup->jump[place] = end;
        place = next;
    }
    return end;
}

/* The first box behind `after` that is still there, in a family; n: none. */
static uint32_t next_in_family (struct gathering *gathering, uint32_t dim, uint32_t family, uint32_t after)
{
    struct lookup *lookup = &gathering->lookup[dim];
    uint32_t low = lookup->begins[family], end = lookup->begins[family + 1], high = end;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (lookup->members[middle] <= after)
            low = middle + 1;
        else
            high = middle;
    }
    low = low < end ? skip_gone (gathering, lookup, low) : end;
    return low < end ? lookup->members[low] : gathering->n;
}

/* The box in hand as others see it; false: a coordinate other than `but` is like nobody's. */
static bool row_in_hand (struct gathering *gathering, uint32_t box, uint32_t but, uint32_t *row, uint64_t *hash)
{
    *hash = 0;
    for (uint32_t dim = 0; dim < gathering->dims; dim++) {
        if (dim == but)
            continue;
        row[dim] = set_in_hand (gathering, box, dim);
        if (row[dim] == NUMBER_SET_NONE)
            return false;
        *hash += hash_at (dim, row[dim]);
    }
    return true;
}

/* The next box that differs from the one in hand in `dim` only. */
static uint32_t next_alike (struct gathering *gathering, uint32_t box, uint32_t dim, uint32_t after, uint32_t *row)
{
    const struct lookup *lookup = &gathering->lookup[dim];
    uint64_t hash;
    bool grown = false;
    for (uint32_t other = 0; other < gathering->dims; other++)
        grown = grown || (other != dim && gathering->grown[other].n > 0);
    if (!grown)
        return next_in_family (gathering, dim, lookup->family_of[box], after);
    if (!row_in_hand (gathering, box, dim, row, &hash))
        return gathering->n;
    uint32_t family = lookup->slots[family_slot (gathering, dim, row, hash)];
    return family ? next_in_family (gathering, dim, family - 1, after) : gathering->n;
}

static void gather_into (struct gathering *gathering, uint32_t box, uint32_t *row)
{
    begin_box (gathering);
    for (uint32_t after = box;;) {
        uint32_t nearest = gathering->n, in = 0;
        for (uint32_t dim = 0; dim < gathering->dims; dim++) {
            uint32_t found = next_alike (gathering, box, dim, after, row);
            if (found < nearest) {
                nearest = found;
                in = dim;
            }
        }
        if (nearest == gathering->n)
            break;
        take_in (gathering, box, nearest, in);
        after = nearest;
    }
    end_box (gathering, box);
}

static bool full_pass (struct gathering *gathering, uint32_t *row)
{
    gathering->next_n = 0;
    begin_lookups (gathering);
    for (uint32_t box = 0; box < gathering->n; box++)
        if (!gathering->gone[box])
            gather_into (gathering, box, row);
    return end_pass (gathering);
}

/* ---- all of it ---- */

static void init_lookup (struct lookup *lookup, uint32_t n, struct arena *arena)
{
    lookup->slots_n = 16;
    while (lookup->slots_n < 2 * n)
        lookup->slots_n *= 2;
    lookup->slots = arena_array (arena, lookup->slots_n, sizeof *lookup->slots);
    lookup->family_of = arena_array (arena, n, sizeof *lookup->family_of);
    lookup->begins = arena_array (arena, (size_t) n + 1, sizeof *lookup->begins);
    lookup->members = arena_array (arena, (size_t) n + 1, sizeof *lookup->members);
    lookup->jump = arena_array (arena, (size_t) n + 1, sizeof *lookup->jump);
}

static void init (struct gathering *gathering, const struct hostset_points *points, struct arena *scratch,
                  struct arena *arena)
{
    uint32_t values = 0;
    size_t cells = (size_t) points->n * points->dims;
    for (uint32_t dim = 0; dim < points->dims; dim++)
        values = points->values_n[dim] > values ? points->values_n[dim] : values;
    *gathering = (struct gathering){ .points = points, .dims = points->dims, .n = points->n };
    number_set_pool_init (&gathering->sets, values, arena);
    gathering->rows = arena_copy (scratch, points->ids, cells * sizeof *gathering->rows);
    gathering->next = arena_array (scratch, cells, sizeof *gathering->next);
    gathering->keys = arena_array (scratch, points->n + KEY_A_DIM * cells, sizeof *gathering->keys);
    gathering->order = arena_array (scratch, points->n, sizeof *gathering->order);
    gathering->grown = arena_array (scratch, points->dims, sizeof *gathering->grown);
    gathering->gone = arena_array (scratch, points->n, sizeof *gathering->gone);
    gathering->hashes = arena_array (scratch, points->n, sizeof *gathering->hashes);
    gathering->lookup = arena_array (scratch, points->dims, sizeof *gathering->lookup);
}

static void gather (struct gathering *gathering, struct arena *scratch)
{
    uint32_t *row = arena_array (scratch, gathering->dims, sizeof *row);
    do
        sort (gathering);
    while (neighbours_pass (gathering));
    for (uint32_t dim = 0; dim < gathering->dims; dim++)
        init_lookup (&gathering->lookup[dim], gathering->n, scratch);
    while (full_pass (gathering, row))
        sort (gathering);
}

void boxes_gather (const struct hostset_points *points, struct arena *arena, struct hostset_boxes *boxes)
{
    struct arena scratch = { 0 };
    struct gathering gathering;
    init (&gathering, points, &scratch, arena);
    gather (&gathering, &scratch);
    size_t cells = (size_t) gathering.n * gathering.dims;
    *boxes = (struct hostset_boxes){ gathering.n, arena_array (arena, cells, sizeof *boxes->sets) };
    for (size_t i = 0; i < cells; i++)
        boxes->sets[i] = gathering.sets.items[gathering.rows[i]].is;
    for (uint32_t dim = 0; dim < gathering.dims; dim++)
        number_set_builder_release (&gathering.grown[dim]);
    number_set_pool_release (&gathering.sets);
    arena_release (&scratch);
}
