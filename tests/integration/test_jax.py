"""Real JAX on several local hosts: compiled once and restored everywhere, caches kept apart, failures told, lies named.

The environments are built once below $SLICEUP_BUILD/envs and verified by every run.
"""
import hashlib
import re
import stat
import time
import unittest

import lab

MESH = {"data": 4, "model": 2}
WARM = ["tiny", "dense", "adamw", "collective"]
LIMITS = {"stop": "1s", "cascade": "3s"}


class Jax(lab.LabTest):
    def slice(self, ladder="jax", hosts=4, pins="jax-cpu", env="jax-cpu", **more):
        if not isinstance(ladder, str):
            ladder = str(self.lab.ladder("ladder.yaml", [{"id": "environment", "builtin": "restore", "timeout": "10m"}, *ladder]))
        more = {"mesh": MESH, "limits": LIMITS, **more}
        return self.lab.slice(hosts=hosts, ladder=ladder, profile="cpu-jax", pins=pins,
                              env_dir=str(lab.SHARED_ENVS / env), **more)

    def climb(self, *args, **more):
        began = time.monotonic()
        ended = self.lab.sliceup("run", self.slice(*args, **more), bound_s=400)
        self.took_s = time.monotonic() - began
        return ended

    def listing(self, root=None):
        """path -> (mode, sha256) of every folder and file of the cache, without the catalogue."""
        found = {}
        for path in sorted((root or self.lab.home / "cache").rglob("*")):
            if not path.name.startswith(("catalogue", "storage")):
                content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
                found[str(path.relative_to(root or self.lab.home))] = (stat.S_IMODE(path.stat().st_mode), content)
        return found


