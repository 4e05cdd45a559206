#include "common/base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/buf.h"

/* Longer reasons than this are cut: the sentence in front of them says more. */
enum { REASON_BYTES = 128 };

/* A cut must not leave half a character: the text is shown and sent on as UTF-8. */
static void trim_half_character (char *text, size_t len)
{
    size_t start = len;
    while (start > 0 && len - start < 4 && ((unsigned char) text[start - 1] & 0xC0) == 0x80)
        start--;
    if (start == 0 || (unsigned char) text[start - 1] < 0xC0)
        return;
    unsigned char lead = (unsigned char) text[start - 1];
    size_t want = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (len - (start - 1) < want)
        text[start - 1] = '\0';
}

/* One line, for a log or a terminal, whatever the arguments held: they quote hosts, files and programs. */
static void make_plain (char *text, size_t bytes)
{
    for (char *at = text; (at = strpbrk (at, "\n\r\t"));)
        *at = ' ';
    LOCAL_BUF safe = { .max = 16 * ERR_TEXT_BYTES };
    buf_escaped (&safe, text_of (text), 0);
    if ((size_t) snprintf (text, bytes, "%s", buf_c (&safe)) >= bytes)
        trim_half_character (text, bytes - 1);
}

/* Formats into `out`, cut to whole characters. Arguments may point into the replaced text; `out` is never that text. */
static void err_format_text (char *out, size_t out_bytes, const char *format, va_list args)
{
    int len = vsnprintf (out, out_bytes, format, args);
    if (len < 0)
        out[0] = '\0';
    else if ((size_t) len >= out_bytes)
        trim_half_character (out, out_bytes - 1);
    make_plain (out, out_bytes);
}

int err_set (struct err *err, enum err_code code, const char *format, ...)
{
    if (!err)
        return -1;
    char text[ERR_TEXT_BYTES];
    va_list args;
    va_start (args, format);
    err_format_text (text, sizeof text, format, args);
    va_end (args);
    err->code = code;
    memcpy (err->text, text, sizeof text);
    return -1;
}

const char *err_advice_for_errno (int number)
{
    switch (number) {
    case EMFILE: return " (raise this process's limit: ulimit -n, LimitNOFILE=)";
    case ENFILE: return " (end processes that hold many files, or raise fs.file-max)";
    case EFBIG: return " (raise this process's limit: ulimit -f, LimitFSIZE=, or that of the file system)";
    case ENOMEM: return " (raise this process's limits, ulimit -v and -d, or free memory)";
    default: return "";
    }
}

int err_errno (struct err *err, enum err_code code, const char *format, ...)
{
    int number = errno;
    if (!err)
        return -1;
    char room[REASON_BYTES];
    char reason[REASON_BYTES];
    snprintf (reason, sizeof reason, ": %s%s", strerror_r (number, room, sizeof room), err_advice_for_errno (number));
    char text[ERR_TEXT_BYTES];
    va_list args;
    va_start (args, format);
    /* The reason is kept even when the sentence is too long. */
    err_format_text (text, sizeof text - strlen (reason), format, args);
    va_end (args);
    strcat (text, reason);
    err->code = code;
    memcpy (err->text, text, sizeof text);
    return -1;
}

int err_prefix (struct err *err, const char *format, ...)
{
    if (!err)
        return -1;
    char text[ERR_TEXT_BYTES];
    va_list args;
    va_start (args, format);
    err_format_text (text, sizeof text, format, args);
    va_end (args);
    size_t len = strlen (text);
    int more = snprintf (text + len, sizeof text - len, ": %s", err->text);
    if (more > 0 && (size_t) more >= sizeof text - len)
        trim_half_character (text, sizeof text - 1);
    memcpy (err->text, text, sizeof text);
    return -1;
}
