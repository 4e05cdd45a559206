#include "worker/sandbox/confine_sandbox.h"

#include "common/io/atomic_file.h"
#include "common/model/plan.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define LAYER "/.cache-layer"
enum { DEPTH_MAX = 32, OPTIONS_BYTES = 160 };

static int confine_overlay_open_folder (const char *path, struct err *err)
{
    int fd = open (path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? err_errno (err, ERR_IO, "cannot open %.300s", path) : fd;
}

/* Descriptors instead of names, since the option's syntax has no room for commas and colons. Attributes of "user." are
 * what a user namespace may write (overlayfs.rst, userxattr); they do for root as well. */
static int mount_on (const char *at, int lower, int upper, int work, struct err *err)
{
    char options[OPTIONS_BYTES];
    snprintf (options, sizeof options,
              "lowerdir=/proc/self/fd/%d,upperdir=/proc/self/fd/%d,workdir=/proc/self/fd/%d,"
              "userxattr",
              lower, upper, work);
    if (mount ("sliceup", at, "overlay", MS_NOSUID | MS_NODEV, options) < 0)
        return err_errno (err, ERR_IO, "cannot mount an overlay on %.200s (cache.overlay requires one)", at);
    return 0;
}

int confine_overlay_mount (const char *generation, const char *scratch, const char *at, struct err *err)
{
    LOCAL_ARENA arena = { 0 };
    const char *upper = text_format (&arena, "%s" LAYER "/upper", scratch).ptr;
    const char *work = text_format (&arena, "%s" LAYER "/work", scratch).ptr;
    int lower_fd = -1, upper_fd = -1, work_fd = -1, rc = -1;
    if (folder_make (upper, 0755, err) == 0 && folder_make (work, 0755, err) == 0 &&
        (lower_fd = confine_overlay_open_folder (generation, err)) >= 0 &&
        (upper_fd = confine_overlay_open_folder (upper, err)) >= 0 &&
        (work_fd = confine_overlay_open_folder (work, err)) >= 0)
        rc = mount_on (at, lower_fd, upper_fd, work_fd, err);
    const int fds[] = { lower_fd, upper_fd, work_fd };
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close (fds[i]);
    return rc;
}

/* ---- afterwards ---- */

/* nftw passes no context. Main thread only, like all callers. */
static struct {
    struct confine_overlay_writes *overlay;
    struct arena *arena;
    size_t prefix;
} counting;

static int confine_overlay_count (const char *path, const struct stat *at, int kind, struct FTW *where)
{
    (void) at;
    (void) where;
    struct confine_overlay_writes *overlay = counting.overlay;
    if (kind == FTW_D || kind == FTW_DP || kind == FTW_DNR)
        return 0;
    if (overlay->files < CONFINE_LAYER_NAMES) {
        struct text name = text_clip (text_of (path + counting.prefix), NAME_MAX_BYTES);
        overlay->names[overlay->files] = text_copy (counting.arena, name);
    }
    return ++overlay->files == CONFINE_LAYER_FILES_MAX;
}

int confine_overlay_collect (const char *scratch, struct arena *arena, struct confine_overlay_writes *out,
                             struct err *err)
{
    const char *layer = text_format (arena, "%s" LAYER, scratch).ptr;
    const char *upper = text_format (arena, "%s/upper", layer).ptr;
    struct stat at;
    *out = (struct confine_overlay_writes){ 0 };
    if (lstat (layer, &at) < 0 && errno == ENOENT)
        return 0;
    counting.overlay = out;
    counting.arena = arena;
    counting.prefix = strlen (upper) + 1;
    if (lstat (upper, &at) == 0 && S_ISDIR (at.st_mode) && nftw (upper, confine_overlay_count, DEPTH_MAX, FTW_PHYS) < 0)
        return err_errno (err, ERR_IO, "cannot list what the program wrote in %.300s", upper);
    return folder_remove (layer, err);
}
