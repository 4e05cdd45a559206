/* links: conf frontend model base */
/* What no file of cases can say (those are test_conf_cases.c's): digests, paths of this machine, words on their own. */
#include "conf_share.h"
#include "test.h"

#include "common/base/digest.h"
#include "common/conf/conf.h"
#include "common/conf/draft.h"

#define REST "profile: p\npins: q\nladder: l\ncache: {root: /shared/cache}\n"

TEST_FIXTURE (struct share, share_open, share_close)

TEST_ON (share, digests_are_of_the_files_themselves)
{
    char hex[DIGEST_HEX_BYTES], env_dir[64];
    static const char pin[] =
        "six==1.17.0 --hash=sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n";
    struct digest digest = digest_of (pin, sizeof pin - 1);
    assert_int_equal (share_load (share), 0);
    const struct pins *pins = &share->plan.pins;
    assert_string_equal (pins->file.sha256.ptr, digest_hex (&digest, hex));
    snprintf (env_dir, sizeof env_dir, "/h/envs/%.16s", hex);
    assert_string_equal (pins->env_dir.ptr, env_dir);
    assert_true (text_is (pins->name, "q") && text_is (pins->python, "python3") && pins->setup.path.len == 0);
    digest = digest_of (good_files[0].text, strlen (good_files[0].text));
    assert_string_equal (share->plan.source.sha256.ptr, digest_hex (&digest, hex));
    digest = digest_of ("print ()\n", 9);
    assert_string_equal (share->plan.rungs.items[2].program.sha256.ptr, digest_hex (&digest, hex));
}

TEST_ON (share, a_failed_load_leaves_the_plan_alone)
{
    memset (&share->plan, 0x5a, sizeof share->plan);
    struct plan before = share->plan;
    write_text (share, "slice.yaml", "slice: s\n");
    assert_int_equal (share_load (share), -1);
    assert_memory_equal (&before, &share->plan, sizeof before);
}

TEST_ON (share, a_slice_that_does_not_exist_is_named)
{
    assert_int_equal (share_load_with (share, (struct conf_options){ .slice_path = "/nowhere/s.yaml" }), -1);
    assert_has (share->err.text, "slice '/nowhere/s.yaml' does not exist, expected the file /nowhere/s.yaml");
}

TEST_ON (share, what_is_no_name_cannot_name_a_pin_set)
{
    char path[512];
    write_text (share, "q q.txt", "six==1.17.0\n");
    snprintf (path, sizeof path, "%s/q q.txt", share->root);
    assert_int_equal (share_load_with (share, (struct conf_options){ .pins = path }), -1);
    assert_has (line_of (share, 0), "the pin set is named 'q q', expected a file name of letters");
    assert_int_equal (share_load_with (share, (struct conf_options){ .pins = "" }), -1);
    assert_has (line_of (share, 0), "--pins: an empty name, expected the name or path of a pin set");
    assert_int_equal (unlink (path), 0);
}

TEST_ON (share, a_link_that_leads_nowhere_is_refused)
{
    assert_int_equal (unlink (share->slice), 0);
    assert_int_equal (symlink ("slice.yaml", share->slice), 0);
    assert_int_equal (share_load (share), -1);
    assert_has (line_of (share, 0), "cannot be read: Too many levels of symbolic links");
}

TEST_ON (share, groups_are_handed_out)
{
    write_text (share, "slice.yaml", "slice: s\nhosts: h[0-1]\ngroups: {a: h0, b: '@a,x[1-2]'}\n" REST);
    assert_int_equal (share_load (share), 0);
    const var_list *groups = &share->plan.groups;
    assert_int_equal (groups->n, 2);
    assert_true (text_is (groups->items[1].name, "b") && text_is (groups->items[1].value, "@a,x[1-2]"));
}

static void load_slice (struct share *share, const char *slice)
{
    write_text (share, "slice.yaml", slice);
    if (share_load (share) != 0)
        dump (share);
    assert_int_equal (share->result, 0);
}

/* Rules are read whatever lists are named. */
TEST_ON (share, rules_of_the_form_of_errors_are_signatures_without_a_text)
{
    write_text (share, "configs/signatures/rules.yaml",
                "signatures: rules\nlist:\n- {id: r, rule: peer, any: [Bad Luck], errno: EIO, layer: host, else: "
                "device, next: x}\n");
    load_slice (share, "slice: s\nhosts: h[0-1]\n" REST);
    const struct signature *rule = &share->plan.signatures.items[share->plan.signatures.n - 1];
    assert_true (rule->rule == RULE_PEER && rule->peer && rule->likely && text_is (rule->error, "EIO"));
    assert_true (rule->owner == OWNER_HOST && rule->else_owner == OWNER_DEVICE);
    assert_text (rule->any.items[0], "bad luck"); /* capitals do not count */
}

