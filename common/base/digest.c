#include "common/base/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
/* The functions of one algorithm, which OpenSSL 3 calls deprecated. Its newer ones, SHA256 () among them, look
 * algorithms up among providers: they read the host's openssl.cnf and need all of libcrypto; these need 20 KB. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

enum { READ_BYTES = 64 * 1024 };

struct digest_state {
    SHA256_CTX sha256;
};

struct digest_state *digest_begin (void)
{
    struct digest_state *state = mem_alloc (sizeof *state);
    SHA256_Init (&state->sha256); /* these three cannot fail: they allocate nothing */
    return state;
}

void digest_add (struct digest_state *state, const void *bytes, size_t len)
{
    SHA256_Update (&state->sha256, bytes, len);
}

struct digest digest_end (struct digest_state *state)
{
    struct digest digest;
    SHA256_Final (digest.bytes, &state->sha256);
    mem_free (state);
    return digest;
}

struct digest digest_of (const void *bytes, size_t len)
{
    struct digest digest;
    SHA256_CTX state;
    SHA256_Init (&state);
    SHA256_Update (&state, bytes, len);
    SHA256_Final (digest.bytes, &state);
    return digest;
}

/* By hand: libcrypto's HMAC looks its algorithm up among providers. */
static struct digest digest_keyed (const struct digest *key, int mask, const void *bytes, size_t len)
{
    uint8_t block[SHA256_CBLOCK];
    memset (block, mask, sizeof block);
    for (size_t i = 0; i < sizeof key->bytes; i++)
        block[i] ^= key->bytes[i];
    struct digest_state *state = digest_begin ();
    digest_add (state, block, sizeof block);
    digest_add (state, bytes, len);
    return digest_end (state);
}

struct digest digest_hmac (const struct digest *key, struct text message)
{
    struct digest inner = digest_keyed (key, 0x36, message.ptr, message.len);
    return digest_keyed (key, 0x5c, inner.bytes, sizeof inner.bytes);
}

int digest_of_fd (int fd, struct digest *out, uint64_t *bytes, struct err *err)
{
    unsigned char chunk[READ_BYTES];
    uint64_t total = 0;
    ssize_t got;
    struct digest_state *state = digest_begin ();
    while ((got = read (fd, chunk, sizeof chunk)) > 0 || (got < 0 && errno == EINTR)) {
        digest_add (state, chunk, got > 0 ? (size_t) got : 0);
        total += got > 0 ? (uint64_t) got : 0;
    }
    int reason = errno;
    struct digest digest = digest_end (state);
    errno = reason;
    if (got < 0)
        return err_errno (err, ERR_IO, "cannot read descriptor %d to compute its digest", fd);
    *out = digest;
    if (bytes)
        *bytes = total;
    return 0;
}

int digest_of_file (const char *path, struct digest *out, struct err *err)
{
    int rc = -1;
    struct stat found;
    /* O_NONBLOCK: opening a pipe that nobody writes must not wait. */
    int fd = open (path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ELOOP)
        return err_set (err, ERR_IO, "%s is a symbolic link, expected a regular file", path);
    if (fd < 0)
        return err_errno (err, ERR_IO, "cannot open %s to compute its digest", path);
    if (fstat (fd, &found) < 0)
        err_errno (err, ERR_IO, "cannot examine %s to compute its digest", path);
    else if (!S_ISREG (found.st_mode))
        err_set (err, ERR_IO, "%s is not a regular file, so its digest cannot be computed", path);
    else if (digest_of_fd (fd, out, NULL, err) < 0)
        err_prefix (err, "%s", path);
    else
        rc = 0;
    close (fd);
    return rc;
}

const char *digest_hex (const struct digest *digest, char out[DIGEST_HEX_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < sizeof digest->bytes; i++) {
        out[2 * i] = digits[digest->bytes[i] >> 4];
        out[2 * i + 1] = digits[digest->bytes[i] & 15];
    }
    out[DIGEST_HEX_BYTES - 1] = '\0';
    return out;
}

static int nibble (char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

const char *digest_base64 (const struct digest *digest, bool urlsafe, char out[DIGEST_BASE64_BYTES])
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_";
    for (int i = 0; i < DIGEST_BASE64_BYTES - 1; i++) {
        int bit = i * 6, byte = bit / 8;
        unsigned two = (unsigned) digest->bytes[byte] << 8 | (byte + 1 < 32 ? digest->bytes[byte + 1] : 0);
        unsigned six = two >> (10 - bit % 8) & 63;
        out[i] = letters[urlsafe && six >= 62 ? six + 2 : six];
    }
    out[DIGEST_BASE64_BYTES - 1] = '\0';
    return out;
}

bool digest_parse (struct text hex, struct digest *out)
{
    struct digest digest;
    if (hex.len != 2 * sizeof digest.bytes)
        return false;
    for (size_t i = 0; i < sizeof digest.bytes; i++) {
        int high = nibble (hex.ptr[2 * i]), low = nibble (hex.ptr[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        digest.bytes[i] = (uint8_t) (high << 4 | low);
    }
    *out = digest;
    return true;
}

bool digest_equal (const struct digest *a, const struct digest *b)
{
    return memcmp (a->bytes, b->bytes, sizeof a->bytes) == 0;
}
