/* links: verdict */
/* Isolation by halves against slices in which something is planted: who is named, in how few passes, whatever the size.
 */
#include "common/model/hostset.h"
#include "coordinator/verdict/isolate.h"
#include "test.h"

enum { HOSTS_TRIED_MAX = 66, PAIR_SPARES = 3 };

/* ---- a slice with a fault in it ---- */

struct fault {
    bool bad[HOSTS_MAX]; /* makes every group that it is in fail */
    bool shy;            /* but works when it is alone */
    int pair[2];         /* fail together; -1: none */
    uint32_t size;       /* groups larger than this fail; 0: none do */
};
struct found {
    struct isolate_step step;
    uint32_t trials_n;
    struct isolate_trial trials[ISOLATE_TRIALS_MAX];
};

static bool in (const struct isolate_set *set, int host)
{
    for (uint32_t i = 0; i < set->n; i++)
        if ((int) set->items[i] == host)
            return true;
    return false;
}

static bool fails (const struct fault *fault, const struct isolate_set *set)
{
    for (uint32_t i = 0; i < set->n; i++)
        if (fault->bad[set->items[i]] && !(fault->shy && set->n == 1))
            return true;
    if (fault->size && set->n > fault->size)
        return true;
    return fault->pair[0] >= 0 && in (set, fault->pair[0]) && in (set, fault->pair[1]);
}

static void check_group (const struct isolate_set *set, uint32_t hosts, uint32_t unit)
{
    assert_int_equal (set->n % unit, 0);
    assert_in_range (set->n, 1, hosts - 1);
    for (uint32_t i = 0; i < set->n; i++) {
        assert_true (set->items[i] < hosts);
        assert_true (i == 0 || set->items[i - 1] < set->items[i]);
    }
}

static void isolate (const struct fault *fault, uint32_t hosts, uint32_t unit, struct arena *arena, struct found *out)
{
    *out = (struct found){ 0 };
    for (;;) {
        struct isolate_case of = { hosts, unit, out->trials, out->trials_n };
        isolate_next (&of, arena, &out->step);
        if (out->step.kind != ISOLATE_RUN)
            return;
        assert_true (out->trials_n < isolate_trials_max (hosts));
        check_group (&out->step.hosts, hosts, unit);
        out->trials[out->trials_n++] = (struct isolate_trial){
            out->step.hosts,
            fails (fault, &out->step.hosts) ? ISOLATE_FAILED : ISOLATE_WORKS,
            1000,
        };
    }
}

static struct fault nothing (void)
{
    return (struct fault){ .pair = { -1, -1 } };
}

/* ---- hosts ---- */

TEST (a_bad_host_is_named_alone_in_every_slice_and_place)
{
    for (uint32_t hosts = 3; hosts <= HOSTS_TRIED_MAX; hosts++)
        for (uint32_t bad = 0; bad < hosts; bad++)
            for (uint32_t shy = 0; shy < 2; shy++) {
                struct fault fault = nothing ();
                struct found found;
                fault.bad[bad] = true;
                fault.shy = shy;
                isolate (&fault, hosts, 1, &t->arena, &found);
                if (found.step.kind != ISOLATE_HOSTS || found.step.hosts.n != 1 || found.step.hosts.items[0] != bad)
                    fail_msg ("host %u of %u: kind %u, %u suspects after %u passes", bad, hosts, found.step.kind,
                              found.step.hosts.n, found.trials_n);
                arena_reset (&t->arena);
            }
}

TEST (of_two_hosts_the_one_that_fails_alone_is_named)
{
    struct fault fault = nothing ();
    struct found found;
    fault.bad[1] = true;
    isolate (&fault, 2, 1, &t->arena, &found);
    assert_int_equal (found.step.kind, ISOLATE_HOSTS);
    assert_int_equal (found.step.hosts.n, 1);
    assert_int_equal (found.step.hosts.items[0], 1);
    assert_int_equal (found.trials_n, 2);
    fault.shy = true; /* then nobody can say which */
    isolate (&fault, 2, 1, &t->arena, &found);
    assert_int_equal (found.step.kind, ISOLATE_LINK);
    assert_int_equal (found.step.hosts.n, 2);
}

