"""A product whose contraction is split over all devices, and whose rows are: mark_sharding(), and what it came to.

Adds: sharded tensors. That a tensor is split is read from its devices: a mark that had no effect computes the same values
with the whole tensor on each of them.
args: batch (64), width (128): multiples of the number of devices.
"""

import sliceup_torch_xla
from sliceup_small_integers import small_integers


def body(session):
    numpy, canary, mesh = session.numpy, session.canary, session.mesh
    batch, width = session.shaped(batch=canary.args.get("batch", 64))["batch"], canary.args.get("width", 128)
    everywhere = tuple(mesh.axes)
    # x: (batch, width), w1, w2: (width, width), all float32
    x, w1, w2 = (small_integers(numpy, (rows, width), salt) for rows, salt in ((batch, 1), (width, 2), (width, 3)))
    rows, columns, contracted = session.place(x, everywhere), session.place(w1), session.place(w2, everywhere)
    session.sync()
    for name, tensor, spec in (("x", rows, (everywhere,)), ("w1", columns, ()), ("w2", contracted, (everywhere,))):
        mesh.expect_split(name, tensor, *spec)
    # Rows stay where they are in the first product; the second one has to add up what each device has of w2.
    hidden = (rows @ columns).clamp(min=0)
    out = hidden @ contracted
    session.trace("sharding", [hidden, out])
    session.sync()
    mesh.expect_split("the first product", hidden, everywhere)
    right = numpy.maximum(x.astype(float) @ w1, 0)
    canary.check("largest error of the first product", 0, session.largest_error(hidden, right))
    canary.check("largest error of the second product", 0, session.largest_error(out, right @ w2))


sliceup_torch_xla.run(body, spmd=True)
