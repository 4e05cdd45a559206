"""The coordinator dies at many moments; another one takes the run over, and nothing that was done is done again."""
import json
import os
import signal
import time
import unittest

import lab

LIMITS = {"stop": "200ms", "cascade": "1s"}


class Resuming(lab.LabTest):
    def setUp(self):
        super().setUp()
        self.marks = self.lab.files / "marks"

    def marked(self):
        return self.marks.read_text().splitlines() if self.marks.exists() else []

    def rung(self, name, seconds=0.3, **more):
        return self.lab.rung(name, "marks.py", args={"file": str(self.marks), "seconds": seconds}, **more)

    def slice(self, rungs, hosts=3, limits=LIMITS):
        return self.lab.slice(hosts=hosts, ladder=str(self.lab.ladder("ladder.yaml", rungs)), limits=limits)

    def ladder(self):
        """A rung on each host alone, one of the slice with gates and a proved metric, and one more."""
        return [self.rung("low"), self.rung("middle", scope="slice", metrics=["devices"]), self.rung("high")]

    def at(self, kind, times):
        """How often `kind` stands in the journal once this moment has come."""
        return lambda: self.lab.count(kind) >= times

    def kill_at(self, coordinator, epoch, moment, name):
        """Kills the coordinator of this epoch when the moment has come; False when it ended before that."""
        def come():
            return self.lab.count("epoch-began") >= epoch and moment()
        lab.wait_for(lambda: coordinator.process.poll() is not None or come(), name, 30)
        if coordinator.process.poll() is not None:
            return False
        coordinator.kill_and_reap()
        return True

    def each_ran_once(self, hosts):
        """One line for each host and rung, all of the first attempt: nothing was done again."""
        wanted = [f"h{host} {rung} once 1" for host in range(hosts) for rung in ("low", "middle", "high")]
        self.assertEqual(sorted(wanted), sorted(self.marked()))

    def passed(self, ended, restarts):
        self.assertEqual(0, ended.status, ended)
        receipt = self.lab.receipt()
        self.assertEqual("passed", receipt["outcome"])
        told = [item["what"] for item in receipt["recoveries"] if "coordinator" in item["what"]]
        self.assertEqual(bool(restarts), bool(told), receipt["recoveries"])
        # The last one may have died with the end of the run recorded: then there was nothing to take over.
        self.assertIn(self.lab.count("epoch-began"), (restarts, restarts + 1))
        self.nothing_is_left()
        return receipt