TEST (a_bad_host_is_among_the_suspects_where_groups_have_a_least_size)
{
    for (uint32_t unit = 2; unit <= 4; unit++)
        for (uint32_t groups = 2; groups <= 16; groups++)
            for (uint32_t bad = 0; bad < unit * groups; bad++) {
                struct fault fault = nothing ();
                struct found found;
                fault.bad[bad] = true;
                isolate (&fault, unit * groups, unit, &t->arena, &found);
                assert_int_equal (found.step.kind, ISOLATE_HOSTS);
                assert_true (in (&found.step.hosts, (int) bad));
                assert_int_equal (found.step.hosts.n, 1);
                arena_reset (&t->arena);
            }
}

TEST (two_bad_hosts_are_both_among_the_suspects)
{
    struct rng rng = rng_seed (5);
    for (uint32_t round = 0; round < 2000; round++) {
        struct fault fault = nothing ();
        struct found found;
        uint32_t hosts = 4 + (uint32_t) rng_below (&rng, HOSTS_TRIED_MAX - 4);
        uint32_t a = (uint32_t) rng_below (&rng, hosts), b = (uint32_t) rng_below (&rng, hosts);
        fault.bad[a] = fault.bad[b] = true;
        isolate (&fault, hosts, 1, &t->arena, &found);
        if (found.step.kind == ISOLATE_EVERYWHERE) /* a small slice with a bad host in each half */
            assert_true (hosts <= 4);
        else if (found.step.kind != ISOLATE_HOSTS || !in (&found.step.hosts, (int) a) ||
                 !in (&found.step.hosts, (int) b))
            fail_msg ("hosts %u and %u of %u: kind %u, %u suspects after %u passes", a, b, hosts, found.step.kind,
                      found.step.hosts.n, found.trials_n);
        else if (found.trials_n < isolate_trials_max (hosts)) /* then nothing was left unsaid */
            assert_int_equal (found.step.hosts.n, a == b ? 1 : 2);
        arena_reset (&t->arena);
    }
}

/* ---- pairs and sizes ---- */

TEST (a_bad_link_is_told_from_a_bad_host)
{
    for (uint32_t hosts = 3; hosts <= 24; hosts++)
        for (int a = 0; a < (int) hosts; a++)
            for (int b = a + 1; b < (int) hosts; b++) {
                struct fault fault = nothing ();
                struct found found;
                fault.pair[0] = a;
                fault.pair[1] = b;
                isolate (&fault, hosts, 1, &t->arena, &found);
                if (found.step.kind != ISOLATE_LINK || found.step.hosts.n != 2 || !in (&found.step.hosts, a) ||
                    !in (&found.step.hosts, b))
                    fail_msg ("hosts %d and %d of %u: kind %u, %u suspects after %u passes", a, b, hosts,
                              found.step.kind, found.step.hosts.n, found.trials_n);
                assert_in_range (found.trials_n, 2, isolate_trials_max (hosts) - PAIR_SPARES);
                arena_reset (&t->arena);
            }
}

TEST (what_only_the_whole_slice_shows_is_no_hosts_fault)
{
    for (uint32_t hosts = 3; hosts <= HOSTS_TRIED_MAX; hosts++) {
        struct fault fault = nothing ();
        struct found found;
        fault.size = hosts - 1;
        isolate (&fault, hosts, 1, &t->arena, &found);
        assert_int_equal (found.step.kind, ISOLATE_TOGETHER);
        assert_int_equal (found.step.hosts.n, 0);
        arena_reset (&t->arena);
    }
}

TEST (what_fails_in_every_part_blames_nobody_and_is_given_up_early)
{
    for (uint32_t hosts = 2; hosts <= HOSTS_TRIED_MAX; hosts++) {
        struct fault fault = nothing ();
        struct found found;
        memset (fault.bad, true, sizeof (fault.bad));
        isolate (&fault, hosts, 1, &t->arena, &found);
        assert_int_equal (found.step.kind, ISOLATE_EVERYWHERE);
        assert_int_equal (found.step.hosts.n, 0);
        assert_in_range (found.trials_n, 1, 7);
        arena_reset (&t->arena);
    }
}

