#include "coordinator/keys/key_file.h"

#include <string.h>

#include "common/io/atomic_file.h"
#include "common/io/curve_key.h"
#include "common/io/private_file.h"
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
    certificate_print (keys, NULL, 0, &file);
    int rc = atomic_file_write (path, file.ptr, file.len, 0600, err);
    wipe (&file);
    return rc;
}

static int parse_certificate (struct link_keys *keys, struct text file, const char *path, struct err *err)
{
    struct certificate *certificate = certificate_read (file);
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
    int rc = private_file_read_own (path, &file, err);
    struct text text = buf_as_text (&file);
    if (rc == 0)
        rc = text_starts (text, "sliceup link keys") ? link_keys_parse (&found, text, path, err)
                                                     : parse_certificate (&found, text, path, err);
    if (rc == 0)
        *keys = found;
    explicit_bzero (&found, sizeof found);
    wipe (&file);
    return rc;
}
