/* alone: launch */
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "coordinator/launch/launch_private.h"
#include "coordinator/launch/launch_process.h"
#include "test.h"
#include <jansson.h>
#include <pthread.h>
#include <spawn.h>

#define KEY "abcdefghij0123456789ABCDEFGHIJ0123456789"
#define HUB_KEY "0123456789abcdefghijABCDEFGHIJ.-:+=^!/*?"
#define RUN_ID "0123456789abcdef0123456789abcdef"
enum { WAIT_MS = 20 * 1000, RANKS = 64 };

static const struct plan_host local0 = { .name = TEXT_LIT ("local0") }, local = { .name = TEXT_LIT ("local") };

/* ---- a scene: a loop, a launch, a folder, and what was heard ---- */

struct scene {
    struct loop *loop;
    struct launch *launch;
    char folder[64], worker[96];
    int keyed[RANKS], exited[RANKS];
    char key[64], why[2048];
    bool admit; /* at once, in the callback */
    int again;  /* so many more starts, in the callback */
    bool (*done) (struct scene *scene);
    uint64_t give_up_ms;
};

static void on_keyed (void *owner, uint32_t rank, struct text public_key)
{
    struct scene *scene = owner;
    assert_true (rank < RANKS);
    scene->keyed[rank]++;
    assert_true (text_to_c (public_key, scene->key, sizeof scene->key));
    if (scene->admit)
        launch_note_admitted (scene->launch, rank);
}

static void on_exited (void *owner, uint32_t rank, struct text why)
{
    struct scene *scene = owner;
    assert_true (rank < RANKS);
    scene->exited[rank]++;
    assert_true (text_to_c (why, scene->why, sizeof scene->why));
    assert_true (text_is_utf8 (why));
    if (scene->again-- > 0)
        assert_int_equal (launch_start (scene->launch, rank, &local0, scene->folder, NULL), 0);
}

static void scene_open (struct scene *scene)
{
    snprintf (scene->folder, sizeof scene->folder, "/tmp/launch-test-XXXXXX");
    assert_true (mkdtemp (scene->folder));
    snprintf (scene->worker, sizeof scene->worker, "%s/worker", scene->folder);
    struct launch_options options = {
        .launcher = LAUNCHER_LOCAL,
        .worker_path = scene->worker,
        .run_id_hex = RUN_ID,
        .hub_address = "127.0.0.1",
        .control_port = 4001,
        .bulk_port = 4002,
        .hub_public_key = HUB_KEY,
        .keyed = on_keyed,
        .exited = on_exited,
        .owner = scene,
    };
    scene->loop = loop_open (NULL);
    scene->launch = launch_open (scene->loop, &options);
}

static void scene_close (struct scene *scene)
{
    launch_close (scene->launch);
    loop_close (scene->loop);
    int rc = folder_remove (scene->folder, NULL);
    assert_int_equal (rc, 0);
}

TEST_FIXTURE (struct scene, scene_open, scene_close)

static void each_pass (void *owner)
{
    struct scene *scene = owner;
    uint64_t now_ms = clock_boot_ms ();
    if (scene->done (scene) || now_ms >= scene->give_up_ms)
        loop_stop (scene->loop);
    loop_set_deadline (scene->loop, now_ms + 10); /* some conditions are files, which wake nobody */
}

static void run_until (struct scene *scene, bool (*done) (struct scene *scene))
{
    scene->done = done;
    scene->give_up_ms = clock_boot_ms () + WAIT_MS;
    loop_set_iteration_fn (scene->loop, each_pass, scene);
    assert_int_equal (loop_run (scene->loop, NULL), 0);
    if (!done (scene))
        fail_msg ("not within %d ms; last end: '%s'", WAIT_MS, scene->why);
}

static bool is_keyed (struct scene *scene)
{
    return scene->keyed[0] > 0;
}

static bool is_exited (struct scene *scene)
{
    return scene->exited[0] > 0;
}

static bool is_keyed_or_exited (struct scene *scene)
{
    return is_keyed (scene) || is_exited (scene);
}

/* The worker program, as a shell script that runs in the scene's folder. */
static void write_worker (const struct scene *scene, const char *body)
{
    char script[4096];
    int len = snprintf (script, sizeof script, "#!/bin/sh\ncd %s\nKEY='%s'\n%s\n", scene->folder, KEY, body);
    assert_int_equal (atomic_file_write (scene->worker, script, (size_t) len, 0700, NULL), 0);
}

