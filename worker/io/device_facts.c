/* device_facts.c - accelerators as the kernel lists them: PCI functions, device files, and who holds these open.
 *
 * No device is opened: opening one may be what the next rung's program cannot do any more. */
#include "worker/io/fact_list.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "common/base/buf.h"

enum { NAMES_MAX = 4096, KINDS_MAX = 16, HOLDERS_SHOWN = 8, VALUE_BYTES_MAX = 900 };

/* ---- folders, sorted ---- */

static int by_text (const void *a, const void *b)
{
    return text_compare (*(const struct text *) a, *(const struct text *) b);
}

/* The names in `<root><path>` that begin with `prefix`, sorted; none when it is not there. */
static struct name_list names_in (struct fact_list *list, const char *root, const char *path, const char *prefix)
{
    char folder_name[PATH_MAX_BYTES + 1];
    struct name_list names = { 0 };
    struct dirent *entry;
    snprintf (folder_name, sizeof folder_name, "%s%s", root, path);
    DIR *folder = opendir (folder_name);
    if (!folder)
        return names;
    names.items = arena_array (&list->arena, NAMES_MAX, sizeof *names.items);
    while (names.n < NAMES_MAX && (entry = readdir (folder)))
        if (entry->d_name[0] != '.' && !strncmp (entry->d_name, prefix, strlen (prefix)))
            names.items[names.n++] = text_copy (&list->arena, text_of (entry->d_name));
    closedir (folder);
    if (names.n)
        qsort (names.items, names.n, sizeof *names.items, by_text);
    return names;
}

/* ---- equal things counted ---- */

struct kinds {
    struct { struct text what; uint32_t count; } items[KINDS_MAX];
    uint32_t n, others;
};

static void count (struct kinds *kinds, struct text what)
{
    for (uint32_t i = 0; i < kinds->n; i++)
        if (text_equal (kinds->items[i].what, what)) {
            kinds->items[i].count++;
            return;
        }
    if (kinds->n == KINDS_MAX) {
        kinds->others++;
        return;
    }
    kinds->items[kinds->n].what = what;
    kinds->items[kinds->n++].count = 1;
}

static void add_kinds (struct fact_list *list, const char *name, const struct kinds *kinds)
{
    struct buf value;
    buf_init (&value, VALUE_BYTES_MAX);
    for (uint32_t i = 0; i < kinds->n; i++)
        buf_printf (&value, "%s%u x %.*s", i ? ", " : "", kinds->items[i].count, TEXT_ARG (kinds->items[i].what));
    if (kinds->others)
        buf_printf (&value, ", and %u others", kinds->others);
    fact_add (list, name, text_copy (&list->arena, buf_as_text (&value)));
    buf_release (&value);
}

/* ---- PCI ---- */

static struct text driver_of (struct fact_list *list, struct text device)
{
    char path[PATH_MAX_BYTES + 1], target[PATH_MAX_BYTES + 1];
    snprintf (path, sizeof path, "%s/bus/pci/devices/%.*s/driver", list->roots->sys, TEXT_ARG (device));
    ssize_t len = readlink (path, target, sizeof target - 1);
    if (len <= 0)
        return TEXT_LIT ("no driver");
    target[len] = '\0';
    const char *slash = strrchr (target, '/');
    return text_copy (&list->arena, text_of (slash ? slash + 1 : target));
}

static struct text pci_read (struct fact_list *list, struct text device, const char *file)
{
    struct text value, path = text_format (&list->arena, "/bus/pci/devices/%.*s/%s", TEXT_ARG (device), file);
    fact_read (list, list->roots->sys, path.ptr, &value);
    return value;
}

static void add_pci (struct fact_list *list, const struct name_list *devices, const char *name, const char *vendor)
{
    struct kinds kinds = { 0 };
    for (uint32_t i = 0; i < devices->n; i++) {
        if (!text_is (pci_read (list, devices->items[i], "vendor"), vendor))
            continue;
        struct text id = pci_read (list, devices->items[i], "device"), driver = driver_of (list, devices->items[i]);
        count (&kinds, text_format (&list->arena, "%.*s (%.*s)", TEXT_ARG (id), TEXT_ARG (driver)));
    }
    add_kinds (list, name, &kinds);
}

/* ---- device files ---- */

/* Owner and mode decide who may open them; what differs between hosts is a permission failure to come. */
static uint32_t add_files (struct fact_list *list, const char *name, const char *folder, const char *prefix)
{
    struct name_list names = names_in (list, list->roots->dev, folder, prefix);
    struct kinds kinds = { 0 };
    uint32_t found = 0;
    for (uint32_t i = 0; i < names.n; i++) {
        char path[PATH_MAX_BYTES + 1];
        struct stat st;
        int len = snprintf (path, sizeof path, "%s%s/%.*s", list->roots->dev, folder, TEXT_ARG (names.items[i]));
        if (len < 0 || (size_t) len >= sizeof path || stat (path, &st) || S_ISDIR (st.st_mode))
            continue;
        found++;
        count (&kinds, text_format (&list->arena, "uid %u gid %u mode %04o%s", st.st_uid, st.st_gid, st.st_mode & 07777,
                                    access (path, R_OK | W_OK) ? ", not ours to open" : ""));
    }
    add_kinds (list, name, &kinds);
    return found;
}

/* ---- holders ---- */

struct search {
    struct fact_list *list;
    struct buf found;
    uint32_t holders;
    bool blind;             /* some process did not let us look */
};

