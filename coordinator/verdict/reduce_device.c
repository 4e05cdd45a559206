#include "coordinator/verdict/reduce.h"

#include <float.h>
#include <math.h>

enum {
    DETAILED_MAX = 4,
    PAIRS_MAX_HOSTS = 32
}; /* this many wrong sums are explained; the rest reuse the last explanation */

double reduce_device_secret (const struct reduction_input *in, uint32_t device)
{
    uint32_t host = device / in->devices_per_host;
    return (double) (in->secrets[host] + device % in->devices_per_host);
}

uint32_t reduce_device_count (const struct reduction_input *in)
{
    return in->hosts * in->devices_per_host;
}

const struct shard *reduce_device_shard (const struct reduction_input *in, uint32_t device)
{
    const struct metric *metric = in->metrics[device / in->devices_per_host];
    return &metric->shards.items[device % in->devices_per_host];
}

/* Programs compute in float32. The comparison is written so that a NaN fails as well. */
const char *shard_unreadable_reason (const struct shard *shard)
{
    const double numbers[] = { shard->value, shard->local, shard->weight, shard->local * shard->weight };
    for (size_t i = 0; i < sizeof (numbers) / sizeof (numbers[0]); i++)
        if (!(fabs (numbers[i]) <= FLT_MAX))
            return "a number in the host's shards is not finite or too large for float32";
    return NULL;
}

/* A device's coordinates in the axes that are not reduced, as one number: equal for devices reduced together. */
static uint32_t group_index (const struct mesh *mesh, uint32_t device, uint32_t axes)
{
    uint32_t at[MESH_AXES_MAX], index = 0;
    mesh_coordinates (mesh, device, at);
    for (uint32_t axis = 0; axis < mesh->n; axis++)
        if (!(axes & 1u << axis))
            index = index * mesh->items[axis].size + at[axis];
    return index;
}

/* A weighted mean divides two sums of n: 2 n roundings, the product and the division included; a plain mean leaves n of
 * them for the locals' own. */
static double dtype_tolerance (enum dtype dtype, uint32_t n)
{
    static const double roundoffs[] = { 0x1p-24, 0x1p-24, 0x1p-8, 0x1p-11, 0x1p-53 }; /* as in enum dtype */
    return fmin (REDUCE_TOLERANCE_MOST, fmax (REDUCE_TOLERANCE_LEAST, 2 * n * roundoffs[dtype]));
}

/* Relative to the wanted value, however large the contributions are. */
static bool close_to (double seen, double wanted, double tolerance)
{
    return isfinite (wanted) && fabs (seen - wanted) <= tolerance * fabs (wanted);
}

static bool is_mean (const struct reduction_input *in, uint32_t device)
{
    return in->metrics[device / in->devices_per_host]->reduction == REDUCTION_MEAN;
}

double reduce_wanted_value (const struct reduction_input *in, uint32_t device, const struct reduce_group *group)
{
    return is_mean (in, device) ? group->sum / group->weight : group->sum;
}

static bool counted_right (const struct reduction_input *in, uint32_t device, const struct reduce_group *group)
{
    return reduce_device_shard (in, device)->proof == group->numbers;
}

bool reduce_device_is_near (const struct reduction_input *in, uint32_t device, const struct reduce_group *group)
{
    return close_to (reduce_device_shard (in, device)->value, reduce_wanted_value (in, device, group),
                     group->tolerance);
}

/* Are its sums its group's, and its value near the right one, and equal to it within float32 or to the value that most
 * hold? */
static bool is_right (const struct reduction_input *in, uint32_t device, const struct reduce_group *group)
{
    double value = reduce_device_shard (in, device)->value;
    return counted_right (in, device, group) && reduce_device_is_near (in, device, group) &&
           (close_to (value, reduce_wanted_value (in, device, group), group->sharp) ||
            close_to (value, group->common, group->sharp));
}

/* Majority vote over the near devices: the candidate left after devices with different values cancel each other (R. S.
 * Boyer, J S. Moore: MJRTY), its count, and whether that is more than half. Far devices have no vote. */
static void find_common_values (const struct reduction_input *in, struct reduce_group_list *groups)
{
    uint32_t n = reduce_device_count (in);
    for (uint32_t step = 0; step < 3 * n; step++) {
        struct reduce_group *group = &groups->items[groups->of_device[step % n]];
        double value = reduce_device_shard (in, step % n)->value;
        if (!reduce_device_is_near (in, step % n, group))
            continue;
        group->common = step < n && group->votes == 0 ? value : group->common;
        bool same = close_to (value, group->common, group->sharp);
        group->near += step < n;
        if (step < n)
            group->votes += same ? 1 : -1;
        else if (step < 2 * n)
            group->holders += same;
        else if (group->holders * 2 <= group->near)
            group->common = NAN;
    }
}

