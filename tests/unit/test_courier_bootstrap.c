/* alone: courier */
#include "common/io/atomic_file.h"
#include "coordinator/courier/bootstrap_protocol.h"
#include "test.h"
#include <spawn.h>

#define NONCE "00112233445566778899aabbccddeeff"
#define SAID "sliceup-bootstrap " NONCE " "

/* Shells that may be a host's /bin/sh; those that are here are tried. */
static const struct {
    const char *path, *argv[4];
} shells[] = {
    { "/bin/dash", { "sh", "-c" } },
    { "/bin/bash", { "sh", "-c" } },
    { "/bin/busybox", { "busybox", "sh", "-c" } },
};
enum { SHELLS = sizeof shells / sizeof shells[0] };

struct scene {
    char folder[64], input[96], output[96], worker[96], bundle[96], directory[96];
    struct buf said;
};

static void run_words (const char *const argv[], const char *in, const char *out)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status;
    assert_int_equal (posix_spawn_file_actions_init (&actions), 0);
    assert_int_equal (posix_spawn_file_actions_addopen (&actions, 0, in, O_RDONLY, 0), 0);
    assert_int_equal (posix_spawn_file_actions_addopen (&actions, 1, out, O_WRONLY | O_CREAT | O_TRUNC, 0600), 0);
    assert_int_equal (posix_spawnp (&pid, argv[0], &actions, NULL, (char *const *) argv, environ), 0);
    posix_spawn_file_actions_destroy (&actions);
    assert_int_equal (waitpid (pid, &status, 0), pid);
}

static void run_shell (const struct scene *scene, size_t shell)
{
    posix_spawn_file_actions_t actions;
    const char *argv[7] = { 0 };
    size_t n = 0;
    pid_t pid;
    int status;
    for (; shells[shell].argv[n]; n++)
        argv[n] = shells[shell].argv[n];
    argv[n++] = "eval \"$1\"";
    argv[n++] = "sh";
    argv[n] = bootstrap_script;
    assert_int_equal (posix_spawn_file_actions_init (&actions), 0);
    assert_int_equal (posix_spawn_file_actions_addopen (&actions, 0, scene->input, O_RDONLY, 0), 0);
    assert_int_equal (posix_spawn_file_actions_addopen (&actions, 1, scene->output, O_WRONLY | O_CREAT | O_TRUNC, 0600),
                      0);
    assert_int_equal (posix_spawn (&pid, shells[shell].path, &actions, NULL, (char *const *) argv, environ), 0);
    posix_spawn_file_actions_destroy (&actions);
    assert_int_equal (waitpid (pid, &status, 0), pid);
}

static void scene_open (struct scene *scene)
{
    struct err err;
    snprintf (scene->folder, sizeof scene->folder, "/tmp/sliceup-bootstrap-XXXXXX");
    assert_non_null (mkdtemp (scene->folder));
    snprintf (scene->input, sizeof scene->input, "%s/input", scene->folder);
    snprintf (scene->output, sizeof scene->output, "%s/output", scene->folder);
    snprintf (scene->bundle, sizeof scene->bundle, "%s/bundle", scene->folder);
    snprintf (scene->directory, sizeof scene->directory, "%s/host", scene->folder);
    buf_init (&scene->said, 1 << 20);
    static const char worker[] = "#!/bin/sh\necho \"$1 $(umask)\"\n";
    snprintf (scene->worker, sizeof scene->worker, "%s/worker", scene->folder);
    assert_int_equal (atomic_file_write (scene->worker, worker, sizeof worker - 1, 0755, &err), 0);
    run_words ((const char *const[]){ "gzip", "-nc", scene->worker, NULL }, "/dev/null", scene->bundle);
}

static void scene_close (struct scene *scene)
{
    assert_int_equal (folder_remove (scene->folder, NULL), 0);
    buf_release (&scene->said);
}

TEST_FIXTURE (struct scene, scene_open, scene_close)

/* All of it is its head. */
static const char *name_of (const struct scene *scene, char hex[DIGEST_HEX_BYTES])
{
    struct digest digest;
    assert_int_equal (digest_of_file (scene->worker, &digest, NULL), 0);
    return digest_hex (&digest, hex);
}

/* The first line and the bundle cut or padded to `sent` bytes, as they go to a host's input; then what it says. */
static const char *session (struct scene *scene, size_t shell, const char *sha256, int cut_bytes)
{
    struct buf bundle, input;
    struct err err;
    buf_init (&bundle, 1 << 20);
    buf_init (&input, 1 << 20);
    assert_int_equal (file_read (scene->bundle, &bundle, &err), 0);
    char hex[DIGEST_HEX_BYTES];
    struct stat worker;
    buf_printf (&input, "%s %s %d %zu %s join\n{launch}\n", NONCE, sha256 ? sha256 : name_of (scene, hex),
                stat (scene->worker, &worker) == 0 ? (int) worker.st_size : 0, bundle.len, scene->directory);
    buf_add (&input, bundle.ptr, bundle.len - (size_t) cut_bytes);
    assert_int_equal (atomic_file_write (scene->input, input.ptr, input.len, 0600, &err), 0);
    run_shell (scene, shell);
    assert_int_equal (file_read (scene->output, &scene->said, &err), 0);
    buf_release (&bundle);
    buf_release (&input);
    return buf_c (&scene->said);
}

static void says (const char *said, const char *words)
{
    assert_has (said, words);
}

