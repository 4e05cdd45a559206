"""What nvidia-smi prints becomes facts: real lines of public logs, and what no healthy command prints.

Lines of cards are from public documentation and logs that people pasted: an H100 (driver 595.71.05), a V100 of a cluster's guide
(32480 MiB) and a GeForce RTX 3070; columns are what their authors asked for, so the header decides.
"""
import os
import pathlib
import stat
import sys
import tempfile
import threading
import unittest
import unittest.mock

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "worker" / "canaries" / "jax"))
import sliceup_counters  # noqa: E402

H100 = """index, name, driver_version, pstate, pcie.link.gen.current, temperature.gpu, utilization.gpu [%], utilization.memory [%], \
memory.total [MiB], memory.free [MiB], memory.used [MiB]
0, NVIDIA H100 80GB HBM3, 595.71.05, P0, 5, 29, 0 %, 0 %, 81559 MiB, 81081 MiB, 0 MiB
"""
V100 = """index, timestamp, utilization.gpu [%], utilization.memory [%], memory.total [MiB], memory.used [MiB], memory.free [MiB]
0, 2020/11/12 13:48:11.412, 99 %, 52 %, 32480 MiB, 30994 MiB, 1486 MiB
"""
ECC = """index, ecc.errors.corrected.volatile.total, ecc.errors.uncorrected.volatile.total, clocks.sm [MHz]
0, 0, 3, 1980 MHz
1, 0, [N/A], [Not Supported]
2, 0, N/A, [Unknown Error]
"""
UNKNOWN_FIELD = 'Field "clocks_throttle_reasons.active" is not a valid field to query.\n\n'


class Nvidia(unittest.TestCase):
    def told(self, text):
        return dict(sliceup_counters.nvidia_facts(text))

    def test_values_stand_with_their_units_by_card(self):
        self.assertEqual({"nvidia-smi.0.temperature.gpu": "29", "nvidia-smi.0.utilization.gpu": "0 %", "nvidia-smi.0.pcie.link.gen.current": "5",
                          "nvidia-smi.0.utilization.memory": "0 %", "nvidia-smi.0.memory.total": "81559 MiB",
                          "nvidia-smi.0.memory.used": "0 MiB"}, self.told(H100))
        self.assertEqual("30994 MiB", self.told(V100)["nvidia-smi.0.memory.used"])

    def test_what_is_not_supported_is_absent_and_not_zero(self):
        self.assertEqual({"nvidia-smi.0.ecc.errors.uncorrected.volatile.total": "3", "nvidia-smi.0.clocks.sm": "1980 MHz"},
                         self.told(ECC))

    def test_what_is_no_table_tells_nothing(self):
        for text in ("", "\n\n", UNKNOWN_FIELD, "No devices were found\n", H100.splitlines()[1], "index\n", "index, clocks.sm [MHz]\n0\n",
                     "index, clocks.sm [MHz]\n\u0663, 5 MHz\n", "index, clocks.sm [MHz]\n-1, 5 MHz\n1e3, 5\n",
                     "index, clocks.sm [MHz]\n0, \x1b[31m5\n", f"index, clocks.sm [MHz]\n0, {'5' * 65}\n"):
            self.assertEqual({}, self.told(text), text)

    def test_it_is_bounded(self):
        many = "index, clocks.sm [MHz]\n" + "".join(f"{card}, 5 MHz\n" for card in range(999))
        self.assertEqual(sliceup_counters.DEVICES, len(self.told(many)))

    def test_a_command_that_is_not_here_fails_or_hangs_tells_nothing(self):
        self.assertEqual("", sliceup_counters.nvidia_smi(command="/nonexistent/nvidia-smi"))
        with tempfile.TemporaryDirectory() as folder:
            command = pathlib.Path(folder) / "nvidia-smi"
            for script, want in (("cat <<'E'\n" + H100 + "E", H100), ("echo 'index'; exit 9", ""), ("echo index; exit 14", "index\n"), ("head -c 65536 /dev/zero", "\0" * (1 << 16)),
                                 ("head -c 65537 /dev/zero", ""), ("exec head -c 999999999999999 /dev/zero", "")):
                command.write_text(f"#!/bin/sh\n{script}\n")
                command.chmod(stat.S_IRWXU)
                self.assertEqual(want, sliceup_counters.nvidia_smi(command=str(command)))
            sliceup_counters.SECONDS, usual = 0.2, sliceup_counters.SECONDS
            self.addCleanup(setattr, sliceup_counters, "SECONDS", usual)
            for hangs in ("exec sleep 60", "exec >&-\nexec sleep 60"):
                command.write_text(f"#!/bin/sh\n{hangs}\n")
                self.assertEqual("", sliceup_counters.nvidia_smi(command=str(command)))

    def test_rows_of_memory_and_the_fabric_are_told_by_card(self):
        self.assertEqual({"nvidia-smi.0.remapped_rows.pending": "No", "nvidia-smi.1.remapped_rows.pending": "Yes", "nvidia-smi.1.remapped_rows.uncorrectable": "4"},
                         self.told("remapped_rows.uncorrectable, remapped_rows.pending, remapped_rows.failure\n[N/A], No, [N/A]\n4, Yes, N/A\n"))
        self.assertEqual({"nvidia-smi.3.fabric.state": "Completed", "nvidia-smi.3.fabric.status": "Success"},
                         self.told("index, fabric.state, fabric.status\n3, Completed, Success\n"))
        self.assertEqual({}, self.told("pci.bus_id, clocks.sm [MHz]\n00000000:01:00.0, 5 MHz\n"))

    def test_links_are_counted_by_their_state(self):
        """An H100 PCIe with a bridge on part of its links, as its owner pasted it; and forms without links."""
        states = ["26.562 GB/s"] * 4 + ["<inactive>"] * 2 + ["26.562 GB/s"] * 4
        text = "GPU 0: NVIDIA H100 PCIe (UUID: GPU-0)\n" + "".join(f"\t Link {number}: {state}\n" for number, state in enumerate(states))
        self.assertEqual({"nvidia-smi.0.nvlink": "8 x 26.562 GB/s, 2 x inactive"}, dict(sliceup_counters.nvlink_facts(text)))
        self.assertEqual({"nvidia-smi.0.nvlink": "10 x 26.562 GB/s", "nvidia-smi.7.nvlink": "1 x inactive"},
                         dict(sliceup_counters.nvlink_facts(text.replace("<inactive>", "26.562 GB/s") + "GPU 7: NVIDIA\n\t Link 0: <inactive>\n")))
        self.assertEqual({"nvidia-smi.0.nvlink": "all inactive"}, dict(sliceup_counters.nvlink_facts(
            "GPU 0: N (UUID: GPU-0)\nNVML: Unable to retrieve NVLink information as all links are inActive\n")))
        for other in ("", "\t Link 0: 25 GB/s\n", "GPU 0: NVIDIA L4 (UUID: GPU-0)\n", "GPU x: NVIDIA\n Link 0: 1\n",
                      "NVML: Unable to retrieve NVLink information as all links are inActive\n", "GPU 0: N\n\t Link 0: \x1b[31m\n",
                      f"GPU 0: N\n\t Link 0: {'9' * 33}\n"):
            self.assertEqual({}, dict(sliceup_counters.nvlink_facts(other)), other)

    def test_without_libtpu_nothing_is_told(self):
        self.assertEqual([], list(sliceup_counters.libtpu_facts()))


