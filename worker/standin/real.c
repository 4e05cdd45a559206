#include "worker/standin/client.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define PLUGIN "/lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so"
static const struct pjrt_api *real;

/* ".../site-packages/jaxlib/x.so" (jax), ".../site-packages/x.so" (torch_xla) -> ".../site-packages". */
static bool folder_of_packages (const void *caller, char *path, size_t size)
{
    Dl_info info;
    if (dladdr (caller, &info) == 0 || !info.dli_fname)
        return false;
    int len = snprintf (path, size, "%s", info.dli_fname);
    char *file = len > 0 && (size_t) len < size ? strrchr (path, '/') : NULL;
    char *package = file ? strstr (path, "/jaxlib/") : NULL;
    if (file)
        *(package ? package : file) = '\0';
    return file != NULL;
}

static void *open_plugin (const void *caller, const char **why)
{
    char path[PATH_MAX];
    const char *given = getenv ("SLICEUP_STANDIN_PLUGIN");
    *why = "it is neither named by SLICEUP_STANDIN_PLUGIN nor installed beside jaxlib or torch_xla (package "
           "lammps_jax_pjrt_cpu)";
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

/* ---- callers of an older interface ----
 *
 * The plugin refuses arguments that are shorter than its own, and takes longer ones; what an older caller does not know is
 * 0 (openxla/xla:xla/pjrt/c/README.md). So each call is passed on with arguments of this size, and options likewise. */
enum { ROOM_BYTES = 512, PLUGIN_ATTRIBUTES_BYTES = 32 };
union room {
    size_t struct_size;
    char bytes[ROOM_BYTES];
};

static void *widened (const void *given, size_t size, union room *room)
{
    memset (room, 0, sizeof *room);
    memcpy (room, given, size);
    room->struct_size = sizeof *room;
    return room;
}

static bool older; /* set while the library is looked at, before its client is made */

bool real_caller_is_older (void)
{
    return older;
}

void *real_call (size_t slot, void *args)
{
    const size_t told = *(size_t *) args;
    /* Older callers leave the last of these out of their size, and read it (openxla/xla:xla/pjrt/c/CHANGELOG.md). */
    older |= slot == PJRT_PLUGIN_ATTRIBUTES && told < PLUGIN_ATTRIBUTES_BYTES;
    const size_t size = slot == PJRT_PLUGIN_ATTRIBUTES ? PLUGIN_ATTRIBUTES_BYTES : told;
    union room room, options;
    if (size >= sizeof room)
        return pjrt_function (real, slot) (args);
    struct pjrt_execute *execute = widened (args, size, &room);
    if (slot == PJRT_LOADED_EXECUTE && execute->options && execute->options->struct_size < sizeof options)
        execute->options = widened (execute->options, execute->options->struct_size, &options);
    void *error = pjrt_function (real, slot) (&room);
    if (slot == PJRT_LOADED_EXECUTE)
        execute->options = ((struct pjrt_execute *) args)->options;
    room.struct_size = told;
    memcpy (args, &room, size);
    return error;
}

#define PASS(high, low)                                                                                                \
    static void *pass_##high##low (void *args)                                                                         \
    {                                                                                                                  \
        return real_call (0x##high##low * sizeof (void *), args);                                                      \
    }
#define ROW(each, high)                                                                                                \
    each (high, 0) each (high, 1) each (high, 2) each (high, 3) each (high, 4) each (high, 5) each (high, 6)           \
        each (high, 7) each (high, 8) each (high, 9) each (high, a) each (high, b) each (high, c) each (high, d)       \
            each (high, e) each (high, f)
#define ROWS(each)                                                                                                     \
    ROW (each, 0)                                                                                                      \
    ROW (each, 1)                                                                                                      \
    ROW (each, 2) ROW (each, 3) ROW (each, 4) ROW (each, 5) ROW (each, 6) ROW (each, 7) ROW (each, 8) ROW (each, 9)
#define NAMED(high, low) pass_##high##low,
ROWS (PASS)
static pjrt_fn *const passes[] = { ROWS (NAMED) };

void real_put_passes (void *table)
{
    for (size_t i = PJRT_ERROR_DESTROY / sizeof passes[0]; i < sizeof passes / sizeof passes[0]; i++)
        if (pjrt_function (real, i * sizeof passes[0]))
            memcpy ((char *) table + i * sizeof passes[0], &passes[i], sizeof passes[0]);
}
