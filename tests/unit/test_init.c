/* links: cli */
#include "coordinator/cli/planning.h"
#include "test.h"

#define END(N) "{\"ipAddress\":\"10.0.0." #N "\",\"accessConfig\":{\"externalIp\":\"34.0.0." #N "\"},\"port\":8470}"
#define NODE(more)                                                                                                     \
    "{\"name\":\"projects/p-1/locations/us-east5-b/nodes/v6e\",\"id\":\"7519\",\"state\":\"READY\"," more              \
    "\"acceleratorType\":\"v6e-8\",\"networkEndpoints\":[" END (1) "," END (2) "]}"

struct scene {
    struct arena arena;
    struct first_slice slice;
    struct buf notes, out;
    struct err err;
};

static void scene_open (struct scene *scene)
{
    buf_init (&scene->notes, 1 << 16);
    buf_init (&scene->out, 1 << 16);
}

static void scene_close (struct scene *scene)
{
    buf_release (&scene->notes);
    buf_release (&scene->out);
    arena_release (&scene->arena);
}

TEST_FIXTURE (struct scene, scene_open, scene_close)

static int take (struct scene *scene, const char *json, bool external)
{
    scene->slice = (struct first_slice){ 0 };
    scene->err = (struct err){ 0 };
    buf_clear (&scene->notes);
    return tpu_node_read (text_of (json), external, &scene->arena, &scene->slice, &scene->notes, &scene->err);
}

static void has (struct buf *buf, const char *words)
{
    assert_has (buf_c (buf), words);
}

static void refused (struct scene *scene, const char *json, enum err_code code, const char *words)
{
    assert_int_equal (take (scene, json, true), -1);
    if (scene->err.code != code || !strstr (scene->err.text, words))
        fail_msg ("%.200s: code %d, %s", json, scene->err.code, scene->err.text);
}

/* ---- reading ---- */

TEST_ON (scene, a_node_is_read)
{
    assert_int_equal (
        take (scene, NODE ("\"acceleratorConfig\":{\"type\":\"V5LITE_POD\",\"topology\":\"2x4\"},"), true), 0);
    const struct first_slice *slice = &scene->slice;
    assert_string_equal (buf_c (&scene->notes), "");
    assert_true (text_is (slice->name, "v6e") && text_is (slice->id, "7519") && slice->shape.hosts == 2);
    assert_text (slice->gcloud, "v6e --project=p-1 --zone=us-east5-b");
    assert_true (text_is (slice->shape.accelerator, "v5litepod") && text_is (slice->shape.topology, "2x4"));
    assert_true (text_is (slice->hosts[1].name, "v6e-1") && text_is (slice->hosts[1].address, "10.0.0.2"));
    assert_text (slice->hosts[1].ssh_address, "34.0.0.2");
    assert_int_equal (take (scene, "[" NODE ("") "]", false), 0); /* a list of one */
    assert_true (scene->slice.hosts[1].ssh_address.len == 0);
    assert_true (text_is (scene->slice.shape.accelerator, "v6e") && scene->slice.shape.number == 8);
}

TEST_ON (scene, a_machine_that_is_no_node_is_refused)
{
    static const char vm[] = "{\"kind\":\"compute#instance\",\"name\":\"vm\",\"status\":\"RUNNING\"}";
    refused (scene, vm, ERR_USAGE,
             "no TPU node but a resource of another kind, compute#instance; expected what gcloud");
    refused (scene, text_format (&scene->arena, "[%s,%s]", vm, vm).ptr, ERR_USAGE, "compute#instance");
}

TEST_ON (scene, with_several_networks_a_worker_has_one_entry_each)
{
    assert_int_equal (
        take (scene,
              "{\"name\":\"n\",\"id\":75,\"state\":\"READY\",\"networkConfigs\":[{},{}],\"networkEndpoints\":[" END (
                  1) "," END (2) "," END (3) "," END (4) "]}",
              false),
        0);
    assert_int_equal (scene->slice.shape.hosts, 2);
    assert_text (scene->slice.hosts[1].address, "10.0.0.3");
    assert_text (scene->slice.id, "75");
    refused (scene,
             "{\"name\":\"n\",\"state\":\"READY\",\"networkConfigs\":[{},{}],\"networkEndpoints\":[" END (1) "]}",
             ERR_STATE, "1 entries, expected 2 for each");
}

