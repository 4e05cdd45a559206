#include "coordinator/view/plain_private.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/base/duration.h"
#include "coordinator/view/size.h"
#include "coordinator/view/waiting.h"

enum { SENTENCE_BYTES = 1 << 20, FALLEN_TOLD = 3, SET_COLUMNS = 120 };

void plain_say (struct teller *teller, uint64_t at_ms)
{
    struct line line = line_begin (teller->out, teller->style);
    line_printf (&line, "[%6" PRIu64 ".%" PRIu64 " s] ", at_ms / 1000, at_ms % 1000 / 100);
    line_text (&line, buf_as_text (&teller->words));
    line_end (&line);
    buf_clear (&teller->words);
}

/* "tiny restored"; a rung with one pass only needs no word for it. */
void plain_add_key (struct teller *teller, const struct attempt_key *key)
{
    buf_text (&teller->words, board_rung_id (teller->board, key->rung));
    if (key->pass == PASS_COLD || key->pass == PASS_RESTORED)
        buf_printf (&teller->words, " %s", names_of (&pass_names, key->pass));
}

static void add_host (struct teller *teller, uint32_t host)
{
    buf_text (&teller->words, board_host_name (teller->board, host));
}

static const char *plural (uint32_t n)
{
    return n == 1 ? "" : "s";
}

/* ---- hosts ---- */

static uint32_t back_n (const struct board *board)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < board->plan.hosts.n; i++)
        n += board->hosts[i].life == BOARD_JOINED && board->hosts[i].epoch == board->epoch;
    return n;
}

static void tell_joined (struct teller *teller, const struct fact *fact)
{
    uint32_t at = fact->of.host_joined.host, n = teller->board->plan.hosts.n;
    if (at >= n)
        return;
    const struct board_host *host = &teller->board->hosts[at];
    if (host->returned) {
        add_host (teller, at);
        buf_puts (&teller->words, " joined again");
    } else if (back_n (teller->board) == n) {
        buf_printf (&teller->words, host->joins > 1 ? "%u host%s came back" : "%u host%s joined", n, plural (n));
    } else {
        return;
    }
    plain_say (teller, fact->at_ms);
}

static void tell_lost (struct teller *teller, const struct fact *fact)
{
    add_host (teller, fact->of.host_lost.host);
    buf_puts (&teller->words, " lost: ");
    buf_text (&teller->words, fact->of.host_lost.why);
    plain_say (teller, fact->at_ms);
}

static void tell_suspected (struct teller *teller, const struct fact *fact)
{
    char span[DURATION_TEXT_BYTES];
    add_host (teller, fact->of.host_suspected.host);
    buf_printf (&teller->words, " silent for %s", duration_print (fact->of.host_suspected.silent_ms, span));
    plain_say (teller, fact->at_ms);
}

/* ---- the cache ---- */

static void add_generation (struct teller *teller, const struct fact_generation *generation)
{
    char size[SIZE_TEXT_BYTES];
    buf_printf (&teller->words, "cache generation %" PRIu64, generation->token);
    buf_printf (&teller->words, " (%u entr%s, %s)", generation->entries, generation->entries == 1 ? "y" : "ies",
                size_print (generation->bytes, size));
}

static void tell_adopted (struct teller *teller, const struct fact *fact)
{
    if (fact->of.generation.token) {
        add_generation (teller, &fact->of.generation);
        buf_puts (&teller->words, " of an earlier run fits");
    } else {
        buf_puts (&teller->words, "no cache generation of an earlier run fits: compiling anew");
    }
    plain_say (teller, fact->at_ms);
}

static void tell_published (struct teller *teller, const struct fact *fact)
{
    add_generation (teller, &fact->of.generation);
    buf_puts (&teller->words, " published, written by ");
    add_host (teller, fact->of.generation.writer);
    plain_say (teller, fact->at_ms);
}

static void tell_granted (struct teller *teller, const struct fact *fact)
{
    add_host (teller, fact->of.writer_granted.host);
    buf_printf (&teller->words, " may write cache generation %" PRIu64, fact->of.writer_granted.token);
    plain_say (teller, fact->at_ms);
}