class Libtpu(unittest.TestCase):
    """A module in place of libtpu's, which needs the chips: by its documented calls."""

    def told(self, text):
        with tempfile.TemporaryDirectory() as folder:
            package = pathlib.Path(folder) / "libtpu" / "sdk"
            package.mkdir(parents=True)
            (package.parent / "__init__.py").touch()
            (package / "__init__.py").touch()
            (package / "tpumonitoring.py").write_text(text)
            sys.path.insert(0, folder)
            try:
                return dict(sliceup_counters.libtpu_facts())
            finally:
                sys.path.remove(folder)
                for name in [name for name in sys.modules if name.split(".")[0] == "libtpu"]:
                    del sys.modules[name]

    MODULE = """
class Metric:
    def __init__(self, values):
        self.values = values
    def data(self):
        return self.values
KNOWN = {"duty_cycle_pct": ["12.50", "0.00"], "hbm_capacity_usage": [], "tensorcore_util": RAISES, "own": ["1"]}
def list_supported_metrics():
    return list(KNOWN)
def get_metric(name):
    return Metric(KNOWN[name]) if KNOWN[name] is not None else 1 / 0
"""

    def test_what_this_version_knows_and_answers_is_told(self):
        self.assertEqual({"libtpu-sdk.duty_cycle_pct": "12.50,0.00"}, self.told(self.MODULE.replace("RAISES", "None")))
        self.assertEqual({}, self.told("raise OSError ('no chips')"))


class Told(unittest.TestCase):
    """What reaches the receipt: no more than there is room for, and nothing is waited for without an end."""

    def tell(self, told_before):
        canary = unittest.mock.Mock(facts_told=told_before)
        with unittest.mock.patch.object(sliceup_counters, "nvidia_smi", lambda *words, until: H100 if "utilization" in words[0] else ""), \
             unittest.mock.patch.object(sliceup_counters, "libtpu_facts", return_value=[("libtpu-sdk.duty_cycle_pct", "1")]):
            sliceup_counters.tell(canary)
        return canary

    def test_what_there_is_no_room_for_is_counted(self):
        for room, told in ((100, 7), (7, 7), (5, 5), (0, 0), (-9, 0)):
            canary = self.tell(sliceup_counters.FACTS - room)
            self.assertEqual(told, canary.fact.call_count, room)
            self.assertEqual([] if told == 7 else [f"{7 - told} of 7 facts that devices tell by themselves were left out: there is room for 224 facts in all"],
                             [call.args[0] for call in canary.note.call_args_list])

    def test_a_library_that_hangs_is_left_behind(self):
        goes_on = threading.Event()
        self.addCleanup(goes_on.set)

        def facts():
            yield "libtpu-sdk.a", "1"
            goes_on.wait()
            yield "libtpu-sdk.b", "2"

        self.assertEqual([("libtpu-sdk.a", "1")], sliceup_counters.within(0.2, facts))


if __name__ == "__main__":
    unittest.main()
