/* links: environment */
#include "common/io/atomic_file.h"
#include "test.h"
#include "worker/environment/installed.h"
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RECORD_SHA256_BYTES = 43 }; /* urlsafe base64, without its padding */

/* An environment with packages whose RECORDs are being written; nothing was installed by anybody. */
struct place {
    char base[64], site[128];
    struct arena arena;
    struct buf record;
    struct buf differences;
    struct installed_files found;
};

static const char *at (struct place *place, const char *path)
{
    return text_format (&place->arena, "%s/%s", place->site, path).ptr;
}

static void put (struct place *place, const char *path, struct text bytes)
{
    char folder[512];
    snprintf (folder, sizeof folder, "%s", at (place, path));
    *strrchr (folder, '/') = '\0';
    assert_int_equal (folder_make (folder, 0755, NULL), 0);
    assert_int_equal (atomic_file_write (at (place, path), bytes.ptr, bytes.len, 0644, NULL), 0);
}

/* A file with its row. */
static void add (struct place *place, const char *path, struct text bytes)
{
    char sha256[RECORD_SHA256_BYTES + 1];
    struct digest digest = digest_of (bytes.ptr, bytes.len);
    digest_base64 (&digest, true, sha256);
    put (place, path, bytes);
    buf_printf (&place->record, "%s,sha256=%s,%u\r\n", path, sha256, bytes.len);
}

static void end_package (struct place *place, const char *name, const char *version)
{
    const char *folder = text_format (&place->arena, "%s-%s.dist-info", name, version).ptr;
    add (place, text_format (&place->arena, "%s/METADATA", folder).ptr,
         text_format (&place->arena, "Metadata-Version: 2.1\nName: %s\nVersion: %s\n\n", name, version));
    buf_printf (&place->record, "%s/RECORD,,\r\n", folder);
    put (place, text_format (&place->arena, "%s/RECORD", folder).ptr, buf_as_text (&place->record));
    buf_clear (&place->record);
}

static void place_open (struct place *place)
{
    snprintf (place->base, sizeof place->base, "/tmp/test_installed_files.XXXXXX");
    assert_non_null (mkdtemp (place->base));
    snprintf (place->site, sizeof place->site, "%s/lib/python3.11/site-packages", place->base);
    buf_init (&place->record, 1 << 20);
    buf_init (&place->differences, 2000);
    add (place, "tool/__init__.py", TEXT_LIT ("one = 1\n"));
    add (place, "tool/lib/libbig.so", TEXT_LIT ("a library of some size"));
    add (place, "tool/libsmall.so.3", TEXT_LIT ("small"));
    buf_puts (&place->record, "tool/__pycache__/__init__.cpython-311.pyc,,\r\n");
    add (place, "../../../bin/tool", TEXT_LIT ("#!/bin/sh\n"));
    end_package (place, "Some_Tool", "1.2");
}

static void place_close (struct place *place)
{
    assert_int_equal (folder_remove (place->base, NULL), 0);
    buf_release (&place->record);
    buf_release (&place->differences);
    arena_release (&place->arena);
}

TEST_FIXTURE (struct place, place_open, place_close)

static const char *look (struct place *place)
{
    struct installed installed;
    struct err err = { 0 };
    buf_clear (&place->differences);
    assert_int_equal (installed_read (place->site, &place->arena, &installed, &err), 0);
    if (installed_files_check (place->site, &installed, &place->arena, &place->found, &place->differences, &err))
        fail_msg ("%s", err.text);
    return buf_c (&place->differences);
}

static void differs (struct place *place, const char *wanted)
{
    assert_string_equal (look (place), wanted);
    assert_int_equal (place->found.differences, wanted[0] ? 1 : 0);
}

TEST_ON (place, files_as_installed_differ_in_nothing)
{
    differs (place, "");
    assert_int_equal (place->found.n, 7);
    assert_int_equal (place->found.unhashed, 0);
    put (place, "tool/__pycache__/other.cpython-311.pyc", TEXT_LIT ("compiled"));
    differs (place, "");
}

