"""Sums over the slice, step after step, by another collective on the host that args name: what the gate is for.

args: host (which one differs), how: collective (it gathers where the others reduce), shape (it has one element more),
flag (the same program under another flag), steps (3).
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import lab  # noqa: E402

lab.helpers("jax")
import sliceup_jax  # noqa: E402

FLAG = "--xla_cpu_enable_fast_math=true"


class Session(sliceup_jax.Session):
    def __init__(self, canary):
        self.how = canary.args["how"] if canary.attempt["host"] == canary.args["host"] else None
        if self.how == "flag":
            os.environ["XLA_FLAGS"] = FLAG  # before jax is imported
        super().__init__(canary)


def summed(jax, gathers):
    """x: (elements,) of one device; returns (elements,). Both ways give the same value."""

    def body(x):
        if gathers:
            return jax.lax.all_gather(x, "data").sum(0)
        return jax.lax.psum(x, "data")

    return body


def body(session):
    jax, numpy, canary = session.jax, session.numpy, session.canary
    elements = 11 if session.how == "shape" else 10
    rows = jax.sharding.PartitionSpec("data")
    mapped = jax.shard_map(summed(jax, session.how == "collective"), mesh=session.mesh, in_specs=rows, out_specs=rows,
                           check_vma=False)
    # Each host knows of its own part only, as it would be with data of its own.
    size = elements * session.mesh.size
    x = session.array((size,), numpy.float32, session.sharding("data"), lambda index: numpy.ones(elements, "float32"))
    program = sliceup_jax.Program(session, "sum", jax.jit(mapped), x)
    for _ in range(canary.args.get("steps", 3)):
        total = program(x)
        canary.check("sum over the slice", session.mesh.size, float(session.blocks(total)[0][0]))


sliceup_jax.Session = Session
sliceup_jax.run(body)
