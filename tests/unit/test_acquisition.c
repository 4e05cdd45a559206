/* links: coordinator_core */
#include "coordinator/core/state.h"
#include "test.h"

/* What each event leads to, written down once more; N: nowhere. Columns as in enum acquisition_event:
 * FIND ANSWER NOTHING_NEW AUDIT AUDITED USED ASK GRANTED TAKEN LOOK FAIL */
enum {
    U = ACQUISITION_UNKNOWN,
    F = ACQUISITION_FINDING,
    K = ACQUISITION_FOUND,
    A = ACQUISITION_AUDITING,
    R = ACQUISITION_READY,
    Q = ACQUISITION_ASKING,
    O = ACQUISITION_OWNED,
    L = ACQUISITION_LOOKING,
    G = ACQUISITION_GIVEN_UP,
    N = ACQUISITION_N
};
static const int expected[ACQUISITION_N][ACQUISITION_EVENT_N] = {
    [U] = { F, N, N, N, N, N, N, N, N, N, N }, [F] = { N, K, N, N, N, N, N, N, N, N, G },
    [K] = { N, N, N, A, N, N, N, N, N, N, N }, [A] = { N, N, N, N, R, N, N, N, N, N, N },
    [R] = { N, N, N, N, N, K, Q, N, N, N, R }, [Q] = { N, N, N, N, N, N, N, R, O, N, R },
    [O] = { N, N, N, N, N, N, N, N, N, L, R }, [L] = { N, K, R, N, N, N, N, N, N, N, R },
    [G] = { N, N, N, N, N, N, N, N, N, N, N },
};

TEST (every_move_leads_where_it_should_and_no_other_is_legal)
{
    for (int from = 0; from < ACQUISITION_N; from++)
        for (int event = 0; event < ACQUISITION_EVENT_N; event++) {
            enum acquisition to = ACQUISITION_N;
            bool legal = acquisition_next ((enum acquisition) from, (enum acquisition_event) event, &to);
            assert_int_equal (to, expected[from][event]);
            assert_int_equal (legal, expected[from][event] != N);
        }
}

TEST (every_state_is_reached_and_all_but_one_are_left)
{
    bool reached[ACQUISITION_N] = { [U] = true };
    for (int round = 0; round < ACQUISITION_N; round++)
        for (int from = 0; from < ACQUISITION_N; from++)
            for (int event = 0; reached[from] && event < ACQUISITION_EVENT_N; event++)
                if (expected[from][event] != N)
                    reached[expected[from][event]] = true;
    for (int at = 0; at < ACQUISITION_N; at++) {
        enum acquisition to;
        bool left = false;
        for (int event = 0; event < ACQUISITION_EVENT_N; event++)
            left |= acquisition_next ((enum acquisition) at, (enum acquisition_event) event, &to);
        assert_true (reached[at]);
        assert_int_equal (left, at != G);
    }
}
