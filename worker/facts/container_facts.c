/* container_facts.c - the surroundings of this process: a container, control groups and their limits. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/cache/storage.h"
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

static void add_limits (struct host_fact_list *list)
{
    host_fact_add (list, "memory.cgroup_max", least_limit (list, "memory", "memory.max", "memory.limit_in_bytes"));
    host_fact_add (list, "pids.cgroup_max", least_limit (list, "pids", "pids.max", "pids.max"));
    host_fact_add (list, "cpu.cgroup_max", nearest_quota (list));
}

/* ---- container ---- */

static bool container_facts_is_there (struct host_fact_list *list, const char *path)
{
    char name[PATH_MAX_BYTES + 1];
    int len = snprintf (name, sizeof name, "%s%s", list->roots->root, path);
    return len > 0 && (size_t) len < sizeof name && access (name, F_OK) == 0;
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

/* The file systems of a run's folders, and their free space. */

enum { FULL_GIB = 1, LOW_GIB = 10, MOUNT_BYTES = 512 };

/* The nearest folder that exists: before the first run there is none yet. */
static bool mount_facts_nearest (const char *path, char found[PATH_MAX_BYTES + 1])
{
    struct stat st;
    if (!text_to_c (text_of (path), found, PATH_MAX_BYTES + 1))
        return false;
    while (stat (found, &st)) {
        char *slash = strrchr (found, '/');
        if ((errno != ENOENT && errno != ENOTDIR) || !slash || !strcmp (found, "/"))
            return false;
        slash[slash == found] = '\0';
    }
    return true;
}

static int free_gib_of (const char *folder, double *gib)
{
    struct statvfs disk;
    if (statvfs (folder, &disk))
        return -1;
    *gib = (double) disk.f_bavail * (double) disk.f_frsize / (1024.0 * 1024.0 * 1024.0);
    return 0;
}

/* In classes, so that equal hosts stay equal. */
static struct text room_of (const char *folder)
{
    double free_gib;
    if (free_gib_of (folder, &free_gib))
        return TEXT_LIT ("absent");
    return free_gib < FULL_GIB ? TEXT_LIT ("full") : free_gib < LOW_GIB ? TEXT_LIT ("low") : TEXT_LIT ("ample");
}

static void add_folder (struct host_fact_list *list, const char *mount_name, const char *room_name, const char *path)
{
    char folder[PATH_MAX_BYTES + 1], mount[MOUNT_BYTES];
    struct err err;
    if (!mount_facts_nearest (path, folder)) {
        host_fact_add (list, mount_name, TEXT_LIT ("absent"));
        host_fact_add (list, room_name, TEXT_LIT ("absent"));
        return;
    }
    bool known = storage_describe_mount (folder, mount, sizeof mount, &err) == 0;
    host_fact_add (list, mount_name,
                   known ? display_mount (&list->arena, mount)
                         : text_format (&list->arena, "unreadable (%.200s)", err.text));
    host_fact_add (list, room_name, room_of (folder));
}

struct text mount_facts (struct host_fact_list *list, const char *env_dir)
{
    char folder[PATH_MAX_BYTES + 1];
    double free_gib;
    add_folder (list, "mount.env_dir", "disk.env_dir", env_dir);
    add_folder (list, "mount.tmp", "disk.tmp", list->roots->tmp);
    if (!mount_facts_nearest (env_dir, folder) || free_gib_of (folder, &free_gib))
        return (struct text){ 0 };
    return text_format (&list->arena, "%.1f GiB free for %s", free_gib, env_dir);
}
