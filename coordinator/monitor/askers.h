/* askers.h - the monitors that asked for facts lately: whose question is answered next, and who knows the end.
 *
 * Fair by key, not by question: the next turn is that of the key that was served longest ago, and within it of the
 * connection served longest ago; one question a connection waits, the latest. So whoever asks without end takes turns
 * from nobody. Knows no sockets and no journal. Pure; one thread. */
#ifndef SLICEUP_COORDINATOR_MONITOR_ASKERS_H
#define SLICEUP_COORDINATOR_MONITOR_ASKERS_H

#include "coordinator/monitor/snapshot.h"

/* As many connections of each key, and keys, as the hub seats at a time: common/io/link.h. */
enum { ASKERS_A_KEY = MONITOR_PLACES_A_KEY, ASKERS_MAX = MONITOR_KEYS * ASKERS_A_KEY };

struct asker {
    struct hub_asker who;
    struct snapshot_place from;
    uint64_t asked_ms;
    uint64_t turn;              /* of its last answer; 0: none yet */
    bool waits;                 /* a question of it is not answered */
    bool served;                /* an answer for it is being made */
    bool told;                  /* since askers_end: it was given everything */
    bool gone;                  /* nobody is at its connection any more */
};
struct askers { struct asker items[ASKERS_MAX]; uint32_t n; uint64_t turn; };

void askers_ask (struct askers *askers, const struct hub_asker *who, const struct snapshot_place *from,
                 uint64_t now_ms);
/* Whose turn it is; its question is taken, and it is served until askers_done. False: nobody waits and is not served. */
bool askers_next (struct askers *askers, struct hub_asker *who, struct snapshot_place *from);
void askers_done (struct askers *askers, const struct hub_asker *who, bool told);
void askers_gone (struct askers *askers, const struct hub_asker *who);
/* Nothing more will be recorded: from now on it counts who was told all. */
void askers_end (struct askers *askers);
/* One that asked within the last `lately_ms` and was not told yet, after `*at` (start at 0), which moves on. */
bool askers_untold (const struct askers *askers, uint64_t now_ms, uint64_t lately_ms, uint32_t *at,
                    struct hub_asker *who);

#endif
