"""Sums over each axis of the mesh, and over all axes, of arrays from a few bytes to the size of gradients.

Adds: what a library of collectives decides by size and by axis. NCCL has a protocol each for small, middle and large arrays, one way
within a host and another between hosts, and what it chose is told as facts (sliceup_gpu.py). Scope: host, where only the devices
of one host meet, or slice. All numbers are small integers, so that every element is compared for equality.
args: floats (of each array a device, at most 5 sizes: 256, 65536 and, on accelerators, 16777216; else 1048576).
Metrics: `devices`, counted over the whole mesh, and `devices over AXIS` over each axis alone where several have more than one device.
"""

import sliceup_counters
import sliceup_jax

FLOATS = {"cpu": (256, 65536, 1048576)}
ON_ACCELERATORS = (256, 65536, 16777216)
# Of the values along an array and from device to device, so that a part that came from elsewhere shows. A sum over 65,536 devices is
# still exact in float32: 65536 * 2 * 127 < 2 ** 24.
PERIOD = 127


def of_device(numpy, number, floats):
    """(floats,) float32: what device `number` has."""
    return numpy.arange(floats, dtype=numpy.float32) % PERIOD + number % PERIOD + 1


def numbers_over(numpy, sizes, axes):
    """(mesh sizes...): the sum of what devices have at place 0, over those axes; and how many devices it is of."""
    numbers = (numpy.arange(numpy.prod(sizes)) % PERIOD + 1).reshape(sizes)
    total = numbers.sum(axis=axes, keepdims=True)
    return numpy.broadcast_to(total, sizes), numbers.size // total.size


def sums(session, ways):
    """A program (devices * floats,) -> for each way the same shape: on each device the sum over those axes."""
    jax, axes = session.jax, session.canary.axes
    spec = jax.sharding.PartitionSpec(tuple(axes))
    mapped = jax.shard_map(lambda x: [jax.lax.psum(x, [axes[number] for number in way]) for way in ways.values()], mesh=session.mesh,
                           in_specs=spec, out_specs=[spec] * len(ways), check_vma=False)
    return jax.jit(mapped)


def check_sums(session, name, result, axes, floats):
    """Every element of every device of this host; a device's block begins at its number times `floats`."""
    numpy, canary = session.numpy, session.canary
    totals, devices = numbers_over(numpy, tuple(canary.sizes), axes)
    along = numpy.arange(floats, dtype=numpy.float32) % PERIOD * devices
    wrong = 0
    for shard in result.addressable_shards:
        number = (shard.index[0].start or 0) // floats
        wrong += int((numpy.asarray(shard.data) != along + totals.flat[number]).sum())
    canary.check(f"wrong elements of {name}", 0, wrong)


def ways_of(canary):
    """{name: axes by number}: all axes at once, and each alone where there are several of more than one device."""
    several = {f"devices over {axis}": (number,) for number, axis in enumerate(canary.axes) if canary.sizes[number] > 1}
    return {"devices": tuple(range(len(canary.axes))), **(several if len(several) > 1 else {})}


def body(session):
    canary, numpy = session.canary, session.numpy
    ways, split = ways_of(canary), session.sharding(tuple(canary.axes))
    for floats in canary.args.get("floats", FLOATS.get(session.platform, ON_ACCELERATORS)):
        array = session.array((session.mesh.size * floats,), numpy.float32, split,
                              lambda index: of_device(numpy, (index[0].start or 0) // floats, floats))
        program = sliceup_jax.Program(session, f"sums of {floats} floats", sums(session, ways), array)
        for (name, axes), result in zip(ways.items(), [] if session.compile_only else program(array)):
            check_sums(session, f"{floats} floats, {name}", result, axes, floats)
    metrics = [sliceup_jax.Metric(name, "sum", [canary.axes[number] for number in axes], lambda one: (one, one))
               for name, axes in ways.items()]
    if session.mesh.size == 1:
        canary.note("there is one device: nothing was summed with another")
    if session.platform == "gpu" and not session.compile_only:
        sliceup_counters.tell(canary)  # before the last gate, where others may wait for it: none waits at a shutdown of jax
    sliceup_jax.proved_metrics(session, "count", metrics, session.per_device(lambda number: 1))


sliceup_jax.run(body)
