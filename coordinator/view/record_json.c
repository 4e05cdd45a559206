#include "coordinator/view/record_json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/base/utf8.h"
#include "common/model/receipt.h"

enum { ESCAPED_MAX_BYTES = 1 << 20, INDENT_MAX = 32 };

static bool is_object_list (const struct field *field)
{
    return field->kind == FIELD_LIST && (field->of == &var_record || field->of == &number_record);
}

/* ---- to JSON ---- */

json_t *text_json (struct text text)
{
    json_t *value = json_stringn (text.len ? text.ptr : "", text.len);
    return value ? value : json_string ("");
}

json_t *text_or_null_json (struct text text)
{
    return text.len ? escaped_json (text) : json_null ();
}

json_t *number_or_null_json (uint64_t number)
{
    return number ? json_integer ((json_int_t) number) : json_null ();
}

json_t *time_json (uint64_t wall_ms)
{
    struct tm day;
    char seconds[32], whole[48];
    time_t at = (time_t) (wall_ms / 1000);
    if (wall_ms == 0 || !gmtime_r (&at, &day) || !strftime (seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &day))
        return json_null ();
    snprintf (whole, sizeof whole, "%s.%03uZ", seconds, (unsigned) (wall_ms % 1000));
    return json_string (whole);
}

json_t *buf_take_json (struct buf *buf)
{
    json_t *json = text_json (buf_as_text (buf));
    buf_release (buf);
    return json;
}

json_t *escaped_json (struct text text)
{
    if (text_is_utf8 (text))
        return text_json (text);
    struct buf safe = { .max = ESCAPED_MAX_BYTES };
    buf_escaped (&safe, text, 0);
    return buf_take_json (&safe);
}

json_t *texts_json (const struct text *items, uint32_t n)
{
    json_t *list = json_array ();
    for (uint32_t i = 0; i < n; i++)
        json_array_append_new (list, escaped_json (items[i]));
    return list;
}

/* What ends a line, and how far the next one is indented. */
struct line_end {
    struct buf *out;
    uint32_t depth;
};

static void print_line (const struct line_end *end, bool comma)
{
    static const char line[INDENT_MAX + 3] = ",\n                                ";
    buf_add (end->out, line + !comma, 1 + comma + (end->depth < INDENT_MAX ? end->depth : INDENT_MAX));
}

/* jansson gives the end of a line by itself, and leaves DEL as it is, which can stand in a string only. */
static int put_piece (const char *piece, size_t n, void *owner)
{
    const struct line_end *end = owner;
    const char *del;
    for (; (del = memchr (piece, 0x7f, n)); n -= (size_t) (del + 1 - piece), piece = del + 1) {
        buf_add (end->out, piece, (size_t) (del - piece));
        buf_puts (end->out, "\\u007f");
    }
    if (n == 1 && *piece == '\n')
        print_line (end, false);
    else
        buf_add (end->out, piece, n);
    buf_drain (end->out);
    return 0;
}

static void dump_release (json_t *json, size_t flags, struct line_end end)
{
    if (!json || json_dump_callback (json, put_piece, &end, flags | JSON_ENSURE_ASCII) < 0)
        mem_exit_exhausted (0);
    json_decref (json);
}

void json_print_release (json_t *json, size_t flags, struct buf *out)
{
    dump_release (json, flags, (struct line_end){ out, 0 });
    buf_byte (out, '\n');
}

static void put_character (uint32_t character, struct buf *out)
{
    static const char *const letters[] = {
        ['\b'] = "\\b", ['\t'] = "\\t", ['\n'] = "\\n", ['\f'] = "\\f", ['\r'] = "\\r", ['"'] = "\\\"", ['\\'] = "\\\\"
    };
    if (character < sizeof letters / sizeof letters[0] && letters[character])
        buf_puts (out, letters[character]);
    else if (character == 0x7f) /* as json_print_release has it */
        buf_puts (out, "\\u007f");
    else if (character < 0x10000)
        buf_printf (out, "\\u%04X", (unsigned) character);
    else
        buf_printf (out, "\\u%04X\\u%04X", (unsigned) (0xD7C0 + (character >> 10)),
                    (unsigned) (0xDC00 | (character & 0x3FF)));
}

