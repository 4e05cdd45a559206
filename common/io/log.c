#include "common/io/log.h"

#include <stdarg.h>

#include "common/base/buf.h"

enum { LINE_BYTES_MAX = 2048 };

/* What is logged may quote a host: it is escaped, so one event stays one line and cannot drive the terminal. */
static void log_say (const struct log *log, const char *format, va_list args)
{
    char message[LINE_BYTES_MAX];
    int len = vsnprintf (message, sizeof message, format, args);
    if (len < 0)
        return;
    LOCAL_BUF line = { .max = 16 * LINE_BYTES_MAX };
    buf_puts (&line, log->program ? log->program : "sliceup");
    buf_puts (&line, ": ");
    buf_escaped (&line, text_of (message), 0);
    buf_puts (&line, len >= LINE_BYTES_MAX ? "...\n" : "\n");
    if (log->take) {
        log->take (buf_as_text (&line));
        return;
    }
    /* One write a line, so that processes do not mix lines. A failed write of a log cannot be reported. */
    size_t written = fwrite (line.ptr, 1, line.len, log->to);
    if (written == line.len)
        (void) fflush (log->to);
}

void log_print (const struct log *log, const char *format, ...)
{
    if (!log || !log->to)
        return;
    va_list args;
    va_start (args, format);
    log_say (log, format, args);
    va_end (args);
}

void log_detail (const struct log *log, const char *format, ...)
{
    if (!log || !log->to || !log->verbose)
        return;
    va_list args;
    va_start (args, format);
    log_say (log, format, args);
    va_end (args);
}
