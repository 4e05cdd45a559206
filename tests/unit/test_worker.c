/* alone: worker_run */
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/wire/wire.h"
#include "leftovers.h"
#include "test.h"
#include "worker/attempt/attempt.h"
#include "worker/attempt/task.h"
#include "worker/run/join.h"
#include <limits.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>

enum { TIMEOUT_MS = 30000 };
#define RUN_HEX "30313233343536373839616263646566"

static struct text run_id = { "0123456789abcdef", RUN_ID_BYTES };

/* A coordinator's hub in this process and a worker in another, which is this executable again. */
struct bench {
    char directory[64];
    struct hub *hub;
    struct link_keys hub_keys, worker_keys;
    pid_t worker;
    bool tied;
    int starter_fd; /* the other end of the worker's standard input; 0: closed */
    uint64_t orphan_ms, exit_ms, stop_ms;
    struct arena arena;
    struct msg received;
    uint64_t session, seq;
};

static void open_hub (struct bench *bench, uint16_t control_port, uint16_t bulk_port)
{
    const struct hub_ports ports = { "127.0.0.1", control_port, bulk_port, 0 };
    struct hub_options options = {
        .hosts = 1, .keys = &bench->hub_keys, .control_bytes_max = MSG_MAX_BYTES, .bulk_bytes_max = 1 << 20
    };
    struct err err = { 0 };
    bench->hub = hub_open (&options, &err);
    if (!bench->hub || hub_admit_worker (bench->hub, 0, text_of (bench->worker_keys.public_key), &err) != 0 ||
        hub_listen (bench->hub, &ports, &err) != 0)
        fail_msg ("%s", err.text);
}

/* `exec` keeps the worker free of this process's sockets and threads. */
static void start_worker (struct bench *bench)
{
    char control[8], bulk[8];
    snprintf (control, sizeof control, "%u", hub_port (bench->hub, LINK_CONTROL));
    snprintf (bulk, sizeof bulk, "%u", hub_port (bench->hub, LINK_BULK));
    pid_t parent = getpid ();
    int input[2];
    assert_int_equal (pipe2 (input, O_CLOEXEC), 0);
    bench->worker = fork ();
    if (bench->worker == 0) {
        dup2 (input[0], 0);
        prctl (PR_SET_PDEATHSIG, SIGKILL);
        if (getppid () == parent)
            execl ("/proc/self/exe", "test_worker", "work", control, bulk, bench->directory, bench->hub_keys.public_key,
                   bench->worker_keys.public_key, bench->worker_keys.secret_key, bench->tied ? "tied" : "untied", NULL);
        _exit (127);
    }
    close (input[0]);
    if (bench->starter_fd)
        close (bench->starter_fd);
    bench->starter_fd = input[1];
}

static int work (char **argv)
{
    struct join_config join = { .host = "h0", .address = "127.0.0.1", .pid = (uint64_t) getpid (), .run_hex = RUN_HEX };
    struct log log = { .to = stderr, .program = "test_worker" };
    join.tied = strcmp (argv[8], "tied") == 0;
    memcpy (join.run_id, run_id.ptr, RUN_ID_BYTES);
    join.control_port = (uint16_t) atoi (argv[2]);
    join.bulk_port = (uint16_t) atoi (argv[3]);
    snprintf (join.directory, sizeof join.directory, "%s", argv[4]);
    snprintf (join.hub_key, sizeof join.hub_key, "%s", argv[5]);
    snprintf (join.keys.public_key, sizeof join.keys.public_key, "%s", argv[6]);
    snprintf (join.keys.secret_key, sizeof join.keys.secret_key, "%s", argv[7]);
    return driver_run (&join, "0.1.0", &log, NULL) < 0 ? 3 : 0;
}

static void bench_open (struct bench *bench)
{
    snprintf (bench->directory, sizeof bench->directory, "/tmp/test_worker.XXXXXX");
    assert_non_null (mkdtemp (bench->directory));
    link_keys_make (&bench->hub_keys);
    link_keys_make (&bench->worker_keys);
    open_hub (bench, 0, 0);
    bench->session = 1;
    bench->orphan_ms = 5000;
    bench->exit_ms = 20000;
    bench->stop_ms = 200;
}