static bool stands_for_itself (char byte)
{
    return byte >= ' ' && byte < 0x7f && byte != '"' && byte != '\\';
}

void json_put_text (struct text text, struct buf *out)
{
    uint32_t at = 0, character = 0;
    buf_byte (out, '"');
    for (bool checked = false; at < text.len;) {
        uint32_t from = at;
        while (at < text.len && stands_for_itself (text.ptr[at]))
            at++;
        if (at < text.len && !checked && !(checked = text_is_utf8 (text)))
            break; /* as text_json */
        buf_add (out, text.ptr + from, at - from);
        if (at < text.len) {
            at += utf8_next (text, at, &character);
            put_character (character, out);
        }
    }
    buf_byte (out, '"');
}

json_t *folded_hosts_json (const struct text *names, uint32_t n)
{
    LOCAL_ARENA arena = { 0 };
    return text_json (hostset_folded (names, n, UINT32_MAX, &arena));
}

json_t *enum_json (const struct enum_names *names, uint32_t value)
{
    return value ? json_string (enum_name_of (names, value)) : json_null ();
}

/* ---- records as text, straight from their tables: trees of many are many times as large ---- */

enum { RECORDS_MAX = 32, FIELDS_MAX = 40, LABEL_BYTES = 40, DOUBLES_KNOWN = 64 };
enum { PRINTED_MAX_BYTES = 512 << 20 };
enum { LAYOUT = JSON_INDENT (1) | JSON_SORT_KEYS | JSON_REAL_PRECISION (17) | JSON_ENCODE_ANY };

struct printing {
    const struct json_rules *rules;
    struct line_end at;
    struct members { /* of a record by name */
        const struct record *of;
        struct member {
            const struct field *field;
            char label[LABEL_BYTES]; /* "NAME": , quotes and all */
            uint32_t label_len;
        } list[FIELDS_MAX];
    } members[RECORDS_MAX];
    struct printed_double { /* the shards of a metric have many alike */
        uint64_t bits;
        char text[40];
    } doubles[DOUBLES_KNOWN];
    const void **sorted; /* of one list of variables */
    uint32_t sorted_room;
};

static int by_field_name (const void *a, const void *b)
{
    return strcmp (((const struct member *) a)->field->name, ((const struct member *) b)->field->name);
}

static const struct member *members_of (struct printing *printing, const struct record *record)
{
    struct members *members = printing->members;
    while (members->of && members->of != record)
        members++;
    assert (members < printing->members + RECORDS_MAX - 1 && record->fields_n <= FIELDS_MAX);
    for (uint32_t i = 0; !members->of && i < record->fields_n; i++) {
        struct member *member = &members->list[i];
        member->field = &record->fields[i];
        member->label_len = (uint32_t) snprintf (member->label, LABEL_BYTES, "\"%s\": ", member->field->name);
        assert (member->label_len < LABEL_BYTES);
    }
    if (!members->of)
        sort_items (members->list, record->fields_n, sizeof members->list[0], by_field_name);
    members->of = record;
    return members->list;
}

static void put_number (int64_t number, struct buf *out)
{
    char digits[24], *at = digits + sizeof digits;
    uint64_t left = number < 0 ? -(uint64_t) number : (uint64_t) number;
    do
        *--at = (char) ('0' + left % 10);
    while (left /= 10);
    if (number < 0)
        *--at = '-';
    buf_add (out, at, (size_t) (digits + sizeof digits - at));
}

static void print_begin (struct printing *printing, char bracket)
{
    buf_byte (printing->at.out, (uint8_t) bracket);
    printing->at.depth++;
}

static void print_end (struct printing *printing, char bracket, bool empty)
{
    printing->at.depth--;
    if (!empty)
        print_line (&printing->at, false);
    buf_byte (printing->at.out, (uint8_t) bracket);
}

