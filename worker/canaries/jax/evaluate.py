"""An evaluation in bfloat16 whose rows do not fill the last batch.

Adds: padding that must not count. x: (batch, width) bfloat16, y the same in float32, mask: (batch,) float32, all split
over all devices. Each device adds up, in float32, the loss of its rows and how many they are, and reduces both at the end.
The last batch has the shape of the others and compiles nothing.
args: batch (4 for each device), batches (3), width (32), layers (2).
Metrics: `loss`, the mean over rows, summed over the devices in bfloat16; `rows`, how many counted, exact.
"""

import sliceup_chain
import sliceup_jax

# In parts of the loss: products, and what is kept between layers, are off by 1/256 each, most of which a mean cancels.
# For the sum over devices in bfloat16 comes what docs/spec/canary.md allows it: 2/256 for each, at most 1/16.
COMPUTED, OF_DEVICE, AT_MOST = 1 / 64, 2 / 256, 1 / 16
PADDING = 9.0


def padded(session, chain):
    """(rows that count, [(x, y, mask) of each batch]): fewer than half of the last batch's rows are there.

    The loss grows along a batch, so that devices with fewer rows in the last one have larger losses: a mean of means is off.
    """
    numpy, size, every = session.numpy, chain.batch, tuple(session.canary.axes)
    chain.y *= 4 * (numpy.arange(len(chain.y), dtype=chain.y.dtype) % size / size)[:, None]
    rows = len(chain.x) - size // 2 - 1
    there = numpy.arange(len(chain.x)) < rows
    x, y = (numpy.where(there[:, None], part, numpy.float32(PADDING)) for part in (chain.x, chain.y))
    parts = x.astype(session.jax.numpy.bfloat16), y, there.astype(numpy.float32)
    return rows, [[session.place(part[at:at + size], every) for part in parts] for at in range(0, len(x), size)]


def evaluation(session):
    jax, axes = session.jax, tuple(session.canary.axes)

    def evaluate(counted, x, y, mask, weights):
        """counted: (1..., 2) of this device, the loss of its rows so far and their number."""
        out = jax.lax.scan(lambda x, w: (sliceup_chain.layer(jax, x, w), None), x, weights)[0]
        of_row = ((out.astype(jax.numpy.float32) - y) ** 2).mean(1)
        here = jax.numpy.stack([jax.numpy.where(mask > 0, of_row, 0.0).sum(), mask.sum()])
        return counted + here.reshape(counted.shape)

    grid, rows, whole = (jax.sharding.PartitionSpec(*spec) for spec in (axes, (axes,), ()))
    return jax.jit(jax.shard_map(evaluate, mesh=session.mesh, in_specs=(grid, rows, rows, rows, whole), out_specs=grid,
                                 check_vma=False))


def metrics(session):
    short, full, axes = session.jax.numpy.bfloat16, session.jax.numpy.float32, session.canary.axes

    def loss(counted):
        """Rounded to what it was computed in, so that what a device reports is what it sums."""
        return (counted[0] / counted[1]).astype(short).astype(full), counted[1]

    return [sliceup_jax.Metric("loss", "mean", axes, loss, "bfloat16"),
            sliceup_jax.Metric("rows", "sum", axes, lambda counted: (counted[1], 1.0))]


def body(session):
    numpy, canary, counted = session.numpy, session.canary, session.canary.counted
    chain = sliceup_chain.Chain(session, canary.args.get("layers", 2), 4, canary.args.get("batches", 3))
    rows, batches = padded(session, chain)
    weights = session.place(chain.weights.astype(session.jax.numpy.bfloat16))
    sums = session.array((*canary.sizes, 2), numpy.float32, session.sharding(*canary.axes),
                         lambda index: numpy.zeros((1,) * len(canary.sizes) + (2,), numpy.float32))
    jitted, both = evaluation(session), metrics(session)
    program = sliceup_jax.Program(session, "evaluate", jitted, sums, *batches[0], weights)
    canary.check("products that are not of bfloat16", 0, sliceup_chain.not_short(program.text))
    reduce, secret = sliceup_jax.trace_metrics(session, "reduce", both, [sums])
    if session.compile_only:
        return
    before = 0
    for number, batch in enumerate(batches):
        sums = jitted(sums, *batch, weights)
        before = counted["compile_requests"] if number == 0 else before
    seen = sliceup_jax.send_metrics(session, both, reduce(secret, sums))
    counted["executions"] += len(batches)
    canary.check(f"compile requests during batches 2..{len(batches)}", 0, counted["compile_requests"] - before)
    canary.check(f"rows of {len(chain.x)} that counted", rows, seen["rows"])
    right = sliceup_chain.distance(sliceup_chain.forward(numpy, chain.x, chain.weights)[-1][:rows], chain.y[:rows])
    canary.check("loss", float(right), seen["loss"], float(right) * (COMPUTED + min(AT_MOST, OF_DEVICE * session.mesh.size)))


sliceup_jax.run(body)
