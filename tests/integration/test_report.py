"""The report of one real run, read by what others read such files with: JUnit XML by junitparser."""
import collections
import json
import pathlib
import re
import unittest

import lab
import report_readers
import test_page

LIMITS = {"stop": "200ms", "cascade": "1s", "retries": 1, "retry_wait": "200ms"}
TRANSIENT = "socket.gaierror: [Errno -3] Temporary failure in name resolution"
FILES = ("junit.xml", "receipt.json", "report.html", "report.md", "trace.perfetto.json")


class Trace:
    """A trace as a viewer has it: events in the order of time, those of one time as they stand."""

    def __init__(self, path):
        self.all = json.loads(path.read_text())
        self.events = sorted((event for event in self.all if event["ph"] != "M"), key=lambda event: event["ts"])
        self.processes, self.threads = {}, {}
        for event in self.all:
            if event["name"] == "process_name":
                self.processes[event["pid"]] = event["args"]["name"]
            if event["name"] == "thread_name":
                self.threads[event["pid"], event["tid"]] = event["args"]["name"]

    def track(self, event):
        return self.threads[event["pid"], event["tid"]]

    def paths(self):
        return {(self.processes[pid], name) for (pid, _), name in self.threads.items()}

    def slices(self):
        """(name of the thread, name, arguments, ms) of every slice; on a thread none begins before the one before it has ended."""
        ended, free = [], collections.defaultdict(int)
        for event in self.events:
            if event["ph"] == "X":
                assert event["ts"] >= free[event["tid"]] and event["dur"] >= 0, event
                free[event["tid"]] = event["ts"] + event["dur"]
                ended.append((self.track(event), event["name"], event["args"], event["dur"] // 1000))
        return ended

    def attempts(self):
        """(host, rung, attempt) -> (outcome, ms)"""
        return {(track, notes["rung"], notes["attempt"]): (notes["outcome"], spent_ms)
                for track, _, notes, spent_ms in self.slices() if "outcome" in notes}

    def phases(self):
        """(host, rung, attempt) -> {phase: (ms, host that was last to that gate, or None)}"""
        found = collections.defaultdict(dict)
        for track, name, notes, spent_ms in self.slices():
            host, _, kind = track.partition(" ")
            if kind == "phases":
                found[host, notes["rung"], notes["attempt"]][name] = (spent_ms, notes.get("last"))
        return found

    def flows(self):
        """[(host of the cause, host of the cascade)] of every flow."""
        begun, ended = {}, []
        for event in self.events:
            if event["ph"] == "s":
                assert event["id"] not in begun
                begun[event["id"]] = self.track(event)
            if event["ph"] == "f":
                ended.append((event["id"], self.track(event)))
        assert sorted(begun) == sorted(flow for flow, _ in ended)
        return [(begun[flow], host) for flow, host in ended]

    def check_events(self):
        """What https://github.com/google/perfetto's importer of JSON asks of an event: what it does not understand it leaves out."""
        members = {"M": {"args"}, "X": {"dur", "args"}, "i": {"s", "args"}, "s": {"cat", "id", "bp"}, "f": {"cat", "id", "bp"}, "C": {"args"}}
        for event in self.all:
            assert set(event) == {"ph", "pid", "tid", "ts", "name"} | members[event["ph"]], event
            assert event["pid"] > 0 and event["tid"] > 0 and event["name"] and event["pid"] in self.processes, event
            assert event["ph"] == "M" or (event["pid"], event["tid"]) in self.threads, event
            assert event.get("s", "t") == "t" and event.get("bp", "e") == "e", event
        assert len({tid for _, tid in self.threads}) == len(self.threads), "a thread belongs to one process"

    def check_flows(self):
        """Each begins and ends at an instant on its track, which a viewer binds it to, while its host is in an attempt, and never ends before it begins."""
        begun, last = {}, {}
        spans = collections.defaultdict(list)
        for event in self.events:
            if event["ph"] == "X":
                spans[event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
        for event in self.all:
            if event["ph"] in "sf":
                instant = last[event["tid"]]
                assert (instant["ph"], instant["ts"]) == ("i", event["ts"]), (instant, event)
                assert any(first <= event["ts"] <= until for first, until in spans[event["tid"]]), event
                begun.setdefault(event["id"], event["ts"])
                assert begun[event["id"]] <= event["ts"]
            else:
                last[event["tid"]] = event

    def counter(self, name):
        return [(event["ts"] // 1000, event["args"]["hosts"]) for event in self.events if event["ph"] == "C" and event["name"] == name]


setUpModule, tearDownModule = test_page.setUpModule, test_page.tearDownModule


class Report(test_page.Pages):
    """One run for all of it: a retry, a cause with cascades, a rung that is blocked because of it, one that passes."""

    def rungs_of_run(self):
        mates = {"scope": "slice", "args": {"host": "h2"}}
        return [self.lab.rung("try", "transient.py", args={"host": "h1", "text": TRANSIENT}),
                self.lab.rung("meet", "transient.py", scope="slice", args={"host": "h1", "text": "", "times": 0}),
                self.lab.rung("together", "falls_in_slice.py", **mates),
                self.lab.rung("falls", "fail_on.py", args={"host": "h3"}),
                self.lab.rung("blocked", "falls_in_slice.py", **mates),
                {"id": "high", "command": ["true"]}]

    def report(self, *words, files=FILES):
        path = self.lab.files / "report"
        self.passes(self.lab.sliceup("report", *words, "-o", str(path)))
        self.assertEqual(sorted(files), sorted((file.name for file in path.iterdir())))
        return path

    def test_what_others_read_is_what_the_receipt_says(self):
        slice_file = self.lab.slice(hosts=4, ladder=str(self.lab.ladder("ladder.yaml", self.rungs_of_run())), limits=LIMITS,
                                    mesh={"data": 2, "model": 4})
        ended = self.lab.sliceup("run", slice_file, "--keep-going")
        self.assertEqual(1, ended.status, ended)
        receipt, folder = self.lab.receipt(), self.report()
        self.assertEqual({"try": "passed", "meet": "passed", "together": "failed", "falls": "failed", "blocked": "blocked", "high": "passed"},
                         {rung["rung"]: rung["outcome"] for rung in receipt["ladder"]})
        self.counts_are_the_receipts(receipt, folder)
        trace = Trace(folder / "trace.perfetto.json")
        trace.check_events()
        trace.check_flows()
        self.tracks_are_mesh_then_host(receipt, trace)
        self.slices_sum_to_the_receipts_durations(receipt, trace)
        self.each_cascade_has_one_flow_from_its_cause(receipt, trace)
        self.who_was_last_at_a_gate_waited_least(receipt, trace)
        self.assertEqual([1, 2, 3, 4], [n for _, n in trace.counter("joined")])
        at_gate = [n for _, n in trace.counter("at a gate")]
        self.assertEqual((0, True), (at_gate[-1], 1 <= max(at_gate) <= 4))
        self.assertEqual((self.lab.run_folder() / "receipt.json").read_bytes(), (folder / "receipt.json").read_bytes())
        self.assertEqual(self.lab.sliceup("receipt", "--markdown").out, (folder / "report.md").read_text())
        self.assertEqual((folder / "junit.xml").read_text(), self.lab.sliceup("report", "--print", "junit").out)
        self.page_opens_from_disk(receipt, folder / "report.html")
        self.page_has_the_receipt(folder / "report.html")
        self.same_journal_same_bytes(folder)

    # ---- JUnit ----

    def counts_are_the_receipts(self, receipt, folder):
        junitparser = report_readers.load()
        suites = list(junitparser.JUnitXml.fromfile(str(folder / "junit.xml")))
        self.assertEqual(1, len(suites))
        cases, kinds = list(suites[0]), {"failure": 0, "error": 0, "skipped": 0}
        counts = collections.defaultdict(lambda: collections.defaultdict(int))
        for case in cases:
            notes = {note.name: note.value for note in case.child(junitparser.Properties)}
            counts[case.name.partition(":")[0]][notes["outcome"]] += int(notes["hosts_n"])
            if "passed_n" in notes:
                counts[case.name]["passed"] += int(notes["passed_n"])
            self.assertLessEqual(len(case.result), 1)
            for result in case.result:
                kinds[result._tag] += 1
        for rung in receipt["ladder"]:
            told = {outcome: len(self.unfold_hosts(folded)) for outcome, folded in rung["hosts_by_outcome"].items()}
            self.assertEqual(told, dict(counts[rung["rung"]]), rung["rung"])
        self.assertEqual((len(cases), kinds["failure"], kinds["error"], kinds["skipped"]),
                         (suites[0].tests, suites[0].failures, suites[0].errors, suites[0].skipped))
        self.assertEqual({"failure": 2, "error": 1, "skipped": 3}, kinds)
        named = {case.name: case for case in cases}
        self.assertIn("aborted because h2 failed", named["together: h[0-1,3] cascade"].result[0].message)
        self.assertIn("h2 failed: ", named["together"].result[0].message)
        self.assertIn("<flakyFailure message=\"h1 failed: ", (folder / "junit.xml").read_text())
        self.assertAlmostEqual(sum(rung["duration_ms"] for rung in receipt["ladder"]), suites[0].time * 1000, delta=0.5)

    def unfold_hosts(self, folded):
        return self.passes(self.lab.sliceup("hosts", folded, "-e")).out.split()

    # ---- the trace ----

    def tracks_are_mesh_then_host(self, receipt, trace):
        paths = trace.paths()
        for rank, host in enumerate(receipt["headers"][0]["hosts"]):
            self.assertIn((f"data={rank // 2}", host), paths)

    def attempts_of(self, receipt):
        return [((host["host"], rung["rung"], rung["attempt"] or 0), rung) for host in receipt["hosts"] for rung in host["rungs"]]

    def slices_sum_to_the_receipts_durations(self, receipt, trace):
        told = self.attempts_of(receipt)
        self.assertEqual({place: (rung["outcome"], rung["duration_ms"] or 0) for place, rung in told}, trace.attempts())
        self.assertEqual({place: rung["phases"] for place, rung in told if rung["phases"]},
                         {place: {phase: spent_ms for phase, (spent_ms, _) in phases.items()} for place, phases in trace.phases().items()})

    def each_cascade_has_one_flow_from_its_cause(self, receipt, trace):
        cascades = [host["host"] for host in receipt["hosts"] for rung in host["rungs"] if rung["outcome"] == "cascade"]
        self.assertEqual(["h0", "h1", "h3"], cascades)
        self.assertEqual([("h2", host) for host in cascades], sorted(trace.flows()))

    def who_was_last_at_a_gate_waited_least(self, receipt, trace):
        waits, last = collections.defaultdict(dict), collections.defaultdict(set)
        for (host, rung, _), of in self.attempts_of(receipt):
            for phase, spent_ms in of["phases"].items():
                if phase.startswith("gate:"):
                    waits[rung, phase][host] = spent_ms
        for (host, rung, _), phases in trace.phases().items():
            for phase, (_, named) in phases.items():
                if named:
                    last[rung, phase].add(named)
        self.assertIn("meet", {rung for rung, _ in last})
        for place, named in last.items():
            self.assertEqual(1, len(named), place)
            self.assertEqual(min(waits[place].values()), waits[place][named.pop()], place)

    # ---- the page

    def page_opens_from_disk(self, receipt, path):
        """Its policy lets its own script and style through, and nothing else."""
        self.open(path.as_uri())
        self.unfold("table-part")
        for rung in receipt["ladder"]:
            shown = collections.Counter(self.hosts_at(rung["rung"]).values())
            self.assertEqual({outcome: len(self.unfold_hosts(folded)) for outcome, folded in rung["hosts_by_outcome"].items()},
                             {word.replace(" ", "-"): n for word, n in shown.items()}, rung["rung"])
        whole = receipt["headers"][0]["sentence"]
        self.assertEqual((whole, whole.removeprefix("slice slice: ")), (self.by_id("sentence").get_attribute("title"), self.text("sentence")))
        told = rf"{receipt['ladder'][0]['rung']}(: median)? \d"     # as a figure, or in the line of those in which no host stands out
        self.until(lambda: re.search(told, self.text("numbers")), "how long the first rung took the hosts")
        self.assertIn("aborted because h2 failed", self.text("groups"))
        self.assertIn("gate:rendezvous", self.opened_host())
        self.picture("report")
        self.assertEqual([], self.complaints())
        self.assertTrue(self.browser.execute_script("const one = document.createElement('script'); try { one.textContent = 'window.owned = 1'; } "
                                                    "catch (refused) { } document.body.append(one); return window.owned === undefined;"))
        self.assertRegex(path.read_text(), r"default-src 'none'; img-src data:; script-src 'sha256-[\w+/]{43}='; style-src 'sha256-[\w+/]{43}='; base-uri 'none'")
        short = self.lab.files / "short.html"  # as of a slice of which this host does not stand out
        text = path.read_text()
        self.assertIn('<p id="left-out" hidden></p>', text)
        short.write_text(text[:text.rindex(',"hosts":[') + 10] + text[text.index("]}</script>"):])
        self.open(short.as_uri())
        words = self.opened_host()
        self.assertIn("try", words)
        self.assertNotIn("gate:rendezvous", words)

    def page_has_the_receipt(self, path):
        """Its head by lines, and all of it as text: as `sliceup receipt` prints it."""
        data = json.loads(path.read_text().partition(' id="sliceup-data">')[2].partition("</script>")[0])
        text = self.lab.sliceup("receipt").out
        self.assertEqual(text, data["text"])
        head = {label: said for label, said in data["head"] if label}
        for label in ("slice", "run by", "command", "launch", "folders", "result", "frontier", "cache", "policy"):
            self.assertIn(f"{label:9}{head[label]}\n", text)

    def opened_host(self):
        self.press("n", test_page.Keys.ENTER)
        self.until(lambda: "try" in self.text("host"), "the host")
        return self.text("host")

    # ---- the folder ----

    def same_journal_same_bytes(self, folder):
        before = {file.name: file.read_bytes() for file in folder.iterdir()}
        (folder / "of-the-user.txt").write_text("stays")
        self.passes(self.lab.sliceup("report", "-o", str(folder)))
        self.assertEqual("stays", (folder / "of-the-user.txt").read_text())
        (folder / "of-the-user.txt").unlink()
        self.assertEqual(before, {file.name: file.read_bytes() for file in folder.iterdir()})
        other = self.lab.files / "of-somebody"
        other.mkdir()
        (other / "notes.txt").write_text("mine")
        refused = self.lab.sliceup("report", "-o", str(other))
        self.assertEqual(2, refused.status, refused)
        self.assertIn("holds other files and no report; name a new folder", refused.err)
        self.assertEqual(["notes.txt"], [file.name for file in other.iterdir()])
        named = pathlib.Path(f"sliceup-report-{self.lab.run_folder().name[:8]}")  # in the working directory
        (self.lab.root / named).mkdir()
        (self.lab.root / named / "notes.txt").write_text("mine")
        self.assertEqual(2, self.lab.sliceup("report", cwd=self.lab.root).status)
        (self.lab.root / named / "notes.txt").unlink()
        told = self.passes(self.lab.sliceup("report", cwd=self.lab.root))
        self.assertTrue(told.out.endswith(f": {named}\n"), told)
        self.assertEqual(before, {file.name: file.read_bytes() for file in (self.lab.root / named).iterdir()})

    def test_a_run_that_has_not_ended_has_a_report_that_says_so(self):
        slow = self.lab.rung("low", "slow.py", args={"seconds": 30})
        run = self.lab.start("run", self.lab.slice(hosts=2, ladder=str(self.lab.ladder("ladder.yaml", [slow]))))
        lab.wait_for(lambda: self.lab.count("pass-began") == 1, "the pass")
        folder = self.lab.files / "report"
        for state in "running", "interrupted":
            told = self.passes(self.lab.sliceup("report", "-o", str(folder)))
            self.assertIn(f"({state}): {folder}", told.out)
            self.assertIn('<property name="state" value="not ended"/>', (folder / "junit.xml").read_text())
            self.assertIn('<skipped message="running"', (folder / "junit.xml").read_text())
            trace = Trace(folder / "trace.perfetto.json")
            self.assertEqual({("h0", "low", 1), ("h1", "low", 1)}, set(trace.attempts()))
            self.assertIn("not ended", trace.processes[1])
            self.open((folder / "report.html").as_uri())
            self.assertEqual(state, self.text("state"))
            if state == "running":
                run.kill_and_reap()
        before = {file.name: file.read_bytes() for file in folder.iterdir()}
        for file in self.lab.run_folder().glob("journal.db*"):
            file.write_bytes(b"no journal" + file.read_bytes()[10:])
        damaged = self.lab.sliceup("report", "-o", str(folder))
        self.assertEqual(5, damaged.status, damaged)
        self.assertEqual(before, {file.name: file.read_bytes() for file in folder.iterdir()})


if __name__ == "__main__":
    unittest.main()
