/* links: simulated */
/* What a worker knows of the run that the journal does not: when that stops a coordinator, and when it does not. */
#include "coord_bench.h"

enum { HOSTS = 3 };

/* A run of one rung for each host alone, which all have joined: facts 1 and 2, three joinings, the pass. */
static void bench_open (struct bench *bench)
{
    *bench = (struct bench){ .now_ms = 1000 };
    sample_plan (&bench->plan, HOSTS, &bench->arena);
    bench->plan.rungs.n = 1;
    bench_begin (bench);
}

TEST_FIXTURE (struct bench, bench_open, bench_close)

static void tell_in (struct bench *bench, uint32_t host, struct msg *msg, uint64_t epoch)
{
    msg->epoch = epoch;
    tell (bench, host, msg);
}

static struct msg hello_of (uint32_t host, uint64_t told_epoch, uint64_t told_index)
{
    return (struct msg){ .kind = MSG_HELLO,
                         .of.hello = { .version = TEXT_LIT ("t"),
                                       .pid = 100 + host,
                                       .pid_start = 1,
                                       .told_epoch = told_epoch,
                                       .told_index = told_index } };
}

static void hello (struct bench *bench, uint32_t host, uint64_t told_epoch, uint64_t told_index)
{
    struct msg msg = hello_of (host, told_epoch, told_index);
    tell_in (bench, host, &msg, told_epoch);
}

/* The coordinator dies, and another one finds the first `kept` facts. */
static void restart_from (struct bench *bench, uint32_t kept)
{
    bench->facts_n = kept;
    restart_at (bench, 0);
}

static void expect_doubt (const struct bench *bench, const char *words)
{
    const struct fact *last = &bench->facts[bench->facts_n - 1];
    assert_has (bench->lost_facts, words);
    assert_int_equal (last->kind, FACT_LOSS_TOLD);
    assert_text (last->of.loss_told.why, bench->lost_facts);
    assert_int_equal (bench->said_n, 0);
    assert_true (coord_deadline_ms (bench->coord) == UINT64_MAX);
}

static void expect_none (const struct bench *bench)
{
    assert_string_equal (bench->lost_facts, "");
    assert_true (bench->said_n > 0);
}

TEST_ON (bench, who_was_told_no_more_than_is_here_is_welcome)
{
    all_join (bench);
    uint32_t all = bench->facts_n;
    assert_int_equal (bench->facts[all - 1].kind, FACT_PASS_BEGAN);
    hello (bench, 0, 1, all); /* in the same epoch, after a lost connection */
    expect_none (bench);
    restart_from (bench, all);
    hello (bench, 0, 1, all);
    expect_none (bench);
    hello (bench, 1, 0, 0); /* a process that was started anew */
    expect_none (bench);
    restart_from (bench, bench->facts_n);
    hello (bench, 0, 1, all - 1); /* it joined in epoch 2 and heard nothing of it */
    expect_none (bench);
}

/* The others have spoken since: to them nothing is unknown. */
static void others_say (struct bench *bench, uint32_t but)
{
    for (uint32_t host = 0; host < HOSTS; host++)
        if (host != but && bench->coord->state->hosts.items[host].joined_epoch == bench->coord->state->epoch) {
            struct msg beat = { .kind = MSG_HEARTBEAT };
            tell_in (bench, host, &beat, bench->coord->state->epoch);
        }
}

/* One host alone is not believed: it is lost, by what it said, and the others go on. */
static void expect_fault_of (struct bench *bench, uint32_t host, const char *words)
{
    const struct host *state = &bench->coord->state->hosts.items[host];
    others_say (bench, host);
    assert_string_equal (bench->lost_facts, "");
    assert_int_equal (bench->coord->state->lost_facts.len, 0);
    assert_int_equal (state->life, HOST_LOST);
    assert_has (state->lost_why.ptr, "confirmed by no other host");
    assert_has (state->lost_why.ptr, words);
}

TEST_ON (bench, what_several_were_told_and_is_not_here_stops_everything)
{
    all_join (bench);
    uint32_t all = bench->facts_n;
    restart_from (bench, all - 1);
    hello (bench, 2, 1, all - 1);
    expect_none (bench);
    hello (bench, 0, 1, all);
    assert_string_equal (bench->lost_facts, ""); /* one alone: the others are asked */
    hello (bench, 1, 1, all);                    /* two of three */
    expect_doubt (bench, "host host1 knows fact 6 of epoch 1, but here that epoch ends with fact 5");
    const struct fact_loss_told *told = &bench->facts[all + 1].of.loss_told;
    assert_true (told->host == 0 && told->epoch == 1 && told->index == all && !told->believed);
}

TEST_ON (bench, nothing_is_begun_while_the_others_are_asked)
{
    all_join (bench);
    uint32_t all = bench->facts_n;
    restart_from (bench, all - 1);
    hello (bench, 0, 1, all);
    for (uint32_t host = 1; host < HOSTS; host++) {
        assert_int_equal (bench->facts[bench->facts_n - 1].kind == FACT_PASS_BEGAN, false);
        hello (bench, host, 0, 0);
    }
    expect_fault_of (bench, 0, "knows fact 6 of epoch 1");
}

