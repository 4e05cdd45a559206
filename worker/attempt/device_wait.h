/* device_wait.h - waits until no other process has this host's accelerator open.
 *
 * It checks again and again until the device is free or the time limit has passed, because a runtime that just ended
 * may still hold the device for a moment, and a program that starts then gets an error that looks like a broken host.
 * It never ends a process and never removes a lock file. It blocks, so it runs in a task. */
#ifndef SLICEUP_WORKER_ATTEMPT_DEVICE_WAIT_H
#define SLICEUP_WORKER_ATTEMPT_DEVICE_WAIT_H

#include "common/model/msg.h"
#include "worker/facts/host_fact_list.h"

enum { DEVICE_LOOK_MS = 500, DEVICE_SEARCH_MS = 5000 }; /* pause between two checks; time limit of one check */

/* Source of the note about a wait for a device. */
#define DEVICE_NOTE_SOURCE "device"

/* Does the program need a device that only one process can hold? */
bool device_is_wanted (const struct msg_run *run);
/* 0: it is free; `*waited` says who held it and for how long; empty: nobody. -1: still held after `limit_ms`; `*why`
 * says by whom and what to do. Texts live in `arena`; at most SENTENCE_MAX_BYTES. */
int device_wait (const struct host_fact_roots *roots, uint64_t limit_ms, struct arena *arena, struct text *waited,
                 struct text *why);

#endif
