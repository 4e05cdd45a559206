#include "coordinator/run/driver_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ATTEMPTS_KEPT = 8 }; /* bounds what a host that invents attempts can write: rungs x passes x 8 x limits.log */
enum { TOLD_MAX = 64 };     /* losses of one host: each is a fact */

struct told {
    struct attempt_key key; /* the last attempt with a reported loss */
    uint32_t n;
    struct attempt_key due_key; /* the last attempt that sent output, and how much, until it is on disk */
    uint64_t due_bytes;
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
    bool loss_told;     /* the loss is reported: it may leave a hole */
    uint64_t gap_bytes; /* missing bytes before it; not written, because the loss is not reported yet */
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

static int log_store_open_log (const char *path)
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

/* A chunk has its offset, so a repeated one changes nothing and a lost one leaves a hole, not a shift. Programs may
 * print zeros, so nothing is written after a hole before the loss is reported. */
static void chunk_write (void *job)
{
    struct chunk *chunk = job;
    struct stat at;
    int fd = log_store_open_log (chunk->path);
    ssize_t n = fd < 0 || fstat (fd, &at) < 0 ? -1 : 1;
    bool gap = n > 0 && !chunk->loss_told && (uint64_t) at.st_size < chunk->offset;
    chunk->gap_bytes = gap ? chunk->offset - (uint64_t) at.st_size : 0;
    for (uint32_t done = 0; n > 0 && !gap && done != chunk->len; done += n < 0 ? 0 : (uint32_t) n)
        n = pwrite (fd, chunk->bytes + done, chunk->len - done, (off_t) (chunk->offset + done));
    chunk->error = n < 0 ? errno : n == 0 ? ENOSPC : 0;
    if (fd >= 0 && close (fd) < 0 && !chunk->error)
        chunk->error = errno; /* a network's quota reports errors late */
}

static bool log_store_is_told (const struct chunk *chunk)
{
    return attempt_key_equal (&chunk->store->told[chunk->host].key, &chunk->key);
}

static void tell_lost (const struct chunk *chunk, const char *reason)
{
    struct log_store *store = chunk->store;
    struct told *told = &store->told[chunk->host];
    if (log_store_is_told (chunk) || told->n == TOLD_MAX)
        return;
    LOCAL_BUF why = { .max = SENTENCE_MAX_BYTES };
    if (reason)
        buf_printf (&why, "cannot write the coordinator's log: %s", reason);
    else
        buf_printf (&why, "%llu bytes before byte %llu of the coordinator's log are not here",
                    (unsigned long long) chunk->gap_bytes, (unsigned long long) chunk->offset);
    if (store->lost (store->owner, chunk->host, &chunk->key, buf_as_text (&why)))
        told->key = chunk->key, told->n++;
}

static void chunk_done (void *job)
{
    struct chunk *chunk = job;
    if (chunk->error || chunk->gap_bytes)
        tell_lost (chunk, chunk->error ? strerror (chunk->error) : NULL);
    chunk->loss_told = log_store_is_told (chunk);
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
    chunk->loss_told = log_store_is_told (chunk);
    chunk->offset = log->offset;
    chunk->len = log->bytes.len;
    memcpy (chunk->bytes, log->bytes.ptr, log->bytes.len);
    if (workqueue_submit (store->workqueue, chunk_write, chunk_done, chunk))
        return;
    tell_lost (chunk, "too much output waits for its disk");
    mem_free (chunk);
}

void log_store_expect (struct log_store *store, uint32_t host, const struct result *result)
{
    struct told *told = &store->told[host];
    if (result->log_bytes && result->key.rung < store->plan->rungs.n && result->key.attempt <= ATTEMPTS_KEPT)
        told->due_key = result->key, told->due_bytes = result->log_bytes;
}

static bool is_due (const struct log_store *store, uint32_t host)
{
    const struct told *told = &store->told[host];
    char path[RUN_PATH_BYTES];
    struct stat at;
    if (told->due_bytes == 0 || attempt_key_equal (&told->key, &told->due_key))
        return false;
    run_dir_log_path (store->dir, store->plan, host, &told->due_key, path);
    return stat (path, &at) < 0 ? errno == ENOENT : (uint64_t) at.st_size < told->due_bytes;
}

bool log_store_awaits (struct log_store *store)
{
    for (uint32_t i = 0; i < store->plan->hosts.n; i++) {
        if (is_due (store, i))
            return true;
        store->told[i].due_bytes = 0;
    }
    return false;
}

/* ---- output watch ---- */

enum { QUIET_LEAST_MS = 5000, SEARCHED_BYTES = 2048 }; /* shorter pauses are not reported */

struct last_line {
    struct attempt_key key; /* the attempt that printed it; attempt 0: none */
    uint64_t end;           /* end of the seen part of its log */
    uint64_t at_ms;
    bool whole; /* the next byte begins another line */
    uint32_t len;
    char line[OUTPUT_LINE_BYTES];
};

struct output_watch {
    struct last_line *hosts;
    uint32_t n;
    uint64_t live_bytes; /* at this size a host sends no more before its program ends */
    bool unheard;        /* the earlier output of `key` is not known */
    bool resumed;
    struct attempt_key key; /* the running attempt, as last asked for */
    uint64_t since_ms;      /* and when that was first done */
};

struct output_watch *output_watch_create (uint32_t hosts_n, uint64_t log_bytes, bool resumed)
{
    struct output_watch *watch = mem_alloc (sizeof (*watch));
    *watch = (struct output_watch){ .n = hosts_n, .live_bytes = log_live_bytes (log_bytes), .resumed = resumed };
    watch->hosts = mem_array (hosts_n, sizeof (*watch->hosts));
    return watch;
}

void output_watch_destroy (struct output_watch *watch)
{
    if (watch == NULL)
        return;
    mem_free (watch->hosts);
    mem_free (watch);
}

/* Keeps the last non-blank line, even an unfinished one. */
static void log_store_take_bytes (struct last_line *last, struct text bytes)
{
    uint32_t from = bytes.len > SEARCHED_BYTES ? bytes.len - SEARCHED_BYTES : 0;
    last->whole |= from > 0;
    for (uint32_t i = from; i < bytes.len; i++) {
        char c = bytes.ptr[i];
        if (c == '\n' || c == '\r') {
            last->whole = true;
            continue;
        }
        if (last->whole && (c == ' ' || c == '\t' || c == '\0'))
            continue;
        last->len = last->whole ? 0 : last->len;
        last->whole = false;
        if (last->len < OUTPUT_LINE_BYTES)
            last->line[last->len++] = c;
    }
}

void output_watch_add (struct output_watch *watch, uint32_t host, const struct msg_log *piece, uint64_t now_ms)
{
    if (host >= watch->n || piece->bytes.len == 0 || piece->offset > UINT64_MAX - piece->bytes.len)
        return;
    struct last_line *last = &watch->hosts[host];
    if (!attempt_key_equal (&last->key, &piece->key))
        *last = (struct last_line){ .key = piece->key, .whole = true };
    if (piece->offset < last->end)
        return; /* repeated */
    last->whole |= piece->offset > last->end;
    last->end = piece->offset + piece->bytes.len;
    last->at_ms = now_ms;
    log_store_take_bytes (last, piece->bytes);
}

/* UINT64_MAX: it is not known. */
static uint64_t quiet_ms (const struct output_watch *watch, uint32_t host, uint64_t now_ms)
{
    const struct last_line *last = &watch->hosts[host];
    bool heard = attempt_key_equal (&last->key, &watch->key);
    if ((!heard && watch->unheard) || (heard && last->end >= watch->live_bytes))
        return UINT64_MAX;
    uint64_t from_ms = heard ? last->at_ms : watch->since_ms;
    return now_ms > from_ms ? now_ms - from_ms : 0;
}

static struct text log_store_line_of (const struct output_watch *watch, uint32_t host)
{
    const struct last_line *last = &watch->hosts[host];
    return attempt_key_equal (&last->key, &watch->key) ? (struct text){ last->line, last->len } : (struct text){ 0 };
}

struct quiet_host {
    uint32_t host;
    uint64_t quiet_ms;
};

static int quietest_first (const void *a, const void *b)
{
    const struct quiet_host *x = a, *y = b;
    int order = order_u64 (y->quiet_ms, x->quiet_ms);
    return order ? order : x->host < y->host ? -1 : x->host > y->host;
}

static void begin_attempt (struct output_watch *watch, const struct attempt_key *key, uint64_t now_ms)
{
    if (attempt_key_equal (&watch->key, key))
        return;
    watch->key = *key;
    watch->since_ms = now_ms;
    watch->unheard = watch->resumed;
    watch->resumed = false;
}

/* Hosts that stopped printing much earlier are not folded with others. */
static bool log_store_belongs (const struct last_output *group, uint64_t longest_ms, struct text line,
                               uint64_t quiet_ms)
{
    return quiet_ms >= longest_ms / 2 && (line.len == 0) == (group->line.len == 0) &&
           text_equal_but_numbers (group->line, line);
}

static void log_store_add_host (const struct output_watch *watch, const struct quiet_host *quiet, uint32_t n,
                                uint64_t *longest_ms, struct arena *arena, struct fact_output_awaited *out)
{
    struct text line = log_store_line_of (watch, quiet->host);
    uint32_t i = 0;
    while (i < out->groups.n && !log_store_belongs (&out->groups.items[i], longest_ms[i], line, quiet->quiet_ms))
        i++;
    if (i == OUTPUT_GROUPS_MAX)
        return;
    struct last_output *group = &out->groups.items[i];
    if (i == out->groups.n) {
        *group = (struct last_output){ .line = line };
        group->hosts.items = arena_array (arena, n, sizeof (uint32_t));
        longest_ms[out->groups.n++] = quiet->quiet_ms;
    }
    group->quiet_ms = quiet->quiet_ms;
    group->hosts.items[group->hosts.n++] = quiet->host;
}

void output_watch_tell (struct output_watch *watch, const uint32_t *hosts, uint32_t n, uint64_t now_ms,
                        struct arena *arena, struct fact_output_awaited *out)
{
    struct quiet_host *quiet = arena_array (arena, n, sizeof (*quiet));
    uint64_t longest_ms[OUTPUT_GROUPS_MAX];
    uint32_t quiet_n = 0;
    begin_attempt (watch, &out->key, now_ms);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t ms = hosts[i] < watch->n ? quiet_ms (watch, hosts[i], now_ms) : UINT64_MAX;
        if (ms != UINT64_MAX && ms >= QUIET_LEAST_MS)
            quiet[quiet_n++] = (struct quiet_host){ hosts[i], ms };
    }
    sort_items (quiet, quiet_n, sizeof (*quiet), quietest_first);
    out->groups.items = arena_array (arena, OUTPUT_GROUPS_MAX, sizeof (struct last_output));
    for (uint32_t i = 0; i < quiet_n; i++)
        log_store_add_host (watch, &quiet[i], quiet_n, longest_ms, arena, out);
}
