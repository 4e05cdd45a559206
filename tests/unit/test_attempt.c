/* alone: attempt */
#include "attempt_fixture.h"
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "test.h"
#include "worker/attempt/attempt.h"
#include "worker/attempt/task.h"
#include "worker/facts/host_fact_list.h"
#include "worker/process/exec.h"
#include "worker/sandbox/confine.h"
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

/* ---- commands ---- */

TEST_ON (b, a_command_that_says_nothing_has_exit_status_and_log_only)
{
    use_command (b, "echo hello; echo world >&2; test \"$SLICEUP_FD\" = 3 && exit 4");
    const struct result *r = run (b);
    assert_int_equal (r->ending, ENDING_EXITED);
    assert_int_equal (r->code, 4);
    assert_false (r->spoke || r->done);
    assert_text (r->tail, "hello\nworld\n");
    assert_int_equal (r->output_bytes, 12);
    assert_text (log_of (b), "hello\nworld\n");
    assert_text (&b->chunks, "hello\nworld\n");
    assert_string_equal (b->phases, "run ");
    assert_true (r->peak_bytes > 0);
}

TEST_ON (b, a_silent_command_sends_no_chunk)
{
    use_command (b, "exit 0");
    assert_int_equal (run (b)->code, 0);
    assert_int_equal (b->chunks_n, 0);
}

TEST_ON (b, its_environment_is_an_allow_list_and_the_profile)
{
    struct var vars[] = { { TEXT_LIT ("ORDERED"), TEXT_LIT ("1") }, { TEXT_LIT ("TZ"), TEXT_LIT ("UTC") } };
    setenv ("NOT_ORDERED", "1", 1);
    setenv ("TZ", "Asia/Tokyo", 1);
    use_command (b, "env; pwd; echo pwd-is-home; test \"$(pwd)\" = \"$HOME\"");
    b->run.profile.env.items = vars;
    b->run.profile.env.n = 2;
    const struct result *r = run (b);
    unsetenv ("TZ");
    assert_int_equal (r->code, 0);
    has (r->tail, "ORDERED=1\n");
    has (r->tail, "TZ=UTC\n");
    has (r->tail, "PATH=");
    assert_has_not (r->tail, "NOT_ORDERED");
    has (r->tail, "/scratch/2.once.1\n");
}

/* A port at which this process listens; the caller closes `*fd`. */
static uint32_t taken_port (int *fd)
{
    struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
    socklen_t len = sizeof any;
    *fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true (bind (*fd, (struct sockaddr *) &any, len) == 0 && listen (*fd, 1) == 0);
    assert_int_equal (getsockname (*fd, (struct sockaddr *) &any, &len), 0);
    return ntohs (any.sin_port);
}

TEST_ON (b, rank_0_does_not_begin_where_its_port_is_taken)
{
    int fd;
    use_command (b, "exit 0");
    b->run.profile.port = taken_port (&fd);
    const struct result *r = run (b);
    close (fd);
    assert_int_equal (r->ending, ENDING_NOT_STARTED);
    assert_int_equal (r->owner, OWNER_HOST);
    has (r->problem, NOTE_PORT);
}

TEST_ON (b, another_rank_begins_whatever_its_own_ports)
{
    int fd;
    use_command (b, "exit 0");
    b->run.rank = 1;
    b->run.profile.port = taken_port (&fd);
    assert_int_equal (run (b)->ending, ENDING_EXITED);
    close (fd);
}

TEST_ON (b, a_variable_without_a_name_is_refused)
{
    struct var vars[] = { { TEXT_LIT ("A=B"), TEXT_LIT ("1") } };
    use_command (b, "exit 0");
    b->run.profile.env.items = vars;
    b->run.profile.env.n = 1;
    const struct result *r = run (b);
    assert_int_equal (r->ending, ENDING_NOT_STARTED);
    has (r->problem, "'A=B' is not a valid name of an environment variable");
}

TEST_ON (b, what_is_not_there_does_not_start)
{
    use_command (b, "");
    b->argv[0] = TEXT_LIT ("no-such-program");
    const struct result *r = run (b);
    assert_int_equal (r->ending, ENDING_NOT_STARTED);
    has (r->problem, "no program no-such-program on the PATH of this host");
    assert_int_equal (r->owner, OWNER_LAUNCH);
}

/* What a program prints that numbers its lines: "line 1" and on, `n` of them, of 12 bytes each. */
static struct text numbered (struct bench *b, uint32_t from, uint32_t n)
{
    struct buf out;
    buf_init (&out, 1 << 24);
    for (uint32_t i = from; i < from + n; i++)
        buf_printf (&out, "line %06u\n", i);
    return buf_finish (&out, &b->arena);
}

/* Beginning, marks and end of what was printed, each where it belongs: how much is cut. */
static uint64_t assert_cut_of (struct bench *b, struct text log, struct text printed)
{
    unsigned long long cut, from, to, from_line, to_line, all = 0, at = 0;
    uint32_t mark;
    while (text_find (log, TEXT_LIT ("[sliceup] "), &mark)) {
        struct text rest = { log.ptr + mark, log.len - mark };
        struct text first = text_take_until (&rest, '\n'), line = text_format (&b->arena, "%.*s", TEXT_ARG (first));
        assert_int_equal (
            sscanf (line.ptr, "[sliceup] %llu bytes are cut here: from byte %llu, line %llu, to byte %llu, line %llu",
                    &cut, &from, &from_line, &to, &to_line),
            5);
        assert_in_range (mark, from - at, from - at + (from % 12 != 0));
        assert_memory_equal (log.ptr, printed.ptr + at, from - at);
        assert_int_equal (cut, to - from);
        assert_int_equal (from_line, from / 12 + 1);
        assert_int_equal (to_line, to / 12 + 1);
        all += cut;
        at = to;
        log = rest;
    }
    assert_int_equal (at + log.len, printed.len);
    assert_memory_equal (log.ptr, printed.ptr + at, log.len);
    return all;
}