static void tell_lease_lost (struct teller *teller, const struct fact *fact)
{
    const struct fact_lease_lost *lost = &fact->of.lease_lost;
    add_host (teller, lost->host);
    buf_printf (&teller->words, " may not write cache generation %" PRIu64 " any more", lost->token);
    if (lost->why.len)
        buf_puts (&teller->words, ": ");
    buf_text (&teller->words, lost->why);
    plain_say (teller, fact->at_ms);
}

static void tell_violated (struct teller *teller, const struct fact *fact)
{
    const struct fact_cache_violated *violated = &fact->of.cache_violated;
    const struct finding *finding = &violated->finding;
    buf_printf (&teller->words, "%s: %s", finding_counts (finding->kind) ? "cache violated" : "cache",
                names_of (&finding_kind_names, finding->kind));
    if (finding->token)
        buf_printf (&teller->words, " in generation %" PRIu64, finding->token);
    if (violated->host < teller->board->plan.hosts.n) {
        buf_puts (&teller->words, ", seen by ");
        add_host (teller, violated->host);
    }
    if (finding->path.len)
        buf_puts (&teller->words, ": ");
    buf_text (&teller->words, finding->path);
    if (finding->detail.len)
        buf_puts (&teller->words, ": ");
    buf_text (&teller->words, finding->detail);
    plain_say (teller, fact->at_ms);
}

static void tell_dropped (struct teller *teller, const struct fact *fact)
{
    const struct fact_generation_dropped *dropped = &fact->of.generation_dropped;
    buf_printf (&teller->words, "cache generation %" PRIu64 " is not used any more", dropped->token);
    if (dropped->why.len)
        buf_puts (&teller->words, ": ");
    buf_text (&teller->words, dropped->why);
    plain_say (teller, fact->at_ms);
}

/* ---- passes ---- */

static void tell_began (struct teller *teller, const struct fact *fact)
{
    const struct fact_pass_began *began = &fact->of.pass_began;
    if (began->purpose == PURPOSE_ISOLATION) {
        plain_part_began (teller, fact);
    } else {
        plain_add_key (teller, &began->key);
        buf_printf (&teller->words, " %sattempt %u began on ", began->purpose == PURPOSE_RETRY ? "again, " : "",
                    began->key.attempt);
    }
    board_fold (teller->board, began->hosts.items, began->hosts.n, &teller->words);
    buf_printf (&teller->words, " (%u host%s)", began->hosts.n, plural (began->hosts.n));
    plain_say (teller, fact->at_ms);
}

static void tell_skipped (struct teller *teller, const struct fact *fact)
{
    plain_add_key (teller, &fact->of.pass_skipped.key);
    buf_puts (&teller->words, " skipped: ");
    buf_text (&teller->words, fact->of.pass_skipped.why);
    plain_say (teller, fact->at_ms);
}

static void tell_stopped (struct teller *teller, const struct fact *fact)
{
    const struct fact_pass_stopped *stopped = &fact->of.pass_stopped;
    plain_add_key (teller, &stopped->key);
    buf_puts (&teller->words, " stopped because of ");
    board_fold (teller->board, stopped->culprits.items, stopped->culprits.n, &teller->words);
    buf_puts (&teller->words, ": ");
    buf_text (&teller->words, stopped->cause);
    plain_say (teller, fact->at_ms);
}

static void add_ending (struct teller *teller, const struct result *result)
{
    switch (result->ending) {
    case ENDING_EXITED: buf_printf (&teller->words, "exit status %u", result->code); break;
    case ENDING_SIGNALLED: buf_printf (&teller->words, "signal %u", result->code); break;
    default: buf_puts (&teller->words, names_of (&ending_names, result->ending));
    }
    if (result->phase.len) {
        buf_puts (&teller->words, " in phase ");
        buf_text (&teller->words, result->phase);
    }
    if (result->problem.len) {
        buf_puts (&teller->words, ": ");
        buf_text (&teller->words, result->problem);
    }
}

