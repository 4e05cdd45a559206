/* world.h - a simulated slice: the real coordinator core and N real member cores under one virtual clock.
 *
 * The network loses, repeats, delays and reorders messages; the coordinator's disk is late, and what was not durable
 * when it dies is gone; workers are killed with what they ran. Everything follows from the seed. After every step the
 * promises are checked; the first broken one aborts with the seed and the virtual time. */
#ifndef SLICEUP_TESTS_LIB_WORLD_H
#define SLICEUP_TESTS_LIB_WORLD_H

#include "common/model/fact.h"
#include <stdbool.h>
#include <stdint.h>

struct world_options {
    uint64_t seed;
    uint32_t hosts;
    uint32_t loss_percent, repeat_percent;
    uint32_t delay_max_ms;
    uint32_t coordinator_kills; /* at random moments of the first minute; each is resumed a little later */
    uint32_t worker_kills;
    uint64_t kills_until_ms; /* within which the coordinator is killed instead; 0: the minute above */
    bool fall;               /* one host's program fails on rung `all` */
    uint32_t retries;        /* limits.retries */
    uint32_t transients;     /* so many attempts at each pass of each rung fall, on one host, for a transient reason */
    bool silent;             /* one host, or one pair, makes rung `all` hang; nobody says which */
    bool lease_owner;        /* another run holds the cache's lease for a while, and may die with it */
    bool tampered;           /* the first look over the root after a warm pass finds a changed file */
    bool put_back;           /* at one of its deaths the coordinator's journal is exchanged for an older copy */
    bool slow;               /* programs run for longer than a worker bears a silent coordinator */
    uint32_t min_hosts;      /* struct climb_policy */
    bool keep_going, fail_fast;
    uint32_t strangers; /* so many hosts never join */
    bool fall_alone;    /* one host's program fails on rung `tiny`, in every pass */
    uint64_t bound_ms;  /* virtual time by which the run must have ended */
    /* Every fact, soft ones too, as it is made; with coordinator_kills some are made twice. NULL: nobody hears them. */
    void (*hear) (void *owner, const struct fact *fact);
    void *owner;
};

struct world_report {
    enum outcome outcome;
    uint32_t exit_status;
    char sentence[1024];
    uint64_t ended_ms;
    uint32_t facts, epochs, messages, lost, programs_started;
    uint32_t retries;              /* planned */
    uint32_t parts;                /* passes of isolation */
    uint32_t left_behind, blocked; /* hosts, and rungs that were not run for them */
    bool suspects_named;
    uint32_t suspects_n;      /* 0: none stands out */
    bool put_back, knew_more; /* the journal was exchanged; and a living worker had been told of what it lacks */
    bool doubted;             /* and the coordinator stopped for it */
    uint32_t started_again;   /* programs, after that */
    bool culprits_suspected;  /* all that were planted are among the suspects */
};

/* Runs to the end and checks everything; prints and aborts on a broken promise. */
void world_run (const struct world_options *options, struct world_report *report);

#endif
