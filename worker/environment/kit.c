#include "worker/environment/kit.h"

#include "common/base/path.h"
#include "common/io/atomic_file.h"
#include "common/io/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- which files ---- */

static void kit_add (struct kit_list *list, const char *name, const struct file_ref *file)
{
    if (file->path.len)
        list->items[list->n++] = (struct kit_file){ text_of (name), *file };
}

void kit_list_of (const struct msg_run *run, struct kit_list *out)
{
    const struct rung *rung = &run->rung;
    out->n = 0;
    if (rung->kind == PROGRAM_CANARY && rung->files.n == 0)
        kit_add (out, "program.py", &rung->program);
    for (uint32_t i = 0; rung->kind != PROGRAM_BUILTIN && i < rung->files.n && i < KIT_FILES_MAX; i++)
        out->items[out->n++] = rung->files.items[i];
    if (rung_is_builtin (rung, "restore")) {
        kit_add (out, "pins.txt", &run->pins.file);
        kit_add (out, "setup.sh", &run->pins.setup);
    }
}

static int check_list (const struct kit_list *list, struct err *err)
{
    struct digest digest;
    for (uint32_t i = 0; i < list->n; i++) {
        const struct kit_file *file = &list->items[i];
        if (!kit_name_is_good (file->name) || !digest_parse (file->file.sha256, &digest))
            return err_set (err, ERR_PARSE,
                            "file %u of this rung has no valid sha256, or its name is not a valid file name", i + 1);
        for (uint32_t k = 0; k < i; k++)
            if (text_equal (list->items[k].name, file->name))
                return err_set (err, ERR_PARSE, "two files of this rung have the name %.*s", TEXT_ARG (file->name));
    }
    return 0;
}

/* ---- one file ---- */

struct text kit_file_path (struct text folder, const struct kit_file *file, struct arena *arena)
{
    if (!folder.len)
        return file->file.path;
    return text_format (arena, "%.*s/%.*s", TEXT_ARG (folder), TEXT_ARG (file->name));
}

/* By size first: what stands at the plan's path may be anything, and take for ever to read. digest_of_file refuses links
 * and pipes. */
static bool kit_holds (struct text at, struct text sha256, uint64_t bytes_max)
{
    char path[PATH_MAX];
    struct stat status;
    struct digest is, wanted;
    return text_to_c (at, path, sizeof path) && digest_parse (sha256, &wanted) && lstat (path, &status) == 0 &&
           (uint64_t) status.st_size <= bytes_max && digest_of_file (path, &is, NULL) == 0 &&
           digest_equal (&is, &wanted);
}

static bool all_hold (const struct kit_list *list, struct text folder, struct arena *arena)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (!kit_holds (kit_file_path (folder, &list->items[i], arena), list->items[i].file.sha256, KIT_FILE_MAX_BYTES))
            return false;
    return true;
}

/* Beside our modules for commands, which are installed, a user's Python would put what it compiled. */
static void list_command_helpers (const struct kit_list *list, struct kit_list *out)
{
    out->n = 0;
    for (uint32_t i = 0; i < list->n; i++)
        if (text_starts (list->items[i].name, KIT_COMMAND_HELPERS "/"))
            out->items[out->n++] = list->items[i];
}

/* ---- the store ---- */

struct text kit_stored_path (const char *directory, struct text sha256, struct arena *arena)
{
    return text_format (arena, "%s/files/%.*s", directory, TEXT_ARG (sha256));
}

/* The bytes themselves are looked at: a file may change between two looks at it. */
static bool read_if_it_holds (struct text at, const struct digest *wanted, struct buf *out)
{
    char path[PATH_MAX];
    if (!text_to_c (at, path, sizeof path) || file_read (path, out, NULL) < 0)
        return false;
    struct digest is = digest_of (out->ptr, out->len);
    return digest_equal (&is, wanted);
}

bool kit_read_file (const struct file_ref *file, const char *directory, struct arena *arena, struct buf *out)
{
    struct digest wanted;
    return digest_parse (file->sha256, &wanted) &&
           (read_if_it_holds (file->path, &wanted, out) ||
            read_if_it_holds (kit_stored_path (directory, file->sha256, arena), &wanted, out));
}

static void find_missing (const struct kit_list *list, const char *directory, struct arena *arena, struct kit *out)
{
    out->missing.items = arena_array (arena, list->n, sizeof *out->missing.items);
    for (uint32_t i = 0; i < list->n; i++) {
        struct text sha256 = list->items[i].file.sha256;
        if (!text_is_among (sha256, out->missing.items, out->missing.n) &&
            !kit_holds (kit_stored_path (directory, sha256, arena), sha256, KIT_FILE_MAX_BYTES))
            out->missing.items[out->missing.n++] = text_copy (arena, sha256);
    }
}

/* ---- the kit ---- */

/* Not synced to the disk, for which nobody waits then: what a power cut left half is seen, and made anew. */
static int kit_write_file (const char *path, struct text bytes, struct err *err)
{
    int fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0500); /* it may be a program */
    if (fd < 0)
        return err_errno (err, ERR_IO, "cannot make %s", path);
    int rc = fd_write (fd, bytes.ptr, bytes.len) < 0 ? err_errno (err, ERR_IO, "cannot write %s", path) : 0;
    if (close (fd) < 0 && rc == 0)
        rc = err_errno (err, ERR_IO, "cannot close %s", path);
    return rc;
}

static int copy_one (const struct kit_file *file, struct text in, struct text to, struct arena *arena, struct err *err)
{
    LOCAL_BUF bytes = { .max = KIT_FILE_MAX_BYTES };
    if (folder_make (text_copy (arena, path_folder (to)).ptr, 0700, err) != 0 || file_read (in.ptr, &bytes, err) != 0 ||
        kit_write_file (to.ptr, buf_as_text (&bytes), err) != 0)
        return err_prefix (err, "file %.*s of this rung", TEXT_ARG (file->name));
    return 0;
}

