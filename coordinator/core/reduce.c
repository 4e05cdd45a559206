#include "coordinator/core/reduce.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "coordinator/core/reduce_device.h"

static void miss (struct reduce_verdict *out, int host)
{
    if (host < 0)
        return;
    for (uint32_t i = 0; i < out->missing_n; i++)
        if (out->missing[i] == (uint32_t) host)
            return;
    out->missing[out->missing_n++] = (uint32_t) host;
}

static bool claims_agree (const struct metric *a, const struct metric *b)
{
    bool same = a->reduction == b->reduction && a->axes.n == b->axes.n;
    for (uint32_t i = 0; same && i < a->axes.n; i++)
        same = text_equal (a->axes.items[i], b->axes.items[i]);
    return same;
}

static void accuse (struct reduce_verdict *out, uint32_t host, enum proof proof, const char *why)
{
    out->culprits[out->culprits_n++] = (struct reduce_culprit) { host, proof, why };
}

/* ---- what must hold before sums can be read; who breaks it alone is named ---- */

static bool all_reported (const struct reduce_input *in, struct reduce_verdict *out)
{
    for (uint32_t host = 0; host < in->hosts; host++)
        if (in->metrics[host] == NULL) {
            miss (out, (int) host);
            accuse (out, host, PROOF_UNPROVED, "this host did not report it");
        }
    if (out->missing_n)
        snprintf (out->why, sizeof (out->why), "not every host reported it");
    return out->missing_n == 0;
}

static bool all_claim_global (const struct reduce_input *in, struct reduce_verdict *out)
{
    for (uint32_t host = 0; host < in->hosts; host++)
        if (!in->metrics[host]->global)
            accuse (out, host, PROOF_UNPROVED, "it is reported as a local value");
    if (out->culprits_n)
        snprintf (out->why, sizeof (out->why), "it is reported as a local value");
    return out->culprits_n == 0;
}

static bool all_have_shards (const struct reduce_input *in, struct reduce_verdict *out)
{
    for (uint32_t host = 0; host < in->hosts; host++)
        if (in->metrics[host]->shards.n != in->devices_per_host)
            accuse (out, host, PROOF_UNPROVED, "it has another number of shards than the host has devices");
    if (out->culprits_n)
        snprintf (out->why, sizeof (out->why), "a host reported %u shards for %u devices",
                  in->metrics[out->culprits[0].host]->shards.n, in->devices_per_host);
    return out->culprits_n == 0;
}

