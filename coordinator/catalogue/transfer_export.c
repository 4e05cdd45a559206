#include "coordinator/catalogue/catalogue.h"

#include "common/base/path.h"
#include "common/cache/audit.h"
#include "common/cache/generation.h"
#include "common/io/atomic_file.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_BYTES = 32 }; /* of the names in a carried folder */

/* ---- what is exported is what was sealed ---- */

static int check_source (struct text bundle_root, const struct fact_generation *generation, struct arena *arena,
                         struct err *err)
{
    struct finding_list found = { 0 };
    if (audit_generation (bundle_root, generation->token, generation->sha256, AUDIT_STAT, 0, arena, &found, err) != 0)
        return -1;
    if (found.n == 0)
        return 0;
    const struct finding *first = &found.items[0];
    return err_set (err, ERR_DAMAGE,
                    "generation %" PRIu64 " was modified after it was sealed (%s: %.*s%s%.*s): nothing was exported; "
                    "sliceup cache verify lists all differences",
                    generation->token, enum_name_of (&finding_kind_names, first->kind), TEXT_ARG (first->path),
                    first->detail.len ? ": " : "", TEXT_ARG (text_clip (first->detail, 200)));
}

/* ---- files ---- */

/* EINVAL: a file system that does not buffer folders. */
static int settle_entry (int to, const struct manifest_entry *entry, struct err *err)
{
    char shown[TREE_SHOWN_BYTES];
    int rc = 0, fd = tree_open_entry (to, &entry->at, err);
    if (fd < 0)
        return -1;
    /* Folders stay writable for their owner: an exported folder must be easy to remove. */
    bool file = entry->at.kind == TREE_FILE;
    if ((file && fchmod (fd, entry->at.mode)) || (fsync (fd) && (file || errno != EINVAL)))
        rc = err_errno (err, ERR_IO, "cannot write the copy of \"%s\" to disk",
                        tree_print_path (entry->at.path, shown));
    close (fd);
    return rc;
}

static int copy_all (const struct generation *from, const struct manifest *manifest, int to, struct err *err)
{
    if (copy_entries (manifest, from->fd, to, err) != 0)
        return -1;
    for (uint32_t i = 0; i < manifest->n; i++)
        if (settle_entry (to, &manifest->items[i], err) != 0)
            return -1;
    return 0;
}

static int write_files (const struct manifest *manifest, const char *part, struct text json, struct err *err)
{
    char path[PATH_MAX + NAME_BYTES];
    struct buf bytes;
    buf_init (&bytes, MANIFEST_BYTES_MAX);
    manifest_print (manifest, &bytes); /* gives the bytes it was parsed from, since it has one spelling */
    snprintf (path, sizeof path, "%s/" TRANSFER_SEALED "/" MANIFEST_NAME, part);
    int rc = bytes.overflow ? err_set (err, ERR_LIMIT, MANIFEST_NAME " is longer than %d bytes", MANIFEST_BYTES_MAX)
                            : atomic_file_write (path, bytes.ptr, bytes.len, 0444, err);
    buf_release (&bytes);
    snprintf (path, sizeof path, "%s/" TRANSFER_JSON, part);
    return rc == 0 ? atomic_file_write (path, json.ptr, json.len, 0644, err) : rc;
}

static int transfer_export_fill (const struct generation *from, const struct manifest *manifest, const char *part,
                                 struct text json, struct err *err)
{
    char path[PATH_MAX + NAME_BYTES];
    snprintf (path, sizeof path, "%s/" TRANSFER_SEALED, part);
    if (mkdir (path, 0755) != 0)
        return err_errno (err, ERR_IO, "cannot make %s", path);
    int to = open (path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (to < 0)
        return err_errno (err, ERR_IO, "cannot open %s", path);
    int rc = copy_all (from, manifest, to, err);
    close (to);
    if (rc != 0 || write_files (manifest, part, json, err) != 0)
        return -1;
    return folder_sync (path, err) == 0 && folder_sync (part, err) == 0 ? 0 : -1;
}

/* ---- naming it ---- */

static int exists_already (const char *to, struct err *err)
{
    return err_set (err, ERR_STATE, "%s already exists: expected the name of a new folder", to);
}

/* Renames without replacing. EINVAL: the file system cannot do that, so the earlier check must suffice. */
static int name_it (const char *part, const char *to, struct err *err)
{
    char parent[PATH_MAX];
    int rc = renameat2 (AT_FDCWD, part, AT_FDCWD, to, RENAME_NOREPLACE);
    if (rc != 0 && errno == EINVAL)
        rc = rename (part, to);
    if (rc != 0 && (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR))
        return exists_already (to, err);
    if (rc != 0)
        return err_errno (err, ERR_IO, "cannot name %s", to);
    return folder_sync (path_folder_c (to, parent), err);
}

static int begin_part (const char *to, char part[PATH_MAX], struct err *err)
{
    struct stat st;
    uint32_t bits = 0;
    size_t len = strlen (to);
    if (len == 0 || len > PATH_MAX - 320 ||
        to[len - 1] == '/') /* what is added stays below that, names of entries too */
        return err_set (err, ERR_USAGE, "'%.200s' is not a name for a new folder: give a path without a '/' at its end",
                        to);
    if (lstat (to, &st) == 0)
        return exists_already (to, err);
    if (getrandom (&bits, sizeof bits, 0) != sizeof bits)
        return err_errno (err, ERR_IO, "cannot get random numbers for the name of a folder");
    snprintf (part, PATH_MAX, "%s.part-%08x", to, bits);
    return mkdir (part, 0755) == 0 ? 0 : err_errno (err, ERR_IO, "cannot make %s", part);
}

static int export(const struct generation *from, const struct manifest *manifest, const char *to, struct text json,
                  struct err *err)
{
    char part[PATH_MAX];
    struct err why = { 0 };
    if (begin_part (to, part, err) != 0)
        return -1;
    if (transfer_export_fill (from, manifest, part, json, err) == 0 && name_it (part, to, err) == 0)
        return 0;
    if (folder_remove (part, &why) != 0)
        err_prefix (err, "(%.200s stays)", part);
    return err_prefix (err, "cannot export to %.200s", to);
}

int transfer_export (const char *root, const struct fact_generation *generation, const char *to, struct text json,
                     struct err *err)
{
    struct generation from;
    struct manifest manifest;
    struct arena arena = { 0 };
    int rc = -1;
    if (catalogue_family_name_check (generation->bundle, err) != 0)
        return -1;
    struct text bundle_root = text_format (&arena, "%s/%.*s", root, TEXT_ARG (generation->bundle));
    if (check_source (bundle_root, generation, &arena, err) == 0 &&
        generation_open_root (&from, bundle_root, generation->token, false, err) == 0) {
        if (generation_open (&from, err) == 0 &&
            generation_read_manifest (&from, generation->sha256, &arena, &manifest, err) == 0)
            rc = export(&from, &manifest, to, json, err);
        generation_close (&from);
    }
    arena_release (&arena);
    return rc;
}
