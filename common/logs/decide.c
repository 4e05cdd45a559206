#include "common/logs/decide.h"

#include "common/logs/error_rule.h"
#include "common/logs/log_line.h"

static const struct signature *named (const struct signature *items, uint32_t n, struct text id)
{
    for (uint32_t i = 0; i < n; i++)
        if (text_equal (items[i].id, id))
            return &items[i];
    return NULL;
}

static enum cause_weight weight_of (const struct signature *signature)
{
    return signature->noise ? CAUSE_NOISE : signature->peer ? CAUSE_PEER : CAUSE_OWN;
}

bool cause_id_is_peer (const struct signature *items, uint32_t n, struct text id)
{
    const struct signature *signature = named (items, n, id);
    const struct error_rule *rule = signature ? NULL : error_rule_find (id);
    return signature ? signature->peer : rule && rule->weight == RULE_PEER;
}

/* Of a kind that neither passes by itself nor is known to be harmless. */
static bool speaks_against (const struct signature *items, uint32_t n, const struct signature_scan_result *seen)
{
    for (uint32_t i = 0; i < seen->sightings_n; i++) {
        const struct signature *signature = named (items, n, seen->sightings[i].signature);
        if (signature && weight_of (signature) == CAUSE_OWN && !signature->transient)
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

static void take_signature (const struct signature *signature, struct cause_decision *out)
{
    out->weight = weight_of (signature);
    out->owner = signature->noise ? OWNER_UNKNOWN : signature->owner; /* working programs print it as well */
    out->likely = signature->likely;
    out->next = signature->next;
}

static bool take_rule (const struct error_rule *rule, struct cause_decision *out)
{
    if (!rule || (rule->owner == OWNER_UNKNOWN && rule->weight != RULE_PEER))
        return false;
    out->weight = rule->weight == RULE_PEER ? CAUSE_PEER : CAUSE_OWN;
    out->owner = rule->owner;
    out->likely = true;
    out->next = text_of (rule->next);
    return true;
}

void cause_decide (const struct signature *items, uint32_t n, const struct signature_scan_result *seen,
                   struct cause_decision *out)
{
    *out = (struct cause_decision){ 0 };
    for (uint32_t i = 0; i < seen->sightings_n; i++) {
        const struct sighting *sighting = &seen->sightings[i];
        const struct signature *signature = sighting->decides ? named (items, n, sighting->signature) : NULL;
        if (signature)
            take_signature (signature, out);
        else if (!sighting->decides || !take_rule (error_rule_find (sighting->signature), out))
            continue;
        out->id = sighting->signature;
        out->line = sighting->text;
        out->transient = signature && may_pass (signature, out->line) && !speaks_against (items, n, seen);
        return;
    }
}
