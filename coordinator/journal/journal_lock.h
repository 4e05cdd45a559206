/* journal_lock.h - locks a journal for its one writer, and checks that its file system is safe.
 *
 * The lock is an OFD lock on <path>.lock, whose text is the holder's pid. It ends with the process, however that ends;
 * the file stays, for removing it would let two processes hold two locks of one name. Classic POSIX locks are no
 * choice: any close of the file in this process would drop them.
 *
 * Somebody may remove that file all the same. So the holder also locks the journal's mark, once open: a journal without
 * its mark is refused, so removing both lets nobody in. That lock begins at the holder's pid. */
#ifndef SLICEUP_COORDINATOR_JOURNAL_JOURNAL_LOCK_H
#define SLICEUP_COORDINATOR_JOURNAL_JOURNAL_LOCK_H

#include "common/base/err.h"
#include <stdbool.h>

/* The descriptor that holds the lock (close it to release), or -1: ERR_STATE names the pid that has it. */
int journal_lock_take (const char *path, struct err *err);
/* The holder lives: readers of journal_last_alive_ms see it. Not made durable: what a loss of power takes is seconds. */
void journal_lock_note_alive (int lock_fd);
/* Locks the mark that is open there, for whoever has taken the lock. -1: errno; EAGAIN or EACCES: somebody has it. */
int journal_lock_mark (int fd);
/* The folder is on a local file system, and nobody else may write in it. */
int journal_place_check (const char *path, struct err *err);

#endif
