/* task_channel.h - what a worker and the process of a task say to each other: one order, then one answer.
 *
 * For the files of tasks only. -1 with `err` where the other end says nothing that can be understood. */
#ifndef SLICEUP_WORKER_ATTEMPT_TASK_CHANNEL_H
#define SLICEUP_WORKER_ATTEMPT_TASK_CHANNEL_H

#include "common/base/buf.h"
#include "worker/attempt/task.h"

extern const struct enum_names task_kind_names;

/* A pair of descriptors; the order is already in it, for who reads the second one. Both are the caller's. */
int task_channel_open (const struct task_request *request, int pair[2], struct err *err);
/* Texts of `run` and `order` live as long as `bytes`, which the caller releases in any case, and `arena`. */
int task_channel_get_request (int fd, struct buf *bytes, struct arena *arena, struct msg_run *run,
                              struct task_request *request, struct err *err);
/* Puts a failure into the answer; always -1. */
int task_answer_set_failure (struct task_answer *answer, struct arena *arena, enum owner owner, const struct err *err);
int task_channel_put_answer (int fd, const struct task_answer *answer, struct err *err);
/* Texts live in `arena`. `sound`: the process exited with 0; what any other said is not taken. */
int task_channel_get_answer (int fd, bool sound, struct arena *arena, struct task_answer *answer, struct err *err);

#endif
