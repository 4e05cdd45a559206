#include "worker/process/memory_kills.h"

#include "common/io/atomic_file.h"
#include <stdio.h>
#include <string.h>

enum { FILE_MAX_BYTES = 1 << 20 };
#define V1_NO_LIMIT ((uint64_t) 1 << 60) /* it prints what fits 63 bits in whole pages */

bool memory_counter_read (struct text lines, const char *name, uint64_t *value)
{
    while (lines.len) {
        struct text line = text_take_until (&lines, '\n'), word = text_take_until (&line, ' ');
        if (text_is (word, name))
            return text_to_u64 (line, value);
    }
    return false;
}

static struct text read_file (const char *folder, const char *name, struct buf *file)
{
    char path[PATH_MAX + 64];
    buf_clear (file);
    snprintf (path, sizeof path, "%s/%s", folder, name);
    return file_read (path, file, NULL) == 0 ? buf_as_text (file) : (struct text){ 0 };
}

static uint64_t limit_of (const char *folder, bool v1, struct buf *file)
{
    struct text lines = read_file (folder, v1 ? "memory.limit_in_bytes" : "memory.max", file);
    uint64_t bytes = 0; /* "max" is no number */
    (void) text_to_u64 (text_take_until (&lines, '\n'), &bytes);
    return bytes < V1_NO_LIMIT ? bytes : 0;
}

/* A group without the controller is counted in the nearest one above that has it. */
static void read_group (const struct memory_watch *watch, struct buf *file, struct memory_kills *out)
{
    char path[PATH_MAX];
    memcpy (path, watch->group.path, sizeof path);
    while (path[0] && strlen (path) >= watch->group.mount_len) {
        if (!out->counted_len &&
            memory_counter_read (read_file (path, watch->v1 ? "memory.oom_control" : "memory.events", file), "oom_kill",
                                 &out->of_group))
            out->counted_len = (uint32_t) strlen (path);
        uint64_t limit_bytes = limit_of (path, watch->v1, file);
        if (limit_bytes && (!out->limit_bytes || limit_bytes < out->limit_bytes))
            out->limit_bytes = limit_bytes;
        char *last = strrchr (path, '/');
        *(last ? last : path) = 0;
    }
    out->shared = out->counted_len && out->counted_len < strlen (watch->group.path);
}

static void read_now (const struct memory_watch *watch, struct buf *file, struct memory_kills *out)
{
    *out = (struct memory_kills){ 0 };
    read_group (watch, file, out);
    (void) memory_counter_read (read_file ("/proc", "vmstat", file), "oom_kill", &out->of_machine);
}

void memory_watch_begin (pid_t program, struct memory_watch *out)
{
    char folder[64];
    *out = (struct memory_watch){ 0 };
    struct buf cgroup, file;
    buf_init (&cgroup, FILE_MAX_BYTES);
    buf_init (&file, FILE_MAX_BYTES);
    snprintf (folder, sizeof folder, "/proc/%d", (int) program);
    struct text own = read_file (folder, "cgroup", &cgroup);
    struct text mounts = read_file ("/proc/self", "mountinfo", &file);
    /* A memory controller of v1 comes first: the group of v2 has none then. */
    out->v1 = cgroup_place_find (own, mounts, "memory", &out->group);
    if (!out->v1)
        (void) cgroup_place_find (own, mounts, "", &out->group);
    read_now (out, &file, &out->before);
    buf_release (&cgroup);
    buf_release (&file);
}

struct memory_kills memory_watch_end (const struct memory_watch *watch)
{
    struct memory_kills now;
    struct buf file;
    buf_init (&file, FILE_MAX_BYTES);
    read_now (watch, &file, &now);
    buf_release (&file);
    bool same = now.counted_len == watch->before.counted_len && now.of_group >= watch->before.of_group;
    now.of_group = same ? now.of_group - watch->before.of_group : 0;
    now.of_machine -= now.of_machine < watch->before.of_machine ? now.of_machine : watch->before.of_machine;
    return now;
}
