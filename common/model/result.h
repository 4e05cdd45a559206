/* result.h - what one host reports of one attempt: evidence, not a verdict. The coordinator judges. Everything in it
 * came from a canary or a worker, and is bounded by its table. */
#ifndef SLICEUP_COMMON_MODEL_RESULT_H
#define SLICEUP_COMMON_MODEL_RESULT_H

#include "common/model/plan.h"

/* How many of each a result can hold; the writer drops and counts the rest. */
enum { RESULT_FACTS_MAX = 256, RESULT_BUNDLE_MAX = 256, RESULT_COUNTERS_MAX = 64, RESULT_CHECKS_MAX = 64 };
#define RESULT_PACKAGES "packages/" /* begins names in `bundle`: "name=version" words of packages that decide less */
enum { RESULT_PROGRAMS_MAX = 32, RESULT_METRICS_MAX = 32, RESULT_SHARDS_MAX = 64, RESULT_NOTES_MAX = 32 };
enum { RESULT_KEYS_MAX = 64, KEY_PARTS_MAX = 12, FINDINGS_MAX = 32, OPEN_WAYS_MAX = 32, PHASES_MAX = 32 };
enum { SIGHTINGS_MAX = 16, SHOWN_MAX = 12, SHOWN_LINE_BYTES = 400, BAD_LINE_MAX_BYTES = 383, LEFT_OUT_MAX = 8 };
enum { RESULT_TAIL_MAX_BYTES = 2048, STACK_LINES_MAX = 12, STACK_MAX_BYTES = 1536 };

/* Names an attempt: with run and host the idempotency key. `rung` is an index into the plan. */
struct attempt_key {
    uint32_t rung;
    enum pass pass;
    uint32_t attempt; /* from 1, per rung and pass */
};
extern const struct record attempt_key_record;
bool attempt_key_equal (const struct attempt_key *a, const struct attempt_key *b);

enum ending { /* how the process ended, as the worker saw it */
              ENDING_NONE = 0,
              ENDING_EXITED,      /* `code` is the exit status */
              ENDING_SIGNALLED,   /* `code` is the signal */
              ENDING_TIMEOUT,     /* past the rung's timeout; killed by the worker */
              ENDING_CANCELLED,   /* told to stop by the coordinator */
              ENDING_ORPHANED,    /* its worker lost the coordinator or its starter: `problem` says how */
              ENDING_NOT_STARTED, /* `problem` says why */
              ENDING_LOST,        /* the worker is gone: only the coordinator writes this */
              ENDING_LEASE_LOST,  /* its cache lease ran out; the worker killed it before another host could get it */
              ENDING_TERMINATED,  /* a signal ended its worker: `problem` names it */
};
extern const struct enum_names ending_names;

struct value_check {
    struct text name;
    double expected, observed, tolerance;
};
struct shard {
    double value, proof, local, weight;
}; /* see docs/spec/canary.md, metric */
enum reduction { REDUCTION_NONE = 0, REDUCTION_SUM, REDUCTION_MEAN };
extern const struct enum_names reduction_names;
enum dtype { DTYPE_NONE = 0, DTYPE_FLOAT32, DTYPE_BFLOAT16, DTYPE_FLOAT16, DTYPE_FLOAT64 };
extern const struct enum_names dtype_names;
/* The earlier values of a metric; only its last value is judged. */
struct metric_history {
    uint64_t count;     /* 0: nothing */
    double first, last; /* the first value, and the last but one */
    uint64_t alike;     /* how many of `count` had the same sums of secrets as the last value */
};
/* A canary reports the first METRIC_REPORTED_FIELDS fields of the table. */
enum { METRIC_REPORTED_FIELDS = 6 };
struct metric {
    struct text name;
    enum reduction reduction;
    bool global; /* claims to be reduced over `axes` */
    LIST_OF (struct text) axes;
    double value;
    LIST_OF (struct shard) shards; /* one per local device, in mesh order */
    struct metric_history earlier;
    enum dtype dtype; /* type in which it was computed; absent: float32 */
};
bool metric_claims_agree (const struct metric *a, const struct metric *b); /* equal apart from numbers */
struct observed_backend {
    struct text platform, platform_version, device_kind, kernel_path;
    uint32_t devices, local_devices, process_count, process_index;
};
/* Is it the platform that was asked for? "gpu" has more names, one for each plugin. */
bool backend_is (const struct observed_backend *backend, struct text asked);

