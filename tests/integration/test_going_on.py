"""A climb that goes on without hosts or past failed rungs, one that stops sooner, and ladders of which a part is climbed."""
import json
import os
import re
import shlex
import signal
import unittest

import lab
import schema
from test_join import Joiners

LIMITS = {"stop": "200ms", "cascade": "1s"}


class GoingOn(lab.LabTest):
    def setUp(self):
        super().setUp()
        self.marks = self.lab.files / "marks"

    def marked(self):
        """(host, rung) of each program that ran."""
        lines = self.marks.read_text().splitlines() if self.marks.exists() else []
        return sorted(tuple(line.split()[:2]) for line in lines)

    def rung(self, name, seconds=0.2, **more):
        return self.lab.rung(name, "marks.py", args={"file": str(self.marks), "seconds": seconds}, **more)

    def fails_on(self, host):
        return self.lab.rung("falls", "fail_on.py", args={"host": host})

    def slice(self, rungs, hosts=3):
        return self.lab.slice(hosts=hosts, ladder=str(self.lab.ladder("ladder.yaml", rungs)), limits=LIMITS)

    def outcomes(self, receipt):
        return {rung["rung"]: rung["outcome"] for rung in receipt["ladder"]}

    def kill_worker(self, host, rung):
        """Once the rung's program runs on all hosts."""
        lab.wait_for(lambda: sum(1 for _, name in self.marked() if name == rung) >= 3, f"{rung} to run on all hosts")
        os.kill(self.lab.worker_pids()[host], signal.SIGKILL)


class Lost(GoingOn):
    LADDER = ("low", "middle", "high")

    def ladder(self):
        return [self.rung("low", 3), self.rung("middle", scope="slice"), self.rung("high")]

    def test_a_host_that_is_killed_in_a_rung_is_absent_from_then_on(self):
        run = self.lab.start("run", self.slice(self.ladder()), "--min-hosts", "2")
        self.kill_worker("h1", "low")
        ended = run.end(60)
        self.assertEqual(1, ended.status, ended)
        self.assertEqual([("h0", "high"), ("h0", "low"), ("h1", "low"), ("h2", "high"), ("h2", "low")], self.marked())
        receipt = self.lab.receipt()
        self.assertEqual({"low": "lost", "middle": "blocked", "high": "passed"}, self.outcomes(receipt))
        self.assertEqual([("low", "once", "lost")], self.rungs(receipt, "h1"))
        self.assertEqual([("low", "once", "passed"), ("middle", "once", "blocked"), ("high", "once", "passed")],
                         self.rungs(receipt, "h0"))
        self.assertIn("went on without h1", self.attempt(receipt, "h0", "middle")["cause"]["text"])
        self.assertIn("2 of 3 rungs passed on h[0,2]", ended.out)
        self.nothing_is_left()

    def test_without_it_the_run_ends_and_says_the_command(self):
        path = self.slice(self.ladder())
        run = self.lab.start("run", path, "--leave-out", "high", "--beside")
        self.kill_worker("h1", "low")
        ended = run.end(60)
        self.assertEqual(1, ended.status, ended)
        found = re.search(r"(?m)^    to go on with the 2 that are up: (.*)$", ended.out)
        words = shlex.split(found[1])
        self.assertEqual([str(lab.SLICEUP), "run", str(path), "--leave-out", "high", "--beside", "--min-hosts", "2"], words)
        self.passes(self.lab.sliceup("check", *words[2:]))

    def test_the_next_coordinator_keeps_the_policy_and_the_absence(self):
        run = self.lab.start("run", self.slice([self.rung("low", 3), self.rung("long", 4), self.rung("all", scope="slice")]),
                             "--min-hosts", "2")
        self.kill_worker("h1", "low")
        lab.wait_for(lambda: ("h2", "long") in self.marked(), "the next rung to run")
        run.kill_and_reap()
        ended = self.lab.sliceup("resume", bound_s=60)
        self.assertEqual(1, ended.status, ended)
        self.assertEqual([("h0", "long"), ("h0", "low"), ("h1", "low"), ("h2", "long"), ("h2", "low")], self.marked())
        self.assertEqual({"low": "lost", "long": "passed", "all": "blocked"}, self.outcomes(self.lab.receipt()))
        self.nothing_is_left()