#define ANSWER                                                                                                         \
    "start=$(cut -d' ' -f22 /proc/$$/stat)\n"                                                                          \
    "printf '{\"sliceup-worker\":1,\"key\":\"%s\",\"pid\":%d,\"pid_start\":%s,\"version\":\"0.1\"}\\n' \"$KEY\" $$ "   \
    "$start\n"

static void start (struct scene *scene)
{
    struct err err = { 0 };
    if (launch_start (scene->launch, 0, &local0, scene->folder, &err) != 0)
        fail_msg ("%s", err.text);
}

static const char *file_text (const struct scene *scene, const char *name)
{
    static char text[16384];
    char path[128];
    struct buf content;
    buf_init (&content, sizeof text - 1);
    snprintf (path, sizeof path, "%s/%s", scene->folder, name);
    text[0] = '\0';
    if (file_read (path, &content, NULL) == 0)
        assert_true (text_to_c (buf_as_text (&content), text, sizeof text));
    buf_release (&content);
    return text;
}

static bool has_gone (struct scene *scene)
{
    return strcmp (file_text (scene, "gone"), "GO\n") == 0;
}

/* ---- a start that goes well ---- */

static const char good_worker[] = "read -r line; printf '%s' \"$line\" > line\n"
                                  "printf '%s\\n' \"$@\" > argv\n"
                                  "env > environment\n"
                                  "echo $$ > pid; cut -d' ' -f6 /proc/$$/stat > session\n"
                                  "ls -l /proc/$$/fd > descriptors\n"
                                  "echo 'welcome to this machine'\n" ANSWER
                                  "read -r go; echo \"$go\" > gone.new; mv gone.new gone\n"
                                  "exec sleep 600\n";

static void admit_and_kill (struct scene *scene)
{
    run_until (scene, is_keyed);
    launch_note_admitted (scene->launch, 0);
    run_until (scene, has_gone);
    launch_kill (scene->launch, 0);
    run_until (scene, is_exited);
}

static void check_line (struct scene *scene)
{
    static const char *const texts[][2] = {
        { "run", RUN_ID }, { "host", "local0" }, { "address", "127.0.0.1" }, { "key", HUB_KEY }
    };
    static const struct {
        const char *name;
        int value;
    } numbers[] = { { "protocol", 1 }, { "rank", 0 }, { "control_port", 4001 }, { "bulk_port", 4002 } };
    json_t *line = json_loads (file_text (scene, "line"), JSON_REJECT_DUPLICATES, NULL);
    assert_non_null (line);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal (json_string_value (json_object_get (line, texts[i][0])), texts[i][1]);
        assert_true (json_is_integer (json_object_get (line, numbers[i].name)));
        assert_int_equal (json_integer_value (json_object_get (line, numbers[i].name)), numbers[i].value);
    }
    assert_string_equal (json_string_value (json_object_get (line, "directory")), scene->folder);
    assert_int_equal (json_object_size (line), 9);
    json_decref (line);
}

TEST_ON (scene, a_worker_is_told_everything_and_waits_for_its_admission)
{
    write_worker (scene, good_worker);
    start (scene);
    run_until (scene, is_keyed);
    assert_string_equal (scene->key, KEY);
    assert_false (has_gone (scene));
    check_line (scene);
    assert_string_equal (file_text (scene, "argv"), "join\n");
    admit_and_kill (scene);
    assert_int_equal (scene->keyed[0], 1);
    assert_int_equal (scene->exited[0], 1);
    assert_string_equal (scene->why, "the worker was killed by signal 9 (SIGKILL)");
}

TEST_ON (scene, a_worker_inherits_nothing_but_what_is_listed)
{
    int leaked = open ("/dev/null", O_RDONLY); /* not close-on-exec, as a careless library's */
    assert_int_equal (dup2 (leaked, 77), 77);
    setenv ("SLICEUP_TEST_SECRET", "x", 1);
    setenv ("TZ", "UTC", 1);
    write_worker (scene, good_worker);
    start (scene);
    admit_and_kill (scene);
    unsetenv ("SLICEUP_TEST_SECRET");
    close (leaked);
    close (77);
    assert_has_not (file_text (scene, "environment"), "SLICEUP_TEST_SECRET");
    assert_has (file_text (scene, "environment"), "\nTZ=UTC\n");
    assert_has (file_text (scene, "descriptors"), "worker.log");
    assert_has_not (file_text (scene, "descriptors"), "/dev/null");
}

