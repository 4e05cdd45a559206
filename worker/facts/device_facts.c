/* device_facts.c - accelerators' device files, who holds these open, libtpu's lock; accelerators as PCI functions.
 *
 * It opens no device, because that could keep the next rung's program from opening it. */
#include "worker/facts/host_fact_list.h"

#include "common/base/buf.h"
#include "common/base/duration.h"
#include "common/base/path.h"
#include "common/base/text.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Its part of the fifth of a second for all facts: some 20,000 descriptors (docs/benchmarks.md). */
enum { DEVICE_USERS_SEARCH_MS = 100 };
enum { DEVICE_USERS_BYTES_MAX = DEVICE_USERS_MAX * (HOLDER_DEVICE_BYTES + HOLDER_COMMAND_BYTES + 40) };

/* ---- device files ---- */

/* Owner and mode decide who may open them, so a difference means a later permission failure. */
static bool describe_file (struct host_fact_list *list, const char *folder, struct text name, struct text *out)
{
    const char *path = text_format (&list->arena, "%s%s/%.*s", list->roots->dev, folder, TEXT_ARG (name)).ptr;
    struct stat st;
    if (stat (path, &st) || S_ISDIR (st.st_mode))
        return false;
    *out = text_format (&list->arena, "uid %u gid %u mode %04o%s", st.st_uid, st.st_gid, st.st_mode & 07777,
                        access (path, R_OK | W_OK) ? ", not ours to open" : "");
    return true;
}

static uint32_t count_files (struct host_fact_list *list, const char *folder, const char *prefix,
                             struct value_tally *tally)
{
    struct name_list names = host_fact_folder_names (list, list->roots->dev, folder, prefix);
    struct text what;
    uint32_t found = 0;
    for (uint32_t i = 0; i < names.n; i++)
        if (describe_file (list, folder, names.items[i], &what)) {
            value_tally_add (tally, what);
            found++;
        }
    return found;
}

/* Newer kernels have a folder for the first kind (Linux, Documentation/accel). */
static uint32_t add_all_files (struct host_fact_list *list)
{
    struct value_tally accel = { 0 }, vfio = { 0 }, nvidia = { 0 }, amd = { 0 };
    uint32_t found = count_files (list, "", "accel", &accel) + count_files (list, "/accel", "", &accel) +
                     count_files (list, "/vfio", "", &vfio) + count_files (list, "", "nvidia", &nvidia) +
                     count_files (list, "", "kfd", &amd);
    struct text nothing = host_fact_folder_problem (list, list->roots->dev, "");
    value_tally_to_fact (list, "device.accel", &accel, nothing);
    value_tally_to_fact (list, "device.vfio", &vfio, host_fact_folder_problem (list, list->roots->dev, "/vfio"));
    value_tally_to_fact (list, "device.nvidia", &nvidia, nothing);
    value_tally_to_fact (list, "device.amd", &amd, nothing);
    return found;
}

/* ---- holders ---- */

static struct text nobody (const struct device_users *device_users)
{
    return device_users->unfinished ? TEXT_LIT ("none seen; there was no time to look at every process")
           : device_users->blind    ? TEXT_LIT ("none seen; not every process could be looked at")
                                    : TEXT_LIT ("none");
}

/* All groups, not only the first device: libtpu's own search misses the others (tpu_initialize_util.cc). Facts have
 * program names, because pids and search times differ between hosts. */
static struct text add_device_users (struct host_fact_list *list)
{
    struct device_users device_users;
    struct value_tally programs = { 0 };
    device_users_find (list->roots, DEVICE_USERS_OF_ANY, DEVICE_USERS_SEARCH_MS, &list->arena, &device_users);
    LOCAL_BUF found = { .max = DEVICE_USERS_BYTES_MAX };
    for (uint32_t i = 0; i < device_users.n; i++) {
        const struct device_user *holder = &device_users.items[i];
        buf_printf (&found, "%s%.*s by process %u (%.*s)", i ? "; " : "", TEXT_ARG (holder->device), holder->pid,
                    TEXT_ARG (holder->command));
        value_tally_add (&programs, holder->program);
    }
    if (device_users.more)
        buf_printf (&found, "; and %u more", device_users.more);
    programs.others = device_users.more;
    host_fact_add (list, "device.holders",
                   found.len ? text_copy (&list->arena, buf_as_text (&found)) : nobody (&device_users));
    value_tally_to_fact (list, "device.held_by", &programs, TEXT_LIT ("none seen"));
    return device_users_sentence (&device_users, &list->arena);
}

