#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "common/model/host_source.h"
#include "coordinator/cli/hosts.h"
#include "coordinator/launch/host_source_io.h"
#include "coordinator/view/record_json.h"

enum { PIECE_BYTES = 65536 };

/* ---- input ---- */

static bool is_stdin (const char *path)
{
    return strcmp (path, "-") == 0;
}

static int read_stream (int fd, const char *name, struct buf *out, struct err *err)
{
    char *piece = mem_alloc (PIECE_BYTES);
    ssize_t got;
    do {
        got = read (fd, piece, PIECE_BYTES);
        if (got > 0)
            buf_add (out, piece, (size_t) got);
    } while ((got > 0 && !out->overflow) || (got < 0 && errno == EINTR));
    int why = errno;
    mem_free (piece);
    errno = why;
    if (got < 0)
        return err_errno (err, ERR_IO, "cannot read %s", name);
    return out->overflow ? err_set (err, ERR_LIMIT, "%s has more than %zu bytes, the limit", name, out->max) : 0;
}

int host_operand_read_file (const char *path, struct buf *out, struct err *err)
{
    if (is_stdin (path))
        return read_stream (STDIN_FILENO, "standard input", out, err);
    int fd = open (path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_errno (err, ERR_USAGE, "'%s' cannot be opened", path);
    int rc = read_stream (fd, path, out, err);
    close (fd);
    return rc;
}

/* ---- operands ---- */

/* Each line is an expression of its own, as in nodeset; empty ones among others are passed over. */
static int add_lines (struct hostset *set, struct text lines, struct err *err)
{
    uint32_t from = 0;
    bool some = false;
    for (uint32_t i = 0; i <= lines.len; i++) {
        if (i < lines.len && lines.ptr[i] != '\n')
            continue;
        struct text line = { lines.ptr + from, i - from };
        from = i + 1;
        if (line.len == 0 && (some || i < lines.len))
            continue;
        some = true;
        if (hostset_apply_expression (set, HOSTSET_ADD, line, err) < 0)
            return -1;
    }
    return 0;
}

static int host_operand_add_file (struct hostset *set, const char *path, struct err *err)
{
    struct buf content;
    struct text word;
    buf_init (&content, HOST_INPUT_MAX_BYTES);
    int rc = host_operand_read_file (path, &content, err);
    for (uint32_t at = 0; rc == 0 && host_source_next_word (buf_as_text (&content), &at, &word);)
        if (hostset_apply_expression (set, HOSTSET_ADD, word, err) < 0)
            rc = err_prefix (err, "%s", is_stdin (path) ? "standard input" : path);
    buf_release (&content);
    return rc;
}

static int host_operand_add_source (struct hostset *set, const char *word, struct err *err)
{
    struct buf expression;
    buf_init (&expression, HOST_INPUT_MAX_BYTES);
    int rc = host_source_read (word, &expression, err);
    if (rc == 0)
        rc = hostset_apply_expression (set, HOSTSET_ADD, buf_as_text (&expression), err);
    buf_release (&expression);
    return rc;
}

static int host_operand_add (const struct host_operand *operand, struct hostset *set, struct err *err)
{
    if (operand->from == HOST_FROM_WORDS)
        return add_lines (set, text_of (operand->value), err);
    return operand->from == HOST_FROM_FILE ? host_operand_add_file (set, operand->value, err)
                                           : host_operand_add_source (set, operand->value, err);
}

int host_operand_apply_to_set (const struct host_operand *operand, const struct hostset_rules *rules,
                               struct hostset *set, struct err *err)
{
    if (operand->step == HOSTSET_ADD)
        return host_operand_add (operand, set, err);
    struct hostset *other = hostset_create (rules);
    int rc = host_operand_add (operand, other, err);
    if (rc == 0)
        rc = hostset_apply_set (set, operand->step, other, err);
    hostset_destroy (other);
    return rc;
}

/* ---- hostset output ---- */

/* 100,000 names of 63 bytes, escaped and quoted, twice. */
enum { FOLDED_MAX_BYTES = 32 << 20, JSON_INDENT_COLUMNS = 2 };

/* Sizes differ by one at most, the larger ones first. The items are for mem_free: a part has an order of its own, since
 * what is a box in the whole may be none in it. */
static struct name_list host_operand_part_of (const struct name_list *names, uint32_t parts, uint32_t part)
{
    uint32_t size = names->n / parts, larger = names->n % parts;
    uint32_t from = part * size + (part < larger ? part : larger);
    struct name_list own = { NULL, size + (part < larger) };
    own.items = mem_array (own.n, sizeof *own.items);
    for (uint32_t i = 0; i < own.n; i++)
        own.items[i] = names->items[from + i];
    own.n = hostset_sort (own.items, own.n);
    return own;
}

static uint32_t parts_of (const struct hostset_output *output, const struct name_list *names)
{
    uint32_t parts = output->parts < names->n ? output->parts : names->n;
    return parts ? parts : 1;
}

/* ---- text ---- */

static void write_names (const struct hostset_output *output, const struct name_list *names, struct buf *out)
{
    if (output->form == HOST_FORM_COUNT)
        buf_printf (out, "%" PRIu32, names->n);
    else if (output->form == HOST_FORM_FOLD)
        hostset_fold (names->items, names->n, out);
    else
        for (uint32_t i = 0; i < names->n; i++) {
            buf_puts (out, i ? output->separator : "");
            buf_add_text (out, names->items[i]);
        }
}

static void write_text (const struct hostset_output *output, const struct name_list *names, struct buf *out)
{
    uint32_t parts = parts_of (output, names);
    for (uint32_t i = 0; i < parts; i++) {
        struct name_list part = host_operand_part_of (names, parts, i);
        buf_puts (out, i ? output->part_separator : "");
        write_names (output, &part, out);
        mem_free (part.items);
    }
    buf_byte (out, '\n');
}

/* ---- JSON ---- */

static json_t *set_json (const struct name_list *names)
{
    struct buf folded;
    buf_init (&folded, FOLDED_MAX_BYTES);
    hostset_fold (names->items, names->n, &folded);
    return json_pack ("{s:I, s:o, s:o}", "count", (json_int_t) names->n, "folded", buf_take_json (&folded), "hosts",
                      texts_json (names->items, names->n));
}

static json_t *parts_json (const struct hostset_output *output, const struct name_list *names)
{
    json_t *list = json_array ();
    uint32_t parts = parts_of (output, names);
    for (uint32_t i = 0; i < parts; i++) {
        struct name_list part = host_operand_part_of (names, parts, i);
        json_array_append_new (list, set_json (&part));
        mem_free (part.items);
    }
    return list;
}

static void write_json (const struct hostset_output *output, json_t *object, struct buf *out)
{
    json_object_set_new (object, "schema", json_string ("sliceup.hosts/1"));
    json_print_release (object, JSON_SORT_KEYS | (output->compact ? JSON_COMPACT : JSON_INDENT (JSON_INDENT_COLUMNS)),
                        out);
}

/* ---- both ---- */

void hostset_output_format_set (const struct hostset_output *output, struct name_list *names, struct buf *out)
{
    names->n = hostset_sort (names->items, names->n);
    if (!output->json) {
        write_text (output, names, out);
        return;
    }
    json_t *object = set_json (names);
    if (output->parts)
        json_object_set_new (object, "parts", parts_json (output, names));
    write_json (output, object, out);
}

void hostset_output_format_error (const struct hostset_output *output, const struct err *err, struct buf *out)
{
    if (!output->json) {
        buf_printf (out, "error: %s\n", err->text);
        return;
    }
    write_json (output, json_pack ("{s:o}", "error", escaped_json (text_of (err->text))), out);
}

/* ---- --hosts and --exclude ---- */

bool host_filter_is_default (const struct host_filter *filter)
{
    return !filter->hosts && !filter->exclude;
}

struct host_filter host_filter_of (const struct cli_arguments *arguments)
{
    return (struct host_filter){ arguments->values[CLI_HOSTS], arguments->values[CLI_EXCLUDE] };
}

bool host_groups_find (const void *owner, struct text name, struct text *expression)
{
    const struct host_groups *groups = owner;
    if (groups->named && var_find (groups->named, name, expression))
        return true;
    *expression = groups->everything;
    return groups->everything.len && text_is (name, "*");
}

static int read_set (const char *option, const char *set, const struct host_groups *known, struct arena *arena,
                     struct name_list *names, struct err *err)
{
    const struct hostset_group_lookup groups = { host_groups_find, known };
    const struct hostset_rules rules = { .max = HOSTS_MAX, .groups = &groups };
    return !set || hostset_read (text_of (set), &rules, arena, names, err) == 0 ? 0 : err_prefix (err, "%s", option);
}

static int none_left (const struct host_filter *filter, struct text everything, struct err *err)
{
    bool both = filter->hosts && filter->exclude;
    return err_set (err, ERR_USAGE, "%s%s%s%s%s: this selects no host of the run, which has %.*s",
                    filter->hosts ? "--hosts " : "", filter->hosts ? filter->hosts : "", both ? " " : "",
                    filter->exclude ? "--exclude " : "", filter->exclude ? filter->exclude : "", TEXT_ARG (everything));
}

int host_filter_resolve (const struct host_filter *filter, const struct name_list *all, const struct plan *plan,
                         bool *chosen, struct err *err)
{
    struct arena arena = { 0 };
    struct name_list with = { 0 }, without = { 0 };
    uint32_t n = 0;
    const struct host_groups known = { plan ? &plan->groups : NULL,
                                       hostset_folded (all->items, all->n, UINT32_MAX, &arena) };
    int rc = read_set ("--hosts", filter->hosts, &known, &arena, &with, err);
    if (rc == 0)
        rc = read_set ("--exclude", filter->exclude, &known, &arena, &without, err);
    for (uint32_t i = 0; rc == 0 && i < all->n; i++)
        n += chosen[i] = (!filter->hosts || name_list_has (&with, all->items[i])) &&
                         !name_list_has (&without, all->items[i]);
    if (rc == 0 && n == 0 && !host_filter_is_default (filter))
        rc = none_left (filter, known.everything, err);
    arena_release (&arena);
    return rc;
}
