"""Launches that are known bad are not paid for twice, and what launches took can be asked for."""
import contextlib
import json
import re
import shlex
import sqlite3
import subprocess
import unittest

import lab
import schema
from test_env import make_wheel

# openxla/xla:docs/errors/error_1000.md
HBM = ("jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. "
       "Used 49.34G of 32.00G hbm. Exceeded hbm capacity by 17.34G.")


def next_best(test, said):
    """What is proposed, and what a run by that command came to."""
    words, command = re.search(r"(?:next|better): (?!start it)(.*): (\S*sliceup .*)", said).groups()
    return words, test.lab.sliceup(*shlex.split(command)[1:])


class Calibration(lab.LabTest):
    def climb(self, *options, text=HBM, host="h1", **args):
        rung = self.lab.rung("dense", "fail_on.py", scope="host", args={"host": host, "text": text, **args})
        ladder = self.lab.ladder("ladder.yaml", [{"id": "host-facts", "builtin": "facts"}, rung])
        path = self.lab.slice(ladder=str(ladder), signatures=["jax", "xla", "system"], limits={"stop": "200ms"})
        return self.lab.sliceup("run", path, *options), path

    def launches(self, *options):
        return schema.document(self.passes(self.lab.sliceup("calibration", "--json", *options)).out)["launches"]

    def blocked(self):
        receipt = self.lab.receipt()
        self.assertEqual("blocked", receipt["outcome"])
        return receipt["headers"][0]["sentence"]

    def test_a_known_bad_launch_is_not_paid_for_twice(self):
        first, path = self.climb()
        self.assertEqual(1, first.status, first)
        (bad,) = self.launches()
        self.assertEqual(("dense", "failed", True), (bad["rung"], bad["outcome"], bad["known_bad"]), bad)
        self.assertGreater(bad["host_peak_bytes"], 1 << 20)
        second, _ = self.climb()
        self.assertEqual(3, second.status, second)
        self.assertIn("rung dense was not started: the same launch failed in run ", second.out)
        self.assertIn("--again", second.out)
        receipt = self.lab.receipt()
        self.assertEqual("blocked", receipt["outcome"])
        self.assertEqual([("host-facts", "once", "passed"), ("dense", "once", "blocked")], self.rungs(receipt, "h0"))
        self.assertEqual(1, len(self.launches("--history")), "a launch that was not made was measured")
        self.assertIn("known bad: the same launch failed", self.passes(self.lab.sliceup("check", path)).out)

    def test_the_nearest_launch_that_passed_is_proposed_as_a_command_that_passes(self):
        for batch in (8, 64, 32):
            self.passes(self.climb(host="nobody", batch=batch)[0])
        self.assertEqual(1, self.climb(host="h1", batch=128)[0].status)
        _, path = self.climb(host="h1", batch=128)
        self.assertIn("next: start it anyway with --again, or better: batch 64 in place of 128", self.blocked())
        words, ended = next_best(self, self.passes(self.lab.sliceup("check", path)).out)
        self.assertRegex(words, r'batch 64 in place of 128, host "nobody" in place of "h1" passed in run \w{8} \(20\d\d-\d\d-\d\d\)')
        self.passes(ended)
        self.assertEqual(["batch=64", "host=\"nobody\""], self.launches()[0]["args"].split("\n")[:2])

    def test_of_what_never_passed_half_is_tried(self):
        _, path = self.climb(batch=128, width=4096)
        words, ended = next_best(self, self.passes(self.lab.sliceup("check", path)).out)
        self.assertEqual("no launch that passed can stand in for it: try it with half of its batch", words)
        self.assertEqual(1, ended.status, ended)
        self.assertIn("batch=64", self.launches()[0]["args"].split("\n"))
        self.assertIn("rung dense was not started", self.lab.sliceup("run", path, "--arg", "dense.batch=64").out)

    def test_a_secret_is_in_no_proposed_command(self):
        _, path = self.climb(batch=128, api_token="s3cret")
        told = self.passes(self.lab.sliceup("check", path)).out
        self.assertIn("try it with half of its batch", told)
        told = self.passes(self.lab.sliceup("check", path, "--arg", "dense.api_token=s3cret")).out
        self.assertIn("known bad", told)
        self.assertNotIn("half of its batch", told)
        self.assertNotIn("s3cret", told)

    def test_an_argument_of_nobody_is_refused(self):
        _, path = self.climb(host="nobody")
        for given, said in (("dens.batch=1", "did you mean 'dense'?"), ("dense.batch", "'dense.batch', expected RUNG.NAME=VALUE"),
                            ("host-facts.batch=1", "'host-facts.batch=1', expected RUNG.NAME=VALUE with a rung that is a canary"), ("dense.b-c=1", "'b-c' is not an argument name"),
                            ("batch=1", "'batch=1', expected RUNG.NAME=VALUE"), ("dense.batch=1, width: 2", "sets 2 arguments, expected one")):
            ended = self.lab.sliceup("check", path, "--arg", given)
            self.assertEqual(2, ended.status, ended)
            self.assertIn(said, ended.err)

    def test_again_tries_it_all_the_same(self):
        self.climb()
        again, _ = self.climb("--again")
        self.assertEqual(1, again.status, again)
        self.assertEqual(2, len(self.launches("--history")))

    def test_another_launch_is_another_matter(self):
        self.climb()
        other, _ = self.climb(width=65)
        self.assertEqual(1, other.status, other)
        self.assertEqual(2, len({launch["signature"] for launch in self.launches()}))

    def test_what_nobody_recognises_is_not_known_bad(self):
        self.climb(text="some words of nobody's")
        again, _ = self.climb(text="some words of nobody's")
        self.assertEqual(1, again.status, again)
        self.assertFalse(any(launch["known_bad"] for launch in self.launches()))

    def test_what_passed_is_measured_and_can_be_forgotten(self):
        passed, _ = self.climb(host="nobody")
        self.passes(passed)
        (launch,) = self.launches("dense")
        self.assertEqual(("passed", False, 2), (launch["outcome"], launch["known_bad"], launch["hosts"]))
        shown = self.passes(self.lab.sliceup("calibration")).out
        self.assertIn(launch["signature"], shown)
        self.assertIn("sliceup calibration shows all", self.passes(self.lab.sliceup("calibration", "dens")).out)
        self.passes(self.lab.sliceup("calibration", "--forget", launch["signature"]))
        self.assertEqual(1, self.lab.sliceup("calibration", "--forget", launch["signature"]).status)
        self.assertEqual([], self.launches())

    def test_a_damaged_history_holds_no_run_up(self):
        self.climb(host="nobody")
        (self.lab.home / "calibration.db").write_bytes(b"nothing of ours" * 1000)
        ended, _ = self.climb(host="nobody")
        self.passes(ended)
        self.assertIn("warning: measures of earlier launches cannot be read", ended.err)
        self.assertEqual(5, self.lab.sliceup("calibration").status)

    def test_an_explanation_that_cannot_be_written_is_no_success(self):
        ladder = self.lab.ladder("ladder.yaml", [{"id": "host-facts", "builtin": "facts"}])
        self.passes(self.lab.sliceup("run", self.lab.slice(hosts=1, ladder=str(ladder), cache={"mode": "off"})))
        self.passes(self.lab.sliceup("explain"))
        with open("/dev/full", "w") as full:
            ended = subprocess.run([str(lab.SLICEUP), "explain"], env=self.lab.env(), stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(3, ended.returncode, ended.stderr)
        self.assertIn("No space left on device", ended.stderr)

    def test_what_a_strange_history_says_moves_no_terminal(self):
        self.climb(host="nobody")
        signature, run = [self.launches()[0][member].encode() for member in ("signature", "run")]
        with contextlib.closing(sqlite3.connect(self.lab.home / "calibration.db")) as history:
            for (record,) in history.execute("SELECT record FROM measure").fetchall():
                wild = record.replace(signature[:4], b"\x1b[2J").replace(run[:4], b"\x1b[1m")
                history.execute("UPDATE measure SET record = ? WHERE record = ?", (wild, record))
            history.commit()
        shown = self.passes(self.lab.sliceup("calibration")).out
        self.assertIn("\\x1b[2J", shown)
        self.assertNotIn("\x1b", shown)


# Its process really holds what the installed package asks for.
HEAVY = """import sliceup_canary

def body(canary):
    canary.phase("run")
    import sliceup_heavy
    held = b"x" * (sliceup_heavy.MIB << 20)
    canary.check("held", sliceup_heavy.MIB << 20, len(held))
    canary.memory(sliceup_heavy.PREDICTED, sliceup_heavy.SEEN)

sliceup_canary.run(body)
"""


class Stack(lab.LabTest):
    def start(self, version, content):
        wheels = self.lab.root / "wheels"
        wheels.mkdir(exist_ok=True)
        pins = self.lab.write(f"own-{version}.txt", make_wheel(wheels, "sliceup-heavy", version, {"__init__.py": content.encode()}))
        self.lab.write("heavy.py", HEAVY)
        ladder = self.lab.ladder("ladder.yaml", [{"id": "environment", "builtin": "restore", "timeout": "5m"},
                                                 {"id": "dense", "canary": str(self.lab.files / "heavy.py"), "backend": "any", "timeout": "1m"}])
        self.path = self.lab.slice(hosts=1, ladder=str(ladder), pins=str(pins),
                                   signatures=["jax", "xla", "system"])
        return self.lab.sliceup("run", self.path, "--wheels", wheels)

    def climb(self, version, mib, predicted, seen):
        return self.passes(self.start(version, f"MIB, PREDICTED, SEEN = {mib}, {predicted} << 20, {seen} << 20\n")).out

    def told(self, *options):
        return self.passes(self.lab.sliceup("calibration", "dense", *options)).out

    def launches(self, *options):
        return schema.document(self.told("--json", *options))["launches"]

    def test_what_became_larger_with_another_package_is_told_by_the_package(self):
        apart = "MiB with sliceup-heavy 2.0, {} MiB with sliceup-heavy 1.0: {} % more"
        program = "rung dense: its program takes 151 " + apart.format(100, 51)
        process = r"rung dense: its process holds [\d.]+ " + apart.format(r"[\d.]+", r"\d+")
        for _ in range(3):
            self.assertNotIn("calibration:", self.climb("1.0", 60, 100, 117))
        self.assertIn("predicted 100 MiB, 117 MiB seen (+17 %); took ", self.told())
        self.assertIn(" by 2 earlier runs (", self.told())
        self.assertNotIn("no device counted", self.told())
        self.assertAlmostEqual(0.17, self.launches()[0]["memory_deviation"])
        for _ in range(2): # of two processes the median may be the one that was disturbed
            out = self.climb("2.0", 200, 151, 0)
            self.assertIn(f"calibration: {program}", out)
            self.assertNotIn("its process holds", out)
        self.assertRegex(self.climb("2.0", 200, 151, 0), f"calibration: {process}")
        self.assertRegex(self.told(), f"{program}\n *{process}")
        self.assertIn("no device counted its memory in 1 of these", self.told())
        new, old = self.launches()
        self.assertEqual((["sliceup-heavy=2.0"], None), ([word for word in new["packages"].split() if word.startswith("sliceup")], new["memory_deviation"]))
        self.assertEqual(["predicted_bytes", "host_peak_bytes"], [change["what"] for change in new["changes"]][:2])
        self.assertGreater(new["changes"][1]["now"] - new["changes"][1]["before"], 120 << 20)
        self.assertEqual((True, []), (old["outdated"], old["changes"]))
        self.assertEqual([(2, True), (1, True), (0, False)], [(m["usual_runs"], m["usual_ms"] is not None) for m in self.launches("--history")[:3]])
        self.another_bundle()

    def another_bundle(self):
        """What passed with the bundle before is proposed with its pin set, and passes."""
        content = f"raise RuntimeError({HBM!r})\n"
        self.assertEqual(1, self.start("3.0", content).status)
        self.assertEqual(3, self.start("3.0", content).status)
        words, ended = next_best(self, self.lab.receipt()["headers"][0]["sentence"])
        self.assertRegex(words, r"^with sliceup-heavy 2\.0 passed in run \w{8} ")
        self.passes(ended)


if __name__ == "__main__":
    unittest.main()
