#include "coordinator/cli/metrics_file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io/atomic_file.h"

#define ENDING ".prom"

static int check_folder (const char *path, struct err *err)
{
    char folder[1024];
    const char *slash = strrchr (path, '/');
    int len = slash == path ? 1 : slash ? (int) (slash - path) : 1;
    if (len >= (int) sizeof (folder))
        return err_set (err, ERR_USAGE, "the path of the metrics file is longer than %zu bytes", sizeof (folder) - 1);
    snprintf (folder, sizeof (folder), "%.*s", len, slash ? path : ".");
    if (access (folder, W_OK | X_OK) == 0)
        return 0;
    return err_errno (err, ERR_USAGE, "the metrics file %s cannot be written in its folder %s", path, folder);
}

int metrics_file_check (const char *path, struct err *err)
{
    size_t len = strlen (path);
    struct stat at;
    if (len <= strlen (ENDING) || strcmp (path + len - strlen (ENDING), ENDING) != 0)
        return err_set (
            err, ERR_USAGE,
            "the metrics file %s: node_exporter reads only files that end in " ENDING "; expected FILE" ENDING, path);
    if (stat (path, &at) == 0 && !S_ISREG (at.st_mode))
        return err_set (err, ERR_USAGE, "the metrics file %s exists and is no regular file; name another one", path);
    return check_folder (path, err);
}

int metrics_file_write (const char *path, const struct buf *text, struct err *err)
{
    return text->overflow ? err_set (err, ERR_LIMIT, "the series would be larger than %d MiB", METRICS_MAX_BYTES >> 20)
                          : atomic_file_write (path, text->ptr, text->len, 0644, err);
}
