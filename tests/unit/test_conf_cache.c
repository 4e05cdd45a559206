/* links: conf frontend model base */
/* The compile cache as the slice file has it, and what it asks of the ladder. */
#include "conf_share.h"
#include "test.h"

#define HEAD "slice: s\nhosts: h[0-3]\nprofile: p\npins: q\nladder: l\n"
#define SLICE(LINES) "slice.yaml", HEAD LINES
#define LADDER(RUNGS) "configs/ladders/l.yaml", "ladder: l\nrungs:\n" RUNGS
#define SOLO "- {id: tiny, canary: jax/tiny.py, warm: solo}\n"

static void open_with (struct share *share, const char *slice, const char *rungs)
{
    char ladder[1024];
    share_open (share);
    snprintf (ladder, sizeof ladder, "ladder: l\nrungs:\n%s", rungs);
    write_text (share, "slice.yaml", slice);
    write_text (share, "configs/ladders/l.yaml", ladder);
    (void) share_load (share); /* the result stands in `share` */
}

TEST_FIXTURE (struct share, TEST_NOTHING, share_close)

TEST_ON (share, candidates_stand_in_the_order_as_written)
{
    open_with (share, HEAD "groups: {good: 'h[1-2]'}\ncache: {writer: 'h3,@good'}\n", SOLO);
    assert_int_equal (share->result, 0);
    const struct cache_plan *cache = &share->plan.cache;
    assert_text (cache->writer, "h3");
    assert_int_equal (cache->writers.n, 3);
    assert_true (text_is (cache->writers.items[0], "h3") && text_is (cache->writers.items[1], "h1") &&
                 text_is (cache->writers.items[2], "h2"));
}

TEST_ON (share, without_a_word_the_kernel_enforces)
{
    open_with (share, HEAD, SOLO);
    assert_int_equal (share->result, 0);
    const struct cache_plan *cache = &share->plan.cache;
    assert_int_equal (cache->mode, CACHE_SINGLE_WRITER);
    assert_int_equal (cache->least, ENFORCEMENT_LANDLOCK);
    assert_true (!cache->overlay && cache->writable.n == 0);
    assert_true (cache->writers.n == 1 && text_is (cache->writers.items[0], "h0"));
}

TEST_ON (share, what_is_asked_for_in_words_is_planned)
{
    open_with (share,
               HEAD
               "cache: {enforcement: cooperative, overlay: true, root: /mnt/cache, writable: [/mnt/out, /mnt/cache2], "
               "trust: [65534, 0, 4294967294]}\n"
               "limits: {lease: 1s}\n",
               SOLO);
    assert_int_equal (share->result, 0);
    const struct cache_plan *cache = &share->plan.cache;
    assert_int_equal (cache->least, ENFORCEMENT_COOPERATIVE);
    assert_true (cache->overlay && cache->writable.n == 2 && text_is (cache->writable.items[1], "/mnt/cache2"));
    assert_true (cache->trust.n == 3 && cache->trust.items[0] == 65534 && cache->trust.items[2] == 4294967294u);
    assert_int_equal (share->plan.limits.lease_ms, 1000);
}

TEST (per_host_and_read_only_have_a_root_and_no_writer)
{
    struct share share;
    open_with (&share, HEAD "cache: {mode: per-host}\n", SOLO);
    assert_int_equal (share.result, 0);
    assert_true (share.plan.cache.mode == CACHE_PER_HOST && share.plan.cache.writers.n == 0 &&
                 share.plan.cache.writer.len == 0 && text_is (share.plan.cache.root, "/h/cache"));
    share_close (&share);
    open_with (&share, HEAD "cache: {mode: read-only, root: /c}\n", SOLO);
    assert_int_equal (share.result, 0);
    assert_true (share.plan.cache.mode == CACHE_READ_ONLY && share.plan.cache.writers.n == 0 &&
                 text_is (share.plan.cache.root, "/c"));
    assert_int_equal (share.plan.rungs.items[1].warm, WARM_SOLO);
    share_close (&share);
}

TEST_ON (share, caches_of_each_host_need_no_shared_storage)
{
    open_with (share,
               "slice: s\nlauncher: slurm\nhosts: h[0-3]\nprofile: p\npins: q\nladder: l\ncache: {mode: per-host}\n",
               SOLO);
    assert_int_equal (share->result, 0);
    assert_text (share->plan.cache.root, "/var/tmp/sliceup/cache");
}

