#include "common/wire/wire.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <msgpack/pack.h>
#include <string.h>

#include "common/wire/reader.h"

/* ---- put ---- */

/* Turns a table into calls of msgpack-c's packer, which takes the shortest form of everything, the only one that
 * reader.h accepts. We choose what it leaves open: the one form of zero and NaN. */

/* Most pieces are one byte, and nearly all fit: two calls for each would cost more than the packing. */
static int write_out (void *owner, const char *bytes, size_t len)
{
    struct buf *out = owner;
    if (len == 0 || len > out->capacity - out->len || out->overflow) {
        buf_add (out, bytes, len);
        return out->overflow ? -1 : 0;
    }
    if (len == 1)
        out->ptr[out->len] = (uint8_t) *bytes;
    else
        memcpy (out->ptr + out->len, bytes, len);
    out->len += len;
    return 0;
}

/* The packer fails only if `out` has no room. */
static msgpack_packer put_begin (struct buf *out)
{
    msgpack_packer packer;
    msgpack_packer_init (&packer, out, write_out);
    return packer;
}

/* Ends packing that began at byte `began` of `out`. rc other than 0: removes what was packed. */
static void put_end (struct buf *out, size_t began, int rc)
{
    if (rc == 0)
        return;
    out->overflow = true;
    out->len = began;
}

static int put_f64 (msgpack_packer *to, double number)
{
    static const uint64_t nan_bits = WIRE_NAN_BITS;
    if (isnan (number))
        memcpy (&number, &nan_bits, sizeof number);
    return msgpack_pack_double (to, number == 0.0 ? 0.0 : number);
}

static int put_value (msgpack_packer *to, const struct field *field, const void *at);
static int put_record (msgpack_packer *to, const struct record *record, const void *value);

static int put_items (msgpack_packer *to, const struct field *field, const struct any_list *list)
{
    struct field item = field_describe_item (field);
    size_t item_bytes = field_item_bytes (field);
    int rc = msgpack_pack_array (to, list->n);

    for (uint32_t i = 0; rc == 0 && i < list->n; i++)
        rc = put_value (to, &item, (const char *) list->items + i * item_bytes);
    return rc;
}

static int put_value (msgpack_packer *to, const struct field *field, const void *at)
{
    const struct text *text = at;

    switch (field->kind) {
    case FIELD_BOOL: return *(const bool *) at ? msgpack_pack_true (to) : msgpack_pack_false (to);
    case FIELD_U32:
    case FIELD_ENUM: return msgpack_pack_uint32 (to, *(const uint32_t *) at);
    case FIELD_U64: return msgpack_pack_uint64 (to, *(const uint64_t *) at);
    case FIELD_F64: return put_f64 (to, *(const double *) at);
    case FIELD_TEXT: return msgpack_pack_str_with_body (to, text->ptr, text->len);
    case FIELD_BYTES: return msgpack_pack_bin_with_body (to, text->ptr, text->len);
    case FIELD_RECORD: return put_record (to, field->of, at);
    case FIELD_REF: return put_record (to, field->of, *(void *const *) at);
    case FIELD_LIST: break;
    }
    return put_items (to, field, at);
}

static int put_field (msgpack_packer *to, const struct field *field, const void *value)
{
    int rc = msgpack_pack_uint32 (to, field->key);
    return rc == 0 ? put_value (to, field, (const char *) value + field->offset) : rc;
}

static int put_record (msgpack_packer *to, const struct record *record, const void *value)
{
    uint32_t pairs = 0;
    uint64_t present = 0;
    struct text encoded = record_encoded (record, value);

    assert (record->fields_n <= 64);
    if (encoded.len)
        return write_out (to->data, encoded.ptr, encoded.len);
    for (uint32_t i = 0; i < record->fields_n; i++) {
        if (field_is_empty (&record->fields[i], (const char *) value + record->fields[i].offset))
            continue;
        present |= 1ull << i;
        pairs++;
    }
    int rc = msgpack_pack_map (to, pairs);
    for (uint32_t i = 0; rc == 0 && i < record->fields_n; i++)
        if (present >> i & 1)
            rc = put_field (to, &record->fields[i], value);
    return rc;
}

