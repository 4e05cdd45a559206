/* state.h - the coordinator's state, private to this folder.
 *
 * Two halves. `struct state` comes from recorded facts: only apply*.c write it, and replay rebuilds it. `struct
 * soft_state` is what this process received and sent; its successor learns it again. All times are on the run's clock
 * (fact.at_ms) unless said otherwise. One thread. */
#ifndef SLICEUP_COORDINATOR_CORE_STATE_H
#define SLICEUP_COORDINATOR_CORE_STATE_H

#include <stdbool.h>

#include "coordinator/core/coord.h"
#include "coordinator/core/lease.h"
#include "coordinator/verdict/isolate.h"

/* ---- acquisition ---- */

/* How far this process has got with the shared cache. Pure.
 *
 *               find              found            audit               audited
 *     UNKNOWN --------> FINDING --------> FOUND ----------> AUDITING ----------> READY
 *                                         ^  ^                                  |  ^ ^
 *                                         |  '------------ used ----------------'  | | granted
 *                                   found |                                    ask v |
 *                         LOOKING --------'            nothing new               ASKING
 *                          ^   '-----------------------------------------> READY    |
 *                     look |                                                        | owned
 *                          '------------------------- OWNED <-----------------------'
 *
 * FINDING, AUDITING, ASKING and LOOKING wait for an answer of the driver, each with a deadline. If one fails, the climb
 * stops: FINDING ends in GIVEN_UP; ASKING, OWNED and LOOKING end in READY, because the audit still holds. READY stops
 * it too, if the mode allows nothing. A failed audit also ends in READY, and is recorded. The grant is a recorded fact
 * (state.h: grant, granted, unreleased); lease.h decides how long it lasts. A coordinator that takes over begins with
 * FOUND if a fact has the catalogue's answer, else with UNKNOWN. */

enum acquisition {
    ACQUISITION_UNKNOWN = 0,
    ACQUISITION_FINDING,  /* the catalogue is asked for a generation that fits */
    ACQUISITION_FOUND,    /* it answered; the root is not audited since */
    ACQUISITION_AUDITING, /* the root is compared with the catalogue */
    ACQUISITION_READY,    /* the cache was not used since the audit */
    ACQUISITION_ASKING,   /* the catalogue is asked for the lease and a token */
    ACQUISITION_OWNED,    /* another run has the lease */
    ACQUISITION_LOOKING,  /* the catalogue is asked what that run has published */
    ACQUISITION_GIVEN_UP, /* the catalogue did not answer, or the cache cannot be used */
    ACQUISITION_N
};
enum acquisition_event {
    ACQUISITION_FIND = 0,
    ACQUISITION_ANSWER, /* the catalogue's: found, or nothing fits */
    ACQUISITION_NOTHING_NEW,
    ACQUISITION_AUDIT,
    ACQUISITION_AUDITED,
    ACQUISITION_USED, /* a pass used the cache */
    ACQUISITION_ASK,
    ACQUISITION_GRANTED,
    ACQUISITION_TAKEN, /* by another run */
    ACQUISITION_LOOK,
    ACQUISITION_FAIL,
    ACQUISITION_EVENT_N
};

/* False: the event is invalid in `from`, and `*to` is unchanged. */
bool acquisition_next (enum acquisition from, enum acquisition_event event, enum acquisition *to);

/* ---- state ---- */

enum { GATES_MAX = ATTEMPT_GATES_MAX, HARDWARE_MAX = 16, VIOLATIONS_MAX = 256, WRITINGS_MAX = 16, NONE = UINT32_MAX };

/* ---- the half that facts make: written by apply*.c alone, and described by a table in tests/lib/state_record.h ---- */

/*  expected --key--> keyed --HELLO--> joined --silence, exit--> lost
 *                      ^                ^------- HELLO ----------'|
 *                      '------------- key (launched anew) --------'        */
enum host_life { HOST_EXPECTED = 0, HOST_KEYED, HOST_JOINED, HOST_LOST };

