"""The gradient of a loss by its weights, each device with a part of the batch.

Adds: a backward pass (jax.grad), and the mean of the gradients over the devices that split the batch.
x, y: (batch, width), split over the first mesh axis; weights: (layers, width, width) on every device; all float32.
Looked at is what every device has after the mean: (devices, layers, width, width).
args: batch (8 for each device), width (32), layers (3).
"""

import sliceup_blocks
import sliceup_chain
import sliceup_jax


def mapped(session):
    jax, axes = session.jax, tuple(session.canary.axes)

    def gradient(x, y, weights):
        loss, slope = jax.value_and_grad(lambda weights: sliceup_chain.loss(jax, weights, x, y))(weights)
        return jax.lax.pmean(loss, axes[0])[None], jax.lax.pmean(slope, axes[0])[None]

    spec = jax.sharding.PartitionSpec
    return jax.jit(jax.shard_map(gradient, mesh=session.mesh, in_specs=(spec(axes[0]), spec(axes[0]), spec()),
                                 out_specs=(spec(axes), spec(axes)), check_vma=False))


def body(session):
    numpy, canary = session.numpy, session.canary
    chain = sliceup_chain.Chain(session, canary.args.get("layers", 3))
    rows = canary.axes[0]
    args = (session.place(chain.x, rows), session.place(chain.y, rows), session.place(chain.weights))
    program = sliceup_jax.Program(session, "gradient", mapped(session), *args)
    if session.compile_only:
        return
    losses, slopes = program(*args)
    loss, right = chain.expected()
    for name, array, value in (("loss", losses, numpy.float64(loss)), ("gradient", slopes, right)):
        error = session.largest_error(array, lambda index, value=value: value[None])
        canary.check(f"relative error of the {name}", 0, error, sliceup_chain.TOLERANCE)
    # And against the loss alone: the written-out gradient above could be wrong in the same way.
    along = sliceup_blocks.noise(numpy, chain.weights.shape, 4)
    seen = session.blocks(slopes)[0][0].astype(numpy.float64) * along
    difference = sliceup_chain.slope_along(numpy, chain.x, chain.y, chain.weights, along)
    canary.check("slope by finite differences", difference, float(seen.sum()),
                 sliceup_chain.TOLERANCE * float(numpy.abs(seen).sum()))


sliceup_jax.run(body)
