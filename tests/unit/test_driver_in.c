/* alone: simulated coordinator_run */
#include "test.h"
#include "tests/unit/driver_fixture.h"

/* ---- what is not for this run, or not for this host, is no input ---- */

static struct msg heartbeat (void)
{
    return (struct msg){ .kind = MSG_HEARTBEAT };
}

/* What was said before has been taken when this is answered. */
static void ask (struct stage *stage, uint32_t host)
{
    struct actor *actor = &stage->actors[host];
    actor_take (actor);
    actor->received_n = 0;
    actor->session ^= UINT64_C (1) << 40; /* of no session: the answer is REHELLO */
    stage_says (stage, host, heartbeat ());
    actor->session ^= UINT64_C (1) << 40;
    stage_receives (stage, host, MSG_REHELLO);
}

TEST_ON (stage, what_is_not_for_this_run_is_not_heard)
{
    stage_start (stage);
    stage_key (stage, 0);
    struct msg strange[] = { stage_hello (stage, 0),   stage_hello (stage, 1), { .kind = MSG_WELCOME },
                             { .kind = MSG_SHUTDOWN }, { .kind = MSG_LOG },    { .kind = MSG_FETCH } };
    strange[0].run_id = (struct text){ "another run's id", RUN_ID_BYTES };
    for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++)
        stage_says (stage, 0, strange[i]);
    ask (stage, 0);
    assert_int_equal (stage->actors[0].received_n, 1); /* nobody else was answered */
    assert_int_equal (stage->facts[FACT_HOST_JOINED], 0);
    assert_int_equal (stage->facts[FACT_HOST_LOST], 0);
    stage_says (stage, 0, stage_hello (stage, 0));
    stage_receives (stage, 0, MSG_WELCOME);
}

static void expect_refused (struct stage *stage, struct msg hello)
{
    stage_start (stage);
    stage_key (stage, 0);
    stage_says (stage, 0, hello);
    stage_receives (stage, 0, MSG_REFUSE);
    stage_until (stage, FACT_HOST_LOST, 1);
    assert_int_equal (stage->facts[FACT_HOST_JOINED], 0);
    assert_int_equal (stage_received (stage, 0, MSG_WELCOME), 0);
}

TEST_ON (stage, another_build_is_refused)
{
    struct msg hello = stage_hello (stage, 0);
    hello.of.hello.version = TEXT_LIT ("9.9.9");
    expect_refused (stage, hello);
}

TEST_ON (stage, another_protocol_is_refused)
{
    struct msg hello = stage_hello (stage, 0);
    hello.major = PROTOCOL_MAJOR + 1;
    expect_refused (stage, hello);
}

/* ---- shares ---- */

static void say_bytes (struct stage *stage, uint32_t host, struct text bytes)
{
    for (uint64_t end = clock_boot_ms () + STAGE_WAIT_MS;
         !spoke_send (stage->actors[host].spoke, LINK_CONTROL, bytes.ptr, bytes.len); stage_run (stage, STAGE_STEP_MS))
        assert_true (clock_boot_ms () < end);
}

static uint64_t refused (const struct stage *stage)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < stage->plan.hosts.n; i++)
        n += stage->driver->refused[i];
    return n;
}

static uint32_t lines_with (const struct stage *stage, const char *what)
{
    uint32_t n = 0;
    for (const char *at = stage->log_text; (at = strstr (at, what)) != NULL; at++)
        n++;
    return n;
}

TEST_ON (stage, what_cannot_be_read_is_told_once)
{
    stage_start (stage);
    stage_key (stage, 0);
    for (uint32_t i = 0; i < 20; i++)
        say_bytes (stage, 0, TEXT_LIT ("no message"));
    ask (stage, 0);
    assert_int_equal (refused (stage), 20);
    static const char told[] = "host0: sent a message that cannot be parsed, which was refused: ";
    for (uint64_t end = clock_boot_ms () + STAGE_WAIT_MS; lines_with (stage, told) == 0;
         stage_run (stage, STAGE_STEP_MS))
        assert_true (clock_boot_ms () < end);
    assert_int_equal (lines_with (stage, told), 1);
}