TEST_ON (b, a_log_keeps_both_ends_and_every_other_byte_is_counted)
{
    static const uint32_t lines[] = { 0, 300, 1000, 100000, 358400, 500000, 1000000 };
    for (uint32_t i = 0; i < 2 * sizeof lines / sizeof lines[0]; i++) {
        uint32_t n = lines[i / 2];
        b->context.log_bytes = i % 2 ? 4 << 20 : 4096;
        buf_clear (&b->chunks);
        use_command (b, text_format (&b->arena, "seq -f 'line %%06g' 0 %d; true", (int) n - 1).ptr);
        const struct result *r = run (b);
        struct text printed = numbered (b, 0, n);
        assert_int_equal (r->code, 0); /* it was never blocked, nor killed by SIGPIPE */
        assert_int_equal (r->output_bytes, printed.len);
        struct text log = n ? log_of (b) : (struct text){ 0 };
        assert_true (log.len <= b->context.log_bytes);
        assert_int_equal (assert_cut_of (b, log, printed), r->dropped_bytes);
        if (printed.len > b->context.log_bytes)
            assert_true (log.len >= b->context.log_bytes / 10 * 9);
        assert_int_equal (assert_cut_of (b, buf_as_text (&b->chunks), printed), r->unsent_bytes);
        assert_int_equal (b->chunks.len, r->log_bytes);
        assert_true (b->chunks.len <= b->context.log_bytes + LOG_CHUNK_MAX_BYTES);
        assert_int_equal (r->notes.n, r->dropped_bytes || r->unsent_bytes);
        attempt_destroy (b->attempt);
        b->attempt = NULL;
    }
}

TEST_ON (b, lines_that_look_like_a_failure_stay_of_a_cut)
{
    use_command (b, "seq 1 2000000; echo 'Traceback (most recent call last):'; echo '  File \"/w/step.py\", line 7'; "
                    "echo 'GrueError: dark'; seq 1 2000000");
    b->context.log_bytes = 1 << 20;
    const struct result *r = run (b);
    static const char kept[] =
        "these lines of it stay:\nTraceback (most recent call last):\n  File \"/w/step.py\", line "
        "7\nGrueError: dark\n[sliceup] whole again from byte ";
    has (log_of (b), kept);
    has (buf_as_text (&b->chunks), "GrueError: dark\n");
    assert_true (log_of (b).len + r->dropped_bytes > r->output_bytes);
}

TEST_ON (b, the_first_failure_stays_of_a_flood_of_them)
{
    use_command (b, "seq 1 150000; echo 'RuntimeError: THE CAUSE'; "
                    "seq -f 'retry %06g: connection lost, trying again' 1 100000");
    run (b);
    has (log_of (b), "these lines of it stay:\nRuntimeError: THE CAUSE\nretry 000001");
    has (buf_as_text (&b->chunks), "RuntimeError: THE CAUSE\n");
}

TEST_ON (b, lines_below_a_failure_leave_the_end_whole)
{
    use_command (b, "seq 1 200000; echo 'RuntimeError: THE CAUSE'; seq -f '  frame %06g' 1 31000; echo '[end'");
    const struct result *r = run (b);
    struct text log = log_of (b);
    has (log, "RuntimeError: THE CAUSE\n  frame 000001\n  frame 000002\n");
    has (log, "  frame 030999\n  frame 031000\n[end\n");
    assert_true (log.len >= b->context.log_bytes / 10 * 8);
    assert_true (r->dropped_bytes >= r->output_bytes - log.len);
}

TEST_ON (b, what_names_an_exception_stays_with_its_traceback)
{
    use_command (b, "seq 1 200000; echo 'Traceback (most recent call last):'; echo '  File \"/w/step.py\", line 7'; "
                    "echo 'Dark: unlit'; echo step; seq 1 200000; "
                    "seq -f '  frame %06g' 1 3; echo step; "
                    "echo 'E0517 10:11:12.000001    7 client.cc:7] bad order of devices'; echo E0516; seq 1 200000");
    run (b);
    has (log_of (b), "File \"/w/step.py\", line 7\nDark: unlit\n"
                     "E0517 10:11:12.000001    7 client.cc:7] bad order of devices\n[sliceup] whole");
    has (buf_as_text (&b->chunks), "client.cc:7] bad order of devices\n");
}

TEST_ON (b, of_a_long_line_that_looks_like_a_failure_the_beginning_stays)
{
    use_command (b, "seq 1 200000; printf 'RuntimeError: THE CAUSE %03000d\\nfailed\\n' 7; seq 1 200000");
    const struct result *r = run (b);
    has (buf_as_text (&b->chunks), "RuntimeError: THE CAUSE 000000");
    has (buf_as_text (&b->chunks), "0000\nfailed\n");
    assert_has_not (&b->chunks, "0007\nfailed");
    has (log_of (b), "0007\nfailed\n");
    assert_true (r->unsent_bytes > r->dropped_bytes);
}

TEST_ON (b, what_a_full_disk_does_not_take_is_told)
{
    b->context.log_bytes = 4 << 20;
    mount_small_logs (b);
    use_command (b, "seq -f 'line %06g' 0 49999");
    const struct result *r = run (b);
    struct text log = log_of (b);
    assert_int_equal (umount2 (text_format (&b->arena, "%s/logs", b->directory).ptr, MNT_DETACH), 0);
    unsigned long long cut, from = log.len;
    uint32_t mark;
    if (text_find (log, TEXT_LIT ("[sliceup] "), &mark)) /* there was room for it */
        assert_int_equal (sscanf (log.ptr + mark, "[sliceup] %llu bytes are cut here: from byte %llu", &cut, &from), 2);
    assert_int_equal (from + r->dropped_bytes, 600000);
    assert_in_range (from, 1, 64 << 10);
    has (r->notes.items[0].text, "the log on the host lacks ");
    has (r->notes.items[0].text, ".log: No space left on device");
}