/* Only a list of that name or file counts: the slice is called rules as well. */
TEST_ON (share, rules_of_ones_own_stand_in_place_of_ours)
{
    write_text (share, "rules.yaml",
                "signatures: own\nlist:\n- {id: own, rule: cause, any: [x], layer: host, next: x}\n");
    write_text (share, "configs/signatures/rules.yaml",
                "signatures: rules\nlist:\n- {id: ours, rule: cause, any: [x], layer: host, next: x}\n");
    static const char *const names[] = { "./rules.yaml", "rules.yaml" };
    for (size_t i = 0; i < 2; i++) {
        char slice[256];
        snprintf (slice, sizeof slice,
                  "slice: rules\nhosts: h[0-1]\nprofile: p\npins: q\nladder: l\n"
                  "signatures: [system, %s]\n",
                  names[i]);
        load_slice (share, slice);
        assert_int_equal (share->plan.signatures.n, 2);
        assert_text (share->plan.signatures.items[1].id, "own");
    }
    load_slice (share, "slice: rules\nhosts: h[0-1]\nprofile: p\npins: q\nladder: l\n");
    assert_text (share->plan.signatures.items[share->plan.signatures.n - 1].id, "ours");
}

static void has_warning (const struct share *share, const char *expected)
{
    for (uint32_t i = 0; i < share->report.n; i++)
        if (share->report.items[i].warning && strstr (line_of (share, i), expected))
            return;
    dump (share);
    fail_msg ("expected the warning: %s", expected);
}

TEST_ON (share, files_that_are_listed_are_looked_for)
{
    char slice[1024];
    write_text (share, "slice.yaml",
                "slice: s\nlauncher: ssh\nhosts: v[0-1]\nssh: {identities: [~/none, "
                "/nowhere/key], known_hosts: ~/known}\n" REST);
    assert_int_equal (share_load (share), -1);
    assert_int_equal (share->report.n, 2);
    assert_string_equal (line_of (share, 0), "slice.yaml:4:20: '/u/none' cannot be read on this machine: No such file "
                                             "or directory; expected the private key, as ssh-keygen makes it");
    assert_has (line_of (share, 1), "slice.yaml:4:56: '/u/known' cannot be read on this machine: No such");
    assert_int_equal (share_load_with (share, (struct conf_options){ .starts_nothing = true }), 0);
    has_warning (share, "slice.yaml:4:20: '/u/none' cannot be read");
    assert_text (share->plan.start.ssh.identities.items[0], "/u/none");
    snprintf (slice, sizeof slice, "slice: s\nlauncher: ssh\nhosts: v[0-1]\nssh: {identities: [~/none, %s]}\n" REST,
              share->slice);
    load_slice (share, slice);
    assert_int_equal (share->report.n, 0);
}

TEST_ON (share, root_has_a_folder_of_its_own_on_the_hosts)
{
    load_slice (share, "slice: s\nlauncher: ssh\nhosts: v[0-1]\nssh: {sudo: true}\n" REST);
    assert_true (share->plan.start.ssh.sudo);
    assert_text (share->plan.start.directory, "/var/tmp/sliceup-root");
    load_slice (share, "slice: s\nlauncher: ssh\nhosts: v[0-1]\nssh: {sudo: true}\nstart: {directory: /d}\n" REST);
    assert_text (share->plan.start.directory, "/d");
    load_slice (share, "slice: s\nlauncher: ssh\nhosts: v[0-1]\n" REST);
    assert_text (share->plan.start.directory, "/var/tmp/sliceup");
}

