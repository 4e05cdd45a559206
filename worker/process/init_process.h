/* init_process.h - the init process itself, between its two ends; private to init process*.c. */
#ifndef SLICEUP_WORKER_PROCESS_INIT_PROCESS_H
#define SLICEUP_WORKER_PROCESS_INIT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum init_step { INIT_READY = 0, INIT_IDENTITY, INIT_MOUNTS, INIT_PROC, INIT_SIGNALS };
enum { INIT_MAP_BYTES = 32, PID_NAMESPACE_SWEEP = 's' };

/* Made before the fork: afterwards nothing may be formatted or allocated. */
struct init_settings {
    bool user_namespace;
    char uid_map[INIT_MAP_BYTES], gid_map[INIT_MAP_BYTES];
    char *words; /* the memory that ps shows as this process's arguments; NULL: unknown */
    size_t words_bytes;
};

/* READY comes with a descriptor: the init process's root directory, which only it can name for certain (the worker's
 * /proc may be that of another pid namespace). */
struct init_report {
    int step, code;
};
struct init_swept_report {
    uint32_t strays;
};

/* `control_fd` is the init process's own; `other_fd` is the worker's end of it, inherited. */
_Noreturn void init_process (const struct init_settings *request, int control_fd, int other_fd);

#endif
