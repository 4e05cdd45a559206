#include "coordinator/scene/gate_table.h"

#include <stdlib.h>
#include <string.h>

#include "coordinator/scene/scene_private.h"

enum { GATES_OF_PASS_MAX = 64 };

/* One gate of the pass, as its hosts come to be looked at. */
struct gate_hosts {
    uint32_t word, last, least_ms, n;
    uint32_t next; /* host: one wait each is taken, whatever it repeats */
    uint32_t *ms;  /* of all of them, the last included */
    uint64_t opened_ms;
};

static struct gate_hosts *gate_for (const struct board *board, uint32_t word, struct gate_hosts *gates, uint32_t *n,
                                    struct arena *arena)
{
    for (uint32_t i = 0; i < *n; i++)
        if (gates[i].word == word)
            return &gates[i];
    if (*n == GATES_OF_PASS_MAX || !text_starts (board_word (board, word), GATE_SPAN))
        return NULL;
    gates[*n] = (struct gate_hosts){ .word = word, .least_ms = UINT32_MAX };
    gates[*n].ms = arena_array (arena, board->plan.hosts.n, sizeof (uint32_t));
    return &gates[(*n)++];
}

/* Its phases stand one behind the other, as far as the attempt is long. */
static uint64_t span_end (const struct board_attempt *attempt, uint32_t span)
{
    uint64_t spent_ms = 0;
    for (uint32_t i = 0; i <= span; i++)
        spent_ms += attempt->spans[i].ms;
    return attempt->began_ms + (spent_ms < attempt->duration_ms ? spent_ms : attempt->duration_ms);
}

static void add_wait (struct gate_hosts *gate, uint32_t host, const struct board_attempt *attempt, uint32_t span)
{
    uint32_t ms = attempt->spans[span].ms;
    if (gate->n == 0 || ms < gate->least_ms) {
        gate->last = host;
        gate->least_ms = ms;
        gate->opened_ms = span_end (attempt, span);
    }
    gate->ms[gate->n++] = ms;
    gate->next = host + 1;
}

static uint32_t collect (const struct board *board, const struct attempt_key *key, struct gate_hosts *gates,
                         struct arena *arena)
{
    uint32_t n = 0;
    for (uint32_t host = 0; host < board->plan.hosts.n; host++) {
        const struct board_attempt *attempt = scene_attempt_of (board, host, key);
        for (uint32_t i = 0; attempt && i < attempt->spans_n; i++) {
            struct gate_hosts *gate = gate_for (board, attempt->spans[i].word, gates, &n, arena);
            if (gate && host >= gate->next)
                add_wait (gate, host, attempt, i);
        }
    }
    return n;
}

static int shortest_first (const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* The first of the sorted ones is that of the last host. */
static struct gate_wait gate_sum (const struct attempt_key *key, struct gate_hosts *gate)
{
    struct gate_wait wait = {
        .key = *key, .word = gate->word, .last = gate->last, .hosts_n = gate->n, .opened_ms = gate->opened_ms
    };
    qsort (gate->ms, gate->n, sizeof (*gate->ms), shortest_first);
    if (gate->n > 1) {
        wait.median_ms = gate->ms[1 + (gate->n - 1) / 2];
        wait.longest_ms = gate->ms[gate->n - 1];
    }
    return wait;
}

static void add (struct gate_table *table, const struct gate_wait *wait)
{
    if (table->n == GATE_WAITS_MAX)
        memmove (table->items, table->items + 1, --table->n * sizeof (table->items[0]));
    table->items[table->n++] = *wait;
}

void gate_table_add_pass (struct gate_table *table, const struct board *board, const struct attempt_key *key)
{
    struct arena arena = { 0 };
    struct gate_hosts gates[GATES_OF_PASS_MAX];
    for (uint32_t i = 0; i < table->n; i++)
        if (attempt_key_equal (&table->items[i].key, key))
            return;
    uint32_t n = collect (board, key, gates, &arena);
    for (uint32_t i = 0; i < n; i++) {
        struct gate_wait wait = gate_sum (key, &gates[i]);
        add (table, &wait);
    }
    arena_release (&arena);
}

const struct gate_wait *gate_table_find (const struct gate_table *table, const struct attempt_key *key, uint32_t word)
{
    for (uint32_t i = 0; i < table->n; i++)
        if (table->items[i].word == word && attempt_key_equal (&table->items[i].key, key))
            return &table->items[i];
    return NULL;
}