/* The same size, and the same time: only reading finds it. */
TEST_ON (place, one_changed_byte_of_a_library_is_found)
{
    struct stat before;
    const char *path = at (place, "tool/lib/libbig.so");
    assert_int_equal (stat (path, &before), 0);
    int fd = open (path, O_WRONLY | O_CLOEXEC);
    assert_int_equal (pwrite (fd, "L", 1, 2), 1);
    assert_int_equal (futimens (fd, (struct timespec[]){ before.st_atim, before.st_mtim }), 0);
    assert_int_equal (close (fd), 0);
    differs (place, "some-tool 1.2: tool/lib/libbig.so differs from its entry in RECORD");
}

TEST_ON (place, what_is_changed_gone_or_replaced_is_named)
{
    const char *path = at (place, "tool/__init__.py");
    put (place, "tool/__init__.py", TEXT_LIT ("one = 1\n\n"));
    differs (place, "some-tool 1.2: tool/__init__.py differs from its entry in RECORD");
    assert_int_equal (unlink (path), 0);
    differs (place, "some-tool 1.2: tool/__init__.py is missing");
    assert_int_equal (mkfifo (path, 0600), 0); /* and nobody waits for a writer */
    differs (place, "some-tool 1.2: tool/__init__.py is no longer a regular file");
    assert_int_equal (unlink (path), 0);
    assert_int_equal (symlink ("/dev/null", path), 0);
    differs (place, "some-tool 1.2: tool/__init__.py cannot be read");
    put (place, "tool/__init__.py", TEXT_LIT ("one = 1\n"));
    put (place, "../../../bin/tool", TEXT_LIT ("#!/bin/bash\n"));
    differs (place, "some-tool 1.2: ../../../bin/tool differs from its entry in RECORD");
}

TEST_ON (place, what_nobody_installed_is_named)
{
    static const char *const extras[] = { "tool/more.py", "sitecustomize.py", "evil.pth", "tool/bare.pyc",
                                          "new/folder/x.so" };
    for (size_t i = 0; i < sizeof extras / sizeof extras[0]; i++) {
        put (place, extras[i], TEXT_LIT ("x"));
        differs (place, text_format (&place->arena, "%s is not in the RECORD file of any package", extras[i]).ptr);
        assert_int_equal (unlink (at (place, extras[i])), 0);
    }
    differs (place, "");
}

TEST_ON (place, of_many_differences_ten_are_named_and_all_counted)
{
    for (uint32_t i = 0; i < 13; i++)
        put (place, text_format (&place->arena, "x%u", i).ptr, TEXT_LIT ("x"));
    assert_has (look (place), "; and 3 more");
    assert_int_equal (place->found.differences, 13);
}

TEST_ON (place, a_record_that_is_none_is_a_difference)
{
    static const char *const bad[] = {
        "../../../../outside,,\n", "/etc/passwd,,\n", "a/../../b,,\n", "a//b,,\n", ",,\n",
        "a,sha256=short,1\n",      "a,,many\n",       "a,,1,2\n",      "\"a,,\n",  "a\n,b\n",
        "lib\xff.so,,\n"
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        put (place, "Some_Tool-1.2.dist-info/RECORD", text_of (bad[i]));
        assert_has (look (place), "of its RECORD file is not valid");
    }
    assert_int_equal (unlink (at (place, "Some_Tool-1.2.dist-info/RECORD")), 0);
    assert_has (look (place), "some-tool 1.2: its RECORD file cannot be read");
}

TEST_ON (place, names_with_commas_and_quotes_are_read)
{
    put (place, "a,\"b\".txt", TEXT_LIT ("x"));
    buf_puts (&place->record, "\"a,\"\"b\"\".txt\",sha256=LXEWQrcmsEQBYnyp-6wy9chTD7GQPMTbAiWHF5IaSIE,1\n");
    end_package (place, "other", "1");
    differs (place, "");
}

