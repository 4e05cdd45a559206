#include "common/base/path.h"

#include <string.h>

bool path_is_below (const char *path, const char *folder)
{
    size_t len = strcmp (folder, "/") == 0 ? 0 : strlen (folder);
    return strncmp (path, folder, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

bool path_is_below_any (const char *path, const char *const *folders, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (path_is_below (path, folders[i]))
            return true;
    return false;
}
