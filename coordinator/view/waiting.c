#include "coordinator/view/status.h"

#include <inttypes.h>

#include "coordinator/verdict/stands.h"
#include "coordinator/view/plain.h"

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

static void waiting_add (struct wait_table *table, enum wait wait, struct text word, uint32_t host, uint64_t since_ms)
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
    case ATTEMPT_AT_GATE: waiting_add (table, WAIT_GATE, host->gate, at, began_ms); break;
    case ATTEMPT_STOPPING: waiting_add (table, WAIT_STOP, none, at, host->phase_since_ms); break;
    case ATTEMPT_ENDED: waiting_add (table, WAIT_RESULT, none, at, began_ms); break;
    case ATTEMPT_RUNNING: waiting_add (table, WAIT_PHASE, host->phase, at, host->phase_since_ms); break;
    default: /* nothing was heard of it since the pass began, as for who has just begun to watch: it may well run */
        waiting_add (table, host->received_ms < began_ms ? WAIT_PHASE : WAIT_START, none, at, began_ms);
    }
}

static void waiting_add_host (const struct board *board, uint32_t at, struct wait_table *table)
{
    const struct board_host *host = &board->hosts[at];
    struct text none = { 0 };
    if (host->left_behind)
        return;
    if (host->life == BOARD_JOINED && host->suspected)
        waiting_add (table, WAIT_SILENT, none, at, host->received_ms);
    else if (host->life == BOARD_JOINED && host->epoch != board->epoch)
        waiting_add (table, WAIT_RETURN, none, at, board->epoch_ms);
    else if (host->life == BOARD_JOINED && host->in_pass && !host->ended)
        add_part (board, at, table);
    else if (host->life != BOARD_JOINED && !(host->life == BOARD_LOST && host->epoch == board->epoch))
        waiting_add (table, host->joins ? WAIT_RETURN : WAIT_JOIN, host->step, at, board->epoch_ms);
}

static int longest_first (const void *a, const void *b)
{
    const struct wait_group *x = a, *y = b;
    int order = order_u64 (x->since_ms, y->since_ms);
    order = order ? order : order_u64 (x->wait, y->wait);
    return order ? order : text_compare (x->word, y->word);
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

static void waiting_add_span (const struct printer *printer, uint64_t from_ms, uint64_t limit_ms)
{
    uint64_t spent_ms = printer->now_ms > from_ms ? printer->now_ms - from_ms : 0;
    buf_printf (printer->out, " (%s", DURATION_TEXT (spent_ms));
    if (limit_ms)
        buf_printf (printer->out, " of %s", DURATION_TEXT (limit_ms));
    buf_puts (printer->out, ")");
}

static void add_attempt_span (const struct printer *printer)
{
    const struct board *board = printer->board;
    waiting_add_span (printer, board_running_pass (board)->began_ms,
                      board->plan.rungs.items[board->key.rung].timeout_ms);
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
    buf_escaped_after (printer->out, " at gate ", group->word, 0);
    if (printer->board->plan.rungs.items[printer->board->key.rung].scope == SCOPE_SLICE)
        add_missing (printer, group->word);
    add_attempt_span (printer);
}

/* What a worker does around its program, and that it runs; every other phase is a word of the program. */
static const char *own_phase (struct text phase)
{
    static const struct {
        const char *phase, *does;
    } known[] = { { "start", "" },
                  { "run", "" },
                  { "lease", " to get the lease of the cache" },
                  { "cache", " to prepare the cache" },
                  { "confine", " to test what its sandbox refuses" },
                  { "audit", " to audit the cache" },
                  { "seal", " to seal the cache" } };
    for (size_t i = 0; i < sizeof (known) / sizeof (known[0]); i++)
        if (text_is (phase, known[i].phase))
            return known[i].does;
    return NULL;
}

bool progress_phase_tells (struct text phase)
{
    const char *does = own_phase (phase);
    return phase.len && !(does && !*does);
}

static void add_phase (const struct printer *printer, const struct wait_group *group)
{
    const char *does = own_phase (group->word);
    buf_puts (printer->out, "waiting for ");
    add_set (printer, group->hosts, group->n);
    if (does)
        buf_puts (printer->out, does);
    else
        buf_escaped_after (printer->out, " in phase ", group->word, 0);
    add_attempt_span (printer);
}

static void add_silent (const struct printer *printer, const struct wait_group *group)
{
    add_set (printer, group->hosts, group->n);
    uint64_t silent_ms = printer->now_ms > group->since_ms ? printer->now_ms - group->since_ms : 0;
    buf_printf (printer->out, " silent for %s", DURATION_TEXT (silent_ms));
}

static void add_retry (const struct printer *printer)
{
    const struct board *board = printer->board;
    uint64_t left_ms = board->retry.due_ms > printer->now_ms ? board->retry.due_ms - printer->now_ms : 0;
    buf_printf (printer->out, "waiting %s before retry %u of %u of rung ", DURATION_TEXT (left_ms), board->retry.nth,
                board->plan.limits.retries);
    buf_escaped (printer->out, board_rung_id (board, board->retry.key.rung), 0);
    buf_escaped_after (printer->out, ": ", board->retry.why, 0);
}

static void waiting_add_line (const struct printer *printer, const struct wait_group *group)
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
    case WAIT_CACHE:
        buf_escaped_after (printer->out, "waiting for ", group->word, 0);
        waiting_add_span (printer, group->since_ms, 0);
        break;
    case WAIT_RETRY: add_retry (printer); break;
    default:
        buf_puts (printer->out, "waiting for ");
        add_set (printer, group->hosts, group->n);
        buf_puts (printer->out, what[group->wait]);
        buf_escaped_after (printer->out, ", in step ", group->word, 0);
        if (group->wait == WAIT_JOIN || group->wait == WAIT_RETURN)
            waiting_add_span (printer, group->since_ms, printer->board->plan.limits.join_ms);
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
        waiting_add_host (board, i, &table);
    if (board->awaited.len)
        group_for (&table, WAIT_CACHE, board->awaited)->since_ms = board->awaited_since_ms;
    if (board->retry.key.attempt && now_ms < board->retry.due_ms)
        group_for (&table, WAIT_RETRY, (struct text){ 0 })->since_ms = board->retry.planned_ms;
    sort_items (table.items, table.n, sizeof (*table.items), longest_first);
    uint32_t shown = least_u64 (table.n, lines);
    for (uint32_t i = 0; i < shown; i++)
        waiting_add_line (&printer, &table.items[i]);
    if (shown < table.n)
        buf_printf (out, "... waits not shown: %" PRIu32 "\n", table.n - shown);
    for (uint32_t i = 0; i < table.n; i++)
        mem_free (table.items[i].hosts);
    mem_free (table.items);
    return shown + (shown < table.n) + progress_append_lines (board, now_ms, set_columns, out);
}

