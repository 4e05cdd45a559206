/* links: conf */
#include "tests/lib/conf_share.h"

#include "common/base/digest.h"
#include "common/base/path.h"
#include "common/base/text.h"
#include "common/model/kit.h"
#include "test.h"

TEST_FIXTURE (struct share, share_open, share_close)

/* The one rung of a ladder with this program. */
static const struct rung *plan_of (struct share *share, const char *kind, const char *program)
{
    char ladder[256];
    snprintf (ladder, sizeof ladder, "ladder: l\nrungs:\n  - {id: a, %s: %s}\n", kind, program);
    write_text (share, "configs/ladders/l.yaml", ladder);
    share_load (share);
    if (share->result)
        dump (share);
    assert_int_equal (share->result, 0);
    return &share->plan.rungs.items[0];
}

static const struct rung *plan (struct share *share, const char *canary)
{
    return plan_of (share, "canary", canary);
}

static const struct kit_file *find (const struct rung *rung, const char *name)
{
    for (uint32_t i = 0; i < rung->files.n; i++)
        if (text_is (rung->files.items[i].name, name))
            return &rung->files.items[i];
    return NULL;
}

static void are (const struct rung *rung, uint32_t n, const char *const names[])
{
    for (uint32_t i = 0; i < n; i++)
        if (!find (rung, names[i]))
            fail_msg ("%s is not among the %u files", names[i], rung->files.n);
    assert_int_equal (rung->files.n, n);
    assert_text (rung->files.items[0].name, names[0]);
}
#define FILE_NAMES(...) ((const char *[]){ __VA_ARGS__ })
#define ARE(rung, ...) are (rung, sizeof FILE_NAMES (__VA_ARGS__) / sizeof (char *), FILE_NAMES (__VA_ARGS__))

TEST_ON (share, a_canary_takes_its_module_and_the_helper_above_it)
{
    char hex[DIGEST_HEX_BYTES];
    write_text (share, "worker/canaries/sliceup_canary.py", "import json\n");
    write_text (share, "worker/canaries/jax/sliceup_jax.py", "import sliceup_canary\n");
    write_text (share, "worker/canaries/jax/other.py", "import sliceup_jax\n");
    write_text (share, "worker/canaries/jax/tiny.py", "import sliceup_jax\n");
    const struct rung *rung = plan (share, "jax/tiny.py");
    ARE (rung, "jax/tiny.py", "sliceup_canary.py", "jax/sliceup_jax.py");
    assert_text (rung->files.items[0].file.path, rung->program.path);
    assert_text (rung->files.items[0].file.sha256, rung->program.sha256);
    struct digest digest = digest_of ("import json\n", 12);
    const struct kit_file *helper = find (rung, "sliceup_canary.py");
    assert_text (helper->file.sha256, digest_hex (&digest, hex));
    assert_true (helper->file.path.ptr[0] == '/' && text_is (path_name (helper->file.path), "sliceup_canary.py"));
    assert_true (record_check (&rung_record, rung, NULL));
}

TEST_ON (share, a_canary_of_ones_own_takes_the_installed_helper)
{
    write_text (share, "worker/canaries/sliceup_canary.py", "");
    ARE (plan (share, "./own.py"), "own.py", "sliceup_canary.py");
    write_text (share, "configs/ladders/sliceup_canary.py", "import own\n");
    const struct rung *rung = plan (share, "./own.py");
    ARE (rung, "own.py", "sliceup_canary.py");
    /* The one beside it comes first. */
    assert_has (rung->files.items[1].file.path, "/configs/ladders/");
}

TEST_ON (share, a_helper_up_to_two_folders_above_is_the_top_of_the_kit)
{
    write_text (share, "sliceup_canary.py", "");
    ARE (plan (share, "./own.py"), "configs/ladders/own.py", "sliceup_canary.py");
    write_text (share, "configs/sliceup_canary.py", "");
    write_text (share, "configs/ladders/own.py", "import a\n");
    write_text (share, "configs/ladders/a.py", "");
    ARE (plan (share, "./own.py"), "ladders/own.py", "sliceup_canary.py", "ladders/a.py");
}

TEST_ON (share, without_a_helper_it_goes_alone)
{
    ARE (plan (share, "jax/tiny.py"), "tiny.py");
}

