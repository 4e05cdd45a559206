"""AdamW on a linear model, step after step.

Adds: an optimizer. Step count and learning rate are arrays; as Python numbers they would be
constants of the program, and every step would compile again.
args: steps (20), batch (64), width (32).
"""

import sliceup_jax

BETA1, BETA2, EPSILON, DECAY, RATE = 0.9, 0.999, 1e-8, 0.01, 0.05


def loss_and_gradient(x, y, w, dot):
    """x: (batch, width), y: (batch,), w: (width,); returns (), (width,)."""
    error = dot(x, w) - y
    return (error * error).mean(), 2.0 * dot(x.T, error) / y.shape[0]


def step(x, y, w, m, v, count, rate, dot):
    """w, m, v: (width,), count, rate: (); returns the new w, m, v, count and the loss before the step."""
    loss, gradient = loss_and_gradient(x, y, w, dot)
    count = count + 1.0
    m = BETA1 * m + (1.0 - BETA1) * gradient
    v = BETA2 * v + (1.0 - BETA2) * gradient * gradient
    unbiased_m = m / (1.0 - BETA1**count)
    unbiased_v = v / (1.0 - BETA2**count)
    w = w - rate * (unbiased_m / (unbiased_v**0.5 + EPSILON) + DECAY * w)
    return w, m, v, count, loss


def problem(numpy, batch, width):
    """x: (batch, width), y: (batch,), both float64, the same on every host."""
    x = numpy.sin(numpy.arange(batch * width, dtype=numpy.float64)).reshape(batch, width)
    return x, x @ numpy.cos(numpy.arange(width, dtype=numpy.float64))


def reference(numpy, x, y, steps):
    """The losses in float64, on the host."""
    w = numpy.zeros(x.shape[1])
    state, losses = (w, w, w, 0.0), []
    for _ in range(steps):
        *state, loss = step(x, y, *state, RATE, numpy.dot)
        losses.append(float(loss))
    return losses


def body(session):
    jax, numpy, canary = session.jax, session.numpy, session.canary
    steps = canary.args.get("steps", 20)
    x, y = problem(numpy, canary.args.get("batch", 64), canary.args.get("width", 32))

    def adamw(x, y, w, m, v, count, rate):
        """All float32, shapes as in step()."""
        return step(x, y, w, m, v, count, rate, lambda a, b: jax.numpy.dot(a, b, precision="highest"))

    jitted = jax.jit(adamw, out_shardings=(session.sharding(),) * 5)
    data = [session.place(a.astype(numpy.float32), canary.axes[0]) for a in (x, y)]
    zeros = numpy.zeros(x.shape[1], numpy.float32)
    state = [session.place(a) for a in (zeros, zeros, zeros, numpy.float32(0))]
    rate = session.place(numpy.float32(RATE))
    sliceup_jax.Program(session, "adamw", jitted, *data, *state, rate)
    if session.compile_only:
        return
    losses, requests = train(session, jitted, data, state, rate, steps)
    expected = reference(numpy, x, y, steps)
    canary.check("loss of the last step", expected[-1], losses[-1], 0.001 * expected[0])
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
