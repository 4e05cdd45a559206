/* coord.h - the coordinator's engine: (state, input, now) -> facts and effects.
 *
 * Pure: no clock, socket, file or thread. Deciding never changes state; every change is a fact that coord_apply folds
 * in, and replaying the durable facts alone rebuilds the state. Effects are orders to the driver, in order; an effect
 * after a durable fact must wait until that fact is durable.
 *
 * Use: coord_create; on a new run coord_open, on a resumed one coord_apply for each journaled fact and then
 * coord_resume; afterwards coord_step for every input, with one `now_ms` a pass; sleep until coord_deadline_ms. */
#ifndef SLICEUP_COORDINATOR_CORE_COORD_H
#define SLICEUP_COORDINATOR_CORE_COORD_H

#include "common/base/digest.h"
#include "common/model/fact.h"
#include "common/model/lease.h"

enum input_kind {
    IN_TICK,              /* time passed */
    IN_MSG,               /* an authenticated message */
    IN_WORKER_KEYED,      /* the launcher got a worker's public key over its own channel */
    IN_WORKER_EXITED,     /* the launcher saw the worker process end, or could not start it */
    IN_WORKER_STEP,       /* the launcher begins a step of starting it */
    IN_RUN_UNDELIVERABLE, /* the RUN for `key` cannot be sent to `host` at all; `text` says why */
    IN_CACHE_FOUND,       /* answer to FX_CACHE_FIND */
    IN_TOKEN,             /* answer to FX_TOKEN */
    IN_LEASE_TAKEN,       /* another run took over the catalogue's lease of `token`, believing our writer dead */
    IN_CACHE_AUDITED,     /* answer to FX_CACHE_AUDIT */
    IN_CANCEL,            /* the user, level 1..3 */
    IN_OUTPUT,            /* the last lines printed by awaited hosts */
    IN_LOOK,              /* somebody asks where the programs stand */
    IN_HOST_ASKED,        /* answer to FX_ASK_HOST */
    IN_OUTPUT_LOST,       /* output of `host` could not be stored here; `text` says why */
};
struct core_input {
    enum input_kind kind;
    uint32_t host; /* MSG (from its key, never from the message), WORKER_*, ORDER_UNSAID */
    const struct msg *msg;
    struct text text; /* KEYED: the key; EXITED: why; STEP: its name; TOKEN, CACHE_FOUND: the problem, if any */
    uint64_t token;   /* TOKEN: 0 when there is a problem; CACHE_FOUND: 0 when nothing fits */
    const struct fact_generation *generation; /* CACHE_FOUND */
    uint32_t level;                           /* CANCEL */
    struct attempt_key key;                   /* ORDER_UNSAID, OUTPUT_LOST */
    struct lease_owner lease_owner; /* TOKEN, with token 0 and no problem: who writes this bundle's cache now */
    const struct cache_root_finding *findings; /* CACHE_AUDITED; `text`: why the audit failed, if it did */
    uint32_t findings_n;
    const struct fact_host_asked *asked;      /* HOST_ASKED */
    const struct fact_output_awaited *output; /* OUTPUT; lives until the outbox is taken */
};

