/* state.h - the coordinator's state, private to this folder.
 *
 * Written by apply.c alone, except for the marked soft members: what was said when, learned again after a restart.
 * All times are on the run's clock (fact.at_ms). */
#ifndef SLICEUP_COORDINATOR_CORE_STATE_H
#define SLICEUP_COORDINATOR_CORE_STATE_H

#include "coordinator/core/coord.h"
#include "coordinator/core/lease.h"
#include "coordinator/verdict/isolate.h"

/* A catalogue that answers no sooner hangs with its storage; looking over a large root on a slow one is part of an
 * answer. */
enum { ANSWER_MS = 10 * 60 * 1000, RUN_SHOWN_BYTES = 8 };
enum { GATES_MAX = ATTEMPT_GATES_MAX, HARDWARE_MAX = 16, VIOLATIONS_MAX = 256, WRITINGS_MAX = 16, NONE = UINT32_MAX };

/*  expected --key--> keyed --HELLO--> joined --silence, exit--> lost
 *                      ^                ^------- HELLO ----------'|
 *                      '------------- key (launched anew) --------'        */
enum host_life { HOST_EXPECTED = 0, HOST_KEYED, HOST_JOINED, HOST_LOST };

struct host {
    enum host_life life;
    bool keyed;
    char key[41];
    uint64_t session;
    uint64_t joined_epoch; /* the epoch in which it last said HELLO */
    uint64_t joined_until; /* index of the last entry of that epoch, once the epoch is over */
    uint64_t pid, pid_start;
    char boot_id[ID_MAX_BYTES + 1]; /* of the host, when it last joined */
    uint32_t joins;                 /* in joined_epoch */
    uint64_t reborn_at;             /* index of the entry by which another process came to speak for it; 0: none has */
    char *lost_why;
    uint64_t lost_epoch; /* a loss counts for the coordinator that saw it; the next one launches anew */
    /* soft */
    uint64_t received_ms;
    uint64_t seen_seq; /* highest taken in this session */
    uint64_t sent_ms;  /* when it was last told anything */
    bool suspected;
    bool at_gate; /* its attempt of the running pass waits at one, or is stopped there, as last heard */
    uint64_t run_sent_ms, go_sent_ms, stop_sent_ms;
};

/* One host's part in the running pass. */
struct part {
    uint32_t host;
    bool ended;
    uint32_t order;       /* of ending */
    struct result result; /* in pass.arena */
    char sha256[65];
    bool conflict; /* a second, different result was seen; the others are not recorded one by one */
    bool at_gate;  /* soft while it runs; as recorded once it ended */
    bool stopped;  /* soft: it was told to stop */
    bool killed;   /* soft: it was told to kill it */
};

struct gate {
    char name[WORD_MAX_BYTES + 1];
    enum gate_mode mode;
    bool open;
    char *value;         /* once open */
    struct text *values; /* soft: per part, in pass.arena; ptr == NULL: not there yet */
    uint32_t arrived_n;  /* soft */
};

struct pass_state {
    bool active;
    struct attempt_key key;
    enum purpose purpose;
    struct mesh mesh;    /* of its hosts */
    uint64_t timeout_ms; /* of one attempt in it */
    uint64_t began_ms, seed;
    uint64_t began_at; /* index of PASS_BEGAN */
    uint32_t n, ended_n;
    struct part *parts;
    uint32_t *part_of_host;       /* NONE: does not take part */
    uint64_t *secrets;            /* per part */
    bool dealt;                   /* false: more devices than numbers can tell apart */
    uint64_t failed_ms;           /* when the first part ended badly; UINT64_MAX: none has */
    uint64_t slept_ms;            /* soft: how long the coordinator stood still while it ran */
    bool stopped;                 /* PASS_STOPPED */
    bool cancelled;               /* by the user, before any part had ended badly */
    bool dropped;                 /* what it used was dropped after a violation */
    struct fact_pass_stopped why; /* in arena */
    struct gate gates[GATES_MAX];
    uint32_t gates_n;
    struct arena arena;
    struct arena before; /* of the pass before this one */
};

/* What was recorded once is not recorded again. */
struct seen_violation {
    enum finding_kind kind;
    uint64_t token;
    struct text path;
    bool dropped;
};

struct rung_state {
    enum outcome outcome;
    uint32_t attempts[PASS_RESTORED + 1];
    bool cold_done;                      /* passed or skipped */
    bool cold_skipped;                   /* an adopted generation covered it */
    bool refitted;                       /* the adopted generation did not fit and was compiled anew */
    bool rewarmed;                       /* its generation was dropped after a violation; once */
    uint32_t retries[PASS_RESTORED + 1]; /* planned, of each pass */
    struct text retried_for;             /* why the last of them was */
    uint32_t leases_lost;                /* by its writers */
    uint32_t lease_lost_attempt;         /* the cold attempt of the last one */
};

