"""Programs, workers and hosts that fail in every way: the right outcome, one clear sentence, and nothing left behind."""
import fcntl
import json
import os
import re
import signal
import time
import unittest

import lab
import schema

SCHEMA = json.loads((lab.TOP / "docs" / "spec" / "receipt.schema.json").read_text())
FAST = {"stop": "200ms", "cascade": "1s"}


class Failing(lab.LabTest):
    def climb(self, rungs, hosts=2, limits=FAST, bound_s=60, **more):
        """Runs a slice over the rungs to its end, which must come within the bound."""
        ladder = self.lab.ladder("ladder.yaml", rungs)
        began = time.monotonic()
        ended = self.lab.sliceup("run", self.lab.slice(hosts=hosts, ladder=str(ladder), limits=limits, **more), bound_s=bound_s + 60)
        self.took_s = time.monotonic() - began
        self.assertLess(self.took_s, bound_s, f"took {self.took_s:.1f} s")
        self.nothing_is_left()
        return ended

    def fails(self, rung, outcome, layer, *words, status=1, hosts=2, bound_s=30, folded="h[0-1]", **more):
        """One rung that does not pass, on all hosts alike: outcome, layer, and one sentence that names all of it."""
        ended = self.climb([{"id": "first", "builtin": "facts", "timeout": "30s"}, rung], hosts=hosts, bound_s=bound_s, **more)
        self.assertEqual(status, ended.status, ended)
        receipt = self.lab.receipt()
        for host in range(hosts):
            attempt = self.attempt(receipt, f"h{host}", rung["id"])
            self.assertEqual((outcome, layer), (attempt["outcome"], attempt["cause"]["owner"]), attempt["cause"])
        self.assertEqual(outcome, receipt["outcome"])
        self.assertEqual("first", receipt["frontier"]["highest_passing"]["rung"])
        self.assertEqual(rung["id"], receipt["frontier"]["next_failing"]["rung"])
        self.sentence(receipt, ended, f"stopped at rung {rung['id']} (2 of 2)", f"{folded} {outcome}: ", *words)
        return receipt

    def sentence(self, receipt, ended, *words):
        """The run's one sentence is in the receipt; the output ends with it, or with a card."""
        sentence = receipt["headers"][0]["sentence"]
        self.assertTrue(lab.tells_end(ended.out, sentence), ended.out)
        self.assertEqual(1, len(sentence.splitlines()))
        self.assertLess(len(sentence), 1500, sentence)
        for word in words:
            self.assertIn(word, sentence)


