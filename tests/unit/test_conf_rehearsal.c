/* links: conf */
/* The plan of a rehearsal: what it takes from the slice file, what it replaces, and what cannot be rehearsed. */
#include "conf_share.h"
#include "test.h"

#include "common/model/launch_variables.h"

#define STAND_IN "/build/stand-in.so"
#define SLICE                                                                                                          \
    "slice: s\nhosts: h[0-3]\nlauncher: ssh\nssh: {user: u, known_hosts: /k}\nstart: {directory: /far}\n"              \
    "coordinator: {address: 10.0.0.1, control_port: 7}\nprofile: p\npins: q\nladder: l\nmachine: four\ntopology: "     \
    "4x4\n"                                                                                                            \
    "env_dir: /far/env\ncache: {mode: single-writer, root: /mnt/far}\n"
#define PODS                                                                                                           \
    "slice: s\nhosts: h[0-3]\nlauncher: join\ncoordinator: {address: 10.0.0.1, control_port: 7, bulk_port: 8}\n"       \
    "profile: p\npins: q\nladder: l\nmachine: four\ntopology: 4x4\ncache: {mode: off}\n"
#define PROFILE "profile: p\nfrontend: jax\nbackend: tpu\ninherit: [TPU_WORKER_ID, TPU_TOPOLOGY, OWN]\n"
#define LADDER                                                                                                         \
    "ladder: l\nrungs:\n- {id: a, canary: jax/tiny.py}\n- {id: b, canary: jax/tiny.py, rehearse: false}\n"             \
    "- {id: c, builtin: facts}\n- {id: d, canary: jax/tiny.py, warm: aot}\n"

static void open_with (struct share *share, const char *slice, const char *profile)
{
    share_open (share);
    write_text (share, "slice.yaml", slice);
    write_text (share, "configs/profiles/p.yaml", profile);
    write_text (share, "configs/ladders/l.yaml", LADDER);
}

static int load (struct share *share, struct conf_options options)
{
    options.rehearsal = STAND_IN;
    return share_load_with (share, options);
}

static bool inherits (const struct share *share, const char *name)
{
    const text_list *all = &share->plan.profile.inherit;
    return text_is_among (text_of (name), all->items, all->n);
}

TEST (what_is_elsewhere_is_replaced)
{
    struct share share;
    const struct plan *plan = &share.plan;
    open_with (&share, SLICE, PROFILE);
    assert_int_equal (load (&share, (struct conf_options){ 0 }), 0);
    assert_text (plan->slice, "s-rehearsal");
    assert_int_equal (plan->launcher, LAUNCHER_LOCAL);
    assert_true (text_starts (plan->hosts.items[0].address, "127."));
    assert_false (text_equal (plan->hosts.items[0].address, plan->hosts.items[3].address));
    assert_text (plan->hosts.items[3].name, "h3");
    assert_false (text_starts (plan->cache.root, "/mnt/far"));
    assert_false (text_starts (plan->pins.env_dir, "/far"));
    assert_true (plan->start.address.len == 0 && plan->start.control_port == 0 && plan->hosts.items[0].ssh.port == 0);
    assert_int_equal (plan->left_out.n, 2); /* b, and what asks libtpu for a topology */
    assert_text (plan->left_out.items[0], "b");
    assert_int_equal (plan->rungs.n, 2); /* a, c */
    share_close (&share);
}

static struct text value_of (const struct share *share, uint32_t rank, const char *name, struct arena *arena)
{
    struct text value = { 0 };
    var_list vars = launch_variables_of_rehearsal (&share->plan, rank, arena);
    (void) var_find (&vars, text_of (name), &value);
    return value;
}

