"""A network of two layers, and its training once more with numpy in float64, the gradients written out."""

BETA1, BETA2, EPSILON, DECAY = 0.9, 0.999, 1e-8, 0.01


def rate(width):
    """A step moves every weight by about this much, and so a sum of `width` products by that many times as much."""
    return 0.1 / width


def problem(numpy, rows, width):
    """x: (rows, width), y: (rows, 1)."""
    x = numpy.sin(numpy.arange(rows * width, dtype=float) * 0.7).reshape(rows, width)
    return x, numpy.tanh(x @ numpy.cos(numpy.arange(width, dtype=float)))[:, None] * 0.5


def initial(numpy, width):
    """Weights as torch.nn.Linear has them: (width, width), (width,), (1, width), (1,)."""
    shapes = (width, width), (width,), (1, width), (1,)
    return [numpy.sin(numpy.arange(numpy.prod(shape)) * 0.7 + salt).reshape(shape) / width**0.5 for salt, shape in enumerate(shapes)]


def network(torch, parameters):
    """(batch, width) -> (batch, 1): torch.nn layers with these parameters, tensors of the shapes of initial()."""
    width = parameters[0].shape[0]
    model = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.Tanh(), torch.nn.Linear(width, 1))
    for layer, pair in ((model[0], parameters[:2]), (model[2], parameters[2:])):
        layer.weight, layer.bias = (torch.nn.Parameter(each) for each in pair)
    return model


def gradients(numpy, x, y, weights):
    """The loss, and its gradient by each weight."""
    w1, b1, w2, b2 = weights
    hidden = numpy.tanh(x @ w1.T + b1)
    error = hidden @ w2.T + b2 - y
    out = 2 * error / len(x)
    inner = (out @ w2) * (1 - hidden**2)
    return float((error**2).mean()), [inner.T @ x, inner.sum(0), out.T @ hidden, out.sum(0)]


def reference(numpy, x, y, steps):
    """The losses before each step."""
    weights, losses, moved = initial(numpy, x.shape[1]), [], rate(x.shape[1])
    state = [(numpy.zeros(each.shape), numpy.zeros(each.shape)) for each in weights]
    for number in range(1, steps + 1):
        loss, slopes = gradients(numpy, x, y, weights)
        losses.append(loss)
        state = [(BETA1 * m + (1 - BETA1) * g, BETA2 * v + (1 - BETA2) * g * g) for (m, v), g in zip(state, slopes)]
        weights = [w * (1 - moved * DECAY) - moved * (m / (1 - BETA1**number)) / (numpy.sqrt(v / (1 - BETA2**number)) + EPSILON)
                   for w, (m, v) in zip(weights, state)]
    return losses
