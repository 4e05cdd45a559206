/* journal_private.h - what the files of the journal share. */
#ifndef SLICEUP_COORDINATOR_JOURNAL_JOURNAL_PRIVATE_H
#define SLICEUP_COORDINATOR_JOURNAL_JOURNAL_PRIVATE_H

#include <limits.h>
#include <pthread.h>
#include <stdint.h>

#include "common/base/digest.h"
#include "coordinator/journal/database.h"
#include "coordinator/journal/journal.h"

/* ---- journal_read.c ---- */

enum { JOURNAL_FORMAT = 2, JOURNAL_RUN_ID_MAX_BYTES = 64 };

/* The end of every sentence about damage. */
#define JOURNAL_REMEDY                                                                                                 \
    "another program changed it, or the disk lost data: keep the folder, restore a complete copy of it if you have "   \
    "one, else start a new run with sliceup run"

/* Call it before SQLite opens the file: checks that it exists, passes database_file_check, and is not empty. */
int journal_file_check (const char *path, enum database_use use, struct err *err);
/* The digest before fact 1, so that another run's journal, or another format, does not verify. */
struct digest journal_chain_start (const char *run_id_hex);
/* The last verified fact, and its chain. Returns the run's id, which lives as long as the reader. */
const char *journal_reader_position (const struct journal_reader *reader, uint64_t *index, struct digest *chain);

/* ---- journal_lock.c ---- */

/* Locks a journal for its one writer (docs/spec/journal.md, "The two locks"), and checks that its file system is safe.
 *
 * <path>.lock stays, because removing it would let two processes lock two files of one name. Classic POSIX locks do not
 * work: any close of the file in this process would drop them. */

/* The descriptor that holds the lock (close it to release), or -1: ERR_STATE names the pid that has it. */
int journal_lock_take (const char *path, struct err *err);
const char *journal_path_beside (const char *journal_path, const char *ending, char out[PATH_MAX]);
/* Locks the open mark, after the lock was taken. -1: errno; EAGAIN or EACCES: another process has it. */
int journal_lock_mark (int fd);
/* Checks that the folder is on a local file system, and that nobody else may write in it. */
int journal_place_check (const char *path, struct err *err);

/* ---- journal_mark.c ---- */

/* Reads and writes the mark of a journal, <journal>.mark: the file that names the last acknowledged fact
 * (docs/spec/journal.md). Its writer never touches the slot that reached the disk last, so a power loss leaves a valid
 * one. Without a power loss all are valid: an incomplete mark not known to be of another boot is damaged. */

enum { MARK_SLOTS = 3, MARK_SLOT_BYTES = 4096, MARK_NOTE_BYTES = 192, MARK_BOOT_BYTES = 36 };

enum mark_state { MARK_MISSING = 0, MARK_DAMAGED, MARK_WHOLE };
struct journal_mark {
    enum mark_state state;
    uint64_t index;                 /* WHOLE: all facts up to this were durable */
    struct digest chain;            /* at that fact */
    uint32_t slot;                  /* the slot with this index */
    char boot[MARK_BOOT_BYTES + 1]; /* boot in which it was written; empty: not known */
};

/* `run_id`: slots of other runs are invalid; NULL: any run. -1: the file exists but cannot be read (ERR_IO), or is no
 * regular file (ERR_STATE). */
int journal_mark_read (const char *journal_path, const char *run_id, struct journal_mark *out, struct err *err);

/* One slot's bytes. `boot`: as journal_mark_current_boot gave it. */
void journal_mark_encode (uint8_t note[MARK_NOTE_BYTES], const char *run_id, const char *boot, uint64_t index,
                          const struct digest *chain);
/* The id of this boot; empty if the system does not say. */
void journal_mark_current_boot (char boot[MARK_BOOT_BYTES + 1]);

/* Writes the mark of a journal. Setting it is one write into the kernel's memory, which survives this process. Its own
 * thread syncs it, at most every MARK_PACE_MS: no commit waits, and after a power loss the mark may be that and one sync
 * behind. It is set only to durable facts of the journal, so it is never ahead. A failed sync is final.
 * journal_marker_set is for one thread. */
enum { MARK_PACE_MS = 1000 };

struct journal_marker;
/* Makes a new file for fact 0. Durable when journal_marker_start returns. */
struct journal_marker *journal_marker_create (const char *journal_path, const char *run_id, struct err *err);
/* Renames the file to this journal's mark. ERR_STATE: the journal has a mark already. */
int journal_marker_rename (struct journal_marker *marker, const char *journal_path, struct err *err);
/* Opens the mark, completed if a power loss tore it, or makes a new one. */
struct journal_marker *journal_marker_open (const char *journal_path, const char *run_id, struct err *err);
/* Makes it durable, except its name in the folder, and starts the thread. */
int journal_marker_start (struct journal_marker *marker, struct err *err);
/* Sets the mark: all up to `index` is durable, with this digest of the chain. */
int journal_marker_set (struct journal_marker *marker, uint64_t index, const struct digest *chain, struct err *err);
void journal_marker_close (struct journal_marker *marker); /* makes it durable; NULL is fine */

/* Starts a thread that takes no signals: the loop's thread handles them. `whose`, for an error: "mark's". */
int journal_thread_start (pthread_t *thread, void *(*run) (void *owner), void *owner, const char *whose,
                          struct err *err);

#endif
