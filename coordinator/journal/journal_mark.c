#include "coordinator/journal/journal_private.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "common/io/fd.h"
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
    LOCAL_FD fd = plain_file_open (journal_path_beside (journal_path, ".mark", path), O_RDONLY, &why);
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
    return rc;
}

/* ---- the writer ---- */

struct journal_marker {
    int fd;
    char path[PATH_MAX], run[JOURNAL_RUN_ID_MAX_BYTES + 1], boot[MARK_BOOT_BYTES + 1];
    bool started;
    pthread_t thread;

    pthread_mutex_t mutex; /* guards all below */
    pthread_cond_t set, told;
    uint32_t safe;    /* the slot that reached the disk last: not touched before another has */
    uint32_t written; /* the one that is written now */
    bool dirty, stopping;
    int failed; /* errno of a sync that failed; 0: none has */
};

static int write_at (const struct journal_marker *marker, const void *bytes, size_t len, uint32_t slot, struct err *err)
{
    ssize_t n = pwrite (marker->fd, bytes, len, (off_t) slot * MARK_SLOT_BYTES);
    if (n >= 0 && n != (ssize_t) len)
        errno = ENOSPC;
    return n == (ssize_t) len ? 0 : err_errno (err, ERR_IO, "cannot write %s", marker->path);
}

static int put (const struct journal_marker *marker, const char *boot, uint32_t slot, uint64_t index,
                const struct digest *chain, struct err *err)
{
    uint8_t note[MARK_NOTE_BYTES];
    journal_mark_encode (note, marker->run, boot, index, chain);
    return write_at (marker, note, sizeof note, slot, err);
}

/* ---- its thread ---- */

static void pause_between (struct journal_marker *marker)
{
    struct timespec until;
    clock_gettime (CLOCK_MONOTONIC, &until); /* cannot fail */
    until.tv_sec += MARK_PACE_MS / 1000;
    while (!marker->stopping && pthread_cond_clockwait (&marker->told, &marker->mutex, CLOCK_MONOTONIC, &until) == 0)
        continue;
}

static void sync_once (struct journal_marker *marker)
{
    uint32_t synced = marker->written;
    marker->written = 0 + 1 + 2 - marker->safe - synced; /* new values go to this slot meanwhile */
    marker->dirty = false;
    pthread_mutex_unlock (&marker->mutex);
    int failed = fdatasync (marker->fd) == 0 ? 0 : errno;
    pthread_mutex_lock (&marker->mutex);
    marker->failed = failed;
    marker->safe = synced;
}

static void *keep_durable (void *owner)
{
    struct journal_marker *marker = owner;
    pthread_mutex_lock (&marker->mutex);
    while (!marker->stopping && !marker->failed) {
        if (marker->dirty) {
            sync_once (marker);
            pause_between (marker);
        } else {
            pthread_cond_wait (&marker->set, &marker->mutex);
        }
    }
    pthread_mutex_unlock (&marker->mutex);
    return NULL;
}

int journal_thread_start (pthread_t *thread, void *(*run) (void *owner), void *owner, const char *whose,
                          struct err *err)
{
    sigset_t all, before;
    sigfillset (&all);
    errno = pthread_sigmask (SIG_SETMASK, &all, &before);
    if (errno != 0)
        return err_errno (err, ERR_IO, "cannot block signals in the thread that writes the %s", whose);
    int rc = pthread_create (thread, NULL, run, owner);
    (void) pthread_sigmask (SIG_SETMASK, &before, NULL); /* the set came from the kernel */
    errno = rc;
    return rc == 0 ? 0 : err_errno (err, ERR_IO, "cannot start the thread that writes the %s", whose);
}

int journal_marker_start (struct journal_marker *marker, struct err *err)
{
    if (fdatasync (marker->fd) != 0)
        return err_errno (err, ERR_IO, "cannot sync %s to disk", marker->path);
    int rc = journal_thread_start (&marker->thread, keep_durable, marker, "mark", err);
    marker->started = rc == 0;
    return rc;
}

/* ---- its life ---- */

static struct journal_marker *marker_make (const char *journal_path, const char *run_id)
{
    struct journal_marker *marker = mem_alloc (sizeof *marker);
    assert (strlen (run_id) < sizeof marker->run);
    *marker = (struct journal_marker){ .fd = -1, .safe = 0, .written = 1 };
    journal_path_beside (journal_path, ".mark", marker->path);
    memcpy (marker->run, run_id, strlen (run_id));
    journal_mark_current_boot (marker->boot);
    pthread_mutex_init (&marker->mutex, NULL);
    pthread_cond_init (&marker->set, NULL);
    pthread_cond_init (&marker->told, NULL);
    return marker;
}

/* Writes the whole file, so that setting it later needs no disk space. */
static int put_all (const struct journal_marker *marker, uint64_t index, const struct digest *chain, struct err *err)
{
    static const uint8_t empty[MARK_SLOT_BYTES];
    for (uint32_t slot = 0; slot < MARK_SLOTS; slot++) {
        if (write_at (marker, empty, sizeof empty, slot, err) != 0 ||
            put (marker, marker->boot, slot, index, chain, err) != 0)
            return -1;
    }
    return 0;
}

