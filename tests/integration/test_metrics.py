"""The series of a run: a real Prometheus scrapes sliceup serve and the file that node_exporter reads, promtool has nothing to say
about either, they say what the receipt says, and the alert rules fire on them."""
import collections
import http.client
import json
import pathlib
import re
import socket
import subprocess
import time
import unittest
import urllib.parse

import lab
import yaml
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_file

DEPLOY = lab.TOP / "deploy/prometheus"
PAGE = (lab.TOP / "docs/spec/metrics.md").read_text()
SERIES_MAX = 400
# What may differ between the two ways: when they were made, and what only one of them knows.
OWN = re.compile(r"sliceup_(metrics_timestamp|run_duration|run_progress|queue_length|pass_duration)")


def promtool(*words, text=None):
    done = subprocess.run(["promtool", *map(str, words)], input=text, capture_output=True, text=True, timeout=60)
    return lab.Ended(done.returncode, done.stdout, done.stderr)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ask(port, target):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", target)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


def samples(text, reader):
    """(name, labels) -> value"""
    found = {}
    for family in reader(text):
        for sample in family.samples:
            key = sample.name, tuple(sorted(sample.labels.items()))
            assert key not in found, key
            found[key] = sample.value
    return found


def value(found, name, **labels):
    return [number for (of, given), number in found.items() if of == name and labels.items() <= dict(given).items()]


class Rules(unittest.TestCase):
    def passes(self, ended):
        self.assertEqual(0, ended.status, ended)

    def test_rules_and_configuration_are_accepted(self):
        self.passes(promtool("check", "rules", DEPLOY / "sliceup.rules.yml"))
        self.passes(promtool("test", "rules", DEPLOY / "sliceup.rules.test.yml"))
        self.passes(promtool("check", "config", DEPLOY / "prometheus.example.yml"))

    def test_every_alert_is_tested_both_ways_and_knows_its_series(self):
        rules = [rule for group in yaml.safe_load((DEPLOY / "sliceup.rules.yml").read_text())["groups"] for rule in group["rules"]]
        fires = collections.defaultdict(set)
        for test in yaml.safe_load((DEPLOY / "sliceup.rules.test.yml").read_text())["tests"]:
            for case in test["alert_rule_test"]:
                fires[case["alertname"]].add(bool(case["exp_alerts"]))
        self.assertEqual({rule["alert"]: {True, False} for rule in rules}, fires)
        documented = set(re.findall(r"^\| `(sliceup_\w+)`", PAGE, re.M))
        self.assertGreater(len(documented), 40)
        for rule in rules:
            self.assertLessEqual(set(re.findall(r"sliceup_\w+", rule["expr"])), documented, rule)


class Files(lab.LabTest):
    def slow(self, seconds, **more):
        ladder = self.lab.ladder("ladder.yaml", [self.lab.rung("low", "slow.py", args={"seconds": seconds})])
        return self.lab.slice(ladder=str(ladder), **more)

    def small_disk(self):
        place = self.lab.root / "textfile"
        place.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=755", "none", str(place)], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", str(place)], check=True)
        return place

    @staticmethod
    def fill(path):
        with open(path, "wb", buffering=0) as filler:
            try:
                while filler.write(b"x" * 4096):
                    pass
            except OSError:
                return

    def test_a_full_disk_is_told_once_and_harms_nothing(self):
        place = self.small_disk()
        path = place / "slice.prom"
        run = self.lab.start("run", self.slow(5.5, hosts=1), "--plain", "--metrics", path)
        lab.wait_for(path.exists, "the file at the beginning", 30)
        self.fill(place / "filler")
        before = path.read_text()
        self.assertEqual(0o644, path.stat().st_mode & 0o777)
        run.wait_out("the metrics file gets old: .*No space left on device; the run goes on")
        self.assertEqual(before, path.read_text())
        (place / "filler").unlink()  # before the run ends, and writes it for the last time
        ended = self.passes(run.end())
        self.assertEqual(1, ended.out.count("the metrics file gets old"), ended)
        self.assertEqual(1, ended.out.count("the metrics file is written again"), ended)
        self.assertEqual([path], list(place.iterdir()))
        self.assertEqual([1.0], value(samples(path.read_text(), read_file), "sliceup_run_state", state="ended"))

    def test_what_would_not_be_read_is_refused(self):
        text = self.slow(0)
        for path, words in ((self.lab.root / "slice.txt", "expected FILE.prom"), (self.lab.root / "no/slice.prom", "No such file"),
                            (self.lab.root / "dir.prom", "no regular file")):
            (self.lab.root / "dir.prom").mkdir(exist_ok=True)
            ended = self.lab.sliceup("run", text, "--metrics", path)
            self.assertEqual(2, ended.status, ended)
            self.assertIn(words, ended.err)
            self.assertEqual([], list(self.lab.home.glob("runs/*/journal.db")))
        self.assertEqual(2, self.lab.sliceup("metrics", "-o", self.lab.root / "slice.txt").status)