/* The first that fall are told at once, for they are the news; the verdict tells of all. */
static void tell_fallen (struct teller *teller, const struct fact *fact)
{
    const struct fact_attempt_ended *ended = &fact->of.attempt_ended;
    const struct board_pass *pass = board_running (teller->board);
    if (ended->result.ending == ENDING_EXITED && ended->result.code == 0)
        return;
    if (teller->board->purpose == PURPOSE_ISOLATION) /* that a part fails is told once */
        return;
    if (pass == NULL || pass->failed_n > FALLEN_TOLD || !attempt_key_equal (&ended->result.key, &teller->board->key))
        return;
    plain_add_key (teller, &ended->result.key);
    buf_puts (&teller->words, " ended on ");
    add_host (teller, ended->host);
    buf_puts (&teller->words, ": ");
    add_ending (teller, &ended->result);
    plain_say (teller, fact->at_ms);
}

void plain_counts (const struct board_pass *pass, struct buf *out)
{
    bool any = false;
    if (pass->counts[OUTCOME_PASSED]) {
        buf_printf (out, "%u passed", pass->counts[OUTCOME_PASSED]);
        any = true;
    }
    for (uint32_t i = 0; i < OUTCOME_N - 1; i++) { /* the worst next */
        enum outcome outcome = outcome_order[i];
        if (outcome == OUTCOME_PASSED || pass->counts[outcome] == 0)
            continue;
        buf_printf (out, "%s%u %s", any ? ", " : "", pass->counts[outcome], names_of (&outcome_names, outcome));
        any = true;
    }
    if (!any)
        buf_puts (out, names_of (&outcome_names, pass->outcome));
}

static void tell_group (struct teller *teller, const struct board_group *group, uint64_t at_ms)
{
    buf_puts (&teller->words, "  ");
    board_fold (teller->board, group->hosts.items, group->hosts.n, &teller->words);
    buf_printf (&teller->words, " %s: ", names_of (&outcome_names, group->outcome));
    buf_text (&teller->words, group->cause);
    buf_printf (&teller->words, " [%s%s", names_of (&owner_names, group->owner), group->signature.len ? ", " : "");
    buf_text (&teller->words, group->signature);
    buf_byte (&teller->words, ']');
    if (group->next.len) {
        buf_puts (&teller->words, "; next: ");
        buf_text (&teller->words, group->next);
    }
    plain_say (teller, at_ms);
}

static void tell_ended (struct teller *teller, const struct fact *fact)
{
    const struct attempt_key *key = &fact->of.pass_ended.key;
    char span[DURATION_TEXT_BYTES];
    if (key->rung >= teller->board->plan.rungs.n || (uint32_t) key->pass >= BOARD_PASSES)
        return;
    if (teller->board->purpose == PURPOSE_ISOLATION && attempt_key_equal (key, &teller->board->key)) {
        plain_part_ended (teller, fact);
        return;
    }
    const struct board_pass *pass = &teller->board->rungs[key->rung].passes[key->pass];
    plain_add_key (teller, key);
    buf_puts (&teller->words, ": ");
    plain_counts (pass, &teller->words);
    buf_printf (&teller->words, " in %s", duration_print (pass->duration_ms, span));
    plain_say (teller, fact->at_ms);
    for (uint32_t i = 0; i < pass->groups.n; i++)
        tell_group (teller, &pass->groups.items[i], fact->at_ms);
    if (pass->ungrouped_n) {
        buf_printf (&teller->words, "  and %u more host%s; see the receipt", pass->ungrouped_n,
                    plural (pass->ungrouped_n));
        plain_say (teller, fact->at_ms);
    }
}

/* ---- the run ---- */

static void tell_opened (struct teller *teller, const struct fact *fact)
{
    const struct fact_run_opened *opened = &fact->of.run_opened;
    buf_puts (&teller->words, "slice ");
    buf_text (&teller->words, opened->plan.slice);
    buf_printf (&teller->words, ": %u host%s, %u rung%s", opened->plan.hosts.n, plural (opened->plan.hosts.n),
                opened->plan.rungs.n, plural (opened->plan.rungs.n));
    plain_say (teller, fact->at_ms);
}

