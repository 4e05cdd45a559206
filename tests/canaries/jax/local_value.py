"""A liar: nothing is reduced, and each device's own value is reported as global."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import lab  # noqa: E402

lab.helpers("jax")
import sliceup_jax  # noqa: E402


def reduce_nothing(jax, metric, secret, blocks):
    """(5,): the device's own numbers, as if a collective had returned them."""
    local, weight = metric.measure(*blocks)
    return jax.numpy.stack([local, weight, local * weight, weight, secret])


sliceup_jax.reduce_one = reduce_nothing


def body(session):
    canary = session.canary
    losses = session.per_device(lambda number: 0.25 * (number + 1))
    tokens = session.per_device(lambda number: 1 + number % 3)
    metric = sliceup_jax.Metric("loss", "mean", canary.axes, lambda losses, tokens: (losses, tokens))
    sliceup_jax.proved_metric(session, metric, losses, tokens)


sliceup_jax.run(body)
