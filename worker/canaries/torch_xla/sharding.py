"""A product whose contraction is split over all devices, and whose rows are: mark_sharding(), and what it came to.

Adds: sharded tensors. That a tensor is split is read from its devices: a mark that had no effect computes the same values
with the whole tensor on each of them. Scope: slice (on CPU the slice has one host) or host.
args: width (128): a multiple of the number of devices.
"""

import sliceup_torch_xla
from sliceup_small_integers import small_integers
from sliceup_torch_xla_program import Program


def body(session):
    numpy, canary, mesh = session.numpy, session.canary, session.mesh
    width, everywhere = canary.args.get("width", 128), tuple(mesh.axes)
    # x, w1, w2: (width, width) float32
    x, w1, w2 = (small_integers(numpy, (width, width), salt) for salt in (1, 2, 3))
    rows, columns, contracted = session.place(x, everywhere), session.place(w1), session.place(w2, everywhere)
    session.sync()
    for name, tensor, spec in (("x", rows, (everywhere,)), ("w1", columns, ()), ("w2", contracted, (everywhere,))):
        mesh.expect_split(name, tensor, *spec)
    # Rows stay where they are in the first product; the second one has to add up what each device has of w2.
    hidden = (rows @ columns).clamp(min=0)
    hidden, out = Program(session, "sharding", [hidden, hidden @ contracted])()
    mesh.expect_split("the first product", hidden, everywhere)
    for number, _, values in mesh.blocks(hidden):
        canary.check(f"rows of the first product on device {number}", width // len(mesh.order), len(values))
    right = numpy.maximum(x.astype(float) @ w1, 0)
    canary.check("largest error of the first product", 0, session.largest_error(hidden, right))
    canary.check("largest error of the second product", 0, session.largest_error(out, right @ w2))


sliceup_torch_xla.run(body, spmd=True)
