#include "coordinator/run/log_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ATTEMPTS_KEPT = 8 }; /* bounds what a host that invents attempts can write: rungs x passes x 8 x limits.log */

struct log_store {
    const struct run_dir *dir;
    const struct plan *plan;
    struct workqueue *workqueue;
};

struct chunk {
    char path[RUN_PATH_BYTES];
    uint64_t offset;
    uint32_t len;
    char bytes[];
};

struct log_store *log_store_open (const struct run_dir *dir, const struct plan *plan, struct workqueue *workqueue)
{
    struct log_store *store = mem_alloc (sizeof (*store));
    *store = (struct log_store){ .dir = dir, .plan = plan, .workqueue = workqueue };
    return store;
}

void log_store_close (struct log_store *store)
{
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

/* A chunk says where it belongs, so a repeated one changes nothing and a lost one leaves a hole, not a shift. */
static void chunk_write (void *job)
{
    struct chunk *chunk = job;
    int fd = open_log (chunk->path);
    if (fd < 0)
        return; /* the host keeps its own copy; the receipt does not depend on this one */
    for (uint32_t done = 0; done < chunk->len;) {
        ssize_t n = pwrite (fd, chunk->bytes + done, chunk->len - done, (off_t) (chunk->offset + done));
        if (n <= 0)
            break;
        done += (uint32_t) n;
    }
    close (fd);
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
    chunk->offset = log->offset;
    chunk->len = log->bytes.len;
    memcpy (chunk->bytes, log->bytes.ptr, log->bytes.len);
    if (!workqueue_submit (store->workqueue, chunk_write, mem_free, chunk))
        mem_free (chunk);
}