/* Two packages brought one file: it is as one of them says. */
TEST_ON (place, a_file_of_two_packages_is_as_one_of_them_says)
{
    add (place, "shared.py", TEXT_LIT ("first"));
    end_package (place, "first", "1");
    add (place, "shared.py", TEXT_LIT ("second"));
    end_package (place, "second", "1");
    differs (place, "");
    put (place, "shared.py", TEXT_LIT ("third"));
    look (place);
    assert_int_equal (place->found.differences, 1);
}

TEST_ON (place, the_largest_libraries_and_libtpu_are_told)
{
    static const char bytes[100] = "library";
    for (uint32_t i = 0; i < LIBRARIES_MAX + 5; i++)
        add (place, text_format (&place->arena, "many/lib%u.so", i).ptr, (struct text){ bytes, 100 - i });
    end_package (place, "many", "1");
    add (place, "libtpu/libtpu.so", TEXT_LIT ("t"));
    end_package (place, "libtpu", "0.0.42");
    differs (place, "");
    assert_int_equal (place->found.libraries_n, LIBRARIES_MAX + 1);
    assert_text (place->found.libraries[0].name, "many/lib0.so");
    assert_int_equal (place->found.libraries[0].bytes, 100);
    assert_text (place->found.libraries[LIBRARIES_MAX].name, "libtpu/libtpu.so");
    struct digest digest = digest_of ("t", 1);
    char hex[DIGEST_HEX_BYTES];
    assert_text (installed_files_libtpu_sha256 (&place->found), digest_hex (&digest, hex));
}

TEST_ON (place, the_digest_is_that_of_the_bytes_wherever_they_lie)
{
    look (place);
    struct digest before = place->found.digest;
    put (place, "../../../bin/tool", TEXT_LIT ("#!/another/place\n"));
    look (place);
    assert_true (digest_equal (&before, &place->found.digest));
    put (place, "tool/__init__.py", TEXT_LIT ("one = 2\n"));
    look (place);
    assert_false (digest_equal (&before, &place->found.digest));
}

/* ---- verified ---- */

/* A change is not trusted for two seconds: waits until the last one is older. */
static struct text settled (struct place *place)
{
    struct text seen = { 0 };
    for (uint32_t i = 0; i < 600 && !seen.len; i++) {
        poll (NULL, 0, 20);
        seen = verified_look (place->base, false, &place->arena);
    }
    assert_true (seen.len > 0);
    return seen;
}

static bool recalls (struct place *place, struct installed_files *found)
{
    return verified_recall (place->base, settled (place), &place->arena, found);
}

TEST_ON (place, what_did_not_change_is_not_read_again)
{
    struct installed_files found = { 0 };
    put (place, "tool/libsmall.so.3", TEXT_LIT ("small"));
    assert_int_equal (verified_look (place->base, false, &place->arena).len, 0); /* changed a moment ago */
    struct text seen = settled (place);
    differs (place, "");
    verified_keep (place->base, seen, &place->found, &place->arena);
    put (place, "tool/__pycache__/__init__.cpython-311.pyc", TEXT_LIT ("compiled"));
    assert_true (recalls (place, &found));
    assert_true (digest_equal (&found.digest, &place->found.digest));
    assert_true (found.n == place->found.n && found.bytes == place->found.bytes && found.libraries_n == 2);
    assert_text (found.libraries[1].name, place->found.libraries[1].name.ptr);
    assert_string_equal (found.libraries[0].sha256, place->found.libraries[0].sha256);
}