/* Why the climb went on without a host: it was absent, or did not pass a rung. */
enum left_behind { LEFT_NOT = 0, LEFT_ABSENT, LEFT_FAILED };

struct host {
    enum host_life life;
    bool keyed;
    struct text key;
    uint64_t session;
    uint64_t joined_epoch; /* the epoch of its last HELLO */
    uint64_t joined_until; /* index of the last fact of that epoch, once it is over */
    uint64_t pid, pid_start;
    struct text boot_id; /* the host's, at its last join */
    uint32_t joins;      /* in joined_epoch */
    uint32_t returns;    /* after silences that it survived */
    uint64_t reborn_at;  /* index of the fact by which a new process replaced its worker; 0: none */
    struct text lost_why;
    struct fact_host_asked asked; /* in this silence, or before it was lost; ssh 0: no answer */
    uint64_t lost_epoch;          /* a loss counts only in its epoch; the next coordinator launches anew */
    enum left_behind left;
    struct text left_why;
};

/* One host's part in the running pass. */
struct part {
    uint32_t host;
    bool ended;
    uint32_t order; /* in which it ended: 1, 2, ... */
    struct result result;
    bool told;     /* by its worker */
    bool conflict; /* a second, different result came; further ones are not recorded */
    bool at_gate;  /* when it ended */
};

/* An open gate. */
struct gate {
    struct text name, value;
};

/* Its texts and lists live until the second next pass begins, because facts in the outbox still point to them. */
struct pass_state {
    bool active;
    struct attempt_key key;
    enum purpose purpose;
    struct mesh mesh;    /* of its hosts */
    uint64_t timeout_ms; /* of one attempt in it */
    uint64_t began_ms;
    uint64_t away_ms;  /* how much of its time there was no coordinator */
    uint64_t began_at; /* index of PASS_BEGAN */
    LIST_OF (struct part) parts;
    uint32_t ended_n;
    bool failing;        /* a part ended badly */
    bool failed_in_time; /* one did so before its time ran out */
    uint64_t failed_ms;  /* when the first part did */
    bool stopped;        /* PASS_STOPPED */
    bool cancelled;      /* by the user, before any part ended badly */
    bool dropped;        /* its generation was dropped after a violation */
    struct fact_pass_stopped why;
    LIST_OF (struct gate) gates;
};

/* A recorded violation, so that it is not recorded again. */
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
    uint32_t retries[PASS_RESTORED + 1]; /* planned retries of each pass */
    struct text retried_for;             /* reason of the last one */
    uint32_t leases_lost;                /* by its writers */
    uint32_t lease_lost_attempt;         /* the cold attempt of the last one */
    bool unproved; /* it passed, but on some host its program reported no backend: it may have run on the processor */
};

/* A pass that failed for a transient reason. CALLED_FOR by the verdicts; PLANNED once its time is recorded. */
enum retry_stage { RETRY_NONE = 0, RETRY_CALLED_FOR, RETRY_PLANNED };
struct retry_state {
    enum retry_stage stage;
    struct attempt_key failed;
    struct text signature, why;
    uint64_t due_ms; /* once planned */
};

/* Runs parts of the slice by themselves, after a failed pass without a reported cause; once a run, at its end. */
struct isolation {
    bool called_for;
    bool over; /* the suspects are named */
    struct fact_pass_ended failed;
    LIST_OF (struct isolate_trial) trials;
};

/* The fact at which the writing of `token` was over. */
struct ended_write {
    uint64_t token, over_at;
};

struct state {
    struct plan plan;
    struct text run;
    uint64_t next_index;
    uint64_t epoch;
    uint64_t began_ms; /* of this epoch */
    uint64_t away_ms;  /* how long there was no coordinator, while the run's clock stood still */

    LIST_OF (struct host) hosts;
    uint32_t joined_n, left_n;
    LIST_OF (struct rung_state) rungs;
    uint32_t rung; /* the next to climb */
    struct pass_state pass;
    struct retry_state retry;
    struct isolation isolation;

