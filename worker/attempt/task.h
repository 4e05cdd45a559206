/* task.h - starts a task and takes its answer: the slow work of an attempt, before and after a program: finding its
 * files and its environment, asking interpreters what they load, checking or copying a cache generation, waiting for a
 * device, sealing or auditing a generation, searching a log. A task is a process of its own, so that heartbeats
 * continue and a cancel can end it.
 *
 * The process is this executable again (`sliceup-worker task <what> <directory> <host>`); it reads the RUN from its
 * channel and answers there. The caller drives the task's exec and takes the answer when all its processes are gone. */
#ifndef SLICEUP_WORKER_ATTEMPT_TASK_H
#define SLICEUP_WORKER_ATTEMPT_TASK_H

#include "common/model/msg.h"
#include "worker/facts/host_fact_list.h"
#include "worker/process/exec.h"
#include "worker/process/output.h"

enum task_kind { TASK_NONE = 0, TASK_PREPARE, TASK_SEAL, TASK_AUDIT, TASK_DEVICE, TASK_READ };

/* Input besides the RUN. */
struct task_request {
    const struct msg_run *run;
    struct text run_bytes;   /* task.c: it on the way */
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
    text_list loaded;        /* PREPARE: loaded by this host's interpreters and writable by programs (interpreter.c) */
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

/* ---- cache_task.c ---- */

/* The work of a task on the shared compile cache: prepare, seal and audit.
 *
 * Functions fill `answer` and handle whole generations: call them only in the task's process. Texts live in `arena`. */

struct task_context {
    const char *directory; /* of the worker */
    struct text host;
};

/* Prepares the generation of the RUN and links <directory>/cache/generation, the one path that programs see, to it. */
int cache_task_prepare (const struct task_context *context, const struct cache_access *access, struct arena *arena,
                        struct task_answer *answer);
void cache_task_seal (const struct cache_access *access, struct arena *arena, struct task_answer *answer);
void cache_task_audit (const struct cache_access *access, struct arena *arena, struct task_answer *answer);

/* Remembers which generations this worker has verified byte by byte since the host booted.
 *
 * <directory>/verified: one digest a line, of host boot, cache, token and manifest. It avoids reading large entries
 * again. A lost, damaged or forged record changes only how much is read again. */
bool verified_contains (const char *directory, const struct cache_access *access);
/* Keeps the newest; replaces the file atomically. */
int verified_note (const char *directory, const struct cache_access *access, struct err *err);

/* ---- device_wait.c ---- */

/* Waits until no other process has this host's accelerator open.
 *
 * It checks again and again until the device is free or the time limit has passed, because a runtime that just ended
 * may still hold the device for a moment, and a program that starts then gets an error that looks like a broken host.
 * It never ends a process and never removes a lock file. It blocks, so it runs in a task. */

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
