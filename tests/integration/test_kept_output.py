"""What of a program's output is kept, on its host and by the coordinator; what is cut or lost, and where it is said."""
import os
import pathlib
import re
import resource
import socket
import subprocess
import unittest

import lab

FAST = {"stop": "200ms", "cascade": "1s", "log": "4MiB"}
MARK = re.compile(rb"\[sliceup\] (\d+) bytes are cut here: from byte (\d+), line (\d+), to byte (\d+), line (\d+)(.*)\n")
PRINTS = "import sys; n = int(sys.argv[1]); sys.stdout.write(''.join('step %07d\\n' % i for i in range(n))); sys.stdout.flush()"


def printed(lines):
    return b"".join(b"step %07d\n" % i for i in range(lines))


class Kept(lab.LabTest):
    def slice_of(self, script, hosts=2, limits=FAST, rungs=None):
        ladder = self.lab.ladder("ladder.yaml", rungs or [self.rung_of("prints", script)])
        return self.lab.slice(hosts=hosts, ladder=str(ladder), limits=limits)

    @staticmethod
    def rung_of(name, script, **more):
        return {"id": name, "command": ["bash", "-c", script], "timeout": "120s", **more}

    def of_the_coordinator(self, host, rung="prints"):
        return self.lab.run_folder() / "logs" / host / f"{rung}.once.1.log"

    def of_the_host(self, host):
        return next((self.lab.run_folder() / "hosts" / host / "logs").iterdir())

    def is_cut_of(self, log, whole):
        """Every byte of `whole` is in `log` at its place, or below a mark: how many are below marks."""
        at = cut = 0
        while mark := MARK.search(log):
            here = int(mark[2])
            self.assertIn(mark.start() - (here - at), (0, 1))  # one of ours ends a line that was begun
            self.assertEqual(whole[at:here], log[:here - at])
            self.assertEqual(int(mark[1]), int(mark[4]) - here)
            self.assertEqual((here // 13 + 1, int(mark[4]) // 13 + 1), (int(mark[3]), int(mark[5])))
            cut += int(mark[1])
            at, log = int(mark[4]), log[mark.end():]
        self.assertEqual(whole[at:], log)
        return cut

    def is_exact(self, receipt, hosts, whole):
        for host in hosts:
            attempt = self.attempt(receipt, host, "prints")
            self.assertEqual(len(whole), attempt["output_bytes"])
            self.assertEqual(attempt["dropped_bytes"], self.is_cut_of(self.of_the_host(host).read_bytes(), whole))
            self.assertEqual(attempt["unsent_bytes"], self.is_cut_of(self.of_the_coordinator(host).read_bytes(), whole))
            notes = [note["text"] for h in receipt["hosts"] if h["host"] == host for note in h["notes"] if note["source"] == "log"]
            for where, bytes_cut in (("the log on the host", attempt["dropped_bytes"]),
                                     ("the coordinator's log", attempt["unsent_bytes"])):
                self.assertEqual(bytes_cut > 0, any(f"{where} lacks {bytes_cut} of them, between byte" in note for note in notes), notes)


class Cut(Kept):
    def test_what_is_kept_and_what_is_cut_is_what_was_printed(self):
        for lines in (23_000, 330_000, 460_000, 920_000):  # 0.3, 4.3, 6, 12 MB
            with self.subTest(lines):
                self.passes(self.lab.sliceup("run", self.slice_of(f'python3 -c "{PRINTS}" {lines}')))
                receipt = self.lab.receipt()
                self.is_exact(receipt, ("h0", "h1"), printed(lines))
                said = self.lab.sliceup("logs", "--rung", "prints").out
                self.assertEqual(self.attempt(receipt, "h0", "prints")["unsent_bytes"] > 0, "bytes are cut here" in said)
                self.assertIn("step %07d\n" % (lines - 1), said)

    def test_it_is_also_when_the_coordinator_was_killed_meanwhile(self):
        more = self.lab.files / "more"
        script = f'python3 -c "{PRINTS}" 60000; while [ ! -e {more} ]; do sleep 0.1; done; python3 -c "{PRINTS}" 400000'
        run = self.lab.start("run", self.slice_of(script))
        lab.wait_for(lambda: self.lab.count("pass-began") == 1, "the rung", 60)
        begun = lambda: [log.stat().st_size for log in self.lab.run_folder().glob("hosts/*/logs/*")] == [780_000] * 2
        lab.wait_for(begun, "the first part", 60)
        run.kill_and_reap()
        resumed = self.lab.start("resume")
        lab.wait_for(lambda: self.lab.count("epoch-began") == 2, "another coordinator", 60)
        more.touch()
        self.assertEqual(0, resumed.end(180).status)
        whole = printed(60_000) + printed(400_000)
        for host in ("h0", "h1"):
            attempt = self.attempt(self.lab.receipt(), host, "prints")
            log = self.of_the_coordinator(host).read_bytes()
            never = sum(len(hole) for hole in re.findall(rb"\0{4,}", log))
            ours = sum(len(mark[0]) + 1 for mark in MARK.finditer(log))  # each may end a line that was begun
            self.assertEqual(len(whole), attempt["output_bytes"])
            missing = len(whole) - attempt["unsent_bytes"] - (len(log) - never - ours)
            self.assertIn(missing - never, range(-4096 if never else 0, len(MARK.findall(log)) + 1))  # marks may be in what was on its way
            if never:
                self.assertIn(f"[{never} bytes are missing here]", self.lab.sliceup("logs", "--rung", "prints").out)

    def test_of_a_host_whose_worker_was_lost_nobody_says_that_it_printed_nothing(self):
        go = self.lab.files / "go"
        run = self.lab.start("run", self.slice_of(f"echo step 1; while [ ! -e {go} ]; do sleep 0.1; done"))
        lab.wait_for(lambda: self.lab.count("pass-began") == 1, "the rung", 60)
        lab.wait_for(lambda: all(self.of_the_coordinator(host).exists() for host in ("h0", "h1")), "the output", 60)
        lab.end_by_pid(self.lab.worker_pids()["h1"])
        lab.wait_for(lambda: self.lab.count("host-lost") == 1, "the loss", 60)
        go.touch()
        self.assertEqual(1, run.end(120).status)
        said = self.lab.sliceup("logs", "--rung", "prints", "--hosts", "h1").out
        self.assertIn("step 1\n", said)
        self.assertNotIn("printed nothing", said)

    def test_who_follows_is_told_what_is_cut(self):
        go = self.lab.files / "go"
        run = self.lab.start("run", self.slice_of(f'printf "a\\0\\0\\0\\0\\0b\\n"; while [ ! -e {go} ]; do sleep 0.1; done; python3 -c "{PRINTS}" 460000', hosts=1))
        lab.wait_for(lambda: self.lab.count("pass-began") == 1, "the rung", 60)
        follows = self.lab.start("logs", "--follow")
        lab.wait_for(lambda: follows.process.poll() is None and os.path.exists(f"/proc/{follows.process.pid}/fd/3"), "a follower", 60)
        go.touch()
        self.assertEqual(0, run.end(120).status)
        said = follows.end(60)
        self.assertEqual(0, said.status, said)
        self.assertIn("[sliceup] 5980008 bytes were printed; the log on the host lacks ", said.out)
        self.assertIn("step 0459999\n", said.out)
        for out in (said.out, self.lab.sliceup("logs", "--rung", "prints").out):  # bytes of zero of an output that is whole
            self.assertIn(r"a\x00\x00\x00\x00\x00b", out)

    def test_the_cause_is_named_although_6_kB_follow_it_and_6_MB_precede(self):
        steps, farewell = f'python3 -c "{PRINTS}" 460000', "for i in $(seq 120); do echo \"closing connection $i of the pool, and waiting for it\"; done"
        raises = "def step(): raise ValueError('batch 7 is empty')\nstep()\n"
        (self.lab.files / "step.py").write_text(raises)
        for text, script in (("ValueError: batch 7 is empty", f"python3 {self.lab.files}/step.py 2>&1"),
                             ("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes",
                              "echo 'jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes.'")):
            with self.subTest(text):
                ended = self.lab.sliceup("run", self.slice_of(f"{steps}; {script}; {farewell}; exit 1", hosts=1))
                self.assertEqual(1, ended.status, ended)
                attempt = self.attempt(self.lab.receipt(), "h0", "prints")
                self.assertIn(text, attempt["cause"]["text"] + (attempt["cause"]["evidence"] or ""))
                self.assertIn("bytes were printed; the log on the host lacks", self.lab.sliceup("explain").out)
                self.assertIn(text, self.lab.sliceup("logs").out)

    def test_a_failure_in_the_middle_of_what_is_cut_stays(self):
        steps = f'python3 -c "{PRINTS}" 900000'
        waits = "yes 'waiting for the pool' | head -n 600000"
        script = f"{steps}; echo 'RESOURCE_EXHAUSTED: Out of memory allocating 7 bytes'; {waits}; exit 1"
        self.assertEqual(1, self.lab.sliceup("run", self.slice_of(script, hosts=1)).status)
        attempt = self.attempt(self.lab.receipt(), "h0", "prints")
        self.assertIn("RESOURCE_EXHAUSTED", attempt["cause"]["text"] + (attempt["cause"]["evidence"] or ""))
        self.assertIn("RESOURCE_EXHAUSTED: Out of memory allocating 7 bytes\n", self.lab.sliceup("logs", "--rung", "prints").out)


@unittest.skipIf(os.geteuid() != 0, "mounting needs root")
class Lost(Kept):
    def setUp(self):
        super().setUp()
        self.mounts = []

    def tearDown(self):
        for folder in self.mounts:
            subprocess.run(["umount", "-l", folder], check=False)
        super().tearDown()

    def mount(self, folder, size):
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True)
        self.mounts.append(folder)

    def begin_with_full_logs(self, folder, told=0):
        """A first rung waits until the small disk is there and full; a second one prints, and until losses of `told` hosts are told."""
        heard = self.lab.files / "heard"
        go = self.lab.files / "go"
        waits = self.rung_of("waits", f"while [ ! -e {go} ]; do sleep 0.1; done")
        run = self.lab.start("run", self.slice_of(None, rungs=[waits, self.rung_of("prints", f"echo 15 bytes of it; while [ ! -e {heard} ]; do sleep 0.1; done")]))
        lab.wait_for(lambda: self.lab.count("pass-began") == 1, "the first rung", 60)
        place = folder()
        self.mount(place, "64k")
        for host in ("h0", "h1"):
            (place / host).mkdir(exist_ok=True)
        with open(place / "full", "wb", buffering=0) as full:
            try:
                while full.write(b"x" * 4096):
                    pass
            except OSError:
                pass
        follows = self.lab.start("logs", "--follow")
        go.touch()
        lab.wait_for(lambda: self.lab.count("output-lost") == told, "the losses to be told", 60)
        heard.touch()
        ended = run.end(120)
        self.assertEqual(0, ended.status, ended)
        return ended, follows.end(60)

    def test_a_full_disk_of_the_coordinator_is_said_everywhere(self):
        ended, followed = self.begin_with_full_logs(lambda: self.lab.run_folder() / "logs", told=2)
        why = "cannot write the coordinator's log: No space left on device"
        self.assertIn(f"output is lost: {why}", ended.out)
        self.assertIn(f"output is lost: {why}", followed.out)
        self.assertEqual(1, followed.status, followed)
        self.assertEqual(15, self.attempt(self.lab.receipt(), "h0", "prints")["output_bytes"])
        logs = self.lab.sliceup("logs", "--rung", "prints")
        self.assertEqual(1, logs.status, logs)
        self.assertNotIn("printed nothing", logs.out)
        self.assertIn("15 of the 15 bytes that its host sent are not here", logs.out)
        for command in ("logs", "receipt", "explain"):
            self.assertIn(why, self.lab.sliceup(command, *(("--rung", "prints") if command == "logs" else ())).out, command)

    def test_a_full_disk_of_a_host_is_said_everywhere(self):
        self.begin_with_full_logs(lambda: self.lab.run_folder() / "hosts" / "h0" / "logs")
        text = self.lab.sliceup("receipt").out
        self.assertRegex(text, r"the log on the host lacks 15 of them, between byte 0 .*: cannot write .*/logs/.*\.log: No space left")
        self.assertIn("No space left", self.lab.sliceup("explain").out)
        logs = self.lab.sliceup("logs", "--rung", "prints")
        self.assertIn("15 bytes of it\n", logs.out)
        self.assertIn("No space left", logs.out)

    def test_strangers_leave_descriptors_for_the_files_of_a_run(self):
        go = self.lab.files / "go"
        script = f"while [ ! -e {go} ]; do sleep 0.1; done; echo it is kept"
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        run = self.lab.start("run", self.slice_of(script), before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (330, 330)))
        lab.wait_for(lambda: self.lab.count("pass-began") == 1, "the rung", 60)
        ports = self.ports_of(run.process.pid)
        strangers = []
        try:
            for _ in range(3):  # until nobody more gets in: those that say nothing are let go after 5 s
                for port in ports:
                    strangers += [self.connect(port) for _ in range(150)]
            taken = lambda: len(os.listdir(f"/proc/{run.process.pid}/fd"))
            lab.wait_for(lambda: taken() >= 250, "a crowd", 30)
            go.touch()
            ended = run.end(120)
        finally:
            for stranger in strangers:
                stranger.close()
        self.assertEqual(0, ended.status, ended)
        for host in ("h0", "h1"):
            self.assertEqual("it is kept\n", self.of_the_coordinator(host).read_text())

    @staticmethod
    def connect(port):
        stranger = socket.socket()
        stranger.setblocking(False)
        stranger.connect_ex(("127.0.0.1", port))
        return stranger

    @staticmethod
    def ports_of(pid):
        inodes = {os.readlink(link)[8:-1] for link in pathlib.Path(f"/proc/{pid}/fd").iterdir()
                  if os.path.islink(link) and os.readlink(link).startswith("socket:[")}
        rows = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return [int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and row[9] in inodes]


class Limits(Kept):
    def test_both_programs_take_the_hard_limit_and_what_they_start_keeps_the_soft_one(self):
        go = self.lab.files / "go"
        run = self.lab.start("run", self.slice_of(f"ulimit -Sn; while [ ! -e {go} ]; do sleep 0.1; done", hosts=1),
                             before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (321, 1234)))
        lab.wait_for(lambda: self.lab.count("pass-began") == 1, "the rung", 60)
        for pid in (run.process.pid, self.lab.worker_pids()["h0"]):
            self.assertEqual((1234, 1234), resource.prlimit(pid, resource.RLIMIT_NOFILE))
        go.touch()
        self.assertEqual(0, run.end(60).status)
        self.assertEqual("321\n", self.of_the_coordinator("h0").read_text())


if __name__ == "__main__":
    unittest.main()
