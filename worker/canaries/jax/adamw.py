"""AdamW on a linear model, step after step.

Adds: an optimizer. Step count and learning rate are arguments, and so traced: one program serves every step. As static
arguments they would be constants of the program, and each new value would compile again.
args: steps (20), batch (64), width (32).
"""

import sliceup_adamw
import sliceup_jax


def body(session):
    jax, numpy, canary = session.jax, session.numpy, session.canary
    steps = canary.args.get("steps", 20)
    x, y = sliceup_adamw.problem(numpy, canary.args.get("batch", 64), canary.args.get("width", 32))

    def adamw(x, y, w, m, v, count, rate):
        """All float32, shapes as in sliceup_adamw.step()."""
        return sliceup_adamw.step(x, y, w, m, v, count, rate, lambda a, b: jax.numpy.dot(a, b, precision="highest"))

    jitted = jax.jit(adamw, out_shardings=(session.sharding(),) * 5)
    data = [session.place(a.astype(numpy.float32), canary.axes[0]) for a in (x, y)]
    zeros = numpy.zeros(x.shape[1], numpy.float32)
    state = [session.place(a) for a in (zeros, zeros, zeros, numpy.float32(0))]
    rate = session.place(numpy.float32(sliceup_adamw.RATE))
    sliceup_jax.Program(session, "adamw", jitted, *data, *state, rate)
    if session.compile_only:
        return
    losses, requests = train(session, jitted, data, state, rate, steps)
    expected = sliceup_adamw.reference(numpy, x, y, steps)
    # w is off by some 1e-6 of the way that it went, and the loss is of second order in that way.
    canary.check("loss of the last step", expected[-1], losses[-1], 1e-5 * expected[0])
    canary.check(f"compile requests during steps 2..{steps}", 0, requests)


def train(session, jitted, data, state, rate, steps):
    """The losses, and how often steps after the first asked the compiler."""
    counted, losses, before = session.canary.counted, [], 0
    for number in range(steps):
        # The jitted function, not the compiled one: only it can compile again, which is what is watched.
        *state, loss = jitted(*data, *state, rate)
        losses.append(session.scalar(loss))
        counted["executions"] += 1
        before = counted["compile_requests"] if number == 0 else before
    return losses, counted["compile_requests"] - before


sliceup_jax.run(body)
