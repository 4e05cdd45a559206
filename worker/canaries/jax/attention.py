"""Attention and its gradients; each device has a part of the batch.

Adds: a softmax between two products, as operations of the compiler or as hand-written kernels, and one of the forms of
sliceup_forms.py. q: (batch, heads, length, width of a head), k and v: (batch, heads / group, length, width of a head), all
float32, as is what comes out, and the gradients of its sum with weights, in the shapes of q, k and v.
args: form (causal; window, grouped, softcap, sparse), kernel (auto: the kernels on tpu and gpu, else the operations;
reference: the operations; pallas: the kernels, which run interpreted where they cannot be compiled), batch (2 for each
device of the first mesh axis), heads (4), width (64: of all heads together), block (of the kernels: the side of a TPU's
matrix unit, else 16), length (64; where blocks matter, rounded up to at least 4 of them); window (one and a half blocks), group (2), cap (2.0), stride (2).
"""

import sliceup_blocks
import sliceup_expected
import sliceup_flash
import sliceup_jax
from sliceup_canary import Failure
from sliceup_chain import rounded_up
from sliceup_forms import FORMS, USUAL, Form

# What comes out are means of the values; each score is a float32 sum of `width` products over the root of `width`, so
# it is off by some 1e-6. A wrong mask or scale is off by more than a hundredth, products in bfloat16 by a thousandth.
TOLERANCE = 1e-4
# Where a kernel is compiled; only Mosaic has lists that are there before a program starts.
COMPILED_ON = {"flash": ("tpu", "gpu"), "splash": ("tpu",)}
# The side of the matrix unit, by words of the device's kind: 256 from v6e on (configs/machines/tpu.yaml), else 128.
WIDE_UNITS = ("v6", "7")


def side(session):
    """Of the matrix unit; where nobody tells one, of blocks that leave something to visit in a short sequence."""
    kind = session.mesh.devices.flat[0].device_kind
    return 16 if session.platform != "tpu" else 256 if any(word in kind for word in WIDE_UNITS) else 128


def form_of(session):
    args = session.canary.args
    if args.get("form", "causal") not in FORMS:
        raise Failure("launch", f"form: {args['form']}, expected {', '.join(FORMS)}")
    given = {word: args[word] for word, _ in USUAL.values() if word in args}
    return Form(args.get("form", "causal"), args.get("block", side(session)), **given)


def path_for(canary, platform, form):
    """reference; or pallas, which kernel and which form, and -interpret where no compiler takes it."""
    asked, kernel = canary.args.get("kernel", "auto"), "splash" if form.stride else "flash"
    if asked not in ("auto", "reference", "pallas"):
        raise Failure("launch", f"kernel: {asked}, expected auto, reference or pallas")
    compiled = platform in COMPILED_ON[kernel]
    if asked == "reference" or (asked == "auto" and not compiled):
        return "reference"
    return f"pallas_{kernel}_{form.name}" + ("" if compiled else "-interpret")


def inputs(session, path, form):
    """q, k, v, and the weights with which what comes out is summed. Scores come to about 1: the cap of a softcap bends them."""
    args, canary, noise = session.canary.args, session.canary, sliceup_blocks.noise
    length = args.get("length", 64)
    if path != "reference" or form.stride:
        length = rounded_up(max(length, 4 * form.block), form.block)
    batch, heads, length, width = session.shaped(batch=args.get("batch", 2 * canary.sizes[0]), heads=args.get("heads", 4),
                                                 length=length, width=args.get("width", 64)).values()
    if heads % form.group or width % heads:
        raise Failure("launch", f"heads: {heads}, expected a multiple of group {form.group} and a divisor of width {width}")
    shapes = [(batch, heads // share, length, width // heads) for share in (1, form.group, form.group, 1)]
    return [noise(session.numpy, shape, salt, 3.0 if salt == 1 else 1.0) for salt, shape in enumerate(shapes, 1)]


def sharded(session, path, form):
    """Over the batch, by hand: a compiler cannot split a kernel that it did not write."""
    jax, rows = session.jax, session.jax.sharding.PartitionSpec(session.canary.axes[0])

    def attend(q, k, v):
        if path == "reference":
            return sliceup_blocks.attention(jax, q, k, v, form)
        return sliceup_flash.attention(jax, q, k, v, form, path.endswith("-interpret"))

    def attention(q, k, v, slope):
        out, backward = jax.vjp(attend, q, k, v)
        return out, *backward(slope)

    return jax.jit(jax.shard_map(attention, mesh=session.mesh, in_specs=(rows,) * 4, out_specs=(rows,) * 4, check_vma=False))


def prove_path(path, program):
    """Kernels that were requested may not be used: they show in the trace, and compiled ones in the lowered text too."""
    written = str(program.jaxpr).count("pallas_call[")
    compiled = any(call in program.text for call in sliceup_flash.CALLS)
    wanted = 0 if path == "reference" else 3  # forward, and backward by queries and by keys
    if (written, compiled) != (wanted, bool(wanted) and not path.endswith("-interpret")):
        raise Failure("program", f"kernel path {path} has {wanted} kernels, and the program has {written}, "
                      f"{'compiled' if compiled else 'none of them compiled'}")


def body(session):
    canary, form = session.canary, form_of(session)
    path = path_for(canary, session.platform, form)
    parts = inputs(session, path, form)
    args = [session.place(part, canary.axes[0]) for part in parts]
    program = sliceup_jax.Program(session, "attention", sharded(session, path, form), *args)
    prove_path(path, program)
    if session.compile_only:
        return
    outs = program(*args)
    session.tell_backend(path)
    expected = sliceup_expected.attention_slopes(session.numpy, *parts[:3], form, parts[3])
    for name, out, right in zip((f"{outs[0].size} values", *(f"the gradient by {of}" for of in ("q", "k", "v"))), outs, expected):
        canary.check(f"relative error of {name}", 0, session.largest_error(out, right.__getitem__), TOLERANCE)


sliceup_jax.run(body)
