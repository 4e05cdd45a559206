/* status_sentence.c - the one line that says where the slice stands. */
#include "coordinator/core/status_sentence.h"

#include "common/base/duration.h"
#include "coordinator/verdict/failure.h"

/* Hosts whose names do not fold into ranges must not take the room of what is said of them. */
enum { GROUPS_SHOWN = 3, HOSTS_SHOWN_BYTES = 240, ERROR_LINE_BYTES = 200, REMARKS_BYTES = 384 };

static struct text error_line (const struct verdict *verdict)
{
    struct text rest = verdict->evidence;
    return text_take_until (&rest, '\n');
}

/* Who only fell with another host is one of many, whatever it printed. */
static bool same_cause (const struct verdict *a, const struct verdict *b)
{
    if (a->outcome != OUTCOME_CASCADE && !text_equal_but_numbers (error_line (a), error_line (b)))
        return false;
    return a->outcome == b->outcome && a->owner == b->owner && a->likely == b->likely &&
           text_equal (a->signature, b->signature) && text_equal (a->cause, b->cause);
}

/* "v6e[0-3]", or "300 hosts, a3,b7,c..." */
static struct text folded (struct text *names, uint32_t n, struct arena *arena)
{
    struct text all = hostset_folded (names, n, UINT32_MAX, arena);
    if (all.len <= HOSTS_SHOWN_BYTES)
        return all;
    return text_format (arena, "%u hosts, %.*s...", n, TEXT_ARG (text_clip (all, HOSTS_SHOWN_BYTES)));
}

/* The hosts that have the cause of the one at `like`, which is told with it. */
static struct text take_group (const struct plan *plan, const struct fact_pass_ended *ended, uint32_t like, bool *done,
                               struct arena *arena)
{
    struct text *names = arena_array (arena, ended->verdicts.n, sizeof (*names));
    uint32_t n = 0;
    for (uint32_t i = like; i < ended->verdicts.n; i++)
        if (!done[i] && same_cause (&ended->verdicts.items[i], &ended->verdicts.items[like])) {
            done[i] = true;
            names[n++] = plan->hosts.items[ended->verdicts.items[i].host].name;
        }
    return folded (names, n, arena);
}

/* How many causes nobody has been told of. */
static uint32_t count_left_out (const struct fact_pass_ended *ended, bool *done)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < ended->verdicts.n; i++) {
        if (done[i] || ended->verdicts.items[i].outcome == OUTCOME_CASCADE)
            continue;
        for (uint32_t k = i + 1; k < ended->verdicts.n; k++)
            done[k] = done[k] || same_cause (&ended->verdicts.items[i], &ended->verdicts.items[k]);
        n++;
    }
    return n;
}

static void add_group (const struct plan *plan, const struct fact_pass_ended *ended, uint32_t like, bool *done,
                       struct arena *arena, struct buf *line)
{
    const struct verdict *verdict = &ended->verdicts.items[like];
    struct text error = text_clip (error_line_of (verdict->evidence, verdict->cause), ERROR_LINE_BYTES);
    buf_add_text (line, take_group (plan, ended, like, done, arena));
    buf_printf (line, " %s: %.*s%s%.*s", enum_name_of (&outcome_names, verdict->outcome), TEXT_ARG (error),
                error.len ? "; " : "", TEXT_ARG (verdict->cause));
    failure_print_owner (line, certainty_of_owner (verdict->owner, verdict->likely), verdict->owner,
                         verdict->signature);
    if (verdict->next.len)
        buf_printf (line, "; next: %.*s", TEXT_ARG (verdict->next));
}

/* Causes first: a cascade is told only when it is all there is. */
static void add_groups (const struct plan *plan, const struct fact_pass_ended *ended, bool *done, struct arena *arena,
                        struct buf *line)
{
    uint32_t shown = 0;
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t i = 0; i < ended->verdicts.n && shown < GROUPS_SHOWN; i++) {
            bool cascade = ended->verdicts.items[i].outcome == OUTCOME_CASCADE;
            if (done[i] || cascade != (round == 1) || (round == 1 && shown > 0))
                continue;
            buf_puts (line, shown++ ? " | " : ": ");
            add_group (plan, ended, i, done, arena, line);
        }
}

