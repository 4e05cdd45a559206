#include "worker/io/self.h"

#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *program = "/proc/self/exe";

static bool is_program (const char *path)
{
    struct stat at;
    return path[0] == '/' && stat (path, &at) == 0 && S_ISREG (at.st_mode) && access (path, X_OK) == 0;
}

void self_set (const char *argv0, bool by_loader)
{
    if (by_loader && argv0 && is_program (argv0))
        program = argv0;
}

/* The kernel gives the address of the loader that it mapped beside a program; a loader started by name has none beside
 * it (getauxval(3), AT_BASE). */
bool self_by_loader (void)
{
    return getauxval (AT_BASE) == 0;
}

const char *self_program (void)
{
    return program;
}
