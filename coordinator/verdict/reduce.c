#include "coordinator/verdict/reduce.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void miss (struct reduction_verdict *out, int host)
{
    if (host < 0)
        return;
    for (uint32_t i = 0; i < out->missing_n; i++)
        if (out->missing[i] == (uint32_t) host)
            return;
    out->missing[out->missing_n++] = (uint32_t) host;
}

static void reduce_blame_host_of (struct reduction_verdict *out, uint32_t host, enum proof proof, const char *why)
{
    out->culprits[out->culprits_n++] = (struct reduce_culprit){ host, proof, why };
}

/* ---- what must hold before sums can be read; who breaks it alone is named ---- */

static bool all_reported (const struct reduction_input *in, struct reduction_verdict *out)
{
    for (uint32_t host = 0; host < in->hosts; host++)
        if (in->metrics[host] == NULL) {
            out->missing[out->missing_n++] = host;
            reduce_blame_host_of (out, host, PROOF_UNPROVED, "this host did not report the metric");
        }
    if (out->missing_n)
        snprintf (out->why, sizeof (out->why), "not every host reported the metric");
    return out->missing_n == 0;
}

static bool all_claim_global (const struct reduction_input *in, struct reduction_verdict *out)
{
    for (uint32_t host = 0; host < in->hosts; host++)
        if (!in->metrics[host]->global)
            reduce_blame_host_of (out, host, PROOF_UNPROVED, "the program reports the metric as local to one host");
    if (out->culprits_n)
        snprintf (out->why, sizeof (out->why), "the program reports the metric as local to one host");
    return out->culprits_n == 0;
}

static bool all_have_shards (const struct reduction_input *in, struct reduction_verdict *out)
{
    for (uint32_t host = 0; host < in->hosts; host++)
        if (in->metrics[host]->shards.n != in->devices_per_host)
            reduce_blame_host_of (out, host, PROOF_UNPROVED, "the host did not report one shard for each device");
    if (out->culprits_n)
        snprintf (out->why, sizeof (out->why), "a host reported %u shards of the metric for its %u devices",
                  in->metrics[out->culprits[0].host]->shards.n, in->devices_per_host);
    return out->culprits_n == 0;
}

static bool all_are_sound (const struct reduction_input *in, struct reduction_verdict *out)
{
    for (uint32_t host = 0; host < in->hosts; host++) {
        const char *why = NULL;
        for (uint32_t i = 0; i < in->devices_per_host && !why; i++)
            why = shard_unreadable_reason (reduce_device_shard (in, host * in->devices_per_host + i));
        if (why)
            reduce_blame_host_of (out, host, PROOF_UNPROVED, why);
    }
    if (out->culprits_n)
        snprintf (out->why, sizeof (out->why), "%s", out->culprits[0].why);
    return out->culprits_n == 0;
}

static bool axes_known (const struct reduction_input *in, const struct metric *first, struct reduction_verdict *out,
                        uint32_t *axes)
{
    *axes = 0;
    for (uint32_t host = 1; host < in->hosts; host++)
        if (!metric_claims_agree (first, in->metrics[host]))
            return snprintf (out->why, sizeof (out->why),
                             "the hosts name different axes, reductions or dtypes for the metric"),
                   false;
    for (uint32_t i = 0; i < first->axes.n; i++) {
        int axis = mesh_axis (in->mesh, first->axes.items[i]);
        if (axis < 0)
            return snprintf (out->why, sizeof (out->why), "the metric names axis '%.*s', which the mesh does not have",
                             TEXT_ARG (first->axes.items[i])),
                   false;
        if (*axes & 1u << axis)
            return snprintf (out->why, sizeof (out->why), "the metric names axis '%.*s' twice",
                             TEXT_ARG (first->axes.items[i])),
                   false;
        *axes |= 1u << axis;
    }
    if (*axes == 0)
        return snprintf (out->why, sizeof (out->why), "the metric names no mesh axis over which it was reduced"), false;
    return true;
}

const struct metric *reduce_first_reported (const struct reduction_input *in)
{
    for (uint32_t host = 0; host < in->hosts; host++)
        if (in->metrics[host])
            return in->metrics[host];
    return NULL;
}

