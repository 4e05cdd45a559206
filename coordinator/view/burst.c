#include "coordinator/view/plain.h"

#include <inttypes.h>
#include <string.h>

#include "coordinator/verdict/going_on.h"

enum { WORDS_BYTES = 1 << 20, SHARED_MAX = 16, WHY_BYTES = 1024, WARNINGS_TOLD = 16 };

/* One kind of event, for one reason. */
struct shared {
    enum fact_kind kind;
    char why[WHY_BYTES]; /* LOST: of the first of them; CONFLICT_SEEN: the rung; CACHE_VIOLATED: what was seen */
    uint32_t why_len;
    uint64_t least_ms; /* SUSPECTED, RETURNED: the shortest silence */
    uint32_t *hosts;
    uint32_t n, capacity;
};

struct burst {
    bool waiting;
    uint64_t since_ms; /* waiting: from when */
    uint64_t at_ms;    /* run clock: of the last fact taken */
    struct shared items[SHARED_MAX];
    uint32_t n, more_n;             /* more_n: events for reasons that found no place */
    struct attempt_key key;         /* of the pass whose failures were told */
    uint32_t told_ungrouped, first; /* first: the group that has its turn */
    bool told_of[HOSTS_MAX];        /* per host: that it failed */
    bool told_silent[HOSTS_MAX];    /* per host: in this silence, which the coordinator repeats */
    uint32_t warnings;              /* told, with the line that there are more */
};

struct burst *burst_create (void)
{
    return mem_alloc (sizeof (struct burst));
}

void burst_destroy (struct burst *burst)
{
    if (burst == NULL)
        return;
    for (uint32_t i = 0; i < SHARED_MAX; i++)
        mem_free (burst->items[i].hosts);
    mem_free (burst);
}

static void begin_waiting (struct burst *burst, uint64_t now_ms)
{
    if (!burst->waiting)
        burst->since_ms = now_ms;
    burst->waiting = true;
}

/* ---- events ---- */

/* In a name of the cache, a number tells one entry from another; of lost output, how much it is. */
static bool same_reason (enum fact_kind kind, struct text a, struct text b)
{
    bool exact = kind == FACT_CACHE_VIOLATED || kind == FACT_OUTPUT_LOST;
    return exact ? text_equal (a, b) : text_equal_but_numbers (a, b);
}

static bool tells_of (const struct shared *shared, uint32_t host)
{
    uint32_t i = 0;
    while (i < shared->n && shared->hosts[i] != host)
        i++;
    return i < shared->n;
}

/* The newest first: what befell the host meanwhile is told before what befalls it now. */
static struct shared *shared_for (struct burst *burst, enum fact_kind kind, struct text why, uint32_t host)
{
    struct text kept = text_clip (why, WHY_BYTES);
    for (uint32_t i = burst->n; i-- > 0;) {
        struct shared *shared = &burst->items[i];
        if (shared->kind == kind && same_reason (kind, (struct text){ shared->why, shared->why_len }, kept))
            return shared;
        if (tells_of (shared, host))
            break;
    }
    if (burst->n == SHARED_MAX)
        return NULL;
    struct shared *shared = &burst->items[burst->n++];
    shared->kind = kind;
    shared->least_ms = UINT64_MAX;
    shared->why_len = kept.len;
    if (kept.len)
        memcpy (shared->why, kept.ptr, kept.len);
    return shared;
}

static void share (struct burst *burst, enum fact_kind kind, struct text why, uint32_t host, uint64_t silent_ms)
{
    struct shared *shared = shared_for (burst, kind, why, host);
    if (shared == NULL) {
        burst->more_n++;
        return;
    }
    shared->hosts = mem_room (shared->hosts, shared->n, &shared->capacity, 16, sizeof (*shared->hosts));
    shared->hosts[shared->n++] = host;
    shared->least_ms = silent_ms < shared->least_ms ? silent_ms : shared->least_ms;
}

/* What was seen; who saw it follows. */
static void share_violation (struct burst *burst, const struct fact_cache_violated *violated)
{
    const struct finding *finding = &violated->finding;
    LOCAL_BUF why = { .max = WHY_BYTES };
    buf_printf (&why, "%s: %s", finding_is_violation (finding->kind) ? "cache violated" : "cache",
                enum_name_of (&finding_kind_names, finding->kind));
    if (finding->token)
        buf_printf (&why, " in generation %" PRIu64, finding->token);
    buf_puts (&why, finding->path.len ? ": " : "");
    buf_add_text (&why, text_clip (finding->path, WHY_BYTES / 2));
    buf_puts (&why, finding->detail.len ? ": " : "");
    buf_add_text (&why, text_clip (finding->detail, WHY_BYTES / 4));
    share (burst, FACT_CACHE_VIOLATED, buf_as_text (&why), violated->host, 0);
}

