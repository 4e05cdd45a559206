/* board_read.c - questions about a board. */
#include <string.h>

#include "coordinator/story/board_private.h"

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
    LOCAL_ARENA arena = { 0 };
    buf_escaped (out, plan_fold_hosts (&board->plan, hosts, n, UINT32_MAX, &arena), 0);
}

void board_print_whom (const struct board *board, const uint32_t *hosts, uint32_t n, struct buf *out)
{
    LOCAL_ARENA arena = { 0 };
    board_print_hosts (board, hosts, n, out);
    buf_add_text (out, plan_name_slices (&board->plan, hosts, n, &arena));
}

/* ---- board words ---- */

enum { SLOTS_FIRST = 1024 };

struct board_words {
    struct arena arena;
    struct text *items; /* items[0] is the empty text */
    uint32_t n, capacity;
    uint32_t *slots; /* a word or 0, open addressing; at most half of them are used */
    uint32_t slots_n;
};

struct board_words *board_words_create (void)
{
    struct board_words *words = mem_alloc (sizeof (*words));
    words->slots_n = SLOTS_FIRST;
    words->slots = mem_array (words->slots_n, sizeof (*words->slots));
    words->items = mem_room (words->items, 0, &words->capacity, SLOTS_FIRST, sizeof (*words->items));
    words->items[words->n++] = (struct text){ 0 };
    return words;
}

void board_words_destroy (struct board_words *words)
{
    if (words == NULL)
        return;
    mem_free (words->items);
    mem_free (words->slots);
    arena_release (&words->arena);
    mem_free (words);
}

struct text board_words_text (const struct board_words *words, uint32_t word)
{
    return word < words->n ? words->items[word] : (struct text){ 0 };
}

/* FNV-1a (draft-eastlake-fnv). Whoever makes texts collide makes this slow, within BOARD_WORDS_MAX. */
static uint32_t hash (struct text text)
{
    uint32_t hash = 2166136261u;
    for (uint32_t i = 0; i < text.len; i++)
        hash = (hash ^ (uint8_t) text.ptr[i]) * 16777619u;
    return hash;
}

/* Where the text is, or would be put. */
static uint32_t *slot_of (const struct board_words *words, struct text text)
{
    uint32_t at = hash (text) & (words->slots_n - 1);
    while (words->slots[at] && !text_equal (words->items[words->slots[at]], text))
        at = (at + 1) & (words->slots_n - 1);
    return &words->slots[at];
}

static void widen (struct board_words *words)
{
    if (words->n * 2 < words->slots_n)
        return;
    mem_free (words->slots);
    words->slots_n *= 2;
    words->slots = mem_array (words->slots_n, sizeof (*words->slots));
    for (uint32_t i = 1; i < words->n; i++)
        *slot_of (words, words->items[i]) = i;
}

uint32_t board_words_take (struct board_words *words, struct text text)
{
    struct text kept = { text.ptr, board_text_kept_bytes (text, BOARD_WORD_MAX_BYTES) };
    if (kept.len == 0)
        return 0;
    widen (words);
    uint32_t *slot = slot_of (words, kept);
    if (*slot)
        return *slot;
    if (words->n == BOARD_WORDS_MAX || words->arena.used_bytes >= BOARD_WORDS_MAX_BYTES)
        return 0;
    words->items = mem_room (words->items, words->n, &words->capacity, SLOTS_FIRST, sizeof (*words->items));
    words->items[words->n] = text_copy (&words->arena, kept);
    return *slot = words->n++;
}

/* ---- texts that outlive the facts they came in, and what both halves of a board need ---- */

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

void board_all_changed (struct board *board, uint32_t rung)
{
    for (uint32_t i = 0; i < board->plan.rungs.n; i++)
        if (i == rung || board_rung_outcome (board, i) == OUTCOME_NONE || (board->running && board->key.rung == i))
            board->rungs[i].changed = board->revision;
    for (uint32_t i = 0; i < board->plan.hosts.n; i++)
        board_host_changed (board, i);
}

void board_forget_holding (struct board_host *host)
{
    host->state = ATTEMPT_NONE;
    board_text_clear (&host->phase);
    board_text_clear (&host->gate);
    board_text_clear (&host->stand);
}
