/* confine_devices.h - which device nodes a program may use: those that programs need, told by what the kernel says that
 * they are, wherever they lie and whatever their names. All others are kept from it: who can open a disk, by whatever
 * node, has every file system on it, and who can open a terminal reads what is typed there. */
#ifndef SLICEUP_WORKER_SANDBOX_CONFINE_DEVICES_H
#define SLICEUP_WORKER_SANDBOX_CONFINE_DEVICES_H

#include <stdbool.h>
#include <sys/stat.h>

/* `kind`: S_IFCHR, S_IFBLK. `number`: "1:3". `what`: the names of subsystem and device in /sys, "mem/null"; of a driver
 * without any its name in /proc/devices, "nvidia/". */
bool confine_device_is_allowed (mode_t kind, const char *number, const char *what);
/* The same of a node; anything else than a device is allowed. */
bool confine_device_node_is_allowed (const struct stat *at);
/* Of a folder in /dev: it lies in a file system that holds nodes (devtmpfs, tmpfs, that of the root), not in devpts or
 * proc. */
bool confine_devices_may_be_in (const char *folder);

#endif
