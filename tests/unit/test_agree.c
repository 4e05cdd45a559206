/* links: verdict */
/* What all hosts of a pass have to have alike: environment, flags and storage; and memory for the premapped buffer. */
#include "coordinator/verdict/agree.h"
#include "test.h"

enum { HOSTS = 3 };

struct hosts_pass {
    struct plan_host names[HOSTS];
    struct plan plan;
    struct result results[HOSTS];
    const struct result *all[HOSTS];
    uint32_t ranks[HOSTS];
    struct verdict verdicts[HOSTS];
    struct agree_case of;
};

static void pass_open (struct hosts_pass *pass)
{
    static const char *const names[] = { "h0", "h1", "h2" };
    *pass = (struct hosts_pass){ .of = { .n = HOSTS } };
    for (uint32_t i = 0; i < HOSTS; i++) {
        pass->names[i].name = text_of (names[i]);
        pass->all[i] = &pass->results[i];
        pass->ranks[i] = pass->verdicts[i].host = i;
        pass->verdicts[i].outcome = OUTCOME_PASSED;
    }
    pass->plan.hosts.items = pass->names;
    pass->plan.hosts.n = HOSTS;
    pass->plan.cache = (struct cache_plan){ .mode = CACHE_SINGLE_WRITER, .root = TEXT_LIT ("/c") };
    pass->of.plan = &pass->plan;
    pass->of.results = pass->all;
    pass->of.hosts = pass->ranks;
}

/* "0" for a host that passed, else the first letter of its outcome and what it lacks. */
static void expect_outcomes (const struct hosts_pass *pass, const char *wanted, const char *cause)
{
    char got[HOSTS + 1] = "...";
    for (uint32_t i = 0; i < HOSTS; i++)
        got[i] = pass->verdicts[i].outcome == OUTCOME_PASSED
                     ? '.'
                     : enum_name_of (&outcome_names, pass->verdicts[i].outcome)[0];
    assert_string_equal (got, wanted);
    for (uint32_t i = 0; i < HOSTS; i++)
        if (wanted[i] != '.' && cause)
            assert_has (pass->verdicts[i].cause, cause);
}

TEST (an_environment_or_flags_of_their_own_fail_those_that_have_them)
{
    static const struct {
        const char *environments[HOSTS], *flags[HOSTS];
        bool independent;
        const char *outcomes, *cause;
    } rows[] = {
        { { "e", "e", "e" }, { "--a --b", "--b  --a", "--a --b" }, false, "...", NULL },
        { { "e", "f", "e" }, { "", "", "" }, false, ".f.", "is 'f', most hosts have 'e'" },
        { { "e", "f", "g" }, { "", "", "" }, false, "fff", "no value is shared by most hosts" },
        { { "e", "e", "e" }, { "--a", "--a", "--b" }, false, "..f", "XLA_FLAGS is '--b', most hosts have '--a'" },
        { { "e", "e", "e" }, { "--a", "--a", "--b" }, true, "...", NULL },
        { { "e", "e", "f" }, { "--a", "--a", "--b" }, false, "..f", "the environment's fingerprint is" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hosts_pass pass;
        struct var bundles[HOSTS], flags[HOSTS];
        pass_open (&pass);
        pass.of.independent = rows[i].independent;
        for (uint32_t k = 0; k < HOSTS; k++) {
            bundles[k] = (struct var){ TEXT_LIT ("fingerprint"), text_of (rows[i].environments[k]) };
            flags[k] = (struct var){ TEXT_LIT ("XLA_FLAGS"), text_of (rows[i].flags[k]) };
            pass.results[k].bundle.items = &bundles[k];
            pass.results[k].policy.items = &flags[k];
            pass.results[k].bundle.n = pass.results[k].policy.n = 1;
        }
        agree_environments (&pass.of, pass.verdicts, &t->arena);
        expect_outcomes (&pass, rows[i].outcomes, rows[i].cause);
    }
}

TEST (a_storage_of_its_own_or_none_blocks_a_host)
{
    static const struct {
        const char *storages[HOSTS];
        enum cache_mode mode;
        const char *outcomes, *cause;
    } rows[] = {
        { { "nfs:1", "nfs:1", "nfs:1" }, CACHE_SINGLE_WRITER, "...", NULL },
        { { "nfs:1", "nfs:1", "ext4:2" },
          CACHE_SINGLE_WRITER,
          "..b",
          "is ext4:2 () on this host, on most hosts it is" },
        { { "nfs:1", "nfs:1", "" }, CACHE_SINGLE_WRITER, "..b", "is not visible on this host" },
        { { "", "", "" }, CACHE_SINGLE_WRITER, "bbb", "not visible" },
        { { "a", "b", "c" }, CACHE_SINGLE_WRITER, "bbb", "no storage is shared by most hosts" },
        { { "a", "b", "c" }, CACHE_PER_HOST, "...", NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hosts_pass pass;
        pass_open (&pass);
        pass.plan.cache.mode = rows[i].mode;
        for (uint32_t k = 0; k < HOSTS; k++)
            pass.results[k].cache.storage = text_of (rows[i].storages[k]);
        agree_storage (&pass.of, pass.verdicts, &t->arena);
        expect_outcomes (&pass, rows[i].outcomes, rows[i].cause);
    }
    struct hosts_pass pass;
    pass_open (&pass);
    pass.verdicts[1].outcome = OUTCOME_FAILED; /* it says why by itself */
    agree_storage (&pass.of, pass.verdicts, &t->arena);
    expect_outcomes (&pass, "bfb", NULL);
}

/* The rest of a quarter, or 2 GiB, of what there is: the machine's, or its cgroup's where that is less. */
TEST (a_premapped_buffer_leaves_room_in_the_memory_that_the_worker_has)
{
    static const struct {
        const char *total, *limit;
        bool fits;
    } rows[] = {
        { "17179869184", "max", true },         { "17179869184", "8589934592", false },
        { "8589934592", "17179869184", false }, { "17179869184", "17179869184", true },
        { "unreadable", "8589934592", true },
    };
    struct var asked = { TEXT_LIT (PREMAPPED_VAR), TEXT_LIT ("8589934592") };
    struct profile profile = { .env = { &asked, 1 } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct var facts[] = { { TEXT_LIT ("memory.total_bytes"), text_of (rows[i].total) },
                               { TEXT_LIT ("memory.cgroup_max"), text_of (rows[i].limit) } };
        struct text why;
        assert_int_equal (premapped_fits (&profile, &(var_list){ facts, 2 }, &t->arena, &why), rows[i].fits);
    }
}
