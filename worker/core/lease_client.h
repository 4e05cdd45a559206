/* lease_client.h - says whether this host may write now: the lease of one generation, as its holder sees it. Pure.
 *
 * The term counts from when it asked, never from the answer, so a late answer is worth less. Only the newest answered
 * question counts; unanswered questions are forgotten in order. Once lost it stays lost, whatever is received. All
 * instants are milliseconds of one clock that counts suspend (CLOCK_BOOTTIME).
 *
 * It knows nothing of messages, programs and sessions; answers to questions of another session must not come here. Owns
 * nothing. Not thread-safe. */
#ifndef SLICEUP_WORKER_CORE_LEASE_CLIENT_H
#define SLICEUP_WORKER_CORE_LEASE_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

enum { LEASE_CLIENT_ASKS_MAX = 8 };

struct lease_client {
    uint64_t token; /* 0: wants nothing */
    uint64_t term_ms;
    uint64_t last_ask; /* rises across tokens, so that an old answer matches nothing */
    struct {
        uint64_t ask, sent_ms;
    } asks[LEASE_CLIENT_ASKS_MAX]; /* a ring of the last questions */
    uint64_t until_ms;             /* 0: never held */
    bool lost;                     /* refused, or ran out: never asked for again */
    bool refused;                  /* lost by a refusal */
};

void lease_client_want (struct lease_client *lease_client, uint64_t token,
                        uint64_t term_ms);                  /* term_ms 0: LEASE_TERM_MS */
void lease_client_drop (struct lease_client *lease_client); /* the lease is not needed any more */
/* The number of the question to send now; 0: none (wants nothing, lost it, or asked less than T/3 ago). */
uint64_t lease_client_begin_ask (struct lease_client *lease_client, uint64_t now_ms);
/* Takes an answer. `term_ms` 0: refused. */
void lease_client_receive (struct lease_client *lease, uint64_t token, uint64_t ask, uint64_t term_ms, uint64_t now_ms);
bool lease_client_may_write (const struct lease_client *lease_client, uint64_t now_ms);
/* True: kill the writing program now, so that it is dead before the lease ends. Stays true. */
bool lease_client_must_stop (struct lease_client *lease_client, uint64_t now_ms);
/* When the next question is due; UINT64_MAX: never. It can be in the past, if no coordinator was there. */
uint64_t lease_client_ask_at_ms (const struct lease_client *lease_client);
/* When lease_client_must_stop becomes true without further answers; UINT64_MAX: never. */
uint64_t lease_client_stop_at_ms (const struct lease_client *lease_client);

#endif