TEST_ON (b, what_a_busy_coordinator_does_not_take_at_once_is_sent_again)
{
    b->refusals = 3;
    use_command (b, "echo hello");
    const struct result *r = run (b);
    assert_text (&b->chunks, "hello\n");
    assert_true (r->unsent_bytes == 0 && r->log_bytes == 6);
}

TEST_ON (b, a_input_closed_coordinator_costs_only_its_copy)
{
    b->input_closed = true;
    use_command (b, "echo hello");
    const struct result *r = run (b);
    assert_text (log_of (b), "hello\n");
    assert_int_equal (r->unsent_bytes, 6);
}

TEST_ON (b, invalid_output_becomes_a_valid_tail)
{
    use_command (b, "printf 'a\\377b\\000c'");
    const struct result *r = run (b);
    assert_text (r->tail, "a\xEF\xBF\xBD"
                          "b\xEF\xBF\xBD"
                          "c");
    assert_int_equal (log_of (b).len, 5);
}

TEST_ON (b, a_tail_of_garbage_ends_where_the_output_ends)
{
    use_command (b, "head -c 5000 /dev/zero; echo the end");
    const struct result *r = run (b);
    assert_in_range (r->tail.len, RESULT_TAIL_MAX_BYTES - 2, RESULT_TAIL_MAX_BYTES);
    assert_true (text_is_utf8 (r->tail));
    has (r->tail, "\xEF\xBF\xBDthe end\n");
}

TEST_ON (b, strays_are_counted)
{
    use_command (b, "setsid sleep 1000 & sleep 1000 & exit 0");
    assert_int_equal (run (b)->strays, 2);
}

TEST_ON (b, a_limit_ends_it)
{
    b->ripe_on = "begun";
    use_command (b, "echo begun; trap '' INT TERM; while :; do sleep 0.01; done");
    const struct result *r = run (b);
    assert_int_equal (r->ending, ENDING_TIMEOUT);
    assert_int_equal (r->code, SIGKILL);
    has (r->problem, "exceeded its time limit of 30 s");
    assert_true (r->duration_ms >= TIMEOUT_MS + 2 * 300);
    has (r->tail, "begun");
}

/* ---- a program that hangs ---- */

static bool stack_has (const struct result *r, const char *words)
{
    for (uint32_t i = 0; i < r->stack.n; i++)
        if (text_find (r->stack.items[i], text_of (words), NULL))
            return true;
    return false;
}

TEST_ON (b, what_its_threads_wait_in_stands_in_the_log_and_the_result)
{
    b->ripe_on = "begun";
    use_command (b, "trap 'echo late error: FATAL' INT; sleep 1000 & printf begun; while :; do wait; sleep 1; done");
    const struct result *r = run (b);
    has (log_of (b),
         "begun\n[sliceup] the program is stopped: the attempt exceeded its time limit of 30 s; its threads:\n"
         "[sliceup] sh: main thread ");
    has (log_of (b), "[sliceup] sleep: main thread ");
    assert_true (stack_has (r, "sh: main thread ") && stack_has (r, "sleep: main thread "));
    assert_has_not (log_of (b), "stacks"); /* nobody was asked */
    assert_text (r->tail, "begun");        /* what it printed before */
    assert_text (log_of (b), &b->chunks);
}

TEST_ON (b, a_python_program_shows_where_the_interrupt_met_it)
{
    b->ripe_on = "ripe";
    use_canary (b, "def inner(): say(type='phase', name='ripe'); time.sleep(100)\ndef outer(): inner()\nouter()\n");
    const struct result *r = run (b);
    assert_true (r->stack.n >= 4);
    has (r->stack.items[0], "main thread: File ");
    has (r->stack.items[0], "canary.py\", line 7, in inner");
    has (r->stack.items[1], "called from: File ");
    assert_true (stack_has (r, ": main thread sleeping"));
}

#define OFFERS                                                                                                         \
    "import faulthandler, signal, threading\n"                                                                         \
    "for number in (signal.SIGINT, signal.SIGTERM): signal.signal(number, signal.SIG_IGN)\n"                           \
    "def offer(): say(type='stacks', signal=attempt['stacks_signal'], pid=os.getpid()), say(type='phase', "            \
    "name='ripe')\n"                                                                                                   \
    "def hang():\n    while True: time.sleep(100)\n"

TEST_ON (b, a_program_that_said_so_is_asked_for_its_stacks)
{
    b->ripe_on = "ripe";
    use_canary (
        b, OFFERS
        "threading.Thread(target=hang).start()\n"
        "faulthandler.register(attempt['stacks_signal'], file=open(attempt['stacks_file'], 'a'))\noffer()\nhang()\n");
    const struct result *r = run (b);
    has (log_of (b), "[sliceup] the stacks of its Python threads:\n");
    has (log_of (b), "[sliceup] Current thread 0x");
    has (r->stack.items[0], "canary.py\", line 11 in hang");
    assert_true (stack_has (r, ": 1 thread sleeping"));
    assert_true (r->code == SIGKILL && r->bad_lines == 0);
}

