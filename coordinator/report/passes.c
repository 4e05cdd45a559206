#include "coordinator/report/passes.h"

#include <inttypes.h>
#include <string.h>

#include "coordinator/page/host_letters.h"
#include "coordinator/report/attempts.h"

enum { SEPARATOR_BYTES = 2 };

/* Each host once: a damaged journal may begin one pass twice. */
static uint32_t hosts_of_pass (struct report_attempt **pass, uint32_t n)
{
    uint32_t hosts = 0;
    for (uint32_t i = 0; i < n; i++)
        if (hosts == 0 || pass[hosts - 1]->host != pass[i]->host)
            pass[hosts++] = pass[i];
    return hosts;
}

static void add_number (struct buf *out, const char *before, bool known, uint64_t number)
{
    buf_puts (out, before);
    if (known)
        buf_printf (out, "%" PRIu64, number);
    else
        buf_puts (out, "null");
}

/* Up to the last that took part. */
static void add_marks (struct report_attempt *const *pass, uint32_t n, struct buf *out)
{
    uint32_t hosts = pass[n - 1]->host + 1;
    char *letters = mem_array (hosts, 1);
    memset (letters, '.', hosts);
    for (uint32_t i = 0; i < n; i++)
        letters[pass[i]->host] = scene_mark_letter (pass[i]->of->mark);
    buf_puts (out, ",\"marks\":\"");
    host_letters_add_runs (letters, hosts, out);
    mem_free (letters);
}

static void add_times (struct report_attempt *const *pass, uint32_t n, struct buf *out)
{
    uint32_t unknown = 0;
    buf_puts (out, "\",\"ms\":[");
    for (uint32_t i = 0; i < n; i++)
        add_number (out, i ? "," : "", pass[i]->of->ms_known, pass[i]->of->ms);
    buf_puts (out, "],\"ended_ms\":[");
    for (uint32_t i = 0; i < n; i++)
        if (!pass[i]->of->ms_known)
            add_number (out, unknown++ ? "," : "", true, pass[i]->of->ended_ms);
    buf_puts (out, "]}");
}

static void add_pass (struct report_attempt *const *pass, uint32_t n, struct buf *out)
{
    const struct scene_attempt *of = pass[0]->of;
    uint64_t began_ms = of->began_ms;
    for (uint32_t i = 1; i < n; i++)
        began_ms = pass[i]->of->began_ms < began_ms ? pass[i]->of->began_ms : began_ms;
    buf_printf (out, "{\"rung\":%u,\"pass\":\"%s\"", of->rung, enum_name_of (&pass_names, of->pass));
    add_number (out, ",\"attempt\":", of->attempt != 0, of->attempt);
    buf_printf (out, ",\"purpose\":\"%s\"", enum_name_of (&purpose_names, of->purpose));
    add_number (out, ",\"began_ms\":", true, began_ms);
    add_marks (pass, n, out);
    add_times (pass, n, out);
}

struct passes passes_of (const struct report *report, struct arena *arena)
{
    struct arena own = { 0 };
    struct report_attempts attempts = report_attempts_of (report, &own);
    struct passes out = { .items = arena_array (arena, attempts.n, sizeof (*out.items)) };
    const struct scene_attempt *later = NULL; /* the last is looked at first */
    for (uint32_t to = attempts.n, from; to > 0; to = from) {
        struct buf json;
        for (from = to; from > 0 && report_same_pass (attempts.by_pass[from - 1], attempts.by_pass[to - 1]);)
            from--;
        const struct scene_attempt *of = attempts.by_pass[from]->of;
        struct passes_item *item = &out.items[out.n++];
        buf_init (&json, UINT32_MAX);
        add_pass (attempts.by_pass + from, hosts_of_pass (attempts.by_pass + from, to - from), &json);
        item->json = buf_finish (&json, arena);
        bool whole = of->purpose != PURPOSE_ISOLATION;
        item->again = !whole || (later && later->rung == of->rung && later->pass == of->pass);
        later = whole ? of : later;
    }
    arena_release (&own);
    return out;
}

size_t passes_take (struct passes *passes, bool again, size_t room)
{
    size_t used = 0;
    for (uint32_t i = 0; i < passes->n; i++) {
        struct passes_item *item = &passes->items[i];
        if (item->taken || item->again != again || item->json.len + SEPARATOR_BYTES > room - used)
            continue;
        item->taken = true;
        used += item->json.len + SEPARATOR_BYTES;
    }
    return used;
}

uint32_t passes_left_out (const struct passes *passes, bool again)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < passes->n; i++)
        n += !passes->items[i].taken && passes->items[i].again == again;
    return n;
}

void passes_json (const struct passes *passes, struct buf *out)
{
    bool first = true;
    buf_byte (out, '[');
    for (uint32_t i = passes->n; i > 0; i--) {
        if (!passes->items[i - 1].taken)
            continue;
        buf_puts (out, first ? "" : ",\n");
        buf_add_text (out, passes->items[i - 1].json);
        first = false;
    }
    buf_byte (out, ']');
}
