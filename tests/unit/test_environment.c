/* links: environment */
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "test.h"
#include "worker/environment/environment.h"
#include "worker/environment/installed.h"
#include "worker/process/subprocess.h"
#include <ctype.h>

#define HASH " --hash=sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
#define HASH_ALONE "--hash=sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/* ---- pins ---- */

TEST (pins_are_read_with_comments_and_continuations)
{
    static const char file[] = "# all of it\n--index-url https://example.org/simple/#frag\n\n"
                               "Zope.Interface == 5.0 \\\n    " HASH_ALONE " \\\n   " HASH "\n    # via somebody\n"
                               "ml_dtypes==0.6.0+local.1 " HASH "  # a comment\r\n"
                               "--only-binary=:all:\n--require-hashes\nsix==1.17.0" HASH;
    struct requirements pins;
    if (requirements_parse (text_of (file), "pins.txt", &t->arena, &pins, &t->err))
        fail_msg ("%s", t->err.text);
    assert_int_equal (pins.n, 3);
    assert_text (pins.items[0].name, "ml-dtypes");
    assert_text (pins.items[0].version, "0.6.0+local.1");
    assert_text (pins.items[1].name, "six");
    assert_text (pins.items[2].name, "zope-interface");
    assert_text (pins.items[2].version, "5.0");
    assert_int_equal (pins.items[2].line, 4);
}

struct refused {
    const char *file;
    const char *says;
};

TEST (what_cannot_be_verified_afterwards_is_refused_with_its_line)
{
    static const struct refused refused[] = {
        { "", "has no pins" },
        { "# nothing\n", "has no pins" },
        { "six==1.0\n", "p:1: \"six\": has no hash" },
        { "\n\nsix>=1.0" HASH, "p:3: \"six>=1.0 --hash" },
        { "six==1.*" HASH, "an exact version" },
        { "six===1.0" HASH, "an exact version" },
        { "six==" HASH, "an exact version" },
        { "six" HASH, "expected name==version" },
        { "six @ https://example.org/six.whl" HASH, "expected name==version" },
        { "https://example.org/six.whl#egg=six==1.0" HASH, "a package name without extras" },
        { "jax[tpu]==1.0" HASH, "a package name without extras" },
        { "a b==1.0" HASH, "a package name without extras" },
        { "-six==1.0" HASH, "is not an option" },
        { "six==1.0; python_version < '3.9'" HASH, "environment markers are not accepted" },
        { "six==1.0 --hash=sha256:123", "expected --hash=sha256: and 64" },
        { "six==1.0 --hash=md5:0123456789abcdef0123456789abcdef", "expected --hash=sha256: and 64" },
        { "six==1.0" HASH "\nSIX==1.0" HASH, "p:2: \"six\": is pinned twice" },
        { "six==1.0" HASH "\n-r other.txt\n", "p:2: \"-r\": is not an option" },
        { "-e .\n", "is not an option" },
        { "--index-url\n", "is not an option" },
        { "--no-index=1\n", "is not an option" },
        { "--trusted-host example.org\n", "is not an option" },
        { "--index-url a b\n", "is not an option" },
        { "six==1.0" HASH "\n\xff\n", "UTF-8" },
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct arena arena = { 0 };
        struct requirements pins = { .n = 77 };
        struct err err = { 0 };
        assert_int_equal (requirements_parse (text_of (refused[i].file), "p", &arena, &pins, &err), -1);
        assert_has (err.text, refused[i].says);
        assert_int_equal (err.code, ERR_CONFIG);
        assert_int_equal (pins.n, 77);
        arena_release (&arena);
    }
}

TEST (every_pin_file_of_ours_is_accepted)
{
    static const char *const files[] = { "tests/pins/tiny.txt", "configs/pins/jax-cpu.txt",
                                         "configs/pins/jax-tpu.txt" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct arena arena = { 0 };
        struct requirements pins;
        struct err err;
        struct buf bytes;
        char path[1024];
        snprintf (path, sizeof path, "%s/%s", SLICEUP_SOURCE_DIR, files[i]);
        buf_init (&bytes, REQUIREMENTS_BYTES_MAX);
        if (file_read (path, &bytes, &err) || requirements_parse (buf_as_text (&bytes), path, &arena, &pins, &err))
            fail_msg ("%s", err.text);
        assert_true (pins.n >= 2);
        buf_release (&bytes);
        arena_release (&arena);
    }
}

/* ---- what is installed ---- */

struct site {
    char path[64];
    struct arena arena;
};

static void site_open (struct site *site)
{
    snprintf (site->path, sizeof site->path, "/tmp/sliceup-site-XXXXXX");
    assert_non_null (mkdtemp (site->path));
}

