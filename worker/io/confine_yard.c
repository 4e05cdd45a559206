#include "worker/io/confine_yard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/io/atomic_file.h"
#include "worker/io/confine_ways.h"

#define WORDS "Ways to write are tried on this file.\n"

static int fill (const char *folder, struct err *err)
{
    char path[PATH_MAX];
    snprintf (path, sizeof path, "%s/" WITNESS_NAME, folder);
    int fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
    if (fd < 0)
        return err_errno (err, ERR_IO, "making %.300s", path);
    ssize_t put = write (fd, WORDS, strlen (WORDS));
    if (close (fd) < 0 || put != (ssize_t) strlen (WORDS) || chmod (folder, 0555) < 0)
        return err_errno (err, ERR_IO, "filling %.300s", path);
    return 0;
}

int confine_yard_make (const char *folder, struct confine_yard *yard, struct err *err)
{
    char host[HOST_NAME_MAX + 1] = "";
    if (gethostname (host, sizeof host - 1) < 0 || strchr (host, '/'))
        return err_set (err, ERR_STATE, "this host has no name");
    int len = snprintf (yard->path, sizeof yard->path, "%s/probe-%s-XXXXXX", folder, host);
    if (len >= (int) sizeof yard->path)
        return err_set (err, ERR_LIMIT, "%.200s is too long a path", folder);
    if (!mkdtemp (yard->path)) /* pids of several workers' namespaces are the same */
        return err_errno (err, ERR_IO, "making %.300s", yard->path);
    if (fill (yard->path, err) == 0)
        return 0;
    (void) confine_yard_remove (yard, NULL); /* what matters is why it could not be filled */
    return -1;
}

int confine_yard_remove (const struct confine_yard *yard, struct err *err)
{
    if (chmod (yard->path, 0700) < 0 && errno != ENOENT)
        return err_errno (err, ERR_IO, "opening %.300s to remove it", yard->path);
    return folder_remove (yard->path, err);
}
