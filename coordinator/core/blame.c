#include "coordinator/core/blame.h"

static bool fell (const struct blame_host *host)
{
    return host->verdict->outcome != OUTCOME_PASSED;
}

static bool says_peer_failed (const struct plan *plan, struct text signature)
{
    for (uint32_t i = 0; i < plan->signatures.n; i++)
        if (signature.len && text_equal (plan->signatures.items[i].id, signature))
            return plan->signatures.items[i].peer;
    return false;
}

static bool follows (const struct plan *plan, const struct blame_host *host)
{
    return host->ending == ENDING_CANCELLED || says_peer_failed (plan, host->verdict->signature) ||
           (host->ending == ENDING_TIMEOUT && host->at_gate);
}

static bool recognised (const struct blame_host *host)
{
    return host->verdict->layer != LAYER_UNKNOWN;
}

/* Reasons that are recognised come first; then those that say nothing; then complaints of the others. */
static uint32_t weakness (const struct blame_host *host)
{
    return host->complains ? 2 : !recognised (host);
}

/* The host that fell for the best reason of its own, the earliest of these; -1: nobody has one. */
static int initiator (const struct plan *plan, const struct blame_host *hosts, uint32_t n)
{
    int first = -1;
    for (uint32_t i = 0; i < n; i++) {
        if (!fell (&hosts[i]) || follows (plan, &hosts[i]))
            continue;
        if (first < 0 || weakness (&hosts[i]) < weakness (&hosts[first]) ||
            (weakness (&hosts[i]) == weakness (&hosts[first]) && hosts[i].order < hosts[first].order))
            first = (int) i;
    }
    return first;
}

static int first_to_report (const struct blame_host *hosts, uint32_t n)
{
    int first = -1;
    for (uint32_t i = 0; i < n; i++)
        if (fell (&hosts[i]) && (first < 0 || hosts[i].order < hosts[first].order))
            first = (int) i;
    return first;
}

static bool keeps_its_cause (const struct plan *plan, const struct blame_host *host, const struct blame_host *cause)
{
    if (host == cause)
        return true;
    if (follows (plan, host) || (host->complains && !cause->complains))
        return false;
    return recognised (host) || host->order < cause->order;
}

void blame_slice (const struct plan *plan, struct blame_host *hosts, uint32_t n, struct arena *arena)
{
    int first = initiator (plan, hosts, n);
    if (first < 0)
        first = first_to_report (hosts, n);
    if (first < 0)
        return;
    struct text name = plan->hosts.items[hosts[first].verdict->host].name;
    struct text cause = text_format (arena, "fell because %.*s did", TEXT_ARG (name));
    for (uint32_t i = 0; i < n; i++) {
        struct verdict *verdict = hosts[i].verdict;
        if (!fell (&hosts[i]) || keeps_its_cause (plan, &hosts[i], &hosts[first]))
            continue;
        *verdict = (struct verdict) { .host = verdict->host, .outcome = OUTCOME_CASCADE, .layer = LAYER_COLLECTIVE,
                                      .signature = verdict->signature, .cause = cause, .phase = verdict->phase };
    }
}

struct text blame_next_of_lost (enum launcher launcher)
{
    switch (launcher) {
    case LAUNCHER_SSH:
        return TEXT_LIT ("docs/guide/ssh.md explains each step; what the host said is in hosts/HOST/worker.log of the run, "
                         "what its worker said in runs/RUN/HOST/worker.log below start.directory there");
    case LAUNCHER_SLURM:
        return TEXT_LIT ("docs/guide/slurm.md; what srun and the host said is in hosts/HOST/worker.log of the run");
    case LAUNCHER_JOIN:
        return TEXT_LIT ("the worker's own log on that host (journalctl, kubectl logs); docs/guide/join.md");
    default:
        return TEXT_LIT ("see worker.log of that host");
    }
}