static void site_close (struct site *site)
{
    assert_int_equal (folder_remove (site->path, NULL), 0);
    arena_release (&site->arena);
}

TEST_FIXTURE (struct site, site_open, site_close)

static void put_package (struct site *site, const char *folder, const char *metadata)
{
    char path[256];
    snprintf (path, sizeof path, "%s/%s", site->path, folder);
    assert_int_equal (mkdir (path, 0755), 0);
    snprintf (path, sizeof path, "%s/%s/METADATA", site->path, folder);
    int fd = open (path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true (fd >= 0);
    assert_int_equal (write (fd, metadata, strlen (metadata)), strlen (metadata));
    assert_int_equal (close (fd), 0);
}

static void put_usual (struct site *site)
{
    put_package (site, "numpy-2.4.5.dist-info", "Metadata-Version: 2.1\nName: numpy\nVersion: 2.4.5\n\nVersion: 9\n");
    put_package (site, "ml_dtypes-0.6.0.dist-info", "Version:  0.6.0 \r\nNAME: ml_dtypes\r\n\r\nName: other\r\n");
    put_package (site, "pip-23.0.dist-info", "Name: pip\nVersion: 23.0\n\n");
}

static struct installed read_site (struct site *site)
{
    struct installed installed;
    struct err err;
    if (installed_read (site->path, &site->arena, &installed, &err))
        fail_msg ("%s", err.text);
    return installed;
}

TEST_ON (site, packages_are_read_from_their_metadata)
{
    put_usual (site);
    struct installed installed = read_site (site);
    assert_int_equal (installed.n, 3);
    assert_text (installed.items[0].name, "ml-dtypes");
    assert_text (installed.items[0].version, "0.6.0");
    assert_text (installed.items[1].name, "numpy");
    assert_text (installed.items[1].version, "2.4.5");
}

TEST_ON (site, a_package_without_metadata_is_named)
{
    static const char *const broken[] = { "",
                                          "Name: six\n",
                                          "Name: six\nVersion: \n\n",
                                          "Name: a b\nVersion: 1\n\n",
                                          "\nName: six\nVersion: 1\n",
                                          "Name: six\nVersion: 1" };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        struct installed installed;
        struct err err;
        char path[128];
        put_package (site, "six-1.dist-info", broken[i]);
        assert_int_equal (installed_read (site->path, &site->arena, &installed, &err), -1);
        assert_has (err.text, "six-1.dist-info has no METADATA");
        snprintf (path, sizeof path, "%s/six-1.dist-info", site->path);
        assert_int_equal (folder_remove (path, NULL), 0);
    }
}

struct comparison {
    const char *pins;
    uint32_t n;
    const char *says;
};

TEST_ON (site, every_difference_from_the_pins_is_said)
{
    static const struct comparison comparisons[] = {
        { "numpy==2.4.5" HASH "\nml_dtypes==0.6.0" HASH, 0, "" },
        { "numpy==2.4.6" HASH "\nml_dtypes==0.6.0" HASH, 1, "numpy 2.4.5 is installed, 2.4.6 is pinned" },
        { "numpy==2.4.5" HASH, 1, "ml-dtypes 0.6.0 is installed and not pinned" },
        { "numpy==2.4.5" HASH "\nml_dtypes==0.6.0" HASH "\nsix==1.0" HASH, 1, "six is not installed, 1.0 is pinned" },
        { "pip==24.0" HASH "\nnumpy==2.4" HASH "\nml_dtypes==0.6.0" HASH, 2,
          "numpy 2.4.5 is installed, 2.4 is pinned; pip 23.0 is installed, 24.0 is pinned" },
    };
    put_usual (site);
    struct installed installed = read_site (site);
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++) {
        struct requirements pins;
        struct buf out;
        buf_init (&out, 1000);
        assert_int_equal (requirements_parse (text_of (comparisons[i].pins), "p", &site->arena, &pins, NULL), 0);
        assert_int_equal (installed_compare (&installed, &pins, &out), comparisons[i].n);
        assert_string_equal (buf_c (&out), comparisons[i].says);
        buf_release (&out);
    }
}

TEST_ON (site, a_package_that_is_there_twice_is_said)
{
    struct requirements pins;
    struct buf out;
    put_package (site, "six-1.0.dist-info", "Name: six\nVersion: 1.0\n\n");
    put_package (site, "six-1.1.dist-info", "Name: six\nVersion: 1.1\n\n");
    struct installed installed = read_site (site);
    buf_init (&out, 1000);
    assert_int_equal (requirements_parse (TEXT_LIT ("six==1.1" HASH), "p", &site->arena, &pins, NULL), 0);
    assert_int_equal (installed_compare (&installed, &pins, &out), 1);
    assert_string_equal (buf_c (&out), "six is installed 2 times (1.0 and 1.1)");
    buf_release (&out);
}

