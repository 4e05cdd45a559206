/* scene_memo.h - what scenes of one feed need again and again: sets of hosts, which take long to read and to
 * fold, and whom cascades followed.
 *
 * Belongs to the feed, and changes nothing in what a scene says. */
#ifndef SLICEUP_COORDINATOR_SCENE_SCENE_MEMO_H
#define SLICEUP_COORDINATOR_SCENE_SCENE_MEMO_H

#include "coordinator/scene/scene.h"

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
};

#endif