class Absent(Joiners):
    def run_with_two(self, *words):
        """A worker serves one run."""
        for host in ("h0", "h2"):
            self.come(host)
        return self.lab.sliceup(*words)

    def groups(self):
        """What the page in the report has of causes, a list for each member."""
        page = (self.lab.root / "report" / "report.html").read_text()
        return json.loads(re.search(r'<script type="application/json" id="sliceup-data">(.*?)</script>', page, re.S)[1])["state"]["groups"]

    def logs_end_with_what_ran(self, rung):
        """A host without an attempt has no output, so `logs` shows that of all others."""
        shown = self.passes(self.lab.sliceup("logs"))
        self.assertNotIn("attempt 0", shown.out)
        self.assertIn(f"h[0,2], rung {rung}, once, attempt 1:\n", shown.out)

    def test_who_never_joins_is_told_and_the_command_goes_on_without_it(self):
        rungs = [{"id": "low", "builtin": "facts"}, {"id": "says", "command": ["echo", "here"]},
                 self.lab.rung("all", "plain/hello.py", scope="slice")]
        path = self.slice(3, rungs, limits={"join": "8s"})
        self.passes(self.issue(path))
        ended = self.run_with_two("run", path)
        self.assertEqual(3, ended.status, ended)
        command = shlex.split(re.search(r"(?m)^    to go on with the 2 that are up: (.*)$", ended.out)[1])
        told = next(rung for host in self.lab.receipt()["hosts"] if host["host"] == "h1" for rung in host["rungs"])
        self.assertRegex(told["cause"]["next"], r"^to go on with the 2 that are up: .* --min-hosts 2; ")
        self.passes(self.lab.sliceup("report", "-o", self.lab.root / "report"))
        self.assertIn("its worker did not join within 8 s", self.groups()["cause"])
        self.assertEqual(["--min-hosts", "2"], command[-2:])
        checked = self.passes(self.lab.sliceup("check", *command[2:]))
        self.assertIn("at least 2 of 3 hosts", checked.out)
        again = self.run_with_two(*command[1:])
        self.assertEqual(1, again.status, again)
        receipt = self.lab.receipt()
        self.assertEqual(("low", "says", "all"), tuple(receipt["frontier"][part] and receipt["frontier"][part]["rung"]
                                                       for part in ("first_passing", "highest_passing", "next_failing")))
        self.assertEqual({"low": "blocked", "says": "passed", "all": "blocked"}, {r["rung"]: r["outcome"] for r in receipt["ladder"]})
        self.assertEqual([("low", "once", "blocked")], self.rungs(receipt, "h1"))
        self.assertEqual([("low", "once", "passed"), ("says", "once", "passed"), ("all", "once", "blocked")], self.rungs(receipt, "h2"))
        self.assertIn("the climb goes on without h1: its worker did not join within 8 s", again.out)
        self.assertIn("no report of h1; among the others:", self.lab.sliceup("receipt").out)
        self.logs_end_with_what_ran("says")
        self.assertEqual("h1", schema.document(self.lab.sliceup("status", "--json").out)["rungs"][0]["absent"][0]["hosts"])
        fewer = self.run_with_two("run", path, "--min-hosts", "3")
        self.assertEqual(3, fewer.status, fewer)
        self.assertIn("to go on with the 2 that are up (--min-hosts asks for 3): ", fewer.out)


class KeepGoing(GoingOn):
    def test_a_host_that_failed_takes_no_further_part(self):
        rungs = [self.fails_on("h1"), self.rung("middle", scope="slice"), self.rung("high")]
        ended = self.lab.sliceup("run", self.slice(rungs), "--keep-going")
        self.assertEqual(1, ended.status, ended)
        self.assertEqual([("h0", "high"), ("h2", "high")], self.marked())
        receipt = self.lab.receipt()
        self.assertEqual({"falls": "failed", "middle": "blocked", "high": "passed"}, self.outcomes(receipt))
        self.assertIn("h1 failed", ended.out)
        self.assertIn("went on to the last rung: 2 of 3 rungs passed on h[0,2]", ended.out)
        self.nothing_is_left()

    def test_a_run_whose_last_rung_failed_is_not_listed_as_stopped(self):
        ended = self.lab.sliceup("run", self.slice([self.rung("low"), self.fails_on("h1")]), "--keep-going")
        self.assertIn("went on to the last rung", ended.out)
        listed = self.passes(self.lab.sliceup("runs")).out
        self.assertNotIn("stopped at", listed)
        self.assertIn("low (1 of 2)", listed)

    def test_a_slice_wide_rung_that_failed_is_left_behind(self):
        falls = {**self.fails_on("h1"), "scope": "slice"}
        ended = self.lab.sliceup("run", self.slice([falls, self.rung("middle", scope="slice"), self.rung("high")]),
                                 "--keep-going")
        self.assertEqual(1, ended.status, ended)
        self.assertEqual({"falls": "failed", "middle": "passed", "high": "passed"}, self.outcomes(self.lab.receipt()))

    def test_it_is_not_given_with_fail_fast(self):
        ended = self.lab.sliceup("check", self.slice([self.rung("low")]), "--keep-going", "--fail-fast")
        self.assertEqual(2, ended.status, ended)
        self.assertIn("--fail-fast and --keep-going exclude each other", ended.err)


