/* alone: attempt */
/* What of a host no program may write: found by the names under which sliceup and its programs look for code. */

#include "common/base/path.h"
#include "common/base/text.h"
#include "common/io/atomic_file.h"
#include "test.h"
#include "worker/attempt/protected_paths.h"

struct fixture {
    char top[64], path[4096];
    struct arena arena;
    struct msg_run run;
    struct var vars[4];
    struct protected_paths paths;
    struct text loaded[3];
    uint32_t loaded_n;
};

static const char *path_of (struct fixture *fixture, const char *name)
{
    return text_format (&fixture->arena, "%s/%s", fixture->top, name).ptr;
}

static void make_folder (struct fixture *fixture, const char *name)
{
    assert_int_equal (folder_make (path_of (fixture, name), 0755, NULL), 0);
}

static void make_program (struct fixture *fixture, const char *name)
{
    assert_int_equal (atomic_file_write (path_of (fixture, name), "#!/bin/sh\n", 10, 0755, NULL), 0);
    assert_int_equal (chmod (path_of (fixture, name), 0755), 0);
}

static void fixture_open (struct fixture *fixture)
{
    *fixture = (struct fixture){ .top = "/tmp/sliceup-protected-XXXXXX" };
    assert_true (mkdtemp (fixture->top));
    snprintf (fixture->path, sizeof fixture->path, "%s", getenv ("PATH") ? getenv ("PATH") : "/usr/bin");
    fixture->run.profile.env.items = fixture->vars;
}

static void fixture_close (struct fixture *fixture)
{
    setenv ("PATH", fixture->path, 1);
    arena_release (&fixture->arena);
    assert_int_equal (folder_remove (fixture->top, NULL), 0);
}

TEST_FIXTURE (struct fixture, fixture_open, fixture_close)

static void look (struct fixture *fixture, const char *program)
{
    struct command_context context = { .directory = TEXT_LIT ("/nowhere/w"),
                                       .loaded = { fixture->loaded, fixture->loaded_n } };
    protected_find (&fixture->run, &context, program, &fixture->arena, &fixture->paths);
    assert_false (fixture->paths.overflow);
}

static bool keeps (struct fixture *fixture, const char *name)
{
    for (uint32_t i = 0; i < fixture->paths.n; i++)
        if (path_is_below (path_of (fixture, name), fixture->paths.protected[i]))
            return true;
    return false;
}

static void set_path (struct fixture *fixture, const char *first)
{
    setenv ("PATH", text_format (&fixture->arena, "%s:%s", path_of (fixture, first), fixture->path).ptr, 1);
}

TEST_ON (fixture, an_environment_on_the_path_is_kept_whole)
{
    make_folder (fixture, "venv/bin");
    make_folder (fixture, "venv/lib/python3.11/site-packages");
    make_program (fixture, "venv/bin/python3");
    set_path (fixture, "venv/bin");
    look (fixture, NULL);
    assert_true (keeps (fixture, "venv/bin/python3"));
    assert_true (keeps (fixture, "venv/lib/python3.11/site-packages/evil.pth"));
    assert_true (keeps (fixture, "venv/pyvenv.cfg"));
    assert_false (keeps (fixture, "venv"));
    assert_false (keeps (fixture, "elsewhere"));
}

TEST_ON (fixture, what_programs_of_the_path_load_is_kept_behind_a_slash_and_a_link)
{
    make_folder (fixture, "tools/bin");
    make_folder (fixture, "tools/lib");
    make_program (fixture, "tools/bin/tool");
    set_path (fixture, "tools/bin/");
    look (fixture, NULL);
    assert_true (keeps (fixture, "tools/lib/libtool.so"));
    assert_int_equal (symlink (path_of (fixture, "tools/bin"), path_of (fixture, "link")), 0);
    set_path (fixture, "link");
    look (fixture, NULL);
    assert_true (keeps (fixture, "tools/lib/libtool.so"));
    assert_true (keeps (fixture, "link"));
}

TEST_ON (fixture, an_interpreter_is_kept_where_its_link_leads)
{
    make_folder (fixture, "links");
    make_folder (fixture, "py/bin");
    make_folder (fixture, "py/lib");
    make_program (fixture, "py/bin/python3");
    assert_int_equal (symlink (path_of (fixture, "py/bin/python3"), path_of (fixture, "links/python3")), 0);
    set_path (fixture, "links");
    look (fixture, NULL);
    assert_true (keeps (fixture, "links/python3"));
    assert_true (keeps (fixture, "py/bin/python3"));
    assert_true (keeps (fixture, "py/lib/python3.11/os.py"));
}

TEST_ON (fixture, what_a_profile_lets_programs_load_is_kept)
{
    make_folder (fixture, "lib");
    make_folder (fixture, "modules");
    make_folder (fixture, "preloaded");
    make_program (fixture, "preloaded/x.so");
    fixture->vars[0] = (struct var){ TEXT_LIT ("LD_LIBRARY_PATH"),
                                     text_format (&fixture->arena, "/usr/lib:%s", path_of (fixture, "lib")) };
    fixture->vars[1] = (struct var){ TEXT_LIT ("LD_PRELOAD"), text_format (&fixture->arena, "libm.so.6 %s",
                                                                           path_of (fixture, "preloaded/x.so")) };
    fixture->vars[2] = (struct var){ TEXT_LIT ("PYTHONPATH"), text_of (path_of (fixture, "modules")) };
    fixture->vars[3] = (struct var){ TEXT_LIT ("XLA_FLAGS"),
                                     text_format (&fixture->arena, "--xla_dump_to=%s/dump", fixture->top) };
    fixture->run.profile.env.n = 4;
    look (fixture, NULL);
    assert_true (keeps (fixture, "lib/libtpu.so"));
    assert_true (keeps (fixture, "preloaded/other.so"));
    assert_true (keeps (fixture, "modules/sitecustomize.py"));
    assert_false (keeps (fixture, "dump/a"));
}

