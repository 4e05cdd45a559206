"""Two dense layers. Under SPMD their rows are split over the mesh.

Adds: matrix units.
args: batch (64), width (128).
"""

import sliceup_torch_xla
from sliceup_small_integers import small_integers


def body(session):
    numpy, canary = session.numpy, session.canary
    batch, width = session.shaped(batch=canary.args.get("batch", 64))["batch"], canary.args.get("width", 128)
    # x: (batch, width), w1, w2: (width, width), all float32
    x, w1, w2 = (small_integers(numpy, (rows, width), salt) for rows, salt in ((batch, 1), (width, 2), (width, 3)))
    a, b, c = session.place(x, canary.axes[0]), session.place(w1), session.place(w2)
    session.sync()
    total = ((a @ b).clamp(min=0) @ c).sum()
    session.trace("dense", [total])
    session.sync()
    expected = float((numpy.maximum(x.astype(float) @ w1, 0) @ w2).sum())
    canary.check("sum of outputs", expected, float(session.value(total)), 0.001 * abs(expected) + 0.001)


sliceup_torch_xla.run(body)