static void share_asked (struct burst *burst, const struct fact_host_asked *asked)
{
    LOCAL_ARENA arena = { 0 };
    share (burst, FACT_HOST_ASKED, host_asked_text (asked, false, &arena), asked->host, 0);
}

/* Was its silence told before? Whatever else a host says of itself ends it. */
static bool is_repeated (struct burst *burst, const struct fact *fact)
{
    uint32_t host = fact->kind == FACT_HOST_SUSPECTED || fact->kind == FACT_HOST_RETURNED ? fact->of.host_suspected.host
                    : fact->kind == FACT_HOST_REPORTED                                    ? fact->of.host_reported.host
                    : fact->kind == FACT_HOST_JOINED                                      ? fact->of.host_joined.host
                                                                                          : HOSTS_MAX;
    if (host >= HOSTS_MAX)
        return false;
    bool told = burst->told_silent[host], silent = fact->kind == FACT_HOST_SUSPECTED;
    burst->told_silent[host] = silent;
    return silent && told;
}

/* False: it is nothing that hosts share. */
static bool burst_take (struct burst *burst, const struct board *board, const struct fact *fact)
{
    struct text none = { 0 };
    uint32_t joined = fact->kind == FACT_HOST_JOINED ? fact->of.host_joined.host : UINT32_MAX;
    if (fact->kind == FACT_HOST_SUSPECTED || fact->kind == FACT_HOST_RETURNED)
        share (burst, fact->kind, text_of (silence_phrase (fact->of.host_suspected.silence)),
               fact->of.host_suspected.host, fact->of.host_suspected.silent_ms);
    else if (fact->kind == FACT_HOST_LOST)
        share (burst, fact->kind, fact->of.host_lost.why, fact->of.host_lost.host, 0);
    else if (fact->kind == FACT_HOST_ASKED)
        share_asked (burst, &fact->of.host_asked);
    else if (fact->kind == FACT_OUTPUT_LOST)
        share (burst, fact->kind, fact->of.output_lost.why, fact->of.output_lost.host, 0);
    else if (fact->kind == FACT_CONFLICT_SEEN)
        share (burst, fact->kind, board_rung_id (board, fact->of.conflict_seen.key.rung), fact->of.conflict_seen.host,
               0);
    else if (fact->kind == FACT_CACHE_VIOLATED)
        share_violation (burst, &fact->of.cache_violated);
    else if (joined < board->plan.hosts.n && board->hosts[joined].returned)
        share (burst, fact->kind, none, joined, 0);
    else
        return false;
    return true;
}

/* Of one host with its address. */
static void add_asked (const struct board *board, const struct shared *shared, struct buf *words)
{
    LOCAL_ARENA arena = { 0 };
    uint32_t host = shared->hosts[0];
    struct text why = { shared->why, shared->why_len };
    if (shared->n == 1 && host < board->plan.hosts.n && board->hosts[host].asked.ssh)
        why = host_asked_text (&board->hosts[host].asked, true, &arena);
    buf_puts (words, shared->n > 1 ? ": each " : " ");
    buf_add_text (words, why);
}

static void add_what_befell (const struct board *board, const struct shared *shared, struct buf *words)
{
    switch (shared->kind) {
    case FACT_HOST_ASKED: add_asked (board, shared, words); break;
    case FACT_HOST_SUSPECTED: buf_printf (words, " silent for %s", DURATION_TEXT (shared->least_ms)); break;
    case FACT_HOST_RETURNED:
        buf_printf (words, " came back after %s%s of silence%.*s", shared->n > 1 ? "at least " : "",
                    DURATION_TEXT (shared->least_ms), (int) shared->why_len, shared->why);
        break;
    case FACT_HOST_LOST: buf_printf (words, " lost: %.*s", (int) shared->why_len, shared->why); break;
    case FACT_OUTPUT_LOST: buf_printf (words, ": output is lost: %.*s", (int) shared->why_len, shared->why); break;
    case FACT_CONFLICT_SEEN:
        buf_printf (words, " sent two different results for %.*s; the first one counts", (int) shared->why_len,
                    shared->why);
        break;
    default: buf_puts (words, " joined again");
    }
}

