#include "coordinator/core/reduce_device.h"

#include <math.h>

enum { DETAILED_MAX = 4, PAIRS_MAX_HOSTS = 32 }; /* devices whose wrong sum is explained one by one; the rest are counted with them */

double reduce_number (const struct reduce_input *in, uint32_t device)
{
    uint32_t host = device / in->devices_per_host;
    return (double) (in->secrets[host] + device % in->devices_per_host);
}

uint32_t reduce_devices (const struct reduce_input *in)
{
    return in->hosts * in->devices_per_host;
}

const struct shard *reduce_shard (const struct reduce_input *in, uint32_t device)
{
    const struct metric *metric = in->metrics[device / in->devices_per_host];
    return &metric->shards.items[device % in->devices_per_host];
}

/* A device's coordinates in the axes that are not reduced, as one number: equal for devices that meet. */
static uint32_t group_index (const struct mesh *mesh, uint32_t device, uint32_t axes)
{
    uint32_t at[MESH_AXES_MAX], index = 0;
    mesh_coordinates (mesh, device, at);
    for (uint32_t axis = 0; axis < mesh->n; axis++)
        if (!(axes & 1u << axis))
            index = index * mesh->items[axis].size + at[axis];
    return index;
}

struct groups reduce_groups (const struct reduce_input *in, uint32_t axes, struct arena *arena)
{
    struct groups groups = { arena_array (arena, reduce_devices (in), sizeof (uint32_t)),
                             arena_array (arena, reduce_devices (in), sizeof (struct group)) };
    for (uint32_t device = 0; device < reduce_devices (in); device++) {
        const struct shard *shard = reduce_shard (in, device);
        groups.of_device[device] = group_index (in->mesh, device, axes);
        struct group *group = &groups.items[groups.of_device[device]];
        group->numbers += reduce_number (in, device);
        group->sum += shard->local * shard->weight;
        group->weight += shard->weight;
        group->mean_sum += shard->local;
        group->magnitude += fabs (shard->local * shard->weight);
        group->n++;
    }
    return groups;
}

/* What `host` adds to the sum that `device` should hold. */
static double host_part (const struct reduce_input *in, uint32_t device, uint32_t host, uint32_t axes)
{
    double sum = 0;
    for (uint32_t i = 0; i < in->devices_per_host; i++) {
        uint32_t other = host * in->devices_per_host + i;
        if (mesh_reduced_together (in->mesh, device, other, axes))
            sum += reduce_number (in, other);
    }
    return sum;
}

static double expected_sum (const struct reduce_input *in, uint32_t device, uint32_t axes)
{
    double sum = 0;
    for (uint32_t other = 0; other < reduce_devices (in); other++)
        if (mesh_reduced_together (in->mesh, device, other, axes))
            sum += reduce_number (in, other);
    return sum;
}

static bool own_host_only (const struct reduce_input *in, uint32_t device, double proof)
{
    double own = 0;
    uint32_t host = device / in->devices_per_host;
    for (uint32_t i = 0; i < in->devices_per_host; i++)
        own += reduce_number (in, host * in->devices_per_host + i);
    return proof == reduce_number (in, device) || proof == own;
}

static bool other_axes (const struct reduce_input *in, uint32_t device, double proof, uint32_t axes)
{
    for (uint32_t candidate = 1; candidate < 1u << in->mesh->n; candidate++)
        if (candidate != axes && expected_sum (in, device, candidate) == proof)
            return true;
    return false;
}

static bool counted_twice (const struct reduce_input *in, uint32_t device, double proof, double expected, uint32_t axes)
{
    if (expected > 0 && proof > expected && fmod (proof, expected) == 0)
        return true;
    for (uint32_t host = 0; host < in->hosts; host++) {
        double part = host_part (in, device, host, axes);
        if (part > 0 && proof == expected + part)
            return true;
    }
    return false;
}

