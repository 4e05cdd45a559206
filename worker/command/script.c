#include "worker/command/script.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 256 }; /* of which the kernel reads as many (BINPRM_BUF_SIZE) */

bool script_interpreter (const char *path, char out[PATH_MAX])
{
    char line[LINE_BYTES + 1];
    int fd = open (path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read (fd, line, LINE_BYTES);
    if (fd >= 0)
        close (fd);
    if (got < 3 || line[0] != '#' || line[1] != '!')
        return false;
    line[got] = '\0';
    const char *name = line + 2 + strspn (line + 2, " \t");
    size_t len = strcspn (name, " \t\n");
    if (*name != '/')
        return false;
    memcpy (out, name, len);
    out[len] = '\0';
    return true;
}
