"""SPMD over all devices of the slice, or of one host: one program, a mesh, and a number that each device holds and sees.

Adds: use_spmd() before the first device, and the mesh. Scope: slice (on CPU the slice has one host) or host. Needs two devices or more.
No args. Small integers, exact in float32.
"""

import sliceup_torch_xla
from sliceup_canary import Failure
from sliceup_torch_xla_program import Program


def body(session):
    canary, mesh = session.canary, session.mesh
    count = len(mesh.order)
    if count < 2:
        raise Failure("launch", "there is one device, and a mesh needs two or more: CPU_NUM_DEVICES and devices_per_host")
    numbers = mesh.per_device(lambda number: number + 1)  # (mesh sizes...): one number a device
    session.sync()
    mesh.expect_split("the numbers", numbers, *mesh.axes)
    # total: (), doubled: (mesh sizes...)
    total, doubled = Program(session, "mesh", [numbers.sum(), numbers * 2])()
    for number, _, value in mesh.blocks(doubled):
        canary.check(f"twice the number of device {number}", 2 * (number + 1), float(value.sum()))
    for number, _, value in mesh.blocks(total):
        canary.check(f"sum of all as device {number} sees it", count * (count + 1) // 2, float(value))


sliceup_torch_xla.run(body, spmd=True)
