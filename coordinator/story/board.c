#include "coordinator/story/board_private.h"
#include "coordinator/story/receipt_fold_state.h"
#include "coordinator/verdict/judge.h"

const struct enum_names board_life_names = NAMED ("none", "expected", "keyed", "joined", "lost");

struct board *board_create (enum board_keep keep)
{
    struct board *board = mem_alloc (sizeof (*board));
    board->keep = keep;
    return board;
}

static void forget_metrics (struct board *board)
{
    for (uint32_t i = 0; i < board->metrics.n; i++) {
        board_text_clear (&board->metrics.items[i].name);
        board_text_clear (&board->metrics.items[i].axes);
        board_text_clear (&board->metrics.items[i].why);
        board_text_clear (&board->metrics.items[i].culprits);
    }
    mem_free (board->metrics.items);
}

void board_destroy (struct board *board)
{
    if (board == NULL)
        return;
    for (uint32_t i = 0; board->opened && i < board->plan.hosts.n; i++) {
        board_text_clear (&board->hosts[i].why);
        board_text_clear (&board->hosts[i].asked.address);
        board_text_clear (&board->hosts[i].phase);
        board_text_clear (&board->hosts[i].step);
        board_text_clear (&board->hosts[i].gate);
        board_text_clear (&board->hosts[i].stand);
    }
    for (uint32_t i = 0; board->opened && i < board->plan.rungs.n; i++) {
        for (uint32_t pass = 0; pass < BOARD_PASSES; pass++)
            arena_release (&board->rungs[i].passes[pass].arena);
        arena_release (&board->rungs[i].part.arena);
    }
    forget_metrics (board);
    board_history_release (board);
    board_text_clear (&board->generation.bundle);
    board_text_clear (&board->sentence);
    board_text_clear (&board->awaited);
    board_text_clear (&board->retry.why);
    board_text_clear (&board->isolation.suspects);
    board_text_clear (&board->isolation.why);
    receipt_fold_destroy (board->evidence);
    preliminary_judge_destroy (board->judge);
    arena_release (&board->output.arena);
    arena_release (&board->phases_arena);
    arena_release (&board->arena);
    mem_free (board);
}

void board_destroy_local (struct board **board)
{
    board_destroy (*board);
}

/* ---- the run and its hosts ---- */

/* A silence that ends as a loss is one time away. */
static void note_away (struct board_host *host, uint64_t since_ms)
{
    if (host->back_ms == UINT64_MAX)
        return;
    host->away_since_ms = since_ms;
    host->back_ms = UINT64_MAX;
}

static void note_back (struct board_host *host, uint64_t at_ms)
{
    if (host->back_ms == UINT64_MAX)
        host->back_ms = at_ms;
}

static void apply_opened (struct board *board, const struct fact *fact)
{
    const struct fact_run_opened *opened = &fact->of.run_opened;
    record_copy (&plan_record, &board->plan, &opened->plan, &board->arena);
    board->run = text_copy (&board->arena, opened->run);
    board->version = text_copy (&board->arena, opened->version);
    board->hosts = arena_array (&board->arena, board->plan.hosts.n, sizeof (struct board_host));
    board->rungs = arena_array (&board->arena, board->plan.rungs.n, sizeof (struct board_rung));
    if (board->keep & BOARD_JUDGED)
        board->judge = preliminary_judge_create (&board->plan);
    if (board->keep & BOARD_HISTORY)
        board->words = board_words_create ();
    board->opened_wall_ms = fact->wall_ms;
    board->opened = true;
    if (board->keep & BOARD_RECEIPT)
        board->evidence = receipt_fold_create (board);
    board_all_changed (board, 0);
}

static void apply_epoch (struct board *board, const struct fact *fact)
{
    board->epoch = fact->of.epoch_began.epoch;
    board->epoch_ms = fact->at_ms;
    board->away_ms += fact->of.epoch_began.away_ms;
    for (uint32_t i = 0; i < board->plan.hosts.n; i++) {
        if (board->hosts[i].suspected)
            note_back (&board->hosts[i], fact->at_ms);
        board->hosts[i].received_ms = fact->at_ms;
        board->hosts[i].suspected = false;
        board_host_changed (board, i);
    }
}

static void apply_keyed (struct board *board, const struct fact_host_keyed *keyed)
{
    struct board_host *host = board_find_host (board, keyed->host);
    if (host == NULL || host->life == BOARD_JOINED)
        return;
    host->life = BOARD_KEYED;
    board_host_changed (board, keyed->host);
}