/* In Python: a shell undoes what it inherits. */
TEST_ON (scene, a_worker_starts_with_no_signal_blocked_or_ignored)
{
    char script[512];
    unsigned long long is_blocked = 1, is_ignored = 1;
    sigset_t blocked, before;
    int len = snprintf (script, sizeof script,
                        "#!/usr/bin/python3 -I\nimport re\n"
                        "found = re.findall (r'Sig(?:Blk|Ign):\\t(\\w+)', open ('/proc/self/status').read ())\n"
                        "open ('%s/signals', 'w').write (' '.join (found))\n",
                        scene->folder);
    assert_int_equal (atomic_file_write (scene->worker, script, (size_t) len, 0700, NULL), 0);
    sigemptyset (&blocked);
    sigaddset (&blocked, SIGTERM);
    sigprocmask (SIG_BLOCK, &blocked, &before);
    signal (SIGUSR1, SIG_IGN);
    start (scene);
    sigprocmask (SIG_SETMASK, &before, NULL);
    signal (SIGUSR1, SIG_DFL);
    run_until (scene, is_exited);
    assert_int_equal (sscanf (file_text (scene, "signals"), "%llx %llx", &is_blocked, &is_ignored), 2);
    assert_int_equal (is_blocked, 0);
    assert_int_equal (is_ignored & 1ULL << (SIGUSR1 - 1), 0); /* Python ignores some itself */
}

TEST_ON (scene, a_worker_has_a_session_of_its_own)
{
    char pid[32];
    write_worker (scene, good_worker);
    start (scene);
    admit_and_kill (scene);
    snprintf (pid, sizeof pid, "%s", file_text (scene, "pid"));
    assert_true (strlen (pid) > 1);
    assert_string_equal (file_text (scene, "session"), pid);
}

TEST_ON (scene, what_it_writes_to_standard_error_is_appended_to_its_private_log)
{
    struct stat st;
    char path[128];
    mode_t before = umask (0);
    write_worker (scene, "echo one more >&2; exit 4");
    scene->again = 1;
    start (scene);
    umask (before);
    run_until (scene, is_exited);
    scene->exited[0] = 0;
    run_until (scene, is_exited);
    assert_string_equal (file_text (scene, "worker.log"), "one more\none more\n");
    snprintf (path, sizeof path, "%s/worker.log", scene->folder);
    assert_int_equal (stat (path, &st), 0);
    assert_int_equal (st.st_mode & 07777, 0600);
}

static bool all_exited (struct scene *scene)
{
    for (int rank = 0; rank < RANKS; rank++)
        if (scene->exited[rank] == 0)
            return false;
    return true;
}

TEST_ON (scene, many_workers_start_at_once)
{
    write_worker (scene,
                  "read -r line\n" ANSWER "read -r go; [ \"$go\" = GO ] && exit 0; echo not let through >&2; exit 1");
    scene->admit = true;
    for (uint32_t rank = 0; rank < RANKS; rank++)
        assert_int_equal (launch_start (scene->launch, rank, &local, scene->folder, NULL), 0);
    run_until (scene, all_exited);
    for (int rank = 0; rank < RANKS; rank++) {
        assert_int_equal (scene->keyed[rank], 1);
        assert_int_equal (scene->exited[rank], 1);
    }
    assert_string_equal (file_text (scene, "worker.log"), "");
}

/* ---- starts that go wrong ---- */

