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

/* Writes these bytes, and asks what is there. The next one finds the place empty. */
static int recall (struct kept *kept, const void *bytes, size_t len, struct err *err)
{
    char aside[160];
    assert_int_equal (atomic_file_write (kept->path, bytes, len, 0600, NULL), 0);
    int rc = result_store_recall (kept->directory, take, kept, err);
    snprintf (aside, sizeof aside, "%s.damaged", kept->path);
    assert_int_equal (unlink (aside), rc == 0 ? -1 : 0);
    return rc;
}

TEST (a_kept_result_is_recalled_as_it_was_or_not_at_all)
{
    struct kept kept = { .directory = "/tmp/sliceup-results-XXXXXX", .sound = { .max = MSG_MAX_BYTES } };
    struct result result = { .key = { .rung = 1, .pass = PASS_ONCE, .attempt = 1 },
                             .ending = ENDING_EXITED,
                             .code = 3 };
    struct err err;
    kept.result = &result;
    assert_non_null (mkdtemp (kept.directory));
    assert_int_equal (result_store_save (kept.directory, &result, NULL), 0);
    snprintf (kept.path, sizeof kept.path, "%s/results/1.once.1.mp", kept.directory);
    assert_int_equal (file_read (kept.path, &kept.sound, NULL), 0);
    for (size_t at = 0; at < kept.sound.len; at++) {
        assert_int_equal (recall (&kept, kept.sound.ptr, at, &err), -1);
        for (int bit = 0; bit < 8; bit++) {
            ((uint8_t *) kept.sound.ptr)[at] ^= (uint8_t) (1 << bit);
            assert_int_equal (recall (&kept, kept.sound.ptr, kept.sound.len, &err), -1);
            ((uint8_t *) kept.sound.ptr)[at] ^= (uint8_t) (1 << bit);
        }
    }
    assert_int_equal (kept.recalled, 0);
    assert_int_equal (recall (&kept, kept.sound.ptr, kept.sound.len, &err), 0);
    assert_int_equal (kept.recalled, 1);
    assert_int_equal (kept.changed, 0);
    assert_int_equal (result_store_forget (kept.directory, &result.key, NULL), 0);
    snprintf (kept.path, sizeof kept.path, "%s/results", kept.directory);
    assert_int_equal (rmdir (kept.path), 0);
    assert_int_equal (rmdir (kept.directory), 0);
    buf_release (&kept.sound);
}