TEST_ON (share, without_a_home_folder_paths_are_absolute)
{
    struct conf_options options = { .home = "/h" };
    options.slice_path = share->slice;
    options.share_dir = share->root;
    write_text (share, "slice.yaml", "slice: s\nlauncher: ssh\nhosts: v[0-1]\n" REST);
    assert_int_equal (conf_load (&options, &share->arena, &share->plan, &share->report, &share->err), -1);
    assert_int_equal (share->report.n, 1);
    assert_has (line_of (share, 0), "begins with ~/, but no home folder is known: expected HOME to be set");
    write_text (share, "slice.yaml", "slice: s\nlauncher: ssh\nhosts: v[0-1]\nssh: {known_hosts: /etc/passwd}\n" REST);
    assert_int_equal (conf_load (&options, &share->arena, &share->plan, &share->report, &share->err), 0);
    assert_int_equal (share->plan.start.ssh.identities.n, 0);
}

static const char *arg_of (const struct rung *rung, const char *name)
{
    for (uint32_t i = 0; i < rung->args.n; i++)
        if (text_is (rung->args.items[i].name, name))
            return rung->args.items[i].value.ptr;
    return "(absent)";
}

struct json_case {
    const char *yaml, *json;
};
static const struct json_case json_cases[] = {
    { "0", "0" },
    { "-1", "-1" },
    { "1.5e-3", "1.5e-3" },
    { "12", "12" },
    { "true", "true" },
    { "false", "false" },
    { "'12'", "\"12\"" },
    { "\"a\\\"b\\\\c\\n\"", "\"a\\\"b\\\\c\\u000a\"" },
    { "hello", "\"hello\"" },
    { "[1, a, 'true', false]", "[1,\"a\",\"true\",false]" },
    { "[]", "[]" },
    { "''", "\"\"" },
    { "a.b", "\"a.b\"" },
    { "1.2.3", "\"1.2.3\"" },
    { "3d", "\"3d\"" },
    { "bf16", "\"bf16\"" },
    { "2026-01-01", "\"2026-01-01\"" },
    /* refused */
    { "yes", NULL },
    { "Off", NULL },
    { "True", NULL },
    { "0x10", NULL },
    { "0o17", NULL },
    { "1_000", NULL },
    { ".5", NULL },
    { "5.", NULL },
    { "+1", NULL },
    { "010", NULL },
    { "1e999", NULL },
    { ".inf", NULL },
    { "-.inf", NULL },
    { ".nan", NULL },
    { "~", NULL },
    { "[1, ~]", NULL },
    { "[[1]]", NULL },
    { "{a: 1}", NULL },
    { "Null", NULL },
};

TEST (arguments_become_json_or_are_refused)
{
    for (size_t i = 0; i < sizeof json_cases / sizeof json_cases[0]; i++) {
        struct share share;
        char text[512];
        share_open (&share);
        int len = snprintf (text, sizeof text, "ladder: l\nrungs:\n- id: a\n  canary: jax/tiny.py\n  args: {v: %s}\n",
                            json_cases[i].yaml);
        write_file (&share, "configs/ladders/l.yaml", text, (size_t) len);
        int result = share_load (&share);
        const char *json = result == 0 ? arg_of (&share.plan.rungs.items[0], "v") : "(refused)";
        if (strcmp (json, json_cases[i].json ? json_cases[i].json : "(refused)") != 0)
            fail_msg ("%s became %s", json_cases[i].yaml, json);
        share_close (&share);
    }
}

TEST (sizes_have_units)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        { "0B", 0 }, { "512B", 512 }, { "64KiB", 64 << 10 }, { "4MiB", 4 << 20 }, { "2GiB", UINT64_C (2) << 30 }
    };
    static const char *const bad[] = { "",    "4",      "MiB",  "4 MiB",          "4MB",
                                       "-1B", "1.5MiB", "4mib", "17179869184GiB", "4MiBx" };
    uint64_t bytes = 0;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true (size_parse (text_of (good[i].text), &bytes));
        assert_true (bytes == good[i].bytes);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false (size_parse (text_of (bad[i]), &bytes));
}

TEST (the_text_nearest_is_proposed_only_when_near)
{
    static const char *const known[] = { "profile", "pins", "limits", "ladder" };
    static const struct {
        const char *word, *near;
    } cases[] = { { "profle", "profile" },      { "porfile", "profile" }, { "pin", "pins" }, { "limit", "limits" },
                  { "lader", "ladder" },        { "xyzzy", NULL },        { "", NULL },      { "q", NULL },
                  { "profiling-options", NULL } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *near = text_nearest (text_of (cases[i].word), known, 4);
        if ((near == NULL) != (cases[i].near == NULL) || (near && strcmp (near, cases[i].near) != 0))
            fail_msg ("'%s' brought %s", cases[i].word, near ? near : "nothing");
    }
}
