/* links: command */
/* What of a host no program may write: found by the names under which sliceup and its programs look for code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/path.h"
#include "common/io/atomic_file.h"
#include "worker/command/protected.h"

struct yard {
    char top[64], path[4096];
    struct arena arena;
    struct msg_run run;
    struct var vars[4];
    struct confine_more more;
    struct text loaded[3];
    uint32_t loaded_n;
};

static const char *path_of (struct yard *yard, const char *name)
{
    return text_format (&yard->arena, "%s/%s", yard->top, name).ptr;
}

static void make_folder (struct yard *yard, const char *name)
{
    assert_int_equal (folder_make (path_of (yard, name), 0755, NULL), 0);
}

static void make_program (struct yard *yard, const char *name)
{
    assert_int_equal (atomic_file_write (path_of (yard, name), "#!/bin/sh\n", 10, 0755, NULL), 0);
    assert_int_equal (chmod (path_of (yard, name), 0755), 0);
}

static int make (void **state)
{
    static struct yard made;
    struct yard *yard = &made;
    *state = yard;
    *yard = (struct yard) { .top = "/tmp/sliceup-protected-XXXXXX" };
    if (!mkdtemp (yard->top))
        return -1;
    snprintf (yard->path, sizeof yard->path, "%s", getenv ("PATH") ? getenv ("PATH") : "/usr/bin");
    yard->run.profile.env.items = yard->vars;
    return 0;
}

static int clean (void **state)
{
    struct yard *yard = *state;
    setenv ("PATH", yard->path, 1);
    arena_release (&yard->arena);
    return folder_remove (yard->top, NULL);
}

static void look (struct yard *yard, const char *program)
{
    struct order_place place = { .directory = TEXT_LIT ("/nowhere/w"), .loaded = { yard->loaded, yard->loaded_n } };
    protected_find (&yard->run, &place, program, &yard->arena, &yard->more);
    assert_false (yard->more.overflow);
}

static bool keeps (struct yard *yard, const char *name)
{
    for (uint32_t i = 0; i < yard->more.n; i++)
        if (path_is_below (path_of (yard, name), yard->more.protected[i]))
            return true;
    return false;
}

static void set_path (struct yard *yard, const char *first)
{
    setenv ("PATH", text_format (&yard->arena, "%s:%s", path_of (yard, first), yard->path).ptr, 1);
}

static void an_environment_on_the_path_is_kept_whole (void **state)
{
    struct yard *yard = *state;
    make_folder (yard, "venv/bin");
    make_folder (yard, "venv/lib/python3.11/site-packages");
    make_program (yard, "venv/bin/python3");
    set_path (yard, "venv/bin");
    look (yard, NULL);
    assert_true (keeps (yard, "venv/bin/python3"));
    assert_true (keeps (yard, "venv/lib/python3.11/site-packages/evil.pth"));
    assert_true (keeps (yard, "venv/pyvenv.cfg"));
    assert_false (keeps (yard, "venv"));
    assert_false (keeps (yard, "elsewhere"));
}

static void what_programs_of_the_path_load_is_kept_behind_a_slash_and_a_link (void **state)
{
    struct yard *yard = *state;
    make_folder (yard, "tools/bin");
    make_folder (yard, "tools/lib");
    make_program (yard, "tools/bin/tool");
    set_path (yard, "tools/bin/");
    look (yard, NULL);
    assert_true (keeps (yard, "tools/lib/libtool.so"));
    assert_int_equal (symlink (path_of (yard, "tools/bin"), path_of (yard, "link")), 0);
    set_path (yard, "link");
    look (yard, NULL);
    assert_true (keeps (yard, "tools/lib/libtool.so"));
    assert_true (keeps (yard, "link"));
}

static void an_interpreter_is_kept_where_its_link_leads (void **state)
{
    struct yard *yard = *state;
    make_folder (yard, "links");
    make_folder (yard, "py/bin");
    make_folder (yard, "py/lib");
    make_program (yard, "py/bin/python3");
    assert_int_equal (symlink (path_of (yard, "py/bin/python3"), path_of (yard, "links/python3")), 0);
    set_path (yard, "links");
    look (yard, NULL);
    assert_true (keeps (yard, "links/python3"));
    assert_true (keeps (yard, "py/bin/python3"));
    assert_true (keeps (yard, "py/lib/python3.11/os.py"));
}

static void what_a_profile_lets_programs_load_is_kept (void **state)
{
    struct yard *yard = *state;
    make_folder (yard, "lib");
    make_folder (yard, "modules");
    make_folder (yard, "preloaded");
    make_program (yard, "preloaded/x.so");
    yard->vars[0] = (struct var) { TEXT_LIT ("LD_LIBRARY_PATH"), text_format (&yard->arena, "/usr/lib:%s", path_of (yard, "lib")) };
    yard->vars[1] = (struct var) { TEXT_LIT ("LD_PRELOAD"), text_format (&yard->arena, "libm.so.6 %s", path_of (yard, "preloaded/x.so")) };
    yard->vars[2] = (struct var) { TEXT_LIT ("PYTHONPATH"), text_of (path_of (yard, "modules")) };
    yard->vars[3] = (struct var) { TEXT_LIT ("XLA_FLAGS"), text_format (&yard->arena, "--xla_dump_to=%s/dump", yard->top) };
    yard->run.profile.env.n = 4;
    look (yard, NULL);
    assert_true (keeps (yard, "lib/libtpu.so"));
    assert_true (keeps (yard, "preloaded/other.so"));
    assert_true (keeps (yard, "modules/sitecustomize.py"));
    assert_false (keeps (yard, "dump/a"));
}

static void files_and_caches_of_code_that_a_profile_names_are_kept (void **state)
{
    struct yard *yard = *state;
    make_folder (yard, "compiled");
    make_folder (yard, "perl");
    make_folder (yard, "job");
    make_program (yard, "job/env.sh");
    yard->vars[0] = (struct var) { TEXT_LIT ("PYTHONPYCACHEPREFIX"), text_of (path_of (yard, "compiled")) };
    yard->vars[1] = (struct var) { TEXT_LIT ("BASH_ENV"), text_of (path_of (yard, "job/env.sh")) };
    yard->vars[2] = (struct var) { TEXT_LIT ("PERL5LIB"), text_format (&yard->arena, "/usr/lib:%s", path_of (yard, "perl")) };
    yard->vars[3] = (struct var) { TEXT_LIT ("XDG_CACHE_HOME"), text_of (yard->top) };
    yard->run.profile.env.n = 4;
    look (yard, NULL);
    assert_true (keeps (yard, "compiled/tmp/x.pyc"));
    assert_true (keeps (yard, "job/env.sh"));
    assert_false (keeps (yard, "job/log"));
    assert_true (keeps (yard, "perl/strict.pm"));
    assert_false (keeps (yard, "other"));
}

static void what_an_interpreter_loads_is_kept_whole_but_for_an_open_place (void **state)
{
    struct yard *yard = *state;
    struct text writable = text_of (path_of (yard, "open"));
    make_folder (yard, "base/lib");
    make_folder (yard, "open/lib");
    make_folder (yard, "lib");
    make_program (yard, "lib/x.so");
    yard->run.cache.writable.items = &writable;
    yard->run.cache.writable.n = 1;
    yard->loaded[0] = text_of (path_of (yard, "lib/../base"));
    yard->loaded[1] = text_of (path_of (yard, "open"));
    yard->loaded[2] = text_of (path_of (yard, "lib/x.so"));
    yard->loaded_n = 3;
    look (yard, NULL);
    assert_true (keeps (yard, "base/pyvenv.cfg"));
    assert_true (keeps (yard, "open/lib/os.py"));
    assert_true (keeps (yard, "open/pyvenv.cfg"));
    assert_false (keeps (yard, "open/out"));
    assert_true (keeps (yard, "lib/x.so"));
    for (uint32_t i = 0; i < yard->more.n; i++)
        assert_null (strstr (yard->more.protected[i], ".."));
}

static void what_interprets_a_script_is_kept (void **state)
{
    struct yard *yard = *state;
    make_folder (yard, "job");
    make_folder (yard, "shells");
    make_folder (yard, "more");
    make_program (yard, "more/sh");
    const char *second = text_format (&yard->arena, "#!%s\n", path_of (yard, "more/sh")).ptr;
    assert_int_equal (atomic_file_write (path_of (yard, "shells/sh"), second, strlen (second), 0755, NULL), 0);
    const char *first = text_format (&yard->arena, "#!%s -e\n", path_of (yard, "shells/sh")).ptr;
    assert_int_equal (atomic_file_write (path_of (yard, "job/run"), first, strlen (first), 0755, NULL), 0);
    look (yard, path_of (yard, "job/run"));
    assert_true (keeps (yard, "shells/sh"));
    assert_true (keeps (yard, "more/sh"));
}

static void the_home_of_the_user_is_kept_where_programs_could_write_it (void **state)
{
    struct yard *yard = *state;
    const char *home = getenv ("HOME");
    const char *before = text_copy (&yard->arena, text_of (home ? home : "/")).ptr;
    make_folder (yard, "home");
    setenv ("HOME", path_of (yard, "home"), 1);
    look (yard, NULL);
    assert_true (keeps (yard, "home/.bashrc"));
    setenv ("HOME", "/tmp", 1); /* it cannot be closed whole */
    look (yard, NULL);
    assert_false (keeps (yard, "home/.bashrc"));
    setenv ("HOME", before, 1);
}

