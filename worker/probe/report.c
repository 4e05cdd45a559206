#include "worker/probe/report.h"

#include <stdlib.h>
#include <string.h>

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

/* The first word of `rest`, which goes on behind it. */
static struct text take_word (struct text *rest)
{
    struct text word = { rest->ptr, 0 };
    while (word.len < rest->len && rest->ptr[word.len] != ' ')
        word.len++;
    uint32_t used = word.len + (word.len < rest->len);
    *rest = (struct text){ rest->ptr + used, rest->len - used };
    return word;
}

static struct text unescaped (struct probe_report *report, struct text raw)
{
    char *copy = arena_alloc (&report->arena, raw.len + 1);
    uint32_t len = 0;
    for (uint32_t i = 0; i < raw.len; i++) {
        bool escaped = raw.ptr[i] == '\\' && i + 1 < raw.len;
        char c = raw.ptr[escaped ? ++i : i];
        copy[len++] = escaped && c == 'n' ? '\n' : c;
    }
    return (struct text){ copy, len };
}

static bool is_name (struct text name)
{
    for (uint32_t i = 0; i < name.len; i++)
        if (!((name.ptr[i] >= 'a' && name.ptr[i] <= 'z') || (name.ptr[i] >= '0' && name.ptr[i] <= '9') ||
              name.ptr[i] == '.' || name.ptr[i] == '_'))
            return false;
    return name.len > 0 && name.len <= REPORTER_NAME_MAX;
}

static bool receive_step (struct probe_report *report, struct text name)
{
    uint32_t stage, last = report->steps_n ? report->steps[report->steps_n - 1].stage : STAGE_NONE;
    if (!enum_value_of (&stage_names, name, &stage) || stage <= last)
        return false; /* each is done once, in their order */
    report->steps[report->steps_n++] = (struct probe_step){ .stage = (enum probe_stage) stage };
    report->call[0] = '\0';
    return true;
}

static bool receive_finding (struct probe_report *report, struct text rest)
{
    struct text name = take_word (&rest);
    if (!is_name (name) || report->findings_n == FINDINGS_MOST)
        return false;
    name = text_copy (&report->arena, name);
    if (probe_report_find_value (report, name.ptr).ptr)
        return false;
    report->findings[report->findings_n++] = (struct var){ name, unescaped (report, rest) };
    return true;
}

static bool receive_note (struct probe_report *report, struct text rest)
{
    if (report->notes_n == NOTES_MOST)
        return false;
    report->notes[report->notes_n++] = unescaped (report, rest);
    return true;
}

static bool receive_lack (struct probe_report *report, struct text rest)
{
    if (!report->steps_n)
        return false;
    struct probe_step *step = &report->steps[report->steps_n - 1];
    step->lacks = true;
    step->why = unescaped (report, rest);
    return true;
}

static bool receive_refusal (struct probe_report *report, struct text rest)
{
    char number[16];
    struct text code = take_word (&rest);
    if (!text_to_c (code, number, sizeof number))
        return false;
    report->end = PROBE_REFUSED;
    report->code = (int) strtol (number, NULL, 10);
    report->words = unescaped (report, rest);
    return true;
}

static bool receive_wrong (struct probe_report *report, struct text rest)
{
    uint32_t owner;
    if (!enum_value_of (&owner_names, take_word (&rest), &owner))
        return false;
    report->end = PROBE_WRONG;
    report->owner = (enum owner) owner;
    report->words = unescaped (report, rest);
    return true;
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
static bool receive_done (struct probe_report *report, struct text rest)
{
    enum probe_stage last = report->client ? STAGE_CLOSE : STAGE_ATTRIBUTES;
    if (rest.len || !report->steps_n || report->steps[report->steps_n - 1].stage != last)
        return false;
    report->end = PROBE_WORKS;
    return true;
}

static bool receive (struct probe_report *report, struct text line)
{
    struct text rest = line, word = take_word (&rest);
    if (report->end != PROBE_RUNNING)
        return false; /* it had said how it ended */
    if (text_is (word, "step"))
        return receive_step (report, rest);
    if (text_is (word, "call"))
        return receive_call (report, rest);
    if (text_is (word, "is"))
        return receive_finding (report, rest);
    if (text_is (word, "note"))
        return receive_note (report, rest);
    if (text_is (word, "lacks"))
        return receive_lack (report, rest);
    if (text_is (word, "refused"))
        return receive_refusal (report, rest);
    if (text_is (word, "wrong"))
        return receive_wrong (report, rest);
    return text_is (word, "done") && receive_done (report, rest);
}

bool probe_report_receive (struct probe_report *report, struct text line, uint64_t ms)
{
    if (report->end == PROBE_BABBLED)
        return false;
    if (report->steps_n)
        report->steps[report->steps_n - 1].ms += ms;
    if (!memchr (line.ptr, '\0', line.len) && receive (report, line))
        return true;
    report->end = PROBE_BABBLED;
    report->words = text_copy (&report->arena, text_clip (line, WORD_MAX_BYTES));
    return false;
}
