#include "coordinator/keys/key_file.h"

#include <stdio.h>
#include <string.h>

#include "common/io/atomic_file.h"
#include "common/io/curve_key.h"
#include "common/io/private_file.h"
#include "common/model/hostset.h"
#include "coordinator/czmq/certificate.h"

static void wipe (struct buf *file)
{
    if (file->ptr)
        explicit_bzero (file->ptr, file->capacity);
    buf_release (file);
}

int key_file_save (const struct link_keys *keys, const char *path, struct err *err)
{
    struct buf file;
    if (link_keys_check (keys, err) != 0)
        return err_prefix (err, "keys for %s", path);
    buf_init (&file, CERTIFICATE_MAX_BYTES);
    certificate_format (keys, NULL, 0, &file);
    int rc = atomic_file_write (path, file.ptr, file.len, 0600, err);
    wipe (&file);
    return rc;
}

static int parse_certificate (struct link_keys *keys, struct text file, const char *path, struct err *err)
{
    struct certificate *certificate = certificate_parse (file);
    bool whole = certificate && certificate_keys (certificate, keys);
    certificate_release (certificate);
    if (!whole)
        return err_set (err, ERR_DAMAGE, "key file %s does not hold a CURVE secret key", path);
    return link_keys_check (keys, err) == 0 ? 0 : err_prefix (err, "key file %s", path);
}

int key_file_load (struct link_keys *keys, const char *path, struct err *err)
{
    struct buf file;
    struct link_keys found = { 0 };
    buf_init (&file, CERTIFICATE_MAX_BYTES);
    int rc = private_file_read_nofollow (path, &file, err);
    if (rc == 0)
        rc = parse_certificate (&found, buf_as_text (&file), path, err);
    if (rc == 0)
        *keys = found;
    explicit_bzero (&found, sizeof found);
    wipe (&file);
    return rc;
}

/* ---- public keys ---- */

bool public_key_is_file_name (const char *name)
{
    size_t len = strlen (name), suffix = strlen (PUBLIC_KEY_SUFFIX);
    if (len <= suffix || strcmp (name + len - suffix, PUBLIC_KEY_SUFFIX) != 0)
        return false;
    /* The same grammar as a host's name, for the same reason: it is part of a path. */
    return host_name_valid ((struct text){ name, (uint32_t) (len - suffix) });
}

int public_key_save (const char *path, const char *public_key, struct err *err)
{
    char line[LINK_KEY_BYTES + 1];
    int len = snprintf (line, sizeof line, "%s\n", public_key);
    return atomic_file_write (path, line, (size_t) len, 0600, err);
}

int public_key_load (const char *path, char out[LINK_KEY_BYTES], struct err *err)
{
    struct buf file;
    buf_init (&file, LINK_KEY_BYTES);
    int rc = file_read (path, &file, err);
    if (rc == 0 &&
        (file.len != LINK_KEY_BYTES || file.ptr[LINK_KEY_BYTES - 1] != '\n' || memchr (file.ptr, 0, file.len) != NULL))
        rc = err_set (err, ERR_DAMAGE, "%s does not hold a public key: expected %d characters and a newline", path,
                      LINK_KEY_BYTES - 1);
    if (rc == 0) {
        memcpy (out, file.ptr, LINK_KEY_BYTES - 1);
        out[LINK_KEY_BYTES - 1] = '\0';
    }
    buf_release (&file);
    return rc;
}