static int copy_all (const struct kit_list *list, const char *directory, struct text to, struct arena *arena,
                     struct err *err)
{
    for (uint32_t i = 0; i < list->n; i++) {
        const struct kit_file *file = &list->items[i];
        struct text from = kit_stored_path (directory, file->file.sha256, arena);
        if (copy_one (file, from, kit_file_path (to, file, arena), arena, err) < 0)
            return -1;
    }
    return 0;
}

/* Beside its place first: a kit that is there is whole, or was changed since and is removed. */
static int put_together (const struct kit_list *list, const char *directory, struct text folder, struct arena *arena,
                         struct err *err)
{
    struct text beside = text_format (arena, "%.*s.new", TEXT_ARG (folder));
    if (folder_remove (beside.ptr, err) < 0 || folder_remove (folder.ptr, err) < 0)
        return -1;
    if (folder_make (beside.ptr, 0700, err) < 0 || copy_all (list, directory, beside, arena, err) < 0)
        return -1;
    if (rename (beside.ptr, folder.ptr) < 0)
        return err_errno (err, ERR_IO, "cannot rename the new copy to %s", folder.ptr);
    if (!all_hold (list, folder, arena))
        return err_set (err, ERR_DAMAGE,
                        "%s changed while the worker wrote it: check whether another process writes there", folder.ptr);
    return 0;
}

/* Its folder stays empty where something is missing. */
static int prepare_folder (const struct kit_list *list, const char *directory, struct arena *arena, struct kit *out,
                           struct text *folder, struct err *err)
{
    struct digest digest = kit_digest (list->items, list->n);
    struct text at = text_format (arena, "%s/kits/%s", directory, DIGEST_TEXT (&digest));
    bool there = all_hold (list, at, arena);
    if (!there)
        find_missing (list, directory, arena, out);
    if (!there && out->missing.n == 0 && put_together (list, directory, at, arena, err) < 0)
        return -1;
    if (out->missing.n == 0)
        *folder = at;
    return 0;
}

int kit_prepare (const struct kit_list *list, const char *directory, struct arena *arena, struct kit *out,
                 struct err *err)
{
    struct kit_list helpers;
    *out = (struct kit){ 0 };
    if (check_list (list, err) < 0)
        return -1;
    if (!all_hold (list, (struct text){ 0 }, arena)) {
        int rc = prepare_folder (list, directory, arena, out, &out->folder, err);
        out->helpers = out->folder;
        return rc;
    }
    list_command_helpers (list, &helpers);
    return helpers.n ? prepare_folder (&helpers, directory, arena, out, &out->helpers, err) : 0;
}

/* ---- wheels ---- */

static bool only_looks (const struct msg_run *run)
{
    return text_is (var_value (&run->rung.args, "build"), "false");
}

bool wheels_are_needed (const struct msg_run *run)
{
    return rung_is_builtin (&run->rung, "restore") && run->pins.wheels.n > 0 && !only_looks (run);
}

struct text wheels_folder (struct text directory, struct arena *arena)
{
    return text_format (arena, "%.*s/wheels", TEXT_ARG (directory));
}

const struct kit_file *wheels_find_by_sha256 (const struct msg_run *run, struct text sha256)
{
    return LIST_FIND (run->pins.wheels, struct kit_file, file.sha256, sha256);
}

bool wheels_name_is_good (struct text name)
{
    return kit_name_is_good (name) && !memchr (name.ptr, '/', name.len);
}

static int check_wheels (const struct msg_run *run, struct err *err)
{
    struct digest digest;
    for (uint32_t i = 0; i < run->pins.wheels.n; i++) {
        const struct kit_file *wheel = &run->pins.wheels.items[i];
        if (!wheels_name_is_good (wheel->name) || !digest_parse (wheel->file.sha256, &digest))
            return err_set (err, ERR_PARSE,
                            "wheel %u of the pins has no valid sha256, or its name is not a valid file name", i + 1);
    }
    return 0;
}

static int link_to (const struct kit_file *wheel, const char *at, struct arena *arena, struct err *err)
{
    if (unlink (at) < 0 && errno != ENOENT)
        return err_errno (err, ERR_IO, "cannot remove %s, which an earlier worker left", at);
    if (symlink (text_copy (arena, wheel->file.path).ptr, at) < 0)
        return err_errno (err, ERR_IO, "cannot make the symbolic link %s", at);
    return 0;
}

int wheels_link_present (const struct msg_run *run, const char *directory, struct arena *arena, struct text *missing,
                         uint32_t *missing_n, struct err *err)
{
    struct text folder = wheels_folder (text_of (directory), arena);
    *missing_n = 0;
    if (check_wheels (run, err) < 0 || folder_make (folder.ptr, 0700, err) < 0)
        return -1;
    for (uint32_t i = 0; i < run->pins.wheels.n; i++) {
        const struct kit_file *wheel = &run->pins.wheels.items[i];
        struct text at = text_format (arena, "%.*s/%.*s", TEXT_ARG (folder), TEXT_ARG (wheel->name));
        if (kit_holds (at, wheel->file.sha256, WHEEL_MAX_BYTES))
            continue;
        if (!kit_holds (wheel->file.path, wheel->file.sha256, WHEEL_MAX_BYTES))
            missing[(*missing_n)++] = text_copy (arena, wheel->file.sha256);
        else if (link_to (wheel, at.ptr, arena, err) < 0)
            return -1;
    }
    return 0;
}
