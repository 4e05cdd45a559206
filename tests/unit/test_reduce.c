/* links: simulated */
#include <math.h>

#include "common/base/rng.h"
#include "coordinator/verdict/reduce.h"
#include "rng_unit.h"
#include "test.h"

/* Four hosts of two devices, mesh data: 4, model: 2; device d holds value d + 1, weight 1 on even and 3 on odd hosts.
 */
enum { HOSTS = 4, PER_HOST = 2, DEVICES = HOSTS * PER_HOST };
static const struct digest sample_key = { { 7 } };
enum { DATA = 1, MODEL = 2, BOTH = 3 };

static struct axis axes[2] = { { TEXT_LIT ("data"), HOSTS }, { TEXT_LIT ("model"), PER_HOST } };
static const struct mesh mesh = { axes, 2 };
static struct text axis_names[2] = { TEXT_LIT ("data"), TEXT_LIT ("model") };

struct scene {
    uint64_t secrets[HOSTS];
    struct shard shards[DEVICES];
    struct metric metrics[HOSTS];
    const struct metric *pointers[HOSTS];
    double tolerance;
    struct reduction_verdict verdict;
};

static struct arena told; /* reasons */

static double local (uint32_t device)
{
    return device + 1.0;
}
static double weight (uint32_t device)
{
    return device / PER_HOST % 2 ? 3 : 1;
}

static double number (const struct scene *scene, uint32_t device)
{
    return (double) (scene->secrets[device / PER_HOST] + device % PER_HOST);
}

