/* device_lock.h - takes the devices of this host for this process, until it ends; refuses with libtpu's texts when another
 * process has them.
 *
 * What is taken are names of the abstract socket space, which a process loses when it ends: of this network namespace, or, where
 * several hosts are in one, of `host`. libtpu's lock comes first (openxla/xla:xla/tpu/tpu_initialize_util.cc); the device itself
 * refuses a second opener also where that lock is switched off. A file /dev/vfio/0 is kept open where there is one, so that whoever
 * looks for holders of devices finds this process. */
#ifndef SLICEUP_WORKER_STANDIN_DEVICE_LOCK_H
#define SLICEUP_WORKER_STANDIN_DEVICE_LOCK_H

#include "worker/standin/refusal.h"

/* `host` may be NULL. */
int device_lock_take (const char *host, bool lock_file, struct refusal *refusal);

#endif
