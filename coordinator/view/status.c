#include "coordinator/view/status.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>

#include "coordinator/verdict/stands.h"
#include "coordinator/view/plain.h"
#include "coordinator/view/record_json.h"

enum { LINES_BYTES = 1 << 20 };

const char *status_run_state (const struct status *status)
{
    return status->board->ended ? "ended" : status->pid ? "running" : "interrupted";
}

/* ---- values ---- */

static json_t *number (uint64_t value)
{
    return json_integer (value > INT64_MAX ? INT64_MAX : (json_int_t) value);
}

static void status_set (json_t *object, const char *name, json_t *value)
{
    json_object_set_new (object, name, value);
}

static void set_hosts (const struct board *board, const uint32_t *hosts, uint32_t n, json_t *object)
{
    struct buf folded = { .max = LINES_BYTES };
    board_print_hosts (board, hosts, n, &folded);
    status_set (object, "hosts", buf_take_json (&folded));
    status_set (object, "count", number (n));
}

/* ---- hosts ---- */

static void set_phase (const struct status *status, const struct board_host *host, json_t *object)
{
    bool known = host->in_pass && !host->ended && host->state != ATTEMPT_NONE;
    uint64_t since_ms = host->phase_since_ms;
    status_set (object, "state", known ? enum_json (&attempt_state_names, host->state) : json_null ());
    status_set (object, "phase", known ? text_or_null_json (host->phase) : json_null ());
    status_set (object, "phase_ms",
                known ? number (status->now_ms > since_ms ? status->now_ms - since_ms : 0) : json_null ());
    status_set (object, "gate", known ? text_or_null_json (host->gate) : json_null ());
}

static json_t *host_value (const struct status *status, uint32_t rank)
{
    const struct board_host *host = &status->board->hosts[rank];
    json_t *object = json_object ();
    status_set (object, "host", escaped_json (board_host_name (status->board, rank)));
    status_set (object, "rank", number (rank));
    status_set (object, "life", json_string (enum_name_of (&board_life_names, host->life + 1)));
    status_set (object, "why", text_or_null_json (host->why));
    status_set (object, "outcome", enum_json (&outcome_names, host->outcome));
    status_set (object, "rungs_passed", number (host->rungs_passed));
    set_phase (status, host, object);
    status_set (object, "silent_ms",
                host->suspected ? number (status->now_ms > host->received_ms ? status->now_ms - host->received_ms : 0)
                                : json_null ());
    return object;
}

static json_t *hosts_value (const struct status *status)
{
    json_t *object = json_object (), *list = json_array ();
    for (uint32_t i = 0; i < status->board->plan.hosts.n; i++)
        json_array_append_new (list, host_value (status, i));
    status_set (object, "count", number (status->board->plan.hosts.n));
    status_set (object, "joined", number (status->board->joined_n));
    status_set (object, "list", list);
    return object;
}

/* ---- rungs ---- */

static json_t *group_value (const struct board *board, const struct board_verdict_group *group)
{
    json_t *object = json_object ();
    status_set (object, "outcome", enum_json (&outcome_names, group->outcome));
    status_set (object, "owner", enum_json (&owner_names, group->owner));
    status_set (object, "else_owner", enum_json (&owner_names, group->else_owner));
    status_set (object, "certainty",
                enum_json (&certainty_names, certainty_of_owner (group->owner, group->else_owner, group->likely)));
    status_set (object, "preliminary", json_boolean (group->preliminary));
    status_set (object, "signature", text_or_null_json (group->signature));
    status_set (object, "line", text_or_null_json (group->line));
    status_set (object, "cause", escaped_json (group->cause));
    status_set (object, "varies", json_boolean (group->varies));
    status_set (object, "next", text_or_null_json (group->next));
    status_set (object, "phase", text_or_null_json (group->phase));
    set_hosts (board, group->hosts.items, group->hosts.n, object);
    return object;
}

