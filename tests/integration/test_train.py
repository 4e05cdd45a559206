"""The ladder jax-train on local hosts with real JAX: compiled once, restored on every host, every metric proved.

What each rung finds when something is wrong is in tests/campaign/planted. The environment is the one of test_jax.py.
"""
import unittest

import lab

OF_HOST = ["gradient", "step", "donation", "remat", "attention", "flash", "window", "grouped", "softcap", "sparse"]
OF_SLICE = ["fsdp", "tensor", "sequence", "pipeline", "experts", "reshard", "random", "evaluate", "model"]
RUNGS = OF_HOST + OF_SLICE
KERNELS = {"attention": "reference", "flash": "pallas_flash_causal-interpret", "window": "pallas_flash_window-interpret",
           "grouped": "pallas_flash_grouped-interpret", "softcap": "pallas_flash_softcap-interpret",
           "sparse": "pallas_splash_sparse-interpret"}
METRICS = {("experts", "kept"), ("fsdp", "loss"), ("tensor", "loss"), ("sequence", "square"), ("pipeline", "loss"), ("evaluate", "loss"), ("evaluate", "rows")}
LIMITS = {"stop": "1s", "cascade": "3s"}


class Train(lab.LabTest):
    def climb(self, mesh):
        hosts = mesh["data"] * mesh["model"] // 2
        return self.lab.sliceup("run", self.lab.slice(
            hosts=hosts, ladder="jax-train", profile="cpu-jax", pins="jax-cpu", env_dir=str(lab.SHARED_ENVS / "jax-cpu"),
            mesh=mesh, limits=LIMITS), bound_s=400)

    def test_two_hosts_climb_cold_and_every_program_is_restored(self):
        """The last axis, over which layers are split, lies across the hosts' devices; the first lies across the hosts."""
        self.passes(self.climb({"data": 2, "model": 2}))
        receipt = self.lab.receipt()
        for host in ("h0", "h1"):
            climbed = [item for item in self.rungs(receipt, host) if item[0] in RUNGS]
            wanted = [(rung, kind, "passed") for rung in RUNGS for kind in ("cold", "restored")
                      if kind == "restored" or host == "h0" or rung in OF_SLICE]
            self.assertEqual(wanted, climbed)
            for rung in RUNGS:
                attempt = self.attempt(receipt, host, rung)
                self.restored(attempt)
                self.assertEqual(KERNELS.get(rung, "native"), attempt["backend"]["kernel_path"])
        proofs = {(item["rung"], item["metric"]): item["proof"] for item in receipt["reductions"]}
        self.assertEqual(dict.fromkeys(METRICS, "proved"), proofs)
        self.nothing_is_left()

    def restored(self, attempt):
        counters = attempt["counters"]
        self.assertEqual("restored", attempt["cache"], attempt)
        self.assertEqual(counters["compile_requests"], counters["cache_hits"], attempt)
        self.assertEqual((0, 0), (counters["cache_misses"], counters["compile_ms"]), attempt)
        self.assertGreater(counters["executions"], 0, attempt)
        self.assertTrue(attempt["checks"], attempt)


if __name__ == "__main__":
    unittest.main()