TEST_ON (site, more_than_ten_differences_are_counted)
{
    struct requirements pins;
    struct buf file, out;
    struct installed nothing = { 0 };
    buf_init (&file, 8192);
    buf_init (&out, 4096);
    for (int i = 0; i < 13; i++)
        buf_printf (&file, "p%d==1" HASH "\n", i);
    assert_int_equal (requirements_parse (buf_as_text (&file), "p", &site->arena, &pins, NULL), 0);
    assert_int_equal (installed_compare (&nothing, &pins, &out), 13);
    assert_has (&out, "; and 3 more");
    buf_release (&out);
    buf_release (&file);
}

TEST_ON (site, a_fingerprint_is_of_packages_python_and_machine)
{
    struct requirements pins;
    put_usual (site);
    struct installed installed = read_site (site);
    assert_int_equal (requirements_parse (TEXT_LIT ("numpy==2.4.5" HASH), "p", &site->arena, &pins, NULL), 0);
    struct digest digest = installed_fingerprint (&installed, &pins, "3.11.7", "x86_64", (struct text){ 0 });
    static const char lines[] = "ml-dtypes==0.6.0\nnumpy==2.4.5\npython==3.11.7\nmachine==x86_64\n";
    struct digest same = digest_of (lines, sizeof lines - 1);
    assert_true (digest_equal (&digest, &same));
    struct digest python = installed_fingerprint (&installed, &pins, "3.11.8", "x86_64", (struct text){ 0 });
    struct digest machine = installed_fingerprint (&installed, &pins, "3.11.7", "aarch64", (struct text){ 0 });
    assert_false (digest_equal (&digest, &python));
    assert_false (digest_equal (&digest, &machine));
    /* Another pip is the same environment, unless it is pinned. */
    installed.items[2].version = TEXT_LIT ("99");
    struct digest pip = installed_fingerprint (&installed, &pins, "3.11.7", "x86_64", (struct text){ 0 });
    assert_true (digest_equal (&digest, &pip));
}

/* ---- the path ---- */

TEST (the_path_ends_in_the_interpreter_s_version)
{
    struct pins pins = { .python = TEXT_LIT ("python3"), .env_dir = TEXT_LIT ("/srv/envs/abc") };
    char path[256];
    unsigned minor;
    char rest;
    if (environment_path (&pins, path, sizeof path, &t->err))
        fail_msg ("%s", t->err.text);
    assert_int_equal (sscanf (path, "/srv/envs/abc-py3.%u%c", &minor, &rest), 1);
    assert_true (minor >= 8);
    assert_int_equal (environment_path_of_version (TEXT_LIT ("/e"), "3.13.0", path, sizeof path, &t->err), 0);
    assert_string_equal (path, "/e-py3.13");
    assert_int_equal (environment_site ("/e-py3.13", "3.13.0", path, sizeof path, &t->err), 0);
    assert_string_equal (path, "/e-py3.13/lib/python3.13/site-packages");
    assert_int_equal (environment_path_of_version (TEXT_LIT ("/e"), "3.13.0", path, 9, &t->err), -1);
    assert_int_equal (environment_path_of_version (TEXT_LIT ("/e"), "3.13.0", path, 10, &t->err), 0);
}

TEST (paths_and_interpreters_that_cannot_be_are_refused)
{
    static const char *const dirs[] = { "", "/", "relative", "/ends/" };
    static const char *const pythons[] = { "", "-c", "bin/python3", "/nonexistent/python3", "/bin/false", "/bin/echo" };
    char path[256], version[PYTHON_VERSION_BYTES];
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
        assert_int_equal (environment_path_of_version (text_of (dirs[i]), "3.11.1", path, sizeof path, &t->err), -1);
    for (size_t i = 0; i < sizeof pythons / sizeof *pythons; i++) {
        t->err.text[0] = '\0';
        assert_int_equal (environment_ask_version (pythons[i], version, &t->err), -1);
        assert_true (strlen (t->err.text) > 10);
    }
}

TEST_ON (site, an_interpreter_that_is_not_python_3_is_refused)
{
    static const char *const answers[] = { "2.7.18",  "3.11",         "3.11.1rc1",
                                           "3..1",    "3.11.",        "4.0.0",
                                           "3.1.1.1", "3.11.7 extra", "3.1111111111111111111111111111111.1" };
    char path[128], script[128], version[PYTHON_VERSION_BYTES];
    snprintf (path, sizeof path, "%s/python", site->path);
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        snprintf (script, sizeof script, "#!/bin/sh\necho '%s'\n", answers[i]);
        assert_int_equal (atomic_file_write (path, script, strlen (script), 0755, &t->err), 0);
        if (environment_ask_version (path, version, &t->err) != -1)
            fail_msg ("%s was accepted", answers[i]);
        assert_has (t->err.text, "not a working Python 3");
    }
}

