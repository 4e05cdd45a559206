"""The structures of a model as one device computes them, and the inputs that every host can make by itself.

All float32. Products ask for the highest precision: what is held against numpy is the structure, not the rounding of a
matrix unit. What numpy says of the same structures is in sliceup_expected.py, written another way.
"""

import sliceup_forms


def small_integers(numpy, shape, salt):
    """float32 of -1, 0 and 1: exact in every precision that a matrix unit may choose."""
    size = int(numpy.prod(shape))
    numbers = (numpy.arange(size, dtype=numpy.int64) * 7919 + salt) % 1009 % 3 - 1
    return numbers.reshape(shape).astype(numpy.float32)


def noise(numpy, shape, seed, scale=1.0):
    """float32 within +-scale, the same wherever it is made; seed: an integer or a list of them."""
    return numpy.random.default_rng(seed).uniform(-scale, scale, shape).astype(numpy.float32)


def attention(jax, q, k, v, form=sliceup_forms.Form()):
    """q: (batch, heads, length, width), k and v: (batch, heads / group, length, width); returns the shape of q."""
    numpy, at = jax.numpy, jax.numpy.arange(q.shape[2])
    k, v = (numpy.repeat(part, form.group, axis=1) for part in (k, v)) if form.group > 1 else (k, v)
    scores = form.capped(numpy, numpy.einsum("bhqd,bhkd->bhqk", q, k, precision="highest") / q.shape[3]**0.5)
    weights = jax.nn.softmax(numpy.where(form.seen(at[:, None], at), scores, -numpy.inf), axis=-1)
    return numpy.einsum("bhqk,bhkd->bhqd", weights, v, precision="highest")


def recurrence(jax, x, state, keep, mix):
    """x: (length, batch, width), state: (batch, width), keep: (width,) within 0..1, mix: (width, width).

    Returns the last state, and the state after each row: (length, batch, width).
    """

    def row(state, x):
        new = jax.numpy.tanh(x + jax.numpy.dot(state, mix, precision="highest"))
        state = keep * state + (1.0 - keep) * new
        return state, state

    return jax.lax.scan(row, state, x)


def experts(jax, x, logits, w1, w2, axes, capacity):
    """Top-1 mixture of experts, one expert a device; two all-to-alls over the mesh axes named.

    x: (tokens, width), logits: (tokens, devices) of this device's tokens; w1: (width, hidden), w2: (hidden, width) of
    this device's expert. An expert takes the first `capacity` tokens of each device; what is over comes out as 0.
    Returns (tokens, width), and how many tokens of this device were taken: ().
    """
    numpy = jax.numpy
    chosen = jax.nn.one_hot(logits.argmax(-1), logits.shape[1])  # (tokens, devices)
    place = ((chosen.cumsum(0) - 1) * chosen).sum(-1)  # (tokens,): the how-manieth that goes to its expert
    # (tokens, devices, capacity): a place past the capacity is in no slot.
    slots = chosen[:, :, None] * jax.nn.one_hot(place.astype(int), capacity)[:, None, :]
    sent = numpy.einsum("tec,td->ecd", slots, x, precision="highest")
    here = jax.lax.all_to_all(sent, axes, 0, 0)  # (devices, capacity, width): row i came from device i
    hidden = jax.nn.silu(numpy.dot(here, w1, precision="highest"))
    done = numpy.dot(hidden, w2, precision="highest")
    back = jax.lax.all_to_all(done, axes, 0, 0)  # row e: from expert e
    share = (jax.nn.softmax(logits, axis=-1) * chosen).sum(-1)
    return numpy.einsum("tec,ecd->td", slots, back, precision="highest") * share[:, None], slots.sum()
