#include "common/base/text.h"
#include "common/base/utf8.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct text text_of (const char *c_string)
{
    if (!c_string)
        return (struct text){ .ptr = "", .len = 0 };
    size_t len = strlen (c_string);
    assert (len <= UINT32_MAX);
    return (struct text){ .ptr = c_string, .len = (uint32_t) len };
}

bool text_is (struct text a, const char *c_string)
{
    return text_equal (a, text_of (c_string));
}

bool text_is_among (struct text a, const struct text *items, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (text_equal (a, items[i]))
            return true;
    return false;
}

bool text_is_word (struct text a, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n && words[i]; i++)
        if (text_is (a, words[i]))
            return true;
    return false;
}

int text_compare (struct text a, struct text b)
{
    uint32_t common = a.len < b.len ? a.len : b.len;
    int order = common && a.ptr != b.ptr ? memcmp (a.ptr, b.ptr, common) : 0;
    if (order != 0)
        return order < 0 ? -1 : 1;
    return (a.len > b.len) - (a.len < b.len);
}

int text_order (const void *a, const void *b)
{
    return text_compare (*(const struct text *) a, *(const struct text *) b);
}

static bool is_hex_digit (char c)
{
    return text_is_digit (c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Behind the number at `at`. */
static uint32_t skip_number (struct text of, uint32_t at)
{
    bool hex = of.len - at > 2 && of.ptr[at] == '0' && of.ptr[at + 1] == 'x' && is_hex_digit (of.ptr[at + 2]);
    for (at += hex ? 2 : 0; at < of.len && (hex ? is_hex_digit (of.ptr[at]) : text_is_digit (of.ptr[at])); at++)
        ;
    return at;
}

/* Is the number a line of a source ("line 7", "prog.py:7"), which is equal on all hosts? The port of "x.svc:7" is
 * not. */
static bool is_place (struct text of, uint32_t at)
{
    static const char *const before[] = { "line ", ".py:",  ".pyx:", ".c:",   ".cc:", ".cpp:",
                                          ".cu:",  ".inc:", ".h:",   ".hpp:", ".rs:", ".go:" };
    bool place = false;
    for (size_t i = 0; i < sizeof before / sizeof before[0] && !place; i++) {
        uint32_t n = (uint32_t) strlen (before[i]);
        place = at >= n && memcmp (of.ptr + at - n, before[i], n) == 0;
    }
    return place;
}

bool text_equal_but_numbers (struct text a, struct text b)
{
    uint32_t i = 0, k = 0;
    while (i < a.len && k < b.len) {
        if (text_is_digit (a.ptr[i]) && text_is_digit (b.ptr[k])) {
            uint32_t of_a = skip_number (a, i) - i, of_b = skip_number (b, k) - k;
            if (is_place (a, i) && (of_a != of_b || memcmp (a.ptr + i, b.ptr + k, of_a) != 0))
                return false;
            i += of_a;
            k += of_b;
        } else if (a.ptr[i++] != b.ptr[k++]) {
            return false;
        }
    }
    return i == a.len && k == b.len;
}

bool text_find (struct text haystack, struct text needle, uint32_t *at)
{
    const char *found = haystack.ptr;
    if (needle.len > haystack.len)
        return false;
    if (needle.len > 0)
        found = memmem (haystack.ptr, haystack.len, needle.ptr, needle.len);
    if (needle.len > 0 && !found)
        return false;
    if (at)
        *at = needle.len ? (uint32_t) (found - haystack.ptr) : 0;
    return true;
}

bool text_starts (struct text a, const char *prefix)
{
    struct text wanted = text_of (prefix);
    return a.len >= wanted.len && text_equal ((struct text){ a.ptr, wanted.len }, wanted);
}

bool text_ends (struct text a, const char *end)
{
    struct text wanted = text_of (end);
    return a.len >= wanted.len && text_equal ((struct text){ a.ptr + (a.len - wanted.len), wanted.len }, wanted);
}

/* Only the last star seen backtracks: it takes one byte more when the rest does not match. */
bool text_matches (struct text a, struct text pattern)
{
    uint32_t p = 0, t = 0, star = UINT32_MAX, taken = 0;
    while (t < a.len) {
        if (p < pattern.len && pattern.ptr[p] == '*') {
            star = p++;
            taken = t;
        } else if (p < pattern.len && (pattern.ptr[p] == a.ptr[t] || pattern.ptr[p] == '?')) {
            p++;
            t++;
        } else if (star != UINT32_MAX) {
            p = star + 1;
            t = ++taken;
        } else
            return false;
    }
    while (p < pattern.len && pattern.ptr[p] == '*')
        p++;
    return p == pattern.len;
}

bool text_cut (struct text *rest, char mark, struct text *before)
{
    const char *at = rest->len ? memchr (rest->ptr, mark, rest->len) : NULL;
    if (!at)
        return false;
    *before = (struct text){ rest->ptr, (uint32_t) (at - rest->ptr) };
    *rest = (struct text){ at + 1, rest->len - before->len - 1 };
    return true;
}

struct text text_take_until (struct text *rest, char mark)
{
    struct text taken = *rest;
    if (!text_cut (rest, mark, &taken))
        rest->len = 0;
    return taken;
}

bool text_next_item (struct text *rest, char mark, struct text *item)
{
    *item = *rest;
    if (!text_cut (rest, mark, item))
        *rest = (struct text){ 0 };
    return item->ptr != NULL;
}

bool text_next_word (struct text *rest, struct text parting, struct text *word)
{
    while (rest->len && memchr (parting.ptr, rest->ptr[0], parting.len))
        rest->ptr++, rest->len--;
    *word = (struct text){ rest->ptr, 0 };
    while (rest->len && !memchr (parting.ptr, rest->ptr[0], parting.len))
        rest->ptr++, rest->len--, word->len++;
    return word->len > 0;
}

struct text text_clip (struct text from, uint32_t bytes)
{
    if (from.len <= bytes)
        return from;
    while (bytes > 0 && ((unsigned char) from.ptr[bytes] & 0xC0) == 0x80)
        bytes--;
    return (struct text){ from.ptr, bytes };
}

uint32_t text_span (struct text a, const char *also)
{
    uint32_t n = 0;
    while (n < a.len &&
           (text_is_letter (a.ptr[n]) || text_is_digit (a.ptr[n]) || (a.ptr[n] && strchr (also, a.ptr[n]))))
        n++;
    return n;
}

uint32_t text_digits_end (struct text a, uint32_t at)
{
    while (at < a.len && text_is_digit (a.ptr[at]))
        at++;
    return at;
}

struct text text_trimmed (struct text a)
{
    for (; a.len && a.ptr[0] && strchr (" \t\r\n", a.ptr[0]); a.ptr++)
        a.len--;
    while (a.len && a.ptr[a.len - 1] && strchr (" \t\r\n", a.ptr[a.len - 1]))
        a.len--;
    return a;
}

enum { SHARED_TEXTS = 4096, SHARED_TEXT_BYTES = 128 };

void arena_share_texts (struct arena *arena)
{
    arena->shared = arena_array (arena, SHARED_TEXTS, sizeof (struct text));
}

/* Where an equal one would be. */
static struct text *shared_place (const struct arena *arena, struct text text)
{
    uint32_t hash = text.len;
    for (uint32_t i = 0; i < text.len; i++)
        hash = hash * 31 + (uint8_t) text.ptr[i];
    return &arena->shared[(hash ^ hash >> 12) % SHARED_TEXTS];
}

struct text text_copy (struct arena *arena, struct text from)
{
    if (from.len == 0)
        return TEXT_LIT ("");
    struct text *shared = arena->shared && from.len <= SHARED_TEXT_BYTES ? shared_place (arena, from) : NULL;
    if (shared && shared->ptr && text_equal (*shared, from))
        return *shared;
    char *copy = arena_alloc (arena, (size_t) from.len + 1);
    memcpy (copy, from.ptr, from.len);
    from.ptr = copy;
    if (shared)
        *shared = from;
    return from;
}

struct text text_format (struct arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start (args, format);
    va_copy (again, args);
    int len = vsnprintf (NULL, 0, format, args);
    va_end (args);
    assert (len >= 0);
    char *out = arena_alloc (arena, (size_t) len + 1);
    int written = vsnprintf (out, (size_t) len + 1, format, again);
    va_end (again);
    assert (written == len);
    return (struct text){ .ptr = out, .len = (uint32_t) written };
}

bool text_to_c (struct text from, char *out, size_t out_bytes)
{
    if (out_bytes == 0)
        return false;
    out[0] = '\0';
    if (from.len >= out_bytes || (from.len && memchr (from.ptr, '\0', from.len)))
        return false;
    if (from.len)
        memcpy (out, from.ptr, from.len);
    out[from.len] = '\0';
    return true;
}

/* Every text from outside passes here, and most is ASCII: takes eight bytes at a time while it is. */
static uint32_t ascii_run (struct text a, uint32_t at)
{
    while (a.len - at >= 8) {
        uint64_t eight;
        memcpy (&eight, a.ptr + at, sizeof eight);
        if (eight & UINT64_C (0x8080808080808080))
            break;
        at += 8;
    }
    while (at < a.len && (unsigned char) a.ptr[at] < 0x80)
        at++;
    return at;
}

bool text_is_utf8 (struct text a)
{
    uint32_t at = 0;
    while ((at = ascii_run (a, at)) < a.len) {
        uint32_t character;
        uint32_t bytes = utf8_next (a, at, &character);
        if (bytes == 0)
            return false;
        at += bytes;
    }
    return true;
}

bool text_to_u64 (struct text from, uint64_t *out)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < from.len; i++) {
        unsigned digit = (unsigned char) from.ptr[i] - (unsigned) '0';
        if (digit > 9 || __builtin_mul_overflow (value, UINT64_C (10), &value) ||
            __builtin_add_overflow (value, (uint64_t) digit, &value))
            return false;
    }
    if (from.len == 0)
        return false;
    *out = value;
    return true;
}

