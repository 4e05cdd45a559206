"""Who meets whom in the rung links, and that every host exchanges as often as all others: a host that does not hangs the slice."""
import math
import pathlib
import sys
import unittest
import unittest.mock

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "worker" / "canaries" / "jax"))
import sliceup_jax  # noqa: E402

with unittest.mock.patch.object(sliceup_jax, "run"):
    import links

# mesh -> devices a host
MESHES = [((hosts, 2), 2) for hosts in range(17, 41)] + [((hosts,), 1) for hosts in (17, 40)] + [
    ((2, hosts), 1) for hosts in (9, 20)] + [((3, 4, 6), 4), ((8, 16), 4), ((2, 2, 2, 2, 2), 1), ((4, 10, 4), 8), ((1, 36), 2)]


def hosts_of(sizes, devices):
    return [number // devices for number in range(math.prod(sizes))]


def adjacent(sizes, a, b):
    """Whether two devices are next to each other along one axis, around its end as well."""
    apart = []
    for size in reversed(sizes):
        apart.append(min((a % size - b % size) % size, (b % size - a % size) % size))
        a, b = a // size, b // size
    return sum(apart) == 1


class Plan(unittest.TestCase):
    def planned(self):
        for sizes, devices in MESHES:
            of = hosts_of(sizes, devices)
            yield sizes, of, links.plan(of, sizes)

    def test_no_host_is_twice_in_a_round(self):
        for _, of, rounds in self.planned():
            for pairs in rounds:
                ends = [host for pair in pairs for host in pair]
                self.assertEqual(len(ends), len(set(ends)), pairs)
                self.assertTrue(all(0 <= a < b <= max(of) for a, b in pairs), pairs)

    def test_neighbours_meet_once_and_all_hosts_once_more(self):
        for sizes, of, rounds in self.planned():
            want = {(of[a], of[b]) for a in range(len(of)) for b in range(len(of)) if of[a] < of[b] and adjacent(sizes, a, b)}
            self.assertEqual(sorted(want), sorted(pair for pairs in rounds[:-1] for pair in pairs), sizes)
            self.assertEqual((max(of) + 1) // 2, len(rounds[-1]))

    def test_it_is_the_same_in_every_run(self):
        for sizes, of, rounds in self.planned():
            self.assertEqual(rounds, links.plan(of, sizes), sizes)

    def test_of_few_hosts_every_two_meet_once(self):
        for hosts in range(2, links.MOST + 1):
            met = sorted(pair for pairs in links.plan(hosts_of((hosts, 2), 2), (hosts, 2)) for pair in pairs)
            self.assertEqual([(a, b) for a in range(hosts) for b in range(a + 1, hosts)], met)


class Exchanges(unittest.TestCase):
    """The exchanges are real programs of all hosts elsewhere; here they are counted."""

    def launched(self, rank, rounds, turns, worst, seconds=3600):
        """What this host launches, in order."""
        told = []

        def works(name):
            return [((), lambda number=number: told.append((name, number))) for number in range(len(rounds))]

        def slowest_of(_):
            told.append("slowest")
            return worst

        links.measure(rank, rounds, {"small": works("small"), "large": works("large")}, slowest_of, turns, seconds)
        return told

    def test_every_host_launches_the_same_programs_in_the_same_order(self):
        for sizes, devices in MESHES[::5]:
            rounds = links.plan(hosts_of(sizes, devices), sizes)
            first = self.launched(0, rounds, 2, 0.003)
            self.assertEqual((2 + links.FIRST) + (2 + 50), first.count(("large", 0)))
            for rank in range(1, math.prod(sizes) // devices):
                self.assertEqual(first, self.launched(rank, rounds, 2, 0.003), rank)

    def test_no_turn_begins_after_the_time(self):
        rounds = links.plan(hosts_of((4, 1), 1), (4, 1))
        self.assertEqual(links.LEAST_EXCHANGES, self.launched(0, rounds, 5, 100, 60).count(("large", 0)))
        self.assertEqual(5 * links.LEAST_EXCHANGES, self.launched(0, rounds, 5, 100).count(("large", 0)))

    def fitting(self, rate, latency, rounds=15, large=64 << 20):
        """The size that is chosen where each exchange takes so long, and for how long all of them go on."""
        took, sizes = [0], []

        def make(size):
            sizes.append(size)
            return [((), lambda: took.__setitem__(0, took[0] + latency + size / rate))] * rounds

        size, _ = links.fitting(make, lambda _: latency + sizes[-1] / rate, 4096, large, 5, 60)
        self.assertEqual(sizes[-1], size)
        return size, took[0] + 5 * rounds * links.LEAST_EXCHANGES * (latency + size / rate)

    def test_a_slow_link_takes_a_minute_and_not_more_than_that(self):
        for rate, want in ((1e5, 4096), (1e6, 4096 * 16), (4.5e6, 1 << 20), (1e8, 16 << 20), (1e10, 64 << 20)):
            size, seconds = self.fitting(rate, 0.0002)
            self.assertEqual(want, size, rate)
            self.assertLess(seconds, 75, rate)


if __name__ == "__main__":
    unittest.main()
