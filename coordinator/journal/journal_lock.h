/* journal_lock.h - locks a journal for its one writer, and checks that its file system is safe.
 *
 * The lock is an OFD lock on <path>.lock, whose text is the holder's pid. It ends with the process, however that ends.
 * The file stays, because removing it would let two processes lock two files of one name. Classic POSIX locks do not
 * work: any close of the file in this process would drop them.
 *
 * In case somebody removes that file, the holder also locks the journal's mark: a journal without its mark is refused,
 * so removing both lets nobody in. That lock begins at the holder's pid. */
#ifndef SLICEUP_COORDINATOR_JOURNAL_JOURNAL_LOCK_H
#define SLICEUP_COORDINATOR_JOURNAL_JOURNAL_LOCK_H

#include "common/base/err.h"
#include <limits.h>

/* The descriptor that holds the lock (close it to release), or -1: ERR_STATE names the pid that has it. */
int journal_lock_take (const char *path, struct err *err);
/* Notes that the holder lives, for journal_last_alive_ms. Not made durable: a power loss costs only seconds. */
void journal_lock_note_alive (int lock_fd);
const char *journal_path_beside (const char *journal_path, const char *ending, char out[PATH_MAX]);
/* Locks the open mark, after the lock was taken. -1: errno; EAGAIN or EACCES: another process has it. */
int journal_lock_mark (int fd);
/* Checks that the folder is on a local file system, and that nobody else may write in it. */
int journal_place_check (const char *path, struct err *err);

#endif
