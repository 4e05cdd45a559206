#include "worker/sandbox/confine_sandbox.h"

#include "common/base/path.h"
#include "common/base/text.h"
#include "common/io/atomic_file.h"
#include "common/io/fd.h"
#include "common/io/proc.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PINNED_MAX = 4 * PLACES_CLOSED_MAX, BEFORE_N = 3 };

struct mounts {
    const struct confine_cache_paths *cache_paths;
    struct arena arena;
    const char *pinned[PINNED_MAX];
    uint32_t n;
    int before_fds[BEFORE_N]; /* mount namespace, root and folder to return to if a step fails */
    char host_dev[32];        /* the host's /dev, for its nodes after a new one covers it */
};

/* ---- one mount ---- */

/* Not glibc's own, which came with 2.36: a preloaded interpreter loads this with the host's. */
static int change_mount (const char *path, unsigned recursive, const struct mount_attr *attr)
{
    return (int) syscall (SYS_mount_setattr, AT_FDCWD, path, recursive, attr, sizeof *attr);
}

/* Linux before 5.12, which knows no mount_setattr(2): only the mount itself. In a user namespace flags that were set
 * outside have to be given again (mount_namespaces(7)). */
static int set_access_plainly (const char *path, bool writable)
{
    struct statvfs at;
    if (statvfs (path, &at) < 0)
        return -1;
    unsigned long flags = MS_REMOUNT | MS_BIND | (writable ? 0 : MS_RDONLY);
    flags |= at.f_flag & ST_NOSUID ? MS_NOSUID : 0;
    flags |= at.f_flag & ST_NODEV ? MS_NODEV : 0;
    flags |= at.f_flag & ST_NOEXEC ? MS_NOEXEC : 0;
    flags |= at.f_flag & ST_NOATIME ? MS_NOATIME : 0;
    flags |= at.f_flag & ST_NODIRATIME ? MS_NODIRATIME : 0;
    flags |= at.f_flag & ST_RELATIME ? MS_RELATIME : 0;
    return mount (NULL, path, NULL, flags, NULL);
}

/* AT_RECURSIVE or 0; `propagation`: MS_PRIVATE, so that no later mount of the host appears writable; 0: unchanged. */
static int set_access (const char *path, bool writable, unsigned recursive, unsigned long propagation)
{
    struct mount_attr attr = { .attr_set = writable ? 0 : MOUNT_ATTR_RDONLY,
                               .attr_clr = writable ? MOUNT_ATTR_RDONLY : 0,
                               .propagation = propagation };
    int rc = change_mount (path, recursive, &attr);
    if (rc == 0 || errno != ENOSYS)
        return rc;
    rc = set_access_plainly (path, writable);
    return rc < 0 || !propagation ? rc : mount (NULL, path, NULL, propagation | MS_REC, NULL);
}

/* Whether device nodes work in it. Linux before 5.12: as it is. */
static int set_devices (const char *path, bool work, unsigned recursive)
{
    struct mount_attr attr = { .attr_set = work ? 0 : MOUNT_ATTR_NODEV, .attr_clr = work ? MOUNT_ATTR_NODEV : 0 };
    return change_mount (path, recursive, &attr);
}

static int bind (const char *from, const char *to, struct err *err)
{
    if (mount (from, to, NULL, MS_BIND | MS_REC, NULL) < 0)
        return err_errno (err, ERR_IO, "cannot bind %.200s to %.200s", from, to);
    return 0;
}

static int bind_as (const char *from, const char *to, bool writable, struct err *err)
{
    if (bind (from, to, err) < 0)
        return -1;
    if (set_access (to, writable, AT_RECURSIVE, MS_PRIVATE) < 0)
        return err_errno (err, ERR_IO, "cannot make %.300s %s", to, writable ? "writable" : "read-only");
    return 0;
}

/* ---- namespaces ---- */

