#include "common/base/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define USUAL_PATH "/usr/local/bin:/usr/bin:/bin"

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

struct text path_name (struct text path)
{
    const char *slash = path.len ? memrchr (path.ptr, '/', path.len) : NULL;
    return slash ? (struct text){ slash + 1, path.len - (uint32_t) (slash + 1 - path.ptr) } : path;
}

struct text path_folder (struct text path)
{
    uint32_t name_len = path_name (path).len;
    return (struct text){ path.ptr, path.len - name_len - (path.len > name_len + 1) };
}

const char *path_folder_c (const char *path, char out[PATH_MAX])
{
    struct text folder = path_folder (text_of (path));
    (void) text_to_c (folder.len ? folder : TEXT_LIT ("."), out, PATH_MAX);
    return out;
}

static bool path_is_program (const char *path)
{
    struct stat st;
    if (stat (path, &st) != 0)
        return false;
    if (S_ISREG (st.st_mode))
        return access (path, X_OK) == 0;
    errno = EACCES;
    return false;
}

const char *path_find_program (const char *name, bool absolute, struct arena *arena, struct err *err)
{
    const char *set = getenv ("PATH");
    struct text rest = text_of (set && *set ? set : USUAL_PATH);
    int why = ENOENT;
    for (struct text folder; !strchr (name, '/') && text_next_item (&rest, ':', &folder);) {
        const char *path = text_format (arena, "%.*s%s%s", TEXT_ARG (folder), folder.len ? "/" : "./", name).ptr;
        if ((*path == '/' || !absolute) && path_is_program (path))
            return path;
        why = errno == EACCES ? EACCES : why;
    }
    if (strchr (name, '/') && path_is_program (name))
        return name;
    errno = strchr (name, '/') ? errno : why;
    err_errno (err, ERR_IO, "cannot start '%.200s'", name);
    return NULL;
}
