#include "common/io/atomic_file.h"
#include "common/io/fd.h"
#include "common/model/msg.h"
#include "common/wire/wire.h"
#include "worker/attempt/attempt.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A file is the record and the digest of its bytes: a disk that changed some of them made no other result of it. */
#define SUFFIX ".mp"
enum { FILE_MAX_BYTES = MSG_MAX_BYTES + sizeof (struct digest) };

int result_store_save (const char *directory, const struct result *result, struct err *err)
{
    LOCAL_ARENA arena = { 0 };
    LOCAL_BUF bytes = { .max = FILE_MAX_BYTES };
    wire_put_record (&bytes, &result_record, result);
    struct digest digest = digest_of (bytes.ptr, bytes.len);
    buf_add (&bytes, digest.bytes, sizeof digest.bytes);
    struct text path = attempt_file_path (&arena, directory, "results", &result->key, SUFFIX);
    struct text folder = text_format (&arena, "%s/results", directory);
    if (bytes.overflow)
        return err_set (err, ERR_LIMIT, "a result is larger than %d bytes", MSG_MAX_BYTES);
    if (folder_make (folder.ptr, 0700, err) != 0)
        return -1;
    return atomic_file_write (path.ptr, bytes.ptr, bytes.len, 0600, err);
}

int result_store_forget (const char *directory, const struct attempt_key *key, struct err *err)
{
    LOCAL_ARENA arena = { 0 };
    struct text path = attempt_file_path (&arena, directory, "results", key, SUFFIX);
    return unlink (path.ptr) < 0 && errno != ENOENT ? err_errno (err, ERR_IO, "cannot remove %s", path.ptr) : 0;
}

/* Takes the digest off. */
static int result_store_check (struct buf *bytes, struct err *err)
{
    struct digest digest;
    if (bytes->len >= sizeof digest) {
        bytes->len -= sizeof digest;
        digest = digest_of (bytes->ptr, bytes->len);
        if (memcmp (bytes->ptr + bytes->len, digest.bytes, sizeof digest) == 0)
            return 0;
    }
    return err_set (err, ERR_DAMAGE, "a kept result is not as it was written");
}

static int recall_file (const char *path, result_store_fn *fn, void *owner, struct err *err)
{
    LOCAL_ARENA arena = { 0 };
    struct result result = { 0 };
    LOCAL_BUF bytes = { .max = FILE_MAX_BYTES };
    if (file_read (path, &bytes, err) != 0 || result_store_check (&bytes, err) != 0 ||
        wire_get_record (buf_as_text (&bytes), &result_record, &result, &arena, err) != 0)
        return err_prefix (err, "%s", path);
    fn (owner, &result);
    return 0;
}

static void put_aside (const char *path)
{
    char aside[PATH_MAX];
    /* When even that fails the file stays and is reported again at the next start. */
    if (snprintf (aside, sizeof aside, "%s.damaged", path) < (int) sizeof aside)
        (void) rename (path, aside);
}

static bool is_result (const char *name)
{
    return name[0] != '.' && text_ends (text_of (name), SUFFIX);
}

int result_store_recall (const char *directory, result_store_fn *fn, void *owner, struct err *err)
{
    char folder[PATH_MAX], path[PATH_MAX + NAME_MAX + 2];
    if (snprintf (folder, sizeof folder, "%s/results", directory) >= (int) sizeof folder)
        return err_set (err, ERR_LIMIT, "the path %s is too long", directory);
    LOCAL_DIR entries = opendir (folder);
    if (!entries)
        return errno == ENOENT ? 0 : err_errno (err, ERR_IO, "cannot read %s", folder);
    int rc = 0;
    for (struct dirent *entry = readdir (entries); entry; entry = readdir (entries)) {
        if (!is_result (entry->d_name))
            continue;
        snprintf (path, sizeof path, "%s/%s", folder, entry->d_name);
        if (recall_file (path, fn, owner, rc == 0 ? err : NULL) == 0)
            continue;
        put_aside (path);
        rc = -1;
    }
    return rc;
}
