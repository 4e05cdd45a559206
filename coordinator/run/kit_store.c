#include "coordinator/run/driver_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/digest.h"
#include "common/io/atomic_file.h"
#include "coordinator/journal/database.h"

enum { KEPT_MAX_BYTES = 64 << 20 };

struct blob {
    struct file_ref file; /* the plan's */
    struct buf bytes;     /* empty and not kept: on disk only */
    bool kept, reading;
    bool is_wheel;       /* too large to be kept: read piece by piece */
    uint64_t used;       /* last use, as a count of questions */
    uint64_t size_bytes; /* when the run began */
    bool spread;         /* hosts give it to one another */
    struct spread_file at_hosts;
};

struct question {
    struct blob *blob;
    uint64_t offset;
    bool reading; /* a piece of a wheel */
};

/* Where a host gives files to others. */
struct listener {
    uint32_t port;
    char key[LINK_KEY_BYTES], address[NAME_MAX_BYTES + 1];
};

struct kit_store {
    struct blob *blobs; /* sorted by sha256, each once */
    uint32_t n, hosts;
    struct question *waiting; /* per host; no blob: none */
    struct workqueue *workqueue;
    uint64_t questions, kept_bytes;
    bool closing;
    kit_answer_fn *answer;
    kit_complain_fn *complain;
    void *owner;
    const struct plan *plan;
    struct spread *spread;
    struct listener *listeners; /* per host */
    struct attempt_key pass;
};

/* ---- what the plan names ---- */

static void name_file (struct kit_store *store, const struct file_ref *file, bool is_wheel)
{
    if (file->path.len && file->sha256.len)
        store->blobs[store->n++] = (struct blob){ .file = *file, .is_wheel = is_wheel };
}

static int by_sha256 (const void *a, const void *b)
{
    return text_compare (((const struct blob *) a)->file.sha256, ((const struct blob *) b)->file.sha256);
}

static void drop_doubles (struct kit_store *store)
{
    uint32_t kept = 0;
    qsort (store->blobs, store->n, sizeof (*store->blobs), by_sha256);
    for (uint32_t i = 0; i < store->n; i++)
        if (i == 0 || by_sha256 (&store->blobs[kept - 1], &store->blobs[i]) != 0)
            store->blobs[kept++] = store->blobs[i];
    store->n = kept;
}

static uint64_t size_of (const struct file_ref *file)
{
    char path[PATH_MAX_BYTES + 1];
    struct stat status;
    bool known = text_to_c (file->path, path, sizeof path) && stat (path, &status) == 0;
    return known ? (uint64_t) status.st_size : 0;
}

static void name_files (struct kit_store *store, const struct plan *plan)
{
    uint32_t most = 3 + plan->pins.wheels.n;
    for (uint32_t i = 0; i < plan->rungs.n; i++)
        most += 1 + plan->rungs.items[i].files.n;
    store->blobs = mem_array (most, sizeof (*store->blobs));
    name_file (store, &plan->pins.file, false);
    name_file (store, &plan->pins.setup, false);
    name_file (store, &plan->signature_table, false);
    for (uint32_t i = 0; i < plan->rungs.n; i++) {
        const struct rung *rung = &plan->rungs.items[i];
        name_file (store, &rung->program, false);
        for (uint32_t k = 0; k < rung->files.n; k++)
            name_file (store, &rung->files.items[k].file, false);
    }
    for (uint32_t i = 0; i < plan->pins.wheels.n; i++)
        name_file (store, &plan->pins.wheels.items[i].file, true);
    drop_doubles (store);
    for (uint32_t i = 0; i < store->n; i++) {
        buf_init (&store->blobs[i].bytes, KIT_FILE_MAX_BYTES);
        store->blobs[i].size_bytes = store->spread ? size_of (&store->blobs[i].file) : 0;
        store->blobs[i].spread = store->blobs[i].size_bytes >= SPREAD_FILE_LEAST_BYTES;
    }
}

static struct blob *kit_store_find (const struct kit_store *store, struct text sha256)
{
    struct blob wanted = { .file.sha256 = sha256 };
    return store->n ? bsearch (&wanted, store->blobs, store->n, sizeof (wanted), by_sha256) : NULL;
}

/* ---- answers ---- */

static void kit_store_refuse (struct kit_store *store, uint32_t host, struct text sha256, uint64_t offset,
                              struct text why)
{
    struct msg_chunk chunk = { .sha256 = sha256, .offset = offset, .problem = why };
    store->answer (store->owner, host, &chunk);
}