/* ---- get ---- */

/* A record out of a reader, along its table. For msg.c and fact.c of this room; others use wire.h.
 *
 * Decoding by table. Recursion is bounded twice: by how deep the tables nest and by `depth`. */

struct getter {
    struct reader *reader;
    struct arena *arena;
    struct err *err;
};

static int refuse_kind (const struct getter *get, const char *wanted, const struct wire_value *value)
{
    return err_set (get->err, ERR_PARSE, "byte %" PRIu32 ": found %s, expected %s", reader_offset (get->reader),
                    value_kind_name (value->kind), wanted);
}

static int refuse_size (const struct getter *get, const char *what, uint64_t found, uint64_t max)
{
    return err_set (get->err, ERR_LIMIT, "byte %" PRIu32 ": %s is %" PRIu64 ", expected at most %" PRIu64,
                    reader_offset (get->reader), what, found, max);
}

static int get_uint (const struct getter *get, const struct wire_value *value, uint64_t max, uint64_t *out)
{
    if (value->kind != VALUE_UINT)
        return refuse_kind (get, "integer from 0", value);
    if (value->number > max)
        return refuse_size (get, "the number", value->number, max);
    *out = value->number;
    return 0;
}

static int get_u32 (const struct getter *get, const struct wire_value *value, uint64_t max, void *out)
{
    uint64_t number;
    if (get_uint (get, value, max < UINT32_MAX ? max : UINT32_MAX, &number) < 0)
        return -1;
    uint32_t narrow = (uint32_t) number;
    memcpy (out, &narrow, sizeof narrow);
    return 0;
}

static int get_bool (const struct getter *get, const struct wire_value *value, void *out)
{
    if (value->kind != VALUE_BOOL)
        return refuse_kind (get, "truth value", value);
    bool truth = value->number != 0;
    memcpy (out, &truth, sizeof truth);
    return 0;
}

static int get_f64 (const struct getter *get, const struct wire_value *value, void *out)
{
    if (value->kind != VALUE_FLOAT)
        return refuse_kind (get, "float", value);
    memcpy (out, &value->real, sizeof value->real);
    return 0;
}

static int get_text (const struct getter *get, const struct wire_value *value, const struct field *field, void *out)
{
    enum value_kind wanted = field->kind == FIELD_TEXT ? VALUE_TEXT : VALUE_BYTES;
    if (value->kind != wanted)
        return refuse_kind (get, value_kind_name (wanted), value);
    if (value->text.len > field->max)
        return refuse_size (get, "the length in bytes", value->text.len, field->max);
    struct text text = { .ptr = value->text.len ? value->text.ptr : NULL, .len = value->text.len };
    memcpy (out, &text, sizeof text);
    return 0;
}

static int get_pairs (const struct getter *get, const struct record *record, void *out, uint64_t pairs, uint32_t depth);
static int get_list (const struct getter *get, const struct field *field, void *out, const struct wire_value *head,
                     uint32_t depth);

static int get_value (const struct getter *get, const struct field *field, void *out, uint32_t depth)
{
    struct wire_value value;
    uint64_t number;

    if (reader_next (get->reader, &value, get->err) < 0)
        return -1;
    switch (field->kind) {
    case FIELD_BOOL: return get_bool (get, &value, out);
    case FIELD_U32: return get_u32 (get, &value, field->max, out);
    case FIELD_ENUM: return get_u32 (get, &value, field->names->n - 1, out);
    case FIELD_U64:
        if (get_uint (get, &value, field->max, &number) < 0)
            return -1;
        memcpy (out, &number, sizeof number);
        return 0;
    case FIELD_F64: return get_f64 (get, &value, out);
    case FIELD_TEXT:
    case FIELD_BYTES: return get_text (get, &value, field, out);
    case FIELD_LIST: return get_list (get, field, out, &value, depth);
    case FIELD_REF: out = *(void **) out = arena_alloc (get->arena, field->of->bytes); break;
    case FIELD_RECORD: break;
    }
    if (value.kind != VALUE_MAP)
        return refuse_kind (get, "map", &value);
    return get_pairs (get, field->of, out, value.number, depth);
}

