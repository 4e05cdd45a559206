"""GPUs in jax canaries, without one: jax that passes over a plugin, and what NCCL wrote as facts, by lines of public issue threads (NVIDIA/nccl 707,
1412, 1538, 1814) and guides, of versions 2.12 to 2.26."""
import contextlib
import io
import pathlib
import sys
import tempfile
import time
import unittest
import unittest.mock

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "worker" / "canaries" / "jax"))
import sliceup_jax  # noqa: E402
import sliceup_gpu  # noqa: E402

IB = """a:47021:47088 [0] NCCL INFO cudaDriverVersion 12040
a:47021:47088 [0] NCCL INFO NCCL version 2.20.5+cuda12.4
a:47021:47095 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.4.2.31<0>
a:47021:47095 [0] NCCL INFO Using network IB
a:5663:5809 [0] NCCL INFO Channel 04/0 : 0[0] -> 7[7] via P2P/CUMEM
a:5663:5809 [0] NCCL INFO Channel 00/0 : 7[7] -> 8[0] [receive] via NET/IB/4/GDRDMA
a:5663:5809 [0] NCCL INFO Channel 00/0 : 4[0] -> 12[0] [send] via NET/IB/0(8)/GDRDMA
a:5663:5809 [0] NCCL INFO NVLS multicast support is not available on dev 0 (NVLS_NCHANNELS 0)
a:5663:5809 [0] NCCL INFO Channel 00/24 :    0   1   2   3   4   5   6   7
"""
OLD = """10-90-43-152:120890:121560 [0] NCCL INFO Channel 01 : 2[c7000] -> 0[87000] [receive] via NET/IB/5/GDRDMA
b:22:22 [0] NCCL INFO Using network Socket
NCCL version 2.12.7+cuda11.4
"""
SOCKET = """c:880:887 [0] NCCL INFO NET/IB : No device found.
c:880:887 [0] NCCL INFO NET/Socket : Using [0]eth0:172.17.0.2<0>
c:880:887 [0] NCCL INFO Using non-device net plugin version 0
c:880:887 [0] NCCL INFO NET/OFI Selected Provider is efa (found 1 nics)
c:880:887 [0] NCCL INFO Using network AWS Libfabric
c:880:887 [0] NCCL INFO Channel 00 : 0[1b000] -> 1[43000] via SHM/direct/direct
c:880:887 [0] NCCL INFO Channel 00/0 : 4[0] -> 12[0] [send] via NET/AWS Libfabric/0/GDRDMA
"""
# One process with all cards, as jax has it; a newer line of bootstrap and of cards; RCCL with its own words behind
ONE_PROCESS = """d:1:2 [ 6 ] NCCL INFO Bootstrap: Using eth0:10.0.0.1<0>
d:1:2 [6] NCCL INFO NET/IB : Using [RO]; OOB eth0:10.0.0.1<0>
RCCL version : 2.26.6-main:a29a210+
d:1:2 [6] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]={[0] mlx5_1:1/RoCE, [1] mlx5_2:1/RoCE} [RO]; OOB eth0:10.0.0.1<0>
d:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 5[5] via P2P/indirect/9[1]
d:1:2 [6] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>
d:1:2 [0] NCCL INFO Channel 00/0 : 7[7] -> 6[6] via P2P/direct pointer comm 0x95cdeb0 nRanks 08
d:1:2 [0] NCCL INFO Connected all rings comm 0x95cdeb0 nRanks 08 busId c6000
"""


class NoDevice(unittest.TestCase):
    """What jax 0.10.2 raised on a host without a GPU, with its plugin for ROCm, and with its plugin for CUDA."""
    UNKNOWN = RuntimeError("Unable to initialize backend 'rocm': Backend 'rocm' is not in the list of known backends: ['cpu', 'tpu'].")

    def asked(self, error, platform, packages):
        session = unittest.mock.Mock()
        session.jax.local_devices.side_effect = error
        with unittest.mock.patch.dict("os.environ", JAX_PLATFORMS=platform), \
             unittest.mock.patch.object(sliceup_jax, "gpu_packages", return_value=packages):
            return sliceup_jax.local_devices(session)

    def test_a_plugin_that_is_installed_and_left_out_finds_no_device(self):
        for error, platform in ((self.UNKNOWN, "rocm"), (AssertionError(), "cuda")):
            with self.assertRaises(sliceup_jax.Failure) as raised:
                self.asked(error, platform, [f"jax-{platform}7-plugin"])
            self.assertEqual("device", raised.exception.owner)

    def test_a_plugin_that_is_not_installed_is_told_as_jax_tells_it(self):
        for packages in ([], ["jax-cuda12-plugin", "nvidia-nccl-cu12"]):
            with self.assertRaises(RuntimeError):
                self.asked(self.UNKNOWN, "rocm", packages)


