"""The smallest compiled program: the sum of squares, each device for itself.

Adds: a compiled program, its cache entry, its execution and its value. Nothing is exchanged.
args: count (10).
"""

import sliceup_jax


def sum_of_squares(x):
    """x: (count,) float32; returns () float32."""
    return (x * x).sum()


def body(session):
    jax, numpy, canary = session.jax, session.numpy, session.canary
    count = canary.args.get("count", 10)
    # A copy on every device of the mesh: a program for one device would differ from host to host.
    x = session.place(numpy.arange(count, dtype=numpy.float32))
    jitted = jax.jit(sum_of_squares, out_shardings=session.sharding())
    program = sliceup_jax.Program(session, "tiny", jitted, x)
    if session.compile_only:
        return
    expected = float(sum(number * number for number in range(count)))
    canary.check("sum of squares", expected, session.scalar(program(x)), 0.001)


sliceup_jax.run(body)
