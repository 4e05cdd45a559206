#include <arpa/inet.h>
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/digest.h"
#include "common/model/hostset_scan.h"

void item_release (struct hostset_item *item)
{
    mem_free (item->spans);
    *item = (struct hostset_item){ 0 };
}

/* ---- reading ---- */

static void hostset_item_add_span (struct hostset_item *item, struct hostset_range span)
{
    item->spans = mem_room (item->spans, item->spans_n, &item->spans_capacity, 8, sizeof *item->spans);
    item->spans[item->spans_n++] = span;
    item->brackets[item->brackets_n].spans_to = item->spans_n;
}

/* nodeset takes an extra '-' for a sign: it reads n[1-4-6] as -4 to 6, and n[-1] as n-1. */
static int refuse_sign (const struct hostset_scan *scan)
{
    return hostset_scan_fail (scan, ERR_PARSE, scan->at,
                              "expected a number: a range has one '-', and its numbers have no sign");
}

static int hostset_item_read_number (struct hostset_scan *scan, struct text *number)
{
    hostset_scan_skip_blanks (scan);
    *number = hostset_scan_digits (scan);
    if (number->len > 0) {
        hostset_scan_skip_blanks (scan);
        return 0;
    }
    if (hostset_scan_peek (scan) == '-')
        return refuse_sign (scan);
    return hostset_scan_fail (scan, ERR_PARSE, scan->at, "expected a number or a range in the brackets, like 7 or 0-3");
}

static int read_step (struct hostset_scan *scan, uint64_t *step)
{
    struct text number;
    uint32_t at = scan->at + 1;
    *step = 1;
    if (!hostset_scan_accept (scan, '/'))
        return 0;
    if (hostset_item_read_number (scan, &number) < 0)
        return -1;
    if (number.len <= RANGE_DIGITS_MAX && text_to_u64 (number, step) && *step > 0)
        return 0;
    return hostset_scan_fail (scan, ERR_PARSE, at, "expected a step of at least 1 and at most 18 digits, like 0-30/2");
}

static int read_range (struct hostset_item *item, struct hostset_scan *scan, struct text low, uint32_t at)
{
    struct hostset_range span = { .width = digits_are_padded (low) ? low.len : 0 };
    struct text high;
    if (hostset_item_read_number (scan, &high) < 0 || read_step (scan, &span.step) < 0)
        return -1;
    if (hostset_scan_peek (scan) == '-')
        return refuse_sign (scan);
    if (low.len > RANGE_DIGITS_MAX || high.len > RANGE_DIGITS_MAX || !text_to_u64 (low, &span.first) ||
        !text_to_u64 (high, &span.last))
        return hostset_scan_fail (scan, ERR_PARSE, at, "expected a range of numbers of at most 18 digits, like 0-15");
    if ((digits_are_padded (low) || digits_are_padded (high)) && low.len != high.len)
        return hostset_scan_fail (scan, ERR_PARSE, at, "zero-padded ends of a range need equal widths, like 01-16");
    if (span.first > span.last)
        return hostset_scan_fail (scan, ERR_PARSE, at, "this range is reversed: the smaller number comes first");
    hostset_item_add_span (item, span);
    return 0;
}

static int read_single (struct hostset_item *item, struct hostset_scan *scan, struct text number)
{
    struct hostset_range span = { .step = 1, .width = digits_are_padded (number) ? number.len : 0 };
    if (hostset_scan_peek (scan) == '/')
        return hostset_scan_fail (scan, ERR_PARSE, scan->at, "a step needs a range before it, like 0-30/2");
    if (number.len > RANGE_DIGITS_MAX || !text_to_u64 (number, &span.first))
        span.verbatim = number;
    span.last = span.first;
    hostset_item_add_span (item, span);
    return 0;
}

static int read_entry (struct hostset_item *item, struct hostset_scan *scan)
{
    struct text number;
    hostset_scan_skip_blanks (scan);
    uint32_t at = scan->at;
    if (hostset_item_read_number (scan, &number) < 0)
        return -1;
    return hostset_scan_accept (scan, '-') ? read_range (item, scan, number, at) : read_single (item, scan, number);
}

static uint32_t width_of (const struct hostset_range *span, uint64_t number)
{
    uint32_t digits = span->verbatim.len ? span->verbatim.len : (uint32_t) snprintf (NULL, 0, "%" PRIu64, number);
    return digits > span->width ? digits : span->width;
}

