#include "common/conf/yaml_to_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* RFC 8259, 6: -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?, and not infinite once it is a double. */
static bool yaml_to_json_is_number (struct text text)
{
    uint32_t at = text.len > 0 && text.ptr[0] == '-', end = text_digits_end (text, at);
    if (end == at || (end > at + 1 && text.ptr[at] == '0'))
        return false;
    at = end;
    if (at < text.len && text.ptr[at] == '.') {
        end = text_digits_end (text, at + 1);
        if (end == at + 1)
            return false;
        at = end;
    }
    if (at < text.len && (text.ptr[at] == 'e' || text.ptr[at] == 'E')) {
        at += 1 + (at + 1 < text.len && (text.ptr[at + 1] == '+' || text.ptr[at + 1] == '-'));
        end = text_digits_end (text, at);
        if (end == at)
            return false;
        at = end;
    }
    return at == text.len && isfinite (strtod (text.ptr, NULL));
}

static bool is_typed_word (struct text text)
{
    static const char *const words[] = { "yes",  "no",   "on",    "off",  "y",     "n",
                                         "true", "null", "false", ".inf", "-.inf", ".nan" };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen (words[i]) == text.len && strncasecmp (text.ptr, words[i], text.len) == 0)
            return true;
    return false;
}

/* Words and number forms to which YAML 1.1 or 1.2 gives a type, but which JSON does not know. */
static bool is_doubtful (struct text text)
{
    char *end = NULL;
    uint32_t at = text.len > 0 && (text.ptr[0] == '-' || text.ptr[0] == '+');
    uint32_t dot = at < text.len && text.ptr[at] == '.';
    if (text_digits_end (text, at + dot) == at + dot)
        return is_typed_word (text);
    (void) strtod (text.ptr, &end); /* only where it stops matters; it knows hexadecimal as well */
    bool is_grouped = strspn (text.ptr, "+-0123456789_") == text.len && memchr (text.ptr, '_', text.len);
    return end == text.ptr + text.len || is_grouped || text_starts (text, "0o") || text_starts (text, "0b");
}

static void add_string (struct text text, struct buf *out)
{
    buf_byte (out, '"');
    for (uint32_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char) text.ptr[i];
        if (c == '"' || c == '\\')
            buf_printf (out, "\\%c", c);
        else if (c < 0x20)
            buf_printf (out, "\\u%04x", c);
        else
            buf_byte (out, c);
    }
    buf_byte (out, '"');
}

static int add_scalar (const struct yaml_node *node, struct text name, struct buf *out, struct problem_list *problems)
{
    if (node->kind != YAML_SCALAR)
        return problem_at (problems, node,
                           "the argument %.*s holds %s, expected a single value or a list of single values",
                           TEXT_ARG (name), yaml_kind_name (node->kind));
    if (yaml_is_null (node))
        return problem_at (problems, node, "the argument %.*s has no value, expected one (\"\" for the empty text)",
                           TEXT_ARG (name));
    bool as_written = text_is (node->text, "true") || text_is (node->text, "false") ||
                      yaml_to_json_is_number (node->text);
    if (node->plain && as_written)
        buf_add_text (out, node->text);
    else if (node->plain && is_doubtful (node->text))
        return problem_at (
            problems, node,
            "the argument %.*s is %s, expected true, false, a JSON number, or a text in quotes: YAML readers "
            "differ in what they take it for",
            TEXT_ARG (name), problem_quote (problems, node->text));
    else
        add_string (node->text, out);
    return 0;
}

static int yaml_to_json_add_value (const struct yaml_node *node, struct text name, struct buf *out,
                                   struct problem_list *problems)
{
    int result = 0;
    if (node->kind != YAML_LIST)
        return add_scalar (node, name, out, problems);
    buf_byte (out, '[');
    for (const struct yaml_node *item = node->first; item; item = item->next) {
        if (item != node->first)
            buf_byte (out, ',');
        result |= add_scalar (item, name, out, problems);
    }
    buf_byte (out, ']');
    return result;
}

int yaml_to_json (const struct yaml_node *node, struct text name, struct text *json, struct problem_list *problems)
{
    struct buf buf;
    buf_init (&buf, JSON_MAX_BYTES);
    int result = yaml_to_json_add_value (node, name, &buf, problems);
    if (result == 0 && buf.overflow)
        result = problem_at (problems, node, "the argument %.*s is longer than %d bytes as JSON", TEXT_ARG (name),
                             JSON_MAX_BYTES);
    if (result == 0)
        *json = text_copy (problems->arena, buf_as_text (&buf));
    buf_release (&buf);
    return result;
}
