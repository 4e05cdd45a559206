/* links: attempt */
/* What interpreters execute and import, by their own word: real ones, scripts in their place, and such that do not
 * answer. */

#include "common/base/path.h"
#include "common/base/text.h"
#include "common/io/atomic_file.h"
#include "test.h"
#include "worker/attempt/command.h"

struct fixture {
    char top[64];
    struct arena arena;
    struct msg_run run;
    text_list paths;
    struct err err;
};

static const char *path_of (struct fixture *fixture, const char *name)
{
    return text_format (&fixture->arena, "%s/%s", fixture->top, name).ptr;
}

static void put (struct fixture *fixture, const char *name, struct text content)
{
    assert_int_equal (atomic_file_write (path_of (fixture, name), content.ptr, content.len, 0755, NULL), 0);
    assert_int_equal (chmod (path_of (fixture, name), 0755), 0);
}

static void fixture_open (struct fixture *fixture)
{
    *fixture = (struct fixture){ .top = "/tmp/sliceup-interpreter-XXXXXX" };
    fixture->run.rung.kind = PROGRAM_CANARY;
    fixture->run.cache.frontend_root = TEXT_LIT ("/cache/jax/x");
    assert_true (mkdtemp (fixture->top));
}

static void fixture_close (struct fixture *fixture)
{
    arena_release (&fixture->arena);
    assert_int_equal (folder_remove (fixture->top, NULL), 0);
}

TEST_FIXTURE (struct fixture, fixture_open, fixture_close)

static int ask (struct fixture *fixture, const char *python)
{
    fixture->run.pins.python = text_of (path_of (fixture, python));
    return interpreter_ask_paths (&fixture->run, &fixture->arena, &fixture->paths, &fixture->err);
}

static bool names (struct fixture *fixture, const char *name)
{
    for (uint32_t i = 0; i < fixture->paths.n; i++)
        if (text_is (fixture->paths.items[i], path_of (fixture, name)))
            return true;
    return false;
}

/* An environment of copies over a base, as venv makes it; the real Python and its modules below the base are links. */
static void make_environment (struct fixture *fixture)
{
    const char *script =
        text_format (
            &fixture->arena,
            "set -e; cd %s; real=$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))'); "
            "lib=$(python3 -c 'import os; print(os.path.dirname(os.__file__))'); version=${lib##*/}; "
            "mkdir -p base/bin base/lib/$version/site-packages venv/bin venv/lib/$version/site-packages named; "
            "cp $real base/bin/python3; for each in $lib/*; do case $each in *site-packages) ;; *) ln -s $each "
            "base/lib/$version/;; esac; done; "
            "cp base/bin/python3 venv/bin/python; echo \"home = $PWD/base/bin\" > venv/pyvenv.cfg; "
            "echo \"$PWD/named\" > venv/lib/$version/site-packages/x.pth; "
            "echo \"import os; os.mkdir('$PWD/ran')\" > venv/lib/$version/site-packages/y.pth",
            fixture->top)
            .ptr;
    assert_int_equal (system (script), 0);
}

TEST_ON (fixture, the_base_of_an_environment_of_copies_is_told)
{
    make_environment (fixture);
    if (ask (fixture, "venv/bin/python") < 0)
        fail_msg ("%s", fixture->err.text);
    assert_true (names (fixture, "base"));
    assert_true (names (fixture, "venv"));
    assert_true (names (fixture, "named"));
    assert_int_equal (access (path_of (fixture, "ran"), F_OK), -1);
}

TEST_ON (fixture, the_one_behind_a_script_is_told)
{
    make_environment (fixture);
    put (fixture, "wrapper",
         text_format (&fixture->arena, "#!/bin/sh\necho noise; echo more >&2\nexec %s/base/bin/python3 \"$@\"\n",
                      fixture->top));
    assert_int_equal (ask (fixture, "wrapper"), 0);
    assert_true (names (fixture, "base"));
}

TEST_ON (fixture, one_that_does_not_answer_is_refused)
{
    static const char *const scripts[] = { "echo /tmp", "exit 3", "printf 'paths\\0/tmp'", "kill -9 $$" };
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        put (fixture, "python", text_format (&fixture->arena, "#!/bin/sh\n%s\n", scripts[i]));
        assert_int_equal (ask (fixture, "python"), -1);
        assert_has (fixture->err.text, path_of (fixture, "python"));
        assert_has (fixture->err.text, "which programs must not change");
    }
    fixture->run.rung.kind = PROGRAM_COMMAND; /* sliceup starts none in this run */
    assert_int_equal (ask (fixture, "python"), 0);
    fixture->run.pins.file.sha256 = TEXT_LIT ("00");
    assert_int_equal (ask (fixture, "python"), -1);
}

TEST_ON (fixture, more_than_can_be_kept_is_refused)
{
    put (fixture, "python",
         text_format (&fixture->arena,
                      "#!/bin/sh\nprintf '\\0paths\\0'; for i in $(seq 65); do mkdir -p %s/$i; printf '%s/'$i'\\0'; "
                      "done; printf 'end\\0'\n",
                      fixture->top, fixture->top));
    assert_int_equal (ask (fixture, "python"), -1);
    assert_has (fixture->err.text, "at most 64 paths");
}

TEST_ON (fixture, what_programs_cannot_write_is_left_out)
{
    put (fixture, "python",
         text_format (&fixture->arena,
                      "#!/bin/sh\nprintf '\\0paths\\0/usr\\0relative\\0%s\\0/tmp/not-there\\0%s\\0end\\0'\n",
                      fixture->top, fixture->top));
    assert_int_equal (ask (fixture, "python"), 0);
    assert_int_equal (fixture->paths.n, 1);
}

TEST_ON (fixture, only_runs_that_confine_ask)
{
    assert_true (interpreter_must_be_asked (&fixture->run));
    fixture->run.rung.kind = PROGRAM_BUILTIN;
    fixture->run.rung.builtin = TEXT_LIT ("cache");
    assert_true (interpreter_must_be_asked (&fixture->run));
    fixture->run.rung.builtin = TEXT_LIT ("facts");
    assert_false (interpreter_must_be_asked (&fixture->run));
    fixture->run.rung.kind = PROGRAM_COMMAND;
    fixture->run.cache.frontend_root = TEXT_LIT ("");
    assert_false (interpreter_must_be_asked (&fixture->run));
}

TEST_ON (fixture, a_script_names_its_interpreter)
{
    static const struct {
        const char *script, *names;
    } scripts[] = {
        { "#!/bin/sh -e\n", "/bin/sh" },
        { "#! \t/opt/a\tb c\n", "/opt/a" },
        { "#!/x", "/x" },
        { "#!sh\n", NULL },
        { "#!\n/bin/sh", NULL },
        { "", NULL },
        { "\x7f"
          "ELF",
          NULL },
    };
    char found[PATH_MAX];
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        put (fixture, "script", text_of (scripts[i].script));
        assert_int_equal (script_interpreter (path_of (fixture, "script"), found), scripts[i].names != NULL);
        if (scripts[i].names)
            assert_string_equal (found, scripts[i].names);
    }
    assert_false (script_interpreter (fixture->top, found));
    assert_false (script_interpreter (path_of (fixture, "none"), found));
}
