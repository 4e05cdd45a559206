#include "worker/probe/report.h"

void probe_report_init (struct probe_report *report)
{
    *report = (struct probe_report){ .end = PROBE_RUNNING };
    buf_init (&report->output, OUTPUT_KEPT_BYTES);
}

void probe_report_release (struct probe_report *report)
{
    buf_release (&report->output);
    arena_release (&report->arena);
}

struct text probe_report_find_value (const struct probe_report *report, const char *name)
{
    for (uint32_t i = 0; i < report->findings_n; i++)
        if (text_is (report->findings[i].name, name))
            return report->findings[i].value;
    return (struct text){ 0 };
}

bool probe_report_find_number (const struct probe_report *report, const char *name, uint64_t *out)
{
    return text_to_u64 (probe_report_find_value (report, name), out);
}

/* ---- hearing ---- */

static bool is_name (struct text name)
{
    for (uint32_t i = 0; i < name.len; i++)
        if (!((name.ptr[i] >= 'a' && name.ptr[i] <= 'z') || (name.ptr[i] >= '0' && name.ptr[i] <= '9') ||
              name.ptr[i] == '.' || name.ptr[i] == '_'))
            return false;
    return name.len > 0;
}

static bool receive_step (struct probe_report *report, enum probe_stage stage)
{
    enum probe_stage last = report->steps_n ? report->steps[report->steps_n - 1].stage : STAGE_NONE;
    if (stage <= last)
        return false; /* each is done once, in their order */
    report->steps[report->steps_n++] = (struct probe_step){ .stage = stage };
    report->call[0] = '\0';
    return true;
}

static bool receive_finding (struct probe_report *report, const struct probe_statement *said)
{
    if (!is_name (said->name) || report->findings_n == FINDINGS_MOST)
        return false;
    struct text name = text_copy (&report->arena, said->name);
    if (probe_report_find_value (report, name.ptr).ptr)
        return false;
    struct text value = text_copy (&report->arena, said->text);
    report->findings[report->findings_n++] = (struct var){ name, value };
    return true;
}

static bool receive_note (struct probe_report *report, struct text note)
{
    if (report->notes_n == NOTES_MOST)
        return false;
    report->notes[report->notes_n++] = note;
    return true;
}

static bool receive_lack (struct probe_report *report, struct text why)
{
    if (!report->steps_n)
        return false;
    struct probe_step *step = &report->steps[report->steps_n - 1];
    step->lacks = true;
    step->why = why;
    return true;
}

static bool receive_end (struct probe_report *report, enum probe_end end, const struct probe_statement *said)
{
    report->end = end;
    report->code = (int) said->code;
    report->owner = said->owner;
    report->words = said->text;
    return end != PROBE_WRONG || said->owner != OWNER_NONE;
}

/* A word of C: whoever shows it need not escape it. */
static bool receive_call (struct probe_report *report, struct text name)
{
    for (uint32_t i = 0; i < name.len; i++)
        if (!((name.ptr[i] | 32) >= 'a' && (name.ptr[i] | 32) <= 'z') && name.ptr[i] != '_')
            return false;
    return text_to_c (name, report->call, sizeof report->call);
}

/* Done is what went through all of its steps. */
static bool receive_done (struct probe_report *report, const struct probe_statement *said)
{
    enum probe_stage last = report->client ? STAGE_CLOSE : STAGE_ATTRIBUTES;
    if (!report->steps_n || report->steps[report->steps_n - 1].stage != last)
        return false;
    return receive_end (report, PROBE_WORKS, said);
}

static bool receive (struct probe_report *report, const struct probe_statement *said)
{
    if (report->end != PROBE_RUNNING)
        return false; /* it had said how it ended */
    switch (said->word) {
    case PROBE_SAYS_STEP: return receive_step (report, said->stage);
    case PROBE_SAYS_CALL: return receive_call (report, said->name);
    case PROBE_SAYS_VALUE: return receive_finding (report, said);
    case PROBE_SAYS_NOTE: return receive_note (report, said->text);
    case PROBE_SAYS_LACKS: return receive_lack (report, said->text);
    case PROBE_SAYS_REFUSED: return receive_end (report, PROBE_REFUSED, said);
    case PROBE_SAYS_WRONG: return receive_end (report, PROBE_WRONG, said);
    case PROBE_SAYS_DONE: return receive_done (report, said);
    case PROBE_SAYS_NOTHING: break;
    }
    return false;
}

bool probe_report_receive (struct probe_report *report, const struct probe_statement *said, struct text bytes,
                           uint64_t ms)
{
    if (report->end == PROBE_BABBLED)
        return false;
    if (report->steps_n)
        report->steps[report->steps_n - 1].ms += ms;
    if (said && receive (report, said))
        return true;
    report->end = PROBE_BABBLED;
    report->words = text_clip (bytes, WORD_MAX_BYTES);
    return false;
}