TEST (workers_have_what_their_pods_would)
{
    struct share share;
    open_with (&share, PODS, PROFILE);
    struct conf_options options = { .wrong = { "h2:TPU_WORKER_ID=7", "h2:TPU_TOPOLOGY", "h1:OWN=a=b" },
                                    .rehearse_all = true };
    assert_int_equal (load (&share, options), 0);
    assert_int_equal (share.plan.left_out.n, 0);
    assert_text (value_of (&share, 1, "TPU_WORKER_ID", &t->arena), "1");
    assert_text (value_of (&share, 2, "TPU_WORKER_ID", &t->arena), "7");
    assert_text (value_of (&share, 1, "TPU_TOPOLOGY", &t->arena), "4x4");
    assert_int_equal (value_of (&share, 2, "TPU_TOPOLOGY", &t->arena).len, 0);
    assert_text (value_of (&share, 1, "OWN", &t->arena), "a=b");
    assert_text (value_of (&share, 0, "TPU_HOST_BOUNDS", &t->arena), "2,2,1");
    assert_text (value_of (&share, 0, "TPU_ACCELERATOR_TYPE", &t->arena), "v6e-16");
    assert_text (value_of (&share, 0, "TPU_LIBRARY_PATH", &t->arena), STAND_IN);
    assert_true (inherits (&share, "TPU_LIBRARY_PATH") && inherits (&share, "TPU_WORKER_ID"));
    assert_false (inherits (&share, "TPU_WORKER_HOSTNAMES")); /* its pods would not, either */
    share_close (&share);
    open_with (&share, SLICE, PROFILE);
    assert_int_equal (load (&share, (struct conf_options){ 0 }), 0);
    assert_true (inherits (&share, "TPU_WORKER_HOSTNAMES")); /* a virtual machine would ask its metadata server */
    share_close (&share);
}

TEST (what_cannot_be_rehearsed_is_refused)
{
    static const struct {
        const char *slice, *profile, *wrong, *problem;
    } cases[] = {
        { PODS, "profile: p\nfrontend: jax\nbackend: cpu\ndevices_per_host: 4\n", NULL,
          "expected jax or torch_xla with backend tpu" },
        { "slice: s\nhosts: h[0-3]\nprofile: p\npins: q\nladder: l\n",
          PROFILE "devices_per_host: 4\nhost_env: {TPU_PROCESS_BOUNDS: '1,1,1'}\n", NULL,
          "has no machine and topology" },
        { "slice: s\nhosts: h[0-64]\nprofile: p\npins: q\nladder: l\nmachine: four\n", PROFILE, NULL,
          "expected at most 64" },
        { PODS "exclude: h3\n", PROFILE, NULL, "hosts are excluded" },
        { PODS, PROFILE, "h9:A=1", "expected HOST:NAME=VALUE" },
        { PODS, PROFILE, "h1", "expected HOST:NAME=VALUE" },
        { PODS, PROFILE, "h1:A-B=1", "expected HOST:NAME=VALUE" },
        { PODS, PROFILE, "h1:TPU_HOST_BOUNDS=1,1,1", "no program would notice" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct share share;
        bool said = false;
        open_with (&share, cases[i].slice, cases[i].profile);
        bool refused = load (&share, (struct conf_options){ .wrong = { cases[i].wrong } }) != 0;
        for (uint32_t k = 0; k < share.report.n; k++)
            said |= strstr (share.report.items[k].text, cases[i].problem) != NULL;
        if (!refused || !said)
            fail_msg ("case %zu: %s", i, share.report.n ? share.report.items[0].text : "no problem");
        share_close (&share);
    }
}

TEST (pods_that_are_told_nothing_are_warned_of)
{
    struct share share;
    uint32_t warnings = 0;
    open_with (&share, PODS, PROFILE);
    write_text (&share, "configs/ladders/l.yaml",
                "ladder: l\nrungs:\n- {id: all, canary: jax/tiny.py, scope: slice}\n");
    assert_int_equal (share_load_with (&share, (struct conf_options){ 0 }), 0);
    for (uint32_t i = 0; i < share.report.n; i++)
        warnings += strstr (share.report.items[i].text, "rung all gets no TPU_") != NULL;
    assert_int_equal (warnings, 2); /* names and bounds; the number is inherited */
    share_close (&share);
}