class Canaries(Failing):
    def test_an_exit_status_is_told_with_its_phase(self):
        self.fails(self.lab.rung("exits", "exit3.py"), "failed", "unknown", "exited with status 3 in phase run")

    def test_a_hang_is_killed_at_its_limit_though_it_ignores_signals(self):
        rung = self.lab.rung("hangs", "hang.py", timeout="2s", args={"phase": "compile"})
        self.fails(rung, "timed-out", "unknown", "still in phase compile after 2 s", bound_s=20)

    def test_a_flood_of_output_is_bounded_and_passes(self):
        rung = self.lab.rung("floods", "flood.py", args={"megabytes": 20, "lines": 20000}, backend="any")
        ended = self.climb([rung], limits={**FAST, "log": "64KiB"})
        self.assertEqual(0, ended.status, ended)
        receipt = self.lab.receipt()
        for host in ("h0", "h1"):
            attempt = self.attempt(receipt, host, "floods")
            self.assertGreater(attempt["output_bytes"], 20 << 20)
            self.assertGreater(attempt["dropped_bytes"], 19 << 20)
        kept = [path for path in self.lab.run_folder().rglob("*.log") if path.name != "worker.log"]
        self.assertGreaterEqual(len(kept), 2)
        for path in kept:
            self.assertLessEqual(path.stat().st_size, (64 << 10) + (8 << 10), path)

    def test_an_orphan_dies_with_its_program_and_is_counted(self):
        held = self.lab.files / "orphan.held"
        rung = self.lab.rung("leaves", "orphan.py", args={"held_file": str(held)}, backend="any")
        ended = self.climb([rung], hosts=1)
        self.assertEqual(0, ended.status, ended)
        with held.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError: the orphan still runs
        self.assertEqual(1, self.attempt(self.lab.receipt(), "h0", "leaves")["strays"])

    def test_garbage_on_the_descriptor_never_passes(self):
        for kind in ("text", "unknown", "deep", "endless", "all"):
            with self.subTest(kind):
                rung = self.lab.rung("talks", "garbage.py", args={"kind": kind}, backend="any")
                ended = self.climb([rung], hosts=1)
                self.assertEqual(1, ended.status, ended)
                attempt = self.attempt(self.lab.receipt(), "h0", "talks")
                self.assertEqual("failed", attempt["outcome"])
                self.assertGreater(attempt["bad_lines"], 0)
                self.assertIn("broke the canary protocol with ", attempt["cause"]["text"])
                self.assertTrue(attempt["bad_line"] and attempt["bad_line"] in attempt["cause"]["text"], attempt)

    def test_a_silent_exit_0_is_not_a_pass(self):
        self.fails(self.lab.rung("silent", "silent_exit0.py"), "failed", "program", "never reported that it was done")

    def test_another_nonce_is_not_a_pass(self):
        self.fails(self.lab.rung("replays", "wrong_nonce.py", backend="any"), "failed", "program",
                   "broke the canary protocol with 1 line: done: nonce: expected the nonce of this attempt")

    def test_what_is_said_after_done_or_failure_is_not_a_pass(self):
        for lines, layer, words in (("canary.done()\n    canary.fact('late', '1')", "program", "sent after done, which has to be the last line"),
                                    ("canary.failure('device', 'the chip is busy')\n    canary.failed = False", "device",
                                     "the chip is busy (reported a failure, but exited with status 0)")):
            with self.subTest(words):
                self.lab.write("says.py", f"import sliceup_canary\n\n\ndef body(canary):\n    {lines}\n\n\nsliceup_canary.run(body)\n")
                rung = {"id": "says", "canary": str(self.lab.files / "says.py"), "timeout": "30s", "backend": "any"}
                self.assertEqual(1, self.climb([rung], hosts=1).status)
                cause = self.attempt(self.lab.receipt(), "h0", "says")["cause"]
                self.assertEqual(layer, cause["owner"])
                self.assertIn(words, cause["text"])

    def test_printing_pass_is_not_a_pass(self):
        self.fails(self.lab.rung("boasts", "pass_text.py"), "failed", "unknown", "exited with status 1 in phase PASS")

    def test_escapes_in_what_it_says_change_nothing(self):
        ended = self.climb([self.lab.rung("paints", "escape.py")])
        self.assertEqual(0, ended.status, ended)
        self.assertNotIn("\x1b", ended.out + ended.err)


class Commands(Failing):
    def command(self, *argv):
        return {"id": "command", "command": list(argv), "timeout": "20s"}

    def test_a_command_that_dies_of_its_own_fault_has_failed(self):
        self.fails(self.command("sh", "-c", "kill -SEGV $$"), "failed", "unknown", "killed by signal 11")

    def test_a_command_that_somebody_killed_failed_and_nobody_knows_who_did(self):
        self.fails(self.command("sh", "-c", "kill -KILL $$"), "failed", "unknown", "killed by signal 9")

    def test_a_missing_program_is_blocked(self):
        self.fails(self.command("no-such-program-anywhere"), "blocked", "launch", "no-such-program-anywhere", status=3)

    def test_a_missing_path_is_blocked(self):
        self.fails(self.command("/nonexistent/program"), "blocked", "launch", "/nonexistent/program", status=3)

    def test_a_good_command_passes(self):
        self.passes(self.climb([self.command("true")]))