    struct text env_fingerprint;       /* from the environment rung */
    struct text bundle;                /* "<frontend>/<digest>"; empty until first needed */
    bool cache_known;                  /* the catalogue was asked */
    struct fact_generation generation; /* the published one; token 0: none */
    struct fact_writer_granted grant;  /* the last */
    bool granted;                      /* the grant may go on */
    bool unreleased;                   /* its worker has not reported the writer's end */
    LIST_OF (struct text) hardware;    /* kinds that hosts reported, sorted, each once; at most HARDWARE_MAX */
    struct text storage;               /* id of the cache's storage, as the hosts see it */
    uint64_t right_at; /* fact that began the last pass which saw or sealed it intact; 0: none in this run */
    LIST_OF (struct ended_write) writings; /* the last WRITINGS_MAX, the oldest first */
    uint64_t misfit;                       /* token of an adopted generation that did not fit */
    LIST_OF (struct seen_violation) violations;
    uint32_t counted_violations; /* those that end the run with exit status 4 */

    uint32_t cancel_level;
    struct text stop; /* why the climb is over, one sentence; empty: not over */
    enum outcome stop_outcome;
    enum outcome shortfall_outcome; /* the worst outcome despite which the climb went on; none: all passed */
    struct text shortfall;          /* the first rung that did not pass, one sentence */
    bool ended;
    uint32_t exit_status;
    struct text lost_facts; /* facts known to a worker that this journal lacks; empty: none */
};

/* ---- the half that only this process knows, and when it was sent or received; learned again after a restart ---- */

struct host_soft_state {
    uint64_t received_ms;
    uint64_t seen_seq;     /* highest one accepted in this session */
    uint64_t sent_ms;      /* when anything was last sent to it */
    uint64_t beat, own_ms; /* number of its last heartbeat in this session, and when it was sent by its own clock */
    bool suspected;
    uint64_t told_ms;  /* run clock: when it was last told to be silent */
    bool asked;        /* in this silence, whether its machine answers */
    uint32_t asked_n;  /* by this process */
    bool at_gate;      /* last report: its attempt waits, or is being stopped, at a gate */
    struct text claim; /* what it claims that the journal lacks (loss.c); empty: nothing */
    uint64_t run_sent_ms, go_sent_ms, stop_sent_ms;
    uint64_t dismissed_ms; /* since when it has an earlier attempt that it was told to kill; 0: it has none */
};
struct part_soft_state {
    uint64_t secret; /* as dealt; not in the journal, which others can read */
    bool at_gate;
    bool stopped; /* it was told to stop */
    bool killed;  /* it was told to kill its program */
};
/* A gate at which parts of the running pass arrived. */
struct gate_arrivals {
    struct text name;
    enum gate_mode mode;
    struct text *values; /* per part; ptr == NULL: not there yet */
    uint32_t arrived_n;
};

struct soft_state {
    uint64_t clock_ms;       /* at_ms of the newest fact */
    uint64_t wall_ms;        /* of the newest fact that was replayed */
    int64_t clock_offset_ms; /* run clock = now + offset */
    struct host_soft_state *hosts;
    uint32_t *part_of_host; /* of the running pass; NONE: does not take part */
    struct part_soft_state *parts;
    struct digest run_key, pass_key; /* keys for dealing secrets (coordinator/verdict/reduce.h) */
    const uint32_t *pass_ranks;      /* the hosts of the running pass, and their addresses for RUN */
    struct text pass_addresses;
    bool dealt; /* false: too many devices for distinct numbers, or not a slice-wide rung */
    struct gate_arrivals gates[GATES_MAX];
    uint64_t claimed_ms; /* the newest claim of a host; 0: none in this epoch */
    bool undecided;      /* and nothing begins before it is weighed, so nothing of that is due */
    uint32_t gates_n;
    struct arena pass_arena, pass_before; /* as with the pass */
    uint64_t pass_slept_ms;               /* how long this process was suspended during the pass */
    bool retry_waited;                    /* the time of the planned retry has come */
    uint64_t look_at_ms;                  /* before then a silent pass is not looked at again; run clock */
    uint64_t look_wait_ms;                /* after the next look */
    uint64_t looked_ms;                   /* when all were asked last; run clock */