enum effect_kind {
    FX_LAUNCH,        /* start the worker of `host` */
    FX_SEND,          /* `msg` to `host`: the driver fills run_id, epoch, session, seq, ack */
    FX_ADMIT,         /* `host` may connect with `text`, its public key */
    FX_ASK_HOST,      /* `host` is silent: does its machine answer? */
    FX_CACHE_FIND,    /* find a published generation for bundle `text`, and mark its `covers` as used */
    FX_TOKEN,         /* take bundle `text`'s lease and the next token, above `token`; from `lease_owner`, if any */
    FX_LEASE_BEAT,    /* our writer lives: raise the beat of the lease of `token` */
    FX_LEASE_END,     /* give up the lease of `token`; `flag`: not sealed, so the generation is abandoned */
    FX_CACHE_AUDIT,   /* audit the root of bundle `text` */
    FX_CACHE_DROP,    /* quarantine `token`: no run finds it any more */
    FX_CACHE_PUBLISH, /* record `generation` in the catalogue for later runs, and end its lease */
    FX_END,           /* the run is over: flush, tell monitors, leave with exit_status */
    FX_FACTS_LOST,    /* the journal lacks acknowledged facts, as `text` explains: leave silently */
};
struct effect {
    enum effect_kind kind;
    uint32_t host;
    uint64_t session;      /* SEND */
    const struct msg *msg; /* SEND; lives until outbox_clear */
    struct text text;
    const struct fact_generation *generation;
    uint32_t exit_status;
    uint64_t token;
    bool flag;
    struct lease_owner lease_owner; /* TOKEN: take over only from this owner; token 0: from nobody */
    struct text storage;            /* CACHE_AUDIT: id of the storage that the hosts see; empty: not known */
    text_list covers; /* CACHE_FIND, CACHE_PUBLISH: covers that this run's ladder uses; live as long as `msg` */
};

/* Products of a step, in order: facts (already applied) and effects. Items live in `arena` until outbox_clear. */
struct outbox_item {
    bool is_fact;
    struct fact fact;
    struct effect effect;
};
struct outbox {
    struct outbox_item *items;
    uint32_t n, capacity;
    struct arena arena;
};
void outbox_init (struct outbox *out);
void outbox_clear (struct outbox *out);
void outbox_release (struct outbox *out);

struct coord;
struct coord *coord_create (void);
void coord_destroy (struct coord *coord);

/* A resumed run waits at least this long for a worker: longer than its slowest reconnect, 5 s. */
enum { COORD_COME_BACK_MS = 8000 };
/* A new run. `deal_key`, here and below: secret, the same for all coordinators of the run. Emits RUN_OPENED,
 * EPOCH_BEGAN and the launches. */
void coord_open (struct coord *coord, struct text run_id_hex, const struct plan *plan, const struct digest *deal_key,
                 struct text version, uint64_t pid, uint64_t now_ms, struct outbox *out);
/* After replay: a new epoch over the same run. Emits EPOCH_BEGAN; waits for the workers to come back. */
/* `wall_ms`: Unix time now, to compute how long there was no coordinator; 0: unknown. */
void coord_resume (struct coord *coord, const struct digest *deal_key, uint64_t pid, uint64_t wall_ms, uint64_t now_ms,
                   struct outbox *out);
void coord_step (struct coord *coord, const struct core_input *in, uint64_t now_ms, struct outbox *out);
void coord_apply (struct coord *coord, const struct fact *fact);
/* The next instant at which coord_step (IN_TICK) has something to do; UINT64_MAX: none. */
uint64_t coord_deadline_ms (const struct coord *coord);

/* Read side. */
const struct plan *coord_plan (const struct coord *coord);
uint64_t coord_epoch (const struct coord *coord);
/* The highest sequence number received from a host's worker in its session; an answer acknowledges it. */
uint64_t coord_seen_seq (const struct coord *coord, uint32_t host);
/* The recorded public key of a host's worker; empty: none yet. */
struct text coord_worker_key (const struct coord *coord, uint32_t host);
/* The process of a joined worker; false: it is not joined. */
bool coord_worker_process (const struct coord *coord, uint32_t host, uint64_t *pid, uint64_t *pid_start);
/* Hosts that have not ended in the running pass, into `hosts` (as many items as the plan has hosts); NULL: only whether there is one. */
uint32_t coord_awaited_hosts (const struct coord *coord, struct attempt_key *key, uint32_t *hosts);
bool coord_ended (const struct coord *coord, uint32_t *exit_status);
bool coord_is_cancelled (const struct coord *coord);
/* A RUN message of a rung for `host`, to measure its size. Numbers, digests and the bundle's name are not known yet and
 * are 0 or empty. Texts are the plan's, or in `arena`. */
struct msg_run coord_run_message_sample (const struct plan *plan, uint32_t rung, uint32_t host, struct arena *arena);

#endif