static int wait_for_exit (struct bench *bench)
{
    int status = -1;
    uint64_t until_ms = clock_boot_ms () + TIMEOUT_MS;
    while (waitpid (bench->worker, &status, WNOHANG) == 0) {
        assert_true (clock_boot_ms () < until_ms);
        poll (NULL, 0, 5);
    }
    bench->worker = 0;
    return status;
}

static void bench_close (struct bench *bench)
{
    if (bench->worker > 0) {
        kill (bench->worker, SIGKILL);
        waitpid (bench->worker, NULL, 0);
    }
    leftovers_end ();
    if (bench->starter_fd)
        close (bench->starter_fd);
    hub_close (bench->hub);
    arena_release (&bench->arena);
    assert_int_equal (folder_remove (bench->directory, NULL), 0);
}

TEST_FIXTURE (struct bench, bench_open, bench_close)

/* The next message of this kind; others are let pass. */
static const struct msg *receive (struct bench *bench, enum link_channel channel, enum msg_kind kind)
{
    uint64_t until_ms = clock_boot_ms () + TIMEOUT_MS;
    struct text bytes;
    uint32_t rank;
    for (;;) {
        while (hub_receive (bench->hub, channel, &rank, &bytes)) {
            struct err err = { 0 };
            arena_reset (&bench->arena);
            if (wire_get_msg (text_copy (&bench->arena, bytes), &bench->received, &bench->arena, &err) < 0)
                fail_msg ("%s", err.text);
            if (bench->received.kind == kind)
                return &bench->received;
        }
        if (clock_boot_ms () > until_ms)
            fail_msg ("%s never came", msg_name (kind));
        struct pollfd entry = { .fd = hub_fd (bench->hub, channel), .events = POLLIN };
        poll (&entry, 1, 20);
    }
}

static void say (struct bench *bench, struct msg *msg)
{
    struct buf bytes;
    buf_init (&bytes, MSG_MAX_BYTES);
    msg->major = PROTOCOL_MAJOR;
    msg->run_id = run_id;
    msg->epoch = 1;
    msg->session = bench->session;
    msg->seq = ++bench->seq;
    wire_put_msg (&bytes, msg);
    assert_true (hub_send (bench->hub, LINK_CONTROL, 0, bytes.ptr, bytes.len));
    buf_release (&bytes);
}

static void welcome (struct bench *bench)
{
    struct msg msg = { .kind = MSG_WELCOME };
    msg.of.welcome.heartbeat_ms = 100;
    msg.of.welcome.limits = (struct limits){
        .orphan_ms = bench->orphan_ms, .exit_ms = bench->exit_ms, .stop_ms = bench->stop_ms, .log_bytes = 100000
    };
    say (bench, &msg);
}

static void order (struct bench *bench, uint32_t attempt, const char *script)
{
    struct text argv[] = { TEXT_LIT ("sh"), TEXT_LIT ("-c"), text_of (script) };
    struct msg msg = { .kind = MSG_RUN };
    struct msg_run *run = &msg.of.run;
    run->key = (struct attempt_key){ 1, PASS_ONCE, attempt };
    run->nonce = TEXT_LIT ("00112233445566778899aabbccddeeff");
    run->world = 1;
    run->rung =
        (struct rung){ .id = TEXT_LIT ("r"), .kind = PROGRAM_COMMAND, .scope = SCOPE_HOST, .timeout_ms = 20000 };
    run->rung.argv.items = argv;
    run->rung.argv.n = 3;
    say (bench, &msg);
}

static void acknowledge (struct bench *bench, uint32_t attempt)
{
    struct msg msg = { .kind = MSG_RESULT_ACK, .of.ack_result.key = { 1, PASS_ONCE, attempt } };
    say (bench, &msg);
}

static void count_kept (void *owner, const struct result *result)
{
    (void) result;
    ++*(uint32_t *) owner;
}

static uint32_t kept (const struct bench *bench)
{
    uint32_t n = 0;
    struct result_store store = { .directory = bench->directory };
    assert_int_equal (result_store_recall (&store, count_kept, &n, NULL), 0);
    result_store_close (&store);
    return n;
}

static void join_run (struct bench *bench)
{
    start_worker (bench);
    assert_text (receive (bench, LINK_CONTROL, MSG_HELLO)->of.hello.host, "h0");
    welcome (bench);
}

