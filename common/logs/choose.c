#include "common/logs/candidate.h"

#include <stdlib.h>
#include <string.h>

#include "common/logs/log_line.h"
#include "common/logs/set.h"
#include "common/logs/words.h"

/* What a place says, and in what form: the sum of both decides. Larger is stronger. */
enum meaning {
    MEANS_NOTHING,
    MEANS_NOISE,
    MEANS_PEER,
    MEANS_KNOWN_PEER,
    MEANS_PRIOR,
    MEANS_FORM,
    MEANS_KNOWN,
    MEANINGS
};
enum form { FORM_HARMLESS, FORM_PLAIN, FORM_ERROR, FORM_FATAL, FORM_EXCEPTION, FORMS };

/* Why these figures: an exception's own words beat all lines around it, known lines at level error beat what only the
 * type of an exception says, and nothing that is said of peers beats a reason of one's own. An exception that says
 * nothing stands above what plain lines say of peers: the owner is unknown then. docs/spec/signatures.md. */
static const int strength[MEANINGS][FORMS] = {
    [MEANS_NOTHING] = { 0, 0, 0, 15, 35 },    [MEANS_NOISE] = { 5, 5, 5, 5, 5 },
    [MEANS_PEER] = { 0, 30, 45, 50, 60 },     [MEANS_KNOWN_PEER] = { 0, 40, 55, 65, 70 },
    [MEANS_PRIOR] = { 0, 0, 40, 60, 80 },     [MEANS_FORM] = { 0, 55, 85, 95, 110 },
    [MEANS_KNOWN] = { 8, 90, 112, 120, 130 },
};
/* Noise may be why a program ended when it did not go on for END_LINES, a line of level info among its INFO_LINES last
 * ones. NEAR_BYTES: how far conditions of known texts reach. What is ASIDE is weaker than an exception that says nothing. */
enum { END_LINES = 64, INFO_LINES = 8, NEAR_BYTES = 2 << 10, ASIDE = 4 };

enum { NO_LINE = UINT32_MAX };
struct choice {
    int strength;
    struct text id;    /* of a signature or rule; empty: nothing is recognised */
    uint32_t line;     /* index into the lines; of a sighting outside of them NO_LINE */
    uint32_t sighting; /* index, when it is one; else NO_LINE */
};

struct choosing {
    const struct signature_set *set;
    const struct printed_lines *lines;
    const struct candidates *candidates;
    struct arena *arena;
    struct choice best;
};

/* What a host or a device says of itself is no consequence of what a program raises. */
static int strength_of (enum meaning meaning, enum owner owner, enum form form)
{
    bool below = (owner == OWNER_HOST || owner == OWNER_DEVICE) && form != FORM_HARMLESS;
    if (below && meaning == MEANS_KNOWN)
        return strength[meaning][form > FORM_FATAL ? form : FORM_FATAL];
    return strength[meaning][below && meaning == MEANS_FORM && form == FORM_PLAIN ? FORM_ERROR : form];
}

/* Trackers and telemetry fail in runs that work, and so do imports of what a program can do without. */
static bool is_aside (struct text said, bool exception)
{
    if (words_any (said, "errno"))
        return false; /* a number decides, in whatever folder */
    bool import = words_any (said, "not installed|could not import|failed to import") ||
                  (words_any (said, "no module named") && !words_any_exact (said, "Error: No module"));
    return (import && !exception) ||
           words_any (said, "wandb|mlflow|comet_ml|neptune|clearml|sentry|telemetry|posthog|segment.io|usage stat");
}

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

static enum meaning meaning_of_rule (const struct signature *rule)
{
    switch (rule ? rule->rule : RULE_NONE) {
    case RULE_PEER: return MEANS_PEER;
    case RULE_PRIOR: return MEANS_PRIOR;
    case RULE_CAUSE: return MEANS_FORM;
    default: return MEANS_NOTHING;
    }
}

static enum meaning meaning_of_signature (const struct signature *signature)
{
    if (signature->noise)
        return signature->owner == OWNER_UNKNOWN ? MEANS_NOTHING : MEANS_NOISE;
    if (signature->peer)
        return MEANS_KNOWN_PEER;
    return signature->likely ? MEANS_FORM : MEANS_KNOWN;
}

/* The words of a candidate with what is near them, for the conditions of known texts. */
struct surroundings {
    struct text text;
    uint64_t from, to; /* where in it the words are */
};