class Resume(Resuming):
    def test_death_while_hosts_join(self):
        for kind in ("run-opened", "host-keyed", "host-joined"):
            with self.subTest(kind):
                self.marks.unlink(missing_ok=True)
                self.lab.home = self.lab.root / kind
                run = self.lab.start("run", self.slice(self.ladder()))
                lab.wait_for(self.at(kind, 1), kind, 30)
                run.kill_and_reap()
                self.passed(self.lab.sliceup("resume"), self.lab.count("epoch-began") - 1)
                self.each_ran_once(3)

    def test_death_at_every_kind_of_moment_of_one_run(self):
        moments = [("low begins", self.at("pass-began", 1)),
                   ("a program of low runs", lambda: len(self.marked()) >= 1),
                   ("a first result", self.at("attempt-ended", 1)),
                   ("low is over", self.at("pass-ended", 1)),
                   ("middle begins", self.at("pass-began", 2)),
                   ("a gate opened", self.at("gate-opened", 1)),
                   ("a result of middle", self.at("attempt-ended", 4)),
                   ("the metric was judged", self.at("metric-judged", 1)),
                   ("high begins", self.at("pass-began", 3)),
                   ("high runs everywhere", lambda: len(self.marked()) >= 9),
                   ("a result of high", self.at("attempt-ended", 7)),
                   ("all results are in", self.at("attempt-ended", 9))]
        coordinator, deaths = self.lab.start("run", self.slice(self.ladder())), []
        for name, moment in moments:
            if not self.kill_at(coordinator, len(deaths) + 1, moment, name):
                break
            deaths.append(name)
            coordinator = self.lab.start("resume")
        ended = coordinator.end(60)
        print(f"    survived {len(deaths)} deaths: {', '.join(deaths)}")
        self.assertGreaterEqual(len(deaths), 8, ended)
        receipt = self.passed(ended, len(deaths))
        self.each_ran_once(3)
        self.assertEqual("proved", receipt["reductions"][0]["proof"])
        outcomes = {(host["host"], rung["rung"]): rung["outcome"] for host in receipt["hosts"] for rung in host["rungs"]}
        self.assertEqual({"passed"}, set(outcomes.values()))

    def test_results_that_came_while_nobody_listened_are_kept(self):
        run = self.lab.start("run", self.slice([self.rung("low", seconds=1), self.rung("middle"), self.rung("high")]))
        lab.wait_for(lambda: len(self.marked()) >= 3, "the program on every host", 30)
        run.kill_and_reap()
        lab.wait_for(lambda: len(self.lab.results_kept()) == 3, "three kept results", 20)
        self.assertEqual(3, len(self.lab.worker_pids()))
        self.passed(self.lab.sliceup("resume"), 1)
        self.each_ran_once(3)

    def test_a_finished_run_is_not_climbed_again(self):
        self.passes(self.lab.sliceup("run", self.slice(self.ladder(), hosts=2)))
        sentence = self.lab.receipt()["headers"][0]["sentence"]
        before = self.lab.facts()
        ended = self.passes(self.lab.sliceup("resume"))
        self.assertIn(sentence, ended.out)
        self.assertRegex(ended.out + ended.err, r"ended|over|finished")
        self.assertEqual(before, self.lab.facts())
        self.each_ran_once(2)

    def test_without_a_run_the_one_that_was_interrupted_is_taken(self):
        run = self.lab.start("run", self.slice([self.rung("low", seconds=2)], hosts=2))
        lab.wait_for(lambda: len(self.marked()) >= 2, "the program on every host", 30)
        interrupted = self.lab.run_folder().name
        run.kill_and_reap()
        later = self.slice([{"id": "other", "command": ["true"]}], hosts=1)
        self.passes(self.lab.sliceup("run", later, "--beside"))
        damaged = self.lab.run_folder()
        (damaged / "journal.db").write_bytes(b"no journal")
        self.passes(self.lab.sliceup("run", later, "--beside"))
        ended = self.passes(self.lab.sliceup("resume"))
        self.assertRegex(ended.err, f"run {damaged.name[:8]} is passed over, since it cannot be read: ..")
        self.assertIn(f"has ended; resuming {interrupted[:8]}, the last one that was interrupted", ended.err)
        self.assertEqual("passed", self.lab.receipt(interrupted)["outcome"])
        self.assertNotIn("resuming", self.passes(self.lab.sliceup("resume")).err)
        self.nothing_is_left()

    def test_workers_that_were_not_told_of_the_end_are_ended(self):
        rung = self.lab.rung("low", "slow.py", args={"seconds": 1, "phases": ["run"], "host": "h1"})
        run = self.lab.start("run", self.slice([rung], hosts=2))
        lab.wait_for(self.at("attempt-ended", 1), "the result of h0", 30)
        stopped = self.lab.worker_pids()["h0"]
        os.kill(stopped, signal.SIGSTOP)
        lab.wait_for(self.at("run-ended", 1), "the end of the run", 30)
        run.kill_and_reap()
        os.kill(stopped, signal.SIGCONT)
        self.assertIn("1 of 1 rungs passed", self.passes(self.lab.sliceup("resume")).out)
        self.nothing_is_left()

    def test_a_second_coordinator_is_refused_by_the_pid_of_the_first(self):
        run = self.lab.start("run", self.slice([self.rung("low", seconds=3)], hosts=2))
        lab.wait_for(lambda: len(self.marked()) >= 2, "the program on every host", 30)
        ended = self.lab.sliceup("resume")
        self.assertEqual(3, ended.status, ended)
        self.assertRegex(ended.err, rf"\b{run.process.pid}\b")
        first = run.end()
        self.assertEqual(0, first.status, first)
        self.assertEqual(1, self.lab.count("epoch-began"))

    def test_a_lock_file_that_is_gone_frees_no_living_run(self):
        run = self.lab.start("run", self.slice([self.rung("low", seconds=3)], hosts=2))
        lab.wait_for(lambda: len(self.marked()) >= 2, "the program on every host", 30)
        (self.lab.run_folder() / "journal.db.lock").unlink()
        status, ended = self.lab.sliceup("status", "--json"), self.lab.sliceup("resume")
        self.assertEqual(("running", run.process.pid), tuple(json.loads(status.out)[key] for key in ("state", "pid")), status)
        self.assertEqual(3, ended.status, ended)
        self.assertRegex(ended.err, rf"\b{run.process.pid}\b")
        self.assertRegex(self.passes(self.lab.sliceup("runs")).out, "running")
        first = run.end()
        self.assertEqual(0, first.status, first)
        self.assertEqual(1, self.lab.count("epoch-began"))

    def test_a_worker_that_died_meanwhile_is_lost(self):
        run = self.lab.start("run", self.slice([self.rung("low", seconds=3)], hosts=2))
        lab.wait_for(lambda: len(self.marked()) >= 2, "the program on every host", 30)
        run.kill_and_reap()
        os.kill(self.lab.worker_pids()["h1"], signal.SIGKILL)
        ended = self.lab.sliceup("resume")
        self.assertEqual(1, ended.status, ended)
        receipt = self.lab.receipt()
        self.assertEqual(["passed", "lost"], [self.attempt(receipt, host, "low")["outcome"] for host in ("h0", "h1")])
        self.assertRegex(ended.out, r"h1 lost: (its|the) worker ended")
        self.nothing_is_left()


