"""Causal attention; each device has a part of the batch.

Adds: a softmax between two products, as operations of the compiler or as one hand-written kernel.
args: kernel (auto: the kernel on tpu and gpu, else the operations; reference: the operations; pallas: the kernel, which
runs interpreted where it cannot be compiled), batch (2 for each device of the first mesh axis), heads (2), length (64),
width (32: of all heads together), block (32: of the kernel; a divisor of length).
"""

import sliceup_blocks
import sliceup_expected
import sliceup_flash
import sliceup_jax
from sliceup_canary import Failure

# What comes out are means of the values; each score is a float32 sum of `width` products over the root of `width`, so
# it is off by some 1e-6. A wrong mask or scale is off by more than a tenth.
TOLERANCE = 1e-4
COMPILED_ON = ("tpu", "gpu")


def path_for(canary, platform):
    """reference, pallas or pallas-interpret."""
    asked = canary.args.get("kernel", "auto")
    if asked not in ("auto", "reference", "pallas"):
        raise Failure("launch", f"kernel: {asked}, expected auto, reference or pallas")
    if asked == "reference" or (asked == "auto" and platform not in COMPILED_ON):
        return "reference"
    return "pallas" if platform in COMPILED_ON else "pallas-interpret"


def inputs(session):
    """q, k, v: (batch, heads, length, width of a head) float32."""
    canary = session.canary
    batch, heads, length, width = session.shaped(**{name: canary.args.get(name, usual) for name, usual in (
        ("batch", 2 * canary.sizes[0]), ("heads", 2), ("length", 64), ("width", 32))}).values()
    return [sliceup_blocks.noise(session.numpy, (batch, heads, length, width // heads), salt) for salt in (1, 2, 3)]


def sharded(session, path):
    """Over the batch, by hand: a compiler cannot split a kernel that it did not write."""
    jax, block = session.jax, session.canary.args.get("block", 32)
    rows = jax.sharding.PartitionSpec(session.canary.axes[0])

    def attention(q, k, v):
        if path == "reference":
            return sliceup_blocks.attention(jax, q, k, v)
        return sliceup_flash.attention(jax, q, k, v, min(block, q.shape[2]), path == "pallas-interpret")

    return jax.jit(jax.shard_map(attention, mesh=session.mesh, in_specs=(rows,) * 3, out_specs=rows, check_vma=False))


def prove_path(path, program):
    """A kernel that was requested may not be used: it shows in the trace, and a compiled one in the lowered text too."""
    written = "pallas_call" in str(program.jaxpr)
    compiled = any(call in program.text for call in sliceup_flash.CALLS)
    if (written, compiled) != (path != "reference", path == "pallas"):
        seen = "a compiled kernel" if compiled else "an interpreted kernel" if written else "no kernel"
        raise Failure("program", f"kernel path {path}, and the program has {seen}")


def body(session):
    canary = session.canary
    q, k, v = inputs(session)
    path = path_for(canary, session.platform)
    args = [session.place(part, canary.axes[0]) for part in (q, k, v)]
    program = sliceup_jax.Program(session, "attention", sharded(session, path), *args)
    prove_path(path, program)
    if session.compile_only:
        return
    out = program(*args)
    session.tell_backend(path)
    expected = sliceup_expected.attention(session.numpy, q, k, v)
    canary.check(f"relative error of {out.size} values", 0, session.largest_error(out, expected.__getitem__), TOLERANCE)


sliceup_jax.run(body)
