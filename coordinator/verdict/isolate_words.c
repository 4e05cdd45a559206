/* isolate_words.c - reads and makes the verdicts for isolate.h: which host reports a cause, and isolation in words. */
#include "coordinator/verdict/isolate.h"

#include "coordinator/verdict/blame.h"
#include "coordinator/verdict/failure.h"

enum { NAMED_BYTES = 512, PARTS_SHOWN = 6 };

/* ---- causes of their own ---- */

bool isolate_blames_peers_only (const struct plan *plan, const struct verdict *verdict)
{
    return verdict->outcome != OUTCOME_CASCADE && blame_is_peer_complaint (plan, verdict->signature);
}

static bool ended_by_itself (const struct isolate_host *host)
{
    return host->ending == ENDING_SIGNALLED || (host->ending == ENDING_EXITED && host->code != 0);
}

/* A host reports a cause unless it only blames peers, or prints nothing known. */
static bool speaks_of_itself (const struct plan *plan, const struct isolate_host *host)
{
    const struct verdict *verdict = host->verdict;
    if (verdict->outcome == OUTCOME_CASCADE)
        return false;
    if (verdict->outcome == OUTCOME_BLOCKED)
        return true;
    if (verdict->signature.len)
        return !blame_is_peer_complaint (plan, verdict->signature);
    if (failure_is_outside_kill (host->ending, host->code))
        return true;
    if (verdict->owner == OWNER_PEER)
        return !ended_by_itself (host); /* else it complains */
    return verdict->owner != OWNER_UNKNOWN;
}

/* Did it fail for an unrecognised reason, without blaming another host? */
static bool failed_for_no_reason (const struct isolate_host *host)
{
    return ended_by_itself (host) && host->verdict->outcome != OUTCOME_CASCADE &&
           host->verdict->owner == OWNER_UNKNOWN && !host->verdict->signature.len;
}

static bool failed_alike (const struct verdict *a, const struct verdict *b)
{
    return cause_equal (a->cause, (struct text){ 0 }, b->cause, (struct text){ 0 }) &&
           text_equal_but_numbers (error_line_find (a->outcome, a->evidence),
                                   error_line_find (b->outcome, b->evidence));
}

bool isolate_is_called_for (const struct plan *plan, const struct isolate_host *hosts, uint32_t n, bool met)
{
    uint32_t failed_n = 0, silent_n = 0;
    const struct verdict *first = NULL;
    bool alike = true;
    for (uint32_t i = 0; i < n; i++) {
        if (!hosts[i].verdict || (hosts[i].ending == ENDING_EXITED && hosts[i].code == 0) || hosts[i].at_gate ||
            speaks_of_itself (plan, &hosts[i]))
            return false;
        if (failed_for_no_reason (&hosts[i])) {
            first = first ? first : hosts[i].verdict;
            alike = alike && failed_alike (first, hosts[i].verdict);
            failed_n++;
        }
        silent_n += hosts[i].ending == ENDING_TIMEOUT || hosts[i].ending == ENDING_CANCELLED;
    }
    bool told = failed_n >= 1 && alike &&
                (silent_n == 0 || !met); /* they failed, and all others noticed or were not affected */
    return n > 1 && !told;
}

/* ---- words ---- */

/* "h[0-1], h[0,2] and 3 more failed"; empty: none ended so. */
static struct text parts_that (const struct plan *plan, const struct isolate_case *of, enum isolate_answer answer,
                               struct arena *arena)
{
    struct text parts = { 0 };
    uint32_t n = 0;
    for (uint32_t i = 0; i < of->trials_n; i++)
        if (of->trials[i].answer == answer && n++ < PARTS_SHOWN)
            parts = text_format (arena, "%.*s%s%.*s", TEXT_ARG (parts), n > 1 ? ", " : "",
                                 TEXT_ARG (plan_fold_hosts (plan, of->trials[i].hosts.items, of->trials[i].hosts.n,
                                                            NAMED_BYTES, arena)));
    if (n == 0)
        return parts;
    struct text more = n > PARTS_SHOWN ? text_format (arena, " and %u more", n - PARTS_SHOWN) : (struct text){ 0 };
    return text_format (arena, "%.*s%.*s %s", TEXT_ARG (parts), TEXT_ARG (more),
                        answer == ISOLATE_WORKS ? "worked" : "failed");
}

static bool ended_alone (const struct isolate_case *of, uint32_t host, enum isolate_answer answer)
{
    for (uint32_t i = 0; i < of->trials_n; i++)
        if (of->trials[i].answer == answer && of->trials[i].hosts.n == 1 && of->trials[i].hosts.items[0] == host)
            return true;
    return false;
}

bool isolate_failed_alone (const struct isolate_case *of, const struct isolate_step *found)
{
    bool failed = false;
    for (uint32_t i = 0; i < (found->hosts.n ? found->hosts.n : of->hosts); i++)
        failed = failed || ended_alone (of, found->hosts.n ? found->hosts.items[i] : i, ISOLATE_FAILED);
    return failed;
}

