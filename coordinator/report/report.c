#include "coordinator/report/report.h"

#include <stdlib.h>
#include <string.h>

#include "coordinator/view/record_json.h"

enum { STEPS_FIRST = 64 };

struct report_book {
    struct feed *feed;
    struct report_step *joined;
    uint32_t joined_room;
    struct arena arena; /* of what follows */
    struct slice_receipt receipt;
    struct scene scene;
    struct report report;
};

struct report_book *report_book_create (enum board_keep keep)
{
    struct report_book *book = mem_alloc (sizeof (*book));
    book->feed = feed_create (keep);
    return book;
}

void report_book_destroy (struct report_book *book)
{
    if (book == NULL)
        return;
    feed_destroy (book->feed);
    mem_free (book->joined);
    arena_release (&book->arena);
    mem_free (book);
}

void report_book_apply (struct report_book *book, const struct fact *fact)
{
    uint32_t *n = &book->report.joined_n, joined_n;
    feed_apply (book->feed, fact, 0, 0);
    joined_n = feed_board (book->feed)->joined_n;
    if (*n ? book->joined[*n - 1].n == joined_n : joined_n == 0)
        return;
    book->joined = mem_room (book->joined, *n, &book->joined_room, STEPS_FIRST, sizeof (*book->joined));
    book->joined[(*n)++] = (struct report_step){ fact->at_ms, joined_n };
}

struct report *report_book_make (struct report_book *book, bool held)
{
    struct scene_query query;
    arena_reset (&book->arena);
    board_make_receipt (feed_board (book->feed), &book->arena, &book->receipt);
    scene_query_init (&query);
    scene_make (book->feed, &query, 0, &book->arena, &book->scene);
    struct scene_host *hosts = arena_array (&book->arena, book->scene.hosts_n, sizeof (*hosts));
    for (uint32_t i = 0; i < book->scene.hosts_n; i++)
        scene_open_host (&book->scene, i, &hosts[i]);
    book->report.held = held && !book->scene.board->ended;
    book->report.plan = &feed_board (book->feed)->plan;
    book->report.receipt = &book->receipt;
    book->report.drift = (struct drift_query){ .rules = book->report.plan->drift.items,
                                               .rules_n = book->report.plan->drift.n };
    book->report.scene = &book->scene;
    book->report.hosts = hosts;
    book->report.joined = book->joined;
    return &book->report;
}

/* ---- what two formats are written in ---- */

static const char *reference_of (char byte)
{
    switch (byte) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return NULL;
    }
}

void xml_text (struct buf *out, struct text text, uint32_t columns)
{
    LOCAL_BUF escaped = { .max = UINT32_MAX };
    buf_escaped (&escaped, text, columns);
    for (size_t i = 0; i < escaped.len; i++) {
        const char *reference = reference_of ((char) escaped.ptr[i]);
        if (reference)
            buf_puts (out, reference);
        else
            buf_byte (out, escaped.ptr[i]);
    }
}

void xml_lines (struct buf *out, struct text lines)
{
    while (lines.len) {
        xml_text (out, text_take_until (&lines, '\n'), 0);
        buf_byte (out, '\n');
    }
}

void xml_attribute (struct buf *out, const char *name, struct text value, uint32_t columns)
{
    buf_printf (out, " %s=\"", name);
    xml_text (out, value, columns);
    buf_byte (out, '"');
}

/* ---- attempts ---- */

/* Attempts of one pass, one behind the other. */
struct sorted {
    struct report_attempt **items;
    uint32_t n;
};

/* ---- all attempts ---- */

static const struct rung_receipt *receipt_of (const struct host_receipt *host, struct text rung,
                                              const struct scene_attempt *attempt)
{
    for (uint32_t i = 0; host && i < host->rungs.n; i++) {
        const struct rung_receipt *at = host->rungs.items[i];
        if (at->pass == attempt->key.pass && at->attempt == attempt->key.attempt && text_equal (at->rung, rung))
            return at;
    }
    return NULL;
}

static const struct host_receipt **hosts_by_rank (const struct report *report, struct arena *arena)
{
    const struct host_receipt **by_rank = arena_array (arena, report->scene->hosts_n, sizeof (*by_rank));
    for (uint32_t i = 0; i < report->receipt->hosts.n; i++)
        if (report->receipt->hosts.items[i].rank < report->scene->hosts_n)
            by_rank[report->receipt->hosts.items[i].rank] = &report->receipt->hosts.items[i];
    return by_rank;
}

