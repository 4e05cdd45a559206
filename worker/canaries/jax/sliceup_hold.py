"""What a long run is watched by: samples of it, and what grew from its first third to its last. Standard library only."""

import collections
import os
import statistics

KEPT, RECENT = 256, 64
# Growth counts from 32 MiB on, and from 0.1 MiB a second: 10 MiB a second are told within 20 s of a hold.
GROWN_BYTES, RATE_BYTES = 32 << 20, 0.1 * (1 << 20)
# Samples of one third, at least: fewer have no median worth the name.
THIRD = 4
# Of what steps grew by: a host whose own part grew by more has a part in it.
PART = 1 / 3

Sample = collections.namedtuple("Sample", "at resident device own whole")


class Samples:
    """Of the whole hold at most KEPT, evenly spread, and the last RECENT ones, half a minute; the time of warming up is left out."""

    def __init__(self, hold_s):
        self.apart, self.spacing, self.begin = min(0.5, hold_s / 100), 0.0, min(10.0, hold_s / 10)
        self.whole, self.recent, self.before = [], collections.deque(maxlen=RECENT), 0.0

    def due(self, at):
        return at >= self.begin and at - self.before >= self.apart

    def add(self, sample):
        self.before = sample.at
        self.recent.append(sample)
        if not self.whole or sample.at - self.whole[-1].at >= self.spacing:
            self.whole.append(sample)
        if len(self.whole) == KEPT:
            del self.whole[1::2]
            self.spacing = 2 * (self.whole[1].at - self.whole[0].at) * 0.9

    def growth(self, name):
        """Bytes a second by which it grows steadily, over the whole hold or over the last half minute; 0: it does not."""
        return max(growth([(sample.at, getattr(sample, name)) for sample in samples]) for samples in (self.whole, self.recent))

    def thirds(self, name):
        return thirds([getattr(sample, name) for sample in self.whole])

    def spans(self):
        """What Spans takes of one host: seconds of its own part and of whole steps, in the first third and in the last; None of too few."""
        (own_early, _, own_late), (early, _, late) = self.thirds("own"), self.thirds("whole")
        return None if early is None else [own_early, own_late, early, late]


class Spans:
    """How long steps took, by all hosts: each of them makes the same of it. rows: what spans() says of each host, zeros of one that knows too little."""

    def __init__(self, rows, rank):
        self.rows, self.rank = {host: row for host, row in enumerate(rows) if row[3] > 0}, rank
        self.known = rank in self.rows
        if self.known:
            self.own = self.rows[rank][1]
            self.early, self.late = (statistics.median(row[at] for row in self.rows.values()) for at in (2, 3))

    def own_of_others(self):
        """The median of the other hosts' own parts; of nobody else, that of this one."""
        return statistics.median([row[1] for host, row in self.rows.items() if host != self.rank] or [self.own])

    def longer(self, slower):
        """Owner and further words where steps became longer and this host has to tell it; None: it has not.

        A host has a part in it if its own part grew by a third of what the step did; hosts that only waited have none."""
        grown = self.late - self.early
        if grown <= slower * self.early:
            return None, ""
        own = {host for host, row in self.rows.items() if row[1] - row[0] > grown * PART}
        if len(self.rows) == 1:
            return "host", ""
        if not own:
            return "platform", ", and no host's own part of them did: what is between the hosts takes longer"
        if len(own) == len(self.rows):
            return "unknown", f", and so did the own parts of all {len(own)} hosts: it is none of them alone"
        return ("host", "") if self.rank in own else (None, "")


def thirds(values):
    """The medians of three equal parts: (None, None, None) of too few."""
    size = len(values) // 3
    if size < THIRD:
        return None, None, None
    return tuple(statistics.median(part) for part in (values[:size], values[size:-size], values[-size:]))


def growth(points):
    """points: (seconds, bytes). One jump is no growth: both the second third and the last have a quarter of it at least."""
    low, middle, high = thirds([value for _, value in points])
    if low is None:
        return 0.0
    first, _, last = thirds([at for at, _ in points])
    grown, rate = high - low, (high - low) / (last - first)
    steady = min(middle - low, high - middle) >= grown / 4
    return rate if steady and grown >= GROWN_BYTES and rate >= RATE_BYTES else 0.0


def resident_bytes():
    """Of this process."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
