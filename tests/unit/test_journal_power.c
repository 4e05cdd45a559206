/* alone: journal */
/* The journal when the power goes: between it and its disk stands a disk that keeps what was synced, and of all that was not
 * some writes, some sectors of others, or none, as a seed says. The loss comes at any write, sync, cut or removal. What is left
 * has to hold every fact that was acknowledged by then, in order, and is no damage; and goes on from there, through more
 * losses. SLICEUP_POWER_SEEDS: how many (default 40), from SLICEUP_POWER_FIRST on. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "common/base/digest.h"
#include "common/base/rng.h"
#include "common/io/fd.h"
#include "coordinator/journal/journal_private.h"
#include "journal_fixture.h"

enum {
    FILES = 3,
    PENDING_MAX = 4096,
    SECTOR = 512,
    LIVES = 4,
    ROUNDS = 8,
    OPS_MAX = 160,
    MARK_SYNC_US = 100,
    BOOT_AT = 16 + 64
};
static const char *const endings[FILES] = { "journal.db", "journal.db-wal", "journal.db.mark" };

/* A write, or without bytes a cut to `at`; not on the disk yet. */
struct pending {
    size_t at, len;
    uint8_t *bytes;
};
struct disk_file {
    bool there, removed; /* removed: its name, and nobody synced the folder */
    struct buf synced;
    struct pending pending[PENDING_MAX];
    uint32_t n;
};
static struct disk {
    pthread_mutex_t mutex;
    bool powered;          /* and what happens is noted */
    uint32_t left;         /* operations until the loss */
    uint64_t acknowledged; /* at that time */
    struct journal *journal;
    struct disk_file files[FILES];
} disk = { .mutex = PTHREAD_MUTEX_INITIALIZER };

/* ---- the disk ---- */

static struct disk_file *disk_file_named (const char *path)
{
    const char *name = strrchr (path, '/');
    for (int i = 0; name && i < FILES; i++)
        if (strcmp (name + 1, endings[i]) == 0)
            return &disk.files[i];
    return NULL;
}

static struct disk_file *disk_file_of (int fd)
{
    char link[32], path[PATH_MAX] = "";
    snprintf (link, sizeof link, "/proc/self/fd/%d", fd);
    return readlink (link, path, sizeof path - 1) > 0 ? disk_file_named (path) : NULL;
}

static void put_at (struct buf *content, const uint8_t *bytes, size_t len, size_t at)
{
    static const uint8_t zeros[SECTOR];
    while (content->len < at)
        buf_add (content, zeros, at - content->len < SECTOR ? at - content->len : SECTOR);
    size_t over = content->len - at < len ? content->len - at : len;
    if (over)
        memcpy (content->ptr + at, bytes, over);
    buf_add (content, bytes + over, len - over);
}

static void pending_apply (struct buf *content, const struct pending *pending)
{
    if (pending->bytes)
        put_at (content, pending->bytes, pending->len, pending->at);
    else if (content->len > pending->at)
        content->len = pending->at;
}

/* One operation was done, and another may not be: the power goes. */
static void count_down (void)
{
    if (disk.powered && --disk.left == 0) {
        disk.powered = false;
        disk.acknowledged = disk.journal ? journal_durable_index (disk.journal) : disk.acknowledged;
    }
}

static void note_write (int fd, const void *bytes, size_t len, off_t at)
{
    struct disk_file *file = disk_file_of (fd);
    pthread_mutex_lock (&disk.mutex);
    if (file && disk.powered && file->n < PENDING_MAX) {
        uint8_t *copy = bytes ? mem_alloc (len) : NULL;
        if (bytes)
            memcpy (copy, bytes, len);
        file->there = true;
        file->removed = false;
        file->pending[file->n++] = (struct pending){ (size_t) at, len, copy };
        count_down ();
    }
    pthread_mutex_unlock (&disk.mutex);
}

static void pending_take (struct disk_file *file, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        pending_apply (&file->synced, &file->pending[i]);
        mem_free (file->pending[i].bytes);
    }
    file->n -= n;
    memmove (file->pending, file->pending + n, file->n * sizeof (file->pending[0]));
}

