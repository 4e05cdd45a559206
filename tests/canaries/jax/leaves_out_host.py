"""A liar: one host takes part with nothing but zeros. args: rank (the last)."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import lab  # noqa: E402

lab.helpers("jax")
import sliceup_jax  # noqa: E402


def reduce_present(jax, metric, secret, blocks):
    """(5,): as the helper, but an absent device adds zeros."""
    local, weight, present = blocks
    seen = jax.lax.psum(present * jax.numpy.stack([local * weight, weight, secret]), metric.axes)
    return jax.numpy.concatenate([jax.numpy.stack([local, weight]), seen])


sliceup_jax.reduce_one = reduce_present


def body(session):
    canary = session.canary
    losses = session.per_device(lambda number: 0.25 * (number + 1))
    tokens = session.per_device(lambda number: 1 + number % 3)
    absent = canary.args.get("rank", canary.world - 1)
    present = session.per_device(lambda number: number // canary.devices_per_host != absent)
    metric = sliceup_jax.Metric("loss", "mean", canary.axes, None)
    sliceup_jax.proved_metric(session, metric, losses, tokens, present)


sliceup_jax.run(body)
