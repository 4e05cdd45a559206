/* receipt.h - the durable record of what hosts proved, as values. Spec: docs/spec/receipt.md.
 *
 * A slice receipt is sets of items: headers, host receipts, reductions, generations, recoveries, violations. Each set
 * is sorted by record_compare and holds no item twice, so that merging is union: commutative, associative, idempotent,
 * overwriting nothing. Values computed from the sets (outcome, frontier, counts, drift, conflicts) are never stored. */
#ifndef SLICEUP_COMMON_MODEL_RECEIPT_H
#define SLICEUP_COMMON_MODEL_RECEIPT_H

#include "common/model/fact.h"

/* RUNGS: entries of one host, one for each attempt of each pass, also of retries and isolation. */
enum { RECEIPT_RUNGS_MAX = 32 * RUNGS_MAX, RECEIPT_HOSTS_MAX = 2 * HOSTS_MAX, RECEIPT_LISTED_MAX = 65536 };

struct cause {
    enum owner owner, else_owner;
    enum certainty certainty;
    struct text signature, text, evidence, next;
};
struct memory_receipt {
    uint64_t peak_bytes;                         /* of the host */
    uint64_t predicted_bytes, device_peak_bytes; /* of its devices */
};
struct rung_receipt {
    struct text rung;
    enum pass pass; /* none: not reached */
    uint32_t attempt;
    enum outcome outcome;
    uint64_t duration_ms;
    struct text phase;               /* the last one named */
    struct cause cause;              /* empty when it passed */
    LIST_OF (struct text) recovered; /* what happened before this attempt */
    struct text cache;               /* cold, restored, recompiled, torn, or empty */
    number_list counters;
    LIST_OF (struct program_fingerprint) programs;
    LIST_OF (struct value_check) checks;
    LIST_OF (struct metric) metrics;
    struct memory_receipt memory;
    uint64_t output_bytes, dropped_bytes, unsent_bytes; /* struct result */
    uint32_t strays, bad_lines;
    struct cache_view cache_view; /* the cache as the program saw it; level none: no cache */
    LIST_OF (struct cache_key) keys;
    LIST_OF (struct finding) findings; /* of this host's audit after the program */
    number_list phases;                /* ms in each, in order */
    LIST_OF (struct sighting) sightings;
    struct text launch; /* launch signature */
    enum purpose purpose;
    struct text bad_line;            /* the first of bad_lines: the rule and the line */
    number_list left_out;            /* name of a list -> how many reported items did not fit in it */
    struct observed_backend backend; /* platform empty: it reported none */
    struct text interpreter;         /* struct result */
};

struct environment_receipt {
    struct text pins, pins_sha256, script_sha256, restore_method, python, environment;
    struct text script, script_result, script_rung; /* script_rung: the rung whose log has its output */
};
struct policy_receipt {
    struct text profile;
    var_list launched, observed;      /* set for programs of every scope; as programs reported them */
    var_list host_scope, slice_scope; /* set for programs of that scope alone */
    text_list by_host;                /* names of variables whose values the profile makes different on each host */
    text_list inherited;              /* names of variables that programs inherit from the worker, if set */
};
struct backend_receipt {
    struct text requested;
    struct observed_backend observed;
};
struct host_receipt {
    struct text run, host;
    uint32_t rank;
    struct environment_receipt setup;
    var_list bundle;
    struct policy_receipt policy;
    struct backend_receipt backend;
    var_list facts;
    LIST_OF (struct rung_receipt *) rungs; /* in ladder order, then pass, then attempt; hosts alike share theirs */
    LIST_OF (struct result_note) notes;
};

struct run_header {
    struct text run, slice, ladder, sentence, version;
    struct mesh mesh;
    LIST_OF (struct text) rungs, hosts; /* ids in ladder order, names in rank order */
    text_list programs;                 /* what each rung ran; empty in older receipts */
    struct text launch;                 /* how workers were started: "ssh to h[0-2]"; empty in older receipts */
    struct text cache_mode, cache_writer;
    uint64_t began_wall_ms, ended_wall_ms;
    uint32_t exit_status;
    uid_list cache_trust; /* who may own the cache, besides root and the programs' users */
    struct text running;  /* the rung with a running pass of the whole slice; empty: none */
    bool rehearsal;       /* on one machine, with a stand-in for libtpu */
    text_list left_out;   /* rungs of the ladder, on purpose */
    struct run_origin origin;
    struct text home, cache_root; /* folder of runs on the coordinator's machine; of the cache on the hosts */
    uint32_t slices;              /* of equal size, one after the other in `hosts`; 0: one */
};
struct rung_time {
    struct text run, rung;
    enum pass pass;
    uint32_t attempt;
    uint64_t duration_ms;
};
struct contradicted_count_receipt {
    struct text host;
    uint64_t count;
};
struct reduction_receipt {
    struct text run, rung, metric;
    LIST_OF (struct text) axes;
    double value;
    enum proof proof;
    LIST_OF (struct text) missing;
    struct text why;
    LIST_OF (struct text) culprits;
    LIST_OF (struct contradicted_count_receipt) contradicted;
    double tolerance;
    struct text tolerance_of;
}; /* as in struct fact_metric_judged */
struct generation_receipt {
    struct text run;
    bool adopted;
    uint64_t token;
    struct text sha256, bundle, writer, from_run;
    uint32_t entries;
    uint64_t bytes, compile_ms;
    struct text dropped; /* why it is not used any more; empty: in use */
};
struct recovery_receipt {
    struct text run, what;
};
/* Something in the cache is not as its single writer left it. It changed after entry `since` of the journal (0: not
 * checked before in this run) and before entry `index`. */
struct violation_receipt {
    struct text run, rung, host; /* host: empty when the coordinator found it */
    enum finding_kind kind;
    uint64_t token;
    struct text path, detail; /* path: below the generation */
    struct text from_run;     /* the run that was granted its token; empty: none, or not known */
    uint64_t since, index;
};

struct slice_receipt {
    LIST_OF (struct run_header) headers;
    LIST_OF (struct host_receipt) hosts;
    LIST_OF (struct rung_time) times;
    LIST_OF (struct reduction_receipt) reductions;
    LIST_OF (struct generation_receipt) generations;
    LIST_OF (struct recovery_receipt) recoveries;
    LIST_OF (struct violation_receipt) violations;
};

extern const struct record rung_receipt_record, host_receipt_record, violation_receipt_record, slice_receipt_record;

#endif
