/* fact.h - what happened, in the past tense: the only thing that changes state, and the only thing that is journaled.
 *
 * Durable facts are numbered from 1 without gaps and replayed after a crash. Soft facts (heartbeats heard, phases) pass
 * through the same fold but are not recorded: they are learned again. */
#ifndef SLICEUP_COMMON_MODEL_FACT_H
#define SLICEUP_COMMON_MODEL_FACT_H

#include "common/model/msg.h"

enum fact_kind {
    FACT_NONE = 0,
    FACT_RUN_OPENED = 1, /* always the first */
    FACT_EPOCH_BEGAN,    /* a coordinator process took over; the first thing each one records */
    FACT_HOST_KEYED,     /* a worker's public key is bound to a host */
    FACT_HOST_JOINED,
    FACT_HOST_LOST,          /* gone, with the reason; its attempts end as lost */
    FACT_GENERATION_ADOPTED, /* a generation published by an earlier run fits this bundle */
    FACT_WRITER_GRANTED,     /* one host may write generation `token` */
    FACT_PASS_BEGAN,         /* all hosts of the pass are to run this attempt */
    FACT_PASS_SKIPPED,       /* a cold pass that is not needed */
    FACT_GATE_OPENED,
    FACT_ATTEMPT_ENDED, /* a host's result, verbatim: evidence */
    FACT_GENERATION_PUBLISHED,
    FACT_METRIC_JUDGED,
    FACT_PASS_ENDED, /* verdicts for all hosts of the pass; attempt 0: it was blocked, and never began */
    FACT_CANCEL_ASKED,
    FACT_CONFLICT_SEEN,      /* two different results for one attempt */
    FACT_RUN_ENDED,          /* always the last */
    FACT_PASS_STOPPED,       /* the coordinator stops the pass for a reason of its own: a gate on which hosts differ */
    FACT_LEASE_LOST,         /* the writer's lease ran out: whatever it still writes, nobody reads */
    FACT_CACHE_VIOLATED,     /* something in the cache differs from what the single writer left */
    FACT_GENERATION_DROPPED, /* quarantined: not used again, not removed */
    FACT_RETRY_PLANNED,      /* a pass that failed for a transient reason is run again */
    FACT_SUSPECTS_NAMED,     /* what running parts of the slice by themselves showed */
    FACT_LOSS_TOLD,          /* a worker says that it knows of facts that this journal lacks */
    FACT_CLIMB_STOPPED,      /* nothing more is started, for a reason other than a failed pass */
    FACT_HOSTS_LEFT_BEHIND,  /* the climb goes on without hosts that are absent */
    FACT_HOST_RETURNED,      /* one that was silent, and not lost yet, is heard again */
    FACT_OUTPUT_LOST,        /* output that a host sent could not be kept here; once an attempt and host */
    /* soft */
    FACT_HOST_REPORTED = 64, /* a heartbeat */
    FACT_HOST_SUSPECTED,
    FACT_HOST_STEPPED,   /* its worker is being taken there */
    FACT_CACHE_AWAITED,  /* what the climb waits for that no host has to do; empty: nothing any more */
    FACT_OUTPUT_AWAITED, /* what hosts whose attempts run printed last, and since when they printed nothing */
};

/* Maximum size of one fact. What could be larger is cut where it is made. */
enum { FACT_MAX_BYTES = 16 << 20 };
/* A generation with more files than GENERATION_BASE_MAX_ENTRIES is not built upon: the next one begins empty, far below
 * what a manifest lists. */
enum { GENERATION_KEYS_MAX = 512, GENERATION_COVERS_MAX = 2048, GENERATION_BASE_MAX_ENTRIES = 1 << 15 };

/* Of the id of a run, where people read it: enough to name it to a command. */
enum { RUN_SHOWN_BYTES = 8 };