static void hand_out (struct kit_store *store, uint32_t host, struct blob *blob, uint64_t offset)
{
    uint64_t left = offset < blob->bytes.len ? blob->bytes.len - offset : 0;
    struct msg_chunk chunk = {
        .sha256 = blob->file.sha256, .offset = offset, .size_bytes = blob->bytes.len, .spread = blob->spread
    };
    if (left)
        chunk.bytes = (struct text){ (const char *) blob->bytes.ptr + offset,
                                     (uint32_t) (left < FILE_CHUNK_MAX_BYTES ? left : FILE_CHUNK_MAX_BYTES) };
    blob->used = ++store->questions;
    store->answer (store->owner, host, &chunk);
}

/* Empty `why`: sends a piece of the file. */
static void answer_waiting (struct kit_store *store, struct blob *blob, struct text why)
{
    for (uint32_t host = 0; host < store->hosts; host++) {
        struct question question = store->waiting[host];
        if (question.blob != blob)
            continue;
        store->waiting[host].blob = NULL;
        if (why.len)
            kit_store_refuse (store, host, blob->file.sha256, question.offset, why);
        else
            hand_out (store, host, blob, question.offset);
    }
}

/* ---- reading ---- */

struct job {
    struct kit_store *store;
    struct blob *blob;
    struct file_ref file;
    struct buf bytes;
    int rc;
    struct err err;
};

static void read_work (void *owner)
{
    struct job *job = owner;
    char path[PATH_MAX_BYTES + 1];
    struct digest planned, is;
    job->rc = -1;
    if (!text_to_c (job->file.path, path, sizeof (path)) || !digest_parse (job->file.sha256, &planned)) {
        err_set (&job->err, ERR_PARSE, "the plan has no path or no valid sha256 for this file");
        return;
    }
    job->rc = file_read (path, &job->bytes, &job->err);
    if (job->rc < 0)
        return;
    is = digest_of (job->bytes.ptr, job->bytes.len);
    if (!digest_equal (&is, &planned))
        job->rc = err_set (
            &job->err, ERR_DAMAGE,
            "the file was changed after the run began; restore it, or start a new run with the changed file");
}

/* Frees the least used ones, until `bytes` more fit. */
static void kit_store_make_room (struct kit_store *store, size_t bytes)
{
    while (store->kept_bytes + bytes > KEPT_MAX_BYTES) {
        struct blob *oldest = NULL;
        for (uint32_t i = 0; i < store->n; i++)
            if (store->blobs[i].kept && (!oldest || store->blobs[i].used < oldest->used))
                oldest = &store->blobs[i];
        if (!oldest)
            return;
        store->kept_bytes -= oldest->bytes.len;
        oldest->kept = false;
        buf_release (&oldest->bytes);
        buf_init (&oldest->bytes, KIT_FILE_MAX_BYTES);
    }
}

static void kit_store_keep (struct kit_store *store, struct blob *blob, struct buf *bytes)
{
    kit_store_make_room (store, bytes->len);
    struct buf before = blob->bytes;
    blob->bytes = *bytes;
    *bytes = before;
    blob->kept = true;
    blob->used = ++store->questions;
    store->kept_bytes += blob->bytes.len;
}

static void read_done (void *owner)
{
    LOCAL_MEM struct job *job = owner;
    struct kit_store *store = job->store;
    job->blob->reading = false;
    if (job->rc == 0)
        kit_store_keep (store, job->blob, &job->bytes);
    if (!store->closing)
        answer_waiting (store, job->blob, job->rc == 0 ? (struct text){ 0 } : text_of (job->err.text));
    buf_release (&job->bytes);
}

static void begin_reading (struct kit_store *store, struct blob *blob)
{
    struct job *job = mem_alloc (sizeof (*job));
    job->store = store;
    job->blob = blob;
    job->file = blob->file;
    buf_init (&job->bytes, KIT_FILE_MAX_BYTES);
    blob->reading = workqueue_submit (store->workqueue, read_work, read_done, job);
    if (blob->reading)
        return; /* not submitted: hosts ask again */
    buf_release (&job->bytes);
    mem_free (job);
}

/* ---- wheels ---- */

struct piece {
    struct kit_store *store;
    uint32_t host;
    struct file_ref file;
    bool spread;
    uint64_t offset, size_bytes;
    char *bytes;
    uint32_t len;
    struct err err;
};