/* Its marker is written after the look. */
TEST_ON (place, a_large_one_that_was_just_built_is_looked_at_once_its_files_have_settled)
{
    char large[512], complete[512];
    snprintf (large, sizeof large, "%s/large", place->base);
    snprintf (complete, sizeof complete, "%s/" ENVIRONMENT_COMPLETE, place->base);
    int fd = open (large, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal (ftruncate (fd, (INT64_C (2) << 30) + 1), 0); /* sparse */
    close (fd);
    assert_int_equal (verified_look (place->base, false, &place->arena).len, 0);
    struct text seen = verified_look (place->base, true, &place->arena);
    assert_true (seen.len > 0);
    assert_int_equal (atomic_file_write (complete, "pins", 4, 0600, NULL), 0);
    assert_true (text_equal (seen, settled (place)));
}

TEST_ON (place, a_byte_that_changed_is_seen_although_size_and_time_are_as_they_were)
{
    struct stat st;
    struct installed_files found;
    struct text seen = settled (place);
    look (place);
    verified_keep (place->base, seen, &place->found, &place->arena);
    assert_true (recalls (place, &found));
    const char *path = at (place, "tool/libsmall.so.3");
    assert_int_equal (stat (path, &st), 0);
    int fd = open (path, O_WRONLY);
    assert_true (fd >= 0 && pwrite (fd, "S", 1, 0) == 1 && close (fd) == 0);
    assert_int_equal (utimensat (AT_FDCWD, path, (struct timespec[]){ st.st_atim, st.st_mtim }, 0), 0);
    assert_false (recalls (place, &found));
    add (place, "another.py", TEXT_LIT ("one"));
    assert_false (recalls (place, &found));
}

TEST_ON (place, what_changed_while_it_was_read_is_not_kept)
{
    struct installed_files found;
    struct text seen = settled (place);
    look (place);
    put (place, "tool/libsmall.so.3", TEXT_LIT ("other"));
    (void) settled (place);
    verified_keep (place->base, seen, &place->found, &place->arena);
    assert_false (recalls (place, &found));
    place->found.differences = 1;
    verified_keep (place->base, settled (place), &place->found, &place->arena);
    assert_false (recalls (place, &found));
}

TEST_ON (place, a_record_that_is_damaged_or_open_to_others_counts_for_nothing)
{
    struct installed_files found;
    struct text seen = settled (place);
    look (place);
    verified_keep (place->base, seen, &place->found, &place->arena);
    const char *path = text_format (&place->arena, "%s/.sliceup-verified", place->base).ptr;
    LOCAL_BUF bytes = { .max = 1 << 14 };
    assert_int_equal (file_read (path, &bytes, NULL), 0);
    for (uint32_t i = 0; i < bytes.len; i++) {
        assert_int_equal (atomic_file_write (path, bytes.ptr, i, 0600, NULL), 0);
        assert_false (verified_recall (place->base, seen, &place->arena, &found));
        bytes.ptr[i] ^= 1;
        assert_int_equal (atomic_file_write (path, bytes.ptr, bytes.len, 0600, NULL), 0);
        assert_false (verified_recall (place->base, seen, &place->arena, &found));
        bytes.ptr[i] ^= 1;
    }
    assert_int_equal (atomic_file_write (path, bytes.ptr, bytes.len, 0600, NULL), 0);
    assert_true (recalls (place, &found));
    assert_int_equal (chmod (path, 0644), 0);
    assert_false (recalls (place, &found));
}

/* What the full check looks at is looked at here, too. */
TEST_ON (place, what_looks_like_compiled_or_like_our_own_file_is_looked_at)
{
    static const char *const added[] = { "sitecustomize.pyc", "tool/.sliceup-verified.pth" };
    struct installed_files found;
    for (uint32_t i = 0; i < 2; i++) {
        struct text seen = settled (place);
        look (place);
        place->found.differences = 0;
        verified_keep (place->base, seen, &place->found, &place->arena);
        assert_true (recalls (place, &found));
        put (place, added[i], TEXT_LIT ("import os"));
        assert_false (recalls (place, &found));
    }
}

TEST_ON (place, an_environment_behind_a_link_is_looked_through)
{
    struct installed_files found;
    const char *link = text_format (&place->arena, "%s.link", place->base).ptr;
    assert_int_equal (symlink (place->base, link), 0);
    (void) settled (place);
    struct text seen = verified_look (link, false, &place->arena);
    look (place);
    verified_keep (link, seen, &place->found, &place->arena);
    assert_true (seen.len && verified_recall (link, verified_look (link, false, &place->arena), &place->arena, &found));
    put (place, "tool/libsmall.so.3", TEXT_LIT ("other"));
    (void) settled (place);
    assert_false (verified_recall (link, verified_look (link, false, &place->arena), &place->arena, &found));
    assert_int_equal (unlink (link), 0);
}
