/* result.h - what one host says of one attempt: evidence, not verdict. The coordinator judges.
 * Everything in it came from a canary or a worker, and is bounded by its table. */
#ifndef SLICEUP_MODEL_RESULT_H
#define SLICEUP_MODEL_RESULT_H

#include "common/model/plan.h"

/* How much of each a result can hold; whoever fills one drops and counts what is more. */
enum { RESULT_FACTS_MAX = 256, RESULT_BUNDLE_MAX = 256, RESULT_COUNTERS_MAX = 64, RESULT_CHECKS_MAX = 64,
       RESULT_PROGRAMS_MAX = 32, RESULT_METRICS_MAX = 32, RESULT_SHARDS_MAX = 64, RESULT_NOTES_MAX = 32,
       RESULT_TAIL_MAX_BYTES = 2048 };

/* Which attempt: the idempotency key with run and host. `rung` is an index into the plan. */
struct attempt_key {
    uint32_t rung;
    enum pass pass;
    uint32_t attempt; /* from 1, per rung and pass */
};
extern const struct record attempt_key_record;
bool attempt_key_equal (const struct attempt_key *a, const struct attempt_key *b);

enum ending {               /* how the process ended, as the worker saw it */
    ENDING_NONE = 0,
    ENDING_EXITED,          /* `code` is the exit status */
    ENDING_SIGNALLED,       /* `code` is the signal */
    ENDING_TIMEOUT,         /* past the rung's timeout; killed by the worker */
    ENDING_CANCELLED,       /* told to stop by the coordinator */
    ENDING_ORPHANED,        /* the coordinator was silent too long; killed by the worker */
    ENDING_NOT_STARTED,     /* `problem` says why */
    ENDING_LOST,            /* the worker is gone: written by the coordinator, never by a worker */
};
extern const struct names ending_names;

struct check { struct text name; double expected, observed, tolerance; };
struct shard { double value, proof, local, weight; };       /* see docs/spec/canary.md, metric */
enum reduction { REDUCTION_NONE = 0, REDUCTION_SUM, REDUCTION_MEAN };
extern const struct names reduction_names;
struct metric {
    struct text name;
    enum reduction reduction;
    bool global;            /* claims to be reduced over `axes` */
    LIST_OF (struct text) axes;
    double value;
    LIST_OF (struct shard) shards; /* one per local device, in mesh order */
};
struct backend {
    struct text platform, platform_version, device_kind, kernel_path;
    uint32_t devices, local_devices, process_count, process_index;
};
struct program { struct text name; struct text fingerprint; };
enum durability { DURABILITY_NONE = 0, DURABILITY_STABLE, DURABILITY_RERUN, DURABILITY_RECHECK };
extern const struct names durability_names;
struct note { struct text text, source; enum durability durability; };
struct seal {               /* a sealed cache generation */
    uint64_t token;         /* 0: nothing sealed */
    struct text sha256;     /* of its MANIFEST */
    uint32_t entries;
    uint64_t bytes;
};

struct result {
    struct attempt_key key;
    enum ending ending;
    uint32_t code;
    struct text problem;    /* NOT_STARTED and worker-side trouble: one sentence */
    struct text phase;      /* the last phase the canary named */
    bool done;              /* the canary said done with the attempt's nonce */
    bool spoke;             /* the program used the descriptor at all */
    uint64_t duration_ms;
    enum layer layer;       /* the canary's own reading, if it gave one */
    struct text failure;    /* its sentence */
    struct text tail;       /* end of its output, at most 2 KiB */
    struct backend backend;
    var_list policy;        /* as seen after import */
    var_list bundle;        /* what is really installed or loaded */
    var_list facts;
    number_list counters;
    LIST_OF (struct check) checks;
    LIST_OF (struct program) programs;
    LIST_OF (struct metric) metrics;
    LIST_OF (struct note) notes;
    uint64_t peak_bytes;
    uint64_t output_bytes, dropped_bytes;
    uint32_t strays;        /* processes that outlived the program and were killed */
    uint32_t bad_lines;     /* lines on the descriptor that were refused */
    struct seal seal;
    struct text cache_state; /* reader: "verified", or what was wrong with the generation it was given */
};
extern const struct record result_record;
extern const struct record seal_record, metric_record, backend_record, note_record, check_record, number_record, var_record,
    program_record;

bool result_counter (const struct result *result, const char *name, uint64_t *value); /* false: absent */

#endif
