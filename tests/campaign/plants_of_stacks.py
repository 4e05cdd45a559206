"""Faults of what is below a rung: jax, its compiler, a device, a link. PLANTS[rung]: (name, "jax", what is executed before the rung).

By somebody who had read what the rungs prove (docs/guide/ladder.md) and none of their checks: docs/lab.md has the score.
"""
PRELUDE = r'''
import ctypes, os
import numpy as np
import jax, jax.numpy as jnp
from jax import lax
from jax._src import core, pjit
from jax._src.interpreters import ad, mlir, pxla
from jax._src.lax import lax as L, parallel as PA, slicing as SL
from jax._src.sharding_impls import SPMDAxisContext
from jax._src.lib import xla_client as xc
from jax._src.lib.mlir.dialects import hlo

_said = set()
def mark(what="took effect"):
    """Says once that the fault really did something, where somebody asks for it."""
    if what not in _said:
        _said.add(what)
        if os.environ.get("SLICEUP_PLANT_ACTED"):
            with open(os.environ["SLICEUP_PLANT_ACTED"], "a") as f:
                f.write(what + "\n")

def relower(prims, make):
    """make(old rule) is the new rule of these primitives on every platform."""
    for prim in prims:
        for table in [mlir._lowerings, *mlir._platform_specific_lowerings.values()]:
            if prim in table:
                table[prim] = mlir.LoweringRuleEntry(make(table[prim].rule), table[prim].inline)

def emit(ctx, f, avals, *values):
    """f of these values, in the program that is being made."""
    avals = [core.ShapedArray(a.shape, a.dtype) for a in avals]
    return mlir.lower_fun(f, multiple_results=False)(ctx.replace(primitive=None, avals_in=avals, avals_out=None), *values)[0]

U32 = core.ShapedArray((), np.uint32)
def manual(ctx):
    return isinstance(ctx.module_context.axis_context, SPMDAxisContext)

def before_it(f, when=lambda ctx, kw: True):
    """f(operand, number of the device) is what the collective gets."""
    def make(old):
        def rule(ctx, x, **kw):
            if manual(ctx) and when(ctx, kw):
                mark()
                x = emit(ctx, f, [ctx.avals_in[0], U32], x, hlo.partition_id())
            return old(ctx, x, **kw)
        return rule
    return make

def after_it(f, when=lambda ctx, kw: True):
    """f(result, operand, number of the device) is what the collective gives."""
    def make(old):
        def rule(ctx, x, **kw):
            out, = old(ctx, x, **kw)
            if manual(ctx) and when(ctx, kw):
                mark()
                out = emit(ctx, lambda o, i, p: f(o, i, p, kw), [ctx.avals_out[0], ctx.avals_in[0], U32], out, x, hlo.partition_id())
            return [out]
        return rule
    return make

def regroup(change):
    """change(the groups of devices) are those of an all-reduce."""
    old = PA._replica_groups
    def groups(*a, **kw):
        found = old(*a, **kw)
        changed = change(found)
        if changed is not found:
            mark()
        return changed
    def make(was):
        def rule(*a, **kw):
            PA._replica_groups = groups
            try:
                return was(*a, **kw)
            finally:
                PA._replica_groups = old
        return rule
    relower(PSUM, make)

def is_float(ctx, kw):
    return ctx.avals_in[0].dtype == np.float32
PSUM = [PA.psum_p, PA.psum_invariant_p]
GATHER = [PA.all_gather_p, PA.all_gather_invariant_p, PA.all_gather_reduced_p]
SCATTER = [PA.reduce_scatter_p, PA.unreduced_reduce_scatter_p]

def rounded(x, bits=7):
    return lax.reduce_precision(x, 8, bits) if x.dtype == np.float32 else x

def flipped(x, here, at, bit):
    """One bit of one element of x (float32), on the device where `here` holds."""
    if x.dtype != np.float32 or x.size == 0:
        return x
    words = lax.bitcast_convert_type(x, np.uint32).reshape(-1)
    mask = jnp.where((lax.iota(np.int32, x.size) == at % x.size) & here, np.uint32(1 << bit), np.uint32(0))
    return lax.bitcast_convert_type(words ^ mask, np.float32).reshape(x.shape)

def memory(shard):
    """The bytes of a buffer of a device, in place (CPU)."""
    data = shard.data
    data.block_until_ready()
    return np.ctypeslib.as_array((ctypes.c_ubyte * data.nbytes).from_address(data.unsafe_buffer_pointer()))

_runs, _kept = {}, []
def after_run(hook):
    """hook(n, outputs, state) after the n-th run of each program; it may write into the buffers, or return other outputs."""
    pjit._get_fastpath_data = lambda *a, **k: None
    pxla.MeshExecutable.create_cpp_call = lambda self, params: None
    old = pxla.ExecuteReplicated.__call__
    def call(self, *args):
        outs = old(self, *args)
        if id(self) not in _runs:
            _kept.append(self)
            _runs[id(self)] = [0, {}]
        state = _runs[id(self)]
        state[0] += 1
        wide = [o for o in outs if isinstance(o, xc.ArrayImpl) and len(o.sharding.device_set) > 1 and not jax.dtypes.issubdtype(o.dtype, jax.dtypes.extended)]
        if not wide:
            return outs
        jax.block_until_ready(wide)
        new = hook(state[0], wide, state[1])
        if new:
            swap = {id(o): n for o, n in zip(wide, new)}
            return [swap.get(id(o), o) for o in outs]
        return outs
    pxla.ExecuteReplicated.__call__ = call

def of_device(out, number):
    """The memory of the part of out on this device."""
    for shard in out.addressable_shards:
        if shard.device.id == number:
            return memory(shard)
    return None

def transfers(change):
    """change(the parts, their devices) is what is sent from the host to the devices, in the order of the devices."""
    old = xc.batched_device_put
    def put(aval, sharding, xs, devices, *rest, **kw):
        xs = list(xs)
        if len(xs) >= 8 and len({np.shape(x) for x in xs}) == 1 and np.shape(xs[0]) and not any(jax.dtypes.issubdtype(x.dtype, jax.dtypes.extended) for x in xs):
            new = change(xs, devices)
            if any(not np.array_equal(np.asarray(a), np.asarray(b), equal_nan=np.asarray(a).dtype.kind == "f") for a, b in zip(xs, new)):
                mark()
            xs = new
        return old(aval, sharding, xs, devices, *rest, **kw)
    xc.batched_device_put = put
'''
PLANTS = {}