class Watching(Resuming):
    def test_a_late_watcher_sees_everything_and_ends_with_the_runs_status(self):
        run = self.lab.start("run", self.slice([self.rung("low"), self.rung("middle", seconds=3), self.rung("high")], hosts=2))
        lab.wait_for(self.at("pass-began", 2), "the second rung", 30)
        watch = self.lab.start("watch")
        ended, seen = run.end(), watch.end(30)
        self.assertEqual((0, 0), (ended.status, seen.status), seen)
        sentence = self.lab.receipt()["headers"][0]["sentence"]
        self.assertIn(sentence, seen.out)
        for rung in ("low", "middle", "high"):
            self.assertRegex(seen.out, rf"\b{rung}\b.*\n")
        after = self.lab.sliceup("watch")
        self.assertEqual(0, after.status, after)
        self.assertIn(sentence, after.out)

    def test_a_watcher_of_a_failing_run_ends_with_its_status(self):
        rungs = [self.rung("low", seconds=1), self.lab.rung("exits", "exit3.py")]
        run = self.lab.start("run", self.slice(rungs, hosts=2))
        lab.wait_for(self.at("pass-began", 1), "the first rung", 30)
        watch = self.lab.start("watch")
        self.assertEqual((1, 1), (run.end().status, watch.end(30).status), watch.out)
        self.assertIn("exited with status 3", watch.out)

    def test_a_watcher_lives_through_the_death_of_the_coordinator(self):
        run = self.lab.start("run", self.slice([self.rung("low", seconds=2), self.rung("middle"), self.rung("high")], hosts=2))
        lab.wait_for(self.at("pass-began", 1), "the first rung", 30)
        watch = self.lab.start("watch")
        watch.wait_out(r"low", 15)
        run.kill_and_reap()
        watch.wait_out(r"(?i)coordinator", 30)
        self.passes(self.lab.sliceup("resume"))
        seen = watch.end(30)
        self.assertEqual(0, seen.status, seen)
        self.assertIn(self.lab.receipt()["headers"][0]["sentence"], seen.out)

    def test_ctrl_c_leaves_a_watch_and_not_the_run(self):
        run = self.lab.start("run", self.slice([self.rung("low", seconds=3)], hosts=2))
        lab.wait_for(self.at("pass-began", 1), "the first rung", 30)
        watch = self.lab.start("watch")
        watch.wait_out(r"low", 15)
        watch.kill(signal.SIGINT)
        self.assertEqual(130, watch.end(10).status)
        self.assertEqual(0, run.end().status)


class Orphans(Resuming):
    def test_workers_without_a_coordinator_end_their_program_and_then_themselves(self):
        limits = {**LIMITS, "orphan": "5s", "exit": "8s"}
        run = self.lab.start("run", self.slice([self.rung("low", seconds=120)], hosts=2, limits=limits))
        lab.wait_for(lambda: len(self.marked()) >= 2, "the program on every host", 30)
        workers = set(self.lab.worker_pids().values())
        programs = set(self.lab.processes_under()) - workers - {run.process.pid}
        self.assertEqual((2, 2), (len(workers), len(programs)))
        run.kill_and_reap()
        died = time.monotonic()
        lab.wait_for(lambda: not any(map(lab.alive, programs)), "the programs to be ended", 15)
        programs_s = time.monotonic() - died
        self.assertTrue(all(map(lab.alive, workers)), "the workers left before their time")
        lab.wait_for(lambda: not any(map(lab.alive, workers)), "the workers to leave", 15)
        print(f"    programs ended after {programs_s:.1f} s, workers after {time.monotonic() - died:.1f} s")
        self.assertGreater(programs_s, 3)
        self.assertRegex(self.lab.logs(), r"silent for too long")
        ended = self.lab.sliceup("resume")
        self.assertEqual(1, ended.status, ended)
        self.assertIn("h[0-1] lost", ended.out)
        self.assertEqual(2, len(self.marked()), "the program was started again")


if __name__ == "__main__":
    unittest.main()
