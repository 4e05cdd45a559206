/* violation.c - what is found in the cache that the single writer's rules exclude: recorded once, with the entries of
 * the journal between which it happened; what it was found in is dropped. docs/spec/cache.md. */
#include <inttypes.h>

#include "coordinator/core/state.h"

enum { AUDIT_MS = 60 * 1000 }; /* a storage that answers no sooner is told of, not waited for */

bool violation_counts (enum finding_kind kind)
{
    return kind >= FINDING_EXTRA && kind <= FINDING_LATE_WRITE;
}

static bool recorded (const struct coord *coord, const struct finding *finding)
{
    for (uint32_t i = 0; i < coord->violations.n; i++) {
        const struct seen_violation *seen = &coord->violations.items[i];
        if (seen->kind == finding->kind && seen->token == finding->token && text_equal (seen->path, finding->path))
            return true;
    }
    return coord->violations.n == VIOLATIONS_MAX;
}

/* A foreign generation was never in the catalogue: there is nothing to drop. */
static void drop (struct coord *coord, const struct finding *finding, uint64_t now_ms, struct outbox *out)
{
    if (!violation_counts (finding->kind) || finding->kind == FINDING_FOREIGN_TOKEN || !finding->token)
        return;
    struct fact *fact = outbox_fact (out, FACT_GENERATION_DROPPED);
    fact->of.generation_dropped = (struct fact_generation_dropped) {
        .token = finding->token,
        .why = text_format (&out->arena, "%s: %.*s", names_of (&finding_kind_names, finding->kind), TEXT_ARG (finding->path)),
    };
    coord_commit (coord, fact, now_ms);
    struct effect *effect = outbox_effect (out, FX_CACHE_DROP);
    effect->token = finding->token;
    effect->text = fact->of.generation_dropped.why;
}

void violation_record (struct coord *coord, uint32_t host, const struct finding *finding, struct text from_run, uint64_t now_ms,
                       struct outbox *out)
{
    if (recorded (coord, finding))
        return;
    struct fact *fact = outbox_fact (out, FACT_CACHE_VIOLATED);
    fact->of.cache_violated = (struct fact_cache_violated) {
        .host = host, .rung = coord->rung < coord->plan.rungs.n ? coord->rung : coord->plan.rungs.n - 1, .finding = *finding,
        .since = coord->right_at, .from_run = from_run,
    };
    coord_commit (coord, fact, now_ms);
    drop (coord, finding, now_ms, out);
}

/* What hosts found in the generation that they were given. */
void violation_of_pass (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    struct text from_run = text_copy (&out->arena, coord->generation.from_run); /* dropping forgets it */
    for (uint32_t i = 0; i < coord->pass.n; i++) {
        const struct part *part = &coord->pass.parts[i];
        for (uint32_t k = 0; k < part->result.findings.n; k++)
            violation_record (coord, part->host, &part->result.findings.items[k], from_run, now_ms, out);
    }
}

/* ---- looking over the root, by the coordinator ---- */

bool violation_looked_over (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    if (coord->audited || coord->bundle.len == 0)
        return true;
    if (coord->asked_audit && now_ms >= coord->audit_by_ms) {
        coord->asked_audit = false;
        coord->audited = true;
        return true;
    }
    if (coord->asked_audit)
        return false;
    coord->asked_audit = true;
    coord->audit_by_ms = now_ms + AUDIT_MS;
    struct effect *effect = outbox_effect (out, FX_CACHE_AUDIT);
    effect->text = coord->bundle;
    effect->storage = coord->storage;
    return false;
}

void violation_audited (struct coord *coord, const struct input *in, uint64_t now_ms, struct outbox *out)
{
    coord->asked_audit = false;
    coord->audited = true;
    for (uint32_t i = 0; i < in->findings_n; i++)
        violation_record (coord, UINT32_MAX, &in->findings[i].finding, in->findings[i].run, now_ms, out);
}

/* The drops that an earlier process may not have got to. */
void violation_attach (struct coord *coord, struct outbox *out)
{
    for (uint32_t i = 0; i < coord->violations.n; i++) {
        const struct seen_violation *seen = &coord->violations.items[i];
        if (!violation_counts (seen->kind) || seen->kind == FINDING_FOREIGN_TOKEN || !seen->token)
            continue;
        struct effect *effect = outbox_effect (out, FX_CACHE_DROP);
        effect->token = seen->token;
        effect->text = text_format (&out->arena, "%s: %.*s", names_of (&finding_kind_names, seen->kind), TEXT_ARG (seen->path));
    }
}

uint64_t violation_deadline_ms (const struct coord *coord)
{
    return coord->asked_audit ? coord->audit_by_ms : UINT64_MAX;
}
