"""Ctrl-C once, twice, three times: each sooner than the last, and nothing left running."""
import os
import pathlib
import signal
import time
import unittest

import lab


class Cancel(lab.LabTest):
    BOUND_S = 40  # shorter than what it is told from: a stop budget of a minute, or workers that never end

    def start(self, canary, hosts=2, limits=None, **args):
        rungs = [self.lab.rung("long", canary, timeout="5m", args=args), {"id": "above", "builtin": "facts"}]
        ladder = self.lab.ladder("ladder.yaml", rungs)
        run = self.lab.start("run", self.lab.slice(hosts=hosts, ladder=str(ladder), limits=limits or {"stop": "60s"}))
        lab.wait_for(lambda: self.lab.count("pass-began"), "the rung to begin", 30)
        lab.wait_for(lambda: self.phases_seen(hosts), "the programs to be in phase run", 30)
        self.workers = set(self.lab.worker_pids().values())
        self.programs = set(self.lab.processes_under()) - self.workers - {run.process.pid}
        self.assertEqual((hosts, hosts), (len(self.workers), len(self.programs)))
        return run

    def phases_seen(self, hosts):
        """Python programs that sleep: their signal handlers are set, so a signal means what the test says."""
        sleeping = 0
        for pid in self.lab.processes_under():
            try:
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
                waits = pathlib.Path(f"/proc/{pid}/wchan").read_text()
            except OSError:
                continue
            sleeping += b"canaries" in words and "nanosleep" in waits
        return sleeping >= hosts

    def cancelled(self, run):
        ended = run.end(60)
        took_s = time.monotonic() - self.first
        print(f"    left {took_s:.1f} s after the first Ctrl-C")
        self.assertEqual(130, ended.status, ended)
        self.assertLess(took_s, self.BOUND_S, ended)
        return ended

    def interrupt(self, run):
        if not hasattr(self, "first"):
            self.first = time.monotonic()
        run.kill(signal.SIGINT)

    def test_once_asks_the_programs_to_end(self):
        run = self.start("slow.py", seconds=200)
        self.interrupt(run)
        ended = self.cancelled(run)
        self.assertIn("cancelled", ended.out)
        self.assertIn("stopping", ended.out)
        receipt, status = self.lab.receipt(), self.lab.status()
        self.assertEqual({"cancelled"}, {self.attempt(receipt, f"h{i}", "long")["outcome"] for i in range(2)})
        self.assertEqual(("cancelled", "cancelled"), (receipt["outcome"], status["outcome"]))
        self.assertEqual("not-reached", receipt["ladder"][1]["outcome"])
        self.assertRegex(self.lab.sliceup("runs").out, "cancelled")
        self.assertRegex(self.lab.sliceup("explain").out, r"h\[0-1\]  cancelled\n +the user cancelled the run\n")
        self.nothing_is_left()

    def test_once_ends_a_deaf_program_after_its_stop_budget(self):
        run = self.start("hang.py", limits={"stop": "1s"})
        self.interrupt(run)
        self.cancelled(run)
        self.assertGreater(time.monotonic() - self.first, 1.5, "killed before its budget was over")
        self.nothing_is_left()

    def test_twice_kills_a_deaf_program_at_once(self):
        run = self.start("hang.py", limits={"stop": "60s"})
        self.interrupt(run)
        run.wait_out("press Ctrl-C again to kill")
        self.interrupt(run)
        self.cancelled(run)
        self.nothing_is_left()

    def test_three_times_leaves_at_once_and_the_workers_end_by_themselves(self):
        run = self.start("hang.py", limits={"stop": "60s", "lost": "120s", "orphan": "5s", "exit": "6s"})
        for worker in self.workers: # deaf as well, or the second Ctrl-C would end everything
            os.kill(worker, signal.SIGSTOP)
        self.interrupt(run)
        run.wait_out("press Ctrl-C again to kill")
        self.interrupt(run)
        run.wait_out("leave without waiting")
        self.interrupt(run)
        self.cancelled(run)
        for worker in self.workers:
            os.kill(worker, signal.SIGCONT)
        lab.wait_for(lambda: not any(map(lab.alive, self.workers | self.programs)), "workers and programs to be gone", 20)

    def test_a_cancelled_run_is_over(self):
        run = self.start("slow.py", seconds=200)
        self.interrupt(run)
        self.cancelled(run)
        ended = self.lab.sliceup("resume")
        self.assertEqual(130, ended.status, ended)
        self.assertEqual(130, self.lab.sliceup("watch").status)

    def test_sigterm_is_like_one_ctrl_c(self):
        run = self.start("slow.py", seconds=200)
        self.first = time.monotonic()
        run.kill(signal.SIGTERM)
        self.cancelled(run)
        self.nothing_is_left()

    def test_ctrl_c_while_hosts_join(self):
        ladder = self.lab.ladder("ladder.yaml", [{"id": "facts", "builtin": "facts"}])
        run = self.lab.start("run", self.lab.slice(hosts=4, ladder=str(ladder)))
        lab.wait_for(lambda: self.lab.count("run-opened"), "the run to be opened", 20)
        self.interrupt(run)
        self.cancelled(run)
        self.nothing_is_left()


if __name__ == "__main__":
    unittest.main()
