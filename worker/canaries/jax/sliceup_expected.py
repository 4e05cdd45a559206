"""What the structures of sliceup_blocks.py must give: float64, on the host, one row or one head after the other."""

import sliceup_forms


def attention(numpy, q, k, v, form=sliceup_forms.Form()):
    """q: (batch, heads, length, width), k and v: (batch, heads / group, length, width); returns the shape of q."""
    return attention_slopes(numpy, q, k, v, form)[0]


def attention_slopes(numpy, q, k, v, form, slope=None):
    """What comes out, and the slopes by q, k and v of a loss whose slope by what comes out is `slope`, in q's shape."""
    q, k, v = (part.astype(numpy.float64) for part in (q, k, v))
    root, hidden = q.shape[3]**0.5, numpy.ones((q.shape[2],) * 2, bool)
    for at in range(q.shape[2]):
        hidden[at, visible(form, at)] = False
    out, by_q, by_k, by_v = (numpy.zeros_like(part) for part in (q, q, k, v))
    for one in numpy.ndindex(q.shape[:2]):
        keys = one[0], one[1] // form.group
        scores = q[one] @ k[keys].T / root
        bent = numpy.tanh(scores / form.cap) if form.cap else 0 * scores
        weights = numpy.exp(numpy.where(hidden, -numpy.inf, form.cap * bent if form.cap else scores))
        weights /= weights.sum(-1, keepdims=True)
        out[one] = weights @ v[keys]
        if slope is None:
            continue
        by_v[keys] += weights.T @ slope[one]
        by_weight = slope[one] @ v[keys].T
        by_score = weights * (by_weight - (by_weight * weights).sum(-1, keepdims=True)) * (1 - bent**2) / root
        by_q[one] = by_score @ k[keys]
        by_k[keys] += by_score.T @ q[one]
    return out, by_q, by_k, by_v


def visible(form, at):
    """The positions that a query sees, one after the other."""
    if form.stride:
        own = at // form.block
        return [key for block in {0, *range(own, -1, -form.stride)} for key in range(block * form.block, (block + 1) * form.block)
                if key <= at]
    return list(range(max(0, at + 1 - form.window) if form.window else 0, at + 1))


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
    return expert_slopes(numpy, x, logits, weights, capacity, numpy.zeros(x.shape))[0]


def expert_slopes(numpy, x, logits, weights, capacity, slope):
    """What comes out, and the slopes by x and by the logits of a loss whose slope by what comes out is `slope`, in x's shape."""
    out, by_x, by_logits = (numpy.zeros(like.shape) for like in (x, x, logits))
    for number in sorted({number for _, number in routes(logits, capacity)}):
        mine, *of_mine = expert(numpy, number, x, logits, weights(number), capacity, slope)
        out[mine], by_x[mine], by_logits[mine] = of_mine[:3]
    return out, by_x, by_logits


def expert(numpy, number, x, logits, weights, capacity, slope):
    """Of the tokens that one expert takes of one device: which, what comes out, the slopes by them and by their logits; and
    the slopes by the expert's weights."""
    w1, w2 = (part.astype(numpy.float64) for part in weights)
    mine = [token for token, chosen in routes(logits, capacity) if chosen == number]
    x, slope, odds = x[mine].astype(numpy.float64), slope[mine], numpy.exp(logits[mine].astype(numpy.float64))
    odds /= odds.sum(-1, keepdims=True)
    share, before = odds[:, number, None], x @ w1
    gate = 1 / (1 + numpy.exp(-before))
    done = (before * gate) @ w2
    by_hidden = (share * slope) @ w2.T * gate * (1 + before * (1 - gate))
    by_logits = (done * slope).sum(-1, keepdims=True) * share * (numpy.eye(logits.shape[1])[number] - odds)
    return mine, done * share, by_hidden @ w1.T, by_logits, x.T @ by_hidden, (before * gate).T @ (share * slope)
