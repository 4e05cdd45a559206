#include "worker/process/memory_kills.h"

#include "common/io/atomic_file.h"
#include <stdio.h>
#include <string.h>

enum { FILE_MAX_BYTES = 1 << 20 };

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

/* A group without the controller is counted in the nearest one above that has it. */
static void read_group (const struct memory_watch *watch, struct buf *file, struct memory_kills *out)
{
    struct cgroup_place at = watch->group;
    for (bool more = at.path[0]; more; more = cgroup_place_go_up (&at)) {
        struct text counters = read_file (at.path, at.v1 ? "memory.oom_control" : "memory.events", file);
        if (!out->counted_len && memory_counter_read (counters, "oom_kill", &out->of_group))
            out->counted_len = (uint32_t) strlen (at.path);
        uint64_t limit_bytes = cgroup_limit (read_file (at.path, at.v1 ? "memory.limit_in_bytes" : "memory.max", file));
        if (limit_bytes && (!out->limit_bytes || limit_bytes < out->limit_bytes))
            out->limit_bytes = limit_bytes;
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
    struct buf file;
    buf_init (&file, FILE_MAX_BYTES);
    snprintf (folder, sizeof folder, "/proc/%d", (int) program);
    (void) cgroup_place_read (folder, "/proc/self", "memory", &out->group);
    read_now (out, &file, &out->before);
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
