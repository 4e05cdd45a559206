/* landlock.h - allows writing in a few places and nowhere else, for this process and what it starts (landlock(7)).
 *
 * Reading and executing stay free, but for devices. It holds for files whatever the name by which they are reached, and refuses mount(2)
 * as well; it knows nothing of modes, times and extended attributes. It cannot be undone and needs no_new_privs. */
#ifndef SLICEUP_WORKER_SANDBOX_LANDLOCK_H
#define SLICEUP_WORKER_SANDBOX_LANDLOCK_H

#include "common/base/err.h"
#include <stdbool.h>
#include <stdint.h>

enum { LANDLOCK_ABI_REFER = 2, LANDLOCK_ABI_TRUNCATE = 3, LANDLOCK_ABI_SCOPE = 6 };

/* Real paths. */
struct landlock_paths {
    const char *const *open; /* folders that may be written, but for what is closed in them */
    const char *const *closed;
    const char *const *own; /* may be written wherever they are */
    uint32_t open_n, closed_n, own_n;
    bool host_dev; /* /dev is the host's: of it, the devices that programs need are opened, besides what `open` lists */
};

int landlock_abi (void);                  /* 0: there is none */
uint64_t landlock_scopes (int abi);       /* which processes outside are cut off: see landlock_restrict */
uint64_t landlock_write_rights (int abi); /* all rights to change something that it knows */
/* `scopes`: no abstract socket of others is reached, and no process outside is sent a signal. Where a folder holds
 * something closed, only what is in it now and does not is opened, not the folder itself. Of the host's /dev, other
 * devices than those of confine_devices.h can be neither read nor written. Missing paths are passed over. */
int landlock_restrict (const struct landlock_paths *paths, uint64_t rights, uint64_t scopes, struct err *err);

#endif
