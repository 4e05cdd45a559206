/* text.h - a slice of characters: pointer and length, no terminator, owned by somebody else.
 *
 * What a host says is never a C string: slices carry their length, so a NUL inside cannot cut them short.
 * Print with "%.*s" and TEXT_ARG, which evaluates its argument more than once: give it a variable, not a call. */
#ifndef SLICEUP_COMMON_BASE_TEXT_H
#define SLICEUP_COMMON_BASE_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/base/mem.h"

struct text {
    const char *ptr;
    uint32_t len;
};

#define TEXT_ARG(t) ((int) (t).len), ((t).len ? (t).ptr : "")
#define TEXT_LIT(s) ((struct text){ .ptr = "" s, .len = sizeof (s) - 1 })

struct text text_of (const char *c_string); /* NULL gives an empty slice; borrows */
/* Asked most of all. Equal texts are mostly the same one (arena_share_texts), and names of one list begin alike. */
static inline bool text_equal (struct text a, struct text b)
{
    if (a.len != b.len || a.len == 0 || a.ptr == b.ptr)
        return a.len == b.len;
    return a.ptr[a.len - 1] == b.ptr[a.len - 1] && memcmp (a.ptr, b.ptr, a.len) == 0;
}
bool text_is (struct text a, const char *c_string);
/* Equal apart from numbers (decimal or after 0x), so that hosts' own times, ids and addresses do not matter. Line
 * numbers of a source ("line 7", "prog.py:7") must be equal. */
bool text_equal_but_numbers (struct text a, struct text b);
bool text_is_among (struct text a, const struct text *items, uint32_t n);
bool text_is_word (struct text a, const char *const *words, size_t n); /* one of them; a NULL ends them earlier */
int text_compare (struct text a, struct text b);                       /* bytewise, shorter first: a total order */
int text_order (const void *a, const void *b); /* the same for qsort, of items that begin with a text */
bool text_find (struct text haystack, struct text needle, uint32_t *at); /* first occurrence; `at` may be NULL */
bool text_starts (struct text a, const char *prefix);
bool text_ends (struct text a, const char *end);
/* In `pattern` '*' stands for any bytes, also none, and '?' for one. */
bool text_matches (struct text a, struct text pattern);
/* Moves what precedes the first `mark` from `rest` to `before`, and drops the mark. Borrows. */
bool text_cut (struct text *rest, char mark, struct text *before); /* false: no mark; `rest` is unchanged */
struct text text_take_until (struct text *rest, char mark);        /* without a mark: all of `rest` */
/* The next item of a list with a mark between two: "" has one, "a," has two, {0} has none. False: there is no other. */
bool text_next_item (struct text *rest, char mark, struct text *item);
static inline void text_skip (struct text *rest, uint32_t bytes) /* at most all that is left */
{
    rest->ptr += bytes;
    rest->len -= bytes;
}
/* The next word between bytes of `parting`, which may hold a NUL; false: only such bytes are left. */
bool text_next_word (struct text *rest, struct text parting, struct text *word);
struct text text_clip (struct text from, uint32_t bytes); /* at most `bytes`, cut between characters of UTF-8 */
/* From now on short texts that are copied into the arena share their bytes with an equal one that was, often. It is not reset. */
void arena_share_texts (struct arena *arena);
struct text text_copy (struct arena *arena, struct text from); /* the copy is NUL-terminated past its end */
struct text text_format (struct arena *arena, const char *format, ...) __attribute__ ((format (printf, 2, 3)));
/* A NUL-terminated copy in `out` of `out_bytes`; false (and out = "") when it does not fit or holds a NUL. */
bool text_to_c (struct text from, char *out, size_t out_bytes);
bool text_is_utf8 (struct text a); /* strict: no overlong forms, no surrogates */
/* How many leading bytes are ASCII letters, digits, or one of `also`. */
uint32_t text_span (struct text a, const char *also);
uint32_t text_digits_end (struct text a, uint32_t at); /* end of the decimal digits that begin at `at` */
struct text text_trimmed (struct text a);              /* without blanks, tabs and line ends at both ends */
/* Whole text as an unsigned decimal number; false when it is anything else or does not fit. */
bool text_to_u64 (struct text from, uint64_t *out);
/* "did you mean": the known word that is closest to a mistyped one; NULL: none is near enough to propose. */
const char *text_nearest (struct text word, const char *const known[], uint32_t n);
/* What stands behind a noun: "%u host%s", n, plural (n). */
static inline const char *plural (uint64_t n)
{
    return n == 1 ? "" : "s";
}
static inline bool text_is_digit (char c)
{
    return c >= '0' && c <= '9';
}
static inline bool text_is_letter (char c) /* of ASCII, whatever the locale */
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

#endif
