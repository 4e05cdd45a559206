#include "coordinator/keys/public_key.h"

#include <stdio.h>
#include <string.h>

#include "common/io/atomic_file.h"
#include "common/model/hostset.h"

bool public_key_file (const char *name)
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
