#include "worker/sandbox/confine_sandbox.h"

#include "common/io/atomic_file.h"
#include <fnmatch.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { DRIVERS_MAX_BYTES = 64 << 10 };

/* Patterns (fnmatch(3)). Null, zero, full, random, urandom and /dev/tty, which is the program's own, have their numbers
 * everywhere (admin-guide/devices.txt of Linux). Then classes of the drivers in Linux and beside it: gasket for TPU v2 to
 * v4, NVIDIA's, which has none, Neuron, GDRCopy. Last what they and their networks are reached through, and what needs
 * rights of its own on each use. */
static const char *const needed[] = {
    "1:[35789]",  "5:0",       "accel*/*",   "gasket*/*", "apex*/*",      "tpu*/*",        "vfio/*",
    "vfio-dev/*", "nvidia*/*", "kfd/*",      "drm/*",     "neuron*/*",    "habanalabs*/*", "infiniband*/*",
    "gdrdrv/*",   "misc/vfio", "misc/iommu", "misc/dxg",  "misc/rdma_cm", "misc/fuse",     "misc/userfaultfd",
};

bool confine_device_is_allowed (mode_t kind, const char *number, const char *what)
{
    bool allowed = false;
    for (size_t i = 0; i < sizeof needed / sizeof needed[0] && !allowed; i++)
        allowed = fnmatch (needed[i], number, 0) == 0 || fnmatch (needed[i], what, 0) == 0;
    return allowed && S_ISCHR (kind);
}

/* What the link leads to, without the way there; "": there is none. */
static void read_name (const char *link, char name[NAME_MAX + 1])
{
    char target[PATH_MAX];
    ssize_t n = readlink (link, target, sizeof target - 1);
    target[n < 0 ? 0 : n] = '\0';
    const char *slash = strrchr (target, '/');
    snprintf (name, NAME_MAX + 1, "%.255s", slash ? slash + 1 : target);
}

/* "Character devices:\n  1 mem\n195 nvidia\n\nBlock devices:\n..." (proc(5)). */
static void read_driver (unsigned number, char name[NAME_MAX + 1])
{
    struct buf text;
    char line[16];
    buf_init (&text, DRIVERS_MAX_BYTES);
    (void) file_read ("/proc/devices", &text, NULL); /* not there: no device is told by its driver */
    snprintf (line, sizeof line, "\n%3u ", number);
    const char *at = strstr (buf_c (&text), line), *blocks = strstr (buf_c (&text), "\nBlock");
    if (at && (!blocks || at < blocks))
        (void) sscanf (at + strlen (line), "%255s", name);
    buf_release (&text);
}

bool confine_device_node_is_allowed (const struct stat *at)
{
    char number[32], link[96], name[NAME_MAX + 1], subsystem[NAME_MAX + 1], what[2 * NAME_MAX + 2];
    if (!S_ISCHR (at->st_mode))
        return !S_ISBLK (at->st_mode);
    snprintf (number, sizeof number, "%u:%u", major (at->st_rdev), minor (at->st_rdev));
    snprintf (link, sizeof link, "/sys/dev/char/%s", number);
    read_name (link, name);
    snprintf (link, sizeof link, "/sys/dev/char/%s/subsystem", number);
    read_name (link, subsystem);
    if (!subsystem[0])
        read_driver (major (at->st_rdev), subsystem);
    snprintf (what, sizeof what, "%s/%s", subsystem, name);
    return confine_device_is_allowed (S_IFCHR, number, what);
}

bool confine_devices_may_be_in (const char *folder)
{
    struct statfs at, root;
    return statfs (folder, &at) == 0 && statfs ("/", &root) == 0 &&
           (at.f_type == TMPFS_MAGIC || at.f_type == RAMFS_MAGIC || at.f_type == root.f_type);
}
