#include "common/io/curve_key.h"

#include <assert.h>
#include <string.h>
#include <zmq.h>

int curve_key_parse (struct text z85, struct curve_key *out, struct err *err)
{
    char copy[LINK_KEY_BYTES];
    struct curve_key key;
    if (z85.len != LINK_KEY_BYTES - 1 || !text_to_c (z85, copy, sizeof copy))
        return err_set (err, ERR_PARSE, "a CURVE key must have %d characters (Z85); this one has %u",
                        LINK_KEY_BYTES - 1, (unsigned) z85.len);
    /* It refuses foreign characters, and groups of five above 32 bits, which would be a second spelling. */
    bool good = zmq_z85_decode (key.bytes, copy) != NULL;
    if (good)
        *out = key;
    explicit_bzero (copy, sizeof copy);
    explicit_bzero (&key, sizeof key);
    return good ? 0 : err_set (err, ERR_PARSE, "this CURVE key is not valid Z85 (RFC 32)");
}

/* libzmq's own generator, which czmq's zcert calls as well: czmq itself would bring a dozen libraries onto every host
 * (systemd, gcrypt, lzma, zstd, lz4, cap, ...) and changes the process's signals and environment. */
void link_keys_make (struct link_keys *keys)
{
    int rc = zmq_curve_keypair (keys->public_key, keys->secret_key);
    assert (rc == 0); /* libzmq without CURVE: Debian's has it */
}

int link_keys_check (const struct link_keys *keys, struct err *err)
{
    struct curve_key key;
    char derived[LINK_KEY_BYTES];
    if (strnlen (keys->public_key, LINK_KEY_BYTES) == LINK_KEY_BYTES ||
        strnlen (keys->secret_key, LINK_KEY_BYTES) == LINK_KEY_BYTES)
        return err_set (err, ERR_PARSE, "this CURVE key does not end after %d characters", LINK_KEY_BYTES - 1);
    if (curve_key_parse (text_of (keys->public_key), &key, err) != 0)
        return err_prefix (err, "public key");
    if (curve_key_parse (text_of (keys->secret_key), &key, err) != 0)
        return err_prefix (err, "secret key");
    explicit_bzero (&key, sizeof key);
    if (zmq_curve_public (derived, keys->secret_key) != 0 || strcmp (derived, keys->public_key) != 0)
        return err_set (err, ERR_DAMAGE, "the public key does not match the secret key: make a new pair");
    return 0;
}
