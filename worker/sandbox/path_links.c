#include "worker/sandbox/path_links.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The path that is left, and where in it the name that is looked at ends. */
struct way {
    char path[PATH_MAX];
    size_t end;
    uint32_t links;
};

static int too_long (const char *path, struct err *err)
{
    return err_set (err, ERR_LIMIT, "%.200s: the path is longer than %d bytes", path, PATH_MAX - 1);
}

/* Each name once; what stands before it is no link any more. */
static bool next_name (struct way *way)
{
    size_t begin = way->end + strspn (way->path + way->end, "/");
    way->end = begin + strcspn (way->path + begin, "/");
    return way->end > begin;
}

static bool is_link (const char *path)
{
    struct stat at;
    return lstat (path, &at) == 0 && S_ISLNK (at.st_mode);
}

/* "/a/link/rest", of which "/a/link" is looked at: its target takes the place of its name. */
static int follow (struct way *way, const char *folder, const char *link, struct err *err)
{
    char target[PATH_MAX], next[PATH_MAX];
    ssize_t len = readlink (link, target, sizeof target - 1);
    if (len < 0)
        return 1;
    target[len] = '\0';
    if (++way->links > PATH_LINKS_MAX)
        return err_set (err, ERR_LIMIT, "%.200s passes through more than %d symbolic links", link, PATH_LINKS_MAX);
    int n = snprintf (next, sizeof next, "%s/%s%s", target[0] == '/' ? "" : folder, target, way->path + way->end);
    if (n < 0 || (size_t) n >= sizeof next)
        return too_long (link, err);
    memcpy (way->path, next, (size_t) n + 1);
    way->end = 0;
    return 0;
}

/* 1: it cannot be reached. */
static int take_link (struct way *way, const char *link, path_link_fn *fn, void *owner, struct err *err)
{
    char folder[PATH_MAX], parent[PATH_MAX], place[2 * PATH_MAX];
    const char *slash = strrchr (link, '/');
    snprintf (parent, sizeof parent, "%.*s/", (int) (slash - link), link);
    if (!realpath (parent, folder))
        return 1;
    snprintf (place, sizeof place, "%s%s", strcmp (folder, "/") == 0 ? "" : folder, slash);
    if (strlen (place) >= PATH_MAX)
        return too_long (place, err);
    return fn (owner, place, err) != 0 ? -1 : follow (way, folder, place, err);
}

static int begin (struct way *way, const char *path, struct err *err)
{
    char here[PATH_MAX] = "";
    if (path[0] != '/' && !getcwd (here, sizeof here))
        return err_errno (err, ERR_IO, "cannot find the current directory of this process");
    int n = snprintf (way->path, sizeof way->path, "%s%s%s", here, *here ? "/" : "", path);
    return n < 0 || (size_t) n >= sizeof way->path ? too_long (path, err) : 0;
}

int path_links_each (const char *path, path_link_fn *fn, void *owner, struct err *err)
{
    struct way way = { .end = 0 };
    char name[PATH_MAX];
    int rc = begin (&way, path, err);
    while (rc == 0 && next_name (&way)) {
        snprintf (name, sizeof name, "%.*s", (int) way.end, way.path);
        if (is_link (name))
            rc = take_link (&way, name, fn, owner, err);
    }
    return rc < 0 ? -1 : 0;
}