struct reduce_group_list reduce_make_groups (const struct reduction_input *in, uint32_t axes, struct arena *arena)
{
    struct reduce_group_list groups = { arena_array (arena, reduce_device_count (in), sizeof (uint32_t)),
                                        arena_array (arena, reduce_device_count (in), sizeof (struct reduce_group)) };
    for (uint32_t device = 0; device < reduce_device_count (in); device++) {
        const struct shard *shard = reduce_device_shard (in, device);
        groups.of_device[device] = group_index (in->mesh, device, axes);
        struct reduce_group *group = &groups.items[groups.of_device[device]];
        group->numbers += reduce_device_secret (in, device);
        group->sum += shard->local * shard->weight;
        group->weight += shard->weight;
        group->mean_sum += shard->local;
        group->magnitude += fabs (shard->local * shard->weight);
        group->n++;
    }
    for (uint32_t device = 0; device < reduce_device_count (in); device++) {
        struct reduce_group *group = &groups.items[groups.of_device[device]];
        group->rounding = dtype_tolerance (in->metrics[0]->dtype, 1);
        group->tolerance = in->tolerance > 0 ? in->tolerance : dtype_tolerance (in->metrics[0]->dtype, group->n);
        group->sharp = fmin (group->tolerance, dtype_tolerance (DTYPE_FLOAT32, group->n));
    }
    find_common_values (in, &groups);
    for (uint32_t device = 0; device < reduce_device_count (in); device++) {
        struct reduce_group *group = &groups.items[groups.of_device[device]];
        group->right = group->right || is_right (in, device, group);
    }
    return groups;
}

/* What `host` adds to the sum that `device` should hold. */
static double host_part (const struct reduction_input *in, uint32_t device, uint32_t host, uint32_t axes)
{
    double sum = 0;
    for (uint32_t i = 0; i < in->devices_per_host; i++) {
        uint32_t other = host * in->devices_per_host + i;
        if (mesh_reduced_together (in->mesh, device, other, axes))
            sum += reduce_device_secret (in, other);
    }
    return sum;
}

static double expected_sum (const struct reduction_input *in, uint32_t device, uint32_t axes)
{
    double sum = 0;
    for (uint32_t host = 0; host < in->hosts; host++)
        sum += host_part (in, device, host, axes);
    return sum;
}

static bool own_host_only (const struct reduction_input *in, uint32_t device, double proof)
{
    return proof == reduce_device_secret (in, device) ||
           proof == host_part (in, device, device / in->devices_per_host, UINT32_MAX);
}

static bool other_axes (const struct reduction_input *in, uint32_t device, double proof, uint32_t axes)
{
    for (uint32_t candidate = 1; candidate < 1u << in->mesh->n; candidate++)
        if (candidate != axes && expected_sum (in, device, candidate) == proof)
            return true;
    return false;
}

static bool counted_twice (const struct reduction_input *in, uint32_t device, double proof, double expected,
                           uint32_t axes)
{
    if (proof > expected && fmod (proof, expected) == 0) /* of 0 it is NaN */
        return true;
    for (uint32_t host = 0; host < in->hosts; host++) {
        double part = host_part (in, device, host, axes);
        if (part > 0 && proof == expected + part)
            return true;
    }
    return false;
}

/* One missing host, or a pair of them, whose absence explains the sum. */
static bool left_out (const struct reduction_input *in, uint32_t device, double proof, double expected, uint32_t axes,
                      int missing[2])
{
    double gap = expected - proof;
    for (uint32_t a = 0; a < in->hosts && gap > 0; a++) {
        double part = host_part (in, device, a, axes);
        if (part > 0 && part == gap) {
            missing[0] = (int) a;
            return true;
        }
    }
    for (uint32_t a = 0; a < in->hosts && in->hosts <= PAIRS_MAX_HOSTS && gap > 0;
         a++) /* pairs: quadratic, so bounded */
        for (uint32_t b = a + 1; b < in->hosts; b++)
            if (host_part (in, device, a, axes) + host_part (in, device, b, axes) == gap) {
                missing[0] = (int) a;
                missing[1] = (int) b;
                return true;
            }
    return false;
}

static struct reduce_diagnosis explain_proof (const struct reduction_input *in, uint32_t device, double expected,
                                              uint32_t axes)
{
    struct reduce_diagnosis reading = { PROOF_UNPROVED, { -1, -1 } };
    double proof = reduce_device_shard (in, device)->proof;
    if (other_axes (in, device, proof, axes))
        reading.proof = PROOF_WRONG_AXIS;
    else if (counted_twice (in, device, proof, expected, axes))
        reading.proof = PROOF_DOUBLE_COUNTED;
    else if (left_out (in, device, proof, expected, axes, reading.missing))
        reading.proof = PROOF_PARTIAL;
    return reading;
}

/* Contributions of both signs cancel: rounding is small beside them, and large beside their sum. */
bool reduce_rounding_may_explain (const struct reduction_input *in, uint32_t device, const struct reduce_group *group)
{
    double wanted = reduce_wanted_value (in, device, group);
    double magnitude = is_mean (in, device) ? group->magnitude / fabs (group->weight) : group->magnitude;
    return !group->right && counted_right (in, device, group) && isfinite (wanted) &&
           !reduce_device_is_near (in, device, group) &&
           fabs (reduce_device_shard (in, device)->value - wanted) <= group->tolerance * magnitude;
}

