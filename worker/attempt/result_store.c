#include "common/io/atomic_file.h"
#include "common/model/msg.h"
#include "common/wire/wire.h"
#include "worker/attempt/attempt.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The file has a slot for each result, written in place: one sync of bytes that it had before makes a result durable,
 * without a new file or its folder. A slot is a head, the record, and the digest of both: a disk that changed some of
 * them made no other result of it. The head is 0 where nothing is kept, else TAKEN and the length of the record. The file
 * has at least BLOCK_BYTES: a shorter one is damaged. */
enum { TAKEN = 0x4B << 24, LENGTH = 0xFFFFFF, BLOCK_BYTES = 4096, SLOT_BYTES = 2 * MSG_MAX_BYTES };
enum { USED_MAX_BYTES = sizeof (uint32_t) + MSG_MAX_BYTES + sizeof (struct digest) };
static const struct attempt_key no_key;

static int store_failed (const struct result_store *store, const char *what, struct err *err)
{
    return err_errno (err, ERR_IO, "%s/" RESULTS_FILE " cannot be %s", store->directory, what);
}

static uint32_t slot_of (const struct result_store *store, const struct attempt_key *key)
{
    uint32_t slot = 0;
    while (slot < RESULTS_KEPT_MAX && !attempt_key_equal (&store->keys[slot], key))
        slot++;
    return slot;
}

static int slot_write (struct result_store *store, uint32_t slot, const void *bytes, size_t len, struct err *err)
{
    ssize_t written = pwrite (store->fd, bytes, len, (off_t) slot * SLOT_BYTES);
    if (written >= 0 && written != (ssize_t) len)
        errno = ENOSPC; /* a short write has no reason of its own */
    return written == (ssize_t) len ? 0 : store_failed (store, "written", err);
}

static int slot_free (struct result_store *store, uint32_t slot, struct err *err)
{
    store->keys[slot] = no_key;
    return slot_write (store, slot, &(uint32_t){ 0 }, sizeof (uint32_t), err);
}

/* 1: there is none, and it was not to be made. */
static int open_results (struct result_store *store, bool make, struct err *err)
{
    static const char zeros[BLOCK_BYTES];
    char path[PATH_MAX];
    if (store->fd > 0)
        return 0;
    snprintf (path, sizeof path, "%s/" RESULTS_FILE, store->directory);
    store->fd = plain_file_open (path, O_RDWR, err);
    if (store->fd < 0 && errno == ENOENT && !make)
        return 1;
    if (store->fd < 0 && errno == ENOENT && atomic_file_write (path, zeros, sizeof zeros, 0600, err) == 0)
        store->fd = plain_file_open (path, O_RDWR, err);
    return store->fd < 0 ? -1 : 0;
}

void result_store_close (struct result_store *store)
{
    if (store->fd > 0)
        close (store->fd);
}

int result_store_save (struct result_store *store, const struct result *result, struct err *err)
{
    LOCAL_BUF bytes = { .max = USED_MAX_BYTES };
    uint32_t head = TAKEN, slot = slot_of (store, &no_key);
    buf_add (&bytes, &head, sizeof head);
    wire_put_record (&bytes, &result_record, result);
    head |= (uint32_t) (bytes.len - sizeof head);
    memcpy (bytes.ptr, &head, sizeof head);
    struct digest digest = digest_of (bytes.ptr, bytes.len);
    buf_add (&bytes, digest.bytes, sizeof digest.bytes);
    if (bytes.overflow || slot == RESULTS_KEPT_MAX)
        return err_set (err, ERR_LIMIT, "it is larger than %d bytes, or %d are kept", MSG_MAX_BYTES, RESULTS_KEPT_MAX);
    if (open_results (store, true, err) < 0 || slot_write (store, slot, bytes.ptr, bytes.len, err) < 0)
        return -1;
    store->keys[slot] = result->key;
    return fdatasync (store->fd) == 0 ? 0 : store_failed (store, "synced", err);
}

int result_store_forget (struct result_store *store, const struct attempt_key *key, struct err *err)
{
    uint32_t slot = slot_of (store, key);
    return slot < RESULTS_KEPT_MAX ? slot_free (store, slot, err) : 0;
}

static bool slot_read (const uint8_t *bytes, size_t len, uint32_t head, struct result *result, struct arena *arena)
{
    uint32_t used = (uint32_t) sizeof head + (head & LENGTH);
    if ((head & ~(uint32_t) LENGTH) != TAKEN || used + sizeof (struct digest) > len)
        return false;
    struct digest digest = digest_of (bytes, used);
    struct text record = { (const char *) bytes + sizeof head, head & LENGTH };
    return memcmp (bytes + used, digest.bytes, sizeof digest.bytes) == 0 &&
           wire_get_record (record, &result_record, result, arena, NULL) == 0;
}

/* What is damaged goes to a file beside. When even that fails it stays and is reported again at the next start. */
static int recall_slot (struct result_store *store, uint32_t slot, result_store_fn *fn, void *owner, struct err *err)
{
    LOCAL_ARENA arena = { 0 };
    struct result result = { 0 };
    uint8_t *bytes = arena_alloc (&arena, USED_MAX_BYTES);
    ssize_t len = pread (store->fd, bytes, USED_MAX_BYTES, (off_t) slot * SLOT_BYTES);
    uint32_t head = 0;
    memcpy (&head, bytes, len >= (ssize_t) sizeof head ? sizeof head : 0);
    if (len < 0)
        return store_failed (store, "read", err);
    bool whole = slot || len >= BLOCK_BYTES;
    if (whole && !head)
        return 0;
    if (whole && slot_read (bytes, (size_t) len, head, &result, &arena)) {
        store->keys[slot] = result.key;
        fn (owner, &result);
        return 0;
    }
    struct text aside = text_format (&arena, "%s/" RESULTS_FILE ".%u.damaged", store->directory, slot);
    if (atomic_file_write (aside.ptr, bytes, (size_t) len, 0600, NULL) == 0)
        (void) slot_free (store, slot, NULL);
    return err_set (err, ERR_DAMAGE, "%s/" RESULTS_FILE ": a result is not as it was written", store->directory);
}

int result_store_recall (struct result_store *store, result_store_fn *fn, void *owner, struct err *err)
{
    int rc = open_results (store, false, err);
    for (uint32_t slot = 0; store->fd > 0 && slot < RESULTS_KEPT_MAX; slot++)
        if (recall_slot (store, slot, fn, owner, rc == 0 ? err : NULL) < 0)
            rc = -1;
    return rc < 0 ? -1 : 0;
}
