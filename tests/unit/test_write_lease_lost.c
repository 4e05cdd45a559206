/* links: simulated */
/* The order to write that was lost: said again before the lease that was granted for it is over. And what is said of
 * hosts that see different storages. */
#include "common/model/lease.h"
#include "test.h"
#include "write_lease_fixture.h"

enum { SHORT_TERM_MS = 2000 };

static void empty_beat (struct bench *bench, uint32_t host)
{
    struct msg msg = { .kind = MSG_HEARTBEAT };
    tell (bench, host, &msg);
}

static void open_short (struct bench *bench, uint64_t term_ms)
{
    bench_open_rung_term (bench, CACHE_SINGLE_WRITER, TINY, term_ms);
    found (bench, NULL);
    audited (bench, NULL);
    token (bench, 1);
    assert_true (bench->ordered[0]);
    bench->ordered[0] = false; /* it got lost */
}

TEST (an_order_to_write_that_was_lost_comes_again_within_the_lease)
{
    struct bench bench;
    open_short (&bench, SHORT_TERM_MS);
    bench.now_ms += lease_ask_ms (SHORT_TERM_MS);
    empty_beat (&bench, 0);
    assert_true (bench.ordered[0]);
    assert_null (last_fact (&bench, FACT_LEASE_LOST));
    ask (&bench, 0, 1, 1);
    assert_int_equal (bench.leased.term_ms, SHORT_TERM_MS);
    bench_close (&bench);
}

TEST (an_order_that_is_under_way_is_not_repeated_by_every_beat)
{
    struct bench bench;
    open_short (&bench, SHORT_TERM_MS);
    empty_beat (&bench, 0);
    assert_false (bench.ordered[0]);
    bench_close (&bench);
    open_short (&bench, TERM_MS);
    bench.now_ms += lease_ask_ms (SHORT_TERM_MS);
    empty_beat (&bench, 0);
    assert_false (bench.ordered[0]);
    bench_close (&bench);
}

/* ---- storages ---- */

/* One rung, the survey, on three hosts that see these storages. */
static const struct fact *survey (struct bench *bench, const char *const storages[HOSTS])
{
    *bench = (struct bench){ .now_ms = 1000 };
    sample_plan (&bench->plan, HOSTS, &bench->arena);
    bench->plan.cache.mode = CACHE_SINGLE_WRITER;
    bench->plan.rungs.items[0].builtin = TEXT_LIT ("cache");
    bench->plan.rungs.n = 1;
    bench->coord = coord_create ();
    outbox_init (&bench->out);
    coord_open (bench->coord, text_of ("00112233445566778899aabbccddeeff"), &bench->plan, &sample_deal_key,
                text_of ("t"), 1, bench->now_ms, &bench->out);
    collect (bench);
    all_join (bench);
    for (uint32_t host = 0; host < HOSTS; host++) {
        uint64_t secrets[HOSTS] = { 0 };
        struct msg msg = { .kind = MSG_RESULT };
        assert_true (bench->ordered[host]);
        sample_result (&bench->runs[host], secrets, &msg.of.result, &bench->arena);
        msg.of.result.cache.storage = text_of (storages[host]);
        tell (bench, host, &msg);
    }
    const struct fact *ended = last_fact (bench, FACT_PASS_ENDED);
    assert_non_null (ended);
    return ended;
}

TEST (of_three_storages_none_is_called_that_of_most_hosts)
{
    static const char *const apart[HOSTS] = { "aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb", "cccccccccccccccc" };
    static const char *const one_apart[HOSTS] = { "aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb", "aaaaaaaaaaaaaaaa" };
    struct bench bench;
    const struct fact *ended = survey (&bench, apart);
    assert_int_equal (ended->of.pass_ended.verdicts.n, HOSTS);
    for (uint32_t i = 0; i < HOSTS; i++) {
        const struct verdict *verdict = &ended->of.pass_ended.verdicts.items[i];
        assert_int_equal (verdict->outcome, OUTCOME_BLOCKED);
        assert_has (verdict->cause, "and no storage is shared by most hosts");
        assert_has_not (verdict->cause, "on most hosts it is");
    }
    bench_close (&bench);
    ended = survey (&bench, one_apart);
    for (uint32_t i = 0; i < ended->of.pass_ended.verdicts.n; i++) {
        const struct verdict *verdict = &ended->of.pass_ended.verdicts.items[i];
        assert_int_equal (verdict->outcome, verdict->host == 1 ? OUTCOME_BLOCKED : OUTCOME_PASSED);
        if (verdict->host == 1)
            assert_has (verdict->cause, "on most hosts it is aaaaaaaaaaaaaaaa");
    }
    bench_close (&bench);
}
