/* board_pass.c - the part of a board that follows the passes, and what is run again. */
#include <string.h>

#include "coordinator/story/board_private.h"
#include "coordinator/story/receipt_fold_state.h"
#include "coordinator/verdict/failure.h"
#include "coordinator/verdict/isolate.h"
#include "coordinator/verdict/judge.h"
#include "coordinator/verdict/recompile_reason.h"

static struct board_pass *pass_of (struct board *board, const struct attempt_key *key)
{
    if (key->rung >= board->plan.rungs.n || key->pass <= PASS_NONE || key->pass > PASS_RESTORED)
        return NULL;
    board->rungs[key->rung].last = key->pass;
    board->rungs[key->rung].changed = board->rungs[key->rung].passes[key->pass].changed = board->revision;
    return &board->rungs[key->rung].passes[key->pass];
}

/* The part of the slice that runs by itself, or is to. */
static struct board_pass *board_pass_part_of (struct board *board, uint32_t rung)
{
    board->rungs[rung].changed = board->rungs[rung].part.changed = board->revision;
    return &board->rungs[rung].part;
}

/* And the rung at which something ran, whichever comes next. */
static void all_hosts_changed (struct board *board)
{
    if (board->running)
        board->rungs[board->key.rung].changed = board->revision;
    for (uint32_t i = 0; i < board->plan.hosts.n; i++)
        board_host_changed (board, i);
}

static void pass_clear (struct board_pass *pass)
{
    struct arena arena = pass->arena;
    arena_reset (&arena);
    *pass = (struct board_pass){ .arena = arena, .changed = pass->changed };
}

void board_pass_began (struct board *board, const struct fact *fact)
{
    const struct fact_pass_began *began = &fact->of.pass_began;
    bool part = began->purpose == PURPOSE_ISOLATION && began->key.rung < board->plan.rungs.n;
    struct board_pass *pass = part ? board_pass_part_of (board, began->key.rung) : pass_of (board, &began->key);
    if (pass == NULL)
        return;
    all_hosts_changed (board);
    uint64_t spent_ms = part ? pass->duration_ms : 0; /* parts are counted together */
    pass_clear (pass);
    pass->duration_ms = spent_ms;
    board->purpose = began->purpose;
    board->next_rung = part ? board->next_rung : began->key.rung;
    board->retry.key.attempt = 0;
    board->isolation.passes_n += part;
    board->isolation.rung = part ? began->key.rung : board->isolation.rung;
    pass->attempt = began->key.attempt;
    pass->began_ms = fact->at_ms;
    pass->running = true;
    board->running = true;
    board->key = began->key;
    board->opened_gates = 0;
    board_phases_clear (board);
    for (uint32_t i = 0; i < board->plan.hosts.n; i++) {
        board->hosts[i].in_pass = board->hosts[i].ended = false;
        board->hosts[i].so_far = OUTCOME_NONE;
        board_forget_holding (&board->hosts[i]);
    }
    for (uint32_t i = 0; i < began->hosts.n; i++) {
        struct board_host *host = board_find_host (board, began->hosts.items[i]);
        pass->hosts_n += host && !host->in_pass;
        if (host && !host->in_pass)
            board_history_begin (board, began->hosts.items[i], &began->key, fact->at_ms);
        if (host)
            host->in_pass = true;
    }
}

void board_pass_skipped (struct board *board, const struct fact_pass_skipped *skipped)
{
    struct board_pass *pass = pass_of (board, &skipped->key);
    if (pass == NULL)
        return;
    all_hosts_changed (board);
    pass_clear (pass);
    pass->skipped = true;
}

void board_gate_opened (struct board *board, const struct fact_gate_opened *opened)
{
    if (!board->running || !attempt_key_equal (&opened->key, &board->key))
        return;
    board->opened_gates++;
    for (uint32_t i = 0; i < board->plan.hosts.n; i++) {
        struct board_host *host = &board->hosts[i];
        if (host->state != ATTEMPT_AT_GATE || !text_equal (host->gate, opened->gate))
            continue;
        host->state = ATTEMPT_RUNNING; /* its next heartbeat says the same */
        board_host_changed (board, i);
        board_text_clear (&host->gate);
    }
}

