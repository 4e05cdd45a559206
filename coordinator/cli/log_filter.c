#include "coordinator/cli/logs.h"

enum { ATTEMPTS_MAX = 64 }; /* more are not kept on disk (log_store) */

bool log_filter_is_default (const struct log_filter *filter)
{
    return host_filter_is_default (&filter->hosts) && !filter->rung && !filter->pass && !filter->attempt;
}

/* ---- names -> this run ---- */

static int unknown_rung (const struct log_filter *filter, const struct board *board, struct err *err)
{
    struct buf known;
    buf_init (&known, 256);
    for (uint32_t i = 0; i < board->plan.rungs.n && !known.overflow; i++) {
        buf_puts (&known, i ? ", " : "");
        buf_escaped (&known, board_rung_id (board, i), 0);
    }
    err_set (err, ERR_USAGE, "--rung %s: this run has no such rung; it has %s", filter->rung, buf_c (&known));
    buf_release (&known);
    return -1;
}

static int resolve_hosts (struct log_filter *filter, const struct board *board, struct err *err)
{
    struct arena arena = { 0 };
    struct name_list all = { arena_array (&arena, board->plan.hosts.n, sizeof (*all.items)), board->plan.hosts.n };
    for (uint32_t i = 0; i < all.n; i++)
        all.items[i] = board_host_name (board, i);
    filter->host_chosen = mem_array (all.n, sizeof (bool));
    int rc = host_filter_resolve (&filter->hosts, &all, &board->plan, filter->host_chosen, err);
    arena_release (&arena);
    return rc;
}

int log_filter_resolve (struct log_filter *filter, const struct board *board, struct err *err)
{
    uint32_t pass = PASS_NONE;
    filter->rung_index = filter->rung ? plan_rung_index (&board->plan, text_of (filter->rung)) : -1;
    if (filter->rung && filter->rung_index < 0)
        return unknown_rung (filter, board, err);
    if (filter->pass && !enum_value_of (&pass_names, text_of (filter->pass), &pass))
        return err_set (err, ERR_USAGE, "--pass %s: expected once, cold or restored", filter->pass);
    filter->pass_index = (enum pass) pass;
    return resolve_hosts (filter, board, err);
}

bool log_filter_takes (const struct log_filter *filter, const struct log_source *source)
{
    return filter->host_chosen[source->host] &&
           (filter->rung_index < 0 || (uint32_t) filter->rung_index == source->key.rung) &&
           (!filter->pass_index || filter->pass_index == source->key.pass) &&
           (!filter->attempt || filter->attempt == source->key.attempt);
}

/* ---- sources ---- */

static void log_sources_add (struct log_sources *sources, const struct log_source *source)
{
    sources->items = mem_room (sources->items, sources->n, &sources->capacity, 16, sizeof (*sources->items));
    sources->items[sources->n++] = *source;
}

static void add_attempt (const struct log_filter *filter, const struct board *board, struct attempt_key key,
                         struct log_sources *sources)
{
    for (uint32_t i = 0; i < board->plan.hosts.n; i++) {
        struct log_source source = { i, key };
        if (log_filter_takes (filter, &source))
            log_sources_add (sources, &source);
    }
}

static void add_all (const struct log_filter *filter, const struct board *board, struct log_sources *sources)
{
    for (uint32_t rung = 0; rung < board->plan.rungs.n; rung++)
        for (uint32_t pass = PASS_ONCE; pass < BOARD_PASSES; pass++) {
            uint32_t last = board->rungs[rung].passes[pass].attempt;
            for (uint32_t attempt = last > ATTEMPTS_MAX ? last - ATTEMPTS_MAX + 1 : 1; attempt <= last && last;
                 attempt++)
                add_attempt (filter, board, (struct attempt_key){ rung, pass, attempt }, sources);
        }
}

/* Hosts with a failure of their own; cascades only when no other host is to blame. */
static void add_failed (const struct board *board, uint32_t rung, bool cascades, struct log_sources *sources)
{
    const struct board_rung *state = &board->rungs[rung];
    const struct board_pass *pass = &state->passes[state->last];
    for (uint32_t i = 0; pass->attempt && i < pass->groups.n; i++) { /* no attempt, no output */
        const struct board_verdict_group *group = &pass->groups.items[i];
        for (uint32_t k = 0; k < group->hosts.n && (group->outcome == OUTCOME_CASCADE) == cascades; k++)
            if (group->hosts.items[k] < board->plan.hosts.n)
                log_sources_add (sources,
                                 &(struct log_source){ group->hosts.items[k], { rung, state->last, pass->attempt } });
    }
}

static void add_by_default (const struct log_filter *filter, const struct board *board, struct log_sources *sources)
{
    for (uint32_t rung = 0; rung < board->plan.rungs.n; rung++) {
        add_failed (board, rung, false, sources);
        if (sources->n == 0)
            add_failed (board, rung, true, sources);
    }
    if (sources->n == 0 && board->running)
        add_attempt (filter, board, board->key, sources);
}

void log_filter_list_sources (const struct log_filter *filter, const struct board *board, struct log_sources *sources,
                              bool *everything)
{
    *everything = false;
    if (log_filter_is_default (filter))
        add_by_default (filter, board, sources);
    if (sources->n)
        return;
    *everything = log_filter_is_default (filter);
    add_all (filter, board, sources);
}

void log_filter_list_workers (const struct log_filter *filter, const struct board *board, struct log_sources *sources)
{
    add_attempt (filter, board, (struct attempt_key){ 0 }, sources);
}
