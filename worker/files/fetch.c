#include "worker/files/fetch.h"

#include "worker/files/wheels.h"
#include <assert.h>

/* A piece takes a round trip; what was lost is asked for again after a second, and less and less often. */
enum { AGAIN_FIRST_MS = 1000, AGAIN_MOST_MS = 10000, UNSENT_AGAIN_MS = 100 };

struct wanted {
    struct text sha256, path;
    struct text wheel; /* its name, when it is one: then it goes to the disk as it comes */
};

struct fetch {
    struct arena arena;
    struct wanted files[FETCH_FILES_MAX];
    uint32_t n, at; /* files[at] is on its way */
    const char *directory;
    fetch_request_fn *fn;
    void *owner;
    struct buf bytes; /* of files[at], so far; of a wheel only when it is begun */
    struct wheel *wheel;
    uint64_t ask_at_ms, again_ms, received_ms;
    enum fetch_state state;
    struct text problem;
    bool refused; /* by the coordinator */
};

static struct text path_of (const struct msg_run *run, struct text sha256)
{
    struct kit_list list;
    kit_list_of (run, &list);
    for (uint32_t i = 0; i < list.n; i++)
        if (text_equal (list.items[i].file.sha256, sha256))
            return list.items[i].file.path;
    return text_equal (run->signatures.sha256, sha256) ? run->signatures.path : TEXT_LIT ("?");
}

static struct wanted wanted_of (const struct msg_run *run, struct text sha256, struct arena *arena)
{
    const struct kit_file *wheel = wheels_are_needed (run) ? wheels_find_by_sha256 (run, sha256) : NULL;
    return (struct wanted){ text_copy (arena, sha256),
                            text_copy (arena, wheel ? wheel->file.path : path_of (run, sha256)),
                            wheel ? text_copy (arena, wheel->name) : (struct text){ 0 } };
}

struct fetch *fetch_start (const struct msg_run *run, const struct text *missing, uint32_t missing_n,
                           const char *directory, fetch_request_fn *fn, void *owner, uint64_t now_ms)
{
    assert (missing_n > 0 && missing_n <= FETCH_FILES_MAX);
    struct fetch *fetch = mem_alloc (sizeof *fetch);
    for (uint32_t i = 0; i < missing_n; i++)
        fetch->files[i] = wanted_of (run, missing[i], &fetch->arena);
    fetch->n = missing_n;
    fetch->directory = directory;
    fetch->fn = fn;
    fetch->owner = owner;
    fetch->ask_at_ms = fetch->received_ms = now_ms;
    fetch->again_ms = AGAIN_FIRST_MS;
    buf_init (&fetch->bytes, KIT_FILE_MAX_BYTES);
    return fetch;
}

void fetch_destroy (struct fetch *fetch)
{
    if (!fetch)
        return;
    wheel_drop (fetch->wheel);
    buf_release (&fetch->bytes);
    arena_release (&fetch->arena);
    mem_free (fetch);
}

static void fail (struct fetch *fetch, struct text why)
{
    fetch->state = FETCH_FAILED;
    fetch->problem = text_format (&fetch->arena, "cannot fetch %.*s from the coordinator: %.*s",
                                  TEXT_ARG (fetch->files[fetch->at].path), TEXT_ARG (why));
}

static void go_on (struct fetch *fetch, uint64_t now_ms)
{
    fetch->received_ms = fetch->ask_at_ms = now_ms;
    fetch->again_ms = AGAIN_FIRST_MS;
    fetch_poll (fetch, now_ms);
}

static uint64_t have_bytes (const struct fetch *fetch)
{
    return fetch->wheel ? wheel_received_bytes (fetch->wheel) : fetch->bytes.len;
}

static int keep_file (struct fetch *fetch, struct text sha256, struct err *err)
{
    struct digest is = digest_of (fetch->bytes.ptr, fetch->bytes.len), wanted;
    if (!digest_parse (sha256, &wanted) || !digest_equal (&is, &wanted))
        return err_set (err, ERR_DAMAGE, "the file that the coordinator sent has another sha256 than the plan names");
    if (kit_store_file (fetch->directory, sha256, buf_as_text (&fetch->bytes), err) < 0)
        return -1;
    buf_clear (&fetch->bytes);
    return 0;
}