class Workers(Failing):
    def start(self, rungs, hosts=3, limits=FAST):
        ladder = self.lab.ladder("ladder.yaml", rungs)
        return self.lab.start("run", self.lab.slice(hosts=hosts, ladder=str(ladder), limits=limits))

    def marked(self, hosts):
        return len(self.marks.read_text().splitlines()) >= hosts if self.marks.exists() else False

    def slow(self, seconds, **more):
        self.marks = self.lab.files / "marks"
        return self.lab.rung("slow", "marks.py", args={"file": str(self.marks), "seconds": seconds}, **more)

    def test_a_killed_worker_is_lost_on_its_host_only(self):
        run = self.start([self.slow(3), {"id": "above", "builtin": "facts"}])
        lab.wait_for(lambda: self.marked(3), "the program to run on all hosts")
        pids, programs = self.lab.worker_pids(), self.lab.processes_under()
        os.kill(pids["h1"], signal.SIGKILL)
        lab.wait_for(lambda: len(self.lab.processes_under()) <= len(programs) - 2, "worker and program of h1 to be gone", 5)
        ended = run.end(40)
        self.assertEqual(1, ended.status, ended)
        receipt = self.lab.receipt()
        self.assertEqual(["passed", "lost", "passed"], [self.attempt(receipt, f"h{i}", "slow")["outcome"] for i in range(3)])
        self.assertEqual("host", self.attempt(receipt, "h1", "slow")["cause"]["owner"])
        self.sentence(receipt, ended, "stopped at rung slow (1 of 2)", "h1 lost: ", "signal 9")
        self.nothing_is_left()

    def test_a_stopped_worker_is_suspect_and_then_lost(self):
        run = self.start([self.slow(2), {"id": "above", "builtin": "facts"}], limits={**FAST, "suspect": "2s", "lost": "4s"})
        lab.wait_for(lambda: self.marked(3), "the program to run on all hosts")
        pid = self.lab.worker_pids()["h2"]
        os.kill(pid, signal.SIGSTOP)
        run.wait_out(r"h2.*(suspect|silent)", 40)
        ended = run.end(40)
        self.assertLess(re.search(r"h2.*(suspect|silent)", ended.out).start(), ended.out.index("h2 lost"))
        self.assertEqual(1, ended.status, ended)
        receipt = self.lab.receipt()
        self.assertEqual(["passed", "passed", "lost"], [self.attempt(receipt, f"h{i}", "slow")["outcome"] for i in range(3)])
        self.sentence(receipt, ended, "h2 lost: silent for ")
        lab.wait_for(lambda: not lab.alive(pid), "the stopped worker to be ended by the coordinator", 5)
        self.nothing_is_left()

    def test_a_worker_that_was_stopped_for_a_moment_is_not_lost(self):
        run = self.start([self.slow(4)], limits={**FAST, "suspect": "1s", "lost": "20s"})
        lab.wait_for(lambda: self.marked(3), "the program to run on all hosts")
        pid = self.lab.worker_pids()["h0"]
        os.kill(pid, signal.SIGSTOP)
        run.wait_out(r"h0.*(suspect|silent)", 15)
        os.kill(pid, signal.SIGCONT)
        ended = run.end(40)
        self.assertEqual(0, ended.status, ended)