/* As jansson prints it, without a tree where there is no exponent. */
static void print_double (struct printing *printing, double value)
{
    uint64_t bits;
    memcpy (&bits, &value, sizeof bits);
    struct printed_double *known = &printing->doubles[(bits ^ bits >> 40) % DOUBLES_KNOWN];
    if (known->bits != bits || !known->text[0]) {
        known->bits = bits;
        snprintf (known->text, sizeof known->text, "%.17g", value);
        if (!strpbrk (known->text, ".en"))
            strcat (known->text, ".0");
    }
    if (strpbrk (known->text, "en"))
        dump_release (isfinite (value) ? json_real (value) : json_null (), LAYOUT, printing->at);
    else
        buf_puts (printing->at.out, known->text);
}

static int by_variable_name (const void *a, const void *b)
{
    const struct text *x = *(const struct text *const *) a, *y = *(const struct text *const *) b;
    int order = text_compare (*x, *y);
    return order ? order : (x > y) - (x < y);
}

/* Variables and numbers begin with their name. Of one name the last counts. */
static void print_variables (struct printing *printing, const struct field *field, const struct any_list *list)
{
    for (uint32_t i = 0; i < list->n; i++) {
        printing->sorted = mem_room (printing->sorted, i, &printing->sorted_room, FIELDS_MAX, sizeof (void *));
        printing->sorted[i] = (const char *) list->items + i * field->of->bytes;
    }
    sort_items (printing->sorted, list->n, sizeof (void *), by_variable_name);
    print_begin (printing, '{');
    for (uint32_t i = 0, told = 0; i < list->n; i++) {
        const struct var *var = printing->sorted[i];
        if (i + 1 < list->n && text_equal (var->name, ((const struct var *) printing->sorted[i + 1])->name))
            continue;
        print_line (&printing->at, told++ > 0);
        json_put_text (var->name, printing->at.out);
        buf_puts (printing->at.out, ": ");
        if (field->of == &number_record)
            put_number ((int64_t) ((const struct named_number *) (const void *) var)->value, printing->at.out);
        else
            json_put_text (var->value, printing->at.out);
    }
    print_end (printing, '}', list->n == 0);
}

static void print_value (struct printing *printing, const struct field *field, const void *at);

static void print_list (struct printing *printing, const struct field *field, const struct any_list *list)
{
    const struct field item = field_describe_item (field);
    print_begin (printing, '[');
    for (uint32_t i = 0; i < list->n && !printing->at.out->overflow; i++) {
        print_line (&printing->at, i > 0);
        print_value (printing, &item, (const char *) list->items + i * field_item_bytes (field));
        buf_drain (printing->at.out);
    }
    print_end (printing, ']', list->n == 0);
}

static void print_listed (struct printing *printing)
{
    json_t *item;
    uint32_t at = 0, n = 0;
    print_begin (printing, '[');
    while ((item = printing->rules->next (printing->rules->list, &at))) {
        print_line (&printing->at, n++ > 0);
        dump_release (item, LAYOUT, printing->at);
    }
    print_end (printing, ']', n == 0);
}

static void print_object (struct printing *printing, const struct record *record, const void *value)
{
    const struct json_rules *rules = printing->rules;
    json_auto_t *more = rules && rules->more ? rules->more (rules->owner, record, value) : NULL;
    const struct member *member = members_of (printing, record), *end = member + record->fields_n;
    void *extra = json_object_iter (more);
    print_begin (printing, '{');
    for (bool first = true; member < end || extra; first = false) {
        const char *name = extra ? json_object_iter_key (extra) : NULL;
        int order = !extra ? 1 : member == end ? -1 : strcmp (name, member->field->name);
        print_line (&printing->at, !first);
        if (order <= 0)
            buf_printf (printing->at.out, "\"%s\": ", name);
        else
            buf_add (printing->at.out, member->label, member->label_len);
        if (order <= 0 && rules->listed && strcmp (name, rules->listed) == 0)
            print_listed (printing);
        else if (order <= 0)
            dump_release (json_incref (json_object_iter_value (extra)), LAYOUT, printing->at);
        else if (rules && rules->unknown (record, value, member->field))
            buf_puts (printing->at.out, "null");
        else
            print_value (printing, member->field, (const char *) value + member->field->offset);
        extra = order <= 0 ? json_object_iter_next (more, extra) : extra;
        member += order >= 0;
    }
    print_end (printing, '}', false);
}

