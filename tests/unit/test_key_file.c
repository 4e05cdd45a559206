/* links: monitor czmq */
/* Key files: what is written czmq loads, what was written before is read, and who else could use one is asked first. */

#include "common/io/atomic_file.h"
#include "common/io/link.h"
#include "coordinator/monitor/key_file.h"
#include "test.h"
#include <czmq.h>

#define PUBLIC "9yi>WlZF{EeR4pPqbz:sVYI2dmqKG6fS<55kZKO&"
#define SECRET "]K/zYM0#jMYzJ1v!!i9J*^L[33*mCMFx?ZSRO4Q0"
#define OTHER "FodRzLHn&VXC$?^bY-/%gNoUo=]g*OIuYR<DA?#w"
#define RUN "00112233445566778899aabbccddeeff"

static char top[64], path[80];

static int set_up (void **state)
{
    (void) state;
    strcpy (top, "/tmp/key_file.XXXXXX");
    assert_non_null (mkdtemp (top));
    snprintf (path, sizeof path, "%s/keys", top);
    return 0;
}

static int tear_down (void **state)
{
    (void) state;
    return folder_remove (top, NULL);
}

static void write_file (const void *bytes, size_t len)
{
    assert_int_equal (atomic_file_write (path, bytes, len, 0600, NULL), 0);
}

static void expect_pair (const char *public_key, const char *secret_key)
{
    struct link_keys keys = { 0 };
    struct err err = { 0 };
    if (key_file_load (&keys, path, &err) != 0)
        fail_msg ("%s", err.text);
    assert_string_equal (keys.public_key, public_key);
    assert_string_equal (keys.secret_key, secret_key);
}

static void refused (enum err_code code)
{
    struct link_keys keys = { 0 }, nothing = { 0 };
    struct err err = { 0 };
    assert_int_equal (key_file_load (&keys, path, &err), -1);
    if (err.code != code || strstr (err.text, SECRET) || memcmp (&keys, &nothing, sizeof keys) != 0)
        fail_msg ("%d: %s", (int) err.code, err.text);
}

/* ---- pairs ---- */

TEST_IN (what_is_saved_is_private_and_czmq_loads_it, set_up, tear_down)
{
    const struct link_keys keys = { PUBLIC, SECRET };
    struct stat at;
    assert_int_equal (key_file_save (&keys, path, NULL), 0);
    assert_int_equal (stat (path, &at), 0);
    assert_int_equal (at.st_mode & 07777, 0600);
    expect_pair (PUBLIC, SECRET);
    zcert_t *certificate = zcert_load (path);
    assert_non_null (certificate);
    assert_string_equal (zcert_public_txt (certificate), PUBLIC);
    assert_string_equal (zcert_secret_txt (certificate), SECRET);
    zcert_destroy (&certificate);
}

TEST_IN (what_czmq_saves_is_loaded, set_up, tear_down)
{
    zcert_t *certificate = zcert_new ();
    zcert_set_meta (certificate, "email", "%s", "nobody@example.org");
    assert_int_equal (zcert_save_secret (certificate, path), 0);
    expect_pair (zcert_public_txt (certificate), zcert_secret_txt (certificate));
    assert_int_equal (zcert_save_public (certificate, path), 0);
    assert_int_equal (chmod (path, 0600), 0);
    refused (ERR_DAMAGE);
    zcert_destroy (&certificate);
}

TEST_IN (what_others_may_use_is_refused, set_up, tear_down)
{
    static const mode_t modes[] = { 0640, 0604, 0620, 0601 };
    const struct link_keys keys = { PUBLIC, SECRET };
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        assert_int_equal (key_file_save (&keys, path, NULL), 0);
        assert_int_equal (chmod (path, modes[i]), 0);
        refused (ERR_REFUSED);
    }
    assert_int_equal (key_file_save (&keys, path, NULL), 0);
    if (geteuid () == 0) {
        assert_int_equal (chown (path, 12345, (gid_t) -1), 0);
        refused (ERR_REFUSED);
    }
}

TEST_IN (links_folders_and_nothing_are_refused, set_up, tear_down)
{
    const struct link_keys keys = { PUBLIC, SECRET };
    char target[100];
    refused (ERR_IO);
    snprintf (target, sizeof target, "%s.real", path);
    assert_int_equal (key_file_save (&keys, target, NULL), 0);
    assert_int_equal (symlink (target, path), 0);
    refused (ERR_IO);
    assert_int_equal (unlink (path), 0);
    assert_int_equal (mkdir (path, 0700), 0);
    refused (ERR_REFUSED);
    assert_int_equal (rmdir (path), 0);
    assert_int_equal (mkfifo (path, 0600), 0);
    refused (ERR_REFUSED);
}

