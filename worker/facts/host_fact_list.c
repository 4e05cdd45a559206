#include "worker/facts/host_fact_list.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/digest.h"
#include "common/base/path.h"
#include "common/io/fd.h"
#include "common/model/secret.h"

#define UNREADABLE "unreadable ("

const struct host_fact_roots host_fact_roots_real = {
    .proc = "/proc", .sys = "/sys", .dev = "/dev", .etc = "/etc", .tmp = "/tmp", .root = ""
};

void host_fact_list_init (struct host_fact_list *list, const struct host_fact_roots *roots)
{
    memset (list, 0, sizeof *list);
    list->roots = roots;
    list->left_bytes = FACT_BYTES_MAX;
}

void host_fact_list_release (struct host_fact_list *list)
{
    arena_release (&list->arena);
}

/* ---- texts that are too long ---- */

/* A NUL parts words, too: it ends each argument in /proc/<pid>/cmdline. */
static bool host_fact_list_next_word (struct text *rest, struct text *word)
{
    return text_next_word (rest, TEXT_LIT (" \t\r\n\0"), word);
}

struct text host_fact_words_digest (struct arena *arena, struct text text)
{
    struct text *words = arena_array (arena, text.len / 2 + 1, sizeof *words), rest = text;
    struct digest_state *state = digest_begin ();
    char hex[DIGEST_HEX_BYTES];
    size_t n = 0;
    while (host_fact_list_next_word (&rest, &words[n]))
        n++;
    qsort (words, n, sizeof *words, text_order);
    for (size_t i = 0; i < n; i++) {
        digest_add (state, words[i].ptr, words[i].len);
        digest_add (state, " ", 1);
    }
    struct digest digest = digest_end (state);
    digest_hex (&digest, hex);
    return text_copy (arena, (struct text){ hex, FACT_DIGEST_BYTES });
}

struct text host_fact_shorten (struct arena *arena, struct text text, uint32_t max_bytes)
{
    enum { END_BYTES = 60 }; /* " ... <10 digits> bytes, words <16 digits>" */
    assert (max_bytes > END_BYTES);
    if (text.len <= max_bytes)
        return text;
    struct text start = text_clip (text, max_bytes - END_BYTES), digest = host_fact_words_digest (arena, text);
    return text_format (arena, "%.*s ... %u bytes, words %.*s", TEXT_ARG (start), text.len, TEXT_ARG (digest));
}

struct text host_fact_one_line (struct arena *arena, struct text text)
{
    char *flat = arena_alloc (arena, text.len + 1);
    for (uint32_t i = 0; i < text.len; i++)
        flat[i] = strchr ("\t\r\n\v\f", text.ptr[i]) && text.ptr[i] ? ' ' : text.ptr[i];
    struct buf line = { .max = (size_t) text.len * 8 + 1 };
    buf_escaped (&line, (struct text){ flat, text.len }, 0);
    return buf_finish (&line, arena);
}

/* ---- the list ---- */

/* The reserve has room for brief values of all mandatory facts. */
uint32_t host_fact_value_room (const struct host_fact_list *list)
{
    enum { KEPT_BACK_BYTES = 4 * 1024 };
    return list->left_bytes > KEPT_BACK_BYTES + FACT_VALUE_BYTES ? FACT_VALUE_BYTES : FACT_BRIEF_BYTES;
}

void host_fact_add (struct host_fact_list *list, const char *name, struct text value)
{
    assert (list->n < FACT_LIST_MAX);
    value = value.len ? host_fact_shorten (&list->arena, value, host_fact_value_room (list)) : TEXT_LIT ("absent");
    size_t cost_bytes = strlen (name) + value.len + FACT_COST_BYTES;
    list->left_bytes -= cost_bytes < list->left_bytes ? cost_bytes : list->left_bytes;
    list->items[list->n++] = (struct var){ text_of (name), value };
}

void host_fact_add_number (struct host_fact_list *list, const char *name, uint64_t value)
{
    host_fact_add (list, name, text_format (&list->arena, "%" PRIu64, value));
}

struct text host_fact_find (const struct host_fact_list *list, const char *name)
{
    return var_value (&(var_list){ (struct var *) list->items, list->n }, name);
}

/* ---- files ---- */

static bool unreadable (struct host_fact_list *list, struct text *out)
{
    *out = errno == ENOENT || errno == ENOTDIR ? TEXT_LIT ("absent")
                                               : text_format (&list->arena, UNREADABLE "%s)", strerror (errno));
    return false;
}

