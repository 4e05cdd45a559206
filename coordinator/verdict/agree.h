/* agree.h - what must be the same on all hosts of a pass that each passed: the restored environment's fingerprint, and
 * for slice-wide programs the flags after import, as sets of tokens. The minority is at fault. */
#ifndef SLICEUP_COORDINATOR_VERDICT_AGREE_H
#define SLICEUP_COORDINATOR_VERDICT_AGREE_H

#include "common/model/fact.h"
#include "common/model/plan.h"
#include "common/model/result.h"

/* What the hosts of a pass reported, one a part. Borrowed. `alone`: parts do not depend on one another. */
struct agree_case {
    const struct plan *plan;
    const struct result *const *results;
    const uint32_t *hosts; /* index in the plan of each part's host */
    uint32_t n;
    bool independent;
};

void agree_environments (const struct agree_case *of, struct verdict *verdicts, struct arena *arena);
/* A survey of the cache: all hosts have to see one and the same storage. */
void agree_storage (const struct agree_case *of, struct verdict *verdicts, struct arena *arena);
/* A program of scope slice that did not pass: are the variables that it saw those of the slice (slice_variables.h)?
 * Sets culprits[part] of each that saw others and was stopped as its peers failed: it is a cause. */
void agree_variables (const struct agree_case *of, struct verdict *verdicts, bool *culprits, struct arena *arena);
/* The facts rung: the arithmetic of the slice (topology.h), what programs of scope slice will inherit, and room on each
 * host for what the profile sets aside. */
void agree_topology (const struct agree_case *of, struct verdict *verdicts, struct arena *arena);

/* May this host set aside the premapped buffer that the profile asks for? libtpu maps
 * TPU_PREMAPPED_BUFFER_SIZE bytes of host memory for each process (docs.cloud.google.com/tpu/docs/performance-guide).
 * Enough must be left for data loaders and the system; nobody documents how much. Our judgement: a quarter of the
 * memory, and at least PREMAPPED_LEAST_LEFT_BYTES. Pure. */
#define PREMAPPED_VAR "TPU_PREMAPPED_BUFFER_SIZE"
#define PREMAPPED_LEAST_LEFT_BYTES (UINT64_C (2) << 30)

/* True: it fits, or none is asked for, or the host does not say how much memory it has. Else `why` is one sentence. */
bool premapped_fits (const struct profile *profile, const struct var *facts, uint32_t facts_n, struct arena *arena,
                     struct text *why);

/* ---- program difference ---- */

/* What one host's program was launched with, and another's was not: why their programs may
 * differ.
 *
 * Flags and other variables as sets of words, packages by version, programs by fingerprint. Pure. */

/* "XLA_FLAGS has --xla_a, the other hosts do not have it; jaxlib is 0.10.1, on the other hosts 0.10.2". Empty: nothing
 * that was reported differs. `one_other`: "the other host has". At most DIFFERENCE_SHOWN things, then how many more. */
enum { DIFFERENCE_SHOWN = 4 };
struct text program_difference_text (const struct result *mine, const struct result *theirs, bool one_other,
                                     struct arena *arena);
/* Both reported the same programs, and other flags: then the same program becomes another executable. */
bool program_differs_by_flags (const struct result *mine, const struct result *theirs, struct arena *arena);

#endif
