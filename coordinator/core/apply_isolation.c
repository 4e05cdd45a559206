/* apply_isolation.c - facts about parts of the slice that are run by themselves. */
#include "coordinator/core/apply.h"

#include "coordinator/core/sentence.h"
#include "coordinator/verdict/retry.h"

static const struct verdict *verdict_of (const struct fact_pass_ended *ended, uint32_t host)
{
    for (uint32_t i = 0; i < ended->verdicts.n; i++)
        if (ended->verdicts.items[i].host == host)
            return &ended->verdicts.items[i];
    return NULL;
}

static bool without_cause (struct coord *coord, const struct fact_pass_ended *ended)
{
    const struct pass_state *pass = &coord->pass;
    struct isolate_host *hosts = arena_array (&coord->pass.arena, pass->n, sizeof (*hosts));
    bool met = false;
    for (uint32_t i = 0; i < pass->gates_n; i++)
        met = met || pass->gates[i].open;
    for (uint32_t i = 0; i < pass->n; i++)
        hosts[i] = (struct isolate_host){
            .verdict = verdict_of (ended, pass->parts[i].host),
            .ending = pass->parts[i].result.ending,
            .code = pass->parts[i].result.code,
            .at_gate = pass->parts[i].at_gate,
        };
    return isolate_without_cause (&coord->plan, hosts, pass->n, met);
}

void isolation_call (struct coord *coord, const struct fact_pass_ended *ended)
{
    const struct pass_state *pass = &coord->pass;
    struct isolate_case of = isolation_case (coord);
    if (!coord->plan.profile.splits || part_is_alone (coord) || pass->n != coord->plan.hosts.n || pass->stopped ||
        pass->dropped)
        return;
    if (coord->cancel_level > 0 || coord->joined_n < coord->plan.hosts.n || of.unit == 0 || of.hosts / of.unit < 2)
        return;
    if (coord->isolation.called_for || !without_cause (coord, ended))
        return;
    coord->isolation.called_for = true;
    record_copy (fact_body (FACT_PASS_ENDED), &coord->isolation.failed, ended, &coord->arena);
}

/* Also one whose worker was started again since; a worker that could not end its program is still there. */
static bool lost_one (const struct coord *coord)
{
    for (uint32_t i = 0; i < coord->pass.n; i++) {
        const struct host *host = &coord->hosts[coord->pass.parts[i].host];
        bool gone = host->life != HOST_JOINED || host->reborn_at > coord->pass.began_at;
        if (coord->pass.parts[i].result.ending == ENDING_LOST && gone)
            return true;
    }
    return false;
}

/* Peers that are late pass by themselves, too; a part that falls for that, after the slice did, has one that never
 * comes. */
static bool is_transient (const struct coord *coord, const struct fact_pass_ended *ended)
{
    for (uint32_t i = 0; i < ended->verdicts.n; i++)
        if (isolate_complains_only (&coord->plan, &ended->verdicts.items[i]))
            return false;
    return retry_all_transient (ended->verdicts.items, ended->verdicts.n);
}

/* What hindered it, or passes by itself, or that a worker went away, says nothing of who makes the program fail. */
static enum isolate_answer answer_of (const struct coord *coord, const struct fact_pass_ended *ended)
{
    if (ended->outcome == OUTCOME_PASSED)
        return ISOLATE_WORKS;
    bool hindered = ended->outcome == OUTCOME_BLOCKED || lost_one (coord);
    return hindered || is_transient (coord, ended) ? ISOLATE_VOID : ISOLATE_FAILED;
}

void isolation_take (struct coord *coord, const struct fact_pass_ended *ended)
{
    struct isolation *isolation = &coord->isolation;
    const struct pass_state *pass = &coord->pass;
    if (isolation->trials_n == ISOLATE_TRIALS_MAX)
        return;
    struct isolate_trial *trial = &isolation->trials[isolation->trials_n++];
    *trial = (struct isolate_trial){ .answer = answer_of (coord, ended), .duration_ms = ended->duration_ms };
    trial->hosts.items = arena_array (&coord->arena, pass->n, sizeof (uint32_t));
    for (trial->hosts.n = 0; trial->hosts.n < pass->n; trial->hosts.n++)
        trial->hosts.items[trial->hosts.n] = pass->parts[trial->hosts.n].host;
}

void isolation_close (struct coord *coord, const struct fact_suspects_named *named)
{
    struct fact_pass_ended *failed = &coord->isolation.failed;
    if (!coord->isolation.called_for || coord->isolation.over)
        return;
    coord->isolation.over = true;
    struct isolate_ruling ruling;
    isolate_rule (&coord->plan, named, failed->outcome, &coord->pass.arena, &ruling);
    for (uint32_t i = 0; i < failed->verdicts.n; i++) {
        struct verdict after;
        isolate_verdict (&ruling, &failed->verdicts.items[i], &coord->pass.arena, &after);
        record_copy (&verdict_record, &failed->verdicts.items[i], &after, &coord->arena);
    }
    coord->stop = (char *) sentence_of_fall (coord, failed, &coord->arena).ptr;
}
