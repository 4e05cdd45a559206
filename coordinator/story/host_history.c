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
};
const struct record run_hosts_record = RECORD ("run-hosts", struct run_hosts, run_hosts_fields);

/* ---- one run ---- */

/* The first attempt, in ladder order, by which a host stands there that did not pass for a reason of its own. Who was only blocked
 * has tested nothing: it counts where the host passed no rung. */
static const struct rung_receipt *own_failure (const struct run_header *header, const struct host_receipt *host)
{
    bool passed = false;
    for (uint32_t i = 0; i < header->rungs.n; i++)
        for (enum pass pass = PASS_ONCE; pass <= PASS_RESTORED; pass++) {
            const struct rung_receipt *at = frontier_latest_attempt (host, header->rungs.items[i], pass);
            if (!at || at->cause.owner == OWNER_PEER || at->cause.owner == OWNER_SLICEUP)
                continue;
            passed |= at->outcome == OUTCOME_PASSED;
            if (at->outcome == OUTCOME_FAILED || at->outcome == OUTCOME_LOST || at->outcome == OUTCOME_TIMED_OUT ||
                (at->outcome == OUTCOME_BLOCKED && !passed))
                return at;
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

static bool is_of_machine (enum owner owner)
{
    return owner == OWNER_DEVICE || owner == OWNER_HOST || owner == OWNER_PLATFORM;
}

/* What all have is what they share: the program, the bundle, a flag. */
static void drop_what_all_have (struct run_hosts *out, uint32_t hosts)
{
    uint32_t kept = 0, failed = out->failed.n;
    for (uint32_t i = 0; i < failed; i++)
        if (failed < hosts || is_of_machine (out->failed.items[i].owner))
            out->failed.items[kept++] = out->failed.items[i];
    out->failed.n = kept;
}

void host_history_of_run (const struct slice_receipt *receipt, struct arena *arena, struct run_hosts *out)
{
    const struct run_header *header = receipt->headers.items;
    struct text *passed = arena_array (arena, receipt->hosts.n, sizeof *passed);
    uint32_t passed_n = 0;
    *out = (struct run_hosts){ .run = header->run, .slice = header->slice, .ended_wall_ms = header->ended_wall_ms };
    out->failed.items = arena_array (arena, receipt->hosts.n, sizeof *out->failed.items);
    for (uint32_t i = 0; i < receipt->hosts.n; i++) {
        const struct host_receipt *host = &receipt->hosts.items[i];
        const struct rung_receipt *failure = own_failure (header, host);
        if (failure)
            out->failed.items[out->failed.n++] = (struct host_failure){ host->host, failure->rung, failure->outcome,
                                                                        failure->cause.owner,
                                                                        failure_words (failure, arena) };
        else if (frontier_host_outcome (header, host) == OUTCOME_PASSED)
            passed[passed_n++] = host->host;
    }
    drop_what_all_have (out, receipt->hosts.n);
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

static void said_add_run (struct said_list *said, const struct run_hosts *run, uint32_t at, struct arena *arena)
{
    struct name_list passed = { 0 };
    const struct hostset_rules rules = { .max = HOSTS_MAX };
    (void) hostset_read (run->passed, &rules, arena, &passed, NULL);
    for (uint32_t i = 0; i < passed.n; i++)
        said_add (said, passed.items[i], at, NULL);
    for (uint32_t i = 0; i < run->failed.n; i++)
        said_add (said, run->failed.items[i].host, at, &run->failed.items[i]);
}

static int by_host_and_run (const void *a, const void *b)
{
    const struct said_of_host *of_a = a, *of_b = b;
    int order = text_order (&of_a->host, &of_b->host);
    return order ? order : (of_a->run > of_b->run) - (of_a->run < of_b->run);
}

static void history_add (struct host_history *history, const struct run_hosts *run, const struct host_failure *failure)
{
    history->failures_lately += failure && history->runs < SUSPECT_RUNS;
    history->runs++;
    history->failures += failure != NULL;
    if (failure && !history->last) {
        history->last = failure;
        history->last_run = run->run;
        history->last_ms = run->ended_wall_ms;
    }
    if (history->failures == history->runs)
        history->since_ms = run->ended_wall_ms;
    history->suspect = history->since_ms || history->failures_lately >= SUSPECT_FAILURES;
}

void host_history_fold (const struct run_hosts_list *runs, struct arena *arena, struct host_history_list *out)
{
    struct said_list said = { 0 };
    for (uint32_t i = 0; i < runs->n; i++)
        said_add_run (&said, &runs->items[i], i, arena);
    if (said.n)
        qsort (said.items, said.n, sizeof *said.items, by_host_and_run);
    *out = (struct host_history_list){ .items = arena_array (arena, said.n, sizeof *out->items) };
    for (uint32_t i = 0; i < said.n; i++) {
        if (i == 0 || !text_equal (said.items[i].host, said.items[i - 1].host))
            out->items[out->n++].host = said.items[i].host;
        history_add (&out->items[out->n - 1], &runs->items[said.items[i].run], said.items[i].failure);
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
