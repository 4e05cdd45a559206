#include "worker/probe/child_report.h"

#include "worker/process/subprocess.h"
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static const char *const stages[STAGE_N] = {
    "none",    "file",     "load",    "interface", "initialize", "attributes", "client",        "platform", "devices",
    "compile", "transfer", "execute", "read",      "serialize",  "reload",     "execute-again", "memory",   "close",
};
const struct enum_names stage_names = NAMES (stages);
static const char *const words[] = { "none", "step", "call", "value", "note", "lacks", "refused", "wrong", "done" };
static const struct enum_names word_names = NAMES (words);

static const struct field probe_statement_fields[] = {
    F_ENUM (1, struct probe_statement, word, &word_names),
    F_ENUM (2, struct probe_statement, stage, &stage_names),
    F_TEXT (3, struct probe_statement, name, REPORTER_NAME_MAX),
    F_BYTES (4, struct probe_statement, text, REPORTER_TEXT_MAX), /* a plugin's words need not be UTF-8 */
    F_U32 (5, struct probe_statement, code, UINT32_MAX),
    F_ENUM (6, struct probe_statement, owner, &owner_names),
};
const struct record probe_statement_record = RECORD ("statement of the probe", struct probe_statement,
                                                     probe_statement_fields);

static void child_report_say (struct probe_statement statement)
{
    char clean[REPORTER_TEXT_MAX];
    uint32_t n = 0;
    for (uint32_t i = 0; i < statement.text.len && n < REPORTER_TEXT_MAX; i++)
        if (statement.text.ptr[i] != '\0')
            clean[n++] = statement.text.ptr[i];
    statement.text = (struct text){ clean, n };
    if (packet_send (REPORTER_FD, &probe_statement_record, &statement, NULL) < 0)
        _exit (REPORTER_EXIT_CLOSED);
}

void child_report_step (enum probe_stage stage)
{
    child_report_say ((struct probe_statement){ .word = PROBE_SAYS_STEP, .stage = stage });
}

void child_report_call (const char *function)
{
    child_report_say ((struct probe_statement){ .word = PROBE_SAYS_CALL, .name = text_of (function) });
}

void child_report_value (const char *name, struct text value)
{
    child_report_say ((struct probe_statement){ .word = PROBE_SAYS_VALUE, .name = text_of (name), .text = value });
}

void child_report_number (const char *name, int64_t value)
{
    char digits[24];
    snprintf (digits, sizeof digits, "%" PRId64, value);
    child_report_value (name, text_of (digits));
}

/* What is too long is cut: a sentence of ours may quote a plugin. */
static struct text child_report_format_text (char text[REPORTER_TEXT_MAX + 1], const char *format, va_list args)
{
    (void) vsnprintf (text, REPORTER_TEXT_MAX + 1, format, args);
    return text_of (text);
}

void child_report_note (const char *format, ...)
{
    char text[REPORTER_TEXT_MAX + 1];
    va_list args;
    va_start (args, format);
    child_report_say (
        (struct probe_statement){ .word = PROBE_SAYS_NOTE, .text = child_report_format_text (text, format, args) });
    va_end (args);
}

int child_report_refused (int code, struct text text)
{
    child_report_say ((struct probe_statement){ .word = PROBE_SAYS_REFUSED, .code = (uint32_t) code, .text = text });
    return -1;
}

int child_report_failure (bool lacks, int code, struct text text)
{
    if (!lacks)
        return child_report_refused (code, text);
    child_report_say ((struct probe_statement){ .word = PROBE_SAYS_LACKS, .text = text });
    return 0;
}

int child_report_wrong (enum owner owner, const char *format, ...)
{
    char text[REPORTER_TEXT_MAX + 1];
    va_list args;
    va_start (args, format);
    child_report_say ((struct probe_statement){
        .word = PROBE_SAYS_WRONG, .owner = owner, .text = child_report_format_text (text, format, args) });
    va_end (args);
    return -1;
}

void child_report_done (void)
{
    child_report_say ((struct probe_statement){ .word = PROBE_SAYS_DONE });
}
