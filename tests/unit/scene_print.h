/* scene_print.h - a scene as text, for tests that compare scenes. What goes on with time alone is left out. */
#ifndef SLICEUP_TESTS_UNIT_SCENE_PRINT_H
#define SLICEUP_TESTS_UNIT_SCENE_PRINT_H

#include <inttypes.h>

#include "common/base/utf8.h"
#include "coordinator/picture/scene.h"

#define T(text) TEXT_ARG (text)

static inline void print_rung (const struct scene_rung *rung, struct buf *out)
{
    buf_printf (out, "%.*s outcome %d pass %d%s%s attempt %u began %" PRIu64 " limit %" PRIu64 " hosts %u ended %u",
                T (rung->id), rung->outcome, rung->pass, rung->running ? " runs" : "", rung->slice_wide ? " wide" : "",
                rung->attempt, rung->began_ms, rung->limit_ms, rung->hosts_n, rung->ended_n);
    for (uint32_t i = 0; i < MARK_N; i++)
        buf_printf (out, " %u", rung->marks[i]);
    buf_puts (out, "\n");
}

static inline void print_tile (const struct scene *scene, const struct scene_tile *tile, struct buf *out)
{
    buf_printf (out, "%u %.*s %c ", tile->rank, T (tile->name), scene_mark_letter (tile->now));
    for (uint32_t i = 0; i < scene->rungs_n; i++)
        buf_byte (out, (uint8_t) scene_mark_letter (tile->cells[i]));
    buf_printf (out, " owner %d phase %.*s gate %.*s\n", tile->owner, T (tile->phase), T (tile->gate));
}

static inline void print_group (const struct scene_group *group, struct buf *out)
{
    buf_printf (out, "%u %d %d %d%s%s %.*s | %.*s | %.*s | %.*s | %.*s | %.*s cause %u %u:", group->rung, group->pass,
                group->outcome, group->owner, group->likely ? " likely" : "", group->preliminary ? " so far" : "",
                T (group->signature), T (group->line), T (group->cause), T (group->next), T (group->phase),
                T (group->names), group->cause_host, group->cause_group);
    for (uint32_t i = 0; i < group->n; i++)
        buf_printf (out, " %u", group->ranks[i]);
    buf_puts (out, "\n");
}

/* What metrics_changed is about. */
static inline void print_metrics (const struct scene *scene, struct buf *out)
{
    for (uint32_t i = 0; i < scene->metrics_n; i++) {
        const struct scene_metric *metric = &scene->metrics[i];
        buf_printf (out, "%u %d %.*s %.*s %.17g %d %.*s %.*s\n", metric->rung, metric->pass, T (metric->name),
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
        const struct scene_gate *gate = &scene->gates[i];
        buf_printf (out, "%u %d %u %.*s last %u of %u, %" PRIu64 " %" PRIu64 "\n", gate->rung, gate->pass,
                    gate->attempt, T (gate->gate), gate->last, gate->hosts_n, gate->median_wait_ms,
                    gate->longest_wait_ms);
    }
}

/* An attempt that runs has no end yet. */
static inline void print_host (const struct scene_host *host, struct buf *out)
{
    buf_printf (out, "%u %.*s %.*s %.*s\n", host->rank, T (host->name), T (host->life), T (host->why));
    for (uint32_t i = 0; i < host->attempts_n; i++) {
        const struct scene_attempt *at = &host->attempts[i];
        bool runs = at->mark == MARK_RUNS || at->mark == MARK_AT_GATE || at->mark == MARK_LOST;
        buf_printf (out, " %u %d %u %d %c %" PRIu64 " %" PRIu64 "\n", at->rung, at->pass, at->attempt, at->purpose,
                    scene_mark_letter (at->mark), at->began_ms, runs ? 0 : at->ms);
        for (uint32_t k = 0; k < at->spans_n; k++)
            buf_printf (out, "  %.*s%s %" PRIu64 " %" PRIu64 " %u\n", T (at->spans[k].name),
                        at->spans[k].gate ? " gate" : "", at->spans[k].began_ms, at->spans[k].ms, at->spans[k].awaited);
    }
    for (uint32_t i = 0; i < host->facts_n; i++)
        buf_printf (out, " %.*s=%.*s\n", T (host->facts[i].name), T (host->facts[i].value));
}

static inline void print_summary (const struct scene *scene, struct buf *out)
{
    buf_printf (out, "%.*s %.*s %.*s %.*s %.*s %.*s%s%s%s %d %u", T (scene->run), T (scene->slice), T (scene->ladder),
                T (scene->version), T (scene->mesh), T (scene->sentence), scene->opened ? " opened" : "",
                scene->ended ? " ended" : "", scene->cancelling ? " stops" : "", scene->outcome, scene->exit_status);
    buf_printf (out, " hosts %u joined %u silent %u lost %u hidden %u columns %u frontier %u usual %" PRIu64 " %u",
                scene->hosts_n, scene->joined_n, scene->silent_n, scene->lost_n, scene->hidden_n, scene->columns,
                scene->frontier, scene->usual_ms, scene->usual_runs);
    for (uint32_t i = 0; i < MARK_N; i++)
        buf_printf (out, " %u", scene->marks[i]);
    buf_puts (out, "\n");
}

/* All of it, with the hosts that are opened, notes and what is waited for. */
static inline void print_scene (const struct scene *scene, struct buf *out)
{
    print_summary (scene, out);
    for (uint32_t i = 0; i < scene->rungs_n; i++)
        print_rung (&scene->rungs[i], out);
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
