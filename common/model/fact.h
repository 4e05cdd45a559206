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
    FACT_PASS_STOPPED,       /* the coordinator stops the pass itself: hosts differ at a gate */
    FACT_LEASE_LOST,         /* the writer's lease ran out: nobody reads what it still writes */
    FACT_CACHE_VIOLATED,     /* something in the cache differs from what the single writer left */
    FACT_GENERATION_DROPPED, /* quarantined: not used again, not removed */
    FACT_RETRY_PLANNED,      /* a pass that failed for a transient reason is run again */
    FACT_SUSPECTS_NAMED,     /* which hosts an isolation found */
    FACT_LOSS_TOLD,          /* a worker knows of facts that this journal lacks */
    FACT_CLIMB_STOPPED,      /* nothing more is started, not because of a failed pass */
    FACT_HOSTS_LEFT_BEHIND,  /* the climb goes on without hosts that are absent */
    FACT_HOST_RETURNED,      /* a silent host, not lost yet, is heard again */
    FACT_OUTPUT_LOST,        /* a host's output could not be stored here; once an attempt and host */
    FACT_HOST_ASKED,         /* whether the machine of a silent host answers; once a silence */
    /* soft */
    FACT_HOST_REPORTED = 64, /* a heartbeat */
    FACT_HOST_SUSPECTED,
    FACT_HOST_STEPPED,   /* its worker is being taken there */
    FACT_CACHE_AWAITED,  /* what the climb waits for beside its hosts; empty: nothing any more */
    FACT_OUTPUT_AWAITED, /* the last output of running attempts, and how long they have been quiet */
};

/* Maximum size of one fact. The maker cuts what could be larger. */
enum { FACT_MAX_BYTES = 16 << 20 };
/* A generation with more files than GENERATION_BASE_MAX_ENTRIES, far below what a manifest can list, is no base: the
 * next one begins empty. */
enum { GENERATION_KEYS_MAX = 512, GENERATION_COVERS_MAX = 2048, GENERATION_BASE_MAX_ENTRIES = 1 << 15 };

/* How much of a run's id people see: enough to name it to a command. */
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
    uint64_t away_ms; /* wall time since the last fact, not counted by the run's clock; 0: unknown */
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
/* What a port or a ping of a machine said. NO_ROUTE: the question could not leave this machine. */
enum reach { REACH_NOT_ASKED = 0, REACH_ANSWERS, REACH_REFUSES, REACH_SILENT, REACH_NO_ROUTE };
struct fact_host_asked {
    uint32_t host;
    struct text address; /* an IP address */
    uint32_t port;
    enum reach ssh, ping;
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
    uint64_t compile_ms;             /* compile time of everything in it, on its writers */
    LIST_OF (struct cache_key) keys; /* of its programs, as the writers reported them */
};
struct fact_writer_granted {
    uint64_t token;
    uint64_t base; /* 0: it begins empty */
    uint32_t host;
    struct attempt_key key;
};
/* Why a pass runs. ISOLATION: to see whether a part of the slice works without the others. */
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
    bool told;    /* by the worker; else the coordinator made it */
    bool at_gate; /* waited at a gate when last heard */
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
/* How many earlier values of a metric a host's own sums of secrets contradict. */
struct contradicted_count {
    uint32_t host;
    uint64_t count;
};
/* `missing`: hosts whose contribution is absent. `culprits`: hosts whose own report prevents the proof; empty: it is
 * proved, or no host stands out. */
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
    double tolerance;         /* relative to the right value; 0: nothing was compared */
    struct text tolerance_of; /* its origin: "bfloat16, 4 devices", "rung, 4 devices" */
};

/* One host's verdict, with the one sentence a person reads. PASS_ENDED lists the hosts that did not pass. */
struct verdict {
    uint32_t host;
    enum outcome outcome;
    enum owner owner;
    enum owner
        else_owner; /* the text that decided leaves this one possible, too; NONE: none, so for every other owner */
    bool likely;    /* the owner follows from the form of the error, not from a known text */
    struct text signature; /* id of the known text or rule that decided; empty: none did */
    struct text cause;     /* what happened, without host names, so that equal causes fold together */
    struct text next;      /* what to look at */
    struct text phase;
    struct text cache;    /* "cold", "restored", "recompiled", "torn" or empty */
    bool transient;       /* of a class that is known to pass without a change */
    struct text evidence; /* the line that decided, as printed, or unrecognised lines */
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
/* `since`: index of the last fact known to precede the change: the beginning of the last pass that saw or sealed it
 * intact, or for a late write the end of the lease; 0: none in this run. */
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
/* `due_ms`: on the run's clock. `left`: retries that remain for this rung's pass after this one. */
struct fact_retry_planned {
    struct attempt_key key;
    uint64_t due_ms;
    uint32_t left;
    struct text signature, why;
};
/* `alone`: a suspect (without suspects, any host) failed also by itself, so no peer is to blame. */
struct fact_suspects_named {
    struct attempt_key key;
    LIST_OF (uint32_t) suspects;
    uint32_t passes;
    struct text why;
    bool alone;
};
/* `epoch`, `index`: the newest fact that the worker says it knows; index 0: it holds or obeys something unknown here.
 * `believed`: others confirm it, and this is the last fact (coordinator/core/loss.c). */
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
/* The culprits fail with this cause; the other stopped hosts are cascades. */
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
/* `rung`: the first that is climbed without them. Verdict of each host: `blocked` (it never joined) or `lost`. */
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
/* RETURNED: whose its silence was, as far as its first heartbeat tells. */
enum silence { SILENCE_NONE = 0, SILENCE_STOOD, SILENCE_CUT_OFF, SILENCE_LATE };
const char *silence_phrase (enum silence silence); /* how a sentence about it ends; may be empty */
struct fact_host_suspected {
    uint32_t host;
    uint64_t silent_ms;
    enum silence silence;
};
struct fact_host_stepped {
    uint32_t host;
    struct text step;
}; /* docs/spec/launch.md */
struct fact_cache_awaited {
    struct text what;
};
/* Hosts with the same last line, apart from numbers. Empty `line`: they printed nothing yet. */
struct last_output {
    LIST_OF (uint32_t) hosts;
    struct text line;  /* of the first host; any bytes */
    uint64_t quiet_ms; /* the shortest of the hosts */
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
        struct fact_host_asked host_asked;
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

extern const struct record verdict_record, host_asked_record, generation_record, writer_granted_record,
    pass_ended_record, pass_stopped_record;

const struct record *fact_record_of_kind (enum fact_kind kind); /* NULL: unknown kind */
const char *fact_name (enum fact_kind kind);
bool fact_is_soft (enum fact_kind kind);

#endif