TEST_ON (b, a_program_that_goes_on_tells_where_it_stands_and_its_log_says_nothing_of_it)
{
    b->ripe_on = "ripe";
    b->look_when_ripe = true;
    use_canary (b, OFFERS "faulthandler.register(attempt['stacks_signal'], file=open(attempt['stacks_file'], 'a'))\n"
                          "offer()\nhang()\n");
    const struct result *r = run (b);
    assert_true (text_starts (b->stand, "main thread: File \""));
    has (b->stand, "canary.py\", line 11 in hang\ncalled from: ");
    has (b->stand, ": main thread sleeping in clock_nanosleep");
    assert_has_not (log_of (b), "hang");
    assert_int_equal (r->ending, ENDING_CANCELLED);
}

TEST_ON (b, one_that_prints_nothing_leaves_no_log)
{
    use_command (b, "exit 0");
    run (b);
    struct text path = attempt_file_path (&b->arena, b->directory, "logs", &b->run.key, ".log");
    assert_int_equal (access (path.ptr, F_OK), -1);
    use_command (b, "echo printed");
    run_again (b);
    assert_text (log_of (b), "printed\n");
}

TEST_ON (b, where_it_stood_before_a_gate_is_not_where_it_stands_at_it)
{
    b->ripe_on = "ripe";
    b->ripe_next = "gate";
    b->look_when_ripe = true;
    use_canary (b, OFFERS "file = open(attempt['stacks_file'], 'a')\n"
                          "faulthandler.register(attempt['stacks_signal'], file=file)\noffer()\n"
                          "while not os.path.getsize(file.name): time.sleep(0.01)\n"
                          "say(type='gate', name='g', mode='share', value='v')\nlines.readline()\n");
    const struct result *r = run (b);
    has (b->stand, "canary.py");
    assert_int_equal (r->ending, ENDING_TIMEOUT);
    assert_int_equal (r->stack.n, 0);
}

TEST_ON (b, one_without_stacks_tells_what_its_threads_wait_in)
{
    b->ripe_on = "begun";
    b->look_when_ripe = true;
    use_command (b, "echo begun; sleep 1000; :");
    (void) run (b);
    has (b->stand, "sh: main thread sleeping in wait4");
    has (b->stand, "\nsleep: main thread sleeping in clock_nanosleep");
}

TEST_ON (b, who_said_so_without_a_handler_is_not_killed_by_it)
{
    b->ripe_on = "ripe";
    use_canary (b, OFFERS "signal.signal(signal.SIGTERM, lambda *_: os._exit(7))\noffer()\nhang()\n");
    const struct result *r = run (b);
    assert_int_equal (r->ending, ENDING_TIMEOUT);
    assert_int_equal (r->code, 7);
    assert_has_not (log_of (b), "stacks");
}

TEST_ON (b, one_that_prints_nothing_or_is_stopped_is_killed_all_the_same)
{
    static const char *const bodies[] = {
        "signal.signal(attempt['stacks_signal'], lambda *_: None)\noffer()\nhang()\n",
        "faulthandler.register(attempt['stacks_signal'], file=open(attempt['stacks_file'], 'a'))\noffer()\n"
        "os.kill(os.getpid(), signal.SIGSTOP)\nhang()\n"
    };
    for (int i = 0; i < 2; i++) {
        b->ripe_on = "ripe";
        use_canary (b, text_format (&b->arena, OFFERS "%s", bodies[i]).ptr);
        const struct result *r = i ? run_again (b) : run (b);
        assert_true (r->ending == ENDING_TIMEOUT && r->code == SIGKILL);
        has (log_of (b), "[sliceup] it wrote no stack within 1 s\n");
        assert_true (r->duration_ms >= TIMEOUT_MS + 1000);
    }
}

TEST_ON (b, one_that_waits_at_a_gate_is_not_looked_at)
{
    b->ripe_on = "gate";
    use_canary (b, "say(type='gate', name='g', mode='share', value='v')\nlines.readline()\n");
    const struct result *r = run (b);
    assert_int_equal (r->ending, ENDING_TIMEOUT);
    assert_int_equal (r->stack.n, 0);
    assert_has_not (log_of (b), "[sliceup]");
}

TEST_ON (b, a_line_about_stacks_is_checked)
{
    static const char *const lines[] = { "signal=0, pid=1", "signal=65, pid=1", "signal=10, pid=0", "signal=10",
                                         "pid=3" };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        use_canary (b, text_format (&b->arena, "say(type='stacks', %s)\ndone()\n", lines[i]).ptr);
        assert_int_equal ((i ? run_again (b) : run (b))->bad_lines, 1);
    }
}

TEST_ON (b, a_stop_is_reported_as_ordered)
{
    b->stop_on_phase = "run";
    b->stop_hard = true;
    use_command (b, "while :; do sleep 1000; done");
    const struct result *r = run (b);
    assert_int_equal (r->ending, ENDING_CANCELLED);
    assert_int_equal (r->code, SIGKILL);
    has (r->problem, "stopped: enough");
}

TEST_ON (b, an_unknown_program_kind_does_not_start)
{
    const struct result *r = run (b);
    assert_int_equal (r->ending, ENDING_NOT_STARTED);
    has (r->problem, "does not know the kind of program");
}

/* ---- canaries ---- */

