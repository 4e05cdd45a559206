#include "coordinator/report/compare.h"

#include <stdlib.h>

#include "common/model/hostset.h"
#include "coordinator/receipt/frontier.h"

enum { CHANGES_MAX = 256, NEW_DRIFT_MAX = 128, COMPARED_PHASES_MAX = 32, HOSTS_BYTES = 1024 };

/* ---- how long it took ---- */

static int by_size (const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;
    return x < y ? -1 : x > y;
}

static uint64_t median (uint64_t *numbers, uint32_t n)
{
    if (n == 0)
        return UNKNOWN_MS;
    qsort (numbers, n, sizeof (*numbers), by_size);
    return n % 2 ? numbers[n / 2] : (numbers[n / 2 - 1] + numbers[n / 2]) / 2;
}

/* What the hosts of a run did last in one pass of a rung; not those that never came there. */
struct latest {
    const struct rung_receipt **items;
    uint32_t n;
};

static struct latest latest_of (const struct slice_receipt *receipt, struct text rung, enum pass pass,
                                struct arena *arena)
{
    struct latest latest = { .items = arena_array (arena, receipt->hosts.n, sizeof (*latest.items)) };
    for (uint32_t i = 0; i < receipt->hosts.n; i++) {
        const struct rung_receipt *at = frontier_latest_attempt (&receipt->hosts.items[i], rung, pass);
        if (at)
            latest.items[latest.n++] = at;
    }
    return latest;
}

static uint64_t phase_median (const struct latest *latest, struct text phase)
{
    uint64_t *numbers = mem_array (latest->n, sizeof (*numbers));
    uint32_t n = 0;
    for (uint32_t i = 0; i < latest->n; i++) {
        const struct rung_receipt *at = latest->items[i];
        const struct named_number *number = at->outcome == OUTCOME_PASSED ? number_find (&at->phases, phase) : NULL;
        if (number)
            numbers[n++] = number->value;
    }
    uint64_t found = median (numbers, n);
    mem_free (numbers);
    return found;
}

static void take_phases (const struct latest *latest, struct compared_pass *pass)
{
    for (uint32_t i = 0; i < latest->n; i++) {
        const struct rung_receipt *at = latest->items[i];
        for (uint32_t k = 0; at->outcome == OUTCOME_PASSED && k < at->phases.n; k++) {
            uint32_t known = 0;
            while (known < pass->phases_n && !text_equal (pass->phases[known].name, at->phases.items[k].name))
                known++;
            if (known == pass->phases_n && known < COMPARED_PHASES_MAX)
                pass->phases[pass->phases_n++].name = at->phases.items[k].name;
        }
    }
}

static enum outcome pass_outcome (const struct latest *latest)
{
    enum outcome worst = OUTCOME_NONE;
    for (uint32_t i = 0; i < latest->n; i++)
        worst = outcome_worst (worst, latest->items[i]->outcome);
    return worst;
}

static uint64_t pass_ms (const struct slice_receipt *receipt, struct text rung, enum pass pass)
{
    const struct rung_time *last = NULL;
    for (uint32_t i = 0; i < receipt->times.n; i++) {
        const struct rung_time *time = &receipt->times.items[i];
        if (time->pass == pass && text_equal (time->rung, rung) && (!last || time->attempt > last->attempt))
            last = time;
    }
    return last ? last->duration_ms : UNKNOWN_MS;
}

static void add_pass (const struct slice_receipt *now, const struct slice_receipt *before, struct text rung,
                      enum pass pass, struct arena *arena, struct comparison *out)
{
    struct compared_pass *to = &out->passes[out->passes_n];
    struct latest latest_before = latest_of (before, rung, pass, arena),
                  latest_now = latest_of (now, rung, pass, arena);
    *to = (struct compared_pass){ .rung = rung,
                                  .pass = pass,
                                  .before = pass_outcome (&latest_before),
                                  .now = pass_outcome (&latest_now),
                                  .before_ms = pass_ms (before, rung, pass),
                                  .now_ms = pass_ms (now, rung, pass) };
    if (!to->before && !to->now)
        return;
    out->passes_n++;
    to->phases = arena_array (arena, COMPARED_PHASES_MAX, sizeof (*to->phases));
    take_phases (&latest_now, to);
    take_phases (&latest_before, to);
    for (uint32_t i = 0; i < to->phases_n; i++) {
        to->phases[i].before_ms = phase_median (&latest_before, to->phases[i].name);
        to->phases[i].now_ms = phase_median (&latest_now, to->phases[i].name);
    }
}

static bool has_rung (const struct run_header *header, struct text rung)
{
    return text_is_among (rung, header->rungs.items, header->rungs.n);
}

static void compare_passes (const struct slice_receipt *now, const struct slice_receipt *before, struct arena *arena,
                            struct comparison *out)
{
    size_t most = PASS_RESTORED * ((size_t) out->now->rungs.n + out->before->rungs.n);
    out->passes = arena_array (arena, most + 1, sizeof (*out->passes));
    for (uint32_t i = 0; i < out->now->rungs.n; i++)
        for (enum pass pass = PASS_ONCE; pass <= PASS_RESTORED; pass++)
            add_pass (now, before, out->now->rungs.items[i], pass, arena, out);
    for (uint32_t i = 0; i < out->before->rungs.n; i++)
        for (enum pass pass = PASS_ONCE; pass <= PASS_RESTORED && !has_rung (out->now, out->before->rungs.items[i]);
             pass++)
            add_pass (now, before, out->before->rungs.items[i], pass, arena, out);
}

/* ---- what changed ---- */

