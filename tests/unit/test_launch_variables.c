/* links: model base */
/* What a profile gives to a program of a scope on a host. */
#include "common/model/launch_variables.h"
#include "test.h"

#define VAR(NAME, VALUE)                                                                                               \
    {                                                                                                                  \
        TEXT_LIT (NAME), TEXT_LIT (VALUE)                                                                              \
    }

static struct arena arena;
static struct plan_host hosts[3] = { { .name = TEXT_LIT ("a"), .address = TEXT_LIT ("10.0.0.1") },
                                     { .name = TEXT_LIT ("b"), .address = TEXT_LIT ("10.0.0.2") },
                                     { .name = TEXT_LIT ("c"), .address = TEXT_LIT ("10.0.0.3") } };
static struct var all[] = { VAR ("BOUNDS", "4,4"), VAR ("FLAGS", "--x={\"a\": 1}"), VAR ("ID", "{rank} of {world}") };
static struct var alone[] = { VAR ("ADDRESS", "{address}:{host}"), VAR ("BOUNDS", "1,1") };
static struct var together[] = { VAR ("ALL", "{addresses}"), VAR ("SLICE", "{slice}/{slices}") };
static struct text unset[] = { TEXT_LIT ("ID"), TEXT_LIT ("POD") };
static struct text inherited[] = { TEXT_LIT ("POD"), TEXT_LIT ("ZONE"), TEXT_LIT ("ADDRESS") };

static struct plan plan_made (void)
{
    struct plan plan = { .hosts = { hosts, 3 } };
    plan.profile.env = (var_list){ all, 3 };
    plan.profile.host_env = (struct scope_env){ { alone, 2 }, { unset, 2 } };
    plan.profile.slice_env = (struct scope_env){ { together, 2 }, { 0 } };
    plan.profile.inherit = (text_list){ inherited, 3 };
    return plan;
}

static void expect (var_list got, const struct var *wanted, uint32_t n)
{
    assert_int_equal (got.n, n);
    for (uint32_t i = 0; i < n; i++)
        if (!text_equal (got.items[i].name, wanted[i].name) || !text_equal (got.items[i].value, wanted[i].value))
            fail_msg ("%u: %.*s=%.*s", i, TEXT_ARG (got.items[i].name), TEXT_ARG (got.items[i].value));
}

TEST (a_scope_wins_over_all_and_may_unset)
{
    struct plan plan = plan_made ();
    struct launch_place place = launch_place_of (&plan, NULL, 0, 1);
    const struct var host[] = { VAR ("ADDRESS", "10.0.0.2:b"), VAR ("BOUNDS", "1,1"), VAR ("FLAGS", "--x={\"a\": 1}") };
    const struct var slice[] = { VAR ("ALL", "10.0.0.1,10.0.0.2,10.0.0.3"), VAR ("BOUNDS", "4,4"),
                                 VAR ("FLAGS", "--x={\"a\": 1}"), VAR ("ID", "1 of 3"), VAR ("SLICE", "0/1") };
    expect (launch_variables_of (&plan.profile, SCOPE_HOST, &place, &arena), host, 3);
    expect (launch_variables_of (&plan.profile, SCOPE_SLICE, &place, &arena), slice, 5);
    expect (launch_variables_of_scope (&plan.profile, SCOPE_HOST, &place, &arena), host, 2);
    arena_reset (&arena);
}

TEST (a_part_of_the_slice_has_ranks_of_its_own)
{
    struct plan plan = plan_made ();
    const uint32_t ranks[] = { 1, 2 };
    struct launch_place place = launch_place_of (&plan, ranks, 2, 1);
    assert_int_equal (place.rank, 1);
    assert_int_equal (place.world, 2);
    var_list vars = launch_variables_of (&plan.profile, SCOPE_SLICE, &place, &arena);
    assert_true (text_is (place.host, "c") && text_is (vars.items[0].value, "10.0.0.2,10.0.0.3"));
    arena_reset (&arena);
}

TEST (where_rank_0_of_a_part_is_met)
{
    struct plan plan = plan_made ();
    struct plan_host six[] = { hosts[0], { .name = TEXT_LIT ("d"), .address = TEXT_LIT ("fd00::4") }, hosts[2] };
    struct var vars[] = { VAR ("A", "{address0} {port}"), VAR ("B", "tcp://{rendezvous}") };
    const uint32_t ranks[] = { 1, 2 };
    plan.hosts.items = six;
    plan.profile = (struct profile){ .slice_env = { { vars, 2 }, { 0 } }, .port = 29500 };
    assert_true (launch_uses_port (&plan.profile));
    struct launch_place place = launch_place_of (&plan, NULL, 0, 2), part = launch_place_of (&plan, ranks, 2, 1);
    const struct var whole[] = { VAR ("A", "10.0.0.1 29500"), VAR ("B", "tcp://10.0.0.1:29500") };
    expect (launch_variables_of (&plan.profile, SCOPE_SLICE, &place, &arena), whole, 2);
    part.port = launch_port_of (&plan.profile, 3, 0);
    const struct var third[] = { VAR ("A", "fd00::4 29502"), VAR ("B", "tcp://[fd00::4]:29502") };
    expect (launch_variables_of (&plan.profile, SCOPE_SLICE, &part, &arena), third, 2);
    assert_int_equal (launch_port_of (&(struct profile){ 0 }, 3, 2), 0);
    arena_reset (&arena);
}

