/* fetch.c - see fetch.h. */
#include "worker/io/fetch.h"

#include <assert.h>
#include <inttypes.h>

/* A piece takes a round trip; what was lost is asked for again after a second, and less and less often. */
enum { AGAIN_FIRST_MS = 1000, AGAIN_MOST_MS = 10000, UNSENT_AGAIN_MS = 100 };

struct wanted { struct text sha256, path; };

struct fetch {
    struct arena arena;
    struct wanted files[KIT_FILES_MAX];
    uint32_t n, at;             /* files[at] is on its way */
    const char *directory;
    fetch_fn *fn;
    void *owner;
    struct buf bytes;           /* of files[at], so far */
    uint64_t ask_at_ms, again_ms, heard_ms;
    enum fetch_state state;
    struct text problem;
};

static struct text path_of (const struct kit_list *list, struct text sha256)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (text_equal (list->items[i].file.sha256, sha256))
            return list->items[i].file.path;
    return TEXT_LIT ("?");
}

struct fetch *fetch_start (const struct kit_list *list, const struct text *missing, uint32_t missing_n,
                           const char *directory, fetch_fn *fn, void *owner, uint64_t now_ms)
{
    assert (missing_n > 0 && missing_n <= KIT_FILES_MAX);
    struct fetch *fetch = mem_alloc (sizeof *fetch);
    for (uint32_t i = 0; i < missing_n; i++) {
        fetch->files[i].sha256 = text_copy (&fetch->arena, missing[i]);
        fetch->files[i].path = text_copy (&fetch->arena, path_of (list, missing[i]));
    }
    fetch->n = missing_n;
    fetch->directory = directory;
    fetch->fn = fn;
    fetch->owner = owner;
    fetch->ask_at_ms = fetch->heard_ms = now_ms;
    fetch->again_ms = AGAIN_FIRST_MS;
    buf_init (&fetch->bytes, KIT_FILE_MAX_BYTES);
    return fetch;
}

void fetch_destroy (struct fetch *fetch)
{
    if (!fetch)
        return;
    buf_release (&fetch->bytes);
    arena_release (&fetch->arena);
    mem_free (fetch);
}

static void fail (struct fetch *fetch, struct text why)
{
    fetch->state = FETCH_FAILED;
    fetch->problem = text_format (&fetch->arena, "%.*s could not be brought here: %.*s",
                                  TEXT_ARG (fetch->files[fetch->at].path), TEXT_ARG (why));
}

static void go_on (struct fetch *fetch, uint64_t now_ms)
{
    fetch->heard_ms = fetch->ask_at_ms = now_ms;
    fetch->again_ms = AGAIN_FIRST_MS;
    fetch_turn (fetch, now_ms);
}

static void keep (struct fetch *fetch, uint64_t now_ms)
{
    struct digest is = digest_of (fetch->bytes.ptr, fetch->bytes.len), wanted;
    struct text sha256 = fetch->files[fetch->at].sha256;
    struct err err = { 0 };
    if (!digest_parse (sha256, &wanted) || !digest_equal (&is, &wanted)) {
        fail (fetch, TEXT_LIT ("what the coordinator sent does not have the sha256 of the plan"));
    } else if (kit_keep (fetch->directory, sha256, buf_as_text (&fetch->bytes), &err) < 0) {
        fail (fetch, text_of (err.text));
    } else {
        buf_clear (&fetch->bytes);
        if (++fetch->at == fetch->n)
            fetch->state = FETCH_DONE;
        else
            go_on (fetch, now_ms);
    }
}

void fetch_take (struct fetch *fetch, const struct msg_chunk *chunk, uint64_t now_ms)
{
    if (fetch->state != FETCH_GOING || !text_equal (chunk->sha256, fetch->files[fetch->at].sha256)
        || chunk->offset != fetch->bytes.len)
        return; /* repeated, or late */
    if (chunk->problem.len) {
        fail (fetch, chunk->problem);
        return;
    }
    buf_text (&fetch->bytes, chunk->bytes);
    if (fetch->bytes.overflow || fetch->bytes.len > chunk->size_bytes)
        fail (fetch, TEXT_LIT ("the coordinator sent more than the file has"));
    else if (fetch->bytes.len == chunk->size_bytes)
        keep (fetch, now_ms);
    else if (chunk->bytes.len)
        go_on (fetch, now_ms);
}

static void ask (struct fetch *fetch, uint64_t now_ms)
{
    struct msg_fetch piece = { .sha256 = fetch->files[fetch->at].sha256, .offset = fetch->bytes.len };
    if (!fetch->fn (fetch->owner, &piece)) {
        fetch->ask_at_ms = now_ms + UNSENT_AGAIN_MS;
        return;
    }
    fetch->ask_at_ms = now_ms + fetch->again_ms;
    fetch->again_ms = fetch->again_ms * 2 < AGAIN_MOST_MS ? fetch->again_ms * 2 : AGAIN_MOST_MS;
}

void fetch_turn (struct fetch *fetch, uint64_t now_ms)
{
    if (fetch->state != FETCH_GOING)
        return;
    if (now_ms >= fetch->heard_ms + FETCH_SILENCE_MS)
        fail (fetch, text_format (&fetch->arena, "no piece of it came for %d s; is the coordinator's bulk port open to "
                                  "this host?", FETCH_SILENCE_MS / 1000));
    else if (now_ms >= fetch->ask_at_ms)
        ask (fetch, now_ms);
}

uint64_t fetch_deadline_ms (const struct fetch *fetch)
{
    uint64_t silent_ms = fetch->heard_ms + FETCH_SILENCE_MS;
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
