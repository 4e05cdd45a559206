"""AdamW on a linear model, step after step.

Adds: an optimizer. Step count and learning rate are traced arguments: one program serves every step. A Python number as
an argument is traced too (weakly typed) and a new value of it compiles nothing. It compiles once more where it takes turns
with an array or a numpy number, which are strongly typed; each value compiles for itself as a static argument or a
constant that the function closes over.
The loss of the last step is read, and no other: a read waits for the device.
args: steps (20), batch (64), width (32).
"""

import sliceup_adamw
import sliceup_jax


def body(session):
    jax, numpy, canary = session.jax, session.numpy, session.canary
    steps = canary.args.get("steps", 20)
    x, y = sliceup_adamw.problem(
        numpy, **session.shaped(batch=canary.args.get("batch", 64), width=canary.args.get("width", 32)))

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
    loss, requests = train(session, jitted, data, state, rate, steps)
    expected = sliceup_adamw.reference(numpy, x, y, steps)
    # w is off by some 1e-6 of the way that it went, and the loss is of second order in that way.
    canary.check("loss of the last step", expected[-1], loss, 1e-5 * expected[0])
    canary.check(f"compile requests during steps 2..{steps}", 0, requests)


def train(session, jitted, data, state, rate, steps):
    """The loss of the last step, and how often steps after the first asked the compiler."""
    counted, before, loss = session.canary.counted, 0, None
    for number in range(steps):
        # The jitted function, not the compiled one: only it can compile again, which is what is watched.
        *state, loss = jitted(*data, *state, rate)
        before = counted["compile_requests"] if number == 0 else before
    last = session.scalar(loss)
    # The last step needs the state of each one before it, so all of them have ended.
    counted["executions"] += steps
    return last, counted["compile_requests"] - before


sliceup_jax.run(body)