/* Writes the valid slot last, and syncs each before the next. */
static int repeat (struct journal_marker *marker, const struct journal_mark *mark, const char *boot, struct err *err)
{
    for (uint32_t i = 1; i <= MARK_SLOTS; i++) {
        if (put (marker, boot, (mark->slot + i) % MARK_SLOTS, mark->index, &mark->chain, err) != 0)
            return -1;
        if (fdatasync (marker->fd) != 0)
            return err_errno (err, ERR_IO, "cannot sync %s to disk", marker->path);
    }
    return 0;
}

/* After a power loss slots may be torn or old, so all get the same content: first with the old boot, for which torn
 * slots are no damage, then, when none is torn, with this boot, for which they are. So a kill at any moment is safe. */
static int repair (struct journal_marker *marker, const struct journal_mark *mark, struct err *err)
{
    return repeat (marker, mark, mark->boot, err) == 0 ? repeat (marker, mark, marker->boot, err) : -1;
}

static int journal_marker_hold (const struct journal_marker *marker, struct err *err)
{
    if (journal_lock_mark (marker->fd) == 0)
        return 0;
    if (errno != EAGAIN && errno != EACCES)
        return err_errno (err, ERR_IO, "cannot lock %s", marker->path);
    return err_set (err, ERR_STATE, "%s is locked by another process; see which with: fuser -v '%s'", marker->path,
                    marker->path);
}

struct journal_marker *journal_marker_create (const char *journal_path, const char *run_id, struct err *err)
{
    struct journal_marker *marker = marker_make (journal_path, run_id);
    struct digest start = journal_chain_start (run_id);
    marker->fd = open (marker->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (marker->fd < 0)
        err_errno (err, errno == EEXIST ? ERR_STATE : ERR_IO, "cannot create %s", marker->path);
    else if (journal_marker_hold (marker, err) == 0 && put_all (marker, 0, &start, err) == 0)
        return marker;
    journal_marker_close (marker);
    return NULL;
}

int journal_marker_rename (struct journal_marker *marker, const char *journal_path, struct err *err)
{
    char path[PATH_MAX];
    journal_path_beside (journal_path, ".mark", path);
    if (renameat2 (AT_FDCWD, marker->path, AT_FDCWD, path, RENAME_NOREPLACE) != 0)
        return err_errno (err, errno == EEXIST ? ERR_STATE : ERR_IO, "cannot name %s", path);
    memcpy (marker->path, path, sizeof path);
    return 0;
}

static int open_private (struct journal_marker *marker, struct err *err)
{
    struct stat st;
    marker->fd = plain_file_open (marker->path, O_RDWR, err);
    if (marker->fd < 0)
        return -1;
    if (fstat (marker->fd, &st) != 0)
        return err_errno (err, ERR_IO, "cannot examine %s", marker->path);
    if (st.st_mode & 077)
        return err_set (err, ERR_STATE, "%s has mode %04o, expected 0600: only its owner may write it (chmod 600)",
                        marker->path, (unsigned) (st.st_mode & 07777));
    return 0;
}

struct journal_marker *journal_marker_open (const char *journal_path, const char *run_id, struct err *err)
{
    struct journal_mark mark;
    if (journal_mark_read (journal_path, run_id, &mark, err) != 0)
        return NULL;
    if (mark.state == MARK_MISSING)
        return journal_marker_create (journal_path, run_id, err);
    struct journal_marker *marker = marker_make (journal_path, run_id);
    struct digest start = journal_chain_start (run_id);
    if (open_private (marker, err) == 0 && journal_marker_hold (marker, err) == 0 &&
        (mark.state == MARK_WHOLE ? repair (marker, &mark, err) : put_all (marker, 0, &start, err)) == 0)
        return marker;
    journal_marker_close (marker);
    return NULL;
}

int journal_marker_set (struct journal_marker *marker, uint64_t index, const struct digest *chain, struct err *err)
{
    pthread_mutex_lock (&marker->mutex);
    int failed = marker->failed;
    int rc = failed ? -1 : put (marker, marker->boot, marker->written, index, chain, err);
    marker->dirty = true;
    pthread_cond_signal (&marker->set);
    pthread_mutex_unlock (&marker->mutex);
    errno = failed;
    return failed ? err_errno (err, ERR_IO, "cannot sync %s to disk", marker->path) : rc;
}

static void thread_stop (struct journal_marker *marker)
{
    pthread_mutex_lock (&marker->mutex);
    marker->stopping = true;
    pthread_cond_signal (&marker->set);
    pthread_cond_signal (&marker->told);
    pthread_mutex_unlock (&marker->mutex);
    int rc = pthread_join (marker->thread, NULL);
    assert (rc == 0);
    (void) fdatasync (marker->fd); /* its content is in the kernel's memory in any case */
}

void journal_marker_close (struct journal_marker *marker)
{
    if (!marker)
        return;
    if (marker->started)
        thread_stop (marker);
    fd_close (marker->fd); /* the sync has already reported errors */
    pthread_cond_destroy (&marker->told);
    pthread_cond_destroy (&marker->set);
    pthread_mutex_destroy (&marker->mutex);
    mem_free (marker);
}