/* On success the claimed axes as bits. */
static bool readable (const struct reduction_input *in, struct reduction_verdict *out, uint32_t *axes)
{
    const struct metric *first = reduce_first_reported (in);
    if (first)
        out->value = first->value;
    return all_reported (in, out) && all_claim_global (in, out) && all_have_shards (in, out) &&
           all_are_sound (in, out) && axes_known (in, first, out, axes);
}

static const char *const reasons[] = {
    [PROOF_LOCAL] = "a device's result holds only the contributions of its own host's devices",
    [PROOF_PARTIAL] = "a device's result lacks the contributions of some other devices",
    [PROOF_WRONG_AXIS] = "the metric was reduced over other mesh axes than the ones it names",
    [PROOF_DOUBLE_COUNTED] = "a device's contribution was counted more than once",
    [PROOF_MEAN_OF_MEANS] = "the value is a mean of means: the program averaged without the weights",
    [PROOF_DISAGREE] = "the reported value is not the reduction of what the devices contributed",
    [PROOF_UNPROVED] = "a device's sum of the secret numbers fits neither the reduction nor a known mistake",
};

/* One clause about a device; a disagreement with its numbers, also if the host's value differs from the device's. */
static const char *reason_of (const struct reduction_input *in, const struct reduce_group_list *groups, uint32_t device,
                              enum proof proof, const struct reduction_verdict *out, struct arena *arena)
{
    const struct reduce_group *group = &groups->items[groups->of_device[device]];
    const struct shard *shard = reduce_device_shard (in, device);
    const struct metric *metric = in->metrics[device / in->devices_per_host];
    bool beside = metric->value != metric->shards.items[0].value;
    double seen = beside ? metric->value : shard->value, wanted = reduce_wanted_value (in, device, group);
    if (proof == PROOF_LOCAL && (shard->value == shard->local || shard->proof == reduce_device_secret (in, device)))
        return "a device's result holds only its own contribution";
    if (proof != PROOF_DISAGREE)
        return reasons[proof];
    if (!isfinite (wanted))
        return "the weights of the devices add up to 0, so they have no mean";
    const char *why = reasons[proof];
    if (reduce_rounding_may_explain (in, device, group))
        why = "rounding cannot tell: the contributions of the devices cancel out, and the dtype is too coarse";
    else if (!beside && reduce_device_is_near (in, device, group))
        why = "devices of one reduction report different values near its result: it has only one";
    return text_format (arena, "%s: reported %.9g, expected %.9g, off by %.2g, allowed %.2g (%s)", why, seen, wanted,
                        fabs (seen - wanted), group->tolerance * fabs (wanted), out->tolerance_of)
        .ptr;
}

/* ---- devices, and what each host's come to ---- */

/* Of one host: the proof of its first device that is not right; `sums`: the sums of all its devices are right. */
struct report {
    enum proof proof;
    bool sums;
};

static void read_devices (const struct reduction_input *in, const struct reduce_group_list *groups, uint32_t axes,
                          enum proof *proofs, struct reduction_verdict *out)
{
    struct reduce_last_diagnosis explained[EXPLAINED_KINDS] = { 0 };
    for (uint32_t device = 0; device < reduce_device_count (in); device++) {
        struct reduce_diagnosis reading = reduce_explain_sums (in, device, &groups->items[groups->of_device[device]],
                                                               axes, explained);
        proofs[device] = reading.proof;
        miss (out, reading.missing[0]);
        miss (out, reading.missing[1]);
    }
}

