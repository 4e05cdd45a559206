/* fact.c - [kind, index, at_ms, wall_ms, body]. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "common/wire/get.h"
#include "common/wire/put.h"
#include "common/wire/wire.h"

enum { FACT_ITEMS = 5 };

void wire_put_fact (struct buf *out, const struct fact *fact)
{
    const struct record *body = fact_body (fact->kind);
    struct put put;

    assert (body);
    put_begin (&put, out);
    put_list (&put, FACT_ITEMS);
    put_u64 (&put, fact->kind);
    put_u64 (&put, fact->index);
    put_u64 (&put, fact->at_ms);
    put_u64 (&put, fact->wall_ms);
    put_record (&put, body, &fact->of);
    put_end (&put);
}

static int get_kind (struct reader *reader, enum fact_kind *out, struct err *err)
{
    uint64_t kind;
    if (get_u64 (reader, "kind", UINT16_MAX, &kind, err) < 0)
        return -1;
    if (!fact_body ((enum fact_kind) kind))
        return err_set (err, ERR_REFUSED, "fact of unknown kind %" PRIu64 "; a later version may have written it",
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
