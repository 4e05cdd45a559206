/* alone: builtin */
#include "common/io/atomic_file.h"
#include "test.h"
#include "worker/builtin/builtin.h"
#include <jansson.h>

/* ---- hosts that are shown ---- */

static struct host_check_results host; /* large */
static struct preflight preflight;

static int good_host (void **state)
{
    (void) state;
    host = (struct host_check_results){ .directory = "/var/tmp/sliceup",
                                        .python = "python3",
                                        .python_version = "3.9.2",
                                        .python_venv = true,
                                        .namespace_asked = true,
                                        .wall_ms = UINT64_C (1800000000000) };
    if (uname (&host.kernel) < 0)
        return -1;
    strcpy (host.kernel.release, "5.10.0-30-amd64");
    return 0;
}

static int release (void **state)
{
    (void) state;
    arena_release (&preflight.arena);
    return 0;
}

static void check_is (const char *name, enum preflight_state expected, const char *found, const char *next)
{
    for (uint32_t i = 0; i < preflight.n; i++) {
        const struct preflight_check *check = &preflight.checks[i];
        if (strcmp (check->name, name) != 0)
            continue;
        assert_int_equal (check->state, expected);
        if (!text_find (check->found, text_of (found), NULL) || !text_find (check->next, text_of (next), NULL))
            fail_msg ("%s says '%.*s', '%.*s'", name, TEXT_ARG (check->found), TEXT_ARG (check->next));
        assert_int_equal (check->next.len == 0, expected == PREFLIGHT_OK);
        return;
    }
    fail_msg ("%s was not looked at", name);
}

static void expect (const char *name, enum preflight_state expected, const char *found, const char *next)
{
    arena_release (&preflight.arena);
    preflight_judge (&preflight, &host, true);
    check_is (name, expected, found, next);
    assert_int_equal (preflight_is_ready (&preflight), expected != PREFLIGHT_MISSING);
}

static const char *sentence (char out[1024])
{
    struct buf line;
    buf_init (&line, 1023);
    preflight_sentence (&preflight, &line);
    memcpy (out, buf_c (&line), line.len + 1);
    buf_release (&line);
    return out;
}

TEST_IN (a_host_with_everything_is_ready_and_nothing_is_said, good_host, release)
{
    char line[1024];
    preflight_judge (&preflight, &host, true);
    for (uint32_t i = 0; i < preflight.n; i++)
        assert_int_equal (preflight.checks[i].state, PREFLIGHT_OK);
    assert_int_equal (preflight.n, PREFLIGHT_MAX);
    assert_true (preflight_is_ready (&preflight));
    assert_string_equal (sentence (line), "");
}

TEST_IN (an_old_kernel_is_named_with_what_it_lacks, good_host, release)
{
    strcpy (host.kernel.release, "4.19.0-27-amd64");
    host.call_errors[HOST_CALL_OPENAT2] = ENOSYS;
    expect ("kernel", PREFLIGHT_MISSING, "Linux 4.19.0-27-amd64: openat2 does not work", "Linux 5.9 or later");
    host.call_errors[HOST_CALL_CLOSE_RANGE] = ENOSYS;
    expect ("kernel", PREFLIGHT_MISSING, "close_range does not work", "Linux 5.9 or later");
}

TEST_IN (a_filter_of_a_container_is_told_from_an_old_kernel, good_host, release)
{
    host.call_errors[HOST_CALL_PIDFD_OPEN] = EPERM;
    expect ("kernel", PREFLIGHT_MISSING, "pidfd_open does not work (Operation not permitted)", "seccomp");
}

TEST_IN (another_machine_is_missing, good_host, release)
{
    strcpy (host.kernel.machine, "riscv64");
    expect ("machine", PREFLIGHT_MISSING, "the host is riscv64", "build the worker bundle");
}

TEST_IN (proc_and_null_are_needed, good_host, release)
{
    host.children_error = ENOENT;
    expect ("proc", PREFLIGHT_MISSING, "children", "CONFIG_PROC_CHILDREN");
    host.proc_error = ENOENT;
    expect ("proc", PREFLIGHT_MISSING, "/proc is not mounted", "mount -t proc");
    good_host (NULL);
    host.null_error = EACCES;
    expect ("dev-null", PREFLIGHT_MISSING, "Permission denied", "mknod");
}

TEST_IN (a_directory_must_take_files_and_start_programs, good_host, release)
{
    host.directory_error = EROFS;
    expect ("directory", PREFLIGHT_MISSING, "/var/tmp/sliceup (Read-only file system)", "another directory");
    good_host (NULL);
    host.directory_noexec = true;
    expect ("directory", PREFLIGHT_MISSING, "noexec", "executed");
}

TEST_IN (containment_is_only_told, good_host, release)
{
    strcpy (host.namespace_problem, "cannot make the init process: Operation not permitted");
    expect ("containment", PREFLIGHT_NOTE,
            "pid namespace for programs: cannot make the init process: Operation not permitted", "outlive");
}

