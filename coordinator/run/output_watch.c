#include "coordinator/run/output_watch.h"

#include <stdlib.h>

enum { QUIET_LEAST_MS = 5000, SEARCHED_BYTES = 2048 }; /* a pause that is shorter is no news */

struct last_line {
    struct attempt_key key; /* that printed it; attempt 0: nothing was heard */
    uint64_t end;           /* of what was seen of its log */
    uint64_t at_ms;
    bool whole; /* what comes next begins another line */
    uint32_t len;
    char line[OUTPUT_LINE_BYTES];
};

struct output_watch {
    struct last_line *hosts;
    uint32_t n;
    uint64_t live_bytes; /* then a host sends nothing before its program is over */
    bool unheard;        /* of `key` it is not known what was printed before */
    bool resumed;
    struct attempt_key key; /* that runs, as last asked for */
    uint64_t since_ms;      /* and when that was first done */
};

struct output_watch *output_watch_create (uint32_t hosts_n, uint64_t log_bytes, bool resumed)
{
    struct output_watch *watch = mem_alloc (sizeof (*watch));
    *watch = (struct output_watch){ .n = hosts_n, .live_bytes = log_live_bytes (log_bytes), .resumed = resumed };
    watch->hosts = mem_array (hosts_n, sizeof (*watch->hosts));
    return watch;
}

void output_watch_destroy (struct output_watch *watch)
{
    if (watch == NULL)
        return;
    mem_free (watch->hosts);
    mem_free (watch);
}

/* The last line that is not blank; one that has no end yet counts. */
static void take_bytes (struct last_line *last, struct text bytes)
{
    uint32_t from = bytes.len > SEARCHED_BYTES ? bytes.len - SEARCHED_BYTES : 0;
    last->whole |= from > 0;
    for (uint32_t i = from; i < bytes.len; i++) {
        char c = bytes.ptr[i];
        if (c == '\n' || c == '\r') {
            last->whole = true;
            continue;
        }
        if (last->whole && (c == ' ' || c == '\t' || c == '\0'))
            continue;
        last->len = last->whole ? 0 : last->len;
        last->whole = false;
        if (last->len < OUTPUT_LINE_BYTES)
            last->line[last->len++] = c;
    }
}

void output_watch_add (struct output_watch *watch, uint32_t host, const struct msg_log *piece, uint64_t now_ms)
{
    if (host >= watch->n || piece->bytes.len == 0 || piece->offset > UINT64_MAX - piece->bytes.len)
        return;
    struct last_line *last = &watch->hosts[host];
    if (!attempt_key_equal (&last->key, &piece->key))
        *last = (struct last_line){ .key = piece->key, .whole = true };
    if (piece->offset < last->end)
        return; /* repeated */
    last->whole |= piece->offset > last->end;
    last->end = piece->offset + piece->bytes.len;
    last->at_ms = now_ms;
    take_bytes (last, piece->bytes);
}

/* UINT64_MAX: it is not known. */
static uint64_t quiet_ms (const struct output_watch *watch, uint32_t host, uint64_t now_ms)
{
    const struct last_line *last = &watch->hosts[host];
    bool heard = attempt_key_equal (&last->key, &watch->key);
    if ((!heard && watch->unheard) || (heard && last->end >= watch->live_bytes))
        return UINT64_MAX;
    uint64_t from_ms = heard ? last->at_ms : watch->since_ms;
    return now_ms > from_ms ? now_ms - from_ms : 0;
}

static struct text line_of (const struct output_watch *watch, uint32_t host)
{
    const struct last_line *last = &watch->hosts[host];
    return attempt_key_equal (&last->key, &watch->key) ? (struct text){ last->line, last->len } : (struct text){ 0 };
}

struct quiet_host {
    uint32_t host;
    uint64_t quiet_ms;
};

static int quietest_first (const void *a, const void *b)
{
    const struct quiet_host *x = a, *y = b;
    if (x->quiet_ms != y->quiet_ms)
        return x->quiet_ms > y->quiet_ms ? -1 : 1;
    return x->host < y->host ? -1 : x->host > y->host;
}

static void begin_attempt (struct output_watch *watch, const struct attempt_key *key, uint64_t now_ms)
{
    if (attempt_key_equal (&watch->key, key))
        return;
    watch->key = *key;
    watch->since_ms = now_ms;
    watch->unheard = watch->resumed;
    watch->resumed = false;
}

/* Those who stopped printing long before others are not folded with them. */
static bool belongs (const struct last_output *group, uint64_t longest_ms, struct text line, uint64_t quiet_ms)
{
    return quiet_ms >= longest_ms / 2 && (line.len == 0) == (group->line.len == 0) &&
           text_equal_but_numbers (group->line, line);
}

static void add_host (const struct output_watch *watch, const struct quiet_host *quiet, uint32_t n,
                      uint64_t *longest_ms, struct arena *arena, struct fact_output_awaited *out)
{
    struct text line = line_of (watch, quiet->host);
    uint32_t i = 0;
    while (i < out->groups.n && !belongs (&out->groups.items[i], longest_ms[i], line, quiet->quiet_ms))
        i++;
    if (i == OUTPUT_GROUPS_MAX)
        return;
    struct last_output *group = &out->groups.items[i];
    if (i == out->groups.n) {
        *group = (struct last_output){ .line = line };
        group->hosts.items = arena_array (arena, n, sizeof (uint32_t));
        longest_ms[out->groups.n++] = quiet->quiet_ms;
    }
    group->quiet_ms = quiet->quiet_ms;
    group->hosts.items[group->hosts.n++] = quiet->host;
}

void output_watch_tell (struct output_watch *watch, const uint32_t *hosts, uint32_t n, uint64_t now_ms,
                        struct arena *arena, struct fact_output_awaited *out)
{
    struct quiet_host *quiet = arena_array (arena, n, sizeof (*quiet));
    uint64_t longest_ms[OUTPUT_GROUPS_MAX];
    uint32_t quiet_n = 0;
    begin_attempt (watch, &out->key, now_ms);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t ms = hosts[i] < watch->n ? quiet_ms (watch, hosts[i], now_ms) : UINT64_MAX;
        if (ms != UINT64_MAX && ms >= QUIET_LEAST_MS)
            quiet[quiet_n++] = (struct quiet_host){ hosts[i], ms };
    }
    if (quiet_n)
        qsort (quiet, quiet_n, sizeof (*quiet), quietest_first);
    out->groups.items = arena_array (arena, OUTPUT_GROUPS_MAX, sizeof (struct last_output));
    for (uint32_t i = 0; i < quiet_n; i++)
        add_host (watch, &quiet[i], quiet_n, longest_ms, arena, out);
}