/* Checks before opening, because opening a device may have effects, and a terminal would become ours. */
static int open_regular (const char *name)
{
    struct stat st;
    if (stat (name, &st))
        return -1;
    if (!S_ISREG (st.st_mode)) {
        errno = S_ISDIR (st.st_mode) ? EISDIR : EINVAL;
        return -1;
    }
    return open (name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

bool host_fact_read_file (struct host_fact_list *list, const char *root, const char *path, struct text *out)
{
    LOCAL_MEM char *bytes = mem_alloc (FACT_FILE_BYTES);
    LOCAL_FD fd = open_regular (text_format (&list->arena, "%s%s", root, path).ptr);
    ssize_t got = fd < 0 ? -1 : fd_read_whole (fd, bytes, FACT_FILE_BYTES);
    if (got < 0)
        return unreadable (list, out);
    while (got > 0 && strchr (" \t\n", bytes[got - 1]))
        got--;
    *out = text_copy (&list->arena, (struct text){ bytes, (uint32_t) got });
    return true;
}

static struct text trimmed (struct text value)
{
    while (value.len && memchr (":= \t\"", value.ptr[0], 5))
        value.ptr++, value.len--;
    while (value.len && memchr (" \t\"", value.ptr[value.len - 1], 3))
        value.len--;
    return value;
}

bool host_fact_find_field (struct text file, const char *key, struct text *value)
{
    size_t key_len = strlen (key);
    while (file.len) {
        struct text line = text_take_until (&file, '\n');
        if (text_starts (line, key) && line.len > key_len && memchr (":= \t", line.ptr[key_len], 4)) {
            *value = trimmed ((struct text){ line.ptr + key_len, line.len - (uint32_t) key_len });
            return true;
        }
    }
    return false;
}

void host_fact_add_file (struct host_fact_list *list, const char *name, const char *root, const char *path)
{
    struct text value;
    host_fact_read_file (list, root, path, &value);
    host_fact_add (list, name, value);
}

struct text host_fact_file_problem (struct text file)
{
    return text_starts (file, UNREADABLE) ? file : (struct text){ 0 };
}

void host_fact_add_field (struct host_fact_list *list, const char *name, struct text file, const char *key)
{
    struct text value;
    host_fact_add (list, name, host_fact_find_field (file, key, &value) ? value : host_fact_file_problem (file));
}

struct name_list host_fact_folder_names (struct host_fact_list *list, const char *root, const char *path,
                                         const char *prefix)
{
    struct name_list names = { 0 };
    struct dirent *entry;
    LOCAL_DIR folder = opendir (text_format (&list->arena, "%s%s", root, path).ptr);
    if (!folder)
        return names;
    names.items = arena_array (&list->arena, FACT_NAMES_MAX, sizeof *names.items);
    while (names.n < FACT_NAMES_MAX && (entry = readdir (folder)))
        if (entry->d_name[0] != '.' && !strncmp (entry->d_name, prefix, strlen (prefix)))
            names.items[names.n++] = text_copy (&list->arena, text_of (entry->d_name));
    sort_items (names.items, names.n, sizeof *names.items, text_order);
    return names;
}

struct text host_fact_folder_problem (struct host_fact_list *list, const char *root, const char *path)
{
    struct text why = TEXT_LIT ("absent");
    LOCAL_DIR folder = opendir (text_format (&list->arena, "%s%s", root, path).ptr);
    if (!folder)
        unreadable (list, &why);
    return why;
}

/* ---- counting what is alike ---- */

void value_tally_add (struct value_tally *tally, struct text what)
{
    for (uint32_t i = 0; i < tally->n; i++)
        if (text_equal (tally->items[i].what, what)) {
            tally->items[i].count++;
            return;
        }
    if (tally->n == KINDS_MAX) {
        tally->others++;
        return;
    }
    tally->items[tally->n].what = what;
    tally->items[tally->n++].count = 1;
}

static int frequent_first (const void *a, const void *b)
{
    const struct value_tally_entry *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return text_compare (x->what, y->what);
}

void value_tally_to_fact (struct host_fact_list *list, const char *name, const struct value_tally *tally,
                          struct text missing)
{
    struct value_tally_entry sorted[KINDS_MAX];
    memcpy (sorted, tally->items, sizeof sorted);
    qsort (sorted, tally->n, sizeof *sorted, frequent_first);
    LOCAL_BUF value = { .max = FACT_VALUE_BYTES };
    for (uint32_t i = 0; i < tally->n; i++)
        buf_printf (&value, "%s%u x %.*s", i ? ", " : "", sorted[i].count, TEXT_ARG (sorted[i].what));
    if (tally->others)
        buf_printf (&value, ", and %u others", tally->others);
    host_fact_add (list, name, value.len ? text_copy (&list->arena, buf_as_text (&value)) : missing);
}

/* ---- display ---- */

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

/* Blanks separate words, too: daemons write a sentence over their arguments, shells get a script as one. */
struct text command_line_for_display (struct arena *arena, struct text raw, uint32_t max_bytes)
{
    struct text word;
    LOCAL_BUF line = { .max = SHOWN_MAX_BYTES };
    for (bool hidden = false; line.len <= max_bytes && host_fact_list_next_word (&raw, &word);) {
        buf_puts (&line, line.len ? " " : "");
        if (hidden)
            buf_puts (&line, HIDDEN);
        else
            add_word (arena, &line, word);
        hidden = !hidden && asks_for_secret (word);
    }
    return text_copy (arena, text_clip (buf_as_text (&line), max_bytes));
}

struct text display_program_name (struct arena *arena, struct text raw)
{
    struct text name;
    host_fact_list_next_word (&raw, &name);
    return text_clip (display_value (arena, path_name (name)), PROGRAM_BYTES);
}
