#include "common/base/path.h"

#include <string.h>

bool path_is_below (const char *path, const char *folder)
{
    size_t len = strcmp (folder, "/") == 0 ? 0 : strlen (folder);
    return strncmp (path, folder, len) == 0 && (path[len] == '\0' || path[len] == '/');
}