TEST_ON (b, a_run_goes_from_order_to_acknowledged_result)
{
    join_run (b);
    order (b, 1, "echo printed; exit 3");
    const struct msg *result = receive (b, LINK_CONTROL, MSG_RESULT);
    assert_int_equal (result->session, 1);
    assert_true (result->ack >= 2);
    assert_int_equal (result->of.result.ending, ENDING_EXITED);
    assert_int_equal (result->of.result.code, 3);
    const struct msg *log = receive (b, LINK_BULK, MSG_LOG);
    assert_text (log->of.log.bytes, "printed\n");
    assert_int_equal (log->of.log.key.attempt, 1);
    assert_int_equal (kept (b), 1);
    receive (b, LINK_CONTROL, MSG_RESULT); /* again, until it is acknowledged */
    acknowledge (b, 1);
    while (receive (b, LINK_CONTROL, MSG_HEARTBEAT)->of.heartbeat.holdings.n)
        ;
    assert_int_equal (kept (b), 0);
    order (b, 2, "exit 0");
    while (receive (b, LINK_CONTROL, MSG_RESULT)->of.result.key.attempt != 2)
        ;
}

/* A file that programs hold locked as long as anything of them lives, since what they start holds it too: pids that a
 * program tells may be those of another namespace. */
#define HOLD "exec 9>>../../held; flock -s 9; "

static bool held (const struct bench *bench)
{
    char path[96];
    snprintf (path, sizeof path, "%s/held", bench->directory);
    int fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true (fd >= 0);
    bool free = flock (fd, LOCK_EX | LOCK_NB) == 0;
    close (fd);
    return !free;
}

static void wait_until_let_go (const struct bench *bench)
{
    uint64_t until_ms = clock_boot_ms () + TIMEOUT_MS;
    while (held (bench)) {
        if (clock_boot_ms () > until_ms)
            fail_msg ("something of the program still lives");
        poll (NULL, 0, 5);
    }
}

TEST_ON (b, shutdown_ends_the_worker_and_its_program)
{
    join_run (b);
    order (b, 1, HOLD "trap '' INT TERM HUP; echo ready; while :; do sleep 1000; done");
    receive (b, LINK_BULK, MSG_LOG);
    assert_true (held (b));
    struct msg msg = { .kind = MSG_SHUTDOWN, .of.shutdown.why = TEXT_LIT ("over") };
    say (b, &msg);
    assert_int_equal (receive (b, LINK_CONTROL, MSG_RESULT)->of.result.ending, ENDING_CANCELLED);
    assert_text (receive (b, LINK_CONTROL, MSG_BYE)->of.bye.why, "over");
    assert_int_equal (wait_for_exit (b), 0);
    assert_false (held (b));
}

TEST_ON (b, sigterm_ends_the_worker_with_a_goodbye)
{
    join_run (b);
    receive (b, LINK_CONTROL, MSG_HEARTBEAT);
    kill (b->worker, SIGTERM);
    assert_text (receive (b, LINK_CONTROL, MSG_BYE)->of.bye.why, "told to end by SIGTERM");
    assert_int_equal (wait_for_exit (b), 0);
}

/* A program that says which signal it got before it ends. */
#define TELLS_SIGNAL                                                                                                   \
    HOLD "trap 'echo INT >> ../../got; exit 4' INT; trap 'echo TERM >> ../../got; exit 5' TERM; "                      \
         "echo ready; while :; do sleep 0.01; done"

static void got_signal (const struct bench *bench, const char *name)
{
    char path[96];
    struct buf got;
    snprintf (path, sizeof path, "%s/got", bench->directory);
    buf_init (&got, 64);
    assert_int_equal (file_read (path, &got, NULL), 0);
    assert_string_equal (buf_c (&got), name);
    buf_release (&got);
}

TEST_ON (b, a_worker_that_is_told_to_end_stops_its_program_politely)
{
    b->stop_ms = 10000;
    join_run (b);
    order (b, 1, TELLS_SIGNAL);
    receive (b, LINK_BULK, MSG_LOG);
    kill (b->worker, SIGTERM);
    assert_int_equal (receive (b, LINK_CONTROL, MSG_RESULT)->of.result.ending, ENDING_TERMINATED);
    assert_int_equal (wait_for_exit (b), 0);
    got_signal (b, "INT\n");
    assert_false (held (b));
}

