/* alone: cli worker_run */
#include "cases.h"
#include "conf_share.h"
#include "coordinator/cli/planning.h"
#include "test.h"

#define REST "profile: p\npins: q\nladder: l\ncache: {root: /shared/cache}\n"
#define SLICE(HOSTS, SSH) "slice: s\nlauncher: ssh\nhosts: " HOSTS "\nssh: {config: true" SSH "}\n" REST

static char home[128];

static void begin (struct share *share, const char *slice, const char *config)
{
    share_open (share);
    snprintf (home, sizeof home, "%s/home", share->root);
    assert_int_equal (mkdir (home, 0700), 0);
    assert_int_equal (mkdir (place (share, "home/.ssh"), 0700), 0);
    write_text (share, "slice.yaml", slice);
    if (config)
        write_text (share, "home/.ssh/config", config);
    if (config)
        assert_int_equal (chmod (place (share, "home/.ssh/config"), 0644), 0);
}

static int load (struct share *share)
{
    return share_load_with (
        share, (struct conf_options){ .user_home = home, .user_name = "me", .ssh_answers = planning_ask_ssh });
}

TEST_FIXTURE (struct share, TEST_NOTHING, share_close)

static void loads (struct share *share, const char *slice, const char *config)
{
    begin (share, slice, config);
    if (load (share) != 0)
        dump (share);
    assert_int_equal (share->result, 0);
}

static const struct ssh_route *route (const struct share *share, int rank)
{
    return &share->plan.hosts.items[rank].ssh;
}

static void has (const struct share *share, bool warning, const char *expected)
{
    for (uint32_t i = 0; i < share->report.n; i++)
        if (share->report.items[i].warning == warning && strstr (line_of (share, i), expected))
            return;
    dump (share);
    fail_msg ("expected: %s", expected);
}

static const char gcloud[] =
    "Host v0.us-east5-b.p v1.us-east5-b.p\n    IdentityFile ~/.ssh/google_compute_engine\n"
    "    UserKnownHostsFile=/k/google_compute_known_hosts\n    IdentitiesOnly=yes\n"
    "    StrictHostKeyChecking=no\nHost v0.us-east5-b.p\n    HostName 34.1.2.3\n    HostKeyAlias=compute.75\n"
    "Host v1.us-east5-b.p\n    HostName 34.1.2.4\n    HostKeyAlias=compute.76\n    Port 2222\n";

TEST_ON (share, what_the_file_leaves_open_the_configuration_says)
{
    static const uint32_t all = 1u << SAID_ADDRESS | 1u << SAID_ALIAS | 1u << SAID_KNOWN_HOSTS | 1u << SAID_IDENTITIES |
                                1u << SAID_ONLY | 1u << SAID_UNCHECKED;
    char path[256];
    loads (share, SLICE ("v[0-1].us-east5-b.p", ""), gcloud);
    assert_true (text_is (route (share, 0)->address, "34.1.2.3") && route (share, 0)->port == 22);
    assert_true (text_is (route (share, 1)->host_key_alias, "compute.76") && route (share, 1)->port == 2222);
    assert_int_equal (route (share, 0)->from_config, all);
    assert_int_equal (route (share, 1)->from_config, all | 1u << SAID_PORT);
    assert_true (route (share, 0)->user.len == 0);
    assert_int_equal (share->plan.start.ssh.identities.n, 1);
    snprintf (path, sizeof path, "%s/.ssh/google_compute_engine", home);
    assert_text (share->plan.start.ssh.identities.items[0], path);
    assert_text (share->plan.start.ssh.known_hosts, "/k/google_compute_known_hosts");
    assert_int_equal (share->report.n, 1);
    has (share, true, "home/.ssh/config: StrictHostKeyChecking 'false' is ignored, as all that relaxes a check");
}

TEST_ON (share, nothing_is_taken_unless_asked_for)
{
    loads (share, "slice: s\nlauncher: ssh\nhosts: a\n" REST, "ProxyCommand x\nUser u\nPort 9\n");
    assert_true (route (share, 0)->user.len == 0 && route (share, 0)->port == 22);
    assert_int_equal (route (share, 0)->from_config | share->report.n, 0);
}

