#include "common/wire/wire.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "common/base/digest.h"
#include "common/wire/get.h"
#include "common/wire/put.h"

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

/* No value within its table comes near: the largest, a plan of 4,096 hosts with every text at its bound, has 50 MiB. */
enum { DIGESTED_MAX_BYTES = 1 << 30 };

void wire_digest_record (const struct record *record, const void *value, struct digest *out)
{
    struct buf bytes;
    buf_init (&bytes, DIGESTED_MAX_BYTES);
    wire_put_record (&bytes, record, value);
    assert (!bytes.overflow);
    *out = digest_of (bytes.ptr, bytes.len);
    buf_release (&bytes);
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

enum { ENVELOPE_ITEMS = 9 };

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
        get_run_id (reader, &msg->run_id, err) < 0 || get_numbers (reader, msg, err) < 0 ||
        get_record (reader, body_of (msg->kind), &msg->of, WIRE_DEPTH_MAX - 1, arena, err) < 0)
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