TEST_ON (scene, a_node_that_is_not_well_is_told_with_its_workers)
{
    assert_int_equal (
        take (scene,
              NODE ("\"health\":\"UNHEALTHY_MAINTENANCE\",\"healthDescription\":\"soon\\u001b[2J\","
                    "\"symptoms\":[{\"workerId\":\"1\",\"symptomType\":\"OUT_OF_MEMORY\",\"details\":\"d\"}, 5],"),
              false),
        0);
    has (&scene->notes, "the node's health is UNHEALTHY_MAINTENANCE: soon\\x1b[2J\n");
    has (&scene->notes, "warning: worker 1 has the symptom OUT_OF_MEMORY: d\n");
    assert_int_equal (
        take (scene,
              "{\"name\":\"n\",\"state\":\"REPAIRING\",\"health\":\"HEALTHY\",\"networkEndpoints\":[" END (1) "]}",
              false),
        0);
    has (&scene->notes, "not READY, so hosts may not answer; its state: REPAIRING\n");
    assert_has_not (&scene->notes, "health");
}

TEST_ON (scene, what_is_no_reachable_node_is_refused)
{
    static const char *const away[] = { "STOPPED", "STOPPING", "DELETING", "HIDDEN", "PREEMPTED", "TERMINATED" };
    for (size_t i = 0; i < sizeof away / sizeof away[0]; i++) {
        char json[200];
        snprintf (json, sizeof json, "{\"name\":\"n\",\"state\":\"%s\",\"networkEndpoints\":[" END (1) "]}", away[i]);
        refused (scene, json, ERR_STATE, away[i]);
    }
    refused (scene, "{\"name\":\"n\",\"state\":\"READY\"}", ERR_STATE, "networkEndpoints has 0 entries");
    refused (scene, "", ERR_PARSE, "not whole JSON");
    refused (scene, "{\"name\":", ERR_PARSE, "line 1, column 8: this is not whole JSON");
    refused (scene, "{\"name\":\"a\",\"name\":\"b\"}", ERR_PARSE, "not whole JSON");
    refused (scene, "[]", ERR_PARSE, "no node is here");
    refused (scene, "[7]", ERR_PARSE, "no node is here");
    refused (scene, "[" NODE ("") "," NODE ("") "]", ERR_USAGE, "describes 2 nodes, expected one: several slices");
    refused (scene, "{\"name\":7}", ERR_PARSE, "another type");
    refused (scene, "{\"name\":\"n\",\"state\":\"READY\",\"acceleratorConfig\":[]}", ERR_PARSE, "another type");
}

TEST_ON (scene, nothing_that_could_break_out_of_its_place_is_taken)
{
    static const char *const names[] = {
        "x\\\"\\n  launcher: local", "", "-x", "a b", "a'b", "$(x)", "p/l/z/n;m", "\\u001b[2J"
    };
    static const char *const addresses[] = {
        "", "10.0.0.1 ", "10.0.0", "a}", "fd00::1'", "10.0.0.1\\n", "example.com"
    };
    char json[400];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf (json, sizeof json, "{\"name\":\"%s\",\"state\":\"READY\",\"networkEndpoints\":[" END (1) "]}",
                  names[i]);
        refused (scene, json, ERR_PARSE, "the node's name is '");
    }
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
        snprintf (json, sizeof json,
                  "{\"name\":\"n\",\"state\":\"READY\",\"networkEndpoints\":[{\"ipAddress\":\"%s\"}]}", addresses[i]);
        refused (scene, json, ERR_PARSE, "worker 0 has the addresses '");
    }
    refused (scene,
             "{\"name\":\"n\",\"state\":\"READY\",\"networkEndpoints\":[{\"ipAddress\":\"10.0.0.1\",\"accessConfig\":{"
             "\"externalIp\":\"x\"}}]}",
             ERR_PARSE, "and 'x', expected IP");
    refused (scene,
             "{\"name\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"state\":\"READY\","
             "\"networkEndpoints\":[" END (1) "]}",
             ERR_USAGE, "give a --name");
    assert_int_equal (
        take (scene,
              "{\"name\":\"projects/a "
              "b/locations/z/nodes/n\",\"state\":\"READY\",\"id\":\"7'5\",\"networkEndpoints\":[" END (1) "]}",
              false),
        0);
    assert_true (text_is (scene->slice.gcloud, "n") && scene->slice.id.len == 0);
}

