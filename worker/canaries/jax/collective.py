"""Metrics reduced over the mesh, each with a proof of which devices took part.

Adds: collectives whose result is a claim about the whole slice. Scope: slice.
No args. All numbers are exact in float32, so that the sums can be compared for equality.
"""

import sliceup_jax


def loss(losses, tokens):
    """Uneven weights: a mean of means would differ from the mean."""
    return losses, tokens


def count(losses, tokens):
    return tokens, losses * 0 + 1


def body(session):
    canary = session.canary
    # losses, tokens: (mesh sizes...), one number a device
    losses = session.per_device(lambda number: 0.25 * (number + 1))
    tokens = session.per_device(lambda number: 1 + number % 3)
    metrics = [sliceup_jax.Metric("loss", "mean", canary.axes, loss),
               sliceup_jax.Metric("tokens", "sum", canary.axes[:1], count)]
    sliceup_jax.proved_metrics(session, "collective", metrics, losses, tokens)


sliceup_jax.run(body)
