#include "coordinator/cli/log_choice.h"

enum { ATTEMPTS_MAX = 64 }; /* more are not kept on disk (log_store) */

bool log_choice_is_default (const struct log_choice *choice)
{
    return host_choice_is_default (&choice->hosts) && !choice->rung && !choice->pass && !choice->attempt;
}

/* ---- names -> this run ---- */

static int unknown_rung (const struct log_choice *choice, const struct board *board, struct err *err)
{
    struct buf known;
    buf_init (&known, 256);
    for (uint32_t i = 0; i < board->plan.rungs.n && !known.overflow; i++) {
        buf_puts (&known, i ? ", " : "");
        buf_escaped (&known, board_rung_id (board, i), 0);
    }
    err_set (err, ERR_USAGE, "--rung %s: this run has no such rung; it has %s", choice->rung, buf_c (&known));
    buf_release (&known);
    return -1;
}

static int resolve_hosts (struct log_choice *choice, const struct board *board, struct err *err)
{
    struct arena arena = { 0 };
    struct name_list all = { arena_array (&arena, board->plan.hosts.n, sizeof (*all.items)), board->plan.hosts.n };
    for (uint32_t i = 0; i < all.n; i++)
        all.items[i] = board_host_name (board, i);
    choice->host_chosen = mem_array (all.n, sizeof (bool));
    int rc = host_choice_resolve (&choice->hosts, &all, choice->host_chosen, err);
    arena_release (&arena);
    return rc;
}

int log_choice_resolve (struct log_choice *choice, const struct board *board, struct err *err)
{
    uint32_t pass = PASS_NONE;
    choice->rung_index = choice->rung ? plan_rung (&board->plan, text_of (choice->rung)) : -1;
    if (choice->rung && choice->rung_index < 0)
        return unknown_rung (choice, board, err);
    if (choice->pass && !names_find (&pass_names, text_of (choice->pass), &pass))
        return err_set (err, ERR_USAGE, "--pass %s: expected once, cold or restored", choice->pass);
    choice->pass_index = (enum pass) pass;
    return resolve_hosts (choice, board, err);
}

bool log_choice_takes (const struct log_choice *choice, const struct log_source *source)
{
    return choice->host_chosen[source->host] &&
           (choice->rung_index < 0 || (uint32_t) choice->rung_index == source->key.rung) &&
           (!choice->pass_index || choice->pass_index == source->key.pass) &&
           (!choice->attempt || choice->attempt == source->key.attempt);
}

/* ---- sources ---- */

static void log_sources_add (struct log_sources *sources, const struct log_source *source)
{
    sources->items = mem_room (sources->items, sources->n, &sources->capacity, 16, sizeof (*sources->items));
    sources->items[sources->n++] = *source;
}

static void add_attempt (const struct log_choice *choice, const struct board *board, struct attempt_key key,
                         struct log_sources *sources)
{
    for (uint32_t i = 0; i < board->plan.hosts.n; i++) {
        struct log_source source = { i, key };
        if (log_choice_takes (choice, &source))
            log_sources_add (sources, &source);
    }
}

static void add_all (const struct log_choice *choice, const struct board *board, struct log_sources *sources)
{
    for (uint32_t rung = 0; rung < board->plan.rungs.n; rung++)
        for (uint32_t pass = PASS_ONCE; pass < BOARD_PASSES; pass++) {
            uint32_t last = board->rungs[rung].passes[pass].attempt;
            for (uint32_t attempt = last > ATTEMPTS_MAX ? last - ATTEMPTS_MAX + 1 : 1; attempt <= last && last;
                 attempt++)
                add_attempt (choice, board, (struct attempt_key){ rung, pass, attempt }, sources);
        }
}

/* Hosts with a failure of their own; cascades only when no other host is to blame. */
static void add_failed (const struct board *board, uint32_t rung, bool cascades, struct log_sources *sources)
{
    const struct board_rung *state = &board->rungs[rung];
    const struct board_pass *pass = &state->passes[state->last];
    for (uint32_t i = 0; i < pass->groups.n; i++) {
        const struct board_group *group = &pass->groups.items[i];
        for (uint32_t k = 0; k < group->hosts.n && (group->outcome == OUTCOME_CASCADE) == cascades; k++)
            if (group->hosts.items[k] < board->plan.hosts.n)
                log_sources_add (sources,
                                 &(struct log_source){ group->hosts.items[k], { rung, state->last, pass->attempt } });
    }
}

static void add_by_default (const struct log_choice *choice, const struct board *board, struct log_sources *sources)
{
    for (uint32_t rung = 0; rung < board->plan.rungs.n; rung++) {
        add_failed (board, rung, false, sources);
        if (sources->n == 0)
            add_failed (board, rung, true, sources);
    }
    if (sources->n == 0 && board->running)
        add_attempt (choice, board, board->key, sources);
}

void log_choice_list (const struct log_choice *choice, const struct board *board, struct log_sources *sources,
                      bool *everything)
{
    *everything = false;
    if (log_choice_is_default (choice))
        add_by_default (choice, board, sources);
    if (sources->n)
        return;
    *everything = log_choice_is_default (choice);
    add_all (choice, board, sources);
}

void log_choice_workers (const struct log_choice *choice, const struct board *board, struct log_sources *sources)
{
    add_attempt (choice, board, (struct attempt_key){ 0 }, sources);
}
