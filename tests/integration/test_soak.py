"""The ladder jax-soak on local hosts with real JAX and orbax, held for seconds: memory, a checkpoint read by new processes, steps repeated.

What each rung finds when something is wrong is in tests/campaign/planted as well. The environment has orbax, and is built once.
"""
import pathlib
import re
import unittest

import lab

LADDER = (lab.TOP / "configs/ladders/jax-soak.yaml").read_text()
LIMITS = {"stop": "1s", "cascade": "3s"}


class Soak(lab.LabTest):
    def ladder(self, hold="6s", **edits):
        """The shipped one with a shorter hold and these further arguments of its rungs."""
        text = LADDER.replace("hold: 10m", f"hold: {hold}").replace("hold: 10s", "hold: 1s").replace("loader_mib: 256", "loader_mib: 64")
        for old, new in edits.items():
            text = text.replace(old, new)
        return self.lab.write("soak.yaml", text)

    def climb(self, ladder, *more, pins="jax-cpu-train", hosts=2):
        folder = str(self.lab.files / "shared")
        profile = (lab.TOP / "configs/profiles/cpu-jax.yaml").read_text().replace("args:\n", f"args:\n  folder: {folder}\n")
        return self.lab.sliceup("run", self.lab.slice(
            hosts=hosts, ladder=str(ladder), profile=str(self.lab.write("profile.yaml", profile)), pins=pins,
            env_dir=str(lab.SHARED_ENVS / pins), mesh={"data": hosts, "model": 2}, limits=LIMITS), *more, bound_s=400)

    def test_two_hosts_climb_the_whole_ladder(self):
        self.passes(self.climb(self.ladder()))
        receipt = self.lab.receipt()
        for host in ("h0", "h1"):
            climbed = [(rung, outcome) for rung, _, outcome in self.rungs(receipt, host)]
            self.assertEqual([(rung, "passed") for rung in ("memory", "checkpoint-write", "checkpoint-read", "soak")], climbed[-4:])
        self.nothing_is_left()


if __name__ == "__main__":
    unittest.main()
