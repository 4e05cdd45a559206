"""The order of devices in the mesh of a JAX canary: hosts by rank, and within a host along the links between chips."""
import pathlib
import random
import sys
import types
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "worker" / "canaries" / "jax"))
import sliceup_jax  # noqa: E402


def device(number, process=0, coords=None, core=0):
    one = types.SimpleNamespace(id=number, process_index=process)
    if coords:
        one.coords, one.core_on_chip = coords, core
    return one


def ordered(devices):
    mixed = random.Random(1).sample(devices, len(devices))
    return sorted(mixed, key=sliceup_jax.link_order)


class LinkOrder(unittest.TestCase):
    def test_four_chips_are_a_ring(self):
        host = [device(2 * y + x, coords=(2 + x, 2 + y, 0)) for y in range(2) for x in range(2)]
        self.assertEqual([(2, 2), (3, 2), (3, 3), (2, 3)], [one.coords[:2] for one in ordered(host)])

    def test_neighbours_of_eight_chips_share_a_link(self):
        host = [device(2 * y + x, coords=(x, y, 0)) for y in range(4) for x in range(2)]
        steps = [sum(abs(a - b) for a, b in zip(one.coords, other.coords)) for one, other in zip(ordered(host), ordered(host)[1:])]
        self.assertEqual([1] * 7, steps)

    def test_hosts_stay_in_their_ranks_and_cores_on_their_chips(self):
        slice_of_two = [device(16 * z + 4 * y + 2 * x + core, process=z, coords=(x, y, z), core=core)
                        for z in range(2) for y in range(2) for x in range(2) for core in range(2)]
        found = ordered(slice_of_two)
        self.assertEqual([0] * 8 + [1] * 8, [one.process_index for one in found])
        self.assertEqual([0, 1] * 8, [one.core_on_chip for one in found])

    def test_without_coordinates_ids_count(self):
        self.assertEqual([3, 7, 9], [one.id for one in ordered([device(9), device(3), device(7)])])


if __name__ == "__main__":
    unittest.main()
