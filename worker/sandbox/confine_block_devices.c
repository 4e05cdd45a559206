#include "worker/sandbox/confine_block_devices.h"

#include "common/base/text.h"
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* Documentation/admin-guide/devices.txt of Linux: SCSI generic */
enum { MAJOR_SCSI_GENERIC = 21, DEPTH_MAX = 2 };

static int look (const char *path, int depth, struct arena *arena, struct confine_devices *out, struct err *err);

static int consider (const char *path, int depth, struct arena *arena, struct confine_devices *out, struct err *err)
{
    struct stat at;
    if (lstat (path, &at) < 0)
        return 0;
    if (S_ISDIR (at.st_mode))
        return depth < DEPTH_MAX ? look (path, depth + 1, arena, out, err) : 0;
    if (!S_ISBLK (at.st_mode) && !(S_ISCHR (at.st_mode) && major (at.st_rdev) == MAJOR_SCSI_GENERIC))
        return 0;
    if (out->n == CONFINE_DEVICES_MAX)
        return err_set (err, ERR_LIMIT, "this host has more than %d block devices to hide", CONFINE_DEVICES_MAX);
    out->paths[out->n++] = path;
    return 0;
}

static int look (const char *path, int depth, struct arena *arena, struct confine_devices *out, struct err *err)
{
    DIR *folder = opendir (path);
    if (!folder && (errno == ENOENT || errno == EACCES))
        return 0; /* what this process does not reach, the program will not */
    if (!folder)
        return err_errno (err, ERR_IO, "cannot read %s", path);
    int rc = 0;
    struct dirent *entry;
    while (rc == 0 && (entry = readdir (folder))) {
        bool of_interest = entry->d_type == DT_BLK || entry->d_type == DT_DIR || entry->d_type == DT_CHR ||
                           entry->d_type == DT_UNKNOWN;
        if (!of_interest || entry->d_name[0] == '.' || strcmp (entry->d_name, "shm") == 0)
            continue; /* shm is everybody's, and holds no devices: nodev or not, making one needs CAP_MKNOD */
        rc = consider (text_format (arena, "%s/%s", path, entry->d_name).ptr, depth, arena, out, err);
    }
    closedir (folder);
    return rc;
}

int confine_list_block_devices (struct arena *arena, struct confine_devices *out, struct err *err)
{
    out->n = 0;
    return look ("/dev", 1, arena, out, err);
}