static json_t *correction_value (const struct board *board, const struct board_correction *correction)
{
    json_t *object = json_object ();
    status_set (object, "from", enum_json (&outcome_names, correction->from));
    status_set (object, "from_owner", enum_json (&owner_names, correction->from_owner));
    status_set (object, "to", enum_json (&outcome_names, correction->to));
    status_set (object, "to_owner", enum_json (&owner_names, correction->to_owner));
    set_hosts (board, correction->hosts.items, correction->hosts.n, object);
    return object;
}

static json_t *groups_value (const struct board *board, const struct board_pass *pass)
{
    json_t *list = json_array ();
    for (uint32_t i = 0; i < pass->groups.n; i++)
        json_array_append_new (list, group_value (board, &pass->groups.items[i]));
    return list;
}

static void set_counts (const struct board_pass *pass, json_t *object)
{
    json_t *counts = json_object ();
    for (uint32_t i = OUTCOME_PASSED; i < OUTCOME_N; i++)
        if (pass->counts[i])
            status_set (counts, enum_name_of (&outcome_names, i), number (pass->counts[i]));
    status_set (object, "counts", counts);
}

static json_t *pass_value (const struct status *status, const struct board_pass *pass, uint32_t which)
{
    json_t *object = json_object (), *corrections = json_array ();
    uint64_t spent_ms = pass->running && status->now_ms > pass->began_ms ? status->now_ms - pass->began_ms
                                                                         : pass->duration_ms;
    status_set (object, "pass", json_string (enum_name_of (&pass_names, which)));
    status_set (object, "attempt", number (pass->attempt));
    status_set (object, "state", json_string (pass->skipped ? "skipped" : pass->running ? "running" : "ended"));
    status_set (object, "outcome", enum_json (&outcome_names, pass->outcome));
    status_set (object, "began_ms", number (pass->began_ms));
    status_set (object, "duration_ms", number (spent_ms));
    status_set (object, "hosts", number (pass->hosts_n));
    status_set (object, "ended", number (pass->ended_n));
    set_counts (pass, object);
    status_set (object, "failures", groups_value (status->board, pass));
    status_set (object, "failures_left_out", number (pass->ungrouped_n));
    for (uint32_t i = 0; i < pass->corrections.n; i++)
        json_array_append_new (corrections, correction_value (status->board, &pass->corrections.items[i]));
    status_set (object, "corrections", corrections);
    return object;
}

static json_t *rungs_value (const struct status *status)
{
    json_t *list = json_array ();
    for (uint32_t i = 0; i < status->board->plan.rungs.n; i++) {
        json_t *object = json_object (), *passes = json_array ();
        status_set (object, "rung", escaped_json (board_rung_id (status->board, i)));
        status_set (object, "outcome", enum_json (&outcome_names, board_rung_outcome (status->board, i)));
        status_set (object, "duration_ms", number (board_rung_ms (status->board, i, status->now_ms)));
        for (uint32_t which = PASS_ONCE; which < BOARD_PASSES; which++) {
            const struct board_pass *pass = &status->board->rungs[i].passes[which];
            if (pass->attempt || pass->skipped)
                json_array_append_new (passes, pass_value (status, pass, which));
        }
        status_set (object, "absent", groups_value (status->board, &status->board->rungs[i].passes[PASS_NONE]));
        status_set (object, "passes", passes);
        json_array_append_new (list, object);
    }
    return list;
}

/* ---- the rest ---- */

static json_t *waiting_value (const struct status *status)
{
    json_t *list = json_array ();
    LOCAL_BUF lines = { .max = LINES_BYTES };
    waiting_append_lines (status->board, status->now_ms, status->board->plan.hosts.n, 0, &lines);
    struct text rest = buf_as_text (&lines), line;
    while (text_cut (&rest, '\n', &line))
        json_array_append_new (list, escaped_json (line));
    return list;
}

