#include "common/logs/log_line.h"

#include <string.h>

enum { ESCAPE_BYTE = 0x1b, SEQUENCE_MAX_BYTES = 256 };

static bool log_line_is_word (char c)
{
    return text_is_letter (c) || text_is_digit (c) || c == '_';
}

static struct text part (struct text text, uint32_t from, uint32_t to)
{
    return (struct text){ .ptr = text.ptr + from, .len = to - from };
}

/* A carriage return that is not half of a line end. */
static bool overprints (struct text window, uint32_t at)
{
    return window.ptr[at] == '\r' && at + 1 < window.len && window.ptr[at + 1] != '\n';
}

struct text log_line_around (struct text window, uint32_t at)
{
    uint32_t least = at > LINE_REACH_BYTES ? at - LINE_REACH_BYTES : 0, from = at, to = at;
    uint32_t most = window.len - at > LINE_REACH_BYTES ? at + LINE_REACH_BYTES : window.len;
    while (from > least && window.ptr[from - 1] != '\n' && !overprints (window, from - 1))
        from--;
    while (to < most && window.ptr[to] != '\n' && !(to > at && overprints (window, to)))
        to++;
    return part (window, from, to);
}

/* ECMA-48: ESC [ parameters, intermediates, final; ESC ] up to BEL or ESC \; ESC intermediates final. */
uint32_t log_line_escape_bytes (struct text window, uint32_t at)
{
    uint32_t end = window.len - at > SEQUENCE_MAX_BYTES ? at + SEQUENCE_MAX_BYTES : window.len, i = at + 1;
    if (i >= end)
        return 1;
    if (window.ptr[i] == ']') {
        while (i < end && window.ptr[i] != '\a' && window.ptr[i] != ESCAPE_BYTE && window.ptr[i] != '\n')
            i++;
        if (i < end && window.ptr[i] == '\a')
            return i + 1 - at;
        return i + 1 < end && window.ptr[i] == ESCAPE_BYTE && window.ptr[i + 1] == '\\' ? i + 2 - at : 1;
    }
    bool control = window.ptr[i] == '[';
    for (i += control; i < end && window.ptr[i] >= ' ' && window.ptr[i] <= (control ? '?' : '/'); i++)
        ;
    return i < end && window.ptr[i] >= '0' && window.ptr[i] <= '~' ? i + 1 - at : 1;
}

