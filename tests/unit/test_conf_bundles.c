/* links: conf */
#include "tests/lib/conf_share.h"

#include "test.h"

/* ---- bundles ---- */

#define SLICE "slice: s\nhosts: h0\nprofile: p\npins: q\nladder: l\n"

/* Beside the files that every share has; gone with the share. */
static void put (struct share *share, const char *name, const char *text)
{
    write_text (share, name, text);
}

static void clear (struct share *share, const char *const names[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        (void) remove (place (share, names[i]));
}

TEST (a_list_of_bundles_is_read_as_it_is_written)
{
    static const char *const mine[] = { "b.yaml" };
    struct share share;
    share_open (&share);
    put (&share, "b.yaml",
         "bundles: b\nlist:\n"
         "  - {id: one, word: bad, backends: [tpu], parts: {jax: '0.4.32', Torch_XLA: '<0.0.6'}, why: w, source: s}\n"
         "  - {id: two, word: good, parts: {libtpu: '0.0.20.*', jax: absent}, source: t}\n");
    write_text (&share, "slice.yaml", SLICE "bundles: [./b.yaml]\n");
    if (share_load (&share))
        dump (&share);
    assert_int_equal (share.result, 0);
    assert_int_equal (share.plan.bundles.n, 2);
    const struct bundle_rule *one = &share.plan.bundles.items[0], *two = one + 1;
    assert_true (one->word == BUNDLE_BAD && two->word == BUNDLE_GOOD);
    assert_true (one->backends.n == 1 && text_is (one->backends.items[0], "tpu") && two->backends.n == 0);
    assert_true (text_is (one->parts.items[1].name, "torch-xla") && text_is (one->parts.items[1].value, "<0.0.6"));
    assert_true (text_is (one->why, "w") && text_is (two->source, "t"));
    clear (&share, mine, 1);
    share_close (&share);
}

TEST (the_frontends_own_list_is_the_default_and_may_be_missing)
{
    static const char *const mine[] = { "configs/bundles/jax.yaml", "configs/bundles" };
    struct share share;
    share_open (&share);
    assert_int_equal (share_load (&share), 0);
    assert_int_equal (share.plan.bundles.n, 0);
    assert_int_equal (mkdir (place (&share, "configs/bundles"), 0700), 0);
    put (&share, "configs/bundles/jax.yaml",
         "bundles: jax\nlist:\n  - {id: a, word: good, parts: {jax: '*'}, source: s}\n");
    assert_int_equal (share_load (&share), 0);
    assert_int_equal (share.plan.bundles.n, 1);
    write_text (&share, "slice.yaml", SLICE "bundles: []\n");
    assert_int_equal (share_load (&share), 0);
    assert_int_equal (share.plan.bundles.n, 0);
    clear (&share, mine, 2);
    share_close (&share);
}

TEST (a_rule_that_cannot_be_one_is_refused)
{
    static const struct {
        const char *rule, *expected;
    } cases[] = {
        { "{id: a, word: none, parts: {jax: '1'}, source: s}", "word is 'none', expected one of good, bad" },
        { "{id: a, word: worse, parts: {jax: '1'}, source: s}", "worse" },
        { "{id: a, word: bad, parts: {jax: '1'}, source: s}",
          "expected a text that says what is wrong with these versions" },
        { "{id: a, word: good, parts: {}, source: s}", "parts names 0 packages, expected 1 to 16" },
        { "{id: a, word: good, parts: {jax: latest}, source: s}", "'latest', expected a version such as" },
        { "{id: a, word: good, parts: {-x: '1'}, source: s}", "'-x' is not a package name" },
        { "{id: a, word: good, parts: {jax: ['1']}, source: s}", "expected a version such as" },
        { "{id: a, word: good, parts: {jax: '1'}}", "source" },
        { "{id: a, word: good, parts: {jax: '1'}, source: s}\n  - {id: a, word: good, parts: {jax: '1'}, source: s}",
          "is given twice" },
    };
    static const char *const mine[] = { "b.yaml" };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct share share;
        char text[1024];
        share_open (&share);
        snprintf (text, sizeof text, "bundles: b\nlist:\n  - %s\n", cases[i].rule);
        put (&share, "b.yaml", text);
        write_text (&share, "slice.yaml", SLICE "bundles: [b.yaml]\n");
        if (share_load (&share) == 0 || share.report.n != 1 || !strstr (line_of (&share, 0), cases[i].expected)) {
            dump (&share);
            fail_msg ("%s: expected %s", cases[i].rule, cases[i].expected);
        }
        clear (&share, mine, 1);
        share_close (&share);
    }
}

/* ---- wheels ---- */

static const char *const wheel_files[] = {
    "wheels/six-1.17.0-py3-none-any.whl",
    "wheels/My_Tool-2.0-cp311-cp311-linux_x86_64.whl",
    "wheels/My_Tool-2.0-cp312-cp312-linux_x86_64.whl",
    "wheels/my_tool-2.1-py3-none-any.whl",
    "wheels/other-1-py3-none-any.whl",
    "wheels/notes.txt",
    "wheels",
};

/* Four files whose names fit pins; of the second pin, the wheel of one Python is another than the pinned one. */
static void open_with_wheels (struct share *share)
{
    static const char *const contents[] = { "six",   "tool 311", "tool 312 that nobody pinned",
                                            "newer", "foreign",  "notes" };
    char pins[1024], hex[3][DIGEST_HEX_BYTES];
    static const char *const pinned[] = { "six", "tool 311", "tool 312" };
    share_open (share);
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

static void close_with_wheels (struct share *share)
{
    clear (share, wheel_files, sizeof wheel_files / sizeof wheel_files[0]);
    share_close (share);
}

TEST_FIXTURE (struct share, TEST_NOTHING, close_with_wheels)

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
    for (int i = 0; i < FILES; i++) {
        snprintf (name, sizeof name, "wheels/%d", i);
        assert_int_equal (unlink (place (share, name)), 0);
    }
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
    assert_int_equal (unlink (place (share, "configs/ladders/k.yaml")), 0);
}
