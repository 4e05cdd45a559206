#include "coordinator/journal/journal_mark.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "common/io/proc.h"

/* A read may see a half-written slot of a live coordinator, so it is repeated. */
enum { LOOKS = 5, LOOK_AGAIN_MS = 2 };

#define MAGIC "sliceup mark 1\n"

struct note {
    char magic[sizeof MAGIC];
    char run[JOURNAL_RUN_ID_MAX_BYTES];
    char boot[MARK_BOOT_BYTES + 4];
    uint8_t index[8];         /* little-endian */
    struct digest chain, sum; /* of all before it */
};
static_assert (sizeof (struct note) == MARK_NOTE_BYTES, "a note is written as raw bytes: it must have no padding");

const char *journal_mark_path (const char *journal_path, char out[PATH_MAX])
{
    int len = snprintf (out, PATH_MAX, "%s.mark", journal_path);
    if (len < 0 || len >= PATH_MAX)
        out[0] = '\0'; /* opening it fails, and says so */
    return out;
}

void journal_mark_current_boot (char boot[MARK_BOOT_BYTES + 1])
{
    char id[PROC_BOOT_ID_BYTES];
    if (proc_boot_id (id, NULL) != 0 || !text_to_c (text_of (id), boot, MARK_BOOT_BYTES + 1))
        boot[0] = '\0';
}

void journal_mark_encode (uint8_t bytes[MARK_NOTE_BYTES], const char *run_id, const char *boot, uint64_t index,
                          const struct digest *chain)
{
    struct note note = { .magic = MAGIC, .chain = *chain };
    assert (strlen (run_id) <= sizeof note.run && strlen (boot) < sizeof note.boot);
    memcpy (note.run, run_id, strlen (run_id));
    memcpy (note.boot, boot, strlen (boot));
    for (size_t i = 0; i < sizeof note.index; i++)
        note.index[i] = (uint8_t) (index >> 8 * i);
    note.sum = digest_of (&note, offsetof (struct note, sum));
    memcpy (bytes, &note, sizeof note);
}

static uint64_t index_of (const struct note *note)
{
    uint64_t index = 0;
    for (size_t i = 0; i < sizeof note->index; i++)
        index |= (uint64_t) note->index[i] << 8 * i;
    return index;
}

static bool is_valid (const struct note *note, const char *run_id)
{
    struct digest sum = digest_of (note, offsetof (struct note, sum));
    return digest_equal (&sum, &note->sum) && memcmp (note->magic, MAGIC, sizeof note->magic) == 0 &&
           (run_id == NULL || strncmp (note->run, run_id, sizeof note->run) == 0);
}

/* 0: the file ends before. -1: errno. */
static int read_note (int fd, uint32_t slot, struct note *note)
{
    ssize_t n = pread (fd, note, sizeof *note, (off_t) slot * MARK_SLOT_BYTES);
    return n < 0 ? -1 : n == (ssize_t) sizeof *note;
}

/* An unknown boot is no evidence of a power loss. */
static bool of_another_boot (const struct note *note)
{
    char boot[MARK_BOOT_BYTES + 1];
    journal_mark_current_boot (boot);
    return boot[0] && note->boot[0] && strncmp (note->boot, boot, sizeof note->boot) != 0;
}

/* The state of all slots together. -1: errno. */
static int journal_mark_look (int fd, const char *run_id, struct journal_mark *out)
{
    struct note newest = { 0 }, note;
    uint32_t valid_n = 0;
    *out = (struct journal_mark){ .state = MARK_DAMAGED };
    for (uint32_t slot = 0; slot < MARK_SLOTS; slot++) {
        int there = read_note (fd, slot, &note);
        if (there < 0)
            return -1;
        if (there == 0 || !is_valid (&note, run_id))
            continue;
        if (valid_n++ > 0 && index_of (&note) < index_of (&newest))
            continue;
        newest = note;
        out->slot = slot;
    }
    if (valid_n == 0 || (valid_n < MARK_SLOTS && !of_another_boot (&newest)))
        return 0;
    out->state = MARK_WHOLE;
    out->index = index_of (&newest);
    out->chain = newest.chain;
    memcpy (out->boot, newest.boot, MARK_BOOT_BYTES);
    return 0;
}

int journal_mark_read (const char *journal_path, const char *run_id, struct journal_mark *out, struct err *err)
{
    char path[PATH_MAX];
    *out = (struct journal_mark){ .state = MARK_MISSING };
    struct err why = { 0 };
    int fd = plain_file_open (journal_mark_path (journal_path, path), O_RDONLY, &why);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0)
        return err_set (err, why.code, "%s", why.text);
    int rc = 0;
    for (int i = 0; rc == 0 && i < LOOKS; i++) {
        if (journal_mark_look (fd, run_id, out) < 0)
            rc = err_errno (err, ERR_IO, "cannot read %s", path);
        if (rc < 0 || out->state == MARK_WHOLE || journal_is_locked (journal_path, NULL, NULL) == 0)
            break;
        (void) poll (NULL, 0, LOOK_AGAIN_MS);
    }
    (void) close (fd); /* opened for reading: nothing to lose */
    return rc;
}
