#include "coordinator/core/reduce.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What one device's proof says. */
struct reading {
    enum proof proof;
    int missing[2]; /* hosts, -1: none */
};

/* The devices that meet in one reduction, and what they put in. Computed once: sums are asked for every device. */
struct group { double numbers, sum, weight, mean_sum, magnitude; uint32_t n; };
struct groups { uint32_t *of_device; struct group *items; };

enum { DETAILED_MAX = 4, PAIRS_MAX_HOSTS = 32 }; /* devices whose wrong sum is explained one by one; the rest are counted with them */

static double device_number (const struct reduce_input *in, uint32_t device)
{
    uint32_t host = device / in->devices_per_host;
    return (double) (in->secrets[host] + device % in->devices_per_host);
}

static uint32_t devices (const struct reduce_input *in)
{
    return in->hosts * in->devices_per_host;
}

static const struct shard *device_shard (const struct reduce_input *in, uint32_t device)
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

static struct groups groups_make (const struct reduce_input *in, uint32_t axes, struct arena *arena)
{
    struct groups groups = { arena_array (arena, devices (in), sizeof (uint32_t)),
                             arena_array (arena, devices (in), sizeof (struct group)) };
    for (uint32_t device = 0; device < devices (in); device++) {
        const struct shard *shard = device_shard (in, device);
        groups.of_device[device] = group_index (in->mesh, device, axes);
        struct group *group = &groups.items[groups.of_device[device]];
        group->numbers += device_number (in, device);
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
            sum += device_number (in, other);
    }
    return sum;
}

static double expected_sum (const struct reduce_input *in, uint32_t device, uint32_t axes)
{
    double sum = 0;
    for (uint32_t other = 0; other < devices (in); other++)
        if (mesh_reduced_together (in->mesh, device, other, axes))
            sum += device_number (in, other);
    return sum;
}

static bool own_host_only (const struct reduce_input *in, uint32_t device, double proof)
{
    double own = 0;
    uint32_t host = device / in->devices_per_host;
    for (uint32_t i = 0; i < in->devices_per_host; i++)
        own += device_number (in, host * in->devices_per_host + i);
    return proof == device_number (in, device) || proof == own;
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
    double proof = device_shard (in, device)->proof;
    if (own_host_only (in, device, proof))
        reading.proof = PROOF_LOCAL;
    else if (other_axes (in, device, proof, axes))
        reading.proof = PROOF_WRONG_AXIS;
    else if (counted_twice (in, device, proof, expected, axes))
        reading.proof = PROOF_DOUBLE_COUNTED;
    else if (left_out (in, device, proof, expected, axes, reading.missing))
        reading.proof = PROOF_PARTIAL;
    return reading;
}

static void miss (struct reduce_verdict *out, int host)
{
    if (host < 0)
        return;
    for (uint32_t i = 0; i < out->missing_n; i++)
        if (out->missing[i] == (uint32_t) host)
            return;
    out->missing[out->missing_n++] = (uint32_t) host;
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
            part += device_shard (in, other)->local * device_shard (in, other)->weight;
            weight += device_shard (in, other)->weight;
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
    return close_to (device_shard (in, device)->value, mean ? group->sum / group->weight : group->sum,
                     magnitude_of (in, device, group));
}

static enum proof explain_value (const struct reduce_input *in, uint32_t device, const struct group *group, uint32_t axes)
{
    const struct shard *shard = device_shard (in, device);
    bool mean = in->metrics[device / in->devices_per_host]->reduction == REDUCTION_MEAN;
    double magnitude = magnitude_of (in, device, group);
    if (mean && (close_to (shard->value, group->mean_sum / group->n, magnitude) ||
                 close_to (shard->value, mean_of_host_means (in, device, axes), magnitude)))
        return PROOF_MEAN_OF_MEANS;
    return close_to (shard->value, shard->local, magnitude) ? PROOF_LOCAL : PROOF_DISAGREE;
}

static bool claims_agree (const struct metric *a, const struct metric *b)
{
    bool same = a->global == b->global && a->reduction == b->reduction && a->axes.n == b->axes.n;
    for (uint32_t i = 0; same && i < a->axes.n; i++)
        same = text_equal (a->axes.items[i], b->axes.items[i]);
    return same;
}

