/* status_sentence.c - the one line that says where the slice stands. */
#include "coordinator/core/steps.h"

#include "common/base/duration.h"
#include "coordinator/verdict/failure.h"
#include "coordinator/verdict/going_on.h"

/* Limits for host names that do not fold, so that the causes have room. */
enum {
    GROUPS_SHOWN = 3,
    GROUPS_COUNTED = 64,
    HOSTS_SHOWN_BYTES = 240,
    ERROR_LINE_BYTES = 200,
    REMARKS_BYTES = 384,
    SHORT_SHOWN = 8
};

/* The verdicts of a pass, grouped by cause. */
struct grouping {
    const struct plan *plan;
    const struct fact_pass_ended *ended;
    struct text *lines; /* the error line of each verdict */
    bool *done;         /* it was told of */
    struct arena *arena;
};

static struct grouping grouping_make (const struct plan *plan, const struct fact_pass_ended *ended, struct arena *arena)
{
    struct grouping grouping = { plan, ended, .arena = arena };
    grouping.lines = arena_array (arena, ended->verdicts.n, sizeof (*grouping.lines));
    grouping.done = arena_array (arena, ended->verdicts.n, sizeof (*grouping.done));
    for (uint32_t i = 0; i < ended->verdicts.n; i++)
        grouping.lines[i] = error_line_find (ended->verdicts.items[i].outcome, ended->verdicts.items[i].evidence);
    return grouping;
}

/* Did it fail, or was it stopped, because of another host? */
static bool only_followed (const struct verdict *verdict)
{
    return verdict->outcome == OUTCOME_CASCADE || verdict->outcome == OUTCOME_CANCELLED;
}

/* Hosts that only followed are one group, whatever they printed. */
static bool status_sentence_same_cause (const struct grouping *grouping, uint32_t i, uint32_t k)
{
    const struct verdict *a = &grouping->ended->verdicts.items[i], *b = &grouping->ended->verdicts.items[k];
    return (only_followed (a) || text_equal_but_numbers (grouping->lines[i], grouping->lines[k])) &&
           verdict_same_cause (a, grouping->plan->hosts.items[a->host].name, b,
                               grouping->plan->hosts.items[b->host].name);
}

/* "v6e[0-3]", or "300 hosts, a3,b7,c..." */
static struct text folded (struct text *names, uint32_t n, struct arena *arena)
{
    struct text all = hostset_folded (names, n, UINT32_MAX, arena);
    if (all.len <= HOSTS_SHOWN_BYTES)
        return all;
    return text_format (arena, "%u hosts, %.*s...", n, TEXT_ARG (text_clip (all, HOSTS_SHOWN_BYTES)));
}

/* Takes the hosts with the cause of the one at `like`. `varies`: not all have the same numbers. */
static struct text take_group (struct grouping *grouping, uint32_t like, bool *varies)
{
    const struct fact_pass_ended *ended = grouping->ended;
    struct text *names = arena_array (grouping->arena, ended->verdicts.n, sizeof (*names));
    uint32_t *hosts = arena_array (grouping->arena, ended->verdicts.n, sizeof (*hosts)), n = 0;
    for (uint32_t i = like; i < ended->verdicts.n; i++)
        if (!grouping->done[i] && status_sentence_same_cause (grouping, i, like)) {
            grouping->done[i] = true;
            *varies |= !text_equal (grouping->lines[i], grouping->lines[like]) ||
                       !text_equal (ended->verdicts.items[i].cause, ended->verdicts.items[like].cause);
            hosts[n] = ended->verdicts.items[i].host;
            names[n] = grouping->plan->hosts.items[hosts[n]].name;
            n++;
        }
    return text_format (grouping->arena, "%.*s%.*s", TEXT_ARG (folded (names, n, grouping->arena)),
                        TEXT_ARG (plan_name_slices (grouping->plan, hosts, n, grouping->arena)));
}

/* How many causes were left out; counts at most GROUPS_COUNTED. */
static uint32_t count_left_out (struct grouping *grouping)
{
    const struct fact_pass_ended *ended = grouping->ended;
    uint32_t n = 0;
    for (uint32_t i = 0; i < ended->verdicts.n && n < GROUPS_COUNTED; i++) {
        if (grouping->done[i] || only_followed (&ended->verdicts.items[i]))
            continue;
        for (uint32_t k = i + 1; k < ended->verdicts.n; k++)
            grouping->done[k] = grouping->done[k] || status_sentence_same_cause (grouping, i, k);
        n++;
    }
    return n;
}