/* That a part of the slice fails is no news of its hosts: only whole passes are judged. */
static void judge_so_far (struct board *board, struct board_pass *pass, const struct fact_attempt_ended *ended)
{
    LOCAL_ARENA arena = { 0 };
    struct verdict verdict;
    if (board->judge && preliminary_verdict (board->judge, ended, pass->hosts_n, &arena, &verdict)) {
        board->hosts[ended->host].so_far = verdict.outcome;
        board->hosts[ended->host].so_far_owner = verdict.owner;
        pass->failed_n++;
        board_groups_add (board, pass, &verdict, true, pass->hosts_n);
        if (board->evidence)
            receipt_fold_keep_cause (board->evidence, &ended->result.key, &verdict);
    }
}

void board_attempt_ended (struct board *board, const struct fact *fact)
{
    const struct fact_attempt_ended *ended = &fact->of.attempt_ended;
    struct board_host *host = board_find_host (board, ended->host);
    if (host == NULL || !host->in_pass || host->ended || !board->running ||
        !attempt_key_equal (&ended->result.key, &board->key))
        return;
    struct board_pass *pass = board->purpose == PURPOSE_ISOLATION ? board_pass_part_of (board, board->key.rung)
                                                                  : pass_of (board, &board->key);
    host->ended = true;
    if (result_ended_badly (&ended->result))
        board_phase_forget (board, ended->host); /* it went through none of them as it should */
    for (uint32_t i = 0; !result_ended_badly (&ended->result) && i < ended->result.phases.n; i++)
        board_phase_note (board, ended->host, ended->result.phases.items[i].name, ended->result.phases.items[i].value);
    board_forget_holding (host);
    pass->ended_n++;
    pass->found_n += text_is (cold_pass_cache (&ended->result.counters), "restored");
    if (board->purpose == PURPOSE_ISOLATION)
        pass->failed_n += result_ended_badly (&ended->result);
    else
        judge_so_far (board, pass, ended);
    board_history_end (board, fact);
    board_count_compiling (board, &ended->result);
    if (ended->host == board->lease_host && ended->result.ending != ENDING_LOST)
        board->lease_token = 0;
    board_host_changed (board, ended->host);
}

static void take_verdict (struct board *board, struct board_pass *pass, const struct verdict *verdict,
                          uint32_t capacity)
{
    if (verdict->outcome > OUTCOME_NONE && verdict->outcome < OUTCOME_N)
        pass->counts[verdict->outcome]++;
    board_groups_add (board, pass, verdict, false, capacity);
    if (board_find_host (board, verdict->host) == NULL)
        return;
    board->hosts[verdict->host].outcome = verdict->outcome;
    board_groups_correct (board, pass, verdict->host, verdict->outcome, verdict->owner);
}

/* What tells most first, so that groups stand in that order. */
static void take_verdicts (struct board *board, struct board_pass *pass, const struct fact_pass_ended *ended)
{
    for (uint32_t worth = FAILURE_WORTHS; worth-- > 0;)
        for (uint32_t i = 0; i < ended->verdicts.n; i++) {
            const struct verdict *verdict = &ended->verdicts.items[i];
            if (failure_worth (verdict->outcome, verdict->owner, verdict->likely || verdict->else_owner) == worth)
                take_verdict (board, pass, verdict, ended->verdicts.n);
        }
}

/* Every attempt of the pass: those without a verdict passed. */
static void judge_attempts (struct board *board, const struct fact *fact)
{
    const struct fact_pass_ended *ended = &fact->of.pass_ended;
    struct board_attempt verdict = { .key = ended->key,
                                     .purpose = ended->key.attempt ? board->purpose : PURPOSE_CLIMB,
                                     .outcome = OUTCOME_PASSED,
                                     .ended_ms = fact->at_ms };
    for (uint32_t i = 0; i < board->plan.hosts.n; i++)
        if (board->hosts[i].in_pass)
            board_history_judge (board, i, &verdict);
    for (uint32_t i = 0; i < ended->verdicts.n; i++) {
        verdict.outcome = ended->verdicts.items[i].outcome;
        verdict.owner = ended->verdicts.items[i].owner;
        struct board_host *host = board_find_host (board, ended->verdicts.items[i].host);
        if (host == NULL)
            continue;
        board_history_judge (board, ended->verdicts.items[i].host, &verdict);
        if (board->plan.rungs.items[ended->key.rung].scope != SCOPE_SLICE)
            host->accounted = verdict.outcome == OUTCOME_LOST || board->plan.climb.keep_going;
    }
}