static struct report read_host (const struct reduction_input *in, uint32_t host, const struct reduce_group_list *groups,
                                enum proof *proofs)
{
    const struct metric *metric = in->metrics[host];
    /* People read the metric's value: it has to be that of the first device. */
    bool beside = metric->value != metric->shards.items[0].value;
    struct report report = { PROOF_PROVED, !beside };
    uint32_t first = host * in->devices_per_host;
    for (uint32_t device = first; device < first + in->devices_per_host; device++) {
        const struct reduce_group *group = &groups->items[groups->of_device[device]];
        report.sums = report.sums && reduce_device_shard (in, device)->proof == group->numbers;
        if (report.proof == PROOF_PROVED)
            report.proof = proofs[device];
    }
    if (!beside || report.proof != PROOF_PROVED)
        return report;
    for (uint32_t device = first; device < first + in->devices_per_host; device++)
        proofs[device] = PROOF_DISAGREE;
    report.proof = PROOF_DISAGREE;
    return report;
}

/* ---- who ---- */

/* How the reduction of one group went, as the reports of its devices show. */
struct group_result {
    bool right;        /* a device has the right result, so others erred on their own */
    bool local, other; /* a device has only its own contribution; a device has more */
    bool unlike;       /* a device with more has another sum than all without the local ones */
    double lacking;    /* the secret numbers of the local ones */
};

/* Did exactly the devices with a local value take no part? */
static bool group_result_lacks (const struct group_result *group_result)
{
    return !group_result->right && group_result->local && group_result->other && !group_result->unlike;
}

static struct group_result *read_group_results (const struct reduction_input *in,
                                                const struct reduce_group_list *groups, const enum proof *proofs,
                                                struct arena *arena)
{
    struct group_result *group_results = arena_array (arena, reduce_device_count (in), sizeof (*group_results));
    for (uint32_t device = 0; device < reduce_device_count (in); device++) {
        struct group_result *group_result = &group_results[groups->of_device[device]];
        group_result->right |= proofs[device] == PROOF_PROVED;
        group_result->local |= proofs[device] == PROOF_LOCAL;
        group_result->other |= proofs[device] != PROOF_LOCAL;
        group_result->lacking += proofs[device] == PROOF_LOCAL ? reduce_device_secret (in, device) : 0;
    }
    for (uint32_t device = 0; device < reduce_device_count (in); device++) {
        uint32_t group = groups->of_device[device];
        if (proofs[device] != PROOF_LOCAL &&
            reduce_device_shard (in, device)->proof != groups->items[group].numbers - group_results[group].lacking)
            group_results[group].unlike = true;
    }
    return group_results;
}

/* False: nothing is right, and some group does not show who is at fault, so it may be all. */
static bool somebody_stands_out (const struct reduction_input *in, const struct reduce_group_list *groups,
                                 const struct group_result *group_results)
{
    bool some_right = false, all_told = true;
    for (uint32_t device = 0; device < reduce_device_count (in); device++) {
        const struct group_result *group_result = &group_results[groups->of_device[device]];
        some_right |= group_result->right;
        all_told &= group_result_lacks (group_result);
    }
    return some_right || all_told;
}

/* The first device at fault gives the reason of its host. */
static void blame_one (const struct reduction_input *in, uint32_t host, const struct reduce_group_list *groups,
                       const struct group_result *group_results, const enum proof *proofs,
                       struct reduction_verdict *out, struct arena *arena)
{
    uint32_t first = host * in->devices_per_host;
    bool accused = false;
    for (uint32_t device = first; device < first + in->devices_per_host; device++) {
        bool lacks = group_result_lacks (&group_results[groups->of_device[device]]);
        if (proofs[device] == PROOF_PROVED || (lacks && proofs[device] != PROOF_LOCAL))
            continue;
        if (lacks)
            miss (out, (int) host);
        if (!accused)
            reduce_blame_host_of (out, host, proofs[device],
                                  reason_of (in, groups, device, proofs[device], out, arena));
        accused = true;
    }
}

static void find_culprits (const struct reduction_input *in, const struct reduce_group_list *groups,
                           const enum proof *proofs, struct reduction_verdict *out, struct arena *scratch,
                           struct arena *arena)
{
    const struct group_result *group_results = read_group_results (in, groups, proofs, scratch);
    if (!somebody_stands_out (in, groups, group_results))
        return;
    for (uint32_t host = 0; host < in->hosts; host++)
        blame_one (in, host, groups, group_results, proofs, out, arena);
}

/* ---- the verdict ---- */

