/* evidence_state.c - the room left in a result, and lines that its program still owes. */
#include "worker/protocol/evidence_state.h"

/* Part of the room that is reserved for judged items. */
enum { RESERVE_BYTES = 8 * 1024 };
/* More than any line can hold. */
enum { LINE_COST_BYTES = 1 << 20 };
enum { MEMORY_MAX_BYTES = 1 << 20 }; /* several times what a result holds at most */

/* ---- what was asked ---- */

bool evidence_compiles_only (const struct evidence *evidence)
{
    const struct msg_run *asked = evidence->asked;
    return asked && asked->rung.warm == WARM_AOT && asked->key.pass == PASS_COLD;
}

bool evidence_lacks_backend (const struct evidence *evidence)
{
    const struct msg_run *asked = evidence->asked; /* a command lacks it where its verdict looks for it */
    return asked && asked->rung.backend.len && asked->rung.kind != PROGRAM_COMMAND && !evidence->saw_backend;
}

bool evidence_lacks_program_gate (const struct evidence *evidence)
{
    const struct msg_run *asked = evidence->asked;
    return asked && asked->rung.kind != PROGRAM_COMMAND && asked->rung.scope == SCOPE_SLICE && asked->world > 1 &&
           !evidence->saw_program_gate;
}

/* ---- lists and their cost ---- */

int evidence_pay (struct evidence *evidence, size_t cost_bytes, size_t freed_bytes, struct err *err)
{
    if (cost_bytes > evidence->left_bytes + freed_bytes)
        return err_set (err, ERR_LIMIT, "the program reported more than a result can hold");
    evidence->left_bytes += freed_bytes;
    evidence->left_bytes -= cost_bytes;
    return 0;
}

static struct any_list *list_at (struct evidence *evidence, size_t offset)
{
    return (struct any_list *) ((char *) &evidence->result + offset);
}

const struct field *evidence_list_field (size_t offset)
{
    uint32_t i = 0;
    while (result_record.fields[i].offset != offset)
        i++;
    return &result_record.fields[i];
}

void *evidence_next_slot (struct evidence *evidence, size_t offset, struct err *err)
{
    const struct field *field = evidence_list_field (offset);
    struct any_list *list = list_at (evidence, offset);
    if (list->n == field->max) {
        err_set (err, ERR_LIMIT, "a result holds at most %u items of its %s", list->n, field->name);
        return NULL;
    }
    if (!list->items)
        list->items = arena_array (&evidence->arena, field->max, field->of->bytes);
    return (char *) list->items + list->n * field->of->bytes;
}

int evidence_read_record (struct evidence *evidence, const json_t *line, const struct record *record, void *item,
                          struct err *err)
{
    struct json_budget budget = { &evidence->scratch, LINE_COST_BYTES };
    return json_read_record (line, record, item, &budget, err);
}

void evidence_put (struct evidence *evidence, size_t offset, const void *item)
{
    void *room = evidence_next_slot (evidence, offset, NULL);
    record_copy (evidence_list_field (offset)->of, room, item, &evidence->arena);
    list_at (evidence, offset)->n++;
}

void evidence_count_left_out (struct evidence *evidence, const char *list)
{
    number_list *left_out = (number_list *) &evidence->result.left_out;
    struct named_number *known = number_find (left_out, text_of (list));
    if (known) {
        known->value++;
        return;
    }
    struct named_number *room = evidence_next_slot (evidence, offsetof (struct result, left_out), NULL);
    *room = (struct named_number){ text_of (list), 1 };
    left_out->n++;
}

void evidence_put_if_room (struct evidence *evidence, size_t offset, uint32_t places, const void *item)
{
    const struct field *field = evidence_list_field (offset);
    size_t cost_bytes = json_record_wire_bytes (field->of, item);
    if (list_at (evidence, offset)->n >= places || cost_bytes + RESERVE_BYTES > evidence->left_bytes) {
        evidence_count_left_out (evidence, field->name);
        return;
    }
    evidence->left_bytes -= cost_bytes;
    evidence_put (evidence, offset, item);
}

/* ---- memory: what is said anew leaves its old words behind ---- */

static const size_t own_lists[] = {
    offsetof (struct result, policy),   offsetof (struct result, bundle), offsetof (struct result, facts),
    offsetof (struct result, counters), offsetof (struct result, checks), offsetof (struct result, programs),
    offsetof (struct result, metrics),  offsetof (struct result, notes),  offsetof (struct result, keys),
    offsetof (struct result, left_out),
};

static void move_list (struct evidence *evidence, size_t offset, struct arena *to)
{
    const struct field *field = evidence_list_field (offset);
    struct any_list *list = list_at (evidence, offset);
    size_t item_bytes = field->of->bytes;
    if (!list->items)
        return;
    char *items = arena_array (to, field->max, item_bytes);
    for (uint32_t i = 0; i < list->n; i++)
        record_copy (field->of, items + i * item_bytes, (char *) list->items + i * item_bytes, to);
    list->items = items;
}

void evidence_compact (struct evidence *evidence)
{
    struct arena fresh = { 0 };
    struct text *texts[] = { &evidence->nonce, &evidence->complaint, &evidence->result.bad_line,
                             &evidence->result.failure };
    if (evidence->arena.used_bytes < MEMORY_MAX_BYTES)
        return;
    for (size_t i = 0; i < sizeof own_lists / sizeof own_lists[0]; i++)
        move_list (evidence, own_lists[i], &fresh);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        *texts[i] = text_copy (&fresh, *texts[i]);
    record_copy (&backend_record, &evidence->result.backend, &evidence->result.backend, &fresh);
    arena_release (&evidence->arena);
    evidence->arena = fresh;
}