TEST_ON (b, a_tied_worker_ends_with_the_connection_that_started_it)
{
    b->tied = true;
    b->stop_ms = 10000;
    join_run (b);
    order (b, 1, TELLS_SIGNAL);
    receive (b, LINK_BULK, MSG_LOG);
    assert_int_equal (write (b->starter_fd, "noise\n", 6), 6); /* says nothing to it */
    uint64_t beat = receive (b, LINK_CONTROL, MSG_HEARTBEAT)->of.heartbeat.beat;
    while (receive (b, LINK_CONTROL, MSG_HEARTBEAT)->of.heartbeat.beat < beat + 3)
        ;
    close (b->starter_fd);
    b->starter_fd = 0;
    assert_int_equal (receive (b, LINK_CONTROL, MSG_RESULT)->of.result.ending, ENDING_ORPHANED);
    const struct msg *bye = receive (b, LINK_CONTROL, MSG_BYE);
    assert_text (bye->of.bye.why, "whoever started this worker closed its standard input");
    assert_int_equal (wait_for_exit (b), 0);
    got_signal (b, "INT\n");
    assert_false (held (b));
}

TEST_ON (b, the_program_of_a_run_that_another_replaced_is_cancelled)
{
    const struct text ours = run_id;
    join_run (b);
    order (b, 1, HOLD "echo ready; while :; do sleep 0.01; done");
    receive (b, LINK_BULK, MSG_LOG);
    run_id = TEXT_LIT ("another run's id");
    say (b, &(struct msg){ .kind = MSG_REHELLO });
    run_id = ours;
    const struct result *result = &receive (b, LINK_CONTROL, MSG_RESULT)->of.result;
    assert_int_equal (result->ending, ENDING_CANCELLED);
    assert_text (result->problem, "stopped: the coordinator now has another run");
    assert_int_equal (wait_for_exit (b), 0);
}

TEST_ON (b, an_untied_worker_outlives_the_connection_that_started_it)
{
    join_run (b);
    order (b, 1, HOLD "echo ready; while :; do sleep 0.01; done");
    receive (b, LINK_BULK, MSG_LOG);
    close (b->starter_fd);
    b->starter_fd = 0;
    uint64_t beat = receive (b, LINK_CONTROL, MSG_HEARTBEAT)->of.heartbeat.beat;
    while (receive (b, LINK_CONTROL, MSG_HEARTBEAT)->of.heartbeat.beat < beat + 5)
        ;
    assert_int_equal (b->received.of.heartbeat.holdings.items[0].state, ATTEMPT_RUNNING);
    assert_true (held (b));
}

TEST_ON (b, nothing_of_a_program_outlives_a_worker_that_was_killed)
{
    if (geteuid () != 0)
        skip (); /* without a pid namespace it may; for others than root that depends on the machine */
    join_run (b);
    order (b, 1,
           HOLD "(setsid sh -c 'trap \"\" INT TERM HUP; (setsid sleep 1000 &) ; sleep 1000' &); echo ready; "
                "sleep 1000");
    receive (b, LINK_BULK, MSG_LOG);
    assert_true (held (b));
    kill (b->worker, SIGKILL);
    wait_for_exit (b);
    wait_until_let_go (b);
}

TEST_ON (b, silence_kills_the_program_and_then_ends_the_worker)
{
    b->orphan_ms = 1000;
    join_run (b);
    order (b, 1, HOLD "trap '' INT TERM HUP; echo ready; while :; do sleep 0.01; done");
    receive (b, LINK_BULK, MSG_LOG);
    assert_true (held (b));
    wait_until_let_go (b); /* nobody says anything to it from here on */
    while (kept (b) == 0)
        poll (NULL, 0, 5);
    b->exit_ms = 1500;
    struct msg rehello = { .kind = MSG_REHELLO };
    say (b, &rehello);
    while (receive (b, LINK_CONTROL, MSG_HELLO)->of.hello.holdings.n == 0)
        ;
    b->session = 2;
    b->seq = 0;
    welcome (b);
    assert_int_equal (receive (b, LINK_CONTROL, MSG_RESULT)->of.result.ending, ENDING_ORPHANED);
    assert_int_equal (wait_for_exit (b), 0);
    assert_int_equal (kept (b), 1); /* not acknowledged: for the next worker of this directory */
}

