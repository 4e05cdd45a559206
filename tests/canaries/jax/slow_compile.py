"""Compiles for a long time, to be watched or killed in phase compile, and then passes.

args: layers (LAYERS): the compile time grows with it.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import lab  # noqa: E402

lab.helpers("jax")
import sliceup_jax  # noqa: E402

LAYERS = 160


def body(session):
    jax, numpy, canary = session.jax, session.numpy, session.canary
    layers = canary.args.get("layers", LAYERS)

    def sorts(x):
        """x: (128,) float32. Every sort is a kernel of its own: quick to trace, slow to compile."""
        for number in range(layers):
            x = jax.lax.sort(x * (number + 2.0)) + jax.numpy.flip(x)
        return (x * 0.0).sum() + 1.0

    x = session.place(numpy.arange(128, dtype=numpy.float32))
    jitted = jax.jit(sorts, out_shardings=session.sharding())
    program = sliceup_jax.Program(session, "slow compile", jitted, x)
    program(x)


sliceup_jax.run(body)
