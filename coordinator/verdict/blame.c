#include "coordinator/verdict/blame.h"

#include "common/classify/decide.h"

/* One host that names another may be wrong, two that agree are believed. Of two hosts, one is enough. */
enum { VOTES_BELIEVED = 2 };

static bool failed (const struct blame_host *host)
{
    return host->verdict->outcome != OUTCOME_PASSED;
}

bool blame_is_peer_complaint (const struct plan *plan, struct text id)
{
    return cause_id_is_peer (plan->signatures.items, plan->signatures.n, id);
}

static bool follows (const struct plan *plan, const struct blame_host *host)
{
    if (host->awaited)
        return false;
    return host->ending == ENDING_CANCELLED || blame_is_peer_complaint (plan, host->verdict->signature) ||
           (host->ending == ENDING_TIMEOUT && host->at_gate);
}

/* A text that working programs print as well (noise) is no cause. */
static bool recognised (const struct plan *plan, const struct blame_host *host)
{
    const struct signature *signature = plan_find_signature (plan, host->verdict->signature);
    return host->killed || (host->verdict->owner != OWNER_UNKNOWN && !(signature && signature->noise));
}

static bool has_own_cause (const struct plan *plan, const struct blame_host *host)
{
    return failed (host) && !follows (plan, host) && recognised (plan, host) && !host->complains;
}

static uint32_t mark_awaited (const struct plan *plan, struct blame_host *hosts, uint32_t n)
{
    bool waited = false, caused = false;
    uint32_t awaited = 0;
    for (uint32_t i = 0; i < n; i++) {
        waited |= failed (&hosts[i]) && hosts[i].at_gate && hosts[i].ending == ENDING_TIMEOUT;
        caused |= has_own_cause (plan, &hosts[i]);
    }
    for (uint32_t i = 0; i < n && waited && !caused; i++) {
        hosts[i].awaited = failed (&hosts[i]) && !hosts[i].at_gate &&
                           (hosts[i].ending == ENDING_TIMEOUT || hosts[i].ending == ENDING_CANCELLED);
        awaited += hosts[i].awaited;
    }
    return awaited;
}

/* Lower is stronger: 0 a known cause, 1 a likely one, 2 one that nobody recognises, 3 a complaint about other hosts. */
static uint32_t weakness (const struct plan *plan, const struct blame_host *host)
{
    if (host->complains)
        return 3;
    bool killed = host->killed && host->verdict->owner == OWNER_UNKNOWN; /* a kill has no owner by itself */
    return recognised (plan, host) ? host->verdict->likely || killed : 2;
}

/* An error that was printed before a program hung is older than any end at a limit. */
static bool began_before (const struct blame_host *a, const struct blame_host *b)
{
    bool late = a->ending == ENDING_TIMEOUT && b->ending == ENDING_TIMEOUT;
    if (late && a->verdict->outcome != b->verdict->outcome)
        return a->verdict->outcome == OUTCOME_FAILED;
    return a->order < b->order;
}

/* Index of the host with the strongest cause of its own, the earliest of equals; -1: none has one. */
static int initiator (const struct plan *plan, const struct blame_host *hosts, uint32_t n)
{
    int first = -1;
    uint32_t least = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!failed (&hosts[i]) || follows (plan, &hosts[i]))
            continue;
        uint32_t weak = weakness (plan, &hosts[i]);
        if (first < 0 || weak < least || (weak == least && began_before (&hosts[i], &hosts[first]))) {
            first = (int) i;
            least = weak;
        }
    }
    return first;
}

static int first_to_report (const struct blame_host *hosts, uint32_t n)
{
    int first = -1;
    for (uint32_t i = 0; i < n; i++)
        if (failed (&hosts[i]) && (first < 0 || hosts[i].order < hosts[first].order))
            first = (int) i;
    return first;
}

/* votes[i]: how many others name host i. Returns how many name anybody. */
static uint32_t count_votes (const struct plan *plan, const struct blame_host *hosts, uint32_t n, uint32_t *votes,
                             struct arena *arena)
{
    uint32_t *ranks = arena_array (arena, n, sizeof *ranks), voters = 0;
    bool *named = arena_array (arena, n, sizeof *named);
    for (uint32_t i = 0; i < n; i++)
        ranks[i] = hosts[i].verdict->host;
    const struct host_mentions *host_mentions = host_mentions_make_index (plan, ranks, n, arena);
    for (uint32_t i = 0; i < n; i++) {
        bool voted = false;
        host_mentions_find (host_mentions, hosts[i].peers, named);
        for (uint32_t k = 0; k < n; k++) {
            votes[k] += named[k] && k != i;
            voted |= named[k] && k != i;
            named[k] = false;
        }
        voters += voted;
    }
    return voters;
}

