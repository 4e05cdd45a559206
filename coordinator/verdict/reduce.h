/* reduce.h - is this metric really reduced over the mesh axes it claims?
 *
 * The coordinator dealt every device a secret number; the canary reduced it beside the metric in one collective.
 * Knowing all numbers, the sum a device holds says which devices took part: exactly those of its axes, only itself, the
 * wrong axes, all but one host, some host twice. The locals then say whether the value is the right function of the
 * parts. A host is at fault when it reported something wrong while others of its device group are right, or lack just
 * its contribution. A reduction that is wrong in the same way everywhere blames nobody. Knows no rungs or attempts.
 *
 * What a value may be off follows from the dtype that the program names and from n, the devices that meet: at most
 * 2 n u in parts of it, u the dtype's unit roundoff (2^-24 of float32, 2^-8 of bfloat16, 2^-11 of float16, 2^-53 of
 * float64). A sum of n parts of one sign, in any order, is off by at most (n - 1) u (N. J. Higham: Accuracy and
 * Stability of Numerical Algorithms, 2nd ed., 4.2), and a mean divides two of them. n is the mesh's: no program chooses
 * it. Beyond float32's tolerance the devices that meet must hold one value as well, since one reduction has one result:
 * so values that no collective has seen fail however near they are to it, and to each other. */
#ifndef SLICEUP_COORDINATOR_VERDICT_REDUCE_H
#define SLICEUP_COORDINATOR_VERDICT_REDUCE_H

#include "common/base/digest.h"
#include "common/model/fact.h"
#include "common/model/result.h"

/* The least leaves room for parts of both signs, and for float32, in which the proof itself is reduced. The most: from it
 * on the worst case, which grows with n, says little. Rounding really grows with the square root of n (N. J. Higham,
 * T. Mary: A New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41, 2019), which is 1/16 for
 * bfloat16 at 256 devices; and a value that lacks one of sixteen equal parts must not pass. */
#define REDUCE_TOLERANCE_LEAST 1e-5
#define REDUCE_TOLERANCE_MOST 0x1p-4

struct reduction_input {
    const struct mesh *mesh; /* of the hosts that took part */
    uint32_t hosts;
    uint32_t devices_per_host;
    const uint64_t *secrets;             /* per host */
    const struct metric *const *metrics; /* per host; NULL: this host reported none of that name */
    double tolerance;                    /* in parts of the right value; 0: as the dtype has it */
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
    double tolerance;      /* that was allowed; 0: nothing could be compared */
    char tolerance_of[64]; /* what it follows from, as "bfloat16, 4 devices" or "rung, 4 devices" */
    char why[384];         /* one clause for people; empty when proved */
    struct reduce_culprit
        culprits[HOSTS_MAX]; /* rising; none: it is proved, or nobody stands out, so it is all of them */
    uint32_t culprits_n;
    uint64_t contradicted[HOSTS_MAX]; /* per host: how many of its earlier values fail the proof, at least */
};

const struct metric *reduce_first_reported (const struct reduction_input *in); /* NULL: no host did */
/* What the culprits' reasons need lies in `arena`. */
void reduce_judge_metric (const struct reduction_input *in, struct reduction_verdict *out, struct arena *arena);

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
    double tolerance, sharp, rounding; /* that is allowed; float32's, if less; of one rounding to the dtype */
    double common;                     /* the value that more than half of those near hold; NAN: there is none */
    int64_t votes;
    uint32_t near, holders;
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
/* What its group's locals give. */
double reduce_wanted_value (const struct reduction_input *in, uint32_t device, const struct reduce_group *group);
/* Its value is what the locals give, within the tolerance. */
bool reduce_device_is_near (const struct reduction_input *in, uint32_t device, const struct reduce_group *group);
/* Its sums are those of its group, its value is near what the locals give, and as far as float32 tells the same, or the
 * one that most hold. */
bool reduce_device_is_right (const struct reduction_input *in, uint32_t device, const struct reduce_group *group);
/* The sums are right, the value is not, rounding could explain it, and no device of the group holds the right value. */
bool reduce_rounding_may_explain (const struct reduction_input *in, uint32_t device, const struct reduce_group *group);

/* ---- deal ---- */

/* What a pass tells each host alone: a secret integer for the reduction proof, and the nonce of its attempt.
 *
 * Device i of a host contributes `secret + i` to the collective that reduces the metric. Rules that make the proof
 * exact: secrets are distinct multiples of devices_per_host, none is 0, and the sum over all devices stays below 2^24,
 * so that a float32 sum is exact in any order.
 *
 * Everything is HMAC-SHA256 under a key that stays with the coordinator, and whoever resumes the run: what one host is
 * told says nothing of what another one is, or of any other pass. */

/* The key of one pass, below that of the run. */
struct digest deal_pass_key (const struct digest *run_key, const struct attempt_key *pass);
/* Fills `secrets` for `hosts` hosts. False: more devices than can be told apart exactly; all secrets are then 0. */
bool deal_secrets (const struct digest *pass_key, uint32_t hosts, uint32_t devices_per_host, uint64_t secrets[]);
/* 32 hex digits for one host's attempt: what its canary must say back. */
void deal_host_nonce (const struct digest *pass_key, uint32_t host, char nonce[33]);

#endif