static void tell_epoch (struct teller *teller, const struct fact *fact)
{
    if (fact->of.epoch_began.epoch <= 1)
        return;
    buf_printf (&teller->words, "a coordinator took over (the %" PRIu64 ". of this run)", fact->of.epoch_began.epoch);
    plain_say (teller, fact->at_ms);
}

static void tell_cancel (struct teller *teller, const struct fact *fact)
{
    buf_puts (&teller->words, fact->of.cancel_asked.level > 1 ? "cancelled: the running rung is killed"
                                                              : "cancelled: the running rung is asked to end");
    plain_say (teller, fact->at_ms);
}

static void tell_conflict (struct teller *teller, const struct fact *fact)
{
    add_host (teller, fact->of.conflict_seen.host);
    buf_puts (&teller->words, " sent two different results for ");
    plain_add_key (teller, &fact->of.conflict_seen.key);
    buf_puts (&teller->words, "; the first one counts");
    plain_say (teller, fact->at_ms);
}

static void tell_run_ended (struct teller *teller, const struct fact *fact)
{
    const struct fact_run_ended *ended = &fact->of.run_ended;
    buf_printf (&teller->words, "ended: %s (exit status %u)", names_of (&outcome_names, ended->outcome),
                ended->exit_status);
    plain_say (teller, fact->at_ms);
}

typedef void tell_fn (struct teller *teller, const struct fact *fact);
static tell_fn *const tellers[] = {
    [FACT_RUN_OPENED] = tell_opened,          [FACT_EPOCH_BEGAN] = tell_epoch,
    [FACT_HOST_JOINED] = tell_joined,         [FACT_HOST_LOST] = tell_lost,
    [FACT_GENERATION_ADOPTED] = tell_adopted, [FACT_WRITER_GRANTED] = tell_granted,
    [FACT_PASS_BEGAN] = tell_began,           [FACT_PASS_SKIPPED] = tell_skipped,
    [FACT_ATTEMPT_ENDED] = tell_fallen,       [FACT_GENERATION_PUBLISHED] = tell_published,
    [FACT_METRIC_JUDGED] = plain_metric,      [FACT_PASS_ENDED] = tell_ended,
    [FACT_CANCEL_ASKED] = tell_cancel,        [FACT_CONFLICT_SEEN] = tell_conflict,
    [FACT_RUN_ENDED] = tell_run_ended,        [FACT_PASS_STOPPED] = tell_stopped,
    [FACT_HOST_SUSPECTED] = tell_suspected,   [FACT_LEASE_LOST] = tell_lease_lost,
    [FACT_CACHE_VIOLATED] = tell_violated,    [FACT_GENERATION_DROPPED] = tell_dropped,
    [FACT_RETRY_PLANNED] = plain_retry,       [FACT_SUSPECTS_NAMED] = plain_suspects,
};

void plain_fact (const struct board *board, const struct fact *fact, const struct style *style, struct buf *out)
{
    struct teller teller = { .board = board, .style = style, .out = out };
    if ((uint32_t) fact->kind >= sizeof (tellers) / sizeof (tellers[0]) || tellers[fact->kind] == NULL ||
        !board->opened)
        return;
    buf_init (&teller.words, SENTENCE_BYTES);
    tellers[fact->kind](&teller, fact);
    buf_release (&teller.words);
}

void plain_waiting (const struct board *board, uint64_t now_ms, const struct style *style, struct buf *out)
{
    struct teller teller = { .board = board, .style = style, .out = out };
    struct buf lines;
    buf_init (&lines, SENTENCE_BYTES);
    buf_init (&teller.words, SENTENCE_BYTES);
    waiting_lines (board, now_ms, WAITING_LINES, SET_COLUMNS, &lines);
    for (size_t from = 0, at = 0; at < lines.len; at++) {
        if (lines.ptr[at] != '\n')
            continue;
        buf_add (&teller.words, lines.ptr + from, at - from);
        plain_say (&teller, now_ms);
        from = at + 1;
    }
    buf_release (&teller.words);
    buf_release (&lines);
}
