"""The gradient of a loss by its weights, by autograd, in float32.

Adds: a backward pass in the traced program; under SPMD the batch is split over the first mesh axis, and the compiler has to
add up what each part gives. x: (batch, width), y: (batch, 1); weights (width, width), (width,), (1, width), (1,).
args: batch (64), width (32). Shapes of the profile: batch.
"""

import sliceup_torch_xla
from sliceup_training import gradients, initial, network, problem

# A sum of `width` float32 products is off by some 1e-6 of its size; a term that is left out by far more than this.
TOLERANCE = 1e-5
STEP = 1e-6


def slope_along(numpy, x, y, weights, along):
    """By central differences of the loss alone, in float64: the gradients that are written out could be wrong."""
    ends = [gradients(numpy, x, y, [w + sign * STEP * a for w, a in zip(weights, along)])[0] for sign in (1, -1)]
    return (ends[0] - ends[1]) / (2 * STEP)


def body(session):
    numpy, canary = session.numpy, session.canary
    width = canary.args.get("width", 32)
    batch = session.shaped(batch=canary.args.get("batch", 64))["batch"]
    x, y = problem(numpy, batch, width)
    weights = initial(numpy, width)
    data = [session.place(part, canary.axes[0]) for part in (x, y)]
    model = network(session.torch, [session.place(each) for each in weights])
    session.sync()
    error = model(data[0]) - data[1]
    loss = (error * error).mean()
    loss.backward()
    slopes = [each.grad for each in model.parameters()]
    session.trace("gradient", [loss, *slopes])
    session.sync()
    right_loss, right = gradients(numpy, x, y, weights)
    canary.check("loss", right_loss, float(session.value(loss.detach())), TOLERANCE * right_loss)
    for name, slope, wanted in zip(("w1", "b1", "w2", "b2"), slopes, right):
        off = session.largest_error(slope, wanted) / numpy.abs(wanted).max()
        canary.check(f"relative error of the gradient by {name}", 0, off, TOLERANCE)
    along = [numpy.cos(numpy.arange(each.size) * 0.3).reshape(each.shape) for each in weights]
    seen = [session.value(slope) * a for slope, a in zip(slopes, along)]
    canary.check("slope by finite differences", slope_along(numpy, x, y, weights, along), float(sum(each.sum() for each in seen)),
                 TOLERANCE * float(sum(numpy.abs(each).sum() for each in seen)))


sliceup_torch_xla.run(body)
