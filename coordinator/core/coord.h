/* coord.h - the coordinator's mind: (state, input, now) -> facts and effects.
 *
 * Pure: no clock, socket, file or thread. Deciding never changes state; every change is a fact that coord_apply folds
 * in, and replaying the durable facts alone rebuilds the state. Effects are orders to the driver, in order; an effect
 * that follows a durable fact must not be performed before that fact is durable.
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
    IN_WORKER_STEP,       /* the launcher comes to a step of starting it */
    IN_RUN_UNDELIVERABLE, /* the RUN for `key` cannot be said to `host` in any way, `text` says why */
    IN_CACHE_FOUND,       /* answer to FX_CACHE_FIND */
    IN_TOKEN,             /* answer to FX_TOKEN */
    IN_LEASE_TAKEN,       /* another run took the catalogue's lease of `token` over: it believes our writer dead */
    IN_CACHE_AUDITED,     /* answer to FX_CACHE_AUDIT */
    IN_CANCEL,            /* the user, level 1..3 */
    IN_OUTPUT,            /* what hosts that are waited for printed last */
    IN_OUTPUT_LOST,       /* output of `host` could not be kept here, `text` says why */
};
struct core_input {
    enum input_kind kind;
    uint32_t host; /* MSG (from its key, never from the message), WORKER_*, ORDER_UNSAID */
    const struct msg *msg;
    struct text text; /* MSG of a result: sha256 of its encoding, in hex; KEYED: the key; EXITED: why; STEP: its name;
                         TOKEN, CACHE_FOUND: the problem, if any */
    uint64_t token;   /* TOKEN: 0 when there is a problem; CACHE_FOUND: 0 when nothing fits */
    const struct fact_generation *generation; /* CACHE_FOUND */
    uint32_t level;                           /* CANCEL */
    struct attempt_key key;                   /* ORDER_UNSAID, OUTPUT_LOST */
    struct lease_owner lease_owner; /* TOKEN, with token 0 and no problem: who writes this bundle's cache now */
    const struct cache_root_finding
        *findings; /* CACHE_AUDITED; `text`: why it could not be looked at, if it could not */
    uint32_t findings_n;
    const struct fact_output_awaited *output; /* OUTPUT; lives until the outbox is taken */
};

enum effect_kind {
    FX_LAUNCH,        /* start the worker of `host` */
    FX_SEND,          /* `msg` to `host`: the driver fills run_id, epoch, session, seq, ack */
    FX_ADMIT,         /* `host` may connect with `text`, its public key */
    FX_CACHE_FIND,    /* is there a published generation for bundle `text`? What it has of `covers` is used again */
    FX_TOKEN,         /* take bundle `text`'s lease and the next token, above `token`; from `lease_owner`, if any */
    FX_LEASE_BEAT,    /* our writer lives: raise the beat of the lease of `token` */
    FX_LEASE_END,     /* give up the lease of `token`; `flag`: it was not sealed, the generation is abandoned */
    FX_CACHE_AUDIT,   /* look over the root of bundle `text` */
    FX_CACHE_DROP,    /* `token` is quarantined: not to be found by any run */
    FX_CACHE_PUBLISH, /* record `generation` in the catalogue for later runs, and end its lease */
    FX_END,           /* the run is over: flush, tell monitors, leave with exit_status */
    FX_FACTS_LOST,    /* the journal lacks what was acknowledged, `text` says how that is known: leave silently */
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
    struct lease_owner lease_owner; /* TOKEN: take over from exactly this one; token 0: from nobody */
    struct text storage;            /* CACHE_AUDIT: id of the storage that the hosts see; empty: not known */
    text_list covers; /* CACHE_FIND, CACHE_PUBLISH: what this run's ladder uses of a generation; live as `msg` does */
};

/* What a step produced, in order: facts (already applied) and effects. Items live in `arena` until outbox_clear. */
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

/* How long a resumed run waits at least for a worker: longer than its slowest reconnect, 5 s. */
enum { COORD_COME_BACK_MS = 8000 };
/* A new run. `deal_key`, here and below: unknown to everybody else, the same for all coordinators of the run. Emits
 * RUN_OPENED, EPOCH_BEGAN and the launches. */
void coord_open (struct coord *coord, struct text run_id_hex, const struct plan *plan, const struct digest *deal_key,
                 struct text version, uint64_t pid, uint64_t now_ms, struct outbox *out);
/* After replay: a new epoch over the same run. Emits EPOCH_BEGAN; waits for the workers to come back. */
/* `wall_ms`: Unix time, for how long there was no coordinator; 0: nobody knows. */
void coord_resume (struct coord *coord, const struct digest *deal_key, uint64_t pid, uint64_t wall_ms, uint64_t now_ms,
                   struct outbox *out);
void coord_step (struct coord *coord, const struct core_input *in, uint64_t now_ms, struct outbox *out);
void coord_apply (struct coord *coord, const struct fact *fact);
/* The next instant at which coord_step (IN_TICK) has something to do; UINT64_MAX: none. */
uint64_t coord_deadline_ms (const struct coord *coord);

/* Read side. */
const struct plan *coord_plan (const struct coord *coord);
uint64_t coord_epoch (const struct coord *coord);
/* The highest sequence number taken from a host's worker in its session: what an answer acknowledges. */
uint64_t coord_seen_seq (const struct coord *coord, uint32_t host);
/* The key with which a host's worker speaks, as recorded; empty: none yet. */
struct text coord_worker_key (const struct coord *coord, uint32_t host);
/* The process of a joined worker; false: it is not joined. */
bool coord_worker_process (const struct coord *coord, uint32_t host, uint64_t *pid, uint64_t *pid_start);
/* Of the running pass: who has not ended, in `hosts`, with room for HOSTS_MAX; NULL: only whether there is one. */
uint32_t coord_awaited_hosts (const struct coord *coord, struct attempt_key *key, uint32_t *hosts);
bool coord_ended (const struct coord *coord, uint32_t *exit_status);
bool coord_is_cancelled (const struct coord *coord);
/* What `host` will be told of a rung, to see how large that is. Numbers, digests and the bundle's name are not known
 * yet and are 0 or empty. Texts are the plan's, or in `arena`. */
struct msg_run coord_run_message_sample (const struct plan *plan, uint32_t rung, uint32_t host, struct arena *arena);

#endif
