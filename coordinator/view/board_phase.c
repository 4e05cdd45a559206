/* board_phase.c - the part of a board that knows how long phases of the running pass take. */
#include <stdlib.h>

#include "coordinator/view/board_private.h"

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

static int shortest_first (const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

bool board_phase_median (const struct board *board, struct text name, uint64_t *median_ms, uint32_t *others)
{
    uint32_t at = 0, n = 0;
    while (at < board->phases_n && !text_equal (board->phases[at].name, name))
        at++;
    if (at == board->phases_n)
        return false;
    uint32_t *known = mem_array (board->plan.hosts.n, sizeof (*known));
    for (uint32_t i = 0; i < board->plan.hosts.n; i++)
        if (board->phases[at].spent_ms[i])
            known[n++] = board->phases[at].spent_ms[i];
    if (n)
        qsort (known, n, sizeof (*known), shortest_first);
    *median_ms = n ? known[n / 2] : 0;
    *others = n;
    mem_free (known);
    return n >= OTHERS_LEAST;
}
