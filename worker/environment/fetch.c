#include "worker/environment/kit.h"

#include "common/base/path.h"
#include "common/io/atomic_file.h"
#include "common/io/fd.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* A piece takes a round trip; what was lost is asked for again after a second, and less and less often. */
enum { AGAIN_FIRST_MS = 1000, AGAIN_MOST_MS = 10000, UNSENT_AGAIN_MS = 100 };
/* All hosts that wait for others ask so often; the coordinator gives a place away when it hears nothing for 15 s. */
enum { WAITING_AGAIN_MS = 500, GOING_MS = 3000, LATE_MS = 1000, HOSTS_LONGEST_MS = 10 * 60 * 1000 };

struct wanted {
    struct text sha256, path;
    struct text to; /* its place in the worker's folder; empty: its name would lead out of it */
    uint64_t bytes_max;
};

struct fetch {
    struct arena arena;
    struct wanted files[FETCH_FILES_MAX];
    uint32_t n, at; /* files[at] is on its way */
    struct fetch_calls calls;
    struct giver giver;             /* port 0: the coordinator */
    enum fetch_word word;           /* for the coordinator, of files[at] */
    uint64_t told_ms;               /* when it was last told that a host gives the file */
    uint64_t given_ms, given_bytes; /* when that began; what the coordinator says that the file has */
    uint64_t hosts_until_ms;        /* then the coordinator sends what is left */
    bool spread;
    int fd;           /* of files[at], beside its place; -1: nothing came of it */
    struct text part; /* its path */
    struct digest_state *digest;
    uint64_t bytes; /* so far */
    uint64_t ask_at_ms, again_ms, received_ms;
    enum fetch_state state;
    struct text problem;
    bool refused; /* by the coordinator */
};

static struct text fetch_path_of (const struct msg_run *run, struct text sha256)
{
    struct kit_list list;
    kit_list_of (run, &list);
    for (uint32_t i = 0; i < list.n; i++)
        if (text_equal (list.items[i].file.sha256, sha256))
            return list.items[i].file.path;
    return text_equal (run->signatures.sha256, sha256) ? run->signatures.path : TEXT_LIT ("?");
}

static struct wanted wanted_of (const struct msg_run *run, struct text sha256, const char *directory,
                                struct arena *arena)
{
    const struct kit_file *wheel = wheels_are_needed (run) ? wheels_find_by_sha256 (run, sha256) : NULL;
    struct wanted wanted = { .sha256 = text_copy (arena, sha256),
                             .path = text_copy (arena, wheel ? wheel->file.path : fetch_path_of (run, sha256)),
                             .bytes_max = wheel ? WHEEL_MAX_BYTES : KIT_FILE_MAX_BYTES };
    struct digest digest;
    if (wheel && wheels_name_is_good (wheel->name))
        wanted.to = text_format (arena, "%s/%.*s", wheels_folder (text_of (directory), arena).ptr,
                                 TEXT_ARG (wheel->name));
    else if (!wheel && digest_parse (sha256, &digest))
        wanted.to = kit_stored_path (directory, sha256, arena);
    return wanted;
}

struct fetch *fetch_start (const struct msg_run *run, const struct text *missing, uint32_t missing_n,
                           const char *directory, const struct fetch_calls *calls, uint64_t until_ms, uint64_t now_ms)
{
    assert (missing_n > 0 && missing_n <= FETCH_FILES_MAX);
    struct fetch *fetch = mem_alloc (sizeof *fetch);
    for (uint32_t i = 0; i < missing_n; i++)
        fetch->files[i] = wanted_of (run, missing[i], directory, &fetch->arena);
    fetch->n = missing_n;
    fetch->calls = *calls;
    fetch->hosts_until_ms = now_ms + least_u64 (until_ms > now_ms ? (until_ms - now_ms) / 2 : 0, HOSTS_LONGEST_MS);
    fetch->ask_at_ms = fetch->received_ms = now_ms;
    fetch->again_ms = AGAIN_FIRST_MS;
    fetch->fd = -1;
    return fetch;
}

/* ---- one file on its way ---- */

