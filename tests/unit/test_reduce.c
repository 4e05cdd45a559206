/* links: simulated */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <string.h>
#include <stdio.h>

#include <cmocka.h>

#include "coordinator/core/deal.h"
#include "coordinator/core/reduce.h"

/* Four hosts of two devices, mesh data: 4, model: 2; device d holds value d + 1, weight 1 on even and 3 on odd hosts. */
enum { HOSTS = 4, PER_HOST = 2, DEVICES = HOSTS * PER_HOST };
enum { DATA = 1, MODEL = 2, BOTH = 3 };

static struct axis axes[2] = { { TEXT_LIT ("data"), HOSTS }, { TEXT_LIT ("model"), PER_HOST } };
static const struct mesh mesh = { axes, 2 };
static struct text axis_names[2] = { TEXT_LIT ("data"), TEXT_LIT ("model") };

struct scene {
    uint64_t secrets[HOSTS];
    struct shard shards[DEVICES];
    struct metric metrics[HOSTS];
    const struct metric *pointers[HOSTS];
    struct reduce_verdict verdict;
};

static double local (uint32_t device) { return device + 1.0; }
static double weight (uint32_t device) { return device / PER_HOST % 2 ? 3 : 1; }

static double number (const struct scene *scene, uint32_t device)
{
    return (double) (scene->secrets[device / PER_HOST] + device % PER_HOST);
}

/* Fills the scene as an honest program that reduces over `reduced` while it claims `claimed`. */
static void scene_make (struct scene *scene, enum reduction reduction, uint32_t claimed, uint32_t reduced)
{
    *scene = (struct scene) { 0 };
    assert_true (deal_secrets (7, HOSTS, PER_HOST, scene->secrets));
    for (uint32_t device = 0; device < DEVICES; device++) {
        double sum = 0, total = 0, proof = 0;
        for (uint32_t other = 0; other < DEVICES; other++) {
            if (!mesh_reduced_together (&mesh, device, other, reduced))
                continue;
            sum += local (other) * weight (other);
            total += weight (other);
            proof += number (scene, other);
        }
        scene->shards[device] = (struct shard) { reduction == REDUCTION_MEAN ? sum / total : sum, proof, local (device), weight (device) };
    }
    for (uint32_t host = 0; host < HOSTS; host++) {
        struct metric *metric = &scene->metrics[host];
        *metric = (struct metric) { .name = TEXT_LIT ("loss"), .reduction = reduction, .global = true };
        metric->axes.items = claimed == MODEL ? axis_names + 1 : axis_names;
        metric->axes.n = claimed == BOTH ? 2 : 1;
        metric->shards.items = scene->shards + host * PER_HOST;
        metric->shards.n = PER_HOST;
        metric->value = scene->shards[host * PER_HOST].value;
        scene->pointers[host] = metric;
    }
}

static enum proof scene_judge (struct scene *scene)
{
    struct reduce_input in = { &mesh, HOSTS, PER_HOST, scene->secrets, scene->pointers };
    reduce_judge (&in, &scene->verdict);
    return scene->verdict.proof;
}

static void an_honest_reduction_is_proved_over_every_set_of_axes (void **state)
{
    (void) state;
    for (uint32_t set = DATA; set <= BOTH; set++)
        for (enum reduction reduction = REDUCTION_SUM; reduction <= REDUCTION_MEAN; reduction++) {
            struct scene scene;
            scene_make (&scene, reduction, set, set);
            assert_int_equal (scene_judge (&scene), PROOF_PROVED);
            assert_int_equal (scene.verdict.missing_n, 0);
        }
}

static void a_local_value_is_named (void **state)
{
    (void) state;
    struct scene scene;
    scene_make (&scene, REDUCTION_SUM, BOTH, 0);
    assert_int_equal (scene_judge (&scene), PROOF_LOCAL);
}

static void a_sum_over_the_own_host_only_is_local (void **state)
{
    (void) state;
    struct scene scene;
    scene_make (&scene, REDUCTION_SUM, BOTH, MODEL);
    assert_int_equal (scene_judge (&scene), PROOF_LOCAL);
}

static void a_reduction_over_another_axis_is_named (void **state)
{
    (void) state;
    struct scene scene;
    scene_make (&scene, REDUCTION_SUM, BOTH, DATA);
    assert_int_equal (scene_judge (&scene), PROOF_WRONG_AXIS);
}

static void leave_out (struct scene *scene, uint32_t host)
{
    for (uint32_t device = 0; device < DEVICES; device++)
        for (uint32_t i = 0; i < PER_HOST; i++)
            scene->shards[device].proof -= number (scene, host * PER_HOST + i);
}

static void every_single_host_left_out_is_named (void **state)
{
    (void) state;
    for (uint32_t host = 0; host < HOSTS; host++) {
        struct scene scene;
        scene_make (&scene, REDUCTION_MEAN, BOTH, BOTH);
        leave_out (&scene, host);
        assert_int_equal (scene_judge (&scene), PROOF_PARTIAL);
        assert_int_equal (scene.verdict.missing_n, 1);
        assert_int_equal (scene.verdict.missing[0], host);
    }
}

static void two_hosts_left_out_are_named (void **state)
{
    (void) state;
    struct scene scene;
    scene_make (&scene, REDUCTION_SUM, BOTH, BOTH);
    leave_out (&scene, 1);
    leave_out (&scene, 3);
    assert_int_equal (scene_judge (&scene), PROOF_PARTIAL);
    assert_int_equal (scene.verdict.missing_n, 2);
    assert_int_equal (scene.verdict.missing[0] + scene.verdict.missing[1], 4);
}

