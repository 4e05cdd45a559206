/* links: simulated view */
#include <jansson.h>

#include "coordinator/view/status.h"
#include "test.h"
#include "view_fixture.h"

static json_t *as_json (const struct show *show, int64_t pid)
{
    struct status status = { .board = show->board, .now_ms = show->at_ms, .pid = pid };
    struct buf out;
    json_error_t problem;
    buf_init (&out, 16 << 20);
    status_json (&status, &out);
    assert_ascii (&out);
    json_t *object = json_loadb ((const char *) out.ptr, out.len, JSON_REJECT_DUPLICATES, &problem);
    if (object == NULL)
        fail_msg ("%s in\n%s", problem.text, buf_c (&out));
    buf_release (&out);
    return object;
}

static const char *string_at (json_t *object, const char *name)
{
    return json_string_value (json_object_get (object, name));
}

static struct show failing (void)
{
    struct show show;
    struct verdict verdicts[] = {
        { .host = 1,
          .outcome = OUTCOME_FAILED,
          .owner = OWNER_HOST,
          .signature = TEXT_LIT ("disk-full"),
          .cause = TEXT_LIT ("no space"),
          .next = TEXT_LIT ("free some space, then resume"),
          .phase = TEXT_LIT ("run") },
        { .host = 2,
          .outcome = OUTCOME_FAILED,
          .owner = OWNER_HOST,
          .signature = TEXT_LIT ("disk-full"),
          .cause = TEXT_LIT ("no space"),
          .next = TEXT_LIT ("free some space, then resume"),
          .phase = TEXT_LIT ("run") },
    };
    show_gathered (&show, 3);
    show_began (&show, FACTS, PASS_ONCE, 1, 3);
    show_pass_ended (&show, OUTCOME_FAILED, 700, verdicts, 2);
    return show;
}

TEST_FIXTURE (struct show, TEST_NOTHING, show_release)

static void show_stand (struct show *show, uint32_t host, const char *stand)
{
    show_received (show, host, (struct holding){ .state = ATTEMPT_RUNNING, .stand = text_of (stand), .stand_ms = 500 });
}

