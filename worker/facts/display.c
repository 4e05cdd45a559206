#include "worker/facts/display.h"

#include "common/base/buf.h"
#include "common/base/path.h"
#include "common/model/secret.h"
#include "worker/facts/host_fact_list.h"
#include <ctype.h>
#include <string.h>

enum { SHOWN_MAX_BYTES = 64 * 1024, PROGRAM_BYTES = 63 };
#define HIDDEN "***"

/* `value` without the user and password of addresses in it. */
static struct text display_value (struct arena *arena, struct text value)
{
    return host_fact_one_line (arena, secret_redact_url (arena, value));
}

/* ---- mounts ---- */

/* Disks whose names go on with letters (Linux, admin-guide/devices). */
static const char *const lettered[] = { "/dev/sd", "/dev/vd", "/dev/xvd", "/dev/hd" };

static uint32_t kind_len (struct text source)
{
    uint32_t len = (uint32_t) strlen ("/dev/");
    if (!text_starts (source, "/dev/"))
        return source.len;
    for (size_t i = 0; i < sizeof lettered / sizeof *lettered; i++)
        if (text_starts (source, lettered[i]))
            return (uint32_t) strlen (lettered[i]);
    while (len < source.len && source.ptr[len] != '/' && !isdigit ((unsigned char) source.ptr[len]))
        len++;
    return len;
}

struct text display_mount (struct arena *arena, const char *mount)
{
    const char *blank = strrchr (mount, ' ');
    struct text source = text_of (blank ? blank + 1 : mount);
    return display_value (arena, (struct text){ mount, (uint32_t) (source.ptr - mount) + kind_len (source) });
}

/* ---- command lines ---- */

/* A blank parts words as well: daemons write a sentence over their arguments, and shells get a whole script as one. */
static bool display_next_word (struct text *rest, struct text *word)
{
    static const char parting[] = " \t\r\n"; /* with its NUL */
    while (rest->len && memchr (parting, rest->ptr[0], sizeof parting))
        rest->ptr++, rest->len--;
    *word = (struct text){ rest->ptr, 0 };
    while (rest->len && !memchr (parting, rest->ptr[0], sizeof parting))
        rest->ptr++, rest->len--, word->len++;
    return word->len > 0;
}

/* An option without a value of its own: the next word is its value. */
static bool asks_for_secret (struct text word)
{
    return word.len > 1 && word.ptr[0] == '-' && !memchr (word.ptr, '=', word.len) && name_is_of_secret (word);
}

static void add_word (struct arena *arena, struct buf *line, struct text word)
{
    const char *sign = memchr (word.ptr, '=', word.len);
    struct text name = { word.ptr, sign ? (uint32_t) (sign - word.ptr) : 0 };
    bool secret = sign && name_is_of_secret (name);
    buf_add_text (line, display_value (arena, secret ? name : word));
    buf_puts (line, secret ? "=" HIDDEN : "");
}

struct text command_line_for_display (struct arena *arena, struct text raw, uint32_t max_bytes)
{
    struct buf line;
    struct text word;
    buf_init (&line, SHOWN_MAX_BYTES);
    for (bool hidden = false; line.len <= max_bytes && display_next_word (&raw, &word);) {
        buf_puts (&line, line.len ? " " : "");
        if (hidden)
            buf_puts (&line, HIDDEN);
        else
            add_word (arena, &line, word);
        hidden = !hidden && asks_for_secret (word);
    }
    struct text out = text_copy (arena, text_clip (buf_as_text (&line), max_bytes));
    buf_release (&line);
    return out;
}

struct text display_program_name (struct arena *arena, struct text raw)
{
    struct text name;
    display_next_word (&raw, &name);
    return text_clip (display_value (arena, path_name (name)), PROGRAM_BYTES);
}
