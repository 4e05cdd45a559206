"""Metrics reduced over the mesh, each with a proof of which devices took part.

Adds: collectives whose result is a claim about the whole slice. Scope: slice. On CPU the slice has one host.
No args. All numbers are exact in float32, so that the sums can be compared for equality.
"""

import sliceup_torch_xla
from sliceup_torch_xla_mesh import Metric, proved_metrics


def loss(losses, tokens):
    """Uneven weights: a mean of means would differ from the mean."""
    return losses, tokens


def count(losses, tokens):
    return tokens, losses * 0 + 1


def body(session):
    mesh = session.mesh
    # losses, tokens: (mesh sizes...), one number a device
    losses = mesh.per_device(lambda number: 0.25 * (number + 1))
    tokens = mesh.per_device(lambda number: 1 + number % 3)
    metrics = [Metric("loss", "mean", mesh.axes, loss), Metric("tokens", "sum", mesh.axes[:1], count)]
    proved_metrics(session, "collective", metrics, losses, tokens)


sliceup_torch_xla.run(body, spmd=True)