/* One missing host, or a pair of them, whose absence explains the sum. */
static bool left_out (const struct reduce_input *in, uint32_t device, double proof, double expected, uint32_t axes,
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
    for (uint32_t a = 0; a < in->hosts && in->hosts <= PAIRS_MAX_HOSTS && gap > 0; a++) /* pairs: quadratic, so bounded */
        for (uint32_t b = a + 1; b < in->hosts; b++)
            if (host_part (in, device, a, axes) + host_part (in, device, b, axes) == gap) {
                missing[0] = (int) a;
                missing[1] = (int) b;
                return true;
            }
    return false;
}

static struct reading explain_proof (const struct reduce_input *in, uint32_t device, double expected, uint32_t axes)
{
    struct reading reading = { PROOF_UNPROVED, { -1, -1 } };
    double proof = reduce_shard (in, device)->proof;
    if (other_axes (in, device, proof, axes))
        reading.proof = PROOF_WRONG_AXIS;
    else if (counted_twice (in, device, proof, expected, axes))
        reading.proof = PROOF_DOUBLE_COUNTED;
    else if (left_out (in, device, proof, expected, axes, reading.missing))
        reading.proof = PROOF_PARTIAL;
    return reading;
}

/* float32 sums in any order: the error is small beside the magnitude of what was added, not beside what is left of it. */
static bool close_to (double a, double b, double magnitude)
{
    return fabs (a - b) <= 1e-5 * magnitude;
}

static double magnitude_of (const struct reduce_input *in, uint32_t device, const struct group *group)
{
    bool mean = in->metrics[device / in->devices_per_host]->reduction == REDUCTION_MEAN;
    return mean ? group->magnitude / group->weight : group->magnitude;
}

/* The mean over hosts of each host's own weighted mean: the other way to average wrongly. */
static double mean_of_host_means (const struct reduce_input *in, uint32_t device, uint32_t axes)
{
    double sum = 0;
    uint32_t hosts = 0;
    for (uint32_t host = 0; host < in->hosts; host++) {
        double part = 0, weight = 0;
        for (uint32_t i = 0; i < in->devices_per_host; i++) {
            uint32_t other = host * in->devices_per_host + i;
            if (!mesh_reduced_together (in->mesh, device, other, axes))
                continue;
            part += reduce_shard (in, other)->local * reduce_shard (in, other)->weight;
            weight += reduce_shard (in, other)->weight;
        }
        if (weight > 0) {
            sum += part / weight;
            hosts++;
        }
    }
    return hosts ? sum / hosts : NAN;
}

static bool value_right (const struct reduce_input *in, uint32_t device, const struct group *group)
{
    bool mean = in->metrics[device / in->devices_per_host]->reduction == REDUCTION_MEAN;
    return close_to (reduce_shard (in, device)->value, mean ? group->sum / group->weight : group->sum,
                     magnitude_of (in, device, group));
}

static enum proof explain_value (const struct reduce_input *in, uint32_t device, const struct group *group, uint32_t axes)
{
    const struct shard *shard = reduce_shard (in, device);
    bool mean = in->metrics[device / in->devices_per_host]->reduction == REDUCTION_MEAN;
    double magnitude = magnitude_of (in, device, group);
    if (mean && (close_to (shard->value, group->mean_sum / group->n, magnitude) ||
                 close_to (shard->value, mean_of_host_means (in, device, axes), magnitude)))
        return PROOF_MEAN_OF_MEANS;
    return close_to (shard->value, shard->local, magnitude) ? PROOF_LOCAL : PROOF_DISAGREE;
}

struct reading reduce_read (const struct reduce_input *in, uint32_t device, const struct group *group, uint32_t axes,
                                   struct explained explained[2])
{
    bool counted_right = reduce_shard (in, device)->proof == group->numbers;
    if (counted_right && value_right (in, device, group))
        return (struct reading) { PROOF_PROVED, { -1, -1 } };
    if (!counted_right && own_host_only (in, device, reduce_shard (in, device)->proof))
        return (struct reading) { PROOF_LOCAL, { -1, -1 } };
    struct explained *kind = &explained[counted_right];
    if (kind->n++ < DETAILED_MAX)
        kind->last = counted_right ? (struct reading) { explain_value (in, device, group, axes), { -1, -1 } }
                                   : explain_proof (in, device, group->numbers, axes);
    return kind->last;
}
