#include "common/conf/yaml_syntax.h"

#include <string.h>

enum {
    STEP = 2,          /* blanks of one level, where the file does not show it */
    BRACKETS_MAX = 12, /* deeper ones are not looked at */
};

/* What a part of the library's sentence means for whoever writes the file. */
static const struct {
    const char *part, *meaning;
} meanings[] = {
    { "missing comma in flow", "a comma or the closing bracket is missing before this place; inside brackets, a text "
                               "with [ ] { } or , stands in quotes: {spare: 'n[2-3]'}" },
    { "extra closing", "this closing bracket has no opening one" },
    { "could not find expected ':'", "this line is no 'key: value'" },
    { "invalid multiline plain key", "the value that begins here ends in the next line, which has a key of its own; "
                                     "keys of one map begin in the same column" },
    { "invalid indentation in mapping", "this line is indented otherwise than the lines before it; keys of one map "
                                        "begin in the same column" },
    { "did not find expected '-' indicator", "this line is indented otherwise than the lines before it; keys of one "
                                             "map begin in the same column, and each item of a list with '- '" },
    { "did not find expected key", "a list item stands among the keys of a map; expected 'key: value'" },
    { "end of block sequence", "a key stands among the items of a list; expected '- ' at the beginning of each item" },
    { "nested block mapping on the same line", "a second key in one line; write it in the next line with more blanks "
                                               "before it, or in braces: {key: value}" },
    { "wrongly indented double-quoted", "the \" that begins here is not closed" },
    { "wrongly indented single-quoted", "the ' that begins here is not closed" },
    { "trailing content after", "more text behind the closing quote; inside '...' a ' is written twice" },
    { "plain scalar cannot start", "a text that begins with this character stands in quotes, such as '@spare'" },
    { "missing document start", "this line is no 'key: value'" },
};

static struct text take_line (struct text bytes, uint32_t number)
{
    struct text line = { 0 };
    for (uint32_t i = 0; i < number; i++)
        line = text_take_until (&bytes, '\n');
    if (line.len && line.ptr[line.len - 1] == '\r')
        line.len--;
    return line;
}

static uint32_t indentation (struct text line)
{
    uint32_t n = 0;
    while (n < line.len && (line.ptr[n] == ' ' || line.ptr[n] == '\t'))
        n++;
    return n;
}

/* As far as the line before it is, or a level deeper where that one begins a map or a list. */
static uint32_t wanted_indentation (struct text bytes, uint32_t line)
{
    while (--line > 0) {
        struct text before = take_line (bytes, line);
        uint32_t from = indentation (before);
        if (from < before.len && before.ptr[from] != '#' && !memchr (before.ptr, '\t', from))
            return from + (before.ptr[before.len - 1] == ':' ? STEP : 0);
    }
    return 0;
}

static bool explain_tab (struct yaml_error *error, struct text bytes, struct buf *out)
{
    struct text line = take_line (bytes, error->line);
    const char *tab = line.len ? memchr (line.ptr, '\t', indentation (line)) : NULL;
    if (!tab)
        return false;
    buf_printf (out,
                "a tab before the first word; YAML is indented with blanks only, expected %u of them in place of what "
                "is there",
                wanted_indentation (bytes, error->line));
    error->column = (uint32_t) (tab - line.ptr) + 1;
    return true;
}

struct bracket {
    char what;
    uint32_t line, column;
};

/* Where a value may begin, so that a bracket or quote is not part of a word. */
static bool begins_value (struct text bytes, uint32_t at)
{
    uint32_t before = at;
    while (before > 0 && bytes.ptr[before - 1] == ' ')
        before--;
    char c = before > 0 ? bytes.ptr[before - 1] : '\n';
    return c == '\n' || strchr (",[{", c) || (before < at && strchr (":-", c));
}

/* Past a quoted text or a comment that begins here; else `at`. */
static uint32_t pass_over (struct text bytes, uint32_t at)
{
    char c = bytes.ptr[at];
    bool comment = c == '#' && (at == 0 || strchr (" \n", bytes.ptr[at - 1]));
    if (!comment && ((c != '"' && c != '\'') || !begins_value (bytes, at)))
        return at;
    const char *end = memchr (bytes.ptr + at + 1, comment ? '\n' : c, bytes.len - at - 1);
    return end ? (uint32_t) (end - bytes.ptr) : at;
}

/* The first bracket that is closed by another one, or never. */
static bool find_unclosed (struct text bytes, struct bracket *found)
{
    struct bracket open[BRACKETS_MAX];
    uint32_t n = 0, line = 1, line_from = 0;
    for (uint32_t i = 0, to = 0; i < bytes.len; i++) {
        char c = bytes.ptr[i];
        if (i >= to)
            to = pass_over (bytes, i);
        if (c == '\n') {
            line++;
            line_from = i + 1;
        } else if (i < to) {
            continue;
        } else if ((c == '[' || c == '{') && n < BRACKETS_MAX && (n > 0 || begins_value (bytes, i))) {
            open[n++] = (struct bracket){ c, line, i - line_from + 1 };
        } else if ((c == ']' || c == '}') && n > 0) {
            *found = open[--n];
            if (found->what != (c == ']' ? '[' : '{'))
                return true;
        }
    }
    if (n > 0)
        *found = open[0];
    return n > 0;
}

static bool explain_bracket (struct yaml_error *error, struct text bytes, struct buf *out)
{
    struct bracket bracket;
    if (!find_unclosed (bytes, &bracket) || bracket.line > error->line)
        return false;
    bool list = bracket.what == '[';
    buf_printf (out, "this %c is not closed; expected a %c behind the last %s", bracket.what, list ? ']' : '}',
                list ? "item" : "value");
    error->line = bracket.line;
    error->column = bracket.column;
    return true;
}

/* A value that is written to its key: "mode:off". */
static bool explain_colon (struct yaml_error *error, struct text bytes, struct buf *out)
{
    struct text rest = take_line (bytes, error->line), key;
    uint32_t skipped = indentation (rest);
    rest = (struct text){ rest.ptr + skipped, rest.len - skipped };
    if (!strstr (error->reason, "expected ':'") || !text_cut (&rest, ':', &key) || rest.len == 0 || rest.ptr[0] == ' ')
        return false;
    buf_printf (out, "a blank is missing behind the colon; write '%.*s: %.*s'", TEXT_ARG (key), TEXT_ARG (rest));
    error->column = skipped + key.len + 2;
    return true;
}

void yaml_explain_error (struct yaml_error *error, struct text bytes, struct buf *out)
{
    if (explain_tab (error, bytes, out) || explain_bracket (error, bytes, out) || explain_colon (error, bytes, out))
        return;
    const char *meaning = error->reason;
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++)
        if (strstr (error->reason, meanings[i].part)) {
            meaning = meanings[i].meaning;
            break;
        }
    bool conflict = text_starts (take_line (bytes, error->line), "<<<<<<<");
    buf_puts (out, conflict ? "a conflict of a merge, which nobody resolved" : meaning);
}

const char *yaml_explain_bytes (struct text line)
{
    if (text_starts (line, "\xff\xfe") || text_starts (line, "\xfe\xff"))
        return "the file is UTF-16, expected UTF-8; convert it: iconv -f UTF-16 -t UTF-8";
    if (memchr (line.ptr, '\r', line.len))
        return "a carriage return within a line, expected line ends of a line feed; convert the file: tr '\\r' '\\n'";
    return "this line has bytes that are not text, expected UTF-8 without control characters";
}
