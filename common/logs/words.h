/* words.h - looks for words in what a program printed: in any case, several at once. Pure. */
#ifndef SLICEUP_COMMON_LOGS_WORDS_H
#define SLICEUP_COMMON_LOGS_WORDS_H

#include <stdbool.h>

#include "common/base/text.h"

bool words_is_name (char c); /* letter, digit or _ */

/* In small letters, into `out`; what is longer is cut. */
enum { WORDS_FOLDED_BYTES = 4096 };
struct text words_fold (struct text text, char out[WORDS_FOLDED_BYTES]);
struct text words_small (struct arena *arena, struct text text); /* the same, of any length, in the arena */
/* `words`: alternatives with a bar between: "no space|quota exceeded". Capitals do not count. A word that begins with a
 * letter or digit stands at the beginning of one: "xid" is not in "taxid". `folded`: by words_fold. */
bool words_holds (struct text folded, struct text word); /* one such word, in small letters itself */
bool words_any (struct text text, const char *words);
/* The same, with capitals as they are written. */
bool words_any_exact (struct text text, const char *words);
/* Many such words, each of three bytes at least, to be looked for in many texts. Built once; borrows the words. */
enum { WORD_FINDER_MAX = 160, WORD_FINDER_SLOTS = 256, WORD_FINDER_BEGINNING_BITS = 15 };
struct word_finder {
    struct text words[WORD_FINDER_MAX];
    uint8_t beginnings[(1 << WORD_FINDER_BEGINNING_BITS) /
                       8]; /* bits: by the hash of three bytes; most of a text has none */
    uint8_t first[WORD_FINDER_SLOTS], next[WORD_FINDER_MAX]; /* number of a word, from 1; 0: no more */
};
void word_finder_make (struct word_finder *finder, const char *words);
bool word_finder_finds (const struct word_finder *finder, struct text text); /* as words_any_exact */
/* Where the first word stands from `at` on; text.len: none does. */
uint32_t word_finder_next (const struct word_finder *finder, struct text text, uint32_t at);
/* Is `text` one of the alternatives, as written? */
bool words_is (struct text text, const char *words);
/* Does `word` stand there as a word, with a number behind it: "task 3", "/task:3", "rank=2", "node n7"? */
bool words_before_digit (struct text text, const char *word);
struct text words_from (struct text text, uint32_t at); /* what stands from `at` on */

#endif
