"""sliceup exec: one command on many hosts, with real local processes and real ssh servers. Outputs fold, ends are told by
set, and whatever happens nothing of a command stays."""
import json
import os
import pathlib
import re
import resource
import secrets
import select
import shutil
import signal
import subprocess
import termios
import time
import unittest

import lab
import schema
import sshd
import terminal

# Whatever ends it politely is ignored, by it, by what it leaves behind in a session of its own, and by a child.
STUBBORN = 'trap "" INT TERM HUP; (setsid sh -c "trap \\"\\" INT TERM HUP; sleep {0}" &) ; sleep {0} & echo begun; while :; do sleep {0}; done'


def processes_with(mark):
    """pid -> the first word of what has the mark on its command line; sliceup itself was given it."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else [b""]
        except OSError:
            continue
        name = pathlib.Path(os.fsdecode(words[0])).name
        if any(mark.encode() in word for word in words) and name != "sliceup":
            found[int(entry.name)] = name
    return found


def number():
    """What no other process has on its command line: a long time to sleep."""
    return str(10 ** 9 + secrets.randbelow(10 ** 9))


class ExecTest(lab.LabTest):
    def exec(self, *words, **more):
        return self.lab.sliceup("exec", *self.where, *words, bound_s=120, **more)

    def gone(self, mark, bound_s=60):
        lab.wait_for(lambda: not processes_with(mark), lambda: f"processes {processes_with(mark)} to be gone", bound_s)


class Local(ExecTest):
    where = ("--launcher", "local")

    def test_equal_outputs_are_shown_once(self):
        ended = self.exec("-w", "n[0-3]", "--", "echo", "a  b", "$HOME")
        self.assertEqual((ended.status, ended.out, ended.err), (0, "n[0-3] (4 hosts):\na  b $HOME\n", ""), ended)

    def test_one_word_is_for_a_shell_and_several_are_not(self):
        self.assertEqual(self.exec("-w", "n0", "echo $((1 + 2)) $SLICEUP_HOST $SLICEUP_RANK").out, "n0:\n3 n0 0\n")
        self.assertEqual(self.exec("-w", "n0", "--", "printf", "%s", "$((1+2))").out, "n0:\n$((1+2))\n")

    def test_a_pipe_is_not_copied(self):
        for path in ("/dev/null", self.lab.root / "pipe"):
            if not os.path.exists(path):
                os.mkfifo(path)
            ended = self.lab.sliceup("copy", "--launcher", "local", "-w", "h0", path, f":{self.lab.root}/there")
            self.assertEqual((2, f"sliceup: {path}: expected a file or a folder, and no pipe, socket or device\n"), (ended.status, ended.err))
        self.assertFalse((self.lab.root / "there").exists())

    def test_sets_add_up_and_leave_out(self):
        ended = self.exec("-w", "n[0-3]", "--hosts", "n9", "-x", "n1", "--exclude=n2", "--", "echo", "x")
        self.assertEqual(ended.out, "n[0,3,9] (3 hosts):\nx\n", ended)

    def begin(self, *words, before=None, out=subprocess.PIPE):
        """As a process of its own; `before` is done in it first."""
        process = subprocess.Popen([str(lab.SLICEUP), "exec", *self.where, *words], env=self.lab.env(), stdout=out,
                                   stderr=subprocess.PIPE, preexec_fn=before)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def test_ctrl_c_is_heard_though_nobody_reads_the_output(self):
        mark = number()
        for form in ((), ("--lines",)):
            unread, full = os.pipe()
            process = self.begin(*form, "--timeout", "2m", "-w", "n0", f"yes {mark} | head -c 1000000" + ("; sleep " + mark if form else ""),
                                 out=full)
            lab.wait_for(lambda: not select.select([], [full], [], 0)[1], "the pipe to be full", 30)
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=30)[1].decode()
            self.assertEqual(130, process.returncode, (form, said))
            os.close(unread)
            os.close(full)
            self.gone(mark)

    def test_names_that_do_not_fold_are_no_mistake(self):
        names = ",".join(f"n{secrets.token_hex(28)}" for _ in range(100))
        self.assertEqual((0, ""), (lambda ended: (ended.status, ended.err))(self.exec("-w", names, "--", "true")))

    def test_too_few_open_files_are_told_before_anything_is_begun(self):
        process = self.begin("-w", "n[0-99]", "--", "true", before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
        said = process.communicate(timeout=30)[1].decode()
        self.assertEqual(3, process.returncode, said)
        self.assertRegex(said, r"--at-once takes fewer.* open files")

    def test_the_umask_is_that_of_who_asks(self):
        process = self.begin("-w", "n0", "umask; true", before=lambda: os.umask(0o027))
        self.assertEqual(b"n0:\n0027\n", process.communicate(timeout=30)[0])

    def test_ends_are_told_by_set(self):
        ended = self.exec("-w", "n[0-5]", "case $SLICEUP_RANK in 1|4) exit 7;; 2) kill -9 $$;; esac")
        self.assertEqual(ended.status, 1, ended)
        self.assertEqual(ended.err, "n[1,4] (2 hosts): exit status 7\nn2: killed by signal 9 (SIGKILL)\n"
                                    "exit status 0 on 3 of 6 hosts\n")

    def test_a_command_that_is_not_there(self):
        ended = self.exec("-w", "n[0-1]", "--", "no-such-program")
        self.assertEqual((ended.status, ended.err), (1, "n[0-1] (2 hosts): cannot start 'no-such-program': No such file or directory\n"
                                                        "exit status 0 on 0 of 2 hosts\n"))

    def test_a_timeout_ends_all_of_it(self):
        mark = number()
        began = time.monotonic()
        ended = self.exec("-w", "n[0-1]", "--timeout", "1s", "--", "sh", "-c", STUBBORN.format(mark))
        self.assertEqual((ended.status, ended.out), (1, "n[0-1] (2 hosts):\nbegun\n"), ended)
        self.assertEqual(ended.err, "n[0-1] (2 hosts): still running after 1 s, ended (--timeout)\nexit status 0 on 0 of 2 hosts\n")
        self.assertLess(time.monotonic() - began, 30)
        self.assertEqual(processes_with(mark), {})

    def test_what_a_command_leaves_behind_is_killed_and_told(self):
        mark, fifo = number(), self.lab.files / "fifo"
        os.mkfifo(fifo)
        ended = self.exec("-w", "n0", f"setsid sh -c 'echo > {fifo}; exec sleep {mark}' & read x < {fifo}; echo left")
        self.assertEqual((ended.status, ended.out), (0, "n0:\nleft\n"), ended)
        self.assertEqual(ended.err, "n0: exit status 0; 1 process that it left behind was killed\nexit status 0 on 1 of 1 host\n")
        self.assertEqual(processes_with(mark), {})

    def interrupted(self, times):
        mark = number()
        running = self.lab.start("exec", *self.where, "-w", "n[0-2]", "--lines", "--", "sh", "-c", STUBBORN.format(mark))
        for host in range(3):
            running.wait_out(f"n{host}: begun")
        began = time.monotonic()
        running.kill(signal.SIGINT)
        running.wait_out("stopping the commands")
        if times > 1:
            running.kill(signal.SIGINT)
        ended = running.end(60)
        self.assertEqual(ended.status, 130, ended)
        self.assertIn("n[0-2] (3 hosts): stopped\nexit status 0 on 0 of 3 hosts\n", ended.out)
        self.assertEqual(processes_with(mark), {})
        return time.monotonic() - began

    def test_an_interrupt_ends_all_of_it(self):
        self.assertGreaterEqual(self.interrupted(1), 4)

    def test_a_second_interrupt_ends_it_at_once(self):
        # On a busy machine one may be slow for that; where the second changes nothing, none is faster than its grace.
        self.assertTrue(any(self.interrupted(2) < 4 for _ in range(4)))

    def test_a_killed_coordinator_leaves_nothing(self):
        mark = number()
        running = self.lab.start("exec", *self.where, "-w", "n[0-1]", "--lines", "--", "sh", "-c", STUBBORN.format(mark))
        running.wait_out("n0: begun")
        running.wait_out("n1: begun")
        running.kill()
        self.gone(mark)

    def test_a_large_output_keeps_its_two_ends(self):
        ended = self.exec("-w", "n[0-1]", "echo first; head -c 100000000 /dev/zero | tr '\\0' x; echo; echo last")
        self.assertEqual(ended.status, 0)
        self.assertTrue(ended.out.startswith("n[0-1] (2 hosts):\nfirst\nxxx"), ended.out[:100])
        self.assertTrue(ended.out.endswith("xxx\nlast\n"), ended.out[-100:])
        dropped = int(re.search(r"\n\[(\d+) bytes are left out here\]\n", ended.out)[1])
        self.assertEqual(dropped, 100000000 + len("first\n\nlast\n") - (1 << 20))

    def test_bytes_are_shown_safely_or_as_they_are(self):
        command = "printf 'a\\0\\0\\0\\0\\0b\\033[31m\\377\\n'"
        self.assertEqual(self.exec("-w", "n0", command).out, "n0:\na" + "\\x00" * 5 + "b\\x1b[31m\\xff\n")
        self.assertEqual(self.exec("--raw", "-w", "n0", command).out.encode(errors="surrogateescape"), b"n0:\na" + b"\0" * 5 + b"b\x1b[31m\xff\n")

    def test_lines_come_as_they_are_printed(self):
        fifo = self.lab.files / "fifo"
        os.mkfifo(fifo)
        running = self.lab.start("exec", *self.where, "-w", "n0", "--lines", f"echo one; read x < {fifo}; printf 'two'")
        running.wait_out("n0: one\n")
        fifo.write_text("go on\n")
        self.assertEqual(running.end(60).out, "n0: one\nn0: two\n")

    def test_a_reader_that_leaves_changes_no_exit_status(self):
        for words in (["seq 1 100000"], ["--lines", "--", "yes"]):
            command = [str(lab.SLICEUP), "exec", *self.where, "-w", "n[0-2]", *words]
            done = subprocess.run(["bash", "-c", '"$@" | head -2; exit "${PIPESTATUS[0]}"', "bash", *command], env=self.lab.env(),
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stderr, len(done.stdout.splitlines())), (0, "", 2), words)

    def test_on_a_terminal_a_text_is_shown_once_it_is_quiet(self):
        fifo = self.lab.files / "fifo"
        os.mkfifo(fifo)
        command = f"[ $SLICEUP_RANK != 5 ] || read x < {fifo}; echo hello"
        running = terminal.Terminal([str(lab.SLICEUP), "exec", *self.where, "-w", "n[0-5]", command], self.lab.env(TERM="xterm"), columns=60)
        running.read_until(rb"n\[0-4\] \(5 hosts\):\r?\nhello")
        running.read_until(rb"5 of 6 hosts ended \(\d+ m?s; at most 10 min each\); waiting")
        fifo.write_text("go on\n")
        self.assertEqual(running.end(), 0)
        shown = running.screen.text.rstrip().splitlines()
        self.assertEqual(shown, ["n[0-4] (5 hosts):", "hello", "n5: the same output as n[0-4] (5 hosts)", "exit status 0 on 6 of 6 hosts"])
        self.assertLess(running.screen.widest, 60)
        self.assertEqual(running.screen.foreign, [])

    def test_the_document(self):
        ended = self.exec("--json", "-w", "n[0-2]", "printf 'x\\377'; exit $SLICEUP_RANK")
        document = schema.document(ended.out)
        self.assertEqual((ended.status, document["exit_status"], document["hosts_n"], document["well_n"]), (1, 1, 3, 1))
        self.assertEqual([(o["hosts"], o["output"], o["escaped"]) for o in document["outputs"]], [("n[0-2]", "x\\xff\\x0a", True)])
        self.assertEqual([(e["hosts"], e["end"], e["exit_status"]) for e in document["ends"]],
                         [("n0", "exited", 0), ("n1", "exited", 1), ("n2", "exited", 2)])

    def test_at_once_is_kept_to(self):
        folder = self.lab.files
        ended = self.exec("-w", "n[0-5]", "--at-once", "2", f"mkdir {folder}/$SLICEUP_HOST; ls {folder} | wc -l; sleep 0.2; rmdir {folder}/$SLICEUP_HOST")
        self.assertTrue(set(re.findall(r"^\d+$", ended.out, re.M)) <= {"1", "2"}, ended)

    def test_usage(self):
        for words, says in ((("--launcher", "local", "ls"), "expected hosts: -w SET"),
                            (("-w", "n0"), "expected COMMAND"),
                            (("-w", "n[0", "--", "ls"), "-w: "),
                            (("-w", "n0", "--timeout", "0", "--", "ls"), "--timeout 0: expected a duration"),
                            (("-w", "n0", "--launcher", "join", "--", "ls"), "let nobody in"),
                            (("-w", "n0", "-x", "n0", "--launcher", "local", "--", "ls"), "this selects none of the hosts n0"),
                            (("-w", "n0", "--tmeout=3s", "--", "ls"), "did you mean --timeout?")):
            ended = self.lab.sliceup("exec", *words)
            self.assertEqual(ended.status, 2, ended)
            self.assertIn(says, ended.err)

    def test_options_behind_the_command_are_its_own(self):
        for mark in (("--",), ()):
            self.assertEqual(self.exec("-w", "n0", *mark, "echo", "--help", "--home", "-w").out, "n0:\n--help --home -w\n")

    def test_hosts_of_a_slice_file_and_its_groups(self):
        slice_file = self.lab.slice(hosts=4, groups={"odd": "h[1,3]"})
        ended = self.lab.sliceup("exec", "--slice", slice_file, "-w", "@odd", "--", "sh", "-c", "echo $SLICEUP_RANK")
        self.assertEqual(ended.out, "h1:\n1\n\nh3:\n3\n", ended)
        self.assertIn("h9 is no host of", self.lab.sliceup("exec", "--slice", slice_file, "-w", "h9", "--", "true").err)

    def test_a_tar_that_stands_still_is_left_and_named(self):
        ladder = self.lab.ladder("out.yaml", [{"id": "r", "command": ["sh", "-c", "echo a >$SLICEUP_OUTPUT_DIR/a"]}])
        self.assertEqual(0, self.lab.sliceup("run", self.lab.slice(hosts=2, ladder=str(ladder)), "--plain").status)
        tools = self.lab.root / "tools"
        tools.mkdir()
        (tools / "tar").write_text(f"#!/bin/sh\ncase \"$*\" in *-C*) echo x >>{tools}/began; exec sleep 600;; esac\nexec /usr/bin/tar \"$@\"\n")
        (tools / "tar").chmod(0o755)
        ended = self.lab.sliceup("outputs", "-o", self.lab.root / "out", env=self.lab.env(PATH=f"{tools}:{os.environ['PATH']}"), bound_s=150)
        self.assertEqual(1, ended.status, ended)
        self.assertRegex(ended.err, rf"h[01]: {self.lab.root}/out, where nothing more is unpacked: tar stood still for 60 s: a mount does not answer")
        self.assertEqual("x\n", (tools / "began").read_text())     # not once a host
        self.assertEqual(0, self.lab.sliceup("outputs", "-o", self.lab.root / "again").status)


@unittest.skipIf(sshd.why_not(), sshd.why_not())
class OfSsh(ExecTest):
    def options(self):
        return {}

    def setUp(self):
        super().setUp()
        self.server = sshd.Server(self.lab.root / "sshd", **self.options()).start()
        self.addCleanup(self.server.stop)
        self.user = self.lab.root / "user"
        (self.user / ".ssh").mkdir(parents=True)
        self.server.known_hosts()
        self.directory = self.lab.root / "host"
        self.where = ("--directory", str(self.directory))
        self.configure("")

    def configure(self, more):
        (self.user / ".ssh" / "config").write_text(
            f"{more}\nHost *\n HostName 127.0.0.1\n Port {self.server.port}\n IdentityFile {self.server.user_key}\n"
            f" UserKnownHostsFile {self.server.folder}/known_hosts\n IdentitiesOnly yes\n")

    def exec(self, *words, **more):
        return super().exec(*words, env=self.lab.env(HOME=str(self.user)), **more)

    def start(self, *words):
        return self.lab.start("exec", *self.where, *words, env=self.lab.env(HOME=str(self.user)))

    def fifo(self):
        os.mkfifo(self.lab.files / "fifo")
        return self.lab.files / "fifo"


class OverSsh(OfSsh):
    def test_the_bundle_is_brought_once_and_its_head_alone_is_run(self):
        first = self.exec("-w", "v[0-3]", "--", "sh", "-c", "cat; echo hi; echo oops >&2; pwd")
        self.assertEqual((first.status, first.err), (0, ""), first)
        self.assertEqual(first.out, f"v[0-3] (4 hosts):\nhi\noops\n{pathlib.Path.home()}\n")
        bundle = next((self.directory / "bundles").iterdir())
        head = int(lab.BUNDLE.with_name(lab.BUNDLE.name + ".head").read_text().split()[1])
        os.truncate(bundle, head)     # what a worker needs is gone; nothing of it is needed for a command
        self.assertEqual(self.exec("-w", "v0", "--", "echo", "again").out, "v0:\nagain\n")

    def test_a_changed_head_is_never_run(self):
        self.exec("-w", "v0", "--", "true")
        bundle = next((self.directory / "bundles").iterdir())
        bytes_then = bundle.read_bytes()
        changed = bytearray(bytes_then)
        changed[5000] ^= 1
        bundle.write_bytes(changed)
        self.assertEqual(self.exec("-w", "v0", "--", "echo", "again").out, "v0:\nagain\n")
        self.assertEqual(bundle.read_bytes(), bytes_then)

    def test_ends_and_hosts_that_are_not_reached(self):
        self.configure("Host gone\n Port 1\nHost stranger\n HostName localhost\n")
        ended = self.exec("-w", "v[0-2],gone,stranger", "--", "sh", "-c", "echo ok; exit $(( SLICEUP_RANK == 1 ))")
        self.assertEqual(ended.status, 3, ended)
        self.assertIn("v[0-2] (3 hosts):\nok\n", ended.out)
        self.assertRegex(ended.err, r"(?m)^gone: not reached: connect: .*refused")
        self.assertRegex(ended.err, r"(?m)^stranger: not reached: host-key: .*known")
        self.assertRegex(ended.err, r"(?m)^exit status 0 on \d of 5 hosts$")

    def test_no_word_of_the_command_is_seen_from_outside_but_its_own(self):
        mark = number()
        running = self.start("-w", "v0", "--lines", "--", "sh", "-c", f"x={mark}; echo begun; read y < {self.fifo()}")
        running.wait_out("v0: begun")
        self.assertEqual(list(processes_with(mark).values()), ["sh"])  # no courier, no worker, no shell of the login
        pathlib.Path(self.lab.files / "fifo").write_text("x\n")
        self.assertEqual(running.end(60).status, 0)

    def test_an_interrupt_ends_all_of_it(self):
        mark = number()
        running = self.start("-w", "v[0-1]", "--lines", "--", "sh", "-c", STUBBORN.format(mark))
        running.wait_out("v0: begun")
        running.wait_out("v1: begun")
        running.kill(signal.SIGINT)
        ended = running.end(60)
        self.assertEqual(ended.status, 130, ended)
        self.assertIn("v[0-1] (2 hosts): stopped\n", ended.out)
        self.assertEqual(processes_with(mark), {})

    def test_a_cut_connection_ends_it_and_is_told(self):
        mark = number()
        running = self.start("-w", "v0", "--lines", "--", "sh", "-c", STUBBORN.format(mark))
        running.wait_out("v0: begun")
        worker = lab.parent_of(min(processes_with(mark)))  # the shell's
        for pid in sshd.children_of(self.server.process.pid):
            try:
                if b"sshd" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        ended = running.end(60)
        self.assertEqual(ended.status, 3, ended)
        self.assertIn("v0: the end is not confirmed: the connection ended first", ended.out)
        self.gone(mark)
        lab.wait_for(lambda: not lab.alive(worker), "the worker to be gone")

    def test_a_host_that_hears_nothing_ends_its_command(self):
        mark = number()
        running = self.start("-w", "v0", "--lines", "--", "sh", "-c", STUBBORN.format(mark))
        running.wait_out("v0: begun")
        couriers = [pid for pid in sshd.children_of(running.process.pid)]
        for pid in couriers:
            os.kill(pid, signal.SIGSTOP)     # a network that is cut: nothing is closed, nothing comes
        try:
            self.gone(mark, 60)
        finally:
            for pid in couriers:
                os.kill(pid, signal.SIGCONT)
        self.assertNotEqual(running.end(60).status, 0)


@unittest.skipIf(os.geteuid() != 0, "needs root, to lay another /etc/shadow over root's")
class WithAPassword(OfSsh):
    """Hosts that accept the password and no key."""
    def options(self):
        return {"authorized": [], **sshd.with_password(self.lab.root)}

    def program(self, answer=sshd.PASSWORD, status=0):
        path = self.lab.write("askpass", f"#!/bin/sh\necho \"$1\" >{self.lab.files}/asked\necho '{answer}'\nexit {status}\n")
        path.chmod(0o700)
        return {"SSH_ASKPASS": str(path), "SSH_ASKPASS_REQUIRE": "force"}

    def without_terminal(self, *words, **env):
        done = subprocess.run([lab.SLICEUP, "exec", "--ask-pass", *self.where, *words], env=self.lab.env(HOME=str(self.user), **env), text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, start_new_session=True, timeout=60)
        return self.lab._checked(lab.Ended(done.returncode, done.stdout, done.stderr))

    def at_the_terminal(self, typed, *words, **env):
        person = terminal.Terminal([lab.SLICEUP, "exec", "--ask-pass", *self.where, *words], self.lab.env(HOME=str(self.user), **env), own=True)
        person.read_until(rb"Password for the hosts \(ssh\): ")
        self.assertFalse(termios.tcgetattr(person.master)[3] & termios.ECHO)
        os.write(person.master, typed)
        return person

    def tries(self):
        return self.server.said().count("Failed password")

    def test_it_is_typed_once_for_all_hosts_and_stays_nowhere(self):
        person = self.at_the_terminal(sshd.PASSWORD.encode() + b"\n", "-w", "v[0-3]", "--at-once", "2",
                                      f"while [ ! -e {self.lab.files}/go ]; do sleep 0.1; done; echo gone")
        lab.wait_for(lambda: len(processes_with(f"{self.lab.files}/go")) >= 2, "two hosts to run it")
        self.assertEqual({}, processes_with(sshd.PASSWORD))
        for pid in [person.process.pid, *sshd.children_of(person.process.pid), *sshd.children_of(self.server.process.pid)]:
            try:
                self.assertNotIn(sshd.PASSWORD.encode(), pathlib.Path(f"/proc/{pid}/environ").read_bytes())
            except (FileNotFoundError, ProcessLookupError):     # a `sleep 0.1` that ended meanwhile
                continue
        self.lab.write("go", "")
        self.assertEqual(0, person.end())
        self.assertIn("v[0-3] (4 hosts):\ngone", person.screen.text)
        self.assertNotIn(sshd.PASSWORD, person.screen.text)
        kept = [path for path in self.lab.root.rglob("*") if path.is_file() and sshd.PASSWORD.encode() in path.read_bytes()]
        self.assertEqual([], kept)

    def test_a_wrong_one_is_told_once_for_all_hosts(self):
        person = self.at_the_terminal(b"wrong horse\n", "-w", "v[0-3]", "--", "true")
        self.assertEqual(3, person.end(10))
        said = " ".join(person.screen.text.split())
        self.assertIn("v[0-3] (4 hosts): not reached: authentication: the password was not accepted for this user. ", said)
        self.assertEqual((1, 4), (said.count("was not accepted"), self.tries()))

    def test_a_key_at_the_question_ends_it_and_the_terminal_is_as_it_was(self):
        person = self.at_the_terminal(b"\x03", "-w", "v0", "--", "true")
        self.assertEqual(-signal.SIGINT, person.process.wait(10))
        self.assertTrue(termios.tcgetattr(person.master)[3] & termios.ECHO)

    def test_without_a_terminal_only_a_program_answers(self):
        ended = self.without_terminal("-w", "v0", "--", "true", SSH_ASKPASS="/nonexistent")
        self.assertEqual(2, ended.status, ended)
        self.assertIn("there is no terminal to ask at", ended.err)
        ended = self.without_terminal("-w", "v[0-1]", "--", "echo", "hi", **self.program())
        self.assertEqual((0, "v[0-1] (2 hosts):\nhi\n"), (ended.status, ended.out), ended)
        self.assertEqual("Password for the hosts (ssh): \n", (self.lab.files / "asked").read_text())
        for answer, status in (("", 0), ("x" * 1024, 0), (sshd.PASSWORD, 1)):
            ended = self.without_terminal("-w", "v0", "--", "true", **self.program(answer, status))
            self.assertEqual(2, ended.status, ended)
            self.assertIn("expected a password of 1 to 1023 bytes from", ended.err)
        self.assertEqual(0, self.tries())

    def test_only_hosts_by_ssh_get_one(self):
        ended = self.without_terminal("--launcher", "slurm", "-w", "v0", "--", "true", **self.program())
        self.assertEqual(2, ended.status, ended)
        self.assertIn("not those of slurm", ended.err)

    def test_files_go_to_and_come_from_such_hosts(self):
        self.lab.write("file", "words\n")
        ended = self.lab.sliceup("copy", "--ask-pass", *self.where, "-w", "v0", self.lab.files / "file", f":{self.lab.root}/there",
                                 env=self.lab.env(HOME=str(self.user), **self.program()))
        self.assertEqual(0, ended.status, ended)
        self.assertEqual("words\n", (self.lab.root / "there/file").read_text())


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("sudo"), "needs root, to make users, and sudo")
class AsRoot(OfSsh):
    """`ssh: {sudo: true}`: a run, and all that is done beside it."""
    def options(self):
        return sshd.with_sudo(self.lab.root)

    def setUp(self):
        super().setUp()
        self.server.folder.chmod(0o755)
        path = self.lab.write("askpass", f"#!/bin/sh\necho '{sshd.PASSWORD}'\n")
        path.chmod(0o700)
        self.env = self.lab.env(SSH_ASKPASS=str(path), SSH_ASKPASS_REQUIRE="force")

    def slice(self, user, *rungs, reach="auto"):
        ssh = {"user": user, "port": self.server.port, "identities": [str(self.server.user_key)], "agent": False, "sudo": True,
               "known_hosts": str(self.server.folder / "known_hosts")}
        ladder = self.lab.ladder("root.yaml", [{"id": f"r{i}", "command": ["sh", "-c", words], "timeout": "60s"} for i, words in enumerate(rungs)])
        return self.lab.write("slice.yaml", json.dumps({
            "slice": "s", "launcher": "ssh", "profile": "plain", "ladder": str(ladder), "hosts": [{"name": "h0", "address": "127.0.0.1"}], "ssh": ssh,
            "start": {"directory": str(self.directory)}, "coordinator": {"address": "127.0.0.1", "reach": reach}, "cache": {"mode": "off"}}))

    def test_a_run_its_outputs_and_commands(self):
        path = self.slice("boss", "id -un >$SLICEUP_OUTPUT_DIR/who; pwd")
        self.assertIn("127.0.0.1:" + str(self.server.port) + ", as root by sudo\n", self.lab.sliceup("check", path).out)
        ended = self.lab.sliceup("run", path, "--plain")
        self.assertEqual(0, ended.status, ended)
        self.assertEqual({0}, {at.stat().st_uid for at in [self.directory, *self.directory.rglob("*")]})
        self.assertEqual(0, self.lab.sliceup("outputs", "-o", self.lab.root / "taken").status)
        self.assertEqual("root\n", (self.lab.root / "taken/h0/r0.once.1/who").read_text())
        self.assertEqual("h0:\nroot /root\n", self.lab.sliceup("exec", "--slice", path, "--", "sh", "-c", "echo $(id -un) $(pwd)").out)
        self.lab.write("file", "words\n")
        self.assertEqual(0, self.lab.sliceup("copy", "--slice", path, self.lab.files / "file", f":{self.lab.root}/there").status)
        self.assertEqual(0, (self.lab.root / "there/file").stat().st_uid)

    def test_a_run_with_a_password_is_cancelled_and_nothing_is_left(self):
        mark, before = number(), set(processes_with("sliceup-sudo"))
        path = self.slice("clerk", f"sleep {mark}")
        run = self.lab.start("--plain", "run", path, "--ask-pass", env=self.env)
        lab.wait_for(lambda: "sleep" in processes_with(mark).values(), "the program to run", 60)
        self.assertEqual({0}, {os.stat(f"/proc/{pid}").st_uid for pid in processes_with(mark)})
        self.assertEqual(0, self.lab.sliceup("cancel").status)
        self.assertEqual(130, run.end(60).status)
        self.gone(mark)
        lab.wait_for(lambda: not set(processes_with("sliceup-sudo")) - before, "sudo, and so the worker, to be gone", 30)

    def test_an_interrupted_run_is_cancelled_through_links_that_need_the_password(self):
        mark = number()
        run = self.lab.start("--plain", "run", self.slice("clerk", f"sleep {mark}", reach="ssh"), "--ask-pass", env=self.env)
        lab.wait_for(lambda: "sleep" in processes_with(mark).values(), "the program to run", 60)
        run.kill()
        run.end(20)
        cancelled = self.lab.sliceup("cancel", "--ask-pass", env=self.env)
        self.assertEqual(0, cancelled.status, cancelled)
        self.assertNotIn("without an answer", cancelled.out)
        self.gone(mark)
        wrong = self.lab.write("wrong", "#!/bin/sh\necho wrong horse\n")
        wrong.chmod(0o700)
        ended = self.lab.sliceup("run", self.slice("clerk", "true"), "--plain", "--ask-pass", env={**self.env, "SSH_ASKPASS": str(wrong)})
        self.assertEqual(3, ended.status, ended)
        self.assertRegex(ended.out, r"failed in step authentication: Sorry, try again\.; sudo did not accept the password, which was tried once")
        self.assertRegex(ended.out, rf"next: \S*sliceup run {self.lab.files}/slice.yaml --plain --ask-pass")


if __name__ == "__main__":
    unittest.main()
