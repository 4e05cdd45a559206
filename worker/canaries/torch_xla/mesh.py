"""SPMD over all devices of this host: one program, a mesh, and a number that each device holds and sees.

Adds: use_spmd() before the first device, and the mesh. Needs devices_per_host of 2 or more.
No args. Small integers, exact in float32.
"""

import sliceup_torch_xla
from sliceup_canary import Failure


def body(session):
    canary, mesh = session.canary, session.mesh
    if len(mesh.order) < 2:
        raise Failure("launch", "this host has one device, and a mesh needs two or more: CPU_NUM_DEVICES and devices_per_host")
    numbers = mesh.per_device(lambda number: number + 1)  # (mesh sizes...): one number a device
    session.sync()
    mesh.expect_split("the numbers", numbers, *mesh.axes)
    total, doubled = numbers.sum(), numbers * 2
    session.trace("mesh", [total, doubled])
    session.sync()
    count = len(mesh.order)
    for number, _, value in mesh.blocks(doubled):
        canary.check(f"twice the number of device {number}", 2 * (number + 1), float(value.sum()))
    for number, _, value in mesh.blocks(total):
        canary.check(f"sum of all as device {number} sees it", count * (count + 1) // 2, float(value))


sliceup_torch_xla.run(body, spmd=True)