static void wait_ms (long ms)
{
    nanosleep (&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

/* On a busy machine a crowd may be late at the door. */
enum { TRIES = 8, RECEIVED_AGAIN_MS = 1500 };

/* So many frames of each host that is there wait at the door, and the driver has not looked yet. They are useless, but
 * a pass takes of them what it takes of any. */
static void crowd (struct stage *stage, uint32_t each, uint32_t before)
{
    if (before)
        assert_true (stage_run (stage, RECEIVED_AGAIN_MS));
    uint64_t end = clock_boot_ms () + STAGE_WAIT_MS;
    for (uint32_t i = 0; i < stage->plan.hosts.n && stage->actors[i].spoke; i++)
        ask (stage, i);
    for (uint32_t i = 0; i < stage->plan.hosts.n && stage->actors[i].spoke; i++)
        for (uint32_t k = 0; k < each; k++)
            while (!spoke_send (stage->actors[i].spoke, LINK_CONTROL, "nonsense", 8)) {
                assert_true (clock_boot_ms () < end);
                wait_ms (1);
            }
    wait_ms (300); /* it is on its way */
}

TEST_ON (stage, a_pass_takes_its_share_and_comes_again_at_once)
{
    enum { EACH = 300, A_PASS = 1024 }; /* no more than each may say */
    stage_plan (stage, STAGE_HOSTS);
    stage_start (stage);
    for (uint32_t i = 0; i < STAGE_HOSTS; i++)
        stage_key (stage, i);
    for (uint32_t i = 0; i < TRIES && !stage->driver->more; i++) {
        crowd (stage, EACH, i);
        uint64_t before = refused (stage);
        driver_on_loop_iteration (stage->driver);
        assert_in_range (refused (stage) - before, 0, A_PASS);
    }
    assert_true (stage->driver->more);
    uint64_t before = refused (stage);
    for (uint64_t end = clock_boot_ms () + STAGE_WAIT_MS; stage->driver->more; driver_on_loop_iteration (stage->driver))
        assert_true (clock_boot_ms () < end);
    assert_true (refused (stage) > before);
}

static uint32_t suspected (struct coord *coord)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < coord->state->plan.hosts.n; i++) {
        n += coord->soft.hosts[i].suspected;
        coord->soft.hosts[i].suspected = false; /* counted */
    }
    return n;
}

/* Time is an input too, however much there is to read. */
TEST_ON (stage, time_has_its_turn_while_much_is_left)
{
    stage_plan (stage, STAGE_HOSTS);
    stage->plan.limits.join_ms = 600000;
    stage_start (stage);
    stage_join (stage, 1);
    stage_key (stage, STAGE_HOSTS - 1);
    struct coord *coord = stage->driver->coord;
    for (uint32_t i = 0; i < TRIES && !stage->driver->more; i++) {
        engine_of (coord)->state.plan.limits.suspect_ms = stage->plan.limits.suspect_ms;
        crowd (stage, 300, i);
        assert_int_equal (suspected (coord), 0);
        engine_of (coord)->state.plan.limits.suspect_ms = 1; /* nobody was heard for longer */
        coord->soft.silence_ms = 0;                          /* so it is time to look who is silent */
        driver_on_loop_iteration (stage->driver);
        assert_int_equal (suspected (coord), STAGE_HOSTS - 1);
    }
    assert_true (stage->driver->more);
}

/* One says more than any worker has to; it is told once, the others are heard, and later it is heard again. */
TEST_ON (stage, who_says_too_much_is_not_heard_for_a_moment)
{
    enum { MANY = 600, AT_ONCE = 512, A_SECOND = 256, LONG_US = 60000000 };
    stage_start (stage);
    stage_key (stage, 0);
    stage_key (stage, 1);
    ask (stage, 1);
    uint64_t began = clock_boot_ms ();
    while (!lines_with (stage, "sends more than 256 messages a second")) {
        for (uint32_t i = 0; i < MANY; i++)
            say_bytes (stage, 0, TEXT_LIT ("nonsense"));
        assert_true (stage_run (stage, STAGE_STEP_MS) && clock_boot_ms () < began + STAGE_WAIT_MS);
    }
    struct rate_limit *limit = &stage->driver->host_rate_limits[0].may[LINK_CONTROL];
    limit->spent_us += LONG_US; /* its moment lasts until the other was heard */
    ask (stage, 1);
    limit->spent_us -= LONG_US;
    uint64_t most = AT_ONCE + (clock_boot_ms () - began + 1000) * A_SECOND / 1000;
    assert_in_range (refused (stage), AT_ONCE, most);
    assert_int_equal (lines_with (stage, "sends more than"), 1);
    for (uint64_t end = clock_boot_ms () + STAGE_WAIT_MS; !stage_received (stage, 0, MSG_REHELLO);) {
        stage_says (stage, 0, heartbeat ());
        assert_true (stage_run (stage, 100) && clock_boot_ms () < end);
    }
}

/* While effects that are due fill a pass, nothing is taken in that leads to more of them. */
TEST_ON (stage, nothing_is_taken_in_while_effects_are_behind)
{
    stage_start (stage);
    stage_key (stage, 0);
    crowd (stage, 1, 0);
    for (uint32_t i = 0; i < 20000; i++) {
        struct held_effect *held = held_add (&stage->driver->held, 0);
        held->kind = HELD_PUBLISH;
        held_copy_bytes (held, TEXT_LIT ("to nobody"));
    }
    driver_on_loop_iteration (stage->driver);
    assert_int_equal (refused (stage), 0);
    assert_true (stage->driver->more);
    stage_settle (stage);
    for (uint64_t end = clock_boot_ms () + STAGE_WAIT_MS; !refused (stage); stage_run (stage, STAGE_STEP_MS))
        assert_true (clock_boot_ms () < end);
}