TEST_ON (b, a_canary_hears_the_attempt_and_speaks)
{
    struct var args[] = { { TEXT_LIT ("steps"), TEXT_LIT ("3") }, { TEXT_LIT ("name"), TEXT_LIT ("\"x\"") } };
    b->run.rung.args.items = args;
    b->run.rung.args.n = 2;
    use_canary (b, "say(type='phase', name='run')\n"
                   "attempt['stacks_file'] = os.path.relpath(attempt['stacks_file'])\n"
                   "say(type='fact', name='line', value=json.dumps(attempt, sort_keys=True))\n"
                   "say(type='memory', peak_bytes=1<<40)\n"
                   "print('printed')\n"
                   "done()\n");
    const struct result *r = run (b);
    if (r->bad_lines || !r->done)
        fail_msg ("%.*s %.*s", TEXT_ARG (r->problem), TEXT_ARG (r->tail));
    assert_true (r->ending == ENDING_EXITED && r->code == 0 && r->spoke);
    assert_text (r->phase, "run");
    assert_true (r->peak_bytes == 1ull << 40);
    if (strcmp (b->phases, "start run ") != 0) /* fetching was over within one pass of the loop */
        assert_string_equal (b->phases, "files start run ");
    assert_true (text_is (r->facts.items[0].value,
                          "{\"address\": \"127.0.0.1\", \"args\": {\"name\": \"x\", \"steps\": 3}, \"attempt\": 1, "
                          "\"backend\": \"cpu\", \"devices_per_host\": 2, \"host\": \"h0\", "
                          "\"mesh\": [{\"axis\": \"host\", \"size\": 2}], \"nonce\": \"" NONCE "\", "
                          "\"pass\": \"once\", "
                          "\"protocol\": 1, \"rank\": 0, \"run\": \"ab\", \"rung\": \"tiny\", \"scope\": \"host\", "
                          "\"secret\": 77, \"stacks_file\": \"stacks\", \"stacks_signal\": 62, \"type\": \"attempt\", "
                          "\"warm\": \"none\", \"world\": 1}"));
}

TEST_ON (b, a_slice_canary_hears_its_place_in_the_slice)
{
    struct axis axes[] = { { TEXT_LIT ("data"), 4 }, { TEXT_LIT ("model"), 2 } };
    b->run.rung.scope = SCOPE_SLICE;
    b->run.mesh.items = axes;
    b->run.mesh.n = 2;
    b->run.rank = 3;
    b->run.world = 4;
    use_canary (b, "place = [attempt[k] for k in ('scope', 'rank', 'world', 'mesh')]\n"
                   "say(type='fact', name='place', value=json.dumps(place))\n"
                   "done()\n");
    assert_text (run (b)->facts.items[0].value, ("[\"slice\", 3, 4, [{\"axis\": \"data\", \"size\": 4}, "
                                                 "{\"axis\": \"model\", \"size\": 2}]]"));
}

TEST_ON (b, a_gate_is_passed_when_it_is_opened)
{
    b->answer_gates = true;
    use_canary (b, "for name in ('rendezvous', 'program'):\n"
                   "    say(type='gate', name=name, mode='share', value='')\n"
                   "    go = json.loads(lines.readline())\n"
                   "    assert go == {'type': 'go', 'gate': name, 'value': 'opened'}, go\n"
                   "done()\n");
    const struct result *r = run (b);
    assert_true (r->done);
    assert_int_equal (b->gates, 2);
}

TEST_ON (b, a_second_gate_behind_a_shut_one_is_refused)
{
    use_canary (b, "for i in range(100): say(type='gate', name='g', mode='share', value='')\n"
                   "for i in range(1000): say(type='phase', name='p%d' % i)\n"
                   "done()\n");
    const struct result *r = run (b);
    assert_int_equal (b->gates, 1);
    assert_int_equal (r->bad_lines, 99);
    assert_text (r->phase, "p999");
    has (r->problem, "already waits at another gate");
}

TEST_ON (b, a_polite_stop_is_heard_on_the_channel)
{
    b->context.stop_ms = TIMEOUT_MS; /* it gets all the time it needs */
    b->stop_on_phase = "wait";
    use_canary (b, "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
                   "say(type='phase', name='wait')\n"
                   "print(lines.readline())\nsys.exit(5)\n");
    const struct result *r = run (b);
    assert_int_equal (r->ending, ENDING_CANCELLED);
    assert_int_equal (r->code, 5);
    has (log_of (b), "{\"type\":\"stop\",\"reason\":\"enough\"}");
}

TEST_ON (b, who_was_done_before_the_stop_took_effect_is_not_cancelled)
{
    b->context.stop_ms = TIMEOUT_MS; /* it gets all the time it needs */
    b->stop_on_phase = "wait";
    use_canary (b, "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
                   "say(type='phase', name='wait')\nlines.readline()\ndone()\n");
    const struct result *r = run (b);
    assert_int_equal (r->ending, ENDING_EXITED);
    assert_true (r->done);
}

TEST_ON (b, a_changed_canary_does_not_start)
{
    use_canary (b, "done()\n");
    assert_int_equal (atomic_file_write (b->run.rung.program.path.ptr, "done()", 6, 0600, NULL), 0);
    b->refusal = TEXT_LIT ("it was changed since the plan was made");
    const struct result *r = run (b);
    assert_int_equal (r->ending, ENDING_NOT_STARTED);
    has (r->problem, "/canary.py from the coordinator: it was changed since the plan was made");
    assert_false (r->spoke);
    assert_int_equal (b->asks, 1);
}

/* A canary in a folder of its own, below its helper, and what the coordinator has of both. */
static void use_tree (struct bench *bench, const char *body)
{
    static const char helper[] = "WORD = 'found'\n";
    char hex[DIGEST_HEX_BYTES];
    struct digest digest = digest_of (helper, sizeof helper - 1);
    struct file_ref above = { text_format (&bench->arena, "%s/sliceup_canary.py", bench->directory),
                              text_copy (&bench->arena, text_of (digest_hex (&digest, hex))) };
    struct buf bytes;
    assert_int_equal (atomic_file_write (above.path.ptr, helper, sizeof helper - 1, 0600, NULL), 0);
    use_canary (bench, body);
    buf_init (&bytes, 1 << 16);
    assert_int_equal (file_read (bench->run.rung.program.path.ptr, &bytes, NULL), 0);
    bench->held[0] = text_copy (&bench->arena, buf_as_text (&bytes));
    bench->held[1] = text_of (helper);
    buf_release (&bytes);
    bench->files[0] = (struct kit_file){ TEXT_LIT ("plain/canary.py"), bench->run.rung.program };
    bench->files[1] = (struct kit_file){ TEXT_LIT ("sliceup_canary.py"), above };
    bench->run.rung.files.items = bench->files;
    bench->run.rung.files.n = 2;
}

