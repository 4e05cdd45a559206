#include "coordinator/view/board.h"

#include <string.h>

static const char *const life_words[] = { "none", "expected", "keyed", "joined", "lost" };
const struct names board_life_names = { life_words, sizeof (life_words) / sizeof (life_words[0]) };

struct board *board_create (void)
{
    return mem_alloc (sizeof (struct board));
}

static void forget (struct text *kept)
{
    mem_free ((void *) kept->ptr);
    *kept = (struct text) { 0 };
}

/* Where `text` may be cut without halving a character; anything that is no UTF-8 is cut anywhere. */
static uint32_t cut_at (struct text text, uint32_t max_bytes)
{
    uint32_t len = text.len < max_bytes ? text.len : max_bytes;
    uint32_t back = len;
    while (len < text.len && back > 0 && len - back < 4 && ((uint8_t) text.ptr[back] & 0xC0) == 0x80)
        back--;
    return len - back < 4 ? back : len;
}

/* A heartbeat repeats its phase every second: the same text costs nothing. */
static void keep (struct text *kept, struct text from, uint32_t max_bytes)
{
    struct text cut = { from.ptr, cut_at (from, max_bytes) };
    if (text_equal (*kept, cut))
        return;
    char *copy = cut.len ? mem_alloc (cut.len) : NULL;
    if (cut.len)
        memcpy (copy, cut.ptr, cut.len);
    forget (kept);
    *kept = (struct text) { copy, cut.len };
}

static void forget_metrics (struct board *board)
{
    for (uint32_t i = 0; i < board->metrics.n; i++) {
        forget (&board->metrics.items[i].name);
        forget (&board->metrics.items[i].axes);
        forget (&board->metrics.items[i].why);
    }
    mem_free (board->metrics.items);
}

void board_destroy (struct board *board)
{
    if (board == NULL)
        return;
    for (uint32_t i = 0; board->opened && i < board->plan.hosts.n; i++) {
        forget (&board->hosts[i].why);
        forget (&board->hosts[i].phase);
        forget (&board->hosts[i].gate);
    }
    for (uint32_t i = 0; board->opened && i < board->plan.rungs.n; i++)
        for (uint32_t pass = 0; pass < BOARD_PASSES; pass++)
            arena_release (&board->rungs[i].passes[pass].arena);
    forget_metrics (board);
    forget (&board->generation.bundle);
    forget (&board->sentence);
    arena_release (&board->arena);
    mem_free (board);
}

/* ---- the run and its hosts ---- */

static void apply_opened (struct board *board, const struct fact *fact)
{
    const struct fact_run_opened *opened = &fact->of.run_opened;
    record_copy (&plan_record, &board->plan, &opened->plan, &board->arena);
    board->run = text_copy (&board->arena, opened->run);
    board->version = text_copy (&board->arena, opened->version);
    board->hosts = arena_array (&board->arena, board->plan.hosts.n, sizeof (struct board_host));
    board->rungs = arena_array (&board->arena, board->plan.rungs.n, sizeof (struct board_rung));
    board->opened_wall_ms = fact->wall_ms;
    board->opened = true;
}

static void apply_epoch (struct board *board, const struct fact *fact)
{
    board->epoch = fact->of.epoch_began.epoch;
    board->epoch_ms = fact->at_ms;
    for (uint32_t i = 0; i < board->plan.hosts.n; i++) {
        board->hosts[i].heard_ms = fact->at_ms;
        board->hosts[i].suspected = false;
    }
}

static struct board_host *host_of (struct board *board, uint32_t host)
{
    return host < board->plan.hosts.n ? &board->hosts[host] : NULL;
}

static void apply_keyed (struct board *board, const struct fact_host_keyed *keyed)
{
    struct board_host *host = host_of (board, keyed->host);
    if (host && host->life != BOARD_JOINED)
        host->life = BOARD_KEYED;
}

static void apply_joined (struct board *board, const struct fact *fact)
{
    struct board_host *host = host_of (board, fact->of.host_joined.host);
    if (host == NULL)
        return;
    board->joined_n += host->life != BOARD_JOINED;
    board->gathered |= board->joined_n == board->plan.hosts.n;
    host->returned = host->joins > 0 && host->life != BOARD_JOINED;
    host->life = BOARD_JOINED;
    host->epoch = board->epoch;
    host->joins++;
    host->heard_ms = fact->at_ms;
    host->suspected = false;
    forget (&host->why);
}