TEST_ON (b, a_killed_workers_result_is_told_by_the_next)
{
    join_run (b);
    order (b, 1, "exit 9");
    receive (b, LINK_CONTROL, MSG_RESULT);
    kill (b->worker, SIGKILL);
    wait_for_exit (b);
    start_worker (b);
    for (;;) { /* the first HELLO may still be one of the process that was killed */
        const struct msg_hello *hello = &receive (b, LINK_CONTROL, MSG_HELLO)->of.hello;
        if (hello->holdings.n == 1 && hello->holdings.items[0].state == ATTEMPT_ENDED)
            break;
    }
    b->session = 2;
    b->seq = 0;
    welcome (b);
    const struct msg *result = receive (b, LINK_CONTROL, MSG_RESULT);
    assert_int_equal (result->session, 2);
    assert_int_equal (result->of.result.code, 9);
}

TEST_ON (b, a_program_outlives_the_coordinator_and_its_successor_finds_it)
{
    join_run (b);
    order (b, 1, "while ! test -e ../../go; do sleep 0.01; done; exit 6");
    while (!receive (b, LINK_CONTROL, MSG_HEARTBEAT)->of.heartbeat.holdings.n)
        ;
    uint16_t control_port = hub_port (b->hub, LINK_CONTROL), bulk_port = hub_port (b->hub, LINK_BULK);
    hub_close (b->hub);
    open_hub (b, control_port, bulk_port);
    receive (b, LINK_CONTROL, MSG_HEARTBEAT);
    struct msg rehello = { .kind = MSG_REHELLO };
    say (b, &rehello);
    const struct msg_hello *hello = &receive (b, LINK_CONTROL, MSG_HELLO)->of.hello;
    assert_int_equal (hello->holdings.n, 1);
    assert_int_equal (hello->holdings.items[0].state, ATTEMPT_RUNNING);
    b->session = 5;
    b->seq = 0;
    welcome (b);
    struct text go = text_format (&b->arena, "%s/go", b->directory);
    assert_int_equal (atomic_file_write (go.ptr, "", 0, 0600, NULL), 0);
    const struct msg *result = receive (b, LINK_CONTROL, MSG_RESULT);
    assert_int_equal (result->of.result.code, 6);
}

/* ---- the writer of a cache ---- */

enum { WRITE_TOKEN = 7, WRITE_LEASE_MS = 4000 };

/* What the rung below runs, in place of `sliceup-worker restore`: a program that needs no cache of its own. */
static int hold_on (void)
{
    int fd = open ("../../held", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || flock (fd, LOCK_SH) < 0)
        return 1;
    for (uint64_t until_ms = clock_boot_ms () + 2 * TIMEOUT_MS; clock_boot_ms () < until_ms;)
        poll (NULL, 0, 1000);
    return 0;
}

static void order_to_write (struct bench *bench)
{
    struct msg msg = { .kind = MSG_RUN };
    struct msg_run *run = &msg.of.run;
    run->key = (struct attempt_key){ 1, PASS_COLD, 1 };
    run->nonce = TEXT_LIT ("00112233445566778899aabbccddeeff");
    run->world = 1;
    run->rung = (struct rung){ .id = TEXT_LIT ("r"),
                               .kind = PROGRAM_BUILTIN,
                               .builtin = TEXT_LIT ("restore"),
                               .scope = SCOPE_HOST,
                               .timeout_ms = 2 * TIMEOUT_MS };
    run->cache = (struct cache_access){ .role = CACHE_ROLE_WRITER, .token = WRITE_TOKEN, .lease_ms = WRITE_LEASE_MS };
    say (bench, &msg);
}

static uint64_t receive_ask (struct bench *bench)
{
    uint64_t ask = 0;
    while (!ask)
        ask = receive (bench, LINK_CONTROL, MSG_HEARTBEAT)->of.heartbeat.lease_ask;
    assert_int_equal (bench->received.of.heartbeat.lease_token, WRITE_TOKEN);
    return ask;
}

static void answer (struct bench *bench, uint64_t ask, uint64_t term_ms)
{
    struct msg msg = { .kind = MSG_LEASE, .of.lease = { WRITE_TOKEN, ask, term_ms } };
    say (bench, &msg);
}

static void assert_lease_lost (struct bench *bench)
{
    const struct result *result = &receive (bench, LINK_CONTROL, MSG_RESULT)->of.result;
    assert_int_equal (result->ending, ENDING_LEASE_LOST);
    assert_int_equal (result->seal.token, 0);
    assert_has (result->problem.ptr, "generation 7");
}