/* The reduction over `axes` at `device`, of only these hosts. */
static double reduction_seen_by (const struct reduction_input *in, uint32_t device, uint32_t axes, uint32_t first_host,
                                 uint32_t hosts)
{
    double sum = 0, weight = 0;
    uint32_t first = first_host * in->devices_per_host;
    for (uint32_t other = first; other < first + hosts * in->devices_per_host; other++) {
        if (!mesh_reduced_together (in->mesh, device, other, axes))
            continue;
        sum += reduce_device_shard (in, other)->local * reduce_device_shard (in, other)->weight;
        weight += reduce_device_shard (in, other)->weight;
    }
    return is_mean (in, device) ? sum / weight : sum;
}

/* The mean over hosts of each host's own weighted mean: the other way to average wrongly. */
static double mean_of_host_means (const struct reduction_input *in, uint32_t device, uint32_t axes)
{
    double sum = 0;
    uint32_t hosts = 0;
    for (uint32_t host = 0; host < in->hosts; host++) {
        double mean = reduction_seen_by (in, device, axes, host, 1);
        if (!isfinite (mean)) /* nobody there meets the device */
            continue;
        sum += mean;
        hosts++;
    }
    return sum / hosts;
}

/* A program holds one value for all its devices: that of any of them. */
static bool is_over_other_axes (const struct reduction_input *in, uint32_t device, uint32_t axes, double near)
{
    uint32_t first = device / in->devices_per_host * in->devices_per_host;
    for (uint32_t other = first; other < first + in->devices_per_host; other++)
        for (uint32_t candidate = 1; candidate < 1u << in->mesh->n; candidate++)
            if (candidate != axes && close_to (reduce_device_shard (in, device)->value,
                                               reduction_seen_by (in, other, candidate, 0, in->hosts), near))
                return true;
    return false;
}

static bool is_local_value (const struct reduction_input *in, uint32_t device, uint32_t axes, double near)
{
    uint32_t first = device / in->devices_per_host * in->devices_per_host;
    double value = reduce_device_shard (in, device)->value;
    for (uint32_t other = first; other < first + in->devices_per_host; other++)
        if (close_to (value, reduce_device_shard (in, other)->local, near))
            return true;
    return in->hosts > 1 &&
           close_to (value, reduction_seen_by (in, device, axes, device / in->devices_per_host, 1), near);
}

static bool is_a_multiple (const struct reduction_input *in, uint32_t device, const struct reduce_group *group,
                           double near)
{
    double times = reduce_device_shard (in, device)->value / group->sum;
    return !is_mean (in, device) && times >= 2 && times <= 2 * group->n && close_to (times, round (times), near);
}

static enum proof explain_near (const struct reduction_input *in, uint32_t device, const struct reduce_group *group,
                                uint32_t axes, double near)
{
    const struct shard *shard = reduce_device_shard (in, device);
    if (is_mean (in, device) && (close_to (shard->value, group->mean_sum / group->n, near) ||
                                 close_to (shard->value, mean_of_host_means (in, device, axes), near)))
        return PROOF_MEAN_OF_MEANS;
    if (is_local_value (in, device, axes, near))
        return PROOF_LOCAL;
    if (is_over_other_axes (in, device, axes, near))
        return PROOF_WRONG_AXIS;
    return is_a_multiple (in, device, group, near) ? PROOF_DOUBLE_COUNTED : PROOF_DISAGREE;
}

/* A mistake explains a value if it gives it exactly, or rounded once to its dtype, and the right value does not: a
 * wider match could be chance. */
static enum proof explain_value (const struct reduction_input *in, uint32_t device, const struct reduce_group *group,
                                 uint32_t axes)
{
    enum proof proof = explain_near (in, device, group, axes, group->sharp);
    bool wide = proof == PROOF_DISAGREE && !close_to (reduce_device_shard (in, device)->value,
                                                      reduce_wanted_value (in, device, group), 2 * group->rounding);
    return wide ? explain_near (in, device, group, axes, group->rounding) : proof;
}

struct reduce_diagnosis reduce_explain_sums (const struct reduction_input *in, uint32_t device,
                                             const struct reduce_group *group, uint32_t axes,
                                             struct reduce_last_diagnosis explained[2])
{
    bool counted = counted_right (in, device, group);
    if (is_right (in, device, group))
        return (struct reduce_diagnosis){ PROOF_PROVED, { -1, -1 } };
    if (!counted && own_host_only (in, device, reduce_device_shard (in, device)->proof))
        return (struct reduce_diagnosis){ PROOF_LOCAL, { -1, -1 } };
    struct reduce_last_diagnosis *kind = &explained[counted];
    if (kind->n++ < DETAILED_MAX)
        kind->last = counted ? (struct reduce_diagnosis){ explain_value (in, device, group, axes), { -1, -1 } }
                             : explain_proof (in, device, group->numbers, axes);
    return kind->last;
}
