"""What passes by itself is run again within one budget, and told; everything else is not."""
import unittest

import lab

LIMITS = {"stop": "200ms", "cascade": "2s", "retries": 1, "retry_wait": "500ms"}
# What getaddrinfo says when its server does not answer (EAI_AGAIN), and when there is no such host (EAI_NONAME).
TRANSIENT = "socket.gaierror: [Errno -3] Temporary failure in name resolution"
LASTING = "socket.gaierror: [Errno -2] Name or service not known"


class Retry(lab.LabTest):
    def setUp(self):
        super().setUp()
        self.marks = self.lab.files / "marks"

    def slice(self, hosts=3, limits=None, scope="host", **args):
        args = {"host": "h1", "text": TRANSIENT, "file": str(self.marks), **args}
        ladder = self.lab.ladder("ladder.yaml", [self.lab.rung("try", "transient.py", scope=scope, args=args),
                                                 self.lab.rung("last", "marks.py", args={"file": str(self.lab.files / "last")})])
        return self.lab.slice(hosts=hosts, ladder=str(ladder), limits={**LIMITS, **(limits or {})})

    def marked(self):
        """attempt -> hosts that began it."""
        attempts = {}
        for line in self.marks.read_text().splitlines() if self.marks.exists() else []:
            host, _, _, attempt = line.split()
            attempts.setdefault(int(attempt), []).append(host)
        return {attempt: sorted(hosts) for attempt, hosts in attempts.items()}

    def attempts(self, receipt, host):
        """[(attempt, outcome, purpose)] of a host at the rung."""
        hosts = {entry["host"]: entry for entry in receipt["hosts"]}
        return [(r["attempt"], r["outcome"], r["purpose"]) for r in hosts[host]["rungs"] if r["rung"] == "try"]

    def recovered(self, ended, hosts):
        """Passed at the second attempt, and nowhere like a clean pass."""
        self.assertEqual(0, ended.status, ended)
        self.assertIn("rung try passed after 1 retry (name-resolution on h1)", ended.out)
        receipt = self.lab.receipt()
        self.assertEqual("passed", receipt["outcome"])
        self.assertEqual(1, self.lab.count("retry-planned"))
        everybody = [f"h{host}" for host in range(hosts)]
        self.assertEqual({1: everybody, 2: everybody}, self.marked())
        self.assertEqual([(1, "failed", "climb"), (2, "passed", "retry")], self.attempts(receipt, "h1"))
        attempt = self.attempt(receipt, "h1", "try")
        self.assertEqual(1, len(attempt["recovered"]), attempt)
        for words in ("once attempt 1 failed", "run again after ", "name-resolution on h1"):
            self.assertIn(words, attempt["recovered"][0])
        told = [item["what"] for item in receipt["recoveries"] if "run again" in item["what"]]
        self.assertEqual(1, len(told), receipt["recoveries"])
        self.nothing_is_left()
        return receipt

    def test_a_transient_failure_is_run_again_and_told(self):
        run = self.lab.start("run", self.slice(limits={"retry_wait": "3s"}))
        lab.wait_for(lambda: self.lab.count("retry-planned") == 1, "the retry to be planned", 60)
        status = self.lab.status()
        if status["retry"]: # it may have begun by now
            self.assertEqual(("try", 1, 1, 1), tuple(status["retry"][key] for key in ("rung", "fell_attempt", "retry", "of")))
            self.assertEqual("name-resolution on h1", status["retry"]["why"])
        self.recovered(run.end(), 3)
        self.assertEqual(1, self.lab.status()["retries"])
        self.assertIn("run again", self.lab.sliceup("receipt", "last").out)

    def test_a_mismatch_is_never_run_again(self):
        ended = self.lab.sliceup("run", self.slice(text=LASTING))
        self.assertEqual(1, ended.status, ended)
        self.assertEqual(0, self.lab.count("retry-planned"))
        self.assertEqual([1], sorted(self.marked()))
        self.assertIn("h1 failed", ended.out)
        self.assertNotIn("retry", ended.out)

    def test_a_budget_that_is_spent_ends_the_climb(self):
        ended = self.lab.sliceup("run", self.slice(times=5, limits={"retries": 2}))
        self.assertEqual(1, ended.status, ended)
        self.assertEqual([1, 2, 3], sorted(self.marked()))
        self.assertEqual(2, self.lab.count("retry-planned"))
        self.assertIn("after 2 retries (name-resolution on h1)", ended.out)
        self.assertFalse((self.lab.files / "last").exists())
        receipt = self.lab.receipt()
        self.assertEqual("failed", receipt["outcome"])
        self.assertEqual(2, len(self.attempt(receipt, "h1", "try")["recovered"]))

    def test_no_budget_is_no_retry(self):
        ended = self.lab.sliceup("run", self.slice(limits={"retries": 0}))
        self.assertEqual(1, ended.status, ended)
        self.assertEqual([1], sorted(self.marked()))

    def test_one_that_aborts_and_seven_that_follow_touch_one_budget(self):
        ended = self.lab.sliceup("run", self.slice(hosts=8, scope="slice"))
        receipt = self.recovered(ended, 8)
        first = {host["host"]: next(r for r in host["rungs"] if r["rung"] == "try" and r["attempt"] == 1)
                 for host in receipt["hosts"]}
        self.assertEqual(["h1"], [host for host, rung in first.items() if rung["outcome"] == "failed"])
        self.assertEqual(7, sum(rung["outcome"] == "cascade" for rung in first.values()), first)
        self.assertEqual({"aborted because h1 failed"}, {r["cause"]["text"] for h, r in first.items() if h != "h1"})

    def test_a_coordinator_that_dies_while_it_waits_neither_loses_nor_doubles_the_budget(self):
        run = self.lab.start("run", self.slice(limits={"retry_wait": "4s"}))
        for epoch in (1, 2):
            lab.wait_for(lambda: self.lab.count("epoch-began") == epoch and self.lab.count("retry-planned") == 1,
                         "the retry to be planned", 60)
            self.assertEqual(1, self.lab.count("pass-ended"))
            run.kill_and_reap()
            run = self.lab.start("resume")
        self.recovered(run.end(), 3)
        self.assertEqual(3, self.lab.count("epoch-began"))


if __name__ == "__main__":
    unittest.main()