static int file_begin (struct fetch *fetch, struct err *err)
{
    const struct wanted *file = &fetch->files[fetch->at];
    if (!file->to.len)
        return err_set (err, ERR_PARSE, "the plan has no valid sha256 or name for it");
    struct text folder = text_copy (&fetch->arena, path_folder (file->to));
    fetch->part = text_format (&fetch->arena, "%.*s.part", TEXT_ARG (file->to));
    if (folder_make (folder.ptr, 0700, err) < 0)
        return -1;
    if (unlink (fetch->part.ptr) < 0 && errno != ENOENT)
        return err_errno (err, ERR_IO, "cannot remove %s, which an earlier worker left", fetch->part.ptr);
    fetch->fd = open (fetch->part.ptr, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0400);
    if (fetch->fd < 0)
        return err_errno (err, ERR_IO, "cannot make %s", fetch->part.ptr);
    fetch->digest = digest_begin ();
    return 0;
}

static int file_add (struct fetch *fetch, struct text bytes, struct err *err)
{
    if (fetch->fd < 0 && file_begin (fetch, err) < 0)
        return -1;
    if (fd_write (fetch->fd, bytes.ptr, bytes.len) < 0)
        return err_errno (err, ERR_IO, "cannot write %s", fetch->part.ptr);
    digest_add (fetch->digest, bytes.ptr, bytes.len);
    fetch->bytes += bytes.len;
    return 0;
}

/* Not synced to the disk: what a power cut left half is seen by its sha256, and fetched anew. */
static int file_put_in_place (struct fetch *fetch, const struct digest *is, int closed, struct err *err)
{
    const struct wanted *file = &fetch->files[fetch->at];
    struct digest wanted;
    if (closed < 0)
        return err_errno (err, ERR_IO, "cannot close %s", fetch->part.ptr);
    if (!digest_parse (file->sha256, &wanted) || !digest_equal (is, &wanted))
        return err_set (err, ERR_DAMAGE, "the file that the coordinator sent has another sha256 than the plan names");
    return rename (fetch->part.ptr, file->to.ptr) < 0
               ? err_errno (err, ERR_IO, "cannot rename the new copy to %s", file->to.ptr)
               : 0;
}

/* Nothing of it stays. */
static void file_drop (struct fetch *fetch)
{
    if (fetch->fd < 0)
        return;
    (void) digest_end (fetch->digest);
    close (fetch->fd);
    unlink (fetch->part.ptr); /* what stays is removed by the next that begins */
    fetch->fd = -1;
    fetch->bytes = 0;
}

/* -1: its sha256 differs, or the disk fails; nothing of it stays then. */
static int file_end (struct fetch *fetch, struct err *err)
{
    struct digest is = digest_end (fetch->digest);
    int closed = close (fetch->fd);
    int rc = file_put_in_place (fetch, &is, closed, err);
    if (rc < 0)
        unlink (fetch->part.ptr);
    fetch->fd = -1;
    fetch->bytes = 0;
    return rc;
}

void fetch_destroy (struct fetch *fetch)
{
    if (!fetch)
        return;
    file_drop (fetch);
    arena_release (&fetch->arena);
    mem_free (fetch);
}

/* ---- all of them ---- */

static void fetch_fail (struct fetch *fetch, struct text why)
{
    fetch->state = FETCH_FAILED;
    fetch->problem = text_format (&fetch->arena, "cannot fetch %.*s%s: %.*s", TEXT_ARG (fetch->files[fetch->at].path),
                                  fetch->refused ? " from the coordinator" : "", TEXT_ARG (why));
}

static void go_on (struct fetch *fetch, uint64_t now_ms)
{
    fetch->received_ms = fetch->ask_at_ms = now_ms;
    fetch->again_ms = AGAIN_FIRST_MS;
    fetch_poll (fetch, now_ms);
}

/* The coordinator sends it from its first byte, so that one host alone answers for all bytes of a file. */
static void host_leave (struct fetch *fetch, enum fetch_word why, uint64_t now_ms)
{
    file_drop (fetch);
    fetch->giver = (struct giver){ 0 };
    fetch->word = why;
    go_on (fetch, now_ms);
}

/* Is there no time left in which a host could show its pace? Then the coordinator sends. */
static bool hosts_are_over (const struct fetch *fetch, uint64_t now_ms)
{
    return now_ms + 2 * FETCH_HOST_SILENCE_MS > fetch->hosts_until_ms;
}

