#include "common/conf/draft.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/base/duration.h"

static void draft_note (struct draft *draft, struct text path)
{
    *(struct text *) list_append (&draft->read, sizeof path, draft->arena) = path;
}

/* `path` with everything up to its last ".." resolved; NULL: that part cannot be resolved. */
static char *without_up (struct draft *draft, const char *path)
{
    char real[PATH_MAX];
    const char *rest = NULL;
    for (const char *at = path; (at = strstr (at, "/../")) != NULL; at++)
        rest = at + strlen ("/..");
    if (!rest)
        return (char *) path;
    const char *before = text_copy (draft->arena, (struct text){ path, (uint32_t) (rest - path) }).ptr;
    return realpath (before, real) ? (char *) text_format (draft->arena, "%s%s", real, rest).ptr : NULL;
}

void draft_note_path (struct draft *draft, const char *path)
{
    const char *named = without_up (draft, source_absolute (path, draft->arena));
    if (named && named[0] == '/') /* else reading the file will fail and report it */
        draft_note (draft, text_copy (draft->arena, text_of (named)));
}

int draft_read_source (struct draft *draft, const struct conf_file_kind *kind, const struct yaml_node *at,
                       struct source *source)
{
    if (source_read (source, kind, draft->options->share_dir, at, draft->problems) != 0)
        return -1;
    draft_note (draft, source->ref.path);
    draft_note_path (draft, source->shown);
    return 0;
}

const struct yaml_node *draft_parse_referenced_file (struct draft *draft, const struct conf_file_kind *kind,
                                                     const struct yaml_node *reference, struct source *source)
{
    if (draft_read_source (draft, kind, reference, source) != 0)
        return NULL;
    return yaml_parse (source->shown, source->bytes, draft->problems);
}

void draft_each_reference (struct draft *draft, const struct yaml_node *names, const struct conf_file_kind *kind,
                           draft_reference_fn *read, void *owner)
{
    enum { LISTS_MAX = 16 };
    if (names->n > LISTS_MAX) {
        problem_at (draft->problems, names, "%u %ss are named, expected at most %d", names->n, kind->what, LISTS_MAX);
        return;
    }
    for (const struct yaml_node *name = names->first; name; name = name->next) {
        if (name->kind == YAML_SCALAR && !yaml_is_null (name) && name->text.len <= PATH_MAX_BYTES)
            read (owner, name);
        else
            problem_at (draft->problems, name, "an item is %s, expected the name or path of a %s",
                        yaml_kind_name (name->kind), kind->what);
    }
}

struct yaml_node draft_make_reference (const struct yaml_node *where, struct text name)
{
    return (struct yaml_node){
        .file = where->file, .line = where->line, .column = where->column, .kind = YAML_SCALAR, .text = name
    };
}

const struct yaml_node *draft_choose_reference (struct draft *draft, uint32_t key, const char *given, const char *name)
{
    if (!given)
        return draft->slice[key].good ? draft->slice[key].node : NULL;
    /* A node for the command line: its path is relative to the working directory, and problems show its name. */
    struct yaml_node *node = arena_alloc (draft->arena, sizeof *node);
    *node = (struct yaml_node){ .file = name, .kind = YAML_SCALAR, .text = text_of (given) };
    return node;
}

bool draft_has_dotdot (struct text path)
{
    while (path.len > 0)
        if (text_is (text_take_until (&path, '/'), ".."))
            return true;
    return false;
}

struct text draft_base_folder (const struct draft *draft)
{
    const struct text directory = draft->plan.start.directory;
    return directory.len > 0 ? directory : text_of (draft->options->home);
}

struct text draft_host_path (struct draft *draft, const struct conf_value *path)
{
    struct text full = path->text;
    if (!path->good)
        return (struct text){ 0 };
    struct text base = draft_base_folder (draft);
    if (full.ptr[0] != '/')
        full = text_format (draft->arena, "%.*s/%.*s", TEXT_ARG (base), TEXT_ARG (path->text));
    if (draft_has_dotdot (full)) {
        problem_at (draft->problems, path->node, "the path %s contains '..', expected a path without it",
                    problem_quote (draft->problems, full));
        return (struct text){ 0 };
    }
    if (full.len > PATH_MAX_BYTES) {
        problem_at (draft->problems, path->node, "the absolute path is %u bytes long, expected at most %d", full.len,
                    PATH_MAX_BYTES);
        return (struct text){ 0 };
    }
    return text_copy (draft->arena, full);
}

void draft_sort_vars (var_list *vars)
{
    sort_items (vars->items, vars->n, sizeof *vars->items, text_order);
}

int draft_args (struct draft *draft, const struct yaml_node *map, var_list *args)
{
    int result = 0;
    var_list read = { .items = arena_array (draft->arena, map->n, sizeof *read.items) };
    for (const struct yaml_node *key = map->first; key; key = key->next) {
        struct var *var = &read.items[read.n];
        if (!identifier_is_good (key->text, ID_MAX_BYTES))
            result = problem_at (draft->problems, key, "%s is not an argument name, expected letters, digits and '_'",
                                 problem_quote (draft->problems, key->text));
        else if (yaml_to_json (key->value, key->text, &var->value, draft->problems) != 0)
            result = -1;
        else if (read.n == VARS_MAX)
            return problem_at (draft->problems, key, "this map has more than %d arguments, the limit", VARS_MAX);
        else
            read.items[read.n++].name = key->text;
    }
    if (result != 0)
        return result;
    draft_sort_vars (&read);
    *args = read;
    return 0;
}

