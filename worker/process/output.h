/* output.h - takes a program's output: into a log of bounded size, and as much to the coordinator, at a bounded rate.
 *
 * It always reads the pipe to its end, because no program may block, or die of SIGPIPE, for lack of a reader. Both
 * places get the beginning as it comes, and the end after the program; lines between them that look like a failure are
 * kept if they fit. A line of ours marks each cut, and every byte is counted: kept and cut bytes are all that was
 * printed. It knows no messages or attempts. Not thread-safe. */
#ifndef SLICEUP_WORKER_PROCESS_OUTPUT_H
#define SLICEUP_WORKER_PROCESS_OUTPUT_H

#include "common/base/err.h"
#include "common/base/text.h"
#include <stdbool.h>
#include <stdint.h>

/* A coordinator of 1,024 hosts can still handle 256 KiB/s a host. */
enum { OUTPUT_RATE_BYTES = 256 * 1024, OUTPUT_GATHER_MS = 100 };

/* One chunk for the coordinator; false: not taken. `bytes` lives until the call returns. */
struct output_chunk {
    uint64_t offset; /* in the coordinator's log, with our own lines */
    struct text bytes;
};
typedef bool output_fn (void *owner, const struct output_chunk *chunk);

/* The cut of the log on this host: up to `cut_at` it is as printed; from `tail_at` on it has the output from byte
 * `tail_from` on. Between are our mark and the kept lines. All 0: nothing is cut. */
struct output_cut {
    uint64_t cut_at, tail_at, tail_from;
};

struct output;
/* Makes `path` anew; at most `limit_bytes` are kept there, and as many go to the coordinator. */
struct output *output_open (const char *path, uint64_t limit_bytes, output_fn *fn, void *owner, struct err *err);
void output_close (struct output *output); /* NULL is fine */
int output_read_fd (const struct output *output);
int output_write_fd (const struct output *output);
void output_close_write (struct output *output); /* call it after the start, else no end is seen */
/* False: all is read, and nobody holds the writing end any more. */
bool output_read (struct output *output, uint64_t now_ms);
/* Adds a line of ours between the program's: marked as ours, after the end of the program's last line. */
void output_add_line (struct output *output, struct text line, uint64_t now_ms);
/* Also keeps the next `bytes` of the output for output_captured. */
void output_capture (struct output *output, uint32_t bytes);
struct text output_captured (const struct output *output); /* lives until the next byte */
void output_send_due (struct output *output, uint64_t now_ms);
uint64_t output_deadline_ms (const struct output *output);
/* Writes the end to the log, which has only the beginning before. No more output may come. */
void output_write_end (struct output *output);
/* Sends the end. False: not all was taken: call it again at output_deadline_ms. With `gives_up` the rest is cut. */
bool output_send_last (struct output *output, bool gives_up, uint64_t now_ms);
uint64_t output_bytes (const struct output *output);
uint64_t output_dropped_bytes (const struct output *output); /* not in the log on this host */
uint64_t output_unsent_bytes (const struct output *output);  /* not sent to the coordinator */
uint64_t output_sent_bytes (const struct output *output);    /* length of the coordinator's log, if all arrived */
struct output_cut output_cut (const struct output *output);
/* A sentence: what is cut, where, and why; empty: nothing. */
struct text output_cut_text (const struct output *output, struct arena *arena);
/* All of it as one line that equal outputs share. What is longer than OUTPUT_VALUE_BYTES is told by its length, a digest
 * of at most its last 2 MiB, and its last lines. */
enum { OUTPUT_VALUE_BYTES = 240 };
struct text output_value (const struct output *output, struct arena *arena);
struct text output_raw_tail (const struct output *output, struct arena *arena); /* its last RESULT_TAIL_MAX_BYTES */
struct text output_tail (const struct output *output, struct arena *arena);     /* end of that, as valid UTF-8 */

#endif
