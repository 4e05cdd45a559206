/* links: verdict */
#include "cases.h"
#include "coordinator/verdict/agree.h"
#include "coordinator/verdict/topology.h"
#include "record_path.h"

enum { HOSTS = 4, FACTS = 7 };

/* A v6e-16 as facts/tpu-runtime 7.1 has it: 4x4, four hosts of four chips. */
struct slice {
    struct arena arena;
    struct plan_host names[HOSTS];
    struct var facts[HOSTS][FACTS];
    struct topology_host hosts[HOSTS];
    struct plan plan;
    struct topology_findings found;
};

static struct var fact (struct slice *slice, const char *name, const char *value)
{
    return (struct var){ text_of (name), text_copy (&slice->arena, text_of (value)) };
}

static void slice_open (struct slice *slice)
{
    *slice = (struct slice){ .arena = { 0 } };
    for (uint32_t i = 0; i < HOSTS; i++) {
        slice->names[i].name = text_format (&slice->arena, "v6e-%u", i);
        struct text number = text_format (&slice->arena, "%u", i);
        slice->facts[i][0] = fact (slice, "pci.google", "4 x 0x006f (vfio-pci)");
        slice->facts[i][1] = fact (slice, "tpu.accelerator_type", "v6e-16");
        slice->facts[i][2] = fact (slice, "tpu.topology", "4x4");
        slice->facts[i][3] = fact (slice, "tpu.chips_per_host_bounds", "2,2,1");
        slice->facts[i][4] = fact (slice, "tpu.host_bounds", "2,2,1");
        slice->facts[i][5] = (struct var){ TEXT_LIT ("tpu.worker_id"), number };
        slice->facts[i][6] = fact (slice, "tpu.worker_hostnames", "t-0,t-1,t-2,t-3");
        slice->hosts[i] = (struct topology_host){ slice->facts[i], FACTS };
    }
    slice->plan.hosts.items = slice->names;
    slice->plan.hosts.n = HOSTS;
    slice->plan.profile = (struct profile){ .backend = TEXT_LIT ("tpu"),
                                            .devices_per_host = 4,
                                            .accelerator = TEXT_LIT ("v6e-16"),
                                            .topology = TEXT_LIT ("4x4") };
}

TEST_FIXTURE (struct slice, slice_open, TEST_ARENA)

static void judge (struct slice *slice)
{
    topology_judge_hosts (&slice->plan, slice->hosts, &slice->arena, &slice->found);
}

/* "h2 FACT = VALUE", "all FACT = VALUE", or "PATH = VALUE" of the plan. */
static void set_line (struct slice *slice, struct text line)
{
    uint32_t at, space;
    assert_true (text_find (line, TEXT_LIT (" = "), &at) && text_find (line, TEXT_LIT (" "), &space));
    struct text value = { line.ptr + at + 3, line.len - at - 3 }, name = { line.ptr + space + 1, at - space - 1 };
    if (space == at)
        record_path_set (&plan_record, &slice->plan, (struct text){ line.ptr, at }, value, &slice->arena);
    uint32_t set = space == at;
    for (uint32_t i = 0; space < at && i < HOSTS; i++)
        for (uint32_t k = 0; k < FACTS; k++)
            if ((text_starts (line, "all ") || line.ptr[1] == (char) ('0' + i)) &&
                (text_equal (slice->facts[i][k].name, name) || text_is (name, "*"))) {
                slice->facts[i][k].value = value;
                set++;
            }
    if (set == 0)
        fail_msg ("no such host or fact: %.*s", TEXT_ARG (line));
}

static void topology_case (struct test *t, const struct test_case *of, struct buf *got)
{
    struct slice *slice = arena_alloc (&t->arena, sizeof *slice);
    slice_open (slice);
    for (struct text lines = case_text (of, "set"); lines.len > 0;)
        set_line (slice, case_next_line (&lines));
    slice->plan.hosts.n = case_text (of, "hosts").len ? 2 : HOSTS;
    judge (slice);
    for (uint32_t i = 0; i < slice->found.n; i++) {
        const struct topology_finding *found = &slice->found.items[i];
        assert_true (found->next.len > 0);
        buf_printf (got, "h%u, %s, %.*s: %.*s\n", found->host, enum_name_of (&owner_names, found->owner),
                    TEXT_ARG (found->fact), TEXT_ARG (found->what));
    }
    arena_release (&slice->arena);
}

TEST (what_a_topology_does_not_allow_is_found)
{
    cases_run ("topology", topology_case);
}