static int refuse_depth (const struct getter *get)
{
    return err_set (get->err, ERR_LIMIT, "byte %" PRIu32 ": lists and maps are nested too deeply",
                    reader_offset (get->reader));
}

static int get_list (const struct getter *get, const struct field *field, void *out, const struct wire_value *head,
                     uint32_t depth)
{
    if (head->kind != VALUE_LIST)
        return refuse_kind (get, "list", head);
    if (head->number > field->max)
        return refuse_size (get, "the count of items", head->number, field->max);
    if (depth == 0)
        return refuse_depth (get);

    struct field item = field_describe_item (field);
    size_t item_bytes = field_item_bytes (field);
    struct any_list list = { .n = (uint32_t) head->number };
    if (list.n > 0)
        list.items = arena_array (get->arena, list.n, item_bytes);
    for (uint32_t i = 0; i < list.n; i++) {
        if (get_value (get, &item, (char *) list.items + i * item_bytes, depth - 1) < 0)
            return err_prefix (get->err, "%s[%" PRIu32 "]", field->name, i);
    }
    memcpy (out, &list, sizeof list);
    return 0;
}

/* Zero written out would be a second form of the same value. A record with only fields of a later version is zero here
 * but not there, so for records only the empty map is refused. */
static bool is_written_zero (const struct field *field, const void *at, const struct reader *in, const uint8_t *began)
{
    if (field->kind == FIELD_RECORD)
        return in->at == began + 1;
    return field_is_empty (field, at);
}

static int get_field (const struct getter *get, const struct field *field, void *out, uint32_t depth)
{
    void *at = (char *) out + field->offset;
    const uint8_t *began = get->reader->at;

    if (get_value (get, field, at, depth) < 0)
        return err_prefix (get->err, "%s", field->name);
    if (is_written_zero (field, at, get->reader, began))
        return err_set (get->err, ERR_PARSE,
                        "%s: byte %" PRIu32 ": found a zero or empty value, expected it to be left out", field->name,
                        reader_offset (get->reader));
    return 0;
}

