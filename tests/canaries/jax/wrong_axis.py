"""A liar: reduces over the last mesh axis only, and claims another. args: claim (the first axis)."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import lab  # noqa: E402

lab.helpers("jax")
import sliceup_jax  # noqa: E402


def body(session):
    canary = session.canary
    losses = session.per_device(lambda number: 0.25 * (number + 1))
    tokens = session.per_device(lambda number: 1 + number % 3)
    claim, tell = canary.args.get("claim", canary.axes[:1]), canary.metric
    canary.metric = lambda name, reduction, axes, *rest, **more: tell(name, reduction, claim, *rest, **more)
    metric = sliceup_jax.Metric("loss", "mean", canary.axes[-1:], lambda losses, tokens: (losses, tokens))
    sliceup_jax.proved_metric(session, metric, losses, tokens)


sliceup_jax.run(body)
