/* libcrypto has a type of the name of one of our error codes; this file is the only one that sees both. */
#define ERR_STATE OPENSSL_ERR_STATE
#include <openssl/evp.h>
#undef ERR_STATE

#include "common/base/digest.h"
#include "common/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_BYTES = 64 * 1024 };

struct digest_state {
    EVP_MD_CTX *evp;
};

/* libcrypto looks an algorithm up by name at each use; fetched once, a small digest costs a third. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t state_key; /* one state a thread, for digest_of */
static EVP_MD *sha256;

static void demand (bool holds, const char *what)
{
    if (holds)
        return;
    fprintf (stderr, "sliceup: sha256 of libcrypto failed (%s): no seal or identity can be trusted\n", what);
    abort ();
}

static void state_free (void *p)
{
    struct digest_state *state = p;
    EVP_MD_CTX_free (state->evp);
    mem_free (state);
}

static void prepare (void)
{
    /* A host's openssl.cnf may name providers that a libcrypto out of a bundle cannot load: then there is no sha256. */
    demand (OPENSSL_init_crypto (OPENSSL_INIT_NO_LOAD_CONFIG, NULL) == 1, "init");
    sha256 = EVP_MD_fetch (NULL, "SHA256", NULL);
    demand (sha256 != NULL, "fetch");
    demand (pthread_key_create (&state_key, state_free) == 0, "key");
}

static struct digest_state *state_new (void)
{
    struct digest_state *state = mem_alloc (sizeof *state);
    state->evp = EVP_MD_CTX_new ();
    demand (state->evp != NULL, "new");
    return state;
}

static struct digest finish (struct digest_state *state)
{
    struct digest digest;
    demand (EVP_DigestFinal_ex (state->evp, digest.bytes, NULL) == 1, "final");
    return digest;
}

struct digest_state *digest_begin (void)
{
    demand (pthread_once (&once, prepare) == 0, "once");
    struct digest_state *state = state_new ();
    demand (EVP_DigestInit_ex2 (state->evp, sha256, NULL) == 1, "init");
    return state;
}

void digest_add (struct digest_state *state, const void *bytes, size_t len)
{
    if (len > 0)
        demand (EVP_DigestUpdate (state->evp, bytes, len) == 1, "update");
}

struct digest digest_end (struct digest_state *state)
{
    struct digest digest = finish (state);
    state_free (state);
    return digest;
}

static struct digest_state *state_of_thread (void)
{
    demand (pthread_once (&once, prepare) == 0, "once");
    struct digest_state *state = pthread_getspecific (state_key);
    if (!state) {
        state = state_new ();
        demand (pthread_setspecific (state_key, state) == 0, "thread");
    }
    return state;
}

struct digest digest_of (const void *bytes, size_t len)
{
    struct digest_state *state = state_of_thread ();
    demand (EVP_DigestInit_ex2 (state->evp, sha256, NULL) == 1, "init");
    digest_add (state, bytes, len);
    return finish (state);
}

int digest_of_fd (int fd, struct digest *out, uint64_t *bytes, struct err *err)
{
    unsigned char chunk[READ_BYTES];
    uint64_t total = 0;
    ssize_t got;
    struct digest_state *state = digest_begin ();
    while ((got = read (fd, chunk, sizeof chunk)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            break;
        digest_add (state, chunk, (size_t) got);
        total += (uint64_t) got;
    }
    int reason = errno;
    struct digest digest = digest_end (state);
    errno = reason;
    if (got < 0)
        return err_errno (err, ERR_IO, "reading descriptor %d for its digest", fd);
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
        return err_set (err, ERR_IO, "%s is a symbolic link: a regular file was expected", path);
    if (fd < 0)
        return err_errno (err, ERR_IO, "cannot open %s for its digest", path);
    if (fstat (fd, &found) < 0)
        err_errno (err, ERR_IO, "cannot look at %s for its digest", path);
    else if (!S_ISREG (found.st_mode))
        err_set (err, ERR_IO, "%s is not a regular file: no digest is made of it", path);
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
