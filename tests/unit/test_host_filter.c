/* links: cli */
#include "coordinator/cli/hosts.h"
#include "test.h"

static struct text names[] = { TEXT_LIT ("v6e-0"), TEXT_LIT ("v6e-1"), TEXT_LIT ("v6e-2"), TEXT_LIT ("login") };
enum { NAMES_N = sizeof names / sizeof names[0] };
static const struct name_list all = { .items = names, .n = NAMES_N };

/* The slice file's groups may name hosts that the run has not. */
static struct var groups[] = { { TEXT_LIT ("pair"), TEXT_LIT ("v6e-[1,9]") },
                               { TEXT_LIT ("more"), TEXT_LIT ("@pair,login") } };
static const struct plan plan = { .groups = { groups, 2 } };

static void expect (const char *hosts, const char *exclude, const char *chosen_as_bits)
{
    const struct host_filter filter = { hosts, exclude };
    bool chosen[NAMES_N] = { false };
    struct err err = { 0 };
    if (host_filter_resolve (&filter, &all, &plan, chosen, &err) < 0)
        fail_msg ("%s", err.text);
    for (uint32_t i = 0; i < NAMES_N; i++)
        assert_int_equal (chosen[i], chosen_as_bits[i] == '1');
}

static void expect_refusal (const char *hosts, const char *exclude, enum err_code code, const char *word)
{
    const struct host_filter filter = { hosts, exclude };
    bool chosen[NAMES_N];
    struct err err = { 0 };
    assert_int_equal (host_filter_resolve (&filter, &all, &plan, chosen, &err), -1);
    if (err.code != code || !strstr (err.text, word))
        fail_msg ("%s", err.text);
}

TEST (hosts_are_chosen_and_excluded)
{
    expect (NULL, NULL, "1111");
    expect ("v6e-[0-9],elsewhere", NULL, "1110");
    expect (NULL, "v6e-1", "1011");
    expect ("v6e-[0-1],login", "v6e-0", "0101");
    expect ("@*!login", "v6e-[1-2]", "1000");
    expect (NULL, "nobody", "1111");
    expect ("@pair", NULL, "0100");
    expect ("@more", NULL, "0101");
    expect ("@*!@more", NULL, "1010");
}

static void expect_stranger (const char *hosts, const char *exclude, bool excluded, const char *word)
{
    struct plan_host of[NAMES_N] = {
        { .name = all.items[0] }, { .name = all.items[1] }, { .name = all.items[2] }, { .name = all.items[3] }
    };
    struct plan strict = { .slice = TEXT_LIT ("s"), .hosts = { of, NAMES_N }, .groups = plan.groups };
    struct host_choice chosen;
    LOCAL_ARENA arena = { 0 };
    struct err err = { 0 };
    int rc = host_filter_choose (&(struct host_filter){ hosts, exclude }, excluded, &strict, &arena, &chosen, &err);
    if (word) {
        assert_int_equal (rc, -1);
        assert_int_equal (err.code, ERR_USAGE);
        assert_non_null (strstr (err.text, word));
        return;
    }
    assert_int_equal (rc, 0);
    assert_int_equal (chosen.n, 1);
    assert_int_equal (chosen.ranks[0], 1);
    assert_text (chosen.names[0], "v6e-1");
    assert_text (of[1].ssh.user, "me");
}

TEST (a_stranger_is_refused_where_he_would_be_waited_for)
{
    expect_stranger ("me@v6e-1", "nobody", false, NULL);
    expect_stranger ("v6e-9", NULL, false, "--hosts: v6e-9 is no host of slice s");
    expect_stranger (NULL, "nobody", true, "--exclude: nobody is no host of slice s");
    expect_stranger ("v6e-[0-99999]", NULL, false, "--hosts: host set, character 1 ");
    expect_stranger ("v6e-1", "v6e-1", true, "this selects none of the hosts ");
}

TEST (a_choice_of_nobody_is_refused)
{
    expect_refusal ("x[1-3]", NULL, ERR_USAGE, "--hosts x[1-3]: this selects none of the hosts ");
    expect_refusal (NULL, "@*", ERR_USAGE, "--exclude @*: this selects none of the hosts ");
    expect_refusal ("v6e-0", "v6e-0", ERR_USAGE, "--hosts v6e-0 --exclude v6e-0: ");
    expect_refusal ("v6e-[0", NULL, ERR_PARSE, "--hosts: host set, character 5 ");
    expect_refusal (NULL, "v6e-[0-99999]", ERR_LIMIT, "--exclude: host set, character 1 ");
    expect_refusal ("@spare", NULL, ERR_PARSE, "no group spare");
}
