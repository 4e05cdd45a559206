"""The whole jax ladder on four local hosts, and the gate that keeps devices from waiting for another program's.

The environment is built once below $SLICEUP_BUILD/envs, as test_jax.py does.
"""
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import lab

ENVIRONMENT = lab.SHARED_ENVS / "jax-cpu"
HOSTS = [f"h{number}" for number in range(4)]
LIMITS = {"stop": "1s", "cascade": "3s"}
# How long plain jax is watched while it makes no step: far longer than the program takes, and than the gate needs.
HANGS_S = 20


class Ladder(lab.LabTest):
    def climb(self, ladder, mesh, **more):
        path = self.lab.slice(hosts=4, ladder=str(ladder), profile="cpu-jax", pins="jax-cpu", env_dir=str(ENVIRONMENT),
                              mesh=mesh, limits=LIMITS, **more)
        return self.lab.sliceup("run", path, bound_s=600)

    def only(self, *rungs):
        return self.lab.ladder("ladder.yaml", [{"id": "environment", "builtin": "restore", "timeout": "10m"}, *rungs])

    def kernels(self, receipt, host):
        """rung -> kernel path, of the rungs that have a choice."""
        rungs = next(entry["rungs"] for entry in receipt["hosts"] if entry["host"] == host)
        told = {rung["rung"]: rung["backend"]["kernel_path"] for rung in rungs if rung["backend"]}
        return {rung: path for rung, path in told.items() if path != "native"}


class Whole(Ladder):
    """Both axes of the mesh lie across hosts."""

    def test_every_structure_is_compiled_once_and_restored_everywhere(self):
        self.passes(self.climb("jax-full", {"data": 2, "model": 4}, cache={"mode": "single-writer", "writer": "h0"}))
        receipt = self.lab.receipt()
        self.assertEqual("passed", receipt["outcome"])
        for host in HOSTS:
            restored = [rung for rung in self.rungs(receipt, host) if rung[1] == "restored"]
            self.assertEqual([(name, "restored", "passed") for name in (
                "tiny", "dense", "adamw", "attention", "attention-kernel", "scan", "experts", "hybrid", "collective",
                "axes", "slice-hybrid", "checkpoint")], restored)
            for name, _, _ in restored:
                self.restored(self.attempt(receipt, host, name))
            self.assertEqual({"attention": "reference", "attention-kernel": "pallas_flash_causal-interpret"},
                             self.kernels(receipt, host))
        self.proved(receipt)
        self.nothing_is_left()

    def restored(self, attempt):
        counters = attempt["counters"]
        self.assertEqual("restored", attempt["cache"])
        self.assertGreater(counters["executions"], 0, attempt)
        self.assertEqual((0, 0), (counters["cache_misses"], counters["compile_ms"]), attempt)
        self.assertTrue(attempt["checks"] or attempt["metrics"], attempt)

    def proved(self, receipt):
        seen = {(item["rung"], item["metric"], " ".join(item["axes"])): item["proof"] for item in receipt["reductions"]}
        every = "data model"
        self.assertEqual({("collective", "loss", every), ("collective", "tokens", "data"), ("axes", "columns", "model"),
                          ("axes", "rows", "data"), ("slice-hybrid", "kept", every),
                          ("checkpoint", "restored", every)}, {key for key in seen if seen[key] == "proved"}, seen)


class AllReduce(Ladder):
    """The ladder of GPUs on CPU devices: what it proves is the same, the library below it is another."""

    def test_sums_by_axis_are_proved(self):
        self.passes(self.climb("jax-gpu", {"data": 2, "model": 4}))
        receipt = self.lab.receipt()
        self.assertEqual({("devices", "data model", 8.0, "proved"), ("devices over data", "data", 2.0, "proved"),
                          ("devices over model", "model", 4.0, "proved")},
                         {(item["metric"], " ".join(item["axes"]), item["value"], item["proof"]) for item in receipt["reductions"]})
        for rung, sums in (("loopback", 3), ("all-reduce", 9)):
            checks = self.attempt(receipt, "h3", rung)["checks"]
            self.assertEqual([0] * sums, [check["observed"] for check in checks], checks)

    def test_sums_that_lose_a_part_at_one_size_fail(self):
        rung = self.lab.rung("sums", "jax/loses_a_part.py", scope="slice", timeout="2m", args={"above": 256})
        ended = self.climb(self.only(rung), {"data": 2, "model": 4})
        self.assertEqual(1, ended.status, ended)
        failed = self.attempt(self.lab.receipt(), "h0", "sums")
        self.assertIn("wrong elements of 65536 floats, devices", failed["cause"]["text"])


