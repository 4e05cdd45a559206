#include "worker/standin/client.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define PLUGIN "/lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so"
static const struct pjrt_api *real;

/* ".../site-packages/jaxlib/x.so" -> ".../site-packages". */
static bool folder_of_packages (const void *caller, char *path, size_t size)
{
    Dl_info info;
    if (dladdr (caller, &info) == 0 || !info.dli_fname)
        return false;
    int len = snprintf (path, size, "%s", info.dli_fname);
    char *package = len > 0 && (size_t) len < size ? strstr (path, "/jaxlib/") : NULL;
    if (package)
        *package = '\0';
    return package != NULL;
}

static void *open_plugin (const void *caller, const char **why)
{
    char path[PATH_MAX];
    const char *given = getenv ("SLICEUP_STANDIN_PLUGIN");
    *why = "it is neither named by SLICEUP_STANDIN_PLUGIN nor installed beside jaxlib (package lammps_jax_pjrt_cpu)";
    if (given && given[0]) {
        snprintf (path, sizeof path, "%s", given);
    } else {
        if (!folder_of_packages (caller, path, sizeof path - sizeof PLUGIN))
            return NULL;
        strcat (path, PLUGIN);
    }
    void *library = dlopen (path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        *why = dlerror ();
    return library;
}

const struct pjrt_api *real_load (const void *caller, const char **why)
{
    const struct pjrt_api *(*get) (void);
    void *library = open_plugin (caller, why);
    if (!library)
        return NULL;
    void *symbol = dlsym (library, "GetPjrtApi");
    memcpy (&get, &symbol, sizeof get);
    real = symbol ? get () : NULL;
    *why = "it is no PJRT plugin of version 0.57 or later";
    bool good = real && real->struct_size >= PJRT_API_LEAST_BYTES && real->version.major == PJRT_MAJOR &&
                real->version.minor > PJRT_MINOR_MOVED;
    return good ? real : NULL;
}

bool real_has (size_t slot)
{
    return pjrt_function (real, slot) != NULL;
}

void *real_call (size_t slot, void *args)
{
    return pjrt_function (real, slot) (args);
}