static bool log_line_is_blank (char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Escaped text may be cut in the middle of "\x1b"; that is as good as anywhere else. */
uint32_t log_line_clean (struct text line, char *out, uint32_t bytes)
{
    struct buf plain, safe;
    buf_init (&plain, 2 * LINE_REACH_BYTES);
    buf_init (&safe, 16 * LINE_REACH_BYTES);
    for (uint32_t i = 0; i < line.len && plain.len < bytes; i++) {
        if (line.ptr[i] == ESCAPE_BYTE) {
            i += log_line_escape_bytes (line, i) - 1;
            continue;
        }
        if (!log_line_is_blank (line.ptr[i]))
            buf_byte (&plain, (uint8_t) line.ptr[i]);
        else if (plain.len && plain.ptr[plain.len - 1] != ' ')
            buf_byte (&plain, ' ');
    }
    buf_escaped (&safe, buf_as_text (&plain), 0);
    struct text fits = text_clip (buf_as_text (&safe), bytes);
    while (fits.len && fits.ptr[fits.len - 1] == ' ')
        fits.len--;
    memcpy (out, fits.len ? fits.ptr : "", fits.len);
    buf_release (&plain);
    buf_release (&safe);
    return fits.len;
}

static bool has (struct text line, const char *const *words, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (text_find (line, text_of (words[i]), NULL))
            return true;
    return false;
}

/* The canonical codes of absl::Status, as its ToString prints them. */
#define STATUS_WORDS                                                                                                   \
    "CANCELLED:", "UNKNOWN:", "INVALID_ARGUMENT:", "DEADLINE_EXCEEDED:", "NOT_FOUND:", "ALREADY_EXISTS:",              \
        "PERMISSION_DENIED:", "UNAUTHENTICATED:", "RESOURCE_EXHAUSTED:", "FAILED_PRECONDITION:", "ABORTED:",           \
        "OUT_OF_RANGE:", "UNIMPLEMENTED:", "INTERNAL:", "UNAVAILABLE:", "DATA_LOSS:"
#define FATAL_WORDS                                                                                                    \
    "FATAL", "Fatal", "fatal error", "Check failed", "terminate called", "Segmentation fault",                         \
        "panic:", "Assertion `", "CRITICAL"
#define ERROR_WORDS "Error", "error", "ERROR", "Exception", "failed", "Failed", "Aborted", "Killed"

static const char *const fatal_words[] = { STATUS_WORDS, FATAL_WORDS };
static const char *const error_words[] = { ERROR_WORDS };

static bool is_one_of (char c, const char *set)
{
    return c && strchr (set, c);
}

/* glog's "E0604 12:45:24.926233": level, month and day, time. */
static char level_at_glog (struct text line)
{
    for (uint32_t i = 0; i + 8 < line.len; i++)
        if (is_one_of (line.ptr[i], "IWEF") && (i == 0 || !log_line_is_word (line.ptr[i - 1])) &&
            text_is_digit (line.ptr[i + 1]) && text_is_digit (line.ptr[i + 2]) && text_is_digit (line.ptr[i + 3]) &&
            text_is_digit (line.ptr[i + 4]) && line.ptr[i + 5] == ' ' && text_is_digit (line.ptr[i + 6]) &&
            text_is_digit (line.ptr[i + 7]) && line.ptr[i + 8] == ':')
            return line.ptr[i];
    return 0;
}

/* "2025-01-01 10:00:00.000000: E external/xla/..." of TensorFlow's logging, "W torch_xla/..." of torch_xla's. */
static char level_at_source (struct text line)
{
    uint32_t source;
    if (!text_find (line, TEXT_LIT (".cc:"), &source))
        return 0;
    for (uint32_t i = source; i > 1; i--)
        if (line.ptr[i - 1] == ' ')
            return is_one_of (line.ptr[i - 2], "IWEF") && (i == 2 || line.ptr[i - 3] == ' ') ? line.ptr[i - 2] : 0;
    return 0;
}

/* Of Python's logging: "WARNING:2025-01-01 10:00:00,000:jax._src.compiler:...". Exceptions have no such words. */
static char level_in_words (struct text line)
{
    static const char *const harmless[] = { "DEBUG:", "INFO:", "WARNING:", "DEBUG ", "INFO ", "WARNING ", "Warning: " };
    return has (line, harmless, sizeof harmless / sizeof *harmless) ? 'W' : 0;
}

char log_line_level (struct text line)
{
    char level = level_at_glog (line);
    return level ? level : level_at_source (line);
}

static char level_of (struct text line)
{
    char level = log_line_level (line);
    return level ? level : level_in_words (line);
}

/* "jaxlib.xla_extension.XlaRuntimeError: ...", or nothing behind the name. */
static bool names_exception (struct text line)
{
    static const char *const ends[] = { "Error", "Exception" };
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t len = text_of (ends[k]).len, at = 0, next;
        for (; at < line.len && text_find (part (line, at, line.len), text_of (ends[k]), &next); at += next + len) {
            uint32_t from = at + next, to = from + len;
            if (from > 0 && log_line_is_word (line.ptr[from - 1]) && (to == line.len || line.ptr[to] == ':'))
                return true;
        }
    }
    return false;
}

enum log_line_grade log_line_grade (struct text line)
{
    char level = level_of (line);
    if (level == 'I' || level == 'W')
        return LINE_HARMLESS;
    if (level == 'F' || has (line, fatal_words, sizeof fatal_words / sizeof *fatal_words) || names_exception (line))
        return LINE_FATAL;
    return level == 'E' || has (line, error_words, sizeof error_words / sizeof *error_words) ? LINE_ERROR : LINE_PLAIN;
}
