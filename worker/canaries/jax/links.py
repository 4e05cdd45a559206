"""How fast every two hosts exchange arrays with each other: a slow link is named as a pair.

Adds: one measurement for each pair of hosts, with nobody else in it. Scope: slice.
Hosts meet in pairs as players of a tournament do: in n - 1 rounds of pairs that have no host in common every host has met every
other one. Of more than MOST hosts only neighbours along each axis of the mesh meet, and one random pairing, which is the same in
every run of as many hosts, so that runs can be compared.
In a round the k-th devices of both hosts send each other their arrays by one ppermute, small ones, whose time is the latency, and
large ones; the first exchange of a round is not counted, since there one waits for the other. All rounds are taken `turns` times
in short windows, so that a passing disturbance meets a few samples of each pair; both hosts tell the median of the windows' rates
and its spread, and drift judges them. Pairs of a round exchange at once: what they share (a switch, a processor) they share here.
All hosts make as many exchanges in a window, as many as the slowest pair of the round makes in WINDOW_S. Large arrays grow from
small ones by STEP while all turns would take less than `seconds`; every link is measured with the same size, link.large_bytes.
args: turns (5), small (4096), large (1 MiB, on accelerators 64 MiB): bytes a device; seconds (60: all turns together, about).
"""

import hashlib
import random
import statistics
import time

import sliceup_jax

MOST = 16
LARGE = {"cpu": 1 << 20}
ON_ACCELERATORS = 64 << 20
# of a turn; the first one knows little of a link that loses packets
WINDOW_S, FIRST, MOST_EXCHANGES = 0.15, 20, 400
# a turn exchanges at least three times in each round: once to know how long it takes, once not counted, once in the window
SECONDS, STEP, LEAST_EXCHANGES = 60, 16, 3