static json_t *quiet_value (const struct status *status)
{
    LOCAL_ARENA arena = { 0 };
    struct progress_quiet quiet[OUTPUT_GROUPS_MAX];
    uint32_t n = progress_quiet_hosts (status->board, status->now_ms, &arena, quiet);
    json_t *list = json_array ();
    for (uint32_t i = 0; i < n; i++) {
        json_t *object = json_object ();
        set_hosts (status->board, quiet[i].hosts, quiet[i].n, object);
        status_set (object, "line", text_or_null_json (quiet[i].line));
        status_set (object, "quiet_ms", number (quiet[i].quiet_ms));
        json_array_append_new (list, object);
    }
    return list;
}

static json_t *slow_value (const struct status *status)
{
    LOCAL_ARENA arena = { 0 };
    struct progress_slow slow[BOARD_PHASES_MAX];
    uint32_t n = progress_slow_hosts (status->board, status->now_ms, &arena, slow);
    json_t *list = json_array ();
    for (uint32_t i = 0; i < n; i++) {
        json_t *object = json_object ();
        set_hosts (status->board, slow[i].hosts, slow[i].n, object);
        status_set (object, "phase", escaped_json (slow[i].phase));
        status_set (object, "longest_ms", number (slow[i].longest_ms));
        status_set (object, "median_ms", number (slow[i].median_ms));
        status_set (object, "others", number (slow[i].others));
        json_array_append_new (list, object);
    }
    return list;
}

static json_t *estimate_value (const struct status *status)
{
    uint64_t left_ms = 0;
    const struct usual_time *usual = progress_usual_time (status->board, status->now_ms, &left_ms);
    if (usual == NULL)
        return json_null ();
    json_t *object = json_object ();
    status_set (object, "left_ms", number (left_ms));
    status_set (object, "usual_ms", number (usual->ms));
    status_set (object, "runs", number (usual->runs));
    return object;
}

static json_t *retry_value (const struct status *status)
{
    const struct board *board = status->board;
    const struct board_retry *retry = &board->retry;
    if (retry->key.attempt == 0 || board->ended)
        return json_null ();
    json_t *object = json_object ();
    status_set (object, "rung", escaped_json (board_rung_id (board, retry->key.rung)));
    status_set (object, "pass", enum_json (&pass_names, retry->key.pass));
    status_set (object, "fell_attempt", number (retry->key.attempt));
    status_set (object, "retry", number (retry->nth));
    status_set (object, "of", number (board->plan.limits.retries));
    status_set (object, "due_ms", number (retry->due_ms));
    status_set (object, "why", escaped_json (retry->why));
    return object;
}

static json_t *isolation_value (const struct board *board)
{
    const struct board_isolation *isolation = &board->isolation;
    if (isolation->passes_n == 0)
        return json_null ();
    json_t *object = json_object ();
    status_set (object, "rung", escaped_json (board_rung_id (board, isolation->rung)));
    status_set (object, "passes", number (isolation->passes_n));
    status_set (object, "passes_most", number (board_trials_max (board)));
    status_set (object, "pass_most_ms", number (board_trial_timeout_ms (board)));
    status_set (object, "over", json_boolean (isolation->over));
    status_set (object, "suspects", isolation->over ? escaped_json (isolation->suspects) : json_null ());
    status_set (object, "why", text_or_null_json (isolation->why));
    return object;
}

static json_t *cache_value (const struct board *board)
{
    const struct board_generation *generation = &board->generation;
    if (generation->token == 0)
        return json_null ();
    json_t *object = json_object ();
    status_set (object, "generation", number (generation->token));
    status_set (object, "adopted", json_boolean (generation->adopted));
    status_set (object, "entries", number (generation->entries));
    status_set (object, "bytes", number (generation->bytes));
    status_set (object, "writer",
                generation->adopted ? json_null () : escaped_json (board_host_name (board, generation->writer)));
    status_set (object, "dropped", json_boolean (generation->dropped));
    return object;
}

