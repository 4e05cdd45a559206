#include "common/logs/decide.h"

#include "common/logs/log_line.h"
#include "common/logs/set.h"

static enum cause_weight weight_of (const struct signature *signature)
{
    return signature->noise ? CAUSE_NOISE : signature->peer ? CAUSE_PEER : CAUSE_OWN;
}

/* Of a kind that neither passes by itself nor is known to be harmless. */
static bool speaks_against (const struct signature_set *set, const struct signature_scan_result *seen)
{
    for (uint32_t i = 0; i < seen->sightings_n; i++) {
        const struct signature *signature = signature_set_find (set, seen->sightings[i].signature);
        if (signature && !signature->rule && weight_of (signature) == CAUSE_OWN && !signature->transient)
            return true;
    }
    for (uint32_t i = 0; i < seen->shown_n; i++)
        if (log_line_grade (seen->shown[i]) != LINE_ERROR)
            return true;
    return false;
}

/* Nobody ends of what working programs print, too, nor of what the program itself calls a warning. */
static bool may_pass (const struct signature *signature, struct text line)
{
    return signature->transient && weight_of (signature) != CAUSE_NOISE && log_line_grade (line) != LINE_HARMLESS;
}

/* A rule that names nobody, and complains of nobody, is no cause. */
static bool signature_may_decide (const struct signature *signature)
{
    return signature && (!signature->rule || signature->peer || signature->owner != OWNER_UNKNOWN);
}

void cause_decide (const struct signature_set *set, const struct signature_scan_result *seen,
                   struct cause_decision *out)
{
    *out = (struct cause_decision){ 0 };
    for (uint32_t i = 0; i < seen->sightings_n; i++) {
        const struct sighting *sighting = &seen->sightings[i];
        const struct signature *signature = sighting->decides ? signature_set_find (set, sighting->signature) : NULL;
        if (!signature_may_decide (signature))
            continue;
        *out = (struct cause_decision){ .weight = weight_of (signature),
                                        .id = sighting->signature,
                                        .owner = signature->noise ? OWNER_UNKNOWN : signature->owner,
                                        .likely = signature->likely,
                                        .next = signature->next,
                                        .line = sighting->text };
        out->transient = may_pass (signature, out->line) && !speaks_against (set, seen);
        return;
    }
}
