"""Slices of several sizes climb the plain ladder to the top, and leave what they promise and nothing else."""
import json
import re
import stat
import unittest

import lab
import schema

SCHEMA = json.loads((lab.TOP / "docs" / "spec" / "receipt.schema.json").read_text())
RUNGS = ["host-facts", "hello", "metrics"]


def folded(hosts):
    return f"h[0-{hosts - 1}]" if hosts > 1 else "h0"


class Climb(lab.LabTest):
    def climbs(self, hosts):
        run = self.lab.start("run", self.lab.slice(hosts=hosts))
        hub = lab.wait_for(lambda: self.hub(), "hub.json of the running run")
        ended = run.end()
        self.assertEqual(0, ended.status, ended)
        self.assertIn(f"3 of 3 rungs passed on {folded(hosts)} in ", ended.out)
        receipt = self.lab.receipt()
        self.receipt_holds(receipt, hosts)
        self.nothing_is_left()
        for port in ("control_port", "bulk_port", "events_port"):
            self.assertFalse(lab.listens(hub[port]), f"{port} {hub[port]} is still open")
        self.folder_holds(self.lab.run_folder(), hosts)

    def hub(self):
        try:
            return json.loads((self.lab.run_folder() / "hub.json").read_text())
        except (OSError, IndexError, ValueError):
            return None

    def receipt_holds(self, receipt, hosts):
        self.assertEqual([], schema.problems(receipt, SCHEMA))
        self.assertEqual("passed", receipt["outcome"])
        self.assertEqual([f"h{i}" for i in range(hosts)], sorted(host["host"] for host in receipt["hosts"]))
        for name in ("first_passing", "highest_passing"):
            place = receipt["frontier"][name]
            self.assertEqual(RUNGS[0] if name == "first_passing" else RUNGS[-1], place["rung"], place)
            self.assertEqual(folded(hosts), place["hosts"], place)
        self.assertIsNone(receipt["frontier"]["next_failing"])
        for host in range(hosts):
            self.assertEqual([(rung, "once", "passed") for rung in RUNGS], self.rungs(receipt, f"h{host}"))
        proofs = {item["metric"]: (item["proof"], item["missing"]) for item in receipt["reductions"]}
        self.assertEqual({"loss": ("proved", []), "tokens": ("proved", [])}, proofs)
        devices = 2 * hosts
        weights = [1 + number % 3 for number in range(devices)]
        loss = sum(0.25 * (n + 1) * w for n, w in enumerate(weights)) / sum(weights)
        values = {item["metric"]: item["value"] for item in receipt["reductions"]}
        self.assertAlmostEqual(loss, values["loss"], places=9)
        self.assertEqual(sum(weights), values["tokens"])
        for line in receipt["ladder"]:
            self.assertEqual({"passed": folded(hosts)}, line["hosts_by_outcome"])

    def folder_holds(self, folder, hosts):
        for name in ("coordinator.key", "monitor.key", "hub.json"):
            self.assertFalse((folder / name).exists(), f"{name} is still there")
        for path in [folder, *folder.rglob("*")]:
            mode = stat.S_IMODE(path.lstat().st_mode)
            if not path.is_symlink():
                self.assertEqual(0, mode & 0o077, f"{path} has mode {mode:04o}")
        self.assertEqual(0o700, stat.S_IMODE(folder.stat().st_mode))
        for name in ("journal.db", "receipt.json"):
            self.assertEqual(0o600, stat.S_IMODE((folder / name).stat().st_mode), name)
        for host in range(hosts):
            own = json.loads((folder / "receipts" / f"h{host}.json").read_text())
            self.assertEqual([f"h{host}"], [item["host"] for item in own["hosts"]])

    def test_one_host_climbs_to_the_top(self):
        self.climbs(1)

    def test_two_hosts_climb_to_the_top(self):
        self.climbs(2)

    def test_three_hosts_climb_to_the_top(self):
        self.climbs(3)

    def test_five_hosts_climb_to_the_top(self):
        self.climbs(5)

    def test_eight_hosts_climb_to_the_top(self):
        self.climbs(8)

    def test_the_receipt_is_the_same_bytes_again(self):
        self.passes(self.lab.sliceup("run", self.lab.slice(hosts=2)))
        again = self.passes(self.lab.sliceup("receipt", "--json"))
        self.assertEqual((self.lab.run_folder() / "receipt.json").read_text().strip(), again.out.strip())

    def test_two_runs_at_once_in_one_home_do_not_disturb_each_other(self):
        slices = [self.lab.slice(hosts=2 + number, name=f"slice{number}.yaml") for number in range(2)]
        runs = [self.lab.start("run", path) for path in slices]
        for number, run in enumerate(runs):
            ended = run.end()
            self.assertEqual(0, ended.status, ended)
            name = re.match(r"run ([0-9a-f]{8}) of slice slice(\d)", ended.out)
            self.assertEqual(str(number), name[2])
            receipt = self.lab.receipt(name[1])
            self.receipt_holds(receipt, 2 + number)
            self.assertEqual([f"slice{number}"], [header["slice"] for header in receipt["headers"]])
        self.assertEqual(2, len(self.lab.runs()))


