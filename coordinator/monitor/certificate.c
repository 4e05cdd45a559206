#include "coordinator/monitor/key_file.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- read: ZPL (RFC 4), a name a line, four blanks deeper than the one that it belongs to ---- */

enum { INDENT = 4 };

/* `section`: the name of depth 0 that it belongs to, or is. */
struct item {
    uint32_t depth;
    struct text section, name;
    const char *value; /* "": none */
};
struct certificate {
    char bytes[CERTIFICATE_MAX_BYTES + 1]; /* a NUL ends each value */
    struct item *items;
    uint32_t n, capacity;
};

static bool is_over (struct text rest)
{
    rest = text_trimmed (rest);
    return rest.len == 0 || rest.ptr[0] == '#';
}

/* Quoted, or up to a remark. False: neither a value nor the end of the line. */
static bool read_value (struct text rest, struct text *value)
{
    *value = (struct text){ rest.ptr, 0 };
    if (is_over (rest))
        return true;
    rest = text_trimmed (rest);
    if (rest.ptr[0] != '=')
        return false;
    text_skip (&rest, 1);
    rest = text_trimmed (rest);
    char quote = rest.len ? rest.ptr[0] : 0;
    if (quote == '"' || quote == '\'') {
        text_skip (&rest, 1);
        return text_cut (&rest, quote, value) && is_over (rest);
    }
    *value = text_trimmed (text_take_until (&rest, '#'));
    return true;
}

static const struct item *find_item (const struct certificate *certificate, uint32_t depth, struct text section,
                                     struct text name)
{
    for (uint32_t i = 0; i < certificate->n; i++) {
        const struct item *item = &certificate->items[i];
        if (item->depth == depth && text_equal (item->section, section) && text_equal (item->name, name))
            return item;
    }
    return NULL;
}

/* False: a word of a section, or a section, was there before. */
static bool add_item (struct certificate *certificate, struct item item)
{
    item.section = item.depth ? certificate->items[certificate->n - 1].section : item.name;
    if (item.depth <= 1 && find_item (certificate, item.depth, item.section, item.name))
        return false;
    certificate->items = mem_room (certificate->items, certificate->n, &certificate->capacity, 8, sizeof item);
    certificate->items[certificate->n++] = item;
    return true;
}

/* False: neither an item nor a remark, or an item more than one step below the last. */
static bool read_line (struct certificate *certificate, struct text line)
{
    struct text rest = text_trimmed (line), value;
    uint32_t indent = (uint32_t) (rest.ptr - line.ptr);
    uint32_t deepest = certificate->n ? certificate->items[certificate->n - 1].depth + 1 : 0;
    if (rest.len == 0)
        return true;
    if (indent % INDENT != 0 || strspn (line.ptr, " ") != indent)
        return false;
    if (rest.ptr[0] == '#')
        return true;
    struct item item = { .depth = indent / INDENT, .name = { rest.ptr, text_span (rest, "$-_@.&+") } };
    text_skip (&rest, item.name.len);
    if (item.name.len == 0 || item.depth > deepest || !read_value (rest, &value))
        return false;
    item.value = value.ptr;
    certificate->bytes[value.ptr + value.len - certificate->bytes] = '\0'; /* where a quote or a blank was */
    return add_item (certificate, item);
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

struct certificate *certificate_parse (struct text bytes)
{
    if (bytes.len == 0 || bytes.len > CERTIFICATE_MAX_BYTES || has_controls (bytes))
        return NULL;
    struct certificate *certificate = mem_alloc (sizeof *certificate);
    struct text rest = { certificate->bytes, bytes.len };
    memcpy (certificate->bytes, bytes.ptr, bytes.len);
    while (rest.len > 0)
        if (!read_line (certificate, text_take_until (&rest, '\n'))) {
            certificate_release (certificate);
            return NULL;
        }
    return certificate;
}

void certificate_release (struct certificate *certificate)
{
    if (!certificate)
        return;
    mem_free (certificate->items);
    explicit_bzero (certificate, sizeof *certificate);
    mem_free (certificate);
}

const char *certificate_meta (const struct certificate *certificate, const char *name)
{
    const struct item *item = find_item (certificate, 1, TEXT_LIT ("metadata"), text_of (name));
    return item ? item->value : NULL;
}

static bool certificate_take_key (const struct certificate *certificate, const char *name, char out[LINK_KEY_BYTES])
{
    const struct item *item = find_item (certificate, 1, TEXT_LIT ("curve"), text_of (name));
    if (!item || strlen (item->value) != LINK_KEY_BYTES - 1)
        return false;
    memcpy (out, item->value, LINK_KEY_BYTES);
    return true;
}

bool certificate_keys (const struct certificate *certificate, struct link_keys *keys)
{
    return certificate_take_key (certificate, "public-key", keys->public_key) &&
           certificate_take_key (certificate, "secret-key", keys->secret_key);
}

/* ---- print ---- */

static bool certificate_fits (const char *value)
{
    for (; *value; value++)
        if ((unsigned char) *value < ' ' || *value == '"' || *value == 0x7f)
            return false;
    return true;
}

/* Last and in one piece, because a growing buffer leaves its old content in memory. */
static void print_secret (const struct link_keys *keys, struct buf *out)
{
    char line[LINK_KEY_BYTES + 24];
    int len = snprintf (line, sizeof line, "    secret-key = \"%s\"\n", keys->secret_key);
    buf_add (out, line, (size_t) len);
    explicit_bzero (line, sizeof line);
}

void certificate_format (const struct link_keys *keys, const struct certificate_meta *words, uint32_t n,
                         struct buf *out)
{
    buf_puts (out, "#   ****  Generated by sliceup  ****\n"
                   "#   ZeroMQ CURVE **Secret** Certificate\n"
                   "#   DO NOT PROVIDE THIS FILE TO OTHER USERS nor change its permissions.\n\n"
                   "metadata\n");
    for (uint32_t i = 0; i < n; i++) {
        assert (certificate_fits (words[i].value));
        buf_printf (out, "    %s = \"%s\"\n", words[i].name, words[i].value);
    }
    buf_printf (out, "curve\n    public-key = \"%s\"\n", keys->public_key);
    print_secret (keys, out);
}