/* ---- libtpu's lock ---- */

/* Does /proc/locks show a lock on the file? "1: POSIX ADVISORY WRITE 709 fe:01:1234 0 EOF". Waiting ones have "->" for
 * a kind. `*pid` is not above 0 if the holder is not visible. */
static bool is_locked (struct text locks, const struct stat *st, long *pid)
{
    while (locks.len) {
        char line[160], file[64];
        unsigned major_number, minor_number;
        uint64_t inode;
        if (text_to_c (text_take_until (&locks, '\n'), line, sizeof line) &&
            sscanf (line, "%*s %*s %*s %*s %ld %63s", pid, file) == 2 &&
            sscanf (file, "%x:%x:%" SCNu64, &major_number, &minor_number, &inode) == 3 && inode == st->st_ino &&
            major_number == major (st->st_dev) && minor_number == minor (st->st_dev))
            return true;
    }
    return false;
}

/* The file alone means nothing; a lock on it means a live holder; another user's file that we cannot open stops libtpu
 * as well (tpu_initialize_util.cc). The first program leaves the file for good, with its owner, so the compared fact
 * has only the meaning for the next program. */
static void add_lock_of (struct host_fact_list *list, const char *path, const struct stat *st)
{
    struct text locks;
    long pid = 0;
    bool ours = access (path, R_OK | W_OK) == 0;
    bool readable = host_fact_read_file (list, list->roots->proc, "/locks", &locks);
    bool locked = readable && is_locked (locks, st, &pid);
    bool known = locked || (readable && locks.len < FACT_FILE_BYTES - 1); /* a cut table proves nothing */
    struct text state = !known    ? TEXT_LIT ("lock unknown")
                        : !locked ? TEXT_LIT ("not locked")
                        : pid > 0 ? text_format (&list->arena, "locked by process %ld", pid)
                                  : TEXT_LIT ("locked by process out of sight");
    host_fact_add (list, "libtpu.lockfile",
                   text_format (&list->arena, "uid %u mode %04o, %.*s%s", st->st_uid, st->st_mode & 07777,
                                TEXT_ARG (state), ours ? "" : ", not ours to open"));
    host_fact_add (list, "libtpu.lock",
                   locked   ? TEXT_LIT ("held")
                   : !ours  ? TEXT_LIT ("not ours to open")
                   : !known ? TEXT_LIT ("unknown")
                            : TEXT_LIT ("free"));
}

static void add_libtpu_lock (struct host_fact_list *list)
{
    const char *path = text_format (&list->arena, "%s/libtpu_lockfile", list->roots->tmp).ptr;
    struct stat st;
    if (lstat (path, &st) == 0) {
        add_lock_of (list, path, &st);
        return;
    }
    host_fact_add (list, "libtpu.lockfile", TEXT_LIT ("absent"));
    host_fact_add (list, "libtpu.lock", TEXT_LIT ("free"));
}

struct text device_facts (struct host_fact_list *list)
{
    struct text held = { 0 };
    uint32_t files = add_all_files (list);
    /* Inspecting every process takes most of this program's time, so only with device files. */
    if (files) {
        held = add_device_users (list);
    } else {
        host_fact_add (list, "device.holders", TEXT_LIT ("none"));
        host_fact_add (list, "device.held_by", TEXT_LIT ("none seen"));
    }
    add_libtpu_lock (list);
    return held;
}

/* ---- the logs of libtpu ---- */

enum { SHOWN = 3, LOOKED_AT_MAX = 512, NAME_COLUMNS = 60, NOTE_BYTES = 1024 };
#define FOLDER "/tpu_logs"

struct log_file {
    struct text name;
    uint64_t bytes, written_ms;
};

static int device_facts_newest_first (const void *a, const void *b)
{
    const struct log_file *x = a, *y = b;
    if (x->written_ms != y->written_ms)
        return x->written_ms < y->written_ms ? 1 : -1;
    return text_compare (x->name, y->name);
}

/* Links ("tpu_driver.INFO") lead to files of the same folder. */
static uint32_t files_in (struct host_fact_list *list, struct log_file **files)
{
    struct name_list names = host_fact_folder_names (list, list->roots->tmp, FOLDER, "");
    uint32_t n = 0;
    *files = arena_array (&list->arena, LOOKED_AT_MAX, sizeof **files);
    for (uint32_t i = 0; i < names.n && n < LOOKED_AT_MAX; i++) {
        struct stat st;
        if (lstat (text_format (&list->arena, "%s" FOLDER "/%s", list->roots->tmp, names.items[i].ptr).ptr, &st) ||
            !S_ISREG (st.st_mode))
            continue;
        (*files)[n++] = (struct log_file){ names.items[i], (uint64_t) st.st_size, (uint64_t) st.st_mtim.tv_sec * 1000 };
    }
    sort_items (*files, n, sizeof **files, device_facts_newest_first);
    return n;
}

