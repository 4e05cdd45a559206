"""A liar: every device takes part, but the weights are forgotten: a mean of means."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import lab  # noqa: E402

lab.helpers("jax")
import sliceup_jax  # noqa: E402


def reduce_means(jax, metric, secret, blocks):
    """(5,): as the helper, but every device weighs the same."""
    local, weight = metric.measure(*blocks)
    seen = jax.lax.psum(jax.numpy.stack([local, weight * 0 + 1, secret]), metric.axes)
    return jax.numpy.concatenate([jax.numpy.stack([local, weight]), seen])


sliceup_jax.reduce_one = reduce_means


def body(session):
    canary = session.canary
    losses = session.per_device(lambda number: 0.25 * (number + 1))
    tokens = session.per_device(lambda number: 1 + number % 3)
    metric = sliceup_jax.Metric("loss", "mean", canary.axes, lambda losses, tokens: (losses, tokens))
    sliceup_jax.proved_metric(session, metric, losses, tokens)


sliceup_jax.run(body)
