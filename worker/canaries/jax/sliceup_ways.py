"""Ways to spread a chain of layers over the devices of a mesh: what each device has, computes and sends.

A way has `layers`, the specs of the batch and of the weights as the devices hold them, and program(x, y, *weights) of one
device: its gradients, and (loss, weight), which make the loss of the whole as their weighted mean. Gradients are those of
the sum over all devices of what each counts, since the transpose of a sum over devices is again one.
"""

import sliceup_chain


class FullySharded:
    """Every weight and the batch split over all devices: a layer is gathered just before it is computed, in the forward
    pass and, by jax.checkpoint, again in the backward pass; its gradient is summed and scattered."""

    def __init__(self, session):
        self.jax, self.axes, self.layers = session.jax, tuple(session.canary.axes), 3
        spec = session.jax.sharding.PartitionSpec
        self.batch, self.weights = spec(self.axes), (spec(None, self.axes),)

    def split(self, weights):
        return (weights,)

    def program(self, x, y, shards):
        """x, y: (batch / devices, width); shards: (layers, width / devices, width)."""
        jax = self.jax

        def one(x, shard):
            w = jax.lax.all_gather(shard, self.axes, axis=0, tiled=True)  # (width, width)
            return sliceup_chain.layer(jax, x, w), None

        def loss(shards):
            return sliceup_chain.distance(jax.lax.scan(jax.checkpoint(one), x, shards)[0], y)

        value, slope = jax.value_and_grad(loss)(shards)
        return (slope / jax.lax.axis_size(self.axes),), (value, 1.0)


class Tensor:
    """Layers in pairs over the last axis: the first by its columns, the second by its rows, whose products are summed.
    The batch is split over the first axis, if that is another one."""

    def __init__(self, session):
        self.jax, self.layers = session.jax, 4
        first, self.last = session.canary.axes[0], session.canary.axes[-1]
        self.rows = first if first != self.last else None
        spec = session.jax.sharding.PartitionSpec
        self.batch, self.weights = spec(self.rows), (spec(None, None, self.last), spec(None, self.last))

    def split(self, weights):
        return weights[::2], weights[1::2]

    def program(self, x, y, columns, rows):
        """x, y: (batch / first, width); columns: (pairs, width, width / last), rows: (pairs, width / last, width)."""
        jax = self.jax

        def pair(x, w):
            inner = sliceup_chain.layer(jax, x, w[0])  # (batch / first, width / last)
            part = jax.numpy.dot(inner, w[1], precision="highest")
            return jax.numpy.tanh(jax.lax.psum(part, self.last)), None

        def loss(weights):
            # Each of the last axis has the whole loss, and counts its share.
            value = sliceup_chain.distance(jax.lax.scan(pair, x, weights)[0], y)
            return value / jax.lax.axis_size(self.last)

        value, slopes = jax.value_and_grad(loss)((columns, rows))
        if self.rows:
            slopes = jax.lax.pmean(slopes, self.rows)
        return slopes, (value * jax.lax.axis_size(self.last), 1.0)


class Pipeline:
    """A layer on each device: what it computed of one part of the batch goes to the next while it computes the next part."""

    def __init__(self, session):
        self.jax, self.axes, self.layers = session.jax, tuple(session.canary.axes), session.mesh.size
        spec = session.jax.sharding.PartitionSpec
        self.batch, self.weights = spec(), (spec(self.axes),)

    def split(self, weights):
        return (weights,)

    def program(self, x, y, w):
        """x, y: (batch, width), in as many parts as there are stages; w: (1, width, width)."""
        jax, stages = self.jax, self.layers
        stage, parts = jax.lax.axis_index(self.axes), x.reshape(stages, -1, x.shape[1])
        onwards = [(number, number + 1) for number in range(stages - 1)]

        def loss(w):
            def tick(came, now):
                came = jax.numpy.where(stage == 0, parts[jax.numpy.minimum(now, stages - 1)], came)
                out = sliceup_chain.layer(jax, came, w[0])
                return jax.lax.ppermute(out, self.axes, onwards), out

            _, outs = jax.lax.scan(tick, jax.numpy.zeros_like(parts[0]), jax.numpy.arange(2 * stages - 1))
            # (batch, width): the first part comes out of the last stage when that was waited for by all the others.
            value = sliceup_chain.distance(outs[stages - 1:].reshape(x.shape), y)
            return jax.numpy.where(stage == stages - 1, value, 0.0)

        value, slope = jax.value_and_grad(loss)(w)
        return (slope,), (value, jax.numpy.where(stage == stages - 1, 1.0, 0.0))


WAYS = {"fsdp": FullySharded, "tensor": Tensor, "pipeline": Pipeline}
