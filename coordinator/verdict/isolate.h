/* isolate.h - finds, by halving the slice, which hosts make a program fail if none reports a cause. Pure.
 *
 * A failure has no cause if no host's text or end points at itself: all blame others, are silent, or print nothing
 * known. Then parts of the slice run by themselves, and each result decides the next part. Knows no clock, no message
 * and only the facts it gets; the same trials always give the same next step, so that a coordinator that takes over
 * continues where the last one was. docs/spec/retries.md. Lists live in the arena. */
#ifndef SLICEUP_COORDINATOR_VERDICT_ISOLATE_H
#define SLICEUP_COORDINATOR_VERDICT_ISOLATE_H

#include "common/model/fact.h"

/* 2 * log2 (HOSTS_MAX) + 4. */
enum { ISOLATE_TRIALS_MAX = 32 };

/* ---- is it called for? ---- */

struct isolate_host {
    const struct verdict *verdict; /* NULL: it passed */
    enum ending ending;
    uint32_t code;
    bool at_gate; /* waited at a gate when it ended */
};
/* False also if a host passed, or waited at a gate: then the others are the suspects already. `met`: a gate was opened,
 * so a host may have failed because of another. */
bool isolate_is_called_for (const struct plan *plan, const struct isolate_host *hosts, uint32_t n, bool met);
/* Does this verdict only say that peers failed or did not come? */
bool isolate_blames_peers_only (const struct plan *plan, const struct verdict *verdict);

/* ---- groups of a part of the hosts ---- */

/* The least hosts that form a mesh with only the first axis shorter; multiples do too. 0: not a valid mesh. */
uint32_t isolate_unit (const struct mesh *whole, uint32_t devices_per_host);
/* The mesh of `hosts` hosts. False: they form none. */
bool isolate_mesh (const struct mesh *whole, uint32_t devices_per_host, uint32_t hosts, struct arena *arena,
                   struct mesh *out);

/* ---- what to run next, or what was found ---- */

struct isolate_set {
    uint32_t *items;
    uint32_t n;
}; /* hosts by rank, ascending */
/* VOID: no evidence about its hosts (blocked, or failed for a transient reason); counts as a trial. */
enum isolate_answer { ISOLATE_WORKS = 0, ISOLATE_FAILED, ISOLATE_VOID };
struct isolate_trial {
    struct isolate_set hosts;
    enum isolate_answer answer;
    uint64_t duration_ms;
};
struct isolate_case {
    uint32_t hosts, unit;
    const struct isolate_trial *trials;
    uint32_t trials_n;
};
enum isolate_kind {
    ISOLATE_RUN = 0,     /* run `hosts` by themselves */
    ISOLATE_HOSTS,       /* `hosts` fail even without the others */
    ISOLATE_LINK,        /* `hosts` fail together, but each works with others */
    ISOLATE_TOGETHER,    /* each half of `hosts` (empty: the slice) works alone */
    ISOLATE_EVERYWHERE,  /* no part works */
    ISOLATE_NO_EVIDENCE, /* no trial was evidence */
};
struct isolate_step {
    enum isolate_kind kind;
    struct isolate_set hosts;
};
void isolate_next (const struct isolate_case *of, struct arena *arena, struct isolate_step *out);
uint32_t isolate_trials_max (uint32_t hosts);
/* Time limit of a part: the rung's; once a part worked, not much longer than it took. */
uint64_t isolate_timeout_ms (uint64_t rung_timeout_ms, const struct isolate_trial *trials, uint32_t n);

/* ---- what it means ---- */

struct text isolate_explain (const struct plan *plan, const struct isolate_case *of, const struct isolate_step *found,
                             struct arena *arena);
/* Did a named host fail alone? If none is named: did any host? */
bool isolate_failed_alone (const struct isolate_case *of, const struct isolate_step *found);
/* The result of a pass once the suspects are named: they keep the failure, others become cascades. */
struct isolate_ruling {
    const struct fact_suspects_named *named;
    struct text who;
};
void isolate_ruling_from_suspects (const struct plan *plan, const struct fact_suspects_named *named,
                                   struct arena *arena, struct isolate_ruling *out);
void isolate_apply_ruling (const struct isolate_ruling *ruling, const struct verdict *before, struct arena *arena,
                           struct verdict *after);

#endif
