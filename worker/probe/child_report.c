#include "worker/probe/child_report.h"

#include "common/base/buf.h"
#include "common/io/fd.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void add_escaped (struct buf *line, struct text text)
{
    for (uint32_t i = 0; i < text.len && i < REPORTER_TEXT_MAX; i++) {
        if (text.ptr[i] == '\n')
            buf_puts (line, "\\n");
        else if (text.ptr[i] == '\\')
            buf_puts (line, "\\\\");
        else if (text.ptr[i] != '\0')
            buf_byte (line, (uint8_t) text.ptr[i]);
    }
}

static void say (const char *word, const char *name, const struct text *text)
{
    struct buf line;
    buf_init (&line, REPORTER_LINE_MAX);
    buf_puts (&line, word);
    if (name)
        buf_printf (&line, " %s", name);
    if (text) {
        buf_byte (&line, ' ');
        add_escaped (&line, *text);
    }
    buf_byte (&line, '\n');
    if (fd_write (REPORTER_FD, line.ptr, line.len) < 0)
        _exit (REPORTER_EXIT_PIPE_CLOSED);
    buf_release (&line);
}

void child_report_step (enum probe_stage stage)
{
    say ("step", enum_name_of (&stage_names, stage), NULL);
}

void child_report_call (const char *function)
{
    say ("call", function, NULL);
}

void child_report_value (const char *name, struct text value)
{
    say ("is", name, &value);
}

void child_report_number (const char *name, int64_t value)
{
    struct arena arena = { 0 };
    child_report_value (name, text_format (&arena, "%" PRId64, value));
    arena_release (&arena);
}

/* Cuts what is too long: a sentence of ours may quote a plugin. */
static struct text format_text (struct buf *buf, const char *format, va_list args)
{
    char *text = NULL;
    int len = vasprintf (&text, format, args);
    if (len < 0)
        abort ();
    buf_init (buf, REPORTER_TEXT_MAX);
    buf_add (buf, text, len < REPORTER_TEXT_MAX ? (size_t) len : REPORTER_TEXT_MAX);
    free (text);
    return buf_as_text (buf);
}

void child_report_note (const char *format, ...)
{
    struct buf buf;
    va_list args;
    va_start (args, format);
    struct text text = format_text (&buf, format, args);
    va_end (args);
    say ("note", NULL, &text);
    buf_release (&buf);
}

int child_report_refused (int code, struct text text)
{
    char number[16];
    snprintf (number, sizeof number, "%d", code);
    say ("refused", number, &text);
    return -1;
}

int child_report_failure (bool lacks, int code, struct text text)
{
    if (!lacks)
        return child_report_refused (code, text);
    say ("lacks", NULL, &text);
    return 0;
}

int child_report_wrong (enum owner owner, const char *format, ...)
{
    struct buf buf;
    va_list args;
    va_start (args, format);
    struct text text = format_text (&buf, format, args);
    va_end (args);
    say ("wrong", enum_name_of (&owner_names, owner), &text);
    buf_release (&buf);
    return -1;
}

void child_report_done (void)
{
    say ("done", NULL, NULL);
}