/* Only this user exists in it. The group may be mapped only after setgroups is given up (user_namespaces(7)). */
static int enter_user_namespace (struct err *err)
{
    char uid_map[64], gid_map[64];
    snprintf (uid_map, sizeof uid_map, "%u %u 1", geteuid (), geteuid ());
    snprintf (gid_map, sizeof gid_map, "%u %u 1", getegid (), getegid ());
    if (unshare (CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return err_errno (err, ERR_IO, "cannot make a user namespace");
    if (proc_file_write ("/proc/self/setgroups", "deny") < 0 || proc_file_write ("/proc/self/uid_map", uid_map) < 0 ||
        proc_file_write ("/proc/self/gid_map", gid_map) < 0)
        return err_errno (err, ERR_IO, "cannot map this user and group into the user namespace");
    return 0;
}

static void leave_namespace (const struct mounts *mounts, struct err *err)
{
    if (setns (mounts->before_fds[0], CLONE_NEWNS) < 0 || fchdir (mounts->before_fds[1]) < 0 || chroot (".") < 0 ||
        fchdir (mounts->before_fds[2]) < 0)
        (void) err_prefix (err, "programs stay in one that was only begun (%s)", strerror (errno));
}

/* Slave: the host's mounts appear here, but ours do not appear there. */
static int enter_namespace (struct mounts *mounts, bool privileged, struct err *err)
{
    static const char *const before[BEFORE_N] = { "/proc/self/ns/mnt", "/", "." };
    if (!privileged && geteuid () == 0)
        return err_set (err, ERR_STATE,
                        "this user is root without CAP_SYS_ADMIN, and in a user namespace it would lose the rights "
                        "that devices need");
    if (!privileged && enter_user_namespace (err) < 0)
        return -1;
    for (int i = 0; i < BEFORE_N; i++)
        if ((mounts->before_fds[i] = open (before[i], (i ? O_PATH : O_RDONLY) | O_CLOEXEC)) < 0)
            return err_errno (err, ERR_IO, "cannot open %s", before[i]);
    if (unshare (CLONE_NEWNS) < 0)
        return err_errno (err, ERR_IO, "cannot make a mount namespace, in spite of CAP_SYS_ADMIN");
    if (mount (NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
        return err_errno (err, ERR_IO, "cannot separate from the host's mounts");
    return 0;
}

/* ---- what may be written in it ---- */

/* Makes open places mounts of their own, so that they stay writable when the rest is closed. */
static int part_open_places (struct mounts *mounts, struct err *err)
{
    const struct confine_paths *paths = &mounts->cache_paths->paths;
    for (uint32_t i = 0; i < paths->open_n; i++)
        if (bind (paths->open[i], paths->open[i], err) < 0)
            return -1;
    return 0;
}

/* /proc has its own rules; close_kernel closes what must be closed there. */
static bool stays_open (const struct mounts *mounts, const struct proc_mount *one)
{
    return confine_paths_is_open (&mounts->cache_paths->paths, one->point) || path_is_below (one->point, "/proc");
}

/* One by one, since recursion would include the open places. Mounts that cannot be reached, or are covered, are out of
 * the program's reach, too. */
static int close_all_else (struct mounts *mounts, struct err *err)
{
    struct proc_mounts all;
    if (proc_mounts_read ("/proc/self", &mounts->arena, &all, err) < 0)
        return -1;
    for (uint32_t i = 0; i < all.n; i++) {
        const struct proc_mount *one = &all.items[i];
        bool done = stays_open (mounts, one) || set_access (one->point, false, 0, 0) == 0;
        if (!done && errno != ENOENT && errno != EACCES && errno != EINVAL)
            return err_errno (err, ERR_IO, "cannot make %.300s read-only", one->point);
    }
    return 0;
}

/* Pins parents by mounts: a folder with a mount on it cannot be renamed (rename(2), EBUSY), so nothing closed moves. */
static int pin_above (struct mounts *mounts, const char *path, struct err *err)
{
    const char *open = confine_paths_open_holding (&mounts->cache_paths->paths, path);
    for (const char *slash = path + strlen (open) + 1; (slash = strchr (slash, '/')); slash++) {
        const char *folder = text_copy (&mounts->arena, (struct text){ path, (uint32_t) (slash - path) }).ptr;
        bool pinned = false;
        for (uint32_t i = 0; i < mounts->n; i++)
            pinned = pinned || strcmp (mounts->pinned[i], folder) == 0;
        if (!pinned && mounts->n == PINNED_MAX)
            return err_set (err, ERR_LIMIT, "the sandbox would have to pin more than %d folders", PINNED_MAX);
        if (!pinned && bind (folder, folder, err) < 0)
            return -1;
        if (!pinned)
            mounts->pinned[mounts->n++] = folder;
    }
    return 0;
}

/* Outer ones first, since pins would cover closed paths below them. */
static int by_length (const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    size_t x_len = strlen (*x), y_len = strlen (*y);
    return x_len < y_len ? -1 : x_len > y_len;
}

/* Paths outside of open places are closed already, except the cache: later mounts of the host would appear in it. */
static bool needs_mount (const struct confine_cache_paths *cache_paths, const char *path)
{
    return confine_paths_is_open (&cache_paths->paths, path) || strcmp (path, cache_paths->root) == 0;
}

static int close_places (struct mounts *mounts, struct err *err)
{
    const struct confine_paths *paths = &mounts->cache_paths->paths;
    uint32_t n = paths->closed_n + paths->closed_files_n;
    const char **closed = arena_array (&mounts->arena, n, sizeof *closed);
    memcpy (closed, paths->closed, paths->closed_n * sizeof *closed);
    memcpy (closed + paths->closed_n, paths->closed_files, paths->closed_files_n * sizeof *closed);
    qsort (closed, n, sizeof *closed, by_length);
    for (uint32_t i = 0; i < n; i++)
        if (confine_paths_is_open (paths, closed[i]) && pin_above (mounts, closed[i], err) < 0)
            return -1;
    for (uint32_t i = 0; i < n; i++)
        if (needs_mount (mounts->cache_paths, closed[i]) && bind_as (closed[i], closed[i], false, err) < 0)
            return -1;
    return 0;
}

/* Without mounts in it, which may be the cache under another name. */
static int open_one (const char *own, struct err *err)
{
    if (bind (own, own, err) < 0)
        return -1;
    if (set_access (own, true, 0, 0) < 0 || mount (NULL, own, NULL, MS_PRIVATE | MS_REC, NULL) < 0)
        return err_errno (err, ERR_IO, "cannot make %.300s writable", own);
    return 0;
}

static int open_own (struct mounts *mounts, struct err *err)
{
    const struct confine_paths *paths = &mounts->cache_paths->paths;
    for (uint32_t i = 0; i < paths->own_n; i++)
        if (open_one (paths->own[i], err) < 0)
            return -1;
    return 0;
}

static int protect (struct mounts *mounts, struct err *err)
{
    return part_open_places (mounts, err) < 0 || close_all_else (mounts, err) < 0 || close_places (mounts, err) < 0 ||
                   open_own (mounts, err) < 0
               ? -1
               : 0;
}

/* ---- devices ---- */

static int show_in_dev (const char *from, const char *to, bool folder, struct err *err)
{
    int fd = folder ? -1 : open (to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    bool done = (folder ? mkdir (to, 0755) == 0 : fd >= 0) &&
                (mount (from, to, NULL, MS_BIND | MS_REC, NULL) == 0 || errno == ENOENT); /* taken out meanwhile */
    int rc = done ? 0 : err_errno (err, ERR_IO, "cannot show %.300s to programs", to);
    fd_close (fd);
    if (!confine_paths_below_usual (to)) /* what everybody may fill */
        (void) set_devices (to, true, 0);
    return rc;
}

/* Errors are ignored: a link gives no right, and there may be too many. */
static void copy_link (const char *from, const char *to)
{
    char target[PATH_MAX];
    ssize_t n = readlink (from, target, sizeof target - 1);
    target[n < 0 ? 0 : n] = '\0';
    (void) symlink (target, to);
}

static int fill_dev (struct mounts *mounts, const char *folder, struct err *err);

static int add_to_dev (struct mounts *mounts, const char *path, struct err *err)
{
    struct stat at;
    const char *from = text_format (&mounts->arena, "%s%s", mounts->host_dev, path + strlen ("/dev")).ptr;
    if (strcmp (path, "/dev/pts") == 0 || lstat (from, &at) < 0)
        return 0;
    bool folder = S_ISDIR (at.st_mode), open = confine_paths_is_open (&mounts->cache_paths->paths, path);
    if (S_ISLNK (at.st_mode))
        copy_link (from, path);
    else if (!open && folder && confine_devices_may_be_in (from))
        return mkdir (path, 0755) < 0 ? err_errno (err, ERR_IO, "cannot make %.300s", path)
                                      : fill_dev (mounts, path, err);
    else if (open || (!folder && confine_device_node_is_allowed (&at)))
        return show_in_dev (from, path, folder, err);
    return 0;
}

static int fill_dev (struct mounts *mounts, const char *folder, struct err *err)
{
    DIR *host = opendir (text_format (&mounts->arena, "%s%s", mounts->host_dev, folder + strlen ("/dev")).ptr);
    struct dirent *entry;
    int rc = 0;
    while (host && rc == 0 && (entry = readdir (host)))
        if (strcmp (entry->d_name, ".") != 0 && strcmp (entry->d_name, "..") != 0)
            rc = add_to_dev (mounts, text_format (&mounts->arena, "%s/%s", folder, entry->d_name).ptr, err);
    if (host)
        closedir (host); /* NULL: what this process does not reach, the program will not */
    return rc;
}

/* Device nodes work only in its own /dev, which has the needed ones (confine_sandbox.h), and only terminals that the
 * program opens itself. */
static int make_dev (struct mounts *mounts, struct err *err)
{
    static const char terminals[] = "newinstance,ptmxmode=0666,mode=600";
    LOCAL_FD fd = open ("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf (mounts->host_dev, sizeof mounts->host_dev, "/proc/self/fd/%d", fd);
    bool made = fd >= 0 && (set_devices ("/", false, AT_RECURSIVE) == 0 || errno == ENOSYS) &&
                mount ("sliceup", "/dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "size=4m,nr_inodes=16384,mode=0755") == 0;
    if (!made)
        return err_errno (err, ERR_IO, "cannot make a /dev of the program's own");
    if (mkdir ("/dev/pts", 0755) < 0 || symlink ("pts/ptmx", "/dev/ptmx") < 0 ||
        mount ("sliceup", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, terminals) < 0)
        return err_errno (err, ERR_IO, "cannot make terminals of the program's own in /dev/pts");
    if (fill_dev (mounts, "/dev", err) < 0)
        return -1;
    return set_access ("/dev", false, 0, 0) < 0 ? err_errno (err, ERR_IO, "cannot make /dev read-only") : 0;
}

/* ---- what is out of sight ---- */

/* Mounts the worker's folder, with all mounts in it, at its old path, below the mount that hides the rest. */
static int show_again (struct mounts *mounts, int folder_fd, struct err *err)
{
    char from[64];
    const char *path = mounts->cache_paths->directory;
    if (folder_make (path, 0755, err) < 0)
        return -1;
    snprintf (from, sizeof from, "/proc/self/fd/%d", folder_fd);
    return bind (from, path, err);
}

static int hide_folder (struct mounts *mounts, const char *path, struct err *err)
{
    const char *directory = mounts->cache_paths->directory;
    bool inside = directory && path_is_below (directory, path);
    if (inside && strcmp (directory, path) == 0)
        return 0;
    LOCAL_FD fd = inside ? open (directory, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (inside && fd < 0)
        return err_errno (err, ERR_IO, "cannot open %.300s", directory);
    if (mount ("sliceup", path, "tmpfs", MS_NOSUID | MS_NODEV, "size=64k,nr_inodes=64,mode=0755") < 0)
        return err_errno (err, ERR_IO, "cannot hide %.300s", path);
    if (inside && show_again (mounts, fd, err) < 0)
        return -1;
    if (mount (NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) < 0)
        return err_errno (err, ERR_IO, "cannot make %.300s read-only", path);
    return 0;
}

/* Keys, journals, tickets: a reader could act as another, or block writes by a lock. */
static int hide (struct mounts *mounts, struct err *err)
{
    const struct confine_cache_paths *cache_paths = mounts->cache_paths;
    int rc = 0;
    for (uint32_t i = 0; i < cache_paths->hidden_n && rc == 0; i++) {
        struct stat at;
        if (stat (cache_paths->hidden[i], &at) == 0)
            rc = S_ISDIR (at.st_mode) ? hide_folder (mounts, cache_paths->hidden[i], err)
                                      : bind_as ("/dev/null", cache_paths->hidden[i], false, err);
    }
    return rc;
}

/* ---- what is seen in it ---- */

/* Root can write there even without capabilities, and make the kernel run a program outside: core(5), cgroups(7)
 * release_agent, modprobe. In a user namespace root cannot. */
static int close_kernel (struct err *err)
{
    static const char *const doors[] = { "/proc/sys", "/sys" };
    struct stat at;
    for (size_t i = 0; i < sizeof doors / sizeof doors[0]; i++)
        if (stat (doors[i], &at) == 0 && bind_as (doors[i], doors[i], false, err) < 0)
            return -1;
    return 0;
}

/* A private folder over the worker's own, so that the generation can be mounted in place of the link to it. */
static int confine_mounts_show (struct mounts *mounts, bool overlay, struct err *err)
{
    const struct confine_cache_paths *cache_paths = mounts->cache_paths;
    if (!cache_paths->place)
        return 0;
    const char *constant = text_format (&mounts->arena, "%s/generation", cache_paths->place).ptr;
    if (mount ("sliceup", cache_paths->place, "tmpfs", MS_NOSUID | MS_NODEV, "size=64k,nr_inodes=16,mode=0755") < 0)
        return err_errno (err, ERR_IO, "cannot mount a private folder on %.300s", cache_paths->place);
    if (mkdir (constant, 0755) < 0)
        return err_errno (err, ERR_IO, "cannot make %.300s", constant);
    int rc = overlay ? confine_overlay_mount (cache_paths->generation, cache_paths->scratch, constant, err)
                     : bind (cache_paths->generation, constant, err);
    if (rc == 0 && !overlay && !cache_paths->own && set_access (constant, false, AT_RECURSIVE, MS_PRIVATE) < 0)
        rc = err_errno (err, ERR_IO, "cannot make %.300s read-only", constant);
    if (rc == 0 &&
        mount (NULL, cache_paths->place, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) < 0)
        rc = err_errno (err, ERR_IO, "cannot make %.300s read-only", cache_paths->place);
    return rc;
}

int confine_mounts_enter (const struct confine_cache_paths *cache_paths, bool overlay, struct err *err)
{
    struct mounts mounts = { .cache_paths = cache_paths };
    char here[PATH_MAX];
    const char *directory = getcwd (here, sizeof here) ? here : cache_paths->scratch;
    bool privileged = confine_caps_have (CAP_SYS_ADMIN);
    if (enter_namespace (&mounts, privileged, err) < 0)
        return -1;
    int rc = protect (&mounts, err);
    if (rc == 0)
        rc = make_dev (&mounts, err);
    if (rc == 0)
        rc = confine_mounts_show (&mounts, overlay, err);
    if (rc == 0)
        rc = hide (&mounts, err);
    if (rc == 0 && privileged)
        rc = close_kernel (err);
    if (rc == 0 && !privileged)
        rc = enter_user_namespace (err);
    if (rc == 0 && chdir (directory) < 0) /* the current folder may now be covered by a mount */
        rc = err_errno (err, ERR_IO, "cannot enter %.300s", directory);
    if (rc < 0)
        leave_namespace (&mounts, err);
    for (int i = 0; i < BEFORE_N; i++)
        fd_close (mounts.before_fds[i]);
    arena_release (&mounts.arena);
    return rc;
}
