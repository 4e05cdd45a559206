"""Two dense layers over all devices of the mesh: batch over its first axis, width over its last.

Adds: matrix units and sharding. The compiler chooses the collectives.
args: batch (64), width (128); each a multiple of the mesh axis that splits it.
"""

import sliceup_jax
from sliceup_blocks import small_integers


def two_layers(x, w1, w2):
    """x: (batch, width), w1, w2: (width, width), all float32; returns () float32."""
    hidden = (x @ w1).clip(0)
    return (hidden @ w2).sum()


def body(session):
    jax, numpy, canary = session.jax, session.numpy, session.canary
    batch, width = session.shaped(batch=canary.args.get("batch", 64), width=canary.args.get("width", 128)).values()
    rows = canary.axes[0]
    columns = canary.axes[-1] if len(canary.axes) > 1 else None
    x = small_integers(numpy, (batch, width), 1)
    w1 = small_integers(numpy, (width, width), 2)
    w2 = small_integers(numpy, (width, width), 3)
    args = (session.place(x, rows), session.place(w1, None, columns), session.place(w2, columns))
    jitted = jax.jit(two_layers, out_shardings=session.sharding())
    program = sliceup_jax.Program(session, "dense", jitted, *args)
    if session.compile_only:
        return
    expected = float(two_layers(*(array.astype(numpy.float64) for array in (x, w1, w2))))
    canary.check("sum of outputs", expected, session.scalar(program(*args)), 0.001 * abs(expected) + 0.001)


sliceup_jax.run(body)
