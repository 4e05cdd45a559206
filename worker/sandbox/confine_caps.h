/* confine_caps.h - the capabilities that a confined program keeps (capabilities(7)). All others, also those of later
 * kernels, are dropped. */
#ifndef SLICEUP_WORKER_SANDBOX_CONFINE_CAPS_H
#define SLICEUP_WORKER_SANDBOX_CONFINE_CAPS_H

#include "common/base/err.h"
#include <stdbool.h>
#include <stdint.h>

/* Kept are those that root's programs and device runtimes use and that undo no mount: owners and modes of files,
 * signals, other ids, locked memory, priorities, limits. Dropped with the others: mounts (SYS_ADMIN), other processes'
 * roots (SYS_PTRACE, CHECKPOINT_RESTORE), file handles (DAC_READ_SEARCH), devices (MKNOD, SYS_RAWIO), the kernel
 * (SYS_MODULE, SYS_BOOT, BPF, PERFMON, MAC_*), getting them back (SETPCAP, SETFCAP), leaving a root (SYS_CHROOT), and
 * ports that an NFS server trusts as the host's kernel (NET_BIND_SERVICE, NET_RAW, NET_ADMIN; exports(5), secure). */
extern const uint64_t confine_caps_kept;

bool confine_caps_have (int capability); /* effective */
/* Drops all but `kept` from the bounding, permitted, effective, inheritable and ambient sets. */
int confine_caps_keep (uint64_t kept, struct err *err);

#endif
