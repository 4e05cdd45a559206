#include "coordinator/czmq/zpl.h"

#include <string.h>

enum { INDENT = 4 };
static const char blanks[] = " \t\r";
/* zconfig takes '/' as well, as long as it does not begin or end a name; in a path it would be another thing. */
static const char name_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789$-_@.&+";

static uint32_t run_of (struct text from, const char *letters)
{
    uint32_t n = 0;
    while (n < from.len && from.ptr[n] && strchr (letters, from.ptr[n]))
        n++;
    return n;
}

static struct text after (struct text from, uint32_t n)
{
    return (struct text){ from.ptr + n, from.len - n };
}

static struct text skip (struct text from, const char *letters)
{
    return after (from, run_of (from, letters));
}

static bool is_over (struct text rest)
{
    rest = skip (rest, blanks);
    return rest.len == 0 || rest.ptr[0] == '#';
}

static bool value_is_plain (struct text value)
{
    if (value.len == 0 || (value.ptr[0] != '"' && value.ptr[0] != '\''))
        return true;
    const char *end = memchr (value.ptr + 1, value.ptr[0], value.len - 1);
    return end && is_over (after (value, (uint32_t) (end + 1 - value.ptr)));
}

/* `depth`: how deep the next line may stand. */
static bool line_is_plain (struct text line, uint32_t *depth)
{
    uint32_t indent = run_of (line, " ");
    if (line.len == run_of (line, blanks))
        return true;
    struct text rest = after (line, indent);
    if (indent % INDENT != 0 || rest.ptr[0] == '#')
        return indent % INDENT == 0;
    uint32_t name = run_of (rest, name_letters);
    if (name == 0 || indent / INDENT > *depth)
        return false;
    *depth = indent / INDENT + 1;
    rest = skip (after (rest, name), blanks);
    return is_over (rest) || (rest.ptr[0] == '=' && value_is_plain (skip (after (rest, 1), blanks)));
}

static bool has_controls (struct text bytes)
{
    for (uint32_t i = 0; i < bytes.len; i++) {
        unsigned char byte = (unsigned char) bytes.ptr[i];
        if ((byte < ' ' && !strchr ("\t\r\n", byte)) || byte == 0 || byte == 0x7f)
            return true;
    }
    return false;
}

bool zpl_is_plain (struct text bytes)
{
    uint32_t depth = 0;
    if (has_controls (bytes))
        return false;
    while (bytes.len > 0) {
        const char *newline = memchr (bytes.ptr, '\n', bytes.len);
        uint32_t len = newline ? (uint32_t) (newline - bytes.ptr) : bytes.len;
        if (!line_is_plain ((struct text){ bytes.ptr, len }, &depth))
            return false;
        bytes = after (bytes, newline ? len + 1 : len);
    }
    return true;
}