static void apply_joined (struct board *board, const struct fact *fact)
{
    struct board_host *host = board_find_host (board, fact->of.host_joined.host);
    if (host == NULL)
        return;
    board->joined_n += host->life != BOARD_JOINED;
    board->gathered |= board->joined_n == board->plan.hosts.n;
    host->returned = host->joins > 0 && (host->life != BOARD_JOINED || host->epoch == board->epoch);
    host->life = BOARD_JOINED;
    host->epoch = board->epoch;
    host->joins++;
    host->pid = fact->of.host_joined.pid;
    host->pid_start = fact->of.host_joined.pid_start;
    host->received_ms = fact->at_ms;
    host->suspected = host->accounted = false;
    note_back (host, fact->at_ms);
    host->asked.ssh = REACH_NOT_ASKED;
    board_text_clear (&host->why);
    board_text_clear (&host->step);
    board_host_changed (board, fact->of.host_joined.host);
}

static void apply_lost (struct board *board, const struct fact *fact)
{
    const struct fact_host_lost *lost = &fact->of.host_lost;
    struct board_host *host = board_find_host (board, lost->host);
    if (host == NULL)
        return;
    board->joined_n -= host->life == BOARD_JOINED;
    host->life = BOARD_LOST;
    host->epoch = board->epoch;
    host->suspected = false;
    note_away (host, fact->at_ms);
    board_text_set (&host->why, lost->why, BOARD_CAUSE_MAX_BYTES);
    board_host_changed (board, lost->host);
}

static void apply_asked (struct board *board, const struct fact_host_asked *asked)
{
    struct board_host *host = board_find_host (board, asked->host);
    if (host == NULL)
        return;
    struct text address = host->asked.address;
    board_text_set (&address, asked->address, ID_MAX_BYTES);
    host->asked = *asked;
    host->asked.address = address;
}

static void apply_returned (struct board *board, uint32_t host)
{
    if (board_find_host (board, host))
        board->hosts[host].asked.ssh = REACH_NOT_ASKED;
}

static void board_hold (struct board *board, struct board_host *host, const struct holding *held, uint64_t at_ms)
{
    uint64_t since_ms = at_ms > held->phase_ms ? at_ms - held->phase_ms : 0;
    if (host->phase.len && !text_equal (host->phase, held->phase) && since_ms > host->phase_since_ms)
        board_phase_note (board, (uint32_t) (host - board->hosts), host->phase, since_ms - host->phase_since_ms);
    struct text gate = held->state == ATTEMPT_AT_GATE ? held->gate : (struct text){ 0 };
    if (host->state != held->state || !text_equal (host->phase, text_clip (held->phase, WORD_MAX_BYTES)) ||
        !text_equal (host->gate, text_clip (gate, WORD_MAX_BYTES)))
        board_host_changed (board, (uint32_t) (host - board->hosts));
    host->state = held->state;
    board_text_set (&host->phase, held->phase, WORD_MAX_BYTES);
    host->phase_since_ms = since_ms;
    board_text_set (&host->gate, gate, WORD_MAX_BYTES);
    if (held->stand.len) {
        board_text_set (&host->stand, held->stand, STAND_MAX_BYTES);
        host->stand_ms = at_ms > held->stand_ms ? at_ms - held->stand_ms : 0;
    }
}

static void apply_received (struct board *board, const struct fact *fact)
{
    const struct fact_host_reported *received = &fact->of.host_reported;
    struct board_host *host = board_find_host (board, received->host);
    if (host == NULL)
        return;
    if (host->suspected) {
        note_back (host, fact->at_ms);
        board_host_changed (board, received->host);
    }
    host->received_ms = fact->at_ms;
    host->suspected = false;
    for (uint32_t i = 0; i < received->holdings.n; i++)
        if (board->running && attempt_key_equal (&received->holdings.items[i].key, &board->key)) {
            board_hold (board, host, &received->holdings.items[i], fact->at_ms);
            return;
        }
    if (host->state != ATTEMPT_NONE)
        board_host_changed (board, received->host);
    board_forget_holding (host);
}

