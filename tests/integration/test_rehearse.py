"""sliceup rehearse: slice files of TPU slices on this machine, with the stand-in for libtpu under real jax.

One home for all tests, below $SLICEUP_BUILD/envs: its environment is built once. Loopback addresses differ from run to run.
"""
import json
import os
import pathlib
import platform
import signal
import socket
import subprocess
import time
import unittest

import lab

SHIPPED = lab.TOP / "configs" / "slices" / "tpu-v6e-16.yaml"
HOME = lab.SHARED_ENVS / "rehearsal"
PODS = """slice: pods
launcher: join
hosts: 'pod-[0-1]'
coordinator: {address: 10.0.0.9, control_port: 7000, bulk_port: 7001}
machine: ct6e-standard-4t
topology: 2x4
mesh: {data: 4, model: 2}
profile: tpu-v6e
pins: jax-tpu
cache: {mode: "off"}
limits: {stop: 1s, cascade: 3s}
"""
ENVIRONMENT = {"id": "environment", "builtin": "restore", "timeout": "10m"}


@unittest.skipUnless(platform.machine() == "x86_64", "the CPU plugin of the stand-in is built for x86_64")
class Rehearsal(lab.LabTest):
    def setUp(self):
        super().setUp()
        self.lab.home = HOME
        HOME.mkdir(mode=0o700, parents=True, exist_ok=True)

    def rehearse(self, *args, bound_s=300):
        return self.lab.sliceup("rehearse", *args, "--plain", bound_s=bound_s)

    def receipt(self):
        return json.loads((self.folder() / "receipt.json").read_text())

    def folder(self):
        runs = HOME / "rehearsal" / "runs"
        return max((run for run in runs.iterdir() if (run / "created").exists()), key=lambda run: (run / "created").stat().st_mtime_ns)

    def pods(self, rungs, name="pods.yaml"):
        self.lab.ladder("ladder.yaml", rungs)
        return self.lab.write(name, PODS + "ladder: ./ladder.yaml\n")

    def outcomes(self, rung):
        return {host["host"]: next(one["outcome"] for one in host["rungs"] if one["rung"] == rung) for host in self.receipt()["hosts"]}

    def cause(self, host, rung):
        found = next(one for one in self.receipt()["hosts"] if one["host"] == host)
        return next(one["cause"] for one in found["rungs"] if one["rung"] == rung)


class Slices(Rehearsal):
    def test_the_shipped_slice_climbs_as_a_tpu(self):
        ended = self.passes(self.rehearse(SHIPPED, "--ladder", "jax"))
        self.assertIn("no TPU was used", ended.out)
        self.assertNotIn("fact env.", ended.out, "hosts that were told apart by us are no drift")
        receipt = self.receipt()
        header = receipt["headers"][0]
        self.assertEqual(("tpu-v6e-16-rehearsal", True, []), (receipt["slice"], header["rehearsal"], header["left_out"]))
        self.assertEqual({"loss", "tokens"}, {one["metric"] for one in receipt["reductions"]})
        backends = [host["backend"]["observed"] for host in receipt["hosts"]]
        self.assertEqual([("tpu", "TPU v6 lite", 16, 4, rank) for rank in range(4)],
                         [(one["platform"], one["device_kind"], one["devices"], one["local_devices"], one["process_index"])
                          for one in backends])
        text = self.passes(self.lab.sliceup("--home", HOME / "rehearsal", "receipt")).out
        self.assertIn("rehearsal on one machine", text)
        self.assertIn("asked for tpu, ran on tpu as the stand-in of a rehearsal shows it (TPU v6 lite", text)
        self.assertFalse((HOME / "runs").exists() and any((HOME / "runs").iterdir()), "a rehearsal left something among the runs")

    def test_slices_of_other_shapes(self):
        shapes = (("ct5p-hightpu-4t", "2x2x2", 2, "{data: 4, model: 2}"), ("ct6e-standard-8t", "2x4", 1, "{data: 4, model: 2}"),
                  ("tpu7x-standard-4t", "2x2x2", 2, "{data: 8, model: 2}"))
        self.lab.ladder("ladder.yaml", [{"id": "host-facts", "builtin": "facts"}, ENVIRONMENT, {"id": "collective", "canary": "jax/collective.py", "scope": "slice", "metrics": ["loss"]}])
        for machine, topology, hosts, mesh in shapes:
            with self.subTest(machine):
                slice_file = self.lab.write("slice.yaml", f"slice: shape\nlauncher: ssh\nhosts: 'h[1-{hosts}]'\nmachine: {machine}\n"
                                            f"topology: {topology}\nmesh: {mesh}\nprofile: tpu-v6e\npins: jax-tpu\ncache: {{mode: 'off'}}\n"
                                            "ladder: ./ladder.yaml\n")
                self.passes(self.rehearse(slice_file))
        self.passes(self.rehearse(self.pods([ENVIRONMENT, {"id": "tiny", "canary": "jax/tiny.py"}])))

    def test_what_init_writes_is_rehearsed_without_an_edit(self):
        node = {"name": "projects/p/locations/z/nodes/v6e", "id": "7519457668826798549", "acceleratorType": "v6e-8",
                "acceleratorConfig": {"type": "V6E", "topology": "2x4"}, "state": "READY", "health": "HEALTHY",
                "networkEndpoints": [{"ipAddress": f"10.0.0.{n}", "port": 8470} for n in (1, 2)]}
        described = self.lab.write("node.json", json.dumps(node))
        made = self.lab.files / "made.yaml"
        self.passes(self.lab.sliceup("init", "--gcloud", described, "-o", made))
        self.passes(self.rehearse(made))