MISTAKES = """slice: bad slice
hosts: h[0-1
launcher: telnet
profile: plian
ladder: {ladder}
limits:
  join: 5
  suspect: 40s
  losst: 3s
cache: {{mode: many-writers}}
color: blue
"""
LADDER_MISTAKES = """ladder: bad
rungs:
  - {id: one, builtin: facts, command: [true]}
  - {id: one, canary: plain/nowhere.py}
  - {id: three, builtin: facts, timeout: 1y}
"""


class Check(lab.LabTest):
    def test_a_good_slice_is_printed_as_the_plan(self):
        ended = self.passes(self.lab.sliceup("check", self.lab.slice(hosts=4, mesh={"data": 4, "model": 2})))
        for words in ("h3", "data: 4, model: 2", "metrics", "proves loss, tokens", "no mistakes found"):
            self.assertIn(words, ended.out)
        self.assertNotIn("(3,1)", ended.out)    # a program of frontend plain on cpu has no devices
        jax = self.passes(self.lab.sliceup("check", self.lab.slice(hosts=4, profile="cpu-jax", pins="jax-cpu", ladder="jax", mesh={"data": 4, "model": 2})))
        self.assertIn("(3,1)", jax.out)

    def test_the_shipped_slices_are_good(self):
        for path in sorted((lab.TOP / "configs" / "slices").glob("*.yaml")):
            self.passes(self.lab.sliceup("check", path))

    def test_ten_mistakes_are_told_at_once_each_with_its_place(self):
        ladder = self.lab.write("bad-ladder.yaml", LADDER_MISTAKES)
        ended = self.lab.sliceup("check", self.lab.write("bad.yaml", MISTAKES.format(ladder=ladder)))
        self.assertEqual(2, ended.status, ended)
        places = re.findall(r"^(\S+\.yaml):(\d+):(\d+): (?!warning)(.+)$", ended.err, re.MULTILINE)
        self.assertGreaterEqual(len({(file, line) for file, line, _, _ in places}), 10, ended)
        for file, line in (("bad.yaml", 2), ("bad.yaml", 3), ("bad.yaml", 4), ("bad.yaml", 7), ("bad.yaml", 9),
                           ("bad.yaml", 10), ("bad.yaml", 11), ("bad-ladder.yaml", 4), ("bad-ladder.yaml", 5)):
            self.assertTrue(any(at.endswith(file) and int(number) == line for at, number, _, _ in places),
                            f"nothing about {file}:{line}\n{ended}")
        self.assertRegex(ended.err, r"did you mean .*lost")
        self.assertFalse((self.lab.home / "runs").exists(), "check must not make a run")


if __name__ == "__main__":
    unittest.main()
