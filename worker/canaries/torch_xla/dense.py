"""Two dense layers on this host's first device.

Adds: matrix units.
args: batch (64), width (128).
"""

import sliceup_torch_xla


def small_integers(numpy, shape, salt):
    """float32 of -1, 0 and 1: exact in every precision that a matrix unit may choose."""
    size = int(numpy.prod(shape))
    numbers = (numpy.arange(size, dtype=numpy.int64) * 7919 + salt) % 1009 % 3 - 1
    return numbers.reshape(shape).astype(numpy.float32)


def body(session):
    numpy, canary = session.numpy, session.canary
    batch, width = canary.args.get("batch", 64), canary.args.get("width", 128)
    # x: (batch, width), w1, w2: (width, width), all float32
    x, w1, w2 = (small_integers(numpy, (rows, width), salt) for rows, salt in ((batch, 1), (width, 2), (width, 3)))
    a, b, c = (session.place(part) for part in (x, w1, w2))
    session.sync()
    total = ((a @ b).clamp(min=0) @ c).sum()
    session.trace("dense", [total])
    session.sync()
    expected = float((numpy.maximum(x.astype(float) @ w1, 0) @ w2).sum())
    canary.check("sum of outputs", expected, float(session.value(total)), 0.001 * abs(expected) + 0.001)


sliceup_torch_xla.run(body)
