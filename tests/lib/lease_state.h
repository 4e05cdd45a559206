/* lease_state.h - what the world of leases is made of; private to tests/lib/lease_*.c. */
#ifndef SLICEUP_TESTS_LIB_LEASE_STATE_H
#define SLICEUP_TESTS_LIB_LEASE_STATE_H

#include "common/base/rng.h"
#include "common/model/lease.h"
#include "coordinator/core/lease.h"
#include "lease_world.h"
#include "worker/core/member_state.h"
#include <stdbool.h>

/* Times of the world are true microseconds; those of a node are milliseconds of its own clock. */
#define MS 1000ull
#define SECOND (1000 * MS)
#define NEVER UINT64_MAX

enum {
    HOSTS = 8,
    GRANTOR = HOSTS,
    NODES,
    LETTERS_MAX = 4096,
    TERM_MS = LEASE_TERM_MS,
    AGAIN_MS = 1000,
    PPM_LEAST = 990000,
    PPM_MOST = 1010000
};
#define END_US (300 * SECOND)
#define CALM_US (230 * SECOND) /* no more faults */
#define ALIVE_US (60 * SECOND) /* then somebody starts to write within */
#define DELAY_MOST_US (8 * SECOND)
#define PAUSE_MOST_US (30 * SECOND)
#define LOCK_DELAY_US (TERM_MS * MS)

enum letter_kind { LETTER_RUN, LETTER_ASK, LETTER_LEASE, LETTER_RESULT, LETTER_ACK };
struct letter {
    uint64_t at_us, order, token, ask, term_ms;
    uint32_t from, to, life; /* life: of the worker: what an earlier one said or was told is not heard */
    enum letter_kind kind;
    bool sealed;
};

struct node {
    uint64_t ppm, origin_us;
    uint64_t awake_us, paused_us; /* the last pause: from, and until */
    uint64_t next_us;
};

enum stage { IDLE, WAITING, STARTING, WRITING, DYING, REPORTING };
struct host {
    struct lease_client lease_client;
    enum stage stage;
    uint64_t token, seen; /* seen: the highest token it was ever sent */
    uint64_t gone_us;     /* WRITING, DYING: the program is gone then */
    uint64_t stop_us;     /* when the holder has to stop, as it was last told */
    uint64_t report_ms, cut_until_us;
    uint32_t life;
    bool sealed;
    bool trapped; /* it will be paused just before it would kill */
    bool late;    /* DYING: when it was killed the lock-delay may have been over */
};

struct grantor {
    struct lease lease;
    struct {
        uint64_t token;
        uint32_t host;
        bool open;
    } journal;
    uint64_t down_until_us; /* NEVER: it is up */
    uint64_t run_ms;
    bool received;
};

struct world {
    struct rng rng;
    enum lease_rule rule;
    uint64_t now_us, fault_us, orders, delay_usual_us, slow_percent, started_token, alive_us;
    uint32_t started_host;
    struct node nodes[NODES];
    struct host hosts[HOSTS];
    struct grantor grantor;
    struct letter letters[LETTERS_MAX]; /* a heap: the earliest first */
    uint32_t letters_n;
    struct lease_report *report;
};

static inline uint64_t earlier (uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* lease_world.c */
bool world_chance (struct world *world, uint32_t percent);
uint64_t world_upto (struct world *world, uint64_t most);
void world_break (struct world *world, const char *what); /* the first one counts */
bool world_is_calm (const struct world *world);           /* faults have stopped */
uint64_t world_own_ms (const struct world *world, uint32_t at);
uint64_t node_true_us (const struct node *node, uint64_t ms); /* the first instant at which its clock shows `ms` */
uint64_t world_pause_us (struct world *world);
void world_pause (struct world *world, uint32_t at, uint64_t length_us);
void world_cut_off (struct world *world, uint32_t host);

/* lease_mail.c */
void world_post (struct world *world, struct letter letter);
void world_put (struct world *world, struct letter letter); /* it arrives, whatever else happens */
struct letter world_take (struct world *world);

/* lease_host.c */
void host_turn (struct world *world, uint32_t at);
void host_receive (struct world *world, uint32_t at, const struct letter *letter);
uint64_t host_next_us (const struct world *world, uint32_t at);

/* lease_grantor.c */
void grantor_turn (struct world *world);
void grantor_receive (struct world *world, const struct letter *letter);
uint64_t grantor_next_us (const struct world *world);

#endif