/* As a program whose ranks go to two collectives. */
TEST (what_fails_in_every_part_of_more_than_one_host_blames_nobody)
{
    for (uint32_t hosts = 4; hosts <= HOSTS_TRIED_MAX; hosts++) {
        struct fault fault = nothing ();
        struct found found;
        memset (fault.bad, true, sizeof (fault.bad));
        fault.shy = true;
        isolate (&fault, hosts, 1, &t->arena, &found);
        assert_int_equal (found.step.kind, ISOLATE_EVERYWHERE);
        assert_int_equal (found.step.hosts.n, 0);
        arena_reset (&t->arena);
    }
}

TEST (whatever_parts_do_it_ends_within_its_passes_and_begins_again_the_same)
{
    struct rng rng = rng_seed (11);
    for (uint32_t round = 0; round < 3000; round++) {
        uint32_t unit = 1 + (uint32_t) rng_below (&rng, 3), hosts = unit * (2 + (uint32_t) rng_below (&rng, 20));
        struct isolate_trial trials[ISOLATE_TRIALS_MAX];
        struct isolate_case of = { hosts, unit, trials, 0 };
        struct isolate_step step, again;
        for (;;) {
            isolate_next (&of, &t->arena, &step);
            isolate_next (&of, &t->arena, &again);
            assert_int_equal (step.kind, again.kind);
            assert_int_equal (step.hosts.n, again.hosts.n);
            if (step.hosts.n)
                assert_memory_equal (step.hosts.items, again.hosts.items, step.hosts.n * sizeof (uint32_t));
            if (step.kind != ISOLATE_RUN)
                break;
            assert_true (of.trials_n < isolate_trials_max (hosts));
            check_group (&step.hosts, hosts, unit);
            trials[of.trials_n++] = (struct isolate_trial){ step.hosts, (enum isolate_answer) rng_below (&rng, 3), 1 };
        }
        arena_reset (&t->arena);
    }
}

TEST (trials_that_say_nothing_are_no_evidence)
{
    struct isolate_trial trials[ISOLATE_TRIALS_MAX];
    struct isolate_case of = { 8, 1, trials, 0 };
    struct isolate_step step;
    for (isolate_next (&of, &t->arena, &step); step.kind == ISOLATE_RUN; isolate_next (&of, &t->arena, &step)) {
        assert_true (of.trials_n < 3);
        trials[of.trials_n++] = (struct isolate_trial){ step.hosts, ISOLATE_VOID, 1 };
    }
    assert_int_equal (step.kind, ISOLATE_NO_EVIDENCE);
    assert_int_equal (step.hosts.n, 0);
}

TEST (four_thousand_hosts_take_no_more_than_their_passes)
{
    struct fault fault = nothing ();
    struct found found;
    fault.bad[4011] = true;
    isolate (&fault, HOSTS_MAX, 1, &t->arena, &found);
    assert_int_equal (found.step.hosts.n, 1);
    assert_int_equal (found.step.hosts.items[0], 4011);
    assert_int_equal (isolate_trials_max (HOSTS_MAX), ISOLATE_TRIALS_MAX);
}

/* ---- groups, time ---- */

TEST (a_part_has_the_mesh_of_the_slice_with_a_shorter_first_axis)
{
    struct axis axes[] = { { TEXT_LIT ("data"), 8 }, { TEXT_LIT ("model"), 4 } };
    struct mesh whole = { axes, 2 }, part;
    assert_int_equal (isolate_unit (&whole, 4), 1);
    assert_true (isolate_mesh (&whole, 4, 3, &t->arena, &part));
    assert_int_equal (part.n, 2);
    assert_int_equal (part.items[0].size, 3);
    assert_int_equal (part.items[1].size, 4);
    assert_text (part.items[1].axis, "model");
    assert_int_equal (isolate_unit (&whole, 1), 4);
    assert_false (isolate_mesh (&whole, 1, 3, &t->arena, &part));
    assert_true (isolate_mesh (&whole, 1, 8, &t->arena, &part));
    assert_int_equal (part.items[0].size, 2);
    assert_int_equal (isolate_unit (&(struct mesh){ axes + 1, 1 }, 3), 1);
    assert_int_equal (isolate_unit (&(struct mesh){ NULL, 0 }, 4), 0);
}