/* Texts in facts are bounded like everything else; see fact.c. */
struct fact_run_opened {
    struct text run;
    struct plan plan;
    struct text version;
};
struct fact_epoch_began {
    uint64_t epoch;
    uint64_t pid;
    uint64_t away_ms; /* by the wall clock: since the last fact, on which the run's clock stands still; 0: unknown */
};
struct fact_host_keyed {
    uint32_t host;
    struct text public_key;
}; /* Z85, 40 characters; host = rank */
struct fact_host_joined {
    uint32_t host;
    uint64_t session;
    struct text version, boot_id;
    uint64_t pid, pid_start;
};
struct fact_host_lost {
    uint32_t host;
    struct text why;
};
struct fact_generation {
    uint64_t token;
    struct text sha256;
    struct text bundle;
    uint32_t rung;
    uint32_t entries;
    uint64_t bytes;
    uint32_t writer;
    text_list covers; /* the longest unused first */
    struct text from_run;
    uint64_t compile_ms;             /* what compiling all that it holds took, on its writers */
    LIST_OF (struct cache_key) keys; /* of the programs in it, as their writers told */
};
struct fact_writer_granted {
    uint64_t token;
    uint64_t base; /* 0: it begins empty */
    uint32_t host;
    struct attempt_key key;
};
/* Why a pass runs. ISOLATION: only to see whether a part of the slice works by itself, without the others. */
enum purpose { PURPOSE_NONE = 0, PURPOSE_CLIMB, PURPOSE_RETRY, PURPOSE_ISOLATION };
extern const struct enum_names purpose_names;
struct fact_pass_began {
    struct attempt_key key;
    LIST_OF (uint32_t) hosts;
    enum purpose purpose; /* none: climb */
    struct text why;
    struct mesh mesh; /* ISOLATION: of these hosts; else that of the plan */
};
struct fact_pass_skipped {
    struct attempt_key key;
    struct text why;
};
struct fact_gate_opened {
    struct attempt_key key;
    struct text gate, value;
};
struct fact_attempt_ended {
    uint32_t host;
    struct result result;
    struct text sha256;
    bool at_gate; /* waited at one when last heard */
};

enum proof {
    PROOF_NONE = 0,
    PROOF_PROVED,
    PROOF_LOCAL,
    PROOF_PARTIAL,
    PROOF_WRONG_AXIS,
    PROOF_DOUBLE_COUNTED,
    PROOF_MEAN_OF_MEANS,
    PROOF_DISAGREE,
    PROOF_UNPROVED
};
extern const struct enum_names proof_names;
/* Of the values that a host said of a metric before its last one, how many its own sums of secrets contradict. */
struct contradicted_count {
    uint32_t host;
    uint64_t count;
};
/* `missing`: whose contribution is not in it. `culprits`: whose own report is why it is not proved; nobody: it is, or
 * nobody stands out. */
struct fact_metric_judged {
    struct attempt_key key;
    struct text metric;
    LIST_OF (struct text) axes;
    double value;
    enum proof proof;
    LIST_OF (uint32_t) missing;
    struct text why;
    LIST_OF (uint32_t) culprits;
    LIST_OF (struct contradicted_count) contradicted;
    double tolerance;         /* in parts of the right value; 0: nothing was compared */
    struct text tolerance_of; /* what it follows from: "bfloat16, 4 devices", "rung, 4 devices" */
};

/* One host's verdict, with the one sentence a person reads. PASS_ENDED lists the hosts that did not pass. */
struct verdict {
    uint32_t host;
    enum outcome outcome;
    enum owner owner;
    bool likely;           /* the owner follows from the form of the error; no known text says it */
    struct text signature; /* id of the known text or of the rule for forms of errors; empty: neither decided */
    struct text cause;     /* what happened, no host name in it: equal causes fold together */
    struct text next;      /* what to look at */
    struct text phase;
    struct text cache;    /* "cold", "restored", "recompiled", "torn" or empty */
    bool transient;       /* of a class that is known to pass by itself */
    struct text evidence; /* the line that decided it, as printed; or the lines that nobody recognises */
};
struct fact_pass_ended {
    struct attempt_key key;
    enum outcome outcome;
    uint64_t duration_ms;
    LIST_OF (struct verdict) verdicts;
};
struct fact_lease_lost {
    uint64_t token;
    uint32_t host;
    struct text why;
};
/* `since`: index of an entry older than the change: of the beginning of the last pass that saw it right or sealed it,
 * or of the end of the lease of what was written late; 0: none in this run. It happened in between. */
struct fact_cache_violated {
    uint32_t host;
    uint32_t rung;
    struct finding finding;
    uint64_t since;
    struct text from_run;
};
struct fact_generation_dropped {
    uint64_t token;
    struct text why;
};
/* `due_ms`: on the run's clock. `left`: how many more this rung's pass has after this one. */
struct fact_retry_planned {
    struct attempt_key key;
    uint64_t due_ms;
    uint32_t left;
    struct text signature, why;
};
/* `alone`: a host that is suspected failed also alone, or where none is, some host did: then it is no peer's doing. */
struct fact_suspects_named {
    struct attempt_key key;
    LIST_OF (uint32_t) suspects;
    uint32_t passes;
    struct text why;
    bool alone;
};
/* `epoch`, `index`: what the worker was told of, as it says; index 0: it holds or obeys what is unknown here.
 * `believed`: others say so too, and it is the last fact (coordinator/core/loss.h). */