static struct text rung_id (const struct report *report, uint32_t rung)
{
    const struct run_header *header = report->receipt->headers.items;
    return report->receipt->headers.n && rung < header->rungs.n ? header->rungs.items[rung] : (struct text){ 0 };
}

#define PHASE_MAX_MS (366ull * 24 * 3600 * 1000)

/* A host may say any number; sums and microseconds of it have to fit. */
uint64_t report_phase_ms (const struct report_attempt *attempt, uint32_t phase)
{
    const struct rung_receipt *receipt = attempt->receipt;
    uint64_t ms = receipt && receipt->phases.n == attempt->of->spans_n ? receipt->phases.items[phase].value
                                                                       : attempt->of->spans[phase].ms;
    return ms < PHASE_MAX_MS ? ms : PHASE_MAX_MS;
}

static uint64_t phases_ms (const struct report_attempt *attempt)
{
    uint64_t spent_ms = 0;
    for (uint32_t i = 0; i < attempt->of->spans_n; i++)
        spent_ms += report_phase_ms (attempt, i);
    return spent_ms;
}

static uint64_t later (uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void attempts_take_host (const struct report *report, uint32_t host, const struct host_receipt *receipt,
                                struct report_attempts *out)
{
    uint64_t free_ms = 0, phases_free_ms = 0; /* when the host has ended what it did before */
    for (uint32_t i = 0; i < report->hosts[host].attempts_n; i++) {
        const struct scene_attempt *of = &report->hosts[host].attempts[i];
        struct report_attempt *attempt = &out->items[out->n++];
        *attempt = (struct report_attempt){ .of = of,
                                            .receipt = receipt_of (receipt, rung_id (report, of->key.rung), of),
                                            .host = host,
                                            .began_ms = later (of->began_ms, free_ms),
                                            .cause = SCENE_NOBODY,
                                            .next = SCENE_NOBODY,
                                            .follower = SCENE_NOBODY };
        attempt->ended_ms = attempt->followed_ms = free_ms = attempt->began_ms + of->ms;
        attempt->phases_ms = later (attempt->began_ms, phases_free_ms);
        phases_free_ms = attempt->phases_ms + phases_ms (attempt);
    }
}

/* ---- causes ---- */

/* By pass, then as they stand. */
static int by_pass (const void *a, const void *b)
{
    const struct report_attempt *x = *(struct report_attempt *const *) a, *y = *(struct report_attempt *const *) b;
    const struct attempt_key *k = &x->of->key, *l = &y->of->key;
    int order = order_u64 (k->rung, l->rung);
    order = order ? order : order_u64 (k->pass, l->pass);
    order = order ? order : order_u64 (k->attempt, l->attempt);
    return order ? order : order_u64 (x->host, y->host);
}

/* The hosts of a pass, as they stand in it. */
static struct pass_host *pass_hosts (const struct report *report, const struct sorted *pass, struct arena *arena)
{
    struct pass_host *hosts = arena_array (arena, pass->n, sizeof (*hosts));
    for (uint32_t i = 0; i < pass->n; i++)
        hosts[i] = (struct pass_host){ report->hosts[pass->items[i]->host].name, pass->items[i]->of->mark,
                                       pass->items[i]->of->ended_ms };
    return hosts;
}

/* Index of all attempts; all->n: the run. */
static uint32_t cause_of (const struct pass_host *hosts, const struct sorted *pass, const struct rung_receipt *told,
                          const struct report_attempts *all)
{
    uint32_t cause = cascade_cause_find (hosts, pass->n, told ? told->cause.text : (struct text){ 0 });
    return cause < pass->n ? (uint32_t) (pass->items[cause] - all->items) : all->n;
}

static void find_causes (const struct report *report, const struct sorted *pass, const struct report_attempts *all)
{
    const struct report_attempt *before = NULL; /* cascades of one cause say the same */
    LOCAL_ARENA arena = { 0 };
    const struct pass_host *hosts = pass_hosts (report, pass, &arena);
    for (uint32_t i = 0; i < pass->n; i++) {
        struct report_attempt *attempt = pass->items[i];
        if (attempt->of->mark != MARK_CASCADE)
            continue;
        bool same = before && before->receipt && attempt->receipt &&
                    text_equal (before->receipt->cause.text, attempt->receipt->cause.text);
        attempt->cause = same ? before->cause : cause_of (hosts, pass, attempt->receipt, all);
        before = attempt;
    }
}

/* From the last on, so that they stand as the attempts do. */
static void chain_followers (const struct report_attempts *all)
{
    for (uint32_t i = all->n; i-- > 0;) {
        struct report_attempt *attempt = &all->items[i];
        if (attempt->cause == SCENE_NOBODY)
            continue;
        struct report_attempt *cause = &all->items[attempt->cause];
        attempt->next = cause->follower;
        cause->follower = i;
        if (attempt->ended_ms < cause->followed_ms)
            cause->followed_ms = attempt->ended_ms > cause->began_ms ? attempt->ended_ms : cause->began_ms;
    }
}

struct report_attempts report_attempts_of (const struct report *report, struct arena *arena)
{
    struct report_attempts out = { 0 };
    const struct host_receipt **receipts = hosts_by_rank (report, arena);
    uint32_t most = 0;
    for (uint32_t i = 0; i < report->scene->hosts_n; i++)
        most += report->hosts[i].attempts_n;
    out.items = arena_array (arena, (size_t) most + 1, sizeof (*out.items));
    for (uint32_t i = 0; i < report->scene->hosts_n; i++)
        attempts_take_host (report, i, receipts[i], &out);
    out.items[out.n] = (struct report_attempt){
        .host = SCENE_NOBODY, .cause = SCENE_NOBODY, .follower = SCENE_NOBODY, .followed_ms = UINT64_MAX
    };
    struct report_attempt **sorted = arena_array (arena, most, sizeof (*sorted));
    for (uint32_t i = 0; i < out.n; i++)
        sorted[i] = &out.items[i];
    qsort (sorted, out.n, sizeof (*sorted), by_pass);
    for (uint32_t from = 0, to; from < out.n; from = to) {
        for (to = from; to < out.n && attempt_key_equal (&sorted[from]->of->key, &sorted[to]->of->key);)
            to++;
        find_causes (report, &(struct sorted){ sorted + from, to - from }, &out);
    }
    chain_followers (&out);
    out.by_pass = sorted;
    return out;
}

/* ---- passes ---- */

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

/* Letters up to the last that took part. */
static json_t *pass_json (struct report_attempt *const *pass, uint32_t n)
{
    const struct scene_attempt *first = pass[0]->of;
    uint64_t began_ms = first->began_ms;
    uint32_t hosts = pass[n - 1]->host + 1;
    LOCAL_MEM char *marks = mem_array (hosts, 1);
    json_t *ms = json_array (), *ended_ms = json_array ();
    memset (marks, '.', hosts);
    for (uint32_t i = 0; i < n; i++) {
        const struct scene_attempt *of = pass[i]->of;
        began_ms = least_u64 (began_ms, of->began_ms);
        marks[pass[i]->host] = scene_mark_letter (of->mark);
        json_array_append_new (ms, of->ms_known ? json_integer ((json_int_t) of->ms) : json_null ());
        if (!of->ms_known)
            json_array_append_new (ended_ms, json_integer ((json_int_t) of->ended_ms));
    }
    return json_pack ("{s:I, s:s, s:o, s:s, s:I, s:s%, s:o, s:o}", "rung", (json_int_t) first->key.rung, "pass",
                      enum_name_of (&pass_names, first->key.pass), "attempt", number_or_null_json (first->key.attempt),
                      "purpose", enum_name_of (&purpose_names, first->purpose), "began_ms", (json_int_t) began_ms,
                      "marks", marks, (size_t) hosts, "ms", ms, "ended_ms", ended_ms);
}

struct passes passes_of (const struct report *report, struct arena *arena)
{
    LOCAL_ARENA own = { 0 };
    struct report_attempts attempts = report_attempts_of (report, &own);
    struct passes out = { .items = arena_array (arena, attempts.n, sizeof (*out.items)) };
    const struct scene_attempt *later = NULL; /* the last is looked at first */
    for (uint32_t to = attempts.n, from; to > 0; to = from) {
        for (from = to;
             from > 0 && attempt_key_equal (&attempts.by_pass[from - 1]->of->key, &attempts.by_pass[to - 1]->of->key);)
            from--;
        const struct scene_attempt *of = attempts.by_pass[from]->of;
        struct passes_item *item = &out.items[out.n++];
        struct buf json = { .max = UINT32_MAX };
        uint32_t hosts = hosts_of_pass (attempts.by_pass + from, to - from);
        json_print_release (pass_json (attempts.by_pass + from, hosts), JSON_COMPACT, &json);
        json.len--; /* its newline */
        item->json = buf_finish (&json, arena);
        bool whole = of->purpose != PURPOSE_ISOLATION;
        item->again = !whole || (later && later->key.rung == of->key.rung && later->key.pass == of->key.pass);
        later = whole ? of : later;
    }
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