TEST_ON (b, a_worker_that_slept_past_its_lease_kills_its_writer_whatever_was_answered_meanwhile)
{
    b->orphan_ms = b->exit_ms = 4 * TIMEOUT_MS;
    join_run (b);
    order_to_write (b);
    while (!held (b))
        answer (b, receive_ask (b), WRITE_LEASE_MS);
    uint64_t ask = receive_ask (b);
    kill (b->worker, SIGSTOP);
    int status = 0;
    assert_int_equal (waitpid (b->worker, &status, WUNTRACED), b->worker);
    assert_true (WIFSTOPPED (status));
    answer (b, ask, WRITE_LEASE_MS);
    uint64_t over_ms = clock_boot_ms () + WRITE_LEASE_MS;
    while (clock_boot_ms () < over_ms)
        poll (NULL, 0, 50);
    assert_true (held (b)); /* nobody could have killed it */
    kill (b->worker, SIGCONT);
    assert_lease_lost (b);
    wait_until_let_go (b);
}

TEST_ON (b, a_writer_that_is_refused_is_never_started)
{
    b->orphan_ms = b->exit_ms = 4 * TIMEOUT_MS;
    join_run (b);
    order_to_write (b);
    answer (b, receive_ask (b), 0);
    assert_lease_lost (b);
    char path[96];
    snprintf (path, sizeof path, "%s/held", b->directory);
    assert_int_equal (access (path, F_OK), -1);
    snprintf (path, sizeof path, "%s/scratch", b->directory);
    assert_int_equal (access (path, F_OK), -1);
}

TEST_ON (b, an_idle_worker_sleeps)
{
    join_run (b);
    uint64_t first = receive (b, LINK_CONTROL, MSG_HEARTBEAT)->of.heartbeat.beat, began_ms = clock_boot_ms ();
    while (receive (b, LINK_CONTROL, MSG_HEARTBEAT)->of.heartbeat.beat < first + 10)
        ;
    assert_true (clock_boot_ms () - began_ms >= 800); /* ten beats of 100 ms, not a busy loop */
    char path[64], word[64] = "";
    snprintf (path, sizeof path, "/proc/%d/stat", b->worker);
    FILE *stat = fopen (path, "re");
    assert_non_null (stat);
    for (int field = 1; field <= 14; field++)
        assert_int_equal (fscanf (stat, "%63s", word), 1);
    fclose (stat);
    assert_true (atol (word) < 100); /* user time in ticks of 10 ms, start and sanitizers included */
}

/* ---- the launch line ---- */

#define KEY "0123456789012345678901234567890123456789"
#define LINE(protocol, run, host, port, key, directory)                                                                \
    "{\"protocol\":" protocol ",\"run\":\"" run "\",\"host\":\"" host "\",\"rank\":0,\"address\":\"127.0.0.1\","       \
    "\"control_port\":" port ",\"bulk_port\":2,\"key\":\"" key "\",\"directory\":\"" directory "\"}"

