#include "coordinator/journal/journal_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/base/path.h"
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/io/fd.h"
#include "common/io/safe_path.h"
#include "coordinator/journal/journal.h"

const char *journal_path_beside (const char *journal_path, const char *ending, char out[PATH_MAX])
{
    int len = snprintf (out, PATH_MAX, "%s%s", journal_path, ending);
    if (len < 0 || len >= PATH_MAX)
        out[0] = '\0'; /* opening it fails, and says so */
    return out;
}

enum { GONE_MS = 5000, GONE_AGAIN_MS = 10 };

/* WAL shares memory between processes, and locks on these may be local to one machine (sqlite wal.html; nfs(5),
 * local_lock). Numbers that linux/magic.h lacks are from statfs(2). */
static const struct remote {
    unsigned long magic;
    const char *name;
} remotes[] = { { NFS_SUPER_MAGIC, "NFS" },   { FUSE_SUPER_MAGIC, "FUSE" }, { SMB_SUPER_MAGIC, "SMB" },
                { CIFS_SUPER_MAGIC, "CIFS" }, { SMB2_SUPER_MAGIC, "SMB2" }, { V9FS_MAGIC, "9P" },
                { CEPH_SUPER_MAGIC, "Ceph" }, { AFS_SUPER_MAGIC, "AFS" },   { 0x0bd00bd0, "Lustre" },
                { 0x47504653, "GPFS" } };

static const char *remote_name (const struct statfs *fs)
{
    for (size_t i = 0; i < sizeof remotes / sizeof remotes[0]; i++)
        if (((unsigned long) fs->f_type & 0xffffffffUL) == remotes[i].magic)
            return remotes[i].name;
    return NULL;
}

int journal_place_check (const char *path, struct err *err)
{
    const struct safe_path_rule rule = { .what = "the folder of the journal",
                                         .instead = "set SLICEUP_HOME or --home to another folder",
                                         .own = true };
    char folder[PATH_MAX];
    struct stat st;
    struct statfs fs;
    if (path[0] != '/')
        return err_set (err, ERR_STATE, "the path of the journal %s is not absolute", path);
    if (strlen (path) + sizeof ".new-journal" > PATH_MAX)
        return err_set (err, ERR_LIMIT, "the journal's path is longer than %d bytes", PATH_MAX);
    path_folder_c (path, folder);
    if (stat (folder, &st) != 0 || statfs (folder, &fs) != 0)
        return err_errno (err, ERR_IO, "cannot examine the folder of the journal %s", folder);
    if (remote_name (&fs))
        return err_set (err, ERR_STATE,
                        "%s is on %s, where a journal is not safe (its locks may hold on one machine only): "
                        "set SLICEUP_HOME or --home to a local disk",
                        folder, remote_name (&fs));
    /* Checks only writing, since the files' own 0600 guards reading; a writer could replace the journal. */
    return safe_path_check_end (folder, &st, &rule, err);
}

static int lock_open (const char *path, int flags, struct err *err)
{
    char name[PATH_MAX];
    return plain_file_open (journal_path_beside (path, ".lock", name), flags, err);
}

/* 0: nothing there that reads as a pid (the holder may be just about to write it). */
static int64_t pid_read (int fd)
{
    char text[24];
    int64_t pid = 0;
    ssize_t n = pread (fd, text, sizeof text - 1, 0);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    return sscanf (text, "%" SCNd64, &pid) == 1 && pid > 0 ? pid : 0;
}

static int pid_write (const char *path, int fd, struct err *err)
{
    char text[24];
    int len = snprintf (text, sizeof text, "%d\n", (int) getpid ());
    if (ftruncate (fd, 0) == 0 && pwrite (fd, text, (size_t) len, 0) == len)
        return 0;
    return err_errno (err, ERR_IO, "cannot write this process's pid to %s.lock", path);
}

static int held_by (const char *path, int64_t pid, struct err *err)
{
    if (pid == 0)
        return err_set (err, ERR_STATE, "another coordinator is just starting and has locked %s", path);
    return err_set (err, ERR_STATE,
                    "the coordinator with pid %" PRId64
                    " uses %s now: end it first (or follow its run with `sliceup watch`)",
                    pid, path);
}

static int lock_refused (const char *path, int fd, struct err *err)
{
    return errno != EAGAIN && errno != EACCES ? err_errno (err, ERR_IO, "cannot lock %s.lock", path)
                                              : held_by (path, pid_read (fd), err);
}

/* A child of a coordinator that is killed while starting it holds its locks until exec. */
static bool is_gone (int64_t pid)
{
    return pid > 0 && kill ((pid_t) pid, 0) != 0 && errno == ESRCH;
}

/* A read lock is not ours: every reader can take one. */
static bool is_readers (int fd)
{
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    return fcntl (fd, F_OFD_GETLK, &whole) == 0 && whole.l_type == F_RDLCK;
}

/* If a reader prevents this lock, the mark's lock is enough. */
static int lock_whole (int fd)
{
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    uint64_t until_ms = clock_boot_ms () + GONE_MS;
    int rc;
    while ((rc = fcntl (fd, F_OFD_SETLK, &whole)) != 0 && (errno == EAGAIN || errno == EACCES)) {
        int refused = errno;
        if (is_readers (fd))
            return 0;
        if (!is_gone (pid_read (fd)) || clock_boot_ms () >= until_ms) {
            errno = refused;
            break;
        }
        (void) poll (NULL, 0, GONE_AGAIN_MS);
    }
    return rc;
}

/* ---- the mark's lock ---- */

int journal_lock_mark (int fd)
{
    struct flock from_pid = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = getpid () };
    return fcntl (fd, F_OFD_SETLK, &from_pid);
}