static const char *reason_of_all (const struct reduction_input *in, const struct reduce_group_list *groups,
                                  const enum proof *proofs, const struct reduction_verdict *out, struct arena *arena)
{
    for (uint32_t device = 0; device < reduce_device_count (in); device++)
        if (proofs[device] == out->proof)
            return reason_of (in, groups, device, out->proof, out, arena);
    return reasons[out->proof];
}

/* Hosts that reported the metric a different number of times may have ended at different steps. */
static void add_counts (const struct reduction_input *in, struct reduction_verdict *out)
{
    uint64_t least = UINT64_MAX, most = 0;
    for (uint32_t host = 0; host < in->hosts; host++) {
        uint64_t n = in->metrics[host]->earlier.count + 1;
        least = n < least ? n : least;
        most = n > most ? n : most;
    }
    size_t len = strlen (out->why);
    if (out->proof == PROOF_DISAGREE && least < most)
        snprintf (out->why + len, sizeof (out->why) - len, "; the hosts reported it %" PRIu64 " to %" PRIu64 " times",
                  least, most);
}

/* The verdict is the proof that most of the hosts at fault share. */
static void reduce_settle (const struct reduction_input *in, const struct reduce_group_list *groups,
                           const struct report *reports, const enum proof *proofs, struct reduction_verdict *out,
                           struct arena *arena)
{
    uint32_t counts[PROOF_UNPROVED + 1] = { 0 }, most = 0;
    for (uint32_t host = 0; host < in->hosts; host++)
        counts[reports[host].proof] += out->culprits_n == 0;
    for (uint32_t i = 0; i < out->culprits_n; i++)
        counts[out->culprits[i].proof]++;
    out->proof = PROOF_PROVED;
    for (uint32_t proof = PROOF_PROVED + 1; proof <= PROOF_UNPROVED; proof++)
        if (counts[proof] > most) {
            most = counts[proof];
            out->proof = (enum proof) proof;
        }
    if (out->proof != PROOF_PROVED)
        snprintf (out->why, sizeof (out->why), "%s", reason_of_all (in, groups, proofs, out, arena));
    add_counts (in, out);
}

static void take_right_value (const struct reduction_input *in, const struct report *reports,
                              struct reduction_verdict *out)
{
    for (uint32_t host = in->hosts; host > 0; host--)
        if (reports[host - 1].proof == PROOF_PROVED)
            out->value = in->metrics[host - 1]->value;
}

/* Right sums are the same in each report: an earlier one equal to a right one is right, to a wrong one wrong. */
static void count_contradicted (const struct reduction_input *in, const struct report *reports,
                                struct reduction_verdict *out)
{
    for (uint32_t host = 0; host < in->hosts; host++) {
        const struct metric_history *earlier = &in->metrics[host]->earlier;
        uint64_t alike = earlier->alike < earlier->count ? earlier->alike : earlier->count;
        uint64_t count = reports[host].sums ? earlier->count - alike : alike;
        out->contradicted[host] = count < UINT32_MAX ? count : UINT32_MAX; /* a worker may lie; views add them up */
    }
}

/* All groups have as many devices as the mesh has over the axes. */
static void say_tolerance (const struct reduction_input *in, const struct reduce_group *group,
                           struct reduction_verdict *out)
{
    out->tolerance = group->tolerance;
    snprintf (out->tolerance_of, sizeof (out->tolerance_of), "%s, %u device%s",
              in->tolerance > 0 ? "rung" : enum_name_of (&dtype_names, in->metrics[0]->dtype), group->n,
              plural (group->n));
}

