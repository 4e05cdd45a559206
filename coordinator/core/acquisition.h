/* acquisition.h - how far this process is with getting the shared cache. Pure.
 *
 *               find              found            audit               audited
 *     UNKNOWN --------> FINDING --------> FOUND ----------> AUDITING ----------> READY
 *                                         ^  ^                                  |  ^ ^
 *                                         |  '------------ used ----------------'  | | granted
 *                                   found |                                    ask v |
 *                         LOOKING --------'            nothing new               ASKING
 *                          ^   '-----------------------------------------> READY    |
 *                     look |                                                        | owned
 *                          '------------------------- OWNED <-----------------------'
 *
 * FINDING, AUDITING, ASKING and LOOKING are questions that the driver answers; each has a moment by which it must. When
 * one fails, the climb stops: FINDING ends in GIVEN_UP, ASKING, OWNED and LOOKING in READY, for the audit still holds,
 * and so does READY when there is nothing that the mode allows. A failed audit is over as well, and recorded. Who holds
 * the grant afterwards is a recorded fact (state.h: grant, granted, unreleased), and how long it lasts is lease.h's. A
 * coordinator that takes over begins with FOUND when a fact says what the catalogue held, else with UNKNOWN. */
#ifndef SLICEUP_COORDINATOR_CORE_ACQUISITION_H
#define SLICEUP_COORDINATOR_CORE_ACQUISITION_H

#include <stdbool.h>

enum acquisition {
    ACQUISITION_UNKNOWN = 0,
    ACQUISITION_FINDING,  /* the catalogue is asked for a generation that fits */
    ACQUISITION_FOUND,    /* it answered; the root was not audited since */
    ACQUISITION_AUDITING, /* the root is compared with the catalogue */
    ACQUISITION_READY,    /* nothing was done to the cache since the audit */
    ACQUISITION_ASKING,   /* the catalogue is asked for the lease and a token */
    ACQUISITION_OWNED,    /* another run has the lease */
    ACQUISITION_LOOKING,  /* the catalogue is asked what that run has published */
    ACQUISITION_GIVEN_UP, /* the catalogue did not answer, or the cache cannot be used */
    ACQUISITION_N
};
enum acquisition_event {
    ACQUISITION_FIND = 0,
    ACQUISITION_ANSWER, /* of the catalogue: found, or nothing fits */
    ACQUISITION_NOTHING_NEW,
    ACQUISITION_AUDIT,
    ACQUISITION_AUDITED,
    ACQUISITION_USED, /* a pass used the cache */
    ACQUISITION_ASK,
    ACQUISITION_GRANTED,
    ACQUISITION_TAKEN, /* by another run */
    ACQUISITION_LOOK,
    ACQUISITION_FAIL,
    ACQUISITION_EVENT_N
};

/* False: the event has no meaning in `from`, and `*to` is left as it is. */
bool acquisition_next (enum acquisition from, enum acquisition_event event, enum acquisition *to);

#endif
