#include "worker/files/wheels.h"

#include "common/base/digest.h"
#include "common/io/atomic_file.h"
#include "common/io/fd.h"
#include "common/model/kit.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what is here ---- */

static bool only_looks (const struct msg_run *run)
{
    for (uint32_t i = 0; i < run->rung.args.n; i++)
        if (text_is (run->rung.args.items[i].name, "build"))
            return text_is (run->rung.args.items[i].value, "false");
    return false;
}

bool wheels_are_needed (const struct msg_run *run)
{
    return run->rung.kind == PROGRAM_BUILTIN && text_is (run->rung.builtin, "restore") && run->pins.wheels.n > 0 &&
           !only_looks (run);
}

struct text wheels_folder (struct text directory, struct arena *arena)
{
    return text_format (arena, "%.*s/wheels", TEXT_ARG (directory));
}

const struct kit_file *wheels_find_by_sha256 (const struct msg_run *run, struct text sha256)
{
    for (uint32_t i = 0; i < run->pins.wheels.n; i++)
        if (text_equal (run->pins.wheels.items[i].file.sha256, sha256))
            return &run->pins.wheels.items[i];
    return NULL;
}

static bool name_is_good (struct text name)
{
    return kit_name_is_good (name) && !memchr (name.ptr, '/', name.len);
}

static int check_wheels (const struct msg_run *run, struct err *err)
{
    struct digest digest;
    for (uint32_t i = 0; i < run->pins.wheels.n; i++) {
        const struct kit_file *wheel = &run->pins.wheels.items[i];
        if (!name_is_good (wheel->name) || !digest_parse (wheel->file.sha256, &digest))
            return err_set (err, ERR_PARSE,
                            "wheel %u of the pins has no valid sha256, or its name is not a valid file name", i + 1);
    }
    return 0;
}

/* By its size first: what stands at the plan's path may be anything. Links and pipes are refused by digest_of_file. */
static bool holds (const char *path, struct text sha256)
{
    struct stat status;
    struct digest is, wanted;
    return lstat (path, &status) == 0 && status.st_size <= WHEEL_MAX_BYTES && digest_parse (sha256, &wanted) &&
           digest_of_file (path, &is, NULL) == 0 && digest_equal (&is, &wanted);
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
        if (holds (at.ptr, wheel->file.sha256))
            continue;
        if (!holds (text_copy (arena, wheel->file.path).ptr, wheel->file.sha256))
            missing[(*missing_n)++] = text_copy (arena, wheel->file.sha256);
        else if (link_to (wheel, at.ptr, arena, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- one on its way ---- */

struct wheel {
    int fd;
    struct digest_state *digest; /* of what came so far */
    uint64_t bytes;
    char path[PATH_MAX_BYTES + 1], part[PATH_MAX_BYTES + 8];
};

struct wheel *wheel_begin (const char *directory, struct text name, struct err *err)
{
    struct wheel *wheel = mem_alloc (sizeof *wheel);
    wheel->fd = -1;
    int len = snprintf (wheel->path, sizeof wheel->path, "%s/wheels/%.*s", directory, TEXT_ARG (name));
    snprintf (wheel->part, sizeof wheel->part, "%s.part", wheel->path);
    if (len >= (int) sizeof wheel->path || !name_is_good (name))
        err_set (err, ERR_PARSE, "the name of a fetched wheel is not a valid file name, or is too long");
    else if (unlink (wheel->part) < 0 && errno != ENOENT)
        err_errno (err, ERR_IO, "cannot remove %s, which an earlier worker left", wheel->part);
    else if ((wheel->fd = open (wheel->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0400)) < 0)
        err_errno (err, ERR_IO, "cannot make %s", wheel->part);
    if (wheel->fd < 0) {
        mem_free (wheel);
        return NULL;
    }
    wheel->digest = digest_begin ();
    return wheel;
}

int wheel_add (struct wheel *wheel, struct text bytes, struct err *err)
{
    if (fd_write (wheel->fd, bytes.ptr, bytes.len) < 0)
        return err_errno (err, ERR_IO, "cannot write %s", wheel->part);
    digest_add (wheel->digest, bytes.ptr, bytes.len);
    wheel->bytes += bytes.len;
    return 0;
}

uint64_t wheel_received_bytes (const struct wheel *wheel)
{
    return wheel->bytes;
}

static void forget (struct wheel *wheel)
{
    if (wheel->digest)
        (void) digest_end (wheel->digest);
    fd_close (wheel->fd);
    mem_free (wheel);
}

void wheel_drop (struct wheel *wheel)
{
    if (!wheel)
        return;
    unlink (wheel->part); /* what stays is removed by the next that begins */
    forget (wheel);
}

/* Not synced to the disk: what a power cut left half is seen by its sha256, and fetched anew. */
int wheel_end (struct wheel *wheel, struct text sha256, struct err *err)
{
    struct digest wanted, is = digest_end (wheel->digest);
    int rc = -1, fd = wheel->fd;
    wheel->digest = NULL;
    wheel->fd = -1;
    if (close (fd) < 0)
        err_errno (err, ERR_IO, "cannot close %s", wheel->part);
    else if (!digest_parse (sha256, &wanted) || !digest_equal (&is, &wanted))
        err_set (err, ERR_DAMAGE, "the file that the coordinator sent has another sha256 than the plan names");
    else if (rename (wheel->part, wheel->path) < 0)
        err_errno (err, ERR_IO, "cannot rename the new copy to %s", wheel->path);
    else
        rc = 0;
    if (rc < 0)
        wheel_drop (wheel);
    else
        forget (wheel);
    return rc;
}
