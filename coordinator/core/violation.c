/* violation.c - records violations of the single writer's rules once, with the facts between which they happened, and
 * drops their generation. docs/spec/cache.md. */
#include "coordinator/core/steps.h"

static bool violation_is_dropped (const struct coord *coord, uint64_t token)
{
    for (uint32_t i = 0; i < coord->state->violations.n; i++)
        if (coord->state->violations.items[i].token == token && coord->state->violations.items[i].dropped)
            return true;
    return false;
}

static bool recorded (const struct coord *coord, const struct finding *finding)
{
    for (uint32_t i = 0; i < coord->state->violations.n; i++) {
        const struct seen_violation *seen = &coord->state->violations.items[i];
        if (seen->kind == finding->kind && seen->token == finding->token && text_equal (seen->path, finding->path))
            return true;
    }
    return false;
}

/* A foreign generation was never in the catalogue: there is nothing to drop. */
static bool is_dropped_for (enum finding_kind kind, uint64_t token)
{
    return finding_is_violation (kind) && kind != FINDING_FOREIGN_TOKEN && token;
}

static struct text reason (enum finding_kind kind, struct text path, struct arena *arena)
{
    return text_format (arena, "%s: %.*s", enum_name_of (&finding_kind_names, kind), TEXT_ARG (path));
}

static void drop (struct coord *coord, uint64_t token, struct text why, uint64_t now_ms, struct outbox *out)
{
    if (!violation_is_dropped (coord, token)) {
        struct fact *fact = outbox_add_fact (out, FACT_GENERATION_DROPPED);
        fact->of.generation_dropped = (struct fact_generation_dropped){ .token = token, .why = why };
        coord_commit_fact (coord, fact, now_ms);
    }
    struct effect *effect = outbox_add_effect (out, FX_CACHE_DROP);
    effect->token = token;
    effect->text = why;
}

/* Is it the generation being written in this pass? */
static bool is_of_grant (const struct coord *coord, uint64_t token)
{
    return token && token == coord->state->grant.token &&
           attempt_key_equal (&coord->state->grant.key, &coord->state->pass.key);
}

/* The last fact known to be older than the change. */
static uint64_t right_until (const struct coord *coord, const struct finding *finding)
{
    if (finding->kind == FINDING_LATE_WRITE)
        return write_lease_end_index (coord, finding->token);
    if (finding->token == coord->state->generation.token)
        return coord->state->right_at;
    return is_of_grant (coord, finding->token) ? coord->state->pass.began_at : 0;
}

/* Findings without effect on the exit status may fill half, since programs choose how often they try to write. */
static bool is_full (const struct coord *coord, enum finding_kind kind)
{
    return coord->state->violations.n >= (finding_is_violation (kind) ? VIOLATIONS_MAX : VIOLATIONS_MAX / 2);
}

static void violation_record (struct coord *coord, uint32_t host, const struct finding *finding, struct text from_run,
                              uint64_t now_ms, struct outbox *out)
{
    if (recorded (coord, finding))
        return;
    bool full = is_full (coord, finding->kind), current = finding->token == coord->state->generation.token;
    struct fact *fact = full ? NULL : outbox_add_fact (out, FACT_CACHE_VIOLATED);
    if (fact) {
        fact->of.cache_violated = (struct fact_cache_violated){
            .host = host,
            .rung = coord->state->rung < coord->state->plan.rungs.n ? coord->state->rung
                                                                    : coord->state->plan.rungs.n - 1,
            .finding = *finding,
            .since = right_until (coord, finding),
            .from_run = from_run,
        };
        coord_commit_fact (coord, fact, now_ms);
    }
    if (is_dropped_for (finding->kind, finding->token) && (!full || current) &&
        !violation_is_dropped (coord, finding->token))
        drop (coord, finding->token, reason (finding->kind, finding->path, &out->arena), now_ms, out);
}

/* A host that sees another storage only shows that, whatever else it reports. */
static bool sees_elsewhere (const struct coord *coord, const struct result *result)
{
    return coord->state->storage.len && !text_equal (result->cache.storage, coord->state->storage);
}

/* A host can know only the generations it was given or wrote, and its program's attempts to write. */
static bool may_tell (const struct coord *coord, const struct part *part, const struct finding *finding, uint64_t given)
{
    bool own = part->host == coord->state->grant.host && is_of_grant (coord, finding->token);
    if (!finding_is_violation (finding->kind))
        return given && (finding->kind == FINDING_WRITE_ATTEMPT || finding->kind == FINDING_LEVEL_LOW);
    return finding->kind <= FINDING_CHANGED && !sees_elsewhere (coord, &part->result) &&
           ((given && finding->token == given) || own);
}

static void record_elsewhere (struct coord *coord, const struct part *part, uint64_t given, uint64_t now_ms,
                              struct outbox *out)
{
    struct text seen = part->result.cache.storage.len ? part->result.cache.storage : TEXT_LIT ("none");
    struct finding finding = { .kind = FINDING_NOT_SAME_STORAGE,
                               .token = given,
                               .path = coord->state->plan.hosts.items[part->host].name };
    finding.detail = text_format (
        &out->arena, "this host sees storage %.*s under %.*s, but the other hosts see storage %.*s", TEXT_ARG (seen),
        TEXT_ARG (coord->state->plan.cache.root), TEXT_ARG (coord->state->storage));
    violation_record (coord, part->host, &finding, (struct text){ 0 }, now_ms, out);
}

void violation_record_pass (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    struct text from_run = text_copy (&out->arena, coord->state->generation.from_run); /* dropping forgets it */
    uint64_t given = coord->state->generation.token;
    for (uint32_t i = 0; i < coord->state->pass.parts.n; i++) {
        const struct part *part = &coord->state->pass.parts.items[i];
        if (part->result.findings.n && sees_elsewhere (coord, &part->result))
            record_elsewhere (coord, part, given, now_ms, out);
        for (uint32_t k = 0; k < part->result.findings.n; k++) {
            const struct finding *finding = &part->result.findings.items[k];
            struct text wrote = finding->token == given ? from_run : (struct text){ 0 };
            if (may_tell (coord, part, finding, given))
                violation_record (coord, part->host, finding, wrote, now_ms, out);
        }
    }
}

/* ---- looking over the root, by the coordinator ---- */

/* No finding proves nothing then, and the receipt must say so. */
void finding_record_unaudited (struct coord *coord, struct text why, uint64_t now_ms, struct outbox *out)
{
    struct finding unseen = { .kind = FINDING_UNSEEN,
                              .path = text_clip (coord->state->plan.cache.root, NAME_MAX_BYTES),
                              .detail = text_clip (why, SENTENCE_MAX_BYTES) };
    violation_record (coord, UINT32_MAX, &unseen, (struct text){ 0 }, now_ms, out);
}

void violation_record_audit (struct coord *coord, const struct core_input *in, uint64_t now_ms, struct outbox *out)
{
    if (in->text.len && !in->findings_n)
        finding_record_unaudited (coord, in->text, now_ms, out);
    for (uint32_t i = 0; i < in->findings_n; i++)
        violation_record (coord, UINT32_MAX, &in->findings[i].finding, in->findings[i].run, now_ms, out);
}

/* Repeats drops that an earlier process may have missed. */
void violation_repeat_drops (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    for (uint32_t i = 0; i < coord->state->violations.n; i++) {
        const struct seen_violation *seen = &coord->state->violations.items[i];
        if (is_dropped_for (seen->kind, seen->token))
            drop (coord, seen->token, reason (seen->kind, seen->path, &out->arena), now_ms, out);
    }
}
