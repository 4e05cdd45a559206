/* container_facts.c - the surroundings of this process: a container, control groups and their limits. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/duration.h"
#include "common/cache/storage.h"
#include "common/io/proc.h"
#include "common/model/result.h"
#include "worker/facts/host_fact_list.h"
#include "worker/process/cgroup_place.h"

enum { ID_DIGITS = 64, ID_SHOWN = 12 };

/* ---- control groups ---- */

static bool read_limit (struct host_fact_list *list, const struct cgroup_place *at, const char *file,
                        struct text *value)
{
    struct text path = text_format (&list->arena, "%s/%s", at->path, file);
    return path.len < PATH_MAX_BYTES / 2 && host_fact_read_file (list, list->roots->root, path.ptr, value);
}

/* Our own group; empty path: not visible. */
static struct cgroup_place our_group (struct host_fact_list *list, const char *controller)
{
    struct cgroup_place group;
    struct text self = text_format (&list->arena, "%s/self", list->roots->proc);
    (void) cgroup_place_read (self.ptr, self.ptr, controller, &group);
    return group;
}

/* The least of all limits from our group up to the root, since each applies (Linux, admin-guide/cgroup-v2). */
static struct text least_limit (struct host_fact_list *list, const char *controller, const char *file,
                                const char *old_file)
{
    struct cgroup_place at = our_group (list, controller);
    uint64_t least = 0;
    bool seen = false;
    struct text value;
    for (bool more = at.path[0]; more; more = cgroup_place_go_up (&at)) {
        if (!read_limit (list, &at, at.v1 ? old_file : file, &value))
            continue;
        seen = true;
        uint64_t limit = cgroup_limit (value);
        least = limit && (!least || limit < least) ? limit : least;
    }
    if (!seen)
        return TEXT_LIT ("absent");
    return least ? text_format (&list->arena, "%" PRIu64, least) : TEXT_LIT ("max");
}

/* "max 100000" is no limit. Reports the nearest limit, since quotas cannot be compared as numbers. */
static struct text nearest_quota (struct host_fact_list *list)
{
    struct cgroup_place at = our_group (list, "cpu");
    struct text value, period, told = TEXT_LIT ("absent");
    for (bool more = at.path[0]; more; more = cgroup_place_go_up (&at)) {
        if (!read_limit (list, &at, at.v1 ? "cpu.cfs_quota_us" : "cpu.max", &value))
            continue;
        if (at.v1 && !text_is (value, "-1") && read_limit (list, &at, "cpu.cfs_period_us", &period))
            return text_format (&list->arena, "%.*s %.*s", TEXT_ARG (value), TEXT_ARG (period));
        if (!at.v1 && !text_starts (value, "max"))
            return value;
        told = TEXT_LIT ("max");
    }
    return told;
}

