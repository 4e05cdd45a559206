"""A chain of layers, its loss and its gradients: on devices by jax, and on the host by numpy in float64, written out.

x, y: (batch, width); weights: (layers, width, width), all float32 unless the caller made them shorter. Every host can
make them by itself.
"""

import re

import sliceup_blocks

# Of float32: sums of `width` and of `batch` products, through as many layers, are off by some 1e-6 of the largest value.
# bfloat16 is off by a hundredth; what is left out, counted twice or of another step by a tenth and more.
TOLERANCE = 1e-4
PRODUCT = re.compile(r"dot_general.*: \(tensor<([^>]*)>, tensor<([^>]*)>\)")


class Chain:
    """args: batch (8 for each device of the mesh), width (32), both rounded up to a multiple of the number of devices."""

    def __init__(self, session, layers, rows=8, batches=1):
        """As many weights as layers; rows: of the usual batch, for each device; x and y have so many batches."""
        args, devices = session.canary.args, session.mesh.size
        self.numpy, self.layers = session.numpy, layers
        self.batch, self.width = session.shaped(
            batch=rounded_up(args.get("batch", rows * devices), devices), width=rounded_up(args.get("width", 32), devices)).values()
        self.x, self.y = (sliceup_blocks.noise(self.numpy, (batches * self.batch, self.width), salt) for salt in (1, 2))
        self.weights = sliceup_blocks.noise(
            self.numpy, (layers, self.width, self.width), 3, (3 / self.width) ** 0.5)

    def expected(self, weights=None):
        """The loss and its gradient by the weights, at these weights or at the first ones."""
        return expected(self.numpy, self.x, self.y, self.weights if weights is None else weights)


def rounded_up(size, number):
    """The next multiple of it."""
    return -(-size // number) * number


def layer(jax, x, w):
    """x: (rows, width), w: (width, columns); returns (rows, columns) of x's dtype."""
    return jax.numpy.tanh(jax.numpy.dot(x, w, precision="highest"))


def loss(jax, weights, x, y):
    """Over the rows that are here: () float32."""

    def one(x, w):
        return layer(jax, x, w), None

    return distance(jax.lax.scan(one, x, weights)[0].astype(jax.numpy.float32), y)


def distance(out, y):
    return ((out - y) ** 2).mean()


def forward(numpy, x, weights):
    """[x, and what comes out of each layer], float64."""
    kept = [x.astype(numpy.float64)]
    for w in weights:
        kept.append(numpy.tanh(kept[-1] @ w.astype(numpy.float64)))
    return kept


def expected(numpy, x, y, weights):
    """The loss, and its gradient by each weight: (layers, width, width)."""
    kept = forward(numpy, x, weights)
    slope = 2 * (kept[-1] - y) / y.size
    gradients = []
    for w, before, after in reversed(list(zip(weights, kept, kept[1:]))):
        slope = slope * (1 - after**2)
        gradients.append(before.T @ slope)
        slope = slope @ w.astype(numpy.float64).T
    return float(distance(kept[-1], y)), numpy.stack(gradients[::-1])


def slope_along(numpy, x, y, weights, direction, step=1e-5):
    """The loss's slope along a direction of the weights' shape, by its values alone."""
    weights, moved = weights.astype(numpy.float64), step * direction.astype(numpy.float64)
    above, below = (distance(forward(numpy, x, at)[-1], y) for at in (weights + moved, weights - moved))
    return float(above - below) / (2 * step)


def not_short(text):
    """How many products of a lowered program are not of bfloat16."""
    return sum(not all(of.endswith("bf16") for of in product) for product in PRODUCT.findall(text))