/* "h3 lost: why", "40 hosts (h[3,17,20-57]) lost: why", "cache violated: what, seen by h3". */
static void add_event (const struct board *board, const struct shared *shared, struct buf *words)
{
    bool seen = shared->kind == FACT_CACHE_VIOLATED, known = shared->hosts[0] < board->plan.hosts.n;
    if (seen)
        buf_add_text (words, (struct text){ shared->why, shared->why_len });
    buf_puts (words, seen && known ? ", seen by " : "");
    if (shared->n > 1)
        buf_printf (words, "%" PRIu32 " hosts (", shared->n);
    if (shared->n > 1 || (known && seen))
        board_print_hosts (board, shared->hosts, shared->n, words);
    else if (!seen)
        buf_add_text (words, board_host_name (board, shared->hosts[0]));
    buf_puts (words, shared->n > 1 ? ")" : "");
    if (!seen)
        add_what_befell (board, shared, words);
}

static void tell_events (struct burst *burst, const struct board *board, const struct style *style, struct buf *out)
{
    LOCAL_BUF words = { .max = WORDS_BYTES };
    for (uint32_t i = 0; i < burst->n; i++) {
        add_event (board, &burst->items[i], &words);
        plain_line (burst->at_ms, &words, style, out);
        burst->items[i].n = 0;
    }
    if (burst->more_n) {
        buf_printf (&words, "events of other kinds than these at the same time: %" PRIu32, burst->more_n);
        plain_line (burst->at_ms, &words, style, out);
    }
    burst->n = burst->more_n = 0;
}

/* ---- failures of the running pass ---- */

static void forget_told (struct burst *burst, const struct board *board)
{
    if (attempt_key_equal (&burst->key, &board->key))
        return;
    burst->key = board->key;
    memset (burst->told_of, 0, sizeof (burst->told_of));
    burst->told_ungrouped = burst->first = 0;
}

/* Hosts are added at the end: with the last one all are told. */
static bool group_is_told (const struct burst *burst, const struct board_verdict_group *group)
{
    uint32_t last = group->hosts.n ? group->hosts.items[group->hosts.n - 1] : HOSTS_MAX;
    return last >= HOSTS_MAX || burst->told_of[last];
}

static bool burst_is_told (const struct burst *burst, const struct board *board)
{
    const struct board_pass *pass = board_running_pass (board);
    bool told = pass == NULL || burst->told_ungrouped == pass->ungrouped_n;
    for (uint32_t i = 0; told && pass && i < pass->groups.n; i++)
        told = group_is_told (burst, &pass->groups.items[i]);
    return told;
}

static void mark_told (struct burst *burst, const struct board_verdict_group *group)
{
    for (uint32_t i = 0; i < group->hosts.n; i++)
        if (group->hosts.items[i] < HOSTS_MAX)
            burst->told_of[group->hosts.items[i]] = true;
}

static void add_key (const struct board *board, struct buf *words)
{
    buf_add_text (words, board_rung_id (board, board->key.rung));
    if (board->key.pass == PASS_COLD || board->key.pass == PASS_RESTORED)
        buf_printf (words, " %s", enum_name_of (&pass_names, board->key.pass));
    buf_puts (words, ": ");
}

static void tell_failures (struct burst *burst, const struct board *board, uint32_t most, const struct style *style,
                           struct buf *out)
{
    const struct board_pass *pass = board_running_pass (board);
    LOCAL_BUF words = { .max = WORDS_BYTES };
    uint32_t lines = 0, n = pass ? pass->groups.n : 0, from = burst->first;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t at = (from + k) % n;
        const struct board_verdict_group *group = &pass->groups.items[at];
        if (group_is_told (burst, group) || lines == most)
            continue;
        mark_told (burst, group);
        burst->first = at + 1;
        lines++;
        add_key (board, &words);
        group_text (board, group, &words);
        plain_line (burst->at_ms, &words, style, out);
    }
    if (pass && pass->ungrouped_n > burst->told_ungrouped) {
        add_key (board, &words);
        buf_printf (&words, "failed with other errors than these so far: %" PRIu32 " more", pass->ungrouped_n);
        plain_line (burst->at_ms, &words, style, out);
    }
    burst->told_ungrouped = pass ? pass->ungrouped_n : 0;
}

/* Of a correction, the hosts whose failure was told. */
static uint32_t told_among (const struct burst *burst, const struct board_correction *correction, uint32_t *hosts)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < correction->hosts.n; i++)
        if (correction->hosts.items[i] < HOSTS_MAX && burst->told_of[correction->hosts.items[i]])
            hosts[n++] = correction->hosts.items[i];
    return n;
}

