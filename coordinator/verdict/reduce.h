/* reduce.h - proves that a metric is really reduced over the mesh axes it claims.
 *
 * The coordinator dealt every device a secret number; the canary reduced it beside the metric in one collective.
 * From a device's sum the coordinator, which knows all numbers, finds which devices took part: exactly those of its
 * axes, only itself, the wrong axes, all but one host, some host twice. The locals then show whether the value is right
 * for the parts. A host is at fault if its report is wrong while others of its device group are right, or lack only its
 * contribution. A reduction that is wrong in the same way everywhere blames nobody. Knows no rungs or attempts.
 *
 * The tolerance of a value follows from the program's dtype and from n, the devices reduced together: a relative error
 * of 2 n u, with the dtype's unit roundoff u (2^-24 of float32, 2^-8 of bfloat16, 2^-11 of float16, 2^-53 of float64).
 * A sum of n parts of one sign, in any order, has an error of at most (n - 1) u (N. J. Higham: Accuracy and Stability
 * of Numerical Algorithms, 2nd ed., 4.2), and a mean divides two of them. The mesh gives n, not the program. Beyond
 * float32's tolerance the devices must also hold one equal value, since one reduction has one result: so values that no
 * collective made fail, however near they are. */
#ifndef SLICEUP_COORDINATOR_VERDICT_REDUCE_H
#define SLICEUP_COORDINATOR_VERDICT_REDUCE_H

#include "common/base/digest.h"
#include "common/model/fact.h"

/* LEAST leaves room for parts of both signs, and for float32, in which the proof itself is reduced. Above MOST the
 * worst case, which grows with n, proves little. Real rounding grows with the square root of n (N. J. Higham, T. Mary:
 * A New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41, 2019), which is 1/16 for bfloat16
 * at 256 devices; and a value that lacks one of sixteen equal parts must not pass. */
#define REDUCE_TOLERANCE_LEAST 1e-5
#define REDUCE_TOLERANCE_MOST 0x1p-4

struct reduction_input {
    const struct mesh *mesh; /* of the hosts that took part */
    uint32_t hosts;
    uint32_t devices_per_host;
    const uint64_t *secrets;             /* per host */
    const struct metric *const *metrics; /* per host; NULL: it reported none of that name */
    double tolerance;                    /* relative to the right value; 0: by the dtype */
};

struct reduce_culprit {
    uint32_t host;
    enum proof proof; /* of its own report */
    const char *why;  /* one clause, without its name */
};

struct reduction_verdict {
    enum proof proof;
    double value;      /* of the first host with a right report, else of the first with any */
    uint32_t *missing; /* hosts whose contribution is absent */
    uint32_t missing_n;
    double tolerance;                /* allowed tolerance; 0: nothing could be compared */
    char tolerance_of[64];           /* its origin: "bfloat16, 4 devices" or "rung, 4 devices" */
    char why[384];                   /* one clause for people; empty when proved */
    struct reduce_culprit *culprits; /* rising; none: it is proved, or no host stands out, so all are at fault */
    uint32_t culprits_n;
    uint64_t *contradicted; /* per host: at least how many of its earlier values fail the proof; NULL: not asked */
};

const struct metric *reduce_first_reported (const struct reduction_input *in); /* NULL: none */
/* Lists and the culprits' reasons live in `arena`. */
void reduce_judge_metric (const struct reduction_input *in, struct reduction_verdict *out, struct arena *arena);

/* ---- reduce_device.c: explains the sums of one device; private to reduce*.c ---- */

struct reduce_diagnosis {
    enum proof proof;
    int missing[2]; /* hosts, -1: none */
};

/* The devices of one reduction, and their contributions. Computed once, since every device needs the sums. */
struct reduce_group {
    double numbers, sum, weight, mean_sum;
    double magnitude; /* sum of all absolute values */
    uint32_t n;
    double tolerance, sharp, rounding; /* the allowed one; float32's, if less; one rounding to the dtype */
    double common;                     /* the value of more than half of the near devices; NAN: none */
    int64_t votes;
    uint32_t near, holders;
    bool right; /* a device has the right sums and the right value */
};
struct reduce_group_list {
    uint32_t *of_device;
    struct reduce_group *items;
};

/* Explaining is expensive: later devices reuse the last explanation. */
struct reduce_last_diagnosis {
    uint32_t n;
    struct reduce_diagnosis last;
};
enum { EXPLAINED_KINDS = 2 }; /* sums, and values with right sums */

double reduce_device_secret (const struct reduction_input *in, uint32_t device);
uint32_t reduce_device_count (const struct reduction_input *in);
const struct shard *reduce_device_shard (const struct reduction_input *in, uint32_t device);
/* Why no sum with this shard can be read, one clause; NULL: it can. */
const char *shard_unreadable_reason (const struct shard *shard);
/* For metrics that all hosts reported, with valid numbers and a shard for each device. */
struct reduce_group_list reduce_make_groups (const struct reduction_input *in, uint32_t axes, struct arena *arena);
struct reduce_diagnosis reduce_explain_sums (const struct reduction_input *in, uint32_t device,
                                             const struct reduce_group *group, uint32_t axes,
                                             struct reduce_last_diagnosis explained[EXPLAINED_KINDS]);
/* The right value by its group's locals. */
double reduce_wanted_value (const struct reduction_input *in, uint32_t device, const struct reduce_group *group);
/* Is its value right within the tolerance? */
bool reduce_device_is_near (const struct reduction_input *in, uint32_t device, const struct reduce_group *group);
/* True: right sums, a wrong value that rounding could explain, and no device of the group has the right value. */
bool reduce_rounding_may_explain (const struct reduction_input *in, uint32_t device, const struct reduce_group *group);

/* ---- deal ---- */

/* Deals each host of a pass its own secret integer for the reduction proof, and its attempt's nonce.
 *
 * Device i of a host contributes `secret + i` to the collective that reduces the metric. Rules that make the proof
 * exact: secrets are distinct multiples of devices_per_host, none is 0, and the sum over all devices stays below 2^24,
 * so that a float32 sum is exact in any order.
 *
 * Secrets are HMAC-SHA256 under a key that only the coordinators of the run have, and nonces half of a SHA-256 that
 * begins with it: a host's numbers reveal nothing about other hosts or passes. */

/* The key of one pass, derived from the run's. */
struct digest deal_pass_key (const struct digest *run_key, const struct attempt_key *pass);
/* Fills `secrets` for `hosts` hosts. False: too many devices for exact sums; then all secrets are 0. */
bool deal_secrets (const struct digest *pass_key, uint32_t hosts, uint32_t devices_per_host, uint64_t secrets[]);
/* 32 hex digits for one host's attempt, which its canary must send back. */
void deal_host_nonce (const struct digest *pass_key, uint32_t host, char nonce[33]);

#endif