static void hide_tree (struct bench *bench)
{
    assert_int_equal (unlink (bench->files[0].file.path.ptr), 0);
    assert_int_equal (unlink (bench->files[1].file.path.ptr), 0);
}

#define TELL "import sliceup_canary\nprint(sliceup_canary.WORD, os.environ['PYTHONPATH'], __file__)\ndone()\n"

TEST_ON (b, its_helper_is_found_above_it)
{
    use_tree (b, TELL);
    const struct result *r = run (b);
    has (r->tail, text_format (&b->arena, "found %s %s/canary.py", b->directory, b->directory).ptr);
    assert_int_equal (b->asks, 0);
}

TEST_ON (b, what_the_host_lacks_is_fetched_once)
{
    use_tree (b, TELL);
    hide_tree (b);
    const struct result *r = run (b);
    if (!r->done)
        fail_msg ("%.*s %.*s", TEXT_ARG (r->problem), TEXT_ARG (r->tail));
    has (r->tail, text_format (&b->arena, "found %s/kits/", b->directory).ptr);
    has (r->tail, "/plain/canary.py\n");
    assert_true (strstr (b->phases, "files ") && strstr (b->phases, "start "));
    assert_true (b->asks > 4); /* both, in pieces */
    uint32_t asks = b->asks;
    assert_true (run_again (b)->done);
    assert_int_equal (b->asks, asks);
}

TEST_ON (b, a_damaged_copy_is_fetched_again)
{
    use_tree (b, TELL);
    hide_tree (b);
    assert_true (run (b)->done);
    uint32_t asks = b->asks;
    struct text sha256 = b->files[1].file.sha256;
    struct text copy = text_format (&b->arena, "%s/files/%.*s", b->directory, TEXT_ARG (sha256));
    struct text kits = text_format (&b->arena, "%s/kits", b->directory);
    assert_int_equal (atomic_file_write (copy.ptr, "WORD", 4, 0600, NULL), 0);
    assert_true (run_again (b)->done); /* the kit itself is whole */
    assert_int_equal (b->asks, asks);
    assert_int_equal (folder_remove (kits.ptr, NULL), 0);
    assert_true (run_again (b)->done);
    assert_int_equal (b->asks, asks + 1);
}

TEST_ON (b, bytes_with_another_sha256_are_not_run)
{
    use_tree (b, TELL);
    hide_tree (b);
    b->held[1] = TEXT_LIT ("WORD = 'forged'\n");
    const struct result *r = run (b);
    assert_int_equal (r->ending, ENDING_NOT_STARTED);
    has (r->problem, "has another sha256 than the plan names");
    assert_int_equal (r->output_bytes, 0);
}

TEST_ON (b, a_stop_while_fetching_is_immediate)
{
    use_tree (b, TELL);
    hide_tree (b);
    b->silent = true;
    b->attempt = attempt_start (b->loop, &b->context, &b->run, clock_boot_ms ());
    uint64_t until_ms = clock_boot_ms () + TIMEOUT_MS;
    struct attempt_event event;
    for (; !b->asks && clock_boot_ms () < until_ms; attempt_poll (b->attempt, clock_boot_ms ()))
        poll (NULL, 0, 1);
    assert_int_equal (b->asks, 1);
    attempt_stop (b->attempt, false, ENDING_CANCELLED, TEXT_LIT ("enough"), clock_boot_ms ());
    do
        assert_true (attempt_next (b->attempt, &event));
    while (event.kind != ATTEMPT_EVENT_ENDED);
    assert_int_equal (event.result->ending, ENDING_CANCELLED);
    has (event.result->problem, "stopped: enough");
}

/* Once nothing of the program is left, its worker is told to end in such a way. */
static const struct result *end_then_tell (struct bench *b, const char *kill, enum ending ending)
{
    b->stop_when_gone = true;
    use_command (b, text_format (&b->arena, "echo $$ >../../pid.part; mv ../../pid.part ../../pid; %s $$", kill).ptr);
    b->attempt = attempt_start (b->loop, &b->context, &b->run, clock_boot_ms ());
    assert_int_equal (loop_run (b->loop, NULL), 0);
    if (!b->result)
        attempt_stop (b->attempt, false, ending, TEXT_LIT ("enough"), clock_boot_ms ());
    b->stop_when_gone = false;
    while (!b->result)
        assert_int_equal (loop_run (b->loop, NULL), 0);
    return b->result;
}

TEST_ON (b, a_program_that_dies_just_before_its_worker_is_told_did_not_fail)
{
    const struct result *r = end_then_tell (b, "kill -TERM", ENDING_TERMINATED);
    assert_int_equal (r->ending, ENDING_TERMINATED);
    assert_text (r->problem, "stopped: enough");
}

TEST_ON (b, a_program_that_was_killed_before_a_cancel_has_failed)
{
    const struct result *r = end_then_tell (b, "kill -TERM", ENDING_CANCELLED);
    assert_int_equal (r->ending, ENDING_SIGNALLED);
    assert_int_equal (r->problem.len, 0);
}

TEST_ON (b, a_program_that_crashed_before_its_worker_is_told_has_failed)
{
    const struct result *r = end_then_tell (b, "kill -SEGV", ENDING_TERMINATED);
    assert_int_equal (r->ending, ENDING_SIGNALLED);
    assert_int_equal (r->problem.len, 0);
}

