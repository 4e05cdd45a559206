/* feed.h - what scenes are made of: the board of a run, and the newest notes of what happened.
 *
 * Facts go in, durable and soft ones. Each raises the feed's revision, which only grows; what a fact changed carries
 * that revision. So whoever has seen revision r asks for what is newer, however long ago that was: nothing is queued
 * for a watcher, and none can hold memory. Notes are numbered from 1, and the newest FEED_NOTES_KEPT are kept.
 * Knows no clock: it is told the time. Owns everything it points at. One thread. No errors. */
#ifndef SLICEUP_COORDINATOR_PICTURE_FEED_H
#define SLICEUP_COORDINATOR_PICTURE_FEED_H

#include "coordinator/story/board.h"

enum { FEED_NOTES_KEPT = 256, FEED_NOTE_BYTES = 2048, FEED_NUMBERS_KEPT = 4096 };

struct feed_note {
    uint64_t number, revision; /* revision: at which it came */
    uint64_t at_ms;            /* run clock, in tenths of a second */
    struct text text;          /* one line, escaped (buf_escaped), without the run's clock in front */
};

struct feed;
/* Hears of each note when it comes, before it is cut to FEED_NOTE_BYTES. */
typedef void feed_note_fn (void *owner, uint64_t at_ms, struct text text);
struct feed *feed_create (enum board_keep keep);
void feed_destroy (struct feed *feed);                               /* NULL is fine */
void feed_listen (struct feed *feed, feed_note_fn *fn, void *owner); /* one at a time; fn NULL: nobody any more */
/* When it was heard, by both clocks of clock.h: how old it was then only the wall clock tells, and the run's clock goes on
 * from there by the boot clock. `boot_ms` 0: long ago, from a journal: then the run's clock stands. */
void feed_apply (struct feed *feed, const struct fact *fact, uint64_t boot_ms, uint64_t wall_ms);
/* Notes that waited for other hosts to share them (burst.h); some times a second while the run runs; all of them at
 * UINT64_MAX. A note raises the revision, as a fact does. */
void feed_tick (struct feed *feed, uint64_t boot_ms);
/* While nothing can be heard of the run, its clock stands still. */
void feed_freeze_clock (struct feed *feed, bool frozen, uint64_t boot_ms);
/* A remark that is no fact ("no coordinator holds this run"), as a note; escaped here. */
void feed_add_remark (struct feed *feed, struct text remark);

const struct board *feed_board (const struct feed *feed);
uint64_t feed_revision (const struct feed *feed);
uint64_t feed_now_ms (const struct feed *feed, uint64_t boot_ms); /* run clock */
uint64_t feed_notes_last (const struct feed *feed);               /* number of the newest note; 0: there is none */
/* The note of that number; NULL: it is not kept any more, or not there yet. */
const struct feed_note *feed_note_at (const struct feed *feed, uint64_t number);
/* The number of the last note that was there at `revision`; of the newest FEED_NUMBERS_KEPT notes, whoever asks for an
 * older one is told the one before these. */
uint64_t feed_notes_at_revision (const struct feed *feed, uint64_t revision);

/* For this room (gate_table.h, scene_private.h). */
struct gate_table;
struct scene_memo;
const struct gate_table *feed_gates (const struct feed *feed);
struct scene_memo *feed_memo (const struct feed *feed);

#endif
