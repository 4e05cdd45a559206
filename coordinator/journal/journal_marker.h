/* journal_marker.h - keeps the mark of a journal (journal_mark.h).
 *
 * Setting it costs one write into the kernel's memory, which survives the death of this process. A thread of its own
 * makes it durable, at most every MARK_PACE_MS: no commit waits for that, and after a power loss the mark may be that
 * much and one sync behind. It is set only to what is durable in the journal, so it is never ahead. A failed sync is
 * final. journal_marker_set is for one thread. */
#ifndef SLICEUP_COORDINATOR_JOURNAL_JOURNAL_MARKER_H
#define SLICEUP_COORDINATOR_JOURNAL_JOURNAL_MARKER_H

#include "common/base/digest.h"
#include "common/base/err.h"
#include <pthread.h>
#include <stdint.h>

enum { MARK_PACE_MS = 1000 };

struct journal_marker;
/* A new file that vouches for nothing yet (fact 0). Durable when journal_marker_start returns. */
struct journal_marker *journal_marker_create (const char *journal_path, const char *run_id, struct err *err);
/* Renames the file to be that of this journal. ERR_STATE: that one has a mark already. */
int journal_marker_rename (struct journal_marker *marker, const char *journal_path, struct err *err);
/* The one that is there, made whole if a power loss tore it; a new one where none is. */
struct journal_marker *journal_marker_open (const char *journal_path, const char *run_id, struct err *err);
/* Makes all of it durable, its name in the folder excepted, and starts the thread. */
int journal_marker_start (struct journal_marker *marker, struct err *err);
/* Everything up to `index` is durable, with this digest of the chain. */
int journal_marker_set (struct journal_marker *marker, uint64_t index, const struct digest *chain, struct err *err);
void journal_marker_close (struct journal_marker *marker); /* makes it durable; NULL is fine */

/* A thread that takes no signals: they belong to the loop's. `whose`, for an error: "mark's". */
int journal_thread_start (pthread_t *thread, void *(*run) (void *owner), void *owner, const char *whose,
                          struct err *err);

#endif
