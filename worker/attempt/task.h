/* task.h - starts a task and takes its answer: the slow work of an attempt, before and after a program: finding its
 * files and its environment, asking interpreters what they load, checking or copying a cache generation, waiting for a
 * device, sealing or auditing a generation, searching a log. A task is a process of its own, so that heartbeats
 * continue and a cancel can end it.
 *
 * The process is this executable again (`sliceup-worker task <what> <directory> <host>`); it reads the RUN from its
 * channel and answers there. The caller drives the task's exec and takes the answer when all its processes are gone. */
#ifndef SLICEUP_WORKER_ATTEMPT_TASK_H
#define SLICEUP_WORKER_ATTEMPT_TASK_H

#include "common/base/buf.h"
#include "common/model/msg.h"
#include "worker/process/exec.h"
#include "worker/process/output.h"

enum task_kind { TASK_NONE = 0, TASK_PREPARE, TASK_SEAL, TASK_AUDIT, TASK_DEVICE, TASK_READ };

/* Input besides the RUN. */
struct task_request {
    const struct msg_run *run;
    uint64_t device_wait_ms; /* DEVICE */
    uint64_t output_bytes;   /* READ: size of the program's whole output, and its unmodified end */
    struct text tail;
    struct output_cut cut; /* READ */
    bool succeeded;        /* READ: search only texts with `always` */
};

struct task_answer {
    bool done;           /* all of the work succeeded */
    struct text problem; /* not done: one sentence, and its owner */
    enum owner owner;
    struct text python;            /* PREPARE: of the restored environment, if the rung needs it */
    struct text kit;               /* PREPARE: folder of its files; empty: at the plan's paths */
    struct text helpers;           /* PREPARE: struct kit */
    LIST_OF (struct text) missing; /* PREPARE and READ, not done: sha256 of files to fetch first */
    text_list loaded;        /* PREPARE: loaded by this host's interpreters and writable by programs (interpreter.h) */
    struct text cache_state; /* PREPARE, reader: "verified", or what is wrong with the generation */
    struct seal seal;        /* SEAL */
    struct cache_view cache; /* only `storage`, if there is a cache */
    LIST_OF (struct finding)
    findings;           /* differences from what was sealed, for SEAL from its base; an AUDIT with some is done */
    struct text waited; /* DEVICE, done: who held it before; empty: nobody */
    LIST_OF (struct sighting) sightings; /* READ: as in struct result */
    LIST_OF (struct text) shown, stack;
    var_list versions; /* PREPARE: of a command without pins (installed.h) */
    struct text found; /* READ, of a failure: what is full, or who holds the device; empty: the log asks for neither */
};

bool task_prepare_is_needed (const struct msg_run *run);
/* Must a published generation be audited after the program's end? */
bool task_audit_is_needed (const struct msg_run *run);
/* `host` is this host's name in the plan. `report_fd` becomes the process's standard error. The caller owns
 * `*channel_fd`, for task_take_answer. NULL on error. */
struct exec *task_start (enum task_kind kind, const struct task_request *request, struct text host,
                         const char *directory, int report_fd, int *channel_fd, struct err *err);
/* Call it after exec_all_gone. Always gives an answer: "not done" if none came. Closes `channel_fd`. */
void task_take_answer (int channel_fd, const struct exec_end *end, struct arena *arena, struct task_answer *answer);

/* The process itself; argv[0] is "task". Exit status 0: it has answered. */
int task_main (int argc, char **argv);

/* Messages between a worker and the process of a task: one request, then one answer.
 *
 * For the files of tasks only. -1 with `err` if the other end's message is invalid. */
extern const struct enum_names task_kind_names;

/* Texts of `run` and the request live as long as `bytes` and `arena`; the caller always releases `bytes`. */
int task_channel_get_request (int fd, struct buf *bytes, struct arena *arena, struct msg_run *run,
                              struct task_request *request, struct err *err);
/* Puts a failure into the answer; always -1. */
int task_answer_set_failure (struct task_answer *answer, struct arena *arena, enum owner owner, const struct err *err);
int task_channel_put_answer (int fd, const struct task_answer *answer, struct err *err);

#endif
