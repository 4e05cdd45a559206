/* links: conf frontend model base */
#include "conf_share.h"
#include "test.h"

#include "common/conf/address.h"

#define REST "profile: p\npins: q\nladder: l\ncache: {root: /shared/cache}\n"

TEST (lists_have_their_bounds)
{
    struct share share;
    struct buf *text = test_buf (t);
    share_open (&share);
    for (int slurm = 0; slurm < 2; slurm++)
        for (int n = 16; n <= 17; n++) {
            buf_clear (text);
            buf_printf (text, "slice: s\nlauncher: %s\nhosts: a\n%s: [", slurm ? "slurm" : "ssh",
                        slurm ? "slurm: {options" : "ssh: {identities");
            for (int i = 0; i < n; i++)
                buf_printf (text, "%s%d, ", slurm ? "--x" : "/dev/fd/", slurm ? i : 0);
            buf_puts (text, "]}\n" REST);
            write_file (&share, "slice.yaml", text->ptr, text->len);
            assert_int_equal (share_load (&share), n == 16 ? 0 : -1);
            if (n == 17)
                assert_has (line_of (&share, 0), slurm ? "options names 17 options of srun, expected at most 16"
                                                       : "identities names 17 private keys, expected at most 16");
        }
    share_close (&share);
}

TEST (words_for_machines_are_strict)
{
    static const char *const good[] = { "a", "v6e-0", "10.0.0.1", "::1", "fe80::1", "a.b_c", "A9" };
    static const char *const bad[] = { "",    "-a",  "a b",          "a:22", "a;b", "$a",      "`a`",
                                       "a/b", "a@b", "fe80::1%eth0", ":",    "a\n", "\xc3\xa9" };
    static const char *const good_jumps[] = { "b",     "me@b",       "me@b:22", "b:65535", "m.e_-@10.0.0.1:2222",
                                              "[::1]", "me@[::1]:22" };
    static const char *const bad_jumps[] = { "[::1",     "[::1]x", "[::1]22", "[::1]:", "[a]",  "[]",
                                             "[::1]:0",  "a@b@c",  "@b",      "b:",     "b:0",  "b:65536",
                                             "b:022222", "-b",     "a@-b",    "-a@b",   "b:1:2" };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        if (!address_is_good (text_of (good[i])))
            fail_msg ("'%s' was refused", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (address_is_good (text_of (bad[i])) ||
            (strcmp (bad[i], "a@b") && strcmp (bad[i], "a:22") && jump_is_good (text_of (bad[i]))))
            fail_msg ("'%s' passed", bad[i]);
    for (size_t i = 0; i < sizeof good_jumps / sizeof good_jumps[0]; i++)
        if (!jump_is_good (text_of (good_jumps[i])))
            fail_msg ("'%s' was refused", good_jumps[i]);
    for (size_t i = 0; i < sizeof bad_jumps / sizeof bad_jumps[0]; i++)
        if (jump_is_good (text_of (bad_jumps[i])))
            fail_msg ("'%s' passed", bad_jumps[i]);
    assert_false (address_is_good (TEXT_LIT ("a\0b")) || jump_is_good (TEXT_LIT ("a\0b")));
}

/* What must hold of every plan that is accepted, whatever the file was. */
static void check_accepted (const struct plan *plan)
{
    assert_true (record_check (&plan_record, plan, NULL) && plan->launcher != LAUNCHER_NONE && plan->hosts.n > 0);
    for (uint32_t i = 0; i < plan->hosts.n; i++) {
        const struct plan_host *host = &plan->hosts.items[i];
        assert_true (host_name_valid (host->name) && address_is_good (host->address));
        assert_true (host->ssh.user.len == 0 || host_name_valid (host->ssh.user));
        assert_true (host->ssh.jump.len == 0 || jump_is_good (host->ssh.jump));
        assert_true ((plan->launcher == LAUNCHER_SSH) == (host->ssh.port > 0));
    }
    for (uint32_t i = 0; i < plan->start.slurm.options.n; i++)
        assert_true (text_starts (plan->start.slurm.options.items[i], "--"));
    bool elsewhere = plan->launcher != LAUNCHER_LOCAL;
    assert_true (elsewhere == (plan->start.directory.len > 0 && plan->start.directory.ptr[0] == '/'));
}

static int answer (const char *word, struct buf *expression, struct err *err)
{
    (void) word, (void) err;
    buf_puts (expression, "n[01-03]");
    return 0;
}

static const char *const whole[] = {
    "slice: s\nlauncher: ssh\nhosts:\n  - v6e-[0-2]\n  - {name: x, address: 10.0.0.5, ssh: {address: y, port: 2222, "
    "user: u, "
    "jump: me@b:22}}\nexclude: v6e-[2]\ngroups: {spare: 'v6e-[0-1]', more: '@spare,x'}\n"
    "start: {directory: /d, deadline: 60s, at_once: 32, outlive: true}\n"
    "coordinator: {address: 10.0.0.1, listen: 0.0.0.0, control_port: 1, bulk_port: 2, events_port: 3}\n"
    "ssh: {user: tpu, port: 22, jump: b, identities: [~/k], agent: true, sudo: true, known_hosts: ~/h}\n" REST,
    "slice: s\nlauncher: slurm\nhosts: [{from: slurm}, z]\nstart: {directory: /d, deadline: 60s}\n"
    "coordinator: {address: c}\nslurm: {account: ml, partition: tpu, options: ['--exclusive', --mem=0]}\n" REST,
    "slice: s\nlauncher: join\nhosts: a[1-2]b[1-2]\nstart: {directory: /d}\n"
    "coordinator: {address: c, control_port: 1, bulk_port: 2}\n" REST,
};

static void spoil (const char *text, struct rng *rng, struct buf *out)
{
    static const char *const words[] = { "local", "join", "slurm", "ssh", "-", "@more", "''", "0",  "~", "[", "{",
                                         "]",     "\"",   ",",     "::",  "/", "\\",    " ",  "\n", "9", "x" };
    size_t len = strlen (text), at = rng_below (rng, len), gone = rng_below (rng, 4);
    const char *word = words[rng_below (rng, sizeof words / sizeof words[0])];
    buf_clear (out);
    buf_add (out, text, at);
    buf_puts (out, word);
    if (at + gone < len)
        buf_puts (out, text + at + gone);
}

TEST (spoilt_files_are_refused_or_fit)
{
    struct rng rng = rng_seed (20240611);
    struct share share;
    struct buf *text = test_buf (t);
    uint32_t accepted = 0, refused = 0;
    share_open (&share);
    for (int round = 0; round < 3000; round++) {
        spoil (whole[round % 3], &rng, text);
        write_file (&share, "slice.yaml", text->ptr, text->len);
        if (share_load_with (&share, (struct conf_options){ .host_source = answer }) == 0) {
            check_accepted (&share.plan);
            accepted++;
        } else {
            assert_true (share.report.n > 0 && share.err.code == ERR_CONFIG);
            refused++;
        }
        arena_reset (&share.arena);
    }
    assert_true (accepted > 100 && refused > 100); /* else one of the two was not looked at */
    share_close (&share);
}