def fault(name, rung, lower, why, body):  # pylint: disable=unused-argument # they are to be read
    """lower: rungs below that may rightly name it, too; why: what somebody suffers from it."""
    PLANTS.setdefault(rung, []).append((name, "jax", PRELUDE + body.strip("\n") + "\n"))



# ---- gradient
fault("allreduce-alone", "gradient", "-", "each replica's communicator holds only itself: replicas train on their own and drift apart", """
def make(old):
    def rule(ctx, x, **kw):
        if manual(ctx) and all(isinstance(a, str) for a in kw["axes"]):
            mark()
            return [x]
        return old(ctx, x, **kw)
    return rule
relower(PSUM, make)
""")
fault("backward-products-bf16", "gradient", "-", "the library's transpose of a float32 product rounds its operands to bfloat16: gradients are wrong by 1e-3, forward values are right", """
def rule(side):
    old = (L._dot_general_transpose_lhs, L._dot_general_transpose_rhs)[side]
    def new(g, x, y, **kw):
        if g.dtype == np.float32:
            mark()
            g = rounded(g)
        return old(g, x, rounded(y) if hasattr(y, "dtype") else y, **kw)
    return new
ad.defbilinear(L.dot_general_p, rule(0), rule(1))
""")
fault("allreduce-wire-bf16", "gradient", "-", "the communication library compresses float32 all-reduces to bfloat16 on the wire without being asked", """
relower(PSUM, before_it(lambda x, p: rounded(x), is_float))
relower(PSUM, after_it(lambda o, x, p, kw: rounded(o), is_float))
""")
fault("sdc-store-device1", "gradient", "-", "silent data corruption: device 1 stores the first word of every result with bit 20 flipped (12 %); its replica diverges", """
def hook(n, outs, state):
    for out in outs:
        if out.dtype == np.float32 and out.size:
            memory_ = of_device(out, 1)
            if memory_ is not None:
                memory_[2] ^= 1 << 4
                mark()
after_run(hook)
""")
# ---- step
fault("accumulate-bf16", "step", "-", "bfloat16 products are accumulated in bfloat16, eight terms a time, though float32 was asked for: long sums lose 1 % and more", """
def make(old):
    def rule(ctx, x, y, **kw):
        a, b = ctx.avals_in
        ((l,), (r,)), _ = kw["dimension_numbers"] if len(kw["dimension_numbers"][0][0]) == 1 else (((None,), (None,)), None)
        if l is None or a.dtype != jnp.bfloat16 or b.dtype != jnp.bfloat16 or a.shape[l] <= 8:
            return old(ctx, x, y, **kw)
        mark()
        out = ctx.avals_out[0]
        def f(x, y):
            total = None
            for at in range(0, x.shape[l], 8):
                end = min(at + 8, x.shape[l])
                part = lax.dot_general(lax.slice_in_dim(x, at, end, axis=l), lax.slice_in_dim(y, at, end, axis=r), kw["dimension_numbers"], preferred_element_type=np.float32)
                part = lax.reduce_precision(part, 8, 7)
                total = part if total is None else lax.reduce_precision(total + part, 8, 7)
            return total.astype(out.dtype)
        return [emit(ctx, f, [a, b], x, y)]
    return rule
relower([L.dot_general_p], make)
""")
fault("weights-lose-low-bits-device1", "step", "gradient", "device 1's memory drops the low 16 bits of what it stores: float32 weights are bfloat16 there, small updates vanish", """
def hook(n, outs, state):
    for out in outs:
        if out.dtype == np.float32 and out.ndim:
            words = of_device(out, 1)
            if words is not None:
                if words.reshape(-1, 4)[:, :2].any():
                    mark()
                words.reshape(-1, 4)[:, :2] = 0
after_run(hook)
""")
fault("stale-third-run", "step", "-", "every fourth run of a program (3, 7, ...) hands out what the run before left in the buffers: a step is lost", """
def hook(n, outs, state):
    now = [[memory(s).copy() for s in o.addressable_shards] for o in outs]
    if n % 4 == 3 and "last" in state:
        for o, shards in zip(outs, state["last"]):
            for s, old in zip(o.addressable_shards, shards):
                m = memory(s)
                if (m != old).any():
                    mark()
                m[:] = old
    state["last"] = [[memory(s).copy() for s in o.addressable_shards] for o in outs]
after_run(hook)
""")
fault("cache-of-programs-lost", "step", "-", "the library forgets its compiled programs after each call: every step traces and compiles again", """
def hook(n, outs, state):
    mark()
    jax.clear_caches()
after_run(hook)
""")
# ---- donation
fault("donation-dropped-by-jit", "donation", "-", "jit drops donate_argnums: twice the memory of the state, out of memory in a real program", """
old = jax.jit
def jit(*a, **kw):
    for word in ("donate_argnums", "donate_argnames"):
        if kw.pop(word, None):
            mark()
    return old(*a, **kw)
jax.jit = jit
""")
fault("donation-last-leaf-kept", "donation", "-", "the lowering forgets the last donated array (one leaf of the state is not reused): memory of that leaf twice", """
old = mlir._set_up_aliases
def new(aliases, avals_in, avals_out, donated, *rest, **kw):
    donated = list(donated)
    if sum(donated) > 1:
        mark()
        donated[max(i for i, d in enumerate(donated) if d)] = False
    return old(aliases, avals_in, avals_out, donated, *rest, **kw)
mlir._set_up_aliases = new
""")
fault("donation-copied-on-device1", "donation", "-", "on device 1 the allocator copies the result into fresh memory each step: there the state is held twice", """
def hook(n, outs, state):
    new = []
    for out in outs:
        parts = []
        for s in out.addressable_shards:
            if s.device.id == 1:
                parts.append(jax.device_put(np.array(s.data), s.device))
                mark()
            else:
                parts.append(s.data)
        new.append(jax.make_array_from_single_device_arrays(out.shape, out.sharding, parts))
    state.setdefault("hold", []).append(outs[:1])
    return new
after_run(hook)
""")
fault("reused-buffer-overwritten", "donation", "gradient, step", "a buffer that was reused belongs to another allocation as well, which writes 16 zero bytes into it from the second run on (device 0)", """
def hook(n, outs, state):
    if n >= 2:
        for out in outs:
            if out.dtype == np.float32 and out.ndim:
                words = of_device(out, 0)
                if words is not None and words[:16].any():
                    mark()
                    words[:16] = 0
after_run(hook)
""")
# ---- remat
fault("policy-saves-everything", "remat", "-", "jax.checkpoint's default policy keeps every value: no memory is saved, the program does not fit", """
from jax._src import ad_checkpoint as AC
old = AC.checkpoint
def checkpoint(*a, **kw):
    mark()
    kw["policy"] = jax.checkpoint_policies.everything_saveable
    return old(*a, **kw)
jax.checkpoint = jax.remat = AC.checkpoint = AC.remat = checkpoint
import jax.ad_checkpoint
jax.ad_checkpoint.checkpoint = checkpoint
""")
fault("kept-values-compressed", "remat", "-", "what crosses the barrier to the backward pass is kept in bfloat16 (compressed residuals): gradients are wrong by 1e-3, the loss is right", """
from jax._src.lib.mlir import ir
old = hlo.OptimizationBarrierOp
import types
def barrier(values, *a, **kw):
    op = old(values, *a, **kw)
    out = []
    for v in op.results:
        if "f32" in str(v.type):
            mark()
            v = hlo.reduce_precision(v, ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 8), ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 7))
        out.append(v)
    return types.SimpleNamespace(results=out)
hlo.OptimizationBarrierOp = barrier
""")
# ---- fsdp
fault("gather-last-two-swapped", "fsdp", "-", "the ring of an all-gather has its last two members in the other order: their rows of the weights are exchanged", """
def swap(o, x, p, kw):
    d, n, tiled = kw["all_gather_dimension"], kw["axis_size"], kw["tiled"]
    block = o.shape[d] // n if tiled else 1
    if n < 3:
        return o
    cut = [lax.slice_in_dim(o, 0, (n - 2) * block, axis=d), lax.slice_in_dim(o, (n - 1) * block, n * block, axis=d), lax.slice_in_dim(o, (n - 2) * block, (n - 1) * block, axis=d)]
    return lax.concatenate(cut, d)
relower(GATHER, after_it(swap))
""")
fault("scatter-rotated", "fsdp", "-", "a reduce-scatter hands each device the part of its neighbour: gradients reach other weights", """
def turn(x, p, d):
    n = 8
    if x.shape[d] % 8:
        return x
    block = x.shape[d] // 8
    return lax.concatenate([lax.slice_in_dim(x, block, x.shape[d], axis=d), lax.slice_in_dim(x, 0, block, axis=d)], d)
def make(old):
    def rule(ctx, x, **kw):
        if manual(ctx):
            mark()
            x = emit(ctx, lambda x: turn(x, None, kw["scatter_dimension"]), [ctx.avals_in[0]], x)
        return old(ctx, x, **kw)
    return rule
relower(SCATTER, make)
""")
fault("scatter-without-device5", "fsdp", "-", "the contribution of device 5 to reduce-scatters is lost: an eighth of the batch does not count", """
relower(SCATTER, before_it(lambda x, p: jnp.where(p == 5, jnp.zeros_like(x), x)))
""")
fault("gather-bitflip-device6", "fsdp", "-", "device 6 receives one element of gathered weights with its lowest exponent bit flipped (silent corruption in a link)", """
relower(GATHER, after_it(lambda o, x, p, kw: flipped(o, p == 6, 17, 23)))
""")
# ---- tensor
fault("psum-over-the-world", "tensor", "-", "an all-reduce over the model axis uses the communicator of all devices: partial products of both halves of the batch are added", """
regroup(lambda found: [[i for g in found for i in g]] if len(found[0]) == 4 and len(found) == 2 else found)
""")
fault("psum-of-wrong-pairs", "tensor", "-", "an all-reduce over the data axis pairs neighbours instead of devices four apart: gradients of different weights are averaged", """
regroup(lambda found: [[0, 1], [2, 3], [4, 5], [6, 7]] if len(found[0]) == 2 and len(found) == 4 else found)
""")
fault("multiplier-of-device3", "tensor", "fsdp", "one multiplier of device 3 is broken: the first element of each of its products has bit 22 flipped (up to 50 %)", """
def make(old):
    def rule(ctx, x, y, **kw):
        out, = old(ctx, x, y, **kw)
        if manual(ctx) and ctx.avals_out[0].dtype == np.float32:
            mark()
            out = emit(ctx, lambda o, p: flipped(o, p == 3, 0, 22), [ctx.avals_out[0], U32], out, hlo.partition_id())
        return [out]
    return rule
relower([L.dot_general_p], make)
""")
fault("placement-transposed", "tensor", "fsdp", "the transfer to the devices walks a mesh of 4 by 2 instead of 2 by 4: parts of arrays lie on other devices than the program thinks", """
transfers(lambda xs, devices: [xs[i] for i in (0, 2, 4, 6, 1, 3, 5, 7)] if len(xs) == 8 else xs)
""")
# ---- sequence
fault("links-crossed", "sequence", "-", "the last two links of a permute are crossed: two devices get each other's keys and values", """
def make(old):
    def rule(ctx, x, *, axis_name, perm):
        perm = [tuple(p) for p in perm]
        if len(perm) >= 3:
            mark()
            (a, b), (c, d) = perm[-2:]
            perm[-2:] = [(a, d), (c, b)]
        return old(ctx, x, axis_name=axis_name, perm=tuple(perm))
    return rule
relower([PA.ppermute_p], make)
""")
fault("permute-wire-bf16", "sequence", "-", "the communication library sends float32 permutes as bfloat16", """
relower([PA.ppermute_p], before_it(lambda x, p: rounded(x), is_float))
""")
fault("message-truncated-device4", "sequence", "-", "the last eighth of each message into device 4 does not arrive and is left as zeros", """
def cut(o, x, p, kw):
    lost = (lax.iota(np.int32, o.size) >= o.size - max(1, o.size // 8)).reshape(o.shape) & (p == 4)
    return jnp.where(lost, jnp.zeros_like(o), o)
relower([PA.ppermute_p], after_it(cut))
""")
fault("fast-exp", "sequence", "-", "the compiler takes a fast exp with 10 bits (fast-math without being asked): attention weights are wrong by 5e-4", """
def make(old):
    def rule(ctx, x, **kw):
        out, = old(ctx, x, **kw)
        if ctx.avals_out[0].dtype == np.float32:
            mark()
            out = emit(ctx, lambda o: rounded(o, 9), [ctx.avals_out[0]], out)
        return [out]
    return rule
relower([L.exp_p, L.exp2_p], make)
""")
# ---- pipeline
fault("permute-transpose-not-inverted", "pipeline", "-", "the library's transpose of ppermute sends gradients forwards instead of back", """
def rule(t, x, perm, axis_name):
    mark()
    return [PA.ppermute(t, axis_name=axis_name, perm=perm)]
ad.deflinear2(PA.ppermute_p, rule)
""")
fault("hop-bitflip-device6", "pipeline", "sequence", "one word of each message into device 6 has its lowest exponent bit flipped", """
relower([PA.ppermute_p], after_it(lambda o, x, p, kw: flipped(o, p == 6, 3, 23)))
""")
fault("transfer-swaps-2-and-3", "pipeline", "fsdp, tensor, sequence", "transfers from the host to devices 2 and 3 are exchanged: two layers lie on each other's stage", """
transfers(lambda xs, devices: [xs[{2: 3, 3: 2}.get(i, i)] for i in range(len(xs))])
""")
fault("loopback-device5", "pipeline", "sequence", "device 5 receives what it sent itself (a loopback instead of the link)", """
relower([PA.ppermute_p], after_it(lambda o, x, p, kw: jnp.where(p == 5, x, o)))
""")
# ---- reshard
fault("parts-of-1-and-2-swapped", "reshard", "step .. pipeline where an output is split", "what programs write to devices 1 and 2 is exchanged: numbers in the wrong place", """
def hook(n, outs, state):
    for out in outs:
        a, b = of_device(out, 1), of_device(out, 2)
        if a is not None and b is not None and a.size == b.size and (a != b).any():
            mark()
            a[:], b[:] = b.copy(), a.copy()
after_run(hook)
""")
fault("one-bit-device7", "reshard", "any slice rung whose result lies on device 7", "one bit (2^-10 of the value, or bit 13 of an integer) of the middle word of what device 7 writes is flipped", """
def hook(n, outs, state):
    for out in outs:
        words = of_device(out, 7)
        if words is not None and out.dtype.itemsize == 4 and words.size:
            at = words.size // 8 * 4
            words[at + 1] ^= 1 << 5
            mark()
after_run(hook)
""")
fault("replica-not-written-device5", "reshard", "any slice rung with a whole copy on each device", "where an array lies whole on every device, the copy of device 5 was not written (zeros)", """
def hook(n, outs, state):
    for out in outs:
        if out.ndim and out.is_fully_replicated:
            words = of_device(out, 5)
            if words is not None and words.any():
                mark()
                words[:] = 0
after_run(hook)
""")
# ---- random
fault("device6-repeats-device5", "random", "reshard (unsigned numbers only)", "the offset of device 6 is that of device 5: the same random bits twice, the same rows dropped", """
def hook(n, outs, state):
    for out in outs:
        a, b = of_device(out, 5), of_device(out, 6)
        if out.dtype.kind == "u" and a is not None and b is not None and a.size == b.size and (a != b).any():
            mark()
            b[:] = a
after_run(hook)
""")
fault("shift-right-arithmetic", "random", "-", "the compiler makes an arithmetic shift of a logical one on unsigned words: rotations are wrong, another stream of bits", """
def make(old):
    def rule(ctx, x, y, **kw):
        if ctx.avals_in[0].dtype == np.uint32:
            mark()
            def f(x, y):
                i = lax.bitcast_convert_type(x, np.int32)
                return lax.bitcast_convert_type(lax.shift_right_arithmetic(i, lax.bitcast_convert_type(y, np.int32)), np.uint32)
            return [emit(ctx, f, ctx.avals_in, x, y)]
        return old(ctx, x, y, **kw)
    return rule
relower([L.shift_right_logical_p], make)
""")
fault("last-row-of-counters-repeated", "random", "-", "the counters of the last row are not advanced (tail of a vector loop): the last two rows get the same bits", """
from jax._src.random import prng
def make(old):
    def rule(ctx, *, shape):
        outs = old(ctx, shape=shape)
        if shape and shape[0] > 1:
            mark()
            def f(c):
                return lax.concatenate([lax.slice_in_dim(c, 0, shape[0] - 1, axis=0), lax.slice_in_dim(c, shape[0] - 2, shape[0] - 1, axis=0)], 0)
            outs = [emit(ctx, f, [a], o) for a, o in zip(ctx.avals_out, outs)]
        return outs
    return rule
relower([prng.iota_2x32_shape_p], make)
""")
# ---- evaluate
fault("every-second-run-stale", "evaluate", "step, donation, remat", "every second run of a program returns the numbers of the run before: a batch counts twice, another not", """
def hook(n, outs, state):
    if n % 2 == 0 and "last" in state:
        for o, shards in zip(outs, state["last"]):
            for s, old in zip(o.addressable_shards, shards):
                m = memory(s)
                if (m != old).any():
                    mark()
                m[:] = old
    state["last"] = [[memory(s).copy() for s in o.addressable_shards] for o in outs]
after_run(hook)
""")
fault("psum-without-device7", "evaluate", "fsdp, tensor, sequence, pipeline", "the contribution of device 7 to all-reduces is lost: its rows do not count", """
relower(PSUM, before_it(lambda x, p: jnp.where(p == 7, jnp.zeros_like(x), x)))
""")
fault("device7-gets-rows-of-6", "evaluate", "fsdp, tensor, sequence, pipeline", "the transfer to device 7 sends the buffer of device 6 again: its rows are evaluated twice, its own never", """
transfers(lambda xs, devices: [*xs[:7], xs[6], *xs[8:]])
""")
# ---- model
fault("last-bit-now-and-then", "model", "any rung that compares bits", "device 2 computes wrongly now and then: in runs 2, 3, 5, 7, 11, ... one word of each result has its last bit flipped; no run can be repeated", """
PRIMES = {p for p in range(2, 4000) if all(p % q for q in range(2, int(p**0.5) + 1))}
def hook(n, outs, state):
    state.setdefault("n", 0)
    if n in PRIMES:
        for out in outs:
            words = of_device(out, 2)
            if words is not None and out.dtype == np.float32 and words.size:
                words[n * 4 % words.size] ^= 1
                mark()
after_run(hook)
""")
fault("float32-products-in-bf16", "model", "gradient, remat, fsdp .. pipeline", "the compiler ignores the precision that was asked for and rounds the operands of float32 products to bfloat16", """
def make(old):
    def rule(ctx, x, y, **kw):
        if ctx.avals_in[0].dtype == np.float32 and ctx.avals_in[1].dtype == np.float32:
            mark()
            x, y = emit(ctx, rounded, [ctx.avals_in[0]], x), emit(ctx, rounded, [ctx.avals_in[1]], y)
        return old(ctx, x, y, **kw)
    return rule
relower([L.dot_general_p], make)
""")
fault("ge-as-gt", "model", "any rung with such a comparison", "the compiler lowers >= of integers as >: a causal mask hides a token from itself", """
def make(old):
    def rule(ctx, x, y, **kw):
        if ctx.avals_in[0].dtype == np.int32:
            mark()
            return mlir._lowerings[L.gt_p].rule(ctx, x, y, **kw)
        return old(ctx, x, y, **kw)
    return rule
relower([L.ge_p], make)
""")
fault("scatter-add-overwrites", "model", "any rung with such a gradient", "a scatter-add with repeated indices keeps the last update instead of their sum: gradients of repeated tokens are lost", """
def make(old):
    def rule(ctx, operand, indices, updates, **kw):
        mark()
        dtype = ctx.avals_out[0].dtype
        closed = jax.make_jaxpr(lambda a, b: b)(np.zeros((), dtype), np.zeros((), dtype))
        kw["update_jaxpr"], kw["update_consts"] = closed.jaxpr, ()
        return old(ctx, operand, indices, updates, **kw)
    return rule
relower([SL.scatter_add_p], make)
""")
fault("replica-drift-device3", "model", "gradient .. evaluate where a result is whole on each device", "the copy of weights on device 3 is off by a factor of two in one element after each step: replicas part silently", """
def hook(n, outs, state):
    for out in outs:
        if out.dtype == np.float32 and out.ndim and out.is_fully_replicated:
            words = of_device(out, 3)
            if words is not None:
                words[2] ^= 1 << 7
                mark()
after_run(hook)
""")
