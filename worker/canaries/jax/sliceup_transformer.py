"""A small language model, its made data and one step of its training; and its loss on the host in float64.

Weights are float32, of all layers stacked: embed (vocabulary, width), which reads and writes tokens; query, key, value and
out (layers, width, width), up (layers, width, 2 width), down (layers, 2 width, width). Tokens: (batch, length + 1) int32.
"""

import sliceup_blocks
import sliceup_expected

# A mesh axis of 2, 3, 4, 6, 8, 12 or 16 devices divides batch and width.
SIZES = {"batch": 48, "length": 8, "width": 48, "heads": 4, "layers": 2, "vocabulary": 32}
# Name -> the axis of its weights that is split over the devices that share a layer.
SPLIT = {"embed": None, "query": 2, "key": 2, "value": 2, "out": 1, "up": 2, "down": 1}
RATE, KEPT = 0.2, 0.8


def weights(numpy, sizes):
    layers, width = sizes["layers"], sizes["width"]
    shapes = {name: (layers, width, width) for name in SPLIT}
    shapes.update(embed=(sizes["vocabulary"], width), up=(layers, width, 2 * width), down=(layers, 2 * width, width))
    return {name: sliceup_blocks.noise(numpy, shape, salt, (3 / shape[-2 if len(shape) == 3 else -1]) ** 0.5 / 2)
            for salt, (name, shape) in enumerate(shapes.items())}


def tokens(numpy, sizes):
    """Each follows from the one before; which one comes first differs from row to row."""
    rows = [(numpy.arange(sizes["batch"]) * 7 + 1) % sizes["vocabulary"]]
    for _ in range(sizes["length"]):
        rows.append((5 * rows[-1] + 3) % sizes["vocabulary"])
    return numpy.stack(rows, 1).astype(numpy.int32)


def normal(x):
    return x / ((x * x).mean(-1, keepdims=True) + 1e-6) ** 0.5


def logits(x, weights, heads, attention, dot, scan):
    """x: (batch, length, width), embedded; (batch, length, vocabulary). For arrays of jax and of numpy."""

    def split(part):
        return part.reshape(*part.shape[:2], heads, -1).swapaxes(1, 2)

    def block(x, w):
        inner = normal(x)
        parts = (split(dot(inner, w[name])) for name in ("query", "key", "value"))
        x = x + dot(attention(*parts).swapaxes(1, 2).reshape(x.shape), w["out"])
        return x + dot(dot(normal(x), w["up"]).clip(0), w["down"])

    stacked = {name: weight for name, weight in weights.items() if name != "embed"}
    return dot(normal(scan(block, x, stacked)), weights["embed"].T)


def step(jax, tokens, state, heads):
    """state: (weights, momentum); returns the next one and the loss before the step."""
    numpy = jax.numpy

    def dot(a, b):
        return numpy.dot(a, b, precision="highest")

    def scan(block, x, stacked):
        return jax.lax.scan(lambda x, w: (block(x, w), None), x, stacked)[0]

    def loss(weights):
        out = logits(weights["embed"][tokens[:, :-1]], weights, heads, lambda *qkv: sliceup_blocks.attention(jax, *qkv), dot, scan)
        right = jax.nn.one_hot(tokens[:, 1:], out.shape[-1])
        return -(jax.nn.log_softmax(out, axis=-1) * right).sum(-1).mean()

    (weights, momentum), (value, slopes) = state, jax.value_and_grad(loss)(state[0])
    momentum = {name: KEPT * momentum[name] + slope for name, slope in slopes.items()}
    return ({name: weights[name] - RATE * way for name, way in momentum.items()}, momentum), value


def first_loss(numpy, tokens, weights, heads):
    weights = {name: weight.astype(numpy.float64) for name, weight in weights.items()}

    def scan(block, x, stacked):
        for number in range(len(stacked["out"])):
            x = block(x, {name: weight[number] for name, weight in stacked.items()})
        return x

    out = logits(weights["embed"][tokens[:, :-1]], weights, heads, lambda *qkv: sliceup_expected.attention(numpy, *qkv), numpy.dot, scan)
    odds = numpy.exp(out - out.max(-1, keepdims=True))
    right = numpy.take_along_axis(odds / odds.sum(-1, keepdims=True), tokens[:, 1:, None], -1)
    return float(-numpy.log(right).mean())