/* Keys rise in both the map and the table, so one pass over each finds every field. */
static int get_pairs (const struct getter *get, const struct record *record, void *out, uint64_t pairs, uint32_t depth)
{
    uint32_t at = 0;
    int64_t key = -1;

    if (depth == 0)
        return refuse_depth (get);
    for (uint64_t i = 0; i < pairs; i++) {
        if (reader_next_key (get->reader, &key, get->err) < 0)
            return -1;
        while (at < record->fields_n && record->fields[at].key < key)
            at++;
        bool known = at < record->fields_n && record->fields[at].key == key;
        int rc = known ? get_field (get, &record->fields[at], out, depth - 1)
                       : reader_skip (get->reader, depth - 1, get->err);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* Reads a map. `*out` is zeroed first; `depth` levels may be opened, the map itself being one. */
static int get_record (struct reader *reader, const struct record *record, void *out, uint32_t depth,
                       struct arena *arena, struct err *err)
{
    struct getter get = { .reader = reader, .arena = arena, .err = err };
    struct field whole = { .name = record->name, .kind = FIELD_RECORD, .of = record };

    memset (out, 0, record->bytes);
    return get_value (&get, &whole, out, depth) < 0 ? err_prefix (err, "%s", record->name) : 0;
}

static int get_u64 (struct reader *reader, const char *name, uint64_t max, uint64_t *out, struct err *err)
{
    struct getter get = { .reader = reader, .err = err };
    struct wire_value value;
    if (reader_next (reader, &value, err) < 0 || get_uint (&get, &value, max, out) < 0)
        return err_prefix (err, "%s", name);
    return 0;
}

/* A list's head with exactly `items`. */
static int get_list_head_of_n (struct reader *reader, const char *name, uint32_t items, struct err *err)
{
    struct wire_value value;
    if (reader_next (reader, &value, err) < 0)
        return err_prefix (err, "%s", name);
    if (value.kind != VALUE_LIST || value.number != items)
        return err_set (err, ERR_PARSE, "%s: expected a list of %" PRIu32 " items", name, items);
    return 0;
}

static int get_end (const struct reader *reader, struct err *err)
{
    if (reader->at == reader->end)
        return 0;
    return err_set (err, ERR_PARSE, "byte %" PRIu32 ": %td extra bytes after the value", reader_offset (reader),
                    reader->end - reader->at);
}

/* ---- a record by itself: result files, seals of what was said ---- */

void wire_put_record (struct buf *out, const struct record *record, const void *value)
{
    size_t began = out->len;
    msgpack_packer packer = put_begin (out);
    put_end (out, began, put_record (&packer, record, value));
}

int wire_get_record (struct text bytes, const struct record *record, void *out, struct arena *arena, struct err *err)
{
    struct reader reader = reader_begin (bytes, WIRE_RECORD_ITEMS_MAX);
    if (get_record (&reader, record, out, WIRE_DEPTH_MAX, arena, err) < 0)
        return -1;
    return get_end (&reader, err);
}

/* ---- facts: [kind, index, at_ms, wall_ms, body] ---- */

enum { FACT_ITEMS = 5 };

static int put_fact (msgpack_packer *to, const struct fact *fact)
{
    if (msgpack_pack_array (to, FACT_ITEMS) || msgpack_pack_uint32 (to, fact->kind) ||
        msgpack_pack_uint64 (to, fact->index) || msgpack_pack_uint64 (to, fact->at_ms) ||
        msgpack_pack_uint64 (to, fact->wall_ms))
        return -1;
    return put_record (to, fact_record_of_kind (fact->kind), &fact->of);
}

void wire_put_fact (struct buf *out, const struct fact *fact)
{
    size_t began = out->len;
    msgpack_packer packer = put_begin (out);
    assert (fact_record_of_kind (fact->kind));
    put_end (out, began, put_fact (&packer, fact));
}

static int get_kind (struct reader *reader, enum fact_kind *out, struct err *err)
{
    uint64_t kind;
    if (get_u64 (reader, "kind", UINT16_MAX, &kind, err) < 0)
        return -1;
    if (!fact_record_of_kind ((enum fact_kind) kind))
        return err_set (err, ERR_REFUSED,
                        "the fact has the unknown kind %" PRIu64 ": a later version of sliceup may have written it",
                        kind);
    *out = (enum fact_kind) kind;
    return 0;
}

static int get_fact (struct reader *reader, struct fact *fact, struct arena *arena, struct err *err)
{
    if (get_list_head_of_n (reader, "head", FACT_ITEMS, err) < 0 || get_kind (reader, &fact->kind, err) < 0 ||
        get_u64 (reader, "index", UINT64_MAX, &fact->index, err) < 0 ||
        get_u64 (reader, "at_ms", UINT64_MAX, &fact->at_ms, err) < 0 ||
        get_u64 (reader, "wall_ms", UINT64_MAX, &fact->wall_ms, err) < 0 ||
        get_record (reader, fact_record_of_kind (fact->kind), &fact->of, WIRE_DEPTH_MAX - 1, arena, err) < 0)
        return -1;
    return get_end (reader, err);
}

int wire_get_fact (struct text bytes, struct fact *out, struct arena *arena, struct err *err)
{
    struct reader reader = reader_begin (bytes, WIRE_RECORD_ITEMS_MAX);
    memset (out, 0, sizeof *out);
    return get_fact (&reader, out, arena, err) < 0 ? err_prefix (err, "fact") : 0;
}

/* ---- messages: [major, minor, kind, run_id, epoch, session, seq, ack, body]; the shape is frozen with HELLO ---- */

/* The fact about a result has it one map deeper than its message. */
enum { ENVELOPE_ITEMS = 9, MSG_BODY_DEPTH_MAX = WIRE_DEPTH_MAX - 2 };

/* A body for the kinds that have none: an empty map, so that a later minor version can put something there. */
static const struct record empty_record = { .name = "body", .bytes = 0 };

static const struct record *body_of (enum msg_kind kind)
{
    const struct record *body = msg_record_of_kind (kind);
    return body ? body : &empty_record;
}

static int put_msg (msgpack_packer *to, const struct msg *msg)
{
    if (msgpack_pack_array (to, ENVELOPE_ITEMS) || msgpack_pack_uint32 (to, msg->major) ||
        msgpack_pack_uint32 (to, msg->minor) || msgpack_pack_uint32 (to, msg->kind) ||
        msgpack_pack_bin_with_body (to, msg->run_id.ptr, msg->run_id.len) || msgpack_pack_uint64 (to, msg->epoch) ||
        msgpack_pack_uint64 (to, msg->session) || msgpack_pack_uint64 (to, msg->seq) ||
        msgpack_pack_uint64 (to, msg->ack))
        return -1;
    return put_record (to, body_of (msg->kind), &msg->of);
}

void wire_put_msg (struct buf *out, const struct msg *msg)
{
    size_t began = out->len;
    msgpack_packer packer = put_begin (out);
    assert (msg_is_known (msg->kind) && msg->run_id.len == RUN_ID_BYTES);
    put_end (out, began, put_msg (&packer, msg));
}

static int get_run_id (struct reader *reader, struct text *run_id, struct err *err)
{
    struct wire_value value;
    if (reader_next (reader, &value, err) < 0)
        return err_prefix (err, "run_id");
    if (value.kind != VALUE_BYTES || value.text.len != RUN_ID_BYTES)
        return err_set (err, ERR_PARSE, "run_id: byte %" PRIu32 ": expected %d bytes", reader_offset (reader),
                        RUN_ID_BYTES);
    *run_id = value.text;
    return 0;
}

static int get_numbers (struct reader *reader, struct msg *msg, struct err *err)
{
    if (get_u64 (reader, "epoch", UINT64_MAX, &msg->epoch, err) < 0 ||
        get_u64 (reader, "session", UINT64_MAX, &msg->session, err) < 0 ||
        get_u64 (reader, "seq", UINT64_MAX, &msg->seq, err) < 0)
        return -1;
    return get_u64 (reader, "ack", UINT64_MAX, &msg->ack, err);
}

static int get_versions (struct reader *reader, struct msg *msg, struct err *err)
{
    uint64_t major, minor, kind;

    if (get_u64 (reader, "major", UINT32_MAX, &major, err) < 0 ||
        get_u64 (reader, "minor", UINT32_MAX, &minor, err) < 0 || get_u64 (reader, "kind", UINT16_MAX, &kind, err) < 0)
        return -1;
    bool frozen = kind == MSG_HELLO || kind == MSG_REFUSE;
    if (major != PROTOCOL_MAJOR && !frozen)
        return err_set (err, ERR_REFUSED, "the sender has protocol version %" PRIu64 ".%" PRIu64 ", expected %d.%d",
                        major, minor, PROTOCOL_MAJOR, PROTOCOL_MINOR);
    if (!msg_is_known ((enum msg_kind) kind))
        return err_set (err, ERR_REFUSED, "the message has the unknown kind %" PRIu64, kind);
    msg->major = (uint32_t) major;
    msg->minor = (uint32_t) minor;
    msg->kind = (enum msg_kind) kind;
    return 0;
}

static int get_msg (struct reader *reader, struct msg *msg, struct arena *arena, struct err *err)
{
    if (get_list_head_of_n (reader, "envelope", ENVELOPE_ITEMS, err) < 0 || get_versions (reader, msg, err) < 0 ||
        get_run_id (reader, &msg->run_id, err) < 0 || get_numbers (reader, msg, err) < 0)
        return -1;
    msg->body = (struct text){ (const char *) reader->at, (uint32_t) (reader->end - reader->at) };
    if (get_record (reader, body_of (msg->kind), &msg->of, MSG_BODY_DEPTH_MAX, arena, err) < 0)
        return -1;
    return get_end (reader, err);
}

int wire_get_msg (struct text bytes, struct msg *out, struct arena *arena, struct err *err)
{
    if (bytes.len > MSG_MAX_BYTES)
        return err_set (err, ERR_LIMIT, "the message has %" PRIu32 " bytes, expected at most %d", bytes.len,
                        MSG_MAX_BYTES);
    struct reader reader = reader_begin (bytes, WIRE_ITEMS_MAX);
    memset (out, 0, sizeof *out);
    return get_msg (&reader, out, arena, err) < 0 ? err_prefix (err, "message") : 0;
}