def tournament(hosts):
    """Rounds of pairs (a, b), a < b: the first host stays, the others go round; in odd numbers one sits out (None)."""
    seats = list(range(hosts)) + [None] * (hosts % 2)
    for _ in range(len(seats) - 1):
        pairs = zip(seats[:len(seats) // 2], reversed(seats[len(seats) // 2:]))
        yield [(min(pair), max(pair)) for pair in pairs if None not in pair]
        seats.insert(1, seats.pop())


def neighbours(of, sizes):
    """Pairs of hosts that have devices next to each other along some axis of a mesh of these sizes; of: the host of each device."""
    pairs, stride = set(), len(of)
    for size in sizes:
        stride //= size
        for number, host in enumerate(of):
            last = number // stride % size == size - 1
            pairs.add(tuple(sorted((host, of[number - (size - 1) * stride if last else number + stride]))))
    return sorted((a, b) for a, b in pairs if a != b)


def rounds_of(pairs):
    """The pairs in rounds in which no host is twice."""
    rounds = []
    for pair in pairs:
        free = next((one for one in rounds if not any(set(pair) & set(other) for other in one)), None)
        if free is None:
            rounds.append([pair])
        else:
            free.append(pair)
    return rounds


def plan(of, sizes):
    """Alike on all hosts, which the gate `links` sees to."""
    hosts = sorted(set(of))
    if len(hosts) <= MOST:
        return list(tournament(len(hosts)))
    random.Random(len(hosts)).shuffle(hosts)
    return rounds_of(neighbours(of, sizes)) + [[(min(pair), max(pair)) for pair in zip(hosts[::2], hosts[1::2])]]


def exchanges(session, mesh, rounds, size):
    """For each round (ways, work): work() exchanges arrays of `size` bytes a device, (devices, size / 4) float32, between the
    hosts of each pair."""
    jax, numpy = session.jax, session.numpy
    of_host = {}
    for number, device in enumerate(mesh.devices.flat):
        of_host.setdefault(device.process_index, []).append(number)
    spec, shape = jax.sharding.PartitionSpec("all"), (mesh.size, size // 4)
    # From 1: a device to which nothing was sent has 0.
    array = jax.make_array_from_callback(shape, jax.sharding.NamedSharding(mesh, spec),
                                         lambda index: numpy.full((1, shape[1]), (index[0].start or 0) + 1, numpy.float32))

    def of(ways):
        mapped = jax.shard_map(lambda x: jax.lax.ppermute(x, "all", ways), mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)
        program = jax.jit(mapped).lower(array).compile()
        return ways, lambda: jax.block_until_ready(program(array))

    return [of([way for a, b in pairs for k, j in zip(of_host[a], of_host[b]) for way in ((k, j), (j, k))]) for pairs in rounds]


def check(session, ways, moved):
    """Every device has what the other one had: its number, from 1."""
    sent = {to: of + 1 for of, to in ways}
    for shard in moved.addressable_shards:
        number = shard.index[0].start or 0
        session.canary.check("exchanged", float(sent.get(number, 0)), float(shard.data[0, -1]))


def slowest(session, mesh):
    """of(seconds): the largest that any host says."""
    jax, numpy = session.jax, session.numpy
    split = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("all"))
    whole = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    program = jax.jit(lambda seconds: seconds.max(), out_shardings=whole)

    def of(seconds):
        said = jax.make_array_from_callback((mesh.size,), split, lambda index: numpy.full(1, seconds, numpy.float32))
        return float(program(said).addressable_data(0))

    return of


def window(exchanged, many):
    """Seconds an exchange, whatever happens to some of them."""
    began = time.perf_counter()
    for _ in range(many):
        exchanged()
    return (time.perf_counter() - began) / many


def fitting(make, slowest_of, small, large, turns, seconds):
    """(size, make(size)) of the largest arrays, of at most `large` bytes, with which all turns take about `seconds`."""
    size, works = small, make(small)
    while size < large:
        took, larger = 0, min(large, size * STEP)
        for _, exchanged in works:
            exchanged()
            took += slowest_of(window(exchanged, 2))
        if took * larger / size * LEAST_EXCHANGES * turns > seconds:
            break
        size, works = larger, make(larger)
    return size, works


def measure(rank, rounds, works, slowest_of, turns, seconds):
    """{(peer, name): seconds an exchange in each turn}; every host exchanges as often as all others, also one that has no peer."""
    times, began = {}, time.perf_counter()
    for turn in range(turns):
        if turn and slowest_of(time.perf_counter() - began) > seconds:
            break
        for number, pairs in enumerate(rounds):
            peer = next((a + b - rank for a, b in pairs if rank in (a, b)), None)
            for name, of_rounds in works.items():
                exchanged, known = of_rounds[number][1], times.setdefault((peer, name), [])
                worst = slowest_of(max([window(exchanged, 1), *known[-1:]]))
                exchanged()
                known.append(window(exchanged, max(1, min(MOST_EXCHANGES if turn else FIRST, int(WINDOW_S / worst)))))
    return times


def body(session):
    canary, args = session.canary, session.canary.args
    if canary.world == 1:
        return
    mesh = session.jax.sharding.Mesh(session.mesh.devices.reshape(-1), ("all",))
    rounds = plan([device.process_index for device in mesh.devices.flat], canary.sizes)
    canary.gate("links", "agree", hashlib.sha256(str(rounds).encode()).hexdigest())
    small, most = args.get("small", 4096), args.get("large", LARGE.get(session.platform, ON_ACCELERATORS))
    turns, seconds, slowest_of = args.get("turns", 5), args.get("seconds", SECONDS), slowest(session, mesh)
    large, works = fitting(lambda size: exchanges(session, mesh, rounds, size), slowest_of, small, most, turns, seconds)
    canary.fact("link.large_bytes", large)
    works = {"small": exchanges(session, mesh, rounds, small), "large": works}
    canary.phase("measure")
    times = measure(canary.rank, rounds, works, slowest_of, turns, seconds)
    for ways, exchanged in works["large"]:
        check(session, ways, exchanged())
    tell(canary, times, 2e-9 * large * canary.devices_per_host)


def tell(canary, times, both_ways_gb):
    """Larger is better, as of all numbers of speed: GB/s of both ways together, and small exchanges a second."""
    rates = []
    for (peer, name), samples in sorted((key, value) for key, value in times.items() if key[0] is not None):
        took = statistics.median(samples)
        spread = statistics.median(abs(one - took) for one in samples) / took
        unit, rate = ("gbs", both_ways_gb / took) if name == "large" else ("per_s", 1 / took)
        canary.fact(f"number.link.{peer}_{unit}", f"{rate:.4g}")
        canary.fact(f"spread.link.{peer}_{unit}", f"{100 * spread:.1f} %")
        rates += [rate] if name == "large" else []
    if rates:
        canary.fact("number.link.slowest_gbs", f"{min(rates):.4g}")


sliceup_jax.run(body)
