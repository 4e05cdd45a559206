/* device_users.h - finds the processes that have this host's accelerators open, from /proc.
 *
 * It opens no device, because that could keep the next program from opening it. It reads only links, never their
 * targets, so that a hanging file system does not hang it. It does not wait (device_wait.h does) and ends no process.
 * It hides secrets of a command line (host_fact_list.h). Results live in the arena. It misses processes that it may not
 * inspect, or outside its pid namespace. Any thread. */
#ifndef SLICEUP_WORKER_FACTS_DEVICE_USERS_H
#define SLICEUP_WORKER_FACTS_DEVICE_USERS_H

#include "worker/facts/host_fact_list.h"

enum { DEVICE_USERS_MAX = 8, HOLDER_DEVICE_BYTES = 63, HOLDER_COMMAND_BYTES = 160 };

/* ANY: every device file of an accelerator. EXCLUSIVE: only those that a single process can hold: a TPU's, but no
 * NVIDIA GPU's, which daemons always have open, and not /dev/vfio/vfio or the group of another PCI device. */
enum device_users_of { DEVICE_USERS_OF_ANY, DEVICE_USERS_OF_EXCLUSIVE };

struct device_user {
    uint32_t pid;
    bool exclusive;      /* of a device that only one process can hold: EXCLUSIVE above */
    uint64_t began_ms;   /* when the process began, on the clock since boot; 0: not known */
    struct text device;  /* a device that it has open, "/dev/vfio/0"; an exclusive one, if there is one */
    struct text command; /* its command line: one line, cut, safe to show */
    struct text program; /* only its name, equal on all hosts with that program */
};

struct device_users {
    struct device_user items[DEVICE_USERS_MAX]; /* by pid */
    uint32_t n, more;                           /* `more`: found beyond those kept */
    bool blind;                                 /* some process could not be inspected */
    bool unfinished;                            /* `limit_ms` passed before all were inspected */
};

/* `limit_ms` is checked between processes; at most 65536 descriptors of one are read. */
void device_users_find (const struct host_fact_roots *roots, enum device_users_of of, uint64_t limit_ms,
                        struct arena *arena, struct device_users *out);

/* "/dev/vfio/0 is held by 4232 /opt/old/train.py 3000, since 2 h and by 1 other process": the first holder of an
 * exclusive device. Empty: none. host_remedy (coordinator/verdict/going_on.h) reads it. */
struct text device_users_sentence (const struct device_users *users, struct arena *arena);

#endif
