#include <inttypes.h>

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

/* How a host saw the cache at the latest rung of the run that used it; NULL: none did. */
static const struct cache_view *view_of (const struct slice_receipt *receipt, struct text run, uint32_t host)
{
    const struct host_receipt *of = &receipt->hosts.items[host];
    for (uint32_t i = text_equal (of->run, run) ? of->rungs.n : 0; i-- > 0;)
        if (of->rungs.items[i]->cache_view.level != ENFORCEMENT_NONE)
            return &of->rungs.items[i]->cache_view;
    return NULL;
}

/* Receipts of one host that differ are neighbours, and it is named once. */
static uint32_t receipt_cache_add_name (struct text names[], uint32_t n, struct text name)
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
            n = receipt_cache_add_name (names, n, receipt->hosts.items[i].host);
    }
    return n;
}

/* The hosts on which a way to write was open, as receipt_hosts_at_level; such ways, once each, are added to `ways`. */
static uint32_t receipt_hosts_with_open_ways (const struct slice_receipt *receipt, struct text run, struct text names[],
                                              text_list *ways, struct arena *arena)
{
    enum { WAYS_MAX = 1000 };
    uint32_t n = 0;
    for (uint32_t i = 0; i < receipt->hosts.n; i++) {
        const struct cache_view *view = view_of (receipt, run, i);
        for (uint32_t k = 0; view && k < view->open_ways.n && ways->n < WAYS_MAX; k++)
            if (!text_is_among (view->open_ways.items[k], ways->items, ways->n))
                *(struct text *) list_append (ways, sizeof *ways->items, arena) = view->open_ways.items[k];
        if (view && view->open_ways.n)
            n = receipt_cache_add_name (names, n, receipt->hosts.items[i].host);
    }
    return n;
}

/* ---- receipt text cache ---- */

/* The text report's paragraphs about the compile cache. */

enum { COLUMNS = 100, DETAIL_COLUMNS = 400, VIOLATIONS_SHOWN = 12 };

static uint64_t counter (const struct rung_receipt *rung, const char *name)
{
    const struct named_number *number = LIST_FIND (rung->counters, struct named_number, name, text_of (name));
    return number ? number->value : 0;
}

struct saving {
    uint64_t programs, timed, compile_ms, retrieval_ms;
    uint32_t restored_hosts;
};

/* Of each program that was found: what compiling that one took its writer. */
static void receipt_cache_add_attempt (const struct rung_receipt *rung, struct saving *sum)
{
    sum->programs += counter (rung, "cache_hits");
    sum->retrieval_ms += counter (rung, "retrieval_ms");
    for (uint32_t i = 0; i < rung->keys.n; i++) {
        const struct cache_key *key = &rung->keys.items[i];
        sum->timed += key->state == KEY_HIT && key->compile_ms;
        sum->compile_ms += key->state == KEY_HIT ? key->compile_ms : 0;
    }
}

static struct saving savings (const struct slice_receipt *receipt, struct text run)
{
    struct saving sum = { 0 };
    for (uint32_t i = 0; i < receipt->hosts.n; i++) {
        const struct host_receipt *host = &receipt->hosts.items[i];
        bool restored = false;
        for (uint32_t k = 0; text_equal (host->run, run) && k < host->rungs.n; k++)
            if (text_is (host->rungs.items[k]->cache, "restored")) {
                restored = true;
                receipt_cache_add_attempt (host->rungs.items[k], &sum);
            }
        sum.restored_hosts += restored;
    }
    return sum;
}

static void add_saving (const struct slice_receipt *receipt, const struct run_header *header, struct buf *out)
{
    char saved[DURATION_TEXT_BYTES], loaded[DURATION_TEXT_BYTES];
    struct saving sum = savings (receipt, header->run);
    uint64_t saved_ms = sum.compile_ms > sum.retrieval_ms ? sum.compile_ms - sum.retrieval_ms : 0;
    buf_printf (out, "         restored on %u of %u hosts: %" PRIu64 " program%s loaded instead of compiled",
                sum.restored_hosts, receipt->hosts.n, sum.programs, plural (sum.programs));
    if (sum.timed == 0) {
        buf_puts (out, sum.programs ? "; how long compiling each took was not told\n" : "\n");
        return;
    }
    buf_printf (out, ", compile time saved %s (compiling them again would take %s, loading took %s",
                duration_print (saved_ms, saved), DURATION_TEXT (sum.compile_ms),
                duration_print (sum.retrieval_ms, loaded));
    if (sum.timed < sum.programs)
        buf_printf (out, "; of %" PRIu64 " it was not told", sum.programs - sum.timed);
    buf_puts (out, ")\n");
}