/* ---- progress ---- */

enum { TOLD_AGAIN_MS = 3000 }; /* the coordinator repeats it every second: what is older holds no more */
enum { SLOW_TIMES = 2, SLOW_LEAST_MS = 3000, QUIET_LEAST_MS = 5000, QUIET_MARKED_MS = 10000 };

static bool is_awaited (const struct board *board, uint32_t host)
{
    return host < board->plan.hosts.n && board->hosts[host].in_pass && !board->hosts[host].ended &&
           board->hosts[host].life == BOARD_JOINED;
}

/* ---- what they printed last ---- */

uint32_t progress_quiet_hosts (const struct board *board, uint64_t now_ms, struct arena *arena,
                               struct progress_quiet out[OUTPUT_GROUPS_MAX])
{
    const struct board_output *output = &board->output;
    uint64_t age_ms = now_ms > output->told_ms ? now_ms - output->told_ms : 0;
    uint32_t n = 0;
    if (!board->running || age_ms > TOLD_AGAIN_MS || !attempt_key_equal (&output->told.key, &board->key))
        return 0;
    for (uint32_t i = 0; i < output->told.groups.n && n < OUTPUT_GROUPS_MAX; i++) {
        const struct last_output *told = &output->told.groups.items[i];
        struct progress_quiet quiet = { arena_array (arena, told->hosts.n, sizeof (uint32_t)), 0, told->line,
                                        told->quiet_ms + age_ms };
        for (uint32_t k = 0; k < told->hosts.n; k++)
            if (is_awaited (board, told->hosts.items[k]) && !board->hosts[told->hosts.items[k]].suspected &&
                board->hosts[told->hosts.items[k]].state != ATTEMPT_AT_GATE) /* it waits for others */
                quiet.hosts[quiet.n++] = told->hosts.items[k];
        if (quiet.n)
            out[n++] = quiet;
    }
    return n;
}

static uint32_t add_quiet (const struct board *board, uint64_t now_ms, uint32_t set_columns, struct buf *out)
{
    LOCAL_ARENA arena = { 0 };
    struct progress_quiet quiet[OUTPUT_GROUPS_MAX];
    uint32_t n = progress_quiet_hosts (board, now_ms, &arena, quiet);
    n = n < PROGRESS_QUIET_LINES ? n : PROGRESS_QUIET_LINES;
    while (n && quiet[n - 1].quiet_ms < QUIET_LEAST_MS) /* the longest quiet comes first */
        n--;
    for (uint32_t i = 0; i < n; i++) {
        group_text_set (board, quiet[i].hosts, quiet[i].n, set_columns, out);
        buf_printf (out, " printed nothing for %s", DURATION_TEXT (quiet[i].quiet_ms));
        buf_escaped_after (out, " since: ", quiet[i].line, 0);
        buf_byte (out, '\n');
    }
    return n;
}