static int draft_add_name (struct draft *draft, const struct yaml_node *item, struct name_list *names)
{
    if (item->kind != YAML_SCALAR)
        return problem_at (draft->problems, item, "an item of this list is %s, expected a name",
                           yaml_kind_name (item->kind));
    const char *quoted = problem_quote (draft->problems, item->text);
    if (!name_is_good (item->text))
        return problem_at (draft->problems, item,
                           "an item of this list is %s, expected a name of letters, digits, '.', '_' and '-'", quoted);
    if (name_list_has (names, item->text))
        return problem_at (draft->problems, item, "this list has %s twice, expected once", quoted);
    names->items[names->n++] = item->text;
    return 0;
}

int draft_names (struct draft *draft, const struct conf_value *list, uint32_t max, struct name_list *names)
{
    const struct yaml_node *item;
    int result = section_list (list, max, "this list has", "names", draft->problems, &item);
    *names = (struct name_list){ .items = arena_array (draft->arena, item ? list->node->n : 0, sizeof *names->items) };
    for (; item; item = item->next)
        result |= draft_add_name (draft, item, names);
    return result;
}

static const char *list_of (struct draft *draft, unsigned launchers)
{
    struct buf list = { .max = ERR_TEXT_BYTES };
    for (uint32_t i = 1; i < launcher_names.n; i++)
        if (launchers & (1u << i))
            buf_printf (&list, "%s%s", list.len ? ", " : "", launcher_names.of[i]);
    return buf_finish (&list, draft->arena).ptr;
}

void draft_check_launcher_key (struct draft *draft, const struct conf_key *key, const struct conf_value *value,
                               unsigned launchers)
{
    enum launcher launcher = draft->plan.launcher;
    bool skipped = draft->options->rehearsal; /* the file itself was checked before */
    if (!value->given || skipped || launcher == LAUNCHER_NONE || (launchers & (1u << launcher)))
        return;
    bool is_name = enum_value_of (&launcher_names, text_of (key->name), &(uint32_t){ 0 });
    problem_at (draft->problems, value->node, "the key %s is set with launcher: %s, expected it with %s only%s%s",
                key->name, enum_name_of (&launcher_names, launcher), list_of (draft, launchers),
                is_name ? "; or set launcher: " : "", is_name ? key->name : "");
}

/* ---- the tables of keys as people read them: in messages and in docs/spec/configuration.md ---- */

static const char *exact_size_print (uint64_t bytes, char out[DURATION_TEXT_BYTES])
{
    static const char *const units[] = { "bytes", "KiB", "MiB", "GiB" };
    unsigned unit = 0;
    while (unit < 3 && bytes >= 1024 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    snprintf (out, DURATION_TEXT_BYTES, "%" PRIu64 " %s", bytes, units[unit]);
    return out;
}

static void words (const struct enum_names *names, struct buf *out)
{
    const char *before = "one of ";
    for (uint32_t i = 1; i < names->n; i++) {
        buf_printf (out, "%s%s", before, names->of[i]);
        before = ", ";
    }
}

void key_describe_value (const struct conf_key *key, struct buf *out)
{
    char from[DURATION_TEXT_BYTES], to[DURATION_TEXT_BYTES];
    switch (key->kind) {
    case KEY_NAME:
        buf_printf (out, "a name of letters, digits, '.', '_' and '-', at most %d bytes",
                    key->max ? (int) key->max : ID_MAX_BYTES);
        break;
    case KEY_TEXT: buf_printf (out, "one line of %" PRIu64 " to %" PRIu64 " bytes", key->min, key->max); break;
    case KEY_REFERENCE: buf_puts (out, "a name or a path"); break;
    case KEY_PATH: buf_puts (out, "a path, absolute or below SLICEUP_HOME"); break;
    case KEY_FOLDER:
        buf_printf (out, "an absolute path of letters, digits and '/._+@-', at most %" PRIu64 " bytes", key->max);
        break;
    case KEY_OWN_PATH: buf_puts (out, "a path of this machine: absolute, or beginning with ~/ or ./"); break;
    case KEY_HOSTS: buf_puts (out, "a host set such as v6e[0-3]"); break;
    case KEY_WORD: words (key->words, out); break;
    case KEY_BOOL: buf_puts (out, "true or false"); break;
    case KEY_NUMBER: buf_printf (out, "a whole number from %" PRIu64 " to %" PRIu64, key->min, key->max); break;
    case KEY_DURATION:
        buf_printf (out, "a duration from %s to %s with its unit, such as 90s", duration_print (key->min, from),
                    duration_print (key->max, to));
        break;
    case KEY_SIZE:
        buf_printf (out, "a size from %s to %s with its unit, such as 4MiB", exact_size_print (key->min, from),
                    exact_size_print (key->max, to));
        break;
    case KEY_MAP: buf_puts (out, "a map"); break;
    case KEY_LIST: buf_puts (out, "a list"); break;
    case KEY_ANY: buf_puts (out, "a value, a list or a map"); break;
    }
}

/* ---- values as JSON ---- */

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
    LOCAL_BUF buf = { .max = JSON_MAX_BYTES };
    int result = yaml_to_json_add_value (node, name, &buf, problems);
    if (result == 0 && buf.overflow)
        result = problem_at (problems, node, "the argument %.*s is longer than %d bytes as JSON", TEXT_ARG (name),
                             JSON_MAX_BYTES);
    if (result == 0)
        *json = text_copy (problems->arena, buf_as_text (&buf));
    return result;
}
