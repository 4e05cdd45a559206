/* landlock.h - allows writing in a few places and nowhere else, for this process and what it starts (landlock(7)).
 *
 * Reading and executing stay free, but for what is hidden. It holds for files whatever the name by which they are reached, and refuses mount(2)
 * as well; it knows nothing of modes, times and extended attributes. It cannot be undone and needs no_new_privs. */
#ifndef SLICEUP_WORKER_SANDBOX_LANDLOCK_H
#define SLICEUP_WORKER_SANDBOX_LANDLOCK_H

#include "common/base/err.h"
#include <stdint.h>

enum { LANDLOCK_ABI_REFER = 2, LANDLOCK_ABI_TRUNCATE = 3, LANDLOCK_ABI_SCOPE = 6 };

/* Real paths. */
struct landlock_paths {
    const char *const *open; /* folders that may be written, but for what is closed in them */
    const char *const *closed;
    const char *const *own; /* may be written wherever they are */
    uint32_t open_n, closed_n, own_n;
    /* Cannot be read either, so not be locked, but for the folder `shown` (NULL: none) in it. The first is /dev, of which
     * the devices of confine_devices.h are opened, and what `open` has. None: all is read, /dev is the program's own. */
    const char *const *hidden, *shown;
    uint32_t hidden_n;
};

int landlock_abi (void);                  /* 0: there is none */
uint64_t landlock_scopes (int abi);       /* which processes outside are cut off: see landlock_restrict */
uint64_t landlock_write_rights (int abi); /* all rights to change something that it knows */
/* `scopes`: no abstract socket of others is reached, and no process outside is sent a signal. Where a folder holds
 * something closed, only what is in it now and does not is opened, not the folder itself. Missing paths are passed
 * over. `note` has a sentence where not exactly what is hidden cannot be read: a folder above it cannot be listed. */
int landlock_restrict (const struct landlock_paths *paths, uint64_t rights, uint64_t scopes, struct err *note,
                       struct err *err);

#endif
