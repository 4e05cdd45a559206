"""The torch_xla canaries' helper without torch: what torch_xla 2.7.0 answered on four CPU devices, and what follows from it."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.append(str(TOP / "worker" / "canaries" / "torch_xla"))
import sliceup_torch_xla  # noqa: E402
import sliceup_torch_xla_mesh as mesh  # noqa: E402
from sliceup_jax_guard import Guard  # noqa: E402
from sliceup_canary import Failure, allowed_size  # noqa: E402
from sliceup_torch_xla_client import Client  # noqa: E402
from sliceup_torch_xla_counts import Counts, Steps  # noqa: E402

# Other tests of this process may import jax.
sliceup_torch_xla.GUARD.open()
sys.excepthook = sys.__excepthook__

FOUR = ["CPU:0", "CPU:1", "CPU:2", "CPU:3"]


def runtime(real, called, locked):
    """Recorded: the first device's real name, is_spmd(), and whether the choice was made before the helper came."""
    core = types.SimpleNamespace(
        _xla_get_spmd_config_is_locked=lambda: locked, _xla_real_devices=lambda devices: [real],
        _xla_get_runtime_devices=lambda: FOUR, _xla_get_all_runtime_devices=lambda: FOUR, _xla_device_kind=lambda device: "cpu",
        _get_git_revs=lambda: {"xla": "d5871fc442222a96fbdf45229c4408c63740b782"})
    calls = types.SimpleNamespace(use_spmd=lambda: None, is_spmd=lambda: called, process_count=lambda: 1, process_index=lambda: 0)
    return types.SimpleNamespace(_XLAC=core, runtime=calls, device=lambda: "xla:0")


class Modes(unittest.TestCase):
    # real device, is_spmd(), locked, wanted: what is said. A late use_spmd() made torch_xla print a UserWarning,
    # "Replicating tensors already initialized on non-virtual XLA device for SPMD to force SPMD mode.", and end with status 0.
    CASES = (("SPMD:0", True, False, True, None),
             ("CPU:0", False, False, False, None),
             ("CPU:0", True, True, True, "called too late"),
             ("CPU:0", True, True, False, "called too late"),
             ("CPU:0", False, True, True, "SPMD is missing"),
             ("SPMD:0", True, True, True, None),
             ("SPMD:0", True, True, False, "not one of SPMD"))

    def test_the_order_is_told_from_the_first_device(self):
        for real, called, locked, wanted, words in self.CASES:
            with self.subTest(real=real, called=called, locked=locked, wanted=wanted):
                if not words:
                    Client(runtime(real, called, locked), "2.7.0", wanted)
                    continue
                with self.assertRaises(Failure) as caught:
                    Client(runtime(real, called, locked), "2.7.0", wanted)
                self.assertEqual("program", caught.exception.owner)
                self.assertIn(words, str(caught.exception))

    def test_the_platform_is_the_clients_and_not_the_variables(self):
        with unittest.mock.patch.dict(os.environ, PJRT_DEVICE="TPU"):
            client = Client(runtime("CPU:0", False, False), "2.7.0", False)
            seen = client.describe()
            self.assertEqual(("cpu", "cpu", 4), (seen["platform"], seen["device_kind"], seen["devices"]))
            self.assertEqual("built into torch_xla 2.7.0 (d5871fc44222)", seen["platform_version"])
            self.assertRaisesRegex(Failure, "PJRT_DEVICE says TPU, but the client and its devices are of CPU", client.expect_variable)


class Order(unittest.TestCase):
    """Four hosts of 2x2 chips in a grid of 4x4; ordinals run row by row through the whole grid."""

    GRID = {4 * y + x: {"name": f"TPU:{4 * y + x}", "coords": [x, y, 0], "core_on_chip": 0} for y in range(4) for x in range(4)}

    def test_hosts_are_blocks_and_four_chips_are_a_ring(self):
        for rank, local in enumerate(([0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15])):
            order = mesh.link_order(self.GRID, local)
            self.assertEqual([0, 1, 5, 4, 2, 3, 7, 6, 8, 9, 13, 12, 10, 11, 15, 14], order)
            mesh.expect_place(order, local, rank)

    def test_a_host_at_another_place_is_refused(self):
        order = mesh.link_order(self.GRID, [2, 3, 6, 7])
        self.assertRaisesRegex(Failure, r"devices of host 0 of the mesh: expected \[0, 1, 4, 5\]", mesh.expect_place, order, [2, 3, 6, 7], 0)