class SeveralSlices(Rehearsal):
    """Two v6e-8 over the data-centre network, as docs/guide/multislice.md has them."""

    SHIPPED = lab.TOP / "configs" / "slices" / "tpu-2x-v6e-8.yaml"

    def with_rungs(self, rungs):
        self.lab.ladder("ladder.yaml", rungs)
        return self.lab.write("two.yaml", self.SHIPPED.read_text().replace("ladder: jax-full", "ladder: ./ladder.yaml"))

    def test_two_slices_climb_cold_and_restored_and_metrics_are_proved_between_them(self):
        slice_file = self.lab.write("new.yaml", self.SHIPPED.read_text().replace("dcn: 2", f"dcn{os.getpid()}: 2"))   # a cache of its own
        ended = self.passes(self.rehearse(slice_file, "--ladder", "jax"))
        self.assertNotRegex(ended.out, "drift: .*(policy|fact|worker number)")   # slices are no difference of hosts
        self.assertRegex(ended.out, r"metric loss = \S+: proved over dcn\d+, data, model")
        self.assertRegex(ended.out, r"metric tokens = \S+: proved over dcn\d+\b")
        receipt = self.receipt()
        backends = [host["backend"]["observed"] for host in receipt["hosts"]]
        self.assertEqual([("tpu", "TPU v6 lite", 16, 4, rank) for rank in range(4)],
                         [(one["platform"], one["device_kind"], one["devices"], one["local_devices"], one["process_index"]) for one in backends])
        self.assertEqual({"cold", "restored"}, {rung["pass"] for host in receipt["hosts"] for rung in host["rungs"]} - {"once"})
        seen = {host["host"]: host["policy"]["observed"] for host in receipt["hosts"]}
        self.assertEqual({"a-0": ("0", "2"), "a-1": ("0", "2"), "b-0": ("1", "2"), "b-1": ("1", "2")},
                         {host: (values["MEGASCALE_SLICE_ID"], values["MEGASCALE_NUM_SLICES"]) for host, values in seen.items()})
        self.assertEqual(1, len({values["MEGASCALE_COORDINATOR_ADDRESS"] for values in seen.values()}))

    def test_devices_say_in_which_slice_they_are(self):
        """What jax makes a hybrid mesh of (jax.experimental.mesh_utils.create_hybrid_device_mesh)."""
        program = ("import jax, os\nfrom jax.experimental import mesh_utils\n"
                   "jax.distributed.initialize(os.environ['MASTER'], int(os.environ['WORLD']), int(os.environ['RANK']))\n"
                   "mesh = mesh_utils.create_hybrid_device_mesh((4, 2), (2, 1))\n"
                   "print('slices', sorted({d.slice_index for d in jax.devices()}), mesh.shape,"
                   " [sorted({d.slice_index for d in half.flat}) for half in (mesh[:4], mesh[4:])], flush=True)\n")
        profile = (lab.TOP / "configs/profiles/tpu-v6e.yaml").read_text().replace("profile: tpu-v6e", "profile: own")
        self.lab.write("own.yaml", profile + "port: 29517\nslice_env: {MASTER: '{rendezvous}', WORLD: '{world}', RANK: '{rank}'}\n")
        self.lab.write("hybrid.py", program)
        slice_file = self.with_rungs([{"id": "host-facts", "builtin": "facts"}, ENVIRONMENT,
                                      {"id": "hybrid", "command": ["python", "./hybrid.py"], "scope": "slice", "timeout": "3m", "env": True}])
        slice_file.write_text(slice_file.read_text().replace("profile: tpu-v6e", "profile: ./own.yaml"))
        self.passes(self.rehearse(slice_file))
        for log in self.folder().glob("hosts/*/*hybrid*"):
            self.assertIn("slices [0, 1] (8, 2) [[0], [1]]", log.read_text(errors="replace"))

    def test_a_wrong_worker_number_is_found_within_its_slice(self):
        ended = self.rehearse(self.with_rungs([{"id": "host-facts", "builtin": "facts"}, ENVIRONMENT, {"id": "c", "canary": "jax/collective.py", "scope": "slice"}]),
                              "--wrong", "b-0:TPU_WORKER_ID=1")
        self.assertEqual(1, ended.status, ended)
        self.assertIn("b-0 failed: has TPU_WORKER_ID 1, which is the place of b-1, expected 0", ended.out)

    def test_a_slice_that_is_missing_is_named(self):
        odd = {"id": "odd", "command": ["sh", "-c", 'case "$SLICEUP_HOST" in b-*) echo "OSError: the pod is gone" >&2; exit 3;; esac'], "timeout": "30s"}
        ended = self.rehearse(self.with_rungs([odd]))
        self.assertEqual(1, ended.status, ended)
        self.assertIn("b-[0-1] (slice 1) failed", ended.out)
        explained = self.lab.sliceup("--home", HOME / "rehearsal", "explain").out
        self.assertIn("b-[0-1] (slice 1) failed", explained)
        self.assertRegex(explained, r"whose fault\n.*\n?  b-\[0-1\] \(slice 1\)  failed")
        self.assertRegex(explained, r"a-\[0-1\] \(slice 0\)  passed this rung")

    def test_what_check_says_of_slices(self):
        text = self.SHIPPED.read_text()
        checked = self.passes(self.lab.sliceup("check", self.SHIPPED)).out
        self.assertIn("slices  2, of 2 hosts each, over the data-centre network", checked)
        self.assertIn("MEGASCALE_SLICE_ID={slice}", checked)
        for was, now, said in (("dcn: 2, data: 4, model: 2", "data: 1, dcn: 16", "the first axis of the mesh, data, has 1 devices, expected a multiple of 2"),
                               ("slices: 2", "slices: 3", "4 hosts are no 3 slices of equal size"),
                               ("topology: 2x4", "topology: 4x4", "but each slice has 2"), ("slices: 2", "slices: 0", "slices")):
            refused = self.lab.sliceup("check", self.lab.write("wrong.yaml", text.replace(was, now)))
            self.assertEqual(2, refused.status, refused)
            self.assertIn(said, refused.err)
        refused = self.lab.sliceup("check", self.SHIPPED, "--exclude", "b-1")
        self.assertIn("expected all of 2 slices: the runtime waits for each of them", refused.err)


