/* host_sums.h - the attempts of all hosts, counted: how each pass of each rung stands on them, how long their phases took
 * and how long they waited at gates. For the metrics, which name no host.
 *
 * Of a host that ran a pass of a rung several times the last attempt counts, and parts of the slice by themselves do not;
 * the times are those of all attempts that are kept. Phases have the names that sliceup gives them (docs/spec/canary.md);
 * what programs call otherwise is counted together. Pure; lives in the arena. */
#ifndef SLICEUP_COORDINATOR_SCENE_HOST_SUMS_H
#define SLICEUP_COORDINATOR_SCENE_HOST_SUMS_H

#include "coordinator/scene/scene.h"

enum { HISTOGRAM_BUCKETS = 8, PHASE_NAMES = 10 }; /* the last bucket has no bound; the last phase is "other" */
extern const uint64_t histogram_bounds_ms[HISTOGRAM_BUCKETS];
extern const char *const phase_names[PHASE_NAMES];

struct histogram {
    uint64_t buckets[HISTOGRAM_BUCKETS]; /* each alone: not those below it */
    uint64_t count, sum_ms;
};

struct host_sums {
    uint32_t rungs_n;
    uint32_t (*passes)[BOARD_PASSES][MARK_N]; /* rungs_n of them: hosts by how they stand there */
    struct histogram phases[PHASE_NAMES], gates;
    uint64_t progress_ms; /* run clock: when a host last began or ended an attempt, or came to a phase; 0: never */
};

/* Every host of the plan, whatever the scene's query was; `scene` is of this feed. */
void host_sums_make (const struct feed *feed, const struct scene *scene, struct arena *arena, struct host_sums *out);

#endif