class Account(unittest.TestCase):
    def test_version_network_cards_and_ways_are_told(self):
        self.assertEqual({"nccl.version": "2.20.5+cuda12.4", "nccl.network": "IB", "nccl.cards": "IB 2", "nccl.nvls": "not available",
                          "nccl.ways": "NET/IB/GDRDMA, P2P/CUMEM"}, dict(sliceup_gpu.facts(IB)))

    def test_older_forms_and_other_networks_are_read(self):
        self.assertEqual({"nccl.version": "2.12.7+cuda11.4", "nccl.network": "Socket", "nccl.ways": "NET/IB/GDRDMA"},
                         dict(sliceup_gpu.facts(OLD)))
        self.assertEqual({"nccl.network": "AWS Libfabric", "nccl.provider": "efa", "nccl.ways": "NET/AWS Libfabric/GDRDMA, SHM/direct/direct"},
                         dict(sliceup_gpu.facts(SOCKET)))
        self.assertEqual({"nccl.version": "2.26.6-main:a29a210+", "nccl.cards": "IB 2", "nccl.ways": "P2P/direct pointer, P2P/indirect"}, dict(sliceup_gpu.facts(ONE_PROCESS)))

    def test_versions_of_cuda_are_those_that_its_libraries_answer(self):
        def absent():
            raise RuntimeError("cuDNN not found.")

        versions = unittest.mock.Mock(spec=["cuda_driver_get_version", "cudnn_get_version"], cuda_driver_get_version=lambda: 12080,
                                      cudnn_get_version=absent)
        self.assertEqual({"cuda.driver": "12080"}, dict(sliceup_gpu.cuda_facts(versions)))
        self.assertEqual({}, dict(sliceup_gpu.cuda_facts(None)))

    def test_nothing_is_told_of_nothing(self):
        for text in ("", "NCCL INFO", "a [0] NCCL INFO Channel 00/0 : \n", "Using network IB\n", "a NCCL INFO Using network \x1b[31m\n"):
            self.assertEqual({}, dict(sliceup_gpu.facts(text)), text)


class File(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.environ = {"HOME": folder.name}

    def write(self, text, name="nccl.a.1", mode="w"):
        with (pathlib.Path(self.environ["HOME"]) / name).open(mode) as file:
            file.write(text)

    def test_what_all_processes_wrote_is_told(self):
        self.assertTrue(sliceup_gpu.ask(self.environ))
        self.assertEqual(self.environ["HOME"] + "/nccl.%h.%p", self.environ["NCCL_DEBUG_FILE"])
        self.write(IB)
        self.write(SOCKET, "nccl.a.2")
        canary = unittest.mock.Mock()
        sliceup_gpu.tell(canary, unittest.mock.Mock(folder=self.environ["HOME"]))
        told = dict(call.args for call in canary.fact.call_args_list)
        self.assertEqual("AWS Libfabric, IB", told["nccl.network"])

    def test_what_a_profile_asks_for_stays(self):
        for name in ("NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_DEBUG_SUBSYS"):
            environ = {"HOME": "/home", name: "COLL"}
            self.assertFalse(sliceup_gpu.ask(environ))
            self.assertEqual({"HOME": "/home", name: "COLL"}, environ)
        self.assertFalse(sliceup_gpu.ask({"HOME": "/a%h"}))

    def test_warnings_come_into_the_log_as_they_are_written_once_and_not_without_end(self):
        """However long the account is, also cut in the middle of a line; no more lines than WARNINGS."""
        warned = ["a:1:1 [0] misc/socket.cc:1 NCCL WARN number %d" % number for number in range(2 * sliceup_gpu.WARNINGS)]
        with unittest.mock.patch.object(sliceup_gpu.threading, "Thread"):
            watched = sliceup_gpu.Warnings(self.environ["HOME"])
        with contextlib.redirect_stderr(io.StringIO()) as log:
            self.write("x" * (5 << 20) + "\n" + warned[0][:20])
            watched.look()
            self.write(warned[0][20:] + "\n", mode="a")
            watched.look()
            self.assertEqual(warned[:1], log.getvalue().splitlines())
            self.write("\n\n".join(warned[1:]) + "\n", mode="a")
            watched.look()
            watched.look()
        self.assertEqual(warned[:sliceup_gpu.WARNINGS], log.getvalue().splitlines())

    def test_they_come_while_the_canary_waits(self):
        with contextlib.redirect_stderr(io.StringIO()) as log, unittest.mock.patch.object(sliceup_gpu, "LOOK_S", 0.01):
            sliceup_gpu.Warnings(self.environ["HOME"])
            self.write("a:1:1 [0] NCCL WARN Timeout\n")
            until = time.monotonic() + 30
            while "Timeout" not in log.getvalue() and time.monotonic() < until:
                time.sleep(0.01)
        self.assertIn("NCCL WARN Timeout", log.getvalue())


if __name__ == "__main__":
    unittest.main()
