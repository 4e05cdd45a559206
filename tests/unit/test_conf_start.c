/* links: conf frontend model base */
#include "conf_share.h"
#include "test.h"

#define REST "profile: p\npins: q\nladder: l\ncache: {root: /shared/cache}\n"

static void load_slice (struct share *share, const char *slice)
{
    write_text (share, "slice.yaml", slice);
    if (share_load (share) != 0)
        dump (share);
    assert_int_equal (share->result, 0);
}

static void has_warning (const struct share *share, const char *expected)
{
    for (uint32_t i = 0; i < share->report.n; i++)
        if (share->report.items[i].warning && strstr (line_of (share, i), expected))
            return;
    dump (share);
    fail_msg ("expected the warning: %s", expected);
}

TEST_FIXTURE (struct share, TEST_NOTHING, share_close)

TEST_ON (share, nothing_of_it_is_planned_for_local_workers)
{
    static const struct start_plan nothing;
    share_open (share);
    assert_int_equal (share_load (share), 0);
    assert_memory_equal (&share->plan.start, &nothing, sizeof nothing);
    assert_memory_equal (&share->plan.hosts.items[0].ssh, &(struct ssh_route){ 0 }, sizeof (struct ssh_route));
}

TEST_ON (share, ssh_has_good_defaults)
{
    share_open (share);
    load_slice (share, "slice: s\nlauncher: ssh\nhosts: v[0-1]\n" REST);
    assert_int_equal (share->report.n, 0);
    const struct start_plan *start = &share->plan.start;
    assert_int_equal (share->plan.launcher, LAUNCHER_SSH);
    assert_true (text_is (start->directory, "/var/tmp/sliceup") && start->address.len == 0);
    assert_text (start->listen, "0.0.0.0");
    assert_int_equal (start->deadline_ms, 60000);
    assert_int_equal (start->at_once, 32);
    assert_false (start->tied);
    assert_int_equal (start->control_port + start->bulk_port + start->events_port, 0);
    assert_int_equal (start->ssh.identities.n, 3);
    assert_text (start->ssh.identities.items[0], "/u/.ssh/id_ed25519");
    assert_true (text_is (start->ssh.known_hosts, "/u/.ssh/known_hosts") && start->ssh.agent);
    const struct plan_host *host = &share->plan.hosts.items[1];
    assert_true (text_is (host->address, "v1") && host->ssh.port == 22);
    assert_true (host->ssh.user.len == 0 && host->ssh.jump.len == 0 && host->ssh.address.len == 0);
    assert_true (text_starts (share->plan.pins.env_dir, "/var/tmp/sliceup/envs/"));
    assert_int_equal (share->plan.pins.env_dir.len, strlen ("/var/tmp/sliceup/envs/") + 16);
    assert_int_equal (share->plan.limits.join_ms, 90000);
}

TEST_ON (share, a_host_answers_for_itself_before_the_slice_does)
{
    static const char slice[] =
        "slice: s\nlauncher: ssh\nhosts:\n  - v0\n  - {name: v1, address: 10.0.0.5, env_dir: own, ssh: {address: "
        "34.1.2.3, "
        "port: 2222, user: _tpu.1-x, jump: ''}}\n  - {name: v2, ssh: {jump: bastion-2, host_key_alias: "
        "tpu.75-2-fl+/_o}}\n"
        "ssh: {user: root, port: 2022, jump: me@bastion:22, agent: false}\n"
        "start: {directory: /data/s_1, deadline: 5s, at_once: 2, outlive: false}\n"
        "coordinator: {address: ::1, listen: '::', control_port: 7001, bulk_port: 7002, events_port: 7003}\n" REST;
    share_open (share);
    load_slice (share, slice);
    assert_int_equal (share->report.n, 0);
    const struct plan_host *hosts = share->plan.hosts.items;
    assert_true (text_is (hosts[0].ssh.user, "root") && hosts[0].ssh.port == 2022);
    assert_text (hosts[0].ssh.jump, "me@bastion:22");
    assert_true (text_is (hosts[1].ssh.address, "34.1.2.3") && text_is (hosts[1].ssh.user, "_tpu.1-x"));
    assert_true (hosts[1].ssh.port == 2222 && hosts[1].ssh.jump.len == 0 && text_is (hosts[1].address, "10.0.0.5"));
    assert_text (hosts[1].env_dir, "/data/s_1/own");
    assert_true (text_is (hosts[2].ssh.jump, "bastion-2") && text_is (hosts[2].ssh.user, "root"));
    assert_true (hosts[1].ssh.host_key_alias.len == 0 && text_is (hosts[2].ssh.host_key_alias, "tpu.75-2-fl+/_o"));
    const struct start_plan *start = &share->plan.start;
    assert_true (text_is (start->directory, "/data/s_1") && text_is (start->address, "::1") &&
                 text_is (start->listen, "::"));
    assert_true (start->control_port == 7001 && start->bulk_port == 7002 && start->events_port == 7003);
    assert_true (start->deadline_ms == 5000 && start->at_once == 2 && start->tied && !start->ssh.agent);
    assert_int_equal (share->plan.limits.join_ms, 30000 + 2 * 5000);
}