    /* write_lease.c, acquire.c */
    struct lease lease;
    struct lease_owner lease_owner; /* token 0: nobody else writes this bundle; in lease_owner_arena */
    struct arena lease_owner_arena;
    uint64_t lease_owner_since_ms, lease_owner_beat_ms, ask_again_ms, beat_again_ms;
    bool wants_token; /* the climb reached a cold pass without a grant */
    enum acquisition acquisition;
    uint64_t answer_by_ms; /* deadline of its question */

    bool climbing;             /* every host that takes part joined once */
    uint64_t stepped_ms;       /* run clock of this process's last step, or of its begin */
    uint64_t slept_ms;         /* how long this process was suspended */
    uint32_t awaited;          /* a host: looked at first for whether any is awaited */
    uint64_t silence_ms;       /* before then no silence of a host has an end; run clock */
    uint64_t launch_late_ms;   /* when to launch hosts whose old worker has not come back; UINT64_MAX: never */
    struct text reported_wait; /* the last reported wait; in reported_arena */
    struct arena reported_arena;
};

struct coord {
    const struct state *state;
    struct soft_state soft;
};

uint64_t coord_to_run_clock (const struct coord *coord, uint64_t now_ms);
/* The time within which a worker ends an attempt of the running pass, whatever the program does. */
uint64_t coord_longest_attempt_ms (const struct coord *coord);
/* After timeout and stop budget: until an attempt is killed, and then given up. */
enum { LATE_MS = 15000 };
bool host_is_lost (const struct coord *coord, uint32_t host); /* in this epoch */
bool takes_part (const struct coord *coord, uint32_t host);   /* not left behind */
bool host_is_awaited (const struct coord *coord, uint32_t host);
bool all_are_here (const struct coord *coord);                                  /* all that take part have joined */
struct text names_left_behind (const struct coord *coord, struct arena *arena); /* folded, "v6e[3,7]" */
/* It failed by itself when others of its program were stopped at their limit: that may have ended it, whatever it says. Not by
 * a kill from outside, or for want of memory: these are reasons of their own. */
bool part_failed_at_limit (const struct pass_state *pass, uint32_t at);
/* Who holds up the others of the pass, by where its programs stood when they were stopped: verdict/stands.h. */
uint32_t pass_find_lagging (const struct coord *coord, bool *lags, struct arena *arena, struct text *others);
bool parts_are_independent (const struct coord *coord); /* parts of the running pass do not depend on each other */
/* True unless every host keeps a cache for itself. */
bool cache_has_generations (const struct coord *coord);
bool climb_uses_cache (const struct coord *coord, const struct rung *rung); /* a shared cache or a host's own */
/* Index of the fact at which the writing of `token` was over; 0: not of this run, or long ago. */
uint64_t write_lease_end_index (const struct coord *coord, uint64_t token);
bool write_lease_is_unused (const struct coord *coord); /* granted, but nobody was told to write yet */
struct isolate_case isolation_make_case (const struct coord *coord);
/* NULL: not open. */
const struct gate *gate_find_opened (const struct pass_state *pass, struct text name);

/* ---- cache family ---- */

/* Names of caches: what must be equal for one compile cache to serve two runs. */

/* This run's family: from the first fact about it, else computed now. */
struct text cache_family_name (const struct coord *coord, struct arena *arena);
struct text cache_family_rung_cover (const struct plan *plan, const struct rung *rung, struct arena *arena);
text_list cache_family_all_covers (const struct coord *coord, struct arena *arena); /* of all rungs that use a cache */

#endif
