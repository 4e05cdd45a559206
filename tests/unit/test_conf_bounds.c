/* links: conf frontend model base */
#include "conf_share.h"
#include "test.h"

TEST_FIXTURE (struct share, share_open, share_close)

TEST_ON (share, bytes_that_are_not_text_are_refused)
{
    static const char *const files[] = { "a: b\nc: \"\x01\"\n", "a: b\nc: \xff\n" };
    for (size_t i = 0; i < 2; i++) {
        write_text (share, "slice.yaml", files[i]);
        assert_int_equal (share_load (share), -1);
        assert_has (line_of (share, 0), "slice.yaml:2:1: this line has bytes that are not text");
    }
}

TEST_ON (share, a_file_past_one_mebibyte_is_refused)
{
    char *bytes = mem_alloc ((1 << 20) + 1);
    memset (bytes, '#', (1 << 20) + 1);
    write_file (share, "slice.yaml", bytes, (1 << 20) + 1);
    assert_int_equal (share_load (share), -1);
    assert_has (line_of (share, 0), "the file is larger than 1 MiB");
    write_file (share, "slice.yaml", bytes, 1 << 20);
    assert_int_equal (share_load (share), -1);
    assert_has (line_of (share, 0), "an empty file");
    mem_free (bytes);
}

TEST_ON (share, a_pipe_is_refused_without_waiting)
{
    assert_int_equal (unlink (share->slice), 0);
    assert_int_equal (mkfifo (share->slice, 0600), 0);
    assert_int_equal (share_load (share), -1);
    assert_has (line_of (share, 0), "it is not a regular file");
}

TEST_ON (share, too_many_keys_are_refused)
{
    struct buf *text = test_buf (t);
    for (int i = 0; i < 600; i++)
        buf_printf (text, "k%d: 1\n", i);
    write_file (share, "slice.yaml", text->ptr, text->len);
    assert_int_equal (share_load (share), -1);
    assert_int_equal (share->report.n, 1);
    assert_has (line_of (share, 0), "slice.yaml:513:1: too many keys in one map, expected at most 512");
    buf_clear (text);
    buf_puts (text, "hosts: [");
    for (int i = 0; i < 60000; i++)
        buf_puts (text, "a,");
    buf_puts (text, "]\n");
    write_file (share, "slice.yaml", text->ptr, text->len);
    assert_int_equal (share_load (share), -1);
    assert_has (line_of (share, 0), "too many keys and values in one file, expected at most 50000");
}

TEST_ON (share, problems_are_bounded_and_safe_to_show)
{
    struct buf *text = test_buf (t);
    buf_puts (text, "slice: \"\\e[2J\\u202e\"\nhosts: [");
    for (int i = 0; i < 2000; i++)
        buf_puts (text, "'-', ");
    buf_puts (text, "]\nprofile: p\nladder: l\n");
    write_file (share, "slice.yaml", text->ptr, text->len);
    assert_int_equal (share_load (share), -1);
    assert_in_range (share->report.n, 100, 500);
    for (uint32_t i = 0; i < share->report.n; i++)
        for (const char *c = share->report.items[i].text; *c; c++)
            assert_in_range ((unsigned char) *c, 0x20, 0x7e);
}

TEST_ON (share, the_model_has_the_last_word)
{
    char home[600] = "/";
    struct conf_options options = { .home = "/h\xff" };
    assert_int_equal (share_load_with (share, options), -1);
    assert_has (line_of (share, 0), "slice.yaml:1:1: the files describe a run that exceeds a limit");
    memset (home + 1, 'x', sizeof home - 2);
    options.home = home;
    assert_int_equal (share_load_with (share, options), -1);
    assert_has (line_of (share, 0), "SLICEUP_HOME: the path is 599 bytes long");
}

#define TEN "xxxxxxxxxx"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

