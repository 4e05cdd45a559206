#include "coordinator/verdict/agree.h"

#include <stdio.h>

#include "coordinator/verdict/going_on.h"
#include "coordinator/verdict/judge.h"

enum { NAMES_BYTES = 256, PLACE_BYTES = 300 };

/* Whom one host does not reach, or who does not reach it. */
struct unreached {
    uint32_t n;
    struct text who, place; /* place: of the first */
};

/* Empty: reached. */
static struct text ways_told (const struct agree_case *of, uint32_t from, uint32_t to)
{
    char name[24];
    snprintf (name, sizeof name, "way.%u", to);
    return var_value ((const var_list *) &of->results[from]->facts, name);
}

/* `done`: ranks that are not counted as peers, or NULL. */
static struct unreached ways_count (const struct agree_case *of, uint32_t at, bool from, const bool *done,
                                    struct arena *arena)
{
    struct unreached found = { 0 };
    uint32_t *ranks = arena_array (arena, of->n, sizeof *ranks);
    for (uint32_t i = 0; i < of->n; i++) {
        struct text told = i == at || (done && done[i]) ? (struct text){ 0 }
                           : from                       ? ways_told (of, at, i)
                                                        : ways_told (of, i, at);
        if (!told.len)
            continue;
        found.place = found.place.len ? found.place : told;
        ranks[found.n++] = of->hosts[i];
    }
    found.who = plan_fold_hosts (of->plan, ranks, found.n, NAMES_BYTES, arena);
    return found;
}

/* `on`: the host on which to look. */
static void ways_fail (const struct agree_case *of, struct verdict *verdict, uint32_t on, struct text place,
                       struct text cause, struct arena *arena)
{
    bool astray = text_find (place, TEXT_LIT (" answers there)"), NULL);
    struct text look = astray ? TEXT_LIT ("getent ahosts") : TEXT_LIT ("nft list ruleset");
    (void) verdict_set (verdict, verdict->outcome == OUTCOME_TIMED_OUT ? OUTCOME_TIMED_OUT : OUTCOME_FAILED,
                        astray ? OWNER_LAUNCH : OWNER_PLATFORM, cause, "");
    verdict->else_owner = astray ? OWNER_NONE : OWNER_HOST; /* a firewall of its own */
    verdict->likely = !astray;
    verdict->signature = (struct text){ 0 };
    verdict->next = text_format (
        arena, "%.*s; %s", TEXT_ARG (host_command (of->plan, on, look, arena)),
        astray ? "the slice file, /etc/hosts and DNS have to lead every host to the same machine"
               : "open the port between the hosts, there and in the network's firewall, or give the job another: "
                 "args: {port: 8476} of the profile");
}

/* May it have failed for want of the network? */
static bool ways_may_explain (const struct verdict *verdict)
{
    return verdict->owner == OWNER_PEER || verdict->owner == OWNER_UNKNOWN ||
           (verdict->owner == OWNER_PLATFORM && verdict->likely);
}

/* Some part of the pass says what it failed of by itself: then nobody waited for the network. */
static bool ways_have_cause (const struct agree_case *of, const struct verdict *verdicts)
{
    for (uint32_t i = 0; i < of->n; i++)
        if (verdicts[i].outcome == OUTCOME_FAILED && !ways_may_explain (&verdicts[i]))
            return true;
    return false;
}

void agree_unreached (const struct agree_case *of, struct verdict *verdicts, struct arena *arena)
{
    struct text name = of->plan->hosts.items[of->hosts[0]].name;
    if (verdicts[0].outcome == OUTCOME_LOST || ways_have_cause (of, verdicts))
        return;
    for (uint32_t i = 1; i < of->n; i++) {
        struct text note = result_note_from (of->results[i], NOTE_AT_FAILURE), place = note;
        if (!text_starts (note, NOTE_UNREACHED) || !ways_may_explain (&verdicts[i]) ||
            verdicts[i].outcome == OUTCOME_CANCELLED)
            continue;
        place.ptr += sizeof NOTE_UNREACHED - 1;
        place.len -= sizeof NOTE_UNREACHED - 1;
        ways_fail (of, &verdicts[i], of->hosts[0], place,
                   text_format (arena, "%.*s; " NOTE_UNREACHED "%.*s at %.*s", TEXT_ARG (verdicts[i].cause),
                                TEXT_ARG (name), TEXT_ARG (place)),
                   arena);
    }
}

void agree_ways (const struct agree_case *of, struct verdict *verdicts, struct arena *arena)
{
    struct unreached *from = arena_array (arena, of->n, sizeof *from), *to = arena_array (arena, of->n, sizeof *to);
    bool *done = arena_array (arena, of->n, sizeof *done);
    uint32_t wide = 0;
    for (uint32_t i = 0; i < of->n; i++) {
        to[i] = ways_count (of, i, false, NULL, arena);
        done[i] = to[i].n >= WAYS_TOLD_MAX || 2 * to[i].n >= of->n; /* in a large slice nobody tells of all */
        wide += done[i];
    }
    bool all = of->n > 2 && 2 * wide > of->n;
    for (uint32_t i = 0; i < of->n; i++) {
        from[i] = ways_count (of, i, true, all ? NULL : done, arena);
        struct text name = of->plan->hosts.items[of->hosts[i]].name, none = { 0 };
        struct unreached found = done[i] || all ? to[i] : from[i], other = all ? from[0].n ? from[0] : to[0] : found;
        struct text place = text_clip (other.place, PLACE_BYTES);
        if (!found.n || (verdicts[i].outcome != OUTCOME_PASSED && verdicts[i].outcome != OUTCOME_CANCELLED))
            continue;
        ways_fail (of, &verdicts[i], of->hosts[i], place,
                   all ? text_format (arena, "hosts do not reach each other, as %.*s", TEXT_ARG (place))
                       : text_format (arena, "%.*s%s not reach %.*s at %.*s", TEXT_ARG (done[i] ? found.who : none),
                                      !done[i]       ? "does"
                                      : found.n == 1 ? " does"
                                                     : " do",
                                      TEXT_ARG (done[i] ? name : found.who), TEXT_ARG (place)),
                   arena);
    }
}