TEST_ON (scene, the_nodes_of_a_queued_resource_are_named)
{
    refused (
        scene,
        "{\"name\":\"projects/p/locations/z/queuedResources/qr\",\"tpu\":{\"nodeSpec\":[{\"parent\":\"projects/p/"
        "locations/z\","
        "\"nodeId\":\"one\"},{\"parent\":\"projects/p/locations/z\",\"multisliceParams\":{\"nodeCount\":2}},"
        "{\"parent\":\"projects/p/locations/z\",\"multiNodeParams\":{\"nodeCount\":1,\"nodeIdPrefix\":\"pre\"}}]}}",
        ERR_USAGE, "queued resource has no addresses");
    assert_string_equal (buf_c (&scene->notes),
                         "gcloud compute tpus tpu-vm describe one --project=p --zone=z --format=json > one.json\n"
                         "gcloud compute tpus tpu-vm describe qr-0 --project=p --zone=z --format=json > qr-0.json\n"
                         "gcloud compute tpus tpu-vm describe qr-1 --project=p --zone=z --format=json > qr-1.json\n"
                         "gcloud compute tpus tpu-vm describe pre-0 --project=p --zone=z --format=json > pre-0.json\n");
    refused (scene, "{\"tpu\":{\"nodeSpec\":[{\"nodeId\":\"a;rm\"}]}}", ERR_PARSE, "the node's name is 'a;rm'");
    refused (scene, "{\"tpu\":5}", ERR_PARSE, "tpu: expected");
}

/* ---- aliases ---- */

TEST_ON (scene, aliases_are_those_of_gclouds_file)
{
    static const char known[] =
        "# tpu.7519-0-commen\n"
        "other,tpu.7519-0-fl77Co ssh-ed25519 AAAA\n"
        "tpu.7519-0-a+/zZ9,x ssh-ed25519 AAAA\n"
        "tpu.7519-1-toolong ssh-rsa A\ntpu.7519-1-short ssh-rsa A\ntpu.7519-11 ssh-rsa A\ntpu.75191-1 ssh-rsa A\n"
        "tpu.7519-1x ssh-rsa A\ntpu.7519-1-a'b}cd ssh-rsa A\ntpu.7519-4294967297 ssh-rsa A\ntpu.7519-+1 ssh-rsa A\n"
        "tpu.7519-2 ssh-rsa A";
    assert_int_equal (take (scene, NODE (""), false), 0);
    tpu_node_find_aliases (text_of (known), &scene->arena, &scene->slice, &scene->notes);
    assert_text (scene->slice.hosts[0].host_key_alias, "tpu.7519-0-a+/zZ9");
    assert_text (scene->slice.hosts[1].host_key_alias, "tpu.7519-1");
    assert_string_equal (buf_c (&scene->notes),
                         "gcloud knows no host keys of v6e-1: run gcloud compute tpus tpu-vm ssh v6e --project=p-1 "
                         "--zone=us-east5-b --worker=all --command=true, and sliceup init again\n");
    assert_int_equal (take (scene, NODE (""), false), 0);
    tpu_node_find_aliases (TEXT_LIT ("tpu.7519-0 a b\r\ntpu.7519-1\ta b"), &scene->arena, &scene->slice, &scene->notes);
    assert_string_equal (buf_c (&scene->notes), "");
}

/* ---- writing ---- */

static void is_written (struct scene *scene, const struct first_slice *slice, const char *text)
{
    buf_clear (&scene->out);
    first_slice_write (slice, &scene->out);
    assert_string_equal (buf_c (&scene->out), text);
}

#define HEAD "# Written by sliceup init. Every key: docs/spec/configuration.md\n"
#define UNKNOWN                                                                                                        \
    "# No TPU is known here. On one: its machine: and topology:, profile: tpu-v6e, pins: jax-tpu, ladder: jax\n"
#define CACHE "cache: {mode: off}  # with a folder that all hosts share: {mode: single-writer, root: /the/folder}\n"