static void apply_stepped (struct board *board, const struct fact *fact)
{
    struct board_host *host = board_find_host (board, fact->of.host_stepped.host);
    if (host == NULL || host->life == BOARD_JOINED)
        return;
    board_text_set (&host->step, fact->of.host_stepped.step, WORD_MAX_BYTES);
    board_host_changed (board, fact->of.host_stepped.host);
}

static void apply_suspected (struct board *board, const struct fact *fact)
{
    struct board_host *host = board_find_host (board, fact->of.host_suspected.host);
    uint64_t silent_ms = fact->of.host_suspected.silent_ms;
    if (host == NULL || host->life != BOARD_JOINED)
        return;
    if (!host->suspected)
        board_host_changed (board, fact->of.host_suspected.host);
    host->suspected = true;
    host->received_ms = fact->at_ms > silent_ms ? fact->at_ms - silent_ms : 0;
    note_away (host, host->received_ms);
}

/* ---- metrics, the cache, the end ---- */

static struct board_metric *metric_for (struct board *board, const struct fact_metric_judged *judged)
{
    for (uint32_t i = 0; i < board->metrics.n; i++)
        if (board->metrics.items[i].key.rung == judged->key.rung &&
            text_equal (board->metrics.items[i].name, judged->metric))
            return &board->metrics.items[i];
    if (board->metrics.n == BOARD_METRICS_MAX)
        return NULL;
    if (board->metrics.items == NULL)
        board->metrics.items = mem_array (BOARD_METRICS_MAX, sizeof (struct board_metric));
    return &board->metrics.items[board->metrics.n++];
}

static void keep_culprits (struct board *board, const struct fact_metric_judged *judged, struct board_metric *metric)
{
    LOCAL_ARENA arena = { 0 };
    board_text_set (&metric->culprits,
                    plan_fold_hosts (&board->plan, judged->culprits.items, judged->culprits.n, UINT32_MAX, &arena),
                    BOARD_CAUSE_MAX_BYTES);
    metric->contradicted = 0;
    for (uint32_t i = 0; i < judged->contradicted.n; i++)
        metric->contradicted += judged->contradicted.items[i].count;
}

static void apply_metric (struct board *board, const struct fact_metric_judged *judged)
{
    struct board_metric *metric = judged->key.rung < board->plan.rungs.n ? metric_for (board, judged) : NULL;
    if (metric == NULL)
        return;
    LOCAL_BUF axes = { .max = NAME_MAX_BYTES };
    for (uint32_t i = 0; i < judged->axes.n; i++) {
        buf_puts (&axes, i ? ", " : "");
        buf_add_text (&axes, judged->axes.items[i]);
    }
    board_text_set (&metric->name, judged->metric, WORD_MAX_BYTES);
    board_text_set (&metric->axes, buf_as_text (&axes), NAME_MAX_BYTES);
    board_text_set (&metric->why, judged->why, BOARD_CAUSE_MAX_BYTES);
    metric->key = judged->key;
    metric->value = judged->value;
    metric->proof = judged->proof;
    metric->missing_n = judged->missing.n;
    board->metrics_changed = board->revision;
    keep_culprits (board, judged, metric);
}

static void apply_generation (struct board *board, const struct fact *fact)
{
    const struct fact_generation *from = &fact->of.generation;
    struct board_generation *to = &board->generation;
    board_text_set (&to->bundle, from->bundle, NAME_MAX_BYTES);
    to->adopted = fact->kind == FACT_GENERATION_ADOPTED;
    to->token = from->token;
    to->entries = from->entries;
    to->bytes = from->bytes;
    to->writer = from->writer;
    to->dropped = false;
    board->lease_token = 0;
}

static void apply_granted (struct board *board, const struct fact_writer_granted *granted)
{
    board->lease_token = granted->token;
    board->lease_host = granted->host;
}

static void apply_lease_lost (struct board *board)
{
    board->leases_lost_n++;
    board->lease_token = 0;
}

/* Repeated while the wait lasts. */
static void apply_awaited (struct board *board, const struct fact *fact)
{
    struct text what = text_clip (fact->of.cache_awaited.what, NAME_MAX_BYTES);
    if (text_equal (board->awaited, what))
        return;
    board_text_set (&board->awaited, what, NAME_MAX_BYTES);
    board->awaited_since_ms = fact->at_ms;
}

