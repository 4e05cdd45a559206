/* task.h - starts a task and takes its answer: the work of an attempt that takes long, before and after a program.
 * Finding its files and its environment, asking interpreters what they load, checking or copying a cache generation,
 * waiting for a device, sealing a generation, looking whether one is still what it was, searching a log. A task is a
 * process of its own, so that heartbeats continue and a cancel can end it.
 *
 * The process is this executable again (`sliceup-worker task <what> <directory> <host>`); it reads the RUN from its
 * channel and answers there. Whoever starts a task drives its exec and asks for the answer when all of it is gone. */
#ifndef SLICEUP_WORKER_ATTEMPT_TASK_H
#define SLICEUP_WORKER_ATTEMPT_TASK_H

#include "common/base/buf.h"
#include "common/model/msg.h"
#include "worker/process/exec.h"
#include "worker/process/output.h"

enum task_kind { TASK_NONE = 0, TASK_PREPARE, TASK_SEAL, TASK_AUDIT, TASK_DEVICE, TASK_READ };

/* What it is told besides the RUN. */
struct task_request {
    const struct msg_run *run;
    uint64_t device_wait_ms; /* DEVICE */
    uint64_t output_bytes;   /* READ: what the program printed in all, and its end as printed */
    struct text tail;
    struct output_cut cut; /* READ */
    bool succeeded;        /* READ: only texts with `always` are looked for */
};

struct task_answer {
    bool done;           /* everything that was to be done holds */
    struct text problem; /* not done: one sentence, and who owns it */
    enum owner owner;
    struct text python;            /* PREPARE: of the restored environment, when the rung needs it */
    struct text kit;               /* PREPARE: folder of its files; empty: they lie where the plan has them */
    struct text helpers;           /* PREPARE: struct kit */
    LIST_OF (struct text) missing; /* PREPARE and READ, not done: sha256 of files that have to be fetched first */
    text_list loaded;        /* PREPARE: by interpreters of this host, where programs could write (interpreter.h) */
    struct text cache_state; /* PREPARE, reader: "verified", or what is wrong with the generation */
    struct seal seal;        /* SEAL */
    struct cache_view cache; /* only `storage`, whenever there is one */
    LIST_OF (struct finding)
    findings;                            /* PREPARE and AUDIT: how a generation is not what was sealed; SEAL: how it is
                                          * not what it began from. At most FINDINGS_MAX. An AUDIT with some is done */
    struct text waited;                  /* DEVICE, done: who had it until then; empty: nobody */
    LIST_OF (struct sighting) sightings; /* READ: as in struct result */
    LIST_OF (struct text) shown;
};

bool task_prepare_is_needed (const struct msg_run *run);
/* Is there a published generation to hold against its manifest again when the program is gone? */
bool task_audit_is_needed (const struct msg_run *run);
/* `host` is this host's name in the plan. `report_fd` becomes the process's standard error. `*channel_fd` is the
 * caller's, for task_take_answer. NULL on error. */
struct exec *task_start (enum task_kind kind, const struct task_request *request, struct text host,
                         const char *directory, int report_fd, int *channel_fd, struct err *err);
/* After exec_all_gone. Always gives an answer; one that never came is not done. Closes `channel_fd`. */
void task_take_answer (int channel_fd, const struct exec_end *end, struct arena *arena, struct task_answer *answer);

/* The process itself; argv[0] is "task". Exit status 0 when it has answered. */
int task_main (int argc, char **argv);

/* What a worker and the process of a task say to each other: one order, then one answer.
 *
 * For the files of tasks only. -1 with `err` where the other end says nothing that can be understood. */
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