/* Fills the scene as an honest program that reduces over `reduced` while it claims `claimed`. */
static void scene_make (struct scene *scene, enum reduction reduction, uint32_t claimed, uint32_t reduced)
{
    *scene = (struct scene){ 0 };
    assert_true (deal_secrets (&sample_key, HOSTS, PER_HOST, scene->secrets));
    for (uint32_t device = 0; device < DEVICES; device++) {
        double sum = 0, total = 0, proof = 0;
        for (uint32_t other = 0; other < DEVICES; other++) {
            if (!mesh_reduced_together (&mesh, device, other, reduced))
                continue;
            sum += local (other) * weight (other);
            total += weight (other);
            proof += number (scene, other);
        }
        scene->shards[device] = (struct shard){ reduction == REDUCTION_MEAN ? sum / total : sum, proof, local (device),
                                                weight (device) };
    }
    for (uint32_t host = 0; host < HOSTS; host++) {
        struct metric *metric = &scene->metrics[host];
        *metric = (struct metric){ .name = TEXT_LIT ("loss"), .reduction = reduction, .global = true };
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
    struct reduction_input in = { &mesh, HOSTS, PER_HOST, scene->secrets, scene->pointers, scene->tolerance };
    reduce_judge_metric (&in, &scene->verdict, &told);
    return scene->verdict.proof;
}

TEST (an_honest_reduction_is_proved_over_every_set_of_axes)
{
    for (uint32_t set = DATA; set <= BOTH; set++)
        for (enum reduction reduction = REDUCTION_SUM; reduction <= REDUCTION_MEAN; reduction++) {
            struct scene scene;
            scene_make (&scene, reduction, set, set);
            assert_int_equal (scene_judge (&scene), PROOF_PROVED);
            assert_int_equal (scene.verdict.missing_n, 0);
        }
}

TEST (a_local_value_is_named)
{
    struct scene scene;
    scene_make (&scene, REDUCTION_SUM, BOTH, 0);
    assert_int_equal (scene_judge (&scene), PROOF_LOCAL);
}

TEST (a_sum_over_the_own_host_only_is_local)
{
    struct scene scene;
    scene_make (&scene, REDUCTION_SUM, BOTH, MODEL);
    assert_int_equal (scene_judge (&scene), PROOF_LOCAL);
}

TEST (a_reduction_over_another_axis_is_named)
{
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

TEST (every_single_host_left_out_is_named)
{
    for (uint32_t host = 0; host < HOSTS; host++) {
        struct scene scene;
        scene_make (&scene, REDUCTION_MEAN, BOTH, BOTH);
        leave_out (&scene, host);
        assert_int_equal (scene_judge (&scene), PROOF_PARTIAL);
        assert_int_equal (scene.verdict.missing_n, 1);
        assert_int_equal (scene.verdict.missing[0], host);
    }
}

TEST (two_hosts_left_out_are_named)
{
    struct scene scene;
    scene_make (&scene, REDUCTION_SUM, BOTH, BOTH);
    leave_out (&scene, 1);
    leave_out (&scene, 3);
    assert_int_equal (scene_judge (&scene), PROOF_PARTIAL);
    assert_int_equal (scene.verdict.missing_n, 2);
    assert_int_equal (scene.verdict.missing[0] + scene.verdict.missing[1], 4);
}

TEST (a_host_counted_twice_is_named)
{
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

TEST (the_mean_of_means_is_named)
{
    struct scene scene;
    scene_make (&scene, REDUCTION_MEAN, BOTH, BOTH);
    for (uint32_t device = 0; device < DEVICES; device++)
        scene.shards[device].value = 4.5; /* (1 + ... + 8) / 8; weighted it is 5 */
    assert_int_equal (scene_judge (&scene), PROOF_MEAN_OF_MEANS);
}

/* Each host averages rightly by its own weights, and then all hosts count alike. */
TEST (the_mean_of_the_hosts_means_is_named)
{
    struct scene scene;
    scene_make (&scene, REDUCTION_MEAN, BOTH, BOTH);
    for (uint32_t device = 0; device < DEVICES; device++) {
        scene.shards[device].weight = (device % 2 ? 3 : 1) * (device / PER_HOST % 2 ? 2 : 1);
        scene.shards[device].value = 4.75; /* of 1.75, 3.75, 5.75, 7.75; weighted it is 5.08, and of all devices 4.5 */
    }
    assert_int_equal (scene_judge (&scene), PROOF_MEAN_OF_MEANS);
}

TEST (a_value_that_is_no_reduction_disagrees)
{
    struct scene scene;
    scene_make (&scene, REDUCTION_SUM, BOTH, BOTH);
    scene.shards[5].value += 1;
    assert_int_equal (scene_judge (&scene), PROOF_DISAGREE);
}

/* The program holds one value for all devices of a host; its numbers went into a right reduction. */
static void claim (struct scene *scene, enum reduction reduction, const double values[HOSTS])
{
    scene_make (scene, reduction, BOTH, BOTH);
    for (uint32_t host = 0; host < HOSTS; host++) {
        scene->metrics[host].value = values[host];
        for (uint32_t i = 0; i < PER_HOST; i++)
            scene->shards[host * PER_HOST + i].value = values[host];
    }
}

TEST (a_claimed_value_is_named_for_what_it_is)
{
    struct scene scene;
    const double first[HOSTS] = { 1, 3, 5, 7 }, own_means[HOSTS] = { 1.5, 3.5, 5.5, 7.5 };
    const double own_sums[HOSTS] = { 3, 21, 11, 45 }, over_data[HOSTS] = { 36, 36, 36, 36 };
    const double twice[HOSTS] = { 160, 160, 160, 160 }, other[HOSTS] = { 80.5, 80.5, 80.5, 80.5 };
    claim (&scene, REDUCTION_MEAN, first);
    assert_int_equal (scene_judge (&scene), PROOF_LOCAL);
    claim (&scene, REDUCTION_MEAN, own_means);
    assert_int_equal (scene_judge (&scene), PROOF_LOCAL);
    claim (&scene, REDUCTION_SUM, own_sums);
    assert_int_equal (scene_judge (&scene), PROOF_LOCAL);
    claim (&scene, REDUCTION_SUM, over_data);
    assert_int_equal (scene_judge (&scene), PROOF_WRONG_AXIS);
    claim (&scene, REDUCTION_SUM, twice);
    assert_int_equal (scene_judge (&scene), PROOF_DOUBLE_COUNTED);
    claim (&scene, REDUCTION_SUM, other);
    assert_int_equal (scene_judge (&scene), PROOF_DISAGREE);
}

TEST (a_value_beside_its_proved_shards_disagrees)
{
    struct scene scene;
    scene_make (&scene, REDUCTION_SUM, BOTH, BOTH);
    scene.metrics[2].value = 999;
    assert_int_equal (scene_judge (&scene), PROOF_DISAGREE);
}

TEST (small_values_are_not_lost_in_the_tolerance)
{
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

TEST (what_cannot_be_read_is_unproved)
{
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

    struct text twice[2] = { axis_names[0], axis_names[0] };
    scene_make (&scene, REDUCTION_SUM, BOTH, DATA);
    for (uint32_t host = 0; host < HOSTS; host++)
        scene.metrics[host].axes.items = twice;
    assert_int_equal (scene_judge (&scene), PROOF_UNPROVED);
    assert_string_equal (scene.verdict.why, "the metric names axis 'data' twice");

    scene_make (&scene, REDUCTION_SUM, BOTH, BOTH);
    scene.shards[0].proof = NAN;
    scene.shards[1].proof = 12345;
    assert_int_equal (scene_judge (&scene), PROOF_UNPROVED);
}

/* ---- who is at fault ---- */

/* Host `host` reports what its devices had before the collective. */
static void report_local (struct scene *scene, uint32_t host)
{
    for (uint32_t device = host * PER_HOST; device < (host + 1) * PER_HOST; device++) {
        scene->shards[device].value = local (device);
        scene->shards[device].proof = number (scene, device);
    }
    scene->metrics[host].value = scene->shards[host * PER_HOST].value;
}

/* `hosts` as bits; all of them reported `proof`. */
static void blames (struct scene *scene, uint32_t hosts, enum proof proof)
{
    uint32_t named = 0;
    scene_judge (scene);
    for (uint32_t i = 0; i < scene->verdict.culprits_n; i++) {
        named |= 1u << scene->verdict.culprits[i].host;
        assert_int_equal (scene->verdict.culprits[i].proof, proof);
        assert_true (strlen (scene->verdict.culprits[i].why) > 0);
    }
    assert_int_equal (named, hosts);
}

TEST (who_alone_reports_a_local_value_is_named_alone)
{
    for (uint32_t host = 0; host < HOSTS; host++) {
        struct scene scene;
        scene_make (&scene, REDUCTION_SUM, BOTH, BOTH);
        double right = scene.metrics[0].value;
        report_local (&scene, host);
        blames (&scene, 1u << host, PROOF_LOCAL);
        assert_int_equal (scene.verdict.proof, PROOF_LOCAL);
        assert_true (scene.verdict.value == right); /* also when it is the first host that lies */
    }
}

TEST (several_liars_are_all_named)
{
    struct scene scene;
    for (uint32_t liars = 1; liars < (1u << HOSTS) - 1; liars++) {
        scene_make (&scene, REDUCTION_MEAN, BOTH, BOTH);
        for (uint32_t host = 0; host < HOSTS; host++)
            if (liars & 1u << host)
                report_local (&scene, host);
        blames (&scene, liars, PROOF_LOCAL);
    }
}

TEST (each_liar_has_the_word_for_its_own_lie)
{
    struct scene scene, other;
    scene_make (&scene, REDUCTION_SUM, BOTH, BOTH);
    scene_make (&other, REDUCTION_SUM, BOTH, DATA);
    report_local (&scene, 0);
    for (uint32_t device = 2 * PER_HOST; device < 3 * PER_HOST; device++)
        scene.shards[device] = other.shards[device];
    scene.metrics[2].value = scene.shards[2 * PER_HOST].value;
    scene_judge (&scene);
    assert_int_equal (scene.verdict.culprits_n, 2);
    assert_int_equal (scene.verdict.culprits[0].proof, PROOF_LOCAL);
    assert_int_equal (scene.verdict.culprits[1].host, 2);
    assert_int_equal (scene.verdict.culprits[1].proof, PROOF_WRONG_AXIS);
}

/* Not in the collective at all: the sums of the others lack just them. */
TEST (who_took_no_part_is_named_and_not_those_who_missed_it)
{
    for (uint32_t absent = 1; absent < (1u << HOSTS) - 1; absent++) {
        struct scene scene;
        uint32_t here = 0;
        scene_make (&scene, REDUCTION_SUM, BOTH, BOTH);
        for (uint32_t host = 0; host < HOSTS; host++) {
            if (absent & 1u << host)
                leave_out (&scene, host);
            else
                here++;
        }
        for (uint32_t host = 0; host < HOSTS; host++)
            if (absent & 1u << host)
                report_local (&scene, host);
        if (here > 1) {
            blames (&scene, absent, PROOF_LOCAL);
            assert_int_equal (scene.verdict.proof, PROOF_LOCAL);
            assert_int_equal (scene.verdict.missing_n, HOSTS - here);
        } else {
            blames (&scene, 0, PROOF_LOCAL); /* each has its own only */
        }
    }
}

TEST (what_is_wrong_in_the_same_way_everywhere_blames_nobody)
{
    struct scene scene;
    scene_make (&scene, REDUCTION_SUM, BOTH, 0);
    blames (&scene, 0, PROOF_LOCAL);
    scene_make (&scene, REDUCTION_SUM, BOTH, DATA);
    blames (&scene, 0, PROOF_WRONG_AXIS);
    report_local (&scene, 1); /* one lies in another way: the others are wrong besides */
    blames (&scene, 0, PROOF_WRONG_AXIS);
    scene_make (&scene, REDUCTION_MEAN, BOTH, BOTH);
    leave_out (&scene, 3);
    blames (&scene, 0, PROOF_PARTIAL); /* zeros of host 3, or a group without it? */
    assert_int_equal (scene.verdict.missing[0], 3);
    scene_make (&scene, REDUCTION_SUM, BOTH, BOTH);
    scene.shards[3].local += 100; /* it says that it put in something else */
    blames (&scene, 0, PROOF_DISAGREE);
    assert_int_equal (scene.verdict.proof, PROOF_DISAGREE);
}

TEST (who_alone_reports_another_value_is_named)
{
    struct scene scene;
    scene_make (&scene, REDUCTION_SUM, BOTH, BOTH);
    scene.shards[5].value += 1;
    blames (&scene, 1u << 2, PROOF_DISAGREE);
    scene_make (&scene, REDUCTION_SUM, BOTH, BOTH);
    scene.metrics[1].value = 999; /* beside its own shards */
    blames (&scene, 1u << 1, PROOF_DISAGREE);
    scene_make (&scene, REDUCTION_MEAN, BOTH, BOTH);
    scene.shards[0].value = scene.shards[1].value = 4.5;
    scene.metrics[0].value = 4.5;
    blames (&scene, 1u << 0, PROOF_MEAN_OF_MEANS);
}

TEST (who_lacks_it_or_has_it_in_another_form_is_named)
{
    struct scene scene;
    scene_make (&scene, REDUCTION_SUM, BOTH, BOTH);
    scene.pointers[0] = scene.pointers[2] = NULL;
    blames (&scene, 1u << 0 | 1u << 2, PROOF_UNPROVED);
    assert_int_equal (scene.verdict.missing_n, 2);
    assert_true (scene.verdict.value == scene.metrics[1].value);
    scene_make (&scene, REDUCTION_SUM, BOTH, BOTH);
    scene.metrics[3].global = false;
    blames (&scene, 1u << 3, PROOF_UNPROVED);
    scene_make (&scene, REDUCTION_SUM, BOTH, BOTH);
    scene.metrics[1].shards.n = 1;
    blames (&scene, 1u << 1, PROOF_UNPROVED);
    scene_make (&scene, REDUCTION_SUM, BOTH, BOTH);
    scene.metrics[1].reduction = REDUCTION_MEAN; /* nobody knows whose claim is the right one */
    blames (&scene, 0, PROOF_UNPROVED);
    assert_true (strlen (scene.verdict.why) > 0);
}

/* ---- two reductions at once: each group of devices that meet is judged by itself ---- */

enum { ROWS = 3, SIX = 6 };

/* Six hosts of one device, mesh data: 3, model: 2, summed over data: hosts 0, 2, 4 and hosts 1, 3, 5. The hosts
 * `absent`, as bits, kept their own and took no part. */
static void six_make (struct shard shards[SIX], struct metric metrics[SIX], const uint64_t secrets[SIX],
                      uint32_t absent)
{
    for (uint32_t host = 0; host < SIX; host++) {
        double sum = 0, proof = 0;
        for (uint32_t other = host % 2; other < SIX; other += 2)
            if (other == host || !((absent >> other | absent >> host) & 1)) {
                sum += local (other);
                proof += (double) secrets[other];
            }
        shards[host] = (struct shard){ sum, proof, local (host), 1 };
        metrics[host] = (struct metric){ .name = TEXT_LIT ("loss"), .reduction = REDUCTION_SUM, .global = true };
        metrics[host].value = sum;
        metrics[host].axes.items = axis_names;
        metrics[host].shards.items = &shards[host];
        metrics[host].axes.n = metrics[host].shards.n = 1;
    }
}

static void six_blames (uint32_t absent, uint32_t hosts)
{
    static struct reduction_verdict verdict;
    struct axis sizes[2] = { { TEXT_LIT ("data"), ROWS }, { TEXT_LIT ("model"), SIX / ROWS } };
    const struct mesh rows = { sizes, 2 };
    struct shard shards[SIX];
    struct metric metrics[SIX];
    const struct metric *pointers[SIX];
    uint64_t secrets[SIX];
    uint32_t named = 0, missing = 0;
    assert_true (deal_secrets (&sample_key, SIX, 1, secrets));
    six_make (shards, metrics, secrets, absent);
    for (uint32_t host = 0; host < SIX; host++)
        pointers[host] = &metrics[host];
    struct reduction_input in = { &rows, SIX, 1, secrets, pointers, 0 };
    reduce_judge_metric (&in, &verdict, &told);
    for (uint32_t i = 0; i < verdict.culprits_n; i++) {
        named |= 1u << verdict.culprits[i].host;
        assert_int_equal (verdict.culprits[i].proof, PROOF_LOCAL);
    }
    for (uint32_t i = 0; i < verdict.missing_n; i++)
        missing |= 1u << verdict.missing[i];
    assert_int_equal (named, hosts);
    assert_int_equal (missing, hosts);
    assert_int_equal (verdict.proof, PROOF_LOCAL);
}

TEST (who_took_no_part_in_one_of_two_groups_is_named_alone)
{
    for (uint32_t host = 0; host < SIX; host++)
        six_blames (1u << host, 1u << host); /* the other group is right */
    for (uint32_t even = 0; even < SIX; even += 2)
        for (uint32_t odd = 1; odd < SIX; odd += 2)
            six_blames (1u << even | 1u << odd, 1u << even | 1u << odd); /* neither is */
}

/* Every host is in both groups: what it did in the one that is right does not excuse it in the other. */
TEST (who_took_no_part_with_one_of_its_devices_is_named_alone)
{
    for (uint32_t host = 0; host < HOSTS; host++)
        for (uint32_t second = 0; second < PER_HOST; second++) {
            struct scene scene;
            uint32_t absent = host * PER_HOST + second;
            scene_make (&scene, REDUCTION_SUM, DATA, DATA);
            for (uint32_t device = second; device < DEVICES; device += PER_HOST)
                scene.shards[device].proof -= number (&scene, absent);
            scene.shards[absent].proof = number (&scene, absent);
            blames (&scene, 1u << host, PROOF_LOCAL);
        }
}

/* Nothing in it tells who: the hosts of the group that is right are right all the same. */
TEST (a_group_that_is_wrong_throughout_is_named_beside_one_that_is_right)
{
    struct scene scene;
    scene_make (&scene, REDUCTION_SUM, MODEL, MODEL); /* a group a host */
    scene.shards[2].proof = scene.shards[3].proof = 1;
    blames (&scene, 1u << 1, PROOF_UNPROVED);
    assert_true (scene.verdict.value == scene.metrics[0].value);
}

TEST (many_hosts_and_many_liars_are_told_apart)
{
    enum { MANY = 512, LIAR = 7 };
    struct axis data = { TEXT_LIT ("data"), MANY };
    const struct mesh line = { &data, 1 };
    struct text axis = TEXT_LIT ("data");
    static struct shard shards[MANY];
    static struct metric metrics[MANY];
    static const struct metric *pointers[MANY];
    static struct reduction_verdict verdict;
    uint64_t secrets[MANY];
    double proof = 0;
    assert_true (deal_secrets (&sample_key, MANY, 1, secrets));
    for (uint32_t host = 0; host < MANY; host++)
        proof += (double) secrets[host];
    for (uint32_t host = 0; host < MANY; host++) {
        bool lies = host % LIAR == 3;
        shards[host] = (struct shard){ lies ? 1 : MANY, lies ? (double) secrets[host] : proof, 1, 1 };
        metrics[host] = (struct metric){
            .name = TEXT_LIT ("loss"), .reduction = REDUCTION_SUM, .global = true, .value = shards[host].value
        };
        metrics[host].axes.items = &axis;
        metrics[host].shards.items = &shards[host];
        metrics[host].axes.n = metrics[host].shards.n = 1;
        pointers[host] = &metrics[host];
    }
    struct reduction_input in = { &line, MANY, 1, secrets, pointers, 0 };
    reduce_judge_metric (&in, &verdict, &told);
    assert_int_equal (verdict.culprits_n, (MANY - 4) / LIAR + 1);
    for (uint32_t i = 0; i < verdict.culprits_n; i++)
        assert_true (verdict.culprits[i].host == 3 + i * LIAR && verdict.culprits[i].proof == PROOF_LOCAL);
}

/* ---- what numbers are worth ---- */

enum { CHEAT = 1, OTHER = 2 };

/* Of one host; its sum stays what it is. */
static void name_locals_that_cancel (struct scene *scene, uint32_t host, double by)
{
    for (uint32_t i = 0; i < PER_HOST; i++)
        scene->shards[host * PER_HOST + i].local += (i % 2 ? by : -by) / weight (host * PER_HOST + i);
}

static void add_to_values (struct scene *scene, uint32_t host, double by)
{
    for (uint32_t i = 0; i < PER_HOST; i++)
        scene->shards[host * PER_HOST + i].value += by;
    scene->metrics[host].value = scene->shards[host * PER_HOST].value;
}

TEST (locals_that_cancel_widen_nothing)
{
    for (enum reduction reduction = REDUCTION_SUM; reduction <= REDUCTION_MEAN; reduction++) {
        struct scene scene;
        scene_make (&scene, reduction, BOTH, BOTH);
        name_locals_that_cancel (&scene, CHEAT, 1e9);
        assert_int_equal (scene_judge (&scene), PROOF_PROVED); /* whatever came out of it is right */
        add_to_values (&scene, CHEAT, 1000);
        blames (&scene, 1u << CHEAT, PROOF_DISAGREE);
        scene_make (&scene, reduction, BOTH, BOTH);
        name_locals_that_cancel (&scene, CHEAT, 1e9);
        add_to_values (&scene, OTHER, 0.77); /* the local value of none of its devices */
        blames (&scene, 1u << OTHER, PROOF_DISAGREE);
    }
}

TEST (a_number_beyond_float32_is_the_fault_of_who_names_it)
{
    static const double beyond[] = { 1.7e308, -1.7e308, 3.5e38, INFINITY, NAN };
    for (size_t i = 0; i < sizeof (beyond) / sizeof (beyond[0]); i++)
        for (uint32_t field = 0; field < 4; field++) {
            struct scene scene;
            scene_make (&scene, REDUCTION_MEAN, BOTH, BOTH);
            struct shard *shard = &scene.shards[CHEAT * PER_HOST + 1];
            double *numbers[] = { &shard->value, &shard->local, &shard->weight, &shard->local };
            *numbers[field] = beyond[i];
            if (field == 3) /* each is small enough, and what the device put in is not */
                shard->local = shard->weight = 1e20;
            add_to_values (&scene, OTHER, 1);
            blames (&scene, 1u << CHEAT, PROOF_UNPROVED);
            assert_int_equal (scene.verdict.proof, PROOF_UNPROVED);
            assert_has (scene.verdict.why, "float32");
        }
}

TEST (the_same_huge_number_everywhere_is_not_proved)
{
    struct scene scene;
    scene_make (&scene, REDUCTION_MEAN, BOTH, BOTH);
    for (uint32_t device = 0; device < DEVICES; device++)
        scene.shards[device].value = scene.shards[device].local = 1.7e308;
    blames (&scene, (1u << HOSTS) - 1, PROOF_UNPROVED);
}

/* A mean over weights that come to nothing fits no value. */
TEST (weights_that_cancel_prove_no_mean)
{
    struct scene scene;
    scene_make (&scene, REDUCTION_MEAN, BOTH, BOTH);
    for (uint32_t device = 0; device < DEVICES; device++)
        scene.shards[device].weight = device < 2 ? 1 - 2.0 * device : 0;
    assert_int_equal (scene_judge (&scene), PROOF_DISAGREE);
    assert_string_equal (scene.verdict.why, "the weights of the devices add up to 0, so they have no mean");
    scene.shards[2].weight = 5e-324;
    assert_int_equal (scene_judge (&scene), PROOF_DISAGREE);
}

/* All saw the same, and more was added up and taken away than float32 keeps. */
TEST (what_rounding_cannot_tell_is_not_proved_and_named)
{
    struct scene scene;
    scene_make (&scene, REDUCTION_SUM, BOTH, BOTH);
    for (uint32_t device = 0; device < DEVICES; device++)
        scene.shards[device].local += (device % 2 ? 1e8 : -1e8) / weight (device);
    for (uint32_t host = 0; host < HOSTS; host++)
        add_to_values (&scene, host, 8);
    blames (&scene, 0, PROOF_DISAGREE);
    assert_int_equal (scene.verdict.proof, PROOF_DISAGREE);
    assert_has (scene.verdict.why, "rounding cannot tell");
    for (uint32_t host = 0; host < HOSTS; host++)
        add_to_values (&scene, host, 1e5); /* and this no rounding explains */
    blames (&scene, 0, PROOF_DISAGREE);
    assert_has_not (scene.verdict.why, "rounding cannot tell");
    scene_make (&scene, REDUCTION_SUM, DATA, DATA);
    for (uint32_t host = 0; host < HOSTS; host++) { /* of two reductions the second */
        scene.shards[host * PER_HOST + 1].local += (host / 2 ? 1e8 : -1e8) / weight (host * PER_HOST);
        scene.shards[host * PER_HOST + 1].value += 8;
    }
    blames (&scene, (1u << HOSTS) - 1, PROOF_DISAGREE);
    assert_has (scene.verdict.culprits[0].why, "rounding cannot tell");
    assert_has (scene.verdict.why, "rounding cannot tell");
}

/* To the nearest number of `bits` binary digits. */
static float rounded (double number, int bits)
{
    int exponent;
    double digits = frexp (number, &exponent);
    return (float) ldexp (nearbyint (ldexp (digits, bits)), exponent - bits);
}

static const int bits_of[] = {
    [DTYPE_NONE] = 24,
    [DTYPE_FLOAT32] = 24,
    [DTYPE_BFLOAT16] = 8,
    [DTYPE_FLOAT16] = 11,
    [DTYPE_FLOAT64] = 24 /* as far as float goes */
};

/* Each host has one device; they are added up one after the other, in their dtype, as the worst of collectives does. */
static void judge_sum (enum dtype dtype, uint32_t hosts, enum reduction reduction, struct rng *rng, double least,
                       struct reduction_verdict *verdict)
{
    struct axis data = { TEXT_LIT ("data"), hosts };
    const struct mesh line = { &data, 1 };
    struct arena arena = { 0 };
    struct text axis = TEXT_LIT ("data");
    struct shard *shards = arena_array (&arena, hosts, sizeof (*shards));
    struct metric *metrics = arena_array (&arena, hosts, sizeof (*metrics));
    const struct metric **pointers = arena_array (&arena, hosts, sizeof (*pointers));
    uint64_t *secrets = arena_array (&arena, hosts, sizeof (*secrets));
    float total = 0, weights = 0, proof = 0;
    int bits = bits_of[dtype];
    float all = rounded (1 + rng_unit (rng), bits); /* alike, rounding goes the same way again and again */
    assert_true (deal_secrets (&sample_key, hosts, 1, secrets));
    for (uint32_t host = 0; host < hosts; host++) {
        float own = least < 1 ? rounded (least + (1 - least) * rng_unit (rng), bits) : all;
        float share = reduction == REDUCTION_MEAN ? rounded (1 + rng_below (rng, 4096), bits) : 1;
        shards[host] = (struct shard){ .local = own, .weight = share };
        total = rounded (total + rounded (own * share, bits), bits);
        weights = rounded (weights + share, bits);
        proof += (float) secrets[host];
    }
    for (uint32_t host = 0; host < hosts; host++) {
        shards[host].value = reduction == REDUCTION_MEAN ? rounded ((double) total / weights, bits) : total;
        shards[host].proof = proof;
        metrics[host] = (struct metric){ .name = TEXT_LIT ("loss"), .reduction = reduction, .global = true };
        metrics[host].dtype = dtype;
        metrics[host].value = shards[host].value;
        metrics[host].axes.items = &axis;
        metrics[host].shards.items = &shards[host];
        metrics[host].axes.n = metrics[host].shards.n = 1;
        pointers[host] = &metrics[host];
    }
    struct reduction_input in = { &line, hosts, 1, secrets, pointers, 0 };
    reduce_judge_metric (&in, verdict, &told);
    arena_release (&arena);
}

TEST (honest_float32_sums_of_any_number_of_devices_are_proved)
{
    static const uint32_t sizes[] = { 1, 2, 8, 64, 512, 2048, 4096 };
    static const double leasts[] = { 1, 0.5, 1e-3, -0.25 }; /* all alike; near; far apart; some below zero */
    static struct reduction_verdict verdict;
    struct rng rng = rng_seed (11);
    for (size_t n = 0; n < sizeof (sizes) / sizeof (sizes[0]); n++)
        for (size_t kind = 0; kind < sizeof (leasts) / sizeof (leasts[0]); kind++)
            for (uint32_t round = 0; round < 40; round++) {
                judge_sum (DTYPE_FLOAT32, sizes[n], round % 2 ? REDUCTION_MEAN : REDUCTION_SUM, &rng, leasts[kind],
                           &verdict);
                if (verdict.proof != PROOF_PROVED)
                    fail_msg ("%u devices from %g: %s", sizes[n], leasts[kind], verdict.why);
            }
}

/* As many devices as the worst of collectives may have before the bound of a dtype's tolerance. */
TEST (honest_sums_of_short_dtypes_are_proved)
{
    static const uint32_t sizes[] = { [DTYPE_BFLOAT16] = 8, [DTYPE_FLOAT16] = 64, [DTYPE_FLOAT64] = 512 };
    static const double leasts[] = { 1, 0.5, 1e-3 };
    static struct reduction_verdict verdict;
    struct rng rng = rng_seed (12);
    for (enum dtype dtype = DTYPE_BFLOAT16; dtype <= DTYPE_FLOAT64; dtype++)
        for (uint32_t n = 1; n <= sizes[dtype]; n *= 2)
            for (uint32_t round = 0; round < 120; round++) {
                judge_sum (dtype, n, round % 2 ? REDUCTION_MEAN : REDUCTION_SUM, &rng, leasts[round % 3], &verdict);
                if (verdict.proof != PROOF_PROVED)
                    fail_msg ("%u devices from %g: %s", n, leasts[round % 3], verdict.why);
            }
}

/* A scene of bfloat16: each host's devices hold `values[host]`, and had it before the collective as well. */
static void scene_make_bfloat16 (struct scene *scene, const double *values)
{
    scene_make (scene, REDUCTION_MEAN, BOTH, BOTH);
    for (uint32_t device = 0; device < DEVICES; device++) {
        scene->shards[device].local = scene->shards[device].value = values[device / PER_HOST];
        scene->shards[device].weight = 1;
    }
    for (uint32_t host = 0; host < HOSTS; host++) {
        scene->metrics[host].dtype = DTYPE_BFLOAT16;
        scene->metrics[host].value = values[host];
    }
}

static void claim_everywhere (struct scene *scene, double value)
{
    for (uint32_t device = 0; device < DEVICES; device++)
        scene->shards[device].value = value;
    for (uint32_t host = 0; host < HOSTS; host++)
        scene->metrics[host].value = value;
}

/* Neighbours in bfloat16: all of them lie within its tolerance of the mean. */
static const double neighbours[HOSTS] = { 1, 1.0078125, 1.015625, 1.0234375 };

TEST (a_local_value_of_a_short_dtype_fails_however_near_it_is)
{
    struct scene scene;
    scene_make_bfloat16 (&scene, neighbours);
    blames (&scene, 0, PROOF_LOCAL);
    assert_int_equal (scene.verdict.proof, PROOF_LOCAL);
    assert_string_equal (scene.verdict.why, "a device's result holds only its own contribution");
    scene_make_bfloat16 (&scene, neighbours);
    claim_everywhere (&scene, 1.0078125); /* rounded once */
    assert_int_equal (scene_judge (&scene), PROOF_PROVED);
    for (uint32_t device = 3 * PER_HOST; device < DEVICES; device++) /* but for h3, which holds its own */
        scene.shards[device].value = neighbours[3];
    scene.metrics[3].value = neighbours[3];
    blames (&scene, 1u << 3, PROOF_LOCAL);
}

TEST (devices_that_meet_hold_one_value)
{
    struct scene scene;
    scene_make_bfloat16 (&scene, (double[HOSTS]){ 1, 1, 1.125, 1.125 });
    for (uint32_t device = 0; device < DEVICES; device++)
        scene.shards[device].value = device < DEVICES / 2 ? 1.0546875 : 1.0703125;
    for (uint32_t host = 0; host < HOSTS; host++)
        scene.metrics[host].value = scene.shards[host * PER_HOST].value;
    assert_int_equal (scene_judge (&scene), PROOF_DISAGREE);
    assert_has (scene.verdict.why, "devices of one reduction report different values");
}

/* Two of four hosts: more than half of those that are near. */
TEST (who_is_far_off_has_no_vote_on_the_common_value)
{
    struct scene scene;
    scene_make_bfloat16 (&scene, neighbours);
    claim_everywhere (&scene, 1.0078125); /* rounded once */
    for (uint32_t device = 2 * PER_HOST; device < DEVICES; device++)
        scene.shards[device].value = 1.25;
    scene.metrics[2].value = scene.metrics[3].value = 1.25;
    blames (&scene, 1u << 2 | 1u << 3, PROOF_DISAGREE);
}

TEST (a_tolerance_has_a_bound_and_the_rung_may_set_another)
{
    struct scene scene;
    scene_make_bfloat16 (&scene, neighbours);
    claim_everywhere (&scene, 1.125);
    assert_int_equal (scene_judge (&scene), PROOF_DISAGREE); /* 8 devices of bfloat16 come to the bound, 1/16 */
    assert_string_equal (scene.verdict.why, "the reported value is not the reduction of what the devices contributed: "
                                            "reported 1.125, expected 1.01171875, off by 0.11, allowed 0.063 "
                                            "(bfloat16, 8 devices)");
    assert_true (scene.verdict.tolerance == REDUCE_TOLERANCE_MOST);
    scene.tolerance = 0.2;
    assert_int_equal (scene_judge (&scene), PROOF_PROVED);
    assert_string_equal (scene.verdict.tolerance_of, "rung, 8 devices");
    scene.tolerance = 1e-4; /* a narrower one too */
    claim_everywhere (&scene, 1.015625);
    assert_int_equal (scene_judge (&scene), PROOF_DISAGREE);
    scene.metrics[1].dtype = DTYPE_FLOAT16; /* no host has a wider one for itself */
    assert_int_equal (scene_judge (&scene), PROOF_UNPROVED);
    static struct reduction_verdict many;
    struct rng rng = rng_seed (13);
    judge_sum (DTYPE_BFLOAT16, 4096, REDUCTION_SUM, &rng, 1, &many); /* stagnates at 256 times its first part */
    assert_int_equal (many.proof, PROOF_DISAGREE);
    assert_true (many.tolerance == REDUCE_TOLERANCE_MOST);
}

/* ---- what was said before ---- */

TEST (earlier_values_are_held_against_the_sums_that_are_right)
{
    struct scene scene;
    scene_make (&scene, REDUCTION_SUM, BOTH, BOTH);
    for (uint32_t host = 0; host < HOSTS; host++)
        scene.metrics[host].earlier = (struct metric_history){ .count = 10, .alike = 10 - host };
    assert_int_equal (scene_judge (&scene), PROOF_PROVED); /* they are told, and fail nobody */
    for (uint32_t host = 0; host < HOSTS; host++)
        assert_int_equal (scene.verdict.contradicted[host], host);
    report_local (&scene, 1);
    assert_int_equal (scene_judge (&scene), PROOF_LOCAL);
    assert_int_equal (scene.verdict.contradicted[1], 9); /* those that were as wrong as the last one, at least */
    assert_int_equal (scene.verdict.contradicted[3], 3);
    scene.metrics[0].earlier = (struct metric_history){ .count = 1, .alike = 99 }; /* a worker lies */
    scene_judge (&scene);
    assert_int_equal (scene.verdict.contradicted[0], 0);
    scene.metrics[0].earlier = (struct metric_history){ .count = INT64_MAX };
    scene_judge (&scene);
    assert_int_equal (scene.verdict.contradicted[0], UINT32_MAX);
}

TEST (last_values_of_different_steps_are_told_by_their_number)
{
    struct scene scene;
    scene_make (&scene, REDUCTION_SUM, BOTH, BOTH);
    scene.metrics[2].earlier = (struct metric_history){ .count = 8, .alike = 8 };
    assert_int_equal (scene_judge (&scene), PROOF_PROVED); /* said more often, and yet at last the same */
    for (uint32_t device = 2 * PER_HOST; device < 3 * PER_HOST; device++)
        scene.shards[device].local += 1;
    assert_int_equal (scene_judge (&scene), PROOF_DISAGREE);
    assert_has (scene.verdict.why, "the hosts reported it 1 to 9 times");
}

TEST (dealt_numbers_are_distinct_and_exact_in_float32)
{
    static const struct {
        uint32_t hosts, per_host;
    } cases[] = { { 1, 1 }, { 4, 2 }, { 64, 4 }, { 256, 8 }, { 1000, 4 }, { 1024, 4 }, { 64, 64 } };
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        uint64_t secrets[1024];
        assert_true (deal_secrets (&(struct digest){ { (uint8_t) i } }, cases[i].hosts, cases[i].per_host, secrets));
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
    assert_false (deal_secrets (&sample_key, 2, 1 << 23, none));
}

/* Nothing that one host is told is of use for what another one is told, or the same one in another pass: each draws
 * from an HMAC of its own, under a key that no message has. */
TEST (nothing_is_dealt_to_hosts_without_devices_or_with_too_many)
{
    uint64_t secrets[2];
    const struct digest key = { { 1 } };
    assert_true (deal_secrets (&key, 2, 4, secrets));
    assert_false (deal_secrets (&key, 2, 0, secrets));
    assert_false (deal_secrets (&key, 2, 1 << 23, secrets));
}

TEST (what_is_dealt_is_drawn_for_each_host_and_pass_alone)
{
    static const struct attempt_key passes[] = {
        { 0, PASS_ONCE, 1 }, { 1, PASS_ONCE, 1 }, { 0, PASS_RESTORED, 1 }, { 0, PASS_ONCE, 2 }
    };
    struct digest keys[5] = { { { 1 } } };
    char nonces[5 * HOSTS][33];
    for (uint32_t i = 0; i < 5; i++) {
        keys[i] = deal_pass_key (&(struct digest){ { i < 4 } }, &passes[i % 4]);
        for (uint32_t host = 0; host < HOSTS; host++)
            deal_host_nonce (&keys[i], host, nonces[i * HOSTS + host]);
    }
    for (uint32_t i = 0; i < 5 * HOSTS; i++) {
        assert_int_equal (strlen (nonces[i]), 32);
        for (uint32_t k = 0; k < i; k++)
            assert_string_not_equal (nonces[i], nonces[k]);
    }
}

/* Computed with Python's hmac and hashlib: a coordinator that resumes a run deals what the one before it had dealt. */
TEST (what_is_dealt_follows_from_the_key_of_its_run)
{
    char nonce[33];
    uint64_t secrets[4];
    struct digest key = deal_pass_key (&(struct digest){ { 7 } }, &(struct attempt_key){ 3, PASS_RESTORED, 2 });
    deal_host_nonce (&key, 1, nonce);
    assert_string_equal (nonce, "6d94a1b529714d086b0df4783fcf508a");
    assert_true (deal_secrets (&key, 4, 2, secrets));
    assert_true (secrets[0] == 76572 && secrets[1] == 116948 && secrets[2] == 125206 && secrets[3] == 32654);
}

static int told_is_released (void **state)
{
    (void) state;
    arena_release (&told);
    return 0;
}

TEST_GROUP (NULL, told_is_released)
