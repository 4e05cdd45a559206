/* links: story conf */
/* Every file of configs/ is loaded here, found by listing the folders: a file that nobody loads cannot stay. */
#include <dirent.h>

#include "common/conf/conf.h"
#include "common/conf/conf_keys.h"
#include "test.h"

static uint32_t each_file (const char *folder, const char *extension, void (*load) (const char *path))
{
    char path[4096];
    struct dirent *entry;
    uint32_t n = 0;
    snprintf (path, sizeof path, "%s/configs/%s", SLICEUP_SOURCE_DIR, folder);
    DIR *open_folder = opendir (path);
    assert_non_null (open_folder);
    while ((entry = readdir (open_folder))) {
        if (entry->d_name[0] == '.')
            continue;
        const char *end = strrchr (entry->d_name, '.');
        assert_non_null (end);
        assert_string_equal (end, extension);
        snprintf (path, sizeof path, "%s/configs/%s/%s", SLICEUP_SOURCE_DIR, folder, entry->d_name);
        load (path);
        n++;
    }
    closedir (open_folder);
    return n;
}

/* Prints what is wrong, so that a failing run explains itself. Returns the number of warnings. */
static uint32_t load (struct conf_options options, struct arena *arena, struct plan *plan)
{
    struct conf_report report;
    struct err err;
    options.share_dir = SLICEUP_SOURCE_DIR;
    options.home = "/var/lib/sliceup";
    options.user_home = "/home/somebody";
    int result = conf_load (&options, arena, plan, &report, &err);
    for (uint32_t i = 0; result != 0 && i < report.n; i++)
        print_error ("%s:%u:%u: %s\n", report.items[i].file, report.items[i].line, report.items[i].column,
                     report.items[i].text);
    assert_int_equal (result, 0);
    return report.n;
}

static void load_slice (const char *path)
{
    struct arena arena = { 0 };
    struct plan plan;
    uint32_t warnings = load ((struct conf_options){ .slice_path = path }, &arena, &plan), elsewhere = 0;
    /* The one warning shipped files may have: local hosts that are not this machine. */
    for (uint32_t i = 0; i < plan.hosts.n && plan.launcher == LAUNCHER_LOCAL; i++)
        elsewhere += !text_is (plan.hosts.items[i].address, "127.0.0.1");
    assert_int_equal (warnings, elsewhere);
    arena_release (&arena);
}

static void load_around (const char *format, const char *path, const char *profile, const char *ladder,
                         const char *pins)
{
    char folder[] = "/tmp/sliceup-configs-XXXXXX", slice[64], text[8192];
    struct arena arena = { 0 };
    struct plan plan;
    assert_non_null (mkdtemp (folder));
    snprintf (slice, sizeof slice, "%s/slice.yaml", folder);
    snprintf (text, sizeof text, format, path);
    FILE *file = fopen (slice, "we");
    assert_non_null (file);
    assert_true (fputs (text, file) >= 0);
    assert_int_equal (fclose (file), 0);
    struct conf_options options = { .slice_path = slice, .profile = profile, .ladder = ladder, .pins = pins };
    assert_int_equal (load (options, &arena, &plan), 0);
    assert_true (plan.rungs.n > 0);
    arena_release (&arena);
    assert_int_equal (unlink (slice), 0);
    assert_int_equal (rmdir (folder), 0);
}

/* A rung that every profile can run. */
static const char slice_text[] = "slice: x\nhosts: a[0-1]\nprofile: plain\nladder: plain\npins: jax-cpu\n# %s\n";
static const char signatures_text[] = "slice: x\nhosts: a\nprofile: plain\nladder: plain\nsignatures: ['%s']\n";

static const char bundles_text[] = "slice: x\nhosts: a\nprofile: plain\nladder: plain\nbundles: ['%s']\n";

static void load_profile (const char *path)
{
    bool tpu = strstr (path, "tpu") != NULL;
    load_around (slice_text, tpu ? "\nmachine: ct6e-standard-4t" : "", path, "plain", NULL);
}