/* Behind a digit the numbers must be of one width: nodeset joins the digit to both ends of a range, so that n1[8-11] is
 * n[18-111] there, 94 hosts in place of 4. */
static int check_widths (const struct hostset_item *item, const struct hostset_scan *scan, uint32_t open)
{
    const struct hostset_bracket *bracket = &item->brackets[item->brackets_n];
    const struct text *before = &item->literal[item->brackets_n];
    if (before->len == 0 || !text_is_digit (before->ptr[before->len - 1]))
        return 0;
    uint32_t width = width_of (&item->spans[bracket->spans_from], item->spans[bracket->spans_from].first);
    for (uint32_t i = bracket->spans_from; i < bracket->spans_to; i++)
        if (width_of (&item->spans[i], item->spans[i].first) != width ||
            width_of (&item->spans[i], item->spans[i].last) != width)
            return hostset_scan_fail (
                scan, ERR_PARSE, open,
                "after a digit, all numbers in the brackets need the same width (n1[8-11] could also "
                "mean n[18-111]): move the digit into them, like n[18-19,110-111]");
    return 0;
}

static int read_bracket (struct hostset_item *item, struct hostset_scan *scan)
{
    uint32_t open = scan->at++;
    if (item->brackets_n == ITEM_BRACKETS_MAX)
        return hostset_scan_fail (scan, ERR_PARSE, open, "the name would be longer than 253 characters");
    if (!text_find (hostset_scan_text_between (scan, open, scan->all.len), TEXT_LIT ("]"), NULL))
        return hostset_scan_fail (scan, ERR_PARSE, open, "this bracket is never closed");
    item->brackets[item->brackets_n] = (struct hostset_bracket){ item->spans_n, item->spans_n };
    do {
        if (read_entry (item, scan) < 0)
            return -1;
    } while (hostset_scan_accept (scan, ','));
    if (!hostset_scan_accept (scan, ']'))
        return hostset_scan_fail (scan, ERR_PARSE, scan->at,
                                  hostset_scan_peek (scan) == '['
                                      ? "a bracket within brackets: close the first one before it"
                                      : "expected a number, a comma or ']' in the brackets");
    if (check_widths (item, scan, open) < 0)
        return -1;
    item->brackets_n++;
    return 0;
}

/* As in nodeset: with only digits, or nothing, between two brackets the numbers cannot be told apart. */
static int check_gap (const struct hostset_item *item, const struct hostset_scan *scan)
{
    struct text gap = item->literal[item->brackets_n];
    bool other = false;
    if (item->brackets_n == 0)
        return 0;
    for (uint32_t i = 0; i < gap.len; i++)
        other = other || !text_is_digit (gap.ptr[i]);
    return other ? 0
                 : hostset_scan_fail (scan, ERR_PARSE, scan->at,
                                      "expected something other than digits between two brackets, like r[1-2]n[1-8]");
}

static int hostset_item_read_parts (struct hostset_item *item, struct hostset_scan *scan)
{
    for (;;) {
        item->literal[item->brackets_n] = hostset_scan_name (scan);
        if (hostset_scan_peek (scan) != '[')
            return 0;
        if (check_gap (item, scan) < 0 || read_bracket (item, scan) < 0)
            return -1;
    }
}

/* It takes the place of the whole operand; false: none stands here. */
static bool hostset_item_read_ipv6 (struct hostset_item *item, struct hostset_scan *scan)
{
    struct hostset_scan ahead = *scan;
    bool open = hostset_scan_accept (&ahead, '[');
    struct text rest = hostset_scan_text_between (&ahead, ahead.at, ahead.all.len);
    struct text address = text_clip (rest, text_span (rest, ".:"));
    ahead.at += address.len;
    if (!host_ipv6_name (address, item->ipv6) || (open && !hostset_scan_accept (&ahead, ']')))
        return false;
    item->literal[0] = text_of (item->ipv6);
    *scan = ahead;
    return true;
}

static const char *expected (const struct hostset_item *item, char next)
{
    if (next == ':' || next == '[')
        return "an IPv6 address is written whole, like fd77::10; ports stand in ~/.ssh/config or in a slice file";
    if (item->brackets_n == 0 && item->literal[0].len == 0)
        return next == '@' ? "expected one '@' before the name of a group" : "a host name was expected";
    if (next == ']')
        return "this bracket was never opened";
    return next == '*' || next == '?' ? "wildcards are not supported: write the set out, or define it as a group"
                                      : "expected an operator (',', '!', '&' or '^') or a character of a host name";
}

