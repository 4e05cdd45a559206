#include "common/logs/set.h"

/* ---- automaton ---- */

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

/* ---- set ---- */

/* The key is for ever. */
static const struct field table_fields[] = {
    F_LIST (1, struct signature_table, signatures, SIGNATURES_MAX, &signature_record),
};
const struct record signature_table_record = RECORD ("signature table", struct signature_table, table_fields);

uint64_t signature_text_bytes (const struct signature *item)
{
    uint64_t bytes = item->text.len;
    if (item->rule)
        return 0;
    for (uint32_t i = 0; i < item->also.n; i++)
        bytes += item->also.items[i].len;
    for (uint32_t i = 0; i < item->unless.n; i++)
        bytes += item->unless.items[i].len;
    return bytes;
}

static bool is_small_enough (const struct signature *items, uint32_t n)
{
    uint64_t bytes = 0;
    if (n > SIGNATURES_MAX)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (!items[i].rule && (items[i].also.n > SIGNATURE_TEXTS_MAX || items[i].unless.n > SIGNATURE_TEXTS_MAX))
            return false;
        bytes += signature_text_bytes (&items[i]);
    }
    return bytes <= SIGNATURE_SET_TEXT_BYTES;
}

struct needle_list {
    struct needle *needles;
    struct text *texts;
    uint32_t n;
};

static void set_add (struct needle_list *list, enum needle_kind kind, uint32_t item, uint32_t also, struct text text)
{
    list->needles[list->n] = (struct needle){ .kind = kind, .item = item, .also = also, .len = text.len };
    list->texts[list->n++] = text;
}

static void add_item (struct needle_list *list, const struct signature *item, uint32_t index)
{
    set_add (list, NEEDLE_TEXT, index, 0, item->text); /* of a rule empty, and so never found */
    if (item->rule)
        return;
    for (uint32_t i = 0; i < item->also.n; i++)
        set_add (list, NEEDLE_ALSO, index, i, item->also.items[i]);
    for (uint32_t i = 0; i < item->unless.n; i++)
        set_add (list, NEEDLE_UNLESS, index, 0, item->unless.items[i]);
}

struct signature_set *signature_set_build (const struct signature *items, uint32_t n)
{
    uint32_t most = 0;
    if (!is_small_enough (items, n))
        return NULL;
    struct signature_set *set = mem_alloc (sizeof *set);
    *set = (struct signature_set){ .items = items, .n = n, .first_of = mem_array (n, sizeof *set->first_of) };
    for (uint32_t i = 0; i < n; i++)
        most += items[i].rule ? 1 : 1 + items[i].also.n + items[i].unless.n;
    struct needle_list list = { .needles = mem_array (most, sizeof *list.needles),
                                .texts = mem_array (most, sizeof *list.texts) };
    for (uint32_t i = 0; i < n; i++) {
        set->first_of[i] = list.n;
        add_item (&list, &items[i], i);
    }
    set->needles = list.needles;
    automaton_build (&set->automaton, list.texts, list.n);
    mem_free (list.texts);
    return set;
}

const struct signature *signature_set_find (const struct signature_set *set, struct text id)
{
    return LIST_FIND (*set, struct signature, id, id);
}

void signature_set_free (struct signature_set *set)
{
    if (!set)
        return;
    automaton_release (&set->automaton);
    mem_free (set->needles);
    mem_free (set->first_of);
    mem_free (set);
}
