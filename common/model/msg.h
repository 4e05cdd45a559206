/* msg.h - decoded messages between coordinator and worker, as one tagged union. Spec: docs/spec/protocol.md.
 *
 * Control is level-triggered: a worker's heartbeat says which attempt it holds and in which state, the coordinator
 * compares that with what it wants and repeats what was lost. So any message may be lost, repeated or late. */
#ifndef SLICEUP_COMMON_MODEL_MSG_H
#define SLICEUP_COMMON_MODEL_MSG_H

#include "common/model/result.h"

enum { PROTOCOL_MAJOR = 1, PROTOCOL_MINOR = 0, RUN_ID_BYTES = 16, MSG_MAX_BYTES = 64 * 1024 };
enum { ADDRESSES_MAX_BYTES = 16 * 1024 };
enum {
    GATE_VALUE_MAX_BYTES = 255,
    LOG_CHUNK_MAX_BYTES = 8 * 1024,
    LOG_END_MAX_BYTES = 256 * 1024,
    FILE_CHUNK_MAX_BYTES = 32 * 1024
};
enum { ATTEMPT_GATES_MAX = 8 };
/* The part of `limits.log` that a worker sends while the program runs; the rest is kept for its end. */
uint64_t log_live_bytes (uint64_t limit_bytes);

/* 2 * RUN_ID_BYTES of 0-9a-f: checked for every id from outside before it becomes part of a path. */
bool run_id_valid (struct text id);

enum msg_kind {
    MSG_NONE = 0,
    /* worker -> coordinator */
    MSG_HELLO = 1,
    MSG_HEARTBEAT,
    MSG_RESULT,
    MSG_LOG, /* bulk socket */
    MSG_BYE,
    MSG_FETCH, /* bulk socket */
    /* coordinator -> worker */
    MSG_WELCOME = 32,
    MSG_REFUSE,  /* the worker must end; its format never changes, like HELLO's */
    MSG_REHELLO, /* "I do not know your session": say HELLO */
    MSG_RUN,
    MSG_GO,
    MSG_CANCEL,
    MSG_RESULT_ACK,
    MSG_SHUTDOWN, /* the run is over: end yourself */
    MSG_CHUNK,    /* bulk socket */
    MSG_LEASE,
    MSG_LOOK, /* tell where the attempt's program stands: `stand` of its holding */
};

enum attempt_state { ATTEMPT_NONE = 0, ATTEMPT_RUNNING, ATTEMPT_AT_GATE, ATTEMPT_STOPPING, ATTEMPT_ENDED };
extern const struct enum_names attempt_state_names;

enum gate_mode { GATE_NONE = 0, GATE_SHARE, GATE_AGREE }; /* rank 0's value goes to all; all values must be equal */
extern const struct enum_names gate_mode_names;

/* What a worker holds of one attempt; in HELLO and HEARTBEAT. */
struct holding {
    struct attempt_key key;
    enum attempt_state state;
    struct text phase;
    uint64_t phase_ms; /* since the phase began */
    struct text gate;  /* AT_GATE, and STOPPING at one: its name, mode and this host's value */
    enum gate_mode gate_mode;
    struct text gate_value;
    struct text
        stand; /* where its program stood at the last LOOK: lines as of struct result's `stack`; empty: unknown */
    uint64_t stand_ms; /* since then */
};

extern const struct record holding_record;
enum { HOLDINGS_MAX = 4, STAND_MAX_BYTES = 1024 };

struct msg_hello {
    struct text host;    /* must be the host its key stands for */
    struct text version; /* build of the worker */
    uint64_t pid, pid_start;
    struct text boot_id;
    LIST_OF (struct holding) holdings; /* at most 4 */
    uint64_t told_epoch, told_index;   /* the newest fact that this process knows, and its epoch; 0: none */
    uint64_t asked_ms;                 /* when it was sent, by the worker's CLOCK_BOOTTIME; WELCOME repeats it */
};
struct msg_heartbeat {
    uint64_t beat; /* counts in the loop that supervises the program */
    LIST_OF (struct holding) holdings;
    uint64_t lease_token; /* asks to get or renew the lease of this generation; 0: asks nothing */
    uint64_t lease_ask;   /* number of the question, which the answer repeats; the term counts from when it was sent */
    uint64_t asked_ms;    /* as in HELLO */
};
struct msg_log {
    struct attempt_key key;
    uint64_t offset;
    struct text bytes;
};
struct msg_bye {
    struct text why;
};
/* WANT, FAILED, DAMAGED and SLOW ask the coordinator for a piece. FAILED: the host that it named sent nothing; DAMAGED: other
 * bytes; SLOW: too few in its time, or no host was named in time. GOING: the file comes from that host. HAVE: it is here, and
 * others may ask at `port` with `key`; 0: they may not. */
enum fetch_word { SAY_WANT = 0, SAY_GOING, SAY_HAVE, SAY_FAILED, SAY_DAMAGED, SAY_SLOW };
extern const struct enum_names fetch_word_names;

struct msg_fetch {
    struct text sha256;
    uint64_t offset;
    enum fetch_word word;
    uint32_t port;
    struct text key;
}; /* of a file that the plan names */

