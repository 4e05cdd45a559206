/* container_facts.c - what surrounds this process: a container, control groups and what they limit. */
#include "worker/facts/host_fact_list.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ID_DIGITS = 64, ID_SHOWN = 12 };

/* ---- control groups ---- */

/* Our group of a hierarchy: ":memory:" of version 1, "0::" of version 2 (cgroups(7), /proc/PID/cgroup). */
static struct text our_group (struct host_fact_list *list, const char *hierarchy)
{
    struct text file, group = { 0 };
    uint32_t at;
    if (host_fact_read_file (list, list->roots->proc, "/self/cgroup", &file) &&
        text_find (file, text_of (hierarchy), &at)) {
        group = (struct text){ file.ptr + at + strlen (hierarchy), file.len - at - (uint32_t) strlen (hierarchy) };
        group = text_take_until (&group, '\n');
    }
    /* A group above our own namespace's root shows as "/..": its limits are not in sight. */
    if (group.len == 1 || (group.len && group.ptr[0] != '/') || text_find (group, TEXT_LIT ("/.."), NULL))
        group.len = 0;
    return group;
}

/* The group above; false: there is none. */
static bool go_up (struct text *group)
{
    if (group->len == 0)
        return false;
    while (group->len && group->ptr[group->len - 1] != '/')
        group->len--;
    group->len -= group->len > 0;
    return true;
}

static bool read_limit (struct host_fact_list *list, const char *mount, struct text group, const char *file,
                        struct text *value)
{
    struct text path = text_format (&list->arena, "/fs/cgroup%s%.*s/%s", mount, TEXT_ARG (group), file);
    return path.len < PATH_MAX_BYTES / 2 && host_fact_read_file (list, list->roots->sys, path.ptr, value);
}

/* The least of all limits from our group up to the root: each of them binds (Linux, admin-guide/cgroup-v2). Version 1
 * writes "no limit" as the largest number of whole pages. */
static struct text least_limit (struct host_fact_list *list, const char *mount, struct text group, const char *file)
{
    uint64_t least = UINT64_MAX, limit;
    bool seen = false;
    struct text value;
    do {
        if (!read_limit (list, mount, group, file, &value))
            continue;
        seen = true;
        if (text_to_u64 (value, &limit) && limit < least && limit <= INT64_MAX - 1024 * 1024)
            least = limit;
    } while (go_up (&group));
    if (!seen)
        return TEXT_LIT ("absent");
    return least == UINT64_MAX ? TEXT_LIT ("max") : text_format (&list->arena, "%" PRIu64, least);
}

/* "max 100000" limits nothing. Of several that limit the nearest is told: they are not numbers to compare. */
static struct text nearest_quota (struct host_fact_list *list, struct text group)
{
    struct text value, told = TEXT_LIT ("absent");
    do {
        if (!read_limit (list, "", group, "cpu.max", &value))
            continue;
        if (!text_starts (value, "max"))
            return value;
        told = TEXT_LIT ("max");
    } while (go_up (&group));
    return told;
}

static struct text old_quota (struct host_fact_list *list)
{
    struct text quota, period;
    if (!host_fact_read_file (list, list->roots->sys, "/fs/cgroup/cpu/cpu.cfs_quota_us", &quota))
        return quota;
    if (text_is (quota, "-1"))
        return TEXT_LIT ("max");
    host_fact_read_file (list, list->roots->sys, "/fs/cgroup/cpu/cpu.cfs_period_us", &period);
    return text_format (&list->arena, "%.*s %.*s", TEXT_ARG (quota), TEXT_ARG (period));
}

/* Of version 2, else of version 1, where each controller has a hierarchy of its own. */
static struct text limit_of (struct host_fact_list *list, const char *file, const char *controller,
                             const char *old_file)
{
    struct text limit = least_limit (list, "", our_group (list, "0::"), file);
    if (!text_is (limit, "absent"))
        return limit;
    struct text mount = text_format (&list->arena, "/%s", controller),
                hierarchy = text_format (&list->arena, ":%s:", controller);
    return least_limit (list, mount.ptr, our_group (list, hierarchy.ptr), old_file);
}

static void add_limits (struct host_fact_list *list)
{
    struct text quota = nearest_quota (list, our_group (list, "0::"));
    host_fact_add (list, "memory.cgroup_max", limit_of (list, "memory.max", "memory", "memory.limit_in_bytes"));
    host_fact_add (list, "pids.cgroup_max", limit_of (list, "pids.max", "pids", "pids.max"));
    host_fact_add (list, "cpu.cgroup_max", text_is (quota, "absent") ? old_quota (list) : quota);
}

/* ---- container ---- */

static bool is_there (struct host_fact_list *list, const char *path)
{
    char name[PATH_MAX_BYTES + 1];
    int len = snprintf (name, sizeof name, "%s%s", list->roots->root, path);
    return len > 0 && (size_t) len < sizeof name && access (name, F_OK) == 0;
}

/* Who made the container left one of these: docker and podman a file each, systemd a word, Kubernetes variables. */
static struct text kind_of (struct host_fact_list *list, struct text groups)
{
    struct text word;
    if (getenv ("KUBERNETES_SERVICE_HOST") || text_find (groups, TEXT_LIT ("kubepods"), NULL))
        return TEXT_LIT ("kubernetes");
    if (is_there (list, "/run/.containerenv"))
        return TEXT_LIT ("podman");
    if (is_there (list, "/.dockerenv") || text_find (groups, TEXT_LIT ("docker"), NULL))
        return TEXT_LIT ("docker");
    if (host_fact_read_file (list, list->roots->root, "/run/systemd/container", &word) && word.len)
        return text_clip (word, ID_MAX_BYTES);
    return text_find (groups, TEXT_LIT ("lxc"), NULL) ? TEXT_LIT ("lxc") : TEXT_LIT ("none");
}

/* The first ID_DIGITS hexadecimal digits in a row: how docker, containerd and podman name what they made. */
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
    /* Digits in a mount's name may be those of a container that somebody else made: only where we are in one. */
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