static json_t *metrics_value (const struct board *board)
{
    json_t *list = json_array ();
    for (uint32_t i = 0; i < board->metrics.n; i++) {
        const struct board_metric *metric = &board->metrics.items[i];
        json_t *object = json_object ();
        status_set (object, "rung", escaped_json (board_rung_id (board, metric->key.rung)));
        status_set (object, "pass", enum_json (&pass_names, metric->key.pass));
        status_set (object, "attempt", number (metric->key.attempt));
        status_set (object, "metric", escaped_json (metric->name));
        status_set (object, "axes", escaped_json (metric->axes));
        status_set (object, "value", isfinite (metric->value) ? json_real (metric->value) : json_null ());
        status_set (object, "proof", enum_json (&proof_names, metric->proof));
        status_set (object, "missing", number (metric->missing_n));
        status_set (object, "why", text_or_null_json (metric->why));
        status_set (object, "culprits", text_or_null_json (metric->culprits));
        status_set (object, "contradicted", number (metric->contradicted));
        json_array_append_new (list, object);
    }
    return list;
}

static void set_run (const struct status *status, json_t *object)
{
    const struct board *board = status->board;
    status_set (object, "schema", json_string ("sliceup.status/2"));
    status_set (object, "run", escaped_json (board->run));
    status_set (object, "slice", escaped_json (board->plan.slice));
    status_set (object, "ladder", escaped_json (board->plan.ladder));
    status_set (object, "version", escaped_json (board->version));
    status_set (object, "state", json_string (status_run_state (status)));
    status_set (object, "outcome", board->ended ? enum_json (&outcome_names, board->outcome) : json_null ());
    status_set (object, "exit_status", board->ended ? number (board->exit_status) : json_null ());
    status_set (object, "sentence", board->ended ? escaped_json (board->sentence) : json_null ());
    status_set (object, "opened_wall_ms", number (board->opened_wall_ms));
    status_set (object, "opened", time_json (board->opened_wall_ms));
    status_set (object, "now_ms", number (status->now_ms));
    status_set (object, "epoch", number (board->epoch));
    status_set (object, "pid", status->pid ? number ((uint64_t) status->pid) : json_null ());
}

void status_json (const struct status *status, struct buf *out)
{
    json_t *object = json_object ();
    set_run (status, object);
    status_set (object, "hosts", hosts_value (status));
    status_set (object, "rungs", rungs_value (status));
    status_set (object, "waiting", waiting_value (status));
    status_set (object, "quiet", quiet_value (status));
    status_set (object, "slow", slow_value (status));
    status_set (object, "estimate", estimate_value (status));
    status_set (object, "retries", number (status->board->retries_n));
    status_set (object, "retry", retry_value (status));
    status_set (object, "isolation", isolation_value (status->board));
    status_set (object, "cache", cache_value (status->board));
    status_set (object, "violations", number (status->board->violations_n));
    status_set (object, "leases_lost", number (status->board->leases_lost_n));
    status_set (object, "metrics", metrics_value (status->board));
    status_set (object, "conflicts", number (status->board->conflicts_n));
    json_print_release (object, JSON_INDENT (2) | JSON_ENSURE_ASCII, out);
}

/* ---- status text ---- */

/* A run in some twenty lines. */

static void status_add_run (const struct status *status, struct doc *doc)
{
    const struct board *board = status->board;
    const char *run = board->run.len >= 8 ? board->run.ptr : "last";
    buf_printf (&doc->line, "run %.*s: %s", TEXT_ARG (board->run), status_run_state (status));
    if (status->pid && !board->ended)
        buf_printf (&doc->line, " (coordinator: process %" PRId64 ")", status->pid);
    if (!status->pid && !board->ended)
        buf_printf (&doc->line,
                    ", and its clock stands at its last fact; continue it with: sliceup resume %.8s, or end its "
                    "workers with: sliceup cancel %.8s",
                    run, run);
    doc_put (doc, "", NULL);
}

static void status_add_groups (const struct board *board, const struct board_pass *pass, struct doc *doc)
{
    doc->paint = PAINT_BAD;
    for (uint32_t i = 0; i < pass->groups.n; i++) {
        group_text (board, &pass->groups.items[i], &doc->line);
        doc_put (doc, "  ", NULL);
    }
}