static void apply_lost (struct board *board, const struct fact_host_lost *lost)
{
    struct board_host *host = host_of (board, lost->host);
    if (host == NULL)
        return;
    board->joined_n -= host->life == BOARD_JOINED;
    host->life = BOARD_LOST;
    host->epoch = board->epoch;
    host->suspected = false;
    keep (&host->why, lost->why, BOARD_CAUSE_MAX_BYTES);
}

static void forget_holding (struct board_host *host)
{
    host->state = ATTEMPT_NONE;
    forget (&host->phase);
    forget (&host->gate);
}

static void hold (struct board_host *host, const struct holding *held, uint64_t at_ms)
{
    host->state = held->state;
    keep (&host->phase, held->phase, WORD_MAX_BYTES);
    host->phase_since_ms = at_ms > held->phase_ms ? at_ms - held->phase_ms : 0;
    keep (&host->gate, held->state == ATTEMPT_AT_GATE ? held->gate : (struct text) { 0 }, WORD_MAX_BYTES);
}

static void apply_heard (struct board *board, const struct fact *fact)
{
    const struct fact_host_heard *heard = &fact->of.host_heard;
    struct board_host *host = host_of (board, heard->host);
    if (host == NULL)
        return;
    host->heard_ms = fact->at_ms;
    host->suspected = false;
    for (uint32_t i = 0; i < heard->holdings.n; i++)
        if (board->running && attempt_key_equal (&heard->holdings.items[i].key, &board->key)) {
            hold (host, &heard->holdings.items[i], fact->at_ms);
            return;
        }
    forget_holding (host);
}

static void apply_suspected (struct board *board, const struct fact *fact)
{
    struct board_host *host = host_of (board, fact->of.host_suspected.host);
    uint64_t silent_ms = fact->of.host_suspected.silent_ms;
    if (host == NULL || host->life != BOARD_JOINED)
        return;
    host->suspected = true;
    host->heard_ms = fact->at_ms > silent_ms ? fact->at_ms - silent_ms : 0;
}

/* ---- passes ---- */

static struct board_pass *pass_of (struct board *board, const struct attempt_key *key)
{
    if (key->rung >= board->plan.rungs.n || key->pass <= PASS_NONE || key->pass > PASS_RESTORED)
        return NULL;
    board->rungs[key->rung].last = key->pass;
    return &board->rungs[key->rung].passes[key->pass];
}

static void pass_clear (struct board_pass *pass)
{
    struct arena arena = pass->arena;
    arena_reset (&arena);
    *pass = (struct board_pass) { .arena = arena };
}

static void apply_pass_began (struct board *board, const struct fact *fact)
{
    const struct fact_pass_began *began = &fact->of.pass_began;
    struct board_pass *pass = pass_of (board, &began->key);
    if (pass == NULL)
        return;
    pass_clear (pass);
    pass->attempt = began->key.attempt;
    pass->began_ms = fact->at_ms;
    pass->running = true;
    board->running = true;
    board->key = began->key;
    board->opened_gates = 0;
    for (uint32_t i = 0; i < board->plan.hosts.n; i++) {
        board->hosts[i].in_pass = board->hosts[i].ended = false;
        forget_holding (&board->hosts[i]);
    }
    for (uint32_t i = 0; i < began->hosts.n; i++) {
        struct board_host *host = host_of (board, began->hosts.items[i]);
        pass->hosts_n += host && !host->in_pass;
        if (host)
            host->in_pass = true;
    }
}

static void apply_pass_skipped (struct board *board, const struct fact_pass_skipped *skipped)
{
    struct board_pass *pass = pass_of (board, &skipped->key);
    if (pass == NULL)
        return;
    pass_clear (pass);
    pass->skipped = true;
}

static void apply_gate_opened (struct board *board, const struct fact_gate_opened *opened)
{
    if (!board->running || !attempt_key_equal (&opened->key, &board->key))
        return;
    board->opened_gates++;
    for (uint32_t i = 0; i < board->plan.hosts.n; i++) {
        struct board_host *host = &board->hosts[i];
        if (host->state != ATTEMPT_AT_GATE || !text_equal (host->gate, opened->gate))
            continue;
        host->state = ATTEMPT_RUNNING; /* its next heartbeat says the same */
        forget (&host->gate);
    }
}