class Scraped(lab.LabTest):
    """Prometheus asks twice a second."""

    def start_program(self, *words):
        log = open(self.lab.root / f"{pathlib.Path(words[0]).name}.log", "w")
        self.addCleanup(log.close)
        process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

        def end():
            process.kill()
            process.wait(20)
        self.addCleanup(end)

    def start_prometheus(self, **targets):
        port = free_port()
        jobs = [{"job_name": job, "static_configs": [{"targets": [f"127.0.0.1:{at}"]}]} for job, at in targets.items()]
        config = self.lab.write("prometheus.yml", json.dumps(
            {"global": {"scrape_interval": "500ms", "scrape_timeout": "500ms", "evaluation_interval": "500ms"},
             "rule_files": [str(DEPLOY / "sliceup.rules.yml")], "scrape_configs": jobs}))
        self.start_program("prometheus", f"--config.file={config}", f"--storage.tsdb.path={self.lab.root / 'tsdb'}",
                           f"--web.listen-address=127.0.0.1:{port}")
        return port

    def query(self, expression):
        """[(labels, value)]; [] also while nobody answers yet."""
        try:
            status, _, body = ask(self.prometheus, "/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
        except OSError:
            return []
        if status != 200:
            return []
        return [(found["metric"], float(found["value"][1])) for found in json.loads(body)["data"]["result"]]

    def wait_query(self, expression, bound_s=40):
        return lab.wait_for(lambda: self.query(expression), expression, bound_s)

    def start_web(self):
        process = subprocess.Popen([str(lab.SLICEUP), "serve", "last", "--listen", "127.0.0.1:0"], env=self.lab.env(),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)

        def end():
            process.terminate()
            process.communicate(timeout=20)
        self.addCleanup(end)
        return int(re.search(r":(\d+)/", process.stdout.readline())[1])

    def receipt_counts(self):
        """(rung, pass, outcome) -> hosts"""
        counts = collections.Counter()
        for host in self.lab.receipt()["hosts"]:
            last = {(rung["rung"], rung["pass"]): rung["outcome"] for rung in host["rungs"]}
            counts.update((rung, kind, outcome) for (rung, kind), outcome in last.items())
        return counts

    def scraped_counts(self, job):
        return {(labels["rung"], labels["pass"], labels["state"]): int(number)
                for labels, number in self.query(f'sliceup_rung_hosts{{job="{job}"}}')}

    def climb(self, path):
        """h2 is another machine, as it says; h1 fails the second rung at once, and the others wait for a file."""
        odd = {"host": "h2", "facts": ["dmi.product=v6e"], "odd_facts": ["dmi.product=v5p"], "phase": "run"}
        rungs = [self.lab.rung("low", "differs.py", args=odd), self.lab.rung("high", "fail_on.py", args={"host": "h1", "after": str(self.lab.root / "go on")})]
        text = self.lab.slice(hosts=4, ladder=str(self.lab.ladder("ladder.yaml", rungs)))
        run = self.lab.start("run", text, "--plain", "--metrics", path)
        lab.wait_for(path.exists, "the file at the beginning", 30)
        return run

    def test_prometheus_sees_what_the_receipt_says(self):
        folder = self.lab.root / "textfile"
        folder.mkdir()
        path, node = folder / "slice.prom", free_port()
        run = self.climb(path)
        web = self.start_web()
        self.start_program("prometheus-node-exporter", "--collector.disable-defaults", "--collector.textfile",
                           f"--collector.textfile.directory={folder}", f"--web.listen-address=127.0.0.1:{node}")
        self.prometheus = self.start_prometheus(web=web, node=node)

        # while it runs
        told = self.wait_query('ALERTS{alertname="SliceupRungFailing",alertstate="firing",job="web",rung="high"}')
        self.assertEqual("slice", told[0][0]["slice"])
        self.assertEqual({("h1", "high", "failed-so-far")}, {(found["host"], found["rung"], found["state"])
                         for found, _ in self.query('sliceup_failing_host{job="web"}')})
        (self.lab.root / "go on").touch()
        ended = run.end()
        self.assertEqual(1, ended.status, ended)

        # and at its end, by both ways
        for job in ("web", "node"):
            self.wait_query(f'sliceup_run_exit_status{{job="{job}"}} == 1')
            self.wait_query(f'ALERTS{{alertname="SliceupRunFailed",alertstate="firing",job="{job}"}}')
            self.assertEqual(self.receipt_counts(), self.scraped_counts(job))
            self.assertEqual([("h1", 1.0)], [(found["host"], n) for found, n in self.query(f'sliceup_failing_host{{job="{job}"}}')])
            self.wait_query(f'sliceup_drift_findings{{job="{job}"}} == {self.count_drift()}')
            self.wait_query(f'ALERTS{{alertname="SliceupHostsDiffer",alertstate="firing",job="{job}"}}')
        self.assertEqual([], self.query("node_textfile_scrape_error != 0"))
        self.assertEqual([], self.query(f"scrape_samples_scraped > {SERIES_MAX + 20}"))
        units = json.loads(ask(self.prometheus, "/api/v1/metadata?metric=sliceup_compile_seconds")[2])["data"]
        self.assertEqual(("counter", "seconds"), tuple(units["sliceup_compile_seconds"][0][key] for key in ("type", "unit")))
        self.same_numbers(path, web)

    def count_drift(self):
        return len([item for item in self.lab.receipt()["drift"] if item["verdict"] != "as-expected"])

    def same_numbers(self, path, web):
        status, headers, text = ask(web, "/metrics")
        self.assertEqual((200, "application/openmetrics-text; version=1.0.0; charset=utf-8"), (status, headers["Content-Type"]))
        of_web, of_file = samples(text, read_openmetrics), samples(path.read_text(), read_file)
        printed = self.passes(self.lab.sliceup("metrics")).out
        open_form = self.passes(self.lab.sliceup("metrics", "--openmetrics")).out
        for other in (of_file, samples(printed, read_file), samples(open_form, read_openmetrics)):
            same = [{key: number for key, number in found.items() if not OWN.match(key[0])} for found in (of_web, other)]
            self.assertEqual(*same)
        for written in (path.read_text(), printed):
            checked = promtool("check", "metrics", text=written)
            self.assertEqual((0, "", ""), (checked.status, checked.out, checked.err))
        attempts = [rung for host in self.lab.receipt()["hosts"] for rung in host["rungs"]]
        spent = sum(rung["phases"].get("run", 0) for rung in attempts) / 1000
        self.assertAlmostEqual(spent, *value(of_web, "sliceup_phase_duration_seconds_sum", phase="run"))
        self.assertGreater(self.count_drift(), 0)
        for found in (of_file, of_web):
            self.assertEqual([self.count_drift()], value(found, "sliceup_drift_findings"))

    def test_a_coordinator_that_died_is_seen(self):
        path = self.lab.root / "slice.prom"
        rungs = [self.lab.rung("low", "slow.py", args={"seconds": 30}, timeout="90s")]
        run = self.lab.start("run", self.lab.slice(ladder=str(self.lab.ladder("ladder.yaml", rungs))), "--plain", "--metrics", path)
        lab.wait_for(lambda: self.lab.count("pass-began"), "the first pass", 30)
        lab.wait_for(path.exists, "the file", 30)
        run.kill_and_reap()
        left = samples(path.read_text(), read_file)
        self.assertEqual([0.0], value(left, "sliceup_run_state", state="ended"))  # what SliceupMetricsStale looks at
        self.assertLess(value(left, "sliceup_metrics_timestamp_seconds")[0], time.time())
        asked = samples(self.passes(self.lab.sliceup("metrics")).out, read_file)
        self.assertEqual([1.0], value(asked, "sliceup_run_state", state="interrupted"))
        self.assertEqual([2.0], value(asked, "sliceup_joined_hosts"))


if __name__ == "__main__":
    unittest.main()