int item_read (struct hostset_item *item, struct hostset_scan *scan)
{
    item->at = scan->at;
    item->spans_n = item->brackets_n = 0;
    item->group = hostset_scan_accept (scan, '@');
    if (item->group && hostset_scan_accept (scan, '*')) {
        item->literal[0] = TEXT_LIT ("*");
        return 0;
    }
    if ((item->group || !hostset_item_read_ipv6 (item, scan)) && hostset_item_read_parts (item, scan) < 0)
        return -1;
    char next = hostset_scan_peek (scan);
    bool empty = item->brackets_n == 0 && item->literal[0].len == 0;
    if (!empty && (hostset_scan_at_end (scan) || (next && strchr (" \t\r\n,!&^", next))))
        return 0;
    return hostset_scan_fail (scan, ERR_PARSE, scan->at, expected (item, next));
}

/* ---- counting ---- */

static uint64_t bracket_count (const struct hostset_item *item, const struct hostset_bracket *bracket)
{
    uint64_t count = 0;
    for (uint32_t i = bracket->spans_from; i < bracket->spans_to; i++)
        if (__builtin_add_overflow (count, (item->spans[i].last - item->spans[i].first) / item->spans[i].step + 1,
                                    &count))
            return UINT64_MAX;
    return count;
}

uint64_t hostset_item_count (const struct hostset_item *item)
{
    uint64_t count = 1;
    for (uint32_t i = 0; i < item->brackets_n; i++)
        if (__builtin_mul_overflow (count, bracket_count (item, &item->brackets[i]), &count))
            return UINT64_MAX;
    return count;
}

/* ---- expanding ---- */

/* One number of each bracket. */
struct turn {
    uint32_t span;
    uint64_t number;
};

static void hostset_item_add_number (struct buf *name, const struct hostset_range *span, uint64_t number)
{
    if (span->verbatim.len)
        buf_add_text (name, span->verbatim);
    else
        buf_printf (name, "%0*" PRIu64, (int) span->width, number);
}

/* `name` is the buffer for it, reused. */
static int make_name (const struct hostset_item *item, const struct hostset_scan *scan, const struct turn *turns,
                      struct buf *name, struct arena *arena, struct text *made)
{
    buf_clear (name);
    for (uint32_t i = 0; i < item->brackets_n; i++) {
        buf_add_text (name, item->literal[i]);
        hostset_item_add_number (name, &item->spans[turns[i].span], turns[i].number);
    }
    buf_add_text (name, item->literal[item->brackets_n]);
    if (name->overflow)
        return hostset_scan_fail (scan, ERR_PARSE, item->at, "the name would be longer than 253 characters");
    struct text text = buf_as_text (name);
    if (!host_name_valid (text) && !(item->group && text_is (text, "*")))
        return hostset_scan_fail (
            scan, ERR_PARSE, item->at,
            "expected a host name: letters, digits, '.', '_', '-', not '-' or '.' first, at most 63 "
            "between two dots");
    *made = text_copy (arena, text);
    return 0;
}

static void begin_turn (const struct hostset_item *item, struct turn *turn, uint32_t span)
{
    *turn = (struct turn){ span, item->spans[span].first };
}

/* The next number of this bracket; false: it began again. */
static bool move_turn (const struct hostset_item *item, uint32_t bracket, struct turn *turn)
{
    const struct hostset_range *span = &item->spans[turn->span];
    if (span->last - turn->number >= span->step) {
        turn->number += span->step;
        return true;
    }
    bool more = turn->span + 1 < item->brackets[bracket].spans_to;
    begin_turn (item, turn, more ? turn->span + 1 : item->brackets[bracket].spans_from);
    return more;
}

static void move_turns (const struct hostset_item *item, struct turn *turns)
{
    for (uint32_t i = item->brackets_n; i-- > 0;)
        if (move_turn (item, i, &turns[i]))
            return;
}

