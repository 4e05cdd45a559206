#include "common/logs/words.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

bool words_is_name (char c)
{
    return text_is_letter (c) || text_is_digit (c) || c == '_';
}

struct text words_from (struct text text, uint32_t at)
{
    return at < text.len ? (struct text){ .ptr = text.ptr + at, .len = text.len - at } : (struct text){ 0 };
}

static char small (char c)
{
    return c >= 'A' && c <= 'Z' ? (char) (c | 0x20) : c;
}

struct text words_fold (struct text text, char out[WORDS_FOLDED_BYTES])
{
    uint32_t n = text.len < WORDS_FOLDED_BYTES ? text.len : WORDS_FOLDED_BYTES;
    for (uint32_t i = 0; i < n; i++)
        out[i] = small (text.ptr[i]);
    return (struct text){ .ptr = out, .len = n };
}

struct text words_small (struct arena *arena, struct text text)
{
    struct text out = text_copy (arena, text);
    for (uint32_t i = 0; i < out.len; i++)
        ((char *) out.ptr)[i] = small (out.ptr[i]);
    return out;
}

static bool begins_word (struct text text, uint32_t at, char first)
{
    return at == 0 || !(text_is_letter (first) || text_is_digit (first)) || !words_is_name (text.ptr[at - 1]);
}

bool words_holds (struct text folded, struct text word)
{
    uint32_t from = 0, next;
    while (text_find (words_from (folded, from), word, &next)) {
        if (begins_word (folded, from + next, word.ptr[0]))
            return true;
        from += next + 1;
    }
    return false;
}

bool words_any (struct text text, const char *words)
{
    char folded[WORDS_FOLDED_BYTES], buffer[WORDS_FOLDED_BYTES];
    text = words_fold (text, folded);
    for (struct text rest = words_fold (text_of (words), buffer); rest.len;) {
        struct text word = text_take_until (&rest, '|');
        if (word.len && words_holds (text, word))
            return true;
    }
    return false;
}

bool words_any_exact (struct text text, const char *words)
{
    for (struct text rest = text_of (words); rest.len;) {
        struct text word = text_take_until (&rest, '|');
        if (word.len && text_find (text, word, NULL))
            return true;
    }
    return false;
}

/* By its first two bytes. */
static uint32_t slot_of (const char *two)
{
    return ((unsigned char) two[0] * 31U + (unsigned char) two[1]) % WORD_FINDER_SLOTS;
}

/* By three bytes; one after the other has no need of the last one's. */
static uint32_t beginning_of (const char *three)
{
    const unsigned char *bytes = (const unsigned char *) three;
    return (bytes[0] | (uint32_t) bytes[1] << 8 | (uint32_t) bytes[2] << 16) * 0x9E3779B1U >>
           (32 - WORD_FINDER_BEGINNING_BITS);
}

static void note_beginning (struct word_finder *finder, const char *three)
{
    uint32_t beginning = beginning_of (three);
    finder->beginnings[beginning / 8] |= (uint8_t) (1U << beginning % 8);
}

/* As every second place is looked at: its first three bytes, and those from its second on, or before it. */
static void note_beginnings (struct word_finder *finder, struct text word)
{
    note_beginning (finder, word.ptr);
    if (word.len > 3)
        note_beginning (finder, word.ptr + 1);
    for (int before = 0; word.len == 3 && before < 256; before++)
        note_beginning (finder, (const char[]){ (char) before, word.ptr[0], word.ptr[1] });
}

void word_finder_make (struct word_finder *finder, const char *words)
{
    uint8_t n = 0;
    memset (finder, 0, sizeof *finder);
    for (struct text rest = text_of (words); rest.len;) {
        struct text word = text_take_until (&rest, '|');
        assert (word.len >= 3 && n < WORD_FINDER_MAX);
        uint32_t slot = slot_of (word.ptr);
        note_beginnings (finder, word);
        finder->words[n] = word;
        finder->next[n] = finder->first[slot];
        finder->first[slot] = ++n;
    }
}

static bool word_finder_begins (const struct word_finder *finder, struct text text)
{
    for (uint8_t i = finder->first[slot_of (text.ptr)]; i; i = finder->next[i - 1])
        if (text.len >= finder->words[i - 1].len &&
            memcmp (text.ptr, finder->words[i - 1].ptr, finder->words[i - 1].len) == 0)
            return true;
    return false;
}

/* Most of a text passes here: the next place at or beside which a word may begin; `end`: there is none before. */
static const char *next_beginning (const uint8_t *beginnings, const char *at, const char *end)
{
    for (; at < end; at += 2) {
        uint32_t beginning = beginning_of (at);
        if (beginnings[beginning / 8] >> beginning % 8 & 1)
            return at;
    }
    return end;
}

uint32_t word_finder_next (const struct word_finder *finder, struct text text, uint32_t at)
{
    const char *end = text.ptr + (text.len < 2 ? 0 : text.len - 2), *next = text.ptr + at;
    for (; (next = next_beginning (finder->beginnings, next, end)) < end; next += 2) {
        uint32_t place = (uint32_t) (next - text.ptr), to = place + 2;
        for (uint32_t i = place > at ? place - 1 : place; i < to && i + 3 <= text.len; i++)
            if (word_finder_begins (finder, words_from (text, i)))
                return i;
    }
    return text.len;
}

bool word_finder_finds (const struct word_finder *finder, struct text text)
{
    return word_finder_next (finder, text, 0) < text.len;
}

bool words_is (struct text text, const char *words)
{
    for (struct text rest = text_of (words); rest.len;)
        if (text_equal (text_take_until (&rest, '|'), text))
            return true;
    return false;
}

bool words_before_digit (struct text text, const char *word)
{
    uint32_t len = text_of (word).len;
    for (uint32_t at = 0; at + len + 1 < text.len; at++) {
        if (strncasecmp (text.ptr + at, word, len) != 0 || (at && text_is_letter (text.ptr[at - 1])))
            continue;
        uint32_t behind = at + len + (strchr (" :=[-", text.ptr[at + len]) != NULL);
        for (uint32_t i = behind;
             i < text.len && i < behind + 16 && (words_is_name (text.ptr[i]) || text.ptr[i] == '-'); i++)
            if (text_is_digit (text.ptr[i]))
                return true;
    }
    return false;
}
