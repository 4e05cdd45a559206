/* measure_fold.h - the run's facts -> what its launches really took: memory, time and outcome, one measure for each
 * launch and pass that ended. A fold like every view. docs/spec/calibration.md. */
#ifndef SLICEUP_COORDINATOR_STORY_MEASURE_FOLD_H
#define SLICEUP_COORDINATOR_STORY_MEASURE_FOLD_H

#include "common/model/fact.h"

/* What one launch really took, and how it ended. */
struct measure {
    struct text signature, shape;       /* coordinator/story/launch_fingerprint.c */
    struct text rung, slice, run, pins; /* names; pins: with the beginning of its sha256 */
    enum pass pass;
    enum outcome outcome;
    enum owner owner;
    struct text failure; /* id of the failure's signature; empty: none, or not recognised */
    struct text cause;   /* one sentence; empty when it passed */
    bool known_bad;      /* the same launch would fail in the same way */
    uint32_t hosts;
    uint64_t predicted_bytes, device_peak_bytes, host_peak_bytes; /* of the host that needed most; 0: nobody said */
    uint64_t start_ms, duration_ms; /* until the program ran first; all: of the slowest host */
    uint64_t ended_wall_ms;
    struct text family;   /* of launches that differ in arguments and bundle at most; empty: an older version's */
    struct text args;     /* lines of "name=JSON", sorted */
    struct text packages; /* words "name=version", sorted: what was installed, as hosts saw it */
    struct text pin_file; /* its path */
};
extern const struct record measure_record;
enum { MEASURE_MAX_BYTES = 32 * 1024, MEASURE_TEXT_BYTES = 4096 };
struct measure_list {
    struct measure *items;
    uint32_t n;
};

struct measure_fold;
struct measure_fold *measure_fold_create (void);
void measure_fold_destroy (struct measure_fold *fold);
void measure_fold_apply (struct measure_fold *fold, const struct fact *fact);
/* Those of the facts applied; they live as long as the fold. */
struct measure_list measure_fold_list (const struct measure_fold *fold);

/* ---- calibrate.c ---- */

/* What became at least 30 % larger or slower with another bundle; absolute floors and numbers of measures are there. */
enum { STACK_CHANGES_MAX = 5, STACK_CHANGE_TOLD_RUNS = 5 };
struct stack_change {
    const char *what;         /* the member of struct measure */
    uint64_t now, before;     /* medians */
    uint32_t now_n, before_n; /* of how many measures */
    struct text sentence;     /* in the arena */
};
/* Of `now`, a measure of `all` (newest first), against the last other bundle of the same shape. */
uint32_t measure_stack_changes (const struct measure_list *all, const struct measure *now, struct arena *arena,
                                struct stack_change out[STACK_CHANGES_MAX]);
/* "with jax 0.10.2": what tells the bundle of one measure from that of the other. */
void measure_put_bundle (const struct measure *of, const struct measure *other, struct arena *arena, struct buf *out);
/* Per pass, the median of the durations of those that passed of one launch. Lives in the arena. */
usual_time_list measure_usual_times (const struct measure_list *of_launch, struct arena *arena);
/* The same of what came before one of them; no runs: there were none. */
struct usual_time measure_usual_before (const struct measure_list *all, const struct measure *of, struct arena *arena);
/* The one nearest to `bad` of its family, of launches whose last measure passed; NULL: none. */
const struct measure *measure_next_best (const struct measure_list *all, const struct measure *bad);
/* Value of an argument in a measure's `args`. */
bool measure_arg (struct text args, struct text name, struct text *value);

/* 0.17: 17 % more than predicted; NAN: one of both is not known. */
double measure_deviation (uint64_t predicted, uint64_t seen);
/* "predicted 1.2 GiB, 1.4 GiB seen (+17 %)"; nothing where one is not known: that a device counts none is no evidence. */
void measure_put_memory (uint64_t predicted, uint64_t seen, struct buf *out);

/* ---- launch fingerprint: code, hardware, parallelism, feature toggles, shape, bundle. Pure. ---- */

/* The family: what passed of it can stand in for what did not. With arguments and allowed sizes it is a shape, to be
 * measured anew after a change of the bundle; with the bundle it is one launch, whose memory and failures are the same. */
enum launch_part { LAUNCH_FAMILY, LAUNCH_SHAPE, LAUNCH_WHOLE };
/* 16 hexadecimal digits, of the arena; empty for what is no canary: commands and builtins tell nothing of memory. */
struct text launch_fingerprint (const struct plan *plan, const struct rung *rung, enum launch_part upto,
                                struct arena *arena);
/* measure.args; empty where they are too long to be kept. */
struct text launch_args (const struct rung *rung, struct arena *arena);

#endif
