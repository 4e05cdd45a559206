/* digest.h - sha256, for seals and identities (OpenSSL's libcrypto). */
#ifndef SLICEUP_COMMON_BASE_DIGEST_H
#define SLICEUP_COMMON_BASE_DIGEST_H

#include "common/base/err.h"
#include "common/base/text.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct digest {
    uint8_t bytes[32];
};
enum { DIGEST_HEX_BYTES = 65 };

struct digest_state; /* a digest being made */
struct digest_state *digest_begin (void);
void digest_add (struct digest_state *state, const void *bytes, size_t len);
struct digest digest_end (struct digest_state *state); /* frees `state` */
struct digest digest_of (const void *bytes, size_t len);
/* HMAC-SHA256 (RFC 2104, FIPS 198-1). A key of fewer bytes is filled up with zeros, which does not change it. */
struct digest digest_hmac (const struct digest *key, struct text message);
int digest_of_fd (int fd, struct digest *out, uint64_t *bytes, struct err *err); /* reads to the end */
int digest_of_file (const char *path, struct digest *out, struct err *err);      /* regular files only, no symlink */
const char *digest_hex (const struct digest *digest, char out[DIGEST_HEX_BYTES]);
#define DIGEST_TEXT(digest) digest_hex (digest, (char[DIGEST_HEX_BYTES]){ "" }) /* lives to the end of the block */
/* Base64 without its '=', and the urlsafe form of it (RFC 4648); both have a digest's last character at 42. */
enum { DIGEST_BASE64_BYTES = 44 };
const char *digest_base64 (const struct digest *digest, bool urlsafe, char out[DIGEST_BASE64_BYTES]);
bool digest_parse (struct text hex, struct digest *out);
bool digest_equal (const struct digest *a, const struct digest *b);

#endif
