"""A small transformer learns a made language, twice: every loss has the same bits again.

Adds: everything below in one program: attention, a loss over tokens, gradients, AdamW, the batch split over the first mesh
axis and each layer over the last, with the collectives that the compiler chooses. Shapes are in sliceup_transformer.py.
args: steps (20), batch (32), length (16), width (32), heads (4), layers (2), vocabulary (32). With the usual ones the
losses are held against those of float64 on one device, whatever the shape of the mesh.
"""

import sliceup_jax
import sliceup_transformer

# Losses of steps 10 and 20 with the usual sizes, by this program in float64 on one device.
USUAL = {10: 0.7789617515795113, 20: 0.4220809545313529}
# In parts of the first loss, which is off by some 1e-7. Each step adds its rounding to the weights: 1e-6 after 20 steps.
FIRST, LATER = 1e-5, 1e-4


def placed(session, weights):
    """The first state: every weight split as SPLIT says where the mesh has an axis for it."""
    numpy, last = session.numpy, session.canary.axes[-1] if len(session.canary.axes) > 1 else None

    def spec(name):
        axis = sliceup_transformer.SPLIT[name]
        return () if axis is None else (None,) * axis + (last,)

    zeros = {name: numpy.zeros_like(weight) for name, weight in weights.items()}
    parts = [{name: session.place(part[name], *spec(name)) for name in part} for part in (weights, zeros, zeros)]
    return (*parts, session.place(numpy.float32(0)))


def trained(session, jitted, tokens, state, steps):
    """The losses, one for each step."""
    losses = []
    for _ in range(steps):
        state, loss = jitted(tokens, state)
        losses.append(loss)
    values = [session.scalar(loss) for loss in losses]
    session.canary.counted["executions"] += steps
    return values


def body(session):
    jax, numpy, canary = session.jax, session.numpy, session.canary
    sizes = {name: canary.args.get(name, usual) for name, usual in sliceup_transformer.SIZES.items()}
    sizes, steps = session.shaped(**sizes), canary.args.get("steps", 20)
    weights, tokens = (make(numpy, sizes) for make in (sliceup_transformer.weights, sliceup_transformer.tokens))
    state, data = placed(session, weights), session.place(tokens, canary.axes[0])

    def model(tokens, state):
        return sliceup_transformer.step(jax, tokens, state, sizes["heads"])

    whole = jax.tree.map(lambda array: array.sharding, state)
    jitted = jax.jit(model, out_shardings=(whole, session.sharding()))
    sliceup_jax.Program(session, "model", jitted, data, state)
    if session.compile_only:
        return
    before = canary.counted["compile_requests"]
    losses, again = (trained(session, jitted, data, state, steps) for _ in range(2))
    canary.check("compile requests of all steps but the first", 0, max(0, canary.counted["compile_requests"] - before - 1))
    canary.check(f"losses of {steps} that have other bits the second time", 0, sum(a != b for a, b in zip(losses, again)))
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
