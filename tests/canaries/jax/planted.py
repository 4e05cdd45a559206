"""Sums squares like the shipped canary `tiny`, with one difference planted on each host that args name.

args: planted: list of "host/pass=difference".
"""

import os
import pathlib
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import lab  # noqa: E402

lab.helpers("jax")
import sliceup_jax  # noqa: E402

FLAG = "--xla_cpu_enable_fast_math=true"


def set_variable(name, value):
    return lambda: os.environ.update({name: value})


# What must be there before jax is imported.
BEFORE = {"flag": set_variable("XLA_FLAGS", FLAG), "argument": lambda: sys.argv.append(FLAG),
          "off": set_variable("JAX_ENABLE_COMPILATION_CACHE", "false"),
          "warns": set_variable("JAX_RAISE_PERSISTENT_CACHE_ERRORS", "false")}


class Planted(sliceup_jax.Session):
    def __init__(self, canary):
        planted = dict(item.split("=") for item in canary.args["planted"])
        self.planted = planted.get(f"{canary.attempt['host']}/{canary.attempt['pass']}")
        BEFORE.get(self.planted, lambda: None)()
        super().__init__(canary)

    def tear(self):
        """Cuts every entry: a full disk leaves them so."""
        for entry in pathlib.Path(self.jax.config.jax_compilation_cache_dir).glob("*-cache"):
            entry.write_bytes(entry.read_bytes()[:100])


def sums(session, count, device=None):
    """One program of its own name and its check; on one device only, or on all."""
    jax, numpy = session.jax, session.numpy

    def sum_of_squares(x):
        return (x * x).sum()

    values = numpy.arange(count, dtype=numpy.float32)
    x = session.place(values) if device is None else jax.device_put(values, device)
    out = session.sharding() if device is None else None
    program = sliceup_jax.Program(session, "sum", jax.jit(sum_of_squares, out_shardings=out), x)
    session.canary.check("sum of squares", float((values * values).sum()), session.scalar(program(x)), 0.001)


def doubles(session):
    jax, numpy = session.jax, session.numpy

    def doubled(x):
        return x + x

    x = session.place(numpy.arange(4, dtype=numpy.float32))
    program = sliceup_jax.Program(session, "double", jax.jit(doubled, out_shardings=session.sharding()), x)
    program(x)


def body(session):
    doubles(session)
    if session.planted == "threshold":
        session.jax.config.update("jax_persistent_cache_min_compile_time_secs", 1000.0)
    sums(session, 11 if session.planted == "shape" else 10,
         session.jax.local_devices()[0] if session.planted == "device" else None)
    if session.planted == "other":
        session.jax.jit(lambda x: x - 1)(session.place(session.numpy.arange(4.0)))
    if session.planted == "torn":
        session.tear()


sliceup_jax.Session = Planted
sliceup_jax.run(body)