class Ladder(Jax):
    def test_compiled_once_and_restored_everywhere(self):
        self.passes(self.climb())
        cold_s = self.took_s
        self.climbed(self.lab.receipt(), cold=True)
        first = self.listing()
        self.sealed(first)

        self.passes(self.climb())
        self.climbed(self.lab.receipt(), cold=False)
        self.assertEqual(first, self.listing(), "a restored run changed the cache")
        text = self.passes(self.lab.sliceup("receipt")).out
        saved = re.search(r"restored on 4 of 4 hosts: (\d+) programs loaded instead of compiled, compile time saved ([1-9]\S* m?s)", text)
        self.assertTrue(saved, text)
        print(f"    cold {cold_s:.1f} s, restored {self.took_s:.1f} s, {saved[1]} programs loaded, compile time saved {saved[2]}")

        self.other_pins()
        after = self.listing()
        self.assertEqual(first, {path: after[path] for path in first}, "another pin set changed the cache of the first")
        self.assertGreater(len(after), len(first), "the other pin set has no cache of its own")
        self.nothing_is_left()

    def test_a_rung_of_programs_that_another_compiled_is_not_cold_and_saved_what_these_took(self):
        mesh = {"data": 2, "model": 2}
        tiny = {"id": "tiny", "canary": "jax/tiny.py", "warm": "solo", "timeout": "3m"}
        large = {"id": "adamw", "canary": "jax/adamw.py", "warm": "solo", "timeout": "3m", "args": {"steps": 2}}
        self.passes(self.climb([tiny, large], hosts=2, mesh=mesh))
        first = self.lab.receipt()
        cold = self.attempt(first, "h0", "tiny", kind="cold")
        self.assertEqual("cold", cold["cache"])
        # Another argument: the generation does not cover the rung, and its program is the same.
        self.passes(self.climb([{**tiny, "args": {"again": 1}}], hosts=2, mesh=mesh))
        again = self.lab.receipt()
        self.assertEqual("restored", self.attempt(again, "h0", "tiny", kind="cold")["cache"])
        keys = [self.attempt(again, host, "tiny")["keys"] for host in ("h0", "h1")]
        took_ms = cold["counters"]["compile_ms"]
        self.assertEqual([took_ms] * 2, [key["compile_ms"] for of_host in keys for key in of_host])
        text = self.passes(self.lab.sliceup("receipt")).out
        self.assertRegex(text, r"cold +passed +h0 .*compiled nothing: every program was in the cache already")
        spent = re.search(r"3 programs loaded instead of compiled.*compiling them again would take (\d+) ms", text)
        self.assertTrue(spent, text)
        self.assertEqual(3 * took_ms, int(spent[1]), text)

    def test_a_damaged_generation_is_compiled_anew_and_said_so(self):
        ladder = [{"id": "tiny", "canary": "jax/tiny.py", "warm": "solo"}]
        self.passes(self.climb(ladder, hosts=2, mesh={"data": 2, "model": 2}))
        entry = next((self.lab.home / "cache").rglob("gen-1/*-cache"))
        entry.chmod(0o644)
        whole = entry.read_bytes()
        entry.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        entry.chmod(0o444)

        ended = self.climb(ladder, hosts=2, mesh={"data": 2, "model": 2})
        self.assertEqual(4, ended.status, ended)
        receipt = self.lab.receipt()
        violations = receipt["cache"]["violations"]
        self.assertEqual({("changed", 1)}, {(item["kind"], item["token"]) for item in violations})
        self.assertIn(entry.name, {item["path"] for item in violations})
        self.assertEqual("passed", receipt["outcome"])
        for host in receipt["hosts"]:
            self.assertEqual("passed", [rung for rung in host["rungs"] if rung["pass"] == "restored"][-1]["outcome"])
        self.passes(self.climb(ladder, hosts=2, mesh={"data": 2, "model": 2}))
        self.assertNotIn("cold", {rung["pass"] for host in self.lab.receipt()["hosts"] for rung in host["rungs"]})

    def test_hosts_that_attack_the_cache_they_restore_from_change_nothing(self):
        root = self.lab.root / "shared"
        attack = self.lab.rung("writes", "writes_cache.py", warm="solo", timeout="3m", env=False, args={"root": str(root)})
        ladder = [{"id": "tiny", "canary": "jax/tiny.py", "warm": "solo", "timeout": "3m"},
                  {"id": "dense", "canary": "jax/dense.py", "warm": "solo", "timeout": "3m", "args": {"batch": 8, "width": 16}},
                  attack]
        self.passes(self.climb(ladder, hosts=2, mesh={"data": 2, "model": 2}, cache={"root": str(root)}))
        first = self.listing(root)
        self.assertTrue([path for path in first if path.endswith("-cache")], first)
        self.passes(self.climb(ladder, hosts=2, mesh={"data": 2, "model": 2}, cache={"root": str(root)}))
        self.assertEqual(first, self.listing(root), "an attack changed the cache")
        receipt = self.lab.receipt()
        self.assertEqual([], receipt["cache"]["violations"])
        self.assertEqual({"namespace+landlock": "h[0-1]"}, receipt["cache"]["enforcement"])
        for host in ("h0", "h1"):
            self.restored(self.attempt(receipt, host, "tiny"))
            self.restored(self.attempt(receipt, host, "dense"))
            checks = [check["name"] for check in self.attempt(receipt, host, "writes")["checks"]]
            self.assertGreaterEqual(len([name for name in checks if name.startswith("way ")]), 14, checks)

    def other_pins(self):
        """One package more: what is installed differs, so nothing of the cache may be shared."""
        pins = "".join((lab.TOP / place).read_text() for place in ("configs/pins/jax-cpu.txt", "tests/pins/tiny.txt"))
        pins = self.lab.write("jax-cpu-more.txt", pins)
        ladder = [{"id": "tiny", "canary": "jax/tiny.py", "warm": "solo", "timeout": "3m"}]
        ended = self.passes(self.climb(ladder, hosts=2, pins=str(pins), env="jax-cpu-more", mesh={"data": 2, "model": 2}))
        self.assertIn("no published cache generation fits", ended.out)
        self.assertIn(("tiny", "cold", "passed"), self.rungs(self.lab.receipt(), "h0"))

    def climbed(self, receipt, cold):
        self.assertEqual("passed", receipt["outcome"])
        self.assertEqual({"proved"}, {item["proof"] for item in receipt["reductions"]})
        for host in ("h0", "h1", "h2", "h3"):
            attempts = [item for item in self.rungs(receipt, host) if item[0] in WARM]
            compiles = cold and host == "h0" # the others take part in the gang's cold pass, too
            wanted = [(rung, kind, "passed") for rung in WARM for kind in ("cold", "restored")
                      if kind == "restored" or compiles or (cold and rung == "collective")]
            self.assertEqual(wanted, attempts)
            for rung in WARM:
                self.restored(self.attempt(receipt, host, rung))
        self.assertEqual({}, {item["fact"]: item for item in receipt["drift"] if item["verdict"] != "expected"})

    def restored(self, attempt):
        counters = attempt["counters"]
        self.assertEqual(("restored", "restored"), (attempt["pass"], attempt["cache"]))
        self.assertGreater(counters["compile_requests"], 0)
        self.assertEqual(counters["compile_requests"], counters["cache_hits"])
        self.assertEqual((0, 0), (counters["cache_misses"], counters["compile_ms"]))
        self.assertGreater(counters["executions"], 0)

    def sealed(self, listing):
        generations = [path for path in listing if re.search(r"/gen-\d+$", path)]
        self.assertEqual(4, len(generations), listing)
        for path, (mode, _) in listing.items():
            if "/gen-" in path:
                self.assertEqual(0, mode & 0o222, f"{path} can be written: {mode:04o}")
        for path in generations:
            self.assertIn(f"{path}/MANIFEST", listing)