static void print_hex (const struct printing *printing, struct text bytes)
{
    buf_byte (printing->at.out, '"');
    for (uint32_t i = 0; i < bytes.len; i++)
        buf_printf (printing->at.out, "%02x", (unsigned char) bytes.ptr[i]);
    buf_byte (printing->at.out, '"');
}

static void print_value (struct printing *printing, const struct field *field, const void *at)
{
    switch (field->kind) {
    case FIELD_BOOL: buf_puts (printing->at.out, *(const bool *) at ? "true" : "false"); break;
    case FIELD_U32: put_number (*(const uint32_t *) at, printing->at.out); break;
    case FIELD_U64: put_number ((int64_t) * (const uint64_t *) at, printing->at.out); break;
    case FIELD_F64: print_double (printing, *(const double *) at); break;
    case FIELD_ENUM:
        if (*(const uint32_t *) at)
            json_put_text (text_of (enum_name_of (field->names, *(const uint32_t *) at)), printing->at.out);
        else
            buf_puts (printing->at.out, "null");
        break;
    case FIELD_TEXT: json_put_text (*(const struct text *) at, printing->at.out); break;
    case FIELD_BYTES: print_hex (printing, *(const struct text *) at); break;
    case FIELD_RECORD: print_object (printing, field->of, at); break;
    case FIELD_REF: print_object (printing, field->of, *(void *const *) at); break;
    case FIELD_LIST:
        if (is_object_list (field))
            print_variables (printing, field, at);
        else
            print_list (printing, field, at);
    }
}

static void print_field (const struct field *field, const void *at, const struct json_rules *rules, struct buf *out)
{
    struct printing printing = { .rules = rules, .at.out = out };
    print_value (&printing, field, at);
    mem_free (printing.sorted);
}

void record_print_json (const struct record *record, const void *value, const struct json_rules *rules, struct buf *out)
{
    print_field (&(struct field){ .kind = FIELD_RECORD, .of = record }, value, rules, out);
}

json_t *record_field_json (const struct field *field, const void *at)
{
    LOCAL_BUF text = { .max = PRINTED_MAX_BYTES };
    print_field (field, at, NULL, &text);
    return json_loadb ((const char *) text.ptr, text.len, JSON_DECODE_ANY, NULL);
}

json_t *record_to_json (const struct record *record, const void *value)
{
    return record_field_json (&(struct field){ .kind = FIELD_RECORD, .of = record }, value);
}

/* ---- from JSON ---- */

static int wrong (struct err *err, const char *expected)
{
    return err_set (err, ERR_PARSE, "expected %s", expected);
}

static int record_json_take_text (const json_t *json, uint64_t max, struct text *out, struct arena *arena,
                                  struct err *err)
{
    if (json_is_null (json))
        return 0;
    if (!json_is_string (json) || json_string_length (json) > max)
        return err_set (err, ERR_PARSE, "expected a string of at most %" PRIu64 " bytes", max);
    *out = text_copy (arena, (struct text){ json_string_value (json), (uint32_t) json_string_length (json) });
    return 0;
}

static int take_integer (const json_t *json, uint64_t max, uint64_t *out, struct err *err)
{
    *out = 0;
    if (json_is_null (json))
        return 0;
    if (!json_is_integer (json) || json_integer_value (json) < 0 || (uint64_t) json_integer_value (json) > max)
        return err_set (err, ERR_PARSE, "expected an integer from 0 to %" PRIu64, max);
    *out = (uint64_t) json_integer_value (json);
    return 0;
}

static int take_double (const json_t *json, double *out, struct err *err)
{
    if (!json_is_number (json) && !json_is_null (json))
        return wrong (err, "a number or null");
    *out = json_is_null (json) ? NAN : json_number_value (json);
    return 0;
}

static int take_enum (const struct enum_names *names, const json_t *json, uint32_t *out, struct err *err)
{
    *out = 0;
    if (json_is_null (json) ||
        (json_is_string (json) && enum_value_of (names, text_of (json_string_value (json)), out)))
        return 0;
    return err_set (err, ERR_PARSE, "expected null or a known word such as %s", enum_name_of (names, names->n - 1));
}

