/* reduce.h - is this metric really reduced over the mesh axes it claims?
 *
 * The coordinator dealt every device a secret number; the canary reduced it beside the metric in one collective.
 * Knowing all numbers, the sum a device holds says which devices took part: exactly those of its axes, only itself, the
 * wrong axes, all but one host, some host twice. The locals then say whether the value is the right function of the
 * parts. A host is at fault when it reported something wrong while others of its group of devices are right, or lack
 * just its contribution. A reduction that is wrong in the same way everywhere blames nobody. Knows nothing of rungs or
 * attempts. */
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

void reduce_judge (const struct reduction_input *in, struct reduction_verdict *out);

#endif