TEST (what_has_no_devices_or_hosts_has_no_parts)
{
    struct axis axes[] = { { TEXT_LIT ("data"), 4 }, { TEXT_LIT ("model"), 2 } };
    struct mesh mesh = { .items = axes, .n = 2 }, none = { 0 }, out;
    assert_int_equal (isolate_unit (&mesh, 2), 1);
    assert_int_equal (isolate_unit (&mesh, 1), 2);
    assert_int_equal (isolate_unit (&mesh, 0), 0);
    assert_int_equal (isolate_unit (&none, 2), 0);
    assert_true (isolate_mesh (&mesh, 1, 2, &t->arena, &out));
    assert_int_equal (out.items[0].size, 1);
    assert_false (isolate_mesh (&mesh, 1, 0, &t->arena, &out));
    assert_false (isolate_mesh (&mesh, 1, 3, &t->arena, &out));
    assert_false (isolate_mesh (&none, 1, 2, &t->arena, &out));
    axes[1].size = 0;
    assert_int_equal (isolate_unit (&mesh, 2), 0);
}

TEST (a_part_may_take_four_times_what_a_working_one_took_and_no_more_than_the_rung)
{
    struct isolate_trial trials[] = { { .answer = ISOLATE_FAILED, .duration_ms = 600000 },
                                      { .answer = ISOLATE_WORKS, .duration_ms = 10000 },
                                      { .answer = ISOLATE_WORKS, .duration_ms = 5000 } };
    assert_int_equal (isolate_timeout_ms (600000, trials, 0), 600000);
    assert_int_equal (isolate_timeout_ms (600000, trials, 1), 600000);
    assert_int_equal (isolate_timeout_ms (600000, trials, 3), 70000);
    assert_int_equal (isolate_timeout_ms (20000, trials, 3), 20000);
}

/* ---- who has confessed ---- */

enum { SEEN = 4 };
struct seen {
    struct verdict verdicts[SEEN];
    struct isolate_host hosts[SEEN];
    struct plan plan;
    struct signature signatures[2];
};

/* All still run when their time is over: the first is blamed, for want of better. */
static void hang (struct seen *seen)
{
    *seen = (struct seen){ .signatures = { { .id = TEXT_LIT ("peer"), .peer = true }, { .id = TEXT_LIT ("disk") } } };
    seen->plan.signatures.items = seen->signatures;
    seen->plan.signatures.n = 2;
    for (uint32_t i = 0; i < SEEN; i++) {
        seen->verdicts[i] = (struct verdict){ .host = i,
                                              .outcome = i ? OUTCOME_CASCADE : OUTCOME_TIMED_OUT,
                                              .owner = i ? OWNER_PEER : OWNER_UNKNOWN };
        seen->hosts[i] = (struct isolate_host){ .verdict = &seen->verdicts[i], .ending = ENDING_TIMEOUT };
    }
}

static bool without_cause (const struct seen *seen)
{
    return isolate_is_called_for (&seen->plan, seen->hosts, SEEN, true);
}

/* Host `at` ended by itself with status 1, and is not called a cascade. */
static void falls (struct seen *seen, uint32_t at, enum owner owner, const char *signature)
{
    seen->hosts[at].ending = ENDING_EXITED;
    seen->hosts[at].code = 1;
    seen->verdicts[at].outcome = OUTCOME_FAILED;
    seen->verdicts[at].owner = owner;
    seen->verdicts[at].signature = text_of (signature);
}

TEST (a_hang_of_all_is_without_cause)
{
    struct seen seen;
    hang (&seen);
    assert_true (without_cause (&seen));
}

TEST (whoever_did_not_come_to_the_gate_is_named_already)
{
    struct seen seen;
    hang (&seen);
    seen.hosts[2].at_gate = true;
    assert_false (without_cause (&seen));
}

TEST (whoever_failed_while_another_passed_is_named_already)
{
    struct seen seen;
    hang (&seen);
    seen.hosts[3].verdict = NULL;
    assert_false (without_cause (&seen));
}

TEST (complaints_and_peer_texts_are_no_confession)
{
    struct seen seen;
    hang (&seen);
    falls (&seen, 0, OWNER_PEER, "");
    falls (&seen, 1, OWNER_PEER, "peer");
    falls (&seen, 2, OWNER_UNKNOWN, "");
    assert_true (without_cause (&seen));
}

