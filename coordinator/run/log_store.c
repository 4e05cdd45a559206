#include "coordinator/run/log_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ATTEMPTS_KEPT = 8 }; /* bounds what a host that invents attempts can write: rungs x passes x 8 x limits.log */
enum { TOLD_MAX = 64 };     /* losses of one host: each is a fact */

struct told {
    struct attempt_key key; /* the last attempt of which a loss was told */
    uint32_t n;
};

struct log_store {
    const struct run_dir *dir;
    const struct plan *plan;
    struct workqueue *workqueue;
    log_store_lost_fn *lost;
    void *owner;
    struct told *told; /* per host */
};

struct chunk {
    struct log_store *store;
    uint32_t host;
    struct attempt_key key;
    int error;          /* errno; 0: written */
    bool loss_told;     /* of its attempt: it may leave a hole */
    uint64_t gap_bytes; /* before it, that no chunk brought: it was not written, for that is not told yet */
    char path[RUN_PATH_BYTES];
    uint64_t offset;
    uint32_t len;
    char bytes[];
};

struct log_store *log_store_open (const struct run_dir *dir, const struct plan *plan, struct workqueue *workqueue,
                                  log_store_lost_fn *lost, void *owner)
{
    struct log_store *store = mem_alloc (sizeof (*store));
    *store = (struct log_store){ .dir = dir, .plan = plan, .workqueue = workqueue, .lost = lost, .owner = owner };
    store->told = mem_array (plan->hosts.n, sizeof (*store->told));
    return store;
}

void log_store_close (struct log_store *store)
{
    if (store)
        mem_free (store->told);
    mem_free (store);
}

static int open_log (const char *path)
{
    int fd = open (path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 || errno != ENOENT)
        return fd;
    char folder[RUN_PATH_BYTES];
    snprintf (folder, sizeof (folder), "%s", path);
    *strrchr (folder, '/') = '\0';
    mkdir (folder, 0700);
    return open (path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* A chunk says where it belongs, so a repeated one changes nothing and a lost one leaves a hole, not a shift. Bytes of
 * zero may be what was printed: nothing is written behind a hole before the loss is told. */
static void chunk_write (void *job)
{
    struct chunk *chunk = job;
    struct stat at;
    int fd = open_log (chunk->path);
    ssize_t n = fd < 0 || fstat (fd, &at) < 0 ? -1 : 1;
    bool gap = n > 0 && !chunk->loss_told && (uint64_t) at.st_size < chunk->offset;
    chunk->gap_bytes = gap ? chunk->offset - (uint64_t) at.st_size : 0;
    for (uint32_t done = 0; n > 0 && !gap && done != chunk->len; done += n < 0 ? 0 : (uint32_t) n)
        n = pwrite (fd, chunk->bytes + done, chunk->len - done, (off_t) (chunk->offset + done));
    chunk->error = n < 0 ? errno : n == 0 ? ENOSPC : 0;
    if (fd >= 0 && close (fd) < 0 && !chunk->error)
        chunk->error = errno; /* what a quota of a network says late */
}

static bool is_told (const struct chunk *chunk)
{
    return attempt_key_equal (&chunk->store->told[chunk->host].key, &chunk->key);
}

static void tell_lost (const struct chunk *chunk, const char *reason)
{
    struct log_store *store = chunk->store;
    struct told *told = &store->told[chunk->host];
    struct buf why;
    if (is_told (chunk) || told->n == TOLD_MAX)
        return;
    buf_init (&why, SENTENCE_MAX_BYTES);
    if (reason)
        buf_printf (&why, "cannot write the coordinator's log: %s", reason);
    else
        buf_printf (&why, "%llu bytes before byte %llu of the coordinator's log are not here",
                    (unsigned long long) chunk->gap_bytes, (unsigned long long) chunk->offset);
    if (store->lost (store->owner, chunk->host, &chunk->key, buf_as_text (&why)))
        *told = (struct told){ chunk->key, told->n + 1 };
    buf_release (&why);
}

static void chunk_done (void *job)
{
    struct chunk *chunk = job;
    if (chunk->error || chunk->gap_bytes)
        tell_lost (chunk, chunk->error ? strerror (chunk->error) : NULL);
    chunk->loss_told = is_told (chunk);
    bool again = chunk->gap_bytes && chunk->loss_told;
    if (!again || !workqueue_submit (chunk->store->workqueue, chunk_write, chunk_done, chunk))
        mem_free (chunk);
}

static bool acceptable (const struct log_store *store, const struct msg_log *log)
{
    return log->key.rung < store->plan->rungs.n && log->key.attempt <= ATTEMPTS_KEPT &&
           log->bytes.len <= LOG_CHUNK_MAX_BYTES &&
           log->offset + log->bytes.len <= store->plan->limits.log_bytes + LOG_CHUNK_MAX_BYTES;
}

void log_store_add (struct log_store *store, uint32_t host, const struct msg_log *log)
{
    if (log->bytes.len == 0 || !acceptable (store, log))
        return;
    struct chunk *chunk = mem_alloc (sizeof (*chunk) + log->bytes.len);
    run_dir_log_path (store->dir, store->plan, host, &log->key, chunk->path);
    chunk->store = store;
    chunk->host = host;
    chunk->key = log->key;
    chunk->loss_told = is_told (chunk);
    chunk->offset = log->offset;
    chunk->len = log->bytes.len;
    memcpy (chunk->bytes, log->bytes.ptr, log->bytes.len);
    if (workqueue_submit (store->workqueue, chunk_write, chunk_done, chunk))
        return;
    tell_lost (chunk, "too much output waits for its disk");
    mem_free (chunk);
}
