/* links: conf frontend model base */
#include "conf_share.h"
#include "test.h"

#include "common/base/digest.h"
#include "common/conf/draft.h"
#include "common/conf/nearest_word.h"

TEST_FIXTURE (struct share, TEST_NOTHING, share_close)

TEST_ON (share, valid_files_become_the_whole_plan)
{
    share_open (share);
    if (share_load (share) != 0)
        dump (share);
    assert_int_equal (share->result, 0);
    const struct plan *plan = &share->plan;
    assert_text (plan->slice, "s");
    assert_int_equal (plan->launcher, LAUNCHER_LOCAL);
    assert_int_equal (plan->hosts.n, 2);
    assert_text (plan->hosts.items[1].name, "h1");
    assert_text (plan->hosts.items[1].address, "127.0.0.1");
    assert_int_equal (plan->mesh.n, 1);
    assert_text (plan->mesh.items[0].axis, "host");
    assert_int_equal (plan->mesh.items[0].size, 4);
    assert_text (plan->home, "/h");
    assert_text (plan->source.path, share->slice);
    assert_int_equal (plan->cache.mode, CACHE_SINGLE_WRITER);
    assert_text (plan->cache.writer, "h0");
    assert_text (plan->cache.root, "/h/cache");
}

TEST_ON (share, profile_and_limits_follow_the_files_and_defaults)
{
    share_open (share);
    assert_int_equal (share_load (share), 0);
    const struct profile *profile = &share->plan.profile;
    assert_true (text_is (profile->name, "p") && text_is (profile->frontend, "jax") &&
                 text_is (profile->backend, "cpu"));
    assert_int_equal (profile->devices_per_host, 2);
    assert_int_equal (profile->env.n, 2);
    assert_true (text_is (profile->env.items[0].name, "A") && text_is (profile->env.items[0].value, "1"));
    const struct limits *limits = &share->plan.limits;
    assert_int_equal (limits->join_ms, 30000);
    assert_int_equal (limits->suspect_ms, 5000);
    assert_int_equal (limits->lost_ms, 30000);
    assert_int_equal (limits->orphan_ms, 120000);
    assert_int_equal (limits->exit_ms, 1800000);
    assert_int_equal (limits->cascade_ms, 5000);
    assert_int_equal (limits->stop_ms, 10000);
    assert_int_equal (limits->log_bytes, 4 << 20);
    assert_int_equal (limits->lease_ms, 15000);
    assert_int_equal (share->plan.signatures.n, 2);
    assert_text (share->plan.signatures.items[0].id, "a");
    const struct signature *first = &share->plan.signatures.items[0];
    assert_int_equal (first->owner, OWNER_DEVICE);
    assert_true (first->noise && first->memory && !first->peer && !first->transient);
    assert_int_equal (first->also.n, 2);
    assert_true (text_is (first->also.items[0], "one") && text_is (first->also.items[1], "two"));
    assert_int_equal (first->unless.n, 1);
    assert_text (first->unless.items[0], "three");
    assert_int_equal (share->plan.signatures.items[1].also.n + share->plan.signatures.items[1].unless.n, 0);
    assert_true (share->plan.signatures.items[1].peer && share->plan.signatures.items[1].transient);
}

TEST_ON (share, rungs_follow_the_ladder)
{
    share_open (share);
    assert_int_equal (share_load (share), 0);
    assert_int_equal (share->plan.rungs.n, 5);
    const struct rung *rung = share->plan.rungs.items;
    assert_int_equal (rung[0].kind, PROGRAM_BUILTIN);
    assert_true (text_is (rung[0].builtin, "facts") && !rung[0].needs_env && rung[0].backend.len == 0);
    assert_int_equal (rung[0].timeout_ms, 60000);
    assert_true (rung[1].kind == PROGRAM_BUILTIN && text_is (rung[1].id, "cache")); /* test_conf_cache.c */
    assert_int_equal (rung[2].kind, PROGRAM_CANARY);
    assert_int_equal (rung[2].warm, WARM_SOLO);
    assert_int_equal (rung[2].scope, SCOPE_HOST);
    assert_int_equal (rung[2].timeout_ms, 90000);
    assert_true (rung[2].needs_env && text_is (rung[2].backend, "cpu"));
    assert_string_equal (rung[2].program.path.ptr, place (share, "worker/canaries/jax/tiny.py"));
    assert_int_equal (rung[3].scope, SCOPE_SLICE);
    assert_int_equal (rung[3].warm, WARM_GANG);
    assert_true (rung[3].metrics.n == 1 && text_is (rung[3].metrics.items[0], "loss"));
    assert_string_equal (rung[3].program.path.ptr, place (share, "configs/ladders/own.py"));
    assert_int_equal (rung[4].kind, PROGRAM_COMMAND);
    assert_true (rung[4].argv.n == 2 && text_is (rung[4].argv.items[1], "-x") && !rung[4].needs_env);
}