TEST (nothing_is_inherited_that_is_set_or_unset)
{
    struct plan plan = plan_made ();
    text_list host = launch_inherited_by (&plan.profile, SCOPE_HOST, &arena),
              slice = launch_inherited_by (&plan.profile, SCOPE_SLICE, &arena);
    assert_int_equal (host.n, 1);
    assert_text (host.items[0], "ZONE");
    assert_int_equal (slice.n, 3);
    arena_reset (&arena);
}

TEST (only_small_letters_in_braces_are_placeholders)
{
    static const struct {
        const char *value, *unknown;
    } cases[] = { { "{rank}{host}", NULL },
                  { "{}", NULL },
                  { "{Rank}", NULL },
                  { "{a b}", NULL },
                  { "{rank", NULL },
                  { "rank}", NULL },
                  { "{rnak}", "rnak" },
                  { "{{rank}}", NULL },
                  { "{{rnak}}", NULL },
                  { "{{rnak}", "rnak" },
                  { "{host} {ad}", "ad" },
                  { "{1}", NULL },
                  { "", NULL },
                  { "{slices}{x}", "x" },
                  { "{address0}:{port}", NULL },
                  { "{address1}", NULL },
                  { "{adress0}", "adress0" } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct text name;
        bool found = launch_find_unknown_placeholder (text_of (cases[i].value), &name);
        if (found != (cases[i].unknown != NULL) || (found && !text_is (name, cases[i].unknown)))
            fail_msg ("'%s'", cases[i].value);
    }
}

TEST (two_pairs_of_braces_are_text)
{
    struct plan plan = plan_made ();
    struct var vars[] = { VAR ("A", "{{time}} {{rank}} {rank} {{host} {\"a\":{rank}}") };
    plan.profile = (struct profile){ .env = { vars, 1 } };
    struct launch_place place = launch_place_of (&plan, NULL, 0, 2);
    var_list got = launch_variables_of (&plan.profile, SCOPE_SLICE, &place, &arena);
    assert_text (got.items[0].value, ("{time} {rank} 2 {c {\"a\":2}"));
    arena_reset (&arena);
}

TEST (each_of_several_slices_has_its_own_workers)
{
    struct plan plan = plan_made ();
    struct plan_host four[] = {
        hosts[0], hosts[1], hosts[2], { .name = TEXT_LIT ("d"), .address = TEXT_LIT ("10.0.0.9") }
    };
    struct var vars[] = { VAR ("A", "{slice} of {slices}, {worker}"), VAR ("B", "{workers}"), VAR ("C", "{address0}") };
    const struct var first[] = { VAR ("A", "0 of 2, 1"), VAR ("B", "10.0.0.1,10.0.0.2"), VAR ("C", "10.0.0.1") },
                     second[] = { VAR ("A", "1 of 2, 1"), VAR ("B", "10.0.0.3,10.0.0.9"), VAR ("C", "10.0.0.1") };
    plan.hosts.items = four;
    plan.hosts.n = 4;
    plan.slices = 2;
    plan.profile = (struct profile){ .slice_env = { { vars, 3 }, { 0 } } };
    struct launch_place one = launch_place_of (&plan, NULL, 0, 1), three = launch_place_of (&plan, NULL, 0, 3);
    expect (launch_variables_of (&plan.profile, SCOPE_SLICE, &one, &arena), first, 3);
    expect (launch_variables_of (&plan.profile, SCOPE_SLICE, &three, &arena), second, 3);
}

TEST (whole_slices_are_named_and_parts_are_not)
{
    struct plan_host six[6] = { { .name = TEXT_LIT ("a") } };
    struct plan plan = { .hosts = { six, 6 }, .slices = 3 };
    const uint32_t last[] = { 5, 4 }, two[] = { 0, 1, 4, 5 }, part[] = { 4 }, mixed[] = { 3, 4 },
                   every[] = { 0, 1, 2, 3, 4, 5 };
    assert_text (plan_name_slices (&plan, last, 2, &arena), " (slice 2)");
    assert_text (plan_name_slices (&plan, two, 4, &arena), " (slices 0,2)");
    assert_text (plan_name_slices (&plan, part, 1, &arena), "");
    assert_text (plan_name_slices (&plan, mixed, 2, &arena), "");
    assert_text (plan_name_slices (&plan, every, 6, &arena), "");
    plan.slices = 0;
    assert_text (plan_name_slices (&plan, last, 2, &arena), "");
}

TEST (what_differs_by_host_is_told_by_its_placeholders)
{
    struct plan plan = plan_made ();
    text_list names = launch_differing_by_host (&plan, &arena);
    assert_int_equal (names.n, 2);
    assert_true (text_is (names.items[0], "ID") && text_is (names.items[1], "ADDRESS"));
    plan.profile.slice_env = (struct scope_env){ 0 };
    assert_false (launch_uses_port (&plan.profile));
    arena_reset (&arena);
}

static int release (void **state)
{
    (void) state;
    arena_release (&arena);
    return 0;
}

TEST_GROUP (NULL, release)
