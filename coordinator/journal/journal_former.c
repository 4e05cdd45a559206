#include "coordinator/journal/journal_read.h"

#include "common/wire/wire.h"
#include <string.h>

struct journal_former {
    struct arena arena;
    struct buf bytes;
    uint8_t endings[HOSTS_MAX]; /* enum ending, in the pass that was begun last; NONE: not seen */
    bool part_only;             /* that pass was of a part of the slice by itself */
    enum outcome failure;       /* of the last pass of the whole slice, if it was no-report; else NONE */
};

struct journal_former *journal_former_create (void)
{
    struct journal_former *former = mem_alloc (sizeof *former);
    *former = (struct journal_former){ .failure = OUTCOME_NONE };
    buf_init (&former->bytes, FACT_MAX_BYTES);
    return former;
}

void journal_former_destroy (struct journal_former *former)
{
    if (!former)
        return;
    arena_release (&former->arena);
    buf_release (&former->bytes);
    mem_free (former);
}

static void rename_owner (enum owner *owner)
{
    if (*owner == OWNER_FORMER_FRONTEND)
        *owner = OWNER_BUNDLE;
    if (*owner == OWNER_FORMER_BACKEND)
        *owner = OWNER_LAUNCH;
}

/* No-report had the number of lost. */
static enum outcome outcome_by (enum ending ending)
{
    switch (ending) {
    case ENDING_TIMEOUT: return OUTCOME_TIMED_OUT;
    case ENDING_SIGNALLED: return OUTCOME_FAILED;
    case ENDING_CANCELLED: return OUTCOME_CANCELLED;
    default: return OUTCOME_LOST;
    }
}

/* One that was told to stop, and whose owner is not sliceup, is one that the others had waited for. */
static void rename_verdict (const struct journal_former *former, struct verdict *verdict)
{
    rename_owner (&verdict->owner);
    if (verdict->outcome == OUTCOME_LOST && verdict->host < HOSTS_MAX)
        verdict->outcome = outcome_by ((enum ending) former->endings[verdict->host]);
    if (verdict->outcome == OUTCOME_CANCELLED && verdict->owner == OWNER_UNKNOWN)
        verdict->outcome = OUTCOME_TIMED_OUT;
}

static void rename_pass (struct journal_former *former, struct fact_pass_ended *ended)
{
    bool no_report = ended->outcome == OUTCOME_LOST;
    for (uint32_t i = 0; i < ended->verdicts.n; i++) {
        rename_verdict (former, &ended->verdicts.items[i]);
        ended->outcome = i ? outcome_worst (ended->outcome, ended->verdicts.items[i].outcome)
                           : ended->verdicts.items[i].outcome;
    }
    if (!former->part_only)
        former->failure = no_report ? ended->outcome : OUTCOME_NONE;
}

static void rename_run (const struct journal_former *former, struct fact_run_ended *ended)
{
    enum { EXIT_STATUS_CANCELLED = 130 };
    if (ended->exit_status == EXIT_STATUS_CANCELLED)
        ended->outcome = OUTCOME_CANCELLED;
    else if (ended->outcome == OUTCOME_LOST && former->failure != OUTCOME_NONE)
        ended->outcome = former->failure;
}

static void rename_plan (struct plan *plan)
{
    for (uint32_t i = 0; i < plan->signatures.n; i++)
        rename_owner (&plan->signatures.items[i].owner);
}

static void see_ended (struct journal_former *former, struct fact_attempt_ended *ended)
{
    rename_owner (&ended->result.owner);
    if (ended->host < HOSTS_MAX)
        former->endings[ended->host] = (uint8_t) ended->result.ending;
}

static void rename_fact (struct journal_former *former, struct fact *fact)
{
    switch (fact->kind) {
    case FACT_RUN_OPENED: rename_plan (&fact->of.run_opened.plan); break;
    case FACT_PASS_BEGAN:
        memset (former->endings, 0, sizeof former->endings);
        former->part_only = fact->of.pass_began.purpose == PURPOSE_ISOLATION;
        break;
    case FACT_ATTEMPT_ENDED: see_ended (former, &fact->of.attempt_ended); break;
    case FACT_PASS_ENDED: rename_pass (former, &fact->of.pass_ended); break;
    case FACT_PASS_STOPPED: rename_owner (&fact->of.pass_stopped.owner); break;
    case FACT_RUN_ENDED: rename_run (former, &fact->of.run_ended); break;
    default: break;
    }
}

struct text journal_former_translate (struct journal_former *former, struct text bytes)
{
    struct fact fact;
    arena_reset (&former->arena);
    if (wire_get_fact (bytes, &fact, &former->arena, NULL) != 0)
        return bytes;
    rename_fact (former, &fact);
    buf_clear (&former->bytes);
    wire_put_fact (&former->bytes, &fact);
    return buf_as_text (&former->bytes);
}
