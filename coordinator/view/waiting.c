#include "coordinator/view/waiting.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/base/duration.h"
#include "coordinator/view/group_text.h"
#include "coordinator/view/progress.h"

enum wait {
    WAIT_CACHE,
    WAIT_JOIN,
    WAIT_RETURN,
    WAIT_SILENT,
    WAIT_GATE,
    WAIT_STOP,
    WAIT_START,
    WAIT_PHASE,
    WAIT_RESULT,
    WAIT_RETRY
};

struct wait_group {
    enum wait wait;
    struct text word; /* PHASE, GATE: its name. JOIN, RETURN: the step of its launch. CACHE, without hosts: what */
    uint64_t since_ms;
    uint32_t *hosts;
    uint32_t n, capacity;
};

/* Phases are words of the programs: more different ones than this are told as one wait without a name. */
enum { DIFFERENT_MAX = 128 };
struct wait_table {
    struct wait_group *items;
    uint32_t n, capacity;
};

static struct wait_group *group_for (struct wait_table *table, enum wait wait, struct text word)
{
    for (uint32_t i = 0; i < table->n; i++)
        if (table->items[i].wait == wait && text_equal (table->items[i].word, word))
            return &table->items[i];
    if (table->n >= DIFFERENT_MAX && word.len)
        return group_for (table, WAIT_PHASE, (struct text){ 0 });
    table->items = mem_room (table->items, table->n, &table->capacity, 16, sizeof (*table->items));
    table->items[table->n] = (struct wait_group){ .wait = wait, .word = word, .since_ms = UINT64_MAX };
    return &table->items[table->n++];
}

static void add (struct wait_table *table, enum wait wait, struct text word, uint32_t host, uint64_t since_ms)
{
    struct wait_group *group = group_for (table, wait, word);
    group->hosts = mem_room (group->hosts, group->n, &group->capacity, 16, sizeof (*group->hosts));
    group->hosts[group->n++] = host;
    group->since_ms = least_u64 (group->since_ms, since_ms);
}

static void add_part (const struct board *board, uint32_t at, struct wait_table *table)
{
    const struct board_host *host = &board->hosts[at];
    uint64_t began_ms = board_running_pass (board)->began_ms;
    struct text none = { 0 };
    switch (host->state) {
    case ATTEMPT_AT_GATE: add (table, WAIT_GATE, host->gate, at, began_ms); break;
    case ATTEMPT_STOPPING: add (table, WAIT_STOP, none, at, host->phase_since_ms); break;
    case ATTEMPT_ENDED: add (table, WAIT_RESULT, none, at, began_ms); break;
    case ATTEMPT_RUNNING: add (table, WAIT_PHASE, host->phase, at, host->phase_since_ms); break;
    default: add (table, WAIT_START, none, at, began_ms); break;
    }
}

static void add_host (const struct board *board, uint32_t at, struct wait_table *table)
{
    const struct board_host *host = &board->hosts[at];
    struct text none = { 0 };
    if (host->left_behind)
        return;
    if (host->life == BOARD_JOINED && host->suspected)
        add (table, WAIT_SILENT, none, at, host->received_ms);
    else if (host->life == BOARD_JOINED && host->epoch != board->epoch)
        add (table, WAIT_RETURN, none, at, board->epoch_ms);
    else if (host->life == BOARD_JOINED && host->in_pass && !host->ended)
        add_part (board, at, table);
    else if (host->life != BOARD_JOINED && !(host->life == BOARD_LOST && host->epoch == board->epoch))
        add (table, host->joins ? WAIT_RETURN : WAIT_JOIN, host->step, at, board->epoch_ms);
}

static int longest_first (const void *a, const void *b)
{
    const struct wait_group *x = a, *y = b;
    if (x->since_ms != y->since_ms)
        return x->since_ms < y->since_ms ? -1 : 1;
    if (x->wait != y->wait)
        return x->wait < y->wait ? -1 : 1;
    return text_compare (x->word, y->word);
}

/* ---- words ---- */

struct printer {
    const struct board *board;
    uint64_t now_ms;
    uint32_t set_columns;
    struct buf *out;
};

static void add_set (const struct printer *printer, const uint32_t *hosts, uint32_t n)
{
    group_text_set (printer->board, hosts, n, printer->set_columns, printer->out);
}

static void add_span (const struct printer *printer, uint64_t from_ms, uint64_t limit_ms)
{
    char span[DURATION_TEXT_BYTES], limit[DURATION_TEXT_BYTES];
    uint64_t spent_ms = printer->now_ms > from_ms ? printer->now_ms - from_ms : 0;
    buf_printf (printer->out, " (%s", duration_print (spent_ms, span));
    if (limit_ms)
        buf_printf (printer->out, " of %s", duration_print (limit_ms, limit));
    buf_puts (printer->out, ")");
}

static void add_attempt_span (const struct printer *printer)
{
    const struct board *board = printer->board;
    add_span (printer, board_running_pass (board)->began_ms, board->plan.rungs.items[board->key.rung].timeout_ms);
}

/* Who takes part and has not come to this gate yet. */
static void add_missing (const struct printer *printer, struct text gate)
{
    const struct board *board = printer->board;
    uint32_t *hosts = mem_array (board->plan.hosts.n, sizeof (*hosts)), n = 0;
    for (uint32_t i = 0; i < board->plan.hosts.n; i++) {
        const struct board_host *host = &board->hosts[i];
        if (host->in_pass && !(host->state == ATTEMPT_AT_GATE && text_equal (host->gate, gate)))
            hosts[n++] = i;
    }
    if (n)
        buf_puts (printer->out, ", waiting for ");
    add_set (printer, hosts, n);
    mem_free (hosts);
}