/* `index`, here and below: of the newest durable fact when the coordinator sent this. */
struct msg_welcome {
    uint64_t heartbeat_ms;
    struct limits limits;
    uint64_t index;
    uint64_t asked_ms, wall_ms; /* of what it answers, and the coordinator's wall clock; 0: not known */
    uint64_t pid, pid_start;    /* of the process whose HELLO it answers; a host's next one is not meant */
};
struct msg_refuse {
    struct text why;
    uint32_t major, minor;
};

/* OWN: the private cache of this host (mode per-host); needs no lease. */
enum cache_role { CACHE_ROLE_NONE = 0, CACHE_ROLE_READER, CACHE_ROLE_WRITER, CACHE_ROLE_OWN };
extern const struct enum_names cache_role_names;
struct cache_access {
    enum cache_role role;
    /* <root>/<frontend>/<bundle fingerprint>. NONE: only the root, which the program must not write; empty: no
     * restriction. */
    struct text frontend_root;
    uint64_t token;     /* WRITER: the new generation. READER: the published one, 0 when there is none yet */
    struct text sha256; /* READER: of its MANIFEST */
    uint64_t base;      /* WRITER: the generation to start from, 0: empty */
    struct text base_sha256;
    enum enforcement least; /* a lower level is refused before the program starts */
    bool overlay;
    uint64_t lease_ms; /* WRITER: term; the program starts once the lease is held, and is killed before it ends */
    LIST_OF (struct text) writable, protected; /* struct cache_plan */
    text_list hidden;                          /* folders hidden from the program, except the worker's own */
    uid_list trust;
};

struct msg_run {
    struct attempt_key key;
    struct text nonce; /* 32 hex digits */
    struct rung rung;
    uint32_t rank, world; /* among those that take part in this pass */
    struct text address;  /* this host's own, for rendezvous */
    struct mesh mesh;     /* empty for a program that runs alone on its host */
    uint64_t secret;      /* the secret number of this host for the reduction; 0: none */
    struct profile profile;
    struct pins pins; /* with this host's env_dir */
    struct cache_access cache;
    struct file_ref signatures; /* table of known failures; empty: none */
    uint64_t index;
    struct text addresses; /* COMMAND of scope slice: of all hosts that take part, by rank, with ','; empty: too many */
};
struct msg_go {
    struct attempt_key key;
    struct text gate, value;
    uint64_t index;
};
struct msg_cancel {
    struct attempt_key key;
    bool hard;
    struct text why;
    uint64_t index;
}; /* hard: SIGKILL at once */
struct msg_ack {
    struct attempt_key key;
    uint64_t index;
};
struct msg_shutdown {
    struct text why;
};
struct msg_look {
    struct attempt_key key;
};
/* The lease of `token` lasts `term_ms` from when its holder sent question `ask`. term_ms 0: the lease is lost. */
struct msg_lease {
    uint64_t token, ask, term_ms;
};
/* Another host that listens until its next attempt. */
struct giver {
    struct text address;
    uint32_t port; /* 0: none */
    struct text key;
};
/* Of a file that is spread neither bytes, problem nor giver: ask again soon. */
struct msg_chunk {
    struct text sha256; /* as asked for, like the offset */
    uint64_t offset;
    struct text bytes;
    uint64_t size_bytes; /* of the whole file */
    struct text problem; /* why the file cannot be sent; then there are no bytes */
    bool spread;         /* hosts give it to one another: say HAVE once it is here */
    struct giver giver;  /* ask there, from the first byte */
};

struct msg {
    enum msg_kind kind;
    uint32_t major, minor;
    struct text run_id; /* RUN_ID_BYTES raw bytes */
    uint64_t epoch;     /* the coordinator's; a worker writes that of the coordinator it obeys, 0 before WELCOME */
    uint64_t session;   /* given in WELCOME; 0 before */
    uint64_t seq;       /* rises by one per sender and session, from 1; a receiver drops one not above the last */
    uint64_t ack;       /* highest seq seen from the other side */
    struct text body;   /* of one that was received: the bytes of `of`, in its frame */
    union {
        struct msg_hello hello;
        struct msg_heartbeat heartbeat;
        struct result result;
        struct msg_log log;
        struct msg_bye bye;
        struct msg_welcome welcome;
        struct msg_refuse refuse;
        struct msg_run run;
        struct msg_go go;
        struct msg_cancel cancel;
        struct msg_ack ack_result;
        struct msg_shutdown shutdown;
        struct msg_fetch fetch;
        struct msg_chunk chunk;
        struct msg_lease lease;
        struct msg_look look;
    } of;
};

/* The record that describes `of` for a kind; NULL for REHELLO and unknown kinds. */
const struct record *msg_record_of_kind (enum msg_kind kind);
const char *msg_name (enum msg_kind kind); /* "?": unknown kind */
bool msg_is_known (enum msg_kind kind);
bool msg_is_from_worker (enum msg_kind kind);
/* Its `index`; 0: the kind has none, or the sender is an earlier version. */
uint64_t msg_recorded_index (const struct msg *msg);
void msg_set_recorded_index (struct msg *msg, uint64_t index); /* does nothing for kinds without one */

#endif
