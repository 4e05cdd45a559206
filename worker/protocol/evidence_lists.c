/* evidence_lists.c - what a program says in any number: checks, programs, notes. Where a result has no room for one,
 * what nobody judges is left out and counted; what is judged is not. */
#include "worker/protocol/evidence_state.h"

#include <math.h>

/* ---- checks: all must hold, so one that does not is what counts ---- */

static bool holds (const struct value_check *check)
{
    return fabs (check->observed - check->expected) <= check->tolerance;
}

static struct value_check *last_that_holds (struct evidence *evidence)
{
    for (uint32_t i = evidence->result.checks.n; i > 0; i--)
        if (holds (&evidence->result.checks.items[i - 1]))
            return &evidence->result.checks.items[i - 1];
    return NULL;
}

/* When the list is full, it takes the place of a check that holds. */
static int put_failed (struct evidence *evidence, const struct value_check *check, struct err *err)
{
    bool full = evidence->result.checks.n == RESULT_CHECKS_MAX;
    struct value_check *other = full ? last_that_holds (evidence) : NULL;
    size_t freed_bytes = other ? json_record_wire_bytes (&check_record, other) : 0;
    if (full)
        evidence_count_left_out (evidence, "checks");
    if (full && !other)
        return 0; /* all of them fail: one more changes nothing */
    if (evidence_pay (evidence, json_record_wire_bytes (&check_record, check), freed_bytes, err) < 0)
        return -1;
    if (other)
        record_copy (&check_record, other, check, &evidence->arena);
    else
        evidence_put (evidence, offsetof (struct result, checks), check);
    return 0;
}

int evidence_take_check (struct evidence *evidence, const json_t *line, struct statement *statement, struct err *err)
{
    struct value_check check = { 0 };
    (void) statement;
    if (evidence_read_record (evidence, line, &check_record, &check, err) < 0)
        return -1;
    if (check.tolerance < 0)
        return err_set (err, ERR_PARSE, "tolerance: expected a number of at least 0");
    if (!holds (&check))
        return put_failed (evidence, &check, err);
    evidence_put_if_room (evidence, offsetof (struct result, checks), RESULT_CHECKS_MAX, &check);
    return 0;
}

/* ---- programs, notes ---- */

int evidence_take_program (struct evidence *evidence, const json_t *line, struct statement *statement, struct err *err)
{
    struct program_fingerprint program = { 0 };
    (void) statement;
    if (evidence_read_record (evidence, line, &program_record, &program, err) < 0)
        return -1;
    for (uint32_t i = 0; i < evidence->result.programs.n; i++)
        if (record_equal (&program_record, &evidence->result.programs.items[i], &program))
            return 0;
    evidence_put_if_room (evidence, offsetof (struct result, programs), RESULT_PROGRAMS_MAX, &program);
    return 0;
}

int evidence_take_note (struct evidence *evidence, const json_t *line, struct statement *statement, struct err *err)
{
    struct result_note note = { 0 };
    (void) statement;
    if (evidence_read_record (evidence, line, &note_record, &note, err) < 0)
        return -1;
    evidence_put_if_room (evidence, offsetof (struct result, notes), RESULT_NOTES_MAX, &note);
    return 0;
}

/* ---- the backend: the last word counts ---- */

int evidence_take_backend (struct evidence *evidence, const json_t *line, struct statement *statement, struct err *err)
{
    struct observed_backend *known = &evidence->result.backend, backend = { 0 };
    size_t freed_bytes = evidence->saw_backend ? json_record_wire_bytes (&backend_record, known) : 0;
    (void) statement;
    if (evidence_read_record (evidence, line, &backend_record, &backend, err) < 0 ||
        evidence_pay (evidence, json_record_wire_bytes (&backend_record, &backend), freed_bytes, err) < 0)
        return -1;
    if (!record_equal (&backend_record, known, &backend))
        record_copy (&backend_record, known, &backend, &evidence->arena);
    evidence->saw_backend = true;
    return 0;
}
