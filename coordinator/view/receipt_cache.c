#include "coordinator/view/receipt_text.h"

const char *receipt_cache_holds (struct text mode)
{
    static const char *const words[] = {
        [CACHE_OFF] = "no cache: every rung runs once",
        [CACHE_SINGLE_WRITER] = "one host writes, the others only read what was sealed",
        [CACHE_PER_HOST] = "every host writes and reads a folder of its own; nothing is sealed or shared",
        [CACHE_READ_ONLY] = "hosts read what was published, and no host writes",
        [CACHE_WARM_ONLY] = "one host writes, and nothing is restored in this run"
    };
    for (size_t i = CACHE_OFF; i < sizeof words / sizeof words[0]; i++)
        if (text_is (mode, enum_name_of (&cache_mode_names, (uint32_t) i)))
            return words[i];
    return NULL;
}

const struct generation_receipt *receipt_newest_generation (const struct slice_receipt *receipt, struct text run)
{
    const struct generation_receipt *newest = NULL;
    for (uint32_t i = 0; i < receipt->generations.n; i++) {
        const struct generation_receipt *generation = &receipt->generations.items[i];
        if (text_equal (generation->run, run) && generation->dropped.len == 0 &&
            (!newest || generation->token >= newest->token))
            newest = generation;
    }
    return newest;
}

/* How a host saw the cache at the latest rung that used it; NULL: none did. */
static const struct cache_view *receipt_latest_cache_view (const struct host_receipt *host)
{
    for (uint32_t i = host->rungs.n; i-- > 0;)
        if (host->rungs.items[i].cache_view.level != ENFORCEMENT_NONE)
            return &host->rungs.items[i].cache_view;
    return NULL;
}

static const struct cache_view *view_of (const struct slice_receipt *receipt, struct text run, uint32_t host)
{
    return text_equal (receipt->hosts.items[host].run, run) ? receipt_latest_cache_view (&receipt->hosts.items[host])
                                                            : NULL;
}

/* Receipts of one host that differ are neighbours, and it is named once. */
static uint32_t add_name (struct text names[], uint32_t n, struct text name)
{
    if (n > 0 && text_equal (names[n - 1], name))
        return n;
    names[n] = name;
    return n + 1;
}

uint32_t receipt_hosts_at_level (const struct slice_receipt *receipt, struct text run, enum enforcement level,
                                 struct text names[])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < receipt->hosts.n; i++) {
        const struct cache_view *view = view_of (receipt, run, i);
        if (view && view->level == level)
            n = add_name (names, n, receipt->hosts.items[i].host);
    }
    return n;
}

static bool told (const struct buf *ways, struct text way)
{
    struct text text = buf_as_text (ways);
    for (uint32_t from = 0, comma; from < text.len; from += comma + 2) {
        struct text rest = { text.ptr + from, text.len - from };
        if (!text_find (rest, TEXT_LIT (", "), &comma))
            comma = rest.len;
        if (text_equal ((struct text){ rest.ptr, comma }, way))
            return true;
    }
    return false;
}

static void add_ways (const struct cache_view *view, struct buf *ways)
{
    for (uint32_t i = 0; i < view->open_ways.n; i++) {
        struct buf way;
        buf_init (&way, 8 * ID_MAX_BYTES);
        buf_escaped (&way, view->open_ways.items[i], 0);
        if (!told (ways, buf_as_text (&way)))
            buf_printf (ways, "%s%s", ways->len ? ", " : "", buf_c (&way));
        buf_release (&way);
    }
}

uint32_t receipt_hosts_with_open_ways (const struct slice_receipt *receipt, struct text run, struct text names[],
                                       struct buf *ways)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < receipt->hosts.n; i++) {
        const struct cache_view *view = view_of (receipt, run, i);
        if (!view || view->open_ways.n == 0)
            continue;
        n = add_name (names, n, receipt->hosts.items[i].host);
        add_ways (view, ways);
    }
    return n;
}
