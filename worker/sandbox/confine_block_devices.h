/* confine_block_devices.h - finds block devices, and devices that pass commands to disks: a program that may write
 * these can write any file system on them, whatever its mounts allow. */
#ifndef SLICEUP_WORKER_SANDBOX_CONFINE_BLOCK_DEVICES_H
#define SLICEUP_WORKER_SANDBOX_CONFINE_BLOCK_DEVICES_H

#include "common/base/err.h"
#include "common/base/mem.h"
#include <stdint.h>

enum { CONFINE_DEVICES_MAX = 1024 };

struct confine_devices {
    const char *paths[CONFINE_DEVICES_MAX];
    uint32_t n;
};
/* Those in /dev and the folders in it. */
int confine_list_block_devices (struct arena *arena, struct confine_devices *out, struct err *err);

#endif