static void the_usual_folder_of_workers_is_kept_whoever_runs_here (void **state)
{
    struct yard *yard = *state;
    bool found = false;
    look (yard, NULL);
    for (uint32_t i = 0; i < yard->more.n; i++)
        found = found || path_is_below ("/var/tmp/sliceup/envs/x", yard->more.protected[i]);
    assert_true (found);
}

static void a_program_is_kept_with_what_lies_beside_it (void **state)
{
    struct yard *yard = *state;
    make_folder (yard, "train");
    make_program (yard, "train/run.sh");
    look (yard, path_of (yard, "train/run.sh"));
    assert_true (keeps (yard, "train/config.py"));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (an_environment_on_the_path_is_kept_whole, make, clean),
        cmocka_unit_test_setup_teardown (what_programs_of_the_path_load_is_kept_behind_a_slash_and_a_link, make, clean),
        cmocka_unit_test_setup_teardown (an_interpreter_is_kept_where_its_link_leads, make, clean),
        cmocka_unit_test_setup_teardown (what_a_profile_lets_programs_load_is_kept, make, clean),
        cmocka_unit_test_setup_teardown (files_and_caches_of_code_that_a_profile_names_are_kept, make, clean),
        cmocka_unit_test_setup_teardown (what_an_interpreter_loads_is_kept_whole_but_for_an_open_place, make, clean),
        cmocka_unit_test_setup_teardown (what_interprets_a_script_is_kept, make, clean),
        cmocka_unit_test_setup_teardown (the_home_of_the_user_is_kept_where_programs_could_write_it, make, clean),
        cmocka_unit_test_setup_teardown (the_usual_folder_of_workers_is_kept_whoever_runs_here, make, clean),
        cmocka_unit_test_setup_teardown (a_program_is_kept_with_what_lies_beside_it, make, clean),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