struct text process_limit_find (struct arena *arena)
{
    struct host_fact_list list;
    struct rlimit limit;
    uint64_t group = UINT64_MAX, own = UINT64_MAX;
    struct text told = { 0 };
    host_fact_list_init (&list, &host_fact_roots_real);
    (void) text_to_u64 (least_limit (&list, "pids", "pids.max", "pids.max"), &group);
    if (geteuid () != 0 && getrlimit (RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        own = limit.rlim_cur; /* root has none: setrlimit(2) */
    if (group < own)
        told = text_format (arena, NOTE_LIMIT "processes is %" PRIu64 " (pids.max of its cgroup)", group);
    else if (own < UINT64_MAX)
        told = text_format (arena, NOTE_LIMIT "processes is %" PRIu64 " (ulimit -u)", own);
    host_fact_list_release (&list);
    return told;
}

static void add_limits (struct host_fact_list *list)
{
    host_fact_add (list, "memory.cgroup_max", least_limit (list, "memory", "memory.max", "memory.limit_in_bytes"));
    host_fact_add (list, "pids.cgroup_max", least_limit (list, "pids", "pids.max", "pids.max"));
    host_fact_add (list, "cpu.cgroup_max", nearest_quota (list));
}

/* ---- container ---- */

static bool container_facts_is_there (struct host_fact_list *list, const char *path)
{
    return access (text_format (&list->arena, "%s%s", list->roots->root, path).ptr, F_OK) == 0;
}

/* Each maker of containers leaves a sign: docker and podman a file each, systemd a word, Kubernetes variables. */
static struct text kind_of (struct host_fact_list *list, struct text groups)
{
    struct text word;
    if (getenv ("KUBERNETES_SERVICE_HOST") || text_find (groups, TEXT_LIT ("kubepods"), NULL))
        return TEXT_LIT ("kubernetes");
    if (container_facts_is_there (list, "/run/.containerenv"))
        return TEXT_LIT ("podman");
    if (container_facts_is_there (list, "/.dockerenv") || text_find (groups, TEXT_LIT ("docker"), NULL))
        return TEXT_LIT ("docker");
    if (host_fact_read_file (list, list->roots->root, "/run/systemd/container", &word) && word.len)
        return text_clip (word, ID_MAX_BYTES);
    return text_find (groups, TEXT_LIT ("lxc"), NULL) ? TEXT_LIT ("lxc") : TEXT_LIT ("none");
}

/* The first ID_DIGITS hexadecimal digits in a row: docker, containerd and podman name containers so. */
static struct text find_id (struct text file)
{
    uint32_t run = 0;
    for (uint32_t i = 0; i < file.len; i++) {
        run = isxdigit ((unsigned char) file.ptr[i]) ? run + 1 : 0;
        if (run == ID_DIGITS)
            return (struct text){ file.ptr + i + 1 - ID_DIGITS, ID_SHOWN };
    }
    return (struct text){ 0 };
}

static void add_container (struct host_fact_list *list)
{
    struct text groups, mounts, file, id, kind;
    if (!host_fact_read_file (list, list->roots->proc, "/self/cgroup", &groups))
        groups = (struct text){ 0 };
    kind = kind_of (list, groups);
    id = find_id (groups);
    /* Only in a container, since a mount's digits may be another container's. */
    if (!id.len && !text_is (kind, "none") && host_fact_read_file (list, list->roots->proc, "/self/mountinfo", &mounts))
        id = find_id (mounts);
    if (!host_fact_read_file (list, list->roots->root, "/run/.containerenv", &file))
        file = (struct text){ 0 };
    host_fact_add (list, "container.kind", kind);
    host_fact_add_field (list, "container.image", file, "image");
    host_fact_add (list, "container.id", id);
}

void container_facts (struct host_fact_list *list)
{
    add_container (list);
    add_limits (list);
}

/* ---- mount facts ---- */

/* The file systems of a run's folders, and what is free there. */

static const uint64_t MIB = (uint64_t) 1 << 20;
enum { MOUNT_BYTES = 512, POINT_COLUMNS = 120, TYPE_COLUMNS = 30, PLACE_BYTES = 2048 };

/* The nearest folder that exists: before the first run there is none yet. */
static bool mount_facts_nearest (const char *path, char found[PATH_MAX_BYTES + 1])
{
    struct stat st;
    if (!path || !text_to_c (text_of (path), found, PATH_MAX_BYTES + 1))
        return false;
    while (stat (found, &st)) {
        char *slash = strrchr (found, '/');
        if ((errno != ENOENT && errno != ENOTDIR) || !slash || !strcmp (found, "/"))
            return false;
        slash[slash == found] = '\0';
    }
    return true;
}

/* NULL: not known. */
static const struct proc_mount *mount_facts_mount (const char *folder, struct arena *arena)
{
    struct proc_mounts mounts;
    struct err err;
    return proc_mounts_read ("/proc/self", arena, &mounts, &err) == 0 ? proc_mounts_find (&mounts, folder, &err) : NULL;
}

/* "/var/tmp (tmpfs, 600 MiB)". */
static struct text mount_facts_place (const struct proc_mount *mount, const char *folder, uint64_t bytes,
                                      struct arena *arena)
{
    char size[SIZE_TEXT_BYTES];
    struct buf place = { .max = PLACE_BYTES };
    buf_escaped (&place, text_of (mount ? mount->point : folder), POINT_COLUMNS);
    buf_puts (&place, " (");
    if (mount) {
        buf_escaped (&place, mount->type, TYPE_COLUMNS);
        buf_puts (&place, ", ");
    }
    buf_printf (&place, "%s)", size_print (bytes, size));
    return buf_finish (&place, arena);
}

/* It is mounted to be written to, and its driver refuses since it found an error; ext4 since Linux 6.15 by a word. */
static bool is_broken (const struct proc_mount *mount)
{
    struct text system = mount->system_options;
    return text_starts (mount->options, "rw") && (text_is (system, "ro") || text_starts (system, "ro,") ||
                                                  text_find (system, TEXT_LIT ("emergency_ro"), NULL));
}

/* The first row above which both numbers are; without a limit on inodes f_files is 0. */
static enum disk_level level_of (uint64_t bytes, uint64_t inodes)
{
    static const struct {
        uint64_t bytes, inodes;
    } least[DISK_AMPLE] = { [DISK_FULL] = { MIB, 1 },
                            [DISK_NEARLY_FULL] = { (uint64_t) 1 << 30, 10000 },
                            [DISK_LOW] = { (uint64_t) 10 << 30, 100000 } };
    uint32_t level = DISK_FULL;
    while (level < DISK_AMPLE && bytes >= least[level].bytes && inodes >= least[level].inodes)
        level++;
    return (enum disk_level) level;
}

static struct text mount_facts_sentence (struct text place, enum disk_level level, uint64_t bytes, uint64_t inodes,
                                         struct arena *arena)
{
    if (level == DISK_READ_ONLY)
        return text_format (arena, "%.*s " NOTE_READ_ONLY, TEXT_ARG (place));
    bool of_files = level_of (UINT64_MAX, inodes) == level && level < DISK_AMPLE;
    if (level == DISK_FULL)
        return text_format (arena, "%.*s is full%s", TEXT_ARG (place), of_files ? ": no inode is free" : "");
    if (of_files)
        return text_format (arena, "%.*s has %" PRIu64 " inode%s free", TEXT_ARG (place), inodes, plural (inodes));
    return text_format (arena, "%.*s has %s free", TEXT_ARG (place), SIZE_TEXT (bytes));
}

bool disk_room_find (const char *path, struct arena *arena, struct disk_room *out)
{
    char folder[PATH_MAX_BYTES + 1];
    struct statvfs disk;
    struct stat st;
    if (!mount_facts_nearest (path, folder) || stat (folder, &st) || statvfs (folder, &disk) || !disk.f_blocks)
        return false;
    uint64_t bytes = (uint64_t) disk.f_bavail * disk.f_frsize, inodes = disk.f_files ? disk.f_favail : UINT64_MAX;
    const struct proc_mount *mount = mount_facts_mount (folder, arena);
    struct text place = mount_facts_place (mount, folder, (uint64_t) disk.f_blocks * disk.f_frsize, arena);
    bool kept_back = geteuid () == 0 && disk.f_bfree > disk.f_bavail && inodes; /* for root */
    bool read_only = disk.f_flag & ST_RDONLY || (mount && is_broken (mount));
    out->level = read_only ? DISK_READ_ONLY : level_of (bytes, inodes);
    if (out->level == DISK_FULL && kept_back)
        out->level = DISK_NEARLY_FULL;
    out->file_system = st.st_dev;
    out->free_bytes = bytes;
    out->sentence = mount_facts_sentence (place, out->level, bytes, inodes, arena);
    return true;
}

void disk_room_lessen (const char *path, enum disk_level most, struct arena *arena, struct disk_room *least)
{
    struct disk_room room;
    if (*path && disk_room_find (path, arena, &room) && room.level <= most &&
        (room.level < least->level || (room.level == least->level && room.free_bytes < least->free_bytes)))
        *least = room;
}

/* Of a kind that is written to, and not of a network, which may not answer. */
static bool is_local (const struct proc_mount *mount)
{
    static const struct text types[] = { TEXT_LIT ("tmpfs"),   TEXT_LIT ("ext4"), TEXT_LIT ("xfs"),  TEXT_LIT ("btrfs"),
                                         TEXT_LIT ("overlay"), TEXT_LIT ("ext3"), TEXT_LIT ("ext2"), TEXT_LIT ("zfs") };
    return text_is_among (mount->type, types, sizeof types / sizeof types[0]);
}

/* Not one that no program writes to. */
static bool is_full_here (const struct proc_mount *mount)
{
    struct statvfs disk;
    bool of_system = !strncmp (mount->point, "/boot", 5) ||
                     (!strncmp (mount->point, "/dev", 4) && strcmp (mount->point, "/dev/shm") != 0);
    return is_local (mount) && !of_system && statvfs (mount->point, &disk) == 0 &&
           disk.f_blocks * disk.f_frsize > MIB && !(disk.f_flag & ST_RDONLY) &&
           (disk.f_bavail * disk.f_frsize < MIB || (disk.f_files && !disk.f_favail));
}

void disk_room_lessen_by_mounts (struct arena *arena, struct disk_room *least)
{
    struct proc_mounts mounts;
    struct err err;
    if (least->level == DISK_FULL || proc_mounts_read ("/proc/self", arena, &mounts, &err) < 0)
        return;
    for (uint32_t i = 0; i < mounts.n; i++)
        if (is_full_here (&mounts.items[i]))
            disk_room_lessen (mounts.items[i].point, DISK_FULL, arena, least);
}

bool disk_room_find_broken (struct arena *arena, struct disk_room *out)
{
    struct proc_mounts mounts = { 0 };
    struct err err;
    uint32_t i = 0;
    (void) proc_mounts_read ("/proc/self", arena, &mounts, &err); /* not there: no mount */
    while (i < mounts.n && !(is_local (&mounts.items[i]) && is_broken (&mounts.items[i])))
        i++;
    return i < mounts.n && disk_room_find (mounts.items[i].point, arena, out);
}

/* In classes, so that equal hosts stay equal. What is full is named, for who reads only this. */
static struct text room_value (struct host_fact_list *list, const char *path, struct disk_room *room)
{
    static const char *const words[] = { "full", "nearly full", "low", "ample", "read-only" };
    if (!disk_room_find (path, &list->arena, room)) {
        *room = (struct disk_room){ .level = DISK_AMPLE };
        return TEXT_LIT ("absent");
    }
    return room->level == DISK_FULL ? text_format (&list->arena, DISK_IS_FULL "%.*s", TEXT_ARG (room->sentence))
                                    : text_of (words[room->level]);
}

static struct text mount_value (struct host_fact_list *list, const char *path)
{
    char folder[PATH_MAX_BYTES + 1], mount[MOUNT_BYTES];
    struct err err;
    if (!mount_facts_nearest (path, folder))
        return TEXT_LIT ("absent");
    return storage_describe_mount (folder, mount, sizeof mount, &err) == 0
               ? display_mount (&list->arena, mount)
               : text_format (&list->arena, "unreadable (%.200s)", err.text);
}

void mount_facts (struct host_fact_list *list, const char *const paths[DISK_FOLDERS],
                  struct disk_room rooms[DISK_FOLDERS])
{
    static const char *const names[DISK_FOLDERS][2] = { [DISK_START_DIR] = { "mount.start_dir", "disk.start_dir" },
                                                        [DISK_ENV_DIR] = { "mount.env_dir", "disk.env_dir" },
                                                        [DISK_CACHE_DIR] = { "mount.cache_dir", "disk.cache_dir" },
                                                        [DISK_TMP] = { "mount.tmp", "disk.tmp" } };
    for (uint32_t i = 0; i < DISK_FOLDERS; i++) {
        host_fact_add (list, names[i][0], mount_value (list, paths[i]));
        host_fact_add (list, names[i][1], room_value (list, paths[i], &rooms[i]));
    }
}
