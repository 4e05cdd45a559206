/* device_users.h - which processes have this host's accelerators open, as /proc shows it.
 *
 * No device is opened: opening one may be what the next program cannot do any more. It reads links only, never what
 * they point to, so a file system that hangs does not hang it. It does not wait (device_wait.h does) and ends no
 * process. It hides secrets of a command line (host_fact_list.h). What it makes lives in the arena. Processes that this
 * one may not look into, or that are outside of its pid namespace, are not seen. Any thread. */
#ifndef SLICEUP_WORKER_FACTS_DEVICE_USERS_H
#define SLICEUP_WORKER_FACTS_DEVICE_USERS_H

#include "worker/facts/host_fact_list.h"

enum { DEVICE_USERS_MAX = 8, HOLDER_DEVICE_BYTES = 63, HOLDER_COMMAND_BYTES = 160 };

/* ANY: every device file of an accelerator. EXCLUSIVE: those that one process alone can have: a TPU's, but no NVIDIA
 * GPU's, which its daemons have open all the time, and not /dev/vfio/vfio or the group of some other PCI device. */
enum device_users_of { DEVICE_USERS_OF_ANY, DEVICE_USERS_OF_EXCLUSIVE };

struct device_user {
    uint32_t pid, uid;
    uint64_t began_ms;   /* when the process began, on the clock since boot; 0: not known */
    struct text device;  /* one that it has open, "/dev/vfio/0" */
    struct text command; /* its command line: one line, cut, safe to show */
    struct text program; /* its name alone, which the same program has on other hosts, too */
};

struct device_users {
    struct device_user items[DEVICE_USERS_MAX]; /* by pid */
    uint32_t n, more;                           /* `more`: found beyond those kept */
    bool blind;                                 /* some process did not let us look */
    bool unfinished;                            /* `limit_ms` passed before all had been looked at */
};

/* Between two processes `limit_ms` is looked at: of one, 65536 descriptors at most are read. */
void device_users_find (const struct host_fact_roots *roots, enum device_users_of of, uint64_t limit_ms,
                        struct arena *arena, struct device_users *out);

#endif
