"""Which devices a canary compiles for under warm: aot, as far as it shows without a compiler."""
import pathlib
import sys
import unittest

CANARIES = pathlib.Path(__file__).resolve().parents[2] / "worker" / "canaries"
sys.path[:0] = [str(CANARIES / "jax"), str(CANARIES)]
sys.dont_write_bytecode = True

import aot_topology  # noqa: E402
import sliceup_canary  # noqa: E402

sys.path.remove(str(CANARIES))


class Told:
    """A canary, as far as these functions look at one."""

    def __init__(self, scope, **args):
        self.attempt, self.args = {"scope": scope, "backend": "tpu"}, args


class Topology(unittest.TestCase):
    def test_only_the_cold_pass_of_an_aot_rung_compiles_without_executing(self):
        for warm, kind, wanted in (("aot", "cold", True), ("aot", "restored", False), ("aot", "once", False),
                                   ("solo", "cold", False), ("gang", "cold", False), (None, "cold", False)):
            attempt = {"pass": kind, **({"warm": warm} if warm else {})}
            self.assertEqual(wanted, aot_topology.wanted(attempt), attempt)

    def test_each_scope_has_a_topology_of_its_own(self):
        both = {"topology": "v6e:4x4", "host_topology": "v6e:2x2"}
        self.assertEqual("v6e:4x4", aot_topology.named(Told("slice", **both)))
        self.assertEqual("v6e:2x2", aot_topology.named(Told("host", **both)))
        self.assertIsNone(aot_topology.named(Told("host", topology="v6e:4x4")))

    def test_a_slice_without_a_topology_is_refused_with_what_to_say(self):
        with self.assertRaises(sliceup_canary.Failure) as raised:
            aot_topology.named(Told("slice", host_topology="v6e:2x2"))
        self.assertEqual("launch", raised.exception.owner)
        self.assertIn("needs the argument topology, such as v6e:4x4", str(raised.exception))


if __name__ == "__main__":
    unittest.main()