class Environment(lab.LabTest):
    def test_a_host_with_other_packages_fails_alone_and_is_named(self):
        other = self.lab.root / "envs" / "h2"
        ladder = self.lab.ladder("ladder.yaml", [{"id": "environment", "builtin": "restore", "timeout": "5m"},
                                                 self.lab.rung("hello", "plain/hello.py", env=False)])
        hosts = ["h[0-1]", {"name": "h2", "env_dir": str(other)}]
        path = self.lab.slice(hosts=hosts, ladder=str(ladder), pins=str(lab.TOP / "tests" / "pins" / "tiny.txt"),
                              env_dir=str(self.lab.root / "envs" / "shared"))
        self.passes(self.lab.sliceup("run", path))
        six = next(self.lab.root.glob("envs/h2-py3*/lib/python3*/site-packages/six-*.dist-info/METADATA"))
        six.write_text(re.sub(r"(?m)^Version: .*", "Version: 1.15.0", six.read_text()))
        ended = self.lab.sliceup("run", path)
        self.assertIn(ended.status, (1, 3), ended)
        receipt = self.lab.receipt()
        outcomes = [self.attempt(receipt, host, "environment")["outcome"] for host in ("h0", "h1", "h2")]
        self.assertEqual(["passed", "passed"], outcomes[:2])
        self.assertIn(outcomes[2], ("failed", "blocked"))
        cause = self.attempt(receipt, "h2", "environment")["cause"]
        self.assertEqual("bundle", cause["owner"], cause)
        self.assertIn("six", cause["text"])
        self.assertIn("1.15.0", cause["text"])
        self.assertRegex(receipt["headers"][0]["sentence"], rf"stopped at rung environment \(1 of 2\): h2 {outcomes[2]}: .*six")