static void add_correction (const struct board *board, const struct board_correction *correction, const uint32_t *hosts,
                            uint32_t n, struct buf *words)
{
    buf_puts (words, "  corrected: ");
    board_print_hosts (board, hosts, n, words);
    if (correction->to == correction->from) {
        buf_printf (words, ": whose: %s, so far told as %s", enum_name_of (&owner_phrases, correction->to_owner),
                    enum_name_of (&owner_phrases, correction->from_owner));
        return;
    }
    buf_printf (words, " %s", enum_name_of (&outcome_names, correction->to));
    if (correction->to_owner)
        buf_printf (words, " (whose: %s)", enum_name_of (&owner_phrases, correction->to_owner));
    buf_printf (words, ", so far told as %s (whose: %s)", enum_name_of (&outcome_names, correction->from),
                enum_name_of (&owner_phrases, correction->from_owner));
}

static void tell_corrections (const struct burst *burst, const struct board *board, const struct fact *fact,
                              const struct style *style, struct buf *out)
{
    const struct attempt_key *key = &fact->of.pass_ended.key;
    if (fact->kind != FACT_PASS_ENDED || !attempt_key_equal (key, &burst->key) || key->rung >= board->plan.rungs.n ||
        (uint32_t) key->pass >= BOARD_PASSES)
        return;
    const struct board_pass *pass = &board->rungs[key->rung].passes[key->pass];
    LOCAL_MEM uint32_t *hosts = mem_array (board->plan.hosts.n, sizeof (*hosts));
    LOCAL_BUF words = { .max = WORDS_BYTES };
    for (uint32_t i = 0; i < pass->corrections.n; i++) {
        uint32_t n = told_among (burst, &pass->corrections.items[i], hosts);
        if (n == 0)
            continue;
        add_correction (board, &pass->corrections.items[i], hosts, n, &words);
        plain_line (fact->at_ms, &words, style, out);
    }
}

/* ---- warnings of hosts, whatever their rung comes to ---- */

static void tell_warnings (struct burst *burst, const struct board *board, const struct fact *fact,
                           const struct style *style, struct buf *out)
{
    const struct result *result = &fact->of.attempt_ended.result;
    LOCAL_BUF words = { .max = WORDS_BYTES };
    for (uint32_t i = 0; i < result->notes.n; i++) {
        if (!text_is (result->notes.items[i].source, NOTE_WARNING) || burst->warnings > WARNINGS_TOLD)
            continue;
        buf_add_text (&words, board_host_name (board, fact->of.attempt_ended.host));
        buf_puts (&words, ": ");
        buf_add_text (&words, result->notes.items[i].text);
        if (++burst->warnings > WARNINGS_TOLD) {
            buf_clear (&words);
            buf_puts (&words, "more warnings of hosts: the notes of the receipt");
        }
        plain_line (fact->at_ms, &words, style, out);
    }
}

/* ---- both ---- */

void burst_tell (struct burst *burst, const struct board *board, uint64_t now_ms, const struct style *style,
                 struct buf *out)
{
    if (!burst->waiting || !board->opened || (now_ms != UINT64_MAX && now_ms < burst->since_ms + BURST_WAIT_MS))
        return;
    forget_told (burst, board);
    tell_events (burst, board, style, out);
    tell_failures (burst, board, now_ms == UINT64_MAX ? UINT32_MAX : BURST_LINES, style, out);
    burst->waiting = !burst_is_told (burst, board);
    burst->since_ms = now_ms == UINT64_MAX ? burst->since_ms : now_ms;
}

void burst_fact (struct burst *burst, const struct board *board, const struct fact *fact, uint64_t now_ms,
                 const struct style *style, struct buf *out)
{
    if (!board->opened || is_repeated (burst, fact))
        return;
    if (fact->kind == FACT_ATTEMPT_ENDED)
        tell_warnings (burst, board, fact, style, out);
    bool shared = burst_take (burst, board, fact) ||
                  (fact->kind == FACT_ATTEMPT_ENDED && board->purpose != PURPOSE_ISOLATION);
    if (shared) {
        burst->at_ms = fact->at_ms;
        begin_waiting (burst, now_ms);
        return;
    }
    LOCAL_BUF lines = { .max = 4 * WORDS_BYTES };
    plain_fact (board, fact, style, &lines);
    tell_corrections (burst, board, fact, style, &lines);
    if (lines.len)
        burst_tell (burst, board, UINT64_MAX, style, out);
    buf_add (out, lines.ptr, lines.len);
}
