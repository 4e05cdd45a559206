/* driver.h - the shell around the coordinator's core: turns messages, ended workers, time and signals into inputs,
 * writes facts to the journal, and performs effects in order, each only once the facts before it are durable.
 *
 * One `now` a pass of the loop. Everything here runs on the loop's thread. */
#ifndef SLICEUP_COORDINATOR_RUN_DRIVER_H
#define SLICEUP_COORDINATOR_RUN_DRIVER_H

#include "common/io/link.h"
#include "common/io/log.h"
#include "common/io/loop.h"
#include "coordinator/core/coord.h"
#include "coordinator/journal/run_dir.h"

/* Gets every fact, soft ones too, once it and all before it are durable. `bytes`: as in the journal and on the wire. */
typedef void driver_fact_fn (void *owner, enum fact_kind kind, struct text bytes);
struct driver_options {
    const struct run_dir *dir;
    const struct log *log;
    const char *version;
    const char *worker_path;                /* for launcher local */
    const char *courier_path, *bundle_path; /* for launchers ssh and slurm */
    struct text password;                   /* for launcher ssh: launch.h */
    const char *address;                    /* to bind if the plan names none; NULL: the launcher's default */
    driver_fact_fn *watch;                  /* the run's own view; may be NULL */
    uint32_t cancel;                        /* for a resumed run: level of driver_cancel, before anything else; 0: no */
    void *owner;
};

struct driver;
/* Begins a new run of `plan`. */
struct driver *driver_open (struct loop *loop, const struct driver_options *options, const struct plan *plan,
                            struct err *err);
/* Takes over a run whose coordinator is gone: replays its journal, binds the same ports with the same keys. ERR_STATE:
 * another coordinator still holds it; ERR_DAMAGE: the journal is not what was written. */
struct driver *driver_resume (struct loop *loop, const struct driver_options *options, struct err *err);
void driver_close (struct driver *driver);
/* The user wants it to stop: level 1 politely, 2 at once; 3 leaves without waiting. */
void driver_cancel (struct driver *driver, uint32_t level);
void driver_look (struct driver *driver); /* asks all workers where their programs stand; they tell it as they report */
/* Did it end, and how? `problem` says why if the driver itself had to stop (journal failed). */
bool driver_has_ended (const struct driver *driver, uint32_t *exit_status, struct err *problem);
/* Lengths of queues: facts for the journal, effects waiting for facts, work for the disk, pieces of logs. */
struct driver_queues {
    uint64_t journal, effects, disk, logs;
};
void driver_count_queues (const struct driver *driver, struct driver_queues *out);

#endif