/* What is written while it lasts is not on the disk by it. Nothing has to reach the real one. */
int fdatasync (int fd)
{
    struct disk_file *file = disk_file_of (fd);
    pthread_mutex_lock (&disk.mutex);
    uint32_t n = file ? file->n : 0;
    if (fd_is_mark (fd)) {
        pthread_mutex_unlock (&disk.mutex);
        usleep (MARK_SYNC_US);
        pthread_mutex_lock (&disk.mutex);
    }
    if (file && disk.powered) {
        pending_take (file, n);
        count_down ();
    }
    pthread_mutex_unlock (&disk.mutex);
    return 0;
}

/* The mark's thread is not paced: it syncs as often as it can. */
int pthread_cond_clockwait (pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, clockid_t clock,
                            const struct timespec *restrict until)
{
    (void) condition, (void) mutex, (void) clock, (void) until;
    return ETIMEDOUT;
}

ssize_t pwrite64 (int fd, const void *bytes, size_t len, off64_t at)
{
    ssize_t n = syscall (SYS_pwrite64, fd, bytes, len, at);
    note_write (fd, bytes, len, at);
    return n;
}

ssize_t pwrite (int fd, const void *bytes, size_t len, off_t at)
{
    return pwrite64 (fd, bytes, len, at);
}

int ftruncate64 (int fd, off64_t len)
{
    note_write (fd, NULL, 0, len);
    return (int) syscall (SYS_ftruncate, fd, len);
}

int unlink (const char *path)
{
    struct disk_file *file = disk_file_named (path);
    pthread_mutex_lock (&disk.mutex);
    if (file && disk.powered) {
        file->removed = true;
        count_down ();
    }
    pthread_mutex_unlock (&disk.mutex);
    return (int) syscall (SYS_unlink, path);
}

/* ---- what a loss leaves ---- */

static void pending_clear (struct disk_file *file)
{
    for (uint32_t i = 0; i < file->n; i++)
        mem_free (file->pending[i].bytes);
    file->n = 0;
}

static void pending_survive (struct disk_file *file, uint64_t how, struct rng *rng)
{
    for (uint32_t i = 0; i < file->n; i++) {
        const struct pending *pending = &file->pending[i];
        if (how == 0 || (how == 1 && rng_below (rng, 2)))
            continue; /* none of it; or not this one */
        if (how < 3 || !pending->bytes) {
            pending_apply (&file->synced, pending);
            continue;
        }
        for (size_t at = 0; at < pending->len; at += SECTOR) /* torn */
            if (rng_below (rng, 2))
                put_at (&file->synced, pending->bytes + at, pending->len - at < SECTOR ? pending->len - at : SECTOR,
                        pending->at + at);
    }
    pending_clear (file);
}

/* The machine comes up again under another boot id. */
static void mark_boot_again (struct buf *mark)
{
    for (size_t at = 0; at + MARK_NOTE_BYTES <= mark->len; at += MARK_SLOT_BYTES) {
        struct digest sum = digest_of (mark->ptr + at, MARK_NOTE_BYTES - sizeof sum);
        if (memcmp (sum.bytes, mark->ptr + at + MARK_NOTE_BYTES - sizeof sum, sizeof sum) != 0)
            continue;
        memcpy (mark->ptr + at + BOOT_AT, "00000000-1111-2222-3333-444444444444", MARK_BOOT_BYTES);
        sum = digest_of (mark->ptr + at, MARK_NOTE_BYTES - sizeof sum);
        memcpy (mark->ptr + at + MARK_NOTE_BYTES - sizeof sum, sum.bytes, sizeof sum);
    }
}

static void put_back (const struct place *place, struct rng *rng)
{
    char path[PATH_MAX];
    for (int i = 0; i < FILES; i++) {
        struct disk_file *file = &disk.files[i];
        pending_survive (file, rng_below (rng, 4), rng);
        if (strcmp (endings[i], "journal.db.mark") == 0)
            mark_boot_again (&file->synced);
        snprintf (path, sizeof path, "%s/%s", place->folder, endings[i]);
        (void) syscall (SYS_unlink, path);
        file->there = file->there && !(file->removed && rng_below (rng, 2));
        if (!file->there)
            buf_clear (&file->synced);
        file->removed = false;
        int fd = file->there ? open (path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600) : -1;
        if (fd >= 0)
            assert_int_equal (write (fd, file->synced.ptr, file->synced.len), file->synced.len);
        if (fd >= 0)
            assert_int_equal (close (fd), 0);
    }
    snprintf (path, sizeof path, "%s/journal.db-shm", place->folder);
    (void) syscall (SYS_unlink, path);
}