/* "/dev/accel0", "/dev/vfio/3", "/dev/nvidia0"; not "/dev/nvidiactl". */
static bool is_device (const struct fact_list *list, const char *target)
{
    size_t len = strlen (list->roots->dev);
    if (strncmp (target, list->roots->dev, len))
        return false;
    target += len;
    return !strncmp (target, "/accel", 6) || !strncmp (target, "/vfio/", 6) ||
           (!strncmp (target, "/nvidia", 7) && isdigit ((unsigned char) target[7]));
}

static bool holds_device (struct search *search, struct text pid, char device[PATH_MAX_BYTES + 1])
{
    char path[96];
    struct dirent *entry;
    bool found = false;
    snprintf (path, sizeof path, "%s/%.*s/fd", search->list->roots->proc, TEXT_ARG (pid));
    DIR *folder = opendir (path);
    if (!folder) {
        search->blind = true;
        return false;
    }
    while (!found && (entry = readdir (folder))) {
        ssize_t len = readlinkat (dirfd (folder), entry->d_name, device, PATH_MAX_BYTES);
        device[len > 0 ? len : 0] = '\0';
        found = is_device (search->list, device);
    }
    closedir (folder);
    return found;
}

static void add_holder (struct search *search, struct text pid, const char *device)
{
    struct text comm, path = text_format (&search->list->arena, "/%.*s/comm", TEXT_ARG (pid));
    fact_read (search->list, search->list->roots->proc, path.ptr, &comm);
    if (++search->holders > HOLDERS_SHOWN)
        return;
    buf_printf (&search->found, "%s%s by process %.*s (", search->holders > 1 ? "; " : "", device, TEXT_ARG (pid));
    buf_escaped (&search->found, comm, 20);
    buf_puts (&search->found, ")");
}

/* All groups, not only the first device: libtpu's own search misses the others (tpu_initialize_util.cc). */
static void add_holders (struct fact_list *list)
{
    struct search search = { .list = list };
    struct name_list pids = names_in (list, list->roots->proc, "", "");
    char device[PATH_MAX_BYTES + 1];
    buf_init (&search.found, VALUE_BYTES_MAX);
    for (uint32_t i = 0; i < pids.n; i++)
        if (isdigit ((unsigned char) pids.items[i].ptr[0]) && pids.items[i].len <= 10 &&
            holds_device (&search, pids.items[i], device))
            add_holder (&search, pids.items[i], device);
    if (search.holders > HOLDERS_SHOWN)
        buf_printf (&search.found, "; and %u more", search.holders - HOLDERS_SHOWN);
    if (!search.holders)
        buf_puts (&search.found, search.blind ? "none seen; not every process could be looked at" : "none");
    fact_add (list, "device.holders", text_copy (&list->arena, buf_as_text (&search.found)));
    buf_release (&search.found);
}

/* ---- libtpu's lock ---- */

/* The process that holds a lock of the file, from /proc/locks: "1: POSIX  ADVISORY  WRITE 709 fe:01:1234 0 EOF".
 * Waiting ones have "->" for a kind. 0: nobody. */
static long lock_holder (struct text locks, const struct stat *st)
{
    while (locks.len) {
        char line[160], file[64];
        long pid;
        unsigned major_number, minor_number;
        uint64_t inode;
        const char *end = memchr (locks.ptr, '\n', locks.len);
        struct text one = { locks.ptr, end ? (uint32_t) (end - locks.ptr) : locks.len };
        if (text_to_c (one, line, sizeof line) && sscanf (line, "%*s %*s %*s %*s %ld %63s", &pid, file) == 2 &&
            sscanf (file, "%x:%x:%" SCNu64, &major_number, &minor_number, &inode) == 3 && inode == st->st_ino &&
            major_number == major (st->st_dev) && minor_number == minor (st->st_dev))
            return pid;
        locks.ptr += one.len + (end ? 1 : 0);
        locks.len -= one.len + (end ? 1 : 0);
    }
    return 0;
}

/* The file alone means nothing, a lock on it means a live holder; a file of somebody else's that may not be opened
 * stops libtpu as well (tpu_initialize_util.cc). */
static void add_libtpu_lock (struct fact_list *list)
{
    char path[PATH_MAX_BYTES + 1];
    struct text locks;
    struct stat st;
    snprintf (path, sizeof path, "%s/libtpu_lockfile", list->roots->tmp);
    if (lstat (path, &st)) {
        fact_add (list, "libtpu.lockfile", TEXT_LIT ("absent"));
        return;
    }
    bool known = fact_read (list, list->roots->proc, "/locks", &locks);
    long pid = known ? lock_holder (locks, &st) : 0;
    struct text state = !known ? TEXT_LIT ("lock unknown")
                        : pid  ? text_format (&list->arena, "locked by process %ld", pid)
                               : TEXT_LIT ("not locked");
    fact_add (list, "libtpu.lockfile",
              text_format (&list->arena, "uid %u mode %04o, %.*s%s", st.st_uid, st.st_mode & 07777, TEXT_ARG (state),
                           access (path, R_OK | W_OK) ? ", not ours to open" : ""));
}

void device_facts (struct fact_list *list)
{
    struct name_list pci = names_in (list, list->roots->sys, "/bus/pci/devices", "");
    uint32_t files = 0;
    add_pci (list, &pci, "pci.google", "0x1ae0");
    add_pci (list, &pci, "pci.nvidia", "0x10de");
    files += add_files (list, "device.accel", "", "accel");
    files += add_files (list, "device.vfio", "/vfio", "");
    files += add_files (list, "device.nvidia", "", "nvidia");
    /* Looking into every process costs most of this program's time: only where there is something to hold. */
    if (files)
        add_holders (list);
    else
        fact_add (list, "device.holders", TEXT_LIT ("none"));
    add_libtpu_lock (list);
}