struct fact_loss_told {
    uint32_t host;
    uint64_t epoch, index;
    struct text why;
    bool believed;
};
struct fact_output_lost {
    uint32_t host;
    struct attempt_key key;
    struct text why;
};
/* The culprits fail with this cause; whoever is stopped for it is a cascade. */
struct fact_pass_stopped {
    struct attempt_key key;
    LIST_OF (uint32_t) culprits;
    enum owner owner;
    struct text cause, next;
};
/* `why`: a sentence that names what to do next. */
struct fact_climb_stopped {
    enum outcome outcome;
    struct text why;
};
/* `rung`: the first that is climbed without them. A verdict each: `blocked` (it never joined) or `lost`. */
struct fact_hosts_left_behind {
    uint32_t rung;
    LIST_OF (struct verdict) verdicts;
};
struct fact_cancel_asked {
    uint32_t level;
};
struct fact_conflict_seen {
    uint32_t host;
    struct attempt_key key;
    struct text kept, other;
};
struct fact_run_ended {
    enum outcome outcome;
    uint32_t exit_status;
    struct text sentence;
};

struct fact_host_reported {
    uint32_t host;
    LIST_OF (struct holding) holdings;
};
struct fact_host_suspected {
    uint32_t host;
    uint64_t silent_ms;
};
struct fact_host_stepped {
    uint32_t host;
    struct text step;
}; /* docs/spec/launch.md */
struct fact_cache_awaited {
    struct text what;
};
/* Hosts with the same last line, but for its numbers. `line` is empty: they printed nothing yet. */
struct last_output {
    LIST_OF (uint32_t) hosts;
    struct text line;  /* of the first of them; any bytes */
    uint64_t quiet_ms; /* the least of them */
};
enum { OUTPUT_GROUPS_MAX = 8, OUTPUT_LINE_BYTES = 200 };
struct fact_output_awaited {
    struct attempt_key key;
    LIST_OF (struct last_output) groups; /* the longest quiet first */
};

struct fact {
    enum fact_kind kind;
    uint64_t index;   /* durable: from 1; soft: 0 */
    uint64_t at_ms;   /* the run's clock: ms since the run was opened; grows over restarts */
    uint64_t wall_ms; /* Unix time, for people; data only */
    union {
        struct fact_run_opened run_opened;
        struct fact_epoch_began epoch_began;
        struct fact_host_keyed host_keyed;
        struct fact_host_joined host_joined;
        struct fact_host_lost host_lost;
        struct fact_generation generation; /* ADOPTED and PUBLISHED */
        struct fact_writer_granted writer_granted;
        struct fact_pass_began pass_began;
        struct fact_pass_skipped pass_skipped;
        struct fact_gate_opened gate_opened;
        struct fact_attempt_ended attempt_ended;
        struct fact_metric_judged metric_judged;
        struct fact_pass_ended pass_ended;
        struct fact_cancel_asked cancel_asked;
        struct fact_conflict_seen conflict_seen;
        struct fact_run_ended run_ended;
        struct fact_pass_stopped pass_stopped;
        struct fact_lease_lost lease_lost;
        struct fact_cache_violated cache_violated;
        struct fact_generation_dropped generation_dropped;
        struct fact_retry_planned retry_planned;
        struct fact_suspects_named suspects_named;
        struct fact_loss_told loss_told;
        struct fact_output_lost output_lost;
        struct fact_climb_stopped climb_stopped;
        struct fact_hosts_left_behind hosts_left_behind;
        struct fact_host_reported host_reported;
        struct fact_host_suspected host_suspected; /* SUSPECTED, RETURNED */
        struct fact_host_stepped host_stepped;
        struct fact_cache_awaited cache_awaited;
        struct fact_output_awaited output_awaited;
    } of;
};

extern const struct record verdict_record, generation_record, writer_granted_record, pass_ended_record,
    pass_stopped_record;

const struct record *fact_record_of_kind (enum fact_kind kind); /* NULL: unknown kind */
const char *fact_name (enum fact_kind kind);
bool fact_is_soft (enum fact_kind kind);

#endif