static int keep_wheel (struct fetch *fetch, struct text sha256, struct err *err)
{
    struct wheel *wheel = fetch->wheel;
    fetch->wheel = NULL;
    return wheel_end (wheel, sha256, err);
}

static void keep (struct fetch *fetch, uint64_t now_ms)
{
    struct text sha256 = fetch->files[fetch->at].sha256;
    struct err err = { 0 };
    if ((fetch->wheel ? keep_wheel : keep_file) (fetch, sha256, &err) < 0)
        fail (fetch, text_of (err.text));
    else if (++fetch->at == fetch->n)
        fetch->state = FETCH_DONE;
    else
        go_on (fetch, now_ms);
}

static int add (struct fetch *fetch, const struct msg_chunk *chunk, struct err *err)
{
    const struct wanted *file = &fetch->files[fetch->at];
    if (chunk->size_bytes > (file->wheel.len ? (uint64_t) WHEEL_MAX_BYTES : (uint64_t) KIT_FILE_MAX_BYTES) ||
        have_bytes (fetch) + chunk->bytes.len > chunk->size_bytes)
        return err_set (err, ERR_PARSE, "the coordinator sent more bytes than the file has");
    if (file->wheel.len && !fetch->wheel && !(fetch->wheel = wheel_begin (fetch->directory, file->wheel, err)))
        return -1;
    if (fetch->wheel)
        return wheel_add (fetch->wheel, chunk->bytes, err);
    buf_add_text (&fetch->bytes, chunk->bytes);
    return 0;
}

void fetch_take (struct fetch *fetch, const struct msg_chunk *chunk, uint64_t now_ms)
{
    struct err err = { 0 };
    if (fetch->state != FETCH_GOING || !text_equal (chunk->sha256, fetch->files[fetch->at].sha256) ||
        chunk->offset != have_bytes (fetch))
        return; /* repeated, or late */
    fetch->refused = chunk->problem.len > 0;
    if (fetch->refused)
        fail (fetch, chunk->problem);
    else if (add (fetch, chunk, &err) < 0)
        fail (fetch, text_of (err.text));
    else if (have_bytes (fetch) == chunk->size_bytes)
        keep (fetch, now_ms);
    else if (chunk->bytes.len)
        go_on (fetch, now_ms);
}

static void ask (struct fetch *fetch, uint64_t now_ms)
{
    struct msg_fetch piece = { .sha256 = fetch->files[fetch->at].sha256, .offset = have_bytes (fetch) };
    if (!fetch->fn (fetch->owner, &piece)) {
        fetch->ask_at_ms = now_ms + UNSENT_AGAIN_MS;
        return;
    }
    fetch->ask_at_ms = now_ms + fetch->again_ms;
    fetch->again_ms = fetch->again_ms * 2 < AGAIN_MOST_MS ? fetch->again_ms * 2 : AGAIN_MOST_MS;
}

void fetch_poll (struct fetch *fetch, uint64_t now_ms)
{
    if (fetch->state != FETCH_GOING)
        return;
    if (now_ms >= fetch->received_ms + FETCH_SILENCE_MS)
        fail (fetch,
              text_format (
                  &fetch->arena,
                  "no piece of it arrived for %d s; check whether this host can reach the coordinator's bulk port",
                  FETCH_SILENCE_MS / 1000));
    else if (now_ms >= fetch->ask_at_ms)
        ask (fetch, now_ms);
}

uint64_t fetch_deadline_ms (const struct fetch *fetch)
{
    uint64_t silent_ms = fetch->received_ms + FETCH_SILENCE_MS;
    if (fetch->state != FETCH_GOING)
        return 0;
    return fetch->ask_at_ms < silent_ms ? fetch->ask_at_ms : silent_ms;
}

enum fetch_state fetch_state (const struct fetch *fetch, struct text *problem)
{
    if (problem)
        *problem = fetch->problem;
    return fetch->state;
}

enum owner fetch_owner (const struct fetch *fetch)
{
    return fetch->refused ? OWNER_LAUNCH : OWNER_HOST;
}
