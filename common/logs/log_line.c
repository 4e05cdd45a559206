#include "common/logs/log_line.h"

#include <string.h>

#include "common/logs/words.h"

enum { ESCAPE_BYTE = 0x1b, SEQUENCE_MAX_BYTES = 256 };

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

/* Escaped text may be cut in the middle of "\x1b"; that is as good as anywhere else. */
uint32_t log_line_clean (struct text line, char *out, uint32_t bytes)
{
    LOCAL_BUF plain = { .max = 2 * LINE_REACH_BYTES };
    LOCAL_BUF safe = { .max = 16 * LINE_REACH_BYTES };
    for (uint32_t i = 0; i < line.len && plain.len < bytes; i++) {
        if (line.ptr[i] == ESCAPE_BYTE) {
            i += log_line_escape_bytes (line, i) - 1;
            continue;
        }
        if (!(line.ptr[i] == ' ' || (line.ptr[i] >= '\t' && line.ptr[i] <= '\r')))
            buf_byte (&plain, (uint8_t) line.ptr[i]);
        else if (plain.len && plain.ptr[plain.len - 1] != ' ')
            buf_byte (&plain, ' ');
    }
    buf_escaped (&safe, buf_as_text (&plain), 0);
    struct text fits = text_clip (buf_as_text (&safe), bytes);
    while (fits.len && fits.ptr[fits.len - 1] == ' ')
        fits.len--;
    memcpy (out, fits.len ? fits.ptr : "", fits.len);
    return fits.len;
}

/* The canonical codes of absl::Status, as its ToString prints them, and what ends a program. */
#define FATAL_WORDS                                                                                                    \
    "CANCELLED:|UNKNOWN:|INVALID_ARGUMENT:|DEADLINE_EXCEEDED:|NOT_FOUND:|ALREADY_EXISTS:|PERMISSION_DENIED:|"          \
    "UNAUTHENTICATED:|RESOURCE_EXHAUSTED:|FAILED_PRECONDITION:|ABORTED:|OUT_OF_RANGE:|UNIMPLEMENTED:|INTERNAL:|"       \
    "UNAVAILABLE:|DATA_LOSS:|FATAL|Fatal|fatal error|Check failed|terminate called|Segmentation fault|panic:|"         \
    "Assertion `|CRITICAL"
#define ERROR_WORDS "Error|error|ERROR|Exception|failed|Failed|Aborted|Killed"

const char log_line_words[] = FATAL_WORDS "|" ERROR_WORDS;

static bool is_one_of (char c, const char *set)
{
    return c && strchr (set, c);
}

