#include "common/cache/storage.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/rng.h"
#include "common/cache/generation.h"
#include "common/io/atomic_file.h"
#include "common/io/fd.h"
#include "common/io/proc.h"
#include "common/io/safe_path.h"

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
    LOCAL_FD fd = openat (root, STORAGE_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return FOUND_NONE;
    if (fd < 0)
        return err_errno (err, ERR_IO, "cannot read %.200s/storage, the id of the cache's storage", path), FOUND_ERROR;
    bool regular = fstat (fd, &st) == 0 && S_ISREG (st.st_mode);
    ssize_t got = regular ? read (fd, line, sizeof line - 1) : 0;
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
    char line[LINE_LEN + 1];
    if (random_hex (line, ID_LEN, "the id of the cache's storage", err) != 0)
        return -1;
    snprintf (line + ID_LEN, 2, "\n");
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
    LOCAL_FD fd = open (root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return err_set (err, ERR_STATE, "there is no cache root %.200s on this host", root);
    if (fd < 0)
        return err_errno (err, ERR_IO, "cannot open cache root %.200s", root);
    return id_of (fd, root, make, id, err);
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
    LOCAL_ARENA arena = { 0 };
    struct proc_mounts mounts;
    const struct proc_mount *mount = NULL;
    if (proc_mounts_read ("/proc/self", &arena, &mounts, err) == 0)
        mount = proc_mounts_find (&mounts, path, err);
    if (mount)
        storage_describe (mount, out, out_bytes);
    return mount ? 0 : -1;
}

int storage_check_modes (const char *root, struct err *err)
{
    char path[PATH_MAX], mount[NAME_MAX_BYTES + 1] = "unknown";
    struct stat at = { 0 };
    int len = snprintf (path, sizeof path, "%s/probe-mode-XXXXXX", root);
    int fd = len < (int) sizeof path ? mkostemp (path, O_CLOEXEC) : -1;
    if (fd < 0) /* what cannot be made is found by those who need it */
        return 0;
    (void) fchmod (fd, 0600);
    int rc = fstat (fd, &at);
    close (fd);
    (void) unlink (path);
    if (rc < 0 || (at.st_mode & 0077) == 0)
        return 0;
    (void) storage_describe_mount (root, mount, sizeof mount, NULL);
    return err_set (err, ERR_STATE,
                    "cache root: a file of mode 0600 in %.150s gets mode %04o: its mount (%.100s) gives all files one "
                    "mode; mount it with file-mode=600,dir-mode=700 (gcsfuse), umask=0077 (s3fs, rclone, drvfs) or "
                    "file_mode=0600,dir_mode=0700 (cifs)",
                    root, at.st_mode & 07777, mount);
}

/* ---- who could change it ---- */

static struct safe_path_rule rule_of (const char *what, const uid_list *trust)
{
    return (struct safe_path_rule){ .what = what,
                                    .instead = "set another cache.root",
                                    .trust = "cache: {trust: [...]}",
                                    .uids = trust->items,
                                    .uids_n = trust->n };
}

/* Something that is not a file, or cannot be reached, is refused when it is opened. */
static int check_file (const char *root, const char *name, const uid_list *trust, struct err *err)
{
    const struct safe_path_rule rule = rule_of ("cache file", trust);
    char path[PATH_MAX];
    struct stat at;
    int len = snprintf (path, sizeof path, "%s/%s", root, name);
    if (len < 0 || (size_t) len >= sizeof path)
        return err_set (err, ERR_LIMIT, "the path of the cache root is longer than %d bytes", PATH_MAX);
    if (lstat (path, &at) != 0)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES
                   ? 0
                   : err_errno (err, ERR_IO, "cannot examine %.300s", path);
    return S_ISREG (at.st_mode) ? safe_path_check_end (path, &at, &rule, err) : 0;
}

/* No chmod changes what a mount opens to all. A root that is not there will lie in the last folder on its way. */
static void blame_mount (const char *root, struct err *err)
{
    char path[PATH_MAX];
    struct stat at = { 0 };
    struct err mount = { 0 };
    snprintf (path, sizeof path, "%s", root);
    for (char *end = path; stat (path, &at) < 0 && errno == ENOENT && (end = strrchr (path, '/')) && end > path;)
        *end = '\0';
    if (at.st_mode & (S_IWGRP | S_IWOTH) && storage_check_modes (path, &mount) < 0)
        *err = mount;
}

int owners_check_root (const char *root, const uid_list *trust, struct err *err)
{
    static const char *const files[] = { "storage", "catalogue.db", "catalogue.db-journal", "catalogue.db-wal",
                                         "catalogue.db-shm" };
    const struct safe_path_rule rule = rule_of ("cache root", trust);
    int rc = safe_path_check (root, &rule, err);
    if (rc < 0 && err->code == ERR_REFUSED)
        blame_mount (root, err);
    for (size_t i = 0; i < sizeof files / sizeof files[0] && rc == 0; i++)
        rc = check_file (root, files[i], trust, err);
    return rc;
}

/* Checks root, frontend and bundle folder each by itself: a sticky folder is accepted above the root only. */
static int check_folders (char *path, uint64_t token, const uid_list *trust, struct err *err)
{
    const struct safe_path_rule folder = rule_of ("cache folder", trust),
                                generation = rule_of ("cache generation", trust);
    char *bundle = strrchr (path, '/');
    char *frontend = bundle && bundle != path ? memrchr (path, '/', (size_t) (bundle - path)) : NULL;
    if (!frontend || frontend == path)
        return err_set (err, ERR_REFUSED, "\"%.300s\" is not an absolute path <root>/<frontend>/<bundle>", path);
    *frontend = *bundle = '\0';
    int rc = owners_check_root (path, trust, err);
    *frontend = '/';
    if (rc == 0)
        rc = safe_path_check (path, &folder, err);
    *bundle = '/';
    if (rc == 0)
        rc = safe_path_check (path, &folder, err);
    if (rc < 0 || token == 0)
        return rc;
    snprintf (path + strlen (path), PATH_MAX - strlen (path), "/gen-%" PRIu64, token);
    return safe_path_check (path, &generation, err);
}

int owners_check_generation (struct text bundle_root, uint64_t token, const uid_list *trust, struct err *err)
{
    char path[PATH_MAX];
    if (!text_to_c (bundle_root, path, PATH_MAX - 32) || path[0] != '/')
        return err_set (err, ERR_REFUSED, "the folder of the cache family has no absolute path of at most %d bytes",
                        PATH_MAX - 33);
    return check_folders (path, token, trust, err);
}

struct owned {
    const char *generation;
    uid_t uid;
};

/* Checks the owner only; an audit finds everything else. */
static int check_entry (void *owner, const struct tree_walk_item *seen, struct err *err)
{
    const struct owned *owned = owner;
    char shown[TREE_SHOWN_BYTES];
    if (!seen->st || seen->st->st_uid == owned->uid)
        return 0;
    return err_set (err, ERR_REFUSED,
                    "cache entry \"%s\" of %s belongs to uid %u, but its generation to uid %u: if you trust what that "
                    "user wrote, chown the entry to the owner of the generation; else move the generation away",
                    tree_print_path (seen->at.path, shown), owned->generation, (unsigned) seen->st->st_uid,
                    (unsigned) owned->uid);
}

/* A generation that is missing is no error here: an audit finds it. */
static int check_entries (struct generation *generation, struct err *err)
{
    struct err why = { 0 };
    struct stat top;
    if (generation_open (generation, &why) < 0)
        return why.code == ERR_DAMAGE ? 0 : err_set (err, why.code, "%s", why.text);
    if (fstat (generation->fd, &top) < 0)
        return err_errno (err, ERR_IO, "cannot examine %s", generation->name);
    struct owned owned = { .generation = generation->name, .uid = top.st_uid };
    return tree_walk (generation->fd, NULL, false, check_entry, &owned, err);
}

int owners_check_entries (struct text bundle_root, uint64_t token, const uid_list *trust, struct err *err)
{
    LOCAL_GENERATION generation = GENERATION_CLOSED;
    if (owners_check_generation (bundle_root, token, trust, err) < 0)
        return -1;
    if (token == 0)
        return 0;
    if (generation_open_root (&generation, bundle_root, token, false, err) < 0)
        return -1;
    return check_entries (&generation, err);
}

struct text owners_print_trust (const uid_list *trust, struct arena *arena)
{
    struct text words = TEXT_LIT ("");
    for (uint32_t i = 0; i < trust->n; i++)
        words = text_format (arena, "%.*s%s%u", TEXT_ARG (words), i ? "," : "", (unsigned) trust->items[i]);
    return words;
}

int owners_parse_trust (struct text words, struct arena *arena, uid_list *out, struct err *err)
{
    uint64_t uid;
    struct text rest = words, word;
    *out = (uid_list){ arena_array (arena, TRUST_MAX, sizeof *out->items), 0 };
    while (words.len && text_next_item (&rest, ',', &word)) {
        if ((word.len > 1 && word.ptr[0] == '0') || !text_to_u64 (word, &uid) || uid > TRUST_UID_MAX ||
            out->n == TRUST_MAX)
            return err_set (err, ERR_USAGE,
                            "trusted users '%.*s': expected at most %d numbers of users (uid), like 1000,1001",
                            TEXT_ARG (text_clip (words, 100)), TRUST_MAX);
        out->items[out->n++] = (uint32_t) uid;
    }
    return 0;
}