TEST_ON (scene, every_shell_takes_the_bundle_and_becomes_the_worker)
{
    uint32_t tried = 0;
    for (size_t i = 0; i < SHELLS; i++) {
        if (access (shells[i].path, X_OK) != 0)
            continue;
        tried++;
        mode_t mask = umask (027);
        const char *said = session (scene, i, NULL, 0);
        says (said, SAID "host ");
        says (said, SAID "want\n" SAID "placed\njoin 0027\n");
        said = session (scene, i, NULL, 0);
        umask (mask);
        says (said, SAID "have\njoin 0027\n");
        assert_int_equal (folder_remove (scene->directory, NULL), 0);
    }
    assert_true (tried > 0);
}

TEST_ON (scene, every_shell_refuses_what_is_not_right)
{
    struct stat at;
    char left[160];
    for (size_t i = 0; i < SHELLS; i++) {
        if (access (shells[i].path, X_OK) != 0)
            continue;
        static const char wrong[] = "0000000000000000000000000000000000000000000000000000000000000000";
        says (session (scene, i, wrong, 0), SAID "refused upload the worker bundle that arrived has sha256 ");
        says (session (scene, i, NULL, 7), SAID "refused upload the worker bundle did not arrive whole");
        snprintf (left, sizeof left, "%s/bundles/.new-" NONCE, scene->directory);
        assert_int_equal (stat (left, &at), -1);
        assert_int_equal (chmod (scene->directory, 0777), 0);
        const char *said = session (scene, i, NULL, 0);
        says (said, SAID "refused upload ");
        says (said, "nobody else may write to");
        assert_int_equal (folder_remove (scene->directory, NULL), 0);
    }
}

/* In its place, by whoever may write there: it is not run, and said to be changed. */
TEST_ON (scene, every_shell_runs_nothing_that_was_put_in_the_bundles_place)
{
    static const char evil[] = "#!/bin/sh\necho evil\n";
    char hex[DIGEST_HEX_BYTES], place[256];
    snprintf (place, sizeof place, "%s/bundles/%s", scene->directory, name_of (scene, hex));
    for (size_t i = 0; i < SHELLS; i++) {
        if (access (shells[i].path, X_OK) != 0)
            continue;
        says (session (scene, i, NULL, 0), SAID "want\n");
        assert_int_equal (atomic_file_write (place, evil, sizeof evil - 1, 0700, NULL), 0);
        says (session (scene, i, NULL, 0), SAID "want changed\n" SAID "placed\njoin");
        assert_has_not (&scene->said, "evil");
        assert_int_equal (unlink (place), 0);
        assert_int_equal (mkdir (place, 0700), 0);
        says (session (scene, i, NULL, 0), SAID "want changed\n" SAID "placed\n");
        assert_int_equal (unlink (place), 0);
        assert_int_equal (symlink (scene->worker, place), 0); /* the right program, by a name of somebody else's */
        says (session (scene, i, NULL, 0), SAID "want changed\n" SAID "placed\n");
        assert_int_equal (chmod (place, 0722), 0);
        says (session (scene, i, NULL, 0), SAID "want changed\n" SAID "placed\n");
        assert_int_equal (folder_remove (scene->directory, NULL), 0);
    }
}

/* A worker that becomes what stands behind --else (worker/process/self.h), as one whose file is damaged does. */
static void say_else (struct scene *scene, int status)
{
    struct err err;
    LOCAL_BUF worker = { .max = 4096 };
    buf_puts (&worker, "#!/bin/sh\nshift 2; exec ");
    for (int word = 1; word <= 12; word++)
        buf_printf (&worker, "\"${%d}\" ", word); /* all but the last two */
    buf_printf (&worker, "%d \"its libc  is bad\"\n", status);
    assert_int_equal (atomic_file_write (scene->worker, worker.ptr, worker.len, 0755, &err), 0);
    run_words ((const char *const[]){ "gzip", "-nc", scene->worker, NULL }, "/dev/null", scene->bundle);
}

TEST_ON (scene, every_shell_brings_a_damaged_worker_anew_once_and_then_refuses_it)
{
    char hex[DIGEST_HEX_BYTES], place[256];
    for (size_t i = 0; i < SHELLS; i++) {
        if (access (shells[i].path, X_OK) != 0)
            continue;
        say_else (scene, 4);
        snprintf (place, sizeof place, "%s/bundles/%s", scene->directory, name_of (scene, hex));
        says (session (scene, i, NULL, 0), SAID "want\n" SAID "placed\n" SAID "refused libraries its libc is bad\n");
        assert_int_equal (access (place, X_OK), 0);
        says (session (scene, i, NULL, 0), SAID "have\n" SAID "want changed\n"); /* and reads what follows as it */
        assert_int_equal (folder_remove (scene->directory, NULL), 0);
    }
}

TEST_ON (scene, every_shell_refuses_a_worker_that_finds_that_it_cannot_work)
{
    for (size_t i = 0; i < SHELLS; i++) {
        if (access (shells[i].path, X_OK) != 0)
            continue;
        say_else (scene, 3);
        says (session (scene, i, NULL, 0), SAID "want\n" SAID "placed\n" SAID "refused libraries its libc is bad\n");
        says (session (scene, i, NULL, 0), SAID "have\n" SAID "refused libraries its libc is bad\n");
        assert_int_equal (folder_remove (scene->directory, NULL), 0);
    }
}

/* Quotes would end it, newlines break csh, '!' and '\' mean something to csh and fish even between quotes. */
TEST (the_command_is_one_line_that_every_login_shell_passes_on)
{
    size_t len = strlen (bootstrap_script);
    assert_null (strpbrk (bootstrap_script, "'\\!\n\r\t"));
    assert_true (len < 8192);
    static const char lead[] = "exec /bin/sh -c 'eval \"$1\"' sh '";
    assert_memory_equal (bootstrap_command, lead, sizeof lead - 1);
    assert_memory_equal (bootstrap_command + sizeof lead - 1, bootstrap_script, len);
    assert_string_equal (bootstrap_command + sizeof lead - 1 + len, "'");
}