static const struct wrong {
    const char *body, *why;
} wrongs[] = {
    { "echo garbage; echo '{'; echo '{}'; echo '[1]'; exit 3",
      "ended with exit status 3 before the worker reported its public key" },
    { "kill -SEGV $$", "was killed by signal 11 (SIGSEGV) before the worker reported its public key" },
    { "exec 1>&-; exit 5", "ended with exit status 5 before the worker reported its public key" },
    { "echo first >&2; echo 'libfoo.so: cannot open' >&2; exit 127", "its last output: libfoo.so: cannot open" },
    { "printf '\\033[2Jtrick\\n\\n' >&2; exit 1", "its last output: \\x1b[2Jtrick" },
    { "yes", "more than 64 KiB" },
    { "tr '\\0' 'x' < /dev/zero", "more than 64 KiB" },
    { "echo 'I wait' >&2; exec sleep 600", "the worker reported no public key within 400 ms; its last output: I wait" },
    { "exec 1>&-; exec sleep 600", "the worker reported no public key within 400 ms" },
    { "echo '{\"sliceup-worker\":2}'; exec sleep 600", "launch protocol version" },
    { "echo '{\"sliceup-worker\":\"1\"}'; exec sleep 600", "launch protocol version" },
    { "echo '{\"sliceup-worker\":1}'; exec sleep 600", "no public key" },
    { "KEY=short; " ANSWER "exec sleep 600", "no public key" },
    { "KEY=\"${KEY}1\"; " ANSWER "exec sleep 600", "no public key" },
    { "KEY='abcdefghij0123456789ABCDEFGHIJ012345678~'; " ANSWER "exec sleep 600", "no public key" },
    { "echo '{\"sliceup-worker\":1,\"key\":\"'$KEY'\",\"pid\":1,\"pid_start\":1,\"version\":\"\"}'; exec sleep 600",
      "does not match the started process" },
    { "echo '{\"sliceup-worker\":1,\"key\":\"'$KEY'\",\"pid\":'$$',\"pid_start\":1,\"version\":\"\"}'; exec sleep 600",
      "does not match the started process" },
    { "echo '{\"sliceup-worker\":1,\"key\":\"'$KEY'\",\"pid\":0,\"pid_start\":1,\"version\":\"\"}'; exec sleep 600",
      "no pid" },
    { "echo '{\"sliceup-worker\":1,\"key\":\"'$KEY'\",\"pid\":4294967297,\"pid_start\":1}'; exec sleep 600", "no pid" },
    { "echo '{\"sliceup-worker\":1,\"key\":\"'$KEY'\",\"pid\":'$$'}'; exec sleep 600", "no start time" },
    { "echo '{\"sliceup-worker\":1,\"key\":\"'$KEY'\",\"pid\":'$$',\"pid_start\":5}'; exec sleep 600", "no version" },
    { "echo '{\"sliceup-worker\":1,\"sliceup-worker\":1}'; exec sleep 600", "answer cannot be parsed" },
    { "echo '{\"sliceup-worker\":1,\"pid\":99999999999999999999}'; exec sleep 600", "answer cannot be parsed" },
    { "printf '{\"sliceup-worker\":1}%5000s\n' x; exec sleep 600",
      "the worker reported no public key within" }, /* cut: an answer */
    { "printf '{\"sliceup-worker\":1'; exec sleep 600", "the worker reported no public key within" },
};

TEST_ON (scene, a_start_that_goes_wrong_is_reported_once_and_says_why)
{
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        scene->exited[0] = 0;
        scene->launch->timeout_ms = 400;
        write_worker (scene, wrongs[i].body);
        start (scene);
        run_until (scene, is_keyed_or_exited);
        if (scene->keyed[0] || !strstr (scene->why, wrongs[i].why))
            fail_msg ("'%s': %s", wrongs[i].body, scene->keyed[0] ? "keyed" : scene->why);
        assert_int_equal (scene->exited[0], 1);
    }
}

/* Z: ended, and only its parent has not asked yet. */
static bool is_running (pid_t pid)
{
    char path[48], word = 'X';
    snprintf (path, sizeof path, "/proc/%d/stat", (int) pid);
    FILE *stat = fopen (path, "re");
    if (!stat)
        return false;
    assert_int_equal (fscanf (stat, "%*d (%*[^)]) %c", &word), 1);
    fclose (stat);
    return word != 'Z' && word != 'X';
}

static pid_t watched, its_child;

static bool both_are_gone (struct scene *scene)
{
    (void) scene;
    return kill (watched, 0) != 0 && !is_running (its_child);
}

TEST_ON (scene, a_worker_given_up_is_ended_with_its_children_and_not_reported_again)
{
    scene->launch->timeout_ms = 300;
    write_worker (scene, "sleep 600 & echo $! > child; echo $$ > pid; wait");
    start (scene);
    run_until (scene, is_exited);
    watched = atoi (file_text (scene, "pid"));
    its_child = atoi (file_text (scene, "child"));
    assert_true (watched > 0 && its_child > 0);
    start (scene); /* its rank is free at once */
    run_until (scene, both_are_gone);
    assert_int_equal (scene->exited[0], 1);
    launch_kill (scene->launch, 0);
    run_until (scene, both_are_gone);
}

