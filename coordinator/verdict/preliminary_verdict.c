#include "coordinator/verdict/judge.h"

struct preliminary_judge {
    const struct plan *plan;
    struct signature_set *signatures; /* built for the first failure */
    struct arena arena;               /* of `sealed` */
    struct fact_generation sealed;
    struct fact_writer_granted granted;
};

struct preliminary_judge *preliminary_judge_create (const struct plan *plan)
{
    struct preliminary_judge *judge = mem_alloc (sizeof (*judge));
    judge->plan = plan;
    return judge;
}

void preliminary_judge_destroy (struct preliminary_judge *judge)
{
    if (judge == NULL)
        return;
    signature_set_free (judge->signatures);
    arena_release (&judge->arena);
    mem_free (judge);
}

void preliminary_judge_learn (struct preliminary_judge *judge, const struct fact *fact)
{
    if (fact->kind == FACT_GENERATION_ADOPTED || fact->kind == FACT_GENERATION_PUBLISHED) {
        arena_reset (&judge->arena);
        record_copy (&generation_record, &judge->sealed, &fact->of.generation, &judge->arena);
    } else if (fact->kind == FACT_GENERATION_DROPPED && fact->of.generation_dropped.token == judge->sealed.token) {
        judge->sealed = (struct fact_generation){ 0 };
    } else if (fact->kind == FACT_WRITER_GRANTED) {
        judge->granted = fact->of.writer_granted;
    }
}

static bool writes_cache (const struct preliminary_judge *judge, const struct fact_attempt_ended *ended)
{
    return ended->result.key.pass == PASS_COLD && cache_mode_has_writer (judge->plan->cache.mode) &&
           judge->granted.token && judge->granted.host == ended->host;
}

bool preliminary_verdict (struct preliminary_judge *judge, const struct fact_attempt_ended *ended, uint32_t hosts_n,
                          struct arena *arena, struct verdict *out)
{
    const struct plan *plan = judge->plan;
    const struct attempt_key *key = &ended->result.key;
    if (key->rung >= plan->rungs.n || ended->host >= plan->hosts.n)
        return false;
    if (result_ended_badly (&ended->result) && !judge->signatures)
        judge->signatures = signature_set_build (plan->signatures.items, plan->signatures.n);
    const struct rung *rung = &plan->rungs.items[key->rung];
    struct judge_case of = {
        .plan = plan,
        .rung = rung,
        .key = *key,
        .host = ended->host,
        .world = rung->scope == SCOPE_SLICE ? hosts_n : 1,
        .writer = writes_cache (judge, ended),
        .token = judge->granted.token,
        .sealed = &judge->sealed,
        .result = &ended->result,
        .signatures = judge->signatures,
    };
    judge_result (&of, arena, out);
    return out->outcome != OUTCOME_PASSED && out->outcome != OUTCOME_CANCELLED && out->outcome != OUTCOME_CASCADE;
}
