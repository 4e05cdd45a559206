/* links: coordinator_io simulated */
#include "tests/unit/driver_fixture.h"

static void hold_many (struct driver *driver, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct held *held = held_add (&driver->held, 0);
        held->kind = HELD_PUBLISH;
        held_own (held, TEXT_LIT ("to nobody"));
    }
}

/* What a pass left needs no event to go on: nothing becomes durable, nobody says anything, and no time runs out. */
static void effects_that_were_left_go_on_by_themselves (void **state)
{
    struct stage *stage = *state;
    enum { MANY = 20000, PASSES = 1000 };
    stage_start (stage);
    stage_settle (stage);
    hold_many (stage->driver, MANY);
    for (uint32_t i = 0; i < PASSES && stage->driver->held.n; i++) {
        driver_each_pass (stage->driver);
        assert_true (stage->driver->more || !stage->driver->held.n); /* the next one comes at once */
    }
    assert_int_equal (stage->driver->held.n, 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        STAGE_TEST (effects_that_were_left_go_on_by_themselves),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
