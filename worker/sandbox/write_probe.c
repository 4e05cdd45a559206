/* write_probe.c - see confine_sandbox.h. */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "common/io/fd.h"
#include "worker/sandbox/confine_sandbox.h"

/* ---- remount probe ---- */

/* Tries whether a process in this sandbox can undo read-only mounts, directly or from a user
 * namespace of its own.
 *
 * What could be undone is made read-only again, or was undone in a child's own mount namespace. */
enum { REMOUNT_BY_REMOUNT = 1, REMOUNT_BY_UMOUNT = 2 };

static bool remounts (const char *path)
{
    if (mount (NULL, path, NULL, MS_REMOUNT | MS_BIND, NULL) < 0)
        return false;
    (void) mount (NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL);
    return true;
}

static int undoes (const char *const mounts[2])
{
    int open_doors = 0;
    for (int i = 0; i < 2; i++)
        if (mounts[i])
            open_doors |= remounts (mounts[i]) ? REMOUNT_BY_REMOUNT : 0;
    for (int i = 0; i < 2; i++)
        if (mounts[i])
            open_doors |= umount2 (mounts[i], MNT_DETACH) == 0 ? REMOUNT_BY_UMOUNT : 0;
    return open_doors;
}

/* Uses a new user namespace with all rights, and a copy of the mounts, as any program could. One child for all, since
 * ending a mount namespace is slow. */