class Slices(Failing):
    def test_one_cause_and_the_rest_cascade(self):
        for when in ("gate", "collective"):
            with self.subTest(when):
                rung = self.lab.rung("together", "falls_in_slice.py", scope="slice", args={"host": "h2", "when": when})
                ended = self.climb([rung], hosts=4, bound_s=25)
                self.assertEqual(1, ended.status, ended)
                receipt = self.lab.receipt()
                outcomes = [self.attempt(receipt, f"h{i}", "together")["outcome"] for i in range(4)]
                self.assertEqual(["cascade", "cascade", "failed", "cascade"], outcomes)
                self.assertEqual("aborted because h2 failed", self.attempt(receipt, "h0", "together")["cause"]["text"])
                self.assertEqual({"failed": "h2", "cascade": "h[0-1,3]"}, receipt["ladder"][0]["hosts_by_outcome"])
                self.sentence(receipt, ended, "h2 failed: this host cannot go on; exited with status 1 in phase ")
                self.assertNotIn("cascade", receipt["headers"][0]["sentence"])

    def test_the_next_run_works(self):
        rung = self.lab.rung("together", "falls_in_slice.py", scope="slice", args={"host": "h0"})
        self.assertEqual(1, self.climb([rung]).status)
        self.passes(self.climb([self.lab.rung("hello", "plain/hello.py")]))
        self.assertEqual("passed", self.lab.receipt()["outcome"])

    def test_the_fourth_rung_fails_on_one_host_only(self):
        rungs = [{"id": "one", "builtin": "facts"}, self.lab.rung("two", "plain/hello.py"),
                 self.lab.rung("three", "plain/metrics.py", scope="slice", metrics=["loss"]),
                 self.lab.rung("four", "fail_on.py", args={"host": "h2", "text": "No space left on device"}),
                 self.lab.rung("five", "plain/hello.py"), {"id": "six", "builtin": "facts"}]
        ended = self.climb(rungs, hosts=4)
        self.assertEqual(1, ended.status, ended)
        receipt = self.lab.receipt()
        for host in range(4):
            below = [(name, "once", "passed") for name in ("one", "two", "three")]
            four = [("four", "once", "failed" if host == 2 else "passed")]
            attempts = [item for item in self.rungs(receipt, f"h{host}") if item[2] != "not-reached"]
            self.assertEqual(below + four, attempts)
        by_rung = {line["rung"]: line["outcome"] for line in receipt["ladder"]}
        self.assertEqual({"one": "passed", "two": "passed", "three": "passed", "four": "failed", "five": "not-reached",
                          "six": "not-reached"}, by_rung)
        cause = self.attempt(receipt, "h2", "four")["cause"]
        self.assertEqual(("host", "disk-full"), (cause["owner"], cause["signature"]))
        self.sentence(receipt, ended, "stopped at rung four (4 of 6)", "h2 failed: No space left on device; exited with status 1 in phase run; whose: the host (certain; disk-full)",
                      "next: df -h")
        self.assertEqual({"highest_passing": ("three", "h[0-3]"), "next_failing": ("four", "h2")},
                         {name: (receipt["frontier"][name]["rung"], receipt["frontier"][name]["hosts"])
                          for name in ("highest_passing", "next_failing")})

    def test_a_text_that_leaves_two_owners_possible_names_both_everywhere(self):
        """Memory of a card: the program's, or somebody else's who uses it. The first owner stays the owner."""
        ended = self.climb([self.lab.rung("card", "fail_on.py", args={"host": "h1", "text": "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"})])
        self.assertEqual(1, ended.status, ended)
        wanted = ("program", "device", "likely")
        cause = self.attempt(self.lab.receipt(), "h1", "card")["cause"]
        self.assertEqual(wanted, (cause["owner"], cause["else_owner"], cause["certainty"]), cause)
        self.sentence(self.lab.receipt(), ended, f"; whose: your program, else the device (likely; {cause['signature']})")
        for command in ("receipt", "explain", "status"):
            self.assertIn("whose: your program, else the device (likely", self.lab.sliceup(command).out, command)
        events = [schema.document(line) for line in self.lab.sliceup("watch", "--json").out.splitlines()]
        told = [schema.document(self.lab.sliceup("explain", "--json").out)["causes"][0],
                schema.document(self.lab.sliceup("status", "--json").out)["rungs"][0]["passes"][0]["failures"][0],
                next(event for event in events if event["type"] == "attempt-ended" and event["outcome"]),
                next(event for event in events if event["type"] == "pass-ended")["groups"][0]]
        for one in told:
            self.assertEqual(wanted, (one["owner"], one["else_owner"], one["certainty"]), one)


    def test_who_does_not_come_to_a_gate_is_the_cause_whatever_it_prints_when_it_is_stopped(self):
        rungs = [self.lab.rung("gate", "awaited.py", scope="slice", timeout="6s", args={"host": "h2"})]
        ladder = self.lab.ladder("ladder.yaml", rungs)
        path = self.lab.slice(hosts=4, ladder=str(ladder), cache={"mode": "off"}, limits={"stop": "2500ms"})
        ended = self.lab.sliceup("run", path)
        self.assertEqual(1, ended.status, ended)
        receipt = self.lab.receipt()
        outcomes = {host["host"]: host["rungs"][-1]["outcome"] for host in receipt["hosts"]}
        self.assertEqual({"h0": "cascade", "h1": "cascade", "h2": "timed-out", "h3": "cascade"}, outcomes, ended)
        self.assertRegex(ended.out, r"h2 timed-out: still in phase init after 6 s; stopped in .*awaited.py:.*; the other hosts waited for it at a gate; whose: not known")


