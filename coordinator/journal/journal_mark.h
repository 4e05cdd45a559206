/* journal_mark.h - reads and writes the mark of a journal, <journal>.mark: the file that names the last acknowledged
 * fact.
 *
 * SQLite ends a write-ahead log at its first bad checksum and treats the rest as never written. The mark reveals that:
 * it names the last fact that was durable before others could act on it, and the chain's digest there. Three slots,
 * each on its own page, hold run, boot, index, digest and a sha256 over them; the valid one with the highest index
 * counts. Its writer never touches the slot that reached the disk last, so a power loss leaves a valid one. Without a
 * power loss all three are valid: an incomplete mark not known to be of another boot is damaged. docs/spec/journal.md
 * says what it promises. */
#ifndef SLICEUP_COORDINATOR_JOURNAL_JOURNAL_MARK_H
#define SLICEUP_COORDINATOR_JOURNAL_JOURNAL_MARK_H

#include "common/base/digest.h"
#include "common/base/err.h"
#include "coordinator/journal/journal_read.h"
#include <limits.h>
#include <pthread.h>
#include <stdint.h>

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