/* ---- who holds up the others ---- */

/* Has no host printed since all were asked where they stand? Else that is old. */
static bool stands_still (const struct board *board, uint64_t now_ms, uint64_t stand_ms)
{
    const struct board_output *output = &board->output;
    uint64_t quiet_ms = output->told.groups.n ? UINT64_MAX / 2 : 0;
    for (uint32_t i = 0; i < output->told.groups.n; i++)
        quiet_ms = least_u64 (quiet_ms, output->told.groups.items[i].quiet_ms);
    return now_ms <= output->told_ms + TOLD_AGAIN_MS && attempt_key_equal (&output->told.key, &board->key) &&
           output->told_ms <= stand_ms + quiet_ms;
}

/* The hosts that are known to stand somewhere, and which of them the others wait for. */
struct standing {
    uint32_t *ranks, n;
    bool *lags;
    struct text who, others;
    bool found;
};

static struct standing find_standing (const struct board *board, uint64_t now_ms, bool silent, struct arena *arena)
{
    uint32_t most = board->plan.hosts.n, first = 0; /* the first of the pass is its rank 0 */
    while (first < most && !board->hosts[first].in_pass)
        first++;
    bool serves = most && board->plan.rungs.items[board->key.rung].scope == SCOPE_SLICE;
    struct stand_host *hosts = arena_array (arena, most, sizeof *hosts);
    struct standing out = { .ranks = arena_array (arena, most, sizeof (uint32_t)),
                            .lags = arena_array (arena, most, sizeof (bool)) };
    for (uint32_t i = 0; i < most; i++)
        if (is_awaited (board, i) && board->hosts[i].state == ATTEMPT_RUNNING && board->hosts[i].stand.len &&
            (!silent || stands_still (board, now_ms, board->hosts[i].stand_ms))) {
            hosts[out.n] = (struct stand_host){ .name = board_host_name (board, i),
                                                .lines = board->hosts[i].stand,
                                                .serves = serves && i == first };
            out.ranks[out.n++] = i;
        }
    out.found = stands_find_lagging (hosts, out.n, out.lags, arena, &out.who, &out.others) > 0;
    return out;
}

uint32_t progress_append_stands (const struct board *board, uint64_t now_ms, bool silent, struct buf *out)
{
    LOCAL_ARENA arena = { 0 };
    struct standing standing = find_standing (board, now_ms, silent, &arena);
    if (standing.found)
        buf_puts (out, silent ? "suspect: " : "the odd one out now: ");
    buf_escaped (out, standing.who, 0);
    buf_escaped_after (out, "; ", standing.others, 0);
    buf_puts (out, standing.who.len ? "\n" : "");
    return standing.who.len > 0;
}

/* ---- who is slow ---- */

static struct progress_slow *slow_in (const struct board *board, struct text phase, struct arena *arena,
                                      struct progress_slow *out, uint32_t *n)
{
    for (uint32_t i = 0; i < *n; i++)
        if (text_equal (out[i].phase, phase))
            return &out[i];
    struct progress_slow slow = { .phase = phase };
    if (*n == BOARD_PHASES_MAX)
        return NULL;
    if (!board_phase_median (board, phase, &slow.median_ms, &slow.others))
        slow.median_ms = UINT64_MAX; /* kept all the same: it is not looked up for each host */
    slow.hosts = arena_array (arena, board->plan.hosts.n, sizeof (uint32_t));
    out[*n] = slow;
    return &out[(*n)++];
}

uint32_t progress_slow_hosts (const struct board *board, uint64_t now_ms, struct arena *arena,
                              struct progress_slow out[BOARD_PHASES_MAX])
{
    uint32_t looked_at = 0, n = 0;
    for (uint32_t i = 0; board->running && i < board->plan.hosts.n; i++) {
        const struct board_host *host = &board->hosts[i];
        if (!is_awaited (board, i) || host->state != ATTEMPT_RUNNING || !host->phase.len ||
            now_ms < host->phase_since_ms + SLOW_LEAST_MS)
            continue;
        uint64_t spent_ms = now_ms - host->phase_since_ms;
        struct progress_slow *slow = slow_in (board, host->phase, arena, out, &looked_at);
        if (!slow || slow->median_ms > (spent_ms - SLOW_LEAST_MS) / SLOW_TIMES)
            continue;
        slow->hosts[slow->n++] = i;
        slow->longest_ms = spent_ms > slow->longest_ms ? spent_ms : slow->longest_ms;
    }
    for (uint32_t i = 0; i < looked_at; i++)
        if (out[i].n && out[i].n <= out[i].others) /* most hosts are no exception */
            out[n++] = out[i];
    return n;
}