static void settle_hosts (struct board *board, const struct attempt_key *key)
{
    for (uint32_t i = 0; i < board->plan.hosts.n; i++) {
        struct board_host *host = &board->hosts[i];
        if (host->in_pass && host->outcome == OUTCOME_PASSED && key->pass != PASS_COLD &&
            host->rungs_passed <= key->rung)
            host->rungs_passed = key->rung + 1;
        host->in_pass = host->ended = false;
        host->so_far = OUTCOME_NONE;
        board_forget_holding (host);
    }
}

/* Of a part of the slice only that it is over: what it means is told by the suspects. */
static void part_ended (struct board *board, const struct fact_pass_ended *ended)
{
    struct board_pass *part = board_pass_part_of (board, board->key.rung);
    part->running = board->running = false;
    part->outcome = ended->outcome;
    part->duration_ms += ended->duration_ms;
    for (uint32_t i = 0; i < board->plan.hosts.n; i++) {
        board->hosts[i].in_pass = board->hosts[i].ended = false;
        board_forget_holding (&board->hosts[i]);
    }
}

void board_pass_ended (struct board *board, const struct fact *fact)
{
    const struct fact_pass_ended *ended = &fact->of.pass_ended;
    bool part = board->running && board->purpose == PURPOSE_ISOLATION && attempt_key_equal (&ended->key, &board->key);
    struct board_pass *pass = part ? board_pass_part_of (board, ended->key.rung) : pass_of (board, &ended->key);
    if (pass == NULL)
        return;
    judge_attempts (board, fact);
    all_hosts_changed (board);
    if (part) {
        part_ended (board, ended);
        return;
    }
    if (ended->key.attempt == 0 || ended->outcome == OUTCOME_PASSED)
        board->next_rung = ended->key.rung + (ended->key.attempt && ended->key.pass != PASS_COLD);
    pass->running = false;
    pass->attempt = ended->key.attempt;
    pass->outcome = ended->outcome;
    pass->duration_ms = ended->duration_ms;
    board_groups_clear (pass);
    memset (pass->counts, 0, sizeof (pass->counts));
    pass->counts[OUTCOME_PASSED] = pass->hosts_n > ended->verdicts.n ? pass->hosts_n - ended->verdicts.n : 0;
    for (uint32_t i = 0; i < board->plan.hosts.n; i++)
        if (board->hosts[i].in_pass)
            board->hosts[i].outcome = OUTCOME_PASSED;
    take_verdicts (board, pass, ended);
    for (uint32_t i = 0; i < board->plan.hosts.n; i++)
        if (board->hosts[i].in_pass && board->hosts[i].outcome == OUTCOME_PASSED)
            board_groups_correct (board, pass, i, OUTCOME_PASSED, OWNER_NONE);
    settle_hosts (board, &ended->key);
    board->lease_token = 0;
    board->running = false;
}

void board_hosts_left_behind (struct board *board, const struct fact *fact)
{
    const struct fact_hosts_left_behind *left = &fact->of.hosts_left_behind;
    for (uint32_t i = 0; i < left->verdicts.n; i++) {
        struct board_host *host = board_find_host (board, left->verdicts.items[i].host);
        if (host == NULL)
            continue;
        host->left_behind = host->accounted = true;
        host->outcome = left->verdicts.items[i].outcome;
        struct board_attempt verdict = { .key = { left->rung, PASS_ONCE, 0 },
                                         .purpose = PURPOSE_CLIMB,
                                         .outcome = host->outcome,
                                         .owner = left->verdicts.items[i].owner,
                                         .ended_ms = fact->at_ms };
        if (left->rung >= board->plan.rungs.n)
            continue;
        board_history_judge (board, left->verdicts.items[i].host, &verdict);
        board_groups_add_absent (board, left->rung, &left->verdicts.items[i]);
    }
    board_all_changed (board, left->rung); /* they reach no further rung */
}

