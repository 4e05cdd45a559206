"""One step of mixed precision: bfloat16 products, float32 gradients and state; and the same in float64 on the host.

AdamW whose rate rises over the first steps and then falls along a cosine. The numbers are such that each of its parts
moves the weights by a twentieth of their way or more.
"""

import math

import sliceup_chain

BETA1, BETA2, EPSILON, DECAY, RATE, RISING, FALLING = 0.9, 0.99, 1e-4, 0.5, 0.02, 4, 20


def moved(numpy, slope, w, m, v, count):
    """The state after AdamW: w, m, v, count."""
    count = count + 1.0
    rate = RATE * numpy.minimum(count / RISING, 0.5 + 0.5 * numpy.cos(numpy.pi * count / FALLING))
    m = BETA1 * m + (1.0 - BETA1) * slope
    v = BETA2 * v + (1.0 - BETA2) * slope * slope
    way = (m / (1.0 - BETA1**count)) / ((v / (1.0 - BETA2**count)) ** 0.5 + EPSILON)
    return w - rate * (way + DECAY * w), m, v, count


def slopes(jax, x, y, w):
    """x: (parts, rows, width) bfloat16, y: the same in float32, w: (layers, width, width) float32.

    Returns the loss and its gradient, means over the parts. The gradients of the parts are added up in float32.
    """
    numpy = jax.numpy
    short = w.astype(numpy.bfloat16)

    def one(total, part):
        loss, slope = jax.value_and_grad(lambda short: sliceup_chain.loss(jax, short, *part))(short)
        return (total[0] + loss, total[1] + slope.astype(numpy.float32)), None

    nothing = numpy.zeros((), numpy.float32), numpy.zeros(w.shape, numpy.float32)
    (loss, slope), _ = jax.lax.scan(one, nothing, (x, y))
    return loss / len(x), slope / len(x)


def step(jax, x, y, w, m, v, count):
    """x, y, w: as above; m, v: as w; count: () float32. Returns the state and the loss before the step."""
    loss, slope = slopes(jax, x, y, w)
    return *moved(jax.numpy, slope, w, m, v, count), loss


def reference(chain, steps):
    """The losses before each step, and the weights after the last: written another way than above, sums of all slopes so far."""
    numpy, weights, slopes, losses = chain.numpy, chain.weights.astype(chain.numpy.float64), [], []
    for number in range(1, steps + 1):
        loss, slope = chain.expected(weights)
        losses.append(loss)
        slopes.append(slope)
        first, second = (sum(each**power * beta ** (number - at) for at, each in enumerate(slopes, 1)) * (1 - beta) / (1 - beta**number)
                         for power, beta in ((1, BETA1), (2, BETA2)))
        rising = number / RISING if number < RISING else 1.0
        rate = RATE * min(rising, (1 + math.cos(math.pi * number / FALLING)) / 2)
        weights = weights * (1 - rate * DECAY) - rate * first / (numpy.sqrt(second) + EPSILON)
    return losses, weights