TEST_ON (share, one_address_to_listen_at_is_the_one_to_reach)
{
    share_open (share);
    load_slice (share, "slice: s\nlauncher: ssh\nhosts: v[0-1]\ncoordinator: {listen: 10.0.0.1}\n" REST);
    assert_text (share->plan.start.address, "10.0.0.1");
    load_slice (share, "slice: s\nhosts: v[0-1]\ncoordinator: {listen: 0.0.0.0, events_port: 7}\n" REST);
    assert_true (share->plan.start.address.len == 0 && share->plan.start.events_port == 7);
    assert_text (share->plan.start.listen, "0.0.0.0");
}

TEST_ON (share, workers_that_come_by_themselves_have_time)
{
    share_open (share);
    load_slice (share, "slice: s\nlauncher: join\nhosts: v[0-1]\nstart: {directory: /d}\n"
                       "coordinator: {address: c.example, control_port: 7, bulk_port: 8}\n" REST);
    assert_int_equal (share->plan.limits.join_ms, 600000);
    assert_true (text_is (share->plan.start.directory, "/d") && text_is (share->plan.start.listen, "0.0.0.0"));
    assert_true (text_is (share->plan.start.address, "c.example") && !share->plan.start.tied);
    assert_true (share->plan.start.ssh.identities.n == 0 && share->plan.start.ssh.known_hosts.len == 0);
    assert_true (text_is (share->plan.hosts.items[0].address, "v0") && share->plan.hosts.items[0].ssh.port == 0);
}

TEST_ON (share, slurm_is_told_what_the_file_says)
{
    share_open (share);
    load_slice (
        share,
        "slice: s\nlauncher: slurm\nhosts: v[0-1]\n"
        "slurm: {account: ml_1, partition: tpu-2, options: ['--exclusive', '--gres=tpu:v6e:4', --mem=0]}\n" REST);
    const struct slurm_plan *slurm = &share->plan.start.slurm;
    assert_true (text_is (slurm->account, "ml_1") && text_is (slurm->partition, "tpu-2"));
    assert_int_equal (slurm->options.n, 3);
    assert_text (slurm->options.items[1], "--gres=tpu:v6e:4");
    assert_true (share->plan.start.tied);
}

TEST_ON (share, what_was_said_about_time_is_kept)
{
    share_open (share);
    load_slice (share, "slice: s\nlauncher: ssh\nhosts: v[0-1]\nlimits: {join: 50s}\n" REST);
    assert_int_equal (share->plan.limits.join_ms, 50000);
    assert_int_equal (share->report.n, 1);
    has_warning (share, "slice.yaml:4:16: limits.join is 50000 ms, but start.deadline gives one host 60000 ms");
    load_slice (share, "slice: s\nlauncher: ssh\nhosts: v[0-1]\nstart: {at_once: 1, deadline: 1h}\n" REST);
    assert_int_equal (share->plan.limits.join_ms, 3600000);
}

static void print_names (const struct share *share, struct buf *out)
{
    buf_clear (out);
    for (uint32_t i = 0; i < share->plan.hosts.n; i++)
        buf_printf (out, "%s%.*s", i ? " " : "", TEXT_ARG (share->plan.hosts.items[i].name));
}

struct left {
    const char *lines, *hosts, *exclude, *names;
};
static const struct left left_cases[] = {
    { "hosts: v[0-3]\nexclude: v[1,3]\n", NULL, NULL, "v0 v2" },
    { "hosts: [v3, v1, v2]\n", "v[1-3]", NULL, "v3 v1 v2" },
    { "hosts: [v3, v1, v2]\n", "v1,v3", NULL, "v3 v1" },
    { "hosts: v[0-3]\n", NULL, "v[0-1]", "v2 v3" },
    { "hosts: v[0-7]\nexclude: v7\n", "v[4-6]", "v5", "v4 v6" },
    { "hosts: v[0-3]\ngroups: {spare: 'v[2-3]'}\nexclude: '@spare'\n", NULL, NULL, "v0 v1" },
    { "hosts: v[0-3]\ngroups: {spare: 'v[2-3]'}\n", NULL, "@spare", "v0 v1" },
    { "hosts: v[0-3]\ngroups: {spare: 'v[2-3]'}\n", "@spare", NULL, "v2 v3" },
    { "hosts: ['@b', v9]\ngroups: {a: 'v[0-1]', b: '@a,v5'}\n", NULL, NULL, "v0 v1 v5 v9" },
    { "hosts: v[0-3]\n", "v[0-3]!v2", NULL, "v0 v1 v3" },
};

