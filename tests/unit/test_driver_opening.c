/* alone: simulated coordinator_run */
#include "test.h"
#include "tests/unit/driver_fixture.h"

#include <arpa/inet.h>
#include <sys/socket.h>

enum { LOOK_MS = 500, PASSES_MAX = 50, SUSPECT_MS = 200 };

static struct link_keys slice_pair;

static uint16_t free_port (void)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
    socklen_t len = sizeof at;
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal (bind (fd, (struct sockaddr *) &at, sizeof at), 0);
    assert_int_equal (getsockname (fd, (struct sockaddr *) &at, &len), 0);
    close (fd);
    return ntohs (at.sin_port);
}

/* The slice's pair and one public key for each host, as `sliceup ticket` leaves them. */
static void issue_tickets (struct stage *stage)
{
    char path[512];
    struct err err = { 0 };
    stage->plan.home = text_of (stage->home);
    stage->plan.start.listen = TEXT_LIT ("127.0.0.1");
    stage->plan.start.control_port = free_port ();
    stage->plan.start.bulk_port = free_port ();
    snprintf (path, sizeof path, "%s/slices/sample/hosts", stage->home);
    assert_int_equal (folder_make (path, 0700, &err), 0);
    link_keys_make (&slice_pair);
    snprintf (path, sizeof path, "%s/slices/sample/coordinator.key", stage->home);
    assert_int_equal (key_file_save (&slice_pair, path, &err), 0);
    for (uint32_t i = 0; i < stage->plan.hosts.n; i++) {
        link_keys_make (&stage->actors[i].keys);
        snprintf (path, sizeof path, "%s/slices/sample/hosts/host%u.pub", stage->home, i);
        assert_int_equal (public_key_save (path, stage->actors[i].keys.public_key, &err), 0);
    }
}

static void come (struct stage *stage, uint32_t host)
{
    struct actor *actor = &stage->actors[host];
    struct err err = { 0 };
    struct spoke_options options = { .address = "127.0.0.1",
                                     .control_port = (uint16_t) stage->plan.start.control_port,
                                     .bulk_port = (uint16_t) stage->plan.start.bulk_port,
                                     .hub_public_key = slice_pair.public_key,
                                     .keys = &actor->keys,
                                     .control_bytes_max = MSG_MAX_BYTES,
                                     .bulk_bytes_max = MSG_MAX_BYTES };
    spoke_close (actor->spoke, 0);
    actor->spoke = spoke_open (&options, &err);
    assert_non_null (actor->spoke);
}

/* What a worker that waits for a run says, which knows none. */
static struct msg hello_of_no_run (const struct stage *stage, uint32_t host)
{
    static const char no_run[RUN_ID_BYTES];
    struct msg hello = stage_hello (stage, host);
    hello.run_id = (struct text){ no_run, RUN_ID_BYTES };
    return hello;
}

/* ---- what is said before the run is on record ---- */

/* Host 0 is answered with `answer` when the run is on record, and with nothing before. */
static void begin_while_the_disk_stalls (struct stage *stage, const char *version, enum msg_kind answer)
{
    issue_tickets (stage);
    disk_stalls = true;
    stage_start (stage);
    come (stage, 0);
    struct msg hello = hello_of_no_run (stage, 0);
    hello.of.hello.version = text_of (version);
    stage_says (stage, 0, hello);
    (void) stage_run (stage, LOOK_MS);
    assert_int_equal (stage_received (stage, 0, answer), 0);
    disk_stalls = false;
    stage_receives (stage, 0, answer); /* what it said was kept */
}

TEST_ON (stage, a_waiting_worker_is_told_of_the_run_when_it_is_on_record)
{
    begin_while_the_disk_stalls (stage, STAGE_VERSION, MSG_REHELLO);
    assert_int_equal (stage->facts[FACT_RUN_OPENED], 1);
}

TEST_ON (stage, a_waiting_worker_of_another_build_stays_lost)
{
    begin_while_the_disk_stalls (stage, "9.9.9", MSG_REFUSE);
    stage_until (stage, FACT_HOST_LOST, 1);
    stage_settle (stage);
    assert_int_equal (stage->driver->coord->state->hosts.items[0].life, HOST_LOST);
}

static uint32_t passes;

static void count_pass (void *driver)
{
    passes++;
    driver_on_loop_iteration (driver);
}

/* A resumed run whose host is on its way back: it is neither heard nor missed while nothing can be recorded. */
TEST_ON (stage, while_the_disk_stalls_the_loop_rests_and_nobody_is_silent)
{
    issue_tickets (stage);
    stage->plan.limits.suspect_ms = SUSPECT_MS;
    stage_start (stage);
    stage_settle (stage);
    come (stage, 0);
    stage_says (stage, 0, stage_hello (stage, 0));
    stage_receives (stage, 0, MSG_WELCOME);
    stage_stop (stage);
    disk_stalls = true;
    assert_int_equal (stage_resume (stage, &t->err), 0);
    loop_set_iteration_fn (stage->loop, count_pass, stage->driver);
    stage_says (stage, 0, stage_hello (stage, 0)); /* it waits in libzmq */
    passes = 0;
    (void) stage_run (stage, LOOK_MS);
    assert_in_range (passes, 1, PASSES_MAX);
    disk_stalls = false;
    stage_until (stage, FACT_HOST_JOINED, 2); /* the first is of before */
    assert_int_equal (stage->facts[FACT_HOST_SUSPECTED], 0);
}

/* ---- who comes at once ---- */

static int listen_at (uint64_t port)
{
    const int one = 1;
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_port = htons ((uint16_t) port),
                              .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal (setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one), 0);
    assert_int_equal (bind (fd, (struct sockaddr *) &at, sizeof at), 0);
    assert_int_equal (listen (fd, STAGE_HOSTS), 0);
    return fd;
}

/* Both connect, find nobody, and will try again soon. */
static void two_come_too_early (struct stage *stage)
{
    int listener = listen_at (stage->plan.start.control_port);
    for (uint32_t i = 0; i < 2; i++) {
        come (stage, i);
        int peer = accept4 (listener, NULL, NULL, SOCK_CLOEXEC);
        assert_true (peer >= 0);
        close (peer);
    }
    close (listener);
}

TEST_ON (stage, workers_of_a_resumed_run_and_with_tickets_are_let_in_at_once)
{
    issue_tickets (stage);
    stage_start (stage);
    stage_settle (stage);
    come (stage, 1);
    stage_says (stage, 1, stage_hello (stage, 1));
    stage_receives (stage, 1, MSG_WELCOME);
    stage_stop (stage);
    two_come_too_early (stage);
    disk_stalls = true; /* the resumed run is on record late */
    assert_int_equal (stage_resume (stage, &t->err), 0);
    (void) stage_run (stage, LOOK_MS);
    assert_int_equal (hub_counts (stage->driver->hub).refused_handshakes, 0); /* who is refused comes back 5 s later */
    disk_stalls = false;
    for (uint32_t i = 0; i < 2; i++) {
        stage->actors[i] = (struct actor){ .keys = stage->actors[i].keys, .spoke = stage->actors[i].spoke };
        stage_says (stage, i, stage_hello (stage, i));
        stage_receives (stage, i, MSG_WELCOME);
    }
}
