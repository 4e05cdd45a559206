#include "common/logs/automaton.h"

enum { LETTER_OTHER, LETTER_BLANK, LETTER_ESCAPE, LETTERS_SPECIAL, ESCAPE_BYTE = 0x1b };

static bool automaton_is_blank (unsigned char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static void give_letters (struct automaton *automaton, const struct text *needles, uint32_t n)
{
    automaton->letters = LETTERS_SPECIAL;
    for (uint32_t byte = 0; byte < 256; byte++)
        automaton->letter_of[byte] = automaton_is_blank ((unsigned char) byte) ? LETTER_BLANK : LETTER_OTHER;
    automaton->letter_of[ESCAPE_BYTE] = LETTER_ESCAPE;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < needles[i].len; k++) {
            uint8_t *letter = &automaton->letter_of[(unsigned char) needles[i].ptr[k]];
            if (*letter == LETTER_OTHER)
                *letter = (uint8_t) automaton->letters++;
        }
}

static uint32_t longest (const struct text *needles, uint32_t n)
{
    uint32_t sum = 1;
    for (uint32_t i = 0; i < n; i++)
        sum += needles[i].len;
    return sum;
}

static uint32_t *row (const struct automaton *automaton, uint32_t state)
{
    return automaton->next + (size_t) state * automaton->letters;
}

static uint32_t step_down (struct automaton *automaton, uint32_t state, uint8_t letter)
{
    uint32_t *child = &row (automaton, state)[letter];
    if (*child == 0)
        *child = automaton->states++;
    return *child;
}

/* Blanks at its beginning do not matter, and runs of them are one. */
static void add_needle (struct automaton *automaton, struct text needle, uint32_t index)
{
    uint32_t state = 0;
    uint8_t before = LETTER_BLANK;
    for (uint32_t k = 0; k < needle.len; k++) {
        uint8_t letter = automaton->letter_of[(unsigned char) needle.ptr[k]];
        if (letter != LETTER_BLANK || before != LETTER_BLANK)
            state = step_down (automaton, state, letter);
        before = letter;
    }
    automaton->same[index] = state ? automaton->own[state] : NEEDLE_NONE;
    if (state)
        automaton->own[state] = (int32_t) index;
}

/* Breadth first: when a state's turn comes, all shorter ones are done. */
struct closing {
    uint32_t *fallback; /* per state: the longest end of it that is a state, too */
    bool *after_blank;
    uint32_t *queue, queued;
};

static void close_state (struct automaton *automaton, uint32_t state, struct closing *closing)
{
    for (uint32_t letter = 0; letter < automaton->letters; letter++) {
        uint32_t *to = &row (automaton, state)[letter];
        uint32_t elsewhere = state ? row (automaton, closing->fallback[state])[letter] : 0;
        if (*to == 0) {
            *to = letter == LETTER_BLANK && closing->after_blank[state] ? state : elsewhere;
            continue;
        }
        closing->fallback[*to] = elsewhere;
        closing->after_blank[*to] = letter == LETTER_BLANK;
        automaton->shorter[*to] = automaton->own[elsewhere] != NEEDLE_NONE ? elsewhere : automaton->shorter[elsewhere];
        closing->queue[closing->queued++] = *to;
    }
}

static void automaton_close_all (struct automaton *automaton)
{
    struct closing closing = { .fallback = mem_array (automaton->states, sizeof *closing.fallback),
                               .after_blank = mem_array (automaton->states, sizeof *closing.after_blank),
                               .queue = mem_array (automaton->states, sizeof *closing.queue) };
    close_state (automaton, 0, &closing);
    for (uint32_t i = 0; i < closing.queued; i++)
        close_state (automaton, closing.queue[i], &closing);
    mem_free (closing.fallback);
    mem_free (closing.after_blank);
    mem_free (closing.queue);
}

/* From numbers of states to what the inner loop wants: offsets of rows, and a bit where it has to stop. */
static void mark_events (struct automaton *automaton)
{
    for (uint32_t state = 0; state < automaton->states; state++)
        for (uint32_t letter = 0; letter < automaton->letters; letter++) {
            uint32_t *to = &row (automaton, state)[letter], at = *to;
            bool ends = automaton->own[at] != NEEDLE_NONE || automaton->shorter[at] != 0;
            *to = letter == LETTER_ESCAPE ? state * automaton->letters | AUTOMATON_EVENT
                                          : at * automaton->letters | (ends ? AUTOMATON_EVENT : 0);
        }
}

void automaton_build (struct automaton *automaton, const struct text *needles, uint32_t n)
{
    *automaton = (struct automaton){ .states = 1, .needles = n };
    give_letters (automaton, needles, n);
    uint32_t most = longest (needles, n);
    automaton->next = mem_array ((size_t) most * automaton->letters, sizeof *automaton->next);
    automaton->own = mem_array (most, sizeof *automaton->own);
    automaton->shorter = mem_array (most, sizeof *automaton->shorter);
    automaton->same = mem_array (n, sizeof *automaton->same);
    for (uint32_t state = 0; state < most; state++)
        automaton->own[state] = NEEDLE_NONE;
    for (uint32_t i = 0; i < n; i++)
        add_needle (automaton, needles[i], i);
    automaton_close_all (automaton);
    mark_events (automaton);
}

void automaton_release (struct automaton *automaton)
{
    mem_free (automaton->next);
    mem_free (automaton->own);
    mem_free (automaton->shorter);
    mem_free (automaton->same);
    *automaton = (struct automaton){ 0 };
}
