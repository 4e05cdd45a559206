/* landlock.c - rights after ABI 1 have the numbers of linux/landlock.h, which may be older here than the kernel. */
#include "worker/sandbox/confine_sandbox.h"

#include "common/base/path.h"
#include "worker/sandbox/confine_devices.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RIGHT_REFER (UINT64_C (1) << 13)           /* ABI 2 */
#define RIGHT_TRUNCATE (UINT64_C (1) << 14)        /* ABI 3 */
#define SCOPE_ABSTRACT_SOCKETS (UINT64_C (1) << 0) /* ABI 6 */
#define SCOPE_SIGNALS (UINT64_C (1) << 1)
#define RIGHTS_OF_FILES (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE | RIGHT_TRUNCATE)

/* Above OTHERS_MAX entries of one folder those of other users stay closed, else they could exhaust the rules. */
enum { OTHERS_MAX = 65536, ENTRIES_MAX = 1 << 20, DEPTH_MAX = 32 };

struct grant {
    const struct landlock_paths *paths;
    int ruleset;
    uint64_t rights;
    uint32_t entries;
    struct err *note; /* reading: landlock_restrict; writing: NULL */
};

int landlock_abi (void)
{
    long abi = syscall (SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return abi < 0 ? 0 : (int) abi;
}

uint64_t landlock_write_rights (int abi)
{
    uint64_t rights = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                      LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                      LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
                      LANDLOCK_ACCESS_FS_MAKE_SYM;
    if (abi >= LANDLOCK_ABI_REFER)
        rights |= RIGHT_REFER;
    return abi >= LANDLOCK_ABI_TRUNCATE ? rights | RIGHT_TRUNCATE : rights;
}

uint64_t landlock_scopes (int abi)
{
    return abi >= LANDLOCK_ABI_SCOPE ? SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS : 0;
}

/* ---- one rule ---- */

static int add_rule (const struct grant *grant, const char *path, int fd, const struct stat *at, struct err *err)
{
    struct landlock_path_beneath_attr rule = { .parent_fd = fd, .allowed_access = grant->rights };
    if (!S_ISDIR (at->st_mode))
        rule.allowed_access &= RIGHTS_OF_FILES;
    if (!rule.allowed_access)
        return 0;
    if (syscall (SYS_landlock_add_rule, grant->ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
        return err_errno (err, ERR_IO, "the kernel refused the Landlock rule that lets programs write %.300s", path);
    return 0;
}

/* Vanished entries, links and unreachable paths need no rule. */
static bool passed_over (int code)
{
    return code == ENOENT || code == ENOTDIR || code == EACCES || code == ELOOP;
}

static int open_whole (const struct grant *grant, const char *path, int flags, struct err *err)
{
    struct stat at;
    int fd = open (path, O_PATH | O_CLOEXEC | flags);
    if (fd < 0)
        return passed_over (errno) ? 0 : err_errno (err, ERR_IO, "cannot open %.300s to let programs write it", path);
    int rc = fstat (fd, &at) < 0 ? err_errno (err, ERR_IO, "cannot inspect %.300s", path) : 0;
    if (rc == 0 && !S_ISLNK (at.st_mode))
        rc = add_rule (grant, path, fd, &at, err);
    close (fd);
    return rc;
}

/* ---- folders with something closed in them ---- */

static bool is_in_host_dev (const struct landlock_paths *paths, const char *path)
{
    return paths->hidden_n && path_is_below (path, "/dev") && !path_is_below_any (path, paths->open, paths->open_n);
}

static bool is_divided (const struct grant *grant, const char *path)
{
    for (uint32_t i = 0; i < grant->paths->closed_n; i++)
        if (path_is_below (grant->paths->closed[i], path))
            return true;
    return is_in_host_dev (grant->paths, path);
}

static int open_path (struct grant *grant, const char *path, int depth, struct err *err);

/* A folder that can be passed but not listed: only modes hide paths in it then. This user's own stays closed, since a
 * program could have made it so. */
static int open_unlisted (const struct grant *grant, const char *path, const struct stat *at, struct err *err)
{
    bool own = at->st_uid == geteuid ();
    err_set (grant->note, ERR_STATE, "%.300s cannot be listed, so programs can read %s", path,
             own ? "nothing below it: chmod u+r it" : "all below it that its modes let them");
    return own ? 0 : open_whole (grant, path, O_NOFOLLOW, err);
}

static int open_entries (struct grant *grant, const char *path, int depth, const struct stat *status, struct err *err)
{
    char below[PATH_MAX];
    DIR *folder = opendir (path);
    if (!folder && errno == EACCES && grant->note)
        return open_unlisted (grant, path, status, err);
    if (!folder)
        return passed_over (errno) ? 0 : err_errno (err, ERR_IO, "cannot read %.300s", path);
    int rc = depth < DEPTH_MAX ? 0 : err_set (err, ERR_LIMIT, "%.300s is nested too deeply", path);
    struct dirent *entry;
    struct stat at;
    uint32_t n = 0;
    while (rc == 0 && (entry = readdir (folder))) {
        if (strcmp (entry->d_name, ".") == 0 || strcmp (entry->d_name, "..") == 0)
            continue;
        int len = snprintf (below, sizeof below, "%s/%s", strcmp (path, "/") ? path : "", entry->d_name);
        if (len >= (int) sizeof below || (++n > OTHERS_MAX && lstat (below, &at) == 0 && at.st_uid != geteuid ()))
            continue;
        rc = grant->entries++ < ENTRIES_MAX
                 ? open_path (grant, below, depth + 1, err)
                 : err_set (err, ERR_LIMIT, "%.300s and the other divided folders have more than %d entries", path,
                            ENTRIES_MAX);
    }
    closedir (folder);
    return rc;
}

static int open_path (struct grant *grant, const char *path, int depth, struct err *err)
{
    struct stat at;
    if (path_is_below_any (path, grant->paths->closed, grant->paths->closed_n) || lstat (path, &at) < 0)
        return 0;
    if (S_ISDIR (at.st_mode) ? is_in_host_dev (grant->paths, path) && !confine_devices_may_be_in (path)
                             : depth > 0 && !confine_device_node_is_allowed (&at))
        return 0;
    if (S_ISDIR (at.st_mode) && is_divided (grant, path))
        return open_entries (grant, path, depth, &at, err);
    return open_whole (grant, path, O_NOFOLLOW, err);
}

/* ---- all of it ---- */

/* Landlock can only allow, so reading is allowed in all folders of the root except hidden paths. */
static int open_for_reading (const struct grant *grant, struct err *note, struct err *err)
{
    const struct landlock_paths all = { .closed = grant->paths->hidden, .closed_n = grant->paths->hidden_n };
    struct grant reading = { &all, grant->ruleset, LANDLOCK_ACCESS_FS_READ_FILE, .note = note };
    if (grant->paths->shown && open_whole (&reading, grant->paths->shown, 0, err) < 0)
        return -1;
    return open_path (&reading, "/", 0, err);
}

static int landlock_open_all (struct grant *grant, struct err *note, struct err *err)
{
    if (grant->paths->hidden_n && (open_for_reading (grant, note, err) < 0 || open_path (grant, "/dev", 0, err) < 0))
        return -1;
    for (uint32_t i = 0; i < grant->paths->open_n; i++)
        if (open_path (grant, grant->paths->open[i], 0, err) < 0)
            return -1;
    for (uint32_t i = 0; i < grant->paths->own_n; i++)
        if (open_whole (grant, grant->paths->own[i], 0, err) < 0)
            return -1;
    return 0;
}

/* linux/landlock.h may be older here than the kernel. */
struct ruleset_attr {
    uint64_t files, network, scopes;
};

int landlock_restrict (const struct landlock_paths *paths, uint64_t rights, uint64_t scopes, struct err *note,
                       struct err *err)
{
    rights |= paths->hidden_n ? LANDLOCK_ACCESS_FS_READ_FILE : 0;
    struct ruleset_attr attr = { .files = rights, .scopes = scopes };
    size_t known_bytes = scopes ? sizeof attr : sizeof attr.files; /* a kernel refuses members that it does not know */
    int ruleset = (int) syscall (SYS_landlock_create_ruleset, &attr, known_bytes, 0);
    if (ruleset < 0)
        return err_errno (err, ERR_IO, "cannot make a Landlock ruleset");
    struct grant grant = { .paths = paths, .ruleset = ruleset, .rights = rights };
    int rc = landlock_open_all (&grant, note, err);
    if (rc == 0 && prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        rc = err_errno (err, ERR_IO, "cannot set no_new_privs");
    if (rc == 0 && syscall (SYS_landlock_restrict_self, ruleset, 0) < 0)
        rc = err_errno (err, ERR_IO, "cannot enter the Landlock ruleset");
    close (ruleset);
    return rc;
}
