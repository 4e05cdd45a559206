/* board_text.c - texts that outlive the facts they came in, and what both halves of a board need. */
#include "coordinator/view/board_private.h"

#include <string.h>

void board_text_clear (struct text *kept)
{
    mem_free ((void *) kept->ptr);
    *kept = (struct text){ 0 };
}

/* Where `text` may be cut without halving a character; anything that is no UTF-8 is cut anywhere. */
uint32_t board_text_kept_bytes (struct text text, uint32_t max_bytes)
{
    uint32_t len = text.len < max_bytes ? text.len : max_bytes, back = len;
    while (len < text.len && back > 0 && len - back < 4 && ((uint8_t) text.ptr[back] & 0xC0) == 0x80)
        back--;
    return len - back < 4 ? back : len;
}

/* A heartbeat repeats its phase every second: the same text costs nothing. */
void board_text_set (struct text *kept, struct text from, uint32_t max_bytes)
{
    struct text cut = { from.ptr, board_text_kept_bytes (from, max_bytes) };
    if (text_equal (*kept, cut))
        return;
    char *copy = cut.len ? mem_alloc (cut.len) : NULL;
    if (cut.len)
        memcpy (copy, cut.ptr, cut.len);
    board_text_clear (kept);
    *kept = (struct text){ copy, cut.len };
}

struct board_host *board_find_host (struct board *board, uint32_t host)
{
    return host < board->plan.hosts.n ? &board->hosts[host] : NULL;
}

void board_host_changed (struct board *board, uint32_t host)
{
    board->hosts[host].changed = board->revision;
}

static bool may_change (const struct board *board, uint32_t rung)
{
    return board_rung_outcome (board, rung) == OUTCOME_NONE || (board->running && board->key.rung == rung);
}

void board_all_changed (struct board *board, uint32_t rung)
{
    for (uint32_t i = 0; i < board->plan.rungs.n; i++)
        if (i == rung || may_change (board, i))
            board->rungs[i].changed = board->revision;
    for (uint32_t i = 0; i < board->plan.hosts.n; i++)
        board_host_changed (board, i);
}

void board_forget_holding (struct board_host *host)
{
    host->state = ATTEMPT_NONE;
    board_text_clear (&host->phase);
    board_text_clear (&host->gate);
}