static void load_ladder (const char *path)
{
    bool is_jax = strstr (path, "/jax") != NULL; /* jax.yaml, jax-aot.yaml */
    bool is_torch = strstr (path, "/torch-xla") != NULL;
    load_around (slice_text, "", is_jax ? "cpu-jax" : is_torch ? "cpu-torch-xla" : "plain", path, NULL);
}

static void load_pins (const char *path)
{
    load_around (slice_text, "", "cpu-jax", "jax", path);
}

static void load_signatures (const char *path)
{
    load_around (signatures_text, path, NULL, NULL, NULL);
}

TEST (every_slice_is_valid)
{
    assert_int_not_equal (each_file ("slices", ".yaml", load_slice), 0);
}

TEST (every_profile_is_valid)
{
    assert_int_not_equal (each_file ("profiles", ".yaml", load_profile), 0);
}

TEST (every_ladder_is_valid)
{
    assert_int_not_equal (each_file ("ladders", ".yaml", load_ladder), 0);
}

TEST (every_signature_list_is_valid)
{
    assert_int_not_equal (each_file ("signatures", ".yaml", load_signatures), 0);
}

static void load_bundles (const char *path)
{
    load_around (bundles_text, path, NULL, NULL, NULL);
}

TEST (every_bundle_list_is_valid)
{
    assert_int_not_equal (each_file ("bundles", ".yaml", load_bundles), 0);
}

static void load_drift (const char *path)
{
    struct arena arena = { 0 };
    struct drift_rules rules;
    struct conf_report report;
    struct err err = { 0 };
    if (conf_load_drift (SLICEUP_SOURCE_DIR, path, &arena, &rules, &report, &err) != 0)
        fail_msg ("%s", err.text);
    assert_true (rules.n > 0);
    arena_release (&arena);
}

TEST (every_drift_policy_is_valid)
{
    assert_int_not_equal (each_file ("drift", ".yaml", load_drift), 0);
}

TEST (every_pin_set_can_be_named)
{
    assert_int_not_equal (each_file ("pins", ".txt", load_pins), 0);
}

TEST (configs_holds_nothing_else)
{
    static const char
        *const known[] = { ".",       "..",    "slices", "profiles", "ladders", "signatures",
                           "bundles", "drift", "pins",   "machines", "recipes" /* tests/integration/test_init.py */ };
    DIR *folder = opendir (SLICEUP_SOURCE_DIR "/configs");
    struct dirent *entry;
    assert_non_null (folder);
    while ((entry = readdir (folder))) {
        bool found = false;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            found = found || strcmp (entry->d_name, known[i]) == 0;
        if (!found)
            fail_msg ("configs/%s is loaded by no test", entry->d_name);
    }
    closedir (folder);
}

TEST (the_local_slice_is_what_it_says)
{
    struct plan plan;
    load ((struct conf_options){ .slice_path = "local-jax" }, &t->arena, &plan);
    assert_int_equal (plan.hosts.n, 4);
    assert_int_equal (mesh_devices (&plan.mesh), 8);
    assert_text (plan.cache.writer, "local0");
    assert_text (plan.cache.root, "/var/lib/sliceup/cache");
    assert_text (plan.pins.name, "jax-cpu");
    int collective = plan_rung_index (&plan, TEXT_LIT ("collective"));
    assert_true (collective >= 0);
    assert_int_equal (plan.rungs.items[collective].warm, WARM_GANG);
    assert_true (plan.rungs.items[collective].metrics.n > 0);
}

