#include "worker/command/script.h"

#include <string.h>

#include "common/io/fd.h"

enum { LINE_BYTES = 256 }; /* of which the kernel reads as many (BINPRM_BUF_SIZE) */

bool script_interpreter (const char *path, char out[PATH_MAX])
{
    char line[LINE_BYTES + 1];
    if (file_read_start (path, line, sizeof line) < 3 || line[0] != '#' || line[1] != '!')
        return false;
    const char *name = line + 2 + strspn (line + 2, " \t");
    size_t len = strcspn (name, " \t\n");
    if (*name != '/')
        return false;
    memcpy (out, name, len);
    out[len] = '\0';
    return true;
}
