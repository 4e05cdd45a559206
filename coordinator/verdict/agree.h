/* agree.h - compares hosts that each passed: the restored environment's fingerprint, and for slice-wide programs the
 * flags after import, as sets of tokens, must be equal. The minority is at fault. */
#ifndef SLICEUP_COORDINATOR_VERDICT_AGREE_H
#define SLICEUP_COORDINATOR_VERDICT_AGREE_H

#include "common/model/fact.h"

/* The hosts' reports of a pass, one a part. Borrowed. `alone`: parts do not depend on each other. */
struct agree_case {
    const struct plan *plan;
    const struct result *const *results;
    const uint32_t *hosts; /* rank of each part's host */
    uint32_t n;
    bool independent;
};

void agree_environments (const struct agree_case *of, struct verdict *verdicts, struct arena *arena);
/* For the survey of the cache: all hosts must see the same storage. */
void agree_storage (const struct agree_case *of, struct verdict *verdicts, struct arena *arena);
/* For a failed program of scope slice: checks that hosts saw the slice's variables (slice_variables.c). Sets
 * culprits[part] of each host that saw others and was stopped when its peers failed: it is a cause. */
void agree_variables (const struct agree_case *of, struct verdict *verdicts, bool *culprits, struct arena *arena);
/* For the facts rung: checks the arithmetic of the slice (topology.h), variables that programs of scope slice will
 * inherit, and memory for the premapped buffer. */
void agree_topology (const struct agree_case *of, struct verdict *verdicts, struct arena *arena);

/* ways.c - for the builtin ways: who does not reach whom (worker/builtin/ways.c), folded: hosts that most others do not
 * reach fail, else those that do not reach some. Where that is most of the hosts, all are told the same. */
void agree_ways (const struct agree_case *of, struct verdict *verdicts, struct arena *arena);

/* For a failed program of scope slice that only complains of others, or says nothing: does its host not reach that of
 * rank 0 (its look after the failure)? Not where that one was lost. */
void agree_unreached (const struct agree_case *of, struct verdict *verdicts, struct arena *arena);

/* Can this host spare the premapped buffer that the profile asks for? libtpu maps TPU_PREMAPPED_BUFFER_SIZE bytes of
 * host memory for each process (docs.cloud.google.com/tpu/docs/performance-guide). Data loaders and the system need the
 * rest; nobody documents how much. Our limit: a quarter of the memory, and at least PREMAPPED_LEAST_LEFT_BYTES.
 * Pure. */
#define PREMAPPED_VAR "TPU_PREMAPPED_BUFFER_SIZE"
#define PREMAPPED_LEAST_LEFT_BYTES (UINT64_C (2) << 30)

/* True: it fits, none is asked for, or the host's memory is unknown. Else `why` is one sentence. */
bool premapped_fits (const struct profile *profile, const var_list *facts, struct arena *arena, struct text *why);

/* ---- program difference ---- */

/* Differences between the launches of two hosts' programs, which may explain why the programs differ.
 *
 * Flags and other variables as sets of words, packages by version, programs by fingerprint. Pure. */

/* "XLA_FLAGS has --xla_a, the other hosts do not have it; jaxlib is 0.10.1, on the other hosts 0.10.2". Empty: no
 * reported value differs. `one_other`: "the other host has". At most DIFFERENCE_SHOWN items, then how many more. */
enum { DIFFERENCE_SHOWN = 4 };
struct text program_difference_text (const struct result *mine, const struct result *theirs, bool one_other,
                                     struct arena *arena);
/* Did both report the same programs, but other flags? Then one program becomes different executables. */
bool program_differs_by_flags (const struct result *mine, const struct result *theirs, struct arena *arena);

/* ---- majority.c: finds the value that most hosts have. Pure ---- */

/* How many of the `n` values equal values[at], itself included. */
uint32_t majority_count_equal (const struct text *values, uint32_t n, uint32_t at);
/* Index of a value that more than half share, else of the first most frequent one. */
uint32_t majority_index (const struct text *values, uint32_t n);
/* The value of more than half of the hosts with a value; empty: none. Linear in `n`. */
struct text majority_value (const struct text *values, uint32_t n);

/* ---- covers ---- */

/* The covers of a generation: a text for each rung and program that it holds (cache_family_rung_cover), the longest
 * unused first.
 *
 * A generation inherits the covers of its base, so they would grow without end. The longest unused are dropped, long
 * before a record is full. A run that needs a dropped one runs a cold pass again; the program's counters, never a
 * cover, decide whether it restored. Pure. */

/* Room for several ladders, so that no run drops a cover that it will use. */
enum { COVERS_KEPT = GENERATION_COVERS_MAX / 4 };

/* The covers of a generation built on one with `base`, by a run with the covers `ladder`, that newly holds `made`. */
text_list covers_carry_over (const text_list *base, const text_list *ladder, struct text made, struct arena *arena);

#endif