static struct surroundings surroundings_of (const struct printed_lines *lines, const struct candidate *candidate,
                                            uint32_t before_bytes)
{
    const char *begin = lines->all.ptr, *first = lines->items[candidate->shown].text.ptr;
    struct text last = lines->items[candidate->said_to].text;
    const char *end = begin + lines->all.len, *stop = last.ptr + last.len;
    const char *near = first - begin > before_bytes ? first - before_bytes : begin;
    const char *far = end - stop > NEAR_BYTES ? stop + NEAR_BYTES : end;
    return (struct surroundings){ .text = { .ptr = near, .len = (uint32_t) (far - near) },
                                  .from = (uint64_t) (first - near),
                                  .to = (uint64_t) (stop - near) };
}

static bool is_better (const struct signature *signature, uint64_t offset, const struct signature *best,
                       uint64_t of_best)
{
    if (!best || meaning_of_signature (signature) != meaning_of_signature (best))
        return !best || meaning_of_signature (signature) > meaning_of_signature (best);
    return offset != of_best ? offset < of_best : signature < best;
}

/* The strongest known text in a candidate's own words; of equals the first in the words, then in the lists. */
static const struct signature *strongest_in (const struct choosing *choosing, const struct surroundings *around)
{
    struct signature_scan_result seen;
    const struct signature *best = NULL;
    uint64_t of_best = 0;
    signature_scan_text (choosing->set, around->text, choosing->arena, &seen);
    for (uint32_t i = 0; i < seen.sightings_n; i++) {
        uint64_t offset = seen.sightings[i].offset;
        const struct signature *signature = signature_set_find (choosing->set, seen.sightings[i].signature);
        if (offset < around->from || offset > around->to || !is_better (signature, offset, best, of_best))
            continue;
        best = signature;
        of_best = offset;
    }
    return best;
}

/* Does the text stand in the words of the candidate, without what is near them? */
static bool says_alone (const struct choosing *choosing, const struct candidate *candidate, struct text id)
{
    struct surroundings alone = { .text = candidate->text, .to = candidate->text.len };
    const struct signature *known = strongest_in (choosing, &alone);
    return known && text_equal (known->id, id);
}

/* A scan tells the first place of a text: where that is a source line above the words, they are scanned alone. */
static const struct signature *known_in (const struct choosing *choosing, const struct candidate *candidate)
{
    struct surroundings both = surroundings_of (choosing->lines, candidate, NEAR_BYTES),
                        behind = surroundings_of (choosing->lines, candidate, 0);
    const struct signature *known = strongest_in (choosing, &both);
    if (known)
        return known;
    known = strongest_in (choosing, &behind);
    return known && known->unless.n && !candidate->exception ? NULL : known; /* what excludes it may stand above */
}

/* What stands before the lines that are read comes last: it says least of the end. */
static uint32_t choice_order (const struct choosing *choosing, const struct choice *choice)
{
    return choice->line == NO_LINE ? UINT32_MAX : choosing->lines->items[choice->line].order;
}

/* Of equals the earlier one: what comes later follows from it. */
static void offer (struct choosing *choosing, struct choice choice)
{
    bool info = choice.strength == strength[MEANS_KNOWN][FORM_HARMLESS];
    bool faint = choice.strength <= strength[MEANS_KNOWN][FORM_HARMLESS];
    uint32_t order = choice_order (choosing, &choice);
    if (faint && (order == UINT32_MAX || order + (info ? INFO_LINES : END_LINES) < choosing->lines->n))
        return;
    bool earlier = choice.strength == choosing->best.strength && choosing->best.strength > 0 &&
                   order < choice_order (choosing, &choosing->best);
    if (earlier || choice.strength > choosing->best.strength)
        choosing->best = choice;
}

/* "peer [10.0.0.2]:8476", "Task 3", "/task:3", "rank 2", "on node n7": a digit behind such a word, or an address. */
static bool names_somebody (struct text text)
{
    static const char *const words[] = {
        "task", "rank", "worker", "node", "host", "process", "peer", "daemon", "tasks"
    };
    uint32_t dots = 0;
    for (uint32_t i = 1; i + 1 < text.len; i++) {
        bool digits = text_is_digit (text.ptr[i - 1]) && text_is_digit (text.ptr[i + 1]);
        dots = text.ptr[i] == '.' && digits ? dots + 1 : text.ptr[i] == ' ' ? 0 : dots;
        if (dots == 3)
            return true;
    }
    for (size_t k = 0; k < sizeof words / sizeof words[0]; k++)
        if (words_before_digit (text, words[k]))
            return true;
    return false;
}

