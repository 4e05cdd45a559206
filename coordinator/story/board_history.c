/* board_history.c - the part of a board that keeps what each host did: its attempts, their phases, and its facts. */
#include <string.h>

#include "coordinator/story/board_private.h"
#include "coordinator/story/receipt_fold_state.h"
#include "coordinator/verdict/going_on.h"

enum { ATTEMPTS_FIRST = 8 };

void board_history_release (struct board *board)
{
    for (uint32_t i = 0; board->opened && i < board->plan.hosts.n; i++) {
        struct board_host *host = &board->hosts[i];
        for (uint32_t k = 0; k < host->attempts.n; k++)
            mem_free (host->attempts.items[k].spans);
        mem_free (host->attempts.items);
        mem_free (host->facts.items);
    }
    board_words_destroy (board->words);
}

struct text board_word (const struct board *board, uint32_t word)
{
    return board->words ? board_words_text (board->words, word) : (struct text){ 0 };
}

/* Does a later attempt say how the host stands in that pass of that rung? Parts of the slice say nothing of it. */
static bool is_superseded (const struct board_host *host, uint32_t at)
{
    const struct attempt_key *key = &host->attempts.items[at].key;
    if (host->attempts.items[at].purpose == PURPOSE_ISOLATION)
        return true;
    for (uint32_t i = at + 1; i < host->attempts.n; i++) {
        const struct board_attempt *later = &host->attempts.items[i];
        if (later->key.rung == key->rung && later->key.pass == key->pass && later->key.attempt && later->ended &&
            later->purpose != PURPOSE_ISOLATION)
            return true;
    }
    return false;
}

/* The oldest makes room that a later one supersedes; where none does, the oldest. */
static void forget_attempt (struct board_host *host)
{
    uint32_t at = 0;
    while (at < host->attempts.n && !is_superseded (host, at))
        at++;
    at = at < host->attempts.n ? at : 0;
    mem_free (host->attempts.items[at].spans);
    memmove (host->attempts.items + at, host->attempts.items + at + 1,
             (--host->attempts.n - at) * sizeof (*host->attempts.items));
    host->attempts_left_out++;
}

static struct board_attempt *new_attempt (struct board_host *host)
{
    if (host->attempts.n == BOARD_ATTEMPTS_MAX)
        forget_attempt (host);
    host->attempts.items = mem_room (host->attempts.items, host->attempts.n, &host->attempts_room, ATTEMPTS_FIRST,
                                     sizeof (*host->attempts.items));
    return &host->attempts.items[host->attempts.n++];
}

static struct board_attempt *attempt_of (struct board_host *host, const struct attempt_key *key)
{
    for (uint32_t i = host->attempts.n; i > 0; i--)
        if (attempt_key_equal (&host->attempts.items[i - 1].key, key))
            return &host->attempts.items[i - 1];
    return NULL;
}

static bool note_tried (struct board *board, uint32_t host, const struct attempt_key *key)
{
    if (board->hosts[host].tried <= key->rung)
        board->hosts[host].tried = key->rung + 1;
    return board->words; /* is there a history? */
}

void board_history_begin (struct board *board, uint32_t host, const struct attempt_key *key, uint64_t at_ms)
{
    struct board_attempt attempt = { .key = *key, .purpose = board->purpose, .began_ms = at_ms };
    if (note_tried (board, host, key))
        *new_attempt (&board->hosts[host]) = attempt;
}

static void keep_spans (struct board *board, struct board_attempt *attempt, const struct result *result)
{
    attempt->spans = mem_array (result->phases.n, sizeof (*attempt->spans));
    for (uint32_t i = 0; i < result->phases.n; i++) {
        uint64_t ms = result->phases.items[i].value;
        attempt->spans[i] = (struct board_span){ board_words_take (board->words, result->phases.items[i].name),
                                                 ms < UINT32_MAX ? (uint32_t) ms : UINT32_MAX };
    }
    attempt->spans_n = result->phases.n;
}