TEST_ON (scene, other_output_before_the_answer_is_passed_over)
{
    write_worker (scene,
                  "head -c 5000 /dev/zero | tr '\\0' '{'; echo; echo '{\"a\":1}'; printf '\\377\\000\\n'; echo\n" ANSWER
                  "exec sleep 600");
    start (scene);
    run_until (scene, is_keyed_or_exited);
    assert_int_equal (scene->keyed[0], 1);
    assert_string_equal (scene->key, KEY);
    launch_kill (scene->launch, 0);
    run_until (scene, is_exited);
    assert_string_equal (scene->why,
                         "the worker was killed by signal 9 (SIGKILL) before the coordinator admitted the worker");
}

TEST_ON (scene, a_start_that_is_refused_changes_nothing)
{
    char path[128], long_path[4200];
    const struct plan_host *host = &local0, broken = { .name = TEXT_LIT ("\xff") };
    assert_int_equal (launch_start (scene->launch, 0, host, scene->folder, &t->err), -1); /* no worker program */
    assert_int_equal (t->err.code, ERR_IO);
    assert_has (t->err.text, scene->worker);
    write_worker (scene, good_worker);
    assert_int_equal (launch_start (scene->launch, 0, host, "relative", &t->err), -1);
    assert_int_equal (t->err.code, ERR_STATE);
    assert_int_equal (launch_start (scene->launch, 0, host, "/nowhere/at/all", &t->err), -1);
    assert_int_equal (t->err.code, ERR_IO);
    assert_int_equal (launch_start (scene->launch, 0, &broken, scene->folder, &t->err), -1);
    assert_int_equal (t->err.code, ERR_PARSE);
    memset (long_path, '/', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = '\0';
    assert_int_equal (launch_start (scene->launch, 0, host, long_path, &t->err), -1);
    assert_int_equal (t->err.code, ERR_LIMIT);
    snprintf (path, sizeof path, "%s/worker.log", scene->folder);
    assert_int_equal (unlink (path), 0);
    assert_int_equal (mkfifo (path, 0600), 0);
    assert_int_equal (launch_start (scene->launch, 0, host, scene->folder, &t->err), -1);
    int reader = open (path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_int_equal (launch_start (scene->launch, 0, host, scene->folder, &t->err), -1);
    assert_int_equal (t->err.code, ERR_STATE);
    close (reader);
    assert_int_equal (unlink (path), 0);
    start (scene); /* the rank is as free as before */
    assert_int_equal (launch_start (scene->launch, 0, host, scene->folder, &t->err), -1);
    assert_int_equal (t->err.code, ERR_STATE);
    admit_and_kill (scene);
    assert_int_equal (scene->exited[0], 1);
}

TEST_ON (scene, admitting_or_killing_a_rank_without_a_worker_does_nothing)
{
    launch_note_admitted (scene->launch, 3);
    launch_kill (scene->launch, 3);
    write_worker (scene, good_worker);
    start (scene);
    launch_note_admitted (scene->launch, 0); /* no key yet: there is nothing to admit */
    admit_and_kill (scene);
    launch_note_admitted (scene->launch, 0);
    launch_kill (scene->launch, 0);
    assert_int_equal (scene->exited[0], 1);
}

TEST_ON (scene, admitting_too_early_does_not_stop_the_waiting_for_the_key)
{
    scene->launch->timeout_ms = 200;
    write_worker (scene, "read -r line; read -r go && echo let through >&2; exec sleep 600");
    start (scene);
    launch_note_admitted (scene->launch, 0);
    run_until (scene, is_exited);
    assert_string_equal (scene->why, "the worker did not join: the worker reported no public key within 200 ms");
}

/* ---- coordinators that come and go ---- */

TEST_ON (scene, closing_ends_no_worker)
{
    write_worker (scene, good_worker);
    start (scene);
    run_until (scene, is_keyed);
    launch_note_admitted (scene->launch, 0);
    run_until (scene, has_gone);
    launch_close (scene->launch);
    scene->launch = NULL;
    pid_t pid = atoi (file_text (scene, "pid"));
    assert_true (pid > 0 && is_running (pid));
    assert_int_equal (kill (pid, SIGKILL), 0);
    assert_int_equal (waitpid (pid, NULL, 0), pid);
}

/* A process that is not our child: its parent has ended. */
static pid_t start_orphan (void)
{
    char shell[] = "sh", option[] = "-c", command[] = "sleep 600 & echo $!", text[16] = "";
    char *argv[] = { shell, option, command, NULL };
    int output[2];
    pid_t pid;
    posix_spawn_file_actions_t actions;
    assert_int_equal (pipe2 (output, O_CLOEXEC), 0);
    posix_spawn_file_actions_init (&actions);
    posix_spawn_file_actions_adddup2 (&actions, output[1], 1);
    assert_int_equal (posix_spawnp (&pid, "sh", &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy (&actions);
    close (output[1]);
    assert_true (read (output[0], text, sizeof text - 1) > 0);
    close (output[0]);
    assert_int_equal (waitpid (pid, NULL, 0), pid);
    return atoi (text);
}

TEST_ON (scene, an_adopted_worker_is_watched_and_can_be_killed)
{
    uint64_t ticks = 0;
    pid_t pid = start_orphan ();
    assert_true (launch_process_start_time (pid, &ticks));
    assert_int_equal (launch_adopt (scene->launch, 0, pid, ticks, NULL), 0);
    assert_int_equal (launch_adopt (scene->launch, 0, pid, ticks, NULL), -1); /* one worker a rank */
    launch_note_admitted (scene->launch, 0);
    launch_kill (scene->launch, 0);
    run_until (scene, is_exited);
    assert_int_equal (scene->exited[0], 1);
    assert_has (scene->why, "with unknown status");
    assert_false (is_running (pid));
}

TEST_ON (scene, another_process_of_the_same_pid_is_not_adopted)
{
    uint64_t ticks = 0;
    pid_t pid = start_orphan ();
    assert_true (launch_process_start_time (pid, &ticks));
    assert_int_equal (launch_adopt (scene->launch, 0, pid, ticks + 1, &t->err), -1);
    assert_int_equal (t->err.code, ERR_STATE);
    launch_kill (scene->launch, 0);
    assert_true (is_running (pid));
    assert_int_equal (kill (pid, SIGKILL), 0);
    assert_int_equal (launch_adopt (scene->launch, 0, 0, ticks, &t->err), -1);
    assert_int_equal (t->err.code, ERR_STATE);
    assert_int_equal (launch_adopt (scene->launch, 0, (int64_t) 1 << 33, ticks, &t->err), -1);
    assert_has (t->err.text, "is not a pid");
    assert_int_equal (launch_adopt (scene->launch, 0, INT32_MAX, ticks, &t->err), -1); /* above any kernel's pid_max */
    assert_int_equal (t->err.code, ERR_STATE);
}

static void *tell_and_wait (void *pipes)
{
    int (*ends)[2] = pipes;
    pid_t own = gettid ();
    char byte;
    assert_int_equal (write (ends[0][1], &own, sizeof own), sizeof own);
    (void) !read (ends[1][0], &byte, 1);
    return NULL;
}

/* Numbers of threads are pids, too: a worker's may have become one. */
TEST_ON (scene, a_thread_with_the_pid_of_a_worker_is_not_adopted)
{
    int ends[2][2];
    pthread_t thread;
    pid_t number = 0;
    assert_true (pipe (ends[0]) == 0 && pipe (ends[1]) == 0);
    assert_int_equal (pthread_create (&thread, NULL, tell_and_wait, ends), 0);
    assert_int_equal (read (ends[0][0], &number, sizeof number), sizeof number);
    assert_int_equal (launch_adopt (scene->launch, 0, number, 1, &t->err), -1);
    assert_int_equal (t->err.code, ERR_STATE);
    for (int i = 0; i < 4; i++)
        close (ends[1 - i / 2][1 - i % 2]);
    assert_int_equal (pthread_join (thread, NULL), 0);
}

TEST_ON (scene, the_start_time_is_read_past_any_name)
{
    char path[128], command[256];
    uint64_t own = 0, other = 0;
    snprintf (path, sizeof path, "%s/a ) b ( 1 2 3", scene->folder);
    snprintf (command, sizeof command, "cp /bin/sleep '%s'", path);
    assert_int_equal (system (command), 0);
    char name[] = "x", seconds[] = "600";
    char *argv[] = { name, seconds, NULL };
    pid_t pid;
    assert_true (launch_process_start_time (getpid (), &own));
    assert_int_equal (posix_spawn (&pid, path, NULL, NULL, argv, environ), 0);
    assert_true (launch_process_start_time (pid, &other));
    assert_int_equal (kill (pid, SIGKILL), 0);
    assert_int_equal (waitpid (pid, NULL, 0), pid);
    assert_true (other >= own && other - own < 100 * 600); /* ticks of 10 ms: this test runs for less than 10 min */
}