TEST_ON (share, the_slice_file_wins)
{
    loads (share,
           SLICE ("[{name: a, ssh: {port: 22, jump: '', host_key_alias: mine}}, {name: b, address: 10.0.0.7, ssh: "
                  "{address: z}}, {name: c, address: a}]",
                  ", user: tpu, identities: [/dev/zero], known_hosts: /dev/null") "coordinator: {address: 10.0.0.1}\n",
           "Host a b\nUser no\nPort 7\nProxyCommand x\nHostKeyAlias no\nIdentityFile /no\nHost z\nHostName %h.example\n"
           "Port 8\nProxyJump j\nUser no\nUserKnownHostsFile /no-%r\nHost c\nHostName 34.9.9.9\n");
    assert_true (text_is (route (share, 0)->user, "tpu") && route (share, 0)->port == 22);
    assert_true (text_is (route (share, 0)->host_key_alias, "mine") && route (share, 0)->jump.len == 0);
    assert_int_equal (route (share, 0)->from_config, 0);
    assert_true (text_is (route (share, 1)->address, "z.example") && text_is (route (share, 1)->user, "tpu"));
    assert_true (text_is (route (share, 1)->jump, "me@j:22") && route (share, 1)->port == 8);
    assert_true (text_is (route (share, 2)->address, "34.9.9.9") && text_is (share->plan.hosts.items[2].address, "a"));
    assert_true (text_is (share->plan.start.ssh.identities.items[0], "/dev/zero") &&
                 text_is (share->plan.start.ssh.known_hosts, "/dev/null"));
}

TEST (a_jump_host_is_looked_up_too)
{
    static const struct {
        const char *said, *block, *expected;
    } cases[] = { { "", "Host j\nHostName 34.9.9.9\nPort 222\nUser ju\n", "ju@34.9.9.9:222" },
                  { "", "Host j\nHostName 2001:db8::9\n", "me@[2001:db8::9]:22" },
                  { ", jump: 'x@j:5'", "Host j\nHostName 34.9.9.9\nPort 222\nUser ju\n", "x@34.9.9.9:5" },
                  { ", jump: '[2001:db8::8]:5'", "Host 2001*\nUser six\n", "six@[2001:db8::8]:5" },
                  { ", jump: j", "", "j:22" } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct share share;
        char slice[512], config[512];
        snprintf (slice, sizeof slice, SLICE ("a", "%s") "coordinator: {address: 10.0.0.1}\n", cases[i].said);
        snprintf (config, sizeof config, "Host a\nUser tpu\nProxyJump j\n%s", cases[i].block);
        loads (&share, slice, config);
        assert_text (route (&share, 0)->jump, cases[i].expected);
        share_close (&share);
    }
}

/* ssh puts brackets around any address. */
TEST_ON (share, a_jump_host_may_be_an_address)
{
    loads (share, SLICE ("a", "") "coordinator: {address: 10.0.0.1}\n", "Host a\nProxyJump u@10.0.0.9:5\n");
    assert_text (route (share, 0)->jump, "u@10.0.0.9:5");
}

TEST_ON (share, a_user_that_is_refused_is_not_handed_to_ssh)
{
    begin (share, SLICE ("a", ", user: 'a;b'") "coordinator: {address: 10.0.0.1}\n", "Host a\nPort 7\n");
    assert_int_equal (load (share), -1);
    has (share, false, "a;b");
    assert_int_equal (share->report.n, 1);
}

TEST_ON (share, what_match_exec_prints_is_no_answer)
{
    loads (share, SLICE ("a", "") "coordinator: {address: 10.0.0.1}\n",
           "Match exec \"echo proxyjump evil >&2\"\nUser matched\n");
    assert_true (text_is (route (share, 0)->user, "matched") && route (share, 0)->jump.len == 0);
}

