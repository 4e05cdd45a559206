#include "worker/sandbox/sliceup_files_probe.h"

#include "common/base/path.h"
#include "worker/sandbox/write_probe.h"
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENTRIES_TRIED = 48, DEPTH_TRIED = 3 };

static bool create (const char *folder)
{
    char path[PATH_MAX];
    if (snprintf (path, sizeof path, "%s/.tried-%d", folder, (int) getpid ()) >= (int) sizeof path)
        return false;
    int fd = open (path, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    close (fd);
    (void) unlink (path); /* refused or not: it could be made */
    return true;
}

/* What is out of sight is a device that takes everything. */
static bool writes (const char *path)
{
    struct stat at;
    int fd = open (path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    bool is_file = fd >= 0 && fstat (fd, &at) == 0 && S_ISREG (at.st_mode);
    if (fd >= 0)
        close (fd);
    return is_file;
}

struct look {
    const struct confine_paths *paths;
    const char *shown;
    int budget;
};

static bool writes_in (struct look *look, const char *folder, int depth);

/* What is the program's own, and what shows it the cache: whether that may be written is asked elsewhere. */
static bool is_passed_over (const struct look *look, const char *path)
{
    return path_is_below_any (path, look->paths->own, look->paths->own_n) ||
           (look->shown && path_is_below (path, look->shown));
}

static bool writes_entry (struct look *look, const char *folder, const struct dirent *entry, int depth)
{
    char path[PATH_MAX];
    if (entry->d_name[0] == '.' || snprintf (path, sizeof path, "%s/%s", folder, entry->d_name) >= (int) sizeof path ||
        is_passed_over (look, path))
        return false;
    if (entry->d_type == DT_DIR)
        return depth < DEPTH_TRIED && writes_in (look, path, depth + 1);
    return entry->d_type == DT_REG && writes (path);
}

/* Some of it: all lies under the same rules. A file that is being executed cannot tell (open(2), ETXTBSY). */
static bool writes_in (struct look *look, const char *folder, int depth)
{
    DIR *entries = opendir (folder);
    struct dirent *entry;
    bool open_probe = false;
    while (entries && !open_probe && look->budget-- > 0 && (entry = readdir (entries)))
        open_probe = writes_entry (look, folder, entry, depth);
    if (entries)
        closedir (entries);
    return open_probe;
}

static bool can_move (const char *path)
{
    char away[PATH_MAX];
    if (snprintf (away, sizeof away, "%s.tried-%d", path, (int) getpid ()) >= (int) sizeof away ||
        rename (path, away) < 0)
        return false;
    (void) rename (away, path);
    return true;
}

/* Itself and all above it, up to the place in which everybody may write. Above that nobody may, whatever we do: what
 * lies there is the host's own, and is not touched to see it. */
static bool can_move_with_all_above (const struct confine_paths *paths, const char *path)
{
    const char *open_place = confine_paths_open_holding (paths, path);
    char name[PATH_MAX];
    bool open_probe = false;
    if (!open_place || strlen (path) >= sizeof name)
        return false;
    snprintf (name, sizeof name, "%s", path);
    while (!open_probe && strcmp (name, open_place) != 0) {
        open_probe = can_move (name);
        *strrchr (name, '/') = '\0';
    }
    return open_probe;
}

uint32_t sliceup_files_probe (const struct confine_paths *paths, const char *shown, bool moves, const char **where)
{
    uint32_t open_ways = 0;
    *where = NULL;
    for (uint32_t i = 0; i < paths->protected_n; i++) {
        const char *path = paths->protected[i];
        struct look look = { paths, shown, ENTRIES_TRIED };
        struct stat at;
        uint32_t here = 0;
        bool folder = lstat (path, &at) == 0 && S_ISDIR (at.st_mode);
        here |= folder && create (path) ? PROBE_BIT (PROBE_OWN_CREATE) : 0;
        here |= (folder ? writes_in (&look, path, 0) : writes (path)) ? PROBE_BIT (PROBE_OWN_WRITE) : 0;
        here |= moves && can_move_with_all_above (paths, path) ? PROBE_BIT (PROBE_OWN_RENAME) : 0;
        *where = here ? path : *where;
        open_ways |= here;
    }
    return open_ways;
}
