"""What the structures of sliceup_blocks.py must give: float64, on the host, one row after the other."""


def attention(numpy, q, k, v):
    """Causal. q, k, v: (batch, heads, length, width); each position by itself looks at those up to it."""
    q, k, v = (part.astype(numpy.float64) for part in (q, k, v))
    out = numpy.empty_like(q)
    for at in range(q.shape[2]):
        scores = (k[:, :, :at + 1] @ q[:, :, at, :, None])[..., 0] / q.shape[3]**0.5  # (batch, heads, at + 1)
        weights = numpy.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        out[:, :, at] = (weights[:, :, None] @ v[:, :, :at + 1])[:, :, 0]
    return out


def recurrence(numpy, x, state, keep, mix):
    """x: (length, batch, width), state: (batch, width), keep: (width,), mix: (width, width); all states."""
    out = numpy.empty(x.shape)
    for at in range(x.shape[0]):
        state = keep * state + (1.0 - keep) * numpy.tanh(x[at] + state @ mix)
        out[at] = state
    return out


def routes(logits, capacity):
    """[(token, expert)] of one device's tokens that are taken, in order; logits: (tokens, experts)."""
    taken, filled = [], [0] * logits.shape[1]
    for token, row in enumerate(logits):
        expert = int(row.argmax())
        if filled[expert] < capacity:
            filled[expert] += 1
            taken.append((token, expert))
    return taken


def experts(numpy, x, logits, weights, capacity):
    """x: (tokens, width) and logits: (tokens, experts) of one device; weights(e): w1, w2 of expert e."""
    out, taken = numpy.zeros(x.shape), routes(logits, capacity)
    for expert in sorted({expert for _, expert in taken}):
        w1, w2 = (part.astype(numpy.float64) for part in weights(expert))
        mine = [token for token, chosen in taken if chosen == expert]
        odds = numpy.exp(logits[mine].astype(numpy.float64))
        share = odds[:, expert] / odds.sum(-1)
        out[mine] = numpy.maximum(x[mine] @ w1, 0) @ w2 * share[:, None]
    return out