static void add_generation (const struct slice_receipt *receipt, const struct run_header *header, struct buf *out)
{
    const struct generation_receipt *newest = receipt_newest_generation (receipt, header->run);
    const char *holds = receipt_cache_holds (header->cache_mode);
    if (newest == NULL && holds)
        buf_printf (out, "cache    %.*s: %s\n", TEXT_ARG (header->cache_mode), holds);
    if (newest == NULL)
        return;
    struct text writer = newest->writer.len ? newest->writer : header->cache_writer;
    buf_printf (out, "cache    %.*s, generation %" PRIu64 " of %.*s, %u files, sha256 %.12s, writer %.*s\n",
                TEXT_ARG (header->cache_mode), newest->token, TEXT_ARG (newest->bundle), newest->entries,
                newest->sha256.len ? newest->sha256.ptr : "-", TEXT_ARG (writer.len ? writer : TEXT_LIT ("-")));
    add_saving (receipt, header, out);
}

static void add_enforcement (const struct slice_receipt *receipt, const struct run_header *header, struct buf *out)
{
    LOCAL_MEM struct text *names = mem_array (receipt->hosts.n, sizeof (*names));
    LOCAL_ARENA arena = { 0 };
    text_list ways = { 0 };
    bool first = true, own = text_is (header->cache_mode, enum_name_of (&cache_mode_names, CACHE_PER_HOST));
    const char *where = own ? "the cache outside their host's folder" : "the cache";
    for (enum enforcement level = ENFORCEMENT_N; level-- > ENFORCEMENT_NONE + 1;) {
        uint32_t n = receipt_hosts_at_level (receipt, header->run, level, names);
        if (n == 0)
            continue;
        if (first)
            buf_printf (out, "         programs are kept from writing %s by ", where);
        buf_printf (out, "%s%s on ", first ? "" : "; ",
                    level == ENFORCEMENT_COOPERATIVE ? "convention only (cooperative)"
                                                     : enum_name_of (&enforcement_names, level));
        hostset_fold (names, n, out);
        first = false;
    }
    buf_puts (out, first ? "" : "\n");
    uint32_t n = receipt_hosts_with_open_ways (receipt, header->run, names, &ways, &arena);
    if (n > 0) {
        buf_printf (out, "         ways in which programs could still write %s on ", where);
        hostset_fold (names, n, out);
        for (uint32_t i = 0; i < ways.n; i++)
            buf_escaped_after (out, i ? ", " : ": ", ways.items[i], 0);
        buf_byte (out, '\n');
    }
}

static void add_trust (const struct run_header *header, struct buf *out)
{
    const char *before = "         users who may own the cache, besides root and the user of the worker: uid ";
    for (uint32_t i = 0; i < header->cache_trust.n; i++)
        buf_printf (out, "%s%u", i ? ", " : before, (unsigned) header->cache_trust.items[i]);
    buf_puts (out, header->cache_trust.n ? "\n" : "");
}

static void add_dropped (const struct slice_receipt *receipt, const struct run_header *header, struct buf *out)
{
    for (uint32_t i = 0; i < receipt->generations.n; i++) {
        const struct generation_receipt *generation = &receipt->generations.items[i];
        if (generation->dropped.len == 0 || !text_equal (generation->run, header->run))
            continue;
        buf_printf (out, "         generation %" PRIu64 " is no longer used", generation->token);
        buf_escaped_after (out, ": ", generation->dropped, DETAIL_COLUMNS);
        buf_byte (out, '\n');
    }
}

static void add_violation (const struct violation_receipt *violation, struct buf *out)
{
    buf_printf (out, "%s %s", finding_is_violation (violation->kind) ? "violated" : "noted   ",
                enum_name_of (&finding_kind_names, violation->kind));
    if (violation->token)
        buf_printf (out, " in generation %" PRIu64, violation->token);
    buf_escaped_after (out, ": ", violation->path, COLUMNS);
    buf_escaped_after (out, ": ", violation->detail, DETAIL_COLUMNS);
    buf_puts (out, "\n         found ");
    if (violation->host.len)
        buf_printf (out, "on %.*s ", TEXT_ARG (violation->host));
    buf_printf (out, "at rung %.*s; it happened ", TEXT_ARG (violation->rung.len ? violation->rung : TEXT_LIT ("-")));
    if (violation->since)
        buf_printf (out, "between entries %" PRIu64 " and %" PRIu64 " of the journal", violation->since,
                    violation->index);
    else
        buf_printf (out, "before entry %" PRIu64 " of the journal", violation->index);
    if (violation->from_run.len)
        buf_printf (out, "; its token was granted to run %.*s",
                    violation->from_run.len < 8 ? (int) violation->from_run.len : 8, violation->from_run.ptr);
    buf_byte (out, '\n');
}

void receipt_text_cache (const struct slice_receipt *receipt, const struct run_header *header, struct buf *out)
{
    uint32_t n = 0;
    add_generation (receipt, header, out);
    add_enforcement (receipt, header, out);
    add_trust (header, out);
    add_dropped (receipt, header, out);
    for (uint32_t i = 0; i < receipt->violations.n; i++)
        if (text_equal (receipt->violations.items[i].run, header->run) && n++ < VIOLATIONS_SHOWN)
            add_violation (&receipt->violations.items[i], out);
    if (n > VIOLATIONS_SHOWN)
        buf_printf (out, "         ... findings not shown: %u\n", n - VIOLATIONS_SHOWN);
}