TEST_IN (an_unset_clock_is_only_told, good_host, release)
{
    host.wall_ms = 86400000;
    expect ("clock", PREFLIGHT_NOTE, "a year before", "certificates");
}

TEST_IN (python_must_be_3_9_with_venv, good_host, release)
{
    static const char *const old[] = { "3.8.10", "2.7.18", "3", "three.nine", "3.x" };
    static const char *const good[] = { "3.9", "3.9.0", "3.13.1", "3.100.0", "4.0.1" };
    for (size_t i = 0; i < sizeof old / sizeof old[0]; i++) {
        strcpy (host.python_version, old[i]);
        expect ("python", PREFLIGHT_MISSING, old[i], "3.9 or later");
    }
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        strcpy (host.python_version, good[i]);
        expect ("python", PREFLIGHT_OK, good[i], "");
    }
    host.python_venv = false;
    expect ("python", PREFLIGHT_MISSING, "without venv", "python3-venv");
    strcpy (host.python_version, "");
    strcpy (host.python_problem, "cannot start it");
    expect ("python", PREFLIGHT_MISSING, "cannot start it", "install");
}

TEST_IN (python_is_only_told_where_it_is_not_asked_for, good_host, release)
{
    strcpy (host.python_version, "3.8.10");
    preflight_judge (&preflight, &host, false);
    check_is ("python", PREFLIGHT_NOTE, "3.8.10", "3.9");
    assert_true (preflight_is_ready (&preflight));
}

TEST_IN (what_was_not_asked_for_is_not_said, good_host, release)
{
    host.python = host.directory = NULL;
    host.directory_error = ENOENT;
    host.namespace_asked = false;
    strcpy (host.namespace_problem, "none");
    preflight_judge (&preflight, &host, true);
    assert_int_equal (preflight.n, PREFLIGHT_MAX - 3);
    assert_true (preflight_is_ready (&preflight));
}

TEST_IN (the_sentence_is_one_line_with_what_to_do_and_counts_the_rest, good_host, release)
{
    char line[1024];
    host.directory = "/a\nb\033[2J";
    host.directory_error = ENOENT;
    preflight_judge (&preflight, &host, true);
    assert_string_equal (sentence (line),
                         "cannot make a file in /a\\x0ab\\x1b[2J (No such file or directory): "
                         "create this directory and make this user its owner, or name another directory");
    arena_release (&preflight.arena);
    host.proc_error = host.null_error = ENOENT;
    preflight_judge (&preflight, &host, true);
    assert_string_equal (sentence (line), "/proc is not mounted (No such file or directory): mount -t proc proc /proc "
                                          "(and 2 more problems: run sliceup-worker preflight)");
}

/* ---- this host ---- */

static char top[64];

static int make_top (void **state)
{
    (void) state;
    strcpy (top, "/tmp/preflight.XXXXXX");
    return mkdtemp (top) ? 0 : -1;
}

static int remove_top (void **state)
{
    (void) state;
    return folder_remove (top, NULL);
}

static const char *in_top (const char *name, char out[128])
{
    snprintf (out, 128, "%s/%s", top, name);
    return out;
}

static const char *script (const char *body)
{
    static char path[128];
    char bytes[512];
    int len = snprintf (bytes, sizeof bytes, "#!/bin/sh\n%s\n", body);
    assert_int_equal (atomic_file_write (in_top ("python", path), bytes, (size_t) len, 0700, NULL), 0);
    return path;
}

TEST_IN (this_host_has_what_its_tests_need, make_top, remove_top)
{
    host_check_run (&host, top, "python3");
    for (int i = 0; i < HOST_CALLS_N; i++)
        assert_int_equal (host.call_errors[i], 0);
    assert_int_equal (host.proc_error, 0);
    assert_int_equal (host.children_error, 0);
    assert_int_equal (host.null_error, 0);
    assert_int_equal (host.directory_error, 0);
    assert_true (host.directory_free_bytes > 0);
    assert_string_equal (host.python_problem, "");
    assert_int_equal (rmdir (top), 0); /* nothing was left in it */
    assert_int_equal (mkdir (top, 0700), 0);
}

TEST_IN (a_directory_is_tried, make_top, remove_top)
{
    char path[128], long_path[2000];
    host_check_run (&host, in_top ("missing", path), NULL);
    assert_int_equal (host.directory_error, ENOENT);
    memset (long_path, 'a', sizeof long_path - 1);
    long_path[0] = '/';
    long_path[sizeof long_path - 1] = '\0';
    host_check_run (&host, long_path, NULL);
    assert_int_equal (host.directory_error, ENAMETOOLONG);
    host_check_run (&host, "/proc", NULL);
    assert_int_not_equal (host.directory_error, 0);
}

