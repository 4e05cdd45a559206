/* evidence_lists.c - what a program says in any number: checks, programs, notes. Where a result has no room for one,
 * what nobody judges is left out and counted; what is judged is not. */
#include "worker/protocol/evidence_state.h"

#include <math.h>

/* Of what a result may carry, for what is judged. */
enum { RESERVE_BYTES = 8 * 1024 };
/* More than one line may hold. */
enum { LINE_COST_BYTES = 1 << 20 };

static struct any_list *list_at (struct evidence *evidence, size_t offset)
{
    return (struct any_list *) ((char *) &evidence->result + offset);
}

int evidence_read (struct evidence *evidence, const json_t *line, const struct record *record, void *item,
                   struct err *err)
{
    struct json_purse purse = { &evidence->scratch, LINE_COST_BYTES };
    return json_read_record (line, record, item, &purse, err);
}

void evidence_put (struct evidence *evidence, size_t offset, const void *item)
{
    void *room = evidence_room (evidence, offset, NULL);
    record_copy (evidence_field (offset)->of, room, item, &evidence->arena);
    list_at (evidence, offset)->n++;
}

void evidence_leave_out (struct evidence *evidence, const char *list)
{
    number_list *left_out = (number_list *) &evidence->result.left_out;
    for (uint32_t i = 0; i < left_out->n; i++)
        if (text_is (left_out->items[i].name, list)) {
            left_out->items[i].value++;
            return;
        }
    struct number *room = evidence_room (evidence, offsetof (struct result, left_out), NULL);
    *room = (struct number){ text_of (list), 1 };
    left_out->n++;
}

void evidence_put_unjudged (struct evidence *evidence, size_t offset, uint32_t places, const void *item)
{
    const struct field *field = evidence_field (offset);
    size_t cost_bytes = json_record_cost (field->of, item);
    if (list_at (evidence, offset)->n >= places || cost_bytes + RESERVE_BYTES > evidence->left_bytes) {
        evidence_leave_out (evidence, field->name);
        return;
    }
    evidence->left_bytes -= cost_bytes;
    evidence_put (evidence, offset, item);
}

/* ---- checks: all must hold, so one that does not is what counts ---- */

static bool holds (const struct check *check)
{
    return fabs (check->observed - check->expected) <= check->tolerance;
}

static struct check *last_that_holds (struct evidence *evidence)
{
    for (uint32_t i = evidence->result.checks.n; i > 0; i--)
        if (holds (&evidence->result.checks.items[i - 1]))
            return &evidence->result.checks.items[i - 1];
    return NULL;
}

/* In the place of one that holds, where there is no other. */
static int put_failed (struct evidence *evidence, const struct check *check, struct err *err)
{
    bool full = evidence->result.checks.n == RESULT_CHECKS_MAX;
    struct check *other = full ? last_that_holds (evidence) : NULL;
    size_t freed_bytes = other ? json_record_cost (&check_record, other) : 0;
    if (full)
        evidence_leave_out (evidence, "checks");
    if (full && !other)
        return 0; /* it does not fail any more for this one */
    if (evidence_pay (evidence, json_record_cost (&check_record, check), freed_bytes, err) < 0)
        return -1;
    if (other)
        record_copy (&check_record, other, check, &evidence->arena);
    else
        evidence_put (evidence, offsetof (struct result, checks), check);
    return 0;
}

int evidence_take_check (struct evidence *evidence, const json_t *line, struct saying *saying, struct err *err)
{
    struct check check = { 0 };
    (void) saying;
    if (evidence_read (evidence, line, &check_record, &check, err) < 0)
        return -1;
    if (check.tolerance < 0)
        return err_set (err, ERR_PARSE, "tolerance: expected a number from 0");
    if (!holds (&check))
        return put_failed (evidence, &check, err);
    evidence_put_unjudged (evidence, offsetof (struct result, checks), RESULT_CHECKS_MAX, &check);
    return 0;
}

/* ---- programs, notes ---- */

int evidence_take_program (struct evidence *evidence, const json_t *line, struct saying *saying, struct err *err)
{
    struct program program = { 0 };
    (void) saying;
    if (evidence_read (evidence, line, &program_record, &program, err) < 0)
        return -1;
    for (uint32_t i = 0; i < evidence->result.programs.n; i++)
        if (record_equal (&program_record, &evidence->result.programs.items[i], &program))
            return 0;
    evidence_put_unjudged (evidence, offsetof (struct result, programs), RESULT_PROGRAMS_MAX, &program);
    return 0;
}

int evidence_take_note (struct evidence *evidence, const json_t *line, struct saying *saying, struct err *err)
{
    struct note note = { 0 };
    (void) saying;
    if (evidence_read (evidence, line, &note_record, &note, err) < 0)
        return -1;
    evidence_put_unjudged (evidence, offsetof (struct result, notes), RESULT_NOTES_MAX, &note);
    return 0;
}

/* ---- the backend: the last word counts ---- */

int evidence_take_backend (struct evidence *evidence, const json_t *line, struct saying *saying, struct err *err)
{
    struct backend *known = &evidence->result.backend, backend = { 0 };
    size_t freed_bytes = evidence->saw_backend ? json_record_cost (&backend_record, known) : 0;
    (void) saying;
    if (evidence_read (evidence, line, &backend_record, &backend, err) < 0 ||
        evidence_pay (evidence, json_record_cost (&backend_record, &backend), freed_bytes, err) < 0)
        return -1;
    if (!record_equal (&backend_record, known, &backend))
        record_copy (&backend_record, known, &backend, &evidence->arena);
    evidence->saw_backend = true;
    return 0;
}
