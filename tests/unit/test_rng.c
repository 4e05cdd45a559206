/* links: base */
#include "rng_unit.h"
#include "test.h"

/* Outputs of Vigna's splitmix64.c for seed 1234567. */
TEST (numbers_are_those_of_splitmix64)
{
    static const uint64_t expected[] = {
        UINT64_C (6457827717110365317), UINT64_C (3203168211198807973),  UINT64_C (9817491932198370423),
        UINT64_C (4593380528125082431), UINT64_C (16408922859458223821),
    };
    struct rng rng = rng_seed (1234567);
    for (int i = 0; i < 5; i++)
        assert_true (rng_next (&rng) == expected[i]);
}

TEST (numbers_below_a_bound_reach_all_of_it_evenly)
{
    struct rng rng = rng_seed (1);
    uint32_t seen[7] = { 0 };
    for (int i = 0; i < 70000; i++) {
        uint64_t number = rng_below (&rng, 7);
        assert_true (number < 7);
        seen[number]++;
    }
    for (int i = 0; i < 7; i++)
        assert_in_range (seen[i], 9500, 10500);
    assert_int_equal (rng_below (&rng, 1), 0);
}

/* A bound of 3/4 of the range: without rejection the lower third would come up twice as often as each other one. */
TEST (a_large_bound_is_unbiased)
{
    struct rng rng = rng_seed (2);
    uint64_t quarter = UINT64_C (1) << 62;
    uint32_t low = 0;
    for (int i = 0; i < 30000; i++) {
        uint64_t number = rng_below (&rng, 3 * quarter);
        assert_true (number < 3 * quarter);
        low += number < quarter;
    }
    assert_in_range (low, 9600, 10400);
}

TEST (units_lie_in_zero_to_one)
{
    struct rng rng = rng_seed (3);
    double sum = 0;
    for (int i = 0; i < 10000; i++) {
        double unit = rng_unit (&rng);
        assert_true (unit >= 0 && unit < 1);
        sum += unit;
    }
    assert_true (sum > 4900 && sum < 5100);
}

static int by_value (const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *) a, right = *(const uint64_t *) b;
    return (left > right) - (left < right);
}

TEST (folded_seeds_are_all_different)
{
    enum { N = 200 };
    static uint64_t seeds[N * N];
    for (uint64_t seed = 0; seed < N; seed++)
        for (uint64_t purpose = 0; purpose < N; purpose++)
            seeds[seed * N + purpose] = rng_derive_seed (seed, purpose);
    qsort (seeds, N * N, sizeof seeds[0], by_value);
    for (int i = 1; i < N * N; i++)
        assert_true (seeds[i - 1] != seeds[i]);
}

TEST (a_folded_stream_is_not_a_shifted_copy_of_another)
{
    struct rng parent = rng_seed (9);
    for (uint64_t purpose = 0; purpose < 100; purpose++) {
        struct rng child = rng_seed (rng_derive_seed (9, purpose));
        uint64_t first = rng_next (&child);
        struct rng other = parent;
        for (int i = 0; i < 200; i++)
            assert_true (rng_next (&other) != first);
    }
}

/* Or tests that name a seed would try something else in every later version. */
TEST (folding_is_fixed_for_ever)
{
    assert_true (rng_derive_seed (0, 0) == UINT64_C (0xE1DFFA4D4E15BF64));
    assert_true (rng_derive_seed (42, 7) == UINT64_C (0x62B01B3FBCF0CC19));
}
