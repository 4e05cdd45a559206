/* world.h - a simulated slice: the real coordinator core and N real member cores under one virtual time.
 *
 * The network, the coordinator's disk, the catalogue, the clocks, the workers' processes and their programs are made up; what
 * goes wrong with them is the scenario's list of faults (fault.h). Everything follows from its seed. After every step the
 * promises are checked (world_promises.h); the first broken one aborts with its name and the scenario. */
#ifndef SLICEUP_TESTS_LIB_WORLD_H
#define SLICEUP_TESTS_LIB_WORLD_H

#include "common/base/digest.h"
#include "fault.h"

enum { WORLD_START_MS = 1000 };

/* How often each kind was met. */
struct tally {
    uint32_t facts[96], effects[24], messages[64], inputs[24], orders[16], faults[FAULT_N];
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
    bool culprits_suspected;  /* all that were to stall are among the suspects */
    struct digest journal;    /* of all that was recorded */
    struct tally tally;
};

/* Runs to the end and checks everything; prints and aborts on a broken promise. */
void world_run (const struct scenario *scenario, struct world_report *report);

#endif
