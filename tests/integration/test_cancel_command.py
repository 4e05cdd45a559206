"""sliceup cancel: a run is ended from elsewhere as Ctrl-C would; and a second run on the same hosts is told of the first."""
import os
import pathlib
import signal
import subprocess
import unittest

import lab


class CancelCommand(lab.LabTest):
    def begin(self, canary="slow.py", hosts=2, limits=None, name="slice.yaml", options=(), **args):
        rungs = [self.lab.rung("long", canary, timeout="5m", args=args), {"id": "above", "builtin": "facts"}]
        ladder = self.lab.ladder("ladder.yaml", rungs)
        before = self.runs()
        run = self.lab.start("run", self.lab.slice(hosts=hosts, ladder=str(ladder), limits=limits or {}, name=name), *options)
        lab.wait_for(lambda: self.runs() - before, lambda: f"the run to be there:\n{run.out}", 30)
        run.id = (self.runs() - before).pop()
        lab.wait_for(lambda: self.lab.count("pass-began", run.id), lambda: f"the rung to begin:\n{run.out}", 30)
        lab.wait_for(lambda: self.sleeping(run.id) >= hosts, "the programs to be in phase run", 30)
        return run

    def runs(self):
        return {path.parent.name for path in self.lab.home.glob("runs/*/created")}

    def sleeping(self, run):
        """Python programs that sleep: their signal handlers are set, so a signal means what the test says."""
        found = 0
        for pid in self.lab.processes_under(run):
            try:
                process = pathlib.Path(f"/proc/{pid}")
                found += b"canaries" in (process / "cmdline").read_bytes() and "nanosleep" in (process / "wchan").read_text()
            except OSError:
                continue
        return found

    def test_the_only_run_is_asked_and_its_end_is_told(self):
        run = self.begin(seconds=200)
        cancelled = self.passes(self.lab.sliceup("cancel"))
        self.assertRegex(cancelled.out, rf"^run {run.id[:8]} has ended: slice slice: cancelled .*\(exit status 130\)\n$")
        self.assertRegex(cancelled.err, rf"run {run.id[:8]} is ending: ")
        ended = run.end(20)
        self.assertEqual(130, ended.status, ended)
        self.assertRegex(ended.out, r"sliceup cancel \(pid \d+\) ends this run")
        self.assertEqual("cancelled", self.lab.receipt()["outcome"])
        again = self.passes(self.lab.sliceup("cancel", run.id[:6]))
        self.assertRegex(again.out, r"had ended already: .* \(exit status 130\)")
        self.assertEqual(2, self.lab.sliceup("cancel").status)
        self.nothing_is_left()

    def test_now_kills_what_does_not_end_when_asked_and_asking_twice_is_no_second_ctrl_c(self):
        run = self.begin("hang.py", limits={"stop": "60s"})
        for _ in range(3):
            self.assertIn("was asked to end", self.passes(self.lab.sliceup("cancel", "--no-wait")).out)
        run.wait_out("press Ctrl-C again to kill")
        self.assertNotIn("killing the running rung", run.out)
        self.passes(self.lab.sliceup("cancel", "last", "--now", bound_s=30))
        self.assertEqual(130, run.end(20).status)
        self.nothing_is_left()

    def interrupt(self, **how):
        run = self.begin(seconds=200, limits={"orphan": "60s", **how})
        run.kill_and_reap()
        self.assertEqual(2, len(self.lab.worker_pids(run.id)))
        return run

    def test_cancel_of_an_interrupted_run_ends_its_workers_and_records_the_end(self):
        run = self.interrupt()
        cancelled = self.passes(self.lab.sliceup("cancel"))
        self.assertRegex(cancelled.err, rf"run {run.id[:8]} was interrupted: its workers are told to end")
        self.assertRegex(cancelled.out, rf"^run {run.id[:8]} has ended: slice slice: cancelled .*\(exit status 130\)\n$")
        self.assertEqual(("cancelled", 130), (self.lab.receipt(run.id)["outcome"], self.lab.status(run.id)["exit_status"]))
        self.nothing_is_left(run.id)
        self.assertRegex(self.passes(self.lab.sliceup("cancel", run.id)).out, "had ended already")
        self.assertIn("cancelled", self.lab.sliceup("resume", run.id).out)  # nothing is climbed again
        self.assertEqual(2, self.lab.count("epoch-began", run.id))

    def test_a_worker_that_does_not_come_back_is_named_and_the_cancel_ends(self):
        run = self.interrupt(suspect="1s", lost="5s")
        stopped = self.lab.worker_pids(run.id)["h1"]
        os.kill(stopped, signal.SIGSTOP)
        cancelled = self.passes(self.lab.sliceup("cancel", run.id))
        self.assertRegex(cancelled.out, r"cancelled .*\(exit status 130\); without an answer of h1\n$")
        self.assertIn("its workers are told to end as they come back; one that has not within 8 s is left to itself", cancelled.err)
        self.assertNotIn("without an answer", self.passes(self.lab.sliceup("cancel", run.id)).out)  # nobody is asked now
        self.nothing_is_left(run.id)

    def test_a_cancel_between_two_rungs_waits_for_those_it_has_to_tell(self):
        ladder = self.lab.ladder("ladder.yaml", [{"id": "facts", "builtin": "facts"}, self.lab.rung("long", "slow.py", args={"seconds": 200})])
        run = self.lab.start("run", self.lab.slice(hosts=2, ladder=str(ladder)))
        lab.wait_for(lambda: self.lab.count("host-joined") == 2, "the hosts to join", 30)
        run.kill_and_reap()
        self.passes(self.lab.sliceup("cancel", "last"))
        self.nothing_is_left()
        self.assertEqual("cancelled", self.lab.receipt()["outcome"])

    def test_nobody_is_started_to_be_cancelled(self):
        run = self.lab.start("run", self.lab.slice(hosts=2))
        lab.wait_for(lambda: self.lab.count("run-opened"), "the first fact", 30)
        run.kill_and_reap()
        before = self.lab.count("host-keyed")
        self.passes(self.lab.sliceup("cancel", "last"))
        self.assertEqual(before, self.lab.count("host-keyed"))
        self.nothing_is_left()

    def test_an_interrupted_run_holds_its_hosts(self):
        run = self.interrupt()
        ladder = str(self.lab.ladder("short.yaml", [{"id": "facts", "builtin": "facts"}]))
        slice_file = self.lab.slice(hosts=2, ladder=ladder)
        refused = self.lab.sliceup("run", slice_file)
        self.assertEqual(3, refused.status, refused)
        self.assertRegex(refused.err, rf"run {run.id[:8]} of slice slice, interrupted \S+ m?s ago, at rung long \(1 of 2\), which may still have "
                                      rf"workers on h\[0-1\]: .*sliceup.* resume {run.id[:8]},.*cancel {run.id[:8]},.*--beside")
        self.assertEqual({run.id}, self.runs())
        self.passes(self.lab.sliceup("run", self.lab.slice(hosts=2, ladder=ladder, name="other.yaml")))
        self.passes(self.lab.sliceup("run", slice_file, "--beside"))
        self.passes(self.lab.sliceup("cancel", run.id))
        self.nothing_is_left(run.id)
        self.passes(self.lab.sliceup("run", slice_file))

    def test_it_holds_them_no_longer_than_its_workers_live(self):
        run = self.interrupt()
        slice_file = self.lab.slice(hosts=2, ladder=str(self.lab.ladder("short.yaml", [{"id": "facts", "builtin": "facts"}])))
        self.assertEqual(3, self.lab.sliceup("run", slice_file).status)
        for pid in self.lab.worker_pids(run.id).values():
            lab.end_by_pid(pid)
        lab.wait_for(lambda: self.lab.sliceup("run", slice_file).status == 0, "the hosts to be free", 30)

    def test_it_holds_them_no_longer_than_its_workers_may_live(self):
        self.interrupt(orphan="5s", exit="5s")
        slice_file = self.lab.slice(hosts=2, ladder=str(self.lab.ladder("short.yaml", [{"id": "facts", "builtin": "facts"}])))
        lab.wait_for(lambda: self.lab.sliceup("run", slice_file).status == 0, "the hosts to be free", 30)

    def test_status_of_an_interrupted_run_waits_for_nobody(self):
        run = self.interrupt()
        status, text = self.lab.status(run.id), self.lab.sliceup("status", run.id)
        self.assertEqual(("interrupted", []), (status["state"], status["waiting"]))
        self.assertEqual(3, text.status)
        self.assertRegex(text.out, rf"run {run.id}: interrupted, and its clock stands at its last fact; .*resume {run.id[:8]}, .*cancel {run.id[:8]}\n")
        self.assertNotIn("waiting", text.out)
        self.assertEqual(status["now_ms"], self.lab.status(run.id)["now_ms"])
        self.assertNotIn("stopped at", self.lab.sliceup("runs").out)

    def test_without_a_run_the_one_that_was_taken_over_last_is_shown(self):
        run = self.interrupt()
        later = self.lab.slice(hosts=1, ladder=str(self.lab.ladder("short.yaml", [{"id": "facts", "builtin": "facts"}])), name="later.yaml")
        self.passes(self.lab.sliceup("run", later))
        self.passes(self.lab.sliceup("cancel", run.id))
        for command in ("receipt", "status", "explain"):
            self.assertEqual(130, self.lab.sliceup(command).status)
        self.passes(self.lab.sliceup("run", later))
        self.passes(self.lab.sliceup("receipt"))

    def test_a_process_that_has_not_the_lock_gets_no_signal(self):
        run = self.begin(seconds=200)
        bystander = subprocess.Popen(["sleep", "100"])
        self.addCleanup(bystander.wait)
        self.addCleanup(bystander.kill)
        lock = self.lab.run_folder() / "journal.db.lock"
        lock.write_text(f"{bystander.pid}\n")
        refused = self.lab.sliceup("cancel")
        self.assertEqual(3, refused.status, refused)
        self.assertRegex(refused.err, rf"is locked, but not by process {bystander.pid} ")
        self.assertIsNone(bystander.poll())
        lock.write_text(f"{run.process.pid}\n")
        self.passes(self.lab.sliceup("cancel"))
        self.assertEqual(130, run.end(20).status)

    def test_of_several_runs_one_is_named(self):
        runs = [self.begin(seconds=200, hosts=1, name=f"{name}.yaml") for name in ("one", "two")]
        refused = self.lab.sliceup("cancel")
        self.assertEqual(2, refused.status, refused)
        for run, name in zip(runs, ("one", "two")):
            self.assertRegex(refused.err, rf"run {run.id[:8]} of slice {name}, for .*, at rung long \(1 of 2\)")
        self.passes(self.lab.sliceup("cancel", runs[0].id[:12]))
        self.assertIsNone(runs[1].process.poll())
        self.passes(self.lab.sliceup("cancel"))
        self.assertEqual([130, 130], [run.end(20).status for run in runs])

    def test_a_second_run_of_the_same_hosts_is_refused_before_anything_is_made(self):
        run = self.begin(seconds=200)
        ladder = self.lab.ladder("short.yaml", [{"id": "facts", "builtin": "facts"}])
        slice_file = self.lab.slice(hosts=2, ladder=str(ladder))
        refused = self.lab.sliceup("run", slice_file)
        self.assertEqual(3, refused.status, refused)
        self.assertRegex(refused.err, rf"run {run.id[:8]} of slice slice, for .*, at rung long .* has h\[0-1\] now.*"
                                      rf"sliceup watch {run.id[:8]}.*sliceup cancel {run.id[:8]}.*--beside")
        self.assertEqual({run.id}, self.runs())
        self.passes(self.lab.sliceup("run", slice_file, "--beside"))
        other = self.lab.slice(hosts=2, ladder=str(ladder), name="other.yaml")
        self.passes(self.lab.sliceup("run", other))  # hosts of another local slice are others
        self.passes(self.lab.sliceup("cancel", run.id))
        self.assertEqual(130, run.end(20).status)
        self.passes(self.lab.sliceup("run", slice_file))

    def test_of_two_that_begin_at_once_one_is_refused(self):
        ladder = self.lab.ladder("long.yaml", [{"id": "long", "command": ["sleep", "2"]}])
        slice_file = self.lab.slice(hosts=2, ladder=str(ladder))
        ended = [run.end(30) for run in [self.lab.start("run", slice_file) for _ in range(3)]]
        self.assertEqual([0, 3, 3], sorted(run.status for run in ended), ended)
        self.assertEqual(1, len(self.runs()))

    def test_a_run_is_not_resumed_on_hosts_that_another_has(self):
        first = self.begin(seconds=200, limits={"orphan": "60s"})
        first.kill_and_reap()
        second = self.begin(seconds=200, options=["--beside"])
        refused = self.lab.sliceup("resume", first.id)
        self.assertEqual(3, refused.status, refused)
        self.assertRegex(refused.err, rf"run {second.id[:8]} .* has h\[0-1\] now")
        self.passes(self.lab.sliceup("cancel"))
        self.assertEqual(130, second.end(20).status)


if __name__ == "__main__":
    unittest.main()
