/* nearest_word.h - "did you mean": finds the known word that is closest to a mistyped one. */
#ifndef SLICEUP_COMMON_CONF_NEAREST_WORD_H
#define SLICEUP_COMMON_CONF_NEAREST_WORD_H

#include "common/base/text.h"

/* NULL: none is near enough to propose. */
const char *nearest_word (struct text word, const char *const known[], uint32_t n);

#endif
