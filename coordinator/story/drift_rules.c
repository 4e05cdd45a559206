#include "coordinator/story/drift_private.h"

#include <string.h>

const struct enum_names drift_severity_names = NAMED ("none", "breaks", "slows", "other");
const struct enum_names drift_verdict_names = NAMED ("none", "differs", "not-as-pinned", "outlier", "impossible",
                                                     "changed", "too-few", "expected", "not-zero");

/* For journals that were written before plans held rules: what names the host itself, and what changes by itself. */
static const struct drift_rule built_in[] = {
    { .fact = TEXT_LIT ("fact hostname"), .kind = DRIFT_EXPECTED },
    { .fact = TEXT_LIT ("fact boot_id"), .kind = DRIFT_EXPECTED },
    { .fact = TEXT_LIT ("fact uptime*"), .kind = DRIFT_EXPECTED },
    { .fact = TEXT_LIT ("fact pid"), .kind = DRIFT_EXPECTED },
    { .fact = TEXT_LIT ("fact memory.available_bytes"), .kind = DRIFT_EXPECTED },
    { .fact = TEXT_LIT ("fact *free*"), .kind = DRIFT_EXPECTED },
    { .fact = TEXT_LIT ("policy JAX_COMPILATION_CACHE_DIR"), .kind = DRIFT_EXPECTED },
    { .fact = TEXT_LIT ("policy XLA_PERSISTENT_CACHE_PATH"), .kind = DRIFT_EXPECTED },
    { .fact = TEXT_LIT ("policy TPU_WORKER_ID"), .kind = DRIFT_EXPECTED },
    { .fact = TEXT_LIT ("policy CLOUD_TPU_TASK_ID"), .kind = DRIFT_EXPECTED },
    { .fact = TEXT_LIT ("policy *_FLAGS"), .kind = DRIFT_TOKENS },
    { .fact = TEXT_LIT ("policy LIBTPU_INIT_ARGS"), .kind = DRIFT_TOKENS },
    { .fact = TEXT_LIT ("duration */gate:*"), .kind = DRIFT_EXPECTED },
    { .fact = TEXT_LIT ("duration *"), .kind = DRIFT_TOLERANCE, .tolerance = 2, .least = 200 },
    { .fact = TEXT_LIT ("step *"), .kind = DRIFT_TOLERANCE, .tolerance = 2, .least = 200 },
    { .fact = TEXT_LIT ("fact number.*"), .kind = DRIFT_TOLERANCE, .tolerance = 2, .least = 0 },
    { .fact = TEXT_LIT ("memory *"), .kind = DRIFT_TOLERANCE, .tolerance = 0.5, .least = 256 << 20 },
};
static const struct drift_rule agree = { .fact = TEXT_LIT ("*"), .kind = DRIFT_AGREE };

const struct drift_rule *drift_rule_of (const struct drift_query *query, struct text fact, uint64_t repeats)
{
    uint32_t n = query->rules_n ? query->rules_n : sizeof (built_in) / sizeof (built_in[0]);
    const struct drift_rule *rules = query->rules_n ? query->rules : built_in;
    for (uint32_t i = 0; i < n; i++)
        if (repeats >= rules[i].repeats && text_matches (fact, rules[i].fact))
            return &rules[i];
    return &agree;
}

/* From what stops a slice to what nobody may ever notice. Digests over other facts come last: they differ because
 * something else does. (facts: E0200 wants the same flags, image and libtpu on all hosts; JAX wants huge pages.) */