/* Everything that must hold before sums can be read. On success the claimed axes as bits. */
static bool readable (const struct reduce_input *in, struct reduce_verdict *out, uint32_t *axes)
{
    const struct metric *first = NULL;
    for (uint32_t host = 0; host < in->hosts; host++) {
        if (in->metrics[host] == NULL)
            miss (out, (int) host);
        else if (first == NULL)
            first = in->metrics[host];
        else if (!claims_agree (first, in->metrics[host]))
            return snprintf (out->why, sizeof (out->why), "hosts claim different axes or reductions"), false;
        if (in->metrics[host] && in->metrics[host]->shards.n != in->devices_per_host)
            return snprintf (out->why, sizeof (out->why), "a host reported %u shards for %u devices",
                             in->metrics[host]->shards.n, in->devices_per_host), false;
    }
    if (first == NULL || out->missing_n > 0)
        return snprintf (out->why, sizeof (out->why), "not every host reported it"), false;
    out->value = first->value;
    if (!first->global)
        return snprintf (out->why, sizeof (out->why), "it is reported as a local value"), false;
    *axes = 0;
    for (uint32_t i = 0; i < first->axes.n; i++) {
        int axis = mesh_axis (in->mesh, first->axes.items[i]);
        if (axis < 0)
            return snprintf (out->why, sizeof (out->why), "the mesh has no axis '%.*s'", TEXT_ARG (first->axes.items[i])), false;
        *axes |= 1u << axis;
    }
    if (*axes == 0)
        return snprintf (out->why, sizeof (out->why), "it claims no axis"), false;
    return true;
}

static const char *const reasons[] = {
    [PROOF_LOCAL] = "a device holds only its own host's contribution",
    [PROOF_PARTIAL] = "contributions are missing",
    [PROOF_WRONG_AXIS] = "the sum fits other mesh axes than the claimed ones",
    [PROOF_DOUBLE_COUNTED] = "a contribution was counted more than once",
    [PROOF_MEAN_OF_MEANS] = "it is the mean of means: weights were not reduced with the values",
    [PROOF_DISAGREE] = "the value is not the reduction of what the devices contributed",
    [PROOF_UNPROVED] = "the proof fits no reduction of the dealt numbers",
};

/* The reading most devices share speaks for all; every missing host is named. */
static void settle (const uint32_t counts[], struct reduce_verdict *out)
{
    out->proof = PROOF_PROVED;
    uint32_t most = 0;
    for (uint32_t proof = PROOF_PROVED + 1; proof <= PROOF_UNPROVED; proof++)
        if (counts[proof] > most) {
            most = counts[proof];
            out->proof = (enum proof) proof;
        }
    if (out->proof != PROOF_PROVED)
        snprintf (out->why, sizeof (out->why), "%s", reasons[out->proof]);
}

static void judge_devices (const struct reduce_input *in, uint32_t axes, uint32_t counts[], struct reduce_verdict *out)
{
    struct arena arena = { 0 };
    struct groups groups = groups_make (in, axes, &arena);
    struct reading reading = { PROOF_UNPROVED, { -1, -1 } };
    for (uint32_t device = 0, wrong = 0; device < devices (in); device++) {
        const struct group *group = &groups.items[groups.of_device[device]];
        bool counted_right = device_shard (in, device)->proof == group->numbers;
        if (counted_right && value_right (in, device, group)) {
            counts[PROOF_PROVED]++;
            continue;
        }
        if (wrong++ < DETAILED_MAX)
            reading = counted_right ? (struct reading) { explain_value (in, device, group, axes), { -1, -1 } }
                                    : explain_proof (in, device, group->numbers, axes);
        counts[reading.proof]++;
        miss (out, reading.missing[0]);
        miss (out, reading.missing[1]);
    }
    arena_release (&arena);
}

/* The value that people read is the first device's, not something beside it. */
static bool values_are_shards (const struct reduce_input *in)
{
    for (uint32_t host = 0; host < in->hosts; host++)
        if (in->metrics[host]->value != in->metrics[host]->shards.items[0].value)
            return false;
    return true;
}

void reduce_judge (const struct reduce_input *in, struct reduce_verdict *out)
{
    *out = (struct reduce_verdict) { .proof = PROOF_UNPROVED, .value = NAN };
    uint32_t axes = 0;
    if (!readable (in, out, &axes))
        return;
    uint32_t counts[PROOF_UNPROVED + 1] = { 0 };
    if (!values_are_shards (in))
        counts[PROOF_DISAGREE] = devices (in);
    judge_devices (in, axes, counts, out);
    settle (counts, out);
}
