#include "worker/process/cgroup_place.h"

#include "common/io/atomic_file.h"
#include "common/io/fd.h"
#include <stdio.h>
#include <string.h>

/* "4:memory:/path" or "0::/path"; `controller` is empty for v2. */
static struct text group_path (struct text cgroup, const char *controller)
{
    while (cgroup.len) {
        struct text line = text_take_until (&cgroup, '\n');
        (void) text_take_until (&line, ':');
        struct text controllers = text_take_until (&line, ':');
        bool found = !controllers.len && !*controller;
        while (controllers.len)
            found |= text_is (text_take_until (&controllers, ','), controller);
        if (found)
            return line;
    }
    return (struct text){ 0 };
}

/* Its `within` is the group at the mount point. */
static const struct proc_mount *find_mount (const struct proc_mounts *mounts, const char *controller)
{
    for (uint32_t i = 0; i < mounts->n; i++) {
        struct text options = mounts->items[i].system_options;
        bool found = !*controller && text_is (mounts->items[i].type, "cgroup2");
        while (options.len && text_is (mounts->items[i].type, "cgroup"))
            found |= text_is (text_take_until (&options, ','), controller);
        if (found)
            return &mounts->items[i];
    }
    return NULL;
}

/* "/.." begins the path of a group outside of our own namespace. */
bool cgroup_place_find (struct text cgroup, const struct proc_mounts *mounts, const char *controller,
                        struct cgroup_place *out)
{
    struct text path = group_path (cgroup, controller);
    const struct proc_mount *mount = find_mount (mounts, controller);
    *out = (struct cgroup_place){ 0 };
    if (!path.len || text_starts (path, "/..") || !mount)
        return false;
    size_t root_len = strlen (mount->within), below = root_len > 1 && text_starts (path, mount->within) ? root_len : 0;
    path.ptr += below;
    path.len -= (uint32_t) below;
    if (path.len <= 1) /* "/": the group at the mount itself */
        path.len = 0;
    out->mount_len = (uint32_t) strlen (mount->point);
    out->v1 = *controller != 0;
    int n = snprintf (out->path, sizeof out->path, "%s%.*s", mount->point, TEXT_ARG (path));
    if (n >= (int) sizeof out->path)
        out->path[0] = 0;
    return out->path[0] != 0;
}

bool cgroup_place_read (const char *process, const char *self, const char *controller, struct cgroup_place *out)
{
    enum { FILE_MAX_BYTES = 1 << 20 };
    LOCAL_ARENA arena = { 0 };
    struct proc_mounts mounts = { 0 };
    LOCAL_BUF cgroup = { .max = FILE_MAX_BYTES };
    (void) file_read (text_format (&arena, "%s/cgroup", process).ptr, &cgroup, NULL);
    (void) proc_mounts_read (self, &arena, &mounts, NULL);
    return cgroup_place_find (buf_as_text (&cgroup), &mounts, controller, out) ||
           (*controller && cgroup_place_find (buf_as_text (&cgroup), &mounts, "", out));
}

bool cgroup_place_go_up (struct cgroup_place *place)
{
    char *last = strrchr (place->path, '/');
    *(last ? last : place->path) = 0;
    return place->path[0] && strlen (place->path) >= place->mount_len;
}

uint64_t cgroup_limit (struct text value)
{
    uint64_t limit;
    return text_to_u64 (text_take_until (&value, '\n'), &limit) && limit < UINT64_C (1) << 60 ? limit : 0;
}

/* ---- kills for want of memory ---- */

enum { COUNTERS_BYTES = 16 * 1024 }; /* longer files are read as far */

bool memory_counter_read (struct text lines, const char *name, uint64_t *value)
{
    while (lines.len) {
        struct text line = text_take_until (&lines, '\n'), word = text_take_until (&line, ' ');
        if (text_is (word, name))
            return text_to_u64 (line, value);
    }
    return false;
}

static struct text cgroup_place_read_file (const char *folder, const char *name, char bytes[COUNTERS_BYTES])
{
    char path[PATH_MAX + 64];
    snprintf (path, sizeof path, "%s/%s", folder, name);
    return (struct text){ bytes, (uint32_t) file_read_start (path, bytes, COUNTERS_BYTES) };
}

/* A group without the controller is counted in the nearest one above that has it. */
static void read_now (const struct memory_watch *watch, bool limits, struct memory_kills *out)
{
    char bytes[COUNTERS_BYTES];
    struct cgroup_place at = watch->group;
    *out = (struct memory_kills){ 0 };
    for (bool more = at.path[0]; more && (limits || !out->counted_len); more = cgroup_place_go_up (&at)) {
        struct text counters = cgroup_place_read_file (at.path, at.v1 ? "memory.oom_control" : "memory.events", bytes);
        if (!out->counted_len && memory_counter_read (counters, "oom_kill", &out->of_group))
            out->counted_len = (uint32_t) strlen (at.path);
        const char *limit = at.v1 ? "memory.limit_in_bytes" : "memory.max";
        uint64_t limit_bytes = limits ? cgroup_limit (cgroup_place_read_file (at.path, limit, bytes)) : 0;
        if (limit_bytes && (!out->limit_bytes || limit_bytes < out->limit_bytes))
            out->limit_bytes = limit_bytes;
    }
    out->shared = out->counted_len && out->counted_len < strlen (watch->group.path);
    (void) memory_counter_read (cgroup_place_read_file ("/proc", "vmstat", bytes), "oom_kill", &out->of_machine);
}

/* Programs mostly run in the group of the one before, whose place is not looked for again. */
void memory_watch_begin (pid_t program, struct memory_watch *out)
{
    static char known[COUNTERS_BYTES];
    static struct cgroup_place place;
    char folder[64], group[COUNTERS_BYTES];
    snprintf (folder, sizeof folder, "/proc/%d", (int) program);
    (void) cgroup_place_read_file (folder, "cgroup", group);
    if (strcmp (group, known) != 0)
        (void) cgroup_place_read (folder, "/proc/self", "memory", &place);
    memcpy (known, group, strlen (group) + 1);
    out->group = place;
    read_now (out, false, &out->before);
}

struct memory_kills memory_watch_end (const struct memory_watch *watch)
{
    struct memory_kills now;
    read_now (watch, false, &now);
    if (now.of_group != watch->before.of_group || now.of_machine != watch->before.of_machine)
        read_now (watch, true, &now); /* only who tells of kills tells the limit */
    bool same = now.counted_len == watch->before.counted_len && now.of_group >= watch->before.of_group;
    now.of_group = same ? now.of_group - watch->before.of_group : 0;
    now.of_machine -= now.of_machine < watch->before.of_machine ? now.of_machine : watch->before.of_machine;
    return now;
}