/* Each rung that reads facts tells them anew; a later one replaces what it tells, and leaves the rest. */
static void keep_fact (struct board *board, struct board_host *host, const struct var *told)
{
    struct board_host_fact fact = { board_words_take (board->words, told->name),
                                    board_words_take (board->words, told->value) };
    for (uint32_t i = 0; i < host->facts.n; i++)
        if (host->facts.items[i].name == fact.name) {
            host->facts.items[i] = fact;
            return;
        }
    if (fact.name == 0 || host->facts.n == RESULT_FACTS_MAX)
        return;
    host->facts.items = mem_room (host->facts.items, host->facts.n, &host->facts_room, ATTEMPTS_FIRST,
                                  sizeof (*host->facts.items));
    host->facts.items[host->facts.n++] = fact;
}

void board_history_end (struct board *board, const struct fact *fact)
{
    const struct result *result = &fact->of.attempt_ended.result;
    struct board_host *host = &board->hosts[fact->of.attempt_ended.host];
    struct board_attempt *attempt = attempt_of (host, &result->key);
    if (attempt == NULL || attempt->ended)
        return;
    attempt->ended = true;
    attempt->ended_ms = fact->at_ms;
    attempt->duration_ms = result->duration_ms;
    attempt->outcome = host->so_far;
    attempt->owner = host->so_far_owner;
    keep_spans (board, attempt, result);
    for (uint32_t i = 0; i < result->facts.n; i++)
        keep_fact (board, host, &result->facts.items[i]);
}

/* It never falls, whatever hosts say. */
static void add_bounded (uint64_t *sum, uint64_t n)
{
    *sum = n <= INT64_MAX - *sum ? *sum + n : INT64_MAX;
}

/* Miss counters are not used: see common/frontend/frontend.c. */
void board_count_compiling (struct board *board, const struct result *result)
{
    uint64_t requests = 0, hits = 0, compile_ms = 0;
    result_counter (result, "compile_requests", &requests);
    result_counter (result, "cache_hits", &hits);
    result_counter (result, "compile_ms", &compile_ms);
    add_bounded (&board->compiling.compile_ms, compile_ms);
    if (result->key.pass == PASS_ONCE)
        return;
    add_bounded (&board->compiling.hits, hits);
    add_bounded (&board->compiling.misses, requests > hits ? requests - hits : 0);
}

/* A pass that was blocked began on no host: its verdict is all there is of it. */
void board_history_judge (struct board *board, uint32_t host, const struct board_attempt *verdict)
{
    struct board_attempt *attempt = attempt_of (&board->hosts[host], &verdict->key);
    board_host_changed (board, host);
    if (!note_tried (board, host, &verdict->key))
        return;
    if (attempt == NULL) {
        attempt = new_attempt (&board->hosts[host]);
        *attempt = *verdict;
        attempt->began_ms = verdict->ended_ms;
    }
    if (!attempt->ended)
        attempt->ended_ms = verdict->ended_ms;
    attempt->ended = attempt->judged = true;
    attempt->outcome = verdict->outcome;
    attempt->owner = verdict->owner;
}

/* Since its loss nothing was heard of it, not even if a new worker of it has a key. */
static bool is_lost (const struct board_host *host)
{
    return host->life != BOARD_JOINED && host->back_ms == UINT64_MAX;
}

/* It did nothing at the rung at which the run ends, and that is why. */
static void close_host (struct board *board, const struct verdict *verdict, uint64_t at_ms)
{
    struct board_attempt attempt = { .key = { board->next_rung, PASS_ONCE, 0 },
                                     .purpose = PURPOSE_CLIMB,
                                     .outcome = verdict->outcome,
                                     .owner = verdict->owner,
                                     .ended_ms = at_ms };
    board_history_judge (board, verdict->host, &attempt);
    board_groups_add_absent (board, board->next_rung, verdict);
    if (board->evidence)
        receipt_fold_add_absent (board->evidence, board->next_rung, verdict);
}

