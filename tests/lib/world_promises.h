/* world_promises.h - what has to hold in a simulated run, whatever happens. Fed with the facts as they become durable, in order,
 * with what is said to the world outside, and with what programs really did. A broken promise prints its name and aborts. */
#ifndef SLICEUP_TESTS_LIB_WORLD_PROMISES_H
#define SLICEUP_TESTS_LIB_WORLD_PROMISES_H

#include "coordinator/core/coord.h"
#include "world.h"

#define PROMISE(world, name, what, ...)                                                                                \
    do {                                                                                                               \
        if (!(what))                                                                                                   \
            promise_broken ((world)->now_ms, name, __VA_ARGS__);                                                       \
    } while (0)

/* Prints "broken promise NAME at 12 ms: ..." */
_Noreturn void promise_broken (uint64_t now_ms, const char *name, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

struct attempt_of {
    uint32_t host;
    struct attempt_key key;
};
struct attempts {
    struct attempt_of *items;
    uint32_t n, capacity;
};

/* What the coordinator lets the world see: an effect, and of a message what it rests on. */
struct said {
    enum effect_kind effect;
    enum msg_kind msg; /* SEND */
    uint32_t host;
    struct attempt_key key;
    uint64_t session, epoch, token, reads; /* token: RUN of a writer, LEASE, CACHE_*; reads: RUN of a reader */
};

struct promises {
    const struct scenario *scenario;
    const struct plan *plan;
    struct world_report *report;
    uint64_t now_ms;
    /* what is durable */
    struct durable {
        uint64_t index, at_ms, epoch, granted, published, dropped;
        struct fact_pass_began pass; /* its hosts in pass_hosts */
        uint32_t pass_hosts[HOSTS_SIMULATED_MAX];
        uint64_t sessions[HOSTS_SIMULATED_MAX];
        bool keyed[HOSTS_SIMULATED_MAX], ended;
        bool out[HOSTS_SIMULATED_MAX], may_be_out[HOSTS_SIMULATED_MAX]; /* takes no part any more */
        struct attempt_key closed;                                      /* the pass that ended last */
        bool lost;                                                      /* lost_host, at this very time */
        uint32_t lost_host, granted_host, proved_n, planned[8][PASS_RESTORED + 1];
        struct attempt_key due;
        uint64_t due_ms;
        bool awaited, excused, counted; /* counted: a violation */
        uint64_t current;               /* generation */
        uint64_t reported, violated;    /* sets of generations: as violated in the pass that runs; on record as such */
        uint32_t joins[HOSTS_SIMULATED_MAX]; /* under one coordinator */
        bool dropped_now, rewarmed[8];       /* in the pass that runs; rungs that were run again for it */
    } durable;
    struct attempts began, over, gates; /* over: with a result on record; gates: that opened, of host 0 */
    /* what is true */
    struct attempts started, done, wrong; /* programs; done: that ended well; wrong: with a wrong metric */
    struct found {
        uint32_t host;
        enum finding_kind kind;
        uint64_t token;
        bool own;
    } * found; /* by programs of hosts; own: in the generation that they were given */
    uint32_t found_n, found_capacity;
    uint64_t misfit; /* the generation of an earlier run that does not fit */
    bool touched[HOSTS_SIMULATED_MAX], may_fail[HOSTS_SIMULATED_MAX], lies[HOSTS_SIMULATED_MAX];
    uint64_t unrenewed_ms[HOSTS_SIMULATED_MAX],
        quiet_ms[HOSTS_SIMULATED_MAX];                  /* for how long it can have been out of reach, all in all */
    bool cache_spoilt, disturbed;                       /* disturbed: messages or processes stood still */
    uint32_t culprits[HOSTS_SIMULATED_MAX], culprits_n; /* those that stall */
};

void promises_init (struct promises *promises, const struct scenario *scenario, const struct plan *plan,
                    struct world_report *report);
void promises_release (struct promises *promises);
void promises_forget_durable (struct promises *promises); /* the journal is exchanged: all facts are given anew */
void promises_take (struct promises *promises, const struct fact *fact);
void promises_hear (const struct promises *promises, const struct said *said);
void promises_note_started (struct promises *promises, uint32_t host, const struct attempt_key *key);
bool promises_started (const struct promises *promises, uint32_t host, const struct attempt_key *key);
bool promises_ended (const struct promises *promises, uint32_t host, const struct attempt_key *key); /* on record */
void promises_note_done (struct promises *promises, uint32_t host, const struct attempt_key *key);
void promises_note_wrong (struct promises *promises, uint32_t host, const struct attempt_key *key);
void promises_note_found (struct promises *promises, uint32_t host, const struct finding *finding, bool own);
/* The worker dropped its result. */
void promises_check_forgotten (const struct promises *promises, uint32_t host, const struct attempt_key *key);
uint32_t culprits_among (const struct promises *promises, const uint32_t *hosts, uint32_t n);

#endif
