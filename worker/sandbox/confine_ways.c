/* confine_ways.c - see confine_ways.h. Ways through mounts are in confine_doors.c. */
#include "worker/sandbox/confine_ways.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "worker/sandbox/confine_doors.h"
#include "worker/sandbox/uring.h"

enum { WITNESS_BYTES_MAX = 4096 };

static const char *const names[WAYS_N] = {
    "create", "tmpfile", "append", "overwrite", "truncate", "rename", "unlink", "chmod", "utimes", "setxattr",
    "symlink", "link", "mkdir", "mkfifo", "proc-root", "worker-root", "remount", "umount", "setflags", "io-uring",
    "catalogue-lock", "own-create", "own-write", "own-rename", "path-socket", "abstract-socket",
};

const char *way_name (enum way way)
{
    assert (way < WAYS_N);
    return names[way];
}

bool way_find (struct text name, enum way *way)
{
    for (int i = 0; i < WAYS_N; i++) {
        if (!text_is (name, names[i]))
            continue;
        *way = (enum way) i;
        return true;
    }
    return false;
}

/* ---- what is tried on: a new name in the folder, and WITNESS ---- */

struct trial {
    const struct ways_target *target;
    char fresh[PATH_MAX];       /* a name that is not there */
    char witness[PATH_MAX];
    int doors;
};

