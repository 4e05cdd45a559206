/* links: facts */
#include "machine_fixture.h"
#include "test.h"

static void is_var (struct machine *machine, const char *name, const char *value, const char *told)
{
    struct var var = { text_of (name), text_of (value) };
    var_list vars = { &var, 1 };
    size_t left_bytes = 8192;
    char fact[160];
    again (machine);
    variable_add_facts (&machine->list, "env", &vars, NULL, 4, &left_bytes);
    snprintf (fact, sizeof fact, "env.%s", name);
    is (machine, fact, told);
}

TEST_ON (machine, variables_of_the_families_are_told_and_others_are_not)
{
    static const char *const told[] = { "XLA_FLAGS",       "LIBTPU_INIT_ARGS",  "TPU_X",
                                        "PJRT_DEVICE",     "PT_XLA_DEBUG",      "JAX_X",
                                        "MEGASCALE_X",     "CLOUD_TPU_TASK_ID", "TF_CPP_X",
                                        "GRPC_VERBOSITY",  "https_proxy",       "NO_PROXY",
                                        "LD_LIBRARY_PATH", "LD_PRELOAD",        "PYTHONPATH" };
    static const char *const not_told[] = { "HOME", "PATH", "AWS_SECRET", "MY_XLA_FLAGS", "proxy", "_proxy", "TPU" };
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        is_var (machine, told[i], "some value", "some value");
    for (size_t i = 0; i < sizeof not_told / sizeof *not_told; i++)
        is_var (machine, not_told[i], "some value", "");
}

TEST_ON (machine, what_a_profile_lets_programs_inherit_is_told)
{
    struct var vars[] = { { TEXT_LIT ("FEED_SCHEMA"), TEXT_LIT ("v5") },
                          { TEXT_LIT ("FEED_TOKEN"), TEXT_LIT ("abc") },
                          { TEXT_LIT ("OTHER"), TEXT_LIT ("x") } };
    const var_list own = { vars, 3 }, named = { vars, 2 };
    size_t left_bytes = 8192;
    variable_add_facts (&machine->list, "env", &own, &named, 4, &left_bytes);
    is (machine, "env.FEED_SCHEMA", "v5");
    is (machine, "env.FEED_TOKEN", "present");
    is (machine, "env.OTHER", "");
}

TEST_ON (machine, secrets_are_only_said_to_be_there)
{
    is_var (machine, "JAX_API_KEY", "abc", "present");
    is_var (machine, "TPU_AUTH_Token", "abc", "present");
    is_var (machine, "GRPC_PASSWORD", "", "present");
    is_var (machine, "https_proxy", "http://me:secret@proxy:3128/", "http://***@proxy:3128/");
    is_var (machine, "XLA_URLS", "http://a:b@c x://d@e, f://g/h@i ://", "http://***@c x://***@e, f://g/h@i ://");
    is_var (machine, "TPU_LOG", "mail@example no address", "mail@example no address");
    is_var (machine, "TPU_CREDS", "abc", "present");
    is_var (machine, "GRPC_AUTHORITY", "abc", "present");
    is_var (machine, "https_proxy", "me:secret@proxy:3128", "***@proxy:3128");
    is_var (machine, "HTTP_PROXY", "http://me:se/c?r#et@proxy:3128/", "http://***@proxy:3128/");
    is_var (machine, "http_proxy", "me:se://cret@proxy", "me:se://***@proxy");
    is_var (machine, "NO_PROXY", "a,.b.example", "a,.b.example");
}

TEST_ON (machine, a_switch_is_no_secret)
{
    is_var (machine, "JAX_LEGACY_PRNG_KEY", "warn", "warn");
    is_var (machine, "JAX_COMPILATION_CACHE_INCLUDE_METADATA_IN_KEY", "true", "true");
    is_var (machine, "JAX_LEGACY_PRNG_KEY", "warned", "present");
}

TEST_ON (machine, what_a_terminal_obeys_is_escaped)
{
    is_var (machine, "XLA_FLAGS", "--a\n--b\t--c", "--a --b --c");
    is_var (machine, "XLA_FLAGS", "\033[2J\xff", "\\x1b[2J\\xff");
    is_var (machine, "XLA_FLAGS", "", "set to nothing");
}