/* A connection that ended may be the network's affair, unless the text names a peer or says that one failed. */
static struct text peer_id (const struct signature_set *set, struct text said, struct text id)
{
    static const char says_so[] =
        "another task|other task|another rank|one of the ranks|remote daemon|tasks have crashed|unhealthy|"
        "distributed service detected fatal errors|all TPU hosts|GetKeyValue|tasks to show up|a task triggered|"
        "Shutdown barrier|step aborted|leader|remote worker|remote host|remote peer|remote process|remote rank|"
        "retry count|key-value store|find a group|MPIDI_CH3U_Complete_posted|ranks:|subset of ranks|"
        "closed by peer|worker has died|timed out|timeout|watchdog|rendezvous";
    struct text unnamed = TEXT_LIT ("peer-unnamed");
    bool named = names_somebody (said) || words_any (said, says_so) || !signature_set_find (set, unnamed);
    return named ? id : unnamed;
}

/* What decides at one place: the known text in its words, or the rule that it meets. */
struct statement {
    enum meaning meaning;
    struct text id;
    bool of_peer; /* it says that another host is the owner */
    enum owner owner;
};

static struct statement statement_of_rule (const struct signature *rule)
{
    enum meaning meaning = meaning_of_rule (rule);
    return meaning == MEANS_NOTHING ? (struct statement){ 0 }
                                    : (struct statement){ meaning, rule->id, rule->owner == OWNER_PEER, rule->owner };
}

/* A text outranks a rule that says as much; noise does so in a line that is no end. */
static struct statement statement_of (const struct choosing *choosing, const struct candidate *candidate,
                                      enum form form, bool aside)
{
    const struct signature *known = known_in (choosing, candidate);
    if (known && known->transient && !says_alone (choosing, candidate, known->id))
        known = NULL; /* a wrong owner costs a minute, a wrong retry the run */
    if (aside && known && !known->likely)
        known = NULL;
    struct statement by_rule = statement_of_rule (candidate->rule),
                     by_text = known ? (struct statement){ meaning_of_signature (known), known->id, known->peer,
                                                           known->owner }
                                     : (struct statement){ 0 };
    bool harmless = known && known->noise && form < FORM_FATAL;
    return known && (harmless || by_text.meaning >= by_rule.meaning) ? by_text : by_rule;
}

/* Hosts that lack a device or a plugin say so at level info whenever something starts. */
static bool line_may_decide (const struct printed_line *line)
{
    bool any_start = line->level == LEVEL_INFO &&
                     words_any_exact (line->text, "NCCL INFO|Unable to initialize backend");
    return line->level != LEVEL_WARNING && !any_start;
}

/* Some places are none of a cause: what calls itself a warning, what any start prints, what follows from an end, lines
 * behind which work went on. */
static bool may_decide (const struct choosing *choosing, const struct candidate *candidate)
{
    enum rule_weight weight = candidate->rule ? candidate->rule->rule : RULE_NONE;
    return weight != RULE_AFTERMATH && !candidate->over && line_may_decide (&choosing->lines->items[candidate->shown]);
}

static void offer_candidate (struct choosing *choosing, const struct candidate *candidate)
{
    enum form form = form_of (candidate, &choosing->lines->items[candidate->shown]);
    if (candidate->cut_off || !may_decide (choosing, candidate))
        return;
    bool aside = is_aside (candidate->text, candidate->exception);
    struct statement statement = statement_of (choosing, candidate, form, aside);
    if (candidate->rule && candidate->rule->rule == RULE_CHILD && statement.meaning <= MEANS_KNOWN_PEER)
        return;
    int strong = strength_of (statement.meaning, statement.owner, form) / (aside ? ASIDE : 1);
    struct text id = statement.of_peer ? peer_id (choosing->set, candidate->text, statement.id) : statement.id;
    offer (choosing, (struct choice){ .strength = strong, .id = id, .line = candidate->shown, .sighting = NO_LINE });
}

/* The line that begins last of those that begin at or before the place; of those that were one, the one with the text. */
static uint32_t line_at (const struct printed_lines *lines, uint64_t offset, struct text text)
{
    uint32_t found = NO_LINE;
    for (uint32_t i = 0; i < lines->n; i++)
        if (lines->items[i].offset <= offset &&
            (found == NO_LINE || lines->items[i].offset > lines->items[found].offset))
            found = i;
    for (uint32_t i = 0; found != NO_LINE && i < lines->n; i++)
        if (lines->items[i].number == lines->items[found].number && text_find (lines->items[i].text, text, NULL))
            return i;
    return found;
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
    const struct signature *signature = signature_set_find (choosing->set, sighting->signature);
    uint32_t line = line_at (choosing->lines, sighting->offset, signature ? signature->text : sighting->text);
    if (!signature ||
        (line != NO_LINE && (in_candidate (choosing, line) || !line_may_decide (&choosing->lines->items[line]))))
        return;
    enum form form = form_of_sighting (choosing, line, sighting->text);
    bool aside = is_aside (sighting->text, false);
    int strong = strength_of (meaning_of_signature (signature), signature->owner, form);
    if (aside && !signature->likely)
        return;
    struct choice choice = {
        .strength = strong / (aside ? ASIDE : 1), .id = signature->id, .line = line, .sighting = index
    };
    if (signature->peer && line != NO_LINE) {
        choice.id = peer_id (choosing->set, sighting->text, choice.id);
        choice.sighting = text_equal (choice.id, signature->id) ? index : NO_LINE;
    }
    offer (choosing, choice);
}