static void host_begin (struct fetch *fetch, const struct msg_chunk *told, uint64_t now_ms)
{
    file_drop (fetch);
    fetch->giver = (struct giver){ text_copy (&fetch->arena, told->giver.address), told->giver.port,
                                   text_copy (&fetch->arena, told->giver.key) };
    fetch->given_bytes = told->size_bytes;
    fetch->told_ms = fetch->given_ms = now_ms;
    go_on (fetch, now_ms);
}

static void tell_have (struct fetch *fetch, uint64_t bytes)
{
    const struct wanted *file = &fetch->files[fetch->at];
    const struct msg_fetch have = { .sha256 = file->sha256, .offset = bytes, .word = SAY_HAVE };
    fetch->calls.have (fetch->calls.owner, &have, file->to.ptr);
}

static void fetch_keep (struct fetch *fetch, uint64_t now_ms)
{
    struct err err = { 0 };
    uint64_t bytes = fetch->bytes;
    if (file_end (fetch, &err) < 0) {
        if (fetch->giver.port && err.code == ERR_DAMAGE)
            host_leave (fetch, SAY_DAMAGED, now_ms);
        else
            fetch_fail (fetch, text_of (err.text));
        return;
    }
    if (fetch->spread)
        tell_have (fetch, bytes);
    fetch->giver = (struct giver){ 0 };
    fetch->word = SAY_WANT;
    fetch->spread = false;
    if (++fetch->at == fetch->n)
        fetch->state = FETCH_DONE;
    else
        go_on (fetch, now_ms);
}

static bool chunk_is_too_long (const struct fetch *fetch, const struct msg_chunk *chunk)
{
    return chunk->size_bytes > fetch->files[fetch->at].bytes_max || fetch->bytes + chunk->bytes.len > chunk->size_bytes;
}

static int fetch_add (struct fetch *fetch, const struct msg_chunk *chunk, struct err *err)
{
    if (chunk_is_too_long (fetch, chunk))
        return err_set (err, ERR_PARSE, "the coordinator sent more bytes than the file has");
    return file_add (fetch, chunk->bytes, err);
}

static bool is_awaited (const struct fetch *fetch, const struct msg_chunk *chunk, bool of_host)
{
    return fetch->state == FETCH_GOING && of_host == (fetch->giver.port != 0) &&
           text_equal (chunk->sha256, fetch->files[fetch->at].sha256) && chunk->offset == fetch->bytes;
}

static void wait_for_place (struct fetch *fetch, uint64_t now_ms)
{
    fetch->received_ms = now_ms;
    fetch->again_ms = AGAIN_FIRST_MS;
    fetch->ask_at_ms = now_ms + WAITING_AGAIN_MS;
}

/* What another host sends is its word alone: nothing of it ends the fetch, or holds it up. */
static bool host_is_wrong (const struct fetch *fetch, const struct msg_chunk *chunk)
{
    return chunk->problem.len || chunk->size_bytes != fetch->given_bytes ||
           chunk->bytes.len != least_u64 (fetch->given_bytes - fetch->bytes, FILE_CHUNK_MAX_BYTES);
}

/* If it goes on like this, with `bytes` so far. The first seconds say nothing: all begin at once. */
static bool host_takes_too_long (const struct fetch *fetch, uint64_t bytes, uint64_t now_ms)
{
    uint64_t since_ms = now_ms - fetch->given_ms, until_ms = fetch->hosts_until_ms;
    uint64_t may_ms = until_ms > fetch->given_ms ? until_ms - fetch->given_ms : 0;
    return since_ms > FETCH_HOST_SILENCE_MS && since_ms * fetch->given_bytes > may_ms * bytes;
}

/* Nobody polled in time: it was this process that stood still, and not who gives. */
static void forgive_own_sleep (struct fetch *fetch, uint64_t now_ms)
{
    if (!fetch->giver.port || now_ms < fetch->ask_at_ms + LATE_MS)
        return;
    fetch->given_ms += now_ms - fetch->ask_at_ms;
    fetch->received_ms = fetch->ask_at_ms = now_ms;
}