static uint32_t add_slow (const struct board *board, uint64_t now_ms, uint32_t set_columns, struct buf *out)
{
    LOCAL_ARENA arena = { 0 };
    struct progress_slow slow[BOARD_PHASES_MAX];
    char median[DURATION_TEXT_BYTES];
    uint32_t n = progress_slow_hosts (board, now_ms, &arena, slow);
    n = n < PROGRESS_SLOW_LINES ? n : PROGRESS_SLOW_LINES;
    for (uint32_t i = 0; i < n; i++) {
        group_text_set (board, slow[i].hosts, slow[i].n, set_columns, out);
        buf_escaped_after (out, " in phase ", slow[i].phase, 0);
        buf_printf (out, " for %s, clearly longer than the others: median %s of %" PRIu32 " hosts\n",
                    DURATION_TEXT (slow[i].longest_ms), duration_print (slow[i].median_ms, median), slow[i].others);
    }
    return n;
}

/* ---- whom to look at ---- */

/* Where most are quiet that is how the program is. */
static void mark_quiet (const struct board *board, uint64_t now_ms, struct arena *arena, uint8_t *out)
{
    struct progress_quiet quiet[OUTPUT_GROUPS_MAX];
    uint32_t groups = progress_quiet_hosts (board, now_ms, arena, quiet), n = 0, all = 0;
    while (groups && quiet[groups - 1].quiet_ms < QUIET_MARKED_MS)
        groups--;
    for (uint32_t i = 0; i < groups; i++)
        n += quiet[i].n;
    for (uint32_t i = 0; i < board->plan.hosts.n; i++)
        all += board->hosts[i].in_pass; /* who has ended was not quiet */
    for (uint32_t i = 0; i < groups && n <= all / 2; i++)
        for (uint32_t k = 0; k < quiet[i].n; k++)
            out[quiet[i].hosts[k]] = TROUBLE_QUIET;
}

void progress_mark_troubles (const struct board *board, uint64_t now_ms, struct arena *arena, uint8_t *out)
{
    struct progress_slow slow[BOARD_PHASES_MAX];
    if (!board->opened || board->ended || !board->running)
        return;
    mark_quiet (board, now_ms, arena, out);
    for (uint32_t i = progress_slow_hosts (board, now_ms, arena, slow); i > 0; i--)
        for (uint32_t k = 0; k < slow[i - 1].n; k++)
            out[slow[i - 1].hosts[k]] = TROUBLE_SLOW;
    struct standing standing = find_standing (board, now_ms, true, arena);
    for (uint32_t i = 0; standing.found && i < standing.n; i++)
        if (standing.lags[i])
            out[standing.ranks[i]] = TROUBLE_HOLDS;
}

/* ---- how long it may take ---- */

const struct usual_time *progress_usual_time (const struct board *board, uint64_t now_ms, uint64_t *left_ms)
{
    const struct board_pass *pass = board_running_pass (board);
    if (pass == NULL || board->purpose == PURPOSE_ISOLATION)
        return NULL;
    const usual_time_list *usual = &board->plan.rungs.items[board->key.rung].usual;
    for (uint32_t i = 0; i < usual->n; i++)
        if (usual->items[i].pass == board->key.pass && usual->items[i].runs) {
            uint64_t end_ms = pass->began_ms + usual->items[i].ms;
            *left_ms = end_ms > now_ms ? end_ms - now_ms : 0;
            return &usual->items[i];
        }
    return NULL;
}

static uint32_t add_left (const struct board *board, uint64_t now_ms, struct buf *out)
{
    char left[DURATION_TEXT_BYTES], took[DURATION_TEXT_BYTES];
    uint64_t left_ms = 0;
    const struct usual_time *usual = progress_usual_time (board, now_ms, &left_ms);
    if (usual == NULL)
        return 0;
    if (left_ms)
        buf_printf (out, "about %s left, ", duration_print ((left_ms + 999) / 1000 * 1000, left));
    buf_printf (out, "%s %" PRIu32 " earlier run%s, which took about %s\n",
                left_ms ? "from" : "this pass takes longer than", usual->runs, plural (usual->runs),
                duration_print (usual->ms, took));
    return 1;
}

uint32_t progress_append_lines (const struct board *board, uint64_t now_ms, uint32_t set_columns, struct buf *out)
{
    if (!board->opened || board->ended || !board->running)
        return 0;
    return progress_append_stands (board, now_ms, true, out) + add_quiet (board, now_ms, set_columns, out) +
           add_slow (board, now_ms, set_columns, out) + add_left (board, now_ms, out);
}