/* `fd` is closed. */
static void kit_store_read_piece (struct piece *piece, int fd)
{
    struct stat status;
    if (fstat (fd, &status) < 0 || !S_ISREG (status.st_mode) || status.st_size > WHEEL_MAX_BYTES)
        err_set (&piece->err, ERR_DAMAGE, "the file is no longer a regular file of less than 2 GiB");
    else
        piece->size_bytes = (uint64_t) status.st_size;
    piece->bytes = mem_alloc (FILE_CHUNK_MAX_BYTES);
    while (!piece->err.code && piece->len < FILE_CHUNK_MAX_BYTES) {
        ssize_t n = pread (fd, piece->bytes + piece->len, FILE_CHUNK_MAX_BYTES - piece->len,
                           (off_t) (piece->offset + piece->len));
        if (n < 0 && errno != EINTR)
            err_errno (&piece->err, ERR_IO, "the coordinator cannot read the file");
        if (n == 0)
            break;
        piece->len += n > 0 ? (uint32_t) n : 0;
    }
    close (fd);
}

static void piece_work (void *owner)
{
    struct piece *piece = owner;
    char path[PATH_MAX_BYTES + 1];
    int fd = text_to_c (piece->file.path, path, sizeof (path))
                 ? open (path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
                 : -1;
    if (fd < 0)
        err_errno (&piece->err, ERR_IO, "the coordinator can no longer open the file");
    else
        kit_store_read_piece (piece, fd);
}

static void piece_done (void *owner)
{
    LOCAL_MEM struct piece *piece = owner;
    struct kit_store *store = piece->store;
    struct msg_chunk chunk = { .sha256 = piece->file.sha256,
                               .offset = piece->offset,
                               .size_bytes = piece->size_bytes,
                               .bytes = { piece->bytes, piece->len },
                               .spread = piece->spread && piece->len };
    store->waiting[piece->host].reading = false;
    if (!store->closing && piece->err.code)
        kit_store_refuse (store, piece->host, piece->file.sha256, piece->offset, text_of (piece->err.text));
    else if (!store->closing)
        store->answer (store->owner, piece->host, &chunk);
    mem_free (piece->bytes);
}

/* One piece at a time for each host; it repeats other questions. */
static void begin_piece (struct kit_store *store, uint32_t host, const struct blob *blob, uint64_t offset)
{
    if (store->waiting[host].reading)
        return;
    struct piece *piece = mem_alloc (sizeof (*piece));
    *piece =
        (struct piece){ .store = store, .host = host, .file = blob->file, .spread = blob->spread, .offset = offset };
    store->waiting[host].reading = workqueue_submit (store->workqueue, piece_work, piece_done, piece);
    if (!store->waiting[host].reading)
        mem_free (piece);
}

static void give_piece (struct kit_store *store, uint32_t host, struct blob *blob, uint64_t offset)
{
    if (blob->is_wheel) {
        begin_piece (store, host, blob, offset);
    } else if (blob->kept) {
        hand_out (store, host, blob, offset);
    } else {
        store->waiting[host].blob = blob;
        store->waiting[host].offset = offset;
        if (!blob->reading)
            begin_reading (store, blob);
    }
}

/* ---- files that hosts give to one another ---- */

/* What hosts keep for others, they keep for one attempt. */
static void note_pass (struct kit_store *store, const struct attempt_key *pass)
{
    if (record_equal (&attempt_key_record, &store->pass, pass))
        return;
    store->pass = *pass;
    spread_begin (store->spread);
    for (uint32_t i = 0; i < store->n; i++)
        spread_file_clear (&store->blobs[i].at_hosts);
}

/* By number: to look a name up would hold up the worker that asks. A host behind a carried link seems to be this machine, and
 * nobody knows whether others reach it. */
static bool address_for_hosts (const struct kit_store *store, uint32_t host, const char *from, char *out, size_t room)
{
    struct text planned = store->plan->hosts.items[host].address, seen = text_of (from);
    bool here = store->plan->launcher == LAUNCHER_LOCAL;
    if (!here && (!seen.len || address_is_loopback (seen) || text_equal (seen, store->plan->start.listen)))
        return false;
    bool by_plan = address_is_ip (planned) && (here || !address_is_loopback (planned));
    return text_to_c (by_plan ? planned : seen, out, room);
}

static void note_listener (struct kit_store *store, uint32_t host, struct blob *blob, const struct msg_fetch *said,
                           const char *from)
{
    struct listener *listener = &store->listeners[host];
    bool gives = said->port && said->key.len == LINK_KEY_BYTES - 1 &&
                 address_for_hosts (store, host, from, listener->address, sizeof listener->address) &&
                 text_to_c (said->key, listener->key, sizeof listener->key);
    if (gives)
        listener->port = said->port;
    spread_have (store->spread, &blob->at_hosts, host, gives);
}

/* False: the coordinator gives the piece itself. */
static bool send_elsewhere (struct kit_store *store, uint32_t host, struct blob *blob, uint64_t now_ms)
{
    uint32_t giver = SPREAD_COORDINATOR;
    struct msg_chunk chunk = { .sha256 = blob->file.sha256, .size_bytes = blob->size_bytes, .spread = true };
    enum spread_word word = spread_want (store->spread, &blob->at_hosts, host, now_ms, &giver);
    if (word == SPREAD_SEND)
        return false;
    if (word == SPREAD_ASK)
        chunk.giver = (struct giver){ text_of (store->listeners[giver].address), store->listeners[giver].port,
                                      text_of (store->listeners[giver].key) };
    store->answer (store->owner, host, &chunk);
    return true;
}

/* False: the piece that it asks for is to be given. */
static bool is_answered_elsewhere (struct kit_store *store, uint32_t host, struct blob *blob,
                                   const struct msg_fetch *ask, const char *from, uint64_t now_ms)
{
    spread_go_on (store->spread, host, ask->word == SAY_GOING && ask->offset > 0, now_ms);
    switch (ask->word) {
    case SAY_HAVE: note_listener (store, host, blob, ask, from); return true;
    case SAY_GOING: return true;
    case SAY_WANT: return ask->offset == 0 && send_elsewhere (store, host, blob, now_ms);
    case SAY_FAILED:
    case SAY_DAMAGED:
    case SAY_SLOW: break;
    }
    uint32_t giver = spread_fail (store->spread, host, ask->word);
    if (giver != SPREAD_COORDINATOR)
        store->complain (store->owner, giver, host, ask->word);
    return false;
}

void kit_store_answer (struct kit_store *store, uint32_t host, const struct msg_fetch *ask,
                       const struct attempt_key *pass, const char *from, uint64_t now_ms)
{
    struct blob *blob = kit_store_find (store, ask->sha256);
    if (store->spread)
        note_pass (store, pass);
    if (blob == NULL)
        kit_store_refuse (store, host, ask->sha256, ask->offset,
                          TEXT_LIT ("the plan of this run has no file with this sha256"));
    else if (!blob->spread || !is_answered_elsewhere (store, host, blob, ask, from, now_ms))
        give_piece (store, host, blob, ask->offset);
}

/* ---- life ---- */

struct kit_store *kit_store_open (struct loop *loop, const struct plan *plan, kit_answer_fn *answer,
                                  kit_complain_fn *complain, void *owner, struct err *err)
{
    struct kit_store *store = mem_alloc (sizeof (*store));
    store->hosts = plan->hosts.n;
    store->waiting = mem_array (plan->hosts.n, sizeof (*store->waiting));
    store->answer = answer;
    store->complain = complain;
    store->owner = owner;
    store->plan = plan;
    if (plan->hosts.n > SPREAD_HOSTS_ABOVE && !plan->start.sends_all) {
        store->spread = spread_make (plan->hosts.n);
        store->listeners = mem_array (plan->hosts.n, sizeof *store->listeners);
    }
    name_files (store, plan);
    store->workqueue = workqueue_open (loop, err);
    if (store->workqueue)
        return store;
    kit_store_close (store);
    return NULL;
}

void kit_store_close (struct kit_store *store)
{
    if (store == NULL)
        return;
    store->closing = true;
    workqueue_close (store->workqueue);
    for (uint32_t i = 0; i < store->n; i++) {
        buf_release (&store->blobs[i].bytes);
        spread_file_clear (&store->blobs[i].at_hosts);
    }
    spread_destroy (store->spread);
    if (store->listeners)
        explicit_bzero (store->listeners, store->hosts * sizeof *store->listeners);
    mem_free (store->listeners);
    mem_free (store->blobs);
    mem_free (store->waiting);
    mem_free (store);
}
