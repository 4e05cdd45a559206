"""A run while it runs: each failure stands in every view while others still run, folded by its error line, beside what really happened;
who is waited for shows its last line; and nothing is said to have passed before it has."""
import json
import re
import time
import unittest

import lab

HOSTS = 64
# Each host does what its number says, and notes when.
PROGRAM = r"""
host=$(pwd); host=${host#*/hosts/}; host=${host%%/*}; n=${host#h}
end() { date +%s.%N > "$TRUTH/$host.part"; mv "$TRUTH/$host.part" "$TRUTH/$host"; exit "$1"; }
case $n in
[0-4]) sleep 2; echo "Traceback (most recent call last):" >&2; echo "RuntimeError: no chip at 0x7f$n of pid $$" >&2; end 1;;
[5-8]) sleep 4; echo "fatal: license server 10.0.0.$n did not answer"; end 2;;
9|1[01]) sleep 5; echo "OSError: [Errno 28] No space left on device" >&2; end 1;;
62|63) echo "loading shard $n of 64"; sleep 600;;
*) sleep 3; echo fine; end 0;;
esac
"""
WAYS = {frozenset(range(5)): "RuntimeError: no chip at 0x7f", frozenset(range(5, 9)): "fatal: license server 10.0.0.",
        frozenset(range(9, 12)): "OSError: [Errno 28] No space left on device"}
FAILED = frozenset().union(*WAYS)
HANG = frozenset((62, 63))


def numbers(folded):
    """The numbers of hosts in a folded set: h[0-2,5] -> {0, 1, 2, 5}."""
    found = set()
    for piece in re.sub(r"[h\[\]]", "", folded).split(","):
        first, _, last = piece.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


class Timed(list):
    def __init__(self, lines):
        super().__init__(lines)
        self.at = [time.time() for _ in self]

    def append(self, line):
        self.at.append(time.time())
        super().append(line)


class Lines:
    """When a background command printed what."""

    def __init__(self, background):
        self.background = background
        self.lines = background.collected = Timed(background.collected)

    def told(self):
        """host -> (when, line) of the first line that says that it failed."""
        first = {}
        for when, line in zip(self.lines.at, list(self.lines)):
            said = re.search(r"\] work: (h\S+)(?: \(\d+ hosts\))? failed: (.*) so far(?:; next: .*)?\n", line)
            for host in numbers(said[1]) if said else ():
                first.setdefault(host, (when, said[2]))
        return first