struct program_fingerprint {
    struct text name;
    struct text fingerprint;
};
enum durability { DURABILITY_NONE = 0, DURABILITY_STABLE, DURABILITY_RERUN, DURABILITY_RECHECK };
extern const struct enum_names durability_names;
#define NOTE_WARNING "warning" /* source of what people are told at once */
#define NOTE_LIMIT "its limit on "
#define NOTE_PORT "the port of {port}, " /* the problem of an attempt that another attempt does not have */
#define NOTE_READ_ONLY "is mounted read-only"
#define NOTE_NAME_SERVER "name server"
#define NOTE_UNREACHED "does not reach "
#define NOTE_AT_FAILURE "at failure" /* source of what the worker found on its host when the program had failed */
#define DISK_IS_FULL "full: "        /* value of a fact disk.*, before the sentence that names the file system */
struct result_note {
    struct text text, source;
    enum durability durability;
};
struct seal {           /* a sealed cache generation */
    uint64_t token;     /* 0: nothing sealed */
    struct text sha256; /* of its MANIFEST */
    uint32_t entries;
    uint64_t bytes;
};

/* What happened to one program's entry in the compile cache, as the frontend reports it. */
enum key_state {
    KEY_NONE = 0,
    KEY_HIT,             /* loaded from the cache */
    KEY_WRITTEN,         /* compiled and stored */
    KEY_MISSED,          /* not found; compiled */
    KEY_UNREADABLE,      /* found, but could not be loaded */
    KEY_BELOW_THRESHOLD, /* compiled but not stored: too quick or too small */
    KEY_UNWRITTEN,       /* compiled but not stored for another reason */
};
extern const struct enum_names key_state_names;
struct cache_key {
    struct text program; /* module name, as in the entry's file name */
    struct text key;     /* the entry's file name without what the frontend appends */
    enum key_state state;
    struct text why;     /* the frontend's own words */
    var_list parts;      /* what the key was made of: name (computation, flags, ...) -> short digest */
    uint64_t compile_ms; /* compile time; 0: not known. In a receipt also for entries that were found */
};
extern const struct record cache_key_record;

/* A kind of thing in a cache that the single writer's rules exclude. docs/spec/cache.md. */
enum finding_kind {
    FINDING_NONE = 0,
    FINDING_EXTRA, /* a file that was never sealed */
    FINDING_MISSING,
    FINDING_CHANGED,
    FINDING_FOREIGN_TOKEN, /* a generation whose token was never granted */
    FINDING_LATE_WRITE,    /* a generation that changed after its writer lost the lease */
    FINDING_NOT_SAME_STORAGE,
    FINDING_WRITE_ATTEMPT, /* a program tried to write, and was refused */
    FINDING_LEVEL_LOW,     /* a way to write is open that the level should close */
    FINDING_UNSEEN,        /* the root could not be read, so no other finding proves nothing */
};
extern const struct enum_names finding_kind_names;
/* Is it a violation, not only a note? A violation ends the run with exit status 4. */
bool finding_is_violation (enum finding_kind kind);
struct finding {
    enum finding_kind kind;
    uint64_t token;
    struct text path, detail;
}; /* path: below the generation */
extern const struct record finding_record;
/* What the coordinator found in the root; `run` was granted the token; empty: nobody was. */
struct cache_root_finding {
    struct finding finding;
    struct text run, bundle;
};

/* How the cache looked from inside the program's own sandbox. */
struct cache_view {
    enum enforcement level;          /* the level reached, proved by trying to write */
    LIST_OF (struct text) open_ways; /* ways to write that were not refused; empty if the level holds */
    struct text storage;             /* id of the storage: common/cache/storage.h */
    struct text mount;               /* "<fstype> <options> <source>" of its mount on this host */
};
extern const struct record cache_view_record;