int hostset_item_expand (const struct hostset_item *item, const struct hostset_scan *scan, struct arena *arena,
                         struct name_list *names)
{
    struct turn turns[ITEM_BRACKETS_MAX];
    uint64_t count = hostset_item_count (item);
    int rc = 0;
    assert (count <= UINT32_MAX);
    LOCAL_BUF name = { .max = HOST_NAME_MAX_BYTES };
    *names = (struct name_list){ .items = arena_array (arena, count, sizeof *names->items) };
    for (uint32_t i = 0; i < item->brackets_n; i++)
        begin_turn (item, &turns[i], item->brackets[i].spans_from);
    for (; names->n < count && rc == 0; names->n++, move_turns (item, turns))
        rc = make_name (item, scan, turns, &name, arena, &names->items[names->n]);
    return rc;
}

/* ---- hostset scan ---- */

enum { SHOWN_COLUMNS = 40 };

static const char also_in_names[] = "._-";

bool host_name_valid (struct text name)
{
    struct text rest = name, label;
    bool good = name.len > 0 && name.len <= HOST_NAME_MAX_BYTES && name.ptr[0] != '-' && name.ptr[0] != '.' &&
                text_span (name, also_in_names) == name.len;
    while (good && text_next_item (&rest, '.', &label))
        good = label.len <= HOST_LABEL_MAX_BYTES;
    return good;
}

bool host_ipv6_name (struct text address, char name[HOST_IPV6_BYTES])
{
    char words[INET6_ADDRSTRLEN];
    struct in6_addr parsed;
    if (!text_to_c (address, words, sizeof words) || inet_pton (AF_INET6, words, &parsed) != 1 ||
        !inet_ntop (AF_INET6, &parsed, words, sizeof words))
        return false;
    snprintf (name, HOST_IPV6_BYTES, "ip-%s", words);
    for (char *colon = name; (colon = strchr (colon, ':'));)
        *colon = '-';
    return true;
}

struct text host_ipv6_address (struct text name, struct arena *arena)
{
    struct text address = text_copy (arena, name), none = { 0 };
    char again[HOST_IPV6_BYTES];
    for (char *dash = (char *) address.ptr; (dash = strchr (dash, '-'));)
        *dash = ':';
    text_skip (&address, address.len < 3 ? address.len : 3);
    return host_ipv6_name (address, again) && text_equal (text_of (again), name) ? address : none;
}

struct text host_file_name (struct text name, char out[HOST_FILE_BYTES])
{
    struct digest digest = digest_of (name.ptr, name.len);
    if (name.len < HOST_FILE_BYTES)
        return name;
    snprintf (out, HOST_FILE_BYTES, "%.200s-%.32s", name.ptr, DIGEST_TEXT (&digest));
    return text_of (out);
}

bool hostset_scan_at_end (const struct hostset_scan *scan)
{
    return scan->at == scan->all.len;
}

char hostset_scan_peek (const struct hostset_scan *scan)
{
    return hostset_scan_at_end (scan) ? '\0' : scan->all.ptr[scan->at];
}

bool hostset_scan_accept (struct hostset_scan *scan, char c)
{
    bool there = !hostset_scan_at_end (scan) && hostset_scan_peek (scan) == c;
    scan->at += there;
    return there;
}

void hostset_scan_skip_blanks (struct hostset_scan *scan)
{
    while (hostset_scan_accept (scan, ' ') || hostset_scan_accept (scan, '\t') || hostset_scan_accept (scan, '\n') ||
           hostset_scan_accept (scan, '\r'))
        continue;
}

struct text hostset_scan_text_between (const struct hostset_scan *scan, uint32_t from, uint32_t to)
{
    return (struct text){ .ptr = scan->all.len ? scan->all.ptr + from : "", .len = to - from };
}

struct text hostset_scan_name (struct hostset_scan *scan)
{
    uint32_t from = scan->at;
    scan->at += text_span (hostset_scan_text_between (scan, from, scan->all.len), also_in_names);
    return hostset_scan_text_between (scan, from, scan->at);
}

struct text hostset_scan_digits (struct hostset_scan *scan)
{
    uint32_t from = scan->at;
    scan->at = text_digits_end (scan->all, from);
    return hostset_scan_text_between (scan, from, scan->at);
}

int hostset_scan_fail (const struct hostset_scan *scan, enum err_code code, uint32_t at, const char *what)
{
    LOCAL_BUF shown = { .max = 1024 };
    if (at < scan->all.len)
        buf_escaped (&shown, hostset_scan_text_between (scan, at, scan->all.len), SHOWN_COLUMNS);
    err_set (scan->err, code, "host set, character %" PRIu32 " (%s%s): %s", at + 1,
             at < scan->all.len ? "at " : "the end", buf_c (&shown), what);
    return -1;
}
