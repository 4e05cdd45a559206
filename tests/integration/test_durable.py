"""A disk that stalls: nobody is shown what the journal may still lose, and what was shown outlives kill -9."""
import re
import unittest

import lab
import unlucky

PASSED = re.compile(r"low: .*passed")


def lines(ended):
    return [line for line in ended.out.splitlines() if line.startswith("[")]


class StalledDisk(lab.LabTest):
    def results_kept(self):
        return len(self.lab.results_kept())

    def test_what_was_shown_is_in_the_journal(self):
        gate = self.lab.files / "gate"
        rungs = [self.lab.rung("low", "slow.py", args={"seconds": 0.5}), self.lab.rung("high", "plain/hello.py")]
        run = self.lab.start("run", self.lab.slice(hosts=2, ladder=str(self.lab.ladder("ladder.yaml", rungs))), "--plain",
                             env=unlucky.env(self.lab, gate=gate))
        run.wait_out(r"low .*began")
        watch = self.lab.start("watch", "--plain")
        watch.wait_out(r"low .*began")
        gate.touch()
        lab.wait_for(lambda: self.results_kept() == 2, "both hosts to keep their results", 30)
        with self.assertRaises(AssertionError): # and the coordinator has them, for as long as anybody would look
            run.wait_out(PASSED, 1)
        self.assertNotRegex(watch.out, PASSED)
        self.assertEqual("running", self.lab.status()["state"])
        shown = lines(run.kill_and_reap())
        gate.unlink()
        resumed = self.passes(self.lab.sliceup("resume", "--plain"))
        self.assertEqual(shown, lines(resumed)[:len(shown)])
        self.assertRegex(resumed.out, PASSED)
        self.assertEqual(lines(resumed), lines(watch.end(30)))


if __name__ == "__main__":
    unittest.main()