static void apply_output (struct board *board, const struct fact *fact)
{
    if (!board->running || !attempt_key_equal (&fact->of.output_awaited.key, &board->key))
        return;
    arena_reset (&board->output.arena);
    record_copy (fact_record_of_kind (FACT_OUTPUT_AWAITED), &board->output.told, &fact->of.output_awaited,
                 &board->output.arena);
    board->output.told_ms = fact->at_ms;
}

static void apply_run_ended (struct board *board, const struct fact *fact)
{
    const struct fact_run_ended *ended = &fact->of.run_ended;
    board_history_close (board, ended->outcome, fact->at_ms);
    board_all_changed (board, board->next_rung); /* what was to come is not reached */
    board->ended = true;
    board->running = false;
    board->retry.key.attempt = 0;
    board->outcome = ended->outcome;
    board->exit_status = ended->exit_status;
    board_text_set (&board->sentence, ended->sentence, TEXT_MAX_BYTES);
}

static void apply_of_kind (struct board *board, const struct fact *fact)
{
    switch (fact->kind) {
    case FACT_EPOCH_BEGAN: apply_epoch (board, fact); break;
    case FACT_HOST_KEYED: apply_keyed (board, &fact->of.host_keyed); break;
    case FACT_HOST_JOINED: apply_joined (board, fact); break;
    case FACT_HOST_LOST: apply_lost (board, fact); break;
    case FACT_HOST_ASKED: apply_asked (board, &fact->of.host_asked); break;
    case FACT_HOST_RETURNED: apply_returned (board, fact->of.host_suspected.host); break;
    case FACT_GENERATION_ADOPTED:
    case FACT_GENERATION_PUBLISHED: apply_generation (board, fact); break;
    case FACT_GENERATION_DROPPED:
        board->generation.dropped |= board->generation.token != 0 &&
                                     board->generation.token == fact->of.generation_dropped.token;
        break;
    case FACT_CACHE_VIOLATED: board->violations_n += finding_is_violation (fact->of.cache_violated.finding.kind); break;
    case FACT_WRITER_GRANTED: apply_granted (board, &fact->of.writer_granted); break;
    case FACT_LEASE_LOST: apply_lease_lost (board); break;
    case FACT_PASS_BEGAN: board_pass_began (board, fact); break;
    case FACT_PASS_SKIPPED: board_pass_skipped (board, &fact->of.pass_skipped); break;
    case FACT_GATE_OPENED: board_gate_opened (board, &fact->of.gate_opened); break;
    case FACT_ATTEMPT_ENDED: board_attempt_ended (board, fact); break;
    case FACT_METRIC_JUDGED: apply_metric (board, &fact->of.metric_judged); break;
    case FACT_PASS_ENDED: board_pass_ended (board, fact); break;
    case FACT_RETRY_PLANNED: board_retry_planned (board, fact); break;
    case FACT_SUSPECTS_NAMED: board_suspects_named (board, &fact->of.suspects_named); break;
    case FACT_CANCEL_ASKED: board->cancel_level = fact->of.cancel_asked.level; break;
    case FACT_CONFLICT_SEEN: board->conflicts_n++; break;
    case FACT_HOSTS_LEFT_BEHIND: board_hosts_left_behind (board, fact); break;
    case FACT_RUN_ENDED: apply_run_ended (board, fact); break;
    case FACT_HOST_REPORTED: apply_received (board, fact); break;
    case FACT_HOST_SUSPECTED: apply_suspected (board, fact); break;
    case FACT_HOST_STEPPED: apply_stepped (board, fact); break;
    case FACT_CACHE_AWAITED: apply_awaited (board, fact); break;
    case FACT_OUTPUT_AWAITED: apply_output (board, fact); break;
    default: break; /* what stopped a pass is in its verdicts */
    }
}

void board_apply (struct board *board, const struct fact *fact)
{
    board->revision++;
    if (fact->kind == FACT_RUN_OPENED && !board->opened)
        apply_opened (board, fact);
    else if (board->opened) {
        if (board->evidence)
            receipt_fold_apply (board->evidence, fact);
        if (board->judge)
            preliminary_judge_learn (board->judge, fact);
        apply_of_kind (board, fact);
    }
    if (!fact_is_soft (fact->kind))
        board->index = fact->index;
    if (fact->at_ms < board->clock_ms)
        return;
    board->clock_ms = fact->at_ms;
    board->clock_wall_ms = fact->wall_ms;
}

void board_take_fact (void *board, const struct fact *fact)
{
    board_apply (board, fact);
}
