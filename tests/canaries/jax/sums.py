"""Sums over all devices, launch after launch, so that something can happen to a host meanwhile.

args: seconds (60); other: a host that launches another program after a second, without the gate at which all hosts agree on one.
"""

import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import lab  # noqa: E402

lab.helpers("jax")
import sliceup_jax  # noqa: E402


def body(session):
    jax, numpy, canary = session.jax, session.numpy, session.canary
    # x: (mesh sizes...), one number a device, float32
    x = session.per_device(lambda number: 1.0)

    def total(x):
        return x.sum()

    def largest(x):
        return x.max()

    whole = session.sharding()
    program = sliceup_jax.Program(session, "total", jax.jit(total, out_shardings=whole), x)
    other = jax.jit(largest, out_shardings=whole)
    end, turn = time.monotonic() + canary.args.get("seconds", 60), time.monotonic() + 1
    canary.phase("summing")
    while time.monotonic() < end:
        if canary.args.get("other") == canary.attempt["host"] and time.monotonic() > turn:
            jax.block_until_ready(other(x))
        canary.check("sum over the slice", session.mesh.size, session.scalar(program(x)))
        time.sleep(0.05)


sliceup_jax.run(body)