static void a_host_counted_twice_is_named (void **state)
{
    (void) state;
    struct scene scene;
    scene_make (&scene, REDUCTION_SUM, BOTH, BOTH);
    for (uint32_t device = 0; device < DEVICES; device++)
        scene.shards[device].proof += number (&scene, 4) + number (&scene, 5);
    assert_int_equal (scene_judge (&scene), PROOF_DOUBLE_COUNTED);
    scene_make (&scene, REDUCTION_SUM, BOTH, BOTH);
    for (uint32_t device = 0; device < DEVICES; device++)
        scene.shards[device].proof *= 2;
    assert_int_equal (scene_judge (&scene), PROOF_DOUBLE_COUNTED);
}

static void the_mean_of_means_is_named (void **state)
{
    (void) state;
    struct scene scene;
    scene_make (&scene, REDUCTION_MEAN, BOTH, BOTH);
    for (uint32_t device = 0; device < DEVICES; device++)
        scene.shards[device].value = 4.5; /* (1 + ... + 8) / 8; weighted it is 5 */
    assert_int_equal (scene_judge (&scene), PROOF_MEAN_OF_MEANS);
}

static void a_value_that_is_no_reduction_disagrees (void **state)
{
    (void) state;
    struct scene scene;
    scene_make (&scene, REDUCTION_SUM, BOTH, BOTH);
    scene.shards[5].value += 1;
    assert_int_equal (scene_judge (&scene), PROOF_DISAGREE);
}

static void a_value_beside_its_proved_shards_disagrees (void **state)
{
    (void) state;
    struct scene scene;
    scene_make (&scene, REDUCTION_SUM, BOTH, BOTH);
    scene.metrics[2].value = 999;
    assert_int_equal (scene_judge (&scene), PROOF_DISAGREE);
}

static void small_values_are_not_lost_in_the_tolerance (void **state)
{
    (void) state;
    struct scene scene;
    scene_make (&scene, REDUCTION_SUM, BOTH, BOTH);
    for (uint32_t device = 0; device < DEVICES; device++) {
        scene.shards[device].local *= 1e-9;
        scene.shards[device].value *= 1.001e-9;
    }
    for (uint32_t host = 0; host < HOSTS; host++)
        scene.metrics[host].value = scene.shards[host * PER_HOST].value;
    assert_int_equal (scene_judge (&scene), PROOF_DISAGREE);
}

static void what_cannot_be_read_is_unproved (void **state)
{
    (void) state;
    struct scene scene;
    scene_make (&scene, REDUCTION_SUM, BOTH, BOTH);
    scene.pointers[2] = NULL;
    assert_int_equal (scene_judge (&scene), PROOF_UNPROVED);
    assert_int_equal (scene.verdict.missing[0], 2);

    scene_make (&scene, REDUCTION_SUM, BOTH, BOTH);
    scene.metrics[1].shards.n = 1;
    assert_int_equal (scene_judge (&scene), PROOF_UNPROVED);

    scene_make (&scene, REDUCTION_SUM, BOTH, BOTH);
    scene.metrics[3].global = false;
    assert_int_equal (scene_judge (&scene), PROOF_UNPROVED);

    scene_make (&scene, REDUCTION_SUM, BOTH, BOTH);
    scene.shards[0].proof = NAN;
    scene.shards[1].proof = 12345;
    assert_int_equal (scene_judge (&scene), PROOF_UNPROVED);
}

static void dealt_numbers_are_distinct_and_exact_in_float32 (void **state)
{
    (void) state;
    static const struct { uint32_t hosts, per_host; } cases[] = { { 1, 1 }, { 4, 2 }, { 64, 4 }, { 256, 8 }, { 1000, 4 }, { 1024, 4 }, { 64, 64 } };
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        uint64_t secrets[1024];
        assert_true (deal_secrets (i, cases[i].hosts, cases[i].per_host, secrets));
        float sum = 0;
        double exact = 0;
        for (uint32_t a = 0; a < cases[i].hosts; a++) {
            assert_true (secrets[a] > 0 && secrets[a] % cases[i].per_host == 0);
            for (uint32_t b = 0; b < a; b++)
                assert_true (secrets[a] != secrets[b]);
            for (uint32_t k = 0; k < cases[i].per_host; k++) {
                sum += (float) (secrets[a] + k);
                exact += (double) (secrets[a] + k);
            }
        }
        assert_true ((double) sum == exact);
    }
    uint64_t none[2];
    assert_false (deal_secrets (1, 2, 1 << 23, none));
}

static void nonces_differ_by_host_and_seed (void **state)
{
    (void) state;
    char a[33], b[33], c[33];
    deal_nonce (1, 0, a);
    deal_nonce (1, 1, b);
    deal_nonce (2, 0, c);
    assert_string_not_equal (a, b);
    assert_string_not_equal (a, c);
    assert_int_equal (strlen (a), 32);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (an_honest_reduction_is_proved_over_every_set_of_axes),
        cmocka_unit_test (a_local_value_is_named),
        cmocka_unit_test (a_sum_over_the_own_host_only_is_local),
        cmocka_unit_test (a_reduction_over_another_axis_is_named),
        cmocka_unit_test (every_single_host_left_out_is_named),
        cmocka_unit_test (two_hosts_left_out_are_named),
        cmocka_unit_test (a_host_counted_twice_is_named),
        cmocka_unit_test (the_mean_of_means_is_named),
        cmocka_unit_test (a_value_that_is_no_reduction_disagrees),
        cmocka_unit_test (a_value_beside_its_proved_shards_disagrees),
        cmocka_unit_test (small_values_are_not_lost_in_the_tolerance),
        cmocka_unit_test (what_cannot_be_read_is_unproved),
        cmocka_unit_test (dealt_numbers_are_distinct_and_exact_in_float32),
        cmocka_unit_test (nonces_differ_by_host_and_seed),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