/* What to suspect, beside the hosts that are named. */
static struct text suspicion (const struct plan *plan, const struct isolate_case *of, const struct isolate_step *found,
                              struct arena *arena)
{
    struct text who = plan_fold_hosts (plan, found->hosts.items, found->hosts.n, NAMED_BYTES, arena);
    switch (found->kind) {
    case ISOLATE_HOSTS:
        if (found->hosts.n == 1 && ended_alone (of, found->hosts.items[0], ISOLATE_WORKS))
            return TEXT_LIT ("suspect what is between this host and the others: ");
        return (struct text){ 0 };
    case ISOLATE_LINK:
        return text_format (arena, "suspect the link between %.*s, or a setting that differs: ", TEXT_ARG (who));
    case ISOLATE_TOGETHER:
        return text_format (arena, "suspect the number of hosts, what one rank does, or a link between %.*s: ",
                            TEXT_ARG (found->hosts.n ? who : TEXT_LIT ("the hosts")));
    case ISOLATE_EVERYWHERE: return TEXT_LIT ("no host stands out: ");
    default: return TEXT_LIT ("no part of the slice could be run by itself: ");
    }
}

/* Lists the results of all parts, so that a reader can check the suspicion. */
struct text isolate_explain (const struct plan *plan, const struct isolate_case *of, const struct isolate_step *found,
                             struct arena *arena)
{
    struct text failed = parts_that (plan, of, ISOLATE_FAILED, arena),
                worked = parts_that (plan, of, ISOLATE_WORKS, arena);
    return text_format (
        arena, "%.*srun by themselves, %.*s%s%.*s%s (%u pass%s)", TEXT_ARG (suspicion (plan, of, found, arena)),
        TEXT_ARG (failed), failed.len && worked.len ? "; " : "", TEXT_ARG (worked),
        failed.len || worked.len ? "" : "none gave evidence", of->trials_n, of->trials_n == 1 ? "" : "es");
}

static bool is_suspect (const struct fact_suspects_named *named, uint32_t host)
{
    for (uint32_t i = 0; i < named->suspects.n; i++)
        if (named->suspects.items[i] == host)
            return true;
    return false;
}

static struct text add_clause (struct text cause, struct text why, struct arena *arena)
{
    uint32_t room = SENTENCE_MAX_BYTES - 2 > why.len ? SENTENCE_MAX_BYTES - 2 - why.len : 0;
    if (!cause.len)
        return text_clip (why, SENTENCE_MAX_BYTES);
    return text_clip (text_format (arena, "%.*s; %.*s", TEXT_ARG (text_clip (cause, room)), TEXT_ARG (why)),
                      SENTENCE_MAX_BYTES);
}

static bool ran_to_its_limit (const struct verdict *before)
{
    return before->outcome == OUTCOME_TIMED_OUT || text_starts (before->cause, BLAME_AT_LIMIT);
}

static void isolate_words_blame_host_of (const struct isolate_ruling *ruling, const struct verdict *before,
                                         struct arena *arena, struct verdict *after)
{
    *after = *before;
    if (before->outcome == OUTCOME_CASCADE) {
        *after = (struct verdict){ .host = before->host,
                                   .outcome = ran_to_its_limit (before) ? OUTCOME_TIMED_OUT : OUTCOME_FAILED,
                                   .owner = OWNER_UNKNOWN,
                                   .phase = before->phase };
        after->next = TEXT_LIT (
            "compare this host with the others: sliceup drift; and see what it printed: sliceup logs");
    }
    if (ruling->named->alone && before->owner == OWNER_PEER) { /* it failed without them */
        after->owner = OWNER_UNKNOWN;
        after->else_owner = OWNER_NONE;
        after->signature = (struct text){ 0 };
        after->next = TEXT_LIT ("see what it did before it complained of the others: sliceup logs");
    } else if (ruling->named->suspects.n == 1 && before->owner == OWNER_PEER && before->outcome != OUTCOME_CASCADE) {
        /* it complained of the others, which do well without it */
        after->owner = OWNER_HOST;
        after->else_owner = OWNER_LAUNCH;
        after->likely = true;
        after->signature = (struct text){ 0 };
        after->next = text_format (arena,
                                   "compare its addresses and variables with those of the others: sliceup drift; "
                                   "what it printed: sliceup logs --hosts %.*s",
                                   TEXT_ARG (ruling->who));
    }
    after->transient = before->transient &&
                       ruling->named->suspects.n == 0; /* it did not pass without the others either */
    after->cause = add_clause (after->cause, ruling->named->why, arena);
}

void isolate_ruling_from_suspects (const struct plan *plan, const struct fact_suspects_named *named,
                                   struct arena *arena, struct isolate_ruling *out)
{
    *out = (struct isolate_ruling){ named, plan_fold_hosts (plan, named->suspects.items, named->suspects.n, NAMED_BYTES,
                                                            arena) };
}

void isolate_apply_ruling (const struct isolate_ruling *ruling, const struct verdict *before, struct arena *arena,
                           struct verdict *after)
{
    const struct fact_suspects_named *named = ruling->named;
    *after = *before;
    if (before->outcome == OUTCOME_PASSED)
        return;
    if (named->suspects.n ? is_suspect (named, before->host) : named->alone || before->outcome != OUTCOME_CASCADE) {
        isolate_words_blame_host_of (ruling, before, arena, after);
        return;
    }
    if (named->suspects.n == 0)
        return;
    *after = (struct verdict){
        .host = before->host,
        .outcome = OUTCOME_CASCADE,
        .owner = OWNER_PEER,
        .signature = before->signature,
        .cause = text_clip (text_format (arena, "%s because %.*s failed",
                                         ran_to_its_limit (before) ? BLAME_AT_LIMIT : "aborted",
                                         TEXT_ARG (ruling->who)),
                            SENTENCE_MAX_BYTES),
        .phase = before->phase,
    };
}
