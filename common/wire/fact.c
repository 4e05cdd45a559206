/* fact.c - [kind, index, at_ms, wall_ms, body]. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "common/wire/get.h"
#include "common/wire/put.h"
#include "common/wire/wire.h"

enum { FACT_ITEMS = 5 };

static int put_fact (msgpack_packer *to, const struct fact *fact)
{
    if (msgpack_pack_array (to, FACT_ITEMS) || msgpack_pack_uint32 (to, fact->kind) ||
        msgpack_pack_uint64 (to, fact->index) || msgpack_pack_uint64 (to, fact->at_ms) ||
        msgpack_pack_uint64 (to, fact->wall_ms))
        return -1;
    return put_record (to, fact_body (fact->kind), &fact->of);
}

void wire_put_fact (struct buf *out, const struct fact *fact)
{
    size_t began = out->len;
    msgpack_packer packer = put_into (out);
    assert (fact_body (fact->kind));
    put_end (out, began, put_fact (&packer, fact));
}

static int get_kind (struct reader *reader, enum fact_kind *out, struct err *err)
{
    uint64_t kind;
    if (get_u64 (reader, "kind", UINT16_MAX, &kind, err) < 0)
        return -1;
    if (!fact_body ((enum fact_kind) kind))
        return err_set (err, ERR_REFUSED,
                        "the fact has the unknown kind %" PRIu64 ": a later version of sliceup may have written it",
                        kind);
    *out = (enum fact_kind) kind;
    return 0;
}

static int get_fact (struct reader *reader, struct fact *fact, struct arena *arena, struct err *err)
{
    if (get_list_of (reader, "head", FACT_ITEMS, err) < 0)
        return -1;
    if (get_kind (reader, &fact->kind, err) < 0)
        return -1;
    if (get_u64 (reader, "index", UINT64_MAX, &fact->index, err) < 0)
        return -1;
    if (get_u64 (reader, "at_ms", UINT64_MAX, &fact->at_ms, err) < 0)
        return -1;
    if (get_u64 (reader, "wall_ms", UINT64_MAX, &fact->wall_ms, err) < 0)
        return -1;
    if (get_record (reader, fact_body (fact->kind), &fact->of, WIRE_DEPTH_MAX - 1, arena, err) < 0)
        return -1;
    return get_end (reader, err);
}

int wire_get_fact (struct text bytes, struct fact *out, struct arena *arena, struct err *err)
{
    struct reader reader = reader_over (bytes, WIRE_RECORD_ITEMS_MAX);
    memset (out, 0, sizeof *out);
    return get_fact (&reader, out, arena, err) < 0 ? err_prefix (err, "fact") : 0;
}
