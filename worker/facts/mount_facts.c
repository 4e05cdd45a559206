/* mount_facts.c - what the folders of a run lie on, and whether there is room left. */
#include "common/cache/storage.h"
#include "worker/facts/display.h"
#include "worker/facts/host_fact_list.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

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

/* In classes: what matters is that there is none, and equal hosts stay equal. */
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