static const char *arg_of (const struct rung *rung, const char *name)
{
    for (uint32_t i = 0; i < rung->args.n; i++)
        if (text_is (rung->args.items[i].name, name))
            return rung->args.items[i].value.ptr;
    return "(absent)";
}

TEST_ON (share, args_of_a_rung_win_over_those_of_the_profile)
{
    share_open (share);
    assert_int_equal (share_load (share), 0);
    const struct rung *tiny = &share->plan.rungs.items[2];
    assert_int_equal (tiny->args.n, 3);
    assert_string_equal (arg_of (tiny, "steps"), "5");
    assert_string_equal (arg_of (tiny, "seed"), "7");
    assert_string_equal (arg_of (tiny, "on"), "\"no\"");
    assert_string_equal (arg_of (&share->plan.rungs.items[3], "steps"), "3");
    assert_int_equal (share->plan.rungs.items[0].args.n, 0);
}

TEST_ON (share, digests_are_of_the_files_themselves)
{
    char hex[DIGEST_HEX_BYTES], env_dir[64];
    struct digest digest = digest_of ("six==1.17.0\n", 12);
    share_open (share);
    assert_int_equal (share_load (share), 0);
    const struct pins *pins = &share->plan.pins;
    assert_string_equal (pins->file.sha256.ptr, digest_hex (&digest, hex));
    snprintf (env_dir, sizeof env_dir, "/h/envs/%.16s", hex);
    assert_string_equal (pins->env_dir.ptr, env_dir);
    assert_true (text_is (pins->name, "q") && text_is (pins->python, "python3") && pins->setup.path.len == 0);
    digest = digest_of (good_files[0].text, strlen (good_files[0].text));
    assert_string_equal (share->plan.source.sha256.ptr, digest_hex (&digest, hex));
    digest = digest_of ("print ()\n", 9);
    assert_string_equal (share->plan.rungs.items[2].program.sha256.ptr, digest_hex (&digest, hex));
}

TEST_ON (share, warnings_do_not_fail_a_load)
{
    static const char slice[] = "slice: s\nhosts: [{name: a, address: 10.0.0.1}, h1]\nprofile: p\npins: q\nladder: l\n"
                                "cache: {mode: off}\n";
    static const char profile[] = "profile: p\nfrontend: jax\nbackend: cpu\ndevices_per_host: 2\nenv: {A: $HOME/x}\n";
    share_open (share);
    write_text (share, "slice.yaml", slice);
    write_text (share, "configs/profiles/p.yaml", profile);
    assert_int_equal (share_load (share), 0);
    assert_int_equal (share->report.n, 4); /* two rungs with a cold pass, a variable, an address */
    for (uint32_t i = 0; i < share->report.n; i++)
        assert_true (share->report.items[i].warning);
    assert_text (share->plan.profile.env.items[0].value, "$HOME/x");
    assert_int_equal (share->plan.cache.mode, CACHE_OFF);
    for (uint32_t i = 0; i < share->plan.rungs.n; i++)
        assert_int_equal (share->plan.rungs.items[i].warm, WARM_NONE);
}

