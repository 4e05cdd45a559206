/* scene_memo.h - what scenes of one feed need again and again: sets of hosts, which take long to read and to
 * fold, whom cascades followed, and how each host stands at each rung.
 *
 * Belongs to the feed, and changes nothing in what a scene says. */
#ifndef SLICEUP_COORDINATOR_SCENE_SCENE_MEMO_H
#define SLICEUP_COORDINATOR_SCENE_SCENE_MEMO_H

#include "coordinator/scene/scene.h"

/* How the last attempts at a rung stand; TO_COME: there is none. */
struct rung_stand {
    uint8_t mark, owner;
};
/* What a host's attempts come to, as they were at revision `changed`; 0: not looked at yet. */
struct host_stand {
    uint64_t changed;
    uint64_t spent_ms;      /* in those that do not run */
    uint64_t runs_since_ms; /* UINT64_MAX: none runs */
    struct rung_stand *at_rung;
    struct text name; /* safe */
};

struct scene_memo {
    struct arena arena; /* of the three */
    struct text hosts;  /* the last query's; empty: none was read yet */
    bool *chosen;       /* per host; NULL: `hosts` is no set: `error` */
    struct text error;
    struct {
        const struct board_verdict_group *of; /* which, and as it was at this revision */
        uint64_t changed;
        struct arena arena;
        struct text names;
        uint32_t cause; /* scene_group.cause_host */
    } groups[SCENE_GROUPS_MAX];
    struct arena stands_arena;
    struct host_stand *stands; /* per host; NULL: none was looked at yet */
    bool running;              /* of the board, when they were: a pass that begins or ends moves them all */
    struct attempt_key key;
};

#endif