TEST (the_hosts_that_are_left_keep_their_order)
{
    struct buf *names = test_buf (t);
    for (size_t i = 0; i < sizeof left_cases / sizeof left_cases[0]; i++) {
        struct share share;
        char slice[1024];
        share_open (&share);
        snprintf (slice, sizeof slice, "slice: s\n%s" REST, left_cases[i].lines);
        write_text (&share, "slice.yaml", slice);
        struct conf_options options = { .hosts = left_cases[i].hosts, .exclude = left_cases[i].exclude };
        if (share_load_with (&share, options) != 0)
            dump (&share);
        assert_int_equal (share.result, 0);
        print_names (&share, names);
        assert_string_equal (buf_c (names), left_cases[i].names);
        share_close (&share);
    }
}

TEST_ON (share, groups_are_handed_out)
{
    var_list groups = { 0 };
    share_open (share);
    write_text (share, "slice.yaml", "slice: s\nhosts: h[0-1]\ngroups: {a: h0, b: '@a,x[1-2]'}\n" REST);
    assert_int_equal (share_load_with (share, (struct conf_options){ .groups = &groups }), 0);
    assert_int_equal (groups.n, 2);
    assert_true (text_is (groups.items[1].name, "b") && text_is (groups.items[1].value, "@a,x[1-2]"));
}

TEST_ON (share, strangers_are_named)
{
    share_open (share);
    assert_int_equal (share_load_with (share, (struct conf_options){ .hosts = "h[0-3]" }), -1);
    assert_int_equal (share->report.n, 1);
    assert_string_equal (line_of (share, 0),
                         "--hosts: the hosts 'h[2-3]' are not in this slice, expected hosts of 'h[0-1]'");
    assert_int_equal (share_load_with (share, (struct conf_options){ .exclude = "h[0-1]" }), -1);
    assert_non_null (strstr (line_of (share, 0), "slice.yaml:2:8: the slice has no hosts left, expected at least one"));
    assert_int_equal (share_load_with (share, (struct conf_options){ .hosts = "" }), -1);
    assert_has (line_of (share, 0), "--hosts: ");
    assert_int_equal (share_load_with (share, (struct conf_options){ .hosts = "@spare" }), -1);
    assert_has (line_of (share, 0), "--hosts: ");
    assert_int_equal (share_load_with (share, (struct conf_options){ .exclude = "h[1-2]" }), 0);
    has_warning (share, "--exclude: the hosts to exclude 'h2' are not in this slice, so nothing was excluded for them");
    assert_int_equal (share->plan.hosts.n, 1);
}

static int answer (const char *word, struct buf *expression, struct err *err)
{
    if (strcmp (word, "tpu") == 0)
        return err_set (err, ERR_STATE, "TPU_WORKER_HOSTNAMES is not set");
    buf_puts (expression, "n[01-03]");
    return 0;
}

TEST_ON (share, hosts_come_from_the_allocation)
{
    share_open (share);
    write_text (share, "slice.yaml", "slice: s\nhosts: {from: slurm}\n" REST);
    assert_int_equal (share_load_with (share, (struct conf_options){ .host_source = answer }), 0);
    assert_int_equal (share->plan.hosts.n, 3);
    assert_text (share->plan.hosts.items[2].name, "n03");
    write_text (share, "slice.yaml", "slice: s\nhosts: [x, {from: slurm}]\n" REST);
    assert_int_equal (share_load_with (share, (struct conf_options){ .host_source = answer }), 0);
    assert_int_equal (share->plan.hosts.n, 4);
    write_text (share, "slice.yaml", "slice: s\nhosts: {from: tpu}\n" REST);
    assert_int_equal (share_load_with (share, (struct conf_options){ .host_source = answer }), -1);
    assert_int_equal (share->report.n, 1);
    assert_string_equal (line_of (share, 0), "slice.yaml:2:15: from: tpu: TPU_WORKER_HOSTNAMES is not set");
}