static void apply_attempt_ended (struct board *board, const struct fact_attempt_ended *ended)
{
    struct board_host *host = host_of (board, ended->host);
    if (host == NULL || !host->in_pass || host->ended || !board->running || !attempt_key_equal (&ended->result.key, &board->key))
        return;
    struct board_pass *pass = pass_of (board, &board->key);
    host->ended = true;
    forget_holding (host);
    pass->ended_n++;
    pass->fell_n += ended->result.ending != ENDING_EXITED || ended->result.code != 0;
}

static bool belongs (const struct board_group *group, const struct verdict *verdict)
{
    struct text cause = { verdict->cause.ptr, cut_at (verdict->cause, BOARD_CAUSE_MAX_BYTES) };
    return group->outcome == verdict->outcome && group->layer == verdict->layer && text_equal (group->cause, cause);
}

static struct text keep_in (struct arena *arena, struct text from)
{
    return text_copy (arena, (struct text) { from.ptr, cut_at (from, BOARD_CAUSE_MAX_BYTES) });
}

static struct board_group *group_for (struct board_pass *pass, const struct verdict *verdict, uint32_t capacity)
{
    for (uint32_t i = 0; i < pass->groups.n; i++)
        if (belongs (&pass->groups.items[i], verdict))
            return &pass->groups.items[i];
    if (pass->groups.n == BOARD_GROUPS_MAX)
        return NULL;
    struct board_group *group = &pass->groups.items[pass->groups.n++];
    *group = (struct board_group) {
        .outcome = verdict->outcome, .layer = verdict->layer, .signature = keep_in (&pass->arena, verdict->signature),
        .cause = keep_in (&pass->arena, verdict->cause), .next = keep_in (&pass->arena, verdict->next),
        .phase = keep_in (&pass->arena, verdict->phase),
    };
    group->hosts.items = arena_array (&pass->arena, capacity, sizeof (uint32_t));
    return group;
}

static void take_verdict (struct board *board, struct board_pass *pass, const struct verdict *verdict, uint32_t capacity)
{
    if (verdict->outcome > OUTCOME_NONE && verdict->outcome < OUTCOME_N)
        pass->counts[verdict->outcome]++;
    struct board_group *group = group_for (pass, verdict, capacity);
    if (group)
        group->hosts.items[group->hosts.n++] = verdict->host;
    else
        pass->ungrouped_n++;
    if (host_of (board, verdict->host))
        board->hosts[verdict->host].outcome = verdict->outcome;
}

static void settle_hosts (struct board *board, const struct attempt_key *key)
{
    for (uint32_t i = 0; i < board->plan.hosts.n; i++) {
        struct board_host *host = &board->hosts[i];
        if (host->in_pass && host->outcome == OUTCOME_PASSED && key->pass != PASS_COLD && host->rungs_passed <= key->rung)
            host->rungs_passed = key->rung + 1;
        host->in_pass = host->ended = false;
        forget_holding (host);
    }
}

static void apply_pass_ended (struct board *board, const struct fact_pass_ended *ended)
{
    struct board_pass *pass = pass_of (board, &ended->key);
    if (pass == NULL)
        return;
    pass->running = false;
    pass->attempt = ended->key.attempt;
    pass->outcome = ended->outcome;
    pass->duration_ms = ended->duration_ms;
    arena_reset (&pass->arena);
    pass->groups.items = arena_array (&pass->arena, BOARD_GROUPS_MAX, sizeof (struct board_group));
    pass->groups.n = pass->ungrouped_n = 0;
    memset (pass->counts, 0, sizeof (pass->counts));
    pass->counts[OUTCOME_PASSED] = pass->hosts_n > ended->verdicts.n ? pass->hosts_n - ended->verdicts.n : 0;
    for (uint32_t i = 0; i < board->plan.hosts.n; i++)
        if (board->hosts[i].in_pass)
            board->hosts[i].outcome = OUTCOME_PASSED;
    for (uint32_t i = 0; i < ended->verdicts.n; i++)
        take_verdict (board, pass, &ended->verdicts.items[i], ended->verdicts.n);
    settle_hosts (board, &ended->key);
    board->running = false;
}

/* ---- metrics, the cache, the end ---- */