TEST (a_recognised_cause_is_a_confession)
{
    struct seen seen;
    hang (&seen);
    falls (&seen, 1, OWNER_HOST, "disk");
    assert_false (without_cause (&seen));
    falls (&seen, 1, OWNER_DEVICE, "");
    assert_false (without_cause (&seen));
    hang (&seen);
    falls (&seen, 2, OWNER_UNKNOWN, "");
    seen.verdicts[2].outcome = OUTCOME_BLOCKED;
    assert_false (without_cause (&seen));
}

TEST (a_group_of_one_has_nobody_else_to_ask)
{
    struct seen seen;
    hang (&seen);
    assert_true (isolate_is_called_for (&seen.plan, seen.hosts, 2, true));
    assert_false (isolate_is_called_for (&seen.plan, seen.hosts, 1, true));
}

TEST (a_mesh_that_is_too_small_is_a_confession)
{
    struct seen seen;
    hang (&seen);
    falls (&seen, 1, OWNER_PEER, "");
    seen.hosts[1].code = 0; /* it ended well, and says so itself */
    assert_false (without_cause (&seen));
}

/* In words that nobody knows, and all the others noticed. */
TEST (one_that_went_down_while_all_others_complain_is_named_already)
{
    struct seen seen;
    hang (&seen);
    for (uint32_t i = 1; i < SEEN; i++)
        seen.hosts[i] = (struct isolate_host){ .verdict = &seen.verdicts[i], .ending = ENDING_EXITED, .code = 1 };
    falls (&seen, 0, OWNER_UNKNOWN, "");
    assert_false (without_cause (&seen));
    seen.hosts[2].ending = ENDING_CANCELLED; /* but this one did not move: it may be why */
    assert_true (without_cause (&seen));
    assert_false (isolate_is_called_for (&seen.plan, seen.hosts, SEEN, false)); /* not when they had not met */
    seen.hosts[2].ending = ENDING_EXITED;
    falls (&seen, 3, OWNER_UNKNOWN, "");
    assert_false (without_cause (&seen)); /* nor when they are two */
}

/* Of two unlike failures each may be why, or neither; two alike are one cause. */
TEST (unlike_failures_call_for_isolation_and_equal_ones_do_not)
{
    struct seen seen;
    hang (&seen);
    for (uint32_t i = 2; i < SEEN; i++)
        seen.hosts[i] = (struct isolate_host){ .verdict = &seen.verdicts[i], .ending = ENDING_EXITED, .code = 1 };
    falls (&seen, 0, OWNER_UNKNOWN, "");
    falls (&seen, 1, OWNER_UNKNOWN, "");
    seen.verdicts[0].evidence = TEXT_LIT ("fatal error: rank 0 lost its shard");
    seen.verdicts[1].evidence = TEXT_LIT ("fatal error: rank 1 lost its shard");
    assert_false (without_cause (&seen));
    seen.verdicts[1].evidence = TEXT_LIT ("fatal error: no more steps");
    assert_true (without_cause (&seen));
}

/* ---- what it means ---- */

static const struct plan *named_plan (void)
{
    static struct plan_host hosts[] = { { .name = TEXT_LIT ("h0") }, { .name = TEXT_LIT ("h1") },
                                        { .name = TEXT_LIT ("h2") }, { .name = TEXT_LIT ("h3") },
                                        { .name = TEXT_LIT ("h4") }, { .name = TEXT_LIT ("h5") } };
    static struct plan plan;
    plan.hosts.items = hosts;
    plan.hosts.n = 6;
    return &plan;
}

static void rule (const struct fact_suspects_named *named, const struct verdict *before, struct arena *arena,
                  struct verdict *after)
{
    struct isolate_ruling ruling;
    isolate_ruling_from_suspects (named_plan (), named, arena, &ruling);
    isolate_apply_ruling (&ruling, before, arena, after);
}

