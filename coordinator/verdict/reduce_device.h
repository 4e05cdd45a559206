/* reduce_device.h - what the sums that one device holds say; private to reduce*.c. */
#ifndef SLICEUP_COORDINATOR_VERDICT_REDUCE_DEVICE_H
#define SLICEUP_COORDINATOR_VERDICT_REDUCE_DEVICE_H

#include "coordinator/verdict/reduce.h"

struct reduce_reading {
    enum proof proof;
    int missing[2]; /* hosts, -1: none */
};

/* The devices that meet in one reduction, and what they put in. Computed once: sums are asked for every device. */
struct reduce_group {
    double numbers, sum, weight, mean_sum;
    double magnitude; /* of all that was added, whatever its sign */
    uint32_t n;
    bool right; /* somebody holds the right sums and the right value */
};
struct reduce_group_list {
    uint32_t *of_device;
    struct reduce_group *items;
};

/* Explaining is expensive: the last explanation stands for the devices that come later. */
struct reduce_explanation {
    uint32_t n;
    struct reduce_reading last;
};
enum { EXPLAINED_KINDS = 2 }; /* sums, and values under right sums */

double reduce_device_secret (const struct reduction_input *in, uint32_t device);
uint32_t reduce_device_count (const struct reduction_input *in);
const struct shard *reduce_device_shard (const struct reduction_input *in, uint32_t device);
/* Why no sum with it can be read: one clause; NULL: it can. */
const char *shard_unreadable_reason (const struct shard *shard);
/* Of metrics that all hosts reported, with sound numbers and a shard for each device. */
struct reduce_group_list reduce_make_groups (const struct reduction_input *in, uint32_t axes, struct arena *arena);
struct reduce_reading reduce_explain_sums (const struct reduction_input *in, uint32_t device,
                                           const struct reduce_group *group, uint32_t axes,
                                           struct reduce_explanation explained[EXPLAINED_KINDS]);
/* Its sums are those of its group, and its value is what they and the locals give. */
bool reduce_is_right (const struct reduction_input *in, uint32_t device, const struct reduce_group *group);
/* The sums are right, the value is not, rounding could explain it, and no device of the group holds the right value. */
bool reduce_rounding_may_explain (const struct reduction_input *in, uint32_t device, const struct reduce_group *group);

#endif