TEST_ON (share, without_pins_canaries_run_on_the_systems_python)
{
    static const char slice[] = "slice: s\nhosts: h[0-1]\nprofile: p\nladder: l\n";
    static const char restore[] =
        "ladder: l\nrungs:\n- {id: a, builtin: restore}\n- {id: b, canary: jax/tiny.py, env: true}\n";
    share_open (share);
    write_text (share, "slice.yaml", slice);
    assert_int_equal (share_load (share), 0);
    assert_false (share->plan.rungs.items[2].needs_env);
    assert_int_equal (share->plan.pins.file.path.len, 0);
    write_text (share, "configs/ladders/l.yaml", restore);
    assert_int_equal (share_load (share), -1);
    assert_int_equal (share->report.n, 2);
    assert_has (line_of (share, 0), "l.yaml:3:3: rung a needs the environment of a pin set");
    assert_has (line_of (share, 1), "l.yaml:4:37: rung b needs the environment of a pin set");
}

#define TPU "profile: p\nfrontend: jax\nbackend: tpu\ndevices_per_host: 2\n"
#define ALONE "rung a runs alone on each of 2 hosts, where the TPU runtime waits for all hosts of the slice"
#define TOGETHER "programs of scope slice, too, that each host is a TPU slice of its own, so rung b would see one host"