void board_history_close (struct board *board, enum outcome outcome, uint64_t at_ms)
{
    uint32_t rung = board->next_rung, up = board->plan.hosts.n;
    bool cancelled = outcome == OUTCOME_CANCELLED;
    if ((outcome != OUTCOME_BLOCKED && outcome != OUTCOME_LOST && !cancelled) || rung >= board->plan.rungs.n)
        return;
    struct text known_bad = cancelled ? (struct text){ 0 } : board->plan.rungs.items[rung].known_bad;
    LOCAL_ARENA arena = { 0 };
    for (uint32_t i = 0; i < board->plan.hosts.n && !cancelled; i++)
        up -= is_lost (&board->hosts[i]);
    for (uint32_t i = 0; i < board->plan.hosts.n; i++) {
        const struct board_host *host = &board->hosts[i];
        bool lost = is_lost (host);
        struct verdict verdict = { i, .outcome = outcome, .owner = OWNER_PROGRAM, .cause = known_bad,
                                   .next = TEXT_LIT ("change what made that launch fail, or run it all the same with "
                                                     "--again") };
        if (lost)
            verdict =
                (struct verdict){ i,
                                  .owner = going_on_is_of_launch (host->why) ? OWNER_LAUNCH : OWNER_HOST,
                                  .likely = true,
                                  .cause = host->why,
                                  .outcome = !cancelled    ? outcome
                                             : host->joins ? OUTCOME_LOST
                                                           : OUTCOME_BLOCKED,
                                  .next = going_on_advice (&board->plan, &host->asked, i, up, host->why, &arena) };
        if ((lost || known_bad.len) && !host->accounted && host->tried <= rung)
            close_host (board, &verdict, at_ms);
    }
}

/* ---- the part of a board that knows how long phases of the running pass take ---- */

enum { OTHERS_LEAST = 3 }; /* of fewer no median is told */

void board_phases_clear (struct board *board)
{
    arena_reset (&board->phases_arena);
    board->phases_n = 0;
}

static struct board_phase *phase_of (struct board *board, struct text name)
{
    for (uint32_t i = 0; i < board->phases_n; i++)
        if (text_equal (board->phases[i].name, name))
            return &board->phases[i];
    if (board->phases_n == BOARD_PHASES_MAX)
        return NULL;
    struct board_phase *phase = &board->phases[board->phases_n++];
    phase->name = text_copy (&board->phases_arena, name);
    phase->spent_ms = arena_array (&board->phases_arena, board->plan.hosts.n, sizeof (*phase->spent_ms));
    return phase;
}

void board_phase_note (struct board *board, uint32_t host, struct text name, uint64_t spent_ms)
{
    struct board_phase *phase = host < board->plan.hosts.n ? phase_of (board, text_clip (name, WORD_MAX_BYTES)) : NULL;
    if (phase)
        phase->spent_ms[host] = spent_ms == 0 ? 1 : spent_ms < UINT32_MAX ? (uint32_t) spent_ms : UINT32_MAX;
}

void board_phase_forget (struct board *board, uint32_t host)
{
    for (uint32_t i = 0; i < board->phases_n; i++)
        board->phases[i].spent_ms[host] = 0;
}

bool board_phase_median (const struct board *board, struct text name, uint64_t *median_ms, uint32_t *others)
{
    uint32_t at = 0, n = 0;
    while (at < board->phases_n && !text_equal (board->phases[at].name, name))
        at++;
    if (at == board->phases_n)
        return false;
    LOCAL_MEM uint64_t *known = mem_array (board->plan.hosts.n, sizeof (*known));
    for (uint32_t i = 0; i < board->plan.hosts.n; i++)
        if (board->phases[at].spent_ms[i])
            known[n++] = board->phases[at].spent_ms[i];
    sort_items (known, n, sizeof (*known), u64_order);
    *median_ms = n ? known[n / 2] : 0;
    *others = n;
    return n >= OTHERS_LEAST;
}