static const struct {
    const char *pattern;
    enum drift_severity severity;
    bool derived;
} order_of_worry[] = { { "topology *", DRIFT_BREAKS, false },
                       { "bundle fingerprint", DRIFT_BREAKS, true },
                       { "bundle identity", DRIFT_BREAKS, true },
                       { "bundle pins-sha256", DRIFT_BREAKS, true },
                       { "fact bundle.identity", DRIFT_BREAKS, true },
                       { "policy *", DRIFT_BREAKS, false },
                       { "launched *", DRIFT_BREAKS, false },
                       { "fact env.*", DRIFT_BREAKS, false },
                       { "bundle *", DRIFT_BREAKS, false },
                       { "package *", DRIFT_BREAKS, false },
                       { "setup *", DRIFT_BREAKS, false },
                       { "fact package.*", DRIFT_BREAKS, false },
                       { "fact library.*", DRIFT_BREAKS, false },
                       { "fact libtpu.*", DRIFT_BREAKS, false },
                       { "fact environment.*", DRIFT_BREAKS, false },
                       { "fact *pci*", DRIFT_BREAKS, false },
                       { "fact *device*", DRIFT_BREAKS, false },
                       { "fact *accel*", DRIFT_BREAKS, false },
                       { "fact *vfio*", DRIFT_BREAKS, false },
                       { "fact tpu.*", DRIFT_BREAKS, false },
                       { "fact metadata.*", DRIFT_BREAKS, false },
                       { "backend *", DRIFT_BREAKS, false },
                       { "program *", DRIFT_BREAKS, false },
                       { "fact output.*", DRIFT_BREAKS, false },
                       { "fact mount.*", DRIFT_BREAKS, false },
                       { "duration *", DRIFT_SLOWS, false },
                       { "fact number.*", DRIFT_SLOWS, false },
                       { "step *", DRIFT_SLOWS, false },
                       { "fact hugepages.*", DRIFT_SLOWS, false },
                       { "fact rlimit.*", DRIFT_SLOWS, false },
                       { "fact memory.*", DRIFT_SLOWS, false },
                       { "fact swap.*", DRIFT_SLOWS, false },
                       { "fact shm.*", DRIFT_SLOWS, false },
                       { "fact cpu.*", DRIFT_SLOWS, false },
                       { "fact numa.*", DRIFT_SLOWS, false },
                       { "fact cgroup.*", DRIFT_SLOWS, false },
                       { "fact pids.*", DRIFT_SLOWS, false },
                       { "fact disk.*", DRIFT_SLOWS, false },
                       { "fact time.*", DRIFT_SLOWS, false },
                       { "memory *", DRIFT_SLOWS, false } };

enum drift_severity drift_severity_of (struct text fact, uint32_t *order)
{
    enum { KNOWN = sizeof (order_of_worry) / sizeof (order_of_worry[0]) };
    *order = DRIFT_ORDER_STEP * KNOWN;
    for (uint32_t i = 0; i < KNOWN; i++)
        if (text_matches (fact, text_of (order_of_worry[i].pattern))) {
            *order = DRIFT_ORDER_STEP * (i + (order_of_worry[i].derived ? KNOWN : 0));
            return order_of_worry[i].severity;
        }
    return DRIFT_REST;
}

/* ---- the list that a comparison fills ---- */

struct drift_item *drift_add_item (struct drift_comparison *work)
{
    struct drift *out = work->out;
    out->items = arena_room (work->arena, out->items, out->n, &work->items_capacity, 16, sizeof (*out->items));
    return &out->items[out->n++];
}

static bool is_finding (const struct drift_item *item)
{
    return item->verdict != DRIFT_TOO_FEW && item->verdict != DRIFT_AS_EXPECTED;
}

/* Numbers of one severity stand together, whatever they measure: the largest difference comes first. */
static uint32_t order_of (const struct drift_item *item)
{
    return item->severity == DRIFT_SLOWS && item->size > 0 ? 0 : item->order;
}

static int worst_first (const void *a, const void *b)
{
    const struct drift_item *x = a, *y = b;
    int order = is_finding (y) - is_finding (x);
    order = order ? order : order_u64 (x->severity, y->severity);
    order = order ? order : order_u64 (order_of (x), order_of (y));
    order = order ? order : (x->size < y->size) - (x->size > y->size);
    order = order ? order : order_u64 (x->deviating, y->deviating);
    return order ? order : text_compare (x->fact, y->fact);
}

static const struct drift_group *group_beside (const struct drift_item *item)
{
    for (uint32_t i = 0; i < item->groups_n; i++)
        if (item->groups[i].reference)
            return &item->groups[i];
    return item->verdict == DRIFT_DIFFERS && item->groups_n > 1 ? &item->groups[0] : NULL;
}

void drift_items_sort (struct drift *drift)
{
    for (uint32_t i = 0; i < drift->n; i++)
        drift->items[i].beside = group_beside (&drift->items[i]);
    sort_items (drift->items, drift->n, sizeof (*drift->items), worst_first);
}