TEST_ON (share, the_cache_is_looked_at_before_the_first_cold_pass)
{
    open_with (share, HEAD, "- {id: facts, builtin: facts}\n" SOLO "- {id: b, canary: jax/tiny.py, warm: solo}\n");
    assert_int_equal (share->result, 0);
    assert_int_equal (share->plan.rungs.n, 4);
    const struct rung *rung = &share->plan.rungs.items[1];
    assert_true (text_is (rung->id, "cache") && text_is (rung->builtin, "cache") && rung->kind == PROGRAM_BUILTIN);
    assert_true (rung->scope == SCOPE_HOST && rung->warm == WARM_NONE && rung->timeout_ms == 60000 && !rung->needs_env);
}

TEST (a_ladder_may_look_at_the_cache_itself_or_not_need_to)
{
    struct share share;
    open_with (&share, HEAD, "- {id: mine, builtin: cache, timeout: 5s}\n- {id: facts, builtin: facts}\n" SOLO);
    assert_int_equal (share.result, 0);
    assert_int_equal (share.plan.rungs.n, 3);
    assert_true (text_is (share.plan.rungs.items[0].id, "mine") && share.plan.rungs.items[0].timeout_ms == 5000);
    share_close (&share);
    open_with (&share, HEAD, "- {id: cache, builtin: facts}\n- {id: tiny, canary: jax/tiny.py}\n");
    assert_int_equal (share.result, 0);
    assert_int_equal (share.plan.rungs.n, 2);
    share_close (&share);
}

TEST (without_a_cache_nobody_looks_at_it)
{
    struct share share;
    open_with (&share, HEAD "cache: {mode: off}\n", "- {id: mine, builtin: cache}\n" SOLO);
    assert_int_equal (share.result, 0);
    assert_int_equal (share.plan.rungs.n, 1);
    assert_int_equal (share.report.n, 2);
    assert_has (line_of (&share, 0), "l.yaml:3:3: rung mine is left out: the slice's cache is off");
    assert_int_equal (share.plan.rungs.items[0].warm, WARM_NONE);
    share_close (&share);
    open_with (&share, HEAD "cache: {mode: off}\n", "- {id: mine, builtin: cache}\n");
    assert_int_equal (share.result, -1);
    assert_has (share.err.text, "with cache mode: off no rung of the ladder is left");
    share_close (&share);
}

TEST_ON (share, aot_fits_every_scope)
{
    open_with (share, HEAD "cache: {writer: 'h[1-2]'}\n",
               "- {id: a, canary: jax/tiny.py, warm: aot}\n- {id: b, canary: jax/tiny.py, warm: aot, scope: slice}\n");
    assert_int_equal (share->result, 0);
    assert_true (share->plan.rungs.items[1].warm == WARM_AOT && share->plan.rungs.items[2].warm == WARM_AOT);
}

TEST_ON (share, output_of_a_command_can_be_read)
{
    open_with (share, HEAD, "- {id: a, command: [x], parse: torch_xla-metrics}\n- {id: b, command: [x]}\n");
    assert_int_equal (share->result, 0);
    assert_true (text_is (share->plan.rungs.items[0].parse, "torch_xla-metrics") &&
                 share->plan.rungs.items[1].parse.len == 0);
}

/* Under jax the other hosts of a gang fill no cache, whoever may write. */
TEST_ON (share, a_gang_with_a_cache_for_each_host_is_warned_about)
{
    open_with (share, HEAD "cache: {mode: per-host}\n",
               "- {id: a, canary: jax/tiny.py, warm: gang, scope: slice}\n" SOLO);
    assert_int_equal (share->result, 0);
    assert_int_equal (share->report.n, 1);
    assert_non_null (strstr (line_of (share, 0), "l.yaml:3:38: warm: gang with mode: per-host: under jax only rank 0"));
    assert_true (share->report.items[0].warning);
}

TEST (off_stands_alone)
{
    static const char *const others[] = { "writer: h0",     "root: /c",       "enforcement: landlock",
                                          "overlay: false", "writable: [/x]", "trust: [1]" };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct share share;
        char slice[256], expected[64];
        snprintf (slice, sizeof slice, HEAD "cache: {mode: off, %s}\n", others[i]);
        snprintf (expected, sizeof expected, ": %.*s is set with mode: off, expected only",
                  (int) strcspn (others[i], ":"), others[i]);
        share_open (&share);
        write_text (&share, "slice.yaml", slice);
        write_text (&share, "configs/ladders/l.yaml", "ladder: l\nrungs: [{id: a, builtin: facts}]\n");
        assert_int_equal (share_load (&share), -1);
        assert_int_equal (share.report.n, 1);
        assert_has (line_of (&share, 0), expected);
        share_close (&share);
    }
}

