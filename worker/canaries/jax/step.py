"""Steps of training as they are done: products in bfloat16, everything that is kept in float32, and one read at the end.

Adds: mixed precision with float32 master weights, gradients accumulated over parts of the batch, weight decay, a
schedule of the rate. x: (parts, rows, width) bfloat16 and y float32, rows split over the first mesh axis; weights and
moments (layers, width, width) float32 on every device.
The schedule is computed from a count that is an argument: steps 2 to n ask the compiler for nothing.
args: steps (12, at most 20), parts (4), batch (32 for each device), width (32), layers (3).
"""

import re

import sliceup_chain
import sliceup_jax
import sliceup_step
from sliceup_jax_counting import Reads

# In parts of the first loss, and of the way that the weights went. A product of bfloat16 is off by some 1/256; most of
# that cancels in a loss, and in the sign-like steps of AdamW less of it does: a thousandth and a fortieth were seen.
LOSS, WAY = 0.005, 0.03
LONG = 1024


def short_sums(text, width):
    """How many times gradients, or parts of them, are added up in bfloat16."""
    return len(re.findall(rf"stablehlo\.add .*x{width}x{width}xbf16>", text))


def body(session):
    jax, numpy, canary = session.jax, session.numpy, session.canary
    steps, parts = canary.args.get("steps", 12), canary.args.get("parts", 4)
    chain, rows = sliceup_chain.Chain(session, canary.args.get("layers", 3), 32), canary.axes[0]
    # Shorter once, here: the reference begins with the same numbers.
    chain.x = chain.x.astype(jax.numpy.bfloat16)
    data = [session.place(part.reshape(parts, -1, chain.width), None, rows) for part in (chain.x, chain.y)]
    zeros = numpy.zeros(chain.weights.shape, numpy.float32)
    state = [session.place(part) for part in (chain.weights, zeros, zeros, numpy.float32(0))]

    def step(x, y, w, m, v, count):
        return sliceup_step.step(jax, x, y, w, m, v, count)

    jitted = jax.jit(step, out_shardings=(session.sharding(),) * 5)
    program = sliceup_jax.Program(session, "step", jitted, *data, *state)
    canary.check("products that are not of bfloat16", 0, sliceup_chain.not_short(program.text))
    canary.check("sums of gradients in bfloat16", 0, short_sums(program.text, chain.width))
    prove_long_sums(session)
    if session.compile_only:
        return
    state, losses, requests = trained(session, jitted, data, state, steps)
    canary.check(f"compile requests during steps 2..{steps}", 0, requests)
    judge(session, chain, state, losses)


def prove_long_sums(session):
    """x: (8, LONG), y: (LONG, 8) bfloat16 of whole numbers, whose products add up to less than 2^24: exact in float32, and in bfloat16 lost
    behind 256. The sums of the steps are too short to show it."""
    jax, numpy = session.jax, session.numpy
    x, y = (numpy.fromfunction(lambda i, j: 1 + (i * factor + j) % 3, shape) for factor, shape in ((1, (8, LONG)), (2, (LONG, 8))))
    args = [session.place(part.astype(jax.numpy.bfloat16)) for part in (x, y)]

    def long_sums(x, y):
        return jax.numpy.dot(x, y, preferred_element_type=jax.numpy.float32)

    program = sliceup_jax.Program(session, "long_sums", jax.jit(long_sums, out_shardings=session.sharding()), *args)
    if not session.compile_only:
        wrong = max(int((block != x @ y).sum()) for block in session.blocks(program(*args)))
        session.canary.check(f"sums of {LONG} products of bfloat16 that are not exact", 0, wrong)


def trained(session, jitted, data, state, steps):
    """The state and the losses, none of them read, and how often steps after the first asked the compiler."""
    counted, before, losses = session.canary.counted, 0, []
    with Reads(session.jax, state[0]) as reads:
        for number in range(steps):
            *state, loss = jitted(*data, *state)
            losses.append(loss)
            before = counted["compile_requests"] if number == 0 else before
    session.canary.check("values that were read before the end", 0, reads.count)
    return state, losses, counted["compile_requests"] - before


def judge(session, chain, state, losses):
    numpy, canary, steps = session.numpy, session.canary, len(losses)
    canary.check("arrays of the state that are not float32", 0, sum(array.dtype != numpy.float32 for array in state))
    last = session.scalar(losses[-1])
    # The last step needs the state of each one before it, so all of them have ended.
    canary.counted["executions"] += steps
    right, weights = sliceup_step.reference(chain, steps)
    canary.check("loss of the last step", right[-1], last, LOSS * right[0])
    for number, block in enumerate(session.blocks(state[0])):
        short = int((block.view(numpy.uint32) << 16 == 0).sum())
        canary.check(f"weights of {block.size} of device {number} that bfloat16 would hold", 0, short, block.size / 100)
        off = numpy.linalg.norm(block - weights) / numpy.linalg.norm(weights - chain.weights)
        canary.check(f"error of the weights of device {number}, in parts of their way", 0, float(off), WAY)


sliceup_jax.run(body)
