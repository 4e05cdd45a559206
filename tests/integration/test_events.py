"""run --json, resume --json and watch --json: one documented event a line, the same for all, and the exit status last."""
import json
import re
import unittest

import lab
import schema

LIMITS = {"stop": "200ms", "cascade": "1s"}
PAGE = (lab.TOP / "docs" / "spec" / "events.md").read_text()
MEMBERS = {kind: set(words.split()) for kind, words in re.findall(r"(?m)^\| `([a-z-]+)` \| .* \| `([a-z_ ]+)` \|$", PAGE)}
OF_A_FACT = {"index", "at_ms", "wall_ms", "time"}


def events(text):
    """Every line, once it fits the schema and has just the members that the page names for its type."""
    found = [schema.document(line) for line in text.splitlines()]
    for event in found:
        members = set(event) - {"schema", "type"}
        wanted = MEMBERS[event["type"]] | (set() if event["type"] in ("remark", "exit") else OF_A_FACT)
        assert members == wanted, (event, members ^ wanted)
    return found


def kept(found):
    return [event for event in found if event.get("index")]


class Events(lab.LabTest):
    def slice(self, rungs, hosts=2):
        return self.lab.slice(hosts=hosts, ladder=str(self.lab.ladder("ladder.yaml", rungs)), limits=LIMITS)

    def failing(self):
        return self.slice([{"id": "first", "builtin": "facts", "timeout": "30s"}, self.lab.rung("exits", "exit3.py")])

    def test_whoever_watches_gets_the_same_events(self):
        ran = self.lab.sliceup("run", self.failing(), "--json")
        self.assertEqual((1, ""), (ran.status, ran.err), ran)
        watched = self.lab.sliceup("watch", "--json")
        self.assertEqual(1, watched.status, watched)
        found = events(ran.out)
        self.assertEqual(kept(found), kept(events(watched.out)))
        self.assertEqual(found[-1], events(watched.out)[-1])
        self.assertEqual(("exit", "failed", 1), tuple(found[-1][name] for name in ("type", "outcome", "exit_status")))
        self.assertEqual("run-ended", kept(found)[-1]["type"])
        self.assertEqual(self.lab.receipt()["headers"][0]["sentence"], found[-1]["sentence"])

    def test_causes_are_folded_and_hosts_are_named(self):
        found = events(self.lab.sliceup("run", self.failing(), "--json").out)
        passed, failed = (event for event in found if event["type"] == "pass-ended")
        self.assertEqual(("first", "passed", []), (passed["rung"], passed["outcome"], passed["groups"]))
        group, = failed["groups"]
        self.assertEqual((["h0", "h1"], "failed", "unknown", "unknown"),
                         (group["hosts"], group["outcome"], group["owner"], group["certainty"]))
        ended = [event for event in found if event["type"] == "attempt-ended"]
        self.assertEqual({"h0", "h1"}, {event["host"] for event in ended})
        for event in ended:
            failed = event["rung"] == "exits"
            self.assertEqual((True, "failed", "unknown", "unknown", None) if failed else (None,) * 5, self.so_far(event)[:5])

    def so_far(self, event):
        return tuple(event[name] for name in ("preliminary", "outcome", "owner", "certainty", "signature", "line"))

    def test_what_a_result_shows_is_told_when_the_attempt_ends(self):
        rung = {"id": "full", "command": ["sh", "-c", "echo 'OSError: [Errno 28] No space left on device' >&2; exit 1"], "timeout": "30s"}
        found = events(self.lab.sliceup("run", self.slice([rung], hosts=1), "--json").out)
        ended, = (event for event in found if event["type"] == "attempt-ended")
        self.assertEqual((True, "failed", "host", "known", "disk-full", "OSError: [Errno 28] No space left on device"), self.so_far(ended))

    def test_a_run_that_is_taken_over_goes_on_in_events(self):
        coordinator = self.lab.start("run", self.slice([self.lab.rung("low", "slow.py", args={"seconds": 2})]), "--json")
        lab.wait_for(lambda: self.lab.count("pass-began"), "the rung to begin")
        ended = coordinator.kill_and_reap()
        self.assertNotIn('"exit"', ended.out)
        resumed = self.lab.sliceup("resume", "--json")
        self.assertEqual(0, resumed.status, resumed)
        found = events(resumed.out)
        self.assertEqual(("exit", "passed", 0), tuple(found[-1][name] for name in ("type", "outcome", "exit_status")))
        epoch = [event for event in found if event["type"] == "epoch-began"][-1]
        self.assertEqual(2, epoch["epoch"])
        self.assertGreater(epoch["away_ms"], 0)

    def test_a_mistake_prints_no_event(self):
        ended = self.lab.sliceup("run", self.lab.files / "nothing.yaml", "--json")
        self.assertEqual((2, ""), (ended.status, ended.out), ended)

    def test_what_is_forgotten_is_told_as_json(self):
        self.assertEqual(0, self.lab.sliceup("run", self.slice([self.lab.rung("hello", "plain/hello.py")])).status)
        launch = schema.document(self.lab.sliceup("calibration", "--json").out)["launches"][0]
        for forgotten in (1, 0):
            ended = self.lab.sliceup("calibration", "--json", "--forget", launch["signature"])
            self.assertEqual((0 if forgotten else 1, forgotten), (ended.status, schema.document(ended.out)["forgotten"]), ended)

    def test_hosts_are_an_object_too(self):
        for words in (("h[0-3]",), ("h[0-3]", "--split", "2"), ("h[",)):
            schema.document(self.lab.sliceup("hosts", "--json", *words).out or json.dumps({"schema": "sliceup.hosts/1"}))


if __name__ == "__main__":
    unittest.main()