static void status_sentence_add_group (struct grouping *grouping, uint32_t like, struct buf *line)
{
    const struct verdict *verdict = &grouping->ended->verdicts.items[like];
    struct text error = text_clip (error_line_beside (verdict->outcome, verdict->evidence, verdict->cause),
                                   ERROR_LINE_BYTES);
    bool varies = false;
    buf_add_text (line, take_group (grouping, like, &varies));
    buf_printf (line, " %s: ", enum_name_of (&outcome_names, verdict->outcome));
    if (varies) /* this host's line; those of others have other numbers */
        buf_printf (line, "%.*s: ", TEXT_ARG (grouping->plan->hosts.items[verdict->host].name));
    buf_printf (line, "%.*s%s%.*s", TEXT_ARG (error), error.len ? "; " : "", TEXT_ARG (verdict->cause));
    failure_print_owner (line, certainty_of_owner (verdict->owner, verdict->else_owner, verdict->likely),
                         verdict->owner, verdict->else_owner, verdict->signature);
    if (verdict->next.len)
        buf_printf (line, "; next: %.*s", TEXT_ARG (verdict->next));
}

/* What tells most first; followers only if there is nothing else. */
static void add_groups (struct grouping *grouping, struct buf *line)
{
    const struct fact_pass_ended *ended = grouping->ended;
    uint32_t shown = 0;
    for (uint32_t worth = FAILURE_WORTHS; worth-- > 0;)
        for (uint32_t i = 0; i < ended->verdicts.n && shown < GROUPS_SHOWN; i++) {
            const struct verdict *verdict = &ended->verdicts.items[i];
            bool later = failure_worth (verdict->outcome, verdict->owner, verdict->likely || verdict->else_owner) !=
                         worth;
            if (grouping->done[i] || later || (worth == 0 && shown > 0))
                continue;
            buf_puts (line, shown++ ? " | " : ": ");
            status_sentence_add_group (grouping, i, line);
        }
}

static struct text sentence_from (const char *lead, const struct plan *plan, const struct fact_pass_ended *ended,
                                  struct arena *arena)
{
    LOCAL_BUF line = { .max = 16 * SENTENCE_MAX_BYTES };
    const struct rung *rung = &plan->rungs.items[ended->key.rung];
    buf_printf (&line, "%srung %.*s (%u of %u)", lead, TEXT_ARG (rung->id), ended->key.rung + 1, plan->rungs.n);
    if (ended->key.pass != PASS_ONCE)
        buf_printf (&line, ", %s pass", enum_name_of (&pass_names, ended->key.pass));
    struct grouping grouping = grouping_make (plan, ended, arena);
    add_groups (&grouping, &line);
    struct text text = text_clip (buf_as_text (&line), SENTENCE_MAX_BYTES - REMARKS_BYTES);
    uint32_t left = count_left_out (&grouping);
    text = left ? text_format (arena, "%.*s | and %s%u more cause%s: see the receipt", TEXT_ARG (text),
                               left == GROUPS_COUNTED ? "at least " : "", left, plural (left))
                : text_copy (arena, text);
    return text;
}

struct text status_sentence_of_verdicts (const struct plan *plan, const struct fact_pass_ended *ended,
                                         struct arena *arena)
{
    return sentence_from ("stopped at ", plan, ended, arena);
}

static uint32_t retries_of (const struct rung_state *rung)
{
    uint32_t n = 0;
    for (uint32_t pass = 0; pass <= PASS_RESTORED; pass++)
        n += rung->retries[pass];
    return n;
}

static struct text after_retries (const struct coord *coord, const struct fact_pass_ended *ended, struct text fall,
                                  struct arena *arena)
{
    const struct rung_state *rung = &coord->state->rungs.items[ended->key.rung];
    uint32_t n = rung->retries[ended->key.pass];
    if (n == 0)
        return fall;
    return text_format (arena, "%.*s; after %u retr%s (%.*s)", TEXT_ARG (fall), n, n == 1 ? "y" : "ies",
                        TEXT_ARG (text_clip (rung->retried_for, NAME_MAX_BYTES)));
}

struct text status_sentence_of_failure (const struct coord *coord, const struct fact_pass_ended *ended,
                                        struct arena *arena)
{
    return after_retries (coord, ended, status_sentence_of_verdicts (&coord->state->plan, ended, arena), arena);
}

struct text status_sentence_of_shortfall (const struct coord *coord, const struct fact_pass_ended *ended,
                                          struct arena *arena)
{
    return after_retries (coord, ended, sentence_from ("", &coord->state->plan, ended, arena), arena);
}

