/* reduce_device.h - what the sums that one device holds say; private to reduce*.c. */
#ifndef SLICEUP_COORDINATOR_VERDICT_REDUCE_DEVICE_H
#define SLICEUP_COORDINATOR_VERDICT_REDUCE_DEVICE_H

#include "coordinator/verdict/reduce.h"

struct reading {
    enum proof proof;
    int missing[2]; /* hosts, -1: none */
};

/* The devices that meet in one reduction, and what they put in. Computed once: sums are asked for every device. */
struct group {
    double numbers, sum, weight, mean_sum;
    double magnitude; /* of all that was added, whatever its sign */
    uint32_t n;
    bool right; /* somebody holds the right sums and the right value */
};
struct groups {
    uint32_t *of_device;
    struct group *items;
};

/* Explaining is expensive: the last explanation stands for the devices that come later. */
struct explained {
    uint32_t n;
    struct reading last;
};
enum { EXPLAINED_KINDS = 2 }; /* sums, and values under right sums */

double reduce_number (const struct reduction_input *in, uint32_t device);
uint32_t reduce_devices (const struct reduction_input *in);
const struct shard *reduce_shard (const struct reduction_input *in, uint32_t device);
/* Why no sum with it can be read: one clause; NULL: it can. */
const char *shard_is_unreadable_why (const struct shard *shard);
/* Of metrics that all hosts reported, with sound numbers and a shard for each device. */
struct groups reduce_groups (const struct reduction_input *in, uint32_t axes, struct arena *arena);
struct reading reduce_read (const struct reduction_input *in, uint32_t device, const struct group *group, uint32_t axes,
                            struct explained explained[EXPLAINED_KINDS]);
/* Its sums are those of its group, and its value is what they and the locals give. */
bool reduce_is_right (const struct reduction_input *in, uint32_t device, const struct group *group);
/* The sums are right, the value is not, rounding could explain it, and no device of the group holds the right value. */
bool reduce_rounding_hides (const struct reduction_input *in, uint32_t device, const struct group *group);

#endif
