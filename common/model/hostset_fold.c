/* The writing half of hostset.h. Sorting does all the work: names that differ in the same number lie side by side once
 * they are ordered by what surrounds it, so thousands of names cost a few sorts and never a comparison of all pairs. */
#include "common/model/hostset.h"

#include <stdlib.h>
#include <string.h>

enum { RANGE_DIGITS_MAX = 18 }; /* as in hostset_expand */

/* A name, in an array in natural order. `at` and `len` are the number looked at; members of a group are chained from
 * its smallest one. */
struct member {
    struct text name;
    uint32_t at, len;
    struct member *next;
    bool follows;
};

static bool is_digit (char c)
{
    return c >= '0' && c <= '9';
}

static uint32_t digits_from (struct text name, uint32_t at)
{
    uint32_t end = at;
    while (end < name.len && is_digit (name.ptr[end]))
        end++;
    return end - at;
}

/* By value, of any length: without its zeros the longer number is the larger one. */
static int compare_numbers (struct text a, struct text b)
{
    while (a.len > 1 && a.ptr[0] == '0')
        a = (struct text) { a.ptr + 1, a.len - 1 };
    while (b.len > 1 && b.ptr[0] == '0')
        b = (struct text) { b.ptr + 1, b.len - 1 };
    if (a.len != b.len)
        return a.len < b.len ? -1 : 1;
    return text_compare (a, b);
}

static int compare_natural (struct text a, struct text b)
{
    uint32_t i = 0, j = 0;
    while (i < a.len && j < b.len) {
        uint32_t a_digits = digits_from (a, i), b_digits = digits_from (b, j);
        if (a_digits && b_digits) {
            int order = compare_numbers ((struct text) { a.ptr + i, a_digits }, (struct text) { b.ptr + j, b_digits });
            if (order != 0)
                return order;
            i += a_digits;
            j += b_digits;
        } else if (a.ptr[i] != b.ptr[j]) {
            return (unsigned char) a.ptr[i] < (unsigned char) b.ptr[j] ? -1 : 1;
        } else {
            i++;
            j++;
        }
    }
    if ((i < a.len) != (j < b.len))
        return i < a.len ? 1 : -1;
    return text_compare (a, b); /* equal but for the padding */
}

static int by_nature (const void *a, const void *b)
{
    return compare_natural (((const struct member *) a)->name, ((const struct member *) b)->name);
}

static struct text before_number (const struct member *member)
{
    return (struct text) { member->name.ptr, member->at };
}

static struct text behind_number (const struct member *member)
{
    uint32_t end = member->at + member->len;
    return (struct text) { member->name.ptr + end, member->name.len - end };
}

static struct text number_of (const struct member *member)
{
    return (struct text) { member->name.ptr + member->at, member->len };
}

static int compare_surroundings (const struct member *a, const struct member *b)
{
    int order = text_compare (before_number (a), before_number (b));
    return order ? order : text_compare (behind_number (a), behind_number (b));
}

/* Within equal surroundings the natural order is that of the array. */
static int by_surroundings (const void *a, const void *b)
{
    const struct member *left = *(struct member *const *) a, *right = *(struct member *const *) b;
    int order = compare_surroundings (left, right);
    return order ? order : (left > right) - (left < right);
}

/* Finds the number that is `skip` numbers away from the last one; false when there are not so many. */
static bool look_at_number (struct member *member, uint32_t skip)
{
    uint32_t end = member->name.len;
    while (end > 0) {
        uint32_t start = end;
        while (start > 0 && is_digit (member->name.ptr[start - 1]))
            start--;
        if (start < end && skip-- == 0) {
            member->at = start;
            member->len = end - start;
            return true;
        }
        end = start < end ? start : end - 1;
    }
    return false;
}

static void chain (struct member **open, uint32_t from, uint32_t to)
{
    for (uint32_t i = from + 1; i < to; i++) {
        open[i - 1]->next = open[i];
        open[i]->follows = true;
    }
}

/* Groups those still alone that differ only in their number `skip`; false when none has such a number. */
static bool group_on (struct member *members, uint32_t n, struct member **open, uint32_t skip)
{
    uint32_t open_n = 0, from = 0;
    for (uint32_t i = 0; i < n; i++)
        if (!members[i].next && !members[i].follows && look_at_number (&members[i], skip))
            open[open_n++] = &members[i];
    qsort (open, open_n, sizeof *open, by_surroundings);
    for (uint32_t i = 1; i <= open_n; i++)
        if (i == open_n || compare_surroundings (open[from], open[i]) != 0) {
            chain (open, from, i);
            from = i;
        }
    return open_n > 0;
}

/* May `b` stand behind `a` in a range that began with `first`? Ranges pad every number to the width of the first. */
static bool continues (const struct member *first, const struct member *a, const struct member *b)
{
    uint64_t left, right;
    struct text low = number_of (first), number = number_of (b);
    bool low_padded = low.len > 1 && low.ptr[0] == '0', padded = number.len > 1 && number.ptr[0] == '0';
    if (number.len > RANGE_DIGITS_MAX || low.len > RANGE_DIGITS_MAX || (padded && !low_padded))
        return false;
    if (low_padded && number.len != low.len)
        return false;
    return text_to_u64 (number_of (a), &left) && text_to_u64 (number, &right) && right == left + 1;
}

static void write_group (const struct member *first, struct buf *out)
{
    buf_text (out, before_number (first));
    buf_byte (out, '[');
    for (const struct member *low = first, *high; low; low = high->next) {
        for (high = low; high->next && continues (low, high, high->next);)
            high = high->next;
        if (low != first)
            buf_byte (out, ',');
        buf_text (out, number_of (low));
        if (high == low)
            continue;
        buf_byte (out, '-');
        buf_text (out, number_of (high));
    }
    buf_byte (out, ']');
    buf_text (out, behind_number (first));
}

static uint32_t sort_unique (struct member *members, uint32_t n)
{
    uint32_t kept = 0;
    qsort (members, n, sizeof *members, by_nature);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || !text_equal (members[kept - 1].name, members[i].name))
            members[kept++] = members[i];
    return kept;
}

void hostset_fold (const struct text *names, uint32_t n, struct buf *out)
{
    struct member *members = mem_array (n, sizeof *members);
    struct member **open = mem_array (n, sizeof *open);
    for (uint32_t i = 0; i < n; i++)
        members[i].name = names[i];
    n = sort_unique (members, n);
    for (uint32_t skip = 0; group_on (members, n, open, skip);)
        skip++;
    const char *comma = "";
    for (uint32_t i = 0; i < n; i++) {
        if (members[i].follows)
            continue;
        buf_puts (out, comma);
        comma = ",";
        if (members[i].next)
            write_group (&members[i], out);
        else
            buf_text (out, members[i].name);
    }
    mem_free (open);
    mem_free (members);
}
