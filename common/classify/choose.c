#include "common/classify/choose.h"

#include <string.h>

#include "common/signature/log_line.h"
#include "common/signature/set.h"

/* What a place says, and in what form: the sum of both decides. Larger is stronger. */
enum saying { SAYS_NOTHING, SAYS_NOISE, SAYS_PEER, SAYS_KNOWN_PEER, SAYS_PRIOR, SAYS_FORM, SAYS_KNOWN, SAYINGS };
enum form { FORM_HARMLESS, FORM_PLAIN, FORM_ERROR, FORM_FATAL, FORM_EXCEPTION, FORMS };

/* Why these figures: an exception's own words beat all lines around it, known lines at level error beat what only the
 * type of an exception says, and nothing that is said of peers beats a reason of one's own. An exception that says
 * nothing stands above what plain lines say of peers: the owner is unknown then. docs/spec/signatures.md. */
static const int strength[SAYINGS][FORMS] = {
    [SAYS_NOTHING] = { 0, 0, 0, 15, 35 },    [SAYS_NOISE] = { 0, 12, 12, 12, 12 },
    [SAYS_PEER] = { 0, 30, 45, 50, 60 },     [SAYS_KNOWN_PEER] = { 0, 40, 55, 65, 70 },
    [SAYS_PRIOR] = { 0, 0, 40, 60, 80 },     [SAYS_FORM] = { 0, 55, 85, 95, 110 },
    [SAYS_KNOWN] = { 0, 90, 112, 120, 130 },
};
enum { OVER_COSTS = 70 };

struct choice {
    int strength;
    struct text id;    /* of a signature or rule; empty: nothing is recognised */
    uint32_t line;     /* index into the lines; of a sighting outside of them NO_LINE */
    uint32_t sighting; /* index, when it is one; else NO_LINE */
};
enum { NO_LINE = UINT32_MAX };

struct choosing {
    const struct signature_set *set;
    const struct printed_lines *lines;
    const struct candidates *candidates;
    struct arena *arena;
    struct choice best;
};

static enum form form_of (const struct candidate *candidate, const struct printed_line *line)
{
    if (candidate->harmless)
        return FORM_HARMLESS;
    if (candidate->exception)
        return FORM_EXCEPTION;
    if (candidate->fatal)
        return FORM_FATAL;
    return line->level == LEVEL_ERROR ? FORM_ERROR : FORM_PLAIN;
}

static enum saying saying_of_rule (const struct error_rule *rule)
{
    switch (rule ? rule->weight : RULE_NONE) {
    case RULE_PEER: return SAYS_PEER;
    case RULE_PRIOR: return SAYS_PRIOR;
    case RULE_FORM: return SAYS_FORM;
    default: return SAYS_NOTHING;
    }
}

static enum saying saying_of_signature (const struct signature *signature)
{
    if (signature->noise)
        return SAYS_NOISE;
    if (signature->peer)
        return SAYS_KNOWN_PEER;
    return signature->likely ? SAYS_FORM : SAYS_KNOWN;
}

static const struct signature *signature_named (const struct signature_set *set, struct text id)
{
    for (uint32_t i = 0; i < set->n; i++)
        if (text_equal (set->items[i].id, id))
            return &set->items[i];
    return NULL;
}

/* The strongest known text in a candidate's own words; of equals the first in the words, then in the lists. */
static const struct signature *known_in (struct choosing *choosing, const struct candidate *candidate)
{
    struct signature_scan_result seen;
    const struct signature *best = NULL;
    uint64_t of_best = 0;
    signature_scan_text (choosing->set, candidate->text, choosing->arena, &seen);
    for (uint32_t i = 0; i < seen.sightings_n; i++) {
        const struct signature *signature = signature_named (choosing->set, seen.sightings[i].signature);
        enum saying saying = saying_of_signature (signature);
        if (best &&
            (saying < saying_of_signature (best) ||
             (saying == saying_of_signature (best) &&
              (seen.sightings[i].offset > of_best || (seen.sightings[i].offset == of_best && signature > best)))))
            continue;
        best = signature;
        of_best = seen.sightings[i].offset;
    }
    return best;
}

/* Of equals the earlier one: what comes later follows from it. */
static void offer (struct choosing *choosing, struct choice choice)
{
    if (choice.strength > choosing->best.strength)
        choosing->best = choice;
}