TEST_IN (an_interpreter_is_asked_and_its_answer_read, make_top, remove_top)
{
    host_check_run (&host, NULL, script ("echo a warning; echo version 3.11.2; echo venv"));
    assert_string_equal (host.python_version, "3.11.2");
    assert_true (host.python_venv);
    host_check_run (&host, NULL, script ("echo version 3.8.1"));
    assert_string_equal (host.python_version, "3.8.1");
    assert_false (host.python_venv);
}

TEST_IN (an_interpreter_that_is_none_is_quoted, make_top, remove_top)
{
    char path[128];
    host_check_run (&host, NULL, script ("echo version 3.11.2; echo one; echo it is broken; exit 4"));
    assert_string_equal (host.python_version, "");
    assert_string_equal (host.python_problem, "it exited with status 4: it is broken");
    host_check_run (&host, NULL, script ("exit 0"));
    assert_string_equal (host.python_problem, "it exited with status 0");
    host_check_run (&host, NULL, script ("head -c 9000 /dev/zero | tr '\\0' x; echo version 3"));
    assert_string_equal (host.python_version, "3");
    host_check_run (&host, NULL, script ("printf 'version '; head -c 3000 /dev/zero | tr '\\0' 9; echo"));
    assert_string_equal (host.python_version, "");
    host_check_run (&host, NULL, in_top ("missing", path));
    assert_has (host.python_problem, "No such file or directory");
}

/* ---- the command ---- */

static int told (char *const words[], char *out, size_t out_bytes)
{
    char path[128], *argv[8] = { (char *) (uintptr_t) "preflight" };
    int argc = 1, kept = dup (1);
    while (words[argc - 1]) {
        argv[argc] = words[argc - 1];
        argc++;
    }
    fflush (stdout);
    FILE *file = fopen (in_top ("out", path), "w+e");
    assert_true (kept >= 0 && file && dup2 (fileno (file), 1) == 1);
    int status = preflight_main (argc, argv);
    fflush (stdout);
    assert_int_equal (dup2 (kept, 1), 1);
    close (kept);
    rewind (file);
    out[fread (out, 1, out_bytes - 1, file)] = '\0';
    fclose (file);
    return status;
}
#define TOLD(out, ...) told ((char *[]){ __VA_ARGS__, NULL }, out, sizeof (out))

TEST_IN (brief_is_silent_or_one_line, make_top, remove_top)
{
    char out[4096], brief[] = "--brief", directory[] = "--directory", missing[] = "/nowhere/at/all", here[64];
    strcpy (here, top);
    assert_int_equal (TOLD (out, brief), 0);
    assert_string_equal (out, "");
    assert_int_equal (TOLD (out, brief, directory, here), 0);
    assert_string_equal (out, "");
    assert_int_equal (TOLD (out, brief, directory, missing), 3);
    assert_has (out, "/nowhere/at/all");
    assert_ptr_equal (strchr (out, '\n'), out + strlen (out) - 1);
}

TEST_IN (json_says_the_same, make_top, remove_top)
{
    char out[4096], option[] = "--json", python[] = "--python", missing[] = "/nowhere/python";
    assert_int_equal (TOLD (out, option, python, missing), 3);
    json_t *all = json_loads (out, JSON_REJECT_DUPLICATES, NULL), *check;
    size_t i, missing_n = 0;
    assert_string_equal (json_string_value (json_object_get (all, "schema")), "sliceup.preflight/1");
    assert_true (json_is_false (json_object_get (all, "ready")));
    json_array_foreach (json_object_get (all, "checks"), i, check)
        missing_n += strcmp (json_string_value (json_object_get (check, "state")), "missing") == 0;
    assert_int_equal (missing_n, 1);
    json_decref (all);
}

TEST_IN (lines_begin_with_their_state, make_top, remove_top)
{
    char out[4096], option[] = "--directory", missing[] = "/nowhere/at/all";
    assert_int_equal (TOLD (out, option, missing), 3);
    assert_has (out, "ok       kernel       Linux ");
    assert_has (out, "\nmissing  directory    cannot make a file in /nowhere/at/all");
    assert_has (out, "; to do: create this directory");
}

TEST_IN (wrong_words_are_usage, make_top, remove_top)
{
    char out[4096], python[] = "--python", json[] = "--json", brief[] = "--brief", word[] = "word", help[] = "--help";
    int quiet = open ("/dev/null", O_WRONLY | O_CLOEXEC), kept = dup (2);
    assert_true (quiet >= 0 && kept >= 0 && dup2 (quiet, 2) == 2);
    assert_int_equal (TOLD (out, python), 2);
    assert_int_equal (TOLD (out, json, brief), 2);
    assert_int_equal (TOLD (out, word), 2);
    assert_int_equal (dup2 (kept, 2), 2);
    close (kept);
    close (quiet);
    assert_int_equal (TOLD (out, help), 0);
    assert_has (out, "usage: ");
}
