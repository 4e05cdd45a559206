/* lease_world.h - a grantor and eight hosts that all want to write, under faults, and nothing between them but
 * coordinator/core/lease.c and worker/core/lease_client.c.
 *
 * Every clock has its own rate and origin. Messages are lost, repeated, delayed and overtaken; hosts are cut off;
 * workers are paused while their programs write on; workers and grantors die; a kill takes its time, as often as not
 * all it may take. The world knows the true time, and looks after every step:
 *   - no two hosts hold the lease at once, each by its own clock;
 *   - no two programs live at once, killed ones included until they are gone, unless the worker of one was paused
 *     across the end of its lease for longer than the lock-delay: then no lease helps, and they write into two
 *     directories;
 *   - programs start with rising tokens;
 *   - when faults stop, somebody starts to write within a minute.
 * Everything follows from the seed. Not thread-safe. */
#ifndef SLICEUP_TESTS_LIB_LEASE_WORLD_H
#define SLICEUP_TESTS_LIB_LEASE_WORLD_H

#include <stdint.h>

/* The rule, and what is wrong with it. */
enum lease_rule {
    RULE_REAL = 0,
    RULE_NAIVE,        /* both count the term from receipt, and there is no lock-delay */
    RULE_FROM_RECEIPT, /* the holder counts from the answer */
    RULE_NO_DELAY,     /* no lock-delay at all */
    RULE_NO_DELAY_AFTER_RESTART,
    RULE_NO_WAIT_AFTER_RESTART, /* what the journal granted is forgotten */
    RULE_NO_MARGINS,            /* both count the term exactly */
    RULE_NO_TIME_TO_KILL,       /* the kill begins when the lease is over */
    RULE_ANY_TOKEN,             /* who asks is given more time, whatever it asks for */
    RULE_ANY_QUESTION,          /* an answer counts for the newest question, whichever it answers */
    RULES
};
extern const char *const lease_rule_names[RULES];

struct lease_report {
    const char *broken; /* the promise that was broken first; NULL: all were kept */
    uint64_t broken_at_ms;
    uint32_t messages, grants, starts, seals, kills, restarts, pauses;
    uint32_t overslept; /* two programs lived at once, one of a worker paused for longer than the lock-delay */
};

/* Five simulated minutes. */
void lease_world_run (uint64_t seed, enum lease_rule rule, struct lease_report *report);

#endif
