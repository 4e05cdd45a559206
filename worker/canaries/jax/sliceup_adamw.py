"""One AdamW step on a linear model, for jax arrays and for numpy's: the caller brings the product."""

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