TEST_ON (scene, a_slice_file_has_what_is_known)
{
    struct first_host host = { TEXT_LIT ("n-0"), TEXT_LIT ("fd00::1"), TEXT_LIT ("34.0.0.1"),
                               TEXT_LIT ("tpu.1-0-a+/bcd") };
    struct first_slice slice = { .name = TEXT_LIT ("null"),
                                 .hosts = &host,
                                 .shape = { .hosts = 1, .topology = TEXT_LIT ("2x2") },
                                 .machine = { .id = TEXT_LIT ("ct6e-standard-4t") } };
    is_written (scene, &slice,
                HEAD
                "slice: 'null'\nlauncher: ssh\nhosts:  # in rank order; address: by which the other hosts reach it\n"
                "  - {name: n-0, address: 'fd00::1', ssh: {address: 34.0.0.1, host_key_alias: 'tpu.1-0-a+/bcd'}}\n"
                "ssh:\n  # user: NAME  # on the hosts; default: yours. OS Login has names of its own\n"
                "  identities: [~/.ssh/google_compute_engine]\n  known_hosts: ~/.ssh/google_compute_known_hosts\n"
                "machine: ct6e-standard-4t\ntopology: 2x2\nprofile: tpu-v6e\npins: jax-tpu\n" CACHE "ladder: jax\n");
    slice.user = TEXT_LIT ("u");
    slice.ladder = TEXT_LIT ("plain");
    buf_clear (&scene->out);
    first_slice_write (&slice, &scene->out);
    has (&scene->out, "ssh:\n  user: u\n  identities");
    has (&scene->out, "known_hosts\nprofile: plain\n" CACHE "ladder: plain\n");
    assert_has_not (&scene->out, "machine");
}

TEST_ON (scene, hosts_alone_get_the_plain_ladder)
{
    is_written (scene, &(struct first_slice){ .name = TEXT_LIT ("s"), .set = TEXT_LIT ("h[0-1], i") },
                HEAD "slice: s\nlauncher: ssh\nhosts: 'h[0-1], i'  # in rank order\n"
                     "# ssh: {user: NAME}  # on the hosts; default: yours\n" UNKNOWN "profile: plain\n" CACHE
                     "ladder: plain\n");
    is_written (scene, &(struct first_slice){ .name = TEXT_LIT ("s"), .ladder = TEXT_LIT ("torch-xla") },
                HEAD
                "slice: s\nlauncher: slurm\nhosts: {from: slurm}  # those of the allocation in which sliceup runs\n"
                "# slurm: {partition: NAME, account: NAME}\n" UNKNOWN
                "profile: cpu-torch-xla\npins: torch-xla-cpu\n" CACHE "ladder: torch-xla\n");
}

/* ---- machines ---- */

TEST_ON (scene, a_machine_type_is_found_by_its_slice)
{
    static const struct {
        const char *accelerator;
        uint32_t number, hosts;
        const char *topology, *id;
    } cases[] = {
        { "v6e", 0, 4, "4x4", "ct6e-standard-4t" },
        { "v6e", 16, 4, "", "ct6e-standard-4t" },
        { "v6e", 8, 1, "2x4", "ct6e-standard-8t" },
        { "v6e", 1, 1, "1x1", "ct6e-standard-1t" },
        { "v5p", 16, 2, "2x2x2", "ct5p-hightpu-4t" },
        { "v5p", 16, 2, "", "ct5p-hightpu-4t" },
        { "v5litepod", 0, 2, "2x4", "ct5lp-hightpu-4t" },
        { "v4", 0, 2, "2x2x2", "ct4p-hightpu-4t" },
        { "v6e", 0, 3, "4x4", "" },
        { "v6e", 16, 4, "4x4x1", "" },
        { "v6e", 16, 4, "16x1", "" },
        { "v6e", 16, 4, "4x4'", "" },
        { "v6e", 0, 4, "", "" },
        { "v3", 32, 4, "4x4", "ct3p-hightpu-4t" },
        { "v3", 32, 4, "", "ct3p-hightpu-4t" },
        { "v2", 8, 1, "", "tpu-v2-4t" },
        { "v3", 32, 3, "", "" },
        { "v9", 0, 4, "4x4", "" },
        { "", 0, 4, "", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct slice_shape shape = { text_of (cases[i].accelerator), text_of (cases[i].topology), cases[i].number,
                                           cases[i].hosts };
        struct machine_type found = { 0 };
        assert_int_equal (conf_find_machine (SLICEUP_SOURCE_DIR, &shape, &scene->arena, &found, &scene->err), 0);
        if (!text_is (found.id, cases[i].id))
            fail_msg ("case %zu: '%.*s', expected '%s'", i, TEXT_ARG (found.id), cases[i].id);
        bool known = cases[i].accelerator[0] && strcmp (cases[i].accelerator, "v9") != 0;
        assert_int_equal (found.accelerator.len > 0, known); /* hosts that do not add up are of a known kind */
    }
    const struct slice_shape shape = { 0 };
    assert_int_equal (conf_find_machine ("/nowhere", &shape, &scene->arena, &scene->slice.machine, &scene->err), -1);
}