class Raises(Jax):
    def raised(self, how, host, timeout):
        rung = self.lab.rung("raises", "jax/raises.py", scope="slice", timeout=timeout, args={"host": host, "how": how})
        ended = self.climb([rung], hosts=2, mesh={"data": 2, "model": 2}, cache={"mode": "off"})
        self.assertEqual(1, ended.status, ended)
        hosts = {entry["host"]: entry for entry in self.lab.receipt()["hosts"]}
        return next(rung for rung in hosts[host]["rungs"] if rung["rung"] == "raises")  # before parts ran by themselves

    def test_an_exception_after_the_distributed_runtime_began_ends_the_program(self):
        for how in ("run", "connect"):
            with self.subTest(how):
                attempt = self.raised(how, "h1", "90s")
                self.assertEqual("failed", attempt["outcome"], attempt)
                self.assertIn("ValueError: boom", attempt["cause"]["text"])
                self.assertLess(attempt["duration_ms"], 60000)

    def test_without_the_helper_it_hangs_and_the_exception_is_the_cause(self):
        attempt = self.raised("bare", "h0", "20s")
        cause = attempt["cause"]
        self.assertEqual("failed", attempt["outcome"], attempt)
        self.assertTrue(cause["text"].startswith("printed ValueError and then hung: still in phase run after 20 s; stopped"), cause)
        lines = cause["evidence"].splitlines()
        self.assertEqual("ValueError: boom", lines[0])
        self.assertRegex(cause["evidence"], r"main thread: File .*jax.* in ")
        print("    " + "\n    ".join(lines))


# A step of training in bfloat16. What it claims is what it reduced, or with another word what it did not.
BFLOAT16 = """
import sys
import jax, jax.numpy as jnp, numpy as np
import sliceup_program
program = sliceup_program.start()
jax.distributed.initialize(program.rendezvous(), program.world, program.rank, cluster_detection_method="deactivate")

def loss_of(w, x, y):
    return jnp.mean((x @ w - y) ** 2)

mesh = jax.sharding.Mesh(jax.devices(), ("data",))
split, whole = (jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*axes)) for axes in (("data",), ()))
rows = np.random.default_rng(0).normal(size=(64, 8)).astype(jnp.bfloat16)
targets = (rows.astype(np.float32).sum(1) + 3).astype(jnp.bfloat16)
x, y, w = (jax.make_array_from_callback(a.shape, sharding, lambda index, a=a: a[index])
           for a, sharding in ((rows, split), (targets, split), (np.zeros(8, jnp.bfloat16), whole)))
loss = jax.jit(loss_of)(w, x, y)
locals = [loss_of(*(jnp.asarray(np.asarray(part)) for part in (w.addressable_data(0), a.data, b.data)))
          for a, b in zip(x.addressable_shards, y.addressable_shards)]
own = jnp.asarray(1 + program.rank / 128, jnp.bfloat16)  # neighbours in bfloat16, and both near the mean
print(loss.dtype, float(loss), [float(one) for one in locals])
program.reduced("loss", locals, claimed=loss)
program.reduced("number", locals, claimed=float(loss), dtype=(sys.argv[1:] or ["bfloat16"])[0])
program.reduced("wide", locals, claimed=float(loss))
program.reduced("narrow", [float(one) for one in locals], claimed=float(loss))
program.reduced("local", locals, claimed=locals[0])
program.reduced("near", [own, own], claimed=own)
"""


