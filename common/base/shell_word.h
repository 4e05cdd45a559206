/* shell_word.h - words as a shell has to be given them. */
#ifndef SLICEUP_COMMON_BASE_SHELL_WORD_H
#define SLICEUP_COMMON_BASE_SHELL_WORD_H

#include "common/base/buf.h"

/* Appends the word, quoted where sh would read something else; a blank before it unless it is the first. */
void shell_word_add (struct buf *line, struct text word);

#endif
