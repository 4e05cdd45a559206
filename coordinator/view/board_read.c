/* board_read.c - questions about a board. */
#include "coordinator/view/board.h"

uint64_t board_now_ms (const struct board *board, uint64_t wall_ms)
{
    return board->ended || wall_ms < board->clock_wall_ms ? board->clock_ms
                                                          : board->clock_ms + (wall_ms - board->clock_wall_ms);
}

const struct board_pass *board_running_pass (const struct board *board)
{
    if (!board->running)
        return NULL;
    const struct board_rung *rung = &board->rungs[board->key.rung];
    return board->purpose == PURPOSE_ISOLATION ? &rung->part : &rung->passes[board->key.pass];
}

const struct board_verdict_group *board_group_so_far (const struct board *board, uint32_t host)
{
    const struct board_pass *pass = board_running_pass (board);
    for (uint32_t i = 0; pass && i < pass->groups.n; i++)
        for (uint32_t k = pass->groups.items[i].hosts.n; k > 0; k--) /* it may just have come */
            if (pass->groups.items[i].hosts.items[k - 1] == host)
                return &pass->groups.items[i];
    return NULL;
}

enum outcome board_rung_outcome (const struct board *board, uint32_t rung)
{
    const struct board_rung *state = &board->rungs[rung];
    const struct board_pass *pass = &state->passes[state->last];
    if (state->last == PASS_NONE)
        return board->ended ? OUTCOME_NOT_REACHED : OUTCOME_NONE;
    return pass->outcome == OUTCOME_PASSED && state->last == PASS_COLD ? OUTCOME_NONE : pass->outcome;
}

uint64_t board_rung_ms (const struct board *board, uint32_t rung, uint64_t now_ms)
{
    uint64_t spent = 0;
    for (uint32_t i = 0; i <= BOARD_PASSES; i++) {
        const struct board_pass *pass = i < BOARD_PASSES ? &board->rungs[rung].passes[i] : &board->rungs[rung].part;
        bool runs = pass->running && board->running && now_ms > pass->began_ms;
        spent += pass->duration_ms + (runs ? now_ms - pass->began_ms : 0);
    }
    return spent;
}

struct text board_host_name (const struct board *board, uint32_t host)
{
    return host < board->plan.hosts.n ? board->plan.hosts.items[host].name : TEXT_LIT ("?");
}

struct text board_rung_id (const struct board *board, uint32_t rung)
{
    return rung < board->plan.rungs.n ? board->plan.rungs.items[rung].id : TEXT_LIT ("?");
}

void board_print_hosts (const struct board *board, const uint32_t *hosts, uint32_t n, struct buf *out)
{
    struct text *names = mem_array (n, sizeof (*names));
    uint32_t known = 0;
    for (uint32_t i = 0; i < n; i++)
        if (hosts[i] < board->plan.hosts.n)
            names[known++] = board->plan.hosts.items[hosts[i]].name;
    hostset_fold_escaped (names, known, 0, out);
    mem_free (names);
}