class ShortDtypes(Jax):
    """Rounding in the dtype of what a program reduced is no lie, and makes no room for one."""

    def climb_bfloat16(self, metrics, *words, **rung):
        self.lab.write("step.py", BFLOAT16)
        ended = self.climb([{"id": "step", "command": ["python", "./step.py", *words], "env": True, "scope": "slice", "timeout": "3m",
                             "backend": "required", "metrics": metrics, **rung}], hosts=2, mesh={"data": 4})
        receipt = self.lab.receipt()
        return ended, {item["metric"]: item for item in receipt["reductions"]}, self.attempt(receipt, "h0", "step")["cause"]

    def test_a_truthful_loss_in_bfloat16_is_proved_and_a_local_one_is_not(self):
        ended, seen, _ = self.climb_bfloat16(["loss", "number", "wide"], tolerance={"wide": 0.02})
        self.passes(ended)
        self.assertEqual({"loss": "proved", "number": "proved", "wide": "proved", "narrow": "disagree", "local": "local", "near": "local"},
                         {name: item["proof"] for name, item in seen.items()})
        for name, tolerance in (("loss", (0.03125, "bfloat16, 4 devices")), ("number", (0.03125, "bfloat16, 4 devices")),
                                ("wide", (0.02, "rung, 4 devices"))):
            self.assertEqual(tolerance, (seen[name]["tolerance"], seen[name]["tolerance_of"]))
        self.assertRegex(seen["narrow"]["why"], r"reported [0-9.]+, expected [0-9.]+, off by [0-9.e-]+, allowed [0-9.e-]+ \(float32, 4 devices\)")
        self.assertIn("loss = 16  proved over data (tolerance 3.1%: bfloat16, 4 devices)", self.lab.sliceup("receipt").out)

    def test_a_local_one_fails_its_rung_however_little_hosts_differ(self):
        ended, _, cause = self.climb_bfloat16(["near"])
        self.assertEqual(1, ended.status, ended)
        self.assertEqual("metric near is not proved over data (proof: local): a device's result holds only its own contribution",
                         cause["text"])
        for command in ("receipt", "explain"):
            self.assertIn("local over data (tolerance 3.1%: bfloat16, 4 devices): a device's result", self.lab.sliceup(command).out)

    def test_an_absurd_dtype_is_refused(self):
        _, _, cause = self.climb_bfloat16(["loss"], "float3")
        self.assertIn("reduced: the dtype is 'float3', expected one of float64, float32, float16, bfloat16", cause["text"])


class Shapes(Jax):
    """The sizes of a profile hold for every canary."""
    PROFILE = "profile: sized\nfrontend: jax\nbackend: cpu\ndevices_per_host: 2\nenv: {JAX_PLATFORMS: cpu, JAX_NUM_CPU_DEVICES: '2'}\n"

    def outcome(self, canary, shapes, **args):
        rungs = [{"id": "environment", "builtin": "restore", "timeout": "10m"},
                 self.lab.rung("one", f"jax/{canary}.py", timeout="2m", args=args)]
        profile = str(self.lab.write("sized.yaml", self.PROFILE + shapes))
        self.lab.sliceup("run", self.lab.slice(hosts=1, ladder=str(self.lab.ladder("ladder.yaml", rungs)), profile=profile, pins="jax-cpu",
                                               env_dir=str(lab.SHARED_ENVS / "jax-cpu"), cache={"mode": "off"}), bound_s=400)
        entry = self.attempt(self.lab.receipt(), "h0", "one")
        return entry["outcome"], entry["cause"] and entry["cause"]["text"], "compile" in entry["phases"]

    def test_a_breach_is_named_before_anything_compiles(self):
        for canary, sizes in (("dense", "batch"), ("adamw", "batch"), ("checkpoint", "width"), ("attention", "length"), ("scan", "length"),
                              ("experts", "tokens"), ("hybrid", "length"), ("aot", "width")):
            with self.subTest(canary):
                outcome, cause, compiled = self.outcome(canary, f"shapes: {{{sizes}: [8, 16]}}\n", **{sizes: 64})
                self.assertEqual(("failed", False), (outcome, compiled))
                self.assertIn(f"{sizes} 64 is in no bucket of the profile's shapes (8, 16); nothing was compiled", cause)

    def test_what_it_allows_is_computed_with_and_padded_where_it_says_so(self):
        self.assertEqual("passed", self.outcome("dense", "shapes: {batch: [8, 64]}\n", batch=64)[0])
        self.assertEqual("passed", self.outcome("scan", "shapes: {batch: [8, 64], padding: true}\n", batch=6)[0])