/* The one that more of the others name than any other host; -1: there is none. */
static int named_most (const struct blame_host *hosts, uint32_t n, const uint32_t *votes, uint32_t voters)
{
    int most = -1;
    bool alone = true;
    for (uint32_t i = 0; i < n; i++) {
        if (!failed (&hosts[i]) || votes[i] == 0)
            continue;
        if (most < 0 || votes[i] > votes[most]) {
            most = (int) i;
            alone = true;
        } else {
            alone = alone && votes[i] < votes[most];
        }
    }
    bool believed = most >= 0 && (votes[most] >= VOTES_BELIEVED || (voters == 1 && n == 2));
    return believed && alone ? most : -1;
}

static int named_by_others (const struct plan *plan, const struct blame_host *hosts, uint32_t n, struct arena *arena)
{
    uint32_t *votes = arena_array (arena, n, sizeof *votes);
    for (uint32_t i = 0; i < n; i++)
        if (has_own_cause (plan, &hosts[i]))
            return -1;
    uint32_t voters = count_votes (plan, hosts, n, votes, arena);
    return named_most (hosts, n, votes, voters);
}

/* A host that was only a cascade so far becomes a cause with an unknown owner. */
static void blame_host_of (const struct plan *plan, struct blame_host *host, const char *why, struct arena *arena)
{
    struct verdict *verdict = host->verdict;
    if (follows (plan, host) || host->complains || host->awaited)
        verdict->owner = OWNER_UNKNOWN;
    if (blame_is_peer_complaint (plan, verdict->signature)) {
        verdict->signature = (struct text){ 0 };
        verdict->next = (struct text){ 0 };
    }
    if (verdict->outcome == OUTCOME_CANCELLED) /* the coordinator stopped it because it did not end by itself */
        verdict->outcome = OUTCOME_TIMED_OUT;
    verdict->transient = false;
    verdict->cause = text_clip (text_format (arena, "%.*s; %s", TEXT_ARG (verdict->cause), why), TEXT_MAX_BYTES);
    if (!verdict->next.len)
        verdict->next = TEXT_LIT (
            "see what the program did last (its log and its phase), and whether the host was reachable");
}

/* One limit ends all hosts at once: in which order they report says nothing. */
static bool hung_alike (const struct blame_host *a, const struct blame_host *b)
{
    return a->ending == ENDING_TIMEOUT && b->ending == ENDING_TIMEOUT && a->verdict->outcome == OUTCOME_TIMED_OUT &&
           b->verdict->outcome == OUTCOME_TIMED_OUT;
}

static bool keeps_its_cause (const struct plan *plan, const struct blame_host *host, const struct blame_host *cause,
                             bool named)
{
    if (host == cause || host->awaited)
        return true;
    if (follows (plan, host) || (host->complains && !cause->complains))
        return false;
    return recognised (plan, host) || (!named && (began_before (host, cause) || hung_alike (host, cause)));
}

void blame_slice (const struct plan *plan, struct blame_host *hosts, uint32_t n, struct arena *arena)
{
    uint32_t awaited = mark_awaited (plan, hosts, n);
    int first = awaited ? -1 : named_by_others (plan, hosts, n, arena);
    bool named = first >= 0;
    if (!named)
        first = initiator (plan, hosts, n);
    if (first < 0)
        first = first_to_report (hosts, n);
    if (first < 0)
        return;
    if (named)
        blame_host_of (plan, &hosts[first], "the other hosts name this one as the host that failed", arena);
    for (uint32_t i = 0; i < n && awaited; i++)
        if (hosts[i].awaited)
            blame_host_of (plan, &hosts[i], "the other hosts waited for it at a gate", arena);
    struct text name = plan->hosts.items[hosts[first].verdict->host].name;
    struct text cause = text_format (arena, "aborted because %.*s failed", TEXT_ARG (name));
    for (uint32_t i = 0; i < n; i++) {
        struct verdict *verdict = hosts[i].verdict;
        if (!failed (&hosts[i]) || keeps_its_cause (plan, &hosts[i], &hosts[first], named))
            continue;
        *verdict = (struct verdict){ .host = verdict->host,
                                     .outcome = OUTCOME_CASCADE,
                                     .owner = OWNER_PEER,
                                     .signature = verdict->signature,
                                     .cause = cause,
                                     .phase = verdict->phase,
                                     .evidence = verdict->evidence };
    }
}

struct text blame_advice_for_lost (enum launcher launcher)
{
    switch (launcher) {
    case LAUNCHER_SSH:
        return TEXT_LIT ("docs/guide/ssh.md explains each step of a start; the output of ssh and of the host's shell "
                         "is in hosts/HOST/worker.log of the run's folder, the worker's own log in "
                         "runs/RUN/HOST/worker.log below start.directory on the host");
    case LAUNCHER_SLURM:
        return TEXT_LIT ("see docs/guide/slurm.md; the output of srun and of the host's shell is in "
                         "hosts/HOST/worker.log of the run's folder");
    case LAUNCHER_JOIN:
        return TEXT_LIT ("see the worker's own log on that host (journalctl, kubectl logs), and docs/guide/join.md");
    default: return TEXT_LIT ("see worker.log of that host");
    }
}