void reduce_judge_metric (const struct reduction_input *in, struct reduction_verdict *out, struct arena *arena)
{
    *out = (struct reduction_verdict){ .proof = PROOF_UNPROVED, .value = NAN };
    out->missing = arena_array (arena, in->hosts, sizeof (*out->missing));
    out->culprits = arena_array (arena, in->hosts, sizeof (*out->culprits));
    out->contradicted = arena_array (arena, in->hosts, sizeof (*out->contradicted));
    uint32_t axes = 0;
    if (!readable (in, out, &axes))
        return;
    LOCAL_ARENA scratch = { 0 };
    struct reduce_group_list groups = reduce_make_groups (in, axes, &scratch);
    struct report *reports = arena_array (&scratch, in->hosts, sizeof (*reports));
    enum proof *proofs = arena_array (&scratch, reduce_device_count (in), sizeof (*proofs));
    say_tolerance (in, &groups.items[groups.of_device[0]], out);
    read_devices (in, &groups, axes, proofs, out);
    for (uint32_t host = 0; host < in->hosts; host++)
        reports[host] = read_host (in, host, &groups, proofs);
    find_culprits (in, &groups, proofs, out, &scratch, arena);
    reduce_settle (in, &groups, reports, proofs, out, arena);
    take_right_value (in, reports, out);
    count_contradicted (in, reports, out);
}

/* ---- deal ---- */

enum { EXACT_SUM = 1 << 24, SLOTS_MAX = 1 << 16 }; /* float32 counts exactly to 2^24 */

static uint64_t permutation_sum (uint64_t hosts, uint64_t devices_per_host)
{
    return devices_per_host * devices_per_host * (hosts * (hosts + 1) / 2) +
           hosts * (devices_per_host * (devices_per_host - 1) / 2);
}

/* How many distinct secrets there are: slots 1 .. n. */
static uint32_t slots (uint32_t hosts, uint32_t devices_per_host)
{
    uint64_t devices = (uint64_t) hosts * devices_per_host;
    if (devices == 0 || devices >= EXACT_SUM)
        return 0;
    uint64_t device_max = EXACT_SUM / devices;
    if (device_max <= devices_per_host)
        device_max = devices_per_host;
    uint64_t n = (device_max - devices_per_host) / devices_per_host;
    if (n < hosts && permutation_sum (hosts, devices_per_host) < EXACT_SUM)
        n = hosts; /* a permutation of the smallest slots: its sum is known whatever the order */
    return n < SLOTS_MAX ? (uint32_t) n : SLOTS_MAX;
}

static struct digest deal_draw (const struct digest *key, const char *what, uint32_t a, uint32_t b, uint32_t c)
{
    char message[64];
    snprintf (message, sizeof message, "%s %u %u %u", what, (unsigned) a, (unsigned) b, (unsigned) c);
    return digest_hmac (key, text_of (message));
}

struct digest deal_pass_key (const struct digest *run_key, const struct attempt_key *pass)
{
    return deal_draw (run_key, "pass", pass->rung, pass->pass, pass->attempt);
}

/* 64 bits for at most 2^16 slots: none comes up more often than another by more than 2^-48. */
static uint32_t deal_slot (const struct digest *pass_key, uint32_t host, uint32_t slots)
{
    struct digest drawn = deal_draw (pass_key, "secret", host, 0, 0);
    uint64_t number = 0;
    for (size_t i = 0; i < sizeof number; i++)
        number = number << 8 | drawn.bytes[i];
    return (uint32_t) (number % slots);
}

bool deal_secrets (const struct digest *pass_key, uint32_t hosts, uint32_t devices_per_host, uint64_t secrets[])
{
    memset (secrets, 0, hosts * sizeof (secrets[0]));
    uint32_t n = slots (hosts, devices_per_host);
    if (n < hosts)
        return false;
    LOCAL_MEM bool *taken = mem_array (n, sizeof (*taken));
    for (uint32_t host = 0; host < hosts; host++) {
        uint32_t slot = deal_slot (pass_key, host, n);
        while (taken[slot])
            slot = (slot + 1) % n;
        taken[slot] = true;
        secrets[host] = (uint64_t) (slot + 1) * devices_per_host;
    }
    return true;
}

void deal_host_nonce (const struct digest *pass_key, uint32_t host, char nonce[33])
{
    struct {
        struct digest pass_key;
        uint32_t host;
    } of = { *pass_key, host };
    struct digest drawn = digest_of (&of, sizeof of); /* of one length, and cut: no HMAC is needed */
    snprintf (nonce, 33, "%.32s", DIGEST_TEXT (&drawn));
}