/* By the lock on the mark, which begins at the pid, or on <path>.lock, whose text it is. 1: another process has a write
 * lock there; a read lock is no coordinator's. 0: none has, or there is no file; -1: unknown. */
static int lock_holder (const char *path, bool mark, int64_t *pid, struct err *err)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    struct err why = { 0 };
    char name[PATH_MAX];
    LOCAL_FD fd = plain_file_open (journal_path_beside (path, mark ? ".mark" : ".lock", name), O_RDONLY, &why);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0)
        return err_set (err, why.code, "cannot find out whether a coordinator is running: %s", why.text);
    int rc = fcntl (fd, F_OFD_GETLK, &lock) == 0
                 ? lock.l_type == F_WRLCK && (!mark || lock.l_start > 0)
                 : err_errno (err, ERR_IO, "cannot find out whether a coordinator has locked %s", path);
    if (rc > 0)
        *pid = mark ? lock.l_start : pid_read (fd);
    return rc;
}

static int mark_is_free (const char *path, struct err *err)
{
    uint64_t until_ms = clock_boot_ms () + GONE_MS;
    int64_t pid = 0;
    int held;
    while ((held = lock_holder (path, true, &pid, err)) > 0 && is_gone (pid) && clock_boot_ms () < until_ms)
        (void) poll (NULL, 0, GONE_AGAIN_MS);
    return held > 0 ? held_by (path, pid, err) : held;
}

/* ---- both ---- */

int journal_lock_take (const char *path, struct err *err)
{
    int fd = lock_open (path, O_RDWR | O_CREAT, err);
    if (fd < 0)
        return -1;
    if (lock_whole (fd) != 0)
        lock_refused (path, fd, err);
    else if (mark_is_free (path, err) == 0 && pid_write (path, fd, err) == 0)
        return fd;
    (void) close (fd); /* errors are ignored: the reason is in `err` */
    return -1;
}

uint64_t journal_last_alive_ms (const char *path)
{
    struct stat at;
    LOCAL_FD fd = lock_open (path, O_RDONLY, NULL);
    bool known = fd >= 0 && fstat (fd, &at) == 0 && at.st_mtim.tv_sec > 0;
    return known ? (uint64_t) at.st_mtim.tv_sec * 1000 + (uint64_t) at.st_mtim.tv_nsec / 1000000 : 0;
}

int journal_is_locked (const char *path, int64_t *pid, struct err *err)
{
    int64_t holder = 0;
    int rc = lock_holder (path, false, &holder, err);
    if (rc == 0)
        rc = lock_holder (path, true, &holder, err);
    if (pid)
        *pid = rc > 0 ? holder : 0;
    return rc;
}

/* ---- which process holds a journal: by the lock that the kernel shows, not by the number in its file ---- */
enum { FDINFO_MAX_BYTES = 64 << 10, DESCRIPTORS_MAX = 1 << 20 };

static bool journal_lock_is_file (const char *path, const struct stat *st)
{
    struct stat is;
    return stat (path, &is) == 0 && is.st_dev == st->st_dev && is.st_ino == st->st_ino;
}

/* "lock: 1: OFDLCK  ADVISORY  WRITE -1 08:01:131077 0 EOF" (proc(5), /proc/pid/fdinfo). */
static bool has_write_lock (const char *fdinfo)
{
    LOCAL_BUF text = { .max = FDINFO_MAX_BYTES };
    return file_read (fdinfo, &text, NULL) == 0 && strstr (buf_c (&text), "OFDLCK") && strstr (buf_c (&text), "WRITE");
}

/* Either of the two that a coordinator locks: somebody may have removed <path>.lock. */
static bool descriptor_holds (int64_t pid, const char *name, const char *path)
{
    char link[64], beside[PATH_MAX];
    struct stat st;
    snprintf (link, sizeof link, "/proc/%" PRId64 "/fd/%.20s", pid, name);
    if (stat (link, &st) != 0 || (!journal_lock_is_file (journal_path_beside (path, ".lock", beside), &st) &&
                                  !journal_lock_is_file (journal_path_beside (path, ".mark", beside), &st)))
        return false;
    snprintf (link, sizeof link, "/proc/%" PRId64 "/fdinfo/%.20s", pid, name);
    return has_write_lock (link);
}

static bool process_holds (int64_t pid, const char *path)
{
    char folder[64];
    struct dirent *entry;
    bool holds = false;
    snprintf (folder, sizeof folder, "/proc/%" PRId64 "/fd", pid);
    LOCAL_DIR descriptors = opendir (folder);
    for (uint32_t n = 0; descriptors && !holds && n < DESCRIPTORS_MAX && (entry = readdir (descriptors)) != NULL; n++)
        holds = entry->d_name[0] != '.' && descriptor_holds (pid, entry->d_name, path);
    return holds;
}

/* Opens the pidfd first: if its process still lives when the lock is seen, the lock is that process's. */
int journal_open_holder (const char *path, int64_t *pid, struct err *err)
{
    int held = journal_is_locked (path, pid, err);
    if (held <= 0)
        return held < 0 ? -1 : err_set (err, ERR_STATE, "no coordinator holds %s", path);
    int fd = *pid > 0 && *pid <= INT32_MAX ? pidfd_open ((pid_t) *pid, 0) : -1;
    struct pollfd ended = { .fd = fd, .events = POLLIN };
    if (fd >= 0 && process_holds (*pid, path) && poll (&ended, 1, 0) == 0)
        return fd;
    fd_close (fd); /* nothing to lose */
    return err_set (err, ERR_STATE,
                    "%s is locked, but not by process %" PRId64
                    " of this machine as far as can be seen: it may run in another container",
                    path, *pid);
}