class Watched(unittest.TestCase):
    """Counters of five steps as they were read."""

    def judge(self, compiled, reads, allowed):
        state = {"UncachedCompile": 0, "TransferFromDeviceTime": 0}
        metrics = types.SimpleNamespace(counter_value=lambda name: state.get(name) or None,
                                        metric_data=lambda name: (state[name], 0.0, ()) if state.get(name) else None)
        steps = Steps(Counts(metrics))
        for compiles, values in zip(compiled, reads):
            state["UncachedCompile"], state["TransferFromDeviceTime"] = compiles, values
            steps.ended()
        steps.judge(allowed)

    def test_one_program_and_one_read_are_right(self):
        self.judge((1, 1, 1, 1, 1), (0, 0, 0, 0, 1), 1)

    def test_a_program_each_step(self):
        self.assertRaisesRegex(Failure, "steps 2..5 for 4 more", self.judge, (1, 2, 3, 4, 5), (0, 0, 0, 0, 1), 1)

    def test_a_read_each_step(self):
        self.assertRaisesRegex(Failure, "values were read 5 times in 5 steps", self.judge, (1, 1, 1, 1, 1), (1, 2, 3, 4, 5), 1)


class Shapes(unittest.TestCase):
    def test_a_size_is_allowed_padded_or_refused(self):
        self.assertEqual(8, allowed_size("batch", 8, [16, 8], False))
        self.assertEqual(16, allowed_size("batch", 12, [16, 8], True))
        for size, padding, hint in ((12, False, "set padding: true to compute with 16"), (17, True, "choose one of them$")):
            with self.assertRaisesRegex(Failure, rf"batch {size} is in no bucket of the profile's shapes \(8, 16\).*{hint}"):
                allowed_size("batch", size, [16, 8], padding)


class JaxFirst(unittest.TestCase):
    """A folder with a jax of its own, and canaries that never come to torch."""

    HELPER = f"import sys\nsys.path.append({str(TOP / 'worker' / 'canaries' / 'torch_xla')!r})\nimport sliceup_torch_xla\n"
    BODY = "def body(session):\n    pass\nsliceup_torch_xla.run(body)\n"

    def told(self, program):
        """Run by hand: the exit status, the failures that it said as (owner, text), and whether jax was executed."""
        with tempfile.TemporaryDirectory() as place:
            (pathlib.Path(place) / "jax.py").write_text("print('jax was executed')\n")
            (pathlib.Path(place) / "canary.py").write_text(program)
            ended = subprocess.run([sys.executable, "-B", "canary.py"], cwd=place, capture_output=True, text=True, timeout=60, check=False)
        lines = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
        failures = [(line["layer"], line["text"]) for line in lines if line["type"] == "failure"]
        return ended.returncode, failures, "jax was executed" in ended.stdout

    def test_jax_behind_the_helper_is_refused_before_it_runs(self):
        status, failures, executed = self.told(self.HELPER + "import jax\n" + self.BODY)
        self.assertEqual((1, 1, False), (status, len(failures), executed))
        self.assertEqual("launch", failures[0][0])
        self.assertIn("jax was imported before torch_xla made its client", failures[0][1])

    def test_so_is_one_of_its_modules(self):
        status, failures, executed = self.told(self.HELPER + "from jax.numpy import sin\n" + self.BODY)
        self.assertEqual((1, "launch", False), (status, failures[0][0], executed))

    def test_jax_before_the_helper_is_told_before_torch_is_imported(self):
        status, failures, executed = self.told("import jax\n" + self.HELPER + self.BODY)
        self.assertEqual((1, 1, True), (status, len(failures), executed))
        self.assertEqual("launch", failures[0][0])
        self.assertIn("jax was imported before torch_xla made its client", failures[0][1])

    def test_an_error_of_its_own_is_left_to_python(self):
        status, failures, _ = self.told(self.HELPER + "1 / 0\n")
        self.assertEqual((1, []), (status, failures))

    def test_who_only_looks_whether_jax_is_there_is_told(self):
        look = "import importlib.util\nprint('{}', importlib.util.find_spec('jax') is not None, importlib.util.find_spec('jay') is not None)\n"
        with tempfile.TemporaryDirectory() as place:
            (pathlib.Path(place) / "jax.py").touch()
            ended = subprocess.run([sys.executable, "-B", "-c", self.HELPER + look], cwd=place, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((0, "{} True False\n"), (ended.returncode, ended.stdout), ended)

    def test_no_other_module_is_refused_and_none_after_the_client(self):
        guard = Guard()
        self.assertRaisesRegex(Failure, "before torch_xla made its client", guard.exec_module, None)
        for name in ("jaxlib", "jaxtyping", "torch", "jax.numpy"):
            self.assertIsNone(guard.find_spec(name))
        with unittest.mock.patch.object(sys, "meta_path", [guard, *sys.meta_path]):
            guard.open()
            self.assertNotIn(guard, sys.meta_path)


if __name__ == "__main__":
    unittest.main()
