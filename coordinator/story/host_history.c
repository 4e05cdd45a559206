#include "coordinator/story/host_history.h"

#include <stdlib.h>

#include "common/model/hostset.h"
#include "coordinator/story/frontier.h"
#include "coordinator/verdict/failure.h"

static const struct field host_failure_fields[] = {
    F_TEXT (1, struct host_failure, host, HOST_NAME_MAX_BYTES), F_TEXT (2, struct host_failure, rung, ID_MAX_BYTES),
    F_ENUM (3, struct host_failure, outcome, &outcome_names),   F_ENUM (4, struct host_failure, owner, &owner_names),
    F_TEXT (5, struct host_failure, cause, SENTENCE_MAX_BYTES),
};
static const struct record host_failure_record = RECORD ("host-failure", struct host_failure, host_failure_fields);

static const struct field run_hosts_fields[] = {
    F_TEXT (1, struct run_hosts, run, ID_MAX_BYTES),
    F_TEXT (2, struct run_hosts, slice, ID_MAX_BYTES),
    F_U64 (3, struct run_hosts, ended_wall_ms, UINT64_MAX),
    F_TEXT (4, struct run_hosts, passed, 2 << 20),
    F_LIST (5, struct run_hosts, failed, HOSTS_MAX, &host_failure_record),
    F_TEXTS (6, struct run_hosts, rungs, RUNGS_MAX, ID_MAX_BYTES),
};
const struct record run_hosts_record = RECORD ("run-hosts", struct run_hosts, run_hosts_fields);

/* ---- one run ---- */

static bool is_of_machine (enum owner owner)
{
    return owner == OWNER_DEVICE || owner == OWNER_HOST || owner == OWNER_PLATFORM;
}

/* Which passes of each rung some host passed. */
struct passes {
    bool some[PASS_RESTORED + 1];
};

static struct passes *passes_of (const struct slice_receipt *receipt, struct arena *arena)
{
    const struct run_header *header = receipt->headers.items;
    struct passes *of = arena_array (arena, header->rungs.n, sizeof *of);
    for (uint32_t i = 0; i < receipt->hosts.n; i++)
        for (uint32_t rung = 0; rung < header->rungs.n; rung++)
            for (enum pass pass = PASS_ONCE; pass <= PASS_RESTORED; pass++) {
                const struct rung_receipt *at = frontier_latest_attempt (&receipt->hosts.items[i],
                                                                         header->rungs.items[rung], pass);
                of[rung].some[pass] |= at && at->outcome == OUTCOME_PASSED;
            }
    return of;
}

/* LOST of the platform: the worker was told to end, or was for too long without a coordinator. Who was only blocked has
 * tested nothing. */
static bool fails_by_itself (const struct passes *of, const struct rung_receipt *at, bool passed)
{
    enum owner owner = at->cause.owner;
    bool ended = at->outcome == OUTCOME_FAILED || at->outcome == OUTCOME_TIMED_OUT ||
                 (at->outcome == OUTCOME_LOST && owner != OWNER_PLATFORM) ||
                 (at->outcome == OUTCOME_BLOCKED && !passed);
    if (!ended || owner == OWNER_PEER || owner == OWNER_SLICEUP)
        return false;
    return is_of_machine (owner) || of->some[at->pass];
}

/* The first attempt, in ladder order, by which a host stands there that did not pass. `all`: it passed every rung. */
static const struct rung_receipt *own_failure (const struct run_header *header, const struct passes *passes,
                                               const struct host_receipt *host, bool *all)
{
    const text_list rungs = { header->rungs.items, header->rungs.n };
    bool passed = false;
    *all = rungs.n > 0;
    for (uint32_t i = 0; i < rungs.n; i++) {
        *all = *all && frontier_rung_outcome (host, rungs.items[i]) == OUTCOME_PASSED;
        for (enum pass pass = PASS_ONCE; pass <= PASS_RESTORED; pass++) {
            const struct rung_receipt *at = frontier_latest_attempt (host, rungs.items[i], pass);
            if (at && fails_by_itself (&passes[i], at, passed))
                return at;
            passed |= at && at->outcome == OUTCOME_PASSED;
        }
    }
    return NULL;
}

/* What it said before our words about it. */
static struct text failure_words (const struct rung_receipt *failure, struct arena *arena)
{
    const struct cause *cause = &failure->cause;
    struct text line = error_line_beside (failure->outcome, cause->evidence, cause->text);
    return text_clip (text_format (arena, "%.*s%s%.*s", TEXT_ARG (line), line.len && cause->text.len ? "; " : "",
                                   TEXT_ARG (cause->text)),
                      SENTENCE_MAX_BYTES);
}

void host_history_of_run (const struct slice_receipt *receipt, struct arena *arena, struct run_hosts *out)
{
    const struct run_header *header = receipt->headers.items;
    const struct passes *passes = passes_of (receipt, arena);
    struct text *passed = arena_array (arena, receipt->hosts.n, sizeof *passed);
    uint32_t passed_n = 0;
    *out = (struct run_hosts){ .run = header->run, .slice = header->slice, .ended_wall_ms = header->ended_wall_ms };
    out->rungs = (text_list){ header->rungs.items, header->rungs.n };
    out->failed.items = arena_array (arena, receipt->hosts.n, sizeof *out->failed.items);
    for (uint32_t i = 0; i < receipt->hosts.n; i++) {
        const struct host_receipt *host = &receipt->hosts.items[i];
        bool all;
        const struct rung_receipt *failure = own_failure (header, passes, host, &all);
        if (failure)
            out->failed.items[out->failed.n++] = (struct host_failure){ host->host, failure->rung, failure->outcome,
                                                                        failure->cause.owner,
                                                                        failure_words (failure, arena) };
        else if (all)
            passed[passed_n++] = host->host;
    }
    out->passed = hostset_folded (passed, passed_n, UINT32_MAX, arena);
}

