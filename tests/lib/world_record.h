/* world_record.h - what a simulated run recorded, and the promises that hold over all of it, whatever happened. */
#ifndef SLICEUP_TESTS_LIB_WORLD_RECORD_H
#define SLICEUP_TESTS_LIB_WORLD_RECORD_H

#include "world.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* `world`: what has options and now_ms. */
#define PROMISE(world, what, ...)                                                                                      \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            fprintf (stderr, "broken promise at %" PRIu64 " ms, seed %" PRIu64 ", %u hosts: ", (world)->now_ms,        \
                     (world)->options.seed, (world)->options.hosts);                                                   \
            fprintf (stderr, __VA_ARGS__);                                                                             \
            fputc ('\n', stderr);                                                                                      \
            abort ();                                                                                                  \
        }                                                                                                              \
    } while (0)

struct sim_fact {
    struct text bytes;
};
struct world_record {
    struct world_options options;
    uint64_t now_ms; /* its end */
    const struct plan *plan;
    const struct sim_fact *facts; /* encoded, n of them, index - 1 */
    uint64_t n;
    const uint32_t *culprits; /* hosts that were planted to hang */
    uint32_t culprits_n;
};

/* Adds to the report what was recorded of the verdict, of retries and of parts. Aborts on a broken promise. */
void world_record_check (const struct world_record *record, struct world_report *report);
uint32_t world_culprits_in (const uint32_t *culprits, uint32_t culprits_n, const uint32_t *hosts, uint32_t n);

#endif
