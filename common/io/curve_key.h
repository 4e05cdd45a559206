/* curve_key.h - a CURVE key as text (Z85, 40 characters) and as bytes. Pure. */
#ifndef SLICEUP_COMMON_IO_CURVE_KEY_H
#define SLICEUP_COMMON_IO_CURVE_KEY_H
#include "common/base/err.h"
#include "common/base/text.h"
#include "common/io/link.h"
#include <stdint.h>
enum { CURVE_KEY_BYTES = 32 };
struct curve_key {
    uint8_t bytes[CURVE_KEY_BYTES];
};
/* Each key has exactly one accepted spelling. The error does not repeat the text: it may be a secret. */
int curve_key_parse (struct text z85, struct curve_key *out, struct err *err);
/* Both parse, and the public one belongs to the secret one. */
int link_keys_check (const struct link_keys *keys, struct err *err);
#endif
