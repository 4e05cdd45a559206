/* reduce.h - is this metric really reduced over the mesh axes it claims?
 *
 * The coordinator dealt every device a secret number; the canary reduced it beside the metric in one collective.
 * Knowing all numbers, the sum a device holds says which devices took part: exactly those of its axes, only itself, the
 * wrong axes, all but one host, some host twice. The locals then say whether the value is the right function of the
 * parts. A host is at fault when it reported something wrong while others of its device group are right, or lack just
 * its contribution. A reduction that is wrong in the same way everywhere blames nobody. Knows no rungs or attempts. */
#ifndef SLICEUP_COORDINATOR_VERDICT_REDUCE_H
#define SLICEUP_COORDINATOR_VERDICT_REDUCE_H

#include "common/model/fact.h"

struct reduction_input {
    const struct mesh *mesh; /* of the hosts that took part */
    uint32_t hosts;
    uint32_t devices_per_host;
    const uint64_t *secrets;             /* per host */
    const struct metric *const *metrics; /* per host; NULL: this host reported none of that name */
};

struct reduce_culprit {
    uint32_t host;
    enum proof proof; /* what its own report is */
    const char *why;  /* one clause, without its name */
};

struct reduction_verdict {
    enum proof proof;
    double value;                /* as the first host says whose report is right, or else the first that has one */
    uint32_t missing[HOSTS_MAX]; /* hosts whose contribution is not in it */
    uint32_t missing_n;
    char why[256]; /* one clause for people; empty when proved */
    struct reduce_culprit
        culprits[HOSTS_MAX]; /* rising; none: it is proved, or nobody stands out, so it is all of them */
    uint32_t culprits_n;
    uint64_t contradicted[HOSTS_MAX]; /* per host: how many of its earlier values fail the proof, at least */
};

void reduce_judge_metric (const struct reduction_input *in, struct reduction_verdict *out);

/* ---- reduce_device.c: what the sums that one device holds say; private to reduce*.c ---- */

struct reduce_diagnosis {
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
struct reduce_last_diagnosis {
    uint32_t n;
    struct reduce_diagnosis last;
};
enum { EXPLAINED_KINDS = 2 }; /* sums, and values under right sums */

double reduce_device_secret (const struct reduction_input *in, uint32_t device);
uint32_t reduce_device_count (const struct reduction_input *in);
const struct shard *reduce_device_shard (const struct reduction_input *in, uint32_t device);
/* Why no sum with it can be read: one clause; NULL: it can. */
const char *shard_unreadable_reason (const struct shard *shard);
/* Of metrics that all hosts reported, with sound numbers and a shard for each device. */
struct reduce_group_list reduce_make_groups (const struct reduction_input *in, uint32_t axes, struct arena *arena);
struct reduce_diagnosis reduce_explain_sums (const struct reduction_input *in, uint32_t device,
                                             const struct reduce_group *group, uint32_t axes,
                                             struct reduce_last_diagnosis explained[EXPLAINED_KINDS]);
/* Its sums are those of its group, and its value is what they and the locals give. */
bool reduce_device_is_right (const struct reduction_input *in, uint32_t device, const struct reduce_group *group);
/* The sums are right, the value is not, rounding could explain it, and no device of the group holds the right value. */
bool reduce_rounding_may_explain (const struct reduction_input *in, uint32_t device, const struct reduce_group *group);

#endif
