"""A product whose contraction is split over one mesh axis, and its rows over another.

Adds: collectives over one axis of several: the partial products are summed and scattered over the last axis, gathered
over it again, and the rows are summed over the first. Needs a mesh of two axes or more.
args: rows (32), contraction (64), columns (32): rows a multiple of the first axis, the others of the last.
Metrics: `columns`, reduced over the last axis alone, and `rows`, over the first alone. Every number is a sum of small
integers, exact in float32, so that nothing is right by chance within a tolerance.
"""

import sliceup_jax
from sliceup_blocks import small_integers
from sliceup_canary import Failure


def mapped(session, first, last, metrics):
    jax, axes = session.jax, tuple(session.canary.axes)

    def product(secret, x, w):
        """x: (rows / first, contraction / last), w: (contraction / last, columns)."""
        part = x @ w  # (rows / first, columns): of a part of the contraction
        scattered = jax.lax.psum_scatter(part, last, scatter_dimension=1, tiled=True)  # (rows / first, columns / last)
        gathered = jax.lax.all_gather(scattered, last, axis=1, tiled=True)  # (rows / first, columns)
        total = jax.lax.psum(gathered.sum(0), first)  # (columns,)
        rows = sliceup_jax.reduced(jax, len(axes), secret, metrics, [scattered.sum(), gathered.sum()])
        return scattered, gathered, total[None, None], rows

    spec = jax.sharding.PartitionSpec
    # The total of every device is looked at: one that was left out would hide behind a replica that is right.
    return jax.jit(jax.shard_map(
        product, mesh=session.mesh, in_specs=(spec(*axes), spec(first, last), spec(last)),
        out_specs=(spec(first, last), spec(first), spec(first, last), spec(*axes)), check_vma=False))


def inputs(session):
    """x: (rows, contraction), w: (contraction, columns), float32."""
    args = session.canary.args
    rows, contraction, columns = session.shaped(**{name: args.get(name, usual) for name, usual in (
        ("rows", 32), ("contraction", 64), ("columns", 32))}).values()
    return (small_integers(session.numpy, (rows, contraction), 1),
            small_integers(session.numpy, (contraction, columns), 2))


def body(session):
    numpy, canary = session.numpy, session.canary
    if len(canary.axes) < 2:
        raise Failure("launch", f"the mesh has the one axis {canary.axes[0]}; this rung needs two: use scope slice")
    first, last = canary.axes[0], canary.axes[-1]
    metrics = [sliceup_jax.Metric("columns", "sum", [last], lambda scattered, gathered: (scattered, 1.0)),
               sliceup_jax.Metric("rows", "sum", [first], lambda scattered, gathered: (gathered, 1.0))]
    x, w = inputs(session)
    args = (sliceup_jax.secrets(session), session.place(x, first, last), session.place(w, last))
    program = sliceup_jax.Program(session, "axes", mapped(session, first, last, metrics), *args)
    if session.compile_only:
        return
    scattered, gathered, total, rows = program(*args)
    right = x.astype(numpy.float64) @ w.astype(numpy.float64)
    for name, array, expected in (("scattered", scattered, right.__getitem__),
                                  ("gathered", gathered, right.__getitem__),
                                  ("total", total, lambda index: right.sum(0))):
        canary.check(f"error of the {name} product", 0, session.largest_error(array, expected))
    sliceup_jax.send_metrics(session, metrics, rows)


sliceup_jax.run(body)