static void add_change (struct comparison *out, struct compared_change change)
{
    if (text_equal (change.before, change.now))
        return;
    if (out->changes_n == CHANGES_MAX)
        out->changes_more++;
    else
        out->changes[out->changes_n++] = change;
}

static void add_run_change (struct comparison *out, const char *name, struct text before, struct text now)
{
    add_change (out, (struct compared_change){ TEXT_LIT ("run"), text_of (name), before, now, { 0 } });
}

static struct text joined_words (const text_list *words, struct arena *arena)
{
    struct text all = { 0 };
    for (uint32_t i = 0; i < words->n; i++)
        all = text_format (arena, "%.*s%s%.*s", TEXT_ARG (all), i ? " " : "", TEXT_ARG (words->items[i]));
    return all;
}

static struct text mesh_text (const struct mesh *mesh, struct arena *arena)
{
    struct text all = { 0 };
    for (uint32_t i = 0; i < mesh->n; i++)
        all = text_format (arena, "%.*s%s%.*s=%u", TEXT_ARG (all), i ? ", " : "", TEXT_ARG (mesh->items[i].axis),
                           mesh->items[i].size);
    return all;
}

static struct text program_of (const struct run_header *header, struct text rung)
{
    for (uint32_t i = 0; i < header->rungs.n && i < header->programs.n; i++)
        if (text_equal (header->rungs.items[i], rung))
            return header->programs.items[i];
    return (struct text){ 0 };
}

static void compare_headers (struct arena *arena, struct comparison *out)
{
    const struct run_header *now = out->now, *before = out->before;
    add_run_change (out, "version of sliceup", before->version, now->version);
    add_run_change (out, "slice", before->slice, now->slice);
    add_run_change (out, "ladder", before->ladder, now->ladder);
    add_run_change (out, "left out", joined_words (&before->left_out, arena), joined_words (&now->left_out, arena));
    add_run_change (out, "hosts", hostset_folded (before->hosts.items, before->hosts.n, HOSTS_BYTES, arena),
                    hostset_folded (now->hosts.items, now->hosts.n, HOSTS_BYTES, arena));
    add_run_change (out, "mesh", mesh_text (&before->mesh, arena), mesh_text (&now->mesh, arena));
    add_run_change (out, "launch", before->launch, now->launch);
    add_run_change (out, "cache", before->cache_mode, now->cache_mode);
    for (uint32_t i = 0; i < now->rungs.n; i++)
        if (has_rung (before, now->rungs.items[i]))
            add_change (out, (struct compared_change){ TEXT_LIT ("program"),
                                                       now->rungs.items[i],
                                                       program_of (before, now->rungs.items[i]),
                                                       program_of (now, now->rungs.items[i]),
                                                       { 0 } });
}

/* "bundle jax" -> "bundle", "jax" */
static void add_item (const struct drift *drift, const struct drift_item *item, struct arena *arena,
                      struct comparison *out)
{
    struct text name = item->fact, what = text_take_until (&name, ' ');
    for (uint32_t i = 0; i < item->groups_n; i++) {
        const struct drift_group *group = &item->groups[i];
        const struct text *hosts = drift_group_host_names (drift, item, group, arena);
        add_change (out, (struct compared_change){ what, name, group->before, group->value,
                                                   hostset_folded (hosts, group->hosts_n, HOSTS_BYTES, arena) });
    }
}

static void compare_hosts (const struct report *now, const struct report *before, struct arena *arena,
                           struct comparison *out)
{
    const struct drift_query query = { .rules = now->plan->drift.items,
                                       .rules_n = now->plan->drift.n,
                                       .said_only = true };
    struct drift changed, drift_before;
    drift_compare_receipts (now->receipt, before->receipt, &query, arena, &changed);
    for (uint32_t i = 0; i < changed.findings; i++)
        add_item (&changed, &changed.items[i], arena, out);
    drift_compare_hosts (now->receipt, &query, arena, &out->drift);
    drift_compare_hosts (before->receipt, &query, arena, &drift_before);
    out->new_drift = arena_array (arena, NEW_DRIFT_MAX, sizeof (struct drift_item *));
    for (uint32_t i = 0; i < out->drift.findings && out->new_drift_n < NEW_DRIFT_MAX; i++) {
        bool is_new = true;
        for (uint32_t k = 0; k < drift_before.findings && is_new; k++)
            is_new = !text_equal (drift_before.items[k].fact, out->drift.items[i].fact);
        if (is_new)
            out->new_drift[out->new_drift_n++] = &out->drift.items[i];
    }
}

bool compared_ratio (uint64_t before_ms, uint64_t now_ms, double *ratio)
{
    bool known = before_ms != UNKNOWN_MS && now_ms != UNKNOWN_MS && before_ms;
    *ratio = known ? (double) now_ms / (double) before_ms : 0;
    return known;
}

static const struct run_header *header_of (const struct slice_receipt *receipt)
{
    static const struct run_header none;
    return receipt->headers.n ? receipt->headers.items : &none;
}

void compare_runs (const struct report *now, const struct report *before, struct arena *arena, struct comparison *out)
{
    *out = (struct comparison){ .before = header_of (before->receipt), .now = header_of (now->receipt) };
    out->before_outcome = frontier_told_outcome (out->before, frontier_slice_outcome (out->before, before->receipt));
    out->now_outcome = frontier_told_outcome (out->now, frontier_slice_outcome (out->now, now->receipt));
    out->changes = arena_array (arena, CHANGES_MAX, sizeof (*out->changes));
    compare_passes (now->receipt, before->receipt, arena, out);
    compare_headers (arena, out);
    compare_hosts (now, before, arena, out);
}
