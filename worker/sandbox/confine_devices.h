/* confine_devices.h - which device nodes a program may use: those that programs need, identified by the kernel's own
 * names, whatever their path. All others are refused: a program that can open a disk, by any node, has every file
 * system on it, and one that can open a terminal reads what is typed there. */
#ifndef SLICEUP_WORKER_SANDBOX_CONFINE_DEVICES_H
#define SLICEUP_WORKER_SANDBOX_CONFINE_DEVICES_H

#include <stdbool.h>
#include <sys/stat.h>

/* `kind`: S_IFCHR, S_IFBLK. `number`: "1:3". `what`: the names of subsystem and device in /sys, "mem/null"; for a
 * driver without these its name in /proc/devices, "nvidia/". */
bool confine_device_is_allowed (mode_t kind, const char *number, const char *what);
/* The same for a node; anything but a device is allowed. */
bool confine_device_node_is_allowed (const struct stat *at);
/* Is a folder in /dev on a file system that can hold nodes (devtmpfs, tmpfs, that of the root), not devpts or proc? */
bool confine_devices_may_be_in (const char *folder);

#endif