TEST_IN (damage_is_noticed_and_no_secret_told, set_up, tear_down)
{
    const struct link_keys keys = { PUBLIC, SECRET };
    struct buf file;
    buf_init (&file, 4096);
    assert_int_equal (key_file_save (&keys, path, NULL), 0);
    assert_int_equal (file_read (path, &file, NULL), 0);
    const char *whole = buf_c (&file);
    for (const char *at = strstr (whole, "curve"); *at; at++) {
        uint8_t *byte = file.ptr + (at - whole), good = *byte;
        *byte = good == '0' ? '1' : '0';
        write_file (file.ptr, file.len);
        refused (ERR_DAMAGE);
        *byte = good;
    }
    for (size_t len = 1; len + 2 < file.len; len += 13) {
        write_file (file.ptr, len);
        refused (ERR_DAMAGE);
    }
    buf_release (&file);
}

TEST_IN (mixed_pairs_are_not_saved, set_up, tear_down)
{
    const struct link_keys keys = { OTHER, SECRET };
    assert_int_equal (key_file_save (&keys, path, NULL), -1);
    assert_int_equal (access (path, F_OK), -1);
}

/* ---- monitor keys ---- */

static const struct monitor_key wall = {
    .run = RUN, .address = "fe80::1", .port = 7102, .coordinator_key = OTHER, .keys = { PUBLIC, SECRET }
};

static void expect_wall (void)
{
    struct monitor_key key = { 0 };
    struct err err = { 0 };
    if (monitor_key_load (&key, path, &err) != 0)
        fail_msg ("%s", err.text);
    assert_memory_equal (&key, &wall, sizeof key);
}

TEST_IN (a_monitor_key_is_a_certificate_with_words, set_up, tear_down)
{
    struct buf out;
    buf_init (&out, MONITOR_KEY_FILE_MAX_BYTES);
    monitor_key_format (&wall, &out);
    write_file (out.ptr, out.len);
    buf_release (&out);
    expect_wall ();
    zcert_t *certificate = zcert_load (path);
    assert_non_null (certificate);
    assert_string_equal (zcert_secret_txt (certificate), SECRET);
    assert_string_equal (zcert_meta (certificate, "run"), RUN);
    assert_string_equal (zcert_meta (certificate, "coordinator-key"), OTHER);
    zcert_destroy (&certificate);
}

TEST_IN (pairs_are_valid_and_differ, set_up, tear_down)
{
    struct link_keys one, two;
    struct err err = { 0 };
    link_keys_make (&one);
    link_keys_make (&two);
    assert_int_equal (link_keys_check (&one, &err), 0);
    assert_string_not_equal (one.public_key, two.public_key);
    assert_string_not_equal (one.secret_key, two.secret_key);
}

static bool is_monitor_key (const char *form, const char *run, const char *address, const char *port, const char *key)
{
    struct monitor_key loaded, untouched;
    struct err err = { 0 };
    struct buf out;
    memset (&loaded, 7, sizeof loaded);
    untouched = loaded;
    buf_init (&out, 2 * MONITOR_KEY_FILE_MAX_BYTES);
    buf_printf (&out,
                "metadata\n    sliceup-monitor = \"%s\"\n    run = \"%s\"\n    address = \"%s\"\n    port = \"%s\"\n"
                "    coordinator-key = \"%s\"\ncurve\n    public-key = \"" PUBLIC "\"\n    secret-key = \"" SECRET
                "\"\n",
                form, run, address, port, key);
    write_file (out.ptr, out.len);
    buf_release (&out);
    bool good = monitor_key_load (&loaded, path, &err) == 0;
    assert_true (good || (memcmp (&loaded, &untouched, sizeof loaded) == 0 && !strstr (err.text, SECRET)));
    assert_true (good || strstr (err.text, path));
    return good;
}

TEST_IN (words_are_as_untrusted_as_before, set_up, tear_down)
{
    static const char *const ports[] = { "", "0", "-1", "65536", "7102x", " 7102", "99999999", "18446744073709558718" };
    static const char *const runs[] = { "",
                                        "../" RUN,
                                        "00112233445566778899aabbccddeef",
                                        RUN "0",
                                        "00112233445566778899AABBCCDDEEFF",
                                        "../../33445566778899aabbccddeeff" };
    char longest[NAME_MAX_BYTES + 1], longer[NAME_MAX_BYTES + 2];
    assert_false (is_monitor_key ("1", RUN, "h", "7102", "~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"));
    memset (longest, 'a', sizeof longest);
    memset (longer, 'a', sizeof longer);
    longest[NAME_MAX_BYTES] = longer[NAME_MAX_BYTES + 1] = '\0';
    assert_true (is_monitor_key ("1", RUN, longest, "65535", OTHER));
    for (size_t i = 0; i < sizeof ports / sizeof ports[0]; i++)
        assert_false (is_monitor_key ("1", RUN, "host", ports[i], OTHER));
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++)
        assert_false (is_monitor_key ("1", runs[i], "host", "1", OTHER));
    assert_false (is_monitor_key ("2", RUN, "host", "1", OTHER));
    assert_false (is_monitor_key ("", RUN, "host", "1", OTHER));
    assert_false (is_monitor_key ("1", RUN, "", "1", OTHER));
    assert_false (is_monitor_key ("1", RUN, longer, "1", OTHER));
    assert_false (is_monitor_key ("1", RUN, "host", "1", "short"));
    assert_false (is_monitor_key ("1", RUN, "host", "1", OTHER "x"));
}
