#include "common/signature/decide.h"

#include "common/signature/log_line.h"

static const struct signature *named (const struct signature *items, uint32_t n, struct text id)
{
    for (uint32_t i = 0; i < n; i++)
        if (text_equal (items[i].id, id))
            return &items[i];
    return NULL;
}

static enum signature_weight weight_of (const struct signature *signature)
{
    return signature->noise ? SIGNATURE_NOISE : signature->peer ? SIGNATURE_PEER : SIGNATURE_CAUSE;
}

/* On one line the more special text comes first in the lists, wherever it stands in the line. */
static bool comes_first (const struct signature *signature, const struct sighting *sighting,
                         const struct signature *best, const struct sighting *of_best)
{
    if (weight_of (signature) != weight_of (best))
        return weight_of (signature) > weight_of (best);
    return sighting->offset != of_best->offset ? sighting->offset < of_best->offset : signature < best;
}

/* Of a kind that neither passes by itself nor is known to be harmless. */
static bool looks_final (struct text line)
{
    return log_line_grade (line) != LINE_ERROR;
}

static bool speaks_against (const struct signature *items, uint32_t n, const struct signature_scan_result *seen)
{
    for (uint32_t i = 0; i < seen->sightings_n; i++) {
        const struct signature *signature = named (items, n, seen->sightings[i].signature);
        if (signature && weight_of (signature) == SIGNATURE_CAUSE && !signature->transient)
            return true;
    }
    for (uint32_t i = 0; i < seen->shown_n; i++)
        if (looks_final (seen->shown[i]))
            return true;
    return false;
}

/* Nobody ends of what working programs print, too, nor of what the program itself calls a warning. */
static bool may_pass (const struct signature *signature, struct text line)
{
    return signature->transient && weight_of (signature) != SIGNATURE_NOISE && log_line_grade (line) != LINE_HARMLESS;
}

/* To a failure of its own that nobody recognises: "unknown" is better than a wrong owner. */
static bool gives_way (const struct signature *signature, const struct signature_scan_result *seen)
{
    bool fatal = false, final = false;
    for (uint32_t i = 0; i < seen->shown_n; i++) {
        fatal |= log_line_grade (seen->shown[i]) == LINE_FATAL;
        final |= looks_final (seen->shown[i]);
    }
    switch (weight_of (signature)) {
    case SIGNATURE_NOISE: return final || signature->owner == OWNER_UNKNOWN;
    case SIGNATURE_PEER: return fatal;
    default: return false;
    }
}

void signature_decide (const struct signature *items, uint32_t n, const struct signature_scan_result *seen,
                       struct signature_decision *out)
{
    const struct sighting *of_best = NULL;
    *out = (struct signature_decision){ 0 };
    for (uint32_t i = 0; i < seen->sightings_n; i++) {
        const struct signature *signature = named (items, n, seen->sightings[i].signature);
        if (signature && (!out->signature || comes_first (signature, &seen->sightings[i], out->signature, of_best))) {
            out->signature = signature;
            of_best = &seen->sightings[i];
        }
    }
    if (out->signature && gives_way (out->signature, seen))
        out->signature = NULL;
    if (!out->signature)
        return;
    out->weight = weight_of (out->signature);
    out->line = of_best->text;
    out->transient = may_pass (out->signature, out->line) && !speaks_against (items, n, seen);
}