static int take_vars (const json_t *json, const struct field *field, struct any_list *out, struct arena *arena,
                      struct err *err)
{
    if (!json_is_object (json) || json_object_size (json) > field->max)
        return wrong (err, "an object");
    bool numbers = field->of == &number_record;
    out->items = arena_array (arena, json_object_size (json), field->of->bytes);
    const char *name;
    json_t *member;
    json_object_foreach ((json_t *) (uintptr_t) json, name, member) {
        struct var *var = (struct var *) out->items + out->n;
        struct named_number *number = (struct named_number *) out->items + out->n;
        struct text *at = numbers ? &number->name : &var->name;
        *at = text_copy (arena, text_of (name));
        if (numbers ? take_integer (member, INT64_MAX, &number->value, err)
                    : record_json_take_text (member, TEXT_MAX_BYTES, &var->value, arena, err))
            return err_prefix (err, "%s", name);
        out->n++;
    }
    return 0;
}

static int take_field (const json_t *json, const struct field *field, void *at, struct arena *arena, struct err *err);

static int take_list (const json_t *json, const struct field *field, struct any_list *out, struct arena *arena,
                      struct err *err)
{
    if (is_object_list (field))
        return take_vars (json, field, out, arena, err);
    if (!json_is_array (json) || json_array_size (json) > field->max)
        return err_set (err, ERR_PARSE, "expected an array of at most %" PRIu64 " items", field->max);
    const struct field item = field_describe_item (field);
    size_t bytes = field_item_bytes (field);
    out->items = arena_array (arena, json_array_size (json), bytes);
    for (size_t i = 0; i < json_array_size (json); i++, out->n++)
        if (take_field (json_array_get (json, i), &item, (char *) out->items + i * bytes, arena, err) < 0)
            return err_prefix (err, "[%zu]", i);
    return 0;
}

static int take_field (const json_t *json, const struct field *field, void *at, struct arena *arena, struct err *err)
{
    uint64_t number = 0;
    switch (field->kind) {
    case FIELD_BOOL:
        *(bool *) at = json_is_true (json);
        return json_is_boolean (json) ? 0 : wrong (err, "true or false");
    case FIELD_U32:
        if (take_integer (json, field->max, &number, err) < 0)
            return -1;
        *(uint32_t *) at = (uint32_t) number;
        return 0;
    case FIELD_U64: return take_integer (json, field->max < INT64_MAX ? field->max : INT64_MAX, at, err);
    case FIELD_F64: return take_double (json, at, err);
    case FIELD_ENUM: return take_enum (field->names, json, at, err);
    case FIELD_TEXT: return record_json_take_text (json, field->max, at, arena, err);
    case FIELD_RECORD: return record_from_json (field->of, json, at, arena, err);
    case FIELD_REF:
        *(void **) at = arena_alloc (arena, field->of->bytes);
        return record_from_json (field->of, json, *(void **) at, arena, err);
    case FIELD_LIST: return take_list (json, field, at, arena, err);
    case FIELD_BYTES: break;
    }
    return wrong (err, "that this member is absent: sliceup does not read it from JSON");
}

static const struct field *field_named (const struct record *record, const char *name)
{
    for (uint32_t i = 0; i < record->fields_n; i++)
        if (strcmp (record->fields[i].name, name) == 0)
            return &record->fields[i];
    return NULL;
}

int record_from_json (const struct record *record, const json_t *json, void *out, struct arena *arena, struct err *err)
{
    const char *name;
    json_t *member;
    memset (out, 0, record->bytes);
    if (json_is_null (json))
        return 0;
    if (!json_is_object (json))
        return err_set (err, ERR_PARSE, "expected an object (%s)", record->name);
    json_object_foreach ((json_t *) (uintptr_t) json, name, member) {
        const struct field *field = field_named (record, name);
        if (field == NULL)
            return err_set (err, ERR_PARSE, "%s: unknown member of %s", name, record->name);
        if (take_field (member, field, (char *) out + field->offset, arena, err) < 0)
            return err_prefix (err, "%s", name);
    }
    return 0;
}