/* What lies there is on the disk. */
static void disk_begin (const struct place *place)
{
    char path[PATH_MAX];
    for (int i = 0; i < FILES; i++) {
        struct disk_file *file = &disk.files[i];
        struct stat st;
        buf_release (&file->synced);
        buf_init (&file->synced, 1 << 26);
        snprintf (path, sizeof path, "%s/%s", place->folder, endings[i]);
        file->there = stat (path, &st) == 0;
        LOCAL_FD fd = file->there ? open (path, O_RDONLY | O_CLOEXEC) : -1;
        uint8_t *bytes = file->there ? mem_alloc ((size_t) st.st_size + 1) : NULL;
        if (file->there)
            assert_int_equal (read (fd, bytes, (size_t) st.st_size), st.st_size);
        if (file->there)
            buf_add (&file->synced, bytes, (size_t) st.st_size);
        mem_free (bytes);
    }
}

/* ---- lives ---- */

static uint64_t losses, unheard; /* in the middle of something; facts that nobody was told of */

/* From its opening to its closing; somewhere in it the power goes, or at its end. */
static uint64_t live (const struct place *place, uint64_t had, struct rng *rng)
{
    struct err err = { 0 };
    uint64_t last = had;
    disk.left = 1 + (uint32_t) rng_below (rng, OPS_MAX);
    disk.acknowledged = had;
    disk.journal = NULL;
    disk.powered = true;
    struct journal *journal = journal_open (place->path, &err);
    if (!journal)
        fail_msg ("%s", err.text);
    pthread_mutex_lock (&disk.mutex);
    disk.journal = journal;
    pthread_mutex_unlock (&disk.mutex);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t n = 1 + rng_below (rng, 6);
        append_until (journal, last + 1, last + n);
        last += n;
        if (rng_below (rng, 3))
            wait_durable (journal, last);
    }
    wait_durable (journal, last);
    pthread_mutex_lock (&disk.mutex);
    disk.acknowledged = disk.powered ? last : disk.acknowledged;
    disk.journal = NULL;
    pthread_mutex_unlock (&disk.mutex);
    journal_close (journal);
    disk.powered = false;
    return last;
}

static void lives_of (const struct place *place, uint64_t seed)
{
    struct rng rng = rng_seed (seed);
    uint64_t had = 0;
    make_journal (place->path, 0);
    disk_begin (place);
    for (int life = 1; life <= LIVES; life++) {
        struct err err = { 0 };
        uint64_t wrote = live (place, had, &rng), found = 0;
        put_back (place, &rng);
        if (journal_read (place->path, expect_next, &found, &err) != 0)
            fail_msg ("seed %" PRIu64 ", life %d: %s", seed, life, err.text);
        if (found < disk.acknowledged || found > wrote)
            fail_msg ("seed %" PRIu64 ", life %d: %" PRIu64 " facts of %" PRIu64 ", and %" PRIu64 " were acknowledged",
                      seed, life, found, wrote, disk.acknowledged);
        losses += disk.left == 0;
        unheard += wrote - found;
        had = found;
    }
}

static uint64_t power_number (const char *name, uint64_t otherwise)
{
    const char *text = getenv (name);
    return text ? strtoull (text, NULL, 10) : otherwise;
}

TEST (no_acknowledged_fact_is_lost_with_the_power)
{
    uint64_t first = power_number ("SLICEUP_POWER_FIRST", 1), n = power_number ("SLICEUP_POWER_SEEDS", 40);
    for (uint64_t seed = first; seed < first + n; seed++) {
        struct place place;
        place_open (&place);
        lives_of (&place, seed);
        place_close (&place);
    }
    print_message ("  %" PRIu64 " losses, %" PRIu64 " facts that nobody was told of\n", losses, unheard);
    assert_true (losses > n && unheard > 0);
    for (int i = 0; i < FILES; i++)
        buf_release (&disk.files[i].synced);
}