TEST_ON (b, the_limit_of_an_attempt_covers_fetching)
{
    use_tree (b, TELL);
    hide_tree (b);
    b->silent = true;
    b->run.rung.timeout_ms = 3000;
    const struct result *r = run (b);
    assert_int_equal (r->ending, ENDING_TIMEOUT);
    has (r->problem, "exceeded its time limit of 3 s; 0 bytes of ");
    has (r->problem, " had come from the coordinator");
}

TEST_ON (b, words_left_in_the_channel_at_the_end_are_heard)
{
    use_canary (b, "for i in range(60): say(type='check', name='c', expected=1, observed=1)\n"
                   "done()\nos._exit(0)\n");
    const struct result *r = run (b);
    assert_true (r->done);
    assert_int_equal (r->checks.n, 60);
}

TEST_ON (b, a_builtin_is_this_executable_again)
{
    b->run.rung.kind = PROGRAM_BUILTIN;
    b->run.rung.builtin = TEXT_LIT ("facts");
    const struct result *r = run (b);
    if (!r->done || r->bad_lines)
        fail_msg ("%.*s %.*s", TEXT_ARG (r->problem), TEXT_ARG (r->tail));
    assert_true (r->ending == ENDING_EXITED && r->code == 0 && r->facts.n > 5);
    assert_text (r->facts.items[r->facts.n - 1].name, "containment");
    assert_text (r->facts.items[r->facts.n - 1].value, "subreaper"); /* no better one was chosen here */
}

/* ---- tasks ---- */

TEST_ON (b, without_its_environment_a_canary_does_not_start)
{
    use_canary (b, "done()\n");
    b->run.rung.needs_env = true;
    b->run.pins.python = TEXT_LIT ("python3");
    b->run.pins.env_dir = text_format (&b->arena, "%s/env", b->directory);
    const struct result *r = run (b);
    assert_int_equal (r->ending, ENDING_NOT_STARTED);
    assert_int_equal (r->owner, OWNER_BUNDLE);
    has (r->problem, "there is no complete Python environment at");
    assert_string_equal (b->phases, "environment ");
}

static void use_cache (struct bench *bench, enum cache_role role, uint64_t token)
{
    bench->run.cache.role = role;
    bench->run.cache.token = token;
    bench->run.cache.frontend_root = text_format (&bench->arena, "%s/root/jax/f00d", bench->directory);
    assert_int_equal (folder_make (bench->run.cache.frontend_root.ptr, 0700, NULL), 0);
}

TEST_ON (b, what_the_writer_sealed_is_what_a_reader_gets)
{
    use_cache (b, CACHE_ROLE_WRITER, 5);
    use_command (b, "echo entry > ../../cache/generation/one");
    const struct result *r = run (b);
    if (r->code || !r->seal.token)
        fail_msg ("%.*s %.*s", TEXT_ARG (r->problem), TEXT_ARG (r->tail));
    assert_true (strncmp (b->phases, "cache confine ", 14) == 0); /* of phases in a row the latest is told */
    has (text_of (b->phases), " seal ");
    assert_int_equal (r->seal.token, 5);
    assert_int_equal (r->seal.entries, 1);
    assert_true (r->cache.level > ENFORCEMENT_COOPERATIVE);
    assert_int_equal (access (text_format (&b->arena, "%s/root/jax/f00d/gen-5/one", b->directory).ptr, F_OK), 0);
    b->run.cache.sha256 = text_copy (&b->arena, r->seal.sha256);
    b->run.cache.role = CACHE_ROLE_READER;
    use_command (b, "cat ../../cache/generation/one");
    r = run_again (b);
    assert_text (r->cache_state, "verified");
    assert_text (r->tail, "entry\n");
    assert_int_equal (r->seal.token, 0);
}

struct spoiler {
    struct text ran, mark, go;
    bool done;
};

