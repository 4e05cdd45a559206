"""A Pallas kernel within a program of torch_xla: traced, lowered for a TPU, and on a TPU executed.

Adds: the way of a hand-written kernel. Elsewhere it ends with the lowered kernel as a custom call of torch_xla's program: no other
backend can execute that, and a note says so. It needs jax of the release that torch_xla was built with.
args: rows (8), columns (128): of a float32 tile.
"""

import sliceup_torch_xla

CALL = "tpu_custom_call"


def kernel(x, y, out):
    """x, y, out: (rows, columns) float32."""
    out[...] = x[...] * 2 + y[...]


def lowered(shape):
    """The kernel as bytes for the TPU's compiler; jax can make them on any machine."""
    import jax
    import jax._src.pallas.mosaic.pallas_call_registration  # noqa: F401 - lowering for a TPU is registered by this import
    from jax.experimental import pallas
    from torch_xla.experimental import custom_kernel

    tile = jax.ShapeDtypeStruct(shape, "float32")
    traced = jax.jit(lambda x, y: pallas.pallas_call(kernel, out_shape=tile)(x, y)).trace(tile, tile)
    return jax.__version__, custom_kernel._extract_backend_config(traced.lower(lowering_platforms=("tpu",)).compiler_ir())


def body(session):
    numpy, canary = session.numpy, session.canary
    shape = canary.args.get("rows", 8), canary.args.get("columns", 128)
    try:
        version, payload = lowered(shape)
    except ImportError as error:
        raise sliceup_torch_xla.Failure("bundle", f"{error}: kernels need jax of the release that torch_xla was built with; pins "
                                        "torch-xla-jax-cpu has such a set") from error
    canary.check("the kernel was lowered for a TPU", 1, int(bool(payload)))
    canary.fact("bridge.pallas", f"jax {version}")
    a, b = (numpy.arange(shape[0] * shape[1], dtype="float32").reshape(shape) * scale for scale in (1, 0.5))
    x, y = session.place(a), session.place(b)
    session.sync()
    core = session.client.core
    out = core._xla_tpu_custom_call([x, y], payload, [list(shape)], [session.torch.float32])[0]
    canary.check("custom calls in torch_xla's program", 1, core._get_xla_tensors_hlo([out]).count(f'custom_call_target="{CALL}"'))
    if session.client.platform() != "tpu":
        canary.note(f"the kernel was lowered for a TPU and not executed: {session.client.platform()} has no {CALL}")
        return
    session.trace("trace-pallas", [out])
    session.sync()
    canary.check(f"largest error of {a.size} values", 0, session.largest_error(out, a.astype(float) * 2 + b), 1e-4)


sliceup_torch_xla.run(body, kernel_path="pallas")
