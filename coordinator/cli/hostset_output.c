#include "coordinator/cli/hosts.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>

#include "coordinator/view/record_json.h"

/* 100,000 names of 63 bytes, escaped and quoted, twice. */
enum { FOLDED_MAX_BYTES = 32 << 20, JSON_INDENT_COLUMNS = 2 };

/* Sizes differ by one at most, the larger ones first. The items are for mem_free: a part has an order of its own, since
 * what is a box in the whole may be none in it. */
static struct name_list part_of (const struct name_list *names, uint32_t parts, uint32_t part)
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
        struct name_list part = part_of (names, parts, i);
        buf_puts (out, i ? output->part_separator : "");
        write_names (output, &part, out);
        mem_free (part.items);
    }
    buf_byte (out, '\n');
}

/* ---- JSON ---- */

static void put (json_t *object, const char *key, json_t *value)
{
    int rc = json_object_set_new (object, key, value);
    assert (rc == 0); /* names are ASCII: only memory could fail */
    (void) rc;
}

static json_t *names_json (const struct name_list *names)
{
    json_t *list = json_array ();
    for (uint32_t i = 0; i < names->n; i++)
        json_array_append_new (list, json_stringn (names->items[i].ptr, names->items[i].len));
    return list;
}

static json_t *set_json (const struct name_list *names)
{
    json_t *object = json_object ();
    struct buf folded;
    buf_init (&folded, FOLDED_MAX_BYTES);
    hostset_fold (names->items, names->n, &folded);
    put (object, "count", json_integer (names->n));
    put (object, "folded", json_stringn (buf_c (&folded), folded.len));
    put (object, "hosts", names_json (names));
    buf_release (&folded);
    return object;
}

static json_t *parts_json (const struct hostset_output *output, const struct name_list *names)
{
    json_t *list = json_array ();
    uint32_t parts = parts_of (output, names);
    for (uint32_t i = 0; i < parts; i++) {
        struct name_list part = part_of (names, parts, i);
        json_array_append_new (list, set_json (&part));
        mem_free (part.items);
    }
    return list;
}

static void write_json (const struct hostset_output *output, json_t *object, struct buf *out)
{
    put (object, "schema", json_string ("sliceup.hosts/1"));
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
        put (object, "parts", parts_json (output, names));
    write_json (output, object, out);
}

void hostset_output_format_error (const struct hostset_output *output, const struct err *err, struct buf *out)
{
    if (!output->json) {
        buf_printf (out, "error: %s\n", err->text);
        return;
    }
    json_t *object = json_object ();
    put (object, "error", json_string (err->text));
    write_json (output, object, out);
}