/* O_RDONLY: making a name and writing are different rights (landlock(7)), and each is a way of its own. */
static bool create (const struct trial *trial)
{
    int fd = open (trial->fresh, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    close (fd);
    (void) unlink (trial->fresh); /* refused or not: it could be made */
    return true;
}

static bool opens (const char *path, int flags)
{
    int fd = open (path, flags | O_CLOEXEC, 0600);
    if (fd >= 0)
        close (fd);
    return fd >= 0;
}

static bool tmpfile_way (const struct trial *trial)
{
    return opens (trial->target->folder, O_TMPFILE | O_WRONLY);
}

static bool append (const struct trial *trial)
{
    return opens (trial->witness, O_WRONLY | O_APPEND | O_NOFOLLOW);
}

static bool overwrite (const struct trial *trial)
{
    return opens (trial->witness, O_WRONLY | O_NOFOLLOW);
}

/* ---- WITNESS, kept and put back ---- */

struct kept { char bytes[WITNESS_BYTES_MAX]; ssize_t len; struct stat at; };

static bool keep (const struct trial *trial, struct kept *kept)
{
    int fd = open (trial->witness, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool whole = fstat (fd, &kept->at) == 0 && S_ISREG (kept->at.st_mode) && kept->at.st_size <= WITNESS_BYTES_MAX;
    kept->len = whole ? read (fd, kept->bytes, sizeof kept->bytes) : -1;
    close (fd);
    return kept->len >= 0;
}

/* It may stay away when the right to write is closed where the one to remove was not. */
static void put_back (const struct trial *trial, const struct kept *kept, int flags)
{
    int fd = open (trial->witness, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | flags, kept->at.st_mode & 0777);
    if (fd < 0)
        return;
    bool whole = write (fd, kept->bytes, (size_t) kept->len) == kept->len;
    const struct timespec times[2] = { kept->at.st_atim, kept->at.st_mtim };
    if (!whole || fchmod (fd, kept->at.st_mode & 0777) < 0 || futimens (fd, times) < 0)
        (void) unlink (trial->witness); /* better none than half of one */
    close (fd);
}

/* To the length it has; and as an open for reading can do it, which is no writing to everybody (open(2), O_TRUNC). */
static bool truncate_way (const struct trial *trial)
{
    struct kept kept;
    if (!keep (trial, &kept))
        return false;
    bool by_name = truncate (trial->witness, kept.at.st_size) == 0;
    bool by_open = !by_name && opens (trial->witness, O_RDONLY | O_TRUNC | O_NOFOLLOW);
    if (by_open)
        put_back (trial, &kept, 0);
    return by_name || by_open;
}

static bool rename_way (const struct trial *trial)
{
    if (rename (trial->witness, trial->fresh) < 0)
        return false;
    (void) rename (trial->fresh, trial->witness);
    return true;
}

/* Also of a folder: one that is not empty answers so only to whom the right was given (rmdir(2)). */
static bool unlink_way (const struct trial *trial)
{
    struct kept kept;
    if (!keep (trial, &kept))
        return false;
    if (rmdir (trial->target->folder) < 0 && (errno == ENOTEMPTY || errno == EEXIST))
        return true;
    if (unlink (trial->witness) < 0)
        return false;
    put_back (trial, &kept, O_CREAT | O_EXCL);
    return true;
}

/* The values it has: whoever may not change it may not do that either. */
static bool chmod_way (const struct trial *trial)
{
    struct stat at;
    return lstat (trial->witness, &at) == 0 && S_ISREG (at.st_mode) && chmod (trial->witness, at.st_mode & 07777) == 0;
}

static bool utimes_way (const struct trial *trial)
{
    struct stat at;
    if (lstat (trial->witness, &at) < 0)
        return false;
    const struct timespec times[2] = { at.st_atim, at.st_mtim };
    return utimensat (AT_FDCWD, trial->witness, times, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool setxattr_way (const struct trial *trial)
{
    if (lsetxattr (trial->witness, "user.sliceup", "tried", 5, 0) < 0)
        return false;
    (void) lremovexattr (trial->witness, "user.sliceup");
    return true;
}

/* Flags of the inode, such as the one that keeps it from being removed (FS_IOC_GETFLAGS(2const)): a descriptor that reads is
 * enough for its owner. The value it has. */
static bool setflags_way (const struct trial *trial)
{
    int flags, fd = open (trial->witness, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool set = fd >= 0 && ioctl (fd, FS_IOC_GETFLAGS, &flags) == 0 && ioctl (fd, FS_IOC_SETFLAGS, &flags) == 0;
    if (fd >= 0)
        close (fd);
    return set;
}

static bool io_uring_way (const struct trial *trial)
{
    return uring_opens (trial->witness, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
}

/* ---- new names ---- */

static bool undone (const struct trial *trial, int rc)
{
    if (rc == 0)
        (void) unlink (trial->fresh);
    return rc == 0;
}

static bool symlink_way (const struct trial *trial)
{
    return undone (trial, symlink (WITNESS_NAME, trial->fresh));
}

static bool link_way (const struct trial *trial)
{
    return undone (trial, link (trial->witness, trial->fresh));
}

static bool mkdir_way (const struct trial *trial)
{
    if (mkdir (trial->fresh, 0700) < 0)
        return false;
    (void) rmdir (trial->fresh);
    return true;
}

/* Everything that mknod makes without a privilege; a character device 0:0 is the whiteout of an overlay (mknod(2)). */
static bool mkfifo_way (const struct trial *trial)
{
    const mode_t kinds[] = { S_IFIFO, S_IFSOCK, S_IFCHR };
    bool open_way = false;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        open_way |= undone (trial, mknod (trial->fresh, kinds[i] | 0600, makedev (0, 0)));
    return open_way;
}

/* ---- other doors to the same folder ---- */

static bool creates_below (const struct trial *trial, const char *root)
{
    char path[PATH_MAX];
    if (snprintf (path, sizeof path, "%s%s", root, trial->fresh) >= (int) sizeof path)
        return false;
    int fd = open (path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) {
        close (fd);
        (void) unlink (path);
        return true;
    }
    bool fits = snprintf (path, sizeof path, "%s%s", root, trial->witness) < (int) sizeof path;
    return fits && trial->target->witness && opens (path, O_WRONLY | O_NOFOLLOW);
}

static bool proc_root (const struct trial *trial)
{
    return creates_below (trial, "/proc/self/root");
}

/* The worker is the parent; inside a pid namespace it is not seen, but its deputy is, process 1 (keeper.h). */
static bool worker_root (const struct trial *trial)
{
    char root[64];
    snprintf (root, sizeof root, "/proc/%d/root", (int) getppid ());
    bool open_way = getppid () > 0 && creates_below (trial, root);
    return open_way || (getpid () != 1 && getppid () != 1 && creates_below (trial, "/proc/1/root"));
}

static bool remount (const struct trial *trial)
{
    return trial->doors & DOOR_REMOUNT;
}

static bool unmount (const struct trial *trial)
{
    return trial->doors & DOOR_UMOUNT;
}

static const struct { bool (*open_way) (const struct trial *trial); bool on_witness; } ways[WAYS_N] = {
    [WAY_CREATE] = { create, false }, [WAY_TMPFILE] = { tmpfile_way, false }, [WAY_APPEND] = { append, true },
    [WAY_OVERWRITE] = { overwrite, true }, [WAY_TRUNCATE] = { truncate_way, true }, [WAY_RENAME] = { rename_way, true },
    [WAY_UNLINK] = { unlink_way, true }, [WAY_CHMOD] = { chmod_way, true }, [WAY_UTIMES] = { utimes_way, true },
    [WAY_SETXATTR] = { setxattr_way, true }, [WAY_SYMLINK] = { symlink_way, false }, [WAY_LINK] = { link_way, true },
    [WAY_MKDIR] = { mkdir_way, false }, [WAY_MKFIFO] = { mkfifo_way, false }, [WAY_PROC_ROOT] = { proc_root, false },
    [WAY_WORKER_ROOT] = { worker_root, false }, [WAY_REMOUNT] = { remount, false }, [WAY_UMOUNT] = { unmount, false },
    [WAY_SETFLAGS] = { setflags_way, true }, [WAY_IO_URING] = { io_uring_way, true },
};

uint32_t ways_try (const struct ways_target *target)
{
    struct trial trial = { .target = target };
    uint32_t open_ways = 0;
    int fresh = snprintf (trial.fresh, sizeof trial.fresh, "%s/.tried-%d", target->folder, (int) getpid ());
    int witness = snprintf (trial.witness, sizeof trial.witness, "%s/" WITNESS_NAME, target->folder);
    assert (fresh < PATH_MAX && witness < PATH_MAX); /* the folder is at most PATH_MAX_BYTES long */
    trial.doors = doors_open (target->mounts, target->own_mounts);
    for (int way = 0; way < WAYS_N; way++)
        if (ways[way].open_way && (target->witness || !ways[way].on_witness) && ways[way].open_way (&trial))
            open_ways |= WAY_BIT (way);
    return open_ways;
}

/* ---- the catalogue ---- */

/* Byte by byte as SQLite does (its locks of the database file begin at 2^30, those of the log are at 120 in its index). */
static bool locks (const char *path, off_t at)
{
    struct stat is;
    struct flock one = { .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1 };
    int fd = open (path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool locked = fd >= 0 && fstat (fd, &is) == 0 && S_ISREG (is.st_mode) && fcntl (fd, F_SETLK, &one) == 0;
    if (fd >= 0)
        close (fd); /* gives it back */
    return locked;
}

bool ways_lock_catalogue (const char *root)
{
    static const struct { const char *name; off_t at; } files[] = { { "catalogue.db", 1 << 30 },
                                                                    { "catalogue.db-shm", 120 } };
    char path[PATH_MAX];
    bool locked = false;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (snprintf (path, sizeof path, "%s/%s", root, files[i].name) < (int) sizeof path)
            locked = locked || locks (path, files[i].at);
    return locked;
}

/* ---- what the levels promise ---- */

/* Whom another process takes requests from is that process's affair: no level promises anything about it. */
#define DEPUTIES (WAY_BIT (WAY_PATH_SOCKET) | WAY_BIT (WAY_ABSTRACT_SOCKET))
#define ALL (WAY_BIT (WAYS_N) - 1 - DEPUTIES)
#define OWN (WAY_BIT (WAY_OWN_CREATE) | WAY_BIT (WAY_OWN_WRITE) | WAY_BIT (WAY_OWN_RENAME))
static const uint32_t promised[ENFORCEMENT_N] = {
    [ENFORCEMENT_OTHER_UID] = ALL & ~WAY_BIT (WAY_CATALOGUE_LOCK),
    /* landlock(7), BUGS: chmod, utime and setxattr cannot be restricted, nor the ioctl of flags; reading is not */
    [ENFORCEMENT_LANDLOCK] = ALL & ~(WAY_BIT (WAY_CHMOD) | WAY_BIT (WAY_UTIMES) | WAY_BIT (WAY_SETXATTR)
                                     | WAY_BIT (WAY_SETFLAGS) | WAY_BIT (WAY_CATALOGUE_LOCK)),
    [ENFORCEMENT_NAMESPACE] = ALL,
    [ENFORCEMENT_NAMESPACE_LANDLOCK] = ALL,
    /* It refuses to have the cache written, whoever asks; what is sliceup's own lies elsewhere. */
    [ENFORCEMENT_STORAGE] = ALL & ~(OWN | WAY_BIT (WAY_CATALOGUE_LOCK)),
};

bool way_is_promised (enum enforcement level, enum way way)
{
    return promised[level] & WAY_BIT (way);
}

enum enforcement ways_level (uint32_t set, uint32_t open_ways)
{
    for (int level = ENFORCEMENT_STORAGE; level > ENFORCEMENT_COOPERATIVE; level--)
        if ((set & UINT32_C (1) << level) && !(promised[level] & open_ways))
            return (enum enforcement) level;
    return ENFORCEMENT_COOPERATIVE;
}
