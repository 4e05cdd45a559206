"""AdamW that writes its state, reads it back and continues: the next step must give the same bits as without.

Adds: a state that leaves the devices. Each host writes the shards of its own devices into its scratch folder, with a
manifest and sha256 sums, as a checkpoint of a slice without a shared disk would.
args: steps (5: before the checkpoint), batch (64), width (64): width a multiple of the number of devices.
Metric `restored`: how many devices of the slice have their part of the state again.
"""

import sliceup_adamw
import sliceup_jax
import sliceup_shards

FOLDER = "checkpoint"
NAMES = ("w", "m", "v", "count")


def place_of(shard):
    """The part of the array that a shard is, as ((start, stop), ...)."""
    return tuple((part.start or 0, part.stop or 0) for part in shard.index)


def shards_of(session, state):
    """(name, index, array) of all that local devices hold, each part once."""
    seen = {}
    for name, array in zip(NAMES, state):
        for shard in array.addressable_shards:
            seen.setdefault((name, place_of(shard)), session.numpy.asarray(shard.data))
    return [(*key, array) for key, array in seen.items()]


def restored(session, state, found):
    """The state again, from what was read."""

    def one(name, array):
        def block(index):
            return found[name, tuple((part.start or 0, part.stop or 0) for part in index)]

        return session.array(array.shape, array.dtype, array.sharding, block)

    return [one(name, array) for name, array in zip(NAMES, state)]


def differing(session, one, other):
    """Number of local device -> bytes in which its parts of two states differ."""
    numpy, count = session.numpy, {}
    for a, b in zip(one, other):
        for x, y in zip(a.addressable_shards, b.addressable_shards):
            bytes_of = [numpy.asarray(shard.data).reshape(-1).view(numpy.uint8) for shard in (x, y)]
            count[x.device.id] = count.get(x.device.id, 0) + int((bytes_of[0] != bytes_of[1]).sum())
    return [count[device] for device in sorted(count)]


def compiled(session, width, batch):
    """The program, its data and the first state: w, m and v split over all devices."""
    jax, numpy, canary = session.jax, session.numpy, session.canary
    everywhere, parts = session.sharding(), session.sharding(tuple(canary.axes))
    x, y = sliceup_adamw.problem(numpy, batch, width)

    def checkpoint(x, y, w, m, v, count, rate):
        return sliceup_adamw.step(x, y, w, m, v, count, rate, lambda a, b: jax.numpy.dot(a, b, precision="highest"))

    data = [session.place(a.astype(numpy.float32), canary.axes[0]) for a in (x, y)]
    zeros = numpy.zeros(width, numpy.float32)
    state = [*(session.place(zeros, tuple(canary.axes)) for _ in range(3)), session.place(numpy.float32(0))]
    rate = session.place(numpy.float32(sliceup_adamw.RATE))
    jitted = jax.jit(checkpoint, out_shardings=(parts, parts, parts, everywhere, everywhere))
    program = sliceup_jax.Program(session, "checkpoint", jitted, *data, *state, rate)
    return lambda state: program(*data, *state, rate), state, (x, y)


def prove(session, same):
    """Every device counts itself, if its bits are the same; same: one bool for each local device."""
    first = session.canary.rank * session.canary.devices_per_host
    here = session.per_device(lambda number: float(same[number - first]))
    metric = sliceup_jax.Metric("restored", "sum", session.canary.axes, lambda here: (here, here * 0 + 1))
    sliceup_jax.proved_metric(session, metric, here)


def body(session):
    canary = session.canary
    steps = canary.args.get("steps", 5)
    batch, width = session.shaped(batch=canary.args.get("batch", 64), width=canary.args.get("width", 64)).values()
    step, state, (x, y) = compiled(session, width, batch)
    if session.compile_only:
        return prove(session, [True] * canary.devices_per_host)
    for _ in range(steps):
        *state, _ = step(state)
    canary.phase("write")
    size = sliceup_shards.write(FOLDER, shards_of(session, state))
    canary.note(f"wrote {size} bytes of state and read them back", "rerun")
    canary.phase("read")
    again = restored(session, state, sliceup_shards.read(session.numpy, FOLDER))
    canary.phase("run")
    *went_on, loss = step(state)
    *resumed, _ = step(again)
    differ = differing(session, went_on, resumed)
    canary.check("bytes that differ after the step", 0, sum(differ))
    expected = sliceup_adamw.reference(session.numpy, x, y, steps + 1)
    canary.check("loss before the step", expected[-1], session.scalar(loss), 1e-5 * expected[0])
    prove(session, [not count for count in differ])


sliceup_jax.run(body)
