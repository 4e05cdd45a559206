/* The reading half of hostset.h; hostset_fold.c is the writing half. */
#include "common/model/hostset.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends of ranges are counted in uint64_t; longer numbers stand alone. */
enum { RANGE_DIGITS_MAX = 18, SHOWN_COLUMNS = 40 };

/* An expression while it is read; `names` are those found so far, behind the ones that were there before. */
struct scan {
    struct text all;
    uint32_t at;
    struct arena *arena;
    struct name_list names;
    uint32_t capacity;
    struct err *err;
};

/* An item: the characters before and behind its bracket group (both, without one, in `prefix`). */
struct item {
    struct text prefix, group, suffix;
    uint32_t group_at;
    bool bracket;
};

static bool is_digit (char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_character (char c)
{
    return is_digit (c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' || c == '-';
}

bool host_name_valid (struct text name)
{
    if (name.len == 0 || name.len > HOST_NAME_MAX_BYTES || name.ptr[0] == '-' || name.ptr[0] == '.')
        return false;
    for (uint32_t i = 0; i < name.len; i++)
        if (!is_name_character (name.ptr[i]))
            return false;
    return true;
}

static struct text part (struct text text, uint32_t from, uint32_t to)
{
    return (struct text) { .ptr = text.ptr + from, .len = to - from };
}

/* Fails at a place: people count characters from 1, and see what stands there. */
static int refuse (const struct scan *scan, enum err_code code, uint32_t at, const char *what)
{
    struct buf shown;
    buf_init (&shown, 1024);
    if (at < scan->all.len)
        buf_escaped (&shown, part (scan->all, at, scan->all.len), SHOWN_COLUMNS);
    err_set (scan->err, code, "host set, character %" PRIu32 " (%s%s): %s", at + 1,
             at < scan->all.len ? "at " : "the end", buf_c (&shown), what);
    buf_release (&shown);
    return -1;
}

static int add_name (struct scan *scan, const struct item *item, struct text number, uint32_t at)
{
    char name[HOST_NAME_MAX_BYTES + 1];
    int len = snprintf (name, sizeof name, "%.*s%.*s%.*s", TEXT_ARG (item->prefix), TEXT_ARG (number),
                        TEXT_ARG (item->suffix));
    if (len < 0 || (size_t) len >= sizeof name)
        return refuse (scan, ERR_PARSE, at, "the name would be longer than 63 characters");
    struct text text = { .ptr = name, .len = (uint32_t) len };
    if (!host_name_valid (text))
        return refuse (scan, ERR_PARSE, at, "a host name was expected: letters, digits, '.', '_', '-', not '-' or '.' first");
    if (scan->names.n == HOSTS_MAX)
        return refuse (scan, ERR_LIMIT, at, "more than 4096 hosts: split the slice");
    if (scan->names.n == scan->capacity) {
        scan->capacity = scan->capacity ? 2 * scan->capacity : 16;
        scan->names.items = mem_grow (scan->names.items, scan->capacity, sizeof *scan->names.items);
    }
    scan->names.items[scan->names.n++] = text_copy (scan->arena, text);
    return 0;
}

static bool is_number (struct text text)
{
    for (uint32_t i = 0; i < text.len; i++)
        if (!is_digit (text.ptr[i]))
            return false;
    return text.len > 0;
}

static bool is_padded (struct text number)
{
    return number.len > 1 && number.ptr[0] == '0';
}

static int add_range (struct scan *scan, const struct item *item, struct text low, struct text high, uint32_t at)
{
    uint64_t first, last;
    if (low.len > RANGE_DIGITS_MAX || high.len > RANGE_DIGITS_MAX || !text_to_u64 (low, &first) ||
        !text_to_u64 (high, &last))
        return refuse (scan, ERR_PARSE, at, "a range of numbers of at most 18 digits was expected, like 0-15");
    if ((is_padded (low) || is_padded (high)) && low.len != high.len)
        return refuse (scan, ERR_PARSE, at, "zero-padded ends of a range need equal widths, like 01-16");
    if (first > last)
        return refuse (scan, ERR_PARSE, at, "this range runs backwards: the smaller number comes first");
    for (uint64_t number = first; number <= last; number++) {
        char digits[24];
        int width = is_padded (low) ? (int) low.len : 1;
        int len = snprintf (digits, sizeof digits, "%0*" PRIu64, width, number);
        if (add_name (scan, item, (struct text) { digits, (uint32_t) len }, at) < 0)
            return -1;
    }
    return 0;
}

static int add_entry (struct scan *scan, const struct item *item, struct text entry, uint32_t at)
{
    uint32_t dash;
    if (is_number (entry))
        return add_name (scan, item, entry, at);
    if (!text_find (entry, TEXT_LIT ("-"), &dash) || !is_number (part (entry, 0, dash)) ||
        !is_number (part (entry, dash + 1, entry.len)))
        return refuse (scan, ERR_PARSE, at, "a number or a range was expected between the brackets, like 7 or 0-3");
    return add_range (scan, item, part (entry, 0, dash), part (entry, dash + 1, entry.len), at);
}

static int add_group (struct scan *scan, const struct item *item)
{
    uint32_t from = 0;
    for (uint32_t i = 0; i <= item->group.len; i++) {
        if (i < item->group.len && item->group.ptr[i] != ',')
            continue;
        if (add_entry (scan, item, part (item->group, from, i), item->group_at + from) < 0)
            return -1;
        from = i + 1;
    }
    return 0;
}

static struct text read_characters (struct scan *scan)
{
    uint32_t from = scan->at;
    while (scan->at < scan->all.len && is_name_character (scan->all.ptr[scan->at]))
        scan->at++;
    return part (scan->all, from, scan->at);
}

static int read_group (struct scan *scan, struct item *item)
{
    uint32_t open = scan->at, length, inner;
    if (!text_find (part (scan->all, open, scan->all.len), TEXT_LIT ("]"), &length))
        return refuse (scan, ERR_PARSE, open, "this bracket is never closed");
    item->group = part (scan->all, open + 1, open + length);
    if (text_find (item->group, TEXT_LIT ("["), &inner))
        return refuse (scan, ERR_PARSE, open + 1 + inner, "a bracket within brackets: close the first one before it");
    item->bracket = true;
    item->group_at = open + 1;
    scan->at = open + length + 1;
    return 0;
}

static int read_item (struct scan *scan)
{
    uint32_t start = scan->at;
    struct item item = { .prefix = read_characters (scan) };
    if (scan->at < scan->all.len && scan->all.ptr[scan->at] == '[') {
        if (read_group (scan, &item) < 0)
            return -1;
        item.suffix = read_characters (scan);
    }
    if (scan->at < scan->all.len && scan->all.ptr[scan->at] == '[')
        return refuse (scan, ERR_PARSE, scan->at, "one bracket group a name: write the names of the other one out");
    if (scan->at < scan->all.len && scan->all.ptr[scan->at] != ',')
        return refuse (scan, ERR_PARSE, scan->at, "a comma or a character of a host name was expected");
    if (item.bracket)
        return add_group (scan, &item);
    return add_name (scan, &item, (struct text) { "", 0 }, start);
}

static int compare_names (const void *a, const void *b)
{
    return text_compare (*(const struct text *) a, *(const struct text *) b);
}

static int refuse_duplicates (const struct scan *scan)
{
    int rc = 0;
    struct text *sorted = mem_array (scan->names.n, sizeof *sorted);
    memcpy (sorted, scan->names.items, scan->names.n * sizeof *sorted);
    qsort (sorted, scan->names.n, sizeof *sorted, compare_names);
    for (uint32_t i = 1; i < scan->names.n && rc == 0; i++)
        if (text_equal (sorted[i - 1], sorted[i]))
            rc = err_set (scan->err, ERR_PARSE, "host set: %.*s is named twice: name each host once",
                          TEXT_ARG (sorted[i]));
    mem_free (sorted);
    return rc;
}

static int read_all (struct scan *scan)
{
    if (scan->all.len == 0)
        return refuse (scan, ERR_PARSE, 0, "the set is empty: at least one host name was expected");
    for (;;) {
        if (read_item (scan) < 0)
            return -1;
        if (scan->at == scan->all.len)
            return refuse_duplicates (scan);
        scan->at++; /* the comma */
    }
}

int hostset_expand (struct text expression, struct arena *arena, struct name_list *names, struct err *err)
{
    assert (names->n <= HOSTS_MAX);
    struct scan scan = { .all = expression, .arena = arena, .err = err, .capacity = names->n + 16 };
    scan.names.items = mem_array (scan.capacity, sizeof *scan.names.items);
    scan.names.n = names->n;
    if (names->n)
        memcpy (scan.names.items, names->items, names->n * sizeof *names->items);
    int rc = read_all (&scan);
    if (rc == 0) {
        names->items = arena_copy (arena, scan.names.items, scan.names.n * sizeof *scan.names.items);
        names->n = scan.names.n;
    }
    mem_free (scan.names.items);
    return rc;
}

bool hostset_has (const struct name_list *names, struct text name)
{
    for (uint32_t i = 0; i < names->n; i++)
        if (text_equal (names->items[i], name))
            return true;
    return false;
}
