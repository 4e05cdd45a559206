/* scene_print.h - a scene as text, for tests that compare scenes. What goes on with time alone is left out. */
#ifndef SLICEUP_TESTS_UNIT_SCENE_PRINT_H
#define SLICEUP_TESTS_UNIT_SCENE_PRINT_H

#include <inttypes.h>

#include "common/base/utf8.h"
#include "coordinator/picture/scene.h"

#define T(text) TEXT_ARG (text)

static inline void print_rung (const struct scene *scene, uint32_t rung, struct buf *out)
{
    const struct board *board = scene->board;
    const struct board_pass *pass = scene_rung_pass (board, rung);
    bool runs = scene_rung_runs (board, rung);
    buf_printf (out, "%.*s outcome %d pass %d%s attempt %u began %" PRIu64 " hosts %u ended %u\n",
                T (board_rung_id (board, rung)), board_rung_outcome (board, rung), board->rungs[rung].last,
                runs ? " runs" : "", pass->attempt, runs ? pass->began_ms : 0, pass->hosts_n, pass->ended_n);
}

static inline void print_tile (const struct scene *scene, const struct scene_tile *tile, struct buf *out)
{
    buf_printf (out, "%u %.*s %c ", tile->rank, T (board_host_name (scene->board, tile->rank)),
                scene_mark_letter (tile->now));
    for (uint32_t i = 0; i < scene->rungs_n; i++)
        buf_byte (out, (uint8_t) scene_mark_letter (tile->cells[i]));
    buf_printf (out, " owner %d phase %.*s gate %.*s\n", tile->owner, T (tile->phase), T (tile->gate));
}

static inline void print_group (const struct scene_group *group, struct buf *out)
{
    const struct board_verdict_group *says = &group->says;
    buf_printf (out, "%u %d %d %d%s%s %.*s | %.*s | %.*s | %.*s | %.*s | %.*s cause %u %u:", group->rung, group->pass,
                says->outcome, says->owner, says->likely ? " likely" : "", says->preliminary ? " so far" : "",
                T (says->signature), T (says->line), T (says->cause), T (says->next), T (says->phase), T (group->names),
                group->cause_host, group->cause_group);
    for (uint32_t i = 0; i < says->hosts.n; i++)
        buf_printf (out, " %u", says->hosts.items[i]);
    buf_puts (out, "\n");
}

/* What metrics_changed is about. */
static inline void print_metrics (const struct scene *scene, struct buf *out)
{
    for (uint32_t i = 0; i < scene->board->metrics.n; i++) {
        const struct board_metric *metric = &scene->board->metrics.items[i];
        buf_printf (out, "%u %d %.*s %.*s %.17g %d %.*s %.*s\n", metric->key.rung, metric->key.pass, T (metric->name),
                    T (metric->axes), metric->value, metric->proof, T (metric->why), T (metric->culprits));
    }
}

/* Groups and gates: what groups_changed is about. */
static inline void print_groups (const struct scene *scene, struct buf *out)
{
    for (uint32_t i = 0; i < scene->groups_n; i++)
        print_group (&scene->groups[i], out);
    buf_printf (out, "ungrouped %u\n", scene->ungrouped_n);
    for (uint32_t i = 0; i < scene->gates_n; i++) {
        const struct gate_wait *gate = scene->gates[i];
        buf_printf (out, "%u %d %u %.*s last %u of %u, %u %u\n", gate->key.rung, gate->key.pass, gate->key.attempt,
                    T (gate_wait_name (scene->board, gate)), gate->last, gate->hosts_n, gate->median_ms,
                    gate->longest_ms);
    }
}

/* An attempt that runs has no end yet. */
static inline void print_host (const struct scene_host *host, struct buf *out)
{
    buf_printf (out, "%u %.*s %.*s %.*s\n", host->rank, T (host->name), T (host->life), T (host->why));
    for (uint32_t i = 0; i < host->attempts_n; i++) {
        const struct scene_attempt *at = &host->attempts[i];
        bool runs = at->mark == MARK_RUNS || at->mark == MARK_AT_GATE || at->mark == MARK_LOST;
        buf_printf (out, " %u %d %u %d %c %" PRIu64 " %" PRIu64 "\n", at->key.rung, at->key.pass, at->key.attempt,
                    at->purpose, scene_mark_letter (at->mark), at->began_ms, runs ? 0 : at->ms);
        for (uint32_t k = 0; k < at->spans_n; k++)
            buf_printf (out, "  %.*s%s %" PRIu64 " %" PRIu64 " %u\n", T (at->spans[k].name),
                        at->spans[k].gate ? " gate" : "", at->spans[k].began_ms, at->spans[k].ms, at->spans[k].awaited);
    }
    for (uint32_t i = 0; i < host->facts_n; i++)
        buf_printf (out, " %.*s=%.*s\n", T (host->facts[i].name), T (host->facts[i].value));
}

static inline void print_summary (const struct scene *scene, struct buf *out)
{
    const struct board *board = scene->board;
    buf_printf (out, "%.*s %.*s %.*s%s%s%s %d %u", T (board->run), T (board->plan.slice), T (board->sentence),
                board->opened ? " opened" : "", board->ended ? " ended" : "", board->cancel_level ? " stops" : "",
                board->outcome, board->exit_status);
    buf_printf (out, " hosts %u joined %u silent %u lost %u hidden %u columns %u frontier %u usual %" PRIu64,
                scene->hosts_n, board->joined_n, scene->silent_n, scene->lost_n, scene->hidden_n, scene->columns,
                scene->frontier, scene->usual ? scene->usual->ms : 0);
    for (uint32_t i = 0; i < MARK_N; i++)
        buf_printf (out, " %u", scene->marks[i]);
    buf_puts (out, "\n");
}

/* All of it, with the hosts that are opened, notes and what is waited for. */
static inline void print_scene (const struct scene *scene, struct buf *out)
{
    print_summary (scene, out);
    for (uint32_t i = 0; i < scene->rungs_n; i++)
        print_rung (scene, i, out);
    for (uint32_t i = 0; i < scene->tiles_n; i++)
        print_tile (scene, &scene->tiles[i], out);
    print_groups (scene, out);
    print_metrics (scene, out);
    if (scene->host)
        print_host (scene->host, out);
    for (uint32_t i = 0; i < scene->notes_n; i++)
        buf_printf (out, "note %" PRIu64 " %" PRIu64 " %.*s\n", scene->notes[i]->number, scene->notes[i]->at_ms,
                    T (scene->notes[i]->text));
    for (uint32_t i = 0; i < scene->waiting_n; i++)
        buf_printf (out, "waits %.*s\n", T (scene->waiting[i]));
    buf_printf (out, "%.*s\n", T (scene->host_set_error));
}

#undef T
#endif
