#include "coordinator/story/frontier.h"

enum { EXIT_STATUS_CANCELLED = 130 };

const struct rung_receipt *frontier_latest_attempt (const struct host_receipt *host, struct text rung, enum pass pass)
{
    const struct rung_receipt *latest = NULL;
    for (uint32_t i = 0; i < host->rungs.n; i++) {
        const struct rung_receipt *at = &host->rungs.items[i];
        if (at->purpose == PURPOSE_ISOLATION) /* a part of the slice, to see who is at fault: it is no rung */
            continue;
        if (at->pass == pass && text_equal (at->rung, rung) && (latest == NULL || at->attempt > latest->attempt))
            latest = at;
    }
    return latest;
}

enum outcome frontier_rung_outcome (const struct host_receipt *host, struct text rung)
{
    enum outcome worst = OUTCOME_NONE;
    bool warmed = frontier_latest_attempt (host, rung, PASS_RESTORED) !=
                  NULL; /* then a cold pass had passed, if not by this host */
    for (enum pass pass = PASS_ONCE; pass <= PASS_RESTORED; pass++) {
        const struct rung_receipt *latest = frontier_latest_attempt (host, rung, pass);
        if (latest && !(warmed && pass == PASS_COLD))
            worst = outcome_worst (worst, latest->outcome);
    }
    return worst == OUTCOME_NONE ? OUTCOME_NOT_REACHED : worst;
}

/* A rung that was reached says more than all those that were not. */
static enum outcome worst_reached (enum outcome a, enum outcome b)
{
    return a == OUTCOME_NOT_REACHED || a == OUTCOME_NONE ? b : b == OUTCOME_NOT_REACHED ? a : outcome_worst (a, b);
}

enum outcome frontier_host_outcome (const struct run_header *header, const struct host_receipt *host)
{
    enum outcome worst = OUTCOME_NOT_REACHED;
    for (uint32_t i = 0; i < header->rungs.n; i++)
        worst = worst_reached (worst, frontier_rung_outcome (host, header->rungs.items[i]));
    return worst;
}

static void frontier_add (struct frontier *frontier, uint32_t rung, enum outcome outcome)
{
    if (outcome == OUTCOME_NOT_REACHED)
        return;
    if (outcome != OUTCOME_PASSED) {
        if (frontier->next_failing < 0)
            frontier->next_failing = (int) rung;
        return;
    }
    if (frontier->first_passing < 0)
        frontier->first_passing = (int) rung;
    frontier->highest_passing = (int) rung;
}

struct frontier frontier_of_host (const struct run_header *header, const struct host_receipt *host)
{
    struct frontier frontier = { -1, -1, -1 };
    for (uint32_t i = 0; i < header->rungs.n; i++)
        frontier_add (&frontier, i, frontier_rung_outcome (host, header->rungs.items[i]));
    return frontier;
}

/* It has a verdict there, and began nothing. */
static bool is_absent (const struct host_receipt *host, struct text rung)
{
    const struct rung_receipt *latest = frontier_latest_attempt (host, rung, PASS_ONCE);
    return latest && latest->attempt == 0;
}

/* `came`: only over those that came to it, if there are any. */
static enum outcome rung_over_hosts (const struct slice_receipt *receipt, struct text rung, bool came)
{
    enum outcome worst = OUTCOME_NOT_REACHED;
    for (uint32_t i = 0; i < receipt->hosts.n; i++)
        if (!came || !is_absent (&receipt->hosts.items[i], rung))
            worst = worst_reached (worst, frontier_rung_outcome (&receipt->hosts.items[i], rung));
    return came && worst == OUTCOME_NOT_REACHED ? rung_over_hosts (receipt, rung, false) : worst;
}

struct frontier frontier_of_slice (const struct run_header *header, const struct slice_receipt *receipt)
{
    struct frontier frontier = { -1, -1, -1 };
    for (uint32_t i = 0; i < header->rungs.n; i++)
        frontier_add (&frontier, i, rung_over_hosts (receipt, header->rungs.items[i], true));
    return frontier;
}

enum outcome frontier_told_outcome (const struct run_header *header, enum outcome outcome)
{
    bool open = header->ended_wall_ms == 0 && (outcome == OUTCOME_PASSED || outcome == OUTCOME_NOT_REACHED);
    return open ? OUTCOME_NONE : outcome;
}

enum outcome frontier_slice_outcome (const struct run_header *header, const struct slice_receipt *receipt)
{
    if (header->exit_status == EXIT_STATUS_CANCELLED)
        return OUTCOME_CANCELLED;
    enum outcome worst = OUTCOME_NOT_REACHED;
    for (uint32_t i = 0; i < header->rungs.n; i++)
        worst = worst_reached (worst, rung_over_hosts (receipt, header->rungs.items[i], false));
    return worst;
}
