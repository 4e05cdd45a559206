/* journal_mark.h - reads and writes the mark of a journal, <journal>.mark: the file that names the last acknowledged
 * fact.
 *
 * SQLite ends a write-ahead log at its first bad checksum and calls the rest never written. The mark tells: it names
 * the last fact that was durable when others could first act on it, and the chain's digest there. Three slots, each on
 * a page of its own, hold run, boot, index, digest and a sha256 over them; the valid one with the highest index counts.
 * Whoever keeps the mark (journal_marker.h) never touches the slot that reached the disk last, so a power loss leaves
 * one that is valid. Without a power loss all three are: a mark that is not known to be of another boot, and is not
 * whole, is damaged. docs/spec/journal.md says what it promises. */
#ifndef SLICEUP_COORDINATOR_JOURNAL_JOURNAL_MARK_H
#define SLICEUP_COORDINATOR_JOURNAL_JOURNAL_MARK_H

#include "common/base/digest.h"
#include "common/base/err.h"
#include "coordinator/journal/journal_read.h"
#include <limits.h>

enum { MARK_SLOTS = 3, MARK_SLOT_BYTES = 4096, MARK_NOTE_BYTES = 192, MARK_BOOT_BYTES = 36 };

enum mark_state { MARK_MISSING = 0, MARK_DAMAGED, MARK_WHOLE };
struct journal_mark {
    enum mark_state state;
    uint64_t index;                 /* WHOLE: every fact up to here was durable */
    struct digest chain;            /* of that one */
    uint32_t slot;                  /* that says so */
    char boot[MARK_BOOT_BYTES + 1]; /* in which it said so; empty: not known */
};

const char *journal_mark_path (const char *journal_path, char out[PATH_MAX]);
/* `run_id`: slots of other runs are not valid; NULL: of any run. -1: the file is there and cannot be read (ERR_IO), or
 * is no regular file (ERR_STATE). */
int journal_mark_read (const char *journal_path, const char *run_id, struct journal_mark *out, struct err *err);

/* One slot's bytes. `boot`: as journal_mark_boot_id gave it. */
void journal_mark_encode (uint8_t note[MARK_NOTE_BYTES], const char *run_id, const char *boot, uint64_t index,
                          const struct digest *chain);
/* Which boot of this machine this is; empty when the system does not say. */
void journal_mark_boot_id (char boot[MARK_BOOT_BYTES + 1]);

#endif