struct text tpu_logs_newest (struct host_fact_list *list, uint64_t now_wall_ms)
{
    struct log_file *files;
    uint32_t n = files_in (list, &files);
    if (!n)
        return (struct text){ 0 };
    struct buf note = { .max = NOTE_BYTES };
    buf_printf (&note, "newest of %u files in %s" FOLDER ": ", n, list->roots->tmp);
    for (uint32_t i = 0; i < n && i < SHOWN; i++) {
        uint64_t written_ms = files[i].written_ms;
        buf_puts (&note, i ? ", " : "");
        buf_escaped (&note, files[i].name, NAME_COLUMNS);
        buf_printf (&note, " (%" PRIu64 " KiB, %s old)", (files[i].bytes + 1023) / 1024,
                    DURATION_TEXT (now_wall_ms > written_ms ? (now_wall_ms - written_ms) / 1000 * 1000 : 0));
    }
    return buf_finish (&note, &list->arena);
}

/* ---- PCI functions: their kinds, drivers, IOMMU groups and nodes ---- */

enum { ACCELERATORS_MAX = 64 };

#define PCI_FOLDER "/bus/pci/devices"
#define VENDOR_GOOGLE "0x1ae0"
#define VENDOR_NVIDIA "0x10de"
#define VENDOR_AMD "0x1002"

/* pytorch/xla:torch_xla/_internal/tpu.py, jax-ml/jax:jax/_src/hardware_utils.py. 0x0042: the vendor's network card. */
static const struct {
    const char *device, *generation;
} tpus[] = { { "0x0027", "v2/v3" }, { "0x0056", "0x0056" }, { "0x005e", "v4" }, { "0x0062", "v5p" },
             { "0x0063", "v5e" },   { "0x006f", "v6e" },    { "0x0076", "7x" } };

struct function {
    struct text address, device, driver, group, node, link;
    const char *generation;
};
struct bus {
    struct value_tally google, nvidia, amd, generations;
    struct function accelerators[ACCELERATORS_MAX];
    uint32_t accelerators_n, chips;
};

static struct text pci_facts_read_one (struct host_fact_list *list, struct text address, const char *file)
{
    struct text value, path = text_format (&list->arena, PCI_FOLDER "/%.*s/%s", TEXT_ARG (address), file);
    host_fact_read_file (list, list->roots->sys, path.ptr, &value);
    return value;
}

/* The last part of a link's target; empty: no such link. */
static struct text link_of (struct host_fact_list *list, struct text address, const char *file)
{
    char target[PATH_MAX_BYTES + 1];
    struct text path = text_format (&list->arena, "%s" PCI_FOLDER "/%.*s/%s", list->roots->sys, TEXT_ARG (address),
                                    file);
    ssize_t len = readlink (path.ptr, target, sizeof target);
    return text_copy (&list->arena, path_name ((struct text){ target, len > 0 ? (uint32_t) len : 0 }));
}

static const char *generation_of (struct text device)
{
    for (size_t i = 0; i < sizeof tpus / sizeof *tpus; i++)
        if (text_is (device, tpus[i].device))
            return tpus[i].generation;
    return NULL;
}

/* "x8 of x16, 16.0 GT/s PCIe": its lanes now, of those it has, and the most it can do on each; an idle one is slower.
 * Empty: it does not tell. */
static struct text link_width (struct host_fact_list *list, struct text address)
{
    struct text now = pci_facts_read_one (list, address, "current_link_width"),
                most = pci_facts_read_one (list, address, "max_link_width"),
                speed = pci_facts_read_one (list, address, "max_link_speed");
    return now.len && isdigit ((unsigned char) now.ptr[0])
               ? text_format (&list->arena, "x%.*s of x%.*s, %.*s", TEXT_ARG (now), TEXT_ARG (most), TEXT_ARG (speed))
               : (struct text){ 0 };
}

static void add_accelerator (struct host_fact_list *list, struct bus *bus, struct function function)
{
    if (bus->accelerators_n == ACCELERATORS_MAX)
        return;
    function.group = link_of (list, function.address, "iommu_group");
    function.node = pci_facts_read_one (list, function.address, "numa_node");
    function.link = link_width (list, function.address);
    bus->accelerators[bus->accelerators_n++] = function;
}

