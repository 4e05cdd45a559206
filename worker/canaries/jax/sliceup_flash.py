"""Causal attention as one Pallas kernel: no device ever holds all the scores.

Each program of the grid has one block of queries and goes over the blocks of keys that these may see. What was summed
so far is scaled down whenever a larger score is met, so that no exponential overflows.
"""

LOWEST = -1e30  # as good as no score, and without the NaN that two infinities would leave
# What a compiled kernel is in the lowered program: Mosaic's on TPU; Triton's and Mosaic's on GPU (jax 0.10).
CALLS = ("tpu_custom_call", "__gpu$xla.gpu.triton", "triton_kernel_call", "mosaic_gpu")


def attention(jax, q, k, v, block, interpret):
    """q, k, v: (batch, heads, length, width) float32, length a multiple of block; returns the same shape."""
    from jax.experimental import pallas

    batch, heads, length, width = q.shape
    some = pallas.BlockSpec((1, 1, block, width), lambda b, h, i: (b, h, i, 0))
    whole = pallas.BlockSpec((1, 1, length, width), lambda b, h, i: (b, h, 0, 0))
    return pallas.pallas_call(
        kernel(jax, pallas, block, width), grid=(batch, heads, length // block), in_specs=[some, whole, whole],
        out_specs=some, out_shape=jax.ShapeDtypeStruct(q.shape, q.dtype), interpret=interpret)(q, k, v)


def kernel(jax, pallas, block, width):
    numpy, lax = jax.numpy, jax.lax

    def product(a, b, dims):
        return lax.dot_general(a, b, (dims, ((), ())), precision="highest", preferred_element_type=numpy.float32)

    def body(q_ref, k_ref, v_ref, out_ref):
        q = q_ref[0, 0] / width**0.5
        number = pallas.program_id(2)
        row = number * block + lax.broadcasted_iota(numpy.int32, (block, block), 0)

        def fold(at, carried):
            highest, total, out = carried
            keys = k_ref[0, 0, pallas.ds(at * block, block), :]
            values = v_ref[0, 0, pallas.ds(at * block, block), :]
            column = at * block + lax.broadcasted_iota(numpy.int32, (block, block), 1)
            scores = numpy.where(row >= column, product(q, keys, ((1,), (1,))), LOWEST)
            new = numpy.maximum(highest, scores.max(1, keepdims=True))
            weights, shrink = numpy.exp(scores - new), numpy.exp(highest - new)
            total = total * shrink + weights.sum(1, keepdims=True)
            return new, total, out * shrink + product(weights, values, ((1,), (0,)))

        nothing = (numpy.full((block, 1), LOWEST, numpy.float32), numpy.zeros((block, 1), numpy.float32),
                   numpy.zeros((block, width), numpy.float32))
        _, total, out = lax.fori_loop(0, number + 1, fold, nothing)
        out_ref[0, 0] = out / total

    return body