/* A requested backend does not prove where a program ran. */
static struct text unproved_text (const struct coord *coord, struct arena *arena)
{
    struct text all = { 0 }, backend = coord->state->plan.profile.backend;
    for (uint32_t i = 0; i < coord->state->rungs.n; i++)
        if (coord->state->rungs.items[i].unproved)
            all = text_format (arena, "%.*s%s%.*s", TEXT_ARG (all), all.len ? ", " : "",
                               TEXT_ARG (coord->state->plan.rungs.items[i].id));
    return all.len ? text_format (arena, "; unproved: no report says that %.*s ran on %.*s", TEXT_ARG (all),
                                  TEXT_ARG (backend))
                   : all;
}

/* Shows recoveries, so that they never look like a clean pass. */
static struct text recoveries_text (const struct coord *coord, struct arena *arena)
{
    struct text all = { 0 };
    uint32_t told = 0;
    for (uint32_t i = 0; i < coord->state->plan.rungs.n; i++) {
        uint32_t n = retries_of (&coord->state->rungs.items[i]);
        if (n == 0 || told++ >= GROUPS_SHOWN)
            continue;
        all = text_format (arena, "%.*s; rung %.*s passed after %u retr%s (%.*s)", TEXT_ARG (all),
                           TEXT_ARG (coord->state->plan.rungs.items[i].id), n, n == 1 ? "y" : "ies",
                           TEXT_ARG (text_clip (coord->state->rungs.items[i].retried_for, NAME_MAX_BYTES)));
    }
    if (told > GROUPS_SHOWN)
        all = text_format (arena, "%.*s; %u more rungs passed after retries", TEXT_ARG (all), told - GROUPS_SHOWN);
    return all;
}

static struct text who_took_part (const struct coord *coord, struct arena *arena)
{
    struct text *names = arena_array (arena, coord->state->plan.hosts.n, sizeof (*names));
    uint32_t n = 0;
    for (uint32_t i = 0; i < coord->state->plan.hosts.n; i++)
        if (takes_part (coord, i))
            names[n++] = coord->state->plan.hosts.items[i].name;
    return folded (names, n, arena);
}

/* ---- a climb that went on ---- */

/* "tiny (failed), all (blocked)": the first of them, and how many more. */
static struct text rungs_short (const struct coord *coord, struct arena *arena)
{
    struct text all = { 0 };
    uint32_t told = 0;
    for (uint32_t i = 0; i < coord->state->rungs.n; i++) {
        enum outcome outcome = coord->state->rungs.items[i].outcome;
        if (outcome > OUTCOME_PASSED && told++ < SHORT_SHOWN)
            all = text_format (arena, "%.*s%s%.*s (%s)", TEXT_ARG (all), told > 1 ? ", " : "",
                               TEXT_ARG (coord->state->plan.rungs.items[i].id), enum_name_of (&outcome_names, outcome));
    }
    return told > SHORT_SHOWN ? text_format (arena, "%.*s and %u more", TEXT_ARG (all), told - SHORT_SHOWN) : all;
}

/* "v6e-3: its worker did not join within 2 min"; hosts that failed a rung have verdicts instead. */
static struct text first_absence (const struct coord *coord, struct arena *arena)
{
    for (uint32_t i = 0; i < coord->state->plan.hosts.n; i++)
        if (coord->state->hosts.items[i].left == LEFT_ABSENT)
            return text_format (arena, " (%.*s: %.*s)", TEXT_ARG (coord->state->plan.hosts.items[i].name),
                                TEXT_ARG (text_clip (coord->state->hosts.items[i].left_why, NAME_MAX_BYTES)));
    return (struct text){ 0 };
}

/* "; not a full slice, without v6e[3,7] (v6e-3: ...); not passed: ..." */
static struct text shortfall_text (const struct coord *coord, struct arena *arena)
{
    struct text all = { 0 }, rungs = rungs_short (coord, arena);
    if (!coord->state->shortfall_outcome)
        return all;
    if (coord->state->left_n)
        all = text_format (arena, "; not a full slice, without %.*s%.*s", TEXT_ARG (names_left_behind (coord, arena)),
                           TEXT_ARG (first_absence (coord, arena)));
    return rungs.len ? text_format (arena, "%.*s; not passed: %.*s", TEXT_ARG (all), TEXT_ARG (rungs)) : all;
}

/* Counts rungs by hosts that still take part: if the climb went on, only left-behind hosts did not pass. */
static uint32_t passed_n (const struct coord *coord)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < coord->state->rungs.n; i++) {
        enum outcome outcome = coord->state->rungs.items[i].outcome;
        bool by_host = coord->state->plan.rungs.items[i].scope != SCOPE_SLICE && i < coord->state->rung;
        n += outcome == OUTCOME_PASSED || (by_host && outcome > OUTCOME_CASCADE && outcome != OUTCOME_BLOCKED);
    }
    return n;
}