/* A place for what decides: that of the same text, else a new one; when all are taken that of noise, else the last. */
static struct sighting *place_for (const struct choosing *choosing, struct signature_scan_result *seen, struct text id)
{
    for (uint32_t i = 0; i < seen->sightings_n; i++)
        if (text_equal (seen->sightings[i].signature, id))
            return &seen->sightings[i];
    struct sighting *items = arena_array (choosing->arena, seen->sightings_n + 1, sizeof *items);
    if (seen->sightings_n)
        memcpy (items, seen->sightings, seen->sightings_n * sizeof *items);
    seen->sightings = items;
    if (seen->sightings_n < SIGHTINGS_MAX)
        return &items[seen->sightings_n++];
    for (uint32_t i = SIGHTINGS_MAX; i > 0; i--) {
        const struct signature *signature = signature_set_find (choosing->set, items[i - 1].signature);
        if (signature && (signature->noise || signature->peer))
            return &items[i - 1];
    }
    return &items[SIGHTINGS_MAX - 1];
}

static int choose_by_offset (const void *a, const void *b)
{
    uint64_t left = ((const struct sighting *) a)->offset, right = ((const struct sighting *) b)->offset;
    return left < right ? -1 : left > right;
}

static struct text shown_line (const struct choosing *choosing, uint32_t line)
{
    return shown_line_of (printed_line_body (&choosing->lines->items[line]), choosing->arena);
}

/* Sightings stay in the order of the log. */
static void take_best (const struct choosing *choosing, uint32_t lines_before, struct signature_scan_result *seen)
{
    const struct choice *best = &choosing->best;
    if (best->sighting != NO_LINE) {
        seen->sightings[best->sighting].decides = true;
        return;
    }
    const struct printed_line *line = &choosing->lines->items[best->line];
    *place_for (choosing, seen, best->id) = (struct sighting){ .signature = text_copy (choosing->arena, best->id),
                                                               .line = lines_before + line->number,
                                                               .offset = line->offset,
                                                               .text = shown_line (choosing, best->line),
                                                               .decides = true };
    qsort (seen->sightings, seen->sightings_n, sizeof *seen->sightings, choose_by_offset);
}

/* A reason of another kind speaks against a failure that passes by itself: it is shown. */
static void show_others (const struct choosing *choosing, struct signature_scan_result *seen)
{
    struct text *shown = arena_array (choosing->arena, SHOWN_MAX, sizeof *shown);
    uint32_t n = 0;
    for (uint32_t i = 0; i < choosing->candidates->n && n < SHOWN_MAX; i++) {
        const struct candidate *other = &choosing->candidates->items[i];
        bool reason = other->rule ? other->rule->rule >= RULE_PRIOR : other->exception;
        if (reason && other->shown != choosing->best.line && !other->harmless &&
            !says_alone (choosing, other, choosing->best.id))
            shown[n++] = shown_line (choosing, other->shown);
    }
    for (uint32_t i = 0; i < seen->shown_n && n < SHOWN_MAX; i++)
        if (!text_is_among (seen->shown[i], shown, n))
            shown[n++] = seen->shown[i];
    seen->shown = shown;
    seen->shown_n = n;
}

/* Noise decides where no other line looks like the reason of an end. */
static bool noise_gives_way (const struct choosing *choosing, const struct signature_scan_result *seen)
{
    const struct signature *signature = signature_set_find (choosing->set, choosing->best.id);
    bool gives_way = false;
    for (uint32_t i = 0; signature && signature->noise && i < seen->shown_n; i++)
        gives_way |= log_line_grade (seen->shown[i]) != LINE_ERROR;
    return gives_way;
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
    if (!choosing.best.id.len || noise_gives_way (&choosing, seen))
        return;
    take_best (&choosing, lines_before, seen);
    const struct signature *chosen = signature_set_find (set, choosing.best.id);
    if (chosen && chosen->transient)
        show_others (&choosing, seen);
}
