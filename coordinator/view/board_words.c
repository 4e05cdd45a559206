#include "coordinator/view/board_words.h"

#include "common/base/mem.h"
#include "coordinator/view/board_private.h"

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