/* Of the last pass of each rung that did not pass; those of a pass that runs stand in the grid. */
static void add_failures (const struct board *board, struct doc *doc)
{
    for (uint32_t i = 0; i < board->plan.rungs.n; i++) {
        const struct board_rung *rung = &board->rungs[i];
        const struct board_pass *pass = &rung->passes[rung->last];
        status_add_groups (board, &rung->passes[PASS_NONE], doc);
        if (rung->last != PASS_NONE && !pass->running)
            status_add_groups (board, pass, doc);
    }
}

static void status_add_metrics (const struct board *board, struct doc *doc)
{
    doc->paint = PAINT_NONE;
    for (uint32_t i = 0; i < board->metrics.n; i++) {
        const struct board_metric *metric = &board->metrics.items[i];
        struct text rung = board_rung_id (board, metric->key.rung);
        buf_printf (&doc->line, "metric %.*s/", TEXT_ARG (rung));
        buf_add_text (&doc->line, metric->name);
        if (isfinite (metric->value))
            buf_printf (&doc->line, " = %.6g", metric->value);
        buf_printf (&doc->line, ": %s", enum_name_of (&proof_names, metric->proof));
        buf_escaped_after (&doc->line, " over ", metric->axes, 0);
        buf_escaped_after (&doc->line, " on ", metric->culprits, 0);
        if (metric->contradicted)
            buf_printf (&doc->line, "; the same proof fails for %" PRIu64 " earlier values of the metric",
                        metric->contradicted);
        doc_put (doc, "", NULL);
    }
}

static void status_add_cache (const struct board *board, struct doc *doc)
{
    const struct board_generation *generation = &board->generation;
    if (generation->token == 0)
        return;
    struct text writer = generation->adopted ? TEXT_LIT ("an earlier run")
                                             : board_host_name (board, generation->writer);
    buf_printf (&doc->line, "cache generation %" PRIu64 ": %u entries, %s, written by %.*s%s", generation->token,
                generation->entries, SIZE_TEXT (generation->bytes), TEXT_ARG (writer),
                generation->dropped ? "; it was violated and is no longer used" : "");
    doc_put (doc, "", NULL);
}

/* Rows of the grid fit the width; sentences are worth wrapping. */
void status_text (const struct status *status, const struct style *style, struct buf *out)
{
    struct doc doc = doc_begin (out, false);
    doc.style = *style;
    doc.style.columns = 0;
    status_add_run (status, &doc);
    grid_draw (status->board, status->now_ms, style, out);
    add_failures (status->board, &doc);
    status_add_metrics (status->board, &doc);
    status_add_cache (status->board, &doc);
    doc.paint = status->board->outcome == OUTCOME_PASSED ? PAINT_GOOD : PAINT_BAD;
    if (status->board->ended)
        doc_say (&doc, "", NULL, status->board->sentence);
    doc_end (&doc);
}

/* ---- stacks ---- */

struct stacks_group {
    const uint32_t *hosts;
    uint32_t n;
};

static int stacks_by_stand (const void *a, const void *b, void *board)
{
    const uint32_t *left = a, *right = b;
    const struct board_host *hosts = ((const struct board *) board)->hosts;
    int order = text_compare (hosts[*left].stand, hosts[*right].stand);
    return order ? order : order_u64 (*left, *right);
}

static int stacks_by_size (const void *a, const void *b)
{
    const struct stacks_group *left = a, *right = b;
    int order = order_u64 (left->n, right->n);
    return order ? order : order_u64 (left->hosts[0], right->hosts[0]);
}

static uint32_t stacks_groups (const struct board *board, struct arena *arena, struct stacks_group **out)
{
    uint32_t *hosts = arena_array (arena, board->plan.hosts.n, sizeof *hosts), n = 0, groups = 0;
    struct stacks_group *all = *out = arena_array (arena, board->plan.hosts.n, sizeof *all);
    for (uint32_t i = 0; i < board->plan.hosts.n; i++)
        if (board->hosts[i].in_pass && !board->hosts[i].ended && board->hosts[i].stand.len)
            hosts[n++] = i;
    qsort_r (hosts, n, sizeof *hosts, stacks_by_stand, (void *) (uintptr_t) board);
    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 || !text_equal (board->hosts[hosts[i]].stand, board->hosts[hosts[i - 1]].stand))
            all[groups++] = (struct stacks_group){ .hosts = &hosts[i] };
        all[groups - 1].n++;
    }
    sort_items (all, groups, sizeof *all, stacks_by_size);
    return groups;
}

