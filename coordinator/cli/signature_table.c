#include "coordinator/cli/planning.h"

#include "common/base/digest.h"
#include "common/io/atomic_file.h"
#include "common/signature/signature.h"
#include "common/wire/wire.h"

static int encode (const struct plan *plan, struct buf *out, struct err *err)
{
    struct signature_table table = { 0 };
    table.signatures.items = plan->signatures.items;
    table.signatures.n = plan->signatures.n;
    wire_put_record (out, &signature_table_record, &table);
    return out->overflow
               ? err_set (err, ERR_LIMIT, "the configured signatures need more than %d bytes", KIT_FILE_MAX_BYTES)
               : 0;
}

static bool is_there (const char *path, const struct digest *wanted)
{
    struct digest is;
    return digest_of_file (path, &is, NULL) == 0 && digest_equal (&is, wanted);
}

static int write_file (const struct plan *plan, struct text bytes, struct arena *arena, struct file_ref *out,
                       struct err *err)
{
    char hex[DIGEST_HEX_BYTES];
    struct digest digest = digest_of (bytes.ptr, bytes.len);
    struct text folder = text_format (arena, "%.*s/signatures", TEXT_ARG (plan->home));
    struct text path = text_format (arena, "%s/%s", folder.ptr, digest_hex (&digest, hex));
    if (path.len > PATH_MAX_BYTES)
        return err_set (err, ERR_LIMIT, "%.100s...: the path of the file of signatures has more than %d bytes",
                        path.ptr, PATH_MAX_BYTES);
    if (!is_there (path.ptr, &digest) &&
        (folder_make (folder.ptr, 0700, err) < 0 || atomic_file_write (path.ptr, bytes.ptr, bytes.len, 0600, err) < 0))
        return -1;
    *out = (struct file_ref){ path, text_copy (arena, text_of (hex)) };
    return 0;
}

int signature_table_write (struct plan *plan, struct arena *arena, struct err *err)
{
    struct buf bytes;
    plan->signature_table = (struct file_ref){ 0 };
    if (plan->signatures.n == 0)
        return 0;
    buf_init (&bytes, KIT_FILE_MAX_BYTES);
    int rc = encode (plan, &bytes, err);
    if (rc == 0)
        rc = write_file (plan, buf_as_text (&bytes), arena, &plan->signature_table, err);
    buf_release (&bytes);
    return rc;
}