TEST (the_slices_of_real_hosts_are_what_they_say)
{
    struct plan plan;
    load ((struct conf_options){ .slice_path = "tpu-v6e-16" }, &t->arena, &plan);
    assert_int_equal (plan.launcher, LAUNCHER_SSH);
    assert_int_equal (plan.hosts.n, 4);
    assert_int_equal (mesh_devices (&plan.mesh), 16);
    assert_true (text_is (plan.profile.accelerator, "v6e-16") && plan.profile.devices_per_host == 4);
    assert_true (plan.profile.host_env.set.n >= 17 && plan.profile.host_env.unset.n >= 3);
    assert_true (text_is (plan.hosts.items[3].address, "10.0.0.4") && text_is (plan.hosts.items[3].ssh.user, "tpu"));
    assert_true (text_starts (plan.pins.env_dir, "/var/tmp/sliceup/envs/"));
    load ((struct conf_options){ .slice_path = "ssh-example" }, &t->arena, &plan);
    assert_true (plan.launcher == LAUNCHER_SSH && text_is (plan.hosts.items[3].address, "node-3"));
    assert_text (plan.start.ssh.known_hosts, "/home/somebody/.ssh/known_hosts");
}

TEST (what_follows_from_a_machine_is_what_its_slices_are)
{
    static const char slice[] =
        "slice: x\nhosts: a[1-%s\nlauncher: join\ncoordinator: {address: c, control_port: 1, bulk_port: 2, "
        "events_port: 3}\nladder: plain\npins: jax-tpu\ncache: {mode: off}\n";
    static const struct {
        const char *hosts, *profile, *accelerator, *bounds, *chips, *type, *topology;
        uint32_t devices;
    } cases[] = {
        { "4]\nmachine: ct6e-standard-4t\ntopology: 4x4", "tpu-v6e", "v6e-16", "2,2,1", "0,1,2,3", "v6e-4", "2x2", 4 },
        { "1]\nmachine: ct6e-standard-8t\ntopology: 2x4", "tpu-v6e", "v6e-8", "2,4,1", "0,1,2,3,4,5,6,7", "v6e-8",
          "2x4", 8 },
        { "2]\nmachine: ct6e-standard-4t\ntopology: 2x4", "tpu-v6e", "v6e-8", "2,2,1", "0,1,2,3", "v6e-4", "2x2", 4 },
        { "2]\nmachine: ct5p-hightpu-4t\ntopology: 2x2x2", "tpu-v6e", "v5p-16", "2,2,1", "0,1,2,3", "v5p-8", "2x2x1",
          4 },
        { "32]\nmachine: ct4p-hightpu-4t\ntopology: 4x4x8", "tpu-v6e", "v4-256", "2,2,1", "0,1,2,3", "v4-8", "2x2x1",
          4 },
        { "4]\nmachine: tpu7x-standard-4t\ntopology: 2x2x4", "tpu-v6e", "tpu7x-32", "2,2,1", "0,1,2,3", "tpu7x-8",
          "2x2x1", 8 },
        { "4]\nmachine: ct5lp-hightpu-4t\ntopology: 4x4", "tpu-v6e-torch-xla", "v5litepod-16", "2,2,1", NULL,
          "v5litepod-4", "2x2", 4 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char folder[] = "/tmp/sliceup-configs-XXXXXX", path[64], text[1024];
        struct arena arena = { 0 };
        struct plan plan;
        assert_non_null (mkdtemp (folder));
        snprintf (path, sizeof path, "%s/slice.yaml", folder);
        int n = snprintf (text, sizeof text, slice, cases[i].hosts);
        snprintf (text + n, sizeof text - (size_t) n, "profile: %s\n", cases[i].profile);
        FILE *file = fopen (path, "we");
        assert_true (file && fputs (text, file) >= 0 && fclose (file) == 0);
        load ((struct conf_options){ .slice_path = path }, &arena, &plan);
        const struct profile *profile = &plan.profile;
        struct text value = { 0 };
        assert_int_equal (profile->devices_per_host, cases[i].devices);
        assert_text (profile->accelerator, cases[i].accelerator);
        assert_true (var_find (&profile->host_env.set, TEXT_LIT ("TPU_HOST_BOUNDS"), &value) &&
                     text_is (value, "1,1,1"));
        assert_true (var_find (&profile->host_env.set, TEXT_LIT ("TPU_CHIPS_PER_HOST_BOUNDS"), &value) &&
                     text_is (value, cases[i].bounds));
        assert_true (var_find (&profile->host_env.set, TEXT_LIT ("TPU_ACCELERATOR_TYPE"), &value) &&
                     text_is (value, cases[i].type));
        assert_true (var_find (&profile->host_env.set, TEXT_LIT ("TPU_TOPOLOGY"), &value) &&
                     text_is (value, cases[i].topology));
        bool visible = var_find (&profile->host_env.set, TEXT_LIT ("TPU_VISIBLE_CHIPS"), &value);
        assert_true (visible == (cases[i].chips != NULL) && (!visible || text_is (value, cases[i].chips)));
        bool unset = text_is_among (TEXT_LIT ("TPU_PROCESS_BOUNDS"), profile->host_env.unset.items,
                                    profile->host_env.unset.n);
        assert_true (unset == !visible); /* torch_xla sets that name itself */
        arena_release (&arena);
        assert_int_equal (unlink (path) | rmdir (folder), 0);
    }
}

TEST (texts_of_peers_are_marked)
{
    static const char *const peers[] = { "peer-died", "peer-heartbeat", "peer-barrier", "gloo-reduce" };
    struct plan plan;
    load ((struct conf_options){ .slice_path = "local-jax" }, &t->arena, &plan);
    for (size_t p = 0; p < sizeof peers / sizeof peers[0]; p++) {
        bool marked = false;
        for (uint32_t i = 0; i < plan.signatures.n; i++)
            marked = marked || (text_is (plan.signatures.items[i].id, peers[p]) && plan.signatures.items[i].peer);
        if (!marked)
            fail_msg ("%s is not marked as a peer's text", peers[p]);
    }
}

static char *read_whole (const char *path)
{
    static char bytes[1 << 20];
    FILE *file = fopen (path, "re");
    assert_non_null (file);
    size_t n = fread (bytes, 1, sizeof bytes - 1, file);
    assert_int_equal (fclose (file), 0);
    bytes[n] = '\0';
    return bytes;
}

/* In the order of the page; NULL ends the list. */
static const struct section_schema *const conf_sections[] = {
    &slice_section,     &host_section,        &ssh_route_section,  &from_section,
    &start_section,     &coordinator_section, &ssh_section,        &slurm_section,
    &pins_section,      &cache_section,       &limits_section,     &on_end_section,
    &profile_section,   &ladder_section,      &rung_section,       &signatures_section,
    &signature_section, &bundles_section,     &bundle_section,     &machines_section,
    &machine_section,   &drifts_section,      &drift_rule_section, NULL
};

/* The section as a table in Markdown, as docs/spec/configuration.md must hold it. */
static void section_reference (const struct section_schema *section, struct buf *out)
{
    buf_puts (out, "| key | value | default | meaning |\n|---|---|---|---|\n");
    for (uint32_t i = 0; i < section->keys_n; i++) {
        const struct conf_key *key = &section->keys[i];
        buf_printf (out, "| `%s` | ", key->name);
        key_describe_value (key, out);
        if (key->fallback)
            buf_printf (out, " | `%s` | %s |\n", key->fallback, key->help);
        else
            buf_printf (out, " | %s | %s |\n", key->required ? "required" : "", key->help);
    }
}

TEST (the_reference_holds_every_key_as_the_table_has_it)
{
    const char *page = read_whole (SLICEUP_SOURCE_DIR "/docs/spec/configuration.md");
    for (const struct section_schema *const *section = conf_sections; *section; section++) {
        struct buf table;
        buf_init (&table, 1 << 16);
        section_reference (*section, &table);
        if (!strstr (page, buf_c (&table))) {
            fprintf (stderr, "%s", buf_c (&table)); /* longer than what cmocka prints */
            fail_msg ("docs/spec/configuration.md lacks this table of %s", (*section)->name);
        }
        buf_release (&table);
    }
}