static void load_case (struct test *t, const struct test_case *of, struct buf *got)
{
    struct share share;
    struct text hosts = case_text (of, "hosts");
    begin (&share,
           text_format (&t->arena, SLICE ("%.*s", "") "coordinator: {address: 10.0.0.1}\n",
                        TEXT_ARG (hosts.len ? hosts : TEXT_LIT ("a")))
               .ptr,
           text_format (&t->arena, "%.*s\n", TEXT_ARG (case_text (of, "config"))).ptr);
    assert_int_equal (load (&share), -1);
    share_print_problems (&share, got);
    share_close (&share);
}

TEST (each_mistake_is_told)
{
    cases_run ("conf_ssh_config", load_case);
}

TEST_ON (share, a_file_that_others_may_write_to_is_refused)
{
    begin (share, SLICE ("a", ""), "User u\n");
    for (mode_t mode = 0602; mode <= 0620; mode += 016) {
        assert_int_equal (chmod (place (share, "home/.ssh/config"), mode), 0);
        assert_int_equal (load (share), -1);
        has (share, false, "slice.yaml:4:6: others may write to");
    }
    assert_int_equal (chmod (place (share, "home/.ssh/config"), 0600), 0);
    if (getuid () == 0) {
        assert_int_equal (chown (place (share, "home/.ssh/config"), 65534, 0), 0);
        assert_int_equal (load (share), -1);
        has (share, false, "others may write to");
        assert_int_equal (chown (place (share, "home/.ssh/config"), 0, 0), 0);
    }
    assert_int_equal (load (share), 0);
}

TEST_ON (share, what_is_no_file_is_not_read)
{
    begin (share, SLICE ("a", ""), NULL);
    assert_int_equal (share_load_with (share, (struct conf_options){ .user_home = "/nowhere" }), 0);
    const struct cache_plan *cache = &share->plan.cache;
    assert_true (text_is_among (TEXT_LIT ("/nowhere/.ssh"), cache->protected.items, cache->protected.n));
    assert_int_equal (load (share), 0);
    has (share, true, "slice.yaml:4:6: config: true, but there is no ");
    assert_int_equal (mkfifo (place (share, "home/.ssh/config"), 0600), 0);
    assert_int_equal (load (share), -1);
    has (share, false, "slice.yaml:4:6: ssh configuration '");
    has (share, false, "cannot be read: it is not a regular file");
}

TEST_ON (share, included_files_are_looked_at_too)
{
    char config[512];
    begin (share, SLICE ("[a, b]", ""), "");
    snprintf (config, sizeof config, "Include %s/.ssh/none %s/.ssh/a.*\nHost b\nPort 3\n", home, home);
    write_text (share, "home/.ssh/config", config);
    write_text (share, "home/.ssh/a.1", "Host a\nUser one\n");
    assert_int_equal (load (share), 0);
    assert_int_equal (share->report.n, 0);
    assert_true (text_is (route (share, 0)->user, "one") && route (share, 0)->port == 22);
    assert_true (route (share, 1)->user.len == 0 && route (share, 1)->port == 3);
    assert_int_equal (chmod (place (share, "home/.ssh/a.1"), 0666), 0);
    assert_int_equal (load (share), -1);
    has (share, false, "slice.yaml:4:6: ssh -G a: Bad owner or permissions on ");
}

TEST (tokens_are_those_of_openssh)
{
    struct share share;
    char path[256];
    loads (&share, SLICE ("a", "") "coordinator: {address: 10.0.0.1}\n",
           "Host a\nPort 9\nUser tpu\nHostName x%h\nProxyJump %r@%h.jump:1\n");
    assert_true (text_is (route (&share, 0)->address, "xa") && text_is (route (&share, 0)->jump, "tpu@xa.jump:1"));
    share_close (&share);
    loads (&share, SLICE ("a", ", user: u, port: 7"),
           "IdentityFile %d/%h-%n-%p-%r\nIdentityFile \"/with blank/%u%%\"\nUserKnownHostsFile /%n_%p_%r\n");
    snprintf (path, sizeof path, "%s/a-a-7-u", home);
    assert_text (share.plan.start.ssh.identities.items[0], path);
    assert_text (share.plan.start.ssh.identities.items[1], "/with blank/me%");
    assert_text (share.plan.start.ssh.known_hosts, "/a_7_u");
    share_close (&share);
}