/* NULL: it is fine. */
TEST (a_tpu_slice_of_several_hosts_says_how_one_is_alone)
{
    static const struct {
        const char *profile, *rung, *problem;
    } cases[] = {
        { TPU, "{id: a, canary: jax/tiny.py}", ALONE },
        { TPU "env: {TPU_WORKER_HOSTNAMES: localhost}\n", "{id: a, canary: jax/tiny.py}", ALONE },
        { TPU "slice_env: {TPU_PROCESS_BOUNDS: '1,1,1'}\n", "{id: a, canary: jax/tiny.py}", ALONE },
        { TPU "host_env: {TPU_PROCESS_BOUNDS: '2,2,1'}\n", "{id: a, canary: jax/tiny.py}", ALONE },
        { TPU "host_env: {TPU_PROCESS_BOUNDS: '1,1,1'}\n", "{id: a, canary: jax/tiny.py}", NULL },
        { TPU "host_env: {TPU_PROCESS_BOUNDS: '1,1,1', TPU_HOST_BOUNDS: '2,2,1'}\n", "{id: a, canary: jax/tiny.py}",
          ALONE },
        { TPU "host_env: {TPU_HOST_BOUNDS: '1,1,1'}\n", "{id: a, canary: jax/tiny.py}", NULL },
        { TPU, "{id: a, canary: jax/tiny.py, warm: aot}", ALONE },
        { TPU, "{id: a, builtin: probe, args: {plugin: /x}}", ALONE },
        { TPU, "{id: a, builtin: probe, args: {plugin: /x, client: true}}", ALONE },
        { TPU, "{id: a, builtin: probe, args: {plugin: /x, client: false}, backend: any}", NULL },
        { "profile: p\nfrontend: plain\nbackend: tpu\ndevices_per_host: 2\n",
          "{id: a, builtin: probe, args: {plugin: /x}}", ALONE },
        { TPU, "{id: b, canary: jax/tiny.py, scope: slice}", NULL },
        { TPU, "{id: c, builtin: facts}", NULL },
        { TPU, "{id: c, command: ['true']}", NULL },
        { TPU "env: {TPU_PROCESS_BOUNDS: '1,1,1'}\n", "{id: b, canary: jax/tiny.py, scope: slice}", TOGETHER },
        { TPU "env: {TPU_PROCESS_BOUNDS: '1,1,1'}\nslice_env: {TPU_PROCESS_BOUNDS: '1,1,1'}\n",
          "{id: b, canary: jax/tiny.py, scope: slice}", TOGETHER },
        { TPU "env: {TPU_PROCESS_BOUNDS: '1,1,1'}\nslice_env: {TPU_PROCESS_BOUNDS: '2,1,1'}\n",
          "{id: b, canary: jax/tiny.py, scope: slice}", NULL },
        { TPU "env: {TPU_PROCESS_BOUNDS: '1,1,1'}\nslice_env: {TPU_PROCESS_BOUNDS: null}\n",
          "{id: b, canary: jax/tiny.py, scope: slice}", NULL },
        { TPU "env: {TPU_PROCESS_BOUNDS: '1,1,1'}\nhost_env: {TPU_PROCESS_BOUNDS: '2,1,1'}\n",
          "{id: a, canary: jax/tiny.py}", ALONE },
        { "profile: p\nfrontend: jax\nbackend: cpu\ndevices_per_host: 2\n", "{id: a, canary: jax/tiny.py}", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct share share;
        char ladder[256];
        share_open (&share);
        snprintf (ladder, sizeof ladder, "ladder: l\nrungs:\n- %s\n", cases[i].rung);
        write_text (&share, "configs/profiles/p.yaml", cases[i].profile);
        write_text (&share, "configs/ladders/l.yaml", ladder);
        bool good = share_load (&share) == 0;
        if (good != !cases[i].problem || (!good && !strstr (line_of (&share, 0), cases[i].problem))) {
            dump (&share);
            fail_msg ("case %zu", i);
        }
        share_close (&share);
    }
}

#define BARE "profile: p\nfrontend: jax\nbackend: tpu\n"
#define PART                                                                                                           \
    "rung b of scope slice would run on a part of a TPU slice, where the TPU runtime waits for the hosts that are"
#define AND_B "\n- {id: b, canary: jax/tiny.py, scope: slice}"

/* Of four hosts; NULL: it is fine. */
TEST (a_part_of_a_tpu_slice_runs_what_hosts_run_alone)
{
    static const struct {
        const char *slice, *profile, *rungs, *problem;
    } cases[] = {
        { "topology: 4x4\nexclude: h3\n", BARE, "{id: a, canary: jax/tiny.py}", NULL },
        { "topology: 4x4\nexclude: h[1-3]\n", BARE, "{id: a, canary: jax/tiny.py}", NULL },
        { "topology: 4x2\nexclude: h[2-3]\n", BARE, "{id: a, canary: jax/tiny.py}",
          "the topology 4x2 has 8 chips, which are 2 hosts of type four, but the slice has 4 with those that are "
          "left" },
        { "topology: 4x4\nexclude: h[1,3]\n", BARE, "{id: a, canary: jax/tiny.py}\n- {id: c, builtin: facts}" AND_B,
          "slice.yaml:2:8: " PART
          " left out: h[1,3]; expected all hosts, or --leave-out for each rung of scope slice (of "
          "scope host: a, c)" },
        { "exclude: h[1-3]\n", BARE, "{id: c, builtin: facts}" AND_B, PART },
        { "exclude: h[2-3]\n", BARE "slice_env: {TPU_PROCESS_BOUNDS: '2,1,1'}\n", "{id: c, builtin: facts}" AND_B,
          NULL },
        { "exclude: h[2-3]\n", BARE "slice_env: {TPU_PROCESS_BOUNDS: '2,2,1'}\n", "{id: c, builtin: facts}" AND_B,
          PART },
        { "exclude: h3\n", BARE, "{id: b, command: ['true'], scope: slice}", PART },
        { "exclude: h3\n", BARE, "{id: c, command: ['true']}", NULL },
        { "", BARE, "{id: c, builtin: facts}" AND_B, NULL },
        { "exclude: h3\n", "profile: p\nfrontend: jax\nbackend: cpu\n", "{id: c, builtin: facts}" AND_B, NULL },
        { "exclude: h[1-3]\n", "profile: p\nfrontend: jax\nbackend: tpu\nhost_env: {TPU_PROCESS_BOUNDS: '2,2,1'}\n",
          "{id: a, canary: jax/tiny.py}", "rung a runs alone on each of 4 hosts" },
        { "", "profile: p\nfrontend: plain\nbackend: tpu\n", "{id: a, builtin: probe, args: {plugin: /x}}", NULL },
        { "cache: {mode: warm-only}\n", BARE "host_env: {TPU_HOST_BOUNDS: '2,2,1'}\n",
          "{id: a, canary: jax/tiny.py, warm: aot}", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct share share;
        char text[512];
        share_open (&share);
        snprintf (text, sizeof text, "slice: s\nhosts: h[0-3]\nprofile: p\npins: q\nladder: l\nmachine: four\n%s",
                  cases[i].slice);
        write_text (&share, "slice.yaml", text);
        snprintf (text, sizeof text, "ladder: l\nrungs:\n- %s\n", cases[i].rungs);
        write_text (&share, "configs/ladders/l.yaml", text);
        write_text (&share, "configs/profiles/p.yaml", cases[i].profile);
        bool good = share_load (&share) == 0;
        if (good != !cases[i].problem || (!good && !strstr (line_of (&share, 0), cases[i].problem))) {
            dump (&share);
            fail_msg ("case %zu", i);
        }
        share_close (&share);
    }
}

/* NULL: it is fine. */
TEST (a_machine_and_what_is_written_agree)
{
    static const struct {
        const char *slice, *profile, *table, *problem; /* table: NULL: the good one */
    } cases[] = {
        { "machine: four\ntopology: 2x4\n", BARE, NULL, NULL },
        { "machine: four\n", BARE "devices_per_host: 4\n", NULL, NULL },
        { "machine: four\n", BARE "topology: 2x4\n", NULL, NULL },
        { "", BARE, NULL, "p.yaml:1:1: the profile has no key devices_per_host, expected it, or a machine" },
        { "machine: fuor\n", BARE, NULL,
          "slice.yaml:6:10: unknown machine type 'fuor', expected one of four; did you mean 'four'?" },
        { "machine: four\n", BARE "devices_per_host: 8\n", NULL,
          "p.yaml:4:19: devices_per_host is 8, but a host of the slice's machine type four has 4" },
        { "machine: four\ntopology: 4x4\n", BARE, NULL,
          "slice.yaml:6:10: the topology 4x4 has 16 chips, which are 4 hosts of type four, but the slice has 2" },
        { "machine: four\ntopology: 2x4\n", BARE "accelerator: v6e-64\n", NULL,
          "the profile's accelerator is v6e-64, but a slice of type four with topology 2x4 is v6e-8" },
        { "machine: four\ntopology: 2x4\n", BARE "accelerator: v6e-8\n", NULL, NULL },
        { "machine: fuor\ntopology: 2x4\n", BARE, NULL, "unknown machine type 'fuor'" },
        { "machine: four\ntopology: 2x2x2\n", BARE, NULL,
          "slice.yaml:7:11: hosts of type four have chips of 2,2,1, of which no slice of topology 2x2x2 can be made" },
        { "machine: four\ntopology: 1x8\n", BARE, NULL, "of which no slice of topology 1x8 can be made" },
        { "machine: four\ntopology: 8\n", BARE, NULL, "expected a grid of 2 sizes that are multiples" },
        { "machine: four\ntopology: 2x4\n", BARE "topology: 4x4\n", NULL,
          "slice.yaml:7:11: the slice's topology is 2x4 and that of its profile 4x4, expected one of the two" },
        { "machine: four\ntopology: big\n", BARE, NULL,
          "slice.yaml:7:11: the topology is big, expected sizes such as 4x4" },
        { "machine: four\n", BARE, "machines: tpu\nlist: [{id: four}]\n",
          "tpu.yaml:2:8: the key 'accelerator' is missing" },
        { "machine: four\n", BARE, "", "tpu.yaml:1:1: an empty file" },
        { "machine: four\n", BARE,
          "machines: tpu\nlist: [{id: four, accelerator: v6e, counts: chips, chips: 4, devices_per_chip: 1, bounds: "
          "'2,4,1', "
          "dimensions: 2, memory_gib: 32}]\n",
          "the bounds are '2,4,1', expected a grid of 4 chips" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct share share;
        char slice[256];
        share_open (&share);
        snprintf (slice, sizeof slice, "slice: s\nhosts: h[0-1]\nprofile: p\npins: q\nladder: l\n%s", cases[i].slice);
        write_text (&share, "slice.yaml", slice);
        write_text (&share, "configs/profiles/p.yaml", cases[i].profile);
        if (cases[i].table)
            write_text (&share, "configs/machines/tpu.yaml", cases[i].table);
        bool good = share_load (&share) == 0;
        if (good != !cases[i].problem || (!good && !strstr (line_of (&share, 0), cases[i].problem)) ||
            (strstr (cases[i].slice, "fuor") && share.report.n != 1)) {
            dump (&share);
            fail_msg ("case %zu", i);
        }
        share_close (&share);
    }
}

TEST_ON (share, what_is_most_likely_not_meant_is_a_warning)
{
    static const char flag[] = "env: {LIBTPU_INIT_ARGS: --xla_tpu_use_enhanced_launch_barrier=true";
    static const struct {
        const char *name, *lines, *warning; /* NULL: none */
    } cases[] = {
        { "p", "XRT_TPU_CONFIG: 'x'", "p.yaml:5:69: the profile sets XRT_TPU_CONFIG; it is of a runtime (XRT)" },
        { "p", "XLA_USE_SPMD: '1'", "torch_xla.runtime.use_spmd() first" },
        { "p", "XLA_IR_DEBUG: '1'", "it is for debugging" },
        { "my-debug", "XLA_IR_DEBUG: '1'", NULL },
        { "my-debug", "XLA_USE_BF16: '1'", "torch.autocast" },
        { "p", "PT_XLA_DEBUG_LEVEL: '2'", "the cause of each compilation" },
        { "p", "PT_XLA_DEBUG: '1'", "it is for debugging" },
        { "p", "PT_XLA_DEBUG: '0'", NULL },
        { "my-debug", "PT_XLA_DEBUG_LEVEL: '2'", NULL },
        { "p", "XLA_SAVE_TENSORS_FILE: ir.txt", "each graph is written to a file" },
        { "p", "XLA_SAVE_HLO_FILE: h", "each graph is written to a file" },
        { "my-debug", "XLA_SAVE_HLO_FILE: h", NULL },
        { "p", "XLA_FLAGS: --xla_a --xla_dump_to=/tmp/x", "its --xla_dump_to dumps every program" },
        { "p", "XLA_FLAGS: --xla_a", NULL },
        { "p", "XLA_FLAGS: --xla_dump_to_other=/tmp/x", NULL },
        { "p", "XLA_FLAGS: --xla_dump_to=", NULL },
        { "p", "XLA_IR_DEBUG: '0'", NULL },
        { "p", "JAX_DISABLE_JIT: 'False'", NULL },
        { "p", "A: '1'}\nslice_env: {XLA_HLO_DEBUG: '1'", "the profile sets XLA_HLO_DEBUG" },
        { "p", "A: '1'}\nslice_env: {LIBTPU_INIT_ARGS: --xla_tpu_use_enhanced_launch_barrier_else=1",
          "does not decide on" },
        { "p", "A: '1'}\ninherit: [A_OWN, XRT_TPU_CONFIG, XLA_FLAGS]\nslice_env: {A: '2'",
          "p.yaml:6:18: the profile inherits XRT_TPU_CONFIG; it is of a runtime" },
    };
    char text[512];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        share_open (share);
        snprintf (text, sizeof text,
                  "profile: %s\nfrontend: jax\nbackend: tpu\ndevices_per_host: 2\n%s, %s}\n"
                  "host_env: {TPU_HOST_BOUNDS: '1,1,1'}\n",
                  cases[i].name, flag, cases[i].lines);
        write_text (share, "configs/profiles/p.yaml", text);
        if (share_load (share) != 0 || share->report.n != (cases[i].warning != NULL) ||
            (cases[i].warning && !strstr (line_of (share, 0), cases[i].warning))) {
            dump (share);
            fail_msg ("case %zu", i);
        }
        share_close (share);
    }
    share_open (share);
    write_text (share, "configs/profiles/p.yaml",
                TPU "env: {LIBTPU_INIT_ARGS: --xla_a}\nhost_env: {TPU_HOST_BOUNDS: '1,1,1'}\n");
    assert_int_equal (share_load (share), 0);
    assert_has (line_of (share, 0), "does not decide on --xla_tpu_use_enhanced_launch_barrier");
}

TEST (sizes_of_dimensions_are_read_and_missed_where_each_costs_a_program)
{
    static const char base[] = "profile: p\nfrontend: %s\nbackend: %s\ndevices_per_host: 2\n%s"
                               "host_env: {TPU_HOST_BOUNDS: '1,1,1'}\n";
    static const char shapes[] = "shapes: {batch: [8, 16], padding: true, length: [512]}\n";
    static const struct {
        const char *frontend, *backend, *lines;
        bool warns;
    } cases[] = { { "torch_xla", "tpu", "", true },
                  { "torch_xla", "tpu", shapes, false },
                  { "torch_xla", "cpu", "", false },
                  { "jax", "tpu", "", false } };
    struct share share;
    char text[512];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        share_open (&share);
        snprintf (text, sizeof text, base, cases[i].frontend, cases[i].backend, cases[i].lines);
        write_text (&share, "configs/profiles/p.yaml", text);
        const struct profile *profile = &share.plan.profile;
        int rc = share_load (&share);
        const char *told = cases[i].warns      ? "p.yaml:1:1: the profile gives no shapes; torch_xla"
                           : cases[i].lines[0] ? "no file of this command asks for them"
                                               : NULL;
        if (rc != 0 || share.report.n != (told != NULL) || (told && !strstr (line_of (&share, 0), told))) {
            dump (&share);
            fail_msg ("case %zu", i);
        }
        assert_int_equal (profile->shapes.n, cases[i].lines[0] ? 2 : 0);
        if (profile->shapes.n) {
            assert_true (profile->padding && text_is (profile->shapes.items[1].name, "length"));
            assert_int_equal (profile->shapes.items[0].sizes.n, 2);
            assert_int_equal (profile->shapes.items[0].sizes.items[1], 16);
        }
        share_close (&share);
    }
}

TEST_ON (share, pins_that_nobody_needs_are_left_out)
{
    static const char ladder[] = "ladder: l\nrungs:\n- {id: a, canary: jax/tiny.py, env: false}\n";
    share_open (share);
    write_text (share, "configs/ladders/l.yaml", ladder);
    assert_int_equal (share_load (share), 0);
    assert_int_equal (share->plan.pins.name.len, 0);
}

TEST_ON (share, longer_forms_are_read)
{
    static const char slice[] =
        "slice: s\nhosts:\n  - {name: x, address: ::1, env_dir: /e/x}\n  - h[00-01]\nprofile: p\n"
        "pins: {file: q, setup: q, python: /usr/bin/python3}\nladder: l\nenv_dir: my/env\n"
        "mesh: {data: 3, model: 2}\ncache: {root: /c}\nsignatures: [system]\n";
    share_open (share);
    write_text (share, "slice.yaml", slice);
    write_text (share, "configs/signatures/rules.yaml",
                "signatures: rules\nlist:\n- {id: r, rule: peer, any: [Bad Luck], errno: EIO, layer: host, next: x}\n");
    write_text (share, "configs/ladders/l.yaml",
                "ladder: l\nrungs:\n- {id: e, builtin: restore}\n- {id: a, canary: jax/tiny.py}\n");
    if (share_load (share) != 0 || share->report.n > 0)
        dump (share);
    assert_int_equal (share->result, 0);
    assert_int_equal (share->report.n, 0);
    const struct plan *plan = &share->plan;
    assert_int_equal (plan->hosts.n, 3);
    assert_true (text_is (plan->hosts.items[0].address, "::1") && text_is (plan->hosts.items[0].env_dir, "/e/x"));
    assert_text (plan->hosts.items[2].name, "h01");
    assert_true (text_is (plan->mesh.items[1].axis, "model") && plan->mesh.items[0].size == 3);
    assert_true (text_is (plan->pins.python, "/usr/bin/python3") && text_is (plan->pins.env_dir, "/h/my/env"));
    assert_string_equal (plan->pins.setup.path.ptr, place (share, "configs/pins/q.sh"));
    assert_true (text_is (plan->cache.root, "/c") && text_is (plan->cache.writer, "x"));
    assert_int_equal (plan->signatures.n, 2); /* rules are read whatever lists are named */
    const struct signature *rule = &plan->signatures.items[1];
    assert_true (rule->rule == RULE_PEER && rule->peer && rule->likely && text_is (rule->error, "EIO"));
    assert_text (rule->any.items[0], "bad luck"); /* capitals do not count */
}

TEST_ON (share, the_command_line_overrides_the_slice)
{
    struct conf_options options = { .profile = "zz" };
    share_open (share);
    assert_int_equal (share_load_with (share, options), -1);
    assert_int_equal (share->report.n, 1);
    assert_has (line_of (share, 0), "--profile: profile 'zz' does not exist");
    write_text (share, "slice.yaml", "slice: s\nhosts: h[0-1]\nprofile: zz\npins: zz\nladder: zz\n");
    options = (struct conf_options){ .profile = "p", .ladder = "l", .pins = "q" };
    assert_int_equal (share_load_with (share, options), 0);
    assert_true (text_is (share->plan.pins.name, "q") && text_is (share->plan.ladder, "l"));
}

struct json_case {
    const char *yaml, *json;
};
static const struct json_case json_cases[] = {
    { "0", "0" },
    { "-1", "-1" },
    { "1.5e-3", "1.5e-3" },
    { "12", "12" },
    { "true", "true" },
    { "false", "false" },
    { "'12'", "\"12\"" },
    { "\"a\\\"b\\\\c\\n\"", "\"a\\\"b\\\\c\\u000a\"" },
    { "hello", "\"hello\"" },
    { "[1, a, 'true', false]", "[1,\"a\",\"true\",false]" },
    { "[]", "[]" },
    { "''", "\"\"" },
    { "a.b", "\"a.b\"" },
    { "1.2.3", "\"1.2.3\"" },
    { "3d", "\"3d\"" },
    { "bf16", "\"bf16\"" },
    { "2026-01-01", "\"2026-01-01\"" },
    /* refused */
    { "yes", NULL },
    { "Off", NULL },
    { "True", NULL },
    { "0x10", NULL },
    { "0o17", NULL },
    { "1_000", NULL },
    { ".5", NULL },
    { "5.", NULL },
    { "+1", NULL },
    { "010", NULL },
    { "1e999", NULL },
    { ".inf", NULL },
    { "-.inf", NULL },
    { ".nan", NULL },
    { "~", NULL },
    { "[1, ~]", NULL },
    { "[[1]]", NULL },
    { "{a: 1}", NULL },
    { "Null", NULL },
};

TEST (arguments_become_json_or_are_refused)
{
    for (size_t i = 0; i < sizeof json_cases / sizeof json_cases[0]; i++) {
        struct share share;
        char text[512];
        share_open (&share);
        int len = snprintf (text, sizeof text, "ladder: l\nrungs:\n- id: a\n  canary: jax/tiny.py\n  args: {v: %s}\n",
                            json_cases[i].yaml);
        write_file (&share, "configs/ladders/l.yaml", text, (size_t) len);
        int result = share_load (&share);
        const char *json = result == 0 ? arg_of (&share.plan.rungs.items[0], "v") : "(refused)";
        if (strcmp (json, json_cases[i].json ? json_cases[i].json : "(refused)") != 0)
            fail_msg ("%s became %s", json_cases[i].yaml, json);
        share_close (&share);
    }
}

TEST (sizes_have_units)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        { "0B", 0 }, { "512B", 512 }, { "64KiB", 64 << 10 }, { "4MiB", 4 << 20 }, { "2GiB", UINT64_C (2) << 30 }
    };
    static const char *const bad[] = { "",    "4",      "MiB",  "4 MiB",          "4MB",
                                       "-1B", "1.5MiB", "4mib", "17179869184GiB", "4MiBx" };
    uint64_t bytes = 0;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true (size_parse (text_of (good[i].text), &bytes));
        assert_true (bytes == good[i].bytes);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false (size_parse (text_of (bad[i]), &bytes));
}

TEST (the_nearest_word_is_proposed_only_when_near)
{
    static const char *const known[] = { "profile", "pins", "limits", "ladder" };
    static const struct {
        const char *word, *near;
    } cases[] = { { "profle", "profile" },      { "porfile", "profile" }, { "pin", "pins" }, { "limit", "limits" },
                  { "lader", "ladder" },        { "xyzzy", NULL },        { "", NULL },      { "q", NULL },
                  { "profiling-options", NULL } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *near = nearest_word (text_of (cases[i].word), known, 4);
        if ((near == NULL) != (cases[i].near == NULL) || (near && strcmp (near, cases[i].near) != 0))
            fail_msg ("'%s' brought %s", cases[i].word, near ? near : "nothing");
    }
}