/* What a host says is quoted, and must still fit a verdict. */
TEST_ON (slice, a_finding_is_a_sentence_however_long_the_fact_is)
{
    static const uint32_t facts[] = { 2, 3, 4 };
    static char grid[TEXT_MAX_BYTES];
    for (uint32_t i = 0; i < sizeof grid; i++)
        grid[i] = i % 2 ? ',' : '1';
    grid[sizeof grid - 1] = '7';
    slice->plan.profile.topology = (struct text){ 0 };
    for (size_t i = 0; i < 3; i++) {
        slice->facts[i][facts[i]].value = (struct text){ grid, sizeof grid };
        judge (slice);
        assert_int_equal (slice->found.n, i + 1);
        assert_in_range (slice->found.items[i].what.len, 100, SENTENCE_MAX_BYTES);
    }
}

TEST_ON (slice, grids_are_read_strictly)
{
    uint32_t product = 0;
    assert_true (mesh_topology_chips (TEXT_LIT ("16x16"), &product) && product == 256);
    assert_true (mesh_topology_chips (TEXT_LIT ("2,2,1"), &product) && product == 4);
    static const char *const bad[] = { "",     "x",    "4x",      "x4",        "4x0",
                                       "-4x4", "4 x4", "1048577", "1048576x2", "99999999999999999999" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false (mesh_topology_chips (text_of (bad[i]), &product));
    assert_true (accelerator_chips (TEXT_LIT ("v6e-16"), &product) && product == 16);
    assert_false (accelerator_chips (TEXT_LIT ("v4-16"), &product)); /* counts cores */
    assert_false (accelerator_chips (TEXT_LIT ("v6e-"), &product));
}

/* ---- premapped buffer ---- */

static bool fits (const char *asked, const char *total, const char *limit, struct text *why)
{
    static struct arena arena;
    struct var env = { TEXT_LIT (PREMAPPED_VAR), text_of (asked) };
    struct var facts[] = { { TEXT_LIT ("memory.total_bytes"), text_of (total) },
                           { TEXT_LIT ("memory.cgroup_max"), text_of (limit) } };
    struct profile profile = { 0 };
    profile.env.items = &env;
    profile.env.n = 1;
    arena_release (&arena);
    arena = (struct arena){ 0 };
    return premapped_fits (&profile, &(var_list){ (struct var *) facts, 2 }, &arena, why);
}

TEST_ON (slice, a_premapped_buffer_must_leave_room)
{
    struct text why = { 0 };
    assert_true (fits ("4294967296", "17179869184", "max", &why));   /* 4 of 16 GiB */
    assert_true (fits ("12884901888", "17179869184", "max", &why));  /* exactly three quarters */
    assert_false (fits ("12884905984", "17179869184", "max", &why)); /* a page more */
    assert_has (why, "12.0 GiB would leave 4.0 of this host's 16.0 GiB");
    assert_false (fits ("4294967296", "17179869184", "5368709120", &why)); /* the group's limit binds: 5 GiB leaves 1 */
    assert_false (fits ("4294967296", "5368709120", "max", &why));         /* less than 2 GiB left */
    assert_false (fits ("34359738368", "17179869184", "max", &why));       /* more than there is */
    assert_true (fits ("34359738368", "absent", "max", &why));             /* nobody knows */
    (void) fits ("1", "absent", "max", &why);
}

/* ---- one machine under two addresses ---- */

/* Two hosts with these addresses say the same boot and name. */
static uint32_t machines_found (struct slice *slice, const char *first, const char *second)
{
    for (uint32_t i = 0; i < HOSTS; i++) {
        slice->facts[i][0] = fact (slice, "boot_id", i < 2 ? "b" : i == 2 ? "c" : "absent");
        slice->facts[i][1] = fact (slice, "hostname", "node");
    }
    slice->names[0].address = text_of (first);
    slice->names[1].address = text_of (second);
    topology_judge_machines (&slice->plan, slice->hosts, &slice->arena, &slice->found);
    return slice->found.n;
}

TEST_ON (slice, a_machine_under_two_addresses_is_found)
{
    slice->plan.profile.backend = TEXT_LIT ("cpu");
    assert_int_equal (machines_found (slice, "10.0.0.1", "10.1.0.1"), 1);
    assert_int_equal (slice->found.items[0].host, 1);
    assert_int_equal (slice->found.items[0].owner, OWNER_LAUNCH);
    assert_text (slice->found.items[0].what,
                 "v6e-0 and v6e-1 are one machine: the same boot and name (node), at 10.0.0.1 and 10.1.0.1");
}

/* Pods on one node, whose images set one hostname. */
TEST_ON (slice, two_containers_of_one_machine_are_two_hosts)
{
    (void) machines_found (slice, "10.0.0.1", "10.1.0.1");
    for (uint32_t i = 0; i < HOSTS; i++)
        slice->facts[i][2] = fact (slice, "container.id", i % 2 ? "aa0000000000" : "bb0000000000");
    topology_judge_machines (&slice->plan, slice->hosts, &slice->arena, &slice->found);
    assert_int_equal (slice->found.n, 0);
    slice->facts[0][2] = fact (slice, "container.id", "aa0000000000");
    topology_judge_machines (&slice->plan, slice->hosts, &slice->arena, &slice->found);
    assert_int_equal (slice->found.n, 1);
}

TEST_ON (slice, what_the_user_says_is_one_machine_is_not_found)
{
    assert_int_equal (machines_found (slice, "10.0.0.1", "10.0.0.1"), 0);
    assert_int_equal (machines_found (slice, "127.0.0.1", "127.0.0.2"), 0);
    assert_int_equal (machines_found (slice, "", "10.0.0.1"), 0);
    assert_int_equal (machines_found (slice, "127.0.0.1", "10.0.0.1"), 1); /* of that they said nothing */
    assert_int_equal (machines_found (slice, "127.0.0.1", "localhost"), 0);
    assert_int_equal (machines_found (slice, "::1", "127.0.0.1"), 0);
    slice->plan.launcher = LAUNCHER_LOCAL;
    assert_int_equal (machines_found (slice, "10.0.0.1", "10.1.0.1"), 0);
}

TEST_ON (slice, a_host_without_an_address_hides_no_two_that_are_one_machine)
{
    (void) machines_found (slice, "", "10.0.0.1");
    slice->facts[2][0] = fact (slice, "boot_id", "b");
    slice->names[2].address = TEXT_LIT ("10.1.0.1");
    topology_judge_machines (&slice->plan, slice->hosts, &slice->arena, &slice->found);
    assert_int_equal (slice->found.n, 1);
    assert_int_equal (slice->found.items[0].host, 2);
}

TEST_ON (slice, hosts_are_held_against_the_first_of_their_machine_wherever_it_stands)
{
    (void) machines_found (slice, "10.0.0.1", "10.1.0.1");
    slice->names[2].address = TEXT_LIT ("10.0.0.1"); /* as the first says it */
    slice->facts[2][0] = fact (slice, "boot_id", "b");
    topology_judge_machines (&slice->plan, slice->hosts, &slice->arena, &slice->found);
    assert_int_equal (slice->found.n, 1);
    assert_int_equal (slice->found.items[0].host, 1);
    slice->facts[1][0] = fact (slice, "boot_id", "d"); /* another machine between the two */
    slice->names[2].address = TEXT_LIT ("10.1.0.1");
    topology_judge_machines (&slice->plan, slice->hosts, &slice->arena, &slice->found);
    assert_int_equal (slice->found.n, 1);
    assert_int_equal (slice->found.items[0].host, 2);
}

TEST_ON (slice, hosts_that_tell_no_boot_or_no_name_are_no_machine)
{
    for (uint32_t missing = 0; missing < 2; missing++) {
        assert_int_equal (machines_found (slice, "10.0.0.1", "10.1.0.1"), 1);
        for (uint32_t i = 0; i < 2; i++)
            slice->facts[i][missing] = fact (slice, missing ? "hostname" : "boot_id", "absent");
        topology_judge_machines (&slice->plan, slice->hosts, &slice->arena, &slice->found);
        assert_int_equal (slice->found.n, 0);
    }
}

TEST_ON (slice, another_boot_or_name_is_another_machine)
{
    (void) machines_found (slice, "10.0.0.1", "10.1.0.1");
    slice->facts[1][1] = fact (slice, "hostname", "pod-1"); /* two containers of one machine */
    topology_judge_machines (&slice->plan, slice->hosts, &slice->arena, &slice->found);
    assert_int_equal (slice->found.n, 0);
    slice->facts[1][1] = fact (slice, "hostname", "node");
    slice->facts[1][0] = fact (slice, "boot_id", "d");
    topology_judge_machines (&slice->plan, slice->hosts, &slice->arena, &slice->found);
    assert_int_equal (slice->found.n, 0);
}
