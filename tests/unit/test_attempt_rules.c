/* alone: attempt */
/* The rules for canaries that need a running program to be broken: gates, and whoever holds the channel at the end. */
#include "attempt_fixture.h"
#include "test.h"
#include "worker/attempt/task.h"
#include "worker/process/exec.h"
#include <sys/socket.h>
#include <sys/un.h>

TEST_ON (b, a_gate_that_was_opened_is_not_opened_again)
{
    b->answer_gates = true;
    use_canary (b, "for i in range(2):\n"
                   "    say(type='gate', name='program', mode='agree', value=str(i))\n"
                   "    print(lines.readline())\n"
                   "sys.exit(1)\n");
    const struct result *r = run (b);
    assert_int_equal (b->gates, 1);
    assert_int_equal (r->bad_lines, 1);
    has (r->bad_line, "this gate was opened before; a gate opens once in an attempt");
    has (r->tail, "{\"type\":\"stop\",\"reason\":\"gate: this gate was opened before");
}

TEST_ON (b, the_ninth_gate_is_one_too_many)
{
    b->answer_gates = true;
    use_canary (b, "for i in range(9):\n"
                   "    say(type='gate', name='g%d' % i, mode='share', value='')\n"
                   "    heard = json.loads(lines.readline())\n"
                   "assert heard['type'] == 'stop', heard\n"
                   "sys.exit(1)\n");
    const struct result *r = run (b);
    assert_int_equal (b->gates, 8);
    assert_int_equal (r->code, 1);
    has (r->bad_line, "the attempt has too many gates");
}

TEST_ON (b, who_waits_at_no_gate_is_told_to_leave)
{
    use_canary (b, "say(type='gate', name='g', mode='force', value='')\n"
                   "heard = json.loads(lines.readline())\n"
                   "assert heard == {'type': 'stop', 'reason': 'gate: mode: expected share or agree'}, heard\n"
                   "sys.exit(7)\n");
    const struct result *r = run (b);
    assert_int_equal (b->gates, 0);
    assert_int_equal (r->ending, ENDING_EXITED);
    assert_int_equal (r->code, 7);
}

/* Both lines may still be in the socket when the program is gone. */
TEST_ON (b, what_comes_after_done_counts_also_when_the_program_has_ended)
{
    use_canary (b, "done()\nsay(type='fact', name='late', value='1')\nos._exit(0)\n");
    const struct result *r = run (b);
    assert_true (r->done && r->code == 0 && r->facts.n == 0);
    assert_int_equal (r->bad_lines, 1);
    has (r->bad_line, "fact: this line was sent after done, which has to be the last line");
}

/* What is on its way to somebody is held, though nobody has taken it yet. */
TEST_ON (b, a_descriptor_that_outlives_the_program_is_seen)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int held = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true ((size_t) snprintf (address.sun_path, sizeof address.sun_path, "%s/held", b->directory) <
                 sizeof address.sun_path);
    assert_int_equal (bind (held, (struct sockaddr *) &address, sizeof address), 0);
    struct text body = text_format (&b->arena,
                                    "outside = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
                                    "outside.connect('%s')\n"
                                    "socket.send_fds(outside, [b'x'], [channel.fileno()])\n"
                                    "done()\n",
                                    address.sun_path);
    use_canary (b, body.ptr);
    const struct result *r = run (b);
    close (held);
    assert_true (r->done && r->code == 0);
    assert_int_equal (r->bad_lines, 1);
    has (r->bad_line, "a process that outlived the program kept the canary channel open");
}

TEST_ON (b, half_a_line_of_a_program_that_was_stopped_is_no_violation)
{
    b->stop_on_phase = "wait";
    b->stop_hard = true;
    use_canary (b, "channel.sendall(b'{\"type\":\"phase\",\"name\":\"wait\"}\\n{\"type\":')\ntime.sleep(60)\n");
    const struct result *r = run (b);
    assert_int_equal (r->ending, ENDING_CANCELLED);
    assert_int_equal (r->bad_lines, 0);
}

int main (int argc, char **argv)
{
    if (argc > 1 && strcmp (argv[1], "task") == 0) /* as in the worker */
        return task_main (argc - 1, argv + 1);
    if (exec_adopt_orphans (NULL) < 0)
        return 1;
    return test_run (argc, argv);
}