static int undoes_apart (const char *const mounts[2])
{
    /* Not fork, whose work in the child is needless, and slow with a sanitizer. */
    pid_t pid = (pid_t) syscall (SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        _exit (unshare (CLONE_NEWUSER | CLONE_NEWNS) == 0 ? undoes (mounts) : 0);
    int status = 0;
    while (pid > 0 && waitpid (pid, &status, 0) < 0 && errno == EINTR)
        ;
    /* A way that could not be tried counts as open. */
    return pid > 0 && WIFEXITED (status) ? WEXITSTATUS (status) : REMOUNT_BY_REMOUNT | REMOUNT_BY_UMOUNT;
}

/* Bits of those that are open. `mounts`: two, NULL for none. `own_mounts`: this process has a mount namespace of its
 * own, so that it is also tried here; else only in new namespaces. */
/* ---- uring probe ---- */

/* Tries whether a file opened through io_uring(7) needs the same rights as by a system call. */

/* One request, one answer: both rings in one mapping (IORING_FEAT_SINGLE_MMAP, Linux 5.4), the request in another. */
struct ring {
    int fd;
    struct io_uring_params params;
    uint8_t *rings;
    size_t rings_bytes;
    struct io_uring_sqe *request;
};

static void *map (const struct ring *ring, size_t bytes, off_t what)
{
    return mmap (NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring->fd, what);
}

static bool open_ring (struct ring *ring)
{
    *ring = (struct ring){ .fd = (int) syscall (SYS_io_uring_setup, 1, &ring->params), .params = ring->params };
    if (ring->fd < 0 || !(ring->params.features & IORING_FEAT_SINGLE_MMAP))
        return false;
    size_t asked = ring->params.sq_off.array + ring->params.sq_entries * sizeof (uint32_t);
    size_t answered = ring->params.cq_off.cqes + ring->params.cq_entries * sizeof (struct io_uring_cqe);
    ring->rings_bytes = asked > answered ? asked : answered;
    ring->rings = map (ring, ring->rings_bytes, IORING_OFF_SQ_RING);
    ring->request = map (ring, sizeof *ring->request, (off_t) IORING_OFF_SQES);
    return ring->rings != MAP_FAILED && ring->request != MAP_FAILED;
}

static void close_ring (struct ring *ring)
{
    if (ring->rings && ring->rings != MAP_FAILED)
        munmap (ring->rings, ring->rings_bytes);
    if (ring->request && ring->request != MAP_FAILED)
        munmap (ring->request, sizeof *ring->request);
    fd_close (ring->fd);
}

/* The result of the request: a descriptor, or an errno below 0. */
static int write_probe_ask (struct ring *ring)
{
    _Atomic uint32_t *tail = (void *) (ring->rings + ring->params.sq_off.tail);
    uint32_t *queue = (void *) (ring->rings + ring->params.sq_off.array);
    const struct io_uring_cqe *answer = (void *) (ring->rings + ring->params.cq_off.cqes);
    queue[0] = 0;
    atomic_store (tail, 1);
    return syscall (SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1 ? answer->res : -1;
}

/* False as well where there is no io_uring, or it may not be used. `flags` as of open(2). */
static bool uring_opens (const char *path, int flags)
{
    struct ring ring = { .fd = -1 };
    LOCAL_FD fd = -1;
    if (open_ring (&ring)) {
        *ring.request = (struct io_uring_sqe){ .opcode = IORING_OP_OPENAT,
                                               .fd = AT_FDCWD,
                                               .open_flags = (uint32_t) flags,
                                               .addr = (uint64_t) (uintptr_t) path };
        fd = write_probe_ask (&ring);
    }
    close_ring (&ring);
    return fd >= 0;
}

/* ---- write probe ---- */

enum { WITNESS_BYTES_MAX = 4096 };

static const char *const names[PROBES_N] = {
    "create",      "tmpfile",         "append",         "overwrite",   "truncate",  "rename",
    "unlink",      "chmod",           "utimes",         "setxattr",    "symlink",   "link",
    "mkdir",       "mkfifo",          "proc-root",      "worker-root", "remount",   "umount",
    "setflags",    "io-uring",        "catalogue-lock", "own-create",  "own-write", "own-rename",
    "path-socket", "abstract-socket",
};

const char *write_probe_name (enum probe probe)
{
    assert (probe < PROBES_N);
    return names[probe];
}

bool write_probe_find (struct text name, enum probe *probe)
{
    for (int i = 0; i < PROBES_N; i++) {
        if (!text_is (name, names[i]))
            continue;
        *probe = (enum probe) i;
        return true;
    }
    return false;
}

/* ---- what is tried on: a new name in the folder, and WITNESS ---- */

struct trial {
    const struct write_probe_target *target;
    char fresh[PATH_MAX]; /* a name that is not there */
    char witness[PATH_MAX];
};

bool write_probe_creates (const char *path)
{
    int fd = open (path, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    close (fd);
    (void) unlink (path); /* made in any case */
    return true;
}

static bool write_probe_create (const struct trial *trial)
{
    return write_probe_creates (trial->fresh);
}

static bool opens (const char *path, int flags)
{
    LOCAL_FD fd = open (path, flags | O_CLOEXEC, 0600);
    return fd >= 0;
}

static bool tmpfile_probe (const struct trial *trial)
{
    return opens (trial->target->folder, O_TMPFILE | O_WRONLY);
}

static bool write_probe_append (const struct trial *trial)
{
    return opens (trial->witness, O_WRONLY | O_APPEND | O_NOFOLLOW);
}

static bool overwrite (const struct trial *trial)
{
    return opens (trial->witness, O_WRONLY | O_NOFOLLOW);
}

/* ---- WITNESS, kept and put back ---- */

struct kept {
    char bytes[WITNESS_BYTES_MAX];
    ssize_t len;
    struct stat at;
};

static bool write_probe_keep (const struct trial *trial, struct kept *kept)
{
    LOCAL_FD fd = open (trial->witness, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool whole = fstat (fd, &kept->at) == 0 && S_ISREG (kept->at.st_mode) && kept->at.st_size <= WITNESS_BYTES_MAX;
    kept->len = whole ? read (fd, kept->bytes, sizeof kept->bytes) : -1;
    return kept->len >= 0;
}

/* May fail if removing was allowed but writing is not. */
static void put_back (const struct trial *trial, const struct kept *kept, int flags)
{
    LOCAL_FD fd = open (trial->witness, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | flags, kept->at.st_mode & 0777);
    if (fd < 0)
        return;
    bool whole = write (fd, kept->bytes, (size_t) kept->len) == kept->len;
    const struct timespec times[2] = { kept->at.st_atim, kept->at.st_mtim };
    if (!whole || fchmod (fd, kept->at.st_mode & 0777) < 0 || futimens (fd, times) < 0)
        (void) unlink (trial->witness); /* no file is better than a partial one */
}

/* To the present length, also by an open for reading, which some filters do not count as writing (O_TRUNC). */
static bool truncate_probe (const struct trial *trial)
{
    struct kept kept;
    if (!write_probe_keep (trial, &kept))
        return false;
    bool by_name = truncate (trial->witness, kept.at.st_size) == 0;
    bool by_open = !by_name && opens (trial->witness, O_RDONLY | O_TRUNC | O_NOFOLLOW);
    if (by_open)
        put_back (trial, &kept, 0);
    return by_name || by_open;
}

static bool rename_probe (const struct trial *trial)
{
    if (rename (trial->witness, trial->fresh) < 0)
        return false;
    (void) rename (trial->fresh, trial->witness);
    return true;
}

/* Also tries a folder: only with the right does a non-empty one answer so (rmdir(2)). */
static bool unlink_probe (const struct trial *trial)
{
    struct kept kept;
    if (!write_probe_keep (trial, &kept))
        return false;
    if (rmdir (trial->target->folder) < 0 && (errno == ENOTEMPTY || errno == EEXIST))
        return true;
    if (unlink (trial->witness) < 0)
        return false;
    put_back (trial, &kept, O_CREAT | O_EXCL);
    return true;
}

/* Sets the present values, which needs the same right as a change. */
static bool chmod_probe (const struct trial *trial)
{
    struct stat at;
    return lstat (trial->witness, &at) == 0 && S_ISREG (at.st_mode) && chmod (trial->witness, at.st_mode & 07777) == 0;
}

static bool utimes_probe (const struct trial *trial)
{
    struct stat at;
    if (lstat (trial->witness, &at) < 0)
        return false;
    const struct timespec times[2] = { at.st_atim, at.st_mtim };
    return utimensat (AT_FDCWD, trial->witness, times, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool setxattr_probe (const struct trial *trial)
{
    if (lsetxattr (trial->witness, "user.sliceup", "tried", 5, 0) < 0)
        return false;
    (void) lremovexattr (trial->witness, "user.sliceup");
    return true;
}

/* Flags of the inode, such as the one that keeps it from being removed (FS_IOC_GETFLAGS(2const)): a descriptor that
 * reads is enough for its owner. The value it has. */
static bool setflags_probe (const struct trial *trial)
{
    int flags, fd = open (trial->witness, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool set = fd >= 0 && ioctl (fd, FS_IOC_GETFLAGS, &flags) == 0 && ioctl (fd, FS_IOC_SETFLAGS, &flags) == 0;
    fd_close (fd);
    return set;
}

static bool io_uring_probe (const struct trial *trial)
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

static bool symlink_probe (const struct trial *trial)
{
    return undone (trial, symlink (WITNESS_NAME, trial->fresh));
}

static bool link_probe (const struct trial *trial)
{
    return undone (trial, link (trial->witness, trial->fresh));
}

static bool mkdir_probe (const struct trial *trial)
{
    if (mkdir (trial->fresh, 0700) < 0)
        return false;
    (void) rmdir (trial->fresh);
    return true;
}

/* Everything that mknod makes without a privilege; a character device 0:0 is the whiteout of an overlay (mknod(2)). */
static bool mkfifo_probe (const struct trial *trial)
{
    const mode_t kinds[] = { S_IFIFO, S_IFSOCK, S_IFCHR };
    bool open_probe = false;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        open_probe |= undone (trial, mknod (trial->fresh, kinds[i] | 0600, makedev (0, 0)));
    return open_probe;
}

/* ---- other doors to the same folder ---- */

static bool creates_below (const struct trial *trial, const char *root)
{
    char path[PATH_MAX];
    if (snprintf (path, sizeof path, "%s%s", root, trial->fresh) >= (int) sizeof path)
        return false;
    if (write_probe_creates (path))
        return true;
    bool fits = snprintf (path, sizeof path, "%s%s", root, trial->witness) < (int) sizeof path;
    return fits && trial->target->witness && opens (path, O_WRONLY | O_NOFOLLOW);
}

static bool proc_root (const struct trial *trial)
{
    return creates_below (trial, "/proc/self/root");
}

/* The worker is the parent. A pid namespace hides it, but its init process is process 1 there (pid_namespace.c). */
static bool worker_root (const struct trial *trial)
{
    char root[64];
    snprintf (root, sizeof root, "/proc/%d/root", (int) getppid ());
    bool open_probe = getppid () > 0 && creates_below (trial, root);
    return open_probe || (getpid () != 1 && getppid () != 1 && creates_below (trial, "/proc/1/root"));
}

static const struct {
    bool (*open_probe) (const struct trial *trial);
    bool on_witness;
} probes[PROBES_N] = { [PROBE_CREATE] = { write_probe_create, false }, [PROBE_TMPFILE] = { tmpfile_probe, false },
                       [PROBE_APPEND] = { write_probe_append, true },  [PROBE_OVERWRITE] = { overwrite, true },
                       [PROBE_TRUNCATE] = { truncate_probe, true },    [PROBE_RENAME] = { rename_probe, true },
                       [PROBE_UNLINK] = { unlink_probe, true },        [PROBE_CHMOD] = { chmod_probe, true },
                       [PROBE_UTIMES] = { utimes_probe, true },        [PROBE_SETXATTR] = { setxattr_probe, true },
                       [PROBE_SYMLINK] = { symlink_probe, false },     [PROBE_LINK] = { link_probe, true },
                       [PROBE_MKDIR] = { mkdir_probe, false },         [PROBE_MKFIFO] = { mkfifo_probe, false },
                       [PROBE_PROC_ROOT] = { proc_root, false },       [PROBE_WORKER_ROOT] = { worker_root, false },
                       [PROBE_SETFLAGS] = { setflags_probe, true },    [PROBE_IO_URING] = { io_uring_probe, true } };

uint32_t write_probe_try_all (const struct write_probe_target *target)
{
    struct trial trial = { .target = target };
    int undone = (target->own_mounts ? undoes (target->mounts) : 0) | undoes_apart (target->mounts);
    uint32_t open_ways = (undone & REMOUNT_BY_REMOUNT ? PROBE_BIT (PROBE_REMOUNT) : 0) |
                         (undone & REMOUNT_BY_UMOUNT ? PROBE_BIT (PROBE_UMOUNT) : 0);
    int fresh = snprintf (trial.fresh, sizeof trial.fresh, "%s/.tried-%d", target->folder, (int) getpid ());
    int witness = snprintf (trial.witness, sizeof trial.witness, "%s/" WITNESS_NAME, target->folder);
    assert (fresh < PATH_MAX && witness < PATH_MAX); /* the folder is at most PATH_MAX_BYTES long */
    for (int probe = 0; probe < PROBES_N; probe++)
        if (probes[probe].open_probe && (target->witness || !probes[probe].on_witness) &&
            probes[probe].open_probe (&trial))
            open_ways |= PROBE_BIT (probe);
    return open_ways;
}

/* ---- the catalogue ---- */

/* Byte by byte as SQLite does (its database locks begin at 2^30, those of the log are at 120 in its index). */
static bool locks (const char *path, off_t at)
{
    struct stat is;
    struct flock one = { .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1 };
    LOCAL_FD fd = open (path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return fd >= 0 && fstat (fd, &is) == 0 && S_ISREG (is.st_mode) && fcntl (fd, F_SETLK, &one) == 0;
}

bool write_probe_catalogue_lock (const char *root)
{
    static const struct {
        const char *name;
        off_t at;
    } files[] = { { "catalogue.db", 1 << 30 }, { "catalogue.db-shm", 120 } };
    char path[PATH_MAX];
    bool locked = false;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (snprintf (path, sizeof path, "%s/%s", root, files[i].name) < (int) sizeof path)
            locked = locked || locks (path, files[i].at);
    return locked;
}

/* ---- what the levels promise ---- */

/* Other processes decide whose requests they accept, so no level closes these ways. */
#define DEPUTIES (PROBE_BIT (PROBE_PATH_SOCKET) | PROBE_BIT (PROBE_ABSTRACT_SOCKET))
#define ALL (PROBE_BIT (PROBES_N) - 1 - DEPUTIES)
#define OWN (PROBE_BIT (PROBE_OWN_CREATE) | PROBE_BIT (PROBE_OWN_WRITE) | PROBE_BIT (PROBE_OWN_RENAME))
static const uint32_t promised[ENFORCEMENT_N] = {
    /* landlock(7), BUGS: chmod, utime and setxattr cannot be restricted, nor the ioctl of flags */
    [ENFORCEMENT_LANDLOCK] = ALL & ~(PROBE_BIT (PROBE_CHMOD) | PROBE_BIT (PROBE_UTIMES) | PROBE_BIT (PROBE_SETXATTR) |
                                     PROBE_BIT (PROBE_SETFLAGS)),
    [ENFORCEMENT_NAMESPACE] = ALL,
    [ENFORCEMENT_NAMESPACE_LANDLOCK] = ALL,
    /* The storage refuses all writes to the cache, but sliceup's own files lie elsewhere. */
    [ENFORCEMENT_STORAGE] = ALL & ~(OWN | PROBE_BIT (PROBE_CATALOGUE_LOCK)),
};

bool write_probe_level_closes (enum enforcement level, enum probe probe)
{
    return promised[level] & PROBE_BIT (probe);
}

enum enforcement write_probe_best_level (uint32_t set, uint32_t open_ways)
{
    for (int level = ENFORCEMENT_STORAGE; level > ENFORCEMENT_COOPERATIVE; level--)
        if ((set & UINT32_C (1) << level) && !(promised[level] & open_ways))
            return (enum enforcement) level;
    return ENFORCEMENT_COOPERATIVE;
}

/* ---- scratch generation ---- */

#define WORDS "sliceup tries on this file whether programs can write.\n"
#define PREFIX "probe-"

enum { LEFT_BEHIND_S = 10 * 60 }; /* a test takes milliseconds, and a hanging storage is given up within a minute */

static int scratch_generation_fill (const char *folder, struct err *err)
{
    char path[PATH_MAX];
    snprintf (path, sizeof path, "%s/" WITNESS_NAME, folder);
    int fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
    if (fd < 0)
        return err_errno (err, ERR_IO, "cannot make %.300s", path);
    ssize_t put = write (fd, WORDS, strlen (WORDS));
    if (close (fd) < 0 || put != (ssize_t) strlen (WORDS) || chmod (folder, 0555) < 0)
        return err_errno (err, ERR_IO, "cannot fill %.300s", path);
    return 0;
}

/* Was it left by a killed process? Its age is by the storage's clock, which has just dated our folder. */
static bool is_left_behind (const char *name, const char *path, const struct stat *ours)
{
    struct stat at;
    return strncmp (name, PREFIX, strlen (PREFIX)) == 0 && lstat (path, &at) == 0 && S_ISDIR (at.st_mode) &&
           at.st_mtime + LEFT_BEHIND_S < ours->st_mtime;
}

static void sweep (const char *folder, const struct scratch_generation *fixture)
{
    struct stat ours;
    struct scratch_generation left;
    LOCAL_DIR entries = lstat (fixture->path, &ours) == 0 ? opendir (folder) : NULL;
    struct dirent *entry;
    while (entries && (entry = readdir (entries))) {
        int len = snprintf (left.path, sizeof left.path, "%s/%s", folder, entry->d_name);
        if (len < (int) sizeof left.path && is_left_behind (entry->d_name, left.path, &ours))
            (void) scratch_generation_remove (&left, NULL); /* another user's, or the next call removes it */
    }
}

int scratch_generation_make (const char *folder, struct scratch_generation *fixture, struct err *err)
{
    char host[HOST_NAME_MAX + 1] = "";
    if (gethostname (host, sizeof host - 1) < 0 || strchr (host, '/'))
        return err_set (err, ERR_STATE, "the name of this host cannot be read, or has a '/' in it");
    int len = snprintf (fixture->path, sizeof fixture->path, "%s/" PREFIX "%s-XXXXXX", folder, host);
    if (len >= (int) sizeof fixture->path)
        return err_set (err, ERR_LIMIT, "the path %.200s is too long", folder);
    if (!mkdtemp (fixture->path)) /* pids of several workers' namespaces are the same */
        return err_errno (err, ERR_IO, "cannot make %.300s", fixture->path);
    sweep (folder, fixture);
    if (scratch_generation_fill (fixture->path, err) == 0)
        return 0;
    (void) scratch_generation_remove (fixture, NULL); /* what matters is why it could not be filled */
    return -1;
}

int scratch_generation_remove (const struct scratch_generation *fixture, struct err *err)
{
    if (chmod (fixture->path, 0700) < 0 && errno != ENOENT)
        return err_errno (err, ERR_IO, "cannot make %.300s writable in order to remove it", fixture->path);
    return folder_remove (fixture->path, err);
}