static struct board_metric *metric_for (struct board *board, const struct fact_metric_judged *judged)
{
    for (uint32_t i = 0; i < board->metrics.n; i++)
        if (board->metrics.items[i].key.rung == judged->key.rung && text_equal (board->metrics.items[i].name, judged->metric))
            return &board->metrics.items[i];
    if (board->metrics.n == BOARD_METRICS_MAX)
        return NULL;
    if (board->metrics.items == NULL)
        board->metrics.items = mem_array (BOARD_METRICS_MAX, sizeof (struct board_metric));
    return &board->metrics.items[board->metrics.n++];
}

static void apply_metric (struct board *board, const struct fact_metric_judged *judged)
{
    struct board_metric *metric = judged->key.rung < board->plan.rungs.n ? metric_for (board, judged) : NULL;
    if (metric == NULL)
        return;
    struct buf axes;
    buf_init (&axes, NAME_MAX_BYTES);
    for (uint32_t i = 0; i < judged->axes.n; i++) {
        buf_puts (&axes, i ? ", " : "");
        buf_text (&axes, judged->axes.items[i]);
    }
    keep (&metric->name, judged->metric, WORD_MAX_BYTES);
    keep (&metric->axes, buf_as_text (&axes), NAME_MAX_BYTES);
    keep (&metric->why, judged->why, BOARD_CAUSE_MAX_BYTES);
    buf_release (&axes);
    metric->key = judged->key;
    metric->value = judged->value;
    metric->proof = judged->proof;
    metric->missing_n = judged->missing.n;
}

static void apply_generation (struct board *board, const struct fact *fact)
{
    const struct fact_generation *from = &fact->of.generation;
    struct board_generation *to = &board->generation;
    keep (&to->bundle, from->bundle, NAME_MAX_BYTES);
    to->adopted = fact->kind == FACT_GENERATION_ADOPTED;
    to->token = from->token;
    to->entries = from->entries;
    to->bytes = from->bytes;
    to->writer = from->writer;
}

static void apply_run_ended (struct board *board, const struct fact_run_ended *ended)
{
    board->ended = true;
    board->running = false;
    board->outcome = ended->outcome;
    board->exit_status = ended->exit_status;
    keep (&board->sentence, ended->sentence, TEXT_MAX_BYTES);
}

static void apply_of_kind (struct board *board, const struct fact *fact)
{
    switch (fact->kind) {
    case FACT_EPOCH_BEGAN: apply_epoch (board, fact); break;
    case FACT_HOST_KEYED: apply_keyed (board, &fact->of.host_keyed); break;
    case FACT_HOST_JOINED: apply_joined (board, fact); break;
    case FACT_HOST_LOST: apply_lost (board, &fact->of.host_lost); break;
    case FACT_GENERATION_ADOPTED:
    case FACT_GENERATION_PUBLISHED: apply_generation (board, fact); break;
    case FACT_PASS_BEGAN: apply_pass_began (board, fact); break;
    case FACT_PASS_SKIPPED: apply_pass_skipped (board, &fact->of.pass_skipped); break;
    case FACT_GATE_OPENED: apply_gate_opened (board, &fact->of.gate_opened); break;
    case FACT_ATTEMPT_ENDED: apply_attempt_ended (board, &fact->of.attempt_ended); break;
    case FACT_METRIC_JUDGED: apply_metric (board, &fact->of.metric_judged); break;
    case FACT_PASS_ENDED: apply_pass_ended (board, &fact->of.pass_ended); break;
    case FACT_CANCEL_ASKED: board->cancel_level = fact->of.cancel_asked.level; break;
    case FACT_CONFLICT_SEEN: board->conflicts_n++; break;
    case FACT_RUN_ENDED: apply_run_ended (board, &fact->of.run_ended); break;
    case FACT_HOST_HEARD: apply_heard (board, fact); break;
    case FACT_HOST_SUSPECTED: apply_suspected (board, fact); break;
    default: break; /* what stopped a pass is in its verdicts; who was granted the cache shows when it is published */
    }
}

void board_apply (struct board *board, const struct fact *fact)
{
    if (fact->kind == FACT_RUN_OPENED && !board->opened)
        apply_opened (board, fact);
    else if (board->opened)
        apply_of_kind (board, fact);
    if (!fact_is_soft (fact->kind))
        board->index = fact->index;
    if (fact->at_ms < board->clock_ms)
        return;
    board->clock_ms = fact->at_ms;
    board->clock_wall_ms = fact->wall_ms;
}
