#include "common/logs/set.h"

/* The key is for ever. */
static const struct field table_fields[] = {
    F_LIST (1, struct signature_table, signatures, SIGNATURES_MAX, &signature_record),
};
const struct record signature_table_record = RECORD ("signature table", struct signature_table, table_fields);

static uint32_t needles_of (const struct signature *item)
{
    return item->rule ? 1 : 1 + item->also.n + item->unless.n;
}

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
        most += needles_of (&items[i]);
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
    for (uint32_t i = 0; i < set->n; i++)
        if (text_equal (set->items[i].id, id))
            return &set->items[i];
    return NULL;
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