/* `name` holds before, then `each` n times with its number, then after. */
struct bound {
    const char *name, *before, *each;
    int n;
    const char *after, *expected;
};
static const struct bound bounds[] = {
    { "slice.yaml", "slice: s\nhosts: h[0-1]\nprofile: p\nladder: l\ncache: {root: ", "x", 1022, "}\n",
      "the absolute path is 1025 bytes long, expected at most 1023" },
    { "slice.yaml", "slice: s\nhosts: h[0-1]\nprofile: p\nladder: l\npins: ", "x", 1024, "\n",
      "the name of the pin set is 1024 bytes long, expected at most 1023" },
    { "slice.yaml", "slice: s\nhosts: h[0-1]\nprofile: p\nladder: l\npins: ", "x", 4097, "\n",
      "a value of 4097 bytes, expected at most 4096" },
    { "slice.yaml", "slice: s\nhosts: [", "h%d,", 16385, "]\nprofile: p\nladder: l\n", "more than 16384 hosts" },
    { "slice.yaml", "slice: s\nhosts: [", "h%d,", 17, "]\nprofile: p\nladder: l\nmesh: {a: 8, b: 8}\n",
      "multiply to 64 devices, expected 34" },
    { "slice.yaml", "slice: s\nhosts: h[0-1]\nprofile: p\nladder: l\nsignatures: [", "jax,", 17, "]\n",
      "17 signature lists are named, expected at most 16" },
    { "configs/profiles/p.yaml", "profile: p\nfrontend: jax\nbackend: cpu\ndevices_per_host: 2\nargs:\n", "  a%d: 1\n",
      129, "", "more than 128 arguments" },
    { "configs/profiles/p.yaml", "profile: p\nfrontend: jax\nbackend: cpu\ndevices_per_host: 2\nargs:\n", "  a%d: 1\n",
      127, "", "the rung has 129 arguments with those of the profile, expected at most 128" },
    { "configs/profiles/p.yaml", "profile: p\nfrontend: jax\nbackend: cpu\ndevices_per_host: 2\nenv:\n", "  V%d: x\n",
      129, "", "env sets 129 variables, expected at most 128" },
    { "configs/ladders/l.yaml", "ladder: l\nrungs:\n- {id: a, canary: jax/tiny.py, scope: slice, metrics: [", "m%d,",
      33, "]}\n", "this list has 33 names, expected at most 32" },
    { "configs/ladders/l.yaml", "ladder: l\nrungs:\n- {id: a, canary: jax/tiny.py, args: {a: [", "xxxx,", 600, "]}}\n",
      "a is longer than 4096 bytes as JSON" },
    { "configs/ladders/l.yaml", "ladder: l\nrungs:\n", "- {id: r%d, builtin: facts}\n", 65, "",
      "the ladder has 65 rungs, expected 1 to 64" },
    { "configs/signatures/jax.yaml", "signatures: jax\nlist:\n", "- {id: s%d, text: some, layer: host, next: x}\n",
      1024, "", "configs/signatures/system.yaml:3:5: the signature lists have more than 1024 signatures together" },
    { "configs/signatures/jax.yaml", "signatures: jax\nlist:\n",
      "- {id: s%d, text: " HUNDRED HUNDRED ", also: [a" HUNDRED HUNDRED ", b" HUNDRED HUNDRED
      "], unless: [c" HUNDRED HUNDRED ", d" HUNDRED HUNDRED "], layer: host, next: x}\n",
      66, "", "the signature lists have more than 65536 bytes of text together" },
};

static void repeat (const struct bound *bound, struct buf *text)
{
    const char *number = strstr (bound->each, "%d");
    buf_puts (text, bound->before);
    for (int i = 0; i < bound->n; i++) {
        if (number)
            buf_printf (text, "%.*s%d%s", (int) (number - bound->each), bound->each, i, number + 2);
        else
            buf_puts (text, bound->each);
    }
    buf_puts (text, bound->after);
}

TEST (every_bound_is_kept)
{
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        struct share share;
        struct buf text;
        share_open (&share);
        buf_init (&text, 1 << 20);
        repeat (&bounds[i], &text);
        write_file (&share, bounds[i].name, text.ptr, text.len);
        bool found = false;
        assert_int_equal (share_load (&share), -1);
        for (uint32_t k = 0; k < share.report.n; k++)
            found = found || strstr (line_of (&share, k), bounds[i].expected);
        if (!found) {
            dump (&share);
            fail_msg ("expected: %s", bounds[i].expected);
        }
        buf_release (&text);
        share_close (&share);
    }
}

TEST_ON (share, more_devices_than_the_model_can_number_are_refused)
{
    write_text (share, "slice.yaml", "slice: s\nhosts: h[0-256]\nprofile: p\nladder: l\n");
    write_text (share, "configs/profiles/p.yaml", "profile: p\nfrontend: jax\nbackend: cpu\ndevices_per_host: 256\n");
    assert_int_equal (share_load (share), -1);
    assert_has (line_of (share, 0), "257 hosts with 256 devices each, expected at most 65536 devices in all");
}

TEST_ON (share, sixty_four_rungs_leave_no_room_for_another)
{
    char ladder[8192] = "ladder: l\nrungs:\n"
                        "- {id: tiny, canary: jax/tiny.py, warm: solo}\n";
    for (int i = 1; i < RUNGS_MAX; i++)
        snprintf (ladder + strlen (ladder), sizeof ladder - strlen (ladder), "- {id: r%d, builtin: facts}\n", i);
    write_text (share, "configs/ladders/l.yaml", ladder);
    assert_int_equal (share_load (share), -1);
    assert_int_equal (share->report.n, 1);
    assert_has (line_of (share, 0), "l.yaml:3:1: the ladder has 64 rungs, and sliceup adds one");
}

TEST_ON (share, at_most_sixty_four_hosts_may_write)
{
    write_text (share, "slice.yaml",
                "slice: s\nhosts: h[0-64]\nprofile: p\npins: q\nladder: l\ncache: {writer: 'h[0-64]'}\n");
    assert_int_equal (share_load (share), -1);
    assert_has (line_of (share, 0), "slice.yaml:6:17: cache.writer names 65 hosts, expected 1 to 64");
}
