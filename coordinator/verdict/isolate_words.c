/* isolate_words.c - reads and makes the verdicts for isolate.h: which host reports a cause, and isolation in words. */
#include "coordinator/verdict/isolate.h"

#include <stdio.h>

#include "coordinator/verdict/blame.h"
#include "coordinator/verdict/failure.h"

enum { NAMED_BYTES = 512 };

/* ---- causes of their own ---- */

bool isolate_blames_peers_only (const struct plan *plan, const struct verdict *verdict)
{
    return verdict->outcome != OUTCOME_CASCADE && blame_is_peer_complaint (plan, verdict->signature);
}

static bool ended_by_itself (const struct isolate_host *host)
{
    return host->ending == ENDING_SIGNALLED || (host->ending == ENDING_EXITED && host->code != 0);
}

/* A host reports a cause unless it only says that peers failed, or says what nobody recognises. */
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

/* Silent: it did not end before it was made to. */
static bool was_silent (const struct isolate_host *host)
{
    return host->ending == ENDING_TIMEOUT || host->ending == ENDING_CANCELLED;
}

/* Ended in a failure that nobody recognises, and complains of no other host. */
static bool failed_for_no_reason (const struct isolate_host *host)
{
    return ended_by_itself (host) && host->verdict->outcome != OUTCOME_CASCADE &&
           host->verdict->owner == OWNER_UNKNOWN && !host->verdict->signature.len;
}

/* It ended with status 0, so the cause is elsewhere, even if its result did not pass. */
static bool came_to_its_end (const struct isolate_host *host)
{
    return host->ending == ENDING_EXITED && host->code == 0;
}

bool isolate_is_called_for (const struct plan *plan, const struct isolate_host *hosts, uint32_t n, bool met)
{
    uint32_t failed_n = 0, silent_n = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!hosts[i].verdict || came_to_its_end (&hosts[i]) || hosts[i].at_gate || speaks_of_itself (plan, &hosts[i]))
            return false;
        failed_n += failed_for_no_reason (&hosts[i]);
        silent_n += was_silent (&hosts[i]);
    }
    bool the_one = failed_n == 1 &&
                   (silent_n == 0 || !met); /* it went down, and all others noticed or had nothing to do with it */
    return n > 1 && !the_one;
}

/* ---- words ---- */

static struct text fold (const struct plan *plan, const uint32_t *hosts, uint32_t n, struct arena *arena)
{
    struct text *names = arena_array (arena, n, sizeof (*names));
    uint32_t known = 0;
    for (uint32_t i = 0; i < n; i++)
        if (hosts[i] < plan->hosts.n)
            names[known++] = plan->hosts.items[hosts[i]].name;
    return hostset_folded (names, known, NAMED_BYTES, arena);
}

static struct text halves (const struct plan *plan, const struct isolate_case *of, struct arena *arena)
{
    const struct isolate_set *a = NULL, *b = NULL;
    for (uint32_t i = 0; i < of->trials_n && !b; i++)
        if (of->trials[i].answer == ISOLATE_WORKS) {
            b = a ? &of->trials[i].hosts : NULL;
            a = a ? a : &of->trials[i].hosts;
        }
    if (!b)
        return TEXT_LIT ("each half works alone");
    return text_format (arena, "%.*s and %.*s each work alone", TEXT_ARG (fold (plan, a->items, a->n, arena)),
                        TEXT_ARG (fold (plan, b->items, b->n, arena)));
}

struct text isolate_explain (const struct plan *plan, const struct isolate_case *of, const struct isolate_step *found,
                             struct arena *arena)
{
    char passes[32];
    snprintf (passes, sizeof (passes), "%u pass%s", of->trials_n, of->trials_n == 1 ? "" : "es");
    switch (found->kind) {
    case ISOLATE_HOSTS: return text_format (arena, "fails also without the other hosts (isolated in %s)", passes);
    case ISOLATE_LINK:
        return text_format (arena,
                            "fails when %.*s run together, and each of them works with other hosts (isolated in %s): "
                            "suspect the link between them, or a setting that differs",
                            TEXT_ARG (fold (plan, found->hosts.items, found->hosts.n, arena)), passes);
    case ISOLATE_TOGETHER:
        if (found->hosts.n)
            return text_format (arena,
                                "fails when all of %.*s run together, and each half of them works (isolated in %s): "
                                "suspect a link between them, or the number of hosts",
                                TEXT_ARG (fold (plan, found->hosts.items, found->hosts.n, arena)), passes);
        return text_format (arena,
                            "%.*s (%s), and both fail together: suspect a link between them, or the number of hosts",
                            TEXT_ARG (halves (plan, of, arena)), passes);
    case ISOLATE_EVERYWHERE:
        return text_format (
            arena, "every part of the slice that was run by itself fails too (tried in %s): no host stands out",
            passes);
    default: return text_format (arena, "parts of the slice could not be run by themselves (%s tried)", passes);
    }
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

static void blame_host_of (const struct isolate_ruling *ruling, const struct verdict *before, struct arena *arena,
                           struct verdict *after)
{
    *after = *before;
    if (before->outcome == OUTCOME_CASCADE) {
        *after = (struct verdict){
            .host = before->host, .outcome = ruling->outcome, .owner = OWNER_UNKNOWN, .phase = before->phase
        };
        after->next = TEXT_LIT (
            "compare this host with the others: sliceup drift; and see what it printed: sliceup logs");
    }
    after->transient = before->transient &&
                       ruling->named->suspects.n == 0; /* it did not pass without the others either */
    after->cause = add_clause (after->cause, ruling->named->why, arena);
}

void isolate_ruling_from_suspects (const struct plan *plan, const struct fact_suspects_named *named,
                                   enum outcome outcome, struct arena *arena, struct isolate_ruling *out)
{
    *out = (struct isolate_ruling){ named, outcome, fold (plan, named->suspects.items, named->suspects.n, arena) };
}

void isolate_apply_ruling (const struct isolate_ruling *ruling, const struct verdict *before, struct arena *arena,
                           struct verdict *after)
{
    const struct fact_suspects_named *named = ruling->named;
    *after = *before;
    if (before->outcome == OUTCOME_PASSED)
        return;
    if (named->suspects.n ? is_suspect (named, before->host) : before->outcome != OUTCOME_CASCADE) {
        blame_host_of (ruling, before, arena, after);
        return;
    }
    if (named->suspects.n == 0)
        return;
    *after = (struct verdict){
        .host = before->host,
        .outcome = OUTCOME_CASCADE,
        .owner = OWNER_PEER,
        .signature = before->signature,
        .cause = text_clip (text_format (arena, "aborted because %.*s failed", TEXT_ARG (ruling->who)),
                            SENTENCE_MAX_BYTES),
        .phase = before->phase,
    };
}
