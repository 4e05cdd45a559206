#include "worker/process/cgroup_place.h"

#include "common/io/atomic_file.h"
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

/* proc(5), mountinfo: "ID PARENT DEV ROOT POINT OPTIONS... - TYPE SOURCE OPTIONS". ROOT: which group lies at POINT. */
static bool find_mount (struct text mountinfo, const char *controller, struct text *root, struct text *point)
{
    while (mountinfo.len) {
        struct text line = text_take_until (&mountinfo, '\n'), rest = line;
        uint32_t at;
        if (!text_find (line, *controller ? TEXT_LIT (" - cgroup ") : TEXT_LIT (" - cgroup2 "), &at))
            continue;
        for (int field = 0; field < 3; field++)
            (void) text_take_until (&rest, ' ');
        *root = text_take_until (&rest, ' ');
        *point = text_take_until (&rest, ' ');
        struct text options = { line.ptr + at, line.len - at };
        bool found = !*controller;
        (void) text_take_until (&options, '-');
        for (int field = 0; field < 3; field++)
            (void) text_take_until (&options, ' ');
        while (options.len)
            found |= text_is (text_take_until (&options, ','), controller);
        if (found && !memchr (point->ptr, '\\', point->len)) /* of a blank in a name */
            return true;
    }
    return false;
}

/* "/.." begins the path of a group outside of our own namespace. */
bool cgroup_place_find (struct text cgroup, struct text mountinfo, const char *controller, struct cgroup_place *out)
{
    struct text path = group_path (cgroup, controller), root, point;
    *out = (struct cgroup_place){ 0 };
    if (!path.len || text_starts (path, "/..") || !find_mount (mountinfo, controller, &root, &point))
        return false;
    bool below = root.len > 1 && path.len >= root.len && !memcmp (path.ptr, root.ptr, root.len);
    path.ptr += below ? root.len : 0;
    path.len -= below ? root.len : 0;
    if (path.len <= 1) /* "/": the group at the mount itself */
        path.len = 0;
    out->mount_len = point.len;
    out->v1 = *controller != 0;
    int n = snprintf (out->path, sizeof out->path, "%.*s%.*s", TEXT_ARG (point), TEXT_ARG (path));
    if (n >= (int) sizeof out->path)
        out->path[0] = 0;
    return out->path[0] != 0;
}

bool cgroup_place_read (const char *process, const char *self, const char *controller, struct cgroup_place *out)
{
    enum { FILE_MAX_BYTES = 1 << 20 };
    char path[PATH_MAX];
    struct buf cgroup, mounts;
    buf_init (&cgroup, FILE_MAX_BYTES);
    buf_init (&mounts, FILE_MAX_BYTES);
    snprintf (path, sizeof path, "%s/cgroup", process);
    (void) file_read (path, &cgroup, NULL);
    snprintf (path, sizeof path, "%s/mountinfo", self);
    (void) file_read (path, &mounts, NULL);
    bool found = cgroup_place_find (buf_as_text (&cgroup), buf_as_text (&mounts), controller, out) ||
                 (*controller && cgroup_place_find (buf_as_text (&cgroup), buf_as_text (&mounts), "", out));
    buf_release (&cgroup);
    buf_release (&mounts);
    return found;
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