/* The option that would have let a run go on without its lost hosts. */
static struct text way_on (const struct coord *coord, struct arena *arena)
{
    const struct plan *plan = &coord->state->plan;
    uint32_t gone = 0;
    for (uint32_t i = 0; i < plan->hosts.n; i++)
        gone += coord->state->hosts.items[i].left == LEFT_ABSENT || host_is_lost (coord, i);
    bool loss = coord->state->stop_outcome == OUTCOME_LOST || coord->state->stop_outcome == OUTCOME_BLOCKED;
    if (!coord->state->stop.len || !loss || gone == 0 || gone == plan->hosts.n || coord->state->cancel_level > 0)
        return (struct text){ 0 };
    uint32_t up = plan->hosts.n - gone;
    struct text few = { 0 };
    if (up < plan->climb.min_hosts)
        few = text_format (arena, " (--min-hosts asks for %u)", plan->climb.min_hosts);
    return text_format (arena, "; to go on with the %u that are up%.*s: %.*s", up, TEXT_ARG (few),
                        TEXT_ARG (going_on_command (plan, up, arena)));
}

/* The first kind: "changed"; the receipt has all. */
static const char *violated_how (const struct state *state)
{
    uint32_t i = 0;
    while (i + 1 < state->violations.n && !finding_is_violation (state->violations.items[i].kind))
        i++;
    return enum_name_of (&finding_kind_names, state->violations.items[i].kind);
}

static struct text run_sentence (const struct coord *coord, struct arena *arena)
{
    const struct plan *plan = &coord->state->plan;
    char span[DURATION_TEXT_BYTES];
    uint64_t now_ms = coord->soft.stepped_ms > coord->soft.clock_ms ? coord->soft.stepped_ms : coord->soft.clock_ms;
    duration_print (now_ms + coord->state->away_ms, span);
    struct text fall = coord->state->stop.len ? coord->state->stop : coord->state->shortfall;
    bool climbed = coord->state->stop.len || coord->state->rung == plan->rungs.n;
    if (coord->state->cancel_level > 0 && coord->state->isolation.called_for && climbed)
        return text_format (arena, "slice %.*s: %.*s; cancelled while parts of the slice were run by themselves",
                            TEXT_ARG (plan->slice), TEXT_ARG (fall));
    if (coord->state->cancel_level > 0 && coord->state->rung < plan->rungs.n)
        return text_format (arena, "slice %.*s: cancelled after %s, before rung %u of %u had ended",
                            TEXT_ARG (plan->slice), span, coord->state->rung + 1, plan->rungs.n);
    if (coord->state->stop.len)
        return text_format (arena, "slice %.*s: %.*s%.*s", TEXT_ARG (plan->slice), TEXT_ARG (coord->state->stop),
                            TEXT_ARG (shortfall_text (coord, arena)));
    struct text way = TEXT_LIT ("climbed to the top");
    if (coord->state->shortfall_outcome)
        way = text_format (arena, "%u of %u hosts went on to the last rung", plan->hosts.n - coord->state->left_n,
                           plan->hosts.n);
    return text_format (arena, "slice %.*s: %.*s: %u of %u rungs passed on %.*s in %s%.*s%.*s%s%.*s",
                        TEXT_ARG (plan->slice), TEXT_ARG (way), passed_n (coord), plan->rungs.n,
                        TEXT_ARG (who_took_part (coord, arena)), span, TEXT_ARG (recoveries_text (coord, arena)),
                        TEXT_ARG (shortfall_text (coord, arena)), coord->state->shortfall.len ? "; " : "",
                        TEXT_ARG (coord->state->shortfall));
}

struct text status_sentence_of_run (const struct coord *coord, struct arena *arena)
{
    const struct state *state = coord->state;
    bool cancelled = state->cancel_level > 0 && (state->stop.len || state->rung < state->plan.rungs.n);
    struct text remarks = text_clip (
        text_format (arena, "%.*s%.*s", TEXT_ARG (way_on (coord, arena)), TEXT_ARG (unproved_text (coord, arena))),
        SENTENCE_MAX_BYTES / 2);
    struct text sentence = text_clip (run_sentence (coord, arena),
                                      SENTENCE_MAX_BYTES - REMARKS_BYTES / 2 - remarks.len);
    sentence = text_format (arena, "%.*s%.*s", TEXT_ARG (sentence), TEXT_ARG (remarks));
    if (cancelled || state->counted_violations == 0)
        return sentence;
    return text_format (arena, "%.*s; the cache was violated (%s), so the exit status is 4", TEXT_ARG (sentence),
                        violated_how (state));
}