class FailFast(GoingOn):
    def falls_on_one(self):
        script = 'case "$SLICEUP_HOST" in h1) exit 3 ;; *) exec sleep 50 ;; esac'
        return {"id": "falls", "command": ["sh", "-c", script], "timeout": "60s"}

    def test_the_others_are_stopped(self):
        ended = self.lab.sliceup("run", self.slice([self.falls_on_one()]), "--fail-fast")
        self.assertEqual(1, ended.status, ended)
        receipt = self.lab.receipt()
        self.assertEqual(["cancelled", "failed", "cancelled"],
                         [self.attempt(receipt, f"h{i}", "falls")["outcome"] for i in range(3)])
        self.assertIn("another host failed", self.attempt(receipt, "h0", "falls")["cause"]["text"])
        self.assertRegex(ended.out, r"(?m)^slice \S+: failed at rung falls \(1 of 1\)\n  h1 failed \(1 of 3\)\n    exited with status 3")
        self.assertNotRegex(ended.out, r"(?m)^slice .* cancelled: .*h1 failed")
        self.nothing_is_left()


class Parts(GoingOn):
    def ladder(self):
        return [{"id": "facts", "builtin": "facts"}, self.rung("low"), self.rung("middle"), self.rung("high")]

    def test_from_a_rung_on(self):
        ended = self.passes(self.lab.sliceup("run", self.slice(self.ladder(), 1), "--from", "middle"))
        self.assertEqual([("h0", "high"), ("h0", "middle")], self.marked())
        receipt = self.lab.receipt()
        self.assertEqual(["facts", "middle", "high"], [rung["rung"] for rung in receipt["ladder"]], ended)
        self.assertIn("left out", self.lab.sliceup("receipt").out)

    def test_only_some(self):
        path = self.slice(self.ladder(), 1)
        checked = self.passes(self.lab.sliceup("check", path, "--only", "high", "--only", "low"))
        self.assertIn("kept: facts, as what the hosts are is part of every receipt", checked.out)
        self.assertIn("left out: middle", checked.out)
        self.passes(self.lab.sliceup("run", path, "--only", "high", "--only=low"))
        self.assertEqual([("h0", "high"), ("h0", "low")], self.marked())

    def test_what_the_chosen_rungs_need_is_kept(self):
        path = lab.TOP / "configs" / "slices" / "local-jax.yaml"
        for words, kept, left in ((("--only", "dense"), {"host-facts", "environment", "cache"}, "ways, runtime-probe, tiny, adamw, collective"),
                                  (("--from", "runtime-probe", "--leave-out", "tiny"), {"host-facts", "ways", "environment", "cache"}, "tiny"),
                                  (("--only", "runtime-probe"), {"host-facts", "environment"}, "ways, cache, tiny, dense, adamw, collective"),
                                  (("--only", "environment"), {"host-facts"}, "ways, cache, runtime-probe, tiny, dense, adamw, collective"),
                                  (("--only", "cache"), {"host-facts"},
                                   "ways, environment, runtime-probe, tiny, dense, adamw, collective")):
            checked = self.passes(self.lab.sliceup("check", path, *words)).out
            self.assertEqual(kept, set(re.findall(r"^  kept: (\S+),", checked, re.M)), words)
            self.assertEqual(left, re.search(r"^  left out: (.*)", checked, re.M)[1], words)

    def test_names_are_those_of_the_ladder(self):
        path = self.slice(self.ladder(), 1)
        for words, said in ((("--from", "hihg"), "did you mean 'high'?"), (("--only", "lov"), "did you mean 'low'?"),
                            (("--only", "low", "--from", "high"), "--only and --from exclude each other"),
                            (("--only", "low", "--leave-out", "low"), "the rung 'low' is left out of this run")):
            ended = self.lab.sliceup("check", path, *words)
            self.assertEqual(2, ended.status, ended)
            self.assertIn(said, ended.err)


if __name__ == "__main__":
    unittest.main()