/* ---- subprocesses ---- */

static int run_shell (const char *script, uint64_t limit_ms, struct buf *out, int *status, struct err *err)
{
    const char *argv[] = { "sh", "-c", script, NULL };
    struct subprocess subprocess = { .argv = argv, .limit_ms = limit_ms, .echo_fd = -1, .held_fd = -1 };
    return subprocess_run (&subprocess, out, status, err);
}

TEST (a_subprocess_keeps_what_was_said_and_how_it_ended)
{
    struct buf out;
    int status;
    buf_init (&out, 1000);
    assert_int_equal (run_shell ("echo one; echo two >&2; exit 7", 10000, &out, &status, &t->err), 0);
    assert_int_equal (status, 7);
    assert_string_equal (buf_c (&out), "one\ntwo\n");
    assert_int_equal (run_shell ("kill -9 $$", 10000, &out, &status, &t->err), 0);
    assert_int_equal (status, 128 + SIGKILL);
    buf_release (&out);
}

TEST (a_subprocess_that_takes_too_long_is_killed)
{
    struct buf out;
    int status;
    buf_init (&out, 1000);
    uint64_t began_ms = clock_boot_ms ();
    assert_int_equal (run_shell ("exec sleep 100", 100, &out, &status, &t->err), -1);
    assert_int_equal (t->err.code, ERR_LIMIT);
    assert_true (clock_boot_ms () - began_ms < 10000);
    buf_release (&out);
}

TEST (a_subprocess_s_leftover_is_not_waited_for)
{
    struct buf out;
    int status;
    buf_init (&out, 1000);
    uint64_t began_ms = clock_boot_ms ();
    assert_int_equal (run_shell ("sleep 20 & echo $!", 60000, &out, &status, &t->err), 0);
    assert_true (clock_boot_ms () - began_ms < 10000);
    long left = strtol (buf_c (&out), NULL, 10);
    assert_true (left > 1);
    assert_int_equal (kill ((pid_t) left, SIGKILL), 0);
    buf_release (&out);
}

TEST (the_end_of_a_long_output_is_kept)
{
    struct buf out;
    int status;
    buf_init (&out, 1000);
    assert_int_equal (
        run_shell ("i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done", 20000, &out, &status, &t->err), 0);
    assert_true (out.len <= 1000 && out.len >= 500);
    assert_has (&out, "line 2998\nline 2999\n");
    assert_has_not (&out, "line 10\n");
    buf_release (&out);
}

/* The echo tells the command that its first words were taken in. */
TEST (what_came_before_the_end_stays_as_far_as_it_fits)
{
    const char *argv[] = { "sh", "-c", "printf '%0900d' 0; head -c 900 <&3 >/dev/null; printf '%0200d' 1", NULL };
    struct subprocess subprocess = { .argv = argv, .limit_ms = 20000 };
    int loop[2], status;
    struct buf out;
    assert_int_equal (pipe2 (loop, O_CLOEXEC), 0);
    subprocess.held_fd = loop[0];
    subprocess.echo_fd = loop[1];
    buf_init (&out, 1000);
    assert_int_equal (subprocess_run (&subprocess, &out, &status, &t->err), 0);
    assert_int_equal (out.len, 500 + 200);
    assert_int_equal (out.ptr[out.len - 1], '1');
    assert_int_equal (close (loop[0]), 0);
    assert_int_equal (close (loop[1]), 0);
    buf_release (&out);
}

TEST (a_subprocess_has_the_descriptor_it_was_given_and_no_other_of_ours)
{
    const char *argv[] = { "sh", "-c", "readlink /proc/$$/fd/3; readlink /proc/$$/fd/777", NULL };
    int held = open ("/dev/zero", O_RDONLY | O_CLOEXEC), other = fcntl (held, F_DUPFD_CLOEXEC, 777);
    struct subprocess subprocess = { .argv = argv, .limit_ms = 10000, .echo_fd = -1, .held_fd = held };
    struct buf out;
    int status;
    assert_int_equal (other, 777);
    buf_init (&out, 1000);
    assert_int_equal (subprocess_run (&subprocess, &out, &status, &t->err), 0);
    assert_string_equal (buf_c (&out), "/dev/zero\n");
    assert_int_equal (close (held), 0);
    assert_int_equal (close (other), 0);
    buf_release (&out);
}
