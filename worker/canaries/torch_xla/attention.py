"""Causal attention. Under SPMD its batch is split over the mesh.

Adds: a softmax between two products. The frontend's own operations: no hand-written kernel, no other frontend's.
args: batch (two for each device of the first axis), heads (2), length (64), width (32: of all heads together).
"""

import sliceup_torch_xla

# Values are at most 1 and what comes out is a mean of them; each score is a float32 sum of `width` products over the
# root of `width`, so it is off by some 1e-6. A wrong mask or scale is off by more than a tenth.
TOLERANCE = 1e-4


def attention(torch, q, k, v):
    """q, k, v: (batch, heads, length, width); returns the same shape."""
    length = q.shape[2]
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / q.shape[3]**0.5
    hidden = torch.ones((length, length), dtype=torch.bool, device=q.device).triu(1)
    return torch.einsum("bhqk,bhkd->bhqd", scores.masked_fill(hidden, float("-inf")).softmax(-1), v)


def expected(numpy, q, k, v):
    """Each position by itself looks at those up to it; float64."""
    out = numpy.empty(q.shape)
    for at in range(q.shape[2]):
        scores = (k[:, :, :at + 1] * q[:, :, at:at + 1]).sum(-1) / q.shape[3]**0.5  # (batch, heads, at + 1)
        weights = numpy.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        out[:, :, at] = (weights[..., None] * v[:, :, :at + 1]).sum(2)
    return out


def body(session):
    numpy, canary = session.numpy, session.canary
    batch, heads, length, width = (canary.args.get(name, usual) for name, usual in (
        ("batch", 2 * canary.sizes[0]), ("heads", 2), ("length", 64), ("width", 32)))
    batch, length = session.shaped(batch=batch, length=length).values()
    shape = (batch, heads, length, width // heads)
    wave = numpy.arange(int(numpy.prod(shape)), dtype=float).reshape(shape) * 0.7
    q, k, v = (numpy.sin(wave + salt).astype("float32") for salt in (1, 2, 3))
    args = [session.place(part, canary.axes[0]) for part in (q, k, v)]
    session.sync()
    out = attention(session.torch, *args)
    session.trace("attention", [out])
    session.sync()
    right = expected(numpy, *(part.astype(float) for part in (q, k, v)))
    canary.check(f"largest error of {right.size} values", 0, session.largest_error(out, right), TOLERANCE)


sliceup_torch_xla.run(body)