/* ---- the nearest word ---- */

enum { NEAREST_MAX_BYTES = 63 };

static uint32_t least_steps (uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Optimal string alignment: inserts, drops, changes, and swaps of two neighbours, one step each. */
static uint32_t distance (struct text a, struct text b)
{
    uint32_t row[3][NEAREST_MAX_BYTES + 1];
    for (uint32_t j = 0; j <= b.len; j++)
        row[0][j] = j;
    for (uint32_t i = 1; i <= a.len; i++) {
        uint32_t *now = row[i % 3], *before = row[(i + 2) % 3], *earlier = row[(i + 1) % 3];
        now[0] = i;
        for (uint32_t j = 1; j <= b.len; j++) {
            now[j] = least_steps (before[j] + 1, now[j - 1] + 1, before[j - 1] + (a.ptr[i - 1] != b.ptr[j - 1]));
            bool swapped = i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] && a.ptr[i - 2] == b.ptr[j - 1];
            if (swapped && earlier[j - 2] + 1 < now[j])
                now[j] = earlier[j - 2] + 1;
        }
    }
    return row[a.len % 3][b.len];
}

const char *text_nearest (struct text word, const char *const known[], uint32_t n)
{
    /* At most one mistake in three letters. */
    uint32_t best = word.len / 3 + 1;
    const char *nearest = NULL;
    if (word.len == 0 || word.len > NEAREST_MAX_BYTES)
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        struct text candidate = text_of (known[i]);
        if (candidate.len > NEAREST_MAX_BYTES)
            continue;
        uint32_t steps = distance (word, candidate);
        if (steps <= best && (steps < best || !nearest)) {
            best = steps;
            nearest = known[i];
        }
    }
    return nearest;
}
