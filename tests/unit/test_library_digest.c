/* links: facts */
#include "common/io/atomic_file.h"
#include "test.h"
#include "worker/facts/host_fact_list.h"

struct place {
    char folder[64], path[96];
    struct arena arena;
    struct text hex;
    uint64_t bytes;
    struct err err;
};

static void place_open (struct place *place)
{
    snprintf (place->folder, sizeof place->folder, "/tmp/sliceup-library-XXXXXX");
    assert_non_null (mkdtemp (place->folder));
    snprintf (place->path, sizeof place->path, "%s/lib.so", place->folder);
}

static void place_close (struct place *place)
{
    assert_int_equal (folder_remove (place->folder, NULL), 0);
    arena_release (&place->arena);
}

TEST_FIXTURE (struct place, place_open, place_close)

static int digest (struct place *place, const char *path)
{
    return library_xxh128 (path, &place->arena, &place->hex, &place->bytes, &place->err);
}

/* Known answers of the algorithm's own command, xxh128sum. */
TEST_ON (place, the_digest_is_the_one_that_xxh128sum_prints)
{
    assert_int_equal (atomic_file_write (place->path, "", 0, 0644, NULL), 0);
    assert_int_equal (digest (place, place->path), 0);
    assert_text (place->hex, "99aa06d3014798d86001c324468d497f");
    assert_int_equal (place->bytes, 0);
    assert_int_equal (atomic_file_write (place->path, "abc", 3, 0644, NULL), 0);
    assert_int_equal (digest (place, place->path), 0);
    assert_text (place->hex, "06b05ab6733a618578af5f94892f3950");
    assert_int_equal (place->bytes, 3);
}

/* Size and times are put back at once. */
TEST_ON (place, a_changed_byte_is_found_though_size_and_mtime_are_equal)
{
    char *bytes = mem_alloc (3 << 20), first[LIBRARY_HEX_BYTES + 1];
    struct stat st;
    assert_int_equal (atomic_file_write (place->path, bytes, 3 << 20, 0644, NULL), 0);
    mem_free (bytes);
    assert_int_equal (stat (place->path, &st), 0);
    assert_int_equal (digest (place, place->path), 0);
    assert_true (text_to_c (place->hex, first, sizeof first));
    int fd = open (place->path, O_WRONLY | O_CLOEXEC);
    struct timespec times[2] = { st.st_atim, st.st_mtim };
    assert_int_equal (pwrite (fd, "x", 1, (3 << 20) - 1), 1);
    assert_int_equal (futimens (fd, times), 0);
    close (fd);
    assert_int_equal (digest (place, place->path), 0);
    assert_false (text_is (place->hex, first));
}

/* Time stamps are coarse: within one tick of them, two contents bear the same. */
TEST_ON (place, a_change_right_after_the_reading_is_found)
{
    int fd = open (place->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true (fd >= 0);
    for (int i = 0; i < 50; i++) {
        assert_int_equal (pwrite (fd, "a", 1, 0), 1);
        assert_int_equal (digest (place, place->path), 0);
        struct text first = place->hex;
        assert_int_equal (pwrite (fd, "b", 1, 0), 1);
        assert_int_equal (digest (place, place->path), 0);
        assert_false (text_equal (place->hex, first));
    }
    close (fd);
}

TEST_ON (place, what_is_no_library_is_refused_and_nothing_is_set)
{
    char path[128];
    place->hex = TEXT_LIT ("as before");
    assert_int_equal (digest (place, place->folder), -1);
    assert_has (place->err.text, "not a regular file");
    snprintf (path, sizeof path, "%s/none.so", place->folder);
    assert_int_equal (digest (place, path), -1);
    assert_has (place->err.text, "none.so");
    snprintf (path, sizeof path, "%s/pipe", place->folder);
    assert_int_equal (mkfifo (path, 0600), 0);
    assert_int_equal (digest (place, path), -1);
    snprintf (path, sizeof path, "%s/huge", place->folder);
    int fd = open (path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true (fd >= 0);
    assert_int_equal (ftruncate (fd, (off_t) LIBRARY_BYTES_MAX + 1), 0);
    close (fd);
    assert_int_equal (digest (place, path), -1);
    assert_int_equal (place->err.code, ERR_LIMIT);
    assert_text (place->hex, "as before");
}