static bool axes_known (const struct reduce_input *in, const struct metric *first, struct reduce_verdict *out, uint32_t *axes)
{
    *axes = 0;
    for (uint32_t host = 1; host < in->hosts; host++)
        if (!claims_agree (first, in->metrics[host]))
            return snprintf (out->why, sizeof (out->why), "hosts claim different axes or reductions"), false;
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

static const struct metric *first_reported (const struct reduce_input *in)
{
    for (uint32_t host = 0; host < in->hosts; host++)
        if (in->metrics[host])
            return in->metrics[host];
    return NULL;
}

/* On success the claimed axes as bits. */
static bool readable (const struct reduce_input *in, struct reduce_verdict *out, uint32_t *axes)
{
    const struct metric *first = first_reported (in);
    if (first)
        out->value = first->value;
    return all_reported (in, out) && all_claim_global (in, out) && all_have_shards (in, out) && axes_known (in, first, out, axes);
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

/* ---- devices, and what each host's come to ---- */

/* Of one host: its first device that is not right speaks for it. `sums`: they are right on all of them. */
struct report { enum proof proof; bool sums; };

static void read_reports (const struct reduce_input *in, const struct groups *groups, uint32_t axes, struct report *reports,
                          struct reduce_verdict *out)
{
    struct explained explained[EXPLAINED_KINDS] = { 0 };
    for (uint32_t host = 0; host < in->hosts; host++)
        reports[host] = (struct report) { PROOF_PROVED, true };
    for (uint32_t device = 0; device < reduce_devices (in); device++) {
        const struct group *group = &groups->items[groups->of_device[device]];
        struct report *report = &reports[device / in->devices_per_host];
        struct reading reading = reduce_read (in, device, group, axes, explained);
        report->sums = report->sums && reduce_shard (in, device)->proof == group->numbers;
        if (report->proof == PROOF_PROVED)
            report->proof = reading.proof;
        miss (out, reading.missing[0]);
        miss (out, reading.missing[1]);
    }
    for (uint32_t host = 0; host < in->hosts; host++) { /* what people read is the first device's, not something beside it */
        const struct metric *metric = in->metrics[host];
        bool beside = metric->value != metric->shards.items[0].value;
        reports[host].sums = reports[host].sums && !beside;
        if (beside && reports[host].proof == PROOF_PROVED)
            reports[host].proof = PROOF_DISAGREE;
    }
}

/* ---- who ---- */

static uint32_t count_reports (const struct reduce_input *in, const struct report *reports, enum proof proof)
{
    uint32_t n = 0;
    for (uint32_t host = 0; host < in->hosts; host++)
        n += reports[host].proof == proof;
    return n;
}

/* The sums of all others are those of a reduction in which just the hosts with a local value took no part. */
static bool others_lack_the_local (const struct reduce_input *in, const struct groups *groups, const struct report *reports,
                                   struct arena *arena)
{
    double *lacking = arena_array (arena, reduce_devices (in), sizeof (*lacking));
    for (uint32_t device = 0; device < reduce_devices (in); device++)
        if (reports[device / in->devices_per_host].proof == PROOF_LOCAL)
            lacking[groups->of_device[device]] += reduce_number (in, device);
    for (uint32_t device = 0; device < reduce_devices (in); device++) {
        uint32_t group = groups->of_device[device];
        bool local = reports[device / in->devices_per_host].proof == PROOF_LOCAL;
        if (!local && reduce_shard (in, device)->proof != groups->items[group].numbers - lacking[group])
            return false;
    }
    return true;
}

/* Where some reports are right the reduction took place, and who reported something else did so alone. */
static void find_culprits (const struct reduce_input *in, const struct groups *groups, const struct report *reports,
                           struct reduce_verdict *out, struct arena *arena)
{
    bool some_right = count_reports (in, reports, PROOF_PROVED) > 0;
    uint32_t local_n = count_reports (in, reports, PROOF_LOCAL);
    if (!some_right && (local_n == 0 || local_n == in->hosts || !others_lack_the_local (in, groups, reports, arena)))
        return;
    for (uint32_t host = 0; host < in->hosts; host++)
        if (some_right ? reports[host].proof != PROOF_PROVED : reports[host].proof == PROOF_LOCAL)
            accuse (out, host, reports[host].proof, reasons[reports[host].proof]);
    for (uint32_t i = 0; i < out->culprits_n && !some_right; i++)
        miss (out, (int) out->culprits[i].host);
}

/* ---- the verdict ---- */

/* Where hosts said it a different number of times, their last values may be of different steps. */
static void add_counts (const struct reduce_input *in, struct reduce_verdict *out)
{
    uint64_t least = UINT64_MAX, most = 0;
    for (uint32_t host = 0; host < in->hosts; host++) {
        uint64_t n = in->metrics[host]->earlier.count + 1;
        least = n < least ? n : least;
        most = n > most ? n : most;
    }
    size_t len = strlen (out->why);
    if (out->proof == PROOF_DISAGREE && least < most)
        snprintf (out->why + len, sizeof (out->why) - len, "; hosts said it %" PRIu64 " to %" PRIu64 " times", least, most);
}

/* The report that most of those at fault share speaks for all. */
static void settle (const struct reduce_input *in, const struct report *reports, struct reduce_verdict *out)
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
        snprintf (out->why, sizeof (out->why), "%s", reasons[out->proof]);
    add_counts (in, out);
}

static void take_right_value (const struct reduce_input *in, const struct report *reports, struct reduce_verdict *out)
{
    for (uint32_t host = in->hosts; host > 0; host--)
        if (reports[host - 1].proof == PROOF_PROVED)
            out->value = in->metrics[host - 1]->value;
}

/* The right sums are the same each time: earlier ones that were like right ones are right, like wrong ones wrong. */
static void count_contradicted (const struct reduce_input *in, const struct report *reports, struct reduce_verdict *out)
{
    for (uint32_t host = 0; host < in->hosts; host++) {
        const struct earlier *earlier = &in->metrics[host]->earlier;
        uint64_t alike = earlier->alike < earlier->count ? earlier->alike : earlier->count;
        uint64_t count = reports[host].sums ? earlier->count - alike : alike;
        out->contradicted[host] = count < UINT32_MAX ? count : UINT32_MAX; /* a worker may lie; views add them up */
    }
}

void reduce_judge (const struct reduce_input *in, struct reduce_verdict *out)
{
    memset (out, 0, sizeof (*out));
    out->proof = PROOF_UNPROVED;
    out->value = NAN;
    uint32_t axes = 0;
    if (!readable (in, out, &axes))
        return;
    struct arena arena = { 0 };
    struct groups groups = reduce_groups (in, axes, &arena);
    struct report *reports = arena_array (&arena, in->hosts, sizeof (*reports));
    read_reports (in, &groups, axes, reports, out);
    find_culprits (in, &groups, reports, out, &arena);
    settle (in, reports, out);
    take_right_value (in, reports, out);
    count_contradicted (in, reports, out);
    arena_release (&arena);
}