TEST_ON (share, with_a_cache_for_each_host_nobody_is_the_writer)
{
    open_with (share, HEAD "cache: {mode: per-host, writer: h0}\n", SOLO);
    assert_int_equal (share->result, -1);
    assert_int_equal (share->report.n, 1);
    assert_non_null (
        strstr (line_of (share, 0),
                "slice.yaml:6:33: cache.writer is set with mode: per-host, expected no writer: every host"));
}

static const struct bad bad_cases[] = {
    { SLICE ("cache: {mode: read-only, writer: h0}\n"),
      "slice.yaml:6:34: cache.writer is set with mode: read-only, expected no writer: hosts only read" },
    { SLICE ("cache: {writer: 'h[0,0]'}\n"), "slice.yaml:6:17: " },
    { SLICE ("cache: {writer: 'h[0-'}\n"), "slice.yaml:6:17: " },
    { SLICE ("cache: {writer: [h0]}\n"), "slice.yaml:6:17: writer is a list, expected a host set" },
    { SLICE ("cache: {writer: '@nope'}\n"), "slice.yaml:6:17: " },
    { SLICE ("cache: {writer: 'h0,h9'}\n"), "slice.yaml:6:17: the writer 'h9' is not a host of this slice" },
    { SLICE ("cache: {writer: 'h[0-1]'}\n"), "configs/ladders/l.yaml:5:53: warm: gang with several writers, first h0, "
                                             "expected the writer h0 alone: under jax" },
    { SLICE ("cache: {enforcement: polite}\n"), "enforcement is 'polite', expected one of cooperative, landlock, "
                                                "namespace, namespace+landlock, storage" },
    { SLICE ("cache: {enforcement: none}\n"), "slice.yaml:6:22: enforcement is 'none', expected one of cooperative" },
    { SLICE ("cache: {overlay: 1}\n"), "slice.yaml:6:18: overlay is '1', expected true or false" },
    { SLICE ("cache: {writable: /x}\n"), "slice.yaml:6:19: writable is '/x', expected a list" },
    { SLICE ("cache: {writable: [x]}\n"), "6:20: the writable path is 'x', expected an absolute path" },
    { SLICE ("cache: {writable: [/a/../b]}\n"),
      "the writable path is '/a/../b', expected an absolute path below / that has no" },
    { SLICE ("cache: {writable: [/a//b]}\n"), "the writable path is '/a//b', expected an absolute path" },
    { SLICE ("cache: {writable: [/a/./b]}\n"), "the writable path is '/a/./b', expected an absolute path" },
    { SLICE ("cache: {writable: [/a/]}\n"), "the writable path is '/a/', expected an absolute path" },
    { SLICE ("cache: {writable: [/]}\n"), "the writable path is '/', expected an absolute path" },
    { SLICE ("cache: {writable: [[/a]]}\n"), "an item of cache.writable is a list, expected an absolute path" },
    { SLICE ("cache: {root: /c/r, writable: [/c]}\n"),
      "slice.yaml:6:32: the writable path '/c' holds the cache root /c/r" },
    { SLICE ("cache: {root: /c/r/, writable: [/c/r/w]}\n"), "writable path '/c/r/w' lies in the cache root /c/r" },
    { SLICE ("cache: {root: /c/./r, writable: [/c/r/w]}\n"), "writable path '/c/r/w' lies in the cache root /c/r" },
    { SLICE ("cache: {root: //c//r/., writable: [/c/r/w]}\n"), "writable path '/c/r/w' lies in the cache root /c/r" },
    { SLICE ("cache: {root: cache/, writable: [/h/cache/w]}\n"),
      "writable path '/h/cache/w' lies in the cache root /h/cache" },
    { SLICE ("cache: {root: /}\n"), "slice.yaml:6:15: the cache root is '/', expected a folder below /" },
    { SLICE ("cache: {root: //.}\n"), "the cache root is '//.', expected a folder below /" },
    { SLICE ("cache: {root: /c, writable: [/c]}\n"), "writable path '/c' lies in the cache root /c" },
    { SLICE ("cache: {root: /c, writable: [/h/out]}\n"),
      "cache.writable /h/out lies in /h, a folder of sliceup itself" },
    { SLICE ("cache: {writable: [/h/cache/jax]}\n"), "writable path '/h/cache/jax' lies in the cache root /h/cache" },
    { SLICE ("cache: {writable: [/a, /a, /a, /a, /a, /a, /a, /a, /a, /a, /a, /a, /a, /a, /a, /a, /a]}\n"),
      "slice.yaml:6:19: cache.writable names 17 paths, expected at most 16" },
    { SLICE ("cache: {trust: 1000}\n"), "slice.yaml:6:16: trust is '1000', expected a list" },
    { SLICE ("cache: {trust: [alice]}\n"),
      "slice.yaml:6:17: an item of cache.trust is 'alice', expected the number of a user (uid), 0 to 4294967294" },
    { SLICE ("cache: {trust: ['1000']}\n"),
      "slice.yaml:6:17: an item of cache.trust is '1000', expected the number of a user" },
    { SLICE ("cache: {trust: [-1]}\n"), "an item of cache.trust is '-1', expected the number of a user" },
    { SLICE ("cache: {trust: [010]}\n"), "an item of cache.trust is '010', expected the number of a user" },
    { SLICE ("cache: {trust: [4294967295]}\n"),
      "an item of cache.trust is '4294967295', expected the number of a user" },
    { SLICE ("cache: {trust: [{a: 1}]}\n"),
      "slice.yaml:6:17: an item of cache.trust is a map, expected the number of a user" },
    { SLICE ("cache: {trust: [7, 8, 7]}\n"), "slice.yaml:6:23: cache.trust lists uid 7 twice, expected each uid once" },
    { SLICE ("cache: {trust: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]}\n"),
      "slice.yaml:6:16: cache.trust lists 17 users, expected at most 16" },
    { SLICE ("limits: {lease: 999ms}\n"), "lease is '999ms', expected a duration from 1 s to 5 min" },
    { SLICE ("limits: {lease: 301s}\n"), "lease is '301s', expected a duration from 1 s to 5 min" },
    { "slice.yaml", "slice: s\nlauncher: ssh\nhosts: a\nprofile: p\npins: q\nladder: l\ncache: {mode: read-only}\n",
      "slice.yaml:7:8: launcher: ssh without cache.root, expected cache.root as an absolute path" },
    /* ladder */
    { LADDER (SOLO "- {id: late, builtin: cache}\n"), "configs/ladders/l.yaml:4:3: the rung with builtin: cache comes "
                                                      "after the rung in line 3, which has a cold pass" },
    { LADDER ("- {id: cache, builtin: facts}\n" SOLO),
      "configs/ladders/l.yaml:3:8: a rung has the id cache, expected another" },
    { LADDER (SOLO "- {id: cache, command: [x]}\n"),
      "configs/ladders/l.yaml:4:8: a rung has the id cache, expected another" },
    { LADDER ("- {id: a, builtin: facts, warm: aot}\n"), "warm: aot for a rung with a builtin, expected warm: none" },
    { LADDER ("- {id: a, canary: jax/tiny.py, warm: oat}\n"), "warm is 'oat', expected one of none, solo, gang, aot" },
    { LADDER ("- {id: a, canary: jax/tiny.py, parse: torch_xla-metrics}\n"),
      "expected it only with a command: a canary reports its counters itself" },
    { LADDER ("- {id: a, builtin: facts, parse: torch_xla-metrics}\n"), "a builtin has no counters" },
    { LADDER ("- {id: a, command: [x], parse: json}\n"), "parse is 'json', expected one of torch_xla-metrics" },
    { LADDER ("- {id: a, command: [x], parse: none}\n"), "parse is 'none', expected one of torch_xla-metrics" },
};