/* Once the program says that it runs: spoils the storage's mark, and lets the program go on. */
static void *spoil_while_it_runs (void *owner)
{
    struct spoiler *spoiler = owner;
    for (int i = 0; i < 3000 && access (spoiler->ran.ptr, F_OK) < 0; i++)
        (void) poll (NULL, 0, 10);
    (void) unlink (spoiler->mark.ptr);
    int mark = open (spoiler->mark.ptr, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    spoiler->done = mark >= 0 && write (mark, "junk", 4) == 4;
    int go = open (spoiler->go.ptr, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    spoiler->done &= go >= 0;
    close (mark);
    close (go);
    return NULL;
}

TEST_ON (b, what_could_not_be_looked_over_afterwards_is_not_verified)
{
    pthread_t thread;
    use_cache (b, CACHE_ROLE_WRITER, 5);
    use_command (b, "echo entry > ../../cache/generation/one");
    const struct result *r = run (b);
    b->run.cache.sha256 = text_copy (&b->arena, r->seal.sha256);
    b->run.cache.role = CACHE_ROLE_READER;
    use_command (b, "touch ran; i=0; while [ ! -e go ] && [ $i -lt 600 ]; do sleep 0.05; i=$((i+1)); done; [ -e go ]");
    struct text scratch = text_format (&b->arena, "%s/scratch/%u.%s.%u", b->directory, b->run.key.rung,
                                       enum_name_of (&pass_names, b->run.key.pass), b->run.key.attempt + 1);
    struct spoiler spoiler = { .ran = text_format (&b->arena, "%s/ran", scratch.ptr),
                               .mark = text_format (&b->arena, "%s/root/storage", b->directory),
                               .go = text_format (&b->arena, "%s/go", scratch.ptr) };
    assert_int_equal (pthread_create (&thread, NULL, spoil_while_it_runs, &spoiler), 0);
    r = run_again (b);
    assert_int_equal (pthread_join (thread, NULL), 0);
    assert_true (spoiler.done);
    assert_int_equal (r->ending, ENDING_EXITED);
    assert_int_equal (r->code, 0);
    assert_true (r->cache_state.len && !text_is (r->cache_state, "verified"));
    assert_text (r->problem, r->cache_state);
}

TEST_ON (b, a_damaged_generation_is_not_run)
{
    use_cache (b, CACHE_ROLE_WRITER, 6);
    use_command (b, "echo entry > ../../cache/generation/one");
    const struct result *r = run (b);
    b->run.cache.sha256 = text_copy (&b->arena, r->seal.sha256);
    struct text entry = text_format (&b->arena, "%s/root/jax/f00d/gen-6/one", b->directory);
    assert_int_equal (chmod (entry.ptr, 0600), 0);
    int fd = open (entry.ptr, O_WRONLY);
    assert_int_equal (write (fd, "ENTRY\n", 6), 6);
    close (fd);
    assert_int_equal (chmod (entry.ptr, 0444), 0);
    b->run.cache.role = CACHE_ROLE_READER;
    use_command (b, "echo ran");
    r = run_again (b);
    assert_int_equal (r->ending, ENDING_NOT_STARTED);
    assert_int_equal (r->owner, OWNER_CACHE);
    assert_true (r->problem.len && text_equal (r->problem, r->cache_state));
    assert_int_equal (r->output_bytes, 0);
}

TEST_ON (b, a_failed_writer_seals_nothing)
{
    use_cache (b, CACHE_ROLE_WRITER, 7);
    use_command (b, "echo entry > ../../cache/generation/one; exit 1");
    const struct result *r = run (b);
    assert_int_equal (r->seal.token, 0);
    assert_string_equal (b->phases, "cache confine run ");
    struct text manifest = text_format (&b->arena, "%s/root/jax/f00d/gen-7/MANIFEST", b->directory);
    assert_true (access (manifest.ptr, F_OK) < 0 && errno == ENOENT);
}

TEST_ON (b, a_reader_without_a_generation_gets_an_empty_one)
{
    use_cache (b, CACHE_ROLE_READER, 0);
    use_command (b, "ls -A ../../cache/generation/ | wc -l");
    const struct result *r = run (b);
    assert_int_equal (r->ending, ENDING_EXITED);
    has (r->tail, "0\n");
    assert_int_equal (r->cache_state.len, 0);
}

TEST_ON (b, a_confined_program_has_no_descriptor_of_ours)
{
    use_cache (b, CACHE_ROLE_READER, 0);
    use_command (b, "ls /proc/self/fd | tr '\\n' ' '");
    assert_text (run (b)->tail, "0 1 2 3 4 "); /* 3: its channel; 4: ls reads the folder */
    use_cache (b, CACHE_ROLE_NONE, 0);
    assert_text (run_again (b)->tail, "0 1 2 3 4 ");
    b->run.cache.frontend_root = (struct text){ 0 };
    assert_text (run_again (b)->tail, "0 1 2 3 4 ");
}

TEST_ON (b, a_level_that_is_not_reached_is_not_started)
{
    use_cache (b, CACHE_ROLE_READER, 0);
    b->run.cache.least = ENFORCEMENT_STORAGE;
    use_command (b, "echo started");
    const struct result *r = run (b);
    assert_int_equal (r->ending, ENDING_NOT_STARTED);
    assert_int_equal (r->owner, OWNER_CACHE);
    assert_int_equal (r->output_bytes, 0);
    has (r->problem, "cache.enforcement requires storage");
    assert_true (r->cache.level != ENFORCEMENT_NONE && r->cache.mount.len > 0);
}

TEST_ON (b, what_lands_in_an_overlay_is_counted_and_thrown_away)
{
    use_cache (b, CACHE_ROLE_READER, 0);
    b->run.cache.overlay = true;
    use_command (b, "cd ../../cache/generation && mkdir f && for i in 1 2 3 4 5 6 7; do echo $i > f/$i; done; cat f/7");
    const struct result *r = run (b);
    assert_text (r->tail, "7\n");
    assert_int_equal (r->findings.n, 5);
    assert_int_equal (r->findings.items[0].kind, FINDING_WRITE_ATTEMPT);
    has (r->findings.items[0].path, "f/");
    assert_int_equal (r->notes.n, 1);
    has (r->notes.items[0].text, "wrote 7 files");
    struct text layer = text_format (&b->arena, "%s/scratch/2.once.1/.cache-layer", b->directory);
    assert_true (access (layer.ptr, F_OK) < 0 && errno == ENOENT);
}

TEST_ON (b, a_stop_while_preparing_starts_nothing)
{
    use_cache (b, CACHE_ROLE_WRITER, 8);
    b->stop_on_phase = "cache";
    b->stop_hard = true;
    use_command (b, "echo ran");
    const struct result *r = run (b);
    assert_int_equal (r->ending, ENDING_CANCELLED);
    assert_int_equal (r->output_bytes, 0);
    has (r->problem, "stopped: enough");
}

int main (int argc, char **argv)
{
    /* Tasks and builtins are this executable again, as they are in the worker. */
    if (argc > 1 && strcmp (argv[1], "facts") == 0)
        return facts_main (argc - 1, argv + 1);
    if (argc > 1 && strcmp (argv[1], "task") == 0)
        return task_main (argc - 1, argv + 1);
    if (argc > 1 && strcmp (argv[1], "confine") == 0)
        return confine_main (argc - 1, argv + 1);
    if (exec_adopt_orphans (NULL) < 0)
        return 1;
    return test_run (argc, argv);
}
