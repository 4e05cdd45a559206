"""Output that nobody reads: the climb does not wait for its reader, and whoever wants to leave can."""
import fcntl
import os
import signal
import subprocess
import unittest

import lab

PIPE_BYTES = 4096
ASKED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Unread(lab.LabTest):
    def quick(self):
        ladder = self.lab.ladder("ladder.yaml", [{"id": "facts", "builtin": "facts"}])
        return self.lab.slice(hosts=1, ladder=str(ladder))

    def unread(self, room, *words):
        """The command, with a pipe as its output that takes `room` bytes more, and is never read."""
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        os.write(writer, b"x" * (PIPE_BYTES - room))
        process = subprocess.Popen([str(lab.SLICEUP), *map(str, words), "--plain"], env=self.lab.env(), stdout=writer,
                                   stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        os.close(writer)
        self.addCleanup(process.stderr.close)
        self.addCleanup(lambda: process.poll() is None and (process.kill(), process.wait()))
        return process

    def is_stuck(self, process):
        """It sleeps in writing to the pipe."""
        for task in os.listdir(f"/proc/{process.pid}/task"):
            with open(f"/proc/{process.pid}/task/{task}/wchan", encoding="ascii") as waits:
                if "pipe_w" in waits.read():
                    return True
        return False

    def has_only_words_left(self, process):
        """SIGINT does what it does by default."""
        with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
            blocked = next(line.split()[1] for line in status if line.startswith("SigBlk:"))
        return not int(blocked, 16) & 1 << signal.SIGINT - 1

    def leaves(self, process, how, bound_s=6):
        process.send_signal(how)
        try:
            return process.wait(bound_s)
        except subprocess.TimeoutExpired:
            self.fail(f"{how.name} did not end it")

    def climbed(self, process):
        lab.wait_for(lambda: next(self.lab.home.glob("runs/*/receipt.json"), None), "the receipt", 30)
        lab.wait_for(lambda: self.has_only_words_left(process) and self.is_stuck(process), "it to wait for its reader", 10)
        self.assertEqual("passed", self.lab.receipt()["outcome"])

    def test_a_run_climbs_and_then_the_first_ctrl_c_ends_its_waiting(self):
        for room, how in ((0, signal.SIGINT), (200, signal.SIGTERM)):
            with self.subTest(room=room):
                run = self.unread(room, "run", self.quick())
                self.climbed(run)
                self.assertEqual(-how, self.leaves(run, how))
            self.lab.home = self.lab.root / "another"

    def test_watch_ends_when_it_is_asked_to(self):
        self.passes(self.lab.sliceup("run", self.quick()))
        for how in ASKED:
            with self.subTest(how=how.name):
                watch = self.unread(50, "watch")
                lab.wait_for(lambda: self.is_stuck(watch), "it to wait for its reader", 10)
                self.assertEqual(130, self.leaves(watch, how))

    def test_three_times_leaves_without_waiting_for_the_reader(self):
        ladder = self.lab.ladder("ladder.yaml", [self.lab.rung("long", "hang.py", timeout="5m")])
        run = self.unread(0, "run", self.lab.slice(hosts=1, ladder=str(ladder), limits={"stop": "60s"}))
        lab.wait_for(lambda: self.lab.count("pass-began"), "the rung to begin", 30)
        for _ in range(2):
            run.send_signal(signal.SIGINT)
            self.assertIn("Ctrl-C again", run.stderr.readline())
        self.assertEqual(130, self.leaves(run, signal.SIGINT))

    def test_a_reader_that_is_gone_does_not_end_the_climb(self):
        reader, writer = os.pipe()
        os.close(reader)
        ended = subprocess.run([str(lab.SLICEUP), "run", str(self.quick()), "--plain"], env=self.lab.env(), stdout=writer,
                               stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        os.close(writer)
        self.assertEqual((0, ""), (ended.returncode, ended.stderr))
        self.assertEqual("passed", self.lab.receipt()["outcome"])


if __name__ == "__main__":
    unittest.main()
