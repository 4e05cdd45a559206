/* reduce.h - is this metric really reduced over the mesh axes it claims?
 *
 * The coordinator dealt every device a secret number; the canary reduced it beside the metric in one collective.
 * Knowing all numbers, the sum a device holds says which devices took part: exactly those of its axes, only itself, the
 * wrong axes, all but one host, some host twice. The locals then say whether the value is the right function of the
 * parts. Who is at fault follows from what each host itself reported, where the others reported what is right, or lack
 * just it; in each group of devices that meet by itself. A reduction that is wrong in the same way everywhere blames
 * nobody. Knows nothing of rungs or attempts. */
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
    uint64_t contradicted[HOSTS_MAX]; /* per host: of its earlier values, how many its own sums contradict; at least so
                                         many */
};

void reduce_judge (const struct reduction_input *in, struct reduction_verdict *out);

#endif
