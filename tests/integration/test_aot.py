"""warm: aot with real JAX on CPU devices: the writer compiles everything and executes nothing, all others load it."""
import unittest

import lab

MESH = {"data": 2, "model": 2}
CANARIES = {"tiny": {}, "dense": {"batch": 32, "width": 64}, "adamw": {"steps": 5}}


class Aot(lab.LabTest):
    def climb(self, rungs):
        environment = {"id": "environment", "builtin": "restore", "timeout": "10m"}
        ladder = str(self.lab.ladder("ladder.yaml", [environment, *rungs]))
        path = self.lab.slice(hosts=2, ladder=ladder, profile="cpu-jax", pins="jax-cpu", mesh=MESH,
                              limits={"stop": "1s", "cascade": "3s"}, env_dir=str(lab.SHARED_ENVS / "jax-cpu"))
        return self.lab.sliceup("run", path, bound_s=400)

    def rung(self, name, **more):
        return {"id": name, "canary": f"jax/{name}.py", "warm": "aot", "timeout": "3m", **more}

    def test_the_writer_compiles_without_executing_and_everybody_loads_it(self):
        rungs = [self.rung(name, args=args) for name, args in CANARIES.items()]
        self.passes(self.climb(rungs))
        self.climbed(self.lab.receipt(), cold=True)
        self.passes(self.climb(rungs))
        self.climbed(self.lab.receipt(), cold=False)
        self.nothing_is_left()

    def test_a_rung_of_the_slice_says_which_topology_it_lacks(self):
        ended = self.climb([self.rung("collective", scope="slice", metrics=["loss", "tokens"])])
        self.assertEqual(1, ended.status, ended)
        receipt = self.lab.receipt()
        attempt = self.attempt(receipt, "h0", "collective")
        self.assertEqual(("cold", "failed"), (attempt["pass"], attempt["outcome"]))
        self.assertEqual("launch", attempt["cause"]["owner"], attempt)
        self.assertIn("needs the argument topology", attempt["cause"]["text"])
        self.nothing_is_left()

    def climbed(self, receipt, cold):
        self.assertEqual("passed", receipt["outcome"])
        hosts = {entry["host"]: entry["rungs"] for entry in receipt["hosts"]}
        self.assertEqual(["h0", "h1"], sorted(hosts))
        for host, attempts in hosts.items():
            for name in CANARIES:
                mine = [attempt for attempt in attempts if attempt["rung"] == name]
                wanted = ["cold", "restored"] if cold and host == "h0" else ["restored"]
                self.assertEqual(wanted, [attempt["pass"] for attempt in mine], (host, name))
                self.restored(mine[-1])
                if wanted[0] == "cold":
                    self.compiled_only(mine[0])

    def compiled_only(self, attempt):
        counters = attempt["counters"]
        self.assertEqual(("passed", "cold"), (attempt["outcome"], attempt["cache"]), attempt)
        self.assertEqual((0, 0), (counters["executions"], counters["cache_hits"]))
        self.assertGreater(counters["compile_requests"], 0)
        self.assertEqual(counters["compile_requests"], counters["cache_misses"])
        self.assertEqual([], attempt.get("checks", []))

    def restored(self, attempt):
        counters = attempt["counters"]
        self.assertEqual(("passed", "restored"), (attempt["outcome"], attempt["cache"]), attempt)
        self.assertEqual((counters["compile_requests"], 0), (counters["cache_hits"], counters["cache_misses"]))
        self.assertGreater(counters["compile_requests"], 0)
        self.assertGreater(counters["executions"], 0)


if __name__ == "__main__":
    unittest.main()
