"""The backward pass of sliceup_flash.py: slopes of a loss by q, k and v from its slope by what came out.

Nothing of (length, length) was kept: the weights of a block come back from its scores and the logarithm of the sums. With
p = exp(score - sum), the slope by a score is p * (slope . value - slope . out), times the slope of the cap.
"""


def backward(kernels, q, k, v, out, sums, slope):
    """Shapes as in Kernels, slope and out as q, sums: (heads, length, 1); returns the shapes of q, k and v."""
    heads, length, width = q.shape
    group, blocks = kernels.form.group, length // kernels.block
    args = q, k, v, slope, sums, (slope * out).sum(-1, keepdims=True)
    some, one, own = kernels.some(width), kernels.some(1), kernels.whole(length, width)
    (by_q,) = kernels.call(lambda *refs: of_queries(kernels, *refs), (heads, blocks),
                           [some, own, own, some, one, one], [some], [q.shape], "keys", *args)
    whole, ones = (kernels.sharers(length, size) for size in (width, 1))
    by_k, by_v = kernels.call(lambda *refs: of_keys(kernels, *refs), (heads // group, blocks),
                              [whole, some, some, whole, ones, ones], [some, some], [k.shape, v.shape], "queries", *args)
    return by_q, by_k, by_v


def of_scores(kernels, rows, columns, q, keys, values, slope, sums, mean):
    """(block, block) each: the weights, and the slope by what q and keys multiply to; mean: (block, 1), slope . out."""
    scores, cap = kernels.scores(q, keys, rows, columns), kernels.form.cap
    weights = kernels.numpy.exp(scores - sums)
    by_score = weights * (kernels.product(slope, values, ((1,), (1,))) - mean)
    return weights, by_score * (1 - (kernels.numpy.maximum(scores, -cap) / cap)**2) if cap else by_score


def of_queries(kernels, visits, q_ref, k_ref, v_ref, slope_ref, sums_ref, mean_ref, by_q_ref):
    width, rows = q_ref.shape[1], kernels.pallas.program_id(1)
    q = q_ref[...] / width**0.5

    def fold(columns, by_q):
        at = kernels.at_block(columns)
        keys, values = k_ref[at, :], v_ref[at, :]
        _, by_score = of_scores(kernels, rows, columns, q, keys, values, slope_ref[...], sums_ref[...], mean_ref[...])
        return by_q + kernels.product(by_score, keys, ((1,), (0,)))

    by_q_ref[...] = visits(fold, kernels.numpy.zeros_like(q)) / width**0.5


def of_keys(kernels, visits, q_ref, k_ref, v_ref, slope_ref, sums_ref, mean_ref, by_k_ref, by_v_ref):
    """The heads of queries that share these keys come one after the other."""
    width, columns = q_ref.shape[2], kernels.pallas.program_id(1)
    keys, values = k_ref[...], v_ref[...]

    def fold(rows, carried):
        at, (by_k, by_v) = kernels.at_block(rows), carried
        for head in range(kernels.form.group):
            q, slope = q_ref[head, at, :] / width**0.5, slope_ref[head, at, :]
            weights, by_score = of_scores(kernels, rows, columns, q, keys, values, slope, sums_ref[head, at, :],
                                          mean_ref[head, at, :])
            by_k = by_k + kernels.product(by_score, q, ((0,), (0,)))
            by_v = by_v + kernels.product(weights, slope, ((0,), (0,)))
        return by_k, by_v

    nothing = kernels.numpy.zeros_like(keys)
    by_k_ref[...], by_v_ref[...] = visits(fold, (nothing, nothing))
