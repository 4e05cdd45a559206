"""How fast every two hosts exchange arrays with each other: a slow link is named as a pair.

Adds: one measurement for each pair of hosts, with nobody else in it. Scope: slice.
Hosts meet in pairs as players of a tournament do: in n - 1 rounds of pairs that have no host in common every host has met every
other one. Of more than MOST hosts only neighbours along each axis of the mesh meet, and one pairing by chance. In a round the
k-th devices of both hosts send each other their arrays by one ppermute, small ones, whose time is the latency, and large ones;
the first exchange of a round is not counted, since there one waits for the other. All rounds are taken `turns` times in short
windows, so that a passing disturbance meets a few samples of each pair; both hosts tell the median of the windows' rates and its
spread, and drift judges them. Pairs of a round exchange at once: what they share (a switch, a processor) they share here as well.
All hosts make as many exchanges in a window, as many as the slowest pair of the round makes in WINDOW_S.
args: turns (5), small (4096), large (1 MiB, on accelerators 64 MiB): bytes a device.
"""

import random
import statistics
import time

import sliceup_jax

MOST = 16
LARGE = {"cpu": 1 << 20}
ON_ACCELERATORS = 64 << 20
# of a turn; the first one knows little of a link that loses packets
WINDOW_S, FIRST, MOST_EXCHANGES = 0.15, 20, 400


def tournament(hosts):
    """Rounds of pairs (a, b), a < b: the first host stays, the others go round; in odd numbers one sits out (None)."""
    seats = list(range(hosts)) + [None] * (hosts % 2)
    for _ in range(len(seats) - 1):
        pairs = zip(seats[:len(seats) // 2], reversed(seats[len(seats) // 2:]))
        yield [(min(pair), max(pair)) for pair in pairs if None not in pair]
        seats.insert(1, seats.pop())


def neighbours(numpy, grid):
    """Pairs of hosts that have devices next to each other along some axis; `grid`: the host of each device of the mesh."""
    pairs = set()
    for axis in range(grid.ndim):
        for a, b in zip(grid.flat, numpy.roll(grid, -1, axis).flat):
            if a != b:
                pairs.add((int(min(a, b)), int(max(a, b))))
    return sorted(pairs)


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


def plan(session):
    """Alike on all hosts, which the gate `links` sees to."""
    canary = session.canary
    if canary.world <= MOST:
        return list(tournament(canary.world))
    hosts = list(range(canary.world))
    random.Random(int(canary.gate("pairing", "share", str(time.time_ns()) if canary.rank == 0 else ""))).shuffle(hosts)
    grid = session.numpy.vectorize(lambda device: device.process_index)(session.mesh.devices)
    chance = [(min(pair), max(pair)) for pair in zip(hosts[::2], hosts[1::2])]
    return rounds_of(neighbours(session.numpy, grid)) + [chance]


def exchange(session, mesh, pairs, size):
    """work(): one exchange of arrays of `size` bytes a device, (devices, size / 4) float32, between the hosts of each pair."""
    jax, numpy = session.jax, session.numpy
    of_host = {}
    for number, device in enumerate(mesh.devices.flat):
        of_host.setdefault(device.process_index, []).append(number)
    ways = [way for a, b in pairs for k, j in zip(of_host[a], of_host[b]) for way in ((k, j), (j, k))]
    spec = jax.sharding.PartitionSpec("all")
    shape = (mesh.size, size // 4)
    array = jax.make_array_from_callback(shape, jax.sharding.NamedSharding(mesh, spec),
                                         lambda index: numpy.full((1, shape[1]), index[0].start or 0, numpy.float32))
    mapped = jax.shard_map(lambda x: jax.lax.ppermute(x, "all", ways), mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)
    program = jax.jit(mapped).lower(array).compile()
    return ways, array, lambda: jax.block_until_ready(program(array))


def check(session, ways, moved):
    """Every device has what the other one had: its number."""
    sent = {to: of for of, to in ways}
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


def body(session):
    canary = session.canary
    if canary.world == 1:
        return
    large = canary.args.get("large", LARGE.get(session.platform, ON_ACCELERATORS))
    sizes = {"small": canary.args.get("small", 4096), "large": large}
    mesh = session.jax.sharding.Mesh(session.mesh.devices.reshape(-1), ("all",))
    rounds, slowest_of = plan(session), slowest(session, mesh)
    canary.gate("links", "agree", str(rounds)[:200])
    works = [{name: exchange(session, mesh, pairs, size) for name, size in sizes.items()} for pairs in rounds]
    times = {}
    canary.phase("measure")
    for _ in range(canary.args.get("turns", 5)):
        for pairs, work in zip(rounds, works):
            peer = next((a + b - canary.rank for a, b in pairs if canary.rank in (a, b)), None)
            for name, (_, _, exchanged) in work.items():
                known = times.setdefault((peer, name), [])
                worst = slowest_of(max([window(exchanged, 1), *known[-1:]]))
                exchanged()
                known.append(window(exchanged, max(1, min(MOST_EXCHANGES if known else FIRST, int(WINDOW_S / worst)))))
    for work in works:
        ways, _, exchanged = work["large"]
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