static void stacks_add_group (const struct board *board, const struct stacks_group *group, struct arena *arena,
                              struct buf *out)
{
    struct text lines = board->hosts[group->hosts[0]].stand;
    bool framed;
    board_print_whom (board, group->hosts, group->n, out);
    buf_escaped_after (out, ": ", stand_print (lines, arena, &framed), 0);
    buf_byte (out, '\n');
    while (lines.len) {
        buf_escaped_after (out, "    ", text_take_until (&lines, '\n'), 0);
        buf_byte (out, '\n');
    }
}

uint32_t stacks_text (const struct board *board, struct buf *out)
{
    LOCAL_ARENA arena = { 0 };
    struct stacks_group *groups;
    uint32_t n = stacks_groups (board, &arena, &groups), told = 0;
    for (uint32_t i = 0; i < n; i++) {
        stacks_add_group (board, &groups[i], &arena, out);
        told += groups[i].n;
    }
    (void) progress_append_stands (board, board->clock_ms, false, out);
    return told;
}

/* The lines of the kind, in the order in which they were told: of frames the deepest first. */
static void stacks_add_lines (struct text lines, enum stand_line kind, json_t *list)
{
    while (lines.len) {
        struct text said;
        if (stand_line_read (text_take_until (&lines, '\n'), &said) == kind)
            json_array_append_new (list, escaped_json (said));
    }
}

static json_t *stacks_group_value (const struct board *board, uint64_t now_ms, const struct stacks_group *group,
                                   struct arena *arena)
{
    struct text lines = board->hosts[group->hosts[0]].stand;
    json_t *object = json_object (), *frames = json_array (), *waits = json_array ();
    uint64_t looked_ms = UINT64_MAX;
    bool framed;
    for (uint32_t i = 0; i < group->n; i++) {
        uint64_t one_ms = board->hosts[group->hosts[i]].stand_ms;
        looked_ms = one_ms < looked_ms ? one_ms : looked_ms;
    }
    stacks_add_lines (lines, STAND_OWN_FRAME, frames);
    stacks_add_lines (lines, STAND_FRAME, frames);
    stacks_add_lines (lines, STAND_WAIT, waits);
    set_hosts (board, group->hosts, group->n, object);
    status_set (object, "where", text_or_null_json (stand_print (lines, arena, &framed)));
    status_set (object, "frames", frames);
    status_set (object, "waits", waits);
    status_set (object, "looked_ms", number (now_ms > looked_ms ? now_ms - looked_ms : 0));
    return object;
}

void stacks_json (const struct board *board, uint64_t now_ms, uint32_t most, struct buf *out)
{
    LOCAL_ARENA arena = { 0 };
    struct stacks_group *groups;
    uint32_t n = stacks_groups (board, &arena, &groups), shown = n < most ? n : most;
    json_t *object = json_object (), *list = json_array ();
    LOCAL_BUF odd = { .max = LINES_BYTES };
    (void) progress_append_stands (board, now_ms, false, &odd);
    for (uint32_t i = 0; i < shown; i++)
        json_array_append_new (list, stacks_group_value (board, now_ms, &groups[i], &arena));
    status_set (object, "schema", json_string ("sliceup.stacks/1"));
    status_set (object, "run", escaped_json (board->run));
    status_set (object, "rung", board->running ? escaped_json (board_rung_id (board, board->key.rung)) : json_null ());
    status_set (object, "pass", enum_json (&pass_names, board->running ? board->key.pass : PASS_NONE));
    status_set (object, "groups", list);
    status_set (object, "groups_left_out", number (n - shown));
    status_set (object, "sentence", text_or_null_json (text_trimmed (buf_as_text (&odd))));
    json_print_release (object, JSON_INDENT (2), out);
}
