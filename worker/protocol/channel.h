/* channel.h - the worker's end of the descriptor between it and a canary: JSON lines both ways (docs/spec/canary.md).
 *
 * Lines have a maximum length, and writing has a bounded queue; nothing here blocks and no line of a canary is fatal.
 * evidence.h interprets the lines. Not thread-safe.
 *
 *   channel_open -> give channel_take_program_fd () to the program -> channel_send (the attempt line) ->
 *   channel_read / channel_write as the descriptor asks -> channel_close */
#ifndef SLICEUP_WORKER_PROTOCOL_CHANNEL_H
#define SLICEUP_WORKER_PROTOCOL_CHANNEL_H

#include "worker/protocol/evidence.h"

/* Room for an attempt line, whose arguments came in one message and grow as JSON. */
enum { CHANNEL_QUEUE_BYTES = 512 * 1024 };

/* Called for each statement, in order, from channel_read. */
typedef void channel_statement_fn (void *owner, const struct statement *statement);

struct channel;
struct channel *channel_open (struct evidence *evidence, channel_statement_fn *fn, void *owner, struct err *err);
void channel_close (struct channel *channel); /* NULL is fine */
int channel_fd (const struct channel *channel);
int channel_take_program_fd (struct channel *channel); /* the program's end; the caller closes it */
/* `line` without its newline. False: the program does not read, the queue is full or the other end is closed. */
bool channel_send (struct channel *channel, struct text line);
bool channel_send_go (struct channel *channel, struct text gate, struct text value);
bool channel_send_stop (struct channel *channel, struct text reason);
bool channel_wants_write (const struct channel *channel);
void channel_write (struct channel *channel);
/* The program is being ended, so a partial last line is not its fault. */
void channel_allow_partial_line (struct channel *channel);
/* False: the other end is closed or broken; nothing more will come. */
bool channel_read (struct channel *channel);

#endif
