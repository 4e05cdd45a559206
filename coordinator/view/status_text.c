/* status_text.c - a run in some twenty lines. */
#include "coordinator/view/status.h"

#include <inttypes.h>
#include <math.h>

#include "coordinator/view/grid.h"
#include "coordinator/view/group_text.h"
#include "coordinator/view/line.h"

static void add_run (const struct status *status, const struct style *style, struct buf *out)
{
    const struct board *board = status->board;
    struct line line = line_begin (out, style);
    line_puts (&line, "run ");
    line_text (&line, board->run);
    line_printf (&line, ": %s", status_run_state (status));
    if (status->pid && !board->ended)
        line_printf (&line, " (coordinator: process %" PRId64 ")", status->pid);
    if (!status->pid && !board->ended)
        line_printf (&line,
                     ", and its clock stands at its last fact; continue it with: sliceup resume %.8s, or end its "
                     "workers with: sliceup cancel %.8s",
                     board->run.len >= 8 ? board->run.ptr : "last", board->run.len >= 8 ? board->run.ptr : "last");
    line_end (&line);
}

static void add_group (const struct board *board, const struct board_verdict_group *group, const struct style *style,
                       struct buf *out)
{
    struct buf words;
    buf_init (&words, 1 << 20);
    buf_puts (&words, "  ");
    group_text (board, group, &words);
    line_print_painted (out, style, PAINT_BAD, buf_as_text (&words));
    buf_release (&words);
}

/* Of the last pass of each rung that did not pass; those of a pass that runs stand in the grid. */
static void add_failures (const struct board *board, const struct style *style, struct buf *out)
{
    for (uint32_t i = 0; i < board->plan.rungs.n; i++) {
        const struct board_rung *rung = &board->rungs[i];
        const struct board_pass *pass = &rung->passes[rung->last], *absent = &rung->passes[PASS_NONE];
        for (uint32_t k = 0; k < absent->groups.n; k++)
            add_group (board, &absent->groups.items[k], style, out);
        for (uint32_t k = 0; rung->last != PASS_NONE && !pass->running && k < pass->groups.n; k++)
            add_group (board, &pass->groups.items[k], style, out);
    }
}

static void add_metrics (const struct board *board, const struct style *style, struct buf *out)
{
    for (uint32_t i = 0; i < board->metrics.n; i++) {
        const struct board_metric *metric = &board->metrics.items[i];
        struct line line = line_begin (out, style);
        line_puts (&line, "metric ");
        line_text (&line, board_rung_id (board, metric->key.rung));
        line_puts (&line, "/");
        line_text (&line, metric->name);
        if (isfinite (metric->value))
            line_printf (&line, " = %.6g", metric->value);
        line_printf (&line, ": %s", enum_name_of (&proof_names, metric->proof));
        if (metric->axes.len)
            line_puts (&line, " over ");
        line_text (&line, metric->axes);
        if (metric->culprits.len)
            line_puts (&line, " on ");
        line_text (&line, metric->culprits);
        if (metric->contradicted)
            line_printf (&line, "; the same proof fails for %" PRIu64 " earlier values of the metric",
                         metric->contradicted);
        line_end (&line);
    }
}

static void add_cache (const struct board *board, const struct style *style, struct buf *out)
{
    char size[SIZE_TEXT_BYTES];
    const struct board_generation *generation = &board->generation;
    if (generation->token == 0)
        return;
    struct line line = line_begin (out, style);
    line_printf (&line, "cache generation %" PRIu64 ": %u entries, %s, ", generation->token, generation->entries,
                 size_print (generation->bytes, size));
    if (generation->adopted)
        line_puts (&line, "written by an earlier run");
    else {
        line_puts (&line, "written by ");
        line_text (&line, board_host_name (board, generation->writer));
    }
    if (generation->dropped)
        line_puts (&line, "; it was violated and is no longer used");
    line_end (&line);
}

void status_text (const struct status *status, const struct style *style, struct buf *out)
{
    struct style uncut = *style; /* rows of the grid fit the width; sentences are worth wrapping */
    uncut.columns = 0;
    add_run (status, &uncut, out);
    grid_draw (status->board, status->now_ms, style, out);
    add_failures (status->board, &uncut, out);
    add_metrics (status->board, &uncut, out);
    add_cache (status->board, &uncut, out);
    if (status->board->ended)
        line_print_painted (out, &uncut, status->board->outcome == OUTCOME_PASSED ? PAINT_GOOD : PAINT_BAD,
                            status->board->sentence);
}