TEST_ON (share, hosts_come_from_a_file)
{
    struct buf *names = test_buf (t);
    char path[512];
    share_open (share);
    write_text (share, "nodes", "# rack 1\nv[0-1] x\t# two and one\n\n  y,z\r\nlast");
    snprintf (path, sizeof path, "%s/nodes", share->root);
    load_slice (share, "slice: s\nhosts: {from: file, file: nodes}\n" REST);
    print_names (share, names);
    assert_string_equal (buf_c (names), "v0 v1 x y z last");
    write_text (share, "nodes", "v0\n  v1 v0\nv[\n");
    assert_int_equal (share_load (share), -1);
    assert_int_equal (share->report.n, 2);
    assert_string_equal (line_of (share, 0), "nodes:2:6: the host 'v0' is given twice, first in line 1; expected once");
    assert_has (line_of (share, 1), "nodes:3:1: ");
    write_text (share, "nodes", "# nobody\n");
    assert_int_equal (share_load (share), -1);
    assert_has (line_of (share, 0), "slice.yaml:2:8: the slice has no hosts, expected at least one");
    assert_int_equal (unlink (path), 0);
}

TEST_ON (share, one_machine_given_twice_is_suspected)
{
    share_open (share);
    load_slice (
        share,
        "slice: s\nlauncher: ssh\nhosts:\n- {name: a, address: 10.0.0.1}\n- b\n- {name: c, address: 10.0.0.1}\n" REST);
    assert_int_equal (share->report.n, 1);
    has_warning (share,
                 "slice.yaml:6:3: the hosts a and c have the same address 10.0.0.1: is one machine listed twice?");
    load_slice (share,
                "slice: s\nlauncher: ssh\nhosts:\n- {name: a, ssh: {address: x}}\n- {name: b, ssh: {address: x}}\n"
                "- {name: c, ssh: {address: x, port: 23}}\n" REST);
    assert_int_equal (share->report.n, 1);
    has_warning (share,
                 "slice.yaml:5:3: the hosts a and b have the same sshd, x port 22: is one machine listed twice?");
    load_slice (share, "slice: s\nhosts: [{name: a, address: 127.0.0.1}, b]\n" REST);
    assert_int_equal (share->report.n, 0);
}

TEST_ON (share, files_that_are_listed_are_looked_for)
{
    char slice[1024];
    share_open (share);
    write_text (share, "slice.yaml",
                "slice: s\nlauncher: ssh\nhosts: v[0-1]\nssh: {identities: [~/none, "
                "/nowhere/key], known_hosts: ~/known}\n" REST);
    assert_int_equal (share_load (share), -1);
    assert_int_equal (share->report.n, 2);
    assert_string_equal (line_of (share, 0), "slice.yaml:4:20: '/u/none' cannot be read on this machine: No such file "
                                             "or directory; expected the private key, as ssh-keygen makes it");
    assert_non_null (
        strstr (line_of (share, 1), "slice.yaml:4:56: '/u/known' cannot be read on this machine: No such"));
    assert_int_equal (share_load_with (share, (struct conf_options){ .starts_nothing = true }), 0);
    has_warning (share, "slice.yaml:4:20: '/u/none' cannot be read");
    assert_text (share->plan.start.ssh.identities.items[0], "/u/none");
    snprintf (slice, sizeof slice, "slice: s\nlauncher: ssh\nhosts: v[0-1]\nssh: {identities: [~/none, %s]}\n" REST,
              share->slice);
    load_slice (share, slice);
    assert_int_equal (share->report.n, 0);
}

TEST_ON (share, without_a_home_folder_paths_are_absolute)
{
    struct conf_options options = { .home = "/h" };
    share_open (share);
    options.slice_path = share->slice;
    options.share_dir = share->root;
    write_text (share, "slice.yaml", "slice: s\nlauncher: ssh\nhosts: v[0-1]\n" REST);
    assert_int_equal (conf_load (&options, &share->arena, &share->plan, &share->report, &share->err), -1);
    assert_int_equal (share->report.n, 1);
    assert_non_null (
        strstr (line_of (share, 0), "begins with ~/, but no home folder is known: expected HOME to be set"));
    write_text (share, "slice.yaml", "slice: s\nlauncher: ssh\nhosts: v[0-1]\nssh: {known_hosts: /etc/passwd}\n" REST);
    assert_int_equal (conf_load (&options, &share->arena, &share->plan, &share->report, &share->err), 0);
    assert_int_equal (share->plan.start.ssh.identities.n, 0);
}
