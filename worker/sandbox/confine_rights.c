#include <fnmatch.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "worker/sandbox/confine_sandbox.h"

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
    char line[16];
    LOCAL_BUF text = { .max = DRIVERS_MAX_BYTES };
    (void) file_read ("/proc/devices", &text, NULL); /* not there: no device is told by its driver */
    snprintf (line, sizeof line, "\n%3u ", number);
    const char *at = strstr (buf_c (&text), line), *blocks = strstr (buf_c (&text), "\nBlock");
    if (at && (!blocks || at < blocks))
        (void) sscanf (at + strlen (line), "%255s", name);
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

/* ---- capabilities ---- */

#define BIT(capability) (UINT64_C (1) << (capability))

const uint64_t confine_caps_kept = BIT (CAP_CHOWN) | BIT (CAP_DAC_OVERRIDE) | BIT (CAP_FOWNER) | BIT (CAP_FSETID) |
                                   BIT (CAP_KILL) | BIT (CAP_SETGID) | BIT (CAP_SETUID) | BIT (CAP_IPC_LOCK) |
                                   BIT (CAP_IPC_OWNER) | BIT (CAP_SYS_NICE) | BIT (CAP_SYS_RESOURCE);

struct sets {
    struct __user_cap_header_struct header;
    struct __user_cap_data_struct words[_LINUX_CAPABILITY_U32S_3];
};

static int get (struct sets *sets)
{
    *sets = (struct sets){ .header = { .version = _LINUX_CAPABILITY_VERSION_3 } };
    return (int) syscall (SYS_capget, &sets->header, sets->words);
}

bool confine_caps_have (int capability)
{
    struct sets sets;
    return get (&sets) == 0 && sets.words[CAP_TO_INDEX (capability)].effective & CAP_TO_MASK (capability);
}

static int bound (uint64_t kept, struct err *err)
{
    for (int capability = 0; capability < 64; capability++) {
        int there = prctl (PR_CAPBSET_READ, capability, 0, 0, 0);
        if (there < 0)
            return 0; /* past the last one that this kernel knows */
        if (there && !(kept & BIT (capability)) && prctl (PR_CAPBSET_DROP, capability, 0, 0, 0) < 0)
            return err_errno (err, ERR_IO, "cannot drop capability %d permanently (needs CAP_SETPCAP)", capability);
    }
    return 0;
}

int confine_caps_keep (uint64_t kept, struct err *err)
{
    struct sets sets;
    if (get (&sets) < 0)
        return err_errno (err, ERR_IO, "cannot read the capabilities of this process");
    if (geteuid () != 0 && !sets.words[0].permitted && !sets.words[1].permitted)
        return 0; /* and with no_new_privs there is no way to get any */
    if (bound (kept, err) < 0)
        return -1;
    if (prctl (PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
        return err_errno (err, ERR_IO, "cannot clear the ambient capabilities");
    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        uint32_t word = (uint32_t) (kept >> (32 * i));
        sets.words[i].permitted &= word;
        sets.words[i].effective &= word;
        sets.words[i].inheritable = 0;
    }
    if (syscall (SYS_capset, &sets.header, sets.words) < 0)
        return err_errno (err, ERR_IO, "cannot drop capabilities");
    return 0;
}
