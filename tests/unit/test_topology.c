/* links: verdict */
#include "coordinator/verdict/agree.h"
#include "coordinator/verdict/topology.h"
#include "test.h"

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

/* One fact of one host is another one: exactly that host is found, by that fact, and the sentence has the words. */
static void expect_one (struct slice *slice, uint32_t host, uint32_t at, const char *value, enum owner owner,
                        const char *words)
{
    slice->facts[host][at].value = text_of (value);
    judge (slice);
    assert_int_equal (slice->found.n, 1);
    assert_int_equal (slice->found.items[0].host, host);
    assert_int_equal (slice->found.items[0].owner, owner);
    assert_text (slice->found.items[0].fact, slice->facts[host][at].name);
    assert_has (slice->found.items[0].what, words);
    assert_true (slice->found.items[0].next.len > 0);
}

TEST_ON (slice, a_whole_slice_holds)
{
    judge (slice);
    assert_int_equal (slice->found.n, 0);
}

TEST_ON (slice, a_missing_chip_is_the_hosts)
{
    expect_one (slice, 2, 0, "3 x 0x006f (vfio-pci)", OWNER_HOST,
                "shows 3 TPU chips on its PCI bus, the profile says 4");
}

TEST_ON (slice, chips_of_two_kinds_are_added)
{
    slice->facts[1][0].value = TEXT_LIT ("3 x 0x006f (vfio-pci), 1 x 0x006f (no driver)");
    judge (slice);
    assert_int_equal (slice->found.n, 0);
}

TEST_ON (slice, another_accelerator_is_named)
{
    expect_one (slice, 3, 1, "v6e-32", OWNER_PLATFORM, "is v6e-32, the profile says v6e-16");
}

TEST_ON (slice, another_topology_is_named)
{
    expect_one (slice, 0, 2, "4x8", OWNER_PLATFORM, "is 4x8, the profile says 4x4");
}

TEST_ON (slice, a_topology_must_have_all_chips)
{
    slice->plan.profile.topology = (struct text){ 0 };
    expect_one (slice, 0, 2, "4x8", OWNER_PLATFORM, "4x8 has 32 chips, the slice file has 4 hosts with 4 chips each");
}

/* Of a TPU7x a host has four chips and eight devices. */
TEST_ON (slice, chips_of_two_devices_are_counted_as_chips)
{
    slice->plan.machine =
        (struct machine_type){ .id = TEXT_LIT ("tpu7x-standard-4t"), .chips = 4, .devices_per_chip = 2 };
    slice->plan.profile.devices_per_host = 8;
    judge (slice);
    assert_int_equal (slice->found.n, 0);
}

TEST_ON (slice, bounds_must_multiply)
{
    expect_one (slice, 1, 3, "2,4,1", OWNER_LAUNCH, "make 8 chips, the profile says 4");
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

TEST_ON (slice, host_bounds_must_multiply)
{
    expect_one (slice, 1, 4, "1,2,1", OWNER_LAUNCH, "has tpu.host_bounds 1,2,1, the 3 others have 2,2,1");
}

TEST_ON (slice, of_two_hosts_of_one_number_the_one_out_of_place_is_found)
{
    expect_one (slice, 3, 5, "1", OWNER_LAUNCH,
                "has tpu.worker_id 1, which is the place of v6e-1, expected 3, its place");
}

/* Hosts 2 and 3 of a slice of four, in a run that leaves 0 and 1 out. */
TEST_ON (slice, a_part_of_a_slice_has_the_arithmetic_of_the_whole)
{
    for (uint32_t i = 0; i < 2; i++) {
        slice->names[i].place = 2 + i;
        slice->facts[i][5].value = slice->facts[2 + i][5].value;
    }
    slice->plan.hosts.n = 2;
    judge (slice);
    assert_int_equal (slice->found.n, 2);
    slice->plan.whole = HOSTS;
    judge (slice);
    assert_int_equal (slice->found.n, 0);
    slice->facts[1][5].value = TEXT_LIT ("1");
    judge (slice);
    assert_int_equal (slice->found.n, 1);
    assert_text (slice->found.items[0].what, "has tpu.worker_id 1, expected 3, its place in the slice file");
}

TEST_ON (slice, worker_order_must_be_rank_order)
{
    slice->facts[1][5].value = TEXT_LIT ("2");
    slice->facts[2][5].value = TEXT_LIT ("1");
    judge (slice);
    assert_int_equal (slice->found.n, 2);
    assert_has (slice->found.items[0].what, "has tpu.worker_id 2, which is the place of v6e-2");
}

TEST_ON (slice, a_short_worker_list_is_stale)
{
    expect_one (slice, 2, 6, "t-0", OWNER_LAUNCH, "has tpu.worker_hostnames t-0, the 3 others have t-0,t-1,t-2,t-3");
}

/* Which hosts have a list that is not that of most, when they say `lists`; a bit each. */
static unsigned other_lists (struct slice *slice, const char *const lists[HOSTS])
{
    unsigned hosts = 0;
    for (uint32_t i = 0; i < HOSTS; i++)
        slice->facts[i][6].value = text_of (lists[i]);
    judge (slice);
    for (uint32_t i = 0; i < slice->found.n; i++)
        hosts |= 1u << slice->found.items[i].host;
    return hosts;
}

TEST_ON (slice, the_list_of_most_is_the_one_that_counts)
{
    static const char a[] = "t-0,t-1,t-2,t-3", b[] = "t-1,t-0,t-2,t-3", c[] = "t-2,t-1,t-0,t-3", none[] = "absent";
    assert_int_equal (other_lists (slice, (const char *const[]){ a, b, b, b }), 1);
    assert_int_equal (other_lists (slice, (const char *const[]){ a, b, c, b }), 0xf);
    assert_int_equal (other_lists (slice, (const char *const[]){ a, none, b, b }), 1);
    assert_int_equal (other_lists (slice, (const char *const[]){ none, a, none, none }), 0);
    assert_int_equal (other_lists (slice, (const char *const[]){ none, a, b, none }), 6);
    assert_int_equal (other_lists (slice, (const char *const[]){ none, none, none, none }), 0);
}

TEST_ON (slice, lists_in_another_order_are_found)
{
    expect_one (slice, 2, 6, "t-0,t-2,t-1,t-3", OWNER_LAUNCH,
                "has tpu.worker_hostnames t-0,t-2,t-1,t-3, the 3 others have t-0,t-1,t-2,t-3");
}

TEST_ON (slice, who_says_nothing_is_not_judged)
{
    for (uint32_t i = 0; i < HOSTS; i++)
        for (uint32_t k = 0; k < FACTS; k++)
            slice->facts[i][k].value = TEXT_LIT ("absent");
    judge (slice);
    assert_int_equal (slice->found.n, 0);
}

TEST_ON (slice, other_backends_have_no_such_arithmetic)
{
    slice->plan.profile.backend = TEXT_LIT ("cpu");
    slice->facts[1][5].value = TEXT_LIT ("2");
    judge (slice);
    assert_int_equal (slice->found.n, 0);
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
    return premapped_fits (&profile, facts, 2, &arena, why);
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
                 "is the machine of host v6e-0: the same boot and name (node), at 10.0.0.1 and 10.1.0.1");
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