/* A known text in a program's output. Those of one attempt are in the order of printing. */
struct sighting {
    struct text signature; /* its id, or that of a rule for forms of errors */
    uint32_t line;         /* from 1, as printed */
    uint64_t offset;       /* of the line, in bytes */
    struct text text;      /* the line itself, cleaned, at most SHOWN_LINE_BYTES */
    bool decides;          /* the worker takes it as the cause; at most one in a log */
};
extern const struct record sighting_record;

struct result {
    struct attempt_key key;
    enum ending ending;
    uint32_t code;
    struct text problem; /* NOT_STARTED and worker-side trouble: one sentence */
    struct text phase;   /* the last phase the canary named */
    bool done;           /* the canary sent `done` with the attempt's nonce */
    bool spoke;          /* the program used the channel at all */
    uint64_t duration_ms;
    enum owner owner;    /* the canary's own judgement, if any */
    struct text failure; /* its sentence */
    struct text tail;    /* end of its output, at most 2 KiB */
    struct observed_backend backend;
    var_list policy; /* as seen after import */
    var_list bundle; /* versions really installed or loaded */
    var_list facts;
    number_list counters;
    LIST_OF (struct value_check) checks;
    LIST_OF (struct program_fingerprint) programs;
    LIST_OF (struct metric) metrics;
    LIST_OF (struct result_note) notes;
    uint64_t peak_bytes;
    uint64_t output_bytes;
    uint64_t dropped_bytes, unsent_bytes; /* cut from the host's log, and from the coordinator's copy */
    uint64_t log_bytes;                   /* length of the coordinator's copy of the log, with our own lines */
    uint32_t strays;                      /* processes that outlived the program and were killed */
    uint32_t bad_lines;                   /* refused lines of the channel */
    struct seal seal;
    struct text cache_state; /* reader: "verified", or what was wrong with its generation */
    struct cache_view cache;
    LIST_OF (struct finding) findings; /* after the program: differences from what was sealed */
    LIST_OF (struct cache_key) keys;
    number_list phases;         /* name -> ms spent in it, in the order of first entry */
    uint64_t predicted_bytes;   /* of device memory, predicted by the compiler; 0: unknown */
    uint64_t device_peak_bytes; /* of device memory, counted by the runtime; 0: unknown */
    LIST_OF (struct sighting)
    sightings;                   /* of an attempt that ended badly: the first of each signature */
    LIST_OF (struct text) shown; /* if nothing was recognised: the lines most like an error, as printed */
    struct text bad_line;        /* the first of bad_lines: the rule it breaks, and the line, cut */
    number_list left_out;        /* name of a list -> how many reported items did not fit; no failure */
    LIST_OF (struct text) stack; /* where it was stopped, or where what ended it was raised; innermost first */
    /* Processes killed by the kernel for lack of memory meanwhile: in the program's memory cgroup, on this machine. */
    uint64_t group_memory_kills, machine_memory_kills;
    uint64_t memory_limit_bytes; /* the least of that cgroup and its parents; 0: none, or not visible */
    bool memory_group_shared;    /* the counts are of a parent cgroup that holds others, too */
    bool at_limit;               /* ended by itself in the last moments of its time, as others may have been stopped */
    struct text interpreter;     /* of a canary: "copied" (preload.h), "executed", or "executed: " and why not copied */
    struct text encoded;         /* not a field: record_encoded */
};
extern const struct record result_record;
extern const struct record seal_record, metric_record, backend_record, note_record, check_record, number_record,
    var_record, program_record;

bool result_ended_badly (const struct result *result);                          /* in any way but an exit with 0 */
struct text result_note_from (const struct result *result, const char *source); /* the last one; empty: none */
bool result_counter (const struct result *result, const char *name, uint64_t *value); /* false: absent */
uint64_t result_counted (const struct result *result, const char *name);              /* 0: absent */

#endif
