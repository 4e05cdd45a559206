"""A program of torch_xla with a function of jax in its middle: one program, one cache entry.

Adds: the bridge call_jax. jax traces its function and lowers it, torch_xla puts the result into its own program; jax compiles and
executes nothing. It needs jax of the release that torch_xla was built with, and torchax.
args: width (64).
"""

import sliceup_torch_xla

# 64 products of values up to 1, in float32: off by some 1e-6. Without the sine they are off by more than a tenth.
TOLERANCE = 1e-4


def sine_of(a, b):
    """Of jax. a, b: (width, width) float32; returns the same shape."""
    import jax.numpy

    return jax.numpy.sin(a) @ b


def bridge():
    try:
        import torchax  # noqa: F401 - call_jax needs it and says so by "Jax is required for this feature" (2.9.0)
        from torch_xla.core.xla_builder import call_jax
    except ImportError as error:
        raise sliceup_torch_xla.Failure("bundle", f"{error}: call_jax needs torchax, and jax of the release that torch_xla was built with; pins "
                                        "torch-xla-jax-cpu has such a set") from error
    return call_jax


def body(session):
    numpy, canary, call_jax = session.numpy, session.canary, bridge()
    width = canary.args.get("width", 64)
    wave = numpy.arange(width * width, dtype=float).reshape(width, width) * 0.3
    a, b = (numpy.sin(wave + salt).astype("float32") for salt in (1, 2))
    x, y = session.place(a), session.place(b)
    session.sync()
    before = session.counts.compiled()
    out = session.torch.relu(call_jax(sine_of, (x * 2 + 1, y))) + x  # (width, width) float32
    session.trace("call-jax", [out])
    session.sync()
    import jax

    canary.fact("bridge.call_jax", f"jax {jax.__version__}")
    a, b = a.astype(float), b.astype(float)
    canary.check(f"largest error of {out.numel()} values", 0, session.largest_error(out, numpy.maximum(numpy.sin(a * 2 + 1) @ b, 0) + a), TOLERANCE)
    canary.check("programs that this took, those of jax among them", 1, session.counts.compiled() - before)


sliceup_torch_xla.run(body, kernel_path="call_jax")