static void add_gate (const struct printer *printer, const struct wait_group *group)
{
    add_set (printer, group->hosts, group->n);
    buf_puts (printer->out, " at gate ");
    buf_escaped (printer->out, group->word, 0);
    if (printer->board->plan.rungs.items[printer->board->key.rung].scope == SCOPE_SLICE)
        add_missing (printer, group->word);
    add_attempt_span (printer);
}

/* What a worker does with the cache around its program; every other phase is a word of the program. */
static const char *cache_phase (struct text phase)
{
    static const struct {
        const char *phase, *does;
    } known[] = { { "lease", " to get the lease of the cache" },
                  { "cache", " to prepare the cache" },
                  { "confine", " to test what its sandbox refuses" },
                  { "audit", " to audit the cache" },
                  { "seal", " to seal the cache" } };
    for (size_t i = 0; i < sizeof (known) / sizeof (known[0]); i++)
        if (text_is (phase, known[i].phase))
            return known[i].does;
    return NULL;
}

static void add_phase (const struct printer *printer, const struct wait_group *group)
{
    const char *does = cache_phase (group->word);
    buf_puts (printer->out, "waiting for ");
    add_set (printer, group->hosts, group->n);
    if (does)
        buf_puts (printer->out, does);
    else if (group->word.len)
        buf_puts (printer->out, " in phase ");
    buf_escaped (printer->out, does ? (struct text){ 0 } : group->word, 0);
    add_attempt_span (printer);
}

static void add_silent (const struct printer *printer, const struct wait_group *group)
{
    char span[DURATION_TEXT_BYTES];
    add_set (printer, group->hosts, group->n);
    uint64_t silent_ms = printer->now_ms > group->since_ms ? printer->now_ms - group->since_ms : 0;
    buf_printf (printer->out, " silent for %s", duration_print (silent_ms, span));
}

static void add_awaited (const struct printer *printer, const struct wait_group *group)
{
    buf_puts (printer->out, "waiting for ");
    buf_escaped (printer->out, group->word, 0);
    add_span (printer, group->since_ms, 0);
}

static void add_retry (const struct printer *printer)
{
    const struct board *board = printer->board;
    char span[DURATION_TEXT_BYTES];
    uint64_t left_ms = board->retry.due_ms > printer->now_ms ? board->retry.due_ms - printer->now_ms : 0;
    buf_printf (printer->out, "waiting %s before retry %u of %u of rung ", duration_print (left_ms, span),
                board->retry.nth, board->plan.limits.retries);
    buf_escaped (printer->out, board_rung_id (board, board->retry.key.rung), 0);
    buf_puts (printer->out, ": ");
    buf_escaped (printer->out, board->retry.why, 0);
}

static void add_step (const struct printer *printer, const struct wait_group *group)
{
    if (group->word.len == 0)
        return;
    buf_puts (printer->out, ", in step ");
    buf_escaped (printer->out, group->word, 0);
}

static void add_line (const struct printer *printer, const struct wait_group *group)
{
    static const char *const what[] = { [WAIT_JOIN] = " to join",
                                        [WAIT_RETURN] = " to come back",
                                        [WAIT_STOP] = " to stop",
                                        [WAIT_START] = " to start",
                                        [WAIT_RESULT] = " to send its result" };
    switch (group->wait) {
    case WAIT_GATE: add_gate (printer, group); break;
    case WAIT_PHASE: add_phase (printer, group); break;
    case WAIT_SILENT: add_silent (printer, group); break;
    case WAIT_CACHE: add_awaited (printer, group); break;
    case WAIT_RETRY: add_retry (printer); break;
    default:
        buf_puts (printer->out, "waiting for ");
        add_set (printer, group->hosts, group->n);
        buf_puts (printer->out, what[group->wait]);
        add_step (printer, group);
        if (group->wait == WAIT_JOIN || group->wait == WAIT_RETURN)
            add_span (printer, group->since_ms, printer->board->plan.limits.join_ms);
        else
            add_attempt_span (printer);
    }
    buf_byte (printer->out, '\n');
}

uint32_t waiting_append_lines (const struct board *board, uint64_t now_ms, uint32_t lines, uint32_t set_columns,
                               struct buf *out)
{
    struct printer printer = { board, now_ms, set_columns, out };
    struct wait_table table = { 0 };
    if (!board->opened || board->ended || board->interrupted)
        return 0;
    for (uint32_t i = 0; i < board->plan.hosts.n; i++)
        add_host (board, i, &table);
    if (board->awaited.len)
        group_for (&table, WAIT_CACHE, board->awaited)->since_ms = board->awaited_since_ms;
    if (board->retry.key.attempt && now_ms < board->retry.due_ms)
        group_for (&table, WAIT_RETRY, (struct text){ 0 })->since_ms = board->retry.planned_ms;
    if (table.n)
        qsort (table.items, table.n, sizeof (*table.items), longest_first);
    uint32_t shown = least_u64 (table.n, lines);
    for (uint32_t i = 0; i < shown; i++)
        add_line (&printer, &table.items[i]);
    if (shown < table.n)
        buf_printf (out, "... waits not shown: %" PRIu32 "\n", table.n - shown);
    for (uint32_t i = 0; i < table.n; i++)
        mem_free (table.items[i].hosts);
    mem_free (table.items);
    return shown + (shown < table.n) + progress_append_lines (board, now_ms, set_columns, out);
}