TEST_ON (fixture, files_and_caches_of_code_that_a_profile_names_are_kept)
{
    make_folder (fixture, "compiled");
    make_folder (fixture, "perl");
    make_folder (fixture, "job");
    make_program (fixture, "job/env.sh");
    fixture->vars[0] = (struct var){ TEXT_LIT ("PYTHONPYCACHEPREFIX"), text_of (path_of (fixture, "compiled")) };
    fixture->vars[1] = (struct var){ TEXT_LIT ("BASH_ENV"), text_of (path_of (fixture, "job/env.sh")) };
    fixture->vars[2] = (struct var){ TEXT_LIT ("PERL5LIB"),
                                     text_format (&fixture->arena, "/usr/lib:%s", path_of (fixture, "perl")) };
    fixture->vars[3] = (struct var){ TEXT_LIT ("XDG_CACHE_HOME"), text_of (fixture->top) };
    fixture->run.profile.env.n = 4;
    look (fixture, NULL);
    assert_true (keeps (fixture, "compiled/tmp/x.pyc"));
    assert_true (keeps (fixture, "job/env.sh"));
    assert_false (keeps (fixture, "job/log"));
    assert_true (keeps (fixture, "perl/strict.pm"));
    assert_false (keeps (fixture, "other"));
}

TEST_ON (fixture, what_an_interpreter_loads_is_kept_whole_but_for_an_open_place)
{
    struct text writable = text_of (path_of (fixture, "open"));
    make_folder (fixture, "base/lib");
    make_folder (fixture, "open/lib");
    make_folder (fixture, "lib");
    make_program (fixture, "lib/x.so");
    fixture->run.cache.writable.items = &writable;
    fixture->run.cache.writable.n = 1;
    fixture->loaded[0] = text_of (path_of (fixture, "lib/../base"));
    fixture->loaded[1] = text_of (path_of (fixture, "open"));
    fixture->loaded[2] = text_of (path_of (fixture, "lib/x.so"));
    fixture->loaded_n = 3;
    look (fixture, NULL);
    assert_true (keeps (fixture, "base/pyvenv.cfg"));
    assert_true (keeps (fixture, "open/lib/os.py"));
    assert_true (keeps (fixture, "open/pyvenv.cfg"));
    assert_false (keeps (fixture, "open/out"));
    assert_true (keeps (fixture, "lib/x.so"));
    for (uint32_t i = 0; i < fixture->paths.n; i++)
        assert_has_not (fixture->paths.protected[i], "..");
}

TEST_ON (fixture, what_interprets_a_script_is_kept)
{
    make_folder (fixture, "job");
    make_folder (fixture, "shells");
    make_folder (fixture, "more");
    make_program (fixture, "more/sh");
    const char *second = text_format (&fixture->arena, "#!%s\n", path_of (fixture, "more/sh")).ptr;
    assert_int_equal (atomic_file_write (path_of (fixture, "shells/sh"), second, strlen (second), 0755, NULL), 0);
    const char *first = text_format (&fixture->arena, "#!%s -e\n", path_of (fixture, "shells/sh")).ptr;
    assert_int_equal (atomic_file_write (path_of (fixture, "job/run"), first, strlen (first), 0755, NULL), 0);
    look (fixture, path_of (fixture, "job/run"));
    assert_true (keeps (fixture, "shells/sh"));
    assert_true (keeps (fixture, "more/sh"));
}

TEST_ON (fixture, the_home_of_the_user_is_kept_where_programs_could_write_it)
{
    const char *home = getenv ("HOME");
    const char *before = text_copy (&fixture->arena, text_of (home ? home : "/")).ptr;
    make_folder (fixture, "home");
    setenv ("HOME", path_of (fixture, "home"), 1);
    look (fixture, NULL);
    assert_true (keeps (fixture, "home/.bashrc"));
    setenv ("HOME", "/tmp", 1); /* it cannot be closed whole */
    look (fixture, NULL);
    assert_false (keeps (fixture, "home/.bashrc"));
    setenv ("HOME", before, 1);
}

TEST_ON (fixture, the_usual_folder_of_workers_is_kept_whoever_runs_here)
{
    bool found = false;
    look (fixture, NULL);
    for (uint32_t i = 0; i < fixture->paths.n; i++)
        found = found || path_is_below ("/var/tmp/sliceup/envs/x", fixture->paths.protected[i]);
    assert_true (found);
}

TEST_ON (fixture, a_program_is_kept_with_what_lies_beside_it)
{
    make_folder (fixture, "train");
    make_program (fixture, "train/run.sh");
    look (fixture, path_of (fixture, "train/run.sh"));
    assert_true (keeps (fixture, "train/config.py"));
}