TEST (launch_lines_are_checked)
{
    static const struct {
        const char *line, *why;
    } rows[] = {
        { LINE ("1", RUN_HEX, "h0", "1", KEY, "/d"), NULL },
        { LINE ("2", RUN_HEX, "h0", "1", KEY, "/d"), "expected 1, the only one that this worker speaks" },
        { LINE ("1", "30", "h0", "1", KEY, "/d"), "run: expected 32 hexadecimal digits" },
        { LINE ("1", RUN_HEX "00", "h0", "1", KEY, "/d"), "run: expected a string" },
        { LINE ("1", "X0313233343536373839616263646566", "h0", "1", KEY, "/d"), "run: expected 32" },
        { LINE ("1", RUN_HEX, "../h0", "1", KEY, "/d"), "host: expected a host name" },
        { LINE ("1", RUN_HEX, "h0", "0", KEY, "/d"), "control_port: expected a port" },
        { LINE ("1", RUN_HEX, "h0", "65536", KEY, "/d"), "control_port: expected a port" },
        { LINE ("1", RUN_HEX, "h0", "1", "short", "/d"), "key: expected 40" },
        { LINE ("1", RUN_HEX, "h0", "1", KEY, "d"), "directory: expected an absolute path" },
        { LINE ("1", RUN_HEX, "h0", "1", KEY, "/d\",\"tied\":\"yes"), "tied: expected true or false" },
        { "[]", "expected a JSON object" },
        { "", "expected a JSON object" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct join_config join = { 0 };
        struct err err = { 0 };
        int rc = join_parse (&join, text_of (rows[i].line), &err);
        if (rc != (rows[i].why ? -1 : 0) || (rows[i].why && !strstr (err.text, rows[i].why)))
            fail_msg ("row %zu: %d '%s'", i, rc, err.text);
        assert_int_equal (join.control_port, rows[i].why ? 0 : 1);
        assert_int_equal (memcmp (join.run_id, run_id.ptr, RUN_ID_BYTES) == 0, !rows[i].why);
    }
}

TEST (a_worker_is_tied_only_when_it_is_told_so)
{
    static const struct {
        const char *line;
        bool tied;
    } rows[] = {
        { LINE ("1", RUN_HEX, "h0", "1", KEY, "/d"), false },
        { "{\"tied\":false,", false },
        { "{\"tied\":true,", true },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct join_config join = { 0 };
        char line[1024];
        snprintf (line, sizeof line, "%s%s", rows[i].line, i ? LINE ("1", RUN_HEX, "h0", "1", KEY, "/d") + 1 : "");
        assert_int_equal (join_parse (&join, text_of (line), NULL), 0);
        assert_int_equal (join.tied, rows[i].tied);
    }
}

TEST_ON (b, a_worker_makes_its_directory_and_stands_in_it)
{
    struct stat st;
    char deep[96], here[PATH_MAX], *before = getcwd (NULL, 0);
    snprintf (deep, sizeof deep, "%s/runs/of/this", b->directory);
    mode_t mask = umask (0);
    assert_int_equal (join_enter_directory (deep, &t->err), 0);
    umask (mask);
    assert_non_null (getcwd (here, sizeof here));
    assert_string_equal (here, deep);
    for (const char *path = "../.."; path; path = strcmp (path, ".") == 0 ? NULL : ".") {
        assert_int_equal (stat (path, &st), 0);
        assert_int_equal (st.st_mode & 07777, 0700);
    }
    assert_int_equal (join_enter_directory (deep, &t->err), 0); /* again, as a worker that is started anew does */
    assert_int_equal (chmod (deep, 0770), 0);
    assert_int_equal (join_enter_directory (deep, &t->err), -1);
    assert_has (t->err.text, "has mode 0770");
    assert_int_equal (chmod (deep, 0700), 0);
    if (geteuid () == 0) {
        assert_int_equal (chown (deep, 65534, 65534), 0);
        assert_int_equal (join_enter_directory (deep, &t->err), -1);
        assert_has (t->err.text, "(uid 65534)");
    }
    assert_int_equal (chdir (before), 0);
    free (before);
}

TEST (the_exchange_answers_and_waits_for_go)
{
    static const struct {
        const char *after, *why;
    } rows[] = {
        { "GO\n", NULL },
        { "NO\n", "expected GO" },
        { "", "ended before GO" },
        { "GONE\n", "longer than" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int pair[2];
        struct join_config join = { 0 };
        struct err err = { 0 };
        assert_int_equal (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        assert_true (dprintf (pair[0], "%s\n%s", LINE ("1", RUN_HEX, "h0", "1", KEY, "/d"), rows[i].after) > 0);
        shutdown (pair[0], SHUT_WR);
        int rc = join_exchange_launch_line (&join, pair[1], pair[1], "0.1.0", &err);
        if (rc != (rows[i].why ? -1 : 0) || (rows[i].why && !strstr (err.text, rows[i].why)))
            fail_msg ("row %zu: %d '%s'", i, rc, err.text);
        char answer[512] = "", expected[512];
        assert_true (read (pair[0], answer, sizeof answer - 1) > 0);
        snprintf (expected, sizeof expected, "\"pid\":%d,", getpid ());
        assert_has (answer, ("{\"sliceup-worker\":1,\"key\":\""));
        assert_has (answer, join.keys.public_key);
        assert_has (answer, expected);
        assert_has_not (answer, join.keys.secret_key);
        assert_true (join.pid_start > 0 && strlen (join.boot_id) == 36);
        close (pair[0]);
        close (pair[1]);
    }
}

int main (int argc, char **argv)
{
    if (argc == 9 && strcmp (argv[1], "work") == 0)
        return work (argv);
    if (argc > 1 && strcmp (argv[1], "task") == 0)
        return task_main (argc - 1, argv + 1);
    if (argc > 1 && strcmp (argv[1], "restore") == 0)
        return hold_on ();
    if (prctl (PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return 1;
    return test_run (argc, argv);
}