TEST (a_suspect_keeps_the_failure_and_all_others_failed_with_it)
{
    uint32_t suspects[] = { 2 };
    struct fact_suspects_named named = { .why = TEXT_LIT ("run by themselves, h3 failed"),
                                         .suspects = { suspects, 1 } };
    struct verdict first = { .host = 0, .outcome = OUTCOME_TIMED_OUT, .cause = TEXT_LIT ("still in phase run") };
    struct verdict other = { .host = 2,
                             .outcome = OUTCOME_CASCADE,
                             .cause = TEXT_LIT ("still ran at its limit because h0 failed") },
                   after;
    rule (&named, &first, &t->arena, &after);
    assert_int_equal (after.outcome, OUTCOME_CASCADE);
    assert_text (after.cause, "still ran at its limit because h2 failed");
    rule (&named, &other, &t->arena, &after);
    assert_int_equal (after.outcome, OUTCOME_TIMED_OUT);
    assert_text (after.cause, "run by themselves, h3 failed");
    other.cause = TEXT_LIT ("aborted because h0 failed"); /* no limit had passed */
    rule (&named, &other, &t->arena, &after);
    assert_int_equal (after.outcome, OUTCOME_FAILED);
}

TEST (without_suspects_verdicts_stay_and_say_what_was_tried)
{
    struct fact_suspects_named named = { .why = TEXT_LIT ("no host stands out") };
    struct verdict first = { .host = 0, .outcome = OUTCOME_FAILED, .cause = TEXT_LIT ("exit status 1") };
    struct verdict other = { .host = 1, .outcome = OUTCOME_CASCADE, .cause = TEXT_LIT ("aborted because h0 failed") },
                   after;
    rule (&named, &first, &t->arena, &after);
    assert_int_equal (after.outcome, OUTCOME_FAILED);
    assert_text (after.cause, "exit status 1; no host stands out");
    rule (&named, &other, &t->arena, &after);
    assert_int_equal (after.outcome, OUTCOME_CASCADE);
    assert_text (after.cause, "aborted because h0 failed");
    named.alone = true; /* then it is no host's doing that the others fail */
    rule (&named, &other, &t->arena, &after);
    assert_true (after.outcome == OUTCOME_FAILED && text_is (after.cause, "no host stands out"));
}

TEST (who_failed_alone_did_not_fail_for_its_peers)
{
    uint32_t h1 = 1, all[] = { 0, 1, 2 };
    struct isolate_trial trials[] = { { { all, 2 }, ISOLATE_FAILED, 1 }, { { &h1, 1 }, ISOLATE_FAILED, 1 } };
    struct isolate_case of = { 3, 1, trials, 2 };
    struct isolate_step suspects[] = { { ISOLATE_HOSTS, { &h1, 1 } }, { ISOLATE_HOSTS, { all + 2, 1 } } },
                        nobody = { ISOLATE_EVERYWHERE, { NULL, 0 } };
    struct verdict before = { .host = 1, .outcome = OUTCOME_FAILED, .owner = OWNER_PEER }, after;
    struct fact_suspects_named named = { .suspects = { &h1, 1 } };
    assert_true (isolate_failed_alone (&of, &suspects[0]) && isolate_failed_alone (&of, &nobody));
    assert_false (isolate_failed_alone (&of, &suspects[1]));
    rule (&named, &before, &t->arena, &after); /* with the others, which do well without it */
    assert_true (after.owner == OWNER_HOST && after.else_owner == OWNER_LAUNCH && after.likely);
    assert_text (after.next,
                 "compare its addresses and variables with those of the others: sliceup drift; what it printed: "
                 "sliceup logs --hosts h1");
    struct verdict cascade = { .host = 1, .outcome = OUTCOME_CASCADE, .owner = OWNER_PEER };
    rule (&named, &cascade, &t->arena, &after); /* it complained of nobody */
    assert_int_equal (after.owner, OWNER_UNKNOWN);
    named.suspects.items = all;
    named.suspects.n = 2;
    rule (&named, &before, &t->arena, &after);
    assert_int_equal (after.owner, OWNER_PEER); /* of two, it may be what is between them */
    named.alone = true;
    rule (&named, &before, &t->arena, &after);
    assert_int_equal (after.owner, OWNER_UNKNOWN);
}

TEST (two_halves_that_work_alone_are_named)
{
    uint32_t left[] = { 0 }, right[] = { 1, 2 };
    struct isolate_trial trials[] = { { { left, 1 }, ISOLATE_WORKS, 1 }, { { right, 2 }, ISOLATE_WORKS, 1 } };
    struct isolate_case of = { 3, 1, trials, 2 };
    struct isolate_step found = { .kind = ISOLATE_TOGETHER };
    struct text why = isolate_explain (named_plan (), &of, &found, &t->arena);
    assert_text (
        why,
        "suspect the number of hosts, what one rank does, or a link between the hosts: run by themselves, h0, h[1-2] "
        "worked (2 passes)");
}