static json_t *stacks_of (const struct show *show, uint32_t most, struct buf *out)
{
    buf_clear (out);
    stacks_json (show->board, show->at_ms, most, out);
    assert_ascii (out);
    json_t *object = json_loadb ((const char *) out->ptr, out->len, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null (object);
    return object;
}

TEST_ON (show, stacks_are_told_alike_in_text_and_json_the_odd_ones_first)
{
    const char *waits = "main thread: File \"/e/site-packages/jax/a.py\", line 3 in wait\n"
                        "called from: File \"/k/step.py\", line 9 in step\n"
                        "called from: File \"/k/train.py\", line 2 in main\n"
                        "python3: main thread sleeping in futex (futex_do_wait)";
    struct buf *out = test_buf (t);
    show_gathered (show, 4);
    show_began (show, FACTS, PASS_ONCE, 1, 4);
    json_t *none = stacks_of (show, 64, out);
    assert_int_equal (json_array_size (json_object_get (none, "groups")), 0);
    assert_true (json_is_null (json_object_get (none, "sentence")));
    json_decref (none);
    show->at_ms = 5000;
    for (uint32_t i = 0; i < 3; i++)
        show_stand (show, i, waits);
    show_stand (show, 3, "main thread: File \"/k/fault.py\", line 4 in maybe \x1b[31m");
    show->at_ms += 1000;
    json_t *told = stacks_of (show, 64, out), *groups = json_object_get (told, "groups"),
           *odd = json_array_get (groups, 0), *rest = json_array_get (groups, 1);
    assert_string_equal (string_at (told, "schema"), "sliceup.stacks/1");
    assert_string_equal (string_at (odd, "hosts"), "host3");
    assert_string_equal (string_at (odd, "where"), "fault.py:4 maybe \x1b[31m ()");
    assert_string_equal (string_at (rest, "hosts"), "host[0-2]");
    assert_int_equal (json_integer_value (json_object_get (rest, "count")), 3);
    assert_int_equal (json_integer_value (json_object_get (rest, "looked_ms")), 1500);
    json_t *frames = json_object_get (rest, "frames"), *waiting = json_object_get (rest, "waits");
    static const char *const own_first[] = { "File \"/k/step.py\", line 9 in step",
                                             "File \"/k/train.py\", line 2 in main",
                                             "File \"/e/site-packages/jax/a.py\", line 3 in wait" };
    assert_int_equal (json_array_size (frames), 3);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal (json_string_value (json_array_get (frames, i)), own_first[i]);
    assert_int_equal (json_array_size (waiting), 1);
    assert_has (out, "the odd one out now: host3 stands in fault.py:4");
    json_decref (told);
    told = stacks_of (show, 1, out);
    assert_int_equal (json_array_size (json_object_get (told, "groups")), 1);
    assert_int_equal (json_integer_value (json_object_get (told, "groups_left_out")), 1);
    json_decref (told);
    buf_clear (out);
    assert_int_equal (stacks_text (show->board, out), 4);
    assert_has (out, "host3: fault.py:4 maybe");
    assert_has (out, "\nhost[0-2]: step.py:9 step (), in jax\n    main thread: File \"/e/site-packages/jax/a.py\"");
    assert_true (text_starts (buf_as_text (out), "host3: "));
    show_ended (show, 3, ENDING_EXITED, 0);
    buf_clear (out);
    assert_int_equal (stacks_text (show->board, out), 3);
}

TEST_ON (show, a_running_run_says_where_its_hosts_are)
{
    show_gathered (show, 2);
    show_began (show, FACTS, PASS_ONCE, 1, 2);
    show->at_ms = 5000;
    show_phase (show, 1, "compile", 3000);
    json_t *object = as_json (show, 77), *host, *rung, *pass;
    assert_string_equal (string_at (object, "schema"), "sliceup.status/2");
    assert_string_equal (string_at (object, "run"), "3fa9c1d2000000000000000000000000");
    assert_string_equal (string_at (object, "state"), "running");
    assert_true (json_is_null (json_object_get (object, "outcome")));
    assert_int_equal (json_integer_value (json_object_get (object, "pid")), 77);
    host = json_array_get (json_object_get (json_object_get (object, "hosts"), "list"), 1);
    assert_string_equal (string_at (host, "host"), "host1");
    assert_string_equal (string_at (host, "life"), "joined");
    assert_string_equal (string_at (host, "phase"), "compile");
    assert_int_equal (json_integer_value (json_object_get (host, "phase_ms")), 3000);
    rung = json_array_get (json_object_get (object, "rungs"), 0);
    pass = json_array_get (json_object_get (rung, "passes"), 0);
    assert_string_equal (string_at (pass, "pass"), "once");
    assert_string_equal (string_at (pass, "state"), "running");
    assert_int_equal (json_integer_value (json_object_get (pass, "duration_ms")), 4800);
    assert_string_equal (json_string_value (json_array_get (json_object_get (object, "waiting"), 0)),
                         "waiting for host0 to start (4.8 s of 30 s)");
    assert_int_equal (
        json_array_size (json_object_get (json_array_get (json_object_get (object, "rungs"), 2), "passes")), 0);
    json_decref (object);
}

TEST (failures_stand_beside_their_hosts)
{
    struct show show = failing ();
    show_run_ended (&show, OUTCOME_FAILED, 1, TEXT_LIT ("stopped at rung facts \x7f\xe2\x80\xae"));
    json_t *object = as_json (&show, 0);
    json_t *pass = json_array_get (json_object_get (json_array_get (json_object_get (object, "rungs"), 0), "passes"),
                                   0);
    json_t *failure = json_array_get (json_object_get (pass, "failures"), 0);
    assert_string_equal (string_at (object, "state"), "ended");
    assert_string_equal (string_at (object, "outcome"), "failed");
    assert_string_equal (string_at (object, "sentence"),
                         "stopped at rung facts \x7f\xe2\x80\xae"); /* escaped on the way, not changed */
    assert_int_equal (json_array_size (json_object_get (pass, "failures")), 1);
    assert_string_equal (string_at (failure, "hosts"), "host[1-2]");
    assert_string_equal (string_at (failure, "signature"), "disk-full");
    assert_string_equal (string_at (failure, "owner"), "host");
    assert_int_equal (json_integer_value (json_object_get (json_object_get (pass, "counts"), "failed")), 2);
    assert_int_equal (json_integer_value (json_object_get (json_object_get (pass, "counts"), "passed")), 1);
    json_decref (object);
    show_release (&show);
}

TEST_ON (show, who_is_left_behind_stands_with_its_cause)
{
    struct fact fact = { .kind = FACT_HOSTS_LEFT_BEHIND };
    struct verdict verdict = { .host = 2,
                               .outcome = OUTCOME_LOST,
                               .owner = OWNER_HOST,
                               .cause = TEXT_LIT ("silent for 30 s"),
                               .next = TEXT_LIT ("look at its console") };
    show_gathered (show, 3);
    fact.of.hosts_left_behind.rung = FACTS;
    fact.of.hosts_left_behind.verdicts.items = &verdict;
    fact.of.hosts_left_behind.verdicts.n = 1;
    show_fact (show, fact);
    json_t *object = as_json (show, 77), *rungs = json_object_get (object, "rungs");
    json_t *absent = json_object_get (json_array_get (rungs, FACTS), "absent");
    assert_int_equal (json_array_size (absent), 1);
    assert_string_equal (string_at (json_array_get (absent, 0), "hosts"), "host2");
    assert_string_equal (string_at (json_array_get (absent, 0), "cause"), "silent for 30 s");
    assert_string_equal (string_at (json_array_get (absent, 0), "next"), "look at its console");
    assert_int_equal (json_array_size (json_object_get (json_array_get (rungs, TINY), "absent")), 0);
    json_decref (object);
}

TEST_ON (show, without_a_coordinator_it_is_interrupted)
{
    struct buf *out = test_buf (t);
    show_gathered (show, 1);
    json_t *object = as_json (show, 0);
    assert_string_equal (string_at (object, "state"), "interrupted");
    assert_true (json_is_null (json_object_get (object, "pid")));
    json_decref (object);
    struct status status = { .board = show->board, .now_ms = show->at_ms };
    status_text (&status, &show->style, out);
    assert_has (out, "interrupted, and its clock stands at its last fact; continue it with: sliceup resume 3fa9c1d2, "
                     "or end its workers with: sliceup cancel 3fa9c1d2\n");
}

TEST (the_text_tells_the_same)
{
    struct show show = failing ();
    struct fact published = { .kind = FACT_GENERATION_PUBLISHED };
    struct status status = { .board = show.board, .now_ms = show.at_ms };
    struct style style = { .columns = 60, .rows = 24 };
    struct buf *out = test_buf (t);
    published.of.generation = (struct fact_generation){ .token = 9, .entries = 3, .bytes = 300, .writer = 0 };
    show_fact (&show, published);
    show_run_ended (&show, OUTCOME_FAILED, 1, TEXT_LIT ("stopped at rung facts"));
    status_text (&status, &style, out);
    assert_string_equal (
        buf_c (out),
        "run 3fa9c1d2000000000000000000000000: ended\n"
        "sample  0/3 rungs  200 ms  3/3 hosts  run 3fa9c1d2\n"
        "x facts once      1 passed, 2 failed                 700 ms\n"
        ". tiny\n"
        ". all\n"
        "  host[1-2] failed: no space; whose: the host (certain; disk-full); next: free some space, then resume\n"
        "cache generation 9: 3 entries, 300 B, written by host0\n"
        "stopped at rung facts\n");
    show_release (&show);
}

/* Before the first pass, which has no failures then. */
TEST_ON (show, who_never_came_stands_among_the_failures)
{
    struct buf *out = test_buf (t);
    show_make (show, 2);
    show_open (show);
    show_joined (show, 0);
    show_lost (show, 1, TEXT_LIT ("its worker did not join within 30 s"));
    show_run_ended (show, OUTCOME_BLOCKED, 3, TEXT_LIT ("blocked"));
    struct status status = { .board = show->board, .now_ms = show->at_ms };
    status_text (&status, &show->style, out);
    assert_has (out, "\n  host1 blocked: its worker did not join within 30 s; whose: the host (likely); next: to go on "
                     "with the 1 that "
                     "are up: ");
}

TEST_ON (show, a_violated_cache_is_told)
{
    struct fact published = { .kind = FACT_GENERATION_PUBLISHED }, violated = { .kind = FACT_CACHE_VIOLATED };
    struct fact dropped = { .kind = FACT_GENERATION_DROPPED, .of.generation_dropped = { 8, TEXT_LIT ("another one") } };
    struct fact lost = { .kind = FACT_LEASE_LOST };
    struct style style = { .columns = 60, .rows = 24 };
    struct buf *out = test_buf (t);
    show_gathered (show, 2);
    published.of.generation = (struct fact_generation){ .token = 9, .entries = 3, .bytes = 300, .writer = 0 };
    show_fact (show, published);
    violated.of.cache_violated.finding.kind = FINDING_CHANGED;
    show_fact (show, violated);
    violated.of.cache_violated.finding.kind = FINDING_WRITE_ATTEMPT; /* beside the rules, and broke none */
    show_fact (show, violated);
    show_fact (show, lost);
    show_fact (show, dropped);
    json_t *object = as_json (show, 0), *cache = json_object_get (object, "cache");
    assert_false (json_is_true (json_object_get (cache, "dropped")));
    json_decref (object);
    dropped.of.generation_dropped.token = 9;
    show_fact (show, dropped);
    object = as_json (show, 0);
    assert_true (json_is_true (json_object_get (json_object_get (object, "cache"), "dropped")));
    assert_int_equal (json_integer_value (json_object_get (object, "violations")), 1);
    assert_int_equal (json_integer_value (json_object_get (object, "leases_lost")), 1);
    json_decref (object);
    struct status status = { .board = show->board, .now_ms = show->at_ms };
    status_text (&status, &style, out);
    assert_has (out, "\ncache violated: 1 finding\n");
    assert_has (out, "cache generation 9: 3 entries, 300 B, written by host0; it was violated and is no longer used\n");
    published.of.generation.token = 10;
    show_fact (show, published);
    assert_false (show->board->generation.dropped);
}

TEST_ON (show, nan_and_infinity_are_null)
{
    struct fact fact = { .kind = FACT_METRIC_JUDGED };
    show_gathered (show, 1);
    fact.of.metric_judged = (struct fact_metric_judged){
        .key = { ALL, PASS_COLD, 1 }, .metric = TEXT_LIT ("loss"), .value = 1 / 0.0, .proof = PROOF_DISAGREE
    };
    show_fact (show, fact);
    json_t *object = as_json (show, 0), *metric = json_array_get (json_object_get (object, "metrics"), 0);
    assert_string_equal (string_at (metric, "metric"), "loss");
    assert_string_equal (string_at (metric, "proof"), "disagree");
    assert_true (json_is_null (json_object_get (metric, "value")));
    json_decref (object);
}

TEST (whatever_happens_it_is_json_and_safe)
{
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct rng rng = rng_seed (seed);
        struct show show;
        show_make (&show, 6);
        show.plan.slice = show.plan.hosts.items[1].name = show.plan.rungs.items[TINY].id = HOSTILE;
        show_open (&show);
        for (uint32_t i = 0; i < 200; i++) {
            struct arena arena = { 0 };
            show.at_ms += rng_below (&rng, 500);
            show_fact (&show, chaos_fact (&rng, &arena));
            arena_release (&arena);
            if (i % 20)
                continue;
            json_decref (as_json (&show, (int64_t) rng_below (&rng, 2)));
            struct status status = { .board = show.board, .now_ms = show.at_ms };
            struct buf out;
            buf_init (&out, 16 << 20);
            status_text (&status, &show.style, &out);
            assert_safe (&out);
            buf_release (&out);
        }
        show_release (&show);
    }
}