static void offer_candidate (struct choosing *choosing, const struct candidate *candidate)
{
    enum form form = form_of (candidate, &choosing->lines->items[candidate->shown]);
    if (candidate->rule && candidate->rule->weight == RULE_AFTERMATH)
        return;
    const struct signature *known = known_in (choosing, candidate);
    enum saying by_rule = saying_of_rule (candidate->rule),
                by_text = known ? saying_of_signature (known) : SAYS_NOTHING;
    struct choice choice = { .line = candidate->shown, .sighting = NO_LINE };
    if (candidate->rule && candidate->rule->weight == RULE_CHILD && by_text <= SAYS_KNOWN_PEER)
        return;
    bool harmless = known && by_text == SAYS_NOISE && form < FORM_FATAL;
    bool text_counts = known && (harmless || by_text >= by_rule);
    choice.strength = strength[text_counts ? by_text : by_rule][form] - (candidate->over ? OVER_COSTS : 0);
    if (candidate->over && !candidate->exception)
        return;
    if (text_counts)
        choice.id = known->id;
    else if (by_rule != SAYS_NOTHING)
        choice.id = text_of (candidate->rule->id);
    offer (choosing, choice);
}

static uint32_t line_at (const struct printed_lines *lines, uint64_t offset)
{
    for (uint32_t i = lines->n; i > 0; i--)
        if (lines->items[i - 1].offset <= offset)
            return i - 1;
    return NO_LINE;
}

static bool in_candidate (const struct choosing *choosing, uint32_t line)
{
    for (uint32_t i = 0; i < choosing->candidates->n; i++)
        if (choosing->candidates->items[i].first <= line && line <= choosing->candidates->items[i].last)
            return true;
    return false;
}

static enum form form_of_sighting (const struct choosing *choosing, uint32_t line, struct text text)
{
    enum log_line_grade grade = log_line_grade (text);
    enum log_level level = line == NO_LINE ? LEVEL_NONE : choosing->lines->items[line].level;
    if (level == LEVEL_INFO || level == LEVEL_WARNING || (level == LEVEL_NONE && grade == LINE_HARMLESS))
        return FORM_HARMLESS;
    return level == LEVEL_ERROR ? FORM_ERROR : level == LEVEL_FATAL || grade == LINE_FATAL ? FORM_FATAL : FORM_PLAIN;
}

/* Known texts in lines that do not look like an error. */
static void offer_sighting (struct choosing *choosing, const struct sighting *sighting, uint32_t index)
{
    const struct signature *signature = signature_named (choosing->set, sighting->signature);
    uint32_t line = line_at (choosing->lines, sighting->offset);
    if (!signature || (line != NO_LINE && in_candidate (choosing, line)))
        return;
    enum form form = form_of_sighting (choosing, line, sighting->text);
    offer (choosing, (struct choice){ .strength = strength[saying_of_signature (signature)][form],
                                      .id = signature->id,
                                      .line = line,
                                      .sighting = index });
}

/* The place of what decides, in the sightings: the one that is there, or a new one in place of the last. */
static struct sighting *place_for (struct signature_scan_result *seen, struct text id, struct arena *arena)
{
    for (uint32_t i = 0; i < seen->sightings_n; i++)
        if (text_equal (seen->sightings[i].signature, id))
            return &seen->sightings[i];
    struct sighting *items = arena_array (arena, seen->sightings_n + 1, sizeof *items);
    if (seen->sightings_n)
        memcpy (items, seen->sightings, seen->sightings_n * sizeof *items);
    seen->sightings = items;
    seen->sightings_n += seen->sightings_n < SIGHTINGS_MAX;
    return &items[seen->sightings_n - 1];
}

static void take_best (const struct choosing *choosing, uint32_t lines_before, struct signature_scan_result *seen)
{
    const struct choice *best = &choosing->best;
    char cleaned[SHOWN_LINE_BYTES];
    if (best->sighting != NO_LINE) {
        seen->sightings[best->sighting].decides = true;
        return;
    }
    const struct printed_line *line = &choosing->lines->items[best->line];
    struct sighting *sighting = place_for (seen, best->id, choosing->arena);
    uint32_t len = log_line_clean (printed_line_body (line), cleaned, sizeof cleaned);
    *sighting = (struct sighting){ .signature = text_copy (choosing->arena, best->id),
                                   .line = lines_before + choosing->lines->before + best->line + 1,
                                   .offset = line->offset,
                                   .text = text_copy (choosing->arena, (struct text){ cleaned, len }),
                                   .decides = true };
}

void choose_cause (const struct signature_set *set, const struct printed_lines *lines,
                   const struct candidates *candidates, uint32_t lines_before, struct arena *arena,
                   struct signature_scan_result *seen)
{
    struct choosing choosing = { .set = set, .lines = lines, .candidates = candidates, .arena = arena };
    for (uint32_t i = 0; i < candidates->n; i++)
        offer_candidate (&choosing, &candidates->items[i]);
    for (uint32_t i = 0; i < seen->sightings_n; i++)
        offer_sighting (&choosing, &seen->sightings[i], i);
    if (choosing.best.id.len)
        take_best (&choosing, lines_before, seen);
}
