/* links: launch */
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/io/fd.h"
#include "coordinator/launch/launch_private.h"
#include "test.h"
#include <jansson.h>

#define KEY "abcdefghij0123456789ABCDEFGHIJ0123456789"
#define RUN_ID "0123456789abcdef0123456789abcdef"
enum { WAIT_MS = 20 * 1000, RANKS = 24, AT_ONCE = 3 };

/* ---- a scene: a launch whose courier is a shell script ---- */

#define SHA256 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HEAD SHA256 " 4321\n"

struct scene {
    struct loop *loop;
    struct launch *launch;
    struct start_plan start;
    struct text identity;
    char folder[64], courier[96], bundle[96], head[112];
    int keyed[RANKS], exited[RANKS], not_started;
    char steps[256], found[256], why[2048];
    bool admit;
    bool (*done) (struct scene *scene);
    uint64_t give_up_ms;
};

static const struct plan_host host = {
    .name = TEXT_LIT ("v6e-3"),
    .address = TEXT_LIT ("10.0.0.5"),
    .ssh = { .address = TEXT_LIT ("34.1.2.3"),
             .port = 2222,
             .user = TEXT_LIT ("tpu"),
             .host_key_alias = TEXT_LIT ("tpu.75-3"),
             .jump = TEXT_LIT ("me@bastion:22") },
};

static void on_keyed (void *owner, uint32_t rank, struct text public_key)
{
    struct scene *scene = owner;
    scene->keyed[rank]++;
    assert_text (public_key, KEY);
    if (scene->admit)
        launch_note_admitted (scene->launch, rank);
}

static void on_step (void *owner, uint32_t rank, struct text step)
{
    struct scene *scene = owner;
    (void) rank;
    size_t len = strlen (scene->steps);
    snprintf (scene->steps + len, sizeof scene->steps - len, "%.*s ", TEXT_ARG (step));
}

static void on_found (void *owner, uint32_t rank, struct text sentence)
{
    struct scene *scene = owner;
    assert_int_equal (rank, 0);
    assert_true (text_to_c (sentence, scene->found, sizeof scene->found));
}

static void on_exited (void *owner, uint32_t rank, struct text why)
{
    struct scene *scene = owner;
    scene->exited[rank]++;
    assert_true (text_to_c (why, scene->why, sizeof scene->why));
    scene->not_started += strstr (scene->why, "cannot start the program") != NULL;
}

static void open_launch (struct scene *scene)
{
    struct launch_options options = {
        .launcher = LAUNCHER_SSH,
        .start = &scene->start,
        .courier_path = scene->courier,
        .bundle_path = scene->bundle,
        .run_id_hex = RUN_ID,
        .hub_address = "",
        .control_port = 4001,
        .bulk_port = 4002,
        .hub_public_key = KEY,
        .keyed = on_keyed,
        .step = on_step,
        .remark = on_found,
        .exited = on_exited,
        .owner = scene,
    };
    scene->launch = launch_open (scene->loop, &options);
}

static void scene_open (struct scene *scene)
{
    snprintf (scene->folder, sizeof scene->folder, "/tmp/launch-test-XXXXXX");
    assert_true (mkdtemp (scene->folder));
    snprintf (scene->courier, sizeof scene->courier, "%s/courier", scene->folder);
    snprintf (scene->bundle, sizeof scene->bundle, "%s/bundle", scene->folder);
    snprintf (scene->head, sizeof scene->head, "%s.head", scene->bundle);
    scene->identity = TEXT_LIT ("/keys/id");
    scene->start = (struct start_plan){
        .directory = TEXT_LIT ("/var/tmp/sliceup"),
        .deadline_ms = 15000,
        .at_once = AT_ONCE,
        .ssh = { .identities = { &scene->identity, 1 }, .agent = true, .known_hosts = TEXT_LIT ("/keys/known") },
    };
    scene->loop = loop_open (NULL);
    open_launch (scene);
    assert_int_equal (atomic_file_write (scene->head, HEAD, sizeof HEAD - 1, 0600, NULL), 0);
    assert_int_equal (atomic_file_write (scene->bundle, "bundle", 6, 0600, NULL), 0);
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
        fail_msg ("not within %d ms; last end: '%s', steps: %s", WAIT_MS, scene->why, scene->steps);
}

static bool is_keyed (struct scene *scene)
{
    return scene->keyed[0] > 0;
}

static bool is_exited (struct scene *scene)
{
    return scene->exited[0] > 0;
}