/* glog's "E0604 12:45:24.926233": level, month and day, time. */
static char level_at_glog (struct text line)
{
    for (uint32_t i = 0; i + 8 < line.len; i++)
        if (is_one_of (line.ptr[i], "IWEF") && (i == 0 || !words_is_name (line.ptr[i - 1])) &&
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

/* I, W, E or F, as absl and TensorFlow write it, behind any prefix; 0: the line has no such level. */
static char letter_level (struct text line)
{
    char level = level_at_glog (line);
    return level ? level : level_at_source (line);
}

/* "jaxlib.xla_extension.XlaRuntimeError: ...", or nothing behind the name. */
static bool names_exception (struct text line)
{
    static const char *const ends[] = { "Error", "Exception" };
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t len = text_of (ends[k]).len, at = 0, next;
        for (; at < line.len && text_find (part (line, at, line.len), text_of (ends[k]), &next); at += next + len) {
            uint32_t from = at + next, to = from + len;
            if (from > 0 && words_is_name (line.ptr[from - 1]) && (to == line.len || line.ptr[to] == ':'))
                return true;
        }
    }
    return false;
}

enum log_line_grade log_line_grade (struct text line)
{
    enum log_level level = log_line_level (line);
    if (level == LEVEL_INFO || level == LEVEL_WARNING)
        return LINE_HARMLESS;
    if (level == LEVEL_FATAL || words_any_exact (line, FATAL_WORDS) || names_exception (line))
        return LINE_FATAL;
    return level == LEVEL_ERROR || words_any_exact (line, ERROR_WORDS) ? LINE_ERROR : LINE_PLAIN;
}

/* ---- levels ---- */

enum { LEVEL_REACH_BYTES = 120 };

static enum log_level level_of_letter (char c)
{
    static const char letters[] = "NIWEF"; /* as the levels stand in their enum */
    const char *at = c ? strchr (letters, c == 'D' ? 'I' : c) : NULL;
    return at ? (enum log_level) (at - letters) : LEVEL_NONE;
}

/* "[E626 10:11:12.3" of torch without the month's zero, "[W a.cpp:7]", "I 12-10 21:39:39 a.py:7]". */
static enum log_level level_at_letter (struct text body)
{
    uint32_t at = body.len && body.ptr[0] == '[', digits = 0;
    if (body.len < at + 3 || level_of_letter (body.ptr[at]) == LEVEL_NONE)
        return LEVEL_NONE;
    digits = text_digits_end (body, at + 1) - at - 1;
    if (at + 1 + digits >= body.len || body.ptr[at + 1 + digits] != ' ')
        return LEVEL_NONE;
    struct text behind = words_from (body, at + 2);
    struct text word = text_take_until (&behind, ' ');
    bool date = word.len == 5 && text_is_digit (word.ptr[0]) && word.ptr[2] == '-';
    bool source = date || words_any_exact (word, ".cc:|.cpp:|.cu:|.inc:|.h:|.py:|.go:");
    return digits == 3 || digits == 4 || (digits == 0 && source) ? level_of_letter (body.ptr[at]) : LEVEL_NONE;
}

static const struct {
    const char *word;
    enum log_level level;
} level_words[] = {
    { "debug", LEVEL_INFO },      { "info", LEVEL_INFO },    { "notice", LEVEL_INFO },  { "trace", LEVEL_INFO },
    { "warning", LEVEL_WARNING }, { "warn", LEVEL_WARNING }, { "error", LEVEL_ERROR },  { "err", LEVEL_ERROR },
    { "critical", LEVEL_FATAL },  { "fatal", LEVEL_FATAL },  { "severe", LEVEL_ERROR }, { "emerg", LEVEL_FATAL },
    { "exception", LEVEL_ERROR }, { "note", LEVEL_WARNING }, { "hint", LEVEL_WARNING }, { "tip", LEVEL_WARNING },
};

static enum log_level level_of_word (struct text word)
{
    char lower[16];
    if (word.len >= sizeof lower)
        return LEVEL_NONE;
    for (uint32_t i = 0; i < word.len; i++)
        lower[i] = (char) (word.ptr[i] | 0x20);
    for (size_t i = 0; i < sizeof level_words / sizeof level_words[0]; i++)
        if (text_equal ((struct text){ .ptr = lower, .len = word.len }, text_of (level_words[i].word)))
            return level_words[i].level;
    return LEVEL_NONE;
}

static bool is_capital (struct text word)
{
    for (uint32_t i = 0; i < word.len; i++)
        if (word.ptr[i] < 'A' || word.ptr[i] > 'Z')
            return false;
    return word.len > 0;
}

static char at_or_blank (struct text text, uint32_t at)
{
    return at < text.len ? text.ptr[at] : ' ';
}

/* In capitals anywhere near the beginning as a word of its own; otherwise in brackets, in front of a colon or as a value. */
static bool is_level_word (struct text body, uint32_t from, uint32_t to)
{
    struct text word = { .ptr = body.ptr + from, .len = to - from };
    char before = from ? body.ptr[from - 1] : '\n', after = at_or_blank (body, to);
    if (before == '\n' && (after == ':' || (is_capital (word) && (after == ' ' || after == '\t'))))
        return true;
    if ((before == '[' && after == ']') || (before == '|' && after == '|') || (before == '<' && after == '>'))
        return true;
    if (is_capital (word) && strchr (" |-:]", before) && strchr (" |-:[", after))
        return true;
    if (before == '=')
        return words_any ((struct text){ .ptr = body.ptr, .len = from }, "level=");
    return before == ' ' && after == ':' && from > 1 && strchr (":)", body.ptr[from - 2]); /* "a.c:7:1: error:" */
}

static enum log_level level_said (struct text body)
{
    struct text head = { .ptr = body.ptr, .len = body.len < LEVEL_REACH_BYTES ? body.len : LEVEL_REACH_BYTES };
    for (uint32_t from = 0, to; from < head.len; from = to + 1) {
        for (to = from; to < head.len && text_is_letter (head.ptr[to]); to++)
            ;
        enum log_level level = to > from ? level_of_word ((struct text){ head.ptr + from, to - from }) : LEVEL_NONE;
        if (level && is_level_word (body, from, to))
            return level;
    }
    return LEVEL_NONE;
}

/* "/a/b.py:17: UserWarning: ...", "FutureWarning: ..." */
static bool is_python_warning (struct text body)
{
    struct text head = { .ptr = body.ptr, .len = body.len < 4 * LEVEL_REACH_BYTES ? body.len : 4 * LEVEL_REACH_BYTES };
    struct text rest = body, name = text_take_until (&rest, ':');
    return words_any_exact (head, "Warning: ") && (words_any_exact (head, ".py:|<string>:|<stdin>:|sys:1") ||
                                                   (text_ends (name, "Warning") && text_span (name, "_.") == name.len));
}

enum log_level log_line_level (struct text body)
{
    body = text_trimmed (body);
    struct text head = { .ptr = body.ptr, .len = body.len < LEVEL_REACH_BYTES ? body.len : LEVEL_REACH_BYTES };
    enum log_level level = level_of_letter (letter_level (head));
    if (level == LEVEL_NONE)
        level = level_at_letter (body);
    if (level == LEVEL_NONE && (words_any_exact (body, "NCCL INFO") || words_any_exact (head, "] [I] ")))
        level = LEVEL_INFO;
    if (level == LEVEL_NONE && (words_any_exact (body, "NCCL WARN") || words_any_exact (head, "] [E] ")))
        level = LEVEL_ERROR; /* the cause stands there; what follows is its way out */
    if (level == LEVEL_NONE && (is_python_warning (body) || words_any_exact (head, "[W] ")))
        level = LEVEL_WARNING;
    return level ? level : level_said (body);
}
