"""Attention as Pallas kernels: no device ever holds all the scores, neither in the forward nor in the backward pass.

Each program of a grid has one block of queries and goes over the blocks of keys that these see; what was summed so far is
scaled down whenever a larger score is met, so that no exponential overflows. In the backward pass (sliceup_flash_slopes.py)
one kernel does the same for the slopes of the queries, and one has a block of keys and goes over queries.

flash: the blocks are one range, by arithmetic. splash: their numbers are in a list that is there before the program starts,
so that blocks in between are not visited.
"""

import sliceup_flash_slopes

LOWEST = -1e30  # as good as no score, and without the NaN that two infinities would leave
# What a compiled kernel is in the lowered program: Mosaic's on TPU; Triton's and Mosaic's on GPU (jax 0.10).
CALLS = ("tpu_custom_call", "__gpu$xla.gpu.triton", "triton_kernel_call", "mosaic_gpu")


class Kernels:
    """Of one form. q: (heads, length, width), k and v: (heads / group, length, width), all float32, the heads of all rows of
    a batch; length a multiple of the form's block."""

    def __init__(self, jax, form, interpret):
        from jax.experimental import pallas

        self.jax, self.numpy, self.lax, self.pallas = jax, jax.numpy, jax.lax, pallas
        self.form, self.block, self.interpret = form, form.block, interpret

    def product(self, a, b, dims):
        return self.lax.dot_general(a, b, (dims, ((), ())), precision="highest", preferred_element_type=self.numpy.float32)

    def some(self, width):
        """(block, width) of each program."""
        return self.pallas.BlockSpec((None, self.block, width), lambda h, i, *_: (h, i, 0))

    def whole(self, length, width):
        """(length, width) of the head of keys that belongs to each program's head of queries."""
        group = self.form.group
        return self.pallas.BlockSpec((None, length, width), lambda h, i, *_: (self.lax.div(h, group), 0, 0))

    def sharers(self, length, width):
        """(group, length, width) of the heads of queries that belong to each program's head of keys."""
        return self.pallas.BlockSpec((self.form.group, length, width), lambda h, i, *_: (h, 0, 0))

    def call(self, body, grid, ins, outs, shapes, over, *args):
        """body(visits, *refs): visits(fold, first) folds the blocks that a program has to meet; over: "keys" or "queries"."""
        specs = {"grid": grid, "in_specs": ins, "out_specs": outs}
        if self.form.stride:
            visits, lists = listed(self, over, grid[1])
            from jax.experimental.pallas import tpu

            specs, args = {"grid_spec": tpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, **specs)}, (lists, *args)
        else:
            visits = ranged(self, over, grid[1])
        shapes = [self.jax.ShapeDtypeStruct(shape, self.numpy.float32) for shape in shapes]
        return self.pallas.pallas_call(lambda *refs: visits(body, *refs), out_shape=shapes, interpret=self.interpret, **specs)(*args)

    def scores(self, q, keys, rows, columns):
        """(block, block): capped, and LOWEST where nothing is seen; q was divided by the root of the width."""
        shape, iota = (self.block, self.block), self.lax.broadcasted_iota
        row, column = (at * self.block + iota(self.numpy.int32, shape, axis) for axis, at in enumerate((rows, columns)))
        scores = self.form.capped(self.numpy, self.product(q, keys, ((1,), (1,))))
        return self.numpy.where(self.form.near(row, column), scores, LOWEST)

    def forward(self, q, k, v):
        """What comes out, in q's shape; and the logarithm of each query's sum of exponentials: (heads, length, 1)."""
        heads, length, width = q.shape
        whole = self.whole(length, width)
        return self.call(self.gather, (heads, length // self.block), [self.some(width), whole, whole],
                         [self.some(width), self.some(1)], [q.shape, (heads, length, 1)], "keys", q, k, v)

    def gather(self, visits, q_ref, k_ref, v_ref, out_ref, sums_ref):
        numpy, at_block, width = self.numpy, self.at_block, q_ref.shape[1]
        q, rows = q_ref[...] / width**0.5, self.pallas.program_id(1)

        def fold(columns, carried):
            highest, total, out = carried
            keys, values = k_ref[at_block(columns), :], v_ref[at_block(columns), :]
            scores = self.scores(q, keys, rows, columns)
            new = numpy.maximum(highest, scores.max(1, keepdims=True))
            weights, shrink = numpy.exp(scores - new), numpy.exp(highest - new)
            total = total * shrink + weights.sum(1, keepdims=True)
            return new, total, out * shrink + self.product(weights, values, ((1,), (0,)))

        nothing = (numpy.full((self.block, 1), LOWEST, numpy.float32), numpy.zeros((self.block, 1), numpy.float32),
                   numpy.zeros((self.block, width), numpy.float32))
        highest, total, out = visits(fold, nothing)
        out_ref[...], sums_ref[...] = out / total, highest + numpy.log(total)

    def at_block(self, number):
        return self.pallas.ds(self.pallas.multiple_of(number * self.block, self.block), self.block)


def ranged(kernels, over, blocks):
    """Of flash: from one block to another."""
    lax, form = kernels.lax, kernels.form
    between = {"keys": form.keys_of, "queries": form.queries_of}[over]

    def visits(body, *refs):
        low, high = between(kernels.numpy, kernels.pallas.program_id(1), blocks)
        body(lambda fold, first: lax.fori_loop(low, high, fold, first), *refs)

    return visits


def listed(kernels, over, blocks):
    """Of splash: how many, and their numbers, from a list of each program; and the lists, (blocks, 1 + blocks) int32."""
    import numpy

    lists = kernels.form.lists(numpy, blocks)[("keys", "queries").index(over)]

    def visits(body, numbers, *refs):
        own = kernels.pallas.program_id(1)
        body(lambda fold, first: kernels.lax.fori_loop(
            0, numbers[own, 0], lambda at, carried: fold(numbers[own, at + 1], carried), first), *refs)

    return visits, kernels.numpy.asarray(lists)


def attention(jax, q, k, v, form, interpret):
    """q: (batch, heads, length, width), k and v: (batch, heads / group, length, width) float32; returns the shape of q. Its
    slopes are kernels as well."""
    kernels = Kernels(jax, form, interpret)

    @jax.custom_vjp
    def attend(q, k, v):
        return kernels.forward(q, k, v)[0]

    def forward(q, k, v):
        out, sums = kernels.forward(q, k, v)
        return out, (q, k, v, out, sums)

    attend.defvjp(forward, lambda kept, slope: sliceup_flash_slopes.backward(kernels, *kept, slope))
    return attend(*(part.reshape(-1, *part.shape[2:]) for part in (q, k, v))).reshape(q.shape)
