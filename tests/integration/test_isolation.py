"""A program that hangs with certain hosts, of which nobody says a word: found by running parts of the slice by themselves."""
import unittest

import lab

# A good part takes a second or two; on a busy machine several times that. Where nobody gives up a hang lasts so long.
TIMEOUT = "8s"
# Where the others give up nobody has to wait for that.
LONG = "120s"
LIMITS = {"stop": "200ms", "cascade": "500ms"}


class Isolation(lab.LabTest):
    def slice(self, hosts, silent, splits=True, patience_s=None):
        profile = self.lab.write("profile.yaml", "profile: parts\nfrontend: plain\nbackend: cpu\ndevices_per_host: 1\n"
                                                 f"splits: {'true' if splits else 'false'}\n")
        rungs = [self.lab.rung("first", "marks.py", args={"file": str(self.lab.files / "first")}),
                 self.lab.rung("all", "silent.py", scope="slice", metrics=["devices"], timeout=LONG if patience_s else TIMEOUT,
                               args={"hosts": silent, "file": str(self.lab.files / "marks"),
                                     **({"patience_s": patience_s} if patience_s else {})})]
        return self.lab.slice(hosts=hosts, ladder=str(self.lab.ladder("ladder.yaml", rungs)), profile=str(profile), limits=LIMITS)

    def parts(self):
        """The groups that were run, in order: of each attempt the hosts."""
        attempts = {}
        for line in (self.lab.files / "marks").read_text().splitlines():
            host, _, _, attempt = line.split()
            attempts.setdefault(int(attempt), []).append(host)
        return [sorted(attempts[attempt]) for attempt in sorted(attempts)]

    def isolated(self, ended, suspects, words, outcome="failed"):
        """The suspects alone keep the failure; what was run by parts counts for nothing else."""
        self.assertEqual(1, ended.status, ended)
        self.assertIn(words, ended.out)
        receipt = self.lab.receipt()
        self.assertEqual(outcome, receipt["outcome"])
        self.assertEqual(("first", "all"), tuple(receipt["frontier"][key]["rung"] for key in ("highest_passing", "next_failing")))
        self.assertEqual([], receipt["reductions"])
        for host in receipt["hosts"]:
            climbed, *parts = [rung for rung in host["rungs"] if rung["rung"] == "all"]
            self.assertEqual("climb", climbed["purpose"])
            self.assertEqual(outcome if host["host"] in suspects else "cascade", climbed["outcome"], host["host"])
            self.assertEqual({"isolation"} if parts else set(), {part["purpose"] for part in parts})
        self.assertEqual(1, self.lab.count("suspects-named"))
        self.nothing_is_left()
        return receipt

    def test_a_hang_of_one_host_is_found_by_halves(self):
        ended = self.lab.sliceup("run", self.slice(8, ["h5"], patience_s=1))
        receipt = self.isolated(ended, {"h5"}, "run by themselves, h[4-7], h[4-5], h[0,5] failed; h[0-3], h[6-7], h[0,4] worked (6 passes)")
        self.assertIn("h5 failed: ", receipt["headers"][0]["sentence"])
        whole, *parts = self.parts()
        self.assertEqual(8, len(whole))
        self.assertEqual([["h0", "h1", "h2", "h3"], ["h4", "h5", "h6", "h7"], ["h4", "h5"], ["h6", "h7"], ["h0", "h4"], ["h0", "h5"]],
                         parts)
        status = self.lab.status()
        self.assertEqual(("all", 6, True, "h5"), tuple(status["isolation"][key] for key in ("rung", "passes", "over", "suspects")))

    def test_a_hang_that_ends_with_its_time_alone_is_found_too(self):
        ended = self.lab.sliceup("run", self.slice(2, ["h1"]))
        self.isolated(ended, {"h1"}, "run by themselves, h1 failed; h0 worked (2 passes)", "timed-out")
        self.assertEqual([["h0"], ["h1"]], self.parts()[1:])

    def test_two_hosts_that_fail_together_are_told_from_a_bad_host(self):
        ended = self.lab.sliceup("run", self.slice(4, ["h1", "h2"], patience_s=1))
        self.isolated(ended, {"h1", "h2"}, "suspect the link between h[1-2], or a setting that differs: run by themselves, h[0-2], h[1-2] failed; h[0-1], h[2-3], h[0,2] worked (5 passes)")

    def test_a_slice_that_cannot_be_split_is_not(self):
        ended = self.lab.sliceup("run", self.slice(4, ["h2"], splits=False, patience_s=1))
        self.assertEqual(1, ended.status, ended)
        self.assertEqual((0, 1), (self.lab.count("suspects-named"), len(self.parts())))

    def test_a_coordinator_that_dies_during_it_is_followed_by_one_that_goes_on(self):
        run = self.lab.start("run", self.slice(4, ["h3"], patience_s=2))
        for passes in (3, 5): # in the first part, and in the third
            lab.wait_for(lambda: self.lab.count("pass-began") >= passes, f"pass {passes}", 120)
            run.kill_and_reap()
            run = self.lab.start("resume")
        self.isolated(run.end(), {"h3"}, "run by themselves, h[2-3], h[0,3] failed; h[0-1], h[0,2] worked (4 passes)")
        self.assertEqual(6, self.lab.count("pass-began"))
        self.assertEqual([["h0", "h1"], ["h2", "h3"], ["h0", "h2"], ["h0", "h3"]], self.parts()[1:])

    def test_ctrl_c_ends_it_and_keeps_the_failure(self):
        run = self.lab.start("run", self.slice(4, ["h3"], patience_s=5))
        lab.wait_for(lambda: self.lab.count("pass-began") >= 4, "a part that hangs", 120)
        run.kill(2)
        ended = run.end(60)
        self.assertEqual(130, ended.status, ended)
        self.assertIn("cancelled while parts of the slice were run by themselves", ended.out)
        self.assertEqual(0, self.lab.count("suspects-named"))
        self.nothing_is_left()


if __name__ == "__main__":
    unittest.main()