class Live(lab.LabTest):
    WITHIN_S = None  # of tests/campaign/live. Here: before the hosts that hang are ended

    def start_run(self, timeout="16s"):
        truth = self.lab.files / "truth"
        truth.mkdir()
        rung = {"id": "work", "command": ["sh", "-c", f"TRUTH={truth}\n{PROGRAM}"], "timeout": timeout}
        profile = self.lab.slice(hosts=HOSTS, ladder=str(self.lab.ladder("ladder.yaml", [rung])))
        run = self.lab.start("run", profile, "--plain")
        run.wait_out("began on")
        return run, truth

    def ended_at(self, truth):
        return {int(path.name[1:]): float(path.read_text()) for path in truth.glob("h*") if path.suffix != ".part"}

    def look_at_status(self):
        """status: host -> (when, line); until all that fail have been seen there, or long after they should have."""
        status, end = {}, time.time() + 20
        while time.time() < end and not FAILED <= status.keys():
            state = self.lab.status()
            now = time.time()
            for failure in state["rungs"][0]["passes"][0]["failures"]:
                self.assertTrue(failure["preliminary"], failure)
                for host in numbers(failure["hosts"]):
                    status.setdefault(host, (now, failure["line"]))
        return status, state

    def assert_in_time(self, view, told, truth):
        ended = self.ended_at(truth)
        self.assertEqual(FAILED, told.keys(), view)
        late = {host: round(told[host][0] - ended[host], 2) for host in FAILED}
        print(f"{view}: the latest after {max(late.values())} s", flush=True)
        if self.WITHIN_S:
            self.assertLessEqual(max(late.values()), self.WITHIN_S, (view, late))
        for hosts, line in WAYS.items():
            for host in hosts:
                self.assertIn(line, told[host][1], (view, host))

    def test_failures_stand_in_every_view_when_they_happen(self):
        run, truth = self.start_run()
        lines, watch = Lines(run), Lines(self.lab.start("watch", "--plain"))
        status, state = self.look_at_status()
        self.assert_in_time("status --json", status, truth)
        lab.wait_for(lambda: FAILED <= lines.told().keys() and FAILED <= watch.told().keys(), "the failures in the lines", 10)
        self.assert_in_time("run", lines.told(), truth)
        self.assert_in_time("watch", watch.told(), truth)
        self.assertEqual(0, self.lab.count("pass-ended"), "it was told only when all had ended")
        self.folded(state)
        told = [line for line in lines.lines if re.search(r" so far(; next: .*)?\n$", line)]
        for line in told:
            self.assertEqual("whose: the host (certain" in line, "; next: " in line, line)
        self.assertLessEqual(len(told), 3 * len(WAYS), told)
        self.waited_for()
        self.explained()
        self.assertEqual(1, run.end().status)
        self.assertEqual(1, watch.background.end().status)
        self.judged(run.out)

    def folded(self, state):
        failures = state["rungs"][0]["passes"][0]["failures"]
        self.assertEqual(set(WAYS), {numbers(failure["hosts"]) for failure in failures})
        owners = {failure["signature"]: (failure["owner"], failure["certainty"]) for failure in failures}
        self.assertEqual({"disk-full": ("host", "known"), None: ("unknown", "unknown")}, owners)

    def waited_for(self):
        def quiet():
            return next((group for group in self.lab.status()["quiet"] if group["quiet_ms"] > 5000), None)
        group = lab.wait_for(quiet, "the hosts that hang to be quiet for 5 s", 15)
        self.assertEqual(HANG, numbers(group["hosts"]))
        self.assertRegex(group["line"], r"loading shard 6[23] of 64")
        def slow():
            return [numbers(group["hosts"]) for group in self.lab.status()["slow"]]
        lab.wait_for(lambda: slow() == [HANG], "the hosts that hang, and no others, to stand out", 10)
        shown = self.lab.sliceup("status").out
        self.assertRegex(shown, r"h\[62-63\] printed nothing for \d+ s since: loading shard 6\d of 64")
        self.assertRegex(shown, r"h\[62-63\] in phase run for \d+ s, clearly longer than the others: median")

    def explained(self):
        explained = json.loads(self.lab.sliceup("explain", "--json").out)
        self.assertTrue(explained["preliminary"])
        self.assertEqual([], explained["passed"])
        self.assertEqual(HANG, {int(host[1:]) for host in explained["running"]})
        self.assertEqual(set(range(HOSTS)) - FAILED - HANG, {int(host[1:]) for host in explained["ended"]})
        self.assertEqual(FAILED, {int(host[1:]) for cause in explained["causes"] for host in cause["hosts"]})
        self.assertEqual(["end"], [step["id"] for step in explained["steps"]])
        suspect = [host for answer in explained["steps"][0]["answers"] if answer["mark"] == "suspect" for host in answer["hosts"]]
        self.assertEqual(FAILED, {int(host[1:]) for host in suspect})
        receipt = json.loads(self.lab.sliceup("receipt", "--json").out)
        self.assertIsNone(receipt["outcome"])
        self.assertNotIn("passed", {attempt["outcome"] for host in receipt["hosts"] for attempt in host["rungs"]} |
                         {host["outcome"] for host in receipt["hosts"]})
        self.assertEqual("work", receipt["headers"][0]["running"])
        self.assertNotIn("passed  ", self.lab.sliceup("receipt").out)
        for view in ("receipt", "explain"):
            shown = self.lab.sliceup(view, "--markdown").out
            self.assertIn("### Whose fault, so far, in rung work", shown, view)
            self.assertRegex(shown, r"failed, not judged yet; whose: the host .*disk-full.* so far", view)
            self.assertIn("had not ended this rung", shown, view)
            self.assertIn("ended without an error of their own; not judged yet", shown, view)

    def judged(self, out):
        self.assertIn("work: 50 passed, 12 failed, 2 timed-out in ", out)
        self.assertNotIn("corrected", out)
        failures = self.lab.status()["rungs"][0]["passes"][0]["failures"]
        self.assertEqual({*WAYS, HANG}, {numbers(failure["hosts"]) for failure in failures})
        self.assertFalse(any(failure["preliminary"] for failure in failures))


class Correction(lab.LabTest):
    def test_a_host_that_fell_with_another_is_corrected(self):
        seen = self.lab.files / "seen"
        rung = self.lab.rung("together", "falls.py", scope="slice", args={
            "host": "h5", "text": "OSError: [Errno 28] No space left on device: '/scratch'",
            "others": "the sum went wrong", "after": str(seen)})
        limits = {"stop": "200ms", "cascade": "6s", "retries": 0}
        ladder = self.lab.ladder("ladder.yaml", [rung])
        run = self.lab.start("run", self.lab.slice(hosts=8, ladder=str(ladder), limits=limits), "--plain")
        run.wait_out(r"h5 failed", 60)      # who falls first is reported first, however busy the machine is
        seen.touch()
        ended = run.end(60)
        self.assertEqual(1, ended.status, ended)
        status = self.lab.status()
        corrections = status["rungs"][0]["passes"][-1]["corrections"]
        self.assertEqual([("failed", "cascade")], [(one["from"], one["to"]) for one in corrections], ended)
        self.assertTrue(numbers(corrections[0]["hosts"]) <= frozenset(range(8)) - {5}, ended)


class Estimate(lab.LabTest):
    def test_the_time_left_comes_from_earlier_runs(self):
        rung = self.lab.rung("slow", "slow.py", args={"seconds": 3, "phases": ["run"]})
        plan = self.lab.slice(hosts=2, ladder=str(self.lab.ladder("ladder.yaml", [rung])))
        first = self.lab.start("run", plan, "--plain")
        first.wait_out("began on")
        self.assertIsNone(self.lab.status()["estimate"])
        self.assertEqual(0, first.end().status)
        second = self.lab.start("run", plan, "--plain")
        second.wait_out("began on")
        state = self.lab.status()
        self.assertEqual(1, state["estimate"]["runs"])
        self.assertGreaterEqual(state["estimate"]["usual_ms"], 3000)
        self.assertLessEqual(state["estimate"]["left_ms"], state["estimate"]["usual_ms"])
        self.assertTrue(any(re.match(r"about \d+ s left, from 1 earlier run, which took about 3", line)
                            for line in state["waiting"]), state["waiting"])
        self.assertEqual(0, second.end().status)


if __name__ == "__main__":
    unittest.main()
