/* scene_private.h - shared only by the files of this room. */
#ifndef SLICEUP_COORDINATOR_PICTURE_SCENE_PRIVATE_H
#define SLICEUP_COORDINATOR_PICTURE_SCENE_PRIVATE_H

#include "coordinator/picture/scene.h"

enum { SCENE_NAMES_COLUMNS = 4096 };

/* scene_mark.c */
const struct board_attempt *scene_attempt_of (const struct board *board, uint32_t host, const struct attempt_key *key);
enum scene_mark scene_mark_of_attempt (const struct board *board, uint32_t host, const struct board_attempt *attempt);
enum scene_mark scene_mark_now (const struct board *board, uint32_t host);
/* The worst of the rungs that it reached, as in the receipt. */
enum scene_mark scene_mark_at_end (const uint8_t *cells, uint32_t rungs);
uint32_t scene_mark_badness (enum scene_mark mark); /* from 0, the worst highest */
bool scene_attempt_runs (const struct board *board, const struct board_attempt *attempt);
uint64_t scene_attempt_ms (const struct board *board, const struct board_attempt *attempt, uint64_t now_ms);
uint64_t scene_attempt_ended_ms (const struct board_attempt *attempt); /* struct scene_attempt */

/* scene_groups.c: says for each host which is the last group that names it; SCENE_NOBODY: none. */
const uint32_t *scene_make_groups (struct scene *scene);
/* scene_groups.c: makes tiles, and the marks of the scene. */
void scene_make_tiles (struct scene *scene, const uint32_t *group_of);
/* scene_query.c */
struct scene_filter;
struct scene_filter *scene_filter_make (struct scene *scene);
bool scene_filter_takes (const struct scene_filter *filter, const struct scene_tile *tile);
void scene_order_tiles (struct scene *scene);
/* Does first_ms..last_ms overlap the query's range of time? */
bool scene_in_range (const struct scene *scene, uint64_t first_ms, uint64_t last_ms);
bool scene_attempt_in_range (const struct scene *scene, const struct board_attempt *attempt);

/* ---- scene memo ---- */

/* Cached results for scenes of one feed: host sets, which are slow to parse and fold, causes of cascades, and how each
 * host stands at each rung.
 *
 * Belongs to the feed; never changes a scene's content. */

/* Marks of the last attempts at a rung; TO_COME: none. */
struct rung_stand {
    uint8_t mark, owner;
};
/* Sums of a host's attempts, at revision `changed`; 0: not computed yet. */
struct host_stand {
    uint64_t changed;
    uint64_t spent_ms;      /* in ended attempts */
    uint64_t runs_since_ms; /* UINT64_MAX: none is running */
    struct rung_stand *at_rung;
};

struct scene_memo {
    struct arena arena; /* of the three */
    struct text hosts;  /* the last query's; empty: none parsed yet */
    bool *chosen;       /* per host; NULL: `hosts` is invalid: `error` */
    struct text error;
    struct {
        const struct board_verdict_group *of; /* the group, as of this revision */
        uint64_t changed;
        struct arena arena;
        struct text names;
        uint32_t cause; /* scene_group.cause_host */
    } groups[SCENE_GROUPS_MAX];
    struct arena stands_arena;
    struct host_stand *stands; /* per host; NULL: none computed yet */
    bool running;              /* the board's when they were computed: a pass that begins or ends changes them all */
    struct attempt_key key;
};

#endif