class Gate(Ladder):
    def differing(self, **args):
        return self.lab.rung("sum", "jax/differs.py", scope="slice", timeout="2m", args=args)

    def test_a_program_that_differs_on_one_host_is_stopped_and_named(self):
        for how in ("collective", "shape", "flag"):
            with self.subTest(how):
                rung = self.differing(host="h2", how=how)
                ended = self.climb(self.only(rung), {"data": 8})
                self.assertEqual(1, ended.status, ended)
                receipt = self.lab.receipt()
                outcomes = [self.attempt(receipt, host, "sum")["outcome"] for host in HOSTS]
                self.assertEqual(["cascade", "cascade", "failed", "cascade"], outcomes)
                failed = self.attempt(receipt, "h2", "sum")
                self.assertEqual("launch" if how == "flag" else "program", failed["cause"]["owner"])
                self.assertEqual(0, failed["counters"].get("executions", 0), "it was executed")
                self.assertIn("h2 failed: ", receipt["headers"][0]["sentence"])
                self.assertLess(failed["duration_ms"], 60000, "stopped at the gate, and not by a timeout")
                self.nothing_is_left()

    def test_one_program_passes_the_gate(self):
        self.passes(self.climb(self.only(self.differing(host="none", how="shape")), {"data": 8}))

    def test_plain_jax_hangs_and_names_nobody(self):
        self.passes(self.climb(self.only(), {"data": 8}))  # the environment is there
        with Plain(4) as plain:
            lab.wait_for(lambda: plain.said("waits") == 4, "every process to come to its first step", 120)
            end = time.monotonic() + HANGS_S
            with self.assertRaisesRegex(AssertionError, "waited"):
                lab.wait_for(lambda: plain.over() or plain.said("step"), "a step, or an end", HANGS_S)
            self.assertGreaterEqual(time.monotonic(), end)
            plain.signal(signal.SIGTERM)  # jax only takes note of it
            with self.assertRaisesRegex(AssertionError, "waited"):
                lab.wait_for(plain.over, "an end after SIGTERM", 2)
            # Rank 3 is mentioned once, as it connects: a line that every rank has of itself.
            named = [line for line in plain.text().splitlines() if "is connected to" not in line
                     and re.search(r"(?i)mismatch|differ|\b(rank|process|task) 3\b", line)]
            self.assertEqual([], named)


class Plain:
    """Processes of plain_differs.py, without sliceup; killed at the end whatever happened."""

    def __init__(self, world):
        self.world, self.folder, self.processes = world, tempfile.TemporaryDirectory(prefix="sliceup-plain-"), []

    def __enter__(self):
        python = next(lab.SHARED_ENVS.glob("jax-cpu-py3*/bin/python"))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        env = {**os.environ, "JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "1",
               "JAX_CPU_COLLECTIVES_IMPLEMENTATION": "gloo"}
        for rank in range(self.world):
            with open(self.log(rank), "wb") as log:
                words = [python, "-B", lab.CANARIES / "jax" / "plain_differs.py", str(rank), str(self.world), address]
                process = subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
                self.processes.append(process)
        return self

    def __exit__(self, *_):
        self.signal(signal.SIGKILL)
        for process in self.processes:
            process.wait(30)
        self.folder.cleanup()

    def log(self, rank):
        return pathlib.Path(self.folder.name) / f"{rank}.log"

    def text(self):
        return "".join(self.log(rank).read_text(errors="replace") for rank in range(self.world))

    def said(self, word):
        return self.text().splitlines().count(word)

    def over(self):
        return [process.returncode for process in self.processes if process.poll() is not None]

    def signal(self, number):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(number)


if __name__ == "__main__":
    unittest.main()