static bool has (struct scene *scene, const char *name)
{
    char path[128];
    snprintf (path, sizeof path, "%s/%s", scene->folder, name);
    return access (path, F_OK) == 0;
}

static bool is_over (struct scene *scene)
{
    return has (scene, "over");
}

static bool has_no_starts (struct scene *scene)
{
    return scene->launch->starts == NULL;
}

static void write_courier (const struct scene *scene, const char *body)
{
    char script[4096];
    int len = snprintf (script, sizeof script,
                        "#!/bin/sh\ncd %s\nread -r order; read -r line\n"
                        "say () { printf '{\"sliceup-courier\":1,%%s}\\n' \"$1\"; }\n"
                        "answer () { echo '{\"sliceup-worker\":1,\"key\":\"" KEY
                        "\",\"pid\":7,\"pid_start\":9,\"version\":\"1\"}'; }\n"
                        "%s\n",
                        scene->folder, body);
    assert_int_equal (atomic_file_write (scene->courier, script, (size_t) len, 0700, NULL), 0);
}

static void start (struct scene *scene, uint32_t rank)
{
    struct err err = { 0 };
    if (launch_start (scene->launch, rank, &host, scene->folder, &err) != 0)
        fail_msg ("%s", err.text);
}

static json_t *json_of (const struct scene *scene, const char *name)
{
    char path[128];
    snprintf (path, sizeof path, "%s/%s", scene->folder, name);
    json_t *words = json_load_file (path, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null (words);
    return words;
}

static void has_text (json_t *words, const char *name, const char *value)
{
    const char *is = json_string_value (json_object_get (words, name));
    if (!is || strcmp (is, value) != 0)
        fail_msg ("%s is '%s', expected '%s'", name, is ? is : "(none)", value);
}

/* ---- what a courier is told ---- */

TEST_ON (scene, a_courier_is_told_how_to_get_there_and_what_to_take)
{
    write_courier (
        scene, "printf '%s' \"$order\" > order; printf '%s' \"$line\" > line; echo \"$*\" > argv; answer; read -r go");
    start (scene, 0);
    run_until (scene, is_keyed);
    json_t *request = json_of (scene, "order"), *line = json_of (scene, "line"),
           *ssh = json_object_get (request, "ssh");
    has_text (request, "by", "ssh");
    has_text (request, "host", "v6e-3");
    has_text (request, "directory", "/var/tmp/sliceup");
    has_text (request, "bundle", scene->bundle);
    assert_int_equal (json_string_length (json_object_get (request, "nonce")), 32);
    has_text (request, "bundle_sha256", SHA256);
    assert_int_equal (json_integer_value (json_object_get (request, "bundle_head_bytes")), 4321);
    assert_int_equal (json_integer_value (json_object_get (request, "bundle_bytes")), 6);
    assert_int_equal (json_integer_value (json_object_get (request, "deadline_ms")), 15000);
    assert_true (json_is_false (json_object_get (request, "tied")));
    has_text (ssh, "address", "34.1.2.3");
    has_text (ssh, "user", "tpu");
    has_text (ssh, "jump", "me@bastion:22");
    has_text (ssh, "host_key_alias", "tpu.75-3");
    has_text (ssh, "known_hosts", "/keys/known");
    assert_int_equal (json_integer_value (json_object_get (ssh, "port")), 2222);
    assert_true (json_is_true (json_object_get (ssh, "agent")));
    assert_true (json_is_false (json_object_get (ssh, "sudo")));
    assert_string_equal (json_string_value (json_array_get (json_object_get (ssh, "identities"), 0)), "/keys/id");
    has_text (line, "directory", "/var/tmp/sliceup/runs/" RUN_ID "/v6e-3");
    has_text (line, "address", "");
    assert_null (json_object_get (line, "tied"));
    json_decref (request);
    json_decref (line);
}

TEST_ON (scene, a_password_is_a_line_of_its_own_behind_the_others)
{
    char password[32], path[128];
    write_courier (scene,
                   "printf '%s' \"$order\" > order; read -r word; printf '%s' \"$word\" > word; answer; read -r go");
    scene->launch->options.password = TEXT_LIT ("correct horse\n");
    start (scene, 0);
    run_until (scene, is_keyed);
    json_t *request = json_of (scene, "order");
    assert_true (json_is_true (json_object_get (json_object_get (request, "ssh"), "password")));
    snprintf (path, sizeof path, "%s/word", scene->folder);
    assert_int_equal (file_read_start (path, password, sizeof password), 13);
    assert_string_equal (password, "correct horse");
    json_decref (request);
}

TEST_ON (scene, a_missing_bundle_is_refused_with_the_command_that_makes_it)
{
    write_courier (scene, "exit 0");
    assert_int_equal (unlink (scene->bundle), 0);
    assert_int_equal (launch_start (scene->launch, 0, &host, scene->folder, &t->err), -1);
    assert_has (t->err.text, scene->bundle);
    assert_has (t->err.text, "--target bundle");
    assert_null (scene->launch->starts);
}

TEST_ON (scene, a_bundle_whose_head_is_not_told_is_refused)
{
    static const char *const heads[] = { "", "no digest 5\n", SHA256 "\n", SHA256 " 0\n", SHA256 "f 5\n" };
    write_courier (scene, "exit 0");
    for (size_t i = 0; i <= sizeof heads / sizeof heads[0]; i++) {
        struct err err = { 0 };
        if (i == sizeof heads / sizeof heads[0])
            assert_int_equal (unlink (scene->head), 0);
        else
            assert_int_equal (atomic_file_write (scene->head, heads[i], strlen (heads[i]), 0600, NULL), 0);
        assert_int_equal (launch_start (scene->launch, 0, &host, scene->folder, &err), -1);
        assert_has (err.text, scene->head);
        assert_null (scene->launch->starts);
    }
}

/* ---- what it says ---- */

TEST_ON (scene, what_a_courier_finds_is_passed_on_and_ends_nothing)
{
    write_courier (scene, "say '\"found\":\"the file was \\u001bchanged\"'; answer; read -r go; say '\"left\":true'");
    scene->admit = true;
    start (scene, 0);
    run_until (scene, has_no_starts);
    assert_string_equal (scene->found, "the file was \\x1bchanged");
    assert_int_equal (scene->keyed[0], 1);
    assert_int_equal (scene->exited[0], 0);
}

TEST_ON (scene, a_worker_that_stands_on_its_own_is_not_reported_when_its_courier_ends)
{
    write_courier (scene, "say '\"step\":\"resolve\"'; echo welcome; say '\"step\":\"connect\"'; answer\n"
                          "read -r go; [ \"$go\" = GO ] && say '\"left\":true'");
    scene->admit = true;
    start (scene, 0);
    run_until (scene, is_keyed);
    run_until (scene, has_no_starts);
    assert_string_equal (scene->steps, "resolve connect ");
    assert_int_equal (scene->exited[0], 0);
    start (scene, 0); /* its rank is free */
    run_until (scene, has_no_starts);
    assert_int_equal (scene->keyed[0], 2);
    assert_int_equal (scene->exited[0], 0);
}

TEST_ON (scene, a_refusal_names_its_step_and_shows_no_control_characters)
{
    write_courier (
        scene, "say '\"step\":\"connect\"'; say '\"refused\":\"host-key\",\"why\":\"another \\u001b[2J key\"'; exit 1");
    start (scene, 0);
    run_until (scene, is_exited);
    assert_string_equal (scene->why, "the worker was not started; failed in step host-key: another \\x1b[2J key");
    run_until (scene, has_no_starts);
    assert_int_equal (scene->exited[0], 1);
}

TEST_ON (scene, the_end_of_a_worker_that_its_courier_saw_is_reported_once)
{
    write_courier (scene, "answer; read -r go; say '\"ended\":\"exit status 3\"'; exit 0");
    scene->admit = true;
    start (scene, 0);
    run_until (scene, is_exited);
    assert_string_equal (scene->why, "the worker ended: exit status 3");
    run_until (scene, has_no_starts);
    assert_int_equal (scene->exited[0], 1);
}

TEST_ON (scene, a_courier_that_falls_takes_only_a_tied_worker_with_it)
{
    write_courier (scene, "answer; read -r go; kill -9 $$");
    scene->admit = true;
    start (scene, 0);
    run_until (scene, has_no_starts);
    assert_int_equal (scene->exited[0], 0);
    scene->start.tied = true;
    start (scene, 0);
    run_until (scene, is_exited);
    assert_string_equal (scene->why, "the courier of the worker was killed by signal 9 (SIGKILL)");
}

/* The first one carries a link and falls; the server no longer takes the password of the second. */
TEST_ON (scene, a_password_that_is_refused_is_given_to_no_further_courier)
{
    char runs[32], path[128];
    struct plan plan = { .hosts = { (struct plan_host *) &host, 1 }, .start = scene->start };
    write_courier (scene, "read -r password; echo run >> runs\n"
                          "[ $(wc -l < runs) = 1 ] && { say '\"carries\":\"\"'; answer; read -r go; kill -9 $$; }\n"
                          "say '\"refused\":\"authentication\",\"why\":\"the password was not accepted\"'; exit 1");
    scene->launch->options.password = TEXT_LIT ("correct horse\n");
    scene->launch->options.plan = &plan;
    scene->admit = true;
    start (scene, 0);
    run_until (scene, is_exited);
    assert_has (scene->why, "failed in step authentication: the password was not accepted");
    run_until (scene, has_no_starts);
    snprintf (path, sizeof path, "%s/runs", scene->folder);
    (void) file_read_start (path, runs, sizeof runs);
    assert_string_equal (runs, "run\nrun\n");
}

TEST_ON (scene, words_that_come_too_early_or_make_no_sense_change_nothing_or_are_refused)
{
    static const struct {
        const char *body, *why;
    } rows[] = {
        { "say '\"left\":true'; exit 0", "ended with exit status 0 before the worker reported its public key" },
        { "say '\"what\":1'; sleep 600", "an unknown message" },
        { "echo '{\"sliceup-courier\":9,\"step\":\"x\"}'; sleep 600", "protocol version of its courier" },
        { "say '\"refused\":\"connect\"'; sleep 600", "an unknown message" },
        { "exit 4", "the courier of the worker ended with exit status 4 before the worker reported its public key" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        scene->exited[0] = 0;
        write_courier (scene, rows[i].body);
        start (scene, 0);
        run_until (scene, is_exited);
        assert_has (scene->why, rows[i].why);
        run_until (scene, has_no_starts);
    }
}

/* ---- many, and the end of the coordinator ---- */

static bool all_keyed (struct scene *scene)
{
    for (int rank = 0; rank < RANKS; rank++)
        if (scene->keyed[rank] == 0)
            return false;
    return true;
}

TEST_ON (scene, no_more_are_on_their_way_than_allowed_and_all_get_their_turn)
{
    /* Each takes a place, and says so when there are too many. */
    write_courier (scene, "mkdir way.$$; [ $(ls -d way.* | wc -l) -le 3 ] || touch crowded\n"
                          "sleep 0.05; rmdir way.$$; answer; read -r go; say '\"left\":true'");
    scene->admit = true;
    for (uint32_t rank = 0; rank < RANKS; rank++)
        start (scene, rank);
    run_until (scene, all_keyed);
    run_until (scene, has_no_starts);
    assert_false (has (scene, "crowded"));
}

TEST_ON (scene, those_that_cannot_begin_are_reported_and_do_not_hold_up_the_others)
{
    char path[128];
    write_courier (
        scene,
        "until [ -e all ]; do sleep 0.01; done; rm -f courier; say '\"refused\":\"resolve\",\"why\":\"no\"'; exit 1");
    for (uint32_t rank = 0; rank < RANKS; rank++)
        start (scene, rank);
    snprintf (path, sizeof path, "%s/all", scene->folder);
    assert_int_equal (atomic_file_write (path, "", 0, 0600, NULL), 0);
    run_until (scene, has_no_starts);
    for (int rank = 0; rank < RANKS; rank++)
        assert_int_equal (scene->exited[rank], 1);
    assert_true (scene->not_started > 0);
}

static bool none_is_on_its_transport (struct scene *scene)
{
    for (const struct start *start = scene->launch->starts; start; start = start->next)
        if (start->state != START_QUEUED)
            return false;
    return true;
}

TEST_ON (scene, none_begins_once_the_run_is_over)
{
    char path[128];
    write_courier (scene,
                   "until [ -e all ]; do sleep 0.01; done; say '\"refused\":\"resolve\",\"why\":\"no\"'; exit 1");
    for (uint32_t rank = 0; rank < AT_ONCE + 2; rank++)
        start (scene, rank);
    launch_begin_no_more (scene->launch);
    snprintf (path, sizeof path, "%s/all", scene->folder);
    assert_int_equal (atomic_file_write (path, "", 0, 0600, NULL), 0);
    run_until (scene, none_is_on_its_transport);
    for (int rank = 0; rank < AT_ONCE + 2; rank++)
        assert_int_equal (scene->exited[rank], rank < AT_ONCE ? 1 : 0);
}

TEST_ON (scene, the_end_of_the_coordinator_reaches_a_courier_that_is_with_its_worker)
{
    write_courier (scene, "answer; read -r go; read -r more || touch over");
    scene->admit = true;
    start (scene, 0);
    run_until (scene, is_keyed);
    assert_false (is_over (scene));
    launch_close (scene->launch);
    open_launch (scene);
    run_until (scene, is_over);
}
