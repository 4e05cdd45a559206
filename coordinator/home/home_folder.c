#include "coordinator/home/home_folder.h"

#include <limits.h>
#include <stdio.h>

#include "common/io/safe_path.h"

int home_folder_check (const char *home, const char *name, bool elsewhere, struct err *err)
{
    const struct safe_rule rule = { .what = "folder of the sliceup home",
                                    .instead = "move it away, or name another home with --home",
                                    .own = !elsewhere };
    char path[PATH_MAX];
    int len = snprintf (path, sizeof path, "%s/%s", home, name);
    if (len < 0 || (size_t) len >= sizeof path)
        return err_set (err, ERR_LIMIT, "the path of the sliceup home is longer than %d bytes", PATH_MAX - 1);
    return safe_path_check (path, &rule, err);
}
