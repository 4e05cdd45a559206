#include "common/cache/storage.h"

#include "common/io/atomic_file.h"
#include "common/io/proc.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define STORAGE_NAME "storage"

enum { ID_LEN = STORAGE_ID_BYTES - 1, LINE_LEN = ID_LEN + 1 };
enum { HALF_WRITTEN_TRIES = 20, HALF_WRITTEN_WAIT_MS = 50 }; /* waits a second for a host that is still writing it */

static bool is_id (const char *text)
{
    return strspn (text, "0123456789abcdef") == ID_LEN && text[ID_LEN] == '\n';
}

enum found { FOUND_NONE, FOUND_HALF, FOUND_WHOLE, FOUND_ERROR };

static enum found read_once (int root, const char *path, char id[STORAGE_ID_BYTES], struct err *err)
{
    char line[LINE_LEN + 2] = { 0 };
    struct stat st;
    /* O_NONBLOCK: a pipe in its place must not hold us. */
    int fd = openat (root, STORAGE_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return FOUND_NONE;
    if (fd < 0)
        return err_errno (err, ERR_IO, "cannot read %.200s/storage, the id of the cache's storage", path), FOUND_ERROR;
    bool regular = fstat (fd, &st) == 0 && S_ISREG (st.st_mode);
    ssize_t got = regular ? read (fd, line, sizeof line - 1) : 0;
    close (fd);
    if (regular && got >= 0 && got < LINE_LEN)
        return FOUND_HALF;
    if (!regular || got != LINE_LEN || !is_id (line))
        return err_set (err, ERR_DAMAGE,
                        "%.200s/storage does not hold the %d hex digits that identify a cache's storage; "
                        "remove it while no run uses the cache",
                        path, ID_LEN),
               FOUND_ERROR;
    memcpy (id, line, ID_LEN);
    id[ID_LEN] = '\0';
    return FOUND_WHOLE;
}

static enum found read_id (int root, const char *path, char id[STORAGE_ID_BYTES], struct err *err)
{
    enum found found = read_once (root, path, id, err);
    for (int i = 0; found == FOUND_HALF && i < HALF_WRITTEN_TRIES; i++) {
        (void) poll (NULL, 0, HALF_WRITTEN_WAIT_MS); /* a signal may end it early */
        found = read_once (root, path, id, err);
    }
    if (found != FOUND_HALF)
        return found;
    return err_set (err, ERR_DAMAGE, "%.200s/storage is incomplete; remove it while no run uses the cache", path),
           FOUND_ERROR;
}

static int write_new (int root, const char *name, const char *line)
{
    int fd = openat (root, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
    if (fd < 0)
        return -1;
    int rc = write (fd, line, LINE_LEN) == LINE_LEN ? 0 : -1;
    if (rc == 0)
        rc = fchmod (fd, 0444) || fsync (fd) ? -1 : 0;
    int why = errno;
    if (close (fd) && rc == 0) {
        rc = -1;
        why = errno;
    }
    if (rc)
        unlinkat (root, name, 0); /* what matters is why it could not be written */
    errno = why;
    return rc;
}

/* Writes a temporary file and links it, so that readers see all of it or nothing. Storages without links get it under
 * its own name at once. EEXIST: another host was faster. */
static int place_id (int root, const char *line)
{
    char beside[64];
    snprintf (beside, sizeof beside, STORAGE_NAME ".%.*s", ID_LEN, line);
    if (write_new (root, beside, line))
        return -1;
    int rc = linkat (root, beside, root, STORAGE_NAME, 0), why = errno;
    unlinkat (root, beside, 0); /* stays, and means nothing, when this fails */
    if (rc && why != EEXIST && why != ENOENT)
        return write_new (root, STORAGE_NAME, line);
    errno = why;
    return rc;
}

static int make_id (int root, const char *path, struct err *err)
{
    uint64_t bits;
    char line[LINE_LEN + 1];
    if (getrandom (&bits, sizeof bits, 0) != sizeof bits)
        return err_errno (err, ERR_IO, "cannot get random bits for the id of the cache's storage");
    snprintf (line, sizeof line, "%016llx\n", (unsigned long long) bits);
    if (place_id (root, line) && errno != EEXIST)
        return err_errno (err, ERR_IO, "cannot make %.200s/storage, the id of the cache's storage", path);
    if (fsync (root) && errno != EINVAL)
        return err_errno (err, ERR_IO, "cannot sync %.200s/storage, the id of the cache's storage, to disk", path);
    return 0;
}

static int id_of (int root, const char *path, bool make, char id[STORAGE_ID_BYTES], struct err *err)
{
    enum found found = read_id (root, path, id, err);
    if (found == FOUND_NONE && make && make_id (root, path, err))
        return -1;
    if (found == FOUND_NONE && make)
        found = read_id (root, path, id, err);
    if (found == FOUND_NONE)
        return err_set (err, ERR_STATE,
                        "there is no %.200s/storage"
                        ": no run has used this cache yet, or another storage is mounted at this path",
                        path);
    return found == FOUND_WHOLE ? 0 : -1;
}

int storage_id (const char *root, bool make, char id[STORAGE_ID_BYTES], struct err *err)
{
    if (make && folder_make (root, 0755, err))
        return err_prefix (err, "cache root");
    int fd = open (root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return err_set (err, ERR_STATE, "there is no cache root %.200s on this host", root);
    if (fd < 0)
        return err_errno (err, ERR_IO, "cannot open cache root %.200s", root);
    int rc = id_of (fd, root, make, id, err);
    close (fd);
    return rc;
}

static void storage_describe (const struct proc_mount *mount, char *out, size_t out_bytes)
{
    struct text options = mount->options;
    /* The file system or the mount can be read-only. */
    bool closed = text_starts (mount->system_options, "ro") && text_starts (options, "rw");
    if (closed)
        options = (struct text){ options.ptr + 2, options.len - 2 };
    snprintf (out, out_bytes, "%.*s %s%.*s %.*s", TEXT_ARG (mount->type), closed ? "ro" : "", TEXT_ARG (options),
              TEXT_ARG (mount->source));
    for (char *c = out; *c; c++)
        if (*c < 0x20 || *c > 0x7e)
            *c = '?';
}

int storage_describe_mount (const char *path, char *out, size_t out_bytes, struct err *err)
{
    struct arena arena = { 0 };
    struct proc_mounts mounts;
    const struct proc_mount *mount = NULL;
    if (proc_mounts_read ("/proc/self", &arena, &mounts, err) == 0)
        mount = proc_mounts_find (&mounts, path, err);
    if (mount)
        storage_describe (mount, out, out_bytes);
    arena_release (&arena);
    return mount ? 0 : -1;
}