/* ---- what is run again: retries, and parts of the slice by themselves ---- */

void board_retry_planned (struct board *board, const struct fact *fact)
{
    const struct fact_retry_planned *planned = &fact->of.retry_planned;
    uint32_t most = board->plan.limits.retries;
    if (planned->key.rung >= board->plan.rungs.n)
        return;
    board->retries_n++;
    board->retry.key = planned->key;
    board->retry.planned_ms = fact->at_ms;
    board->retry.due_ms = planned->due_ms;
    board->retry.nth = planned->left < most ? most - planned->left : 1;
    board_text_set (&board->retry.why, planned->why, BOARD_CAUSE_MAX_BYTES);
}

static void count_again (struct board_pass *pass, enum outcome before, enum outcome after)
{
    if (before <= OUTCOME_NONE || before >= OUTCOME_N || after >= OUTCOME_N || !pass->counts[before])
        return;
    pass->counts[before]--;
    pass->counts[after]++;
}

/* A group's hosts go where their verdicts belong now. */
static void regroup (struct board *board, const struct attempt_key *key, const struct isolate_ruling *ruling,
                     const struct board_verdict_group *from, struct arena *arena)
{
    struct board_pass *pass = &board->rungs[key->rung].passes[key->pass];
    for (uint32_t i = 0; i < from->hosts.n; i++) {
        struct verdict before = { .host = from->hosts.items[i],
                                  .outcome = from->outcome,
                                  .owner = from->owner,
                                  .else_owner = from->else_owner,
                                  .likely = from->likely,
                                  .signature = from->signature,
                                  .cause = from->cause,
                                  .next = from->next,
                                  .phase = from->phase,
                                  .evidence = from->line };
        struct verdict after;
        isolate_apply_ruling (ruling, &before, arena, &after);
        count_again (pass, before.outcome, after.outcome);
        if (board_find_host (board, after.host)) {
            const struct board_attempt verdict = { .key = *key, .outcome = after.outcome, .owner = after.owner };
            board->hosts[after.host].outcome = after.outcome;
            board_history_judge (board, after.host, &verdict);
        }
        board_groups_add (board, pass, &after, false, board->plan.hosts.n);
    }
}

static void regroup_all (struct board *board, struct board_pass *pass, const struct fact_suspects_named *named)
{
    LOCAL_ARENA arena = { 0 };
    struct isolate_ruling ruling;
    uint32_t n = pass->groups.n;
    struct board_verdict_group *before = arena_array (&arena, n, sizeof (*before));
    if (n)
        memcpy (before, pass->groups.items, n * sizeof (*before));
    isolate_ruling_from_suspects (&board->plan, named, &arena, &ruling);
    pass->groups.n = 0; /* their lists and texts stay in the pass's arena */
    for (uint32_t i = 0; i < n; i++)
        regroup (board, &named->key, &ruling, &before[i], &arena);
}

void board_suspects_named (struct board *board, const struct fact_suspects_named *named)
{
    struct board_isolation *isolation = &board->isolation;
    if (named->key.rung >= board->plan.rungs.n || named->key.pass <= PASS_NONE || named->key.pass > PASS_RESTORED ||
        isolation->over)
        return;
    isolation->rung = named->key.rung;
    isolation->passes_n = named->passes;
    isolation->over = true;
    LOCAL_BUF folded = { .max = BOARD_CAUSE_MAX_BYTES };
    board_print_hosts (board, named->suspects.items, named->suspects.n, &folded);
    board_text_set (&isolation->suspects, buf_as_text (&folded), BOARD_CAUSE_MAX_BYTES);
    board_text_set (&isolation->why, named->why, BOARD_CAUSE_MAX_BYTES);
    struct board_pass *pass = &board->rungs[named->key.rung].passes[named->key.pass];
    board->rungs[named->key.rung].changed = pass->changed = board->revision;
    if (pass->groups.items)
        regroup_all (board, pass, named);
}

uint32_t board_trials_max (const struct board *board)
{
    return isolate_trials_max (board->plan.hosts.n);
}

uint64_t board_trial_timeout_ms (const struct board *board)
{
    return board->isolation.rung < board->plan.rungs.n ? board->plan.rungs.items[board->isolation.rung].timeout_ms : 0;
}