TEST_ON (share, imports_are_found_by_their_lines)
{
    static const char *const lines[] = {
        "import mod\n",
        "import  mod as m\n",
        "\timport mod\n",
        "import os, mod\n",
        "import os as o , mod.sub as s, sys\n",
        "from mod import x\n",
        "from mod.sub import (\n",
        "x = 1\nimport mod",
        "import mod\r\n",
        "import mod;import os\n",
        "import mod # why\n",
        "from mod \\\n    import x\n",
    };
    static const char *const others[] = {
        "# import mod\n",
        "imports mod\n",
        "import modern\n",
        "x = 'import mod'\n",
        "from . import mod\n",
        "import .mod\n",
        "from os import mod\n",
        "importmod\n",
        "import\n",
        "from\n",
        "import ,,\n",
        "",
        "\n\n",
        "import Mod\n",
        "from mo d import x\n",
        "from mod to the next\n",
        "import mod first\n",
    };
    write_text (share, "configs/ladders/mod.py", "");
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        write_text (share, "configs/ladders/own.py", lines[i]);
        if (!find (plan (share, "./own.py"), "mod.py"))
            fail_msg ("not found in: %s", lines[i]);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        write_text (share, "configs/ladders/own.py", others[i]);
        if (find (plan (share, "./own.py"), "mod.py"))
            fail_msg ("found in: %s", others[i]);
    }
}

TEST_ON (share, imports_are_followed_and_circles_end)
{
    write_text (share, "configs/ladders/own.py", "import a\nimport a\n");
    write_text (share, "configs/ladders/a.py", "from b import x\nimport own\n");
    write_text (share, "configs/ladders/b.py", "import a\n");
    write_text (share, "configs/ladders/c.py", "");
    ARE (plan (share, "./own.py"), "own.py", "a.py", "b.py");
}

#define OURS                                                                                                           \
    "sliceup/sliceup_program.py", "sliceup/sliceup_program_children.py", "sliceup/sliceup_torch_xla_client.py",        \
        "sliceup/sliceup_canary.py"

TEST_ON (share, a_command_takes_along_what_its_program_imports_and_nothing_else)
{
    write_text (share, "worker/canaries/sliceup_canary.py", "");
    for (int i = 0; i < 2; i++) {
        char folder[128];
        snprintf (folder, sizeof folder, "%s/worker/canaries/%s", share->root, i ? "program" : "torch_xla");
        assert_int_equal (mkdir (folder, 0700), 0);
    }
    write_text (share, "worker/canaries/program/sliceup_program.py", "");
    write_text (share, "worker/canaries/program/sliceup_program_children.py", "");
    write_text (share, "worker/canaries/torch_xla/sliceup_torch_xla_client.py", "");
    write_text (share, "configs/ladders/a.py", "");
    write_text (share, "configs/ladders/own.py", "\"\"\"Counts\nfrom a to b.\"\"\"\n");
    ARE (plan_of (share, "command", "[python3, ./own.py]"), "own.py");
    write_text (share, "configs/ladders/own.py", "import a\n");
    ARE (plan_of (share, "command", "[python3, ./own.py]"), "own.py", "a.py");
    write_text (share, "configs/ladders/a.py", "if True: import sliceup_program\n");
    ARE (plan_of (share, "command", "[python3, ./own.py]"), "own.py", "a.py", OURS);
    /* What nobody reads here may import it. */
    ARE (plan_of (share, "command", "[python3, /opt/own.py]"), OURS);
    assert_int_equal (plan_of (share, "command", "[sh, /opt/own.sh]")->files.n, 0);
}

TEST_ON (share, a_name_that_no_host_may_use_is_replaced)
{
    write_text (share, "configs/ladders/my own.py", "import a\n");
    write_text (share, "configs/ladders/a.py", "");
    const struct rung *rung = plan (share, "'./my own.py'");
    ARE (rung, "sliceup-program.py", "a.py");
    assert_text (path_name (rung->program.path), "my own.py");
}

TEST_ON (share, too_many_modules_are_refused)
{
    char imports[2048] = "", name[32];
    for (int i = 0; i < KIT_FILES_MAX; i++) {
        snprintf (imports + strlen (imports), sizeof imports - strlen (imports), "import m%d\n", i);
        snprintf (name, sizeof name, "configs/ladders/m%d.py", i);
        write_text (share, name, "");
    }
    write_text (share, "configs/ladders/own.py", imports);
    write_text (share, "configs/ladders/l.yaml", "ladder: l\nrungs:\n  - {id: a, canary: ./own.py}\n");
    assert_int_equal (share_load (share), -1);
    assert_int_equal (share->report.n, 1);
    assert_has (line_of (share, 0), "configs/ladders/l.yaml:3:21: this program and the modules that it imports from");
}

TEST_ON (share, a_module_that_is_too_large_is_refused_where_the_canary_stands)
{
    char *large = malloc ((1 << 20) + 1);
    assert_non_null (large);
    memset (large, '#', (1 << 20) + 1);
    write_text (share, "configs/ladders/a.py", "");
    write_file (share, "configs/ladders/a.py", large, (1 << 20) + 1);
    free (large);
    write_text (share, "configs/ladders/own.py", "import a\n");
    write_text (share, "configs/ladders/l.yaml", "ladder: l\nrungs:\n  - {id: a, canary: ./own.py}\n");
    assert_int_equal (share_load (share), -1);
    assert_has (line_of (share, 0), "configs/ladders/l.yaml:3:21: module ");
    assert_has (line_of (share, 0), "the file is larger than 1 MiB");
}