/* A pass that fell for a transient reason. Called for by the verdicts; planned once its moment is recorded. */
enum retry_stage { RETRY_NONE = 0, RETRY_CALLED_FOR, RETRY_PLANNED };
struct retry_state {
    enum retry_stage stage;
    struct attempt_key failed;
    struct text signature, why;
    uint64_t due_ms; /* once planned */
    bool waited;     /* soft: that moment has come */
};

/* Parts of the slice by themselves, after a pass that fell and nobody confessed: once a run, for it is the last thing.
 */
struct isolation {
    bool called_for;
    bool over; /* the suspects are named */
    struct fact_pass_ended failed;
    struct isolate_trial trials[ISOLATE_TRIALS_MAX];
    uint32_t trials_n;
};

struct coord {
    struct arena arena; /* lives as long as the run */
    struct plan plan;
    char run[33];
    uint64_t seed;
    uint64_t next_index;
    uint64_t epoch;
    uint64_t clock_ms;       /* at_ms of the newest fact */
    int64_t clock_offset_ms; /* run clock = now + offset */
    uint64_t began_ms;       /* of this epoch */

    struct host *hosts;
    uint32_t joined_n;
    struct rung_state *rungs;
    uint32_t rung; /* the next to climb */
    struct pass_state pass;
    struct retry_state retry;
    struct isolation isolation;

    struct text env_fingerprint;       /* from the environment rung */
    struct text bundle;                /* "<frontend>/<digest>"; empty until first needed */
    bool cache_known;                  /* the catalogue was asked */
    struct fact_generation generation; /* the published one; token 0: none */
    struct fact_writer_granted grant;  /* the last */
    bool granted;                      /* and it may go on */
    bool unreleased;                   /* and its worker never said that the writer is dead */
    LIST_OF (struct text) hardware;    /* the kinds that hosts told of, sorted, each once; at most HARDWARE_MAX */
    struct text storage;               /* id of the cache's storage, as the hosts see it */
    uint64_t right_at; /* index of the entry that began the last pass in which the generation was seen to be
                          right, or was sealed; 0: none in this run */
    struct {
        uint64_t token, over_at;
    } writings[WRITINGS_MAX]; /* the last ones: at which entry each was over */
    uint32_t writings_n;
    uint64_t misfit; /* token of an adopted generation that did not serve */
    LIST_OF (struct seen_violation) violations;
    uint32_t counted_violations; /* those that end the run with exit status 4 */
    /* soft: write_lease.c, violation.c */
    struct lease lease;
    struct lease_owner lease_owner; /* token 0: nobody else writes this bundle; in lease_owner_arena */
    struct arena lease_owner_arena;
    uint64_t lease_owner_since_ms, lease_owner_beat_ms, ask_again_ms, beat_again_ms;
    bool wants_token, look_again;
    bool audited;         /* nothing was done to the cache since the root was looked over */
    uint64_t audit_by_ms; /* when the answer is not awaited any more */

    bool climbing;       /* soft: every host joined once */
    uint64_t stepped_ms; /* soft: run clock of the last step of this process; 0: none yet */
    uint64_t slept_ms;   /* soft: how long this process stood still */
    uint64_t
        launch_late_ms; /* soft: when hosts whose worker may still come by itself are launched; UINT64_MAX: never */
    uint32_t cancel_level;
    char *stop; /* why the climb is over, one sentence; NULL: it is not */
    enum outcome stop_outcome;
    bool ended;
    uint32_t exit_status;
    struct text doubt; /* what a worker knows that is not here; empty: nothing */
    /* soft: questions that are out */
    bool asked_cache, asked_token, asked_audit;
    uint64_t answer_by_ms;     /* of asked_cache and asked_token */
    struct text reported_wait; /* what was last said to be waited for; in reported_arena */
    struct arena reported_arena;
};

uint64_t coord_clock (const struct coord *coord, uint64_t now_ms);
bool host_is_lost (const struct coord *coord, uint32_t host); /* in this epoch */
bool part_is_alone (const struct coord *coord); /* parts of the running pass do not depend on one another */
bool climb_uses_cache (const struct coord *coord,
                       const struct rung *rung); /* one that runs share or that one host keeps */
/* At which entry the writing of `token` was over; 0: not of this run, or long ago. */
uint64_t write_lease_over_at (const struct coord *coord, uint64_t token);
struct isolate_case isolation_case (const struct coord *coord);

#endif
