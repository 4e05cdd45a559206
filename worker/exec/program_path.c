#include "common/base/text.h"
#include "worker/exec/remote_exec.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define USUAL_PATH "/usr/local/bin:/usr/bin:/bin"

static bool is_program (const char *path)
{
    struct stat st;
    if (stat (path, &st) != 0)
        return false;
    if (S_ISREG (st.st_mode))
        return access (path, X_OK) == 0;
    errno = EACCES;
    return false;
}

const char *program_path_find (const char *name, struct arena *arena, struct err *err)
{
    const char *set = getenv ("PATH");
    struct text rest = text_of (set && *set ? set : USUAL_PATH);
    int why = ENOENT;
    for (bool more = !strchr (name, '/'); more;) {
        more = memchr (rest.ptr, ':', rest.len) != NULL;
        struct text folder = text_take_until (&rest, ':');
        const char *path = text_format (arena, "%.*s%s%s", TEXT_ARG (folder), folder.len ? "/" : "./", name).ptr;
        if (is_program (path))
            return path;
        why = errno == EACCES ? EACCES : why;
    }
    if (strchr (name, '/') && is_program (name))
        return name;
    errno = strchr (name, '/') ? errno : why;
    err_errno (err, ERR_IO, "cannot start '%.200s'", name);
    return NULL;
}