TEST (each_mistake_is_one_problem_with_its_place)
{
    each_is_one_problem (bad_cases, sizeof bad_cases / sizeof bad_cases[0]);
}

TEST_ON (share, sixty_four_rungs_leave_no_room_for_another)
{
    char ladder[8192] = "ladder: l\nrungs:\n" SOLO;
    for (int i = 1; i < RUNGS_MAX; i++)
        snprintf (ladder + strlen (ladder), sizeof ladder - strlen (ladder), "- {id: r%d, builtin: facts}\n", i);
    share_open (share);
    write_text (share, "configs/ladders/l.yaml", ladder);
    assert_int_equal (share_load (share), -1);
    assert_int_equal (share->report.n, 1);
    assert_has (line_of (share, 0), "l.yaml:3:1: the ladder has 64 rungs, and sliceup adds one");
}

TEST_ON (share, at_most_sixty_four_hosts_may_write)
{
    share_open (share);
    write_text (share, "slice.yaml",
                "slice: s\nhosts: h[0-64]\nprofile: p\npins: q\nladder: l\ncache: {writer: 'h[0-64]'}\n");
    assert_int_equal (share_load (share), -1);
    assert_has (line_of (share, 0), "slice.yaml:6:17: cache.writer names 65 hosts, expected 1 to 64");
}