class StandIn(Rehearsal):
    """The library by itself, under the Python that a rehearsal built."""

    python = None

    def setUp(self):
        super().setUp()
        if not StandIn.python:
            self.passes(self.rehearse(self.pods([ENVIRONMENT])))
            StandIn.python = next((HOME / "rehearsal" / "envs").glob("*/bin/python"))

    def program(self, text, **env):
        settings = {"PATH": "/usr/bin:/bin", "JAX_PLATFORMS": "tpu", "TPU_LIBRARY_PATH": str(lab.BUILD / "bin" / "libtpu-stand-in.so"),
                    "TPU_SKIP_MDS_QUERY": "1", "TPU_ACCELERATOR_TYPE": "v6e-4", "TPU_HOST_BOUNDS": "1,1,1",
                    "SLICEUP_STANDIN_HOST": str(os.getpid()), **env}
        started = subprocess.Popen([self.python, "-c", text], env=settings, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        self.addCleanup(self.end, started)
        return started

    @staticmethod
    def end(process):
        process.kill()
        process.communicate(timeout=30)

    def test_a_held_device_is_refused_by_the_pid_of_its_holder_every_time(self):
        holder = self.program("import jax; print(len(jax.devices()), flush=True); input()")
        self.assertEqual("4\n", holder.stdout.readline())
        for _ in range(4):
            refused = self.program("import jax; jax.devices()").communicate(timeout=60)[0]
            self.assertIn(f"already in use by process with pid {holder.pid}", refused)
        other = self.program("import jax; print(len(jax.devices()))", SLICEUP_STANDIN_HOST="another").communicate(timeout=60)[0]
        self.assertEqual("4\n", other)

    def test_who_connects_and_says_nothing_keeps_nobody_from_meeting(self):
        first, second = (f"127.{os.getpid() % 250 + 1}.9.{n}" for n in (1, 2))
        slice_of_two = {"TPU_HOST_BOUNDS": "1,2,1", "TPU_WORKER_HOSTNAMES": f"{first},{second}", "TPU_ACCELERATOR_TYPE": "v6e-8"}
        text = "import jax; print(len(jax.devices()), flush=True)"
        zero = self.program(text, TPU_WORKER_ID="0", **slice_of_two)
        silent = [lab.wait_for(lambda: self.connect(first), "a process that listens", 60) for _ in range(2)]
        one = self.program(text, TPU_WORKER_ID="1", **{**slice_of_two, "SLICEUP_STANDIN_HOST": "another"})
        self.assertEqual(("8\n", "8\n"), (one.communicate(timeout=60)[0], zero.communicate(timeout=60)[0]))
        for connection in silent:
            connection.close()

    def test_programs_on_a_part_of_the_processes_and_on_all_of_them(self):
        first, second = (f"127.{os.getpid() % 250 + 1}.10.{n}" for n in (1, 2))
        text = ("import jax, jax.numpy as jnp, numpy as np\n"
                "from jax.sharding import Mesh, NamedSharding, PartitionSpec as P\n"
                "d = sorted(jax.devices(), key=lambda one: (one.process_index, one.id))\n"
                "def total(devices, n):\n"
                "    sharding = NamedSharding(Mesh(np.array(devices), ('x',)), P('x'))\n"
                "    made = jax.jit(lambda: jnp.arange(float(n)), out_shardings=sharding)()\n"
                "    whole = jax.jit(jnp.sum, out_shardings=NamedSharding(sharding.mesh, P()))(made)\n"
                "    return [float(np.asarray(part.data)) for part in whole.addressable_shards]\n"
                "print(total(d[:4], 8)[:1], total(d, 16)[:1], total(d[4:], 8)[:1], total(d[2:6], 4)[:1], flush=True)\n")
        slice_of_two = {"TPU_HOST_BOUNDS": "1,2,1", "TPU_WORKER_HOSTNAMES": f"{first},{second}", "TPU_ACCELERATOR_TYPE": "v6e-8"}
        both = [self.program(text, TPU_WORKER_ID=str(rank), **{**slice_of_two, "SLICEUP_STANDIN_HOST": f"{os.getpid()}-{rank}"})
                for rank in range(2)]
        self.assertEqual(["[28.0] [120.0] [] [6.0]\n", "[] [120.0] [28.0] [6.0]\n"], [one.communicate(timeout=60)[0] for one in both])

    @staticmethod
    def connect(address):
        try:
            return socket.create_connection((address, 8471), 1)
        except OSError:
            return None


class Plans(Rehearsal):
    def test_rungs_that_need_a_tpu_are_left_out_by_name(self):
        planned = self.passes(self.rehearse(SHIPPED, "--check")).out
        self.assertIn("  left out: attention-kernel\n", planned)
        self.assertNotIn("attention-kernel   ", planned)
        self.assertIn("attention-kernel   ", self.passes(self.rehearse(SHIPPED, "--check", "--all")).out)
        named = self.passes(self.lab.sliceup("check", SHIPPED, "--leave-out", "hybrid")).out
        self.assertIn("  left out: hybrid\n", named)
        ended = self.lab.sliceup("check", SHIPPED, "--leave-out", "hybird")
        self.assertEqual(2, ended.status)
        self.assertIn("did you mean 'hybrid'?", ended.err)

    def test_what_cannot_be_rehearsed_is_refused(self):
        cases = (("topology: 4x4\n", "", "has no machine and topology"),
                 ("launcher: ssh", "launcher: shh", "did you mean"))
        for old, new, expected in cases:
            with self.subTest(new):
                text = SHIPPED.read_text()
                self.assertIn(old, text)
                slice_file = self.lab.write("slice.yaml", text.replace(old, new))
                ended = self.rehearse(slice_file, "--check")
                self.assertEqual(2, ended.status, ended)
                self.assertIn(expected, ended.err)
        ended = self.rehearse(lab.TOP / "configs" / "slices" / "local-jax.yaml", "--check")
        self.assertEqual(2, ended.status, ended)
        self.assertIn("expected jax or torch_xla with backend tpu", ended.err)
        for wrong in ("nobody:A=1", "v6e-1", "v6e-1:=1", "v6e-1:9X=1"):
            ended = self.rehearse(SHIPPED, "--check", "--wrong", wrong)
            self.assertEqual(2, ended.status, ended)
            self.assertIn("expected HOST:NAME=VALUE", ended.err)


class Mistakes(Rehearsal):
    """One host has a wrong variable, or something happens to it: sliceup names the host, and the variable."""

    def test_wrong_variables_are_named_before_any_program_starts(self):
        slice_file = self.lab.write("slice.yaml", SHIPPED.read_text().replace("ladder: jax-full", "ladder: jax"))
        for wrong in ("TPU_WORKER_ID=1", "TPU_WORKER_ID", "TPU_HOST_BOUNDS=1,1,1", "TPU_WORKER_HOSTNAMES=a,b,c", "MEGASCALE_SLICE_ID=1",
                      "TPU_ACCELERATOR_TYPE=v6e-4"):
            with self.subTest(wrong):
                ended = self.rehearse(slice_file, "--wrong", f"v6e-2:{wrong}")
                self.assertEqual(1, ended.status, ended)
                failed = [host for host, outcome in self.outcomes("host-facts").items() if outcome == "failed"]
                self.assertEqual(["v6e-2"], failed)
                self.assertIn(wrong.split("=")[0], self.cause("v6e-2", "host-facts")["text"])

    def test_a_host_that_waits_for_others_than_the_rest_is_named_in_bounded_time(self):
        rungs = [ENVIRONMENT, {"id": "collective", "canary": "jax/collective.py", "scope": "slice", "timeout": "12s"}]
        began = time.monotonic()
        ended = self.rehearse(self.pods(rungs), "--wrong", "pod-1:TPU_WORKER_HOSTNAMES=127.9.9.1,127.9.9.2")
        self.assertEqual(1, ended.status, ended)
        self.assertLess(time.monotonic() - began, 90)
        self.assertIn("TPU_WORKER_HOSTNAMES", ended.out)

    def summing(self, **args):
        rungs = [ENVIRONMENT, {"id": "sums", "canary": str(lab.TOP / "tests/canaries/jax/sums.py"), "scope": "slice", "timeout": "20s", "args": args}]
        run = self.lab.start("rehearse", self.pods(rungs), "--plain")
        run.wait_out("sums attempt 1 began", 120)
        return run

    def program_of(self, host):
        def found():
            marks = f"/hosts/{host}/"
            for entry in pathlib.Path("/proc").iterdir():
                try:
                    words = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
                    where = os.readlink(entry / "cwd") if b"sums.py" in words else ""
                except OSError:
                    continue
                if marks in where + "/":
                    return int(entry.name)
            return None
        return lab.wait_for(found, f"the program of {host}", 60)

    def until_summing(self):
        lab.wait_for(lambda: all("summing" == host["phase"] for host in self.status()), "all hosts to sum", 60)

    def status(self):
        said = self.lab.sliceup("--home", HOME / "rehearsal", "status", "--json")
        return json.loads(said.out)["hosts"]["list"] if said.out else [{"phase": ""}]

    def test_a_host_that_dies_among_collectives_is_named(self):
        run = self.summing()
        self.until_summing()
        os.kill(self.program_of("pod-1"), signal.SIGKILL)
        self.assertEqual(1, run.end(120).status)
        self.assertEqual({"pod-0": "cascade", "pod-1": "failed"}, self.outcomes("sums"))
        self.assertIn("killed by signal 9", self.cause("pod-1", "sums")["text"])

    def test_a_host_that_stops_among_collectives_is_named(self):
        run = self.summing()
        self.until_summing()
        os.kill(self.program_of("pod-1"), signal.SIGSTOP)
        ended = run.end(180)
        self.assertEqual(1, ended.status, ended)
        self.assertEqual("timed-out", self.outcomes("sums")["pod-1"], ended)

    def test_a_host_that_launches_another_program_is_told(self):
        run = self.summing(other="pod-1")
        ended = run.end(180)
        self.assertEqual(1, ended.status, ended)
        self.assertIn("different launch id", json.dumps(self.receipt()))


if __name__ == "__main__":
    unittest.main()
