"""Variables that a profile gives to the programs of a scope, to each host, and lets them inherit from the worker."""
import json
import os
import unittest

import lab

PROFILE = """profile: scoped
frontend: plain
backend: cpu
devices_per_host: 1
env: {SHARED: all, BOUNDS: "2,2,1"}
host_env:
  BOUNDS: "1,1,1"
  PEERS: null
  PLACE: "{rank} of {world} at {address}"
slice_env:
  PLACE: "{rank}/{world} {host} {addresses} {slice}/{slices}"
inherit: [PEERS, POD_ID, NOT_THERE]
"""
NAMES = ("SHARED", "BOUNDS", "PLACE", "PEERS", "POD_ID", "NOT_THERE", "OTHER")
PRINTS = "import json, os, sys\nprint(json.dumps({n: os.environ[n] for n in sys.argv[1:] if n in os.environ}))\n"


class Variables(lab.LabTest):
    def setUp(self):
        super().setUp()
        command = ["python3", str(self.lab.write("prints.py", PRINTS)), *NAMES]
        ladder = self.lab.ladder("ladder.yaml", [{"id": "alone", "scope": "host", "command": command, "timeout": "20s"},
                                                 {"id": "all", "scope": "slice", "command": command, "timeout": "20s"}])
        hosts = [{"name": "a", "address": "127.0.0.1"}, {"name": "b", "address": "127.0.0.2"}]
        self.slice = self.lab.slice(hosts=hosts, ladder=str(ladder), profile=str(self.lab.write("scoped.yaml", PROFILE)))
        self.passes(self.lab.sliceup("run", self.slice, env=self.lab.env(PEERS="everybody", POD_ID="pod-7", OTHER="no")))

    def printed(self, rung, host):
        lines = self.passes(self.lab.sliceup("logs", "--rung", rung, "--host", host)).out.splitlines()
        return json.loads(next(line[line.index("{"):] for line in lines if "{" in line))

    def test_each_scope_and_host_gets_its_own(self):
        self.assertEqual({"SHARED": "all", "BOUNDS": "1,1,1", "PLACE": "1 of 2 at 127.0.0.2", "POD_ID": "pod-7"},
                         self.printed("alone", "b"))
        self.assertEqual({"SHARED": "all", "BOUNDS": "2,2,1", "PLACE": "0/2 a 127.0.0.1,127.0.0.2 0/1", "PEERS": "everybody",
                          "POD_ID": "pod-7"}, self.printed("all", "a"))
        policy = {host["host"]: host["policy"] for host in self.lab.receipt()["hosts"]}
        self.assertEqual({"SHARED": "all", "BOUNDS": "2,2,1"}, policy["a"]["launched"])
        self.assertEqual({"BOUNDS": "1,1,1", "PLACE": "0 of 2 at 127.0.0.1"}, policy["a"]["host_scope"])
        self.assertEqual({"PLACE": "1/2 b 127.0.0.1,127.0.0.2 0/1"}, policy["b"]["slice_scope"])
        self.assertEqual(["PEERS", "POD_ID", "NOT_THERE"], policy["b"]["inherited"])

    def test_check_shows_them_as_they_are_written(self):
        shown = self.passes(self.lab.sliceup("check", self.slice)).out
        self.assertIn("  of programs of scope host:\n  BOUNDS=1,1,1\n  PLACE={rank} of {world} at {address}\n  PEERS not set, not inherited\n",
                      shown)
        self.assertIn("  inherited from the worker, where it has them: PEERS, POD_ID, NOT_THERE\n", shown)


if __name__ == "__main__":
    unittest.main()
