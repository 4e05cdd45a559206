"""Launches that are known bad are not paid for twice, and what launches took can be asked for."""
import contextlib
import json
import sqlite3
import subprocess
import unittest

import lab
import schema

# openxla/xla:docs/errors/error_1000.md
HBM = ("jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. "
       "Used 49.34G of 32.00G hbm. Exceeded hbm capacity by 17.34G.")


class Calibration(lab.LabTest):
    def climb(self, *options, text=HBM, host="h1", **args):
        rung = self.lab.rung("dense", "fail_on.py", scope="host", args={"host": host, "text": text, **args})
        ladder = self.lab.ladder("ladder.yaml", [{"id": "host-facts", "builtin": "facts"}, rung])
        path = self.lab.slice(ladder=str(ladder), signatures=["jax", "xla", "system"], limits={"stop": "200ms"})
        return self.lab.sliceup("run", path, *options), path

    def launches(self, *options):
        return schema.document(self.passes(self.lab.sliceup("calibration", "--json", *options)).out)["launches"]

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


if __name__ == "__main__":
    unittest.main()
