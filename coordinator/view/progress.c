#include "coordinator/view/progress.h"

#include <inttypes.h>

#include "common/base/duration.h"
#include "coordinator/view/group_text.h"

enum { TOLD_AGAIN_MS = 3000 }; /* the coordinator repeats it every second: what is older holds no more */
enum { SLOW_TIMES = 2, SLOW_LEAST_MS = 3000 };

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
            if (is_awaited (board, told->hosts.items[k]) &&
                board->hosts[told->hosts.items[k]].state != ATTEMPT_AT_GATE) /* it waits for others */
                quiet.hosts[quiet.n++] = told->hosts.items[k];
        if (quiet.n)
            out[n++] = quiet;
    }
    return n;
}

static uint32_t add_quiet (const struct board *board, uint64_t now_ms, uint32_t set_columns, struct buf *out)
{
    struct arena arena = { 0 };
    struct progress_quiet quiet[OUTPUT_GROUPS_MAX];
    char span[DURATION_TEXT_BYTES];
    uint32_t n = progress_quiet_hosts (board, now_ms, &arena, quiet);
    n = n < PROGRESS_QUIET_LINES ? n : PROGRESS_QUIET_LINES;
    for (uint32_t i = 0; i < n; i++) {
        group_text_set (board, quiet[i].hosts, quiet[i].n, set_columns, out);
        buf_printf (out, " printed nothing for %s", duration_print (quiet[i].quiet_ms, span));
        buf_escaped_after (out, " since: ", quiet[i].line, 0);
        buf_byte (out, '\n');
    }
    arena_release (&arena);
    return n;
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
    struct arena arena = { 0 };
    struct progress_slow slow[BOARD_PHASES_MAX];
    char span[DURATION_TEXT_BYTES], median[DURATION_TEXT_BYTES];
    uint32_t n = progress_slow_hosts (board, now_ms, &arena, slow);
    n = n < PROGRESS_SLOW_LINES ? n : PROGRESS_SLOW_LINES;
    for (uint32_t i = 0; i < n; i++) {
        group_text_set (board, slow[i].hosts, slow[i].n, set_columns, out);
        buf_puts (out, " in phase ");
        buf_escaped (out, slow[i].phase, 0);
        buf_printf (out, " for %s, clearly longer than the others: median %s of %" PRIu32 " hosts\n",
                    duration_print (slow[i].longest_ms, span), duration_print (slow[i].median_ms, median),
                    slow[i].others);
    }
    arena_release (&arena);
    return n;
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
                left_ms ? "from" : "this pass takes longer than", usual->runs, usual->runs == 1 ? "" : "s",
                duration_print (usual->ms, took));
    return 1;
}

uint32_t progress_append_lines (const struct board *board, uint64_t now_ms, uint32_t set_columns, struct buf *out)
{
    if (!board->opened || board->ended || !board->running)
        return 0;
    return add_quiet (board, now_ms, set_columns, out) + add_slow (board, now_ms, set_columns, out) +
           add_left (board, now_ms, out);
}