TEST_ON (share, a_command_goes_by_the_name_of_the_host_and_not_by_its_address_for_the_others)
{
    loads (share, SLICE ("[{name: a.internal, address: 10.0.0.5}, {name: b, address: 10.0.0.6}]", ""),
           "Host *.internal\nProxyCommand relay %h\n");
    assert_text (route (share, 0)->address, "a.internal"); /* as ssh looks it up in known_hosts */
    assert_true (route (share, 1)->address.len == 0);
}

TEST_ON (share, a_proxy_command_is_taken_with_its_tokens_expanded)
{
    loads (share, SLICE ("[a, {name: b, ssh: {jump: ''}}]", "") "coordinator: {address: 10.0.0.1}\n",
           "Host a\nHostName a.example\nHostKeyAlias k\nUser tpu\nHost *\n"
           "ProxyCommand gcloud start-iap-tunnel %h %p --user=%r --of=%n --k=%k 50%% ${HOME} '$x'\n");
    assert_text (route (share, 0)->command,
                 "gcloud start-iap-tunnel a.example 22 --user=tpu --of=a --k=k 50% ${HOME} '$x'");
    assert_int_equal (route (share, 0)->from_config >> SAID_COMMAND & 1, 1);
    assert_true (route (share, 1)->command.len == 0);
    assert_int_equal (route (share, 0)->from_config >> SAID_UNCHECKED, 0);
}

/* ---- the program ssh ---- */

static void take_nothing (void *owner, uint32_t index, struct text lines)
{
    (void) lines;
    assert_int_equal (index, (*(uint32_t *) owner)++);
}

static int ask (const char *name, uint32_t n, struct err *err)
{
    struct ssh_route routes[40];
    uint32_t taken = 0;
    for (uint32_t i = 0; i < n; i++)
        routes[i] = (struct ssh_route){ .address = text_of (name) };
    int rc = planning_ask_ssh ("none", routes, n, take_nothing, &taken, err);
    assert_int_equal (taken, rc == 0 ? n : 0);
    return rc;
}

TEST (every_question_is_answered_in_its_order)
{
    assert_int_equal (ask ("a", 40, &t->err), 0);
    assert_int_equal (ask ("-oProxyCommand=x", 1, &t->err), -1);
    assert_has (t->err.text, "no host name that begins with '-'");
}

TEST (an_ssh_that_fails_is_told_with_its_words)
{
    static const struct {
        const char *script, *expected;
    } cases[] = { { NULL, "the program ssh cannot be started: No such file" },
                  { "echo debug; echo it >&2; echo no >&2; exit 3", "ssh -G a: it; no" },
                  { "sleep 100 & sleep 100", "ssh -G a took longer than 10 s" } };
    struct share share;
    char *path = strdup (getenv ("PATH")), here[1024];
    share_open (&share);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (cases[i].script) {
            snprintf (here, sizeof here, "#!/bin/sh\nPATH=/bin:/usr/bin\n%s\n", cases[i].script);
            write_text (&share, "ssh", here);
            assert_int_equal (chmod (place (&share, "ssh"), 0700), 0);
        }
        assert_int_equal (setenv ("PATH", share.root, 1), 0);
        time_t began = time (NULL);
        assert_int_equal (ask ("a", 20, &t->err), -1);
        assert_true (time (NULL) - began < 60);
        assert_has (t->err.text, cases[i].expected);
    }
    assert_int_equal (setenv ("PATH", path, 1), 0);
    free (path);
    share_close (&share);
}

TEST_ON (share, behind_a_jump_host_the_way_back_must_be_given)
{
    begin (share, SLICE ("a", "}\ncoordinator: {reach: direct"), "Host a\nProxyJump j\n");
    for (int command = 0; command < 2; command++) {
        assert_int_equal (load (share), -1);
        has (share, false, "coordinator.address is missing and hosts are behind a jump host");
        write_text (share, "home/.ssh/config", "Host a\nProxyCommand c\n");
    }
}
