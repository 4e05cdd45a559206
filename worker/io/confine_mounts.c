#include "worker/io/confine_mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "worker/io/confine_caps.h"
#include "worker/io/confine_device.h"
#include "worker/io/confine_layer.h"

enum { MADE_MAX = ALIASES_MAX + CONFINE_DEVICES_MAX + 8 };

/* What was mounted, to be taken away again when a later step fails. */
struct mounts { const struct confine_site *site; struct arena arena; const char *made[MADE_MAX]; uint32_t n; };

static int note_mount (struct mounts *mounts, const char *point, struct err *err)
{
    if (mounts->n == MADE_MAX) {
        (void) umount2 (point, MNT_DETACH);
        return err_set (err, ERR_LIMIT, "more than %d mounts would be needed", MADE_MAX);
    }
    mounts->made[mounts->n++] = point;
    return 0;
}

static void undo (struct mounts *mounts)
{
    while (mounts->n)
        (void) umount2 (mounts->made[--mounts->n], MNT_DETACH); /* there is nothing else to fall back on */
}

/* ---- one mount ---- */

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
    return mount (NULL, path, NULL, flags, NULL) < 0 ? -1 : mount (NULL, path, NULL, MS_PRIVATE | MS_REC, NULL);
}

/* Private: what the host mounts there later would come in writable. */
static int set_access (const char *path, bool writable, struct err *err)
{
    struct mount_attr attr = { .attr_set = writable ? 0 : MOUNT_ATTR_RDONLY,
                               .attr_clr = writable ? MOUNT_ATTR_RDONLY : 0, .propagation = MS_PRIVATE };
    int rc = mount_setattr (AT_FDCWD, path, AT_RECURSIVE, &attr, sizeof attr);
    if (rc < 0 && errno == ENOSYS)
        rc = set_access_plainly (path, writable);
    return rc < 0 ? err_errno (err, ERR_IO, "making %.300s %s", path, writable ? "writable" : "read-only") : 0;
}

static int bind (struct mounts *mounts, const char *from, const char *to, bool writable, struct err *err)
{
    if (mount (from, to, NULL, MS_BIND | MS_REC, NULL) < 0)
        return err_errno (err, ERR_IO, "binding %.200s to %.200s", from, to);
    return note_mount (mounts, to, err) < 0 ? -1 : set_access (to, writable, err);
}

/* ---- namespaces ---- */

static int put_file (const char *path, const char *text)
{
    int fd = open (path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t bytes = (ssize_t) strlen (text), put = write (fd, text, (size_t) bytes);
    int code = errno;
    close (fd);
    errno = code;
    return put == bytes ? 0 : -1;
}

/* Nobody but this user is in there. The group may be mapped only after setgroups is given up (user_namespaces(7)). */
static int enter_user_namespace (struct err *err)
{
    char uid_map[64], gid_map[64];
    snprintf (uid_map, sizeof uid_map, "%u %u 1", geteuid (), geteuid ());
    snprintf (gid_map, sizeof gid_map, "%u %u 1", getegid (), getegid ());
    if (unshare (CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return err_errno (err, ERR_IO, "making a user namespace");
    if (put_file ("/proc/self/setgroups", "deny") < 0 || put_file ("/proc/self/uid_map", uid_map) < 0
        || put_file ("/proc/self/gid_map", gid_map) < 0)
        return err_errno (err, ERR_IO, "mapping our own user and group");
    return 0;
}

/* Slave: what is mounted on the host is seen here, and nothing of ours is seen there. */
static int enter_namespace (bool privileged, struct err *err)
{
    if (!privileged && geteuid () == 0)
        return err_set (err, ERR_STATE, "root without CAP_SYS_ADMIN: in a user namespace it would lose the rights over "
                        "the host that devices need");
    if (privileged && unshare (CLONE_NEWNS) < 0)
        return err_errno (err, ERR_IO, "making a mount namespace");
    if (!privileged && enter_user_namespace (err) < 0)
        return -1;
    if (mount (NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
        return err_errno (err, ERR_IO, "parting from the host's mounts");
    return 0;
}

/* ---- what is seen in it ---- */

static int protect (struct mounts *mounts, struct err *err)
{
    const struct confine_site *site = mounts->site;
    if (bind (mounts, site->root, site->root, false, err) < 0)
        return -1;
    for (uint32_t i = 0; i < site->aliases_n; i++)
        if (bind (mounts, site->aliases[i], site->aliases[i], false, err) < 0)
            return -1;
    return site->own ? bind (mounts, site->own, site->own, true, err) : 0;
}

/* Whoever may write there as root, without any capability, makes the kernel run a program outside: core(5), cgroups(7)
 * release_agent, modprobe. In a user namespace they are not root's. */
static int close_kernel (struct mounts *mounts, struct err *err)
{
    static const char *const doors[] = { "/proc/sys", "/sys" };
    struct stat at;
    for (size_t i = 0; i < sizeof doors / sizeof doors[0]; i++)
        if (stat (doors[i], &at) == 0 && bind (mounts, doors[i], doors[i], false, err) < 0)
            return -1;
    struct confine_devices devices;
    int rc = confine_device_find (&mounts->arena, &devices, err);
    for (uint32_t i = 0; i < devices.n && rc == 0; i++) {
        if (mount ("/dev/null", devices.paths[i], NULL, MS_BIND, NULL) == 0)
            rc = note_mount (mounts, devices.paths[i], err);
        else if (errno != ENOENT) /* it was taken out meanwhile */
            rc = err_errno (err, ERR_IO, "hiding the block device %.200s", devices.paths[i]);
    }
    return rc;
}

/* A private folder over the worker's own, so that the generation can be mounted in place of the link to it. */
static int show (struct mounts *mounts, bool overlay, struct err *err)
{
    const struct confine_site *site = mounts->site;
    if (!site->place)
        return 0;
    const char *constant = text_format (&mounts->arena, "%s/generation", site->place).ptr;
    if (mount ("sliceup", site->place, "tmpfs", MS_NOSUID | MS_NODEV, "size=64k,nr_inodes=16,mode=0755") < 0)
        return err_errno (err, ERR_IO, "mounting a folder of its own on %.300s", site->place);
    if (note_mount (mounts, site->place, err) < 0)
        return -1;
    if (mkdir (constant, 0755) < 0)
        return err_errno (err, ERR_IO, "making %.300s", constant);
    int rc = overlay ? confine_layer_mount (site->generation, site->scratch, constant, err)
                     : bind (mounts, site->generation, constant, site->own != NULL, err);
    if (rc == 0 && overlay)
        rc = note_mount (mounts, constant, err);
    if (rc == 0 && mount (NULL, site->place, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) < 0)
        rc = err_errno (err, ERR_IO, "making %.300s read-only", site->place);
    return rc;
}

int confine_mounts_enter (const struct confine_site *site, bool overlay, struct err *err)
{
    struct mounts mounts = { .site = site };
    bool privileged = confine_caps_have (CAP_SYS_ADMIN);
    if (enter_namespace (privileged, err) < 0)
        return -1;
    int rc = protect (&mounts, err);
    if (rc == 0)
        rc = show (&mounts, overlay, err);
    if (rc == 0 && privileged)
        rc = close_kernel (&mounts, err);
    if (rc == 0 && !privileged)
        rc = enter_user_namespace (err);
    if (rc == 0 && chdir (site->scratch) < 0) /* where we stand may have been found before it was mounted over */
        rc = err_errno (err, ERR_IO, "entering %.300s", site->scratch);
    if (rc < 0)
        undo (&mounts);
    arena_release (&mounts.arena);
    return rc;
}
