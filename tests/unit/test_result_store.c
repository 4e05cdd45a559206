/* links: attempt */
/* Results that a worker keeps, after every damage of their file. */
#include "test.h"

#include "common/io/atomic_file.h"
#include "worker/attempt/attempt.h"

struct kept {
    char directory[64], path[128];
    struct buf sound;
    uint32_t recalled, changed;
    const struct result *result;
};

static void take (void *owner, const struct result *result)
{
    struct kept *kept = owner;
    kept->recalled++;
    kept->changed += !record_equal (&result_record, result, kept->result);
}

static void count (void *owner, const struct result *result)
{
    *(uint32_t *) owner += result->key.attempt;
}

static int recall_all (const char *directory, result_store_fn *fn, void *owner, struct err *err)
{
    struct result_store store = { .directory = directory };
    int rc = result_store_recall (&store, fn, owner, err);
    result_store_close (&store);
    return rc;
}

/* Writes these bytes, and asks what is there. What was damaged is beside, and is not found again. */
static int recall (struct kept *kept, const void *bytes, size_t len)
{
    char aside[160];
    assert_int_equal (atomic_file_write (kept->path, bytes, len, 0600, NULL), 0);
    int rc = recall_all (kept->directory, take, kept, NULL);
    snprintf (aside, sizeof aside, "%s.0.damaged", kept->path);
    assert_int_equal (unlink (aside), rc == 0 ? -1 : 0);
    if (rc < 0 && len == kept->sound.len)
        assert_int_equal (recall_all (kept->directory, take, kept, NULL), 0);
    return rc;
}

static void begin (struct kept *kept)
{
    strcpy (kept->directory, "/tmp/sliceup-results-XXXXXX");
    assert_non_null (mkdtemp (kept->directory));
    snprintf (kept->path, sizeof kept->path, "%s/" RESULTS_FILE, kept->directory);
}

TEST (a_kept_result_is_recalled_as_it_was_or_not_at_all)
{
    struct kept kept = { .sound = { .max = MSG_MAX_BYTES } };
    struct result result = { .key = { .rung = 1, .pass = PASS_ONCE, .attempt = 1 },
                             .ending = ENDING_EXITED,
                             .code = 3 };
    begin (&kept);
    kept.result = &result;
    struct result_store store = { .directory = kept.directory };
    assert_int_equal (result_store_save (&store, &result, NULL), 0);
    result_store_close (&store);
    assert_int_equal (file_read (kept.path, &kept.sound, NULL), 0);
    size_t used = kept.sound.len;
    while (!kept.sound.ptr[used - 1])
        used--;
    for (size_t at = 0; at < kept.sound.len; at += at < used ? 1 : 100)
        assert_int_equal (recall (&kept, kept.sound.ptr, at), -1);
    for (size_t at = 0; at < used; at++)
        for (int bit = 0; bit < 8; bit++) {
            kept.sound.ptr[at] ^= (uint8_t) (1 << bit);
            assert_int_equal (recall (&kept, kept.sound.ptr, kept.sound.len), -1);
            kept.sound.ptr[at] ^= (uint8_t) (1 << bit);
        }
    assert_int_equal (kept.recalled, 0);
    assert_int_equal (recall (&kept, kept.sound.ptr, kept.sound.len), 0);
    assert_int_equal (kept.recalled, 1);
    assert_int_equal (kept.changed, 0);
    assert_int_equal (folder_remove (kept.directory, NULL), 0);
    buf_release (&kept.sound);
}

/* Numbers of attempts, so that their sum says which are there. */
TEST (what_is_forgotten_makes_room_and_the_others_stay)
{
    struct kept kept = { 0 };
    struct result result = { .key = { .rung = 1, .pass = PASS_ONCE }, .ending = ENDING_EXITED };
    uint32_t sum = 0;
    begin (&kept);
    struct result_store store = { .directory = kept.directory };
    assert_int_equal (result_store_recall (&store, count, &sum, NULL), 0); /* nothing was kept yet */
    for (uint32_t i = 0; i < RESULTS_KEPT_MAX; i++) {
        result.key.attempt = 1U << i;
        assert_int_equal (result_store_save (&store, &result, NULL), 0);
    }
    result.key.attempt = 100;
    assert_int_equal (result_store_save (&store, &result, NULL), -1); /* no room */
    assert_int_equal (result_store_forget (&store, &result.key, NULL), 0);
    assert_int_equal (recall_all (kept.directory, count, &sum, NULL), 0);
    assert_int_equal (sum, (1 << RESULTS_KEPT_MAX) - 1);
    result.key.attempt = 2;
    assert_int_equal (result_store_forget (&store, &result.key, NULL), 0);
    result_store_close (&store);
    store = (struct result_store){ .directory = kept.directory }; /* the next worker */
    sum = 0;
    assert_int_equal (result_store_recall (&store, count, &sum, NULL), 0);
    assert_int_equal (sum, (1 << RESULTS_KEPT_MAX) - 1 - 2);
    result.key.attempt = 100;
    assert_int_equal (result_store_save (&store, &result, NULL), 0);
    result.key.attempt = 4; /* kept by the worker before */
    assert_int_equal (result_store_forget (&store, &result.key, NULL), 0);
    sum = 0;
    assert_int_equal (recall_all (kept.directory, count, &sum, NULL), 0);
    assert_int_equal (sum, (1 << RESULTS_KEPT_MAX) - 1 - 2 - 4 + 100);
    result_store_close (&store);
    assert_int_equal (folder_remove (kept.directory, NULL), 0);
}
