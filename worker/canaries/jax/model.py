"""A small transformer learns a made language, twice: every loss has the same bits again, and so have all devices with the same part of the weights.

Adds: everything below in one program: attention, a loss over tokens, gradients, the batch split over the first mesh axis
and each layer over the last, with the collectives that the compiler chooses. Shapes are in sliceup_transformer.py.
args: steps (20), batch (48), length (8), width (48), heads (4), layers (2), vocabulary (32); batch and width are rounded up
to what the mesh divides. With the usual sizes the losses are held against those of float64 on one device, whatever the mesh.
"""

import hashlib
import math

import sliceup_jax
import sliceup_transformer
from sliceup_chain import rounded_up

# Losses of steps 10 and 20 with the usual sizes, by this program in float64 on one device.
USUAL = {10: 0.31874037013826806, 20: 0.03432857653864209}
# In parts of the first loss, which is off by some 1e-7. Each step adds its rounding to the weights: 1e-6 after 20 steps.
FIRST, LATER = 1e-5, 1e-4


def sizes_of(canary):
    sizes = {name: canary.args.get(name, usual) for name, usual in sliceup_transformer.SIZES.items()}
    sizes["batch"] = rounded_up(sizes["batch"], canary.sizes[0])
    sizes["width"] = rounded_up(sizes["width"], math.lcm(sizes["heads"], canary.sizes[-1]))
    return sizes


def placed(session, weights):
    """The first state: every weight split as SPLIT says where the mesh has an axis for it."""
    numpy, last = session.numpy, session.canary.axes[-1] if len(session.canary.axes) > 1 else None

    def spec(name):
        axis = sliceup_transformer.SPLIT[name]
        return () if axis is None else (None,) * axis + (last,)

    zeros = {name: numpy.zeros_like(weight) for name, weight in weights.items()}
    return tuple({name: session.place(part[name], *spec(name)) for name in part} for part in (weights, zeros))


def trained(session, jitted, tokens, state, steps):
    """The losses, one for each step, the last state, and how often steps after the first asked the compiler."""
    counted, before, losses = session.canary.counted, 0, []
    for number in range(steps):
        state, loss = jitted(tokens, state)
        losses.append(loss)
        before = counted["compile_requests"] if number == 0 else before
    values = [session.scalar(loss) for loss in losses]
    counted["executions"] += steps
    return values, state, counted["compile_requests"] - before


def unlike(session, state):
    """How many numbers of local devices have other bits than those of the first one that holds the same part."""
    numpy, count = session.numpy, 0
    for array in session.jax.tree.leaves(state):
        first = {}
        for shard in array.addressable_shards:
            words = numpy.asarray(shard.data).view(numpy.uint32)
            count += int((words != first.setdefault(str(shard.index), words)).sum())
    return count


def agree_on_whole_parts(session, state):
    """Every host has the same bits of what each device holds as a whole; the gate names who has others."""
    whole = hashlib.sha256()
    for array in session.jax.tree.leaves(state):
        if array.is_fully_replicated:
            whole.update(session.numpy.asarray(array.addressable_data(0)).tobytes())
    if session.canary.world > 1:
        session.canary.gate("weights", "agree", whole.hexdigest())


def body(session):
    jax, numpy, canary = session.jax, session.numpy, session.canary
    sizes, steps = session.shaped(**sizes_of(canary)), canary.args.get("steps", 20)
    weights, tokens = (make(numpy, sizes) for make in (sliceup_transformer.weights, sliceup_transformer.tokens))
    state, data = placed(session, weights), session.place(tokens, canary.axes[0])

    def model(tokens, state):
        return sliceup_transformer.step(jax, tokens, state, sizes["heads"])

    whole = jax.tree.map(lambda array: array.sharding, state)
    jitted = jax.jit(model, out_shardings=(whole, session.sharding()))
    sliceup_jax.Program(session, "model", jitted, data, state)
    if session.compile_only:
        return
    (losses, last, requests), (again, _, _) = (trained(session, jitted, data, state, steps) for _ in range(2))
    canary.check(f"compile requests during steps 2..{steps}", 0, requests)
    canary.check(f"losses of {steps} that have other bits the second time", 0, sum(a != b for a, b in zip(losses, again)))
    canary.check("numbers of the last state that differ between devices with the same part", 0, unlike(session, last))
    agree_on_whole_parts(session, last)
    judge(canary, losses, sizes, sliceup_transformer.first_loss(numpy, tokens, weights, sizes["heads"]))


def judge(canary, losses, sizes, first):
    canary.check("first loss", first, losses[0], FIRST * first)
    canary.check("last loss over half of the first", 0, max(0, losses[-1] - losses[0] / 2))
    if sizes != sliceup_transformer.SIZES:
        return
    for number, right in USUAL.items():
        if number <= len(losses):
            canary.check(f"loss {number} of float64 on one device", right, losses[number - 1], LATER * first)


sliceup_jax.run(body)
