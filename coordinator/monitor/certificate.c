#include "coordinator/monitor/key_file.h"

#include <assert.h>
#include <czmq.h>
#include <string.h>

struct certificate {
    zconfig_t *root;
};

/* ---- read ---- */

/* ---- which bytes are safe for czmq's reader of ZPL (RFC 4) ----
 *
 * zconfig prints what it does not understand on standard output, and in a key file that may be the secret. So it is
 * given only what it reads without a word; whatever it would find fault with is found here first. */

enum { INDENT = 4 };
static const char blanks[] = " \t\r";
/* zconfig also accepts '/' within a name, which would mean something else in a path. */
static const char name_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789$-_@.&+";

static uint32_t run_of (struct text from, const char *letters)
{
    uint32_t n = 0;
    while (n < from.len && from.ptr[n] && strchr (letters, from.ptr[n]))
        n++;
    return n;
}

static struct text certificate_after (struct text from, uint32_t n)
{
    return (struct text){ from.ptr + n, from.len - n };
}

static struct text certificate_skip (struct text from, const char *letters)
{
    return certificate_after (from, run_of (from, letters));
}

static bool certificate_is_over (struct text rest)
{
    rest = certificate_skip (rest, blanks);
    return rest.len == 0 || rest.ptr[0] == '#';
}

static bool value_is_plain (struct text value)
{
    if (value.len == 0 || (value.ptr[0] != '"' && value.ptr[0] != '\''))
        return true;
    const char *end = memchr (value.ptr + 1, value.ptr[0], value.len - 1);
    return end && certificate_is_over (certificate_after (value, (uint32_t) (end + 1 - value.ptr)));
}

/* `depth`: the deepest level of the next line. */
static bool line_is_plain (struct text line, uint32_t *depth)
{
    uint32_t indent = run_of (line, " ");
    if (line.len == run_of (line, blanks))
        return true;
    struct text rest = certificate_after (line, indent);
    if (indent % INDENT != 0 || rest.ptr[0] == '#')
        return indent % INDENT == 0;
    uint32_t name = run_of (rest, name_letters);
    if (name == 0 || indent / INDENT > *depth)
        return false;
    *depth = indent / INDENT + 1;
    rest = certificate_skip (certificate_after (rest, name), blanks);
    return certificate_is_over (rest) ||
           (rest.ptr[0] == '=' && value_is_plain (certificate_skip (certificate_after (rest, 1), blanks)));
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

/* A line is a comment, a name, or a name with a value, quoted or not, at most one step (four spaces) below the last. */
static bool zpl_is_safe (struct text bytes)
{
    uint32_t depth = 0;
    if (has_controls (bytes))
        return false;
    while (bytes.len > 0)
        if (!line_is_plain (text_take_until (&bytes, '\n'), &depth))
            return false;
    return true;
}

/* ---- certificates ---- */

static zconfig_t *certificate_find (zconfig_t *parent, const char *name)
{
    zconfig_t *item = parent ? zconfig_child (parent) : NULL;
    while (item && strcmp (zconfig_name (item), name) != 0)
        item = zconfig_next (item);
    return item;
}

static bool has_twins (zconfig_t *parent)
{
    for (zconfig_t *item = parent ? zconfig_child (parent) : NULL; item; item = zconfig_next (item))
        if (certificate_find (parent, zconfig_name (item)) != item)
            return true;
    return false;
}

/* Overwrites the stack, where zconfig copied each line; on the real stack, even with a sanitizer. */
static __attribute__ ((noinline, no_sanitize_address)) void wipe_stack (void)
{
    char used[8192];
    explicit_bzero (used, sizeof used);
}

static zconfig_t *parse (struct text bytes)
{
    zchunk_t *chunk = zchunk_new (bytes.ptr, bytes.len);
    zconfig_t *root = zconfig_chunk_load (chunk);
    explicit_bzero (zchunk_data (chunk), bytes.len);
    zchunk_destroy (&chunk);
    wipe_stack ();
    return root;
}

struct certificate *certificate_parse (struct text bytes)
{
    if (bytes.len == 0 || bytes.len > CERTIFICATE_MAX_BYTES || !zpl_is_safe (bytes))
        return NULL;
    struct certificate *certificate = mem_alloc (sizeof *certificate);
    zconfig_t *root = certificate->root = parse (bytes);
    if (root && !has_twins (root) && !has_twins (certificate_find (root, "metadata")) &&
        !has_twins (certificate_find (root, "curve")))
        return certificate;
    certificate_release (certificate);
    return NULL;
}

static int wipe (zconfig_t *item, void *unused, int level)
{
    (void) unused;
    (void) level;
    char *value = zconfig_value (item);
    if (value)
        explicit_bzero (value, strlen (value));
    return 0;
}

void certificate_release (struct certificate *certificate)
{
    if (!certificate)
        return;
    if (certificate->root)
        zconfig_execute (certificate->root, wipe, NULL);
    zconfig_destroy (&certificate->root);
    mem_free (certificate);
}

const char *certificate_meta (const struct certificate *certificate, const char *name)
{
    zconfig_t *item = certificate_find (certificate_find (certificate->root, "metadata"), name);
    return item ? zconfig_value (item) : NULL;
}

static bool certificate_take_key (const struct certificate *certificate, const char *name, char out[LINK_KEY_BYTES])
{
    zconfig_t *item = certificate_find (certificate_find (certificate->root, "curve"), name);
    const char *value = item ? zconfig_value (item) : NULL;
    if (!value || strlen (value) != LINK_KEY_BYTES - 1)
        return false;
    memcpy (out, value, LINK_KEY_BYTES);
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