TEST (each_end_has_its_suspicion_and_the_parts_behind_it)
{
    static uint32_t ends[] = { 0, 1, 2 }, odd[] = { 0, 2 };
    static struct isolate_trial fails[] = { { { ends, 2 }, ISOLATE_FAILED, 1 } },
                                nothing[] = { { { ends, 2 }, ISOLATE_VOID, 1 } },
                                alone[] = { { { ends, 1 }, ISOLATE_WORKS, 1 }, { { ends, 2 }, ISOLATE_FAILED, 1 } },
                                beside[] = { { { odd, 2 }, ISOLATE_WORKS, 1 }, { { ends, 2 }, ISOLATE_FAILED, 1 } };
    static const struct {
        enum isolate_kind kind;
        uint32_t named_n, trials_n;
        const struct isolate_trial *trials;
        const char *why;
    } cases[] = {
        { ISOLATE_HOSTS, 1, 2, alone,
          "suspect what is between this host and the others: run by themselves, h[0-1] failed; h0 worked (2 passes)" },
        { ISOLATE_HOSTS, 1, 2, beside, "run by themselves, h[0-1] failed; h[0,2] worked (2 passes)" },
        { ISOLATE_LINK, 2, 1, fails,
          "suspect the link between h[0-1], or a setting that differs: run by themselves, h[0-1] failed (1 pass)" },
        { ISOLATE_TOGETHER, 3, 1, fails,
          "suspect the number of hosts, what one rank does, or a link between h[0-2]: run by themselves, h[0-1] failed "
          "(1 pass)" },
        { ISOLATE_EVERYWHERE, 0, 1, fails, "no host stands out: run by themselves, h[0-1] failed (1 pass)" },
        { ISOLATE_NO_EVIDENCE, 0, 1, nothing,
          "no part of the slice could be run by itself: run by themselves, none gave evidence (1 pass)" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena arena = { 0 };
        struct isolate_case of = { 3, 1, cases[i].trials, cases[i].trials_n };
        struct isolate_step found = { .kind = cases[i].kind, .hosts = { ends, cases[i].named_n } };
        struct text why = isolate_explain (named_plan (), &of, &found, &arena);
        if (!text_is (why, cases[i].why))
            fail_msg ("'%.*s', not '%s'", TEXT_ARG (why), cases[i].why);
        arena_release (&arena);
    }
}

TEST (of_many_parts_six_are_named_and_the_others_counted)
{
    static uint32_t hosts[] = { 0, 1, 2, 3, 4, 5 };
    struct isolate_trial trials[8];
    struct isolate_case of = { 6, 1, trials, 8 };
    struct isolate_step found = { .kind = ISOLATE_TOGETHER };
    for (uint32_t i = 0; i < 8; i++)
        trials[i] = (struct isolate_trial){ { &hosts[i % 6], 1 }, ISOLATE_WORKS, 1 };
    struct text why = isolate_explain (named_plan (), &of, &found, &t->arena);
    assert_has (why, "run by themselves, h0, h1, h2, h3, h4, h5 and 2 more worked (8 passes)");
}

/* ---- every sentence against the parts that ran ---- */

static uint32_t count_answers (const struct found *found, enum isolate_answer answer)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < found->trials_n; i++)
        n += found->trials[i].answer == answer;
    return n;
}

/* How many of the parts with this answer the list behind `from`, which ends with `word`, has; all of them, or six. */
static void check_list (struct text why, const char *word, const struct found *found, enum isolate_answer answer)
{
    struct text list = why;
    uint32_t at, n = count_answers (found, answer);
    assert_int_equal (text_find (why, text_of (word), &at), n > 0);
    if (n == 0)
        return;
    list.len = at;
    for (uint32_t i = 0, seen = 0; i < found->trials_n; i++) {
        struct text names[6];
        struct arena arena = { 0 };
        const struct isolate_set *set = &found->trials[i].hosts;
        if (found->trials[i].answer != answer || seen++ >= 6)
            continue;
        for (uint32_t k = 0; k < set->n; k++)
            names[k] = named_plan ()->hosts.items[set->items[k]].name;
        assert_has (list, hostset_folded (names, set->n, UINT32_MAX, &arena));
        arena_release (&arena);
    }
}

