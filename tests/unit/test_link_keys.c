/* links: io */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "common/io/curve_key.h"
#include "common/io/link.h"

static char top[64], path[80];

static int set_up (void **state)
{
    (void) state;
    strcpy (top, "/tmp/link_keys.XXXXXX");
    assert_non_null (mkdtemp (top));
    snprintf (path, sizeof path, "%s/keys", top);
    return 0;
}

static int tear_down (void **state)
{
    (void) state;
    return folder_remove (top, NULL);
}

static void pairs_are_valid_and_differ (void **state)
{
    (void) state;
    struct link_keys one, two;
    struct err err = { 0 };
    link_keys_make (&one);
    link_keys_make (&two);
    assert_int_equal (link_keys_check (&one, &err), 0);
    assert_string_not_equal (one.public_key, two.public_key);
    assert_string_not_equal (one.secret_key, two.secret_key);
}

static void what_is_saved_is_private_and_comes_back (void **state)
{
    (void) state;
    struct link_keys made, loaded;
    struct err err = { 0 };
    struct stat at;
    link_keys_make (&made);
    if (link_keys_save (&made, path, &err) != 0 || link_keys_load (&loaded, path, &err) != 0)
        fail_msg ("%s", err.text);
    assert_memory_equal (&made, &loaded, sizeof made);
    assert_int_equal (stat (path, &at), 0);
    assert_int_equal (at.st_mode & 07777, 0600);
}

static void a_file_others_may_read_is_refused (void **state)
{
    (void) state;
    static const mode_t modes[] = { 0640, 0604, 0620, 0601 };
    struct link_keys made, loaded = { 0 }, nothing = { 0 };
    link_keys_make (&made);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        struct err err = { 0 };
        assert_int_equal (link_keys_save (&made, path, &err), 0);
        assert_int_equal (chmod (path, modes[i]), 0);
        assert_int_equal (link_keys_load (&loaded, path, &err), -1);
        assert_int_equal (err.code, ERR_REFUSED);
        assert_memory_equal (&loaded, &nothing, sizeof loaded);
    }
}

static void a_damaged_file_is_refused_and_its_secret_not_told (void **state)
{
    (void) state;
    struct link_keys made, loaded;
    struct err err = { 0 };
    struct buf file;
    link_keys_make (&made);
    assert_int_equal (link_keys_save (&made, path, &err), 0);
    buf_init (&file, 1000);
    assert_int_equal (file_read (path, &file, &err), 0);
    for (size_t at = 0; at < file.len; at++) {
        uint8_t good = file.ptr[at];
        file.ptr[at] = good == '0' ? '1' : '0';
        assert_int_equal (atomic_file_write (path, file.ptr, file.len, 0600, &err), 0);
        err = (struct err){ 0 };
        if (link_keys_load (&loaded, path, &err) != -1)
            fail_msg ("byte %zu changed, and nobody noticed", at);
        assert_null (strstr (err.text, made.secret_key));
        file.ptr[at] = good;
    }
    for (size_t len = 0; len < file.len; len += 13) {
        assert_int_equal (atomic_file_write (path, file.ptr, len, 0600, &err), 0);
        assert_int_equal (link_keys_load (&loaded, path, &err), -1);
    }
    buf_release (&file);
}

static void a_link_or_a_missing_file_is_refused (void **state)
{
    (void) state;
    struct link_keys made, loaded;
    struct err err = { 0 };
    char link[90];
    link_keys_make (&made);
    assert_int_equal (link_keys_load (&loaded, path, &err), -1);
    assert_int_equal (link_keys_save (&made, path, &err), 0);
    snprintf (link, sizeof link, "%s.link", path);
    assert_int_equal (symlink (path, link), 0);
    assert_int_equal (link_keys_load (&loaded, link, &err), -1);
}

static void mixed_pairs_are_not_saved (void **state)
{
    (void) state;
    struct link_keys one, two;
    struct err err = { 0 };
    link_keys_make (&one);
    link_keys_make (&two);
    memcpy (one.public_key, two.public_key, sizeof one.public_key);
    assert_int_equal (link_keys_save (&one, path, &err), -1);
    assert_int_equal (access (path, F_OK), -1);
}

#define KEYS_TEST(name) cmocka_unit_test_setup_teardown (name, set_up, tear_down)

int main (void)
{
    const struct CMUnitTest tests[] = {
        KEYS_TEST (pairs_are_valid_and_differ),          KEYS_TEST (what_is_saved_is_private_and_comes_back),
        KEYS_TEST (a_file_others_may_read_is_refused),   KEYS_TEST (a_damaged_file_is_refused_and_its_secret_not_told),
        KEYS_TEST (a_link_or_a_missing_file_is_refused), KEYS_TEST (mixed_pairs_are_not_saved),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