/* ---- over many ---- */

struct said_of_host {
    struct text host;
    uint32_t run;                       /* its place among the runs */
    const struct host_failure *failure; /* NULL: it passed */
};
struct said_list {
    struct said_of_host *items;
    uint32_t n, capacity;
};

static void said_add (struct said_list *said, struct text host, uint32_t run, const struct host_failure *failure)
{
    said->items = mem_room (said->items, said->n, &said->capacity, 256, sizeof *said->items);
    said->items[said->n++] = (struct said_of_host){ host, run, failure };
}

/* Which hosts are looked at, sorted; n 0 of `failed_only`: none. */
struct looked_at {
    bool failed_only;
    text_list failed;
};

static struct looked_at look_at (const struct run_hosts_list *runs, bool failed_only, struct arena *arena)
{
    struct looked_at look = { .failed_only = failed_only };
    for (uint32_t i = 0; i < runs->n && failed_only; i++)
        look.failed.n += runs->items[i].failed.n;
    look.failed.items = arena_array (arena, look.failed.n, sizeof *look.failed.items);
    look.failed.n = 0;
    for (uint32_t i = 0; i < runs->n && failed_only; i++)
        for (uint32_t k = 0; k < runs->items[i].failed.n; k++)
            look.failed.items[look.failed.n++] = runs->items[i].failed.items[k].host;
    sort_items (look.failed.items, look.failed.n, sizeof *look.failed.items, text_order);
    return look;
}

static bool is_looked_at (const struct looked_at *look, struct text host)
{
    return !look->failed_only ||
           (look->failed.n && bsearch (&host, look->failed.items, look->failed.n, sizeof host, text_order));
}

/* `passed`: those of the run before, whose set is often the same. */
static void said_add_run (struct said_list *said, const struct run_hosts_list *runs, uint32_t at,
                          const struct looked_at *look, struct name_list *passed, struct arena *arena)
{
    const struct run_hosts *run = &runs->items[at];
    const struct hostset_rules rules = { .max = HOSTS_MAX };
    if (at == 0 || !text_equal (run->passed, runs->items[at - 1].passed)) {
        *passed = (struct name_list){ 0 };
        if (run->passed.len && (!look->failed_only || look->failed.n))
            (void) hostset_read (run->passed, &rules, arena, passed, NULL);
    }
    for (uint32_t i = 0; i < passed->n; i++)
        if (is_looked_at (look, passed->items[i]))
            said_add (said, passed->items[i], at, NULL);
    for (uint32_t i = 0; i < run->failed.n; i++)
        said_add (said, run->failed.items[i].host, at, &run->failed.items[i]);
}

static int by_host_and_run (const void *a, const void *b)
{
    const struct said_of_host *of_a = a, *of_b = b;
    int order = text_order (&of_a->host, &of_b->host);
    return order ? order : (of_a->run > of_b->run) - (of_a->run < of_b->run);
}

/* `passed`: the newer runs, all of which it passed. */
static bool is_cleared (const struct run_hosts_list *runs, const struct said_of_host *passed, uint32_t n,
                        const struct host_failure *failure)
{
    for (uint32_t i = 0; i < n; i++) {
        const text_list *rungs = &runs->items[passed[i].run].rungs;
        if (text_is_among (failure->rung, rungs->items, rungs->n))
            return true;
    }
    return false;
}

/* What was said of one host, the newest first. */
static void history_of_host (const struct run_hosts_list *runs, const struct said_of_host *said, uint32_t n,
                             struct host_history *out)
{
    *out = (struct host_history){ .host = said->host, .runs = n };
    for (uint32_t i = 0; i < n; i++) {
        const struct run_hosts *run = &runs->items[said[i].run];
        if (!said[i].failure)
            continue;
        out->failures++;
        out->failures_lately += i < SUSPECT_RUNS;
        if (!out->last) {
            out->last = said[i].failure;
            out->last_run = run->run;
            out->last_ms = run->ended_wall_ms;
            out->suspect = !is_cleared (runs, said, i, said[i].failure);
        }
        if (out->failures == i + 1)
            out->since_ms = run->ended_wall_ms;
    }
    out->suspect |= out->failures_lately >= SUSPECT_FAILURES;
}

void host_history_fold (const struct run_hosts_list *runs, bool failed_only, struct arena *arena,
                        struct host_history_list *out)
{
    struct said_list said = { 0 };
    struct name_list passed = { 0 };
    const struct looked_at look = look_at (runs, failed_only, arena);
    for (uint32_t i = 0; i < runs->n; i++)
        said_add_run (&said, runs, i, &look, &passed, arena);
    if (said.n)
        qsort (said.items, said.n, sizeof *said.items, by_host_and_run);
    *out = (struct host_history_list){ .items = arena_array (arena, said.n, sizeof *out->items) };
    for (uint32_t from = 0, to; from < said.n; from = to) {
        for (to = from; to < said.n && text_equal (said.items[to].host, said.items[from].host);)
            to++;
        history_of_host (runs, &said.items[from], to - from, &out->items[out->n++]);
    }
    mem_free (said.items);
}

void host_history_print_suspects (const struct host_history_list *list, struct buf *out)
{
    LOCAL_MEM struct text *names = mem_array (list->n + 1, sizeof *names);
    uint32_t n = 0;
    for (uint32_t i = 0; i < list->n; i++)
        if (list->items[i].suspect)
            names[n++] = list->items[i].host;
    hostset_fold (names, n, out);
}