static bool ended_with (const struct found *found, uint32_t host, bool alone, enum isolate_answer answer)
{
    for (uint32_t i = 0; i < found->trials_n; i++)
        if (found->trials[i].answer == answer && in (&found->trials[i].hosts, (int) host) &&
            (found->trials[i].hosts.n == 1) == alone)
            return true;
    return false;
}

static void check_sentence (const struct found *found, uint32_t hosts, struct arena *arena)
{
    struct isolate_case of = { hosts, 1, found->trials, found->trials_n };
    struct text why = isolate_explain (named_plan (), &of, &found->step, arena);
    const struct isolate_set *named = &found->step.hosts;
    check_list (why, " failed", found, ISOLATE_FAILED);
    check_list (why, " worked", found, ISOLATE_WORKS);
    for (uint32_t i = 0; i < named->n; i++) {
        uint32_t host = named->items[i];
        bool failed = ended_with (found, host, true, ISOLATE_FAILED) || ended_with (found, host, false, ISOLATE_FAILED);
        if (found->step.kind == ISOLATE_HOSTS && !failed)
            fail_msg ("h%u of %u is named, and failed in no part: %.*s", host, hosts, TEXT_ARG (why));
        if (text_find (why, TEXT_LIT ("between this host and the others"), NULL))
            assert_true (named->n == 1 && ended_with (found, host, true, ISOLATE_WORKS) && failed);
        if (found->step.kind == ISOLATE_HOSTS && named->n == 1 && ended_with (found, host, true, ISOLATE_WORKS))
            assert_true (text_starts (why, "suspect what is between this host and the others: "));
        if (found->step.kind == ISOLATE_LINK)
            assert_true (ended_with (found, host, true, ISOLATE_WORKS) ||
                         ended_with (found, host, false, ISOLATE_WORKS));
    }
    for (uint32_t i = 0; i < found->trials_n && text_find (why, TEXT_LIT ("no host stands out"), NULL); i++)
        assert_true (found->trials[i].answer != ISOLATE_WORKS || found->trials[i].hosts.n == 1);
    if (text_find (why, TEXT_LIT ("none gave evidence"), NULL))
        assert_int_equal (count_answers (found, ISOLATE_WORKS) + count_answers (found, ISOLATE_FAILED), 0);
}

/* A part ends as its bit in `world` says; one bit for each set of up to six hosts. */
static void check_world (uint64_t world, uint64_t voids, uint32_t hosts, struct arena *arena)
{
    struct found found = { 0 };
    for (;;) {
        struct isolate_case of = { hosts, 1, found.trials, found.trials_n };
        isolate_next (&of, arena, &found.step);
        if (found.step.kind != ISOLATE_RUN)
            break;
        uint32_t set = 0;
        for (uint32_t i = 0; i < found.step.hosts.n; i++)
            set |= 1u << found.step.hosts.items[i];
        enum isolate_answer answer = voids >> (found.trials_n % 64) & 1 ? ISOLATE_VOID
                                     : world >> set & 1                 ? ISOLATE_FAILED
                                                                        : ISOLATE_WORKS;
        found.trials[found.trials_n++] = (struct isolate_trial){ found.step.hosts, answer, 1000 };
    }
    check_sentence (&found, hosts, arena);
    arena_reset (arena);
}

/* Of up to three hosts all that parts can do, of four to six 20,000 slices each that do as they like. */
TEST (whatever_parts_do_the_sentence_says_what_they_did)
{
    struct rng rng = rng_seed (17);
    for (uint32_t hosts = 2; hosts <= 3; hosts++)
        for (uint64_t world = 0; world < 1u << (1u << hosts); world++)
            check_world (world, 0, hosts, &t->arena);
    for (uint32_t hosts = 4; hosts <= 6; hosts++)
        for (uint32_t i = 0; i < 20000; i++) {
            uint64_t world = rng_next (&rng), more = rng_next (&rng);
            check_world (i % 3 ? world & more : world | more, i % 4 ? 0 : rng_next (&rng) & rng_next (&rng), hosts,
                         &t->arena);
        }
}