TEST_ON (machine, a_long_value_still_shows_what_differs_behind_its_cut)
{
    char *flags = mem_alloc (20001), first[FACT_VALUE_BYTES + 1];
    struct var var = { TEXT_LIT ("XLA_FLAGS"), { flags, 20000 } };
    var_list vars = { &var, 1 };
    for (int i = 0; i < 20000; i++)
        flags[i] = i % 10 ? 'a' : ' ';
    size_t left_bytes = 20000;
    variable_add_facts (&machine->list, "env", &vars, NULL, 4, &left_bytes);
    assert_true (text_to_c (host_fact_find (&machine->list, "env.XLA_FLAGS"), first, sizeof first));
    assert_true (left_bytes < 20000 - 3000);
    flags[19999] = 'b';
    again (machine);
    variable_add_facts (&machine->list, "env", &vars, NULL, 4, &left_bytes);
    struct text other = host_fact_find (&machine->list, "env.XLA_FLAGS");
    mem_free (flags);
    assert_true (other.len > 3000 && !text_is (other, first));
}

TEST_ON (machine, many_variables_stay_within_what_a_result_carries)
{
    enum { MANY = 300, MOST = 64, ROOM = 16 * 1024 };
    struct var vars[MANY];
    char *value = mem_alloc (3001), left_out[16], names[MANY][16];
    memset (value, 'v', 3000);
    for (int i = 0; i < MANY; i++) {
        snprintf (names[i], sizeof names[i], "XLA_%03d", MANY - i);
        vars[i] = (struct var){ text_of (names[i]), { value, 3000 } };
    }
    var_list all = { vars, MANY };
    size_t left_bytes = ROOM;
    variable_add_facts (&machine->list, "env", &all, NULL, MOST, &left_bytes);
    size_t spent = cost_of (machine);
    assert_in_range (machine->list.n, 40, MOST + 1);
    assert_true (spent > ROOM / 2 && spent < ROOM + 64);
    snprintf (left_out, sizeof left_out, "%u", MANY - (machine->list.n - 1));
    is (machine, "env.left_out", left_out);
    assert_int_equal (host_fact_find (&machine->list, "env.XLA_001").len, 3000);
    assert_true (host_fact_find (&machine->list, "env.XLA_040").len <= FACT_BRIEF_BYTES);
    again (machine);
    left_bytes = 100 * ROOM; /* the list itself has a bound, too */
    variable_add_facts (&machine->list, "env", &all, NULL, MOST, &left_bytes);
    assert_true (cost_of (machine) < FACT_BYTES_MAX - 7 * 1024);
    left_bytes = 100;
    again (machine);
    variable_add_facts (&machine->list, "env", &all, NULL, 0, &left_bytes);
    is (machine, "env.left_out", "300");
    mem_free (value);
}

TEST_ON (machine, odd_names_are_counted_and_not_told)
{
    char name[201];
    memset (name, 'X', 200);
    memcpy (name, "XLA_", 4);
    struct var vars[] = {
        { TEXT_LIT ("XLA_\xff\xfe"), TEXT_LIT ("x") }, { TEXT_LIT ("XLA_A B"), TEXT_LIT ("x") },
        { TEXT_LIT ("XLA_\033[2J"), TEXT_LIT ("x") },  { { name, 200 }, TEXT_LIT ("x") },
        { TEXT_LIT ("XLA_GOOD"), TEXT_LIT ("first") }, { TEXT_LIT ("XLA_GOOD"), TEXT_LIT ("second") },
    };
    var_list all = { vars, sizeof vars / sizeof *vars };
    size_t left_bytes = 20000;
    variable_add_facts (&machine->list, "env", &all, NULL, 64, &left_bytes);
    assert_int_equal (machine->list.n, 2);
    is (machine, "env.left_out", "4");
    assert_true (host_fact_find (&machine->list, "env.XLA_GOOD").len > 0);
}
