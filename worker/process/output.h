/* output.h - takes what a program prints: into a log of bounded size, and to the coordinator, as much at a bounded rate.
 *
 * It reads the pipe to its end, whatever becomes of the bytes: no program may block, or die of SIGPIPE, for lack of a
 * listener. Both places get the beginning as it comes, and the end when it is over; of what is cut in between the lines
 * that look like a failure stay, as far as they fit. A line of ours stands where something is cut, and every byte is
 * counted: what a place has and what is cut of it is what was printed. It knows no messages or attempts. Not
 * thread-safe. */
#ifndef SLICEUP_WORKER_PROCESS_OUTPUT_H
#define SLICEUP_WORKER_PROCESS_OUTPUT_H

#include "common/base/err.h"
#include "common/base/text.h"
#include <stdbool.h>
#include <stdint.h>

/* 256 KiB/s a host is what a coordinator of 1,024 hosts can still look at. */
enum { OUTPUT_RATE_BYTES = 256 * 1024, OUTPUT_GATHER_MS = 100 };

/* One chunk towards the coordinator; false: it was not taken. `bytes` lives until the call returns. */
struct output_chunk {
    uint64_t offset; /* in the coordinator's log: lines of ours count */
    struct text bytes;
};
typedef bool output_fn (void *owner, const struct output_chunk *chunk);

/* Of the log on this host: up to `cut_at` it is as printed; from `tail_at` on it has what was printed from `tail_from`
 * on. In between are our mark, and lines that stay. All 0: nothing is cut. */
struct output_cut {
    uint64_t cut_at, tail_at, tail_from;
};

struct output;
/* `path` is made anew; at most `limit_bytes` are kept there, and as much goes to the coordinator. */
struct output *output_open (const char *path, uint64_t limit_bytes, output_fn *fn, void *owner, struct err *err);
void output_close (struct output *output); /* NULL is fine */
int output_read_fd (const struct output *output);
int output_write_fd (const struct output *output);
void output_close_write (struct output *output); /* the end can only be seen once this end is closed */
/* False: nobody holds the writing end any more, all was read. */
bool output_read (struct output *output, uint64_t now_ms);
/* A line of our own between those of the program: it is marked as ours and begins where the program's last one ends. */
void output_add_line (struct output *output, struct text line, uint64_t now_ms);
/* From now on the first `bytes` of what is added or printed are kept for output_captured as well. */
void output_capture (struct output *output, uint32_t bytes);
struct text output_captured (const struct output *output); /* lives until the next byte */
void output_send_due (struct output *output, uint64_t now_ms);
uint64_t output_deadline_ms (const struct output *output);
/* Nothing more comes: the end goes to the log. Until then the log has the beginning only. */
void output_write_end (struct output *output);
/* Sends the end. False: not all of it was taken, which is tried again by another call when output_deadline_ms is over;
 * what is not taken when it `gives_up` is cut. */
bool output_send_last (struct output *output, bool gives_up, uint64_t now_ms);
uint64_t output_bytes (const struct output *output);
uint64_t output_dropped_bytes (const struct output *output); /* not in the log on this host */
uint64_t output_unsent_bytes (const struct output *output);  /* not given to the coordinator */
uint64_t output_sent_bytes (const struct output *output);    /* length of the coordinator's log, if all arrived */
struct output_cut output_cut (const struct output *output);
/* A sentence: what is cut, where, and why; empty: nothing is. */
struct text output_cut_text (const struct output *output, struct arena *arena);
struct text output_raw_tail (const struct output *output, struct arena *arena); /* its last RESULT_TAIL_MAX_BYTES */
struct text output_tail (const struct output *output, struct arena *arena);     /* of that the end, as valid UTF-8 */

#endif
