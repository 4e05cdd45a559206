/* wheels.h - the wheels that an environment is built from, in one folder of the worker: <directory>/wheels.
 *
 * Where this host has a wheel at the plan's path, a link stands for it; others are fetched, piece by piece to the disk,
 * and stand there once their sha256 is that of the plan. What is there is held against its sha256 each time. Knows no
 * sockets and no pip. One at a time in a directory; main thread of whoever calls, waits for disks. */
#ifndef SLICEUP_WORKER_FILES_WHEELS_H
#define SLICEUP_WORKER_FILES_WHEELS_H

#include "common/base/err.h"
#include "common/model/msg.h"

/* Does the program of this RUN build from wheels? Not when it only looks. */
bool wheels_are_needed (const struct msg_run *run);
/* Links what is here and names what is not: `missing` (sha256, room for all of the plan), in `arena`. */
int wheels_link_present (const struct msg_run *run, const char *directory, struct arena *arena, struct text *missing,
                         uint32_t *missing_n, struct err *err);
struct text wheels_folder (struct text directory, struct arena *arena);
/* The wheel with this sha256; NULL: the plan has none. */
const struct kit_file *wheels_find_by_sha256 (const struct msg_run *run, struct text sha256);

/* One on its way. */
struct wheel;
struct wheel *wheel_begin (const char *directory, struct text name, struct err *err);
int wheel_add (struct wheel *wheel, struct text bytes, struct err *err);
uint64_t wheel_received_bytes (const struct wheel *wheel);
/* Puts it in its place. Frees `wheel` in any case; -1: its sha256 differs, or the disk fails; nothing is left then. */
int wheel_end (struct wheel *wheel, struct text sha256, struct err *err);
void wheel_drop (struct wheel *wheel); /* NULL is fine */

#endif