TEST_ON (bench, nothing_follows_a_doubt_and_a_restart_finds_it)
{
    all_join (bench);
    uint32_t all = bench->facts_n;
    restart_from (bench, all - 1);
    for (uint32_t host = 0; host < HOSTS; host++)
        hello (bench, host, 1, all);
    uint32_t facts_n = bench->facts_n;
    struct core_input inputs[] = { { .kind = IN_TICK },
                                   { .kind = IN_WORKER_EXITED, .host = 1 },
                                   { .kind = IN_CANCEL, .level = 1 } };
    for (uint32_t i = 0; i < 3; i++) {
        bench->now_ms += 1000000;
        coord_step (bench->coord, &inputs[i], bench->now_ms, &bench->out);
        collect (bench);
    }
    hello (bench, 1, 0, 0);
    assert_true (bench->facts_n == facts_n && bench->said_n == 0);
    bench->lost_facts[0] = '\0';
    restart_from (bench, facts_n);
    assert_int_equal (bench->facts_n, facts_n); /* not even a new epoch */
    expect_doubt (bench, "knows fact 6");
}

/* What one host said before is asked of all again: the next coordinator begins with nobody's word. */
TEST_ON (bench, a_restart_asks_all_of_them_again)
{
    all_join (bench);
    hello (bench, 0, 1, UINT64_MAX);
    assert_int_equal (bench->facts[bench->facts_n - 1].kind, FACT_LOSS_TOLD);
    restart_from (bench, bench->facts_n);
    bench->said_n = 0;
    all_join (bench);
    expect_none (bench);
    assert_int_equal (bench->coord->state->hosts.items[0].life, HOST_JOINED);
}

/* The copy was gone on with before the workers came back: what they know is of a history that did not happen here. */
TEST_ON (bench, growing_past_what_was_lost_does_not_hide_it)
{
    all_join (bench);
    uint32_t all = bench->facts_n;
    restart_from (bench, all - 2); /* epoch 2 instead of a joining and the pass */
    hello (bench, 2, 0, 0);
    expect_none (bench);
    restart_from (bench, bench->facts_n);
    hello (bench, 0, 1, all);
    hello (bench, 1, 1, all);
    expect_doubt (bench, "but here that epoch ends with fact 4");
}

TEST_ON (bench, an_epoch_that_is_not_here_is_told_by_any_message)
{
    all_join (bench);
    for (uint32_t host = 0; host < HOSTS; host++) {
        struct msg beat = { .kind = MSG_HEARTBEAT };
        tell_in (bench, host, &beat, 2);
    }
    expect_doubt (bench,
                  "has joined epoch 2, but the last epoch in this journal is 1: the run was continued from another "
                  "copy of its folder");
}

/* The same epoch of another history: here the hosts never joined in it. */
TEST_ON (bench, an_epoch_of_another_history_is_told_by_who_joined_in_it)
{
    all_join (bench);
    restart_from (bench, bench->facts_n);
    hello (bench, 1, 2, 3);
    hello (bench, 2, 2, 3);
    expect_doubt (bench, "host host2 knows fact 3 of epoch 2, but here it did not join that epoch");
}

static void hold (struct bench *bench, uint32_t host, enum msg_kind kind, struct attempt_key key)
{
    struct holding held = { .key = key, .state = ATTEMPT_ENDED };
    struct msg msg = kind == MSG_HELLO ? hello_of (host, 0, 0) : (struct msg){ .kind = kind };
    if (kind == MSG_RESULT)
        msg.of.result = (struct result){ .key = key, .ending = ENDING_EXITED, .done = true };
    if (kind == MSG_HELLO) {
        msg.of.hello.holdings.items = &held;
        msg.of.hello.holdings.n = 1;
    } else if (kind == MSG_HEARTBEAT) {
        msg.of.heartbeat.holdings.items = &held;
        msg.of.heartbeat.holdings.n = 1;
    }
    tell_in (bench, host, &msg, 0);
}

/* A worker that was started anew holds the results that it kept on its disk. */
TEST_ON (bench, an_attempt_that_was_never_begun_here_is_evidence)
{
    static const enum msg_kind kinds[] = { MSG_HELLO, MSG_HEARTBEAT, MSG_RESULT };
    for (uint32_t i = 0; i < 6; i++) {
        const char *words = "holds attempt 2 of rung facts, but this journal does not record that this attempt began";
        all_join (bench);
        hold (bench, 0, kinds[i % 3], (struct attempt_key){ 0, PASS_ONCE, 1 });
        hold (bench, 0, kinds[i % 3], (struct attempt_key){ 63, PASS_ONCE, 9 }); /* of no plan: nonsense */
        assert_int_equal (count (bench, FACT_LOSS_TOLD), 0);
        for (uint32_t host = 0; host < (i < 3 ? HOSTS : 1); host++)
            hold (bench, host, kinds[i % 3], (struct attempt_key){ 0, PASS_ONCE, 2 });
        if (i < 3)
            expect_doubt (bench, words);
        else
            expect_fault_of (bench, 0, words);
        bench_close (bench);
        bench_open (bench);
    }
}

/* Whatever number one host says of what it was told: its fault alone, and the same twice is recorded once. */
TEST_ON (bench, one_host_with_an_absurd_number_ends_nothing)
{
    static const uint64_t numbers[] = { 2, 7, INT64_MAX, UINT64_MAX - 1, UINT64_MAX };
    for (uint32_t i = 0; i < 3 * 5; i++) {
        uint64_t number = numbers[i % 5];
        all_join (bench);
        struct msg beat = { .kind = MSG_HEARTBEAT }, absurd = hello_of (1, i < 5 ? number : 1, number + 10);
        for (int twice = 0; twice < 2; twice++)
            tell_in (bench, 1, i < 10 ? &absurd : &beat, i < 10 ? 1 : number);
        expect_fault_of (bench, 1, i < 10 ? "knows fact" : "has joined epoch");
        tell_in (bench, 1, &absurd, 1);
        assert_int_equal (count (bench, FACT_LOSS_TOLD), 1);
        bench_close (bench);
        bench_open (bench);
    }
}
