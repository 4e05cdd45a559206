/* keeper_process.h - the keeper itself, between its two ends; private to keeper*.c. */
#ifndef SLICEUP_WORKER_PROCESS_KEEPER_PROCESS_H
#define SLICEUP_WORKER_PROCESS_KEEPER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum keeper_step { KEEPER_READY = 0, KEEPER_IDENTITY, KEEPER_MOUNTS, KEEPER_PROC, KEEPER_SIGNALS };
enum { KEEPER_MAP_BYTES = 32, KEEPER_SWEEP = 's' };

/* Made before the fork: afterwards nothing may be formatted or allocated. */
struct keeper_order {
    bool user_namespace;
    char uid_map[KEEPER_MAP_BYTES], gid_map[KEEPER_MAP_BYTES];
    char *words;                /* the memory that ps shows as this process's arguments; NULL: unknown */
    size_t words_bytes;
};

/* READY comes with a descriptor: the keeper's root directory, which only it can name for certain (the worker's /proc
 * may be that of another pid namespace). */
struct keeper_report { int step, code; };
struct keeper_swept_report { uint32_t strays; };

/* `control_fd` is the keeper's own; `other_fd` is the worker's end of it, inherited. */
_Noreturn void keeper_process (const struct keeper_order *order, int control_fd, int other_fd);

#endif