struct text status_sentence_of_verdicts (const struct plan *plan, const struct fact_pass_ended *ended,
                                         struct arena *arena)
{
    struct buf line;
    buf_init (&line, 16 * SENTENCE_MAX_BYTES);
    const struct rung *rung = &plan->rungs.items[ended->key.rung];
    buf_printf (&line, "stopped at rung %.*s (%u of %u)", TEXT_ARG (rung->id), ended->key.rung + 1, plan->rungs.n);
    if (ended->key.pass != PASS_ONCE)
        buf_printf (&line, ", %s pass", enum_name_of (&pass_names, ended->key.pass));
    bool *done = arena_array (arena, ended->verdicts.n, sizeof (*done));
    add_groups (plan, ended, done, arena, &line);
    struct text text = text_clip (buf_as_text (&line), SENTENCE_MAX_BYTES - REMARKS_BYTES);
    uint32_t left = count_left_out (ended, done);
    text = left ? text_format (arena, "%.*s | and %u more cause%s: see the receipt", TEXT_ARG (text), left,
                               left == 1 ? "" : "s")
                : text_copy (arena, text);
    buf_release (&line);
    return text;
}

static uint32_t retries_of (const struct rung_state *rung)
{
    uint32_t n = 0;
    for (uint32_t pass = 0; pass <= PASS_RESTORED; pass++)
        n += rung->retries[pass];
    return n;
}

struct text status_sentence_of_failure (const struct coord *coord, const struct fact_pass_ended *ended,
                                        struct arena *arena)
{
    const struct rung_state *rung = &coord->state->rungs.items[ended->key.rung];
    uint32_t n = rung->retries[ended->key.pass];
    struct text fall = status_sentence_of_verdicts (&coord->state->plan, ended, arena);
    if (n == 0)
        return fall;
    return text_format (arena, "%.*s; after %u retr%s (%.*s)", TEXT_ARG (fall), n, n == 1 ? "y" : "ies",
                        TEXT_ARG (text_clip (rung->retried_for, NAME_MAX_BYTES)));
}

/* A recovery never looks like a clean pass. */
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

static struct text all_hosts (const struct plan *plan, struct arena *arena)
{
    struct text *names = arena_array (arena, plan->hosts.n, sizeof (*names));
    for (uint32_t i = 0; i < plan->hosts.n; i++)
        names[i] = plan->hosts.items[i].name;
    return folded (names, plan->hosts.n, arena);
}

/* The first kind: "changed"; all of them stand in the receipt. */
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
    duration_print (coord->soft.clock_ms + coord->state->away_ms, span);
    if (coord->state->cancel_level > 0 && coord->state->isolation.called_for)
        return text_format (arena,
                            "slice %.*s: %.*s; cancelled by the user while parts of the slice were run by themselves",
                            TEXT_ARG (plan->slice), TEXT_ARG (coord->state->stop));
    if (coord->state->cancel_level > 0 && coord->state->rung < plan->rungs.n)
        return text_format (arena, "slice %.*s: cancelled by the user after %s, before rung %u of %u had ended",
                            TEXT_ARG (plan->slice), span, coord->state->rung + 1, plan->rungs.n);
    if (coord->state->stop.len)
        return text_format (arena, "slice %.*s: %.*s", TEXT_ARG (plan->slice), TEXT_ARG (coord->state->stop));
    return text_format (arena, "slice %.*s: climbed to the top: %u of %u rungs passed on %.*s in %s%.*s",
                        TEXT_ARG (plan->slice), plan->rungs.n, plan->rungs.n, TEXT_ARG (all_hosts (plan, arena)), span,
                        TEXT_ARG (recoveries_text (coord, arena)));
}

struct text status_sentence_of_run (const struct coord *coord, struct arena *arena)
{
    const struct state *state = coord->state;
    bool cancelled = state->cancel_level > 0 && (state->stop.len || state->rung < state->plan.rungs.n);
    struct text sentence = text_clip (run_sentence (coord, arena), SENTENCE_MAX_BYTES - REMARKS_BYTES / 2);
    if (cancelled || state->counted_violations == 0)
        return sentence;
    return text_format (arena, "%.*s; the cache was violated (%s), so the exit status is 4", TEXT_ARG (sentence),
                        violated_how (state));
}
