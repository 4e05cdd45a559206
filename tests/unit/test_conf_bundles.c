/* links: conf */
#include "tests/lib/conf_share.h"

#include "test.h"

/* ---- bundles ---- */

#define SLICE "slice: s\nhosts: h0\nprofile: p\npins: q\nladder: l\n"

TEST_FIXTURE (struct share, share_open, share_close)

TEST_ON (share, the_frontends_own_list_is_the_default_and_may_be_missing)
{
    assert_int_equal (share_load (share), 0);
    assert_int_equal (share->plan.bundles.n, 0);
    assert_int_equal (mkdir (place (share, "configs/bundles"), 0700), 0);
    write_text (share, "configs/bundles/jax.yaml",
                "bundles: jax\nlist:\n  - {id: a, word: good, parts: {jax: '*'}, source: s}\n");
    assert_int_equal (share_load (share), 0);
    assert_int_equal (share->plan.bundles.n, 1);
    write_text (share, "slice.yaml", SLICE "bundles: []\n");
    assert_int_equal (share_load (share), 0);
    assert_int_equal (share->plan.bundles.n, 0);
}

/* ---- wheels ---- */

static const char *const wheel_files[] = {
    "wheels/six-1.17.0-py3-none-any.whl",
    "wheels/My_Tool-2.0-cp311-cp311-linux_x86_64.whl",
    "wheels/My_Tool-2.0-cp312-cp312-linux_x86_64.whl",
    "wheels/my_tool-2.1-py3-none-any.whl",
    "wheels/other-1-py3-none-any.whl",
    "wheels/notes.txt",
};

/* Four files whose names fit pins; of the second pin, the wheel of one Python is another than the pinned one. */
static void open_with_wheels (struct share *share)
{
    static const char *const contents[] = { "six",   "tool 311", "tool 312 that nobody pinned",
                                            "newer", "foreign",  "notes" };
    char pins[1024], hex[3][DIGEST_HEX_BYTES];
    static const char *const pinned[] = { "six", "tool 311", "tool 312" };
    assert_int_equal (mkdir (place (share, "wheels"), 0700), 0);
    for (size_t i = 0; i < sizeof contents / sizeof contents[0]; i++)
        write_text (share, wheel_files[i], contents[i]);
    for (size_t i = 0; i < 3; i++) {
        struct digest digest = digest_of (pinned[i], strlen (pinned[i]));
        digest_hex (&digest, hex[i]);
    }
    snprintf (pins, sizeof pins,
              "six==1.17.0 --hash=sha256:%s\nmy-tool==2.0 \\\n  --hash=sha256:%s \\\n  --hash=sha256:%s\n", hex[0],
              hex[1], hex[2]);
    write_text (share, "configs/pins/q.txt", pins);
}

TEST_ON (share, the_wheels_that_are_pinned_travel_and_no_others)
{
    char folder[600];
    open_with_wheels (share);
    snprintf (folder, sizeof folder, "%s", place (share, "wheels"));
    if (share_load_with (share, (struct conf_options){ .wheels = folder }))
        dump (share);
    assert_int_equal (share->result, 0);
    assert_int_equal (share->plan.pins.wheels.n, 2);
    const struct kit_file *wheel = share->plan.pins.wheels.items;
    assert_string_equal (wheel[0].name.ptr, "My_Tool-2.0-cp311-cp311-linux_x86_64.whl");
    assert_string_equal (wheel[1].name.ptr, "six-1.17.0-py3-none-any.whl");
    assert_string_equal (wheel[1].file.path.ptr, place (share, "wheels/six-1.17.0-py3-none-any.whl"));
    struct digest digest = digest_of ("six", 3);
    char hex[DIGEST_HEX_BYTES];
    assert_string_equal (wheel[1].file.sha256.ptr, digest_hex (&digest, hex));
}

TEST_ON (share, the_pin_set_may_name_the_folder)
{
    char slice[1024];
    open_with_wheels (share);
    snprintf (slice, sizeof slice, "slice: s\nhosts: h0\nprofile: p\npins: {file: q, wheels: '%s'}\nladder: l\n",
              place (share, "wheels"));
    write_text (share, "slice.yaml", slice);
    assert_int_equal (share_load (share), 0);
    assert_int_equal (share->plan.pins.wheels.n, 2);
}

static void one_problem (struct share *share, const char *wheels, const char *expected)
{
    assert_int_equal (share_load_with (share, (struct conf_options){ .wheels = wheels }), -1);
    if (share->report.n != 1 || !strstr (line_of (share, 0), expected)) {
        dump (share);
        fail_msg ("expected %s", expected);
    }
}

/* Which of them are read first is the file system's choice. */
TEST_ON (share, a_folder_of_everything_is_no_wheel_folder)
{
    enum { FILES = 65536 };
    char name[64], folder[600];
    open_with_wheels (share);
    for (int i = 0; i < FILES; i++) {
        snprintf (name, sizeof name, "wheels/%d", i);
        assert_int_equal (mknod (place (share, name), S_IFREG | 0600, 0), 0);
    }
    snprintf (folder, sizeof folder, "%s", place (share, "wheels"));
    one_problem (share, folder, "holds more than 65536 files");
}

TEST_ON (share, a_pin_without_a_wheel_is_named)
{
    char folder[600];
    open_with_wheels (share);
    snprintf (folder, sizeof folder, "%s", place (share, "wheels"));
    write_text (share, wheel_files[0], "siy"); /* there, and not the pinned one */
    assert_int_equal (unlink (place (share, wheel_files[1])), 0);
    one_problem (share, folder, "has no wheel with a pinned sha256 for my-tool==2.0, six==1.17.0");
    one_problem (share, "/nowhere/at/all", "cannot be found");
    write_text (share, "slice.yaml", "slice: s\nhosts: h0\nprofile: p\nladder: k\n");
    write_text (share, "configs/ladders/k.yaml", "ladder: k\nrungs: [{id: facts, builtin: facts}]\n");
    one_problem (share, folder, "--wheels without pins");
}
