#include "worker/sandbox/confine_sandbox.h"

#include "common/io/atomic_file.h"
#include "worker/sandbox/write_probe.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORDS "sliceup tries on this file whether programs can write.\n"
#define PREFIX "probe-"

enum { LEFT_BEHIND_S = 10 * 60 }; /* a test takes milliseconds, and a hanging storage is given up within a minute */

static int scratch_generation_fill (const char *folder, struct err *err)
{
    char path[PATH_MAX];
    snprintf (path, sizeof path, "%s/" WITNESS_NAME, folder);
    int fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
    if (fd < 0)
        return err_errno (err, ERR_IO, "cannot make %.300s", path);
    ssize_t put = write (fd, WORDS, strlen (WORDS));
    if (close (fd) < 0 || put != (ssize_t) strlen (WORDS) || chmod (folder, 0555) < 0)
        return err_errno (err, ERR_IO, "cannot fill %.300s", path);
    return 0;
}

/* Was it left by a killed process? Its age is by the storage's clock, which has just dated our folder. */
static bool is_left_behind (const char *name, const char *path, const struct stat *ours)
{
    struct stat at;
    return strncmp (name, PREFIX, strlen (PREFIX)) == 0 && lstat (path, &at) == 0 && S_ISDIR (at.st_mode) &&
           at.st_mtime + LEFT_BEHIND_S < ours->st_mtime;
}

static void sweep (const char *folder, const struct scratch_generation *fixture)
{
    struct stat ours;
    struct scratch_generation left;
    DIR *entries = lstat (fixture->path, &ours) == 0 ? opendir (folder) : NULL;
    struct dirent *entry;
    while (entries && (entry = readdir (entries))) {
        int len = snprintf (left.path, sizeof left.path, "%s/%s", folder, entry->d_name);
        if (len < (int) sizeof left.path && is_left_behind (entry->d_name, left.path, &ours))
            (void) scratch_generation_remove (&left, NULL); /* another user's, or the next call removes it */
    }
    if (entries)
        closedir (entries);
}

int scratch_generation_make (const char *folder, struct scratch_generation *fixture, struct err *err)
{
    char host[HOST_NAME_MAX + 1] = "";
    if (gethostname (host, sizeof host - 1) < 0 || strchr (host, '/'))
        return err_set (err, ERR_STATE, "the name of this host cannot be read, or has a '/' in it");
    int len = snprintf (fixture->path, sizeof fixture->path, "%s/" PREFIX "%s-XXXXXX", folder, host);
    if (len >= (int) sizeof fixture->path)
        return err_set (err, ERR_LIMIT, "the path %.200s is too long", folder);
    if (!mkdtemp (fixture->path)) /* pids of several workers' namespaces are the same */
        return err_errno (err, ERR_IO, "cannot make %.300s", fixture->path);
    sweep (folder, fixture);
    if (scratch_generation_fill (fixture->path, err) == 0)
        return 0;
    (void) scratch_generation_remove (fixture, NULL); /* what matters is why it could not be filled */
    return -1;
}

int scratch_generation_remove (const struct scratch_generation *fixture, struct err *err)
{
    if (chmod (fixture->path, 0700) < 0 && errno != ENOENT)
        return err_errno (err, ERR_IO, "cannot make %.300s writable in order to remove it", fixture->path);
    return folder_remove (fixture->path, err);
}