void fetch_take (struct fetch *fetch, const struct msg_chunk *chunk, bool of_host, uint64_t now_ms)
{
    struct err err = { 0 };
    if (!is_awaited (fetch, chunk, of_host))
        return; /* repeated, or late */
    forgive_own_sleep (fetch, now_ms);
    fetch->spread |= chunk->spread;
    fetch->refused = chunk->problem.len > 0 && !of_host;
    if (of_host && host_is_wrong (fetch, chunk))
        host_leave (fetch, SAY_FAILED, now_ms);
    else if (of_host && host_takes_too_long (fetch, fetch->bytes + chunk->bytes.len, now_ms))
        host_leave (fetch, SAY_SLOW, now_ms);
    else if (fetch->refused)
        fetch_fail (fetch, chunk->problem);
    else if (chunk->giver.port && !of_host && fetch->bytes == 0 && fetch->word == SAY_WANT)
        host_begin (fetch, chunk, now_ms);
    else if (chunk->spread && !chunk->bytes.len)
        wait_for_place (fetch, now_ms);
    else if (fetch_add (fetch, chunk, &err) < 0)
        fetch_fail (fetch, text_of (err.text));
    else if (fetch->bytes == chunk->size_bytes)
        fetch_keep (fetch, now_ms);
    else if (chunk->bytes.len)
        go_on (fetch, now_ms);
}

static bool fetch_say (struct fetch *fetch, enum fetch_word word, const struct giver *giver)
{
    struct msg_fetch piece = { .sha256 = fetch->files[fetch->at].sha256, .offset = fetch->bytes, .word = word };
    return fetch->calls.ask (fetch->calls.owner, &piece, giver);
}

static void fetch_ask (struct fetch *fetch, uint64_t now_ms)
{
    bool of_host = fetch->giver.port != 0;
    if (of_host && now_ms >= fetch->told_ms + GOING_MS && fetch_say (fetch, SAY_GOING, NULL))
        fetch->told_ms = now_ms;
    if (!of_host && fetch->bytes == 0 && fetch->word == SAY_WANT && hosts_are_over (fetch, now_ms))
        fetch->word = SAY_SLOW; /* like one who has no place at any host */
    if (!fetch_say (fetch, of_host ? SAY_WANT : fetch->word, of_host ? &fetch->giver : NULL)) {
        fetch->ask_at_ms = now_ms + UNSENT_AGAIN_MS;
        return;
    }
    fetch->ask_at_ms = now_ms + fetch->again_ms;
    fetch->again_ms = fetch->again_ms * 2 < AGAIN_MOST_MS ? fetch->again_ms * 2 : AGAIN_MOST_MS;
}

static uint64_t silent_ms (const struct fetch *fetch)
{
    return fetch->received_ms + (fetch->giver.port ? FETCH_HOST_SILENCE_MS : FETCH_SILENCE_MS);
}

void fetch_poll (struct fetch *fetch, uint64_t now_ms)
{
    if (fetch->state != FETCH_GOING)
        return;
    forgive_own_sleep (fetch, now_ms);
    if (now_ms >= silent_ms (fetch) && fetch->giver.port)
        host_leave (fetch, SAY_FAILED, now_ms);
    else if (now_ms >= silent_ms (fetch))
        fetch_fail (
            fetch, text_format (
                       &fetch->arena,
                       "no piece of it arrived for %d s; check whether this host can reach the coordinator's bulk port",
                       FETCH_SILENCE_MS / 1000));
    else if (now_ms >= fetch->ask_at_ms)
        fetch_ask (fetch, now_ms);
}

uint64_t fetch_deadline_ms (const struct fetch *fetch)
{
    return fetch->state == FETCH_GOING ? least_u64 (fetch->ask_at_ms, silent_ms (fetch)) : 0;
}

enum fetch_state fetch_state (const struct fetch *fetch, struct text *problem)
{
    if (problem)
        *problem = fetch->problem;
    return fetch->state;
}

struct text fetch_progress (const struct fetch *fetch, struct arena *arena)
{
    const struct giver *giver = &fetch->giver;
    if (fetch->state != FETCH_GOING)
        return TEXT_LIT ("");
    return text_format (arena, "; %" PRIu64 " bytes of %.*s had come from %s%.*s", fetch->bytes,
                        TEXT_ARG (fetch->files[fetch->at].path), giver->port ? "the host at " : "the coordinator",
                        TEXT_ARG (giver->address));
}

enum owner fetch_owner (const struct fetch *fetch)
{
    return fetch->refused ? OWNER_LAUNCH : OWNER_HOST;
}
