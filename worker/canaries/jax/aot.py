"""A stack of dense layers as large as the arguments say: does it fit, and how long does it compile?

Adds: size. Meant for `warm: aot`, which answers both before there is a slice: the compiler refuses what does not
fit the chips, and what it needs of them is told as facts. The restored pass executes it and looks at the value.
args: layers (4), batch (1024), width (4096): powers of two; batch a multiple of the first mesh axis, width of the last.
"""

import sliceup_jax
from sliceup_canary import Failure

MEMORY = ("argument", "output", "temp", "generated_code")


def stack(jax, x, weights):
    """x: (batch, width), weights: (layers, width, width), both bfloat16; returns () float32."""

    def layer(x, w):
        return (x @ w).astype(x.dtype), None

    x, _ = jax.lax.scan(layer, x, weights)
    return x.astype(jax.numpy.float32).sum()


def filled(session, shape, value, *spec):
    """A bfloat16 array with one value everywhere; no host ever holds more of it than one device's part."""
    numpy, dtype = session.numpy, session.jax.numpy.bfloat16.dtype
    sharding = session.sharding(*spec)
    return session.array(shape, dtype, sharding, lambda _: numpy.full(sharding.shard_shape(shape), value, dtype))


def sizes(session):
    """(layers, batch, width); powers of two, so that the value is exact in bfloat16."""
    args = session.canary.args
    layers = args.get("layers", 4)
    batch, width = session.shaped(batch=args.get("batch", 1024), width=args.get("width", 4096)).values()
    for name, size in (("batch", batch), ("width", width)):
        if not isinstance(size, int) or size < 1 or size & (size - 1):
            raise Failure("launch", f"{name}: {size}, expected a power of two")
    if not isinstance(layers, int) or layers < 1:
        raise Failure("launch", f"layers: {layers}, expected at least 1")
    return layers, batch, width


def tell_memory(canary, compiled):
    """Bytes of one device, as the compiler laid them out."""
    analysis = compiled.memory_analysis()
    for name in MEMORY if analysis is not None else ():
        canary.fact(f"program.{name}_bytes", getattr(analysis, f"{name}_size_in_bytes"))


def body(session):
    jax, canary = session.jax, session.canary
    layers, batch, width = sizes(session)
    columns = canary.axes[-1] if len(canary.axes) > 1 else None
    # Each row of ones comes out of a layer as it went in: width products of 1 and 1/width.
    x = filled(session, (batch, width), 1, canary.axes[0])
    weights = filled(session, (layers, width, width), 1 / width, None, None, columns)

    def dense_stack(x, weights):
        return stack(jax, x, weights)

    jitted = jax.jit(dense_stack, out_shardings=session.sharding())
    program = sliceup_jax.Program(session, "aot", jitted, x, weights)
    tell_memory(canary, program.compiled)
    if session.compile_only:
        return
    canary.check("sum of outputs", float(batch * width), session.scalar(program(x, weights)), 0.001 * batch * width)


sliceup_jax.run(body)
