/* feed.h - the input of scenes: the board of a run, and the newest notes about it.
 *
 * Facts go in, durable and soft ones. Each raises the feed's revision, which only grows; changed items carry that
 * revision. So a watcher that has seen revision r can ask for newer changes at any time: nothing is queued for a
 * watcher, and none can hold memory. Notes are numbered from 1, and the newest FEED_NOTES_KEPT are kept. Knows no
 * clock: callers pass the time. Owns everything it points at. One thread. No errors. */
#ifndef SLICEUP_COORDINATOR_PICTURE_FEED_H
#define SLICEUP_COORDINATOR_PICTURE_FEED_H

#include "coordinator/story/board.h"

enum { FEED_NOTES_KEPT = 256, FEED_NOTE_BYTES = 2048, FEED_NUMBERS_KEPT = 4096 };

struct feed_note {
    uint64_t number, revision; /* revision: the feed's when it came */
    uint64_t at_ms;            /* run clock, in tenths of a second */
    struct text text;          /* one line, escaped (buf_escaped), without the run's clock in front */
};

struct feed;
/* Gets each note as it comes, before it is cut to FEED_NOTE_BYTES. */
typedef void feed_note_fn (void *owner, uint64_t at_ms, struct text text);
struct feed *feed_create (enum board_keep keep);
void feed_destroy (struct feed *feed);                               /* NULL is fine */
void feed_listen (struct feed *feed, feed_note_fn *fn, void *owner); /* one listener at a time; fn NULL: none */
/* The times are when the fact was received: its age comes from the wall clock, and the run's clock goes on from there
 * by the boot clock. `boot_ms` 0: an old fact of a journal, so the run's clock stands still. */
void feed_apply (struct feed *feed, const struct fact *fact, uint64_t boot_ms, uint64_t wall_ms);
/* Adds notes that waited for other hosts to share them (burst.h), all of them at UINT64_MAX; call it some times a
 * second during the run. A note raises the revision, as a fact does. */
void feed_tick (struct feed *feed, uint64_t boot_ms);
/* Stops the run's clock while nothing can be received. */
void feed_freeze_clock (struct feed *feed, bool frozen, uint64_t boot_ms);
/* Adds a remark that is no fact ("no coordinator holds this run") as a note; escaped here. */
void feed_add_remark (struct feed *feed, struct text remark);

const struct board *feed_board (const struct feed *feed);
uint64_t feed_now_ms (const struct feed *feed, uint64_t boot_ms); /* run clock */
uint64_t feed_notes_last (const struct feed *feed);               /* number of the newest note; 0: none */
/* The note with that number; NULL: not kept any more, or not there yet. */
const struct feed_note *feed_note_at (const struct feed *feed, uint64_t number);
/* The number of the newest note at `revision`; for a revision before the newest FEED_NUMBERS_KEPT notes, the number
 * before theirs. */
uint64_t feed_notes_at_revision (const struct feed *feed, uint64_t revision);

/* ---- which host came last to each gate of the ended passes ---- */

/* Computed from the hosts' phases "gate:NAME": the host that waited least came last. It is made once, when a pass has
 * ended, since it does not change after. */
#define GATE_SPAN "gate:"
enum { GATE_WAITS_MAX = 512 }; /* the newest are kept */

struct gate_wait {
    struct attempt_key key;
    uint32_t word;                  /* board_word: "gate:NAME" */
    uint32_t last, hosts_n;         /* the host that waited least, the first of equals; how many hosts waited */
    uint32_t median_ms, longest_ms; /* waits of the others; 0: there are none */
    uint64_t opened_ms;             /* run clock: when the last host's wait ended */
};
struct gate_table {
    struct gate_wait items[GATE_WAITS_MAX]; /* in the order in which their passes ended */
    uint32_t n;
};
const struct gate_table *feed_gates (const struct feed *feed);
const struct gate_wait *gate_table_find (const struct gate_table *table, const struct attempt_key *key, uint32_t word);
struct text gate_wait_name (const struct board *board, const struct gate_wait *wait); /* "NAME", as it was said */

/* For this room (scene_private.h). */
struct scene_memo;
struct scene_memo *feed_memo (const struct feed *feed);

#endif