static void see (struct host_fact_list *list, struct bus *bus, struct text address)
{
    struct text vendor = pci_facts_read_one (list, address, "vendor");
    bool google = text_is (vendor, VENDOR_GOOGLE);
    bool amd = text_is (vendor, VENDOR_AMD);
    if (!google && !amd && !text_is (vendor, VENDOR_NVIDIA))
        return;
    struct function function = { .address = address,
                                 .device = pci_facts_read_one (list, address, "device"),
                                 .driver = link_of (list, address, "driver") };
    if (!function.driver.len)
        function.driver = TEXT_LIT ("no driver");
    value_tally_add (google ? &bus->google
                     : amd  ? &bus->amd
                            : &bus->nvidia,
                     text_format (&list->arena, "%.*s (%.*s)", TEXT_ARG (function.device), TEXT_ARG (function.driver)));
    function.generation = google ? generation_of (function.device) : NULL;
    if (function.generation) {
        value_tally_add (&bus->generations, text_of (function.generation));
        bus->chips++;
    }
    struct text class = pci_facts_read_one (list, address, "class"); /* 0x03 displays, 0x12 accelerators (pci.ids) */
    if (function.generation || (!google && (text_starts (class, "0x03") || text_starts (class, "0x12"))))
        add_accelerator (list, bus, function);
}

/* ---- what is told ---- */

/* Functions that share a group can only be given to a program together (Linux, driver-api/vfio). */
static const char *sharing (struct host_fact_list *list, struct text group)
{
    if (!group.len)
        return "no group";
    struct text path = text_format (&list->arena, "/kernel/iommu_groups/%.*s/devices", TEXT_ARG (group));
    struct name_list members = host_fact_folder_names (list, list->roots->sys, path.ptr, "");
    return members.n > 1 ? "shares its group" : "alone in its group";
}

static void add_places (struct host_fact_list *list, const struct bus *bus, struct text missing)
{
    struct value_tally groups = { 0 }, nodes = { 0 }, links = { 0 };
    LOCAL_BUF all = { .max = FACT_VALUE_BYTES };
    for (uint32_t i = 0; i < bus->accelerators_n; i++) {
        const struct function *one = &bus->accelerators[i];
        value_tally_add (&groups, text_of (sharing (list, one->group)));
        value_tally_add (&nodes, text_format (&list->arena, "node %.*s", TEXT_ARG (one->node)));
        if (one->link.len)
            value_tally_add (&links, one->link);
        struct text group = one->group.len ? one->group : TEXT_LIT ("none");
        buf_printf (&all, "%s%.*s group %.*s node %.*s", i ? ", " : "", TEXT_ARG (one->address), TEXT_ARG (group),
                    TEXT_ARG (one->node));
    }
    value_tally_to_fact (list, "accelerator.iommu", &groups, missing);
    value_tally_to_fact (list, "accelerator.numa", &nodes, missing);
    value_tally_to_fact (list, "accelerator.pcie", &links, missing);
    host_fact_add (list, "accelerator.functions", all.len ? text_copy (&list->arena, buf_as_text (&all)) : missing);
}

/* A single generation is reported by its name alone. */
static void add_tpus (struct host_fact_list *list, const struct bus *bus, struct text missing)
{
    host_fact_add (list, "tpu.chips", bus->chips ? text_format (&list->arena, "%u", bus->chips) : missing);
    if (bus->generations.n == 1)
        host_fact_add (list, "tpu.generation", bus->generations.items[0].what);
    else
        value_tally_to_fact (list, "tpu.generation", &bus->generations, missing);
}

void pci_facts (struct host_fact_list *list)
{
    struct name_list addresses = host_fact_folder_names (list, list->roots->sys, PCI_FOLDER, "");
    struct text missing = host_fact_folder_problem (list, list->roots->sys, PCI_FOLDER);
    struct bus *bus = arena_alloc (&list->arena, sizeof *bus);
    for (uint32_t i = 0; i < addresses.n; i++)
        see (list, bus, addresses.items[i]);
    value_tally_to_fact (list, "pci.google", &bus->google, missing);
    value_tally_to_fact (list, "pci.nvidia", &bus->nvidia, missing);
    value_tally_to_fact (list, "pci.amd", &bus->amd, missing);
    add_tpus (list, bus, missing);
    add_places (list, bus, missing);
}
