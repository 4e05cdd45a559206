"""Causal attention over one sequence that no device has whole: keys and values go round the ring of devices.

Adds: a sequence that is split over all devices. Each keeps its queries, and meets the keys and values of one other device
after the other; what was summed so far is scaled down whenever a larger score comes. q, k, v: (batch, heads, length,
width of a head) float32, split by length.
args: batch (2), heads (2), length (8 for each device), width (32: of all heads together).
Metric `square`: the mean of the squares of what came out.
"""

import sliceup_blocks
import sliceup_expected
import sliceup_jax

# As in attention: off by some 1e-6, and by a tenth where keys of another device are missing or masked wrongly.
TOLERANCE = 1e-4
LOWEST = -1e30


def around(jax, axes, devices, q, k, v):
    """q, k, v: (batch, heads, length / devices, width of a head) of this device."""
    numpy, lax, length = jax.numpy, jax.lax, q.shape[2]
    here, onwards = lax.axis_index(axes), [(number, (number + 1) % devices) for number in range(devices)]
    row = here * length + numpy.arange(length)[:, None]

    def meet(carried, turn):
        k, v, highest, total, out = carried
        column = (here - turn) % devices * length + numpy.arange(length)  # of the device from which they came
        scores = numpy.einsum("bhqd,bhkd->bhqk", q, k, precision="highest") / q.shape[3] ** 0.5
        scores = numpy.where(row >= column, scores, LOWEST)
        new = numpy.maximum(highest, scores.max(-1, keepdims=True))
        weights, shrink = numpy.exp(scores - new), numpy.exp(highest - new)
        total = total * shrink + weights.sum(-1, keepdims=True)
        out = out * shrink + numpy.einsum("bhqk,bhkd->bhqd", weights, v, precision="highest")
        k, v = (lax.ppermute(part, axes, onwards) for part in (k, v))
        return (k, v, new, total, out), None

    # The first turn is with the device's own keys, where each query sees itself: no row begins with nothing.
    nothing = numpy.full((*q.shape[:3], 1), LOWEST), numpy.zeros((*q.shape[:3], 1)), numpy.zeros_like(q)
    (_, _, _, total, out), _ = lax.scan(meet, (k, v, *nothing), numpy.arange(devices))
    return out / total


def mapped(session, metric):
    jax, axes = session.jax, tuple(session.canary.axes)

    def ring(secret, q, k, v):
        out = around(jax, axes, session.mesh.size, q, k, v)
        return out, sliceup_jax.reduced(jax, len(axes), secret, [metric], [(out * out).mean()])

    grid, parts = jax.sharding.PartitionSpec(*axes), jax.sharding.PartitionSpec(None, None, axes)
    return jax.jit(jax.shard_map(ring, mesh=session.mesh, in_specs=(grid, parts, parts, parts),
                                 out_specs=(parts, grid), check_vma=False))


def body(session):
    canary, args = session.canary, session.canary.args
    batch, heads, length, width = session.shaped(**{name: args.get(name, usual) for name, usual in (
        ("batch", 2), ("heads", 2), ("length", 8 * session.mesh.size), ("width", 32))}).values()
    q, k, v = (sliceup_blocks.noise(session.numpy, (batch, heads, length, width // heads), salt) for salt in (1, 2, 3))
    metric = sliceup_jax.Metric("square", "mean", canary.axes, lambda square: (square, 1.0))
    args = [sliceup_jax.secrets(session), *(session.place(part, None, None, tuple(canary.axes)) for part in (q, k, v))]
    program = sliceup_jax.Program(session, "ring", mapped(session, metric), *args)
    if session.compile_only:
        return
    out, rows = program(*args)
    right = sliceup_expected.attention(session.numpy, q, k, v)
    canary.check(f"relative error of {out.size} values", 0, session.largest_error(out, right.__getitem__), TOLERANCE)
    seen = sliceup_jax.send_metrics(session, [metric], rows)["square"]
    canary.check("mean square of all values", float((right * right).mean()), seen, TOLERANCE * float((right * right).mean()))


sliceup_jax.run(body)
