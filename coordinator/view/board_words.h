/* board_words.h - texts that many hosts say alike, each kept once: names and values of facts, names of phases.
 *
 * Bounded in number and in bytes; what finds no room becomes word 0, the empty text. Owns copies. One thread. */
#ifndef SLICEUP_COORDINATOR_VIEW_BOARD_WORDS_H
#define SLICEUP_COORDINATOR_VIEW_BOARD_WORDS_H

#include "common/base/text.h"

enum { BOARD_WORD_MAX_BYTES = 256, BOARD_WORDS_MAX = 1 << 20, BOARD_WORDS_MAX_BYTES = 64 << 20 };

struct board_words;
struct board_words *board_words_create (void);
void board_words_destroy (struct board_words *words); /* NULL is fine */
/* The word of this text, cut to BOARD_WORD_MAX_BYTES. */
uint32_t board_words_take (struct board_words *words, struct text text);
struct text board_words_text (const struct board_words *words, uint32_t word); /* empty: there is no such word */

#endif