class Liars(Failing):
    """Metrics that are not what they claim are named for what they are."""

    def lies(self, canary, proof, missing=(), hosts=4):
        """Both axes of the mesh lie across hosts: a wrong axis is another thing than a local value."""
        rung = self.lab.rung("metric", canary, scope="slice", metrics=["loss"])
        ended = self.climb([rung], hosts=hosts, mesh={"data": 2, "model": hosts})
        self.assertEqual(1, ended.status, ended)
        receipt = self.lab.receipt()
        judged = [(item["proof"], item["missing"]) for item in receipt["reductions"]]
        self.assertEqual([(proof, list(missing))], judged, receipt["reductions"])
        self.sentence(receipt, ended, "metric loss is not proved over ", f" (proof: {proof}): ", f"h[0-{hosts - 1}] failed")
        return receipt

    def test_a_local_value_is_named(self):
        self.lies("local_value.py", "local")

    def reduced(self, canary, metric, outcomes, **args):
        """Four hosts; `outcomes` on them. The receipt."""
        rung = self.lab.rung("metric", canary, scope="slice", metrics=[metric], args=args)
        ended = self.climb([rung], hosts=4)
        receipt = self.lab.receipt()
        self.assertEqual(outcomes, [self.attempt(receipt, f"h{i}", "metric")["outcome"] for i in range(4)], ended)
        self.assertEqual([], schema.problems(receipt, SCHEMA))
        self.ended = ended
        return receipt

    def test_what_one_host_is_told_says_nothing_of_what_the_others_are(self):
        """Each of its programs would know all secrets from its own line, and have a number proved that it made up."""
        rungs = [self.lab.rung(name, "foretells.py", scope="slice", metrics=["loss"]) for name in ("first", "later")]
        path = self.lab.slice(hosts=4, ladder=str(self.lab.ladder("ladder.yaml", rungs)))
        ended = self.lab.sliceup("run", path, "--keep-going")
        told = {item["rung"]: item["proof"] for item in self.lab.receipt()["reductions"]}
        self.assertEqual({"first": "unproved", "later": "unproved"}, told, ended)

    def test_one_that_alone_reports_a_local_value_is_named_alone(self):
        receipt = self.reduced("local_value.py", "loss", ["cascade", "failed", "cascade", "cascade"], host="h1")
        self.assertEqual([("local", ["h1"], [])], [(item["proof"], item["culprits"], item["missing"]) for item in receipt["reductions"]])
        self.sentence(receipt, self.ended, "h1 failed: metric loss is not proved over ", " (proof: local): ")
        self.assertNotIn("h0", receipt["headers"][0]["sentence"])
        self.assertEqual("metric loss is not proved, because h1 did not pass", self.attempt(receipt, "h0", "metric")["cause"]["text"])
        self.assertEqual({"rung": "metric", "hosts": "h1"}, receipt["frontier"]["next_failing"])
        for command in (["receipt", "last"], ["explain", "last"]):
            self.assertIn("result holds only its own contribution, on h1", self.lab.sliceup(*command).out)

    def test_who_came_to_the_end_beside_one_that_fell_has_not_passed_what_is_not_proved(self):
        receipt = self.reduced("falls_in_slice.py", "devices", ["cascade", "cascade", "failed", "cascade"], host="h2", when="end")
        self.assertEqual([("unproved", ["h2"])], [(item["proof"], item["missing"]) for item in receipt["reductions"]])
        self.sentence(receipt, self.ended, "h2 failed: ", "; exited with status 1 in phase run")
        self.assertEqual("metric devices is not proved, because h2 did not pass", self.attempt(receipt, "h3", "metric")["cause"]["text"])

    def test_many_values_are_judged_by_the_last_and_what_went_before_is_told(self):
        receipt = self.reduced("trains.py", "loss", ["passed"] * 4, steps=300, host="h1", lies=3, alone="h2")
        told = {item["metric"]: item for item in receipt["reductions"]}
        self.assertEqual(("proved", [{"host": "h1", "count": 3}]), (told["loss"]["proof"], told["loss"]["contradicted"]))
        self.assertEqual(("unproved", ["h0", "h1", "h3"]), (told["norm"]["proof"], told["norm"]["missing"]))
        for host, alike in (("h0", 299), ("h1", 296)):
            attempt = self.attempt(receipt, host, "metric")
            loss = attempt["metrics"][0]
            self.assertEqual((299, alike), (loss["earlier"]["count"], loss["earlier"]["alike"]))
            self.assertEqual(told["loss"]["value"], loss["value"])
            self.assertLess(loss["value"], loss["earlier"]["last"])
            self.assertLess(loss["earlier"]["last"], loss["earlier"]["first"])
            self.assertEqual((0, {"checks": 300 - 64}, 64), (attempt["bad_lines"], attempt["left_out"], len(attempt["checks"])))
        self.assertIn("; the same proof fails for 3 earlier values of the metric", self.ended.out)
        self.assertIn("earlier values for which the same proof fails: 3 of h1", self.lab.sliceup("receipt", "last").out)

    def test_a_wrong_axis_is_named(self):
        self.lies("wrong_axis.py", "wrong-axis")

    def test_a_missing_host_is_named(self):
        receipt = self.lies("leaves_out_host.py", "partial", missing=["h3"])
        self.assertIn("missing h3", receipt["headers"][0]["sentence"])

    def test_a_mean_of_means_is_named(self):
        self.lies("mean_of_means.py", "mean-of-means")


if __name__ == "__main__":
    unittest.main()
