"""Loss and gradients of a chain of layers that no device has whole, in one of the ways of sliceup_ways.py.

Adds: weights that are split over the devices, and what their gradients need. Every device's part of the gradients is held
against the same reference, whatever the way. x, y: (batch, width), weights: (layers, width, width), all float32.
args: way (fsdp: weights gathered, gradients scattered; tensor: layers split over the last mesh axis; pipeline: a layer on
each device), batch (8 for each device), width (32), both rounded up to a multiple of the number of devices.
Metric `loss`: of the whole, from what each device counts of it.
"""

import sliceup_chain
import sliceup_jax
from sliceup_canary import Failure
from sliceup_ways import WAYS


def mapped(session, way, metric):
    jax, axes = session.jax, tuple(session.canary.axes)

    def sharded(secret, x, y, *weights):
        slopes, measured = way.program(x, y, *weights)
        return slopes, sliceup_jax.reduced(jax, len(axes), secret, [metric], measured)

    grid = jax.sharding.PartitionSpec(*axes)
    return jax.jit(jax.shard_map(sharded, mesh=session.mesh, in_specs=(grid, way.batch, way.batch, *way.weights),
                                 out_specs=(way.weights, grid), check_vma=False))


def body(session):
    canary, name = session.canary, session.canary.args.get("way")
    if name not in WAYS:
        raise Failure("launch", f"way: {name}, expected {', '.join(WAYS)}")
    way = WAYS[name](session)
    chain = sliceup_chain.Chain(session, way.layers)
    metric = sliceup_jax.Metric("loss", "mean", canary.axes, lambda loss, weight: (loss, weight))
    args = [sliceup_jax.secrets(session), *(session.place(part, *way.batch) for part in (chain.x, chain.y)),
            *(session.place(part, *spec) for part, spec in zip(way.split(chain.weights), way.weights))]
    program = sliceup_jax.Program(session, name, mapped(session, way, metric), *args)
    if session.compile_only:
        return
    slopes, rows = program(*args)
    loss, right = chain.expected()
    for number, (array, expected) in enumerate(zip(slopes, way.split(right))):
        error = session.largest_error(array, expected.__getitem__)
        canary.check(f"relative error of gradient {number}", 0, error, sliceup_chain.TOLERANCE)
    canary.check("loss", loss, sliceup_jax.send_metrics(session, [metric], rows)["loss"], sliceup_chain.TOLERANCE * loss)


sliceup_jax.run(body)