class Speed(Jax):
    QUICK = {"rounds": 3, "window_ms": 5, "size": 64, "mib": 1}

    def test_each_host_tells_its_rates_and_one_below_a_floor_is_named(self):
        rung = {"id": "speed", "canary": "jax/speed.py", "scope": "slice", "timeout": "2m", "args": self.QUICK}
        for floors in ({}, {"min": {"speed.matmul_bf16_gflops": "1e-9", "speed.matmul_f32_gflops": 1e9}}):
            ended = self.climb([{**rung, **floors}], hosts=2, mesh={"data": 2, "model": 2})
            told = self.attempt(self.lab.receipt(), "h1", "speed")
            if not floors:
                self.passes(ended)
                facts = self.lab.receipt()["hosts"][1]["facts"]
                for kind, numbers in (("speed", 8), ("collective", 30), ("storage", 2)): # five kinds, two axes, three sizes
                    rates = [name for name in facts if name.startswith(f"number.{kind}.")]
                    self.assertEqual(numbers, len(rates), facts)
                    spreads = sum(name.startswith(f"spread.{kind}.") for name in facts)
                    self.assertEqual(numbers - (kind == "speed"), spreads) # the mean of two has none
                    self.assertTrue(all(float(facts[name]) > 0 for name in rates), facts)
            else:
                self.assertEqual(("failed", "host"), (told["outcome"], told["cause"]["owner"]))
                self.assertRegex(told["cause"]["text"], r"^speed\.matmul_f32_gflops is [\d.]+, and at least 1e\+09 is asked for by "
                                                        r"min of rung speed \(\S+:\d+\)$")

    def test_every_two_hosts_tell_of_their_link(self):
        # 10 ns is too little for any link: large exchanges are then of as many bytes as small ones.
        for seconds, large in ((60, "65536"), (1e-8, "4096")):
            rung = {"id": "links", "canary": "jax/links.py", "scope": "slice", "timeout": "2m",
                    "args": {"turns": 1, "large": 65536, "seconds": seconds}}
            self.passes(self.climb([rung], hosts=3, mesh={"data": 3, "model": 2}))
            for host in self.lab.receipt()["hosts"]:
                self.tells_of_its_links(host, {str(rank) for rank in range(3)} - {str(host["rank"])})
                self.assertEqual(large, host["facts"]["link.large_bytes"])

    def tells_of_its_links(self, host, others):
        told = {name: float(value) for name, value in host["facts"].items() if name.startswith("number.link.")}
        self.assertEqual({f"number.link.{peer}_{unit}" for peer in others for unit in ("gbs", "per_s")} | {"number.link.slowest_gbs"},
                         set(told))
        self.assertTrue(all(value > 0 for value in told.values()), told)
        self.assertEqual(len(others) * 2, sum(name.startswith("spread.link.") for name in host["facts"]))


class Liars(Jax):
    """Both axes of the mesh lie across hosts, so that a wrong axis is another thing than a local value."""

    def test_every_lie_about_a_metric_is_named(self):
        for canary, proof, missing in (("local_value", "local", []), ("wrong_axis", "wrong-axis", []),
                                       ("leaves_out_host", "partial", ["h3"]), ("mean_of_means", "mean-of-means", [])):
            with self.subTest(canary):
                rung = self.lab.rung("metric", f"jax/{canary}.py", scope="slice", timeout="2m", metrics=["loss"])
                ended = self.climb([rung], mesh={"data": 2, "model": 4})
                self.assertEqual(1, ended.status, ended)
                receipt = self.lab.receipt()
                self.assertEqual([(proof, missing)], [(item["proof"], item["missing"]) for item in receipt["reductions"]])
                sentence = receipt["headers"][0]["sentence"]
                self.assertRegex(sentence, rf"h\[0-3\] failed: metric loss is not proved over [^:]+ \(proof: {proof}\): ")
                self.assertEqual(bool(missing), "missing h3" in sentence)


if __name__ == "__main__":
    unittest.main()
