#include "coordinator/receipt/drift_private.h"

static const char *const severities[] = { "none", "breaks", "slows", "other" };
const struct enum_names drift_severity_names = { severities, sizeof (severities) / sizeof (severities[0]) };
static const char *const verdicts[] = { "none",       "differs", "not-as-pinned", "outlier",
                                        "impossible", "changed", "too-few",       "expected" };
const struct enum_names drift_verdict_names = { verdicts, sizeof (verdicts) / sizeof (verdicts[0]) };

#define RULE(FACT, KIND)                                                                                               \
    {                                                                                                                  \
        .fact = { FACT, sizeof (FACT) - 1 }, .kind = KIND                                                              \
    }
#define NUMBER(FACT, TOLERANCE, LEAST)                                                                                 \
    {                                                                                                                  \
        .fact = { FACT, sizeof (FACT) - 1 }, .kind = DRIFT_TOLERANCE, .tolerance = TOLERANCE, .least = LEAST           \
    }
/* For journals that were written before plans held rules: what names the host itself, and what changes by itself. */
static const struct drift_rule built_in[] = { RULE ("fact hostname", DRIFT_EXPECTED),
                                              RULE ("fact boot_id", DRIFT_EXPECTED),
                                              RULE ("fact uptime*", DRIFT_EXPECTED),
                                              RULE ("fact pid", DRIFT_EXPECTED),
                                              RULE ("fact memory.available_bytes", DRIFT_EXPECTED),
                                              RULE ("fact *free*", DRIFT_EXPECTED),
                                              RULE ("policy JAX_COMPILATION_CACHE_DIR", DRIFT_EXPECTED),
                                              RULE ("policy XLA_PERSISTENT_CACHE_PATH", DRIFT_EXPECTED),
                                              RULE ("policy TPU_WORKER_ID", DRIFT_EXPECTED),
                                              RULE ("policy CLOUD_TPU_TASK_ID", DRIFT_EXPECTED),
                                              RULE ("policy *_FLAGS", DRIFT_TOKENS),
                                              RULE ("policy LIBTPU_INIT_ARGS", DRIFT_TOKENS),
                                              RULE ("duration */gate:*", DRIFT_EXPECTED),
                                              NUMBER ("duration */*", 0.5, 3000),
                                              NUMBER ("duration *", 0.5, 3000),
                                              NUMBER ("duration *", 2, 1000),
                                              NUMBER ("memory *", 0.5, 256 << 20) };
static const struct drift_rule agree = RULE ("*", DRIFT_AGREE);

static const struct drift_rule *rules_of (const struct drift_query *query, uint32_t *n)
{
    *n = query->rules_n ? query->rules_n : sizeof (built_in) / sizeof (built_in[0]);
    return query->rules_n ? query->rules : built_in;
}

const struct drift_rule *drift_rule_beside (const struct drift_query *query, const struct drift_rule *rule)
{
    uint32_t n;
    const struct drift_rule *end = rules_of (query, &n) + n, *next = rule + 1;
    return next < end && next->kind == DRIFT_TOLERANCE && text_equal (next->fact, rule->fact) ? next : NULL;
}

const struct drift_rule *drift_rule_of (const struct drift_query *query, struct text fact)
{
    uint32_t n;
    const struct drift_rule *rules = rules_of (query, &n);
    for (uint32_t i = 0; i < n; i++)
        if (text_matches (fact, rules[i].fact))
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
                       { "fact mount.*", DRIFT_BREAKS, false },
                       { "duration *", DRIFT_SLOWS, false },
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
